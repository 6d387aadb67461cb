//! Where clients decide about their own: what a player claims for its entities, what counts of it, and
//! the log of both.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::EntityId;
use crate::core::tick::{AHEAD_TICKS_MAX, PlayerId, Tick};
use crate::schema::delta;
use crate::schema::entities::Entities;
use crate::schema::record::{Layout, ROW_WORDS};
use crate::sim::world::World;
use std::collections::VecDeque;

/// For how many of its entities a player can claim a state at once.
pub const CLAIMED_ENTITIES_MAX: usize = 15;

/// How many claims are logged until they are taken; one more, and the oldest is forgotten.
pub const CLAIMS_MAX: usize = 4096;

/// For how many ticks a server keeps claims that wait for their tick.
pub(crate) const CLAIMED_TICKS_MAX: u32 = 128;
const _: () = assert!(CLAIMED_TICKS_MAX >= AHEAD_TICKS_MAX);

/// Whom a server believes. Where it believes its clients, [`Game::trust`](crate::Game::trust) says how
/// much of what they claim counts:
///
/// ```
/// # use sametick::{Fields, Game, Networked, NoEvent, Rates, Trust, Turn, World};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Runner { pub x: f32, pub health: u8 }
/// # impl Networked for Runner {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) {
/// #         f.exact("x", &mut self.x);
/// #         f.int("health", &mut self.health, 0..=100);
/// #     }
/// # }
/// # sametick::entities! { pub enum Entity { Runner } }
/// # struct Tag;
/// # impl Game for Tag {
/// #     type Entity = Entity;
/// #     type Command = Runner;
/// #     type Event = NoEvent;
/// #     type Content = ();
/// #     fn step(_: &mut World<Entity>, _: &Turn<'_, Self>) {}
/// fn trust(decided: &mut Entity, claimed: &Entity) {
///     let (Entity::Runner(decided), Entity::Runner(claimed)) = (decided, claimed);
///     // Where it is, its own player knows; its health is everyone's business.
///     decided.x = claimed.x;
/// }
/// # }
/// let rates = Rates { trust: Trust::Clients, ..Rates::USUAL };
/// # let mut decided = Entity::from(Runner { x: 1.0, health: 40 });
/// # Tag::trust(&mut decided, &Entity::from(Runner { x: 2.0, health: 100 }));
/// # let Entity::Runner(decided) = decided;
/// # assert_eq!(decided, Runner { x: 2.0, health: 40 });
/// # assert_eq!(rates.trust, Trust::Clients);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nobody: it steps everyone by their commands.
    #[default]
    Server,
    /// Each client, about its own entities and about what it saw when it shot.
    Clients,
}

/// A state that a player claimed for an entity of its own, in the order in which the server judged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Of which tick.
    pub tick: Tick,
    /// Whose claim.
    pub player: PlayerId,
    /// For which entity.
    pub entity: EntityId,
    /// Whether all of it counts. Otherwise something else had been decided, and the player is corrected.
    pub is_taken: bool,
}

/// Own entities by tick: those that a client decided on, or those that it claims.
#[derive(Clone, Debug)]
pub(crate) struct Decisions<E> {
    by_tick: VecDeque<(Tick, Vec<(EntityId, E)>)>,
    /// The newest that was taken out.
    taken: Option<Tick>,
    /// Of how many ticks they are kept.
    ticks_max: u32,
}

impl<E: Entities> Decisions<E> {
    /// None yet, and at most those of so many ticks: a client needs its own for as long as it predicts.
    pub(crate) fn keeping(ticks_max: u32) -> Self {
        Self { by_tick: VecDeque::new(), taken: None, ticks_max }
    }

    /// Keeps a player's entities as they are in a world.
    pub(crate) fn keep(&mut self, world: &World<E>, player: PlayerId) {
        let own = world.owned_entities().filter(|(_, owner, _)| *owner == Some(player));
        let own = own.filter(|(id, _, _)| !id.is_provisional());
        let own = own.map(|(id, _, entity)| (id, entity.clone()));
        self.push(world.tick(), own.take(CLAIMED_ENTITIES_MAX).collect());
    }

