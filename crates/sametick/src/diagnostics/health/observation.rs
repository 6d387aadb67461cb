//! What a client has to say of its connection at one moment, and what a server says of itself.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::transport::channel::Statistics;
use std::collections::VecDeque;

/// How many updates a client keeps until they are asked for; one more, and the oldest is forgotten.
pub const HEARD_MAX: usize = 256;

/// What one message of a snapshot told, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Update {
    /// When it came.
    pub at: Time,
    /// What tick it tells of.
    pub tick: Tick,
    /// How long it is.
    pub bytes: u32,
    /// How many that were sent before it have not come.
    pub missing: u32,
    /// By how many milliseconds commands were early at the server, the least since the update before; late, if
    /// below zero. None if no command had come.
    pub margin_ms: Option<f64>,
    /// How many commands the server had to repeat since the update before.
    pub repeated: u32,
    /// For how long it has had to by now, without a break.
    pub repeated_for: Span,
    /// How far it moved our own entities from where they were predicted, as
    /// [`Game::distance`](crate::Game::distance) measures.
    pub correction: f32,
}

/// Where a screen stood among the snapshots when it was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Screen {
    /// By how many milliseconds the shown time was past the newest snapshot; below zero, it lay between two.
    pub past_newest_ms: f64,
    /// By how many milliseconds what is shown of others was older than our own time: as far back a shot is
    /// judged, if the server goes so far.
    pub behind_own_ms: f64,
    /// Of that, how much others were moved on by guessing.
    pub guessed_ms: f64,
}

/// What a client has to say since it was last asked: [`Client::observe`](crate::Client::observe).
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What the connection has counted, if there is one.
    pub statistics: Option<Statistics>,
    /// How long a tick takes, once that is known.
    pub tick_length: Option<Span>,
    /// In every which tick the client asks for a snapshot.
    pub snapshot_every: u32,
    /// Updates since it was last asked, at most [`HEARD_MAX`].
    pub updates: Vec<Update>,
    /// Where the screen stood last.
    pub screen: Option<Screen>,
    /// How early the client means its commands to be.
    pub target_margin: Span,
    /// By how much it went ahead at once because commands were late, all in all.
    pub made_up: Span,
    /// How much later others are shown because updates come unevenly; none if they are not shown so.
    pub waits: Option<Span>,
    /// How far behind the newest update others are shown on purpose, so that there is always a next one.
    pub buffer: Span,
    /// What the server last said of itself, and when that came.
    pub pace: Option<(Time, Pace)>,
}

/// What a server says of itself once a second, if its owner measures it: see
/// [`Server::worked`](crate::Server::worked).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Over how long this was measured.
    pub over: Span,
    /// How many ticks were stepped meanwhile.
    pub ticks: u32,
    /// How many snapshots were sent to this player.
    pub snapshots: u32,
    /// How many ticks there are to a snapshot.
    pub ticks_per_snapshot: u32,
    /// How long a tick took, all that the server did for it included.
    pub tick_mean: Span,
    /// How long the longest took.
    pub tick_worst: Span,
    /// How far back shots are judged at most; zero if by the present.
    pub rewinds_at_most: Span,
    /// How far back this player's last command was.
    pub rewound: Option<Span>,
}

/// What precedes the server's word about itself.
pub(crate) const PACE: u8 = 8;
const TICK_UNIT_MICROS: u64 = 10;
const REWOUND_UNIT_MICROS: u64 = 100;

impl Pace {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bits = BitWriter::growing(32);
        let mut write = |value: u64, width: u32| bits.write(value.min((1 << width) - 1), width);
        write(u64::from(PACE), 8);
        write(self.over.as_micros() / 1_000, 16);
        write(u64::from(self.ticks), 16);
        write(u64::from(self.snapshots), 16);
        write(u64::from(self.ticks_per_snapshot), 8);
        write(self.tick_mean.as_micros() / TICK_UNIT_MICROS, 16);
        write(self.tick_worst.as_micros() / TICK_UNIT_MICROS, 16);
        write(self.rewinds_at_most.as_micros() / 1_000, 16);
        let rewound = self.rewound.map(|span| (span.as_micros() / REWOUND_UNIT_MICROS).max(1));
        write(rewound.unwrap_or(0), 16);
        bits.finish().map(<[u8]>::to_vec).unwrap_or_default()
    }

    /// Reads what [`write`](Pace::write) wrote behind its first byte.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(message);
        let over = Span::millis(bits.read(16));
        let [ticks, snapshots] = [(); 2].map(|()| bits.read(16) as u32);
        let ticks_per_snapshot = bits.read(8) as u32;
        let [tick_mean, tick_worst] =
            [(); 2].map(|()| Span::micros(bits.read(16) * TICK_UNIT_MICROS));
        let rewinds_at_most = Span::millis(bits.read(16));
        let rewound = bits.read(16);
        bits.finish().ok()?;
        let rewound = (rewound > 0).then(|| Span::micros(rewound * REWOUND_UNIT_MICROS));
        Some(Self {
            over,
            ticks,
            snapshots,
            ticks_per_snapshot,
            tick_mean,
            tick_worst,
            rewinds_at_most,
            rewound,
        })
    }
}

