//! The changes encoded in one tick, each once however many clients get it.

use crate::bits::BitWriter;
use crate::record::Layout;
use crate::snapshot::write_entity;
use crate::versions::{VersionId, Versions};
use std::ops::Range;

/// From one version of an entity to another, as bits. Cleared each tick.
#[derive(Debug)]
pub(crate) struct Changes {
    bits: BitWriter,
    /// By slot: from which version to which, and where the bits stand.
    known: Vec<Vec<(VersionId, VersionId, Range<usize>)>>,
}

/// More than all entities whole, from several bases.
const CHANGES_BYTES_MAX: usize = 64 << 20;

impl Default for Changes {
    fn default() -> Self {
        let bits = BitWriter::growing(CHANGES_BYTES_MAX);
        Self { bits, known: Vec::new() }
    }
}

impl Changes {
    /// Forgets all: a new tick.
    pub(crate) fn clear(&mut self) {
        self.bits.clear();
        self.known.iter_mut().for_each(Vec::clear);
    }

    /// The bits that lead from one version of an entity to another; encoded now if they were not.
    pub(crate) fn get(
        &mut self,
        layouts: &[Layout],
        versions: &Versions,
        from: VersionId,
        to: VersionId,
    ) -> Range<usize> {
        let Some((head, words)) = versions.get(to) else { return 0..0 };
        let slot = head.id.slot();
        if self.known.len() <= slot {
            self.known.resize_with(slot + 1, Vec::new);
        }
        if let Some((.., bits)) =
            self.known[slot].iter().find(|known| known.0 == from && known.1 == to)
        {
            return bits.clone();
        }
        self.bits.align();
        let start = self.bits.bits_written();
        write_entity(&mut self.bits, layouts, versions.get(from), head, words);
        let range = start..self.bits.bits_written();
        self.known[slot].push((from, to, range.clone()));
        range
    }

    /// Copies bits that [`get`](Changes::get) gave.
    pub(crate) fn write(&mut self, range: Range<usize>, bits: &mut BitWriter) {
        bits.write_from(self.bits.so_far(), range);
    }
}
