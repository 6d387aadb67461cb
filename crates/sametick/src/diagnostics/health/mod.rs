//! How a player's connection fares: what a net graph shows, and warnings that say whose fault it is. All of it
//! is measured by the client; knows no game, no socket and no screen, and reads no clock.
//!
//! The owner of a [`Client`](crate::Client) feeds a [`Health`] once a frame and reads what it wants from it:
//! the last six seconds as strips ([`updates`](Health::updates), [`frames`](Health::frames)), numbers
//! ([`figures`](Health::figures)), and at most one sentence ([`warning`](Health::warning)). Page, terminal and
//! lab read the same, so they agree.
//!
//! ```
//! use sametick::health::{Health, Link, Observation, Work};
//! use sametick::{Span, Time};
//!
//! let mut health = Health::new(Link::Datagrams);
//! let mut now = Time::ZERO;
//! for _ in 0..300 {
//!     // A client gives this: `client.observe()`.
//!     let seen = Observation { tick_length: Some(Span::micros(16_667)), ..Observation::default() };
//!     health.frame(now, Work { frame: Span::millis(31), repredicted: Span::millis(1) }, seen);
//!     now += Span::millis(31);
//! }
//! let warning = health.warning().expect("frames are slow");
//! assert_eq!(warning.sentence, "Frames take 31 ms; the game runs at 16.7.");
//! assert_eq!(health.figures(now).to_string(), "no answer yet");
//! ```

mod board;
mod figures;
mod observation;
mod ring;
mod table;

pub use board::{GONE_AFTER, SHOWN_FOR_MIN, Warning};
pub use figures::{Figures, PING_OVER, Spread};
pub(crate) use observation::Watch;
pub use observation::{HEARD_MAX, Observation, Pace, Screen, Update};
#[cfg(feature = "secure")]
pub(crate) use observation::{PACE, Pacing};
pub use ring::Ring;
pub use table::{Kind, Row, Severity, TABLE, Whose};

use crate::core::time::{Span, Time};
use board::Board;

/// What is kept is of so long.
pub const KEPT: Span = Span::seconds(6);
/// How many updates are kept, with those that were lost: 170 a second.
pub const UPDATES_MAX: usize = 1024;
/// How many frames are kept: 250 a second.
pub const FRAMES_MAX: usize = 1500;
/// How many round trips are kept.
pub const PINGS_MAX: usize = 1024;
/// How many counts of the connection are kept, one each [`COUNTS_EVERY`].
pub const COUNTS_MAX: usize = 64;
/// How often the connection's counts are taken down.
pub const COUNTS_EVERY: Span = Span::millis(100);
const _: () = assert!(KEPT.as_micros() / COUNTS_EVERY.as_micros() < COUNTS_MAX as u64);

/// So many lost updates at most are drawn for one gap.
const LOST_AT_ONCE_MAX: u32 = 64;
/// Whatever was lost may still turn out to be late for so long.
const LATE_WITHIN: Span = Span::millis(500);
/// An owner who did not look for so long was away, and has measured nothing.
const AWAY_AFTER: Span = Span::seconds(1);
/// For so long after the first update a connection finds its feet, and nothing is warned of it.
const SETTLES_WITHIN: Span = Span::seconds(3);

/// How often it is judged what to warn of: medians cost more than taking down what they are of.
const JUDGED_EVERY: Span = Span::millis(50);

/// What carries our datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Each by itself, as UDP and WebTransport do.
    #[default]
    Datagrams,
    /// One behind the other in a stream, as WebSocket and TCP do.
    Stream,
}

/// How long the owner's computer took for one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The whole frame: on a page, the time since the frame before.
    pub frame: Span,
    /// Of it, [`Client::receive`](crate::Client::receive), where what was predicted is stepped again.
    pub repredicted: Span,
}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It came in time.
    Arrived,
    /// It came when a newer one was there, and was of no use.
    Late,
    /// It never came.
    Lost,
}

/// One update in the graph: a bar, its command's margin, and what it corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// What became of it.
    pub fate: Fate,
    /// What it told; of one that did not come, nothing.
    pub update: Update,
}

/// One frame in the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Where the screen stood among the snapshots, once there is something to look at.
    pub screen: Option<Screen>,
    /// How long it took.
    pub work: Work,
}

/// Counts of the connection at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    told_arrived: u64,
    told_missing: u64,
    bytes_in: u64,
    bytes_out: u64,
    made_up: Span,
}

/// One client's health. See the [module](self).
#[derive(Clone, Debug)]
pub struct Health {
    link: Link,
    updates: Ring<Bar>,
    frames: Ring<Frame>,
    pings: Ring<Span>,
    counts: Ring<Counts>,
    /// The newest that was seen of what is not in a ring.
    newest: Newest,
    board: Board,
}

