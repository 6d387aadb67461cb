//! Where in the past a screen stands that shows what lies between snapshots: as far back as the rate
//! and the jitter of their coming ask for, moving evenly, never backwards.

use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use std::collections::VecDeque;

/// How many arrivals are remembered.
const ARRIVALS: usize = 32;
/// So many of them may have come later than is waited for: the odd straggler is not worth a delay.
const STRAGGLERS: usize = 3;
/// The shown time runs faster or slower by at most this share.
const SPEED_CHANGE_MAX: f64 = 0.1;
/// So far behind, it jumps.
const JUMP_MICROS: f64 = 250_000.0;

#[derive(Clone, Debug)]
pub(crate) struct DisplayClock {
    tick_length: Span,
    /// Snapshot time less the time of arrival, in microseconds, and the tick.
    arrivals: VecDeque<(f64, Tick)>,
    shown_micros: Option<f64>,
    at: Time,
}

impl DisplayClock {
    pub(crate) fn new(tick_length: Span) -> Self {
        let arrivals = VecDeque::with_capacity(ARRIVALS);
        Self { tick_length, arrivals, shown_micros: None, at: Time::ZERO }
    }

    /// A snapshot has come.
    pub(crate) fn observe(&mut self, now: Time, tick: Tick) {
        if self.arrivals.back().is_some_and(|(_, newest)| tick <= *newest) {
            return;
        }
        if self.arrivals.len() == ARRIVALS {
            self.arrivals.pop_front();
        }
        let sent = f64::from(tick.0) * self.tick_length.as_micros() as f64;
        self.arrivals.push_back((sent - micros(now), tick));
    }

    /// How many ticks lie between two snapshots.
    pub(crate) fn interval_ticks(&self) -> u32 {
        let ticks = self.arrivals.iter().map(|(_, tick)| tick.0);
        let mut gaps: Vec<u32> = ticks.clone().zip(ticks.skip(1)).map(|(a, b)| b - a).collect();
        gaps.sort_unstable();
        // Of even ones the lesser: of two, one may be a loss.
        gaps.get(gaps.len().saturating_sub(1) / 2).copied().unwrap_or(1)
    }

    /// The tick that was shown last, with its fraction.
    pub(crate) fn shown(&self) -> Option<f64> {
        self.shown_micros.map(|shown| shown / self.tick_length.as_micros() as f64)
    }

    /// By how much the slowest that is waited for comes later than most.
    pub(crate) fn waits(&self) -> Span {
        let offsets = self.sorted_offsets();
        let median = offsets.get(offsets.len() / 2).copied().unwrap_or(0.0);
        Span::from_micros_f64(slowest(&offsets).map_or(0.0, |slowest| median - slowest))
    }

    fn sorted_offsets(&self) -> Vec<f64> {
        let mut offsets: Vec<f64> = self.arrivals.iter().map(|(offset, _)| *offset).collect();
        offsets.sort_by(f64::total_cmp);
        offsets
    }

    /// The tick to show, with its fraction, `behind` snapshots back.
    pub(crate) fn tick(&mut self, now: Time, behind: u8) -> f64 {
        let length = self.tick_length.as_micros() as f64;
        let Some(slowest) = slowest(&self.sorted_offsets()) else { return 0.0 };
        let interval = f64::from(self.interval_ticks()) * length;
        let wanted = micros(now) + slowest - f64::from(behind) * interval;
        let passed = (now - self.at).as_micros() as f64;
        let shown = match self.shown_micros {
            Some(shown) if (wanted - shown - passed).abs() < JUMP_MICROS => {
                let error = wanted - shown - passed;
                shown + passed + error.clamp(-passed * SPEED_CHANGE_MAX, passed * SPEED_CHANGE_MAX)
            }
            // Far ahead of what can be shown, it waits.
            Some(shown) => shown.max(wanted),
            None => wanted,
        };
        self.at = self.at.max(now);
        self.shown_micros = Some(shown.max(0.0));
        shown.max(0.0) / length
    }
}

/// The slowest that is worth waiting for, of all in order.
fn slowest(offsets: &[f64]) -> Option<f64> {
    let stragglers = (offsets.len() * STRAGGLERS).div_ceil(ARRIVALS).min(offsets.len());
    offsets.get(stragglers.saturating_sub(1)).copied()
}

fn micros(time: Time) -> f64 {
    (time - Time::ZERO).as_micros() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dice::Dice;

    const TICK: Span = Span::millis(10);

    /// Snapshots each 50 ms, 30 ms on their way and up to `jitter` more; looks every 7 ms and gives how
    /// often the next snapshot was missing, and how far behind the server it was at the end.
    fn look(jitter: u64, behind: u8) -> (u32, f64) {
        let mut clock = DisplayClock::new(TICK);
        let mut dice = Dice::new(1, 0);
        let mut coming: VecDeque<(Time, Tick)> = VecDeque::new();
        let (mut missing, mut last, mut newest) = (0, 0.0, Tick(0));
        for millis in 1..20_000u64 {
            let now = Time::from_millis(millis);
            if millis.is_multiple_of(50) {
                let delay = Span::millis(30 + dice.below(jitter + 1));
                coming.push_back((now + delay, Tick(millis as u32 / 10)));
            }
            while coming.front().is_some_and(|(at, _)| *at <= now) {
                newest = coming.pop_front().unwrap().1;
                clock.observe(now, newest);
            }
            if millis.is_multiple_of(7) && millis > 1_000 {
                let tick = clock.tick(now, behind);
                assert!(tick >= last, "shown time ran backwards at {millis} ms");
                last = tick;
                missing += u32::from(tick > f64::from(newest.0) && millis > 5_000);
            }
        }
        (missing, 2_000.0 - last)
    }

    #[test]
    fn it_stays_as_far_behind_as_rate_and_jitter_ask_for() {
        let (missing, ticks_behind) = look(0, 1);
        assert_eq!(missing, 0);
        assert!((ticks_behind - 8.0).abs() < 0.2, "30 ms and 50 ms: {ticks_behind}");
        let (missing, jittery) = look(40, 1);
        assert!(missing < 30, "of 2,142 looks {missing} found no snapshot to go to");
        assert!((11.0..12.5).contains(&jittery), "{jittery}");
        let (missing, _) = look(40, 2);
        assert_eq!(missing, 0);
    }
}
