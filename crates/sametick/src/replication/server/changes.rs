//! The changes encoded in one tick, each once however many clients get it.

use crate::core::bits::BitWriter;
use crate::core::entity::GENERATION_BITS;
use crate::core::slots::{CHUNK_SLOTS, places};
use crate::replication::versions::{Chunk, VersionId, Versions};
use crate::schema::delta;
use crate::schema::record::Layout;
use crate::schema::table::Head;
use std::ops::Range;

/// From one version of an entity to another, as bits. Cleared each tick.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Each change starts on a word of its own and ends within its last. There is one before the first.
    words: Vec<u64>,
    /// By slot: from which version to which, and where the bits stand.
    known: Vec<Vec<(VersionId, VersionId, Change)>>,
    /// By chunk of slots: changes of neighbours, one behind the other. Clients who have acknowledged the
    /// same snapshot and see the same neighbours share them.
    runs: Vec<Vec<Run>>,
    scratch: BitWriter,
}

/// Where the encoded changes of some neighbours stand, one behind the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    /// In bits.
    start: u32,
    pub(crate) bits: u32,
    /// Whose they are, a bit for each slot of the chunk.
    pub(crate) members: u32,
    /// Who of them is told whole.
    pub(crate) whole: u32,
}

/// What a client knows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) versions: &'a Chunk,
    /// Whom it is to be told of if they changed.
    pub(crate) wanted: u32,
    /// Who belongs to it: it gets them in another way, and what it knows of them is like nobody else's.
    pub(crate) own: u32,
}

/// The changes of a chunk, for all who know the same of it.
#[derive(Debug)]
struct Run {
    known: Chunk,
    wanted: u32,
    all: Change,
    /// By slot of the chunk, how far from the start its change begins, in bits; at last the end.
    begins: [u32; CHUNK_SLOTS + 1],
    /// Whether it has served another client than its first.
    is_shared: bool,
}

impl Run {
    #[inline]
    fn part(&self, places: Range<usize>) -> Option<Change> {
        let mask = (u64::MAX << places.start & !(u64::MAX << places.end)) as u32;
        let (begin, end) = (self.begins[places.start], self.begins[places.end]);
        let (members, whole) = (self.all.members & mask, self.all.whole & mask);
        let start = self.all.start + begin;
        (members != 0).then_some(Change { start, bits: end - begin, members, whole })
    }

    /// Whether it is what a client needs, but for its own.
    #[inline(always)]
    fn suits(&self, known: Known<'_>) -> bool {
        let mut versions = *known.versions;
        places(known.own).for_each(|place| versions[place] = self.known[place]);
        self.wanted == known.wanted | known.own && are_equal(&versions, &self.known)
    }
}

/// Names the changes of a chunk, until the next tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunId {
    chunk: usize,
    index: usize,
}

/// All are compared, without a look at each result: the compiler compares several at once.
#[inline]
fn are_equal(left: &Chunk, right: &Chunk) -> bool {
    left.iter().zip(right).fold(true, |equal, (left, right)| equal & (left == right))
}

/// More than a chunk of the longest entities whole.
const CHANGE_BYTES_MAX: usize = 8 * CHUNK_SLOTS * crate::schema::record::ROW_WORDS;

/// Of so many different states of knowledge a chunk's changes are kept together; clients beyond them
/// get each entity's on its own.
const RUNS_MAX: usize = 8;
/// So many, if not one of them has served another client: where each sees others, there is nothing to share.
const RUNS_UNSHARED_MAX: usize = 2;

impl Default for Changes {
    fn default() -> Self {
        let scratch = BitWriter::growing(CHANGE_BYTES_MAX);
        Self { words: vec![0], known: Vec::new(), runs: Vec::new(), scratch }
    }
}

impl Changes {
    /// Forgets all: a new tick.
    pub(crate) fn clear(&mut self) {
        self.words.truncate(1);
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

    /// The bits that lead a chunk from what a client knows of it to what others see; none if there are
    /// too many such already.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        chunk: usize,
        known: Known<'_>,
    ) -> Option<RunId> {
        let runs = self.runs.get_mut(chunk).map_or(&mut [][..], Vec::as_mut_slice);
        // In place: this is asked for each chunk of each client's every snapshot.
        let mut found = None;
        for (index, run) in runs.iter().enumerate().rev() {
            if run.suits(known) {
                found = Some(index);
                break;
            }
        }
        let index = if let Some(index) = found {
            runs[index].is_shared = true;
            index
        } else if runs.len() < RUNS_UNSHARED_MAX
            || runs.len() < RUNS_MAX && runs.iter().any(|run| run.is_shared)
        {
            self.encode_run(layouts, versions, chunk, known)
        } else {
            return None;
        };
        Some(RunId { chunk, index })
    }

