//! The game's clock on one machine, and how far ahead of it commands are made. Knows no messages.

use super::{DELAY_TICKS_MAX, Pace};
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};

/// No longer pause than this is made up for: who stood still goes on where it stopped.
const STEP_MAX: Span = Span::millis(250);

/// Where the game should be by now.
#[derive(Clone, Debug)]
pub(super) struct GameClock {
    at: Time,
    /// In ticks.
    pub(super) ticks: f64,
    /// How many ticks ahead of that commands are made, where that follows from what happens.
    pub(super) lead: f64,
    /// How much of the lead a stall has added of which it is not known yet whether our commands caused it.
    on_trial: f64,
    /// How fast it runs, near 1.
    pub(super) speed: f64,
}

impl GameClock {
    pub(super) fn new(now: Time, tick: Tick) -> Self {
        Self { at: now, ticks: f64::from(tick.0), lead: 1.0, on_trial: 0.0, speed: 1.0 }
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, now: Time, pace: Pace) {
        let passed = (now - self.at).min(STEP_MAX).as_micros() as f64;
        let ticks = passed / pace.tick_takes.as_micros() as f64;
        self.ticks += ticks * self.speed;
        // Commands are made in real time, whatever becomes of the game.
        self.lead = (self.lead + ticks * (1.0 - self.speed)).clamp(1.0, LEAD_MAX);
        self.at = self.at.max(now);
    }

    /// The game cannot go beyond this for now; says for how many ticks it would have.
    pub(super) fn hold_at(&mut self, ticks: f64) -> f64 {
        let held = (self.ticks - ticks).max(0.0);
        self.ticks -= held;
        let lead = (self.lead + held).min(LEAD_MAX);
        self.on_trial += lead - self.lead;
        self.lead = lead;
        held
    }

    /// We were so late ourselves that the game cannot have gone beyond this: commands are made earlier by that.
    pub(super) fn was_late(&mut self, ticks: f64) {
        let late = (self.ticks - ticks).max(0.0);
        self.ticks -= late;
        self.lead = (self.lead + late).min(LEAD_MAX);
    }

    /// Whether a stall has added to the lead, and nobody has judged that yet.
    pub(super) fn is_on_trial(&self) -> bool {
        self.on_trial > 0.0
    }

    /// Keeps what stalls have added to the lead: the others need our commands that much earlier.
    pub(super) fn keep_lead(&mut self) {
        self.on_trial = 0.0;
    }

    /// Takes back what stalls have added to the lead: it was not our commands that were late.
    pub(super) fn take_back_lead(&mut self) {
        if self.on_trial >= STALL_TICKS_MIN {
            self.lead = (self.lead - self.on_trial).max(1.0);
        }
        self.on_trial = 0.0;
    }

    /// The others have commands of ours to spare.
    pub(super) fn shorten_lead(&mut self, ticks: f64) {
        self.lead = (self.lead - ticks).max(1.0);
        self.on_trial = (self.on_trial - ticks).max(0.0);
    }

    /// Runs slower when ahead of the others, and faster when behind. A machine that does not play yet has no smoothness
    /// to lose: it catches up at once, because all others wait for the first command that it makes behind them.
    pub(super) fn follow(&mut self, ticks_behind: f64, plays: bool) {
        self.speed = if ticks_behind > if plays { BEHIND_TICKS } else { 1.0 } {
            CATCH_UP_SPEED
        } else if ticks_behind.abs() < 0.5 {
            1.0
        } else {
            1.0 + (ticks_behind * 0.05).clamp(-0.1, 0.25)
        };
    }

    /// When it reaches a tick.
    pub(super) fn reaches(&self, tick: f64, pace: Pace) -> Time {
        let left = (tick - self.ticks).max(0.0) * pace.tick_takes.as_micros() as f64 / self.speed;
        self.at + Span::from_micros_f64(left.ceil())
    }
}

const LEAD_MAX: f64 = DELAY_TICKS_MAX as f64;

/// What is shorter is jitter and counts as no stall. What it adds to the lead is kept: taken back, it would come again.
const STALL_TICKS_MIN: f64 = 1.0;

/// So far behind it is no matter of smoothness any more.
const BEHIND_TICKS: f64 = 12.0;
const CATCH_UP_SPEED: f64 = 6.0;

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { turn_ticks: 1, tick_takes: Span::millis(10) };

    #[test]
    fn a_stall_makes_later_commands_earlier_and_is_not_rushed_through() {
        let mut clock = GameClock::new(Time::ZERO, Tick(0));
        clock.run(Time::from_millis(50), PACE);
        assert_eq!(clock.hold_at(2.0), 3.0);
        assert_eq!((clock.ticks, clock.lead), (2.0, 4.0));
        clock.run(Time::from_millis(60), PACE);
        assert_eq!((clock.ticks, clock.lead), (3.0, 4.0));
    }

    #[test]
    fn only_what_a_stall_has_added_to_the_lead_is_taken_back() {
        let mut clock = GameClock::new(Time::ZERO, Tick(0));
        clock.run(Time::from_millis(50), PACE);
        clock.hold_at(2.0);
        clock.keep_lead();
        clock.run(Time::from_millis(100), PACE);
        assert_eq!((clock.hold_at(3.0), clock.lead), (4.0, 8.0));
        clock.shorten_lead(1.0);
        clock.take_back_lead();
        assert_eq!((clock.lead, clock.is_on_trial()), (4.0, false));
        clock.take_back_lead();
        assert_eq!(clock.lead, 4.0);
    }
}
