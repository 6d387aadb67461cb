//! The state of many entities at one moment, by slot, as records: what a snapshot is written from,
//! written against, and read into.

use crate::core::entity::EntityId;
use crate::core::slots::Slots;
use crate::schema::fields::Networked;
use crate::schema::record::{Layout, ROW_WORDS, Row, hash, mix};
use std::ops::Range;

/// Entities by slot: who stands there, of which kind, with which record; and which are in sight.
///
/// Those out of sight keep their last record, so that one who returns is told only what changed.
#[derive(Clone, Debug)]
pub struct Table {
    slots: Vec<Slot>,
    /// The records, and room for one more row, so that any of them can be lent as a [`Row`].
    words: Vec<u32>,
    /// The slots in sight.
    pub visible: Slots,
}

/// A slot's tenant, and where its record stands.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    head: Option<Head>,
    start: usize,
    capacity: usize,
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
    /// Places an entity in its slot, in sight, and lends its record: what it was or, if another stood
    /// there, the initial values.
    pub fn place(&mut self, head: Head, layout: &Layout) -> &mut [u32] {
        let is_stranger = self.head(head.id.slot()) != Some(head);
        let record = &mut self.row(head, layout)[..layout.len()];
        if is_stranger {
            record.copy_from_slice(layout.initial());
        }
        record
    }

    /// Places an entity in its slot, in sight, with the record of `value`.
    #[inline]
    pub fn gather<T: Networked>(&mut self, head: Head, layout: &Layout, value: &mut T) {
        layout.gather(value, self.row(head, layout));
    }

    /// The room for an entity's record, and what happens to stand behind it.
    fn row(&mut self, head: Head, layout: &Layout) -> &mut Row {
        let index = head.id.slot();
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::default());
        }
        let slot = &mut self.slots[index];
        slot.head = Some(head);
        if slot.capacity < layout.len() {
            // Doubled, so that tenants who take turns cannot make the table grow for ever.
            slot.capacity = layout.len().next_power_of_two();
            slot.start = self.words.len() - ROW_WORDS;
            self.words.resize(self.words.len() + slot.capacity, 0);
        }
        self.visible.insert(index);
        let start = slot.start;
        self.words[start..].first_chunk_mut().expect("a table ends with room for a row")
    }

    /// Who stands in a slot, if anyone ever did.
    #[inline]
    pub fn head(&self, slot: usize) -> Option<Head> {
        self.slots.get(slot)?.head
    }

    /// Everyone who ever stood in a slot and was not followed by another, by slot.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Head)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot.head?)))
    }

    /// The record of a slot that has one; `layout` is that of its tenant's kind.
    #[inline]
    pub fn record(&self, slot: usize, layout: &Layout) -> &[u32] {
        debug_assert!(self.head(slot).is_some(), "nobody ever stood in slot {slot}");
        &self.words[self.slots[slot].start..][..layout.len()]
    }

    /// The same, to be changed.
    #[inline]
    pub fn record_mut(&mut self, slot: usize, layout: &Layout) -> &mut [u32] {
        &mut self.words[self.slots[slot].start..][..layout.len()]
    }

    /// The record of a slot that has one, and what happens to stand behind it.
    #[inline]
    pub(crate) fn lend(&self, slot: usize) -> &Row {
        let start = self.slots[slot].start;
        self.words[start..].first_chunk().expect("a table ends with room for a row")
    }

    /// Makes this table a copy of `other`, in its own memory.
    pub fn copy_from(&mut self, other: &Table) {
        self.slots.clone_from(&other.slots);
        self.words.clone_from(&other.words);
        self.visible.clone_from(&other.visible);
    }

    /// Makes a range of slots what it is in `other`, but for those `held` that are here, and those `untold`.
    pub(crate) fn take_slots(
        &mut self,
        other: &Table,
        slots: Range<usize>,
        (held, untold): (&Slots, &Slots),
        layouts: &[Layout],
    ) {
        for slot in slots.start..slots.end.min(other.slots.len().max(self.slots.len())) {
            let is_here = self.visible.contains(slot) && self.head(slot) == other.head(slot);
            if held.contains(slot) && is_here || untold.contains(slot) {
                continue;
            }
            self.visible.remove(slot);
            if let Some(head) = other.head(slot).filter(|_| other.visible.contains(slot)) {
                let layout = &layouts[usize::from(head.kind)];
                self.place(head, layout).copy_from_slice(other.record(slot, layout));
            }
        }
    }

    /// Forgets who stood in a slot; the memory of its record is kept.
    pub(crate) fn vacate(&mut self, slot: usize) {
        if let Some(here) = self.slots.get_mut(slot) {
            here.head = None;
        }
    }

    /// Makes a range of slots what it is in `other`, also of those out of sight.
    pub(crate) fn copy_slots(&mut self, other: &Table, slots: Range<usize>, layouts: &[Layout]) {
        for slot in slots.start..slots.end.min(other.slots.len().max(self.slots.len())) {
            if let Some(head) = other.head(slot) {
                let layout = &layouts[usize::from(head.kind)];
                self.place(head, layout).copy_from_slice(other.record(slot, layout));
            } else if let Some(here) = self.slots.get_mut(slot) {
                here.head = None;
            }
            if !other.visible.contains(slot) {
                self.visible.remove(slot);
            }
        }
    }

    /// Whether the same entities are in sight in both, with the same records.
    pub fn looks_like(&self, other: &Table, layouts: &[Layout]) -> bool {
        let same = |slot: usize| {
            let Some(head) = self.head(slot) else { return false };
            let layout = &layouts[usize::from(head.kind)];
            other.head(slot) == Some(head)
                && other.record(slot, layout) == self.record(slot, layout)
        };
        self.visible == other.visible && self.visible.iter().all(same)
    }

    /// A number for all that is in sight.
    pub fn hash(&self, layouts: &[Layout]) -> u64 {
        self.visible.iter().filter_map(|slot| Some((slot, self.head(slot)?))).fold(
            0,
            |sum, (slot, head)| {
                let words = hash(self.record(slot, &layouts[usize::from(head.kind)]));
                let [low, high] = [words as u32, (words >> 32) as u32];
                let name = EntityId::to_word(Some(head.id));
                [name, u32::from(head.kind), low, high].into_iter().fold(sum, mix)
            },
        )
    }
}

impl Default for Table {
    fn default() -> Self {
        Self { slots: Vec::new(), words: vec![0; ROW_WORDS], visible: Slots::default() }
    }
}