    /// The changes of some slots of a chunk, if there are any.
    #[inline]
    pub(crate) fn part(
        &self,
        RunId { chunk, index }: RunId,
        places: Range<usize>,
    ) -> Option<Change> {
        self.runs[chunk][index].part(places)
    }

    fn encode_run(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        chunk: usize,
        Known { versions: known, wanted, own }: Known<'_>,
    ) -> usize {
        if self.runs.len() <= chunk {
            self.runs.resize_with(chunk + 1, Vec::new);
        }
        let mut known = *known;
        for place in places(own) {
            // The next client will know of them what others know.
            let others = self.runs[chunk].last();
            known[place] = others.map_or(VersionId::UNKNOWN, |run| run.known[place]);
        }
        let newest = versions.chunk(chunk);
        let mut changes = [Change::default(); CHUNK_SLOTS];
        for place in places(wanted | own) {
            let (from, to) = (known[place], newest[place]);
            if from != to && !to.is_none() && from != VersionId::UNKNOWN {
                changes[place] =
                    self.get(layouts, versions, chunk * CHUNK_SLOTS + place, (from, to));
            }
        }
        self.scratch.clear();
        let mut begins = [0; CHUNK_SLOTS + 1];
        for (change, begin) in changes.iter().zip(&mut begins) {
            *begin = self.scratch.bits_written() as u32;
            if change.bits > 0 {
                write_apart(&mut self.scratch, &self.words, *change);
            }
        }
        begins[CHUNK_SLOTS] = self.scratch.bits_written() as u32;
        let members = changes.iter().fold(0, |members, change| members | change.members);
        let all = self.keep(members, changes.iter().fold(0, |whole, change| whole | change.whole));
        self.runs[chunk].push(Run { known, wanted: wanted | own, all, begins, is_shared: false });
        self.runs[chunk].len() - 1
    }

    /// Keeps what was just encoded.
    fn keep(&mut self, members: u32, whole: u32) -> Change {
        let bits = self.scratch.bits_written() as u32;
        let change = Change { start: 64 * self.words.len() as u32, bits, members, whole };
        let (words, last) = self.scratch.words();
        self.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        // There is a word behind the last whole one, even if nothing is in it.
        self.words.push(last);
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
        let place = slot % CHUNK_SLOTS;
        let change = self.keep(1 << place, u32::from(is_whole) << place);
        self.known[slot].push((from, to, change));
        change
    }

    /// Copies bits that [`get`](Changes::get) or [`run`](Changes::run) gave.
    #[inline]
    pub(crate) fn write(&self, change: Change, bits: &mut BitWriter) {
        bits.write_range(&self.words, change.start as usize, change.bits as usize);
    }

    /// The same where it is not done for each client's every snapshot.
    pub(crate) fn write_apart(&self, change: Change, bits: &mut BitWriter) {
        write_apart(bits, &self.words, change);
    }
}

/// Copies bits, in one place for all who are not in a hurry.
#[inline(never)]
fn write_apart(bits: &mut BitWriter, words: &[u64], change: Change) {
    bits.write_range(words, change.start as usize, change.bits as usize);
}

/// Writes one change: against its base version or, if that is another entity's or none, whole; says
/// which.
pub(crate) fn write_entity(
    bits: &mut BitWriter,
    layouts: &[Layout],
    base: Option<(Head, &[u32])>,
    head: Head,
    words: &[u32],
) -> bool {
    let layout = &layouts[usize::from(head.kind)];
    let known = base.filter(|(base_head, _)| *base_head == head);
    if known.is_none() {
        bits.write(u64::from(head.id.generation()), GENERATION_BITS);
        bits.write(u64::from(head.kind), 8);
    }
    delta::write(bits, layout, known.map_or(layout.initial(), |(_, words)| words), words);
    known.is_none()
}
