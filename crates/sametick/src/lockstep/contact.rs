//! What is known of one other machine: when it spoke and heard us, how far away it is, where its game stands.

use super::words::{AGE_MILLIS_MAX, STAMP_BITS, Timing};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};

const STAMP_MASK: u64 = (1 << STAMP_BITS) - 1;

/// One other machine.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    /// Where it spoke from last; a router may move it.
    pub(super) at: Option<Peer>,
    /// When it last said anything.
    pub(super) heard_at: Time,
    /// When we sent the newest word of ours that it is known to have heard.
    pub(super) reached_at: Time,
    /// Its newest stamp, and when it came.
    stamp: Option<(u16, Time)>,
    pub(super) round_trip: Option<Span>,
    /// The shortest of the round trips lately, and how far above it they lie.
    jitter_micros: f64,
    /// Where its game clock stood, in ticks, and when.
    clock: Option<(f64, Time)>,
    /// What it has stepped for good.
    pub(super) executed: Option<Tick>,
    /// Whether it said so since we lead.
    pub(super) has_said_so: bool,
    /// Up to which tick it has what we send.
    pub(super) held: Tick,
    /// Whether it has spoken as a member: it has a roster that it is in, and takes pieces of a world.
    pub(super) is_in: bool,
    /// The roster that it has, by the lowest bits.
    pub(super) version: Option<u8>,
    /// What it has of each seat, if it said so lately.
    pub(super) vector: Vec<(u8, Tick)>,
    /// The least that it had in reserve of our commands, and in the stretch before.
    reserve: [u32; 2],
    reserve_since: Time,
    /// Whether it lacked our next command at any time since a stall of ours began.
    pub(super) has_lacked: bool,
    timed_at: Time,
    pub(super) leaves: bool,
    /// If it leaves: the last tick of its commands.
    pub(super) last_given: Option<Tick>,
    /// When it came, or when a piece of the world last reached it.
    pub(super) moved_at: Time,
    /// How early its newest command came, the least since that was told; in ticks.
    pub(super) margin: Option<f64>,
}

/// A reserve is judged by the least of a stretch so long.
const RESERVE_STRETCH: Span = Span::millis(1_000);

/// Clocks are compared so often.
const TIMED_EVERY: Span = Span::millis(100);

impl Contact {
    pub(super) fn new(now: Time, held: Tick) -> Self {
        Self {
            at: None,
            heard_at: now,
            reached_at: now,
            stamp: None,
            round_trip: None,
            jitter_micros: 2_000.0,
            clock: None,
            executed: None,
            has_said_so: false,
            held,
            is_in: false,
            version: None,
            vector: Vec::new(),
            reserve: [u32::MAX; 2],
            reserve_since: now,
            has_lacked: false,
            timed_at: now - TIMED_EVERY,
            leaves: false,
            last_given: None,
            moved_at: now,
            margin: None,
        }
    }

    /// What to tell it of clocks, if that is due.
    pub(super) fn timing(&mut self, now: Time, clock: f64, executed: Tick) -> Option<Timing> {
        if now - self.timed_at < TIMED_EVERY {
            return None;
        }
        self.timed_at = now;
        let echo = self.stamp.and_then(|(stamp, at)| {
            let age = (now - at).as_micros() / 1000;
            (age <= AGE_MILLIS_MAX).then_some((stamp, age as u16))
        });
        let clock = ((clock - f64::from(executed.0)) * 16.0).clamp(0.0, 255.0) as u8;
        Some(Timing { stamp: stamp_of(now), echo, clock })
    }

    /// Takes in what it tells of clocks.
    pub(super) fn hear_timing(
        &mut self,
        now: Time,
        timing: Timing,
        executed: Option<Tick>,
        tick_takes: Span,
    ) {
        self.stamp = Some((timing.stamp, now));
        if let Some((stamp, age)) = timing.echo {
            let since = since_stamp(now, stamp);
            self.reached_at = self.reached_at.max(now - since);
            let trip = since - Span::millis(u64::from(age));
            let smoothed = self.round_trip.map_or(trip, |known| (known * 7 + trip) / 8);
            let off = trip.as_micros().abs_diff(smoothed.as_micros()) as f64;
            self.jitter_micros += (off - self.jitter_micros) / 8.0;
            self.round_trip = Some(smoothed);
        }
        if let Some(executed) = executed {
            let way = self.way().as_micros() as f64 / tick_takes.as_micros() as f64;
            let clock = f64::from(executed.0) + f64::from(timing.clock) / 16.0;
            self.clock = Some((clock + way, now));
        }
    }

    /// How long a word takes to it, as far as is known.
    pub(super) fn way(&self) -> Span {
        self.round_trip.unwrap_or(Span::ZERO) / 2
    }

    /// The same with what it varies.
    pub(super) fn way_at_worst(&self) -> Span {
        self.way() + Span::from_micros_f64(self.jitter_micros * 3.0)
    }

    /// Where its game clock stands now, in ticks.
    pub(super) fn clock(&self, now: Time, tick_takes: Span) -> Option<f64> {
        let (clock, at) = self.clock?;
        let ticks = (now - at).as_micros() as f64 / tick_takes.as_micros() as f64;
        // What stands still is not far ahead just because it is silent.
        Some(clock + ticks.min(CLOCK_TICKS_MAX))
    }

    /// It has so many of our commands before it needs them.
    pub(super) fn hear_reserve(&mut self, now: Time, ticks: u32) {
        if now - self.reserve_since >= RESERVE_STRETCH {
            self.reserve = [u32::MAX, self.reserve[0]];
            self.reserve_since = now;
        }
        self.reserve[0] = self.reserve[0].min(ticks);
        self.has_lacked |= ticks == 0;
    }

    /// The least reserve of a whole stretch, once; none before that has passed.
    pub(super) fn least_reserve(&self) -> Option<u32> {
        (self.reserve[1] != u32::MAX).then(|| self.reserve[0].min(self.reserve[1]))
    }

    pub(super) fn forget_reserve(&mut self, now: Time) {
        self.reserve = [u32::MAX; 2];
        self.reserve_since = now;
    }
}

const CLOCK_TICKS_MAX: f64 = 30.0;

pub(super) fn stamp_of(now: Time) -> u16 {
    ((now.as_micros() / 1000) & STAMP_MASK) as u16
}

/// How long ago a stamp was taken, if that was less than eight seconds ago.
pub(super) fn since_stamp(now: Time, stamp: u16) -> Span {
    Span::millis(u64::from(stamp_of(now).wrapping_sub(stamp)) & STAMP_MASK)
}
