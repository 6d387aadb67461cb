//! What one client was told: a table that both ends hold alike, because whatever is told arrives, in order. A telling
//! is what has changed in it since the last.
//!
//! One function writes and reads. Each word is told as how far it is from a guess: from what it was, from the tick,
//! from what another entity of the kind was last told, or from a word before it. Which guess serves which word best is
//! learned on both ends alike.

use super::TICK_LAST;
use super::coder::{Chance, Coder, Number};
use crate::core::entity::{ENTITY_SLOTS_MAX, EntityId, GENERATIONS_MAX};
use crate::core::mutant::{self, Mutant};
use crate::core::slots::Slots;
use crate::core::tick::Tick;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};
use crate::schema::word::Word;

/// What a world looks like in records, with whose each entity is: zero is nobody's, others count from one.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) table: Table,
    pub(super) owners: Vec<u32>,
}

impl Picture {
    pub(super) fn owner(&self, slot: usize) -> u32 {
        self.owners.get(slot).copied().unwrap_or(0)
    }

    pub(super) fn set_owner(&mut self, slot: usize, owner: u32) {
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, 0);
        }
        self.owners[slot] = owner;
    }

    /// Whether an entity in a slot is the same in both.
    fn is_alike(&self, other: &Self, slot: usize, layouts: &[Layout]) -> bool {
        let Some(head) = self.table.head(slot) else { return false };
        let layout = &layouts[usize::from(head.kind)];
        other.table.head(slot) == Some(head)
            && self.owner(slot) == other.owner(slot)
            && self.table.record(slot, layout) == other.table.record(slot, layout)
    }
}

/// The slots that a telling is about, each list ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Out of sight, or at their end.
    pub(super) gone: Vec<usize>,
    /// In sight before, and other than they were.
    pub(super) changed: Vec<usize>,
    /// Into sight.
    pub(super) fresh: Vec<usize>,
}

impl News {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.changed.is_empty() && self.fresh.is_empty()
    }
}

/// One client's account, held by both ends.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) told: Picture,
    pub(super) tick: Tick,
    ticks: Number,
    lists: [List; 3],
    generations: Number,
    is_other: Chance,
    kinds: [Chance; 256],
    /// By kind.
    models: Vec<RecordModel>,
}

const GONE: usize = 0;
const CHANGED: usize = 1;
const FRESH: usize = 2;

#[derive(Clone, Debug, Default)]
struct List {
    has_more: [Chance; 4],
    gaps: Number,
}

impl Ledger {
    /// Begins with what both ends made of the content, none of it in sight.
    pub(super) fn new(mut map: Picture, tick: Tick) -> Self {
        map.table.visible.clear();
        Self {
            told: map,
            tick,
            ticks: Number::default(),
            lists: Default::default(),
            generations: Number::default(),
            is_other: Chance::default(),
            kinds: [Chance::default(); 256],
            models: Vec::new(),
        }
    }

    /// What there is to tell of a picture whose `visible` is what the client may see.
    pub(super) fn news(&self, now: &Picture, visible: &Slots, layouts: &[Layout], news: &mut News) {
        let here = &self.told.table;
        let is_mutant = mutant::is(Mutant::SameSlotSameEntity);
        let is_same_entity = |slot: usize| match (here.head(slot), now.table.head(slot)) {
            (Some(known), Some(new)) if is_mutant => known.kind == new.kind,
            (known, new) => known == new,
        };
        let is_there = |slot: usize| visible.contains(slot) && now.table.visible.contains(slot);
        let is_kept = |slot: usize| is_there(slot) && is_same_entity(slot);
        news.gone.clear();
        news.gone.extend(here.visible.iter().filter(|slot| !is_kept(*slot)));
        news.changed.clear();
        news.fresh.clear();
        for slot in visible.iter().filter(|slot| is_there(*slot)) {
            if !(here.visible.contains(slot) && is_same_entity(slot)) {
                news.fresh.push(slot);
            } else if !self.told.is_alike(now, slot, layouts) {
                news.changed.push(slot);
            }
        }
    }

