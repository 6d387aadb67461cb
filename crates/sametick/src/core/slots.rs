//! A set of entity slots, and its way onto the wire in chunks of 32.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::ENTITY_SLOTS_MAX;

/// How many slots share a chunk, and so a bit when nothing in it is set.
pub const CHUNK_SLOTS: usize = 32;

const CHUNKS_MAX: usize = ENTITY_SLOTS_MAX / CHUNK_SLOTS;
const CHUNK_COUNT_BITS: u32 = 8;
const _: () = assert!(CHUNKS_MAX < 1 << CHUNK_COUNT_BITS);
const _: () = assert!(ENTITY_SLOTS_MAX.is_multiple_of(CHUNK_SLOTS));

/// A set of slots below [`ENTITY_SLOTS_MAX`], as long as its highest member asks.
///
/// ```
/// use sametick::Slots;
/// let mut visible = Slots::default();
/// visible.insert(40);
/// assert!(visible.contains(40) && !visible.contains(41));
/// assert_eq!(visible.iter().collect::<Vec<_>>(), [40]);
/// ```
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Without empty chunks at the end, so that equal sets are equal.
    chunks: Vec<u32>,
}

impl Slots {
    /// Adds a slot.
    #[inline]
    pub fn insert(&mut self, slot: usize) {
        assert!(slot < ENTITY_SLOTS_MAX, "there is no slot {slot}");
        if self.chunks.len() <= slot / CHUNK_SLOTS {
            self.chunks.resize(slot / CHUNK_SLOTS + 1, 0);
        }
        self.chunks[slot / CHUNK_SLOTS] |= 1 << (slot % CHUNK_SLOTS);
    }

    /// Takes a slot away.
    pub fn remove(&mut self, slot: usize) {
        if let Some(chunk) = self.chunks.get_mut(slot / CHUNK_SLOTS) {
            *chunk &= !(1 << (slot % CHUNK_SLOTS));
            self.trim();
        }
    }

    /// Whether a slot is in the set.
    #[inline]
    pub fn contains(&self, slot: usize) -> bool {
        self.chunk(slot / CHUNK_SLOTS) & 1 << (slot % CHUNK_SLOTS) != 0
    }

    /// Empties the set and keeps its memory.
    pub fn clear(&mut self) {
        self.chunks.clear();
    }

    /// How many slots are in the set.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.count_ones() as usize).sum()
    }

    /// Whether no slot is in the set.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let chunks = self.chunks.iter().enumerate();
        chunks
            .flat_map(|(index, chunk)| places(*chunk).map(move |place| index * CHUNK_SLOTS + place))
    }

    /// Writes the set against `base`: a bit for each chunk that is the same, 33 for one that is not.
    pub fn write(&self, bits: &mut BitWriter, base: &Slots) {
        bits.write(self.chunks.len() as u64, CHUNK_COUNT_BITS);
        for (index, chunk) in self.chunks.iter().enumerate() {
            bits.write_bool(*chunk != base.chunk(index));
            if *chunk != base.chunk(index) {
                bits.write(u64::from(*chunk), CHUNK_SLOTS as u32);
            }
        }
    }

    /// Reads the set that was written against `base`.
    pub fn read(&mut self, bits: &mut BitReader<'_>, base: &Slots) {
        self.clear();
        let count = bits.read(CHUNK_COUNT_BITS) as usize;
        if count > CHUNKS_MAX {
            bits.fail();
        }
        for index in 0..count {
            let changed = bits.read_bool();
            let chunk = if changed { bits.read(32) as u32 } else { base.chunk(index) };
            if bits.failed() || changed && chunk == base.chunk(index) {
                bits.fail();
                return;
            }
            self.chunks.push(chunk);
        }
        if self.chunks.last() == Some(&0) {
            bits.fail();
        }
    }

    /// Adds whole chunks from the first on, the first slot of each lowest.
    pub(crate) fn insert_chunks(&mut self, mut chunks: impl Iterator<Item = u32>) {
        for (members, more) in self.chunks.iter_mut().zip(&mut chunks) {
            *members |= more;
        }
        self.chunks.extend(chunks);
        self.trim();
    }

    /// Makes one chunk what `members` says.
    pub(crate) fn set_chunk(&mut self, chunk: usize, members: u32) {
        if self.chunks.len() <= chunk && members != 0 {
            self.chunks.resize(chunk + 1, 0);
        }
        if let Some(place) = self.chunks.get_mut(chunk) {
            *place = members;
            self.trim();
        }
    }

    /// The set in chunks of [`CHUNK_SLOTS`]: a bit for each slot, the first slot's lowest.
    pub fn chunks(&self) -> &[u32] {
        &self.chunks
    }

    fn chunk(&self, index: usize) -> u32 {
        self.chunks.get(index).copied().unwrap_or(0)
    }

    fn trim(&mut self) {
        while self.chunks.last() == Some(&0) {
            self.chunks.pop();
        }
    }
}

