//! The one walk over a snapshot that writing, reading, training and explaining share: it says what is
//! coded, in which order, with what known. Which way the values go is the port's business.

use super::float::float;
use super::known::{Entity, KEYS, Recent, Rows, class, distance, expected, place_of, scaled};
use super::plan::{Float, Integer, Mode, NONE, Numbers, Wraps};
use super::records::{Past, Records};
use super::space::{Motion, Rumour, Space};
use super::tables::Tables;
use super::tree::{Features, FlagModel, Inputs, NumberModel};
use super::{HAS_CODER, feature as f};
use crate::core::entity::EntityId;
use crate::core::slots::{CHUNK_SLOTS, Slots, places};
use crate::schema::record::{Layout, ROW_WORDS, Row};
use crate::schema::table::{Head, Table};
use std::ops::Range;

/// What a decision or a number is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// The entity's kind; none for what is about all of them.
    pub(crate) kind: Option<u8>,
    pub(crate) part: Part,
}

/// See [`Subject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Whether there are more chunks than in the base.
    MoreChunks,
    /// Whether the same of a chunk are in sight.
    SameSight,
    /// Whether a slot is in sight.
    InSight,
    /// Whether a chunk has strangers.
    Strangers,
    /// Whether a slot's tenant is another.
    Stranger,
    Generation,
    Kind,
    /// Whether an entity may have changed and is not told of now.
    Held,
    /// Whether an entity is what the rules make of it.
    Foreseen,
    /// Whether an entity changed.
    Changed,
    /// Whether any of the words that rarely change did.
    Rare,
    /// A word's number.
    Word(u8),
    /// Whether a float is exactly what its number says, and what it is if not.
    OnGrid(u8),
    OffGrid(u8),
    /// An axis of a turn; never coded itself.
    Turn(u8),
}

/// Where the values go to or come from.
pub(crate) trait Port {
    /// Whether the values come from outside, so that each must be checked.
    const READS: bool = false;
    /// Whether everything is to be computed, asked about or not.
    const LEARNS: bool = false;
    /// A decision: the one given, or the one read.
    fn flag(&mut self, about: Subject, model: &FlagModel, known: &Features, value: bool) -> bool;
    /// A number.
    fn number(&mut self, about: Subject, model: &NumberModel, known: &Features, value: i32) -> i32;
    /// Bits of which nothing is known.
    fn raw(&mut self, about: Subject, bits: u32, value: u32) -> u32;
    /// Tells what was predicted from what, and what came; only training listens.
    #[inline(always)]
    fn learn(&mut self, _about: Subject, _known: &Features, _inputs: &Inputs, _came: i32) {}
    /// What is read makes no sense.
    fn fail(&mut self) {}
    fn failed(&self) -> bool {
        false
    }
}

/// Room that is used again from snapshot to snapshot; nothing in it outlives one.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(super) space: Space,
    order: Vec<u16>,
    keys: Vec<u8>,
    heads: Vec<(u16, Head)>,
    pub(super) recent: Vec<[Recent; ROW_WORDS]>,
    pub(crate) row: Box<Row>,
    held: HeldModels,
}

impl Default for Memory {
    fn default() -> Self {
        let (space, order, keys, heads, recent, held) = Default::default();
        Self { space, order, keys, heads, recent, row: Box::new([0; ROW_WORDS]), held }
    }
}

/// Whether somebody is held back, of those who moved before and of others, and whether it is as foreseen. No recording
/// says how often.
#[derive(Debug)]
struct HeldModels {
    held: [FlagModel; 2],
    as_foreseen: FlagModel,
}

impl Default for HeldModels {
    fn default() -> Self {
        let held = [FlagModel::constant(10_000), FlagModel::constant(32_768)];
        Self { held, as_foreseen: FlagModel::constant(52_000) }
    }
}

pub(crate) struct Walk<'a, P, R> {
    pub(crate) layouts: &'a [Layout],
    pub(crate) tables: &'a Tables,
    pub(crate) lineage: Past<R>,
    pub(crate) memory: &'a mut Memory,
    pub(crate) port: &'a mut P,
    /// What the rules foresee, for those in its sight.
    foreseen: Option<&'a Table>,
    /// The slots that are told of; all if there is none.
    told_of: Option<&'a Slots>,
    changed_lately: i32,
}

/// Who is attached to somebody is coded behind all who may be that.
const ATTACHED_KEY: usize = KEYS - 2;
/// From farther away nobody is taken along.
const LED_MAX: i32 = 1 << 20;

