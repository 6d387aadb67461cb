//! Where records stand that a walk looks up: in a table, or among the versions that a server keeps once for all.

use crate::core::slots::Slots;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};

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

/// What both ends have: the base, and what was known before it, as far as both still hold that.
#[derive(Clone, Copy, Debug)]
pub struct Lineage<'a> {
    /// What the snapshot is written against.
    pub base: &'a Table,
    /// What the base was written against.
    pub before: Option<&'a Table>,
    /// And what that was.
    pub earlier: Option<&'a Table>,
    /// How many ticks lie between the snapshot and its base, that and the one before, and so on.
    pub spans: [u32; 3],
}

impl<'a> Lineage<'a> {
    /// Nothing is known but the base.
    pub fn of(base: &'a Table) -> Self {
        Self { base, before: None, earlier: None, spans: [1; 3] }
    }
}