impl Clone for Slots {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone() }
    }

    /// In its own memory.
    fn clone_from(&mut self, other: &Self) {
        self.chunks.clone_from(&other.chunks);
    }
}

impl FromIterator<usize> for Slots {
    fn from_iter<I: IntoIterator<Item = usize>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

/// The places of the bits that are set, ascending.
pub(crate) fn places(mut chunk: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (chunk != 0).then_some(chunk.trailing_zeros() as usize);
        chunk &= chunk.wrapping_sub(1);
        place
    })
}

/// Writes which of a chunk's slots are meant: none is one bit, otherwise there is one more for each
/// slot of `chunk`. Nothing is written for an empty chunk.
pub(crate) fn write_members(bits: &mut BitWriter, members: u32, chunk: u32) {
    assert!(members & !chunk == 0, "a member that its chunk has not");
    if chunk != 0 {
        bits.write_bool(members != 0);
    }
    if members != 0 {
        bits.write(u64::from(squeeze(members, chunk)), chunk.count_ones());
    }
}

/// Reads which of a chunk's slots are meant.
pub(crate) fn read_members(bits: &mut BitReader<'_>, chunk: u32) -> u32 {
    let any = chunk != 0 && bits.read_bool();
    let members = if any { spread(bits.read(chunk.count_ones()) as u32, chunk) } else { 0 };
    if any && members == 0 {
        bits.fail();
    }
    members
}

/// The bits of `value` that stand where `mask` has any, moved together at the low end.
fn squeeze(value: u32, mut mask: u32) -> u32 {
    if mask == u32::MAX {
        return value;
    }
    let (mut squeezed, mut place) = (0, 0);
    while mask != 0 {
        squeezed |= (value >> mask.trailing_zeros() & 1) << place;
        mask &= mask - 1;
        place += 1;
    }
    squeezed
}

/// The opposite of [`squeeze`].
fn spread(mut squeezed: u32, mut mask: u32) -> u32 {
    let mut value = 0;
    while mask != 0 {
        value |= (squeezed & 1) << mask.trailing_zeros();
        squeezed >>= 1;
        mask &= mask - 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots() -> impl Strategy<Value = Slots> {
        let slot = prop_oneof![0usize..100, 0usize..ENTITY_SLOTS_MAX];
        prop::collection::vec(slot, 0..60).prop_map(Slots::from_iter)
    }

    proptest! {
        #[test]
        fn a_set_crosses_against_any_base(set in slots(), base in slots(), chunk: u32, some: u32) {
            let part = some & chunk;
            let mut writer = BitWriter::growing(8192);
            set.write(&mut writer, &base);
            write_members(&mut writer, part, chunk);
            let message = writer.finish().unwrap();
            let mut reader = BitReader::new(message);
            let mut set_read = base.clone();
            set_read.read(&mut reader, &base);
            let part_read = read_members(&mut reader, chunk);
            prop_assert!(reader.finish().is_ok());
            prop_assert_eq!((set_read, part_read), (set, part));
        }

        #[test]
        fn whatever_is_read_would_be_written_so(bytes: Vec<u8>, base in slots(), chunk: u32) {
            let mut reader = BitReader::new(&bytes);
            let mut set = Slots::default();
            set.read(&mut reader, &base);
            let part = read_members(&mut reader, chunk);
            if !reader.failed() {
                let bits_read = bytes.len() * 8 - reader.bits_left();
                let mut writer = BitWriter::growing(8192);
                set.write(&mut writer, &base);
                write_members(&mut writer, part, chunk);
                prop_assert_eq!(writer.bits_written(), bits_read);
                let mut again = BitReader::new(writer.finish().unwrap());
                let mut first = BitReader::new(&bytes);
                for _ in 0..bits_read {
                    prop_assert_eq!(again.read_bool(), first.read_bool());
                }
            }
        }
    }

    #[test]
    fn an_unchanged_set_of_all_slots_costs_a_bit_a_chunk() {
        let all: Slots = (0..ENTITY_SLOTS_MAX).collect();
        let mut writer = BitWriter::growing(64);
        all.write(&mut writer, &all);
        assert_eq!(writer.bits_written(), 8 + 128);
    }

    #[test]
    fn members_come_and_go() {
        let mut set: Slots = [3, 64].into_iter().collect();
        set.remove(64);
        set.remove(500);
        assert_eq!(set, [3].into_iter().collect());
        assert_eq!((set.len(), set.is_empty()), (1, false));
    }
}
