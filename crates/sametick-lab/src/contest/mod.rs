//! A contest of bots on Islands, hundreds of units, under event locking, under snapshots and frame by frame: what a
//! server and each client send.

mod event;
mod locked;
mod snapshots;
mod traffic;

pub use traffic::Traffic;

use sametick::network::{Conditions, Host, Network};
use sametick::{Span, World};
use sametick_islands::{Content, Entity, Opening, TICK, Unit};

/// A contest that is to be played.
///
/// ```
/// use sametick_lab::contest::{Contest, Way};
///
/// let contest = Contest { seconds: 30, warm_up_seconds: 20, players: 2, ..Contest::default() };
/// let [locked, told] = [Way::EventLocked, Way::Snapshots].map(|way| contest.play(way));
/// assert!(locked.verified && told.verified);
/// assert!(locked.traffic.server_mean() < told.traffic.server_mean());
/// ```
#[derive(Clone, Debug)]
pub struct Contest {
    /// How long it is, in the game's time.
    pub seconds: u32,
    /// How much of that comes first and is not counted: everyone is told everything.
    pub warm_up_seconds: u32,
    /// How many play.
    pub players: u8,
    /// What the map and the bots follow from.
    pub seed: u64,
    /// Bytes a second that the event-locked server may send to all together, if not as many as it takes.
    pub budget: Option<u32>,
    /// Each player's line, up and down; who has none has a perfect one.
    pub lines: Vec<[Conditions; 2]>,
}

impl Default for Contest {
    fn default() -> Self {
        let (players, budget, lines) = (8, Some(860), Vec::new());
        Self { seconds: 600, warm_up_seconds: 60, players, seed: 2, budget, lines }
    }
}

/// How a contest is kept the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Events stamped with the tick at which everyone lets them happen.
    EventLocked,
    /// Everyone is told the latest state, ten times a second.
    Snapshots,
    /// Everyone's commands are waited for in every tick.
    FrameLocked,
}

/// What was seen of one contest.
#[derive(Debug)]
pub struct Seen {
    /// Bytes by second.
    pub traffic: Traffic,
    /// The fewest units that were alive in any second that counts.
    pub units_alive_min: usize,
    /// How many units were under fire, on average.
    pub units_under_fire_mean: f64,
    /// The longest that a screen other than the last player's stood still.
    pub stall_ticks_others_max: u32,
    /// Whether all worlds agreed whenever they were compared.
    pub verified: bool,
    /// How long requests waited for their answers, where there are answers.
    pub answers: Vec<(&'static str, f64)>,
}

impl Contest {
    /// Plays it.
    pub fn play(&self, way: Way) -> Seen {
        match way {
            Way::EventLocked => event::play(self),
            Way::Snapshots => snapshots::play(self),
            Way::FrameLocked => locked::play(self),
        }
    }

    fn content(&self) -> Content {
        // It must not end before the last second is counted.
        Content::new(self.seed, self.players, Opening::War).lasting(self.seconds + 60)
    }

    /// A host for the server, and one for each player.
    fn network(&self) -> (Network, Host, Vec<Host>) {
        let mut network = Network::new(self.seed);
        if let Some([up, _]) = self.lines.first() {
            network.set_default_conditions(up.clone());
        }
        let server = network.add_host();
        let hosts: Vec<Host> = (0..self.players).map(|_| network.add_host()).collect();
        for (host, [up, down]) in hosts.iter().zip(&self.lines) {
            network.set_conditions(*host, server, up.clone());
            network.set_conditions(server, *host, down.clone());
        }
        (network, server, hosts)
    }

    fn traffic(&self) -> Traffic {
        Traffic::new(self.seconds, self.warm_up_seconds, self.players)
    }

    /// Whether what happens then counts.
    fn counts(&self, at: Span) -> bool {
        at >= Span::seconds(u64::from(self.warm_up_seconds))
    }
}

/// Counts units once a second.
#[derive(Default)]
struct Census {
    least: Option<usize>,
    under_fire: Vec<usize>,
}

impl Census {
    fn count(&mut self, world: &World<Entity>) {
        let alive = world.all::<Unit>().count();
        self.least = Some(self.least.map_or(alive, |least| least.min(alive)));
        let under_fire = world.all::<Unit>().filter(|(_, unit)| unit.health.loss() > 0);
        self.under_fire.push(under_fire.count());
    }

    fn under_fire_mean(&self) -> f64 {
        self.under_fire.iter().sum::<usize>() as f64 / self.under_fire.len().max(1) as f64
    }
}

/// When each screen last went on.
struct Screens(Vec<(u32, Span)>);

impl Screens {
    fn new(count: usize) -> Self {
        Self(vec![(0, Span::ZERO); count])
    }

    /// Takes down a screen's tick; says for how many whole ticks it stood still before it went on.
    fn look(&mut self, at: Span, client: usize, tick: u32) -> u32 {
        let (before, since) = self.0[client];
        if tick <= before {
            return 0;
        }
        self.0[client] = (tick, at);
        if before == 0 { 0 } else { whole_ticks(at - since) }
    }

    /// For how many whole ticks any of the first screens has stood still at the end.
    fn still(&self, at: Span, count: usize) -> u32 {
        self.0.iter().take(count).map(|(_, since)| whole_ticks(at - *since)).max().unwrap_or(0)
    }
}

/// One tick a screen is meant to stand, and between two looks nobody knows.
fn whole_ticks(stood: Span) -> u32 {
    (stood - TICK - LOOK).as_micros().div_ceil(TICK.as_micros()) as u32
}

/// How often everything is driven.
const LOOK: Span = Span::millis(10);
