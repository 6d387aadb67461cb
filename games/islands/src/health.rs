//! Health as it is decided: what was left at a moment, and how much goes each second from then on.

use sametick::Fields;

/// Fights are decided once in so many ticks.
pub const BEAT_TICKS: u32 = 4;
/// Of those a second has.
pub(crate) const BEATS_PER_SECOND: u32 = 5;
/// Moments of health are kept without their upper bits; whatever loses health dies or is settled long before they
/// come round again.
const SINCE_BITS: u32 = 10;
const SINCE_MASK: u32 = (1 << SINCE_BITS) - 1;
/// After so many beats a loss that goes on is written anew.
pub(crate) const SETTLE_BEATS: u32 = 600;
const _: () = assert!(SETTLE_BEATS < SINCE_MASK);

/// The last beat before a moment: the step of a beat hears its requests first.
pub(crate) fn beat_before(clock: u32) -> u32 {
    clock.saturating_sub(1) / BEAT_TICKS * BEAT_TICKS
}

/// What is left of something, and how fast it goes.
///
/// ```
/// use sametick_islands::Health;
/// let mut health = Health::full(60);
/// health.set_loss(10, 100);
/// assert_eq!(health.left(100), 60);
/// assert_eq!(health.left(100 + 3 * 20), 30, "three seconds of twenty ticks");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    points: u16,
    loss: u16,
    since: u16,
}

impl Health {
    /// Unhurt.
    pub fn full(points: u16) -> Self {
        Self { points, loss: 0, since: 0 }
    }

    /// What is left at a moment of the contest's clock.
    pub fn left(&self, clock: u32) -> u16 {
        // What has begun to hurt hurts: rounding is never in favour of the wounded.
        let lost = (u32::from(self.loss) * self.beats(clock)).div_ceil(BEATS_PER_SECOND);
        u32::from(self.points).saturating_sub(lost) as u16
    }

    /// How much goes each second.
    pub fn loss(&self) -> u16 {
        self.loss
    }

    /// From now on so much goes each second.
    pub fn set_loss(&mut self, loss: u16, clock: u32) {
        if loss != self.loss {
            *self = Self { points: self.left(clock), loss, since: since(clock) };
            if loss == 0 {
                self.since = 0;
            }
        }
    }

    /// Writes a loss that has gone on for long anew.
    pub(crate) fn settle(&mut self, clock: u32) {
        if self.loss > 0 && self.beats(clock) >= SETTLE_BEATS {
            (self.points, self.since) = (self.left(clock), since(clock));
        }
    }

    pub(crate) fn fields<F: Fields>(&mut self, f: &mut F, points_max: u16, loss_max: u16) {
        f.int("health", &mut self.points, 0..=points_max);
        f.int("loss", &mut self.loss, 0..=loss_max);
        f.bits("since", &mut self.since, SINCE_BITS);
    }

    fn beats(&self, clock: u32) -> u32 {
        if self.loss == 0 {
            0
        } else {
            (clock / BEAT_TICKS).wrapping_sub(u32::from(self.since)) & SINCE_MASK
        }
    }
}

fn since(clock: u32) -> u16 {
    ((clock / BEAT_TICKS) & SINCE_MASK) as u16
}
