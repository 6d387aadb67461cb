//! Every recent state of every entity, as records, stored once however many clients have it.
//!
//! A version is a number. Clients' bases are lists of them; whatever no base and no newest state names
//! is swept away now and then.

use crate::codec::compact::records::Records;
use crate::core::entity::EntityId;
use crate::core::mutant::{self, Mutant};
use crate::core::slots::{CHUNK_SLOTS, Slots};
use crate::core::tick::{PlayerId, Tick};
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::{Layout, Precision};
use crate::schema::table::{Head, Table};
use crate::sim::world::World;

/// Names a version; none is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionId(u32);

impl VersionId {
    pub(crate) const NONE: Self = Self(0);
    /// Nobody knows which: equal to none that there is.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The versions of neighbours, which are looked at together.
pub(crate) type Chunk = [VersionId; CHUNK_SLOTS];

/// An entity's record at one precision.
#[derive(Clone, Debug)]
struct Version {
    head: Head,
    words: Vec<u32>,
}

/// Who stands in a slot, and since which update.
#[derive(Clone, Copy, Debug, Default)]
struct Tenancy {
    tenant: Option<EntityId>,
    since: Tick,
}

/// The layouts of what is on the wire: each kind twice, as others see it and as its owner does.
#[derive(Clone, Debug)]
pub(crate) struct WireLayouts {
    layouts: Vec<Layout>,
}

impl WireLayouts {
    pub(crate) fn new(layouts: &Layouts) -> Self {
        // Each is on the wire twice.
        let most = crate::codec::plain::KINDS_MAX / 2;
        assert!(layouts.shown.len() <= most, "a game has at most {most} kinds of entities");
        let pairs = layouts.shown.iter().zip(&layouts.state);
        Self { layouts: pairs.flat_map(|(shown, state)| [shown.clone(), state.clone()]).collect() }
    }

    /// The number of a kind on the wire.
    pub(crate) fn kind(kind: u8, precision: Precision) -> u8 {
        2 * kind + u8::from(precision == Precision::State)
    }

    pub(crate) fn all(&self) -> &[Layout] {
        &self.layouts
    }
}

/// All versions, and which is each slot's newest at each precision.
#[derive(Debug)]
pub(crate) struct Versions {
    /// The first is nobody's.
    versions: Vec<Version>,
    free: Vec<u32>,
    /// By slot, whole chunks: as others see it, as its owner does.
    shown: Vec<VersionId>,
    state: Vec<VersionId>,
    /// Whose slots are, by player.
    owned: Vec<(PlayerId, usize)>,
    /// By slot, who stands there and who did before.
    tenancies: Vec<[Tenancy; 2]>,
    scratch: Table,
    tick: Tick,
    /// What was named since the last sweep began.
    is_named: Vec<bool>,
}

impl Default for Versions {
    fn default() -> Self {
        let id = EntityId::new(0, 1).expect("the first name there is");
        let nobody = Version { head: Head { id, kind: 0 }, words: Vec::new() };
        Self {
            versions: vec![nobody],
            free: Vec::new(),
            shown: Vec::new(),
            state: Vec::new(),
            owned: Vec::new(),
            tenancies: Vec::new(),
            scratch: Table::default(),
            tick: Tick(0),
            is_named: Vec::new(),
        }
    }
}

impl Versions {
    /// Takes in the world as it is now. Only what differs becomes a new version.
    pub(crate) fn update<E: Entities>(&mut self, world: &mut World<E>, layouts: &Layouts) {
        self.owned.clear();
        let since = world.tick();
        self.tick = since;
        for (slot, tenant) in world.tenants_mut().enumerate() {
            self.grow(slot + 1);
            let [present, before] = &mut self.tenancies[slot];
            let id = tenant.as_ref().map(|(id, ..)| *id);
            if present.tenant != id {
                *before = std::mem::replace(present, Tenancy { tenant: id, since });
            }
            let Some((id, owner, entity)) = tenant else {
                (self.shown[slot], self.state[slot]) = (VersionId::NONE, VersionId::NONE);
                continue;
            };
            self.add(layouts, Precision::Shown, id, entity);
            if let Some(owner) = owner {
                self.owned.push((owner, slot));
                self.add(layouts, Precision::State, id, entity);
            } else {
                self.state[slot] = VersionId::NONE;
            }
        }
        self.owned.sort_unstable();
    }

    /// Whether an entity was there at a tick that was taken in, as far as that is remembered: of each slot
    /// the last two tenants are.
    pub(crate) fn was_there(&self, entity: EntityId, at: Tick) -> bool {
        let Some([present, before]) = self.tenancies.get(entity.slot()) else { return false };
        let then = if present.since <= at { present } else { before };
        then.tenant == Some(entity) && then.since <= at
    }

    /// Who stands in a slot, and since which update.
    #[inline]
    pub(crate) fn tenant(&self, slot: usize) -> Option<(EntityId, Tick)> {
        let present = self.tenancies.get(slot)?[0];
        Some((present.tenant?, present.since))
    }

    /// The tick of what was last taken in.
    pub(crate) fn tick(&self) -> Tick {
        self.tick
    }

