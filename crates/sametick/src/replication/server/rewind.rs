//! How far back a player's shot is judged: what its screen showed, as it says, within what its line
//! makes likely. Whoever lies about it gains two ticks at most.

use crate::config::rates::Rewinding;
use crate::core::tick::Tick;
use crate::core::time::Span;
use crate::schema::entities::Entities;
use crate::sim::sight::{History, Moment, PARTS};
use crate::sim::view::{Interpolation, Others};

/// By how many ticks a screen may be off what the line makes likely, or by how long where ticks are
/// shorter than usual.
pub const REWIND_TOLERANCE_TICKS: f64 = 2.0;
const TOLERANCE_MICROS: f64 = 33_334.0;

/// So many snapshots behind the newest an interpolated screen may be, on average; one that is further
/// behind is judged as if it were not.
const BEHIND_MAX: f64 = 2.0;

/// How fast the server takes a player's word for being further behind, in ticks a second.
const TRUST_TICKS_PER_SECOND: f64 = 1.0;

/// After so many commands a player's screen is known.
const FAMILIAR: u32 = 120;

/// What is known of one player's screen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// The shortest round trip of late.
    pub(crate) round_trip: Span,
    /// How far an interpolated screen is behind what had come, in ticks, and how often it has said so.
    delay_ticks: f64,
    /// How far back its last command was judged.
    pub(crate) rewound: Option<Span>,
    told: u32,
}

/// What a player tells of a command's moment, and by how many microseconds it came early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) tick: Tick,
    pub(crate) moment: Moment,
    pub(crate) margin_micros: i64,
}

impl Screen {
    /// The moment by which a command is judged, given the one its player tells; snapshots were sent to it
    /// in every so many ticks.
    pub(crate) fn judge<E: Entities>(
        &mut self,
        told: Told,
        others: Others,
        (rewinding, tick_length): (Rewinding, Span),
        sent_every: u32,
        history: &History<E>,
    ) -> Moment {
        let length = tick_length.as_micros() as f64;
        let at_most = rewinding.at_most.as_micros() as f64 / length;
        let tolerance = REWIND_TOLERANCE_TICKS.max(TOLERANCE_MICROS / length);
        let Told { tick, moment, margin_micros } = told;
        let micros = self.round_trip.as_micros() as f64 + margin_micros.max(0) as f64;
        let line = Line { tick, way: micros / length, tolerance, at_most, every: sent_every };
        let fair = match others {
            Others::Interpolated(_) => self.judge_between(&line, moment, tick_length, history),
            Others::Latest | Others::Extrapolated { .. } | Others::Predicted => {
                line.judge_newest(moment, others, length)
            }
        };
        let back = f64::from(tick.0) - fair.shown_tick(others);
        self.rewound = Some(Span::from_micros_f64(back * length));
        fair
    }

    fn judge_between<E: Entities>(
        &mut self,
        line: &Line,
        told: Moment,
        tick_length: Span,
        history: &History<E>,
    ) -> Moment {
        let others = Others::Interpolated(Interpolation::HISTORY);
        let age = f64::from(line.tick.0) - told.shown_tick(others);
        let delay_max = line.at_most.min(BEHIND_MAX * f64::from(line.every));
        let change = age - line.way - self.delay_ticks;
        let step = TRUST_TICKS_PER_SECOND * tick_length.as_seconds_f64();
        let change = if self.told < FAMILIAR { change * 0.1 } else { change.clamp(-step, step) };
        self.delay_ticks = (self.delay_ticks + change).clamp(0.0, delay_max);
        // Before a round trip is measured, nothing can be learned.
        self.told += u32::from(self.round_trip > Span::ZERO && self.told < FAMILIAR);
        let likely = line.way + self.delay_ticks;
        let low = (likely - line.tolerance).max(0.0);
        let fair = age.clamp(low, likely + line.tolerance).min(line.at_most);
        let ahead = f64::from(line.tick.0.saturating_sub(told.newest.0));
        if fair == age {
            return Moment::new(told.newest, (told.from, told.to), told.part(), ahead);
        }
        let shown = f64::from(line.tick.0) - fair;
        let between = history.around(shown).unwrap_or((told.from, told.to));
        let span = f64::from(between.1.0.saturating_sub(between.0.0));
        let part = if span > 0.0 { (shown - f64::from(between.0.0)) / span } else { 0.0 };
        // Told in parts, it must not round to what is beyond.
        let part = (part * PARTS).ceil() / PARTS;
        Moment::new(between.1, between, part, ahead)
    }
}

