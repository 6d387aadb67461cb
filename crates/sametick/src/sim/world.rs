//! The world is a value: all entities at one tick. It can be cloned, hashed, compared and saved, and
//! nothing that matters lives outside it.

use crate::codec::plain;
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::entity::{
    ENTITY_SLOTS_MAX, EntityId, GENERATION_BITS, GENERATIONS_MAX, SLOT_BITS,
};
use crate::core::slots::{CHUNK_SLOTS, Slots, places};
use crate::core::tick::{PlayerId, Tick};
use crate::schema::entities::{Entities, KindOf, Layouts};
use crate::schema::record::{Layout, mix};
use crate::schema::table::{Head, Table};
use std::fmt;

/// All entities of a game, in slots. Slots are walked in order; the lowest free one is used first.
///
/// ```
/// use sametick::{Fields, Networked, PlayerId, World};
///
/// #[derive(Clone, Debug, Default)]
/// pub struct Runner { pub health: u8 }
/// impl Networked for Runner {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.int("health", &mut self.health, 0..=100); }
/// }
/// sametick::entities! { pub enum Entity { Runner } }
///
/// let mut world = World::<Entity>::default();
/// let ada = PlayerId(0);
/// world.spawn_owned(ada, Runner { health: 100 });
/// if let Some((_, runner)) = world.owned_mut::<Runner>(ada) {
///     runner.health -= 20;
/// }
/// assert_eq!(world.all::<Runner>().map(|(_, runner)| runner.health).collect::<Vec<_>>(), [80]);
/// ```
#[derive(Debug)]
pub struct World<E> {
    tick: Tick,
    /// Up to the highest slot that was ever used.
    slots: Vec<Slot<E>>,
    /// In which of them someone stands, a bit each.
    taken: Vec<u32>,
    /// Whose they are: by player, then by slot.
    owned: Vec<(PlayerId, u16)>,
    /// What a client's prediction made, by name; empty on a server.
    provisional: Vec<Provisional<E>>,
    /// On a client that predicts: who it is.
    predicts: Option<PlayerId>,
    /// Whether what it makes has ordinals of its own over all ticks, not only within one.
    ordinals_differ: bool,
    /// What was made for players in this step; not a part of the state.
    births: Vec<Birth>,
}

#[derive(Clone, Debug)]
struct Provisional<E> {
    id: EntityId,
    owner: Option<PlayerId>,
    entity: E,
}

/// An entity that was made for a player: the `ordinal`-th of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Birth {
    pub(crate) id: EntityId,
    pub(crate) owner: PlayerId,
    pub(crate) ordinal: u8,
}

/// How many entities a client's prediction can have made before the server's arrive.
const PROVISIONAL_MAX: usize = 64;

/// How many births of a tick are told to the players they are for; more are theirs without a word.
pub(crate) const BIRTHS_MAX: usize = 15;

/// Names that a client gives to what it predicts of others start here.
const OTHERS_ORDINAL: usize = 2048;

const _: () = assert!(ENTITY_SLOTS_MAX <= 1 << 16);

#[derive(Clone, Debug)]
struct Slot<E> {
    /// Of the present tenant or, if there is none, of the last.
    generation: u32,
    owner: Option<PlayerId>,
    entity: Option<E>,
}

/// An entity that settling had to mend: the rules gave it a number that is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Which entity.
    pub entity: EntityId,
    /// Which of its fields.
    pub field: String,
}