    /// Keeps the newest of each tick; those of the past are not changed.
    pub(crate) fn push(&mut self, tick: Tick, entities: Vec<(EntityId, E)>) {
        if self.taken >= Some(tick) {
            return;
        }
        match self.by_tick.back_mut() {
            Some((newest, _)) if *newest > tick => return,
            Some((newest, kept)) if *newest == tick => *kept = entities,
            _ => self.by_tick.push_back((tick, entities)),
        }
        if self.by_tick.len() > self.ticks_max as usize {
            self.by_tick.pop_front();
        }
    }

    /// The decisions of a tick.
    pub(crate) fn at(&self, tick: Tick) -> Option<&[(EntityId, E)]> {
        let index = self.by_tick.binary_search_by_key(&tick, |(tick, _)| *tick).ok()?;
        self.by_tick.get(index).map(|(_, entities)| entities.as_slice())
    }

    pub(crate) fn newest(&self) -> Option<&(Tick, Vec<(EntityId, E)>)> {
        self.by_tick.back()
    }

    /// Takes out the newest that are of this tick or before, and forgets older ones.
    pub(crate) fn take_until(&mut self, tick: Tick) -> Option<(Tick, Vec<(EntityId, E)>)> {
        let count = self.by_tick.partition_point(|(of, _)| *of <= tick);
        let newest = self.by_tick.drain(..count).next_back()?;
        self.taken = Some(newest.0);
        Some(newest)
    }
}

/// Writes what a player claims.
pub(crate) fn write<E: Entities>(
    bits: &mut BitWriter,
    layouts: &[Layout],
    claims: &[(EntityId, E)],
) {
    bits.write(claims.len() as u64, 4);
    for (id, entity) in claims {
        bits.write(u64::from(EntityId::to_word(Some(*id))), 32);
        bits.write(u64::from(entity.kind()), 8);
        let layout = &layouts[usize::from(entity.kind())];
        let mut row = [0; ROW_WORDS];
        entity.clone().record(layouts, &mut row);
        delta::write(bits, layout, layout.initial(), &row[..layout.len()]);
    }
}

/// Reads what [`write`] wrote; none if nobody writes such.
pub(crate) fn read<E: Entities>(
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
) -> Option<Vec<(EntityId, E)>> {
    let count = bits.read(4);
    let mut claims = Vec::new();
    for _ in 0..count {
        let id = EntityId::from_word(bits.read(32) as u32)?;
        let kind = bits.read(8) as u8;
        let mut entity = E::default_of(kind)?;
        let layout = &layouts[usize::from(kind)];
        let mut row = [0; ROW_WORDS];
        delta::read(bits, layout, layout.initial(), &mut row[..layout.len()]);
        if bits.failed() {
            return None;
        }
        entity.scatter(layouts, &row);
        claims.push((id, entity));
    }
    Some(claims)
}

/// Lets a player's claims count in the world, as far as the game trusts them; tells what became of each.
pub(crate) fn apply<E: Entities>(
    world: &mut World<E>,
    layouts: &[Layout],
    player: PlayerId,
    tick: Tick,
    claims: &[(EntityId, E)],
    trust: impl Fn(&mut E, &E),
) -> Vec<Claim> {
    let mut log = Vec::new();
    for (id, claimed) in claims {
        let is_own = world.owner(*id) == Some(player);
        let decided = world.entity_mut(*id).filter(|decided| decided.kind() == claimed.kind());
        let is_taken = match decided.filter(|_| is_own) {
            Some(decided) => {
                trust(decided, claimed);
                let [mut left, mut right] = [[0; ROW_WORDS]; 2];
                decided.record(layouts, &mut left);
                claimed.clone().record(layouts, &mut right);
                left == right
            }
            None => false,
        };
        log.push(Claim { tick, player, entity: *id, is_taken });
    }
    log
}