/// How often a server tells of itself.
const TOLD_EVERY: Span = Span::seconds(1);

/// A server's measure of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacing {
    is_measured: bool,
    told_at: Time,
    /// Work since the last tick: taking datagrams in belongs to the tick that follows.
    work: Span,
    tick: Tick,
    ticks: u32,
    sum: Span,
    worst: Span,
}

impl Pacing {
    /// Takes down some work, after which the world is at a tick.
    pub(crate) fn worked(&mut self, took: Span, tick: Tick) {
        if !std::mem::replace(&mut self.is_measured, true) {
            self.tick = tick;
        }
        self.work += took;
        let ticks = tick.0.saturating_sub(self.tick.0);
        self.tick = tick;
        if ticks == 0 {
            return;
        }
        let work = std::mem::replace(&mut self.work, Span::ZERO);
        self.ticks += ticks;
        self.sum += work;
        self.worst = self.worst.max(work / u64::from(ticks));
    }

    /// What there is to tell, once a second; what players differ in is left out.
    pub(crate) fn take(&mut self, now: Time) -> Option<Pace> {
        let over = now - self.told_at;
        if !self.is_measured || over < TOLD_EVERY || self.ticks == 0 {
            return None;
        }
        let tick_mean = self.sum / u64::from(self.ticks);
        let pace =
            Pace { over, ticks: self.ticks, tick_mean, tick_worst: self.worst, ..Pace::default() };
        *self = Self { told_at: now, ticks: 0, sum: Span::ZERO, worst: Span::ZERO, ..*self };
        Some(pace)
    }
}

/// What a client noticed and has not been asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    updates: VecDeque<Update>,
    /// How many ticks in a row the server had to do without our commands.
    repeated_ticks: u32,
}

impl Watch {
    /// A message of a snapshot has come. `repeated` is how many commands were repeated in how many ticks, if
    /// it is the first of its snapshot.
    pub(crate) fn hear(&mut self, update: Update, repeated: Option<(u32, u32)>, tick_length: Span) {
        if let Some((repeated, ticks)) = repeated {
            let before = if repeated == ticks { self.repeated_ticks } else { 0 };
            self.repeated_ticks = before.saturating_add(repeated);
        }
        if self.updates.len() == HEARD_MAX {
            self.updates.pop_front();
        }
        self.updates.push_back(Update {
            margin_ms: update.margin_ms.filter(|_| repeated.is_some()),
            repeated: repeated.map_or(0, |(repeated, _)| repeated),
            repeated_for: tick_length * u64::from(self.repeated_ticks),
            ..update
        });
    }

    /// The last one moved our own entities.
    pub(crate) fn correct(&mut self, distance: f32) {
        if let Some(update) = self.updates.back_mut() {
            update.correction = distance;
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Update> {
        self.updates.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_of_itself_arrives_as_it_was() {
        let pace = Pace {
            over: Span::millis(1_003),
            ticks: 60,
            snapshots: 20,
            ticks_per_snapshot: 3,
            tick_mean: Span::micros(24_010),
            tick_worst: Span::micros(31_500),
            rewinds_at_most: Span::millis(250),
            rewound: Some(Span::micros(217_300)),
        };
        let message = pace.write();
        assert_eq!((message[0], message.len()), (PACE, 16));
        assert_eq!(Pace::read(&message[1..]), Some(pace));
        assert_eq!(Pace::read(&message[1..15]), None);
        assert_eq!(Pace::read(&[&message[1..], &[0]].concat()), None);
    }

    #[test]
    fn work_between_ticks_belongs_to_the_next_one_and_is_told_once_a_second() {
        let mut pacing = Pacing::default();
        let millis = Span::millis;
        assert_eq!(pacing.take(Time::from_seconds(9)), None, "nobody measures");
        pacing.worked(millis(3), Tick(7));
        pacing.worked(millis(9), Tick(8));
        pacing.worked(millis(8), Tick(10));
        let pace = pacing.take(Time::from_seconds(9)).unwrap();
        assert_eq!((pace.ticks, pace.tick_mean, pace.tick_worst), (3, millis(20) / 3, millis(12)));
        pacing.worked(millis(1), Tick(11));
        assert_eq!(pacing.take(Time::from_millis(9_900)), None, "too early");
        assert!(pacing.take(Time::from_millis(10_000)).is_some_and(|pace| pace.ticks == 1));
    }

    #[test]
    fn a_client_that_nobody_asks_keeps_a_bounded_number_of_updates() {
        let mut watch = Watch::default();
        for tick in 0..10_000 {
            let update = Update { tick: Tick(tick), ..Update::default() };
            watch.hear(update, Some((1, 1)), Span::millis(10));
        }
        let updates = watch.take();
        assert_eq!(updates.len(), HEARD_MAX);
        assert_eq!(updates[HEARD_MAX - 1].repeated_for, Span::seconds(100));
    }
}
