//! The changes encoded in one tick, each once however many clients get it.

use crate::bits::BitWriter;
use crate::record::Layout;
use crate::snapshot::write_entity;
use crate::versions::{VersionId, Versions};

/// From one version of an entity to another, as bits. Cleared each tick.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Each change starts on a word of its own, so that it is copied word by word.
    words: Vec<u64>,
    /// By slot: from which version to which, and where the bits stand.
    known: Vec<Vec<(VersionId, VersionId, Change)>>,
    scratch: BitWriter,
}

/// Where an encoded change stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    start: u32,
    pub(crate) bits: u32,
}

/// More than the longest entity whole.
const CHANGE_BYTES_MAX: usize = 8 * crate::record::ROW_WORDS;

impl Default for Changes {
    fn default() -> Self {
        let scratch = BitWriter::growing(CHANGE_BYTES_MAX);
        Self { words: Vec::new(), known: Vec::new(), scratch }
    }
}

impl Changes {
    /// Forgets all: a new tick.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.known.iter_mut().for_each(Vec::clear);
    }

    /// The bits that lead from one version of a slot's entity to another; encoded now if they were not.
    #[inline]
    pub(crate) fn get(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        slot: usize,
        (from, to): (VersionId, VersionId),
    ) -> Change {
        let known = self.known.get(slot).map_or(&[][..], Vec::as_slice);
        match known.iter().find(|known| known.0 == from && known.1 == to) {
            Some((.., change)) => *change,
            None => self.encode(layouts, versions, slot, (from, to)),
        }
    }

    fn encode(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        slot: usize,
        (from, to): (VersionId, VersionId),
    ) -> Change {
        let Some((head, words)) = versions.get(to) else { return Change::default() };
        if self.known.len() <= slot {
            self.known.resize_with(slot + 1, Vec::new);
        }
        self.scratch.clear();
        write_entity(&mut self.scratch, layouts, versions.get(from), head, words);
        let bits = self.scratch.bits_written() as u32;
        let change = Change { start: self.words.len() as u32, bits };
        let bytes = self.scratch.finish().expect("a record is never so long");
        self.words.extend(bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        }));
        self.known[slot].push((from, to, change));
        change
    }

    /// Copies bits that [`get`](Changes::get) gave.
    #[inline]
    pub(crate) fn write(&self, change: Change, bits: &mut BitWriter) {
        bits.write_words(&self.words[change.start as usize..], change.bits);
    }
}