    /// Writes the news that `goal` holds, or reads them into `news`; the table is then as told.
    pub(super) fn exchange<C: Coder>(
        &mut self,
        coder: &mut C,
        layouts: &[Layout],
        (tick, goal): (Tick, Option<&Picture>),
        news: &mut News,
    ) {
        let passed = self.ticks.code(coder, tick.0.wrapping_sub(self.tick.0));
        let tick = self.tick.0.checked_add(passed).map(Tick);
        let Some(tick) = tick.filter(|tick| *tick <= TICK_LAST) else { return coder.fail() };
        self.tick = tick;
        let seen: Vec<usize> = self.told.table.visible.iter().collect();
        self.lists[GONE].code_places(coder, &mut news.gone, &seen);
        news.gone.iter().for_each(|slot| self.told.table.visible.remove(*slot));
        let seen: Vec<usize> = self.told.table.visible.iter().collect();
        self.lists[CHANGED].code_places(coder, &mut news.changed, &seen);
        if coder.failed() {
            return;
        }
        for slot in &news.changed {
            let Some(head) = self.told.table.head(*slot) else { return coder.fail() };
            self.code_record(coder, layouts, head, goal, false);
        }
        let mut slot = 0;
        let mut index = 0;
        loop {
            let next = news.fresh.get(index).copied();
            let Some(found) = self.lists[FRESH].code_slot(coder, index, slot, next) else { break };
            if found >= ENTITY_SLOTS_MAX || self.told.table.visible.contains(found) {
                return coder.fail();
            }
            if next.is_none() {
                news.fresh.push(found);
            }
            let new = goal.and_then(|goal| goal.table.head(found));
            let Some(head) = self.code_head(coder, layouts, found, new) else { return };
            let is_back = self.told.table.head(found) == Some(head);
            if !is_back {
                self.told.set_owner(found, 0);
            }
            self.told.table.place(head, &layouts[usize::from(head.kind)]);
            self.code_record(coder, layouts, head, goal, !is_back);
            if coder.failed() {
                return;
            }
            (slot, index) = (found + 1, index + 1);
        }
    }

    /// Who stands in a slot that comes into sight.
    fn code_head<C: Coder>(
        &mut self,
        coder: &mut C,
        layouts: &[Layout],
        slot: usize,
        new: Option<Head>,
    ) -> Option<Head> {
        let known = self.told.table.head(slot);
        if known.is_some() && !coder.bit(&mut self.is_other, new != known) {
            return known;
        }
        let before = known.map_or(0, |known| known.id.generation());
        let passed = new.map_or(0, |new| new.id.generation().wrapping_sub(before));
        let generation = before.checked_add(self.generations.code(coder, passed));
        let kind = coder.tree(&mut self.kinds, new.map_or(0, |new| u32::from(new.kind)), 8) as u8;
        let generation = generation.filter(|generation| *generation <= GENERATIONS_MAX);
        let id = generation.and_then(|generation| EntityId::new(slot, generation));
        let head = id.map(|id| Head { id, kind });
        if head.is_none() || usize::from(kind) >= layouts.len() || head == known {
            coder.fail();
            return None;
        }
        head
    }

    /// An entity's owner and record, against those in the table.
    fn code_record<C: Coder>(
        &mut self,
        coder: &mut C,
        layouts: &[Layout],
        head: Head,
        goal: Option<&Picture>,
        is_new: bool,
    ) {
        let (slot, kind) = (head.id.slot(), usize::from(head.kind));
        let layout = &layouts[kind];
        if self.models.len() <= kind {
            self.models.resize_with(kind + 1, RecordModel::default);
        }
        let model = &mut self.models[kind];
        let owner = goal.map_or(0, |goal| goal.owner(slot));
        let owner = model.code_owner(coder, self.told.owner(slot), owner, is_new);
        self.told.set_owner(slot, owner);
        let record = goal.map(|goal| goal.table.record(slot, layout));
        let words = self.told.table.record_mut(slot, layout);
        model.code(coder, layout, (words, record), self.tick.0, is_new);
    }
}

impl List {
    /// Some of `seen`, by how many of these are passed over between them.
    fn code_places(&mut self, coder: &mut impl Coder, slots: &mut Vec<usize>, seen: &[usize]) {
        let (mut place, mut index) = (0, 0);
        loop {
            let next = slots.get(index).copied();
            let wanted = next.map(|slot| seen.partition_point(|other| *other < slot));
            let Some(found) = self.code_slot(coder, index, place, wanted) else { break };
            let Some(slot) = seen.get(found) else { return coder.fail() };
            if next.is_none() {
                slots.push(*slot);
            }
            (place, index) = (found + 1, index + 1);
        }
    }

    /// The next of a list, at `from` or behind it; none at its end.
    fn code_slot(
        &mut self,
        coder: &mut impl Coder,
        index: usize,
        from: usize,
        wanted: Option<usize>,
    ) -> Option<usize> {
        let has_more = &mut self.has_more[index.min(3)];
        if coder.failed() || !coder.bit(has_more, wanted.is_some()) {
            return None;
        }
        let gap = wanted.map_or(0, |wanted| (wanted - from) as u32);
        Some(from.saturating_add(self.gaps.code(coder, gap) as usize))
    }
}

