//! The game's clock on one machine, and how far ahead of it commands are made. Knows no messages.

use super::{DELAY_TICKS_MAX, Pace};
use crate::time::{Span, Time};
use crate::world::Tick;

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
    /// How fast it runs, near 1.
    pub(super) speed: f64,
}

impl GameClock {
    pub(super) fn new(now: Time, tick: Tick) -> Self {
        Self { at: now, ticks: f64::from(tick.0), lead: 1.0, speed: 1.0 }
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
        self.lead = (self.lead + held).min(LEAD_MAX);
        held
    }

    /// Runs slower when ahead of the others, and faster when behind.
    pub(super) fn follow(&mut self, ticks_behind: f64) {
        self.speed = if ticks_behind > BEHIND_TICKS {
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
}
