//! The changes encoded in one tick, each once however many clients get it.

use crate::bits::BitWriter;
use crate::record::Layout;
use crate::slots::places;
use crate::snapshot::write_entity;
use crate::versions::{GROUP_SLOTS, Group, VersionId, Versions};

/// From one version of an entity to another, as bits. Cleared each tick.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Each change starts on a word of its own, so that it is copied word by word.
    words: Vec<u64>,
    /// By slot: from which version to which, and where the bits stand.
    known: Vec<Vec<(VersionId, VersionId, Change)>>,
    /// By group of slots: changes of neighbours, from what to what others see, one behind the other.
    runs: Vec<Vec<Run>>,
    scratch: BitWriter,
}

/// Where an encoded change stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    start: u32,
    pub(crate) bits: u32,
    /// Who of its group is told whole, a bit each.
    pub(crate) whole: u8,
}

/// Which of a group's slots changed, and what the client knows of each.
#[derive(Debug)]
struct Run {
    known: Group,
    members: u8,
    change: Change,
}

/// More than a group of the longest entities whole.
const CHANGE_BYTES_MAX: usize = 8 * GROUP_SLOTS * crate::record::ROW_WORDS;

impl Default for Changes {
    fn default() -> Self {
        let scratch = BitWriter::growing(CHANGE_BYTES_MAX);
        Self { words: Vec::new(), known: Vec::new(), runs: Vec::new(), scratch }
    }
}

impl Changes {
    /// Forgets all: a new tick.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.known.iter_mut().for_each(Vec::clear);
        self.runs.iter_mut().for_each(Vec::clear);
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

    /// The bits that lead some neighbours from what is known of them to what others see.
    #[inline]
    pub(crate) fn get_run(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        group: usize,
        (known, members): (&Group, u8),
    ) -> Change {
        let runs = self.runs.get(group).map_or(&[][..], Vec::as_slice);
        match runs.iter().find(|run| run.members == members && run.known == *known) {
            Some(run) => run.change,
            None => self.encode_run(layouts, versions, group, (known, members)),
        }
    }

    fn encode_run(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        group: usize,
        (known, members): (&Group, u8),
    ) -> Change {
        let mut changes = [Change::default(); GROUP_SLOTS];
        let newest = versions.group(group);
        for place in places(u32::from(members)) {
            let slot = group * GROUP_SLOTS + place;
            changes[place] = self.get(layouts, versions, slot, (known[place], newest[place]));
        }
        self.scratch.clear();
        for change in changes {
            self.scratch.write_words(&self.words[change.start as usize..], change.bits);
        }
        let change = self.keep(changes.iter().fold(0, |whole, change| whole | change.whole));
        if self.runs.len() <= group {
            self.runs.resize_with(group + 1, Vec::new);
        }
        self.runs[group].push(Run { known: *known, members, change });
        change
    }

    /// Keeps what was just encoded.
    fn keep(&mut self, whole: u8) -> Change {
        let bits = self.scratch.bits_written() as u32;
        let change = Change { start: self.words.len() as u32, bits, whole };
        let bytes = self.scratch.finish().expect("records are never so long");
        let (words, rest) = bytes.as_chunks::<8>();
        self.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let place = |word, byte: &u8| word << 8 | u64::from(*byte);
            self.words.push(rest.iter().rev().fold(0, place));
        }
        change
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
        let is_whole = write_entity(&mut self.scratch, layouts, versions.get(from), head, words);
        let change = self.keep(u8::from(is_whole) << (slot % GROUP_SLOTS));
        self.known[slot].push((from, to, change));
        change
    }

    /// Copies bits that [`get`](Changes::get) gave.
    #[inline]
    pub(crate) fn write(&self, change: Change, bits: &mut BitWriter) {
        bits.write_words(&self.words[change.start as usize..], change.bits);
    }
}
