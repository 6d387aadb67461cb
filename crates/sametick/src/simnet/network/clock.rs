//! What a host's own clock shows at a moment: clocks drift, and are set. Reads none.

use crate::core::time::Time;

/// How far a clock may drift, either way: far more than any quartz does.
pub const DRIFT_PPM_MAX: i32 = 100_000;

const MILLION: i128 = 1_000_000;

/// The clock of one host against the time of the simulation.
///
/// ```
/// use sametick::Time;
/// use sametick::network::HostClock;
/// let fast = HostClock { drift_ppm: 500, offset_micros: 0 };
/// let shown = fast.local(Time::from_seconds(10));
/// assert_eq!(shown, Time::from_micros(10_005_000));
/// assert_eq!(fast.global(shown), Time::from_seconds(10));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// How many microseconds it gains in a second; it loses them if negative.
    pub drift_ppm: i32,
    /// How far it was ahead at time zero; behind if negative.
    pub offset_micros: i64,
}

impl HostClock {
    /// What the clock shows at a moment; zero as long as it would be before its own start.
    pub fn local(&self, now: Time) -> Time {
        let ran = (i128::from(now.as_micros()) * self.rate()).div_euclid(MILLION);
        time(ran + i128::from(self.offset_micros))
    }

    /// The first moment at which the clock shows that time or a later one: when to wake a host that
    /// asked to be woken then.
    pub fn global(&self, local: Time) -> Time {
        let run = i128::from(local.as_micros()) - i128::from(self.offset_micros);
        if local == Time::ZERO || run <= 0 {
            return Time::ZERO;
        }
        time((run * MILLION + self.rate() - 1).div_euclid(self.rate()))
    }

    /// Sets the clock forward, or back by a negative number.
    pub fn step_micros(&mut self, micros: i64) {
        self.offset_micros = self.offset_micros.saturating_add(micros);
    }

    /// Changes the drift without a step: the clock shows the same before and after.
    pub fn set_drift(&mut self, now: Time, drift_ppm: i32) {
        let before = i128::from(now.as_micros()) * self.rate();
        self.drift_ppm = drift_ppm;
        let after = i128::from(now.as_micros()) * self.rate();
        self.step_micros((before.div_euclid(MILLION) - after.div_euclid(MILLION)) as i64);
    }

    fn rate(&self) -> i128 {
        let drift = self.drift_ppm;
        assert!(drift.abs() <= DRIFT_PPM_MAX, "no clock drifts by {drift} parts in a million");
        MILLION + i128::from(drift)
    }
}

fn time(micros: i128) -> Time {
    Time::from_micros(micros.clamp(0, i128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_wake_up_comes_at_the_first_moment_that_shows_it(
            drift_ppm in -500..=500i32,
            offset_micros in -10_000_000..10_000_000i64,
            local in 0..1u64 << 50,
        ) {
            let clock = HostClock { drift_ppm, offset_micros };
            let wake = clock.global(Time::from_micros(local));
            prop_assert!(clock.local(wake).as_micros() >= local);
            if let Some(before) = wake.as_micros().checked_sub(1) {
                prop_assert!(clock.local(Time::from_micros(before)).as_micros() < local);
            }
        }
    }

    #[test]
    fn a_clock_500_ppm_off_is_1_8_seconds_off_after_an_hour() {
        let hour = Time::from_seconds(3_600);
        let shown = |drift_ppm| HostClock { drift_ppm, offset_micros: 0 }.local(hour).as_micros();
        assert_eq!([shown(500), shown(-500)], [3_601_800_000, 3_598_200_000]);
    }

    #[test]
    fn a_clock_steps_but_changes_its_drift_without_a_step() {
        let mut clock = HostClock { drift_ppm: 300, offset_micros: 5_000_000 };
        let now = Time::from_seconds(100);
        let shown = clock.local(now);
        clock.set_drift(now, -300);
        assert_eq!(clock.local(now), shown);
        let later = clock.local(Time::from_seconds(110));
        assert_eq!((later - shown).as_micros(), 9_997_000);
        clock.step_micros(-3_600_000_000);
        assert_eq!(clock.local(now), Time::ZERO);
        clock.step_micros(7_200_000_000);
        assert_eq!(clock.local(now).as_micros(), shown.as_micros() + 3_600_000_000);
    }
}