impl<E: Entities> World<E> {
    /// Which tick this is the state of.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    pub(crate) fn set_tick(&mut self, tick: Tick) {
        self.tick = tick;
        self.births.clear();
    }

    /// Makes this the world of a client that predicts: what is spawned gets a name of its own.
    pub(crate) fn set_predicts(&mut self, player: PlayerId) {
        self.predicts = Some(player);
    }

    /// The same for a client that hopes: no two of what it has made share an ordinal, whenever each was made, so that
    /// rules may link to it by [`EntityId::slot`].
    pub(crate) fn set_hopes(&mut self, player: PlayerId) {
        (self.predicts, self.ordinals_differ) = (Some(player), true);
    }

    /// What was made for players in this step.
    pub(crate) fn take_births(&mut self) -> Vec<Birth> {
        std::mem::take(&mut self.births)
    }

    /// Adds an entity; none if all slots are taken.
    ///
    /// What a client's prediction adds for nobody is gone after the tick, unless
    /// [`Game::shown`](crate::Game::shown) has it predicted; the server's comes with a snapshot.
    pub fn spawn(&mut self, entity: impl Into<E>) -> Option<EntityId> {
        self.place(entity.into(), None)
    }

    /// Adds an entity that belongs to a player.
    ///
    /// What a client's prediction adds for its own player has a provisional name, by the tick and by how
    /// many came before it in that tick for that player, until the server's comes: make the same in the
    /// same order on both ends. `Client::name_of` tells the name by which it is known now.
    pub fn spawn_owned(&mut self, owner: PlayerId, entity: impl Into<E>) -> Option<EntityId> {
        self.place(entity.into(), Some(owner))
    }

    /// Takes an entity away. Its name is never given to another.
    pub fn despawn(&mut self, id: EntityId) -> Option<E> {
        if let Some(index) = self.provisional.iter().position(|made| made.id == id) {
            return Some(self.provisional.remove(index).entity);
        }
        let slot = self.slot_mut(id)?;
        let owner = slot.owner.take();
        let entity = slot.entity.take();
        self.disown(id.slot(), owner);
        self.taken[id.slot() / CHUNK_SLOTS] &= !(1 << (id.slot() % CHUNK_SLOTS));
        entity
    }

    /// Whether an entity is there.
    pub fn contains(&self, id: EntityId) -> bool {
        self.entity(id).is_some()
    }

    /// An entity of whatever kind.
    pub fn entity(&self, id: EntityId) -> Option<&E> {
        if id.is_provisional() {
            return self.provisional.iter().find(|made| made.id == id).map(|made| &made.entity);
        }
        self.slot(id)?.entity.as_ref()
    }

    /// The same, to be changed.
    pub fn entity_mut(&mut self, id: EntityId) -> Option<&mut E> {
        if id.is_provisional() {
            let mut made = self.provisional.iter_mut();
            return made.find(|made| made.id == id).map(|made| &mut made.entity);
        }
        self.slot_mut(id)?.entity.as_mut()
    }

    /// An entity, if it is there and of this kind.
    pub fn get<K: KindOf<E>>(&self, id: EntityId) -> Option<&K> {
        K::of(self.entity(id)?)
    }

    /// The same, to be changed.
    pub fn get_mut<K: KindOf<E>>(&mut self, id: EntityId) -> Option<&mut K> {
        K::of_mut(self.entity_mut(id)?)
    }

    /// Everyone, by slot; on a client, what its prediction made comes last.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &E)> {
        self.owned_entities().map(|(id, _, entity)| (id, entity))
    }

    /// The same, with whose they are.
    pub(crate) fn owned_entities(&self) -> impl Iterator<Item = (EntityId, Option<PlayerId>, &E)> {
        let slots = self.slots.iter().enumerate();
        let slots = slots
            .filter_map(|(index, slot)| Some((slot.id(index)?, slot.owner, slot.entity.as_ref()?)));
        let provisional = self.provisional.iter();
        slots.chain(provisional.map(|made| (made.id, made.owner, &made.entity)))
    }

    /// The same, to be changed.
    pub(crate) fn owned_entities_mut(
        &mut self,
    ) -> impl Iterator<Item = (EntityId, Option<PlayerId>, &mut E)> {
        let slots = self.slots.iter_mut().enumerate();
        let slots = slots
            .filter_map(|(index, slot)| Some((slot.id(index)?, slot.owner, slot.entity.as_mut()?)));
        let provisional = self.provisional.iter_mut();
        slots.chain(provisional.map(|made| (made.id, made.owner, &mut made.entity)))
    }

    /// Who stands in each slot, whose it is, and itself.
    pub(crate) fn tenants_mut(
        &mut self,
    ) -> impl Iterator<Item = Option<(EntityId, Option<PlayerId>, &mut E)>> {
        let slots = self.slots.iter_mut().enumerate();
        slots.map(|(index, slot)| Some((slot.id(index)?, slot.owner, slot.entity.as_mut()?)))
    }

    /// Whether someone stands where an entity would.
    pub(crate) fn is_taken(&self, id: EntityId) -> bool {
        let in_slot = || self.slots.get(id.slot()).is_some_and(|slot| slot.entity.is_some());
        if id.is_provisional() { self.contains(id) } else { in_slot() }
    }

    /// Who stands in a slot.
    pub(crate) fn tenant(&self, slot: usize) -> Option<EntityId> {
        let tenant = self.slots.get(slot).filter(|slot| slot.entity.is_some())?;
        tenant.id(slot)
    }

    /// Adds the slots of everyone.
    pub(crate) fn occupied(&self, slots: &mut Slots) {
        slots.insert_chunks(self.taken.iter().copied());
    }

    /// All of one kind, by slot.
    pub fn all<'a, K: KindOf<E> + 'a>(&'a self) -> impl Iterator<Item = (EntityId, &'a K)>
    where
        E: 'a,
    {
        self.entities().filter_map(|(id, entity)| Some((id, K::of(entity)?)))
    }

    /// All of one kind, by slot, to be changed.
    pub fn all_mut<'a, K: KindOf<E> + 'a>(
        &'a mut self,
    ) -> impl Iterator<Item = (EntityId, &'a mut K)>
    where
        E: 'a,
    {
        self.owned_entities_mut().filter_map(|(id, _, entity)| Some((id, K::of_mut(entity)?)))
    }

    /// Whose an entity is. A client knows its own, and those of others whose commands it is told.
    pub fn owner(&self, id: EntityId) -> Option<PlayerId> {
        if id.is_provisional() {
            return self.provisional.iter().find(|made| made.id == id)?.owner;
        }
        self.slot(id)?.owner
    }

    /// The first entity of this kind that belongs to a player.
    pub fn owned<K: KindOf<E>>(&self, owner: PlayerId) -> Option<(EntityId, &K)> {
        self.all_owned(owner).find_map(|(id, entity)| Some((id, K::of(entity)?)))
    }

    /// All that belongs to a player, by slot; on a client, what its prediction made comes last.
    pub fn all_owned(&self, owner: PlayerId) -> impl Iterator<Item = (EntityId, &E)> {
        let in_slots = self.slots_of(owner).filter_map(|index| {
            let slot = &self.slots[index];
            Some((slot.id(index)?, slot.entity.as_ref()?))
        });
        let provisional = self.provisional.iter().filter(move |made| made.owner == Some(owner));
        in_slots.chain(provisional.map(|made| (made.id, &made.entity)))
    }

    /// The slots of a player's entities, in order.
    pub(crate) fn slots_of(&self, owner: PlayerId) -> impl Iterator<Item = usize> {
        let start = self.owned.partition_point(|(player, _)| *player < owner);
        let owned = self.owned[start..].iter().take_while(move |(player, _)| *player == owner);
        owned.map(|(_, slot)| usize::from(*slot))
    }

    /// The same, to be changed.
    pub fn owned_mut<K: KindOf<E>>(&mut self, owner: PlayerId) -> Option<(EntityId, &mut K)> {
        let (id, _) = self.owned::<K>(owner)?;
        Some((id, self.get_mut(id)?))
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        let in_slots: u32 = self.taken.iter().map(|chunk| chunk.count_ones()).sum();
        in_slots as usize + self.provisional.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rounds everyone to state precision; tells the first whose numbers were not finite, after all
    /// have been settled.
    pub fn settle(&mut self) -> Result<(), Unsettled> {
        let mut first = Ok(());
        let slots = self.slots.iter_mut().enumerate();
        let slots = slots.filter_map(|(index, slot)| {
            Some((EntityId::new(index, slot.generation)?, slot.entity.as_mut()?))
        });
        let mut settle = |id: EntityId, entity: &mut E| {
            if let (Err(fault), Ok(())) = (entity.settle(), &first) {
                first = Err(Unsettled { entity: id, field: fault.field });
            }
        };
        slots.for_each(|(id, entity)| settle(id, entity));
        self.provisional.iter_mut().for_each(|made| settle(made.id, &mut made.entity));
        first
    }

    /// Fills a table with the records of everyone in a slot, all in sight.
    pub fn fill(&self, layouts: &[Layout], table: &mut Table) {
        table.visible.clear();
        for (id, entity) in self.entities().filter(|(id, _)| !id.is_provisional()) {
            entity.clone().gather(layouts, Head { id, kind: entity.kind() }, table);
        }
    }

    /// A number for the whole world: two worlds with the same number are the same.
    pub fn hash(&self, layouts: &Layouts) -> u64 {
        self.hash_in(layouts, &mut Table::default())
    }

    /// The same, in the memory of a table that is of no other use.
    pub(crate) fn hash_in(&self, layouts: &Layouts, table: &mut Table) -> u64 {
        self.fill(&layouts.state, table);
        let slots = self.slots.iter().fold(mix(0, self.tick.0), |sum, slot| {
            mix(mix(sum, slot.generation), slot.owner.map_or(0, |owner| 1 + u32::from(owner.0)))
        });
        let records = table.hash(&layouts.state);
        mix(mix(slots, records as u32), (records >> 32) as u32)
    }

    /// Everything in which two worlds differ, in words: a desync report.
    pub fn differences(&self, other: &Self, layouts: &Layouts) -> Vec<String> {
        let mut lines = Vec::new();
        if self.tick != other.tick {
            lines.push(format!("tick {} on the left, {} on the right", self.tick.0, other.tick.0));
        }
        let [mut left, mut right] = [Table::default(), Table::default()];
        self.fill(&layouts.state, &mut left);
        other.fill(&layouts.state, &mut right);
        for slot in 0..self.slots.len().max(other.slots.len()) {
            let [here, there] = [(self, &left), (other, &right)]
                .map(|(world, table)| (world.slots.get(slot), table.head(slot)));
            match (here.1, there.1) {
                (Some(a), Some(b)) if a == b => {
                    let layout = &layouts.state[usize::from(a.kind)];
                    let records = (left.record(slot, layout), right.record(slot, layout));
                    for difference in layout.differences(records.0, records.1) {
                        lines.push(format!("{:?}: {difference}", a.id));
                    }
                    let owners = [here.0, there.0].map(|slot| slot.and_then(|slot| slot.owner));
                    if owners[0] != owners[1] {
                        lines.push(format!(
                            "{:?}: owned by {:?} on the left, {:?} on the right",
                            a.id, owners[0], owners[1]
                        ));
                    }
                }
                (None, None) => {}
                (a, b) => lines.push(format!(
                    "slot {slot}: {} on the left, {} on the right",
                    name(a),
                    name(b)
                )),
            }
        }
        lines
    }

    /// The whole world in bytes, for late joiners, replays and reports.
    pub fn save(&self, layouts: &Layouts) -> Vec<u8> {
        let mut bits = BitWriter::growing(SAVE_BYTES_MAX);
        bits.write(u64::from(self.tick.0), 32);
        bits.write(self.slots.len() as u64, SLOT_BITS + 1);
        for slot in &self.slots {
            bits.write(u64::from(slot.generation), GENERATION_BITS);
            bits.write_bool(slot.owner.is_some());
            if let Some(owner) = slot.owner {
                bits.write(u64::from(owner.0), 16);
            }
        }
        let mut table = Table::default();
        self.fill(&layouts.state, &mut table);
        plain::write(&mut bits, &layouts.state, &Table::default(), &table);
        bits.finish().expect("a world of lawful size fits").to_vec()
    }

    /// The world that was saved.
    pub fn load(bytes: &[u8], layouts: &Layouts) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(bytes);
        let tick = Tick(bits.read(32) as u32);
        let count = bits.read(SLOT_BITS + 1) as usize;
        if count > ENTITY_SLOTS_MAX || count > bits.bits_left() {
            return Err(Malformed);
        }
        let mut slots = Vec::with_capacity(count);
        for _ in 0..count {
            let generation = bits.read(GENERATION_BITS) as u32;
            let owner = bits.read_bool().then(|| PlayerId(bits.read(16) as u16));
            slots.push(Slot { generation, owner, entity: None });
        }
        let mut table = Table::default();
        plain::read(&mut bits, &layouts.state, &Table::default(), &mut table);
        bits.finish()?;
        for (index, head) in table.heads() {
            let slot = slots.get_mut(index).filter(|slot| slot.generation == head.id.generation());
            let (slot, mut entity) = slot.zip(E::default_of(head.kind)).ok_or(Malformed)?;
            entity.scatter(&layouts.state, table.lend(index));
            slot.entity = Some(entity);
        }
        // In a client's part of the world there are slots of whose tenants nothing is known.
        let lawful = |slot: &Slot<E>| slot.entity.is_some() || slot.owner.is_none();
        if slots.iter().all(lawful) {
            let mut world = Self { tick, slots, ..Self::default() };
            world.count();
            Ok(world)
        } else {
            Err(Malformed)
        }
    }

    /// Empties the world; slots keep their generations.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            (slot.entity, slot.owner) = (None, None);
        }
        self.taken.fill(0);
        self.owned.clear();
        self.provisional.clear();
    }

    /// Puts an entity where it is known to be.
    pub(crate) fn put(&mut self, id: EntityId, owner: Option<PlayerId>, entity: E) {
        if id.is_provisional() {
            self.provisional.push(Provisional { id, owner, entity });
            return;
        }
        while self.slots.len() <= id.slot() {
            self.slots.push(Slot { generation: 0, owner: None, entity: None });
        }
        let before = self.slots[id.slot()].owner;
        self.slots[id.slot()] = Slot { generation: id.generation(), owner, entity: Some(entity) };
        self.disown(id.slot(), before);
        self.take(id.slot(), owner);
    }

    /// Gives everything that is not predicted back the state it has in `known`.
    pub(crate) fn restore(
        &mut self,
        known: &Self,
        is_predicted: impl Fn(Option<PlayerId>, &E) -> bool,
    ) {
        let is_ours = |slot: &Slot<E>| {
            slot.entity.as_ref().is_some_and(|entity| is_predicted(slot.owner, entity))
        };
        for (index, slot) in self.slots.iter_mut().enumerate() {
            match known.slots.get(index) {
                // Predicted in both, or what the prediction took away.
                Some(known) if is_ours(known) => {}
                _ if is_ours(slot) => {}
                Some(known) => slot.clone_from(known),
                None => (slot.entity, slot.owner) = (None, None),
            }
        }
        self.provisional.retain(|made| is_predicted(made.owner, &made.entity));
        self.count();
    }

    /// Someone stands in a slot from now on.
    fn take(&mut self, slot: usize, owner: Option<PlayerId>) {
        let chunk = slot / CHUNK_SLOTS;
        if self.taken.len() <= chunk {
            self.taken.resize(chunk + 1, 0);
        }
        self.taken[chunk] |= 1 << (slot % CHUNK_SLOTS);
        if let Some(owned) = owner.map(|owner| (owner, slot as u16))
            && let Err(index) = self.owned.binary_search(&owned)
        {
            self.owned.insert(index, owned);
        }
    }

    /// What stands in a slot is nobody's any more.
    fn disown(&mut self, slot: usize, owner: Option<PlayerId>) {
        let owned = owner.map(|owner| self.owned.binary_search(&(owner, slot as u16)));
        if let Some(Ok(index)) = owned {
            self.owned.remove(index);
        }
    }

    /// Finds out in which slots someone stands, and whose they are.
    fn count(&mut self) {
        let bit = |slot: &Slot<E>| u32::from(slot.entity.is_some());
        let chunk = |chunk: &[Slot<E>]| {
            chunk.iter().rev().fold(0, |members, slot| members << 1 | bit(slot))
        };
        self.taken.clear();
        self.taken.extend(self.slots.chunks(CHUNK_SLOTS).map(chunk));
        self.owned.clear();
        let slots = self.slots.iter().enumerate();
        self.owned.extend(slots.filter_map(|(index, slot)| Some((slot.owner?, index as u16))));
        self.owned.sort_unstable();
    }

    fn place(&mut self, entity: E, owner: Option<PlayerId>) -> Option<EntityId> {
        let ordinal = self.births.iter().filter(|birth| Some(birth.owner) == owner).count();
        let id = match self.predicts {
            Some(me) => self.place_provisional(entity, owner, me, ordinal),
            None => self.place_in_slot(entity, owner),
        }?;
        if let (Some(owner), Ok(ordinal), true) =
            (owner, u8::try_from(ordinal), self.births.len() < ENTITY_SLOTS_MAX)
        {
            self.births.push(Birth { id, owner, ordinal });
        }
        Some(id)
    }

    /// Whoever made it, the same spawn of the same tick has the same name.
    fn place_provisional(
        &mut self,
        entity: E,
        owner: Option<PlayerId>,
        me: PlayerId,
        ordinal: usize,
    ) -> Option<EntityId> {
        // The step leads to the tick after this one.
        let tick = self.tick.0.saturating_add(1);
        let name = |ordinal| EntityId::provisional(tick, ordinal);
        let is_free =
            |ordinal: &usize| self.provisional.iter().all(|one| one.id.slot() != *ordinal);
        let ordinal = if self.ordinals_differ {
            (0..OTHERS_ORDINAL).find(is_free).unwrap_or(OTHERS_ORDINAL)
        } else {
            ordinal
        };
        let id = if owner == Some(me) {
            name(ordinal).filter(|_| ordinal < OTHERS_ORDINAL)
        } else {
            let mut names = (OTHERS_ORDINAL..ENTITY_SLOTS_MAX).filter_map(name);
            names.find(|name| self.provisional.iter().all(|made| made.id != *name))
        }?;
        if self.provisional.len() == PROVISIONAL_MAX {
            return None;
        }
        self.provisional.push(Provisional { id, owner, entity });
        Some(id)
    }

    fn place_in_slot(&mut self, entity: E, owner: Option<PlayerId>) -> Option<EntityId> {
        // A slot whose names are used up stays empty for good.
        let is_free = |slot: &Slot<E>| slot.entity.is_none() && slot.generation < GENERATIONS_MAX;
        let chunks = self.taken.iter().enumerate();
        let mut open = chunks.flat_map(|(chunk, taken)| {
            places(!taken).map(move |place| chunk * CHUNK_SLOTS + place)
        });
        let found = open.find(|index| self.slots.get(*index).is_none_or(is_free));
        let index = found.unwrap_or(self.slots.len());
        if index == ENTITY_SLOTS_MAX {
            return None;
        }
        if index == self.slots.len() {
            self.slots.push(Slot { generation: 0, owner: None, entity: None });
        }
        let slot = &mut self.slots[index];
        slot.generation += 1;
        (slot.entity, slot.owner) = (Some(entity), owner);
        let id = EntityId::new(index, slot.generation);
        self.take(index, owner);
        id
    }

    fn slot(&self, id: EntityId) -> Option<&Slot<E>> {
        let slot = self.slots.get(id.slot())?;
        (slot.entity.is_some() && slot.generation == id.generation()).then_some(slot)
    }

    fn slot_mut(&mut self, id: EntityId) -> Option<&mut Slot<E>> {
        let slot = self.slots.get_mut(id.slot())?;
        (slot.entity.is_some() && slot.generation == id.generation()).then_some(slot)
    }
}

