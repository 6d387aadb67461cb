//! The library's half of a match: a server's client, or one machine of a game in lockstep. Whoever drives or draws it
//! need not know which.

use sametick::health::Observation;
use sametick::lockstep::{Happening, Mesh};
use sametick::secure::{ClientToken, Denial};
use sametick::{Client, ClientEvent, Effect, PlayerId, Tick, Time, View, World};
use sametick_arena::{Arena, Command, Entity, Event};
use std::collections::BTreeMap;

/// How many hashes are kept for whoever compares machines, and of every which tick: the game has taken those itself.
const HASHES_MAX: usize = 400;
const HASHED_EVERY: u32 = 8;
/// How far back the newest of them are looked for.
const HASHES_AT_ONCE: u32 = 32;

/// One of the two.
pub(crate) enum Player {
    /// A server decides.
    Client(Box<Client<Arena>>),
    /// Everyone steps the same world.
    Mesh(Box<Mesh<Arena>>, BTreeMap<u32, u32>),
}

/// What happened that whoever plays must hear of.
pub(crate) enum News {
    /// We are in.
    Joined,
    /// Another game begins.
    GameChanged(u64),
    /// It is over, and why.
    Lost(String),
    /// It is over for good, and why: to come back would help nobody.
    Stopped(String),
}

impl Player {
    /// One machine of a game in lockstep.
    pub(crate) fn of_mesh(mesh: Mesh<Arena>) -> Self {
        Self::Mesh(Box::new(mesh), BTreeMap::new())
    }

    /// What the player asks for from now on.
    pub(crate) fn command(&mut self, command: Command) {
        match self {
            Self::Client(client) => client.command(command),
            Self::Mesh(mesh, _) => mesh.command(command),
        }
    }

    /// What happened since this was last asked.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        match self {
            Self::Client(client) => {
                client.take_events().into_iter().filter_map(news_of_client).collect()
            }
            Self::Mesh(mesh, hashes) => {
                keep_hashes(mesh, hashes);
                let events = mesh.game_mut().take_events();
                events.into_iter().filter_map(news_of_mesh).collect()
            }
        }
    }

    /// Our number.
    pub(crate) fn me(&self) -> Option<PlayerId> {
        match self {
            Self::Client(client) => client.me(),
            Self::Mesh(mesh, _) => mesh.game().me(),
        }
    }

    /// The seed of all chances, once we are in a match.
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Self::Client(client) => client.seed(),
            Self::Mesh(mesh, _) => mesh.game().setup().map(|setup| setup.seed),
        }
    }

    /// Looks at the world as it is to be drawn at this time.
    pub(crate) fn look(&mut self, now: Time) {
        if let Self::Client(client) = self {
            client.view(now);
        }
    }

    /// The world as it is to be drawn.
    pub(crate) fn shown(&self) -> Option<&World<Entity>> {
        match self {
            Self::Client(client) => client.shown(),
            Self::Mesh(mesh, _) => mesh.game().shown(),
        }
    }

    /// The newest world that was told, or of which everything is known.
    pub(crate) fn snapshot(&self) -> Option<&World<Entity>> {
        match self {
            Self::Client(client) => client.snapshot(),
            Self::Mesh(mesh, _) => mesh.game().world(),
        }
    }

    /// The tick of our own player on our screen.
    pub(crate) fn own_tick(&self) -> Option<Tick> {
        match self {
            Self::Client(client) => client.predicted().map(World::tick),
            Self::Mesh(mesh, _) => mesh.game().shown().map(World::tick),
        }
    }

    /// What is to be seen and heard since this was last asked.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect<Event>> {
        match self {
            Self::Client(client) => client.take_effects(),
            Self::Mesh(mesh, _) => mesh.game_mut().take_effects(),
        }
    }

    /// What was measured since this was last asked.
    pub(crate) fn observe(&mut self) -> Observation {
        match self {
            Self::Client(client) => client.observe(),
            Self::Mesh(mesh, _) => Observation {
                tick_length: mesh.game().setup().map(|setup| setup.tick_length),
                ..Observation::default()
            },
        }
    }

    /// What leads back to the same place, if anything does.
    pub(crate) fn ticket(&self) -> Option<&ClientToken> {
        match self {
            Self::Client(client) => client.ticket(),
            Self::Mesh(..) => None,
        }
    }

    /// Sees the others otherwise; in lockstep there is one way to see them.
    pub(crate) fn set_view(&mut self, view: View) {
        if let Self::Client(client) = self {
            client.set_view(view);
        }
    }

    /// Says goodbye; what is then to be sent goes out once.
    pub(crate) fn close(&mut self, now: Time) {
        match self {
            Self::Client(client) => client.close(now),
            Self::Mesh(mesh, _) => {
                mesh.close(now);
                mesh.hang_up(now);
            }
        }
    }

    /// In lockstep: the hashes of the newest worlds, by tick.
    pub(crate) fn hashes(&self) -> Option<&BTreeMap<u32, u32>> {
        match self {
            Self::Client(_) => None,
            Self::Mesh(_, hashes) => Some(hashes),
        }
    }
}

fn keep_hashes(mesh: &Mesh<Arena>, hashes: &mut BTreeMap<u32, u32>) {
    let game = mesh.game();
    let Some(newest) = game.world().map(|world| world.tick().0) else { return };
    let known = hashes.last_key_value().map_or(0, |(tick, _)| *tick);
    let fresh = known.max(newest.saturating_sub(HASHES_AT_ONCE)) + 1..=newest;
    for tick in fresh.filter(|tick| tick.is_multiple_of(HASHED_EVERY)) {
        hashes.extend(game.hash_of(Tick(tick)).map(|hash| (tick, hash)));
    }
    while hashes.len() > HASHES_MAX {
        hashes.pop_first();
    }
}

fn news_of_client(event: ClientEvent) -> Option<News> {
    match event {
        ClientEvent::Joined(_) => Some(News::Joined),
        ClientEvent::Denied(denial) => {
            Some(News::Lost(format!("The server did not let us in: {}.", why(denial))))
        }
        ClientEvent::GameChanged { content } => Some(News::GameChanged(content)),
        ClientEvent::Left(reason) => Some(News::Lost(crate::session::words(reason).into())),
        ClientEvent::Migrating(_) => None,
    }
}

fn news_of_mesh(event: Happening) -> Option<News> {
    let lost = |reason: &str| Some(News::Lost(reason.into()));
    match event {
        Happening::Joined(_) => Some(News::Joined),
        Happening::Refused(refusal) => lost(&format!("They do not let us in: {refusal}.")),
        Happening::Desynced(desync) => Some(News::Stopped(format!(
            "Since tick {} our world is not that of player {}: {}. The game has stopped.",
            desync.tick.0, desync.with.0, desync.first
        ))),
        Happening::Halted => {
            Some(News::Stopped("Somebody's world is another: the game has stopped.".into()))
        }
        Happening::Over => lost("The game is over."),
        _ => None,
    }
}

/// A denial in words.
fn why(denial: Denial) -> &'static str {
    match denial {
        Denial::TokenUsed => "what we knocked with was used before",
        Denial::TokenTooOld => "what we knocked with is too old",
        Denial::WrongServer => "what we knocked with is for another server",
        Denial::ServerFull => "it is full",
        Denial::Busy => "too many came at once",
        Denial::Unwelcome => "we are not welcome",
    }
}
