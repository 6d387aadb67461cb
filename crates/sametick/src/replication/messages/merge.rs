//! How a part names a merged baseline: the newest part that is merged in it, and which of those before.
//!
//! A world that does not fit one datagram arrives in parts that are acknowledged in any combination. Each part is then
//! built on everything that the client has acknowledged: the merged baseline. It begins with the map as loaded; the
//! parts are merged in ascending order; each part overwrites the slots that it told of, and nothing else. A part
//! without gaps replaces all.
//!
//! Both ends keep one merged baseline. It only grows: acknowledgements arrive in order, and so do parts, because a
//! connection hands out an unreliable message before all newer ones or never. A part that was not acknowledged when a
//! newer one was will never be; the server does not merge it later. So a client that has decoded the part N has merged
//! at least what N was built on, and a later part only names what came after that.

use crate::core::bits::{BitReader, BitWriter};

/// How far back the newest merged part may be, and how far back from there the oldest.
pub(crate) const MERGE_BACK_MAX: u64 = 255;
const BACK_BITS: u32 = 8;
const WORDS: usize = 4;
const _: () = assert!(MERGE_BACK_MAX < 1 << BACK_BITS && 64 * WORDS as u64 > MERGE_BACK_MAX);

/// Which parts a baseline is merged of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Merge {
    /// How far back the newest is; zero is the map as loaded, and nothing is merged with it.
    pub(crate) back: u64,
    /// Of those before the newest, a bit each, the newest lowest.
    before: [u64; WORDS],
}

/// Numbers that go over the wire either way.
pub(crate) trait Raw {
    /// At most 16 bits: given, or read.
    fn raw(&mut self, bits: u32, value: u32) -> u32;
    fn fail(&mut self);
}

impl Raw for BitWriter {
    fn raw(&mut self, bits: u32, value: u32) -> u32 {
        self.write(u64::from(value), bits);
        value
    }
    fn fail(&mut self) {}
}

impl Raw for BitReader<'_> {
    fn raw(&mut self, bits: u32, _: u32) -> u32 {
        self.read(bits) as u32
    }
    fn fail(&mut self) {
        BitReader::fail(self);
    }
}

impl Merge {
    /// The parts of these numbers, as a part of a later number names them; none if they are too far back.
    pub(crate) fn of(parts: impl DoubleEndedIterator<Item = u64>, number: u64) -> Option<Self> {
        let mut merge = Self::default();
        let mut newest = None;
        for part in parts.rev() {
            let Some(newest) = newest else {
                newest = Some(part);
                merge.back = number - part;
                continue;
            };
            let place = newest - part - 1;
            if place >= MERGE_BACK_MAX {
                return None;
            }
            merge.before[place as usize / 64] |= 1 << (place % 64);
        }
        (merge.back <= MERGE_BACK_MAX).then_some(merge)
    }

    /// The numbers of the parts that a part of this number names, ascending.
    pub(crate) fn parts(self, number: u64) -> impl Iterator<Item = u64> {
        let newest = number.saturating_sub(self.back);
        let is_there =
            move |place: &u64| self.before[*place as usize / 64] >> (place % 64) & 1 != 0;
        let before = (0..u64::from(self.reach())).rev().filter(is_there);
        let before = before.filter_map(move |place| newest.checked_sub(place + 1));
        before.chain((self.back > 0).then_some(newest))
    }

    /// How far back from the newest the oldest is.
    fn reach(self) -> u32 {
        let last = self.before.iter().rposition(|word| *word != 0);
        last.map_or(0, |last| 64 * (last as u32 + 1) - self.before[last].leading_zeros())
    }

    /// How many bits it takes.
    pub(crate) fn bits(self) -> usize {
        let reach = self.reach();
        let all = if self.is_all(reach) { 0 } else { reach - 1 };
        let reach = if reach == 0 { 0 } else { 1 + all };
        (BACK_BITS + if self.back == 0 { 0 } else { BACK_BITS + reach }) as usize
    }

    fn is_all(self, reach: u32) -> bool {
        self.before.iter().map(|word| word.count_ones()).sum::<u32>() == reach
    }

    /// Codes it, either way.
    pub(crate) fn code(self, coder: &mut impl Raw) -> Self {
        let back = u64::from(coder.raw(BACK_BITS, self.back as u32));
        let mut merge = Self { back, ..Self::default() };
        if back == 0 {
            return merge;
        }
        let reach = coder.raw(BACK_BITS, self.reach());
        if reach == 0 {
            return merge;
        }
        let is_all = coder.raw(1, u32::from(self.is_all(reach))) != 0;
        for place in 0..reach as usize {
            let value = (self.before[place / 64] >> (place % 64) & 1) as u32;
            // The oldest is there: that is how far it reaches.
            let is_there = is_all || place + 1 == reach as usize || coder.raw(1, value) != 0;
            merge.before[place / 64] |= u64::from(is_there) << (place % 64);
        }
        if !is_all && merge.is_all(reach) {
            coder.fail();
        }
        merge
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_merged_baseline_crosses(
            back in 1..=MERGE_BACK_MAX,
            before in prop::collection::btree_set(1..=MERGE_BACK_MAX, 0..60),
        ) {
            let number = 1_000;
            let newest = number - back;
            let mut parts: Vec<u64> = before.iter().rev().map(|back| newest - back).collect();
            parts.push(newest);
            let merge = Merge::of(parts.iter().copied(), number).expect("they are near enough");
            prop_assert_eq!(merge.parts(number).collect::<Vec<_>>(), parts);
            let mut bits = BitWriter::growing(64);
            merge.code(&mut bits);
            prop_assert_eq!(bits.bits_written(), merge.bits());
            let read = Merge::default().code(&mut BitReader::new(bits.finish().expect("it fits")));
            prop_assert_eq!(read, merge);
        }
    }
}