/// What a command's way makes likely, in ticks.
struct Line {
    tick: Tick,
    /// There and back, and the time it waited.
    way: f64,
    tolerance: f64,
    at_most: f64,
    every: u32,
}

impl Line {
    /// A snapshot is the newest from when it was made until the next: a moment within the tolerance must
    /// be one at which the told one was.
    fn judge_newest(&self, told: Moment, others: Others, length: f64) -> Moment {
        let tick = f64::from(self.tick.0);
        let likely = tick - self.way;
        let every = f64::from(self.every.max(1));
        let newest_at = |time: f64| (time.max(0.0) / every).floor() * every;
        let oldest = newest_at(likely - self.tolerance).max(newest_at(tick - self.at_most));
        let youngest = newest_at(likely + self.tolerance).max(oldest);
        let fair = f64::from(told.newest.0).clamp(oldest, youngest);
        let newest = Tick(fair as u32);
        let most = match others {
            Others::Extrapolated { at_most } => at_most.as_micros() as f64 / length,
            _ => f64::MAX,
        };
        let expected = (tick - fair).min(most);
        let low = (expected - 1.0).max(0.0);
        let ahead = match others {
            Others::Extrapolated { .. } => told.ahead_ticks().clamp(low, expected + 1.0),
            _ => expected,
        };
        let before = if newest == told.newest { told.before } else { Tick(0) };
        let between = (told.from.min(newest), told.to.min(newest));
        Moment { before, ..Moment::new(newest, between, told.part(), ahead.min(most)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dice::Dice;
    use crate::schema::fields::{Fields, Networked};
    use crate::sim::world::World;

    #[derive(Clone, Debug, Default)]
    struct Nothing;
    impl Networked for Nothing {
        fn fields<F: Fields>(&mut self, _f: &mut F) {}
    }
    crate::entities! { enum Entity { Nothing } }

    const LENGTH: Span = Span::micros(16_667);
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
        let moment = told(tick, age, history);
        let told = Told { tick: Tick(tick), moment, margin_micros: 10_000 };
        let choice = (Rewinding::USUAL, LENGTH);
        let moment = screen.judge(told, OTHERS, choice, EVERY, history);
        f64::from(tick) - moment.shown_tick(OTHERS)
    }

    /// A line of 80 ms, commands 10 ms early, two snapshots: an honest screen is 5.4 + 6 ticks behind.
    const HONEST: f64 = 11.4;

    fn known() -> (Screen, u32) {
        let mut screen = Screen { round_trip: Span::millis(80), ..Screen::default() };
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
                assert!(age <= 15.01, "seed {seed}: {age} ticks back");
            }
        }
    }

    #[test]
    fn a_liar_who_shows_the_latest_is_judged_by_a_snapshot_within_the_same_bounds() {
        let mut screen = Screen { round_trip: Span::millis(80), ..Screen::default() };
        let newest = |tick: u32, age: u32| (tick - age) / EVERY * EVERY;
        let judge = |screen: &mut Screen, tick: u32, age: u32| {
            let at = Tick(newest(tick, age));
            let moment = Moment::new(at, (at, at), 1.0, 0.0);
            let told = Told { tick: Tick(tick), moment, margin_micros: 10_000 };
            let choice = (Rewinding::USUAL, LENGTH);
            let moment = screen.judge(told, Others::Latest, choice, EVERY, &history(tick));
            f64::from(tick) - f64::from(moment.newest.0)
        };
        (100..400).for_each(|tick| _ = judge(&mut screen, tick, 6));
        for tick in 400..800 {
            let honest = f64::from(tick - newest(tick, 6));
            let gain = judge(&mut screen, tick, 24) - honest;
            // The oldest that an honest screen shows is a snapshot interval old.
            let oldest = f64::from(6 + EVERY - 1);
            assert!(gain + honest <= oldest + REWIND_TOLERANCE_TICKS, "{gain} ticks at {tick}");
        }
    }
}