impl<'a, P: Port, R: Records<'a>> Walk<'a, P, R> {
    pub(crate) fn new(
        layouts: &'a [Layout],
        tables: &'a Tables,
        lineage: Past<R>,
        memory: &'a mut Memory,
        port: &'a mut P,
    ) -> Self {
        memory.space.clear();
        memory.recent.resize(layouts.len(), [Recent::default(); ROW_WORDS]);
        for (recent, layout) in memory.recent.iter_mut().zip(layouts) {
            recent[..layout.len()].fill(Recent::default());
        }
        let (foreseen, told_of) = (None, None);
        Self { layouts, tables, lineage, memory, port, foreseen, told_of, changed_lately: 0 }
    }

    /// The same where the rules foresee some.
    pub(crate) fn foreseeing(self, foreseen: Option<&'a Table>) -> Self {
        Self { foreseen, ..self }
    }

    /// The same where only some slots are told of.
    pub(crate) fn telling_of(self, told_of: Option<&'a Slots>) -> Self {
        Self { told_of, ..self }
    }

    /// Which slots of a chunk are told of.
    #[inline]
    fn mask(&self, chunk: usize) -> u32 {
        self.told_of.map_or(u32::MAX, |told| told.chunks().get(chunk).copied().unwrap_or(0))
    }

    /// Walks a whole snapshot: from `truth`, or into `now`, which is a copy of the base.
    pub(crate) fn snapshot(&mut self, truth: Option<R>, now: Option<&mut Table>) {
        if !HAS_CODER {
            return self.port.fail();
        }
        let chunks = self.chunks(truth.map(R::visible));
        let is_more = chunks > used(self.lineage.base.visible());
        let mut visible = Slots::default();
        self.sight(0..chunks, truth, &mut visible);
        // More chunks are there for somebody in the last.
        if is_more && used(&visible) != chunks {
            self.port.fail();
        }
        self.told(0..chunks, visible, (truth, now), None);
    }

    /// Walks those of some chunks, the rest being as in the base. Where some are `held` back it is said who; they are
    /// given, or found.
    pub(crate) fn part(
        &mut self,
        chunks: Range<usize>,
        truth: Option<R>,
        now: Option<&mut Table>,
        held: Option<&mut Slots>,
    ) {
        if !HAS_CODER {
            return self.port.fail();
        }
        let mut visible = self.lineage.base.visible().clone();
        self.sight(chunks.clone(), truth, &mut visible);
        self.told(chunks, visible, (truth, now), held);
    }

    /// Walks all who are in sight.
    fn told(
        &mut self,
        chunks: Range<usize>,
        visible: Slots,
        (truth, mut now): (Option<R>, Option<&mut Table>),
        mut held: Option<&mut Slots>,
    ) {
        let mut heads = std::mem::take(&mut self.memory.heads);
        heads.clear();
        self.heads(chunks, truth, &visible, &mut heads);
        if !self.port.failed() {
            self.arrange(&heads);
            for index in 0..self.memory.order.len() {
                let place = self.memory.order[index];
                let (slot, head) = heads[usize::from(place)];
                let layout = &self.layouts[usize::from(head.kind)];
                let words = truth.map(|truth| truth.record(usize::from(slot), layout));
                let changed = self.entity(usize::from(slot), head, words, held.as_deref_mut());
                if self.port.failed() {
                    break;
                }
                if let Some(now) = now.as_deref_mut().filter(|_| changed) {
                    let row = &self.memory.row[..layout.len()];
                    now.place(head, layout).copy_from_slice(row);
                }
            }
        }
        self.memory.heads = heads;
        if let Some(now) = now {
            now.visible = visible;
        }
    }

    /// How many chunks there are.
    fn chunks(&mut self, truth: Option<&Slots>) -> usize {
        let (known, actual) = (used(self.lineage.base.visible()), truth.map_or(0, used));
        let features = Features::default();
        let general = &self.tables.general;
        let about = Subject { kind: None, part: Part::MoreChunks };
        if !self.port.flag(about, &general.more_chunks, &features, actual > known) {
            return known;
        }
        let chunks = self.port.raw(about, 8, actual as u32) as usize;
        if chunks <= known || chunks * CHUNK_SLOTS > crate::ENTITY_SLOTS_MAX {
            self.port.fail();
            return 0;
        }
        chunks
    }

    /// Who is in sight.
    fn sight(&mut self, chunks: Range<usize>, truth: Option<R>, visible: &mut Slots) {
        let base = self.lineage.base.visible();
        let mut features = Features::default();
        let general = &self.tables.general;
        let about = Subject { kind: None, part: Part::SameSight };
        for chunk in chunks {
            let was = base.chunks().get(chunk).copied().unwrap_or(0);
            let is = truth.and_then(|truth| truth.visible().chunks().get(chunk)).copied();
            let mask = self.mask(chunk);
            if mask == 0 {
                continue;
            }
            let is = is.unwrap_or(0) & mask | was & !mask;
            features[0] = was.count_ones().cast_signed();
            let same = self.port.flag(about, &general.same_sight, &features, is == was);
            features[1] = i32::from(same);
            let now = if same { was } else { self.chunk_sight(chunk, was, is) };
            if !same && now == was {
                self.port.fail();
            }
            visible.set_chunk(chunk, now);
        }
    }

    fn chunk_sight(&mut self, chunk: usize, was: u32, is: u32) -> u32 {
        let (mut now, mask) = (0, self.mask(chunk));
        let mut features = Features::default();
        for place in 0..CHUNK_SLOTS {
            let slot = chunk * CHUNK_SLOTS + place;
            let head = self.lineage.base.head(slot);
            let was_visible = was >> place & 1 != 0;
            if mask >> place & 1 == 0 {
                now |= was & 1 << place;
                continue;
            }
            let before = self.lineage.before.is_some_and(|table| table.visible().contains(slot));
            features[0] = i32::from(was_visible);
            features[1] = head.map_or(-1, |head| i32::from(head.kind));
            features[2] = i32::from(before);
            features[3] =
                (now ^ was).count_ones().cast_signed() - (was >> place).count_ones().cast_signed();
            let about = Subject { kind: None, part: Part::InSight };
            let model = &self.tables.general.in_sight;
            if self.port.flag(about, model, &features, is >> place & 1 != 0) {
                now |= 1 << place;
            }
            features[4] = i32::from((now >> place & 1 != 0) != was_visible);
        }
        now
    }

    /// Who stands in each slot in sight.
    fn heads(
        &mut self,
        chunks: Range<usize>,
        truth: Option<R>,
        visible: &Slots,
        heads: &mut Vec<(u16, Head)>,
    ) {
        let base = self.lineage.base;
        let mut features = Features::default();
        let all = visible.chunks().iter().enumerate();
        for (chunk, members) in all.take(chunks.end).skip(chunks.start) {
            let first = chunk * CHUNK_SLOTS;
            let members = &(*members & self.mask(chunk));
            let known = places(*members).filter(|place| base.head(first + place).is_some());
            let known = known.fold(0u32, |known, place| known | 1 << place);
            let differs = |place: usize| {
                truth.is_some_and(|truth| truth.head(first + place) != base.head(first + place))
            };
            let any = places(known).any(differs);
            let about = |part| Subject { kind: None, part };
            features[0] = known.count_ones().cast_signed();
            let model = &self.tables.general.strangers;
            let any = known != 0 && self.port.flag(about(Part::Strangers), model, &features, any);
            let mut met = !any;
            for place in places(*members) {
                let slot = first + place;
                let mut head = base.head(slot);
                let mut is_stranger = head.is_none();
                if let Some(old) = head.filter(|_| any) {
                    let mut asked = Features::default();
                    asked[0] = i32::from(old.kind);
                    asked[1] = i32::from(base.visible().contains(slot));
                    let model = &self.tables.general.stranger;
                    is_stranger =
                        self.port.flag(about(Part::Stranger), model, &asked, differs(place));
                    met |= is_stranger;
                }
                if is_stranger {
                    head = self.stranger(
                        slot,
                        base.head(slot),
                        truth.and_then(|truth| truth.head(slot)),
                    );
                }
                let Some(head) = head else { return self.port.fail() };
                heads.push((slot as u16, head));
            }
            if !met {
                return self.port.fail();
            }
        }
    }

    fn stranger(&mut self, slot: usize, old: Option<Head>, truth: Option<Head>) -> Option<Head> {
        let about = |part| Subject { kind: None, part };
        let mut features = Features::default();
        features[0] = old.map_or(-1, |head| i32::from(head.kind));
        features[1] = (slot / CHUNK_SLOTS) as i32;
        let general = &self.tables.general;
        let guess = old.map_or(0, |head| head.id.generation().cast_signed()) + 1;
        let generation =
            truth.map_or(0, |head| head.id.generation().cast_signed()).wrapping_sub(guess);
        let kind = truth.map_or(0, |head| i32::from(head.kind));
        let kind = self.port.number(about(Part::Kind), &general.kind, &features, kind);
        features[2] = i32::from(old.is_some_and(|old| i32::from(old.kind) == kind));
        let generation =
            self.port.number(about(Part::Generation), &general.generation, &features, generation);
        let kind =
            u8::try_from(kind).ok().filter(|kind| usize::from(*kind) < self.layouts.len())?;
        let generation = u32::try_from(generation.wrapping_add(guess)).ok()?;
        let head = Head { id: EntityId::new(slot, generation)?, kind };
        // A stranger is somebody else.
        (Some(head) != old).then_some(head)
    }

    /// Leaders first, then those who are known, the nearest to the leader first, then strangers.
    fn arrange(&mut self, heads: &[(u16, Head)]) {
        let base = self.lineage.base;
        let is_known = |slot: u16, head: &Head| base.head(usize::from(slot)) == Some(*head);
        let leads = |head: &Head| self.tables.kinds[usize::from(head.kind)].plan.leads;
        let leader = heads.iter().find(|(slot, head)| leads(head) && is_known(*slot, head));
        let leader = leader.and_then(|(slot, head)| self.place_of(usize::from(*slot), head));
        let Memory { order, keys, .. } = &mut *self.memory;
        keys.clear();
        let mut starts = [0u16; KEYS + 1];
        for (slot, head) in heads {
            let plan = &self.tables.kinds[usize::from(head.kind)].plan;
            let key = if plan.leads {
                0
            } else if plan.anchor != NONE && is_known(*slot, head) {
                ATTACHED_KEY
            } else if !is_known(*slot, head) {
                KEYS - 1
            } else {
                let place = leader
                    .and_then(|_| place_of(base, self.layouts, plan, usize::from(*slot), head));
                1 + place.zip(leader).map_or(0, |(place, leader)| class(distance(&place, &leader)))
            };
            keys.push(key as u8);
            starts[key + 1] += 1;
        }
        for key in 1..=KEYS {
            starts[key] += starts[key - 1];
        }
        order.resize(heads.len(), 0);
        for (index, key) in keys.iter().enumerate() {
            let start = &mut starts[usize::from(*key)];
            order[usize::from(*start)] = index as u16;
            *start += 1;
        }
    }

    fn place_of(&self, slot: usize, head: &Head) -> Option<[i32; 3]> {
        let plan = &self.tables.kinds[usize::from(head.kind)].plan;
        place_of(self.lineage.base, self.layouts, plan, slot, head)
    }

    /// Codes one entity into the row; says whether it changed.
    pub(crate) fn entity(
        &mut self,
        slot: usize,
        head: Head,
        truth: Option<&'a [u32]>,
        held: Option<&mut Slots>,
    ) -> bool {
        let tables: &'a Tables = self.tables;
        let layouts: &'a [Layout] = self.layouts;
        let layout = &layouts[usize::from(head.kind)];
        let tables = &tables.kinds[usize::from(head.kind)];
        let plan = &tables.plan;
        let lineage = &self.lineage;
        let is_known = lineage.base.head(slot) == Some(head);
        let base = if is_known { lineage.base.record(slot, layout) } else { layout.initial() };
        let older = |table: Option<R>, newer: &'a [u32]| {
            let table = table.filter(|table| is_known && table.head(slot) == Some(head));
            table.map_or(newer, |table| table.record(slot, layout))
        };
        let before = older(lineage.before, base);
        let earlier = older(lineage.earlier, before);
        let mut entity = Entity {
            kind: head.kind,
            id: head.id,
            plan,
            tables,
            layout,
            base,
            before,
            earlier,
            truth,
            known: Features::default(),
            rumour: Rumour::default(),
            led: [0; 3],
            motion: Motion::default(),
        };
        let was_visible = lineage.base.visible().contains(slot);
        entity.known[f::ACQUAINTANCE] = if is_known { i32::from(!was_visible) } else { 2 };
        entity.known[f::SPAN] = lineage.spans[0].min(64).cast_signed();
        entity.introduce(&self.memory.space, &lineage.spans, self.changed_lately);
        if plan.anchor != NONE && plan.place != NONE {
            // How far it will be taken along.
            let by = self.anchor_of(&entity).map_or([0; 3], |anchor| anchor.by);
            let far = by.iter().fold(0i32, |far, part| far.saturating_add(part.saturating_abs()));
            entity.known[f::LEADER_DISTANCE] = far;
        }
        let is_changed = truth.is_some_and(|truth| truth != base);
        let about = Subject { kind: Some(head.kind), part: Part::Changed };
        if is_known {
            if let Some(held) = held {
                let model =
                    &self.memory.held.held[usize::from(entity.known[f::CHANGED_BEFORE] > 0)];
                let about = Subject { kind: Some(head.kind), part: Part::Held };
                let is_held = held.contains(slot);
                if self.port.flag(about, model, &entity.known, is_held) {
                    held.insert(slot);
                    return false;
                }
            }
            if let Some(changed) = self.as_foreseen(slot, &mut entity) {
                return changed;
            }
            let changed = self.port.flag(about, &tables.changed, &entity.known, is_changed);
            self.changed_lately += ((i32::from(changed) << 8) - self.changed_lately) / 8;
            if !changed {
                return false;
            }
        }
        self.words(&mut entity);
        let row = &self.memory.row[..layout.len()];
        let is_lawful = || layout.admits_particulars(row) && layout.admits(row);
        // Whoever is as foreseen is said to be.
        let is_other = is_known && (row == base || self.foresees(slot, &entity) == Some(row));
        if P::READS && (is_other || !is_lawful()) {
            self.port.fail();
        }
        true
    }

    /// What the rules make of an entity.
    fn foresees(&self, slot: usize, entity: &Entity<'a>) -> Option<&'a [u32]> {
        let foreseen = self.foreseen.filter(|foreseen| foreseen.visible.contains(slot))?;
        let is_it = foreseen.head(slot).is_some_and(|head| head.id == entity.id);
        is_it.then(|| foreseen.record(slot, entity.layout))
    }

    /// Codes whether a known entity is what the rules make of it. If it is, it is in the row, and it is said whether it
    /// changed.
    fn as_foreseen(&mut self, slot: usize, entity: &mut Entity<'a>) -> Option<bool> {
        let foreseen = self.foresees(slot, entity)?;
        let about = Subject { kind: Some(entity.kind), part: Part::Foreseen };
        let is_it = entity.truth == Some(foreseen);
        let model = &self.memory.held.as_foreseen;
        if !self.port.flag(about, model, &entity.known, is_it) {
            return None;
        }
        self.memory.row[..foreseen.len()].copy_from_slice(foreseen);
        if entity.plan.place != NONE {
            let first = usize::from(entity.plan.place);
            for (axis, by) in entity.motion.by.iter_mut().enumerate() {
                let to = entity.plan.modes[first + axis].number(foreseen[first + axis]);
                *by = scaled(to.wrapping_sub(entity.motion.from[axis]));
            }
            self.tell_space(entity);
        }
        Some(foreseen != entity.base)
    }

    /// How the one moved that an entity was attached to.
    fn anchor_of(&self, entity: &Entity<'a>) -> Option<Motion> {
        let id = EntityId::from_word(entity.base[usize::from(entity.plan.anchor)])?;
        self.memory.space.moved(id)
    }

    /// Codes the words of an entity that changed, and tells the space how it moved.
    fn words(&mut self, entity: &mut Entity<'a>) {
        let plan = entity.plan;
        // What is coded later is as it was, for both ends, and not what stood here before.
        self.memory.row[..entity.base.len()].copy_from_slice(entity.base);
        let has_place = plan.place != NONE && entity.known[f::ACQUAINTANCE] < 2;
        if has_place {
            let place = entity.motion.from;
            entity.rumour = self.memory.space.listen(&place, plan.radius);
            if plan.anchor != NONE {
                entity.led = self.anchor_of(entity).map_or([0; 3], |anchor| anchor.leads(&place));
            } else if entity.known[f::LEADER_DISTANCE] < LED_MAX {
                entity.led = self.memory.space.led(&place);
            }
            entity.heed();
        }
        self.all_words(entity);
        if has_place {
            self.tell_space(entity);
        }
    }

    /// Tells the space how an entity moved that was somewhere before.
    fn tell_space(&mut self, entity: &Entity<'a>) {
        let (motion, plan, space) = (entity.motion, entity.plan, &mut self.memory.space);
        if motion.by == [0; 3] && motion.turn == [0; 3] {
            return;
        }
        if self.tables.has_anchors {
            space.anchor(entity.id, motion);
        }
        if plan.leads && space.leader.is_none() {
            space.leader = Some(motion);
        } else if !plan.leads {
            space.add(motion, plan.radius);
        }
    }

    /// Codes the words that are lively, then those that rarely change up to the last that did: before the first of
    /// these, and behind each that did, it is said whether there are more.
    fn all_words(&mut self, entity: &mut Entity<'a>) {
        let (order, lively) = (&entity.plan.order, usize::from(entity.plan.lively));
        let rows = Rows::of(entity);
        let about = Subject { kind: Some(entity.kind), part: Part::Rare };
        let differs = |word: &u8| rows.truth[usize::from(*word)] != rows.base[usize::from(*word)];
        let last = if P::READS { None } else { order.iter().rposition(differs) };
        let mut asks_at = lively;
        for (place, word) in order.iter().enumerate() {
            if place == asks_at {
                if self.port.failed() {
                    return;
                }
                entity.known[f::VALUE] = (place - lively) as i32;
                let is_more = last.is_some_and(|last| last >= place);
                if !self.port.flag(about, &entity.tables.rare, &entity.known, is_more) {
                    return;
                }
            }
            let index = usize::from(*word);
            let tables = &rows.tables[index];
            match tables.code.mode {
                _ if tables.code.is_rotation => {
                    if *word == entity.plan.rotation {
                        self.rotation(entity, index);
                    }
                }
                Mode::Integer { low } => self.word(entity, &rows, index, Integer { low }),
                Mode::Wraps { bits } => self.word(entity, &rows, index, Wraps { bits }),
                Mode::Float { shift, times } => {
                    self.word(entity, &rows, index, Float { shift, times });
                }
            }
            if place >= lively && self.memory.row[index] != rows.base[index] {
                asks_at = place + 1;
            }
        }
        // The last that was said to be there is not.
        if asks_at != order.len() {
            self.port.fail();
        }
    }

    /// Predicts a word's number from its past and from what is known already, and codes the rest. Once for each kind of
    /// number, so that nothing is asked twice.
    #[inline(always)]
    fn word<M: Numbers>(&mut self, entity: &mut Entity<'a>, rows: &Rows<'a>, word: usize, mode: M) {
        let tables = &rows.tables[word];
        let code = &tables.code;
        let Memory { recent, row, .. } = &mut *self.memory;
        let mut recent = if P::LEARNS || code.asks_recent {
            Some(&mut recent[usize::from(entity.kind)][word % ROW_WORDS])
        } else {
            None
        };
        let last = recent.as_ref().map_or(0, |recent| recent.delta);
        let at = mode.number(rows.base[word]);
        let now = if P::READS { 0 } else { mode.number(rows.truth[word]) };
        let about = Subject { kind: Some(entity.kind), part: Part::Word(word as u8) };
        let spans = &self.lineage.spans;
        let max = rows.words[word].max;
        let predicted = if P::LEARNS {
            let inputs = entity.inputs((code, mode), (rows, word, at), spans, row, last);
            self.port.learn(about, &entity.known, &inputs, scaled(mode.distance(at, now)));
            tables.regression.predict(&entity.known, &inputs)
        } else {
            entity.predict((tables, mode), (rows, word, at), spans, row, last)
        };
        let steps = expected::<M>(rows.base[word], max, predicted);
        let guess = at.wrapping_add(steps);
        entity.prepare((predicted, steps, at));
        if let Some(recent) = &recent {
            entity.known[f::RECENT_SIZE] = recent.size;
            entity.known[f::RECENT] = recent.residual;
        }
        let missed =
            self.port.number(about, &tables.numbers, &entity.known, mode.distance(guess, now));
        let number = mode.beside(guess, missed);
        let mut value = mode.word(number);
        if M::IS_FLOAT {
            value = float(self.port, entity, word, (value, number), code.mode);
        }
        // What more there is to ask of particular words is asked once all are there.
        let is_admitted = || M::IS_ADMITTED || value <= max;
        if P::READS && !(mode.is_itself(missed, number, value) && is_admitted()) {
            return self.port.fail();
        }
        row[word % ROW_WORDS] = value;
        let delta = scaled(mode.distance(at, number));
        let size = entity.note(missed, delta);
        if let Some(recent) = &mut recent {
            recent.note(missed, size, delta);
        }
        entity.moved(code, delta, predicted);
    }
}

/// How many chunks a set has up to its last member.
fn used(slots: &Slots) -> usize {
    slots.chunks().iter().rposition(|chunk| *chunk != 0).map_or(0, |last| last + 1)
}