#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    tick_length: Option<Span>,
    snapshot_every: u32,
    /// What the connection had counted: packets taken, delivered, and messages that were late.
    counted: [u64; 3],
    heard_at: Option<Time>,
    /// When the first update came after a pause.
    began: Option<Time>,
    looked_at: Option<Time>,
    judged_at: Option<Time>,
    repeated_for: Span,
    target_margin: Span,
    waits: Option<Span>,
    buffer: Span,
    pace: Option<(Time, Pace)>,
}

impl Health {
    /// Of a client that has yet to begin.
    pub fn new(link: Link) -> Self {
        Self {
            link,
            updates: Ring::new(UPDATES_MAX, KEPT),
            frames: Ring::new(FRAMES_MAX, KEPT),
            pings: Ring::new(PINGS_MAX, KEPT),
            counts: Ring::new(COUNTS_MAX, KEPT),
            newest: Newest::default(),
            board: Board::default(),
        }
    }

    /// Another link carries our datagrams from now on.
    pub fn set_link(&mut self, link: Link) {
        self.link = link;
    }

    /// Takes in what was seen up to a frame; call it in each, with what
    /// [`Client::observe`](crate::Client::observe) gives.
    pub fn frame(&mut self, now: Time, work: Work, seen: Observation) {
        if self.newest.looked_at.is_some_and(|at| now - at >= AWAY_AFTER) {
            self.come_back(now);
        }
        self.newest.looked_at = Some(now);
        self.frames.push(now, Frame { screen: seen.screen, work });
        for update in &seen.updates {
            self.take_update(*update);
        }
        self.take_counts(now, &seen);
        let newest = &mut self.newest;
        newest.tick_length = seen.tick_length.or(newest.tick_length);
        newest.snapshot_every = seen.snapshot_every;
        newest.target_margin = seen.target_margin;
        (newest.waits, newest.buffer) = (seen.waits, seen.buffer);
        newest.pace = seen.pace;
        self.updates.forget(now);
        self.pings.forget(now);
        if self.newest.judged_at.is_none_or(|at| now - at >= JUDGED_EVERY) {
            self.newest.judged_at = Some(now);
            let is_settled = self.newest.began.is_none_or(|at| now - at >= SETTLES_WITHIN);
            let figures = self.figures(now);
            self.board.look(now, &figures, is_settled);
        }
    }

    /// What to tell the player, if anything is wrong.
    pub fn warning(&self) -> Option<&Warning> {
        self.board.shown()
    }

    /// The updates of the last six seconds, those that were lost among them.
    pub fn updates(&self) -> &Ring<Bar> {
        &self.updates
    }

    /// The frames of the last six seconds.
    pub fn frames(&self) -> &Ring<Frame> {
        &self.frames
    }

    /// Whoever stood still cannot tell what the others did meanwhile.
    fn come_back(&mut self, now: Time) {
        self.updates.clear();
        self.pings.clear();
        self.counts.clear();
        let newest = &mut self.newest;
        (newest.heard_at, newest.began) = (newest.heard_at.map(|_| now), newest.began.map(|_| now));
        newest.repeated_for = Span::ZERO;
    }

    fn take_update(&mut self, update: Update) {
        self.newest.began.get_or_insert(update.at);
        let missing = Update { bytes: 0, margin_ms: None, correction: 0.0, repeated: 0, ..update };
        for _ in 0..update.missing.min(LOST_AT_ONCE_MAX) {
            self.updates.push(update.at, Bar { fate: Fate::Lost, update: missing });
        }
        self.updates.push(update.at, Bar { fate: Fate::Arrived, update });
        self.newest.repeated_for = update.repeated_for;
    }

    fn take_counts(&mut self, now: Time, seen: &Observation) {
        let Some(statistics) = seen.statistics else { return };
        let [taken, delivered, late] = self.newest.counted;
        let counted = [
            statistics.packets_taken,
            statistics.packets_delivered,
            statistics.drops.unreliable_late,
        ];
        self.newest.counted = counted;
        if counted[0] < taken || counted[1] < delivered {
            // Another connection, which counts from the start.
            self.counts.clear();
            self.newest.heard_at = Some(now);
            return;
        }
        if counted[0] > taken {
            self.newest.heard_at = Some(now);
        }
        if counted[1] > delivered {
            self.pings.push(now, statistics.round_trip.latest);
        }
        for _ in late..counted[2].min(late + u64::from(LOST_AT_ONCE_MAX)) {
            let is_missed = |at: Time, bar: &Bar| bar.fate == Fate::Lost && now - at <= LATE_WITHIN;
            if let Some(bar) = self.updates.find_last_mut(is_missed) {
                bar.fate = Fate::Late;
            }
        }
        if self.counts.last().is_none_or(|(at, _)| now - at >= COUNTS_EVERY) {
            let counts = Counts {
                told_arrived: statistics.packets_told_arrived,
                told_missing: statistics.packets_told_missing,
                bytes_in: statistics.bytes_received,
                bytes_out: statistics.bytes_sent,
                made_up: seen.made_up,
            };
            self.counts.push(now, counts);
        }
    }
}
