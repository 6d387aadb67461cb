//! Changes that may be carried in a part of a snapshot, one by one or neighbours together.

use super::{Frame, HEAD_BITS_MAX, Own};
use crate::core::slots::{CHUNK_SLOTS, places};
use crate::replication::server::changes::{Change, Known};

/// Changed neighbours that may be carried together: of which chunk, and their changes in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(super) chunk: usize,
    pub(super) change: Change,
}

impl Candidate {
    /// The first of its slots.
    pub(super) fn slot(&self) -> usize {
        self.chunk * CHUNK_SLOTS + self.change.members.trailing_zeros() as usize
    }
}

/// Takes a chunk's changes together, with the viewer's own between them; false if nobody keeps them.
#[inline(always)]
pub(super) fn choose_together<F>(
    frame: &mut Frame<'_, F>,
    own: Own<'_>,
    chunk: usize,
    known: Known<'_>,
) -> bool {
    let Some(run) = frame.changes.run(frame.layouts, frame.versions, chunk, known) else {
        return false;
    };
    let mut from = 0;
    for place in places(known.own) {
        let change = frame.changes.part(run, from..place);
        frame.candidates.extend(change.map(|change| Candidate { chunk, change }));
        choose_alone(frame, own, chunk, known, known.wanted & 1 << place);
        from = place + 1;
    }
    let change = frame.changes.part(run, from..CHUNK_SLOTS);
    frame.candidates.extend(change.map(|change| Candidate { chunk, change }));
    true
}

/// Takes the changes of some of a chunk one by one.
pub(super) fn choose_alone<F>(
    frame: &mut Frame<'_, F>,
    own: Own<'_>,
    chunk: usize,
    known: Known<'_>,
    wanted: u32,
) {
    let Frame { layouts, versions, changes, candidates, .. } = frame;
    for place in places(wanted) {
        let slot = chunk * CHUNK_SLOTS + place;
        let (from, to) = (known.versions[place], versions.newest(slot, own));
        if from != to && !to.is_none() {
            let change = changes.get(layouts, versions, slot, (from, to));
            candidates.push(Candidate { chunk, change });
        }
    }
}

pub(super) fn fits(candidates: &[Candidate], bits_max: usize) -> bool {
    let bits: usize = candidates.iter().map(|candidate| candidate.change.bits as usize).sum();
    bits + HEAD_BITS_MAX <= bits_max
}