/// What is learned of the records of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordModel {
    owner_changes: [Chance; 2],
    owners: Number,
    /// By word; made when the word is first told.
    words: Vec<WordModel>,
}

#[derive(Clone, Debug, Default)]
struct WordModel {
    /// Whether it changes: by whether the entity is new, and whether the word before did.
    changes: [Chance; 4],
    value: Option<Box<ValueModel>>,
}

#[derive(Clone, Debug)]
struct ValueModel {
    /// Of a word of few bits: the value itself, knowing what it was.
    tree: Vec<Chance>,
    distance: Number,
    /// What this word of any entity was last told.
    last: u32,
    /// How far off each guess was, of late.
    errors: [u32; GUESSES],
}

/// What it was, the tick, what another's was, and the three words before it.
const GUESSES: usize = 6;
/// Words of no more bits are told as they are, not as a distance.
const SMALL_BITS: u32 = 6;
/// Of so many bits, their chances depend on what the word was.
const SMALLEST_BITS: u32 = 3;
/// An error counts for less by this share with each word told.
const ERRORS_FADE: u32 = 8;

impl RecordModel {
    pub(super) fn code_owner<C: Coder>(
        &mut self,
        coder: &mut C,
        before: u32,
        owner: u32,
        is_new: bool,
    ) -> u32 {
        if !coder.bit(&mut self.owner_changes[usize::from(is_new)], owner != before) {
            return before;
        }
        let owner = self.owners.code(coder, owner);
        if owner > 1 << 16 {
            coder.fail();
        }
        owner
    }

    /// Makes `words` what `goal` is, or what was written.
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        layout: &Layout,
        (words, goal): (&mut [u32], Option<&[u32]>),
        tick: u32,
        is_new: bool,
    ) {
        if self.words.len() < layout.len() {
            self.words.resize_with(layout.len(), WordModel::default);
        }
        let mut has_changed = false;
        for (index, description) in layout.words().iter().enumerate() {
            // A word without width is always zero.
            if description.bits == 0 {
                continue;
            }
            let wanted = goal.map_or(words[index], |goal| goal[index]);
            let model = &mut self.words[index];
            let context = usize::from(is_new) << 1 | usize::from(has_changed);
            has_changed = coder.bit(&mut model.changes[context], wanted != words[index]);
            if has_changed {
                let value = model.value.get_or_insert_with(|| ValueModel::new(description));
                let word = value.code(coder, description, (words, index), wanted, tick);
                if !description.admits(word) {
                    return coder.fail();
                }
                words[index] = word;
            }
        }
        if !layout.admits(words) {
            coder.fail();
        }
    }
}

impl ValueModel {
    fn new(description: &Word) -> Box<Self> {
        let tree = match description.bits {
            bits @ 0..=SMALLEST_BITS => 1 << (2 * bits),
            bits @ 4..=SMALL_BITS => 1 << bits,
            _ => 0,
        };
        Box::new(Self {
            tree: vec![Chance::default(); tree],
            distance: Number::default(),
            last: 0,
            errors: [0; GUESSES],
        })
    }

    fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        description: &Word,
        (words, index): (&[u32], usize),
        wanted: u32,
        tick: u32,
    ) -> u32 {
        let bits = description.bits;
        if bits <= SMALL_BITS {
            let known = if bits <= SMALLEST_BITS { words[index] as usize } else { 0 };
            let chances = &mut self.tree[known << bits..][..1 << bits];
            return coder.tree(chances, wanted, bits);
        }
        let before = |back: usize| index.checked_sub(back).map_or(0, |index| words[index]);
        let guesses = [words[index], tick, self.last, before(1), before(2), before(3)];
        let best = (0..GUESSES).min_by_key(|guess| self.errors[*guess]).unwrap_or(0);
        let distance = zigzag(wanted.wrapping_sub(guesses[best]).cast_signed());
        let distance = unzigzag(self.distance.code(coder, distance));
        let word = guesses[best].wrapping_add(distance.cast_unsigned());
        for (error, guess) in self.errors.iter_mut().zip(guesses) {
            let off = zigzag(word.wrapping_sub(guess).cast_signed());
            // In 16ths of a bit.
            *error += 16 * (u32::BITS - off.leading_zeros());
            *error -= *error / ERRORS_FADE;
        }
        self.last = word;
        word
    }
}

fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31).cast_unsigned()
}

fn unzigzag(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}
