//! What a client's table was built on, and what that was, as the compact codec asks: lists of versions, and nothing of
//! the coder's.

use super::SentTable;
use crate::codec::compact::records::Past;
use crate::core::slots::Slots;
use crate::replication::messages::coded::part::{Said, Told};
use crate::replication::versions::{Remembered, VersionId, Versions};

/// Entities by slot, as the client had them.
#[derive(Clone, Debug, Default)]
pub(super) struct Remnant {
    pub(super) versions: Vec<VersionId>,
    pub(super) visible: Slots,
}

/// The tables behind one, the newer first.
#[derive(Debug, Default)]
pub(super) struct SentPast {
    remnants: [Remnant; 2],
    /// How many of them there are.
    count: usize,
    /// None of the map as loaded.
    pub(super) told: Option<Told>,
}

impl Clone for SentPast {
    fn clone(&self) -> Self {
        Self { remnants: self.remnants.clone(), count: self.count, told: self.told }
    }

    /// In its own memory.
    fn clone_from(&mut self, other: &Self) {
        for (mine, theirs) in self.remnants.iter_mut().zip(&other.remnants) {
            mine.versions.clone_from(&theirs.versions);
            mine.visible.clone_from(&theirs.visible);
        }
        (self.count, self.told) = (other.count, other.told);
    }
}

impl SentPast {
    /// Of a merged baseline: its parts may have been built on different ones.
    pub(super) fn of(told: Option<Told>) -> Self {
        Self { told, ..Self::default() }
    }

    /// All versions that it names.
    pub(super) fn named(&self) -> impl Iterator<Item = &[VersionId]> {
        self.remnants[..self.count].iter().map(|remnant| &remnant.versions[..])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let versions = self.remnants.iter().map(|remnant| remnant.versions.capacity());
        versions.sum::<usize>() * size_of::<VersionId>() + size_of::<Self>()
    }

    /// Forgets the tables: parts that are joined may have been built on different ones.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }

    /// Moves on: what was the base is behind the table that is built on it, so many parts later. The memory of what is
    /// forgotten is left in its place.
    pub(super) fn shift(&mut self, base: &mut Remnant, back: u64, said: Said) {
        let is_loaded = self.told.is_none();
        let told = Told::on(self.told.as_ref().map(|told| (told, back)), said);
        self.remnants.swap(0, 1);
        std::mem::swap(&mut self.remnants[0], base);
        self.count = if is_loaded { 0 } else { 2.min(self.count + 1) };
        self.told = Some(told);
    }
}

impl SentTable {
    /// Remembers what it is as its own past, before it is overwritten by what a part carries.
    pub(super) fn remember(&mut self, back: u64, said: Said) {
        let Self { past: Some(past), versions, visible, .. } = self else { return };
        let mut base = Remnant::default();
        base.versions.clone_from(versions);
        base.visible.clone_from(visible);
        past.shift(&mut base, back, said);
    }

    /// What a part of a tick is coded against that is built on it.
    pub(super) fn lineage<'a>(&'a self, versions: &'a Versions, tick: u32) -> Past<Remembered<'a>> {
        let base = Remembered { versions, ids: &self.versions, visible: &self.visible };
        let past = self.past.as_deref();
        let remnant = |index: usize| {
            let remnant = past.and_then(|past| past.remnants[..past.count].get(index))?;
            Some(Remembered { versions, ids: &remnant.versions, visible: &remnant.visible })
        };
        let told = past.and_then(|past| past.told).unwrap_or_default();
        Past { base, before: remnant(0), earlier: remnant(1), spans: told.spans_to(tick) }
    }
}
