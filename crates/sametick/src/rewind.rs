//! How far back a player's shot is judged: what its screen showed, as it says, within what its line
//! makes likely. Whoever lies about it gains two ticks at most.

use crate::bits::{BitReader, BitWriter};
use crate::entities::Entities;
use crate::sight::{History, Moment, PARTS};
use crate::time::Span;
use crate::view::{Interpolation, Others};
use crate::world::Tick;

/// How a server puts others back to where a shooter saw them, for [`Turn::seen_by`] and
/// [`Turn::judge`]. A player's word for what it saw counts within [`REWIND_TOLERANCE_TICKS`] of what its
/// line makes likely.
///
/// ```
/// use sametick::{Rates, Rewinding, Span};
///
/// // Shots are rewound by 150 ms at most, and nobody is hit who is behind cover by now.
/// let rewinding = Rewinding { at_most: Span::millis(150), needs_sight: true };
/// let rates = Rates { rewinding, ..Rates::USUAL };
/// # assert!(rates.rewinding.at_most < Rewinding::USUAL.at_most);
/// ```
///
/// [`Turn::seen_by`]: crate::Turn::seen_by
/// [`Turn::judge`]: crate::Turn::judge
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

/// So many snapshots behind the newest a screen may be, on average; one that is further behind is judged
/// as if it were not.
fn behind_max(others: Others) -> f64 {
    match others {
        Others::Interpolated(_) => 2.0,
        Others::Latest | Others::Extrapolated { .. } | Others::Predicted => 0.5,
    }
}

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
        (rewinding, tick_length): (Rewinding, Span),
        snapshot_every: u32,
        history: &History<E>,
    ) -> Moment {
        let length = tick_length.as_micros() as f64;
        let age = f64::from(tick.0) - told.shown_tick(others);
        let on_the_way = (self.round_trip.as_micros() as f64 + self.margin_micros) / length;
        let told_delay = age - on_the_way;
        let at_most = rewinding.at_most.as_micros() as f64 / length;
        let delay_max = at_most.min(behind_max(others) * f64::from(snapshot_every));
        let change = told_delay - self.delay_ticks;
        let step = TRUST_TICKS_PER_SECOND * tick_length.as_seconds_f64();
        let change = if self.told < FAMILIAR { change * 0.1 } else { change.clamp(-step, step) };
        self.delay_ticks = (self.delay_ticks + change).clamp(0.0, delay_max);
        // Before a round trip is measured, nothing can be learned.
        self.told += u32::from(self.round_trip > Span::ZERO && self.told < FAMILIAR);
        let likely = on_the_way + self.delay_ticks;
        let [low, high] = [-REWIND_TOLERANCE_TICKS, REWIND_TOLERANCE_TICKS].map(|off| likely + off);
        let fair = age.clamp(low.max(0.0), high.max(0.0)).min(at_most);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::fields::{Fields, Networked};
    use crate::world::World;

    #[derive(Clone, Debug, Default)]
    struct Nothing;
    impl Networked for Nothing {
        fn fields<F: Fields>(&mut self, _f: &mut F) {}
    }
    crate::entities! { enum Entity { Nothing } }

    const LENGTH: Span = Span::millis(10);
    const EVERY: u32 = 3;

    /// Snapshots each third tick, up to this one.
    fn history(until: u32) -> History<Entity> {
        let mut history = History::default();
        for tick in (0..=until).step_by(EVERY as usize) {
            let mut world = World::default();
            world.set_tick(Tick(tick));
            history.push(&world);
        }
        history
    }

    /// What a screen shows that is so many ticks behind.
    fn told(tick: u32, age: f64, history: &History<Entity>) -> Moment {
        let shown = f64::from(tick) - age;
        let between = history.around(shown).unwrap();
        let span = f64::from(between.1.0 - between.0.0).max(1.0);
        Moment::new(between.0, between, (shown - f64::from(between.0.0)) / span, 0.0)
    }

    const OTHERS: Others = Others::Interpolated(Interpolation::HISTORY);

    fn judged_age(screen: &mut Screen, tick: u32, age: f64, history: &History<Entity>) -> f64 {
        let told = told(tick, age, history);
        let choice = (Rewinding::USUAL, LENGTH);
        let moment = screen.judge(Tick(tick), told, OTHERS, choice, EVERY, history);
        f64::from(tick) - moment.shown_tick(OTHERS)
    }

    /// A line of 80 ms, commands 10 ms early: an honest screen is 8 + 1 + 6 ticks behind.
    const HONEST: f64 = 15.0;

    fn known() -> (Screen, u32) {
        let mut screen = Screen { round_trip: Span::millis(80), ..Screen::default() };
        (0..200).for_each(|_| screen.observe(10_000));
        for tick in 100..400 {
            judged_age(&mut screen, tick, HONEST, &history(tick));
        }
        (screen, 400)
    }

    #[test]
    fn an_honest_screen_is_judged_by_what_it_showed() {
        let (mut screen, tick) = known();
        let age = judged_age(&mut screen, tick, HONEST + 0.4, &history(tick));
        assert!((age - HONEST - 0.4).abs() < 0.02, "{age}");
    }

    #[test]
    fn whatever_a_liar_tells_it_gains_two_ticks_at_most() {
        for seed in 0..200 {
            let (mut screen, first) = known();
            let mut dice = Dice::new(seed, 0);
            // Now and then, always, or more and more.
            let (way, share) = (dice.below(3), dice.unit());
            for tick in first..first + 400 {
                let lie = match way {
                    0 => HONEST + (dice.unit() - 0.5) * 60.0,
                    1 => HONEST + 25.0 * share,
                    _ => HONEST + f64::from(tick - first) * 0.1 * share,
                };
                let age = judged_age(&mut screen, tick, lie.clamp(0.0, 60.0), &history(tick));
                let gain = age - HONEST;
                assert!(gain <= REWIND_TOLERANCE_TICKS + 0.01, "seed {seed}: {gain} ticks");
                assert!(age <= 25.01, "seed {seed}: {age} ticks back");
            }
        }
    }

    #[test]
    fn a_liar_who_shows_the_latest_is_judged_by_a_snapshot_within_the_same_bounds() {
        let mut screen = Screen { round_trip: Span::millis(80), ..Screen::default() };
        (0..200).for_each(|_| screen.observe(10_000));
        let newest = |tick: u32, age: u32| (tick - age) / EVERY * EVERY;
        let judge = |screen: &mut Screen, tick: u32, age: u32| {
            let at = Tick(newest(tick, age));
            let told = Moment::new(at, (at, at), 1.0, 0.0);
            let choice = (Rewinding::USUAL, LENGTH);
            let history = history(tick);
            let moment = screen.judge(Tick(tick), told, Others::Latest, choice, EVERY, &history);
            f64::from(tick) - f64::from(moment.newest.0)
        };
        (100..400).for_each(|tick| _ = judge(&mut screen, tick, 9));
        for tick in 400..800 {
            let honest = f64::from(tick - newest(tick, 9));
            let gain = judge(&mut screen, tick, 24) - honest;
            // The oldest that an honest screen shows is a snapshot interval old.
            let oldest = f64::from(9 + EVERY - 1);
            assert!(gain + honest <= oldest + REWIND_TOLERANCE_TICKS, "{gain} ticks at {tick}");
        }
    }
}