/// More than any world: every slot with the longest record.
const SAVE_BYTES_MAX: usize = ENTITY_SLOTS_MAX * (crate::schema::word::ROW_WORDS * 4 + 64) + 64;

fn name(head: Option<Head>) -> String {
    head.map_or("nobody".into(), |head| format!("{:?} of kind {}", head.id, head.kind))
}

impl<E> Slot<E> {
    fn id(&self, index: usize) -> Option<EntityId> {
        EntityId::new(index, self.generation)
    }
}

impl<E: Clone> Clone for World<E> {
    fn clone(&self) -> Self {
        Self {
            tick: self.tick,
            slots: self.slots.clone(),
            taken: self.taken.clone(),
            owned: self.owned.clone(),
            provisional: self.provisional.clone(),
            predicts: self.predicts,
            ordinals_differ: self.ordinals_differ,
            births: Vec::new(),
        }
    }

    /// The same as [`clone`](World::clone), in the memory that this world has.
    fn clone_from(&mut self, other: &Self) {
        // By name, so that a new field is not forgotten.
        let Self { tick, slots, taken, owned, provisional, predicts, ordinals_differ, births: _ } =
            other;
        self.tick = *tick;
        self.slots.clone_from(slots);
        self.taken.clone_from(taken);
        self.owned.clone_from(owned);
        self.provisional.clone_from(provisional);
        (self.predicts, self.ordinals_differ) = (*predicts, *ordinals_differ);
        self.births.clear();
    }
}

