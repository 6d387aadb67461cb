//! How far back a player's shot is judged: what its screen showed, as it says, within what its line
//! makes likely. Whoever lies about it gains two ticks at most.

use crate::bits::{BitReader, BitWriter};
use crate::entities::Entities;
use crate::sight::{History, Moment, PARTS};
use crate::time::Span;
use crate::view::{Interpolation, Others};
use crate::world::Tick;

/// How a server puts others back to where a shooter saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewinding {
    /// How far back at most; with zero, shots are judged by the present.
    pub at_most: Span,
    /// Whether a target must be in the shooter's sight in the present too.
    pub needs_sight: bool,
}

impl Rewinding {
    /// Shots are judged by the present.
    pub const NONE: Self = Self { at_most: Span::ZERO, needs_sight: false };
    /// Up to a quarter of a second.
    pub const USUAL: Self = Self { at_most: Span::millis(250), needs_sight: false };
}

/// By how many ticks a screen may be off what the line makes likely.
pub const REWIND_TOLERANCE_TICKS: f64 = 2.0;

/// How fast the server takes a player's word for being further behind, in ticks a second.
const TRUST_TICKS_PER_SECOND: f64 = 1.0;

/// After so many commands a player's screen is known.
const FAMILIAR: u32 = 120;

/// What is known of one player's screen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// The shortest round trip of late.
    pub(crate) round_trip: Span,
    /// How early its commands come, on average, in microseconds.
    margin_micros: f64,
    /// How far its screen is behind what had come, in ticks, and how often it has said so.
    delay_ticks: f64,
    told: u32,
}

impl Screen {
    /// A command came so many microseconds early.
    pub(crate) fn observe(&mut self, margin_micros: i64) {
        self.margin_micros += (margin_micros as f64 - self.margin_micros) * 0.1;
    }

    /// The moment by which a command of `tick` is judged, given the one its player tells.
    pub(crate) fn judge<E: Entities>(
        &mut self,
        tick: Tick,
        told: Moment,
        others: Others,
        rewinding: Rewinding,
        tick_length: Span,
        history: &History<E>,
    ) -> Moment {
        let length = tick_length.as_micros() as f64;
        let age = f64::from(tick.0) - told.shown_tick(others);
        let on_the_way = (self.round_trip.as_micros() as f64 + self.margin_micros) / length;
        let told_delay = age - on_the_way;
        let delay_max = rewinding.at_most.as_micros() as f64 / length;
        let change = told_delay - self.delay_ticks;
        let step = TRUST_TICKS_PER_SECOND * tick_length.as_seconds_f64();
        let change = if self.told < FAMILIAR { change * 0.1 } else { change.clamp(-step, step) };
        self.delay_ticks = (self.delay_ticks + change).clamp(0.0, delay_max);
        // Before a round trip is measured, nothing can be learned.
        self.told += u32::from(self.round_trip > Span::ZERO && self.told < FAMILIAR);
        let likely = on_the_way + self.delay_ticks;
        let [low, high] = [-REWIND_TOLERANCE_TICKS, REWIND_TOLERANCE_TICKS].map(|off| likely + off);
        let fair = age.clamp(low.max(0.0), high.max(0.0)).min(delay_max);
        let most = match others {
            Others::Extrapolated { at_most } => at_most.min(rewinding.at_most).as_micros() as f64,
            _ => 0.0,
        };
        if fair == age {
            let ahead = ahead(tick, told.newest, most / length, told.ahead_ticks());
            return Moment::new(told.newest, (told.from, told.to), told.part(), ahead);
        }
        let shown = f64::from(tick.0) - fair;
        let between = history.around(shown).unwrap_or((told.from, told.to));
        let span = f64::from(between.1.0.saturating_sub(between.0.0));
        let part = if span > 0.0 { (shown - f64::from(between.0.0)) / span } else { 0.0 };
        // Told in parts, it must not round to what is beyond.
        let part = (part * PARTS).ceil() / PARTS;
        // The snapshot nearest to what was told that is not beyond what is fair.
        let newest = if fair < age { between.1 } else { between.0 };
        let ahead = ahead(tick, newest, most / length, told.ahead_ticks());
        Moment::new(newest, between, part, ahead)
    }
}

/// How far a screen moved others on, as it is told, within a tick of what its choice makes of it.
fn ahead(tick: Tick, newest: Tick, most_ticks: f64, told: f64) -> f64 {
    let expected = f64::from(tick.0.saturating_sub(newest.0)).min(most_ticks);
    let low = (expected - 1.0).max(0.0);
    told.clamp(low, (expected + 1.0).min(most_ticks).max(low))
}

/// How the others are shown, as far as the server must know.
pub(crate) fn write_others(bits: &mut BitWriter, others: Others) {
    let (kind, millis) = match others {
        Others::Latest => (0, 0),
        Others::Extrapolated { at_most } => (1, at_most.as_micros() / 1000),
        Others::Interpolated(_) => (2, 0),
        Others::Predicted => (3, 0),
    };
    bits.write(kind, 2);
    bits.write(millis.min(1023), 10);
}

pub(crate) fn read_others(bits: &mut BitReader<'_>) -> Others {
    let (kind, millis) = (bits.read(2), bits.read(10));
    match kind {
        0 => Others::Latest,
        1 => Others::Extrapolated { at_most: Span::millis(millis) },
        2 => Others::Interpolated(Interpolation::HISTORY),
        _ => Others::Predicted,
    }
}
