//! Event locking: the server alone decides, and tells each player what it decided, when it took effect, and nothing
//! in between. Paper 002's model, for any [`Game`] that can judge a request.
//!
//! A client asks ([`EventClient::request`]), after judging by the same rule, and shows at once what it hopes for, as
//! *unofficial*. The server judges again when it steps, and tells everyone in sight which records changed. Records
//! are structured by time (way points with arrival times), so whoever hears of it later is in the right place at
//! once. Nobody waits for anybody, and what moves by itself costs no traffic.
//!
//! `docs/event-locking.md` leads through a whole game.

#[cfg(feature = "secure")]
mod budget;
#[cfg(feature = "secure")]
mod client;
mod coder;
mod ledger;
#[cfg(feature = "secure")]
mod server;
mod speech;
mod unofficial;

#[cfg(feature = "secure")]
pub use client::{EventClient, EventClientEvent};
#[cfg(feature = "secure")]
pub use server::{
    EventServer, QUEUED_REQUESTS_MAX, TIME_QUESTIONS_AT_ONCE, TIME_QUESTIONS_PER_SECOND,
    UNTOLD_ANSWERS_MAX,
};
pub use unofficial::{Blending, OVERLAYS_MAX};

/// The last tick of a game: there its time stands. Clients refuse later ones, so that no sum of ticks overflows.
pub const TICK_LAST: Tick = Tick(1 << 31);

use crate::core::mutant::{self, Mutant};
use crate::core::tick::Tick;
use crate::core::time::Span;
use crate::schema::entities::Layouts;
use crate::schema::record::{hash, mix};
use crate::schema::table::{Head, Table};
use crate::sim::game::Game;
use crate::sim::world::World;
use crate::{Entities, EntityId, PlayerId, Slots};
use std::fmt;

/// A game whose players' commands are requests, which can be judged before anything is done.
pub trait Requests: Game {
    /// Whether a request can be granted in this world. The client asks with what it knows, the server with all there
    /// is: on a client's part of the world, whatever it cannot know must not be held against the request.
    fn judge(
        world: &World<Self::Entity>,
        content: &Self::Content,
        player: PlayerId,
        request: &Self::Command,
    ) -> Result<(), Denial>;

    /// What a client makes of a request before it sends it, from the part of the world that it knows: it denies only
    /// what is plainly illegal by that, and leaves the rest to the server. By default what [`judge`](Requests::judge)
    /// says.
    fn foresee(
        world: &World<Self::Entity>,
        content: &Self::Content,
        player: PlayerId,
        request: &Self::Command,
    ) -> Result<(), Denial> {
        Self::judge(world, content, player, request)
    }

    /// How far apart two states of an entity are on the screen at a tick, in the game's own measure: whether the way
    /// from the unofficial to the official is short enough to be gone smoothly. The world is the official one.
    fn apart(
        unofficial: &Self::Entity,
        official: &Self::Entity,
        _world: &World<Self::Entity>,
        _tick: Tick,
    ) -> f32 {
        Self::distance(unofficial, official)
    }
}

/// Why a request is not granted: a number that the game gives words for. Those from [`Denial::RESERVED`] on are the
/// library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial(pub u8);

impl Denial {
    /// From here on codes are the library's.
    pub const RESERVED: u8 = 240;
    /// Too many requests at once.
    pub const FLOOD: Self = Self(255);
    /// Not in the game, or not yet.
    pub const ABSENT: Self = Self(254);
    /// The request holds a number that is not finite, or the connection takes no more.
    pub const UNSENDABLE: Self = Self(253);
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FLOOD => f.write_str("too many requests at once"),
            Self::ABSENT => f.write_str("not in the game"),
            Self::UNSENDABLE => f.write_str("the request cannot be sent"),
            Self(code) => write!(f, "denied by the game's rule {code}"),
        }
    }
}

impl std::error::Error for Denial {}

/// Names a request of one client: they count from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestNumber(pub u32);

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestAnswer {
    /// Which one.
    pub number: RequestNumber,
    /// The tick it took effect in, or why it did not. It is judged by the world before that tick: where two ask in
    /// one tick for what only one can have, both are told so, the rules give it to one, and the other sees that it
    /// has not got it.
    pub verdict: Result<Tick, Denial>,
}

/// How an event-locked server runs.
#[derive(Clone, Copy, Debug)]
pub struct EventRates {
    /// How long a tick takes.
    pub tick_length: Span,
    /// How often a player is told at most: what changes in between is told together, as it stands at the end.
    pub tell_every: Span,
    /// How many bytes a second all players together are to be told: all that we send, our headers and seals included,
    /// but not those of IP and UDP; none for as many as it takes. Whoever has used up its share is told later, not
    /// less.
    pub bytes_per_second: Option<u32>,
    /// How many requests a second a player may make in the long run.
    pub requests_per_second: u32,
    /// How many at once.
    pub requests_at_once: u32,
    /// Whether hashes of what players were told are kept, for tests and measurements.
    pub keeps_hashes: bool,
}

impl Default for EventRates {
    fn default() -> Self {
        Self {
            tick_length: Span::millis(50),
            tell_every: Span::millis(250),
            bytes_per_second: None,
            requests_per_second: 8,
            requests_at_once: 16,
            keeps_hashes: false,
        }
    }
}

/// A number for a world as far as some see it: entities, whose they are, and the tick. An official world on a client
/// has the same as the server's, restricted to what that client sees.
pub fn sight_hash<E: Entities>(
    world: &World<E>,
    layouts: &Layouts,
    tick: Tick,
    is_seen: impl Fn(EntityId) -> bool,
) -> u64 {
    let mut table = Table::default();
    world.entities().filter(|(id, _)| !id.is_provisional() && is_seen(*id)).fold(
        mix(0, tick.0),
        |sum, (id, entity)| {
            let kind = entity.kind();
            entity.clone().gather(&layouts.state, Head { id, kind }, &mut table);
            let words = hash(table.record(id.slot(), &layouts.state[usize::from(kind)]));
            let owner = world.owner(id).map_or(0, |owner| 1 + u32::from(owner.0));
            let name = EntityId::to_word(Some(id));
            let numbers = [name, u32::from(kind), owner, words as u32, (words >> 32) as u32];
            numbers.into_iter().fold(sum, mix)
        },
    )
}

/// What a player may see: what the game says, and all that is its own.
fn sight_of<G: Game>(
    world: &World<G::Entity>,
    content: &G::Content,
    player: PlayerId,
    visible: &mut Slots,
) {
    if !mutant::is(Mutant::SightOfTheLastViewer) {
        visible.clear();
    }
    G::relevant(world, content, player, visible);
    world.slots_of(player).for_each(|slot| visible.insert(slot));
}

/// A number for all that both ends must mean the same by.
fn rules<G: Game>(layouts: &Layouts) -> u64 {
    let command = crate::Layout::of::<G::Command>(crate::Precision::State).fingerprint();
    let kinds = layouts.state.iter().map(crate::Layout::fingerprint);
    kinds.fold(command, |sum, kind| mix(mix(sum, kind as u32), (kind >> 32) as u32))
}
