//! The state of many entities at one moment, by slot, as records: what a snapshot is written from,
//! written against, and read into.

use crate::entity::{ENTITY_SLOTS_MAX, EntityId};
use crate::record::{Layout, ROW_WORDS, Row, hash, mix};
use crate::slots::Slots;

/// Entities by slot: who stands there, of which kind, with which record; and which are in sight.
///
/// Those out of sight keep their last record, so that one who returns is told only what changed.
#[derive(Clone, Debug)]
pub struct Table {
    /// As many words for every slot as the longest layout has.
    stride: usize,
    heads: Vec<Option<Head>>,
    /// The records, and room for one more row, so that any of them can be lent as a [`Row`].
    words: Vec<u32>,
    /// The slots in sight.
    pub visible: Slots,
}

/// Who stands in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The entity's name.
    pub id: EntityId,
    /// Which of the game's kinds it is.
    pub kind: u8,
}

impl Table {
    /// An empty table for records of these layouts, one for each kind.
    pub fn new(layouts: &[Layout]) -> Self {
        let stride = layouts.iter().map(Layout::len).max().unwrap_or(0);
        Self { stride, heads: Vec::new(), words: vec![0; ROW_WORDS], visible: Slots::default() }
    }

    /// Places an entity in its slot, in sight, and lends its record to be filled.
    pub fn place(&mut self, head: Head) -> &mut Row {
        let slot = head.id.slot();
        self.grow(slot + 1);
        self.heads[slot] = Some(head);
        self.visible.insert(slot);
        self.row_mut(slot)
    }

    /// Who stands in a slot, if anyone ever did.
    #[inline]
    pub fn head(&self, slot: usize) -> Option<Head> {
        self.heads.get(slot).copied().flatten()
    }

    /// A slot's record; its length is that of its kind's layout.
    #[inline]
    pub fn record(&self, slot: usize, layout: &Layout) -> &[u32] {
        &self.words[slot * self.stride..][..layout.len()]
    }

    /// The same, to be changed.
    #[inline]
    pub fn record_mut(&mut self, slot: usize, layout: &Layout) -> &mut [u32] {
        &mut self.words[slot * self.stride..][..layout.len()]
    }

    /// The first slot past all that were ever used.
    pub fn slots_used(&self) -> usize {
        self.heads.len()
    }

    /// Makes this table a copy of `other`, in its own memory.
    pub fn copy_from(&mut self, other: &Table) {
        self.stride = other.stride;
        self.heads.clone_from(&other.heads);
        self.words.clone_from(&other.words);
        self.visible.clone_from(&other.visible);
    }

    /// A number for all that is in sight.
    pub fn hash(&self, layouts: &[Layout]) -> u64 {
        self.visible.iter().filter_map(|slot| Some((slot, self.head(slot)?))).fold(0, |sum, (slot, head)| {
            let words = hash(self.record(slot, &layouts[usize::from(head.kind)]));
            [EntityId::to_word(Some(head.id)), u32::from(head.kind), words as u32, (words >> 32) as u32]
                .into_iter()
                .fold(sum, mix)
        })
    }

    fn grow(&mut self, slots: usize) {
        assert!(slots <= ENTITY_SLOTS_MAX, "a table has at most {ENTITY_SLOTS_MAX} slots");
        if self.heads.len() < slots {
            self.heads.resize(slots, None);
            self.words.resize(slots * self.stride + ROW_WORDS, 0);
        }
    }

    fn row_mut(&mut self, slot: usize) -> &mut Row {
        let rest = &mut self.words[slot * self.stride..];
        rest.first_chunk_mut().expect("a table ends with room for a row")
    }
}