impl<E> Default for World<E> {
    fn default() -> Self {
        Self {
            tick: Tick::default(),
            slots: Vec::new(),
            taken: Vec::new(),
            owned: Vec::new(),
            provisional: Vec::new(),
            predicts: None,
            ordinals_differ: false,
            births: Vec::new(),
        }
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the field {} of {:?} held a number that is not finite", self.field, self.entity)
    }
}

impl std::error::Error for Unsettled {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::fields::{Fields, Networked};

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Lamp {
        is_lit: bool,
    }

    impl Networked for Lamp {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.bool("is_lit", &mut self.is_lit);
        }
    }

    crate::entities! { #[derive(PartialEq)] pub(crate) enum Entity { Lamp } }

    #[test]
    fn clone_from_gives_what_clone_gives() {
        let mut predicted = World::<Entity>::default();
        predicted.set_hopes(PlayerId(3));
        predicted.spawn_owned(PlayerId(3), Lamp { is_lit: true });
        let mut plain = World::<Entity>::default();
        plain.set_tick(Tick(7));
        plain.spawn_owned(PlayerId(1), Lamp::default());
        for (from, to) in [(&plain, &predicted), (&predicted, &plain)] {
            let mut copied = to.clone();
            copied.births = to.births.clone();
            copied.clone_from(from);
            assert_eq!(format!("{copied:?}"), format!("{:?}", from.clone()));
        }
    }
}