    /// The newest of every slot as others see it.
    pub(crate) fn shown(&self) -> Vec<VersionId> {
        self.shown.clone()
    }

    /// The first slot past all that were ever used, and their chunks.
    pub(crate) fn slots_used(&self) -> usize {
        self.shown.len()
    }

    /// The newest of a chunk as others see it.
    #[inline]
    pub(crate) fn chunk(&self, chunk: usize) -> &Chunk {
        &self.shown.as_chunks().0[chunk]
    }

    /// The slots that belong to a player.
    pub(crate) fn owned(&self, owner: PlayerId) -> &[(PlayerId, usize)] {
        // As a rule each player has one, and stands at its own number.
        let likely = usize::from(owner.0);
        let is_first = |index: usize| {
            self.owned.get(index).is_some_and(|(player, _)| *player == owner)
                && index.checked_sub(1).is_none_or(|before| self.owned[before].0 < owner)
        };
        let search = || self.owned.partition_point(|(player, _)| *player < owner);
        let start = if is_first(likely) { likely } else { search() };
        let count = self.owned[start..].iter().take_while(|(player, _)| *player == owner).count();
        &self.owned[start..start + count]
    }

    /// A slot's newest version as one player gets it, given what belongs to that player.
    #[inline]
    pub(crate) fn newest(&self, slot: usize, own: &[(PlayerId, usize)]) -> VersionId {
        let is_own = own.iter().any(|(_, own)| *own == slot);
        if is_own { self.state[slot] } else { self.shown[slot] }
    }

    /// Who a version is of, and its record.
    #[inline]
    pub(crate) fn get(&self, version: VersionId) -> Option<(Head, &[u32])> {
        let known = self.versions.get(version.index()).filter(|_| !version.is_none())?;
        Some((known.head, &known.words))
    }

    /// Forgets what neither a base nor a newest state has named since this was last called, and begins to
    /// ask anew. Between two calls everyone is to be asked once, with [`mark`](Versions::mark).
    pub(crate) fn sweep(&mut self) {
        if !self.is_named.is_empty() {
            self.free.clear();
            let unnamed = (1..self.is_named.len()).filter(|index| !self.is_named[*index]);
            self.free.extend(unnamed.map(|index| index as u32));
        }
        self.is_named.clear();
        self.is_named.resize(self.versions.len(), false);
        let newest = self.shown.iter().chain(&self.state);
        newest.for_each(|version| self.is_named[version.index()] = true);
    }

    /// Takes in what someone names. Whatever it comes to name later is named now, or newest by then.
    pub(crate) fn mark<'a>(&mut self, named: impl Iterator<Item = &'a [VersionId]>) {
        let mut before: &[VersionId] = &[];
        for versions in named {
            // From table to table little changes: what is as before was marked with that.
            let (chunks, rest) = versions.as_chunks::<CHUNK_SLOTS>();
            let chunks_before = before.as_chunks::<CHUNK_SLOTS>().0;
            for (index, chunk) in chunks.iter().enumerate() {
                if chunks_before.get(index) != Some(chunk) {
                    chunk.iter().for_each(|version| self.name(*version));
                }
            }
            rest.iter().for_each(|version| self.name(*version));
            before = versions;
        }
    }

    fn name(&mut self, version: VersionId) {
        if let Some(is_named) = self.is_named.get_mut(version.index()) {
            *is_named = true;
        }
    }

    fn grow(&mut self, slots: usize) {
        if self.shown.len() < slots {
            let slots = slots.next_multiple_of(CHUNK_SLOTS);
            self.shown.resize(slots, VersionId::NONE);
            self.state.resize(slots, VersionId::NONE);
            self.tenancies.resize(slots, Default::default());
        }
    }

    fn add<E: Entities>(
        &mut self,
        layouts: &Layouts,
        precision: Precision,
        id: EntityId,
        entity: &mut E,
    ) {
        let layouts = layouts.at(precision);
        let layout = &layouts[usize::from(entity.kind())];
        let head = Head { id, kind: WireLayouts::kind(entity.kind(), precision) };
        entity.gather(layouts, head, &mut self.scratch);
        let words = self.scratch.record(id.slot(), layout);
        let newest = match precision {
            Precision::Shown => &mut self.shown,
            Precision::State => &mut self.state,
        };
        let place = &mut newest[id.slot()];
        let known = &self.versions[place.index()];
        if !place.is_none() && known.head == head && known.words == words {
            return;
        }
        let index = match self.free.pop() {
            Some(index) => {
                let version = &mut self.versions[index as usize];
                version.head = head;
                version.words.clear();
                version.words.extend_from_slice(words);
                index
            }
            None => {
                self.versions.push(Version { head, words: words.to_vec() });
                self.versions.len() as u32 - 1
            }
        };
        *place = VersionId(index);
        // It is newest now, and may be named by someone who was asked before.
        if self.is_named.len() <= index as usize {
            self.is_named.resize(index as usize + 1, false);
        }
        self.is_named[index as usize] = !mutant::is(Mutant::FreshVersionNotMarked);
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
