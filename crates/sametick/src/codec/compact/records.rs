//! Where records stand that a walk looks up: in a table, or among the versions that a server keeps once for all.

use super::walk::Lineage;
use crate::record::Layout;
use crate::slots::Slots;
use crate::table::{Head, Table};
use crate::versions::{VersionId, Versions};

/// Entities by slot.
pub(crate) trait Records<'a>: Copy {
    /// Who stands in a slot.
    fn head(self, slot: usize) -> Option<Head>;
    /// The record of a slot that has one.
    fn record(self, slot: usize, layout: &Layout) -> &'a [u32];
    /// The slots in sight.
    fn visible(self) -> &'a Slots;
}

impl<'a> Records<'a> for &'a Table {
    #[inline(always)]
    fn head(self, slot: usize) -> Option<Head> {
        Table::head(self, slot)
    }
    #[inline(always)]
    fn record(self, slot: usize, layout: &Layout) -> &'a [u32] {
        Table::record(self, slot, layout)
    }
    #[inline(always)]
    fn visible(self) -> &'a Slots {
        &self.visible
    }
}

/// What a client has, as its server remembers it.
#[derive(Clone, Copy)]
pub(crate) struct Remembered<'a> {
    pub(crate) versions: &'a Versions,
    /// By slot.
    pub(crate) ids: &'a [VersionId],
    pub(crate) visible: &'a Slots,
}

impl<'a> Records<'a> for Remembered<'a> {
    #[inline(always)]
    fn head(self, slot: usize) -> Option<Head> {
        self.versions.get(*self.ids.get(slot)?).map(|(head, _)| head)
    }
    #[inline(always)]
    fn record(self, slot: usize, _: &Layout) -> &'a [u32] {
        let known = self.ids.get(slot).and_then(|id| self.versions.get(*id));
        known.map_or(&[], |(_, words)| words)
    }
    #[inline(always)]
    fn visible(self) -> &'a Slots {
        self.visible
    }
}

/// A lineage of such records; see [`Lineage`].
#[derive(Clone, Copy)]
pub(crate) struct Past<R> {
    pub(crate) base: R,
    pub(crate) before: Option<R>,
    pub(crate) earlier: Option<R>,
    pub(crate) spans: [u32; 3],
}

impl<'a> From<&Lineage<'a>> for Past<&'a Table> {
    fn from(lineage: &Lineage<'a>) -> Self {
        let Lineage { base, before, earlier, spans } = *lineage;
        Self { base, before, earlier, spans }
    }
}
