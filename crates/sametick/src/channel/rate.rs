//! How much may be sent: a byte budget that follows what the line can carry.
//!
//! On a clean line the rate stays at its ceiling. When packets are lost or the round trip grows, as
//! it does when a queue fills somewhere, the rate falls, never below the floor; when that is over it
//! climbs back.

use super::acknowledge::RoundTrip;
use crate::time::{Span, Time};

/// No line is so bad that less is sent: ten small packets a second.
pub const RATE_FLOOR_BYTES_PER_SECOND: u32 = 2_000;

/// How much may be sent in a second, everything included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Never more than this within any second, if it is 18 kB or more.
    pub ceiling_bytes_per_second: u32,
    /// However bad the line, this much may be sent.
    pub floor_bytes_per_second: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            ceiling_bytes_per_second: 250_000,
            floor_bytes_per_second: RATE_FLOOR_BYTES_PER_SECOND,
        }
    }
}

/// The part of a second's bytes that may go out at once. The rest is the refill, so that within any
/// second there is never more than the whole.
const BURST_PARTS: u64 = 10;

/// A packet and a half: less than this and nothing could ever be sent. Below ten times this rate, a
/// second may see so much more.
const BURST_BYTES_MIN: u64 = 1_800;

/// How many packets a verdict on the line needs at least.
const PACKETS_PER_VERDICT: u32 = 10;
const VERDICT_INTERVAL_MIN: Span = Span::millis(100);
/// After so long any number does: at the floor one long packet a second may be all there is, and
/// the way back up must not take a minute.
const VERDICT_INTERVAL_MAX: Span = Span::millis(500);

/// A queue on the way that takes this long is too long.
const QUEUE_MAX: Span = Span::millis(60);
/// Lost in passing, not for want of room.
const LOSS_PERCENT_HARMLESS: u32 = 4;
const LOSS_PERCENT_MAX: u32 = 12;

#[derive(Debug)]
pub(super) struct Rate {
    limits: RateLimits,
    bytes_per_second: u64,
    /// In bytes times microseconds, so that nothing is lost to rounding; debt is negative.
    credit: i64,
    refilled_at: Time,
    delivered: u32,
    lost: u32,
    /// Taken for lost, and arrived after all: on a line that mixes packets up most of them do.
    late: u32,
    shortest: Option<Span>,
    verdict_at: Time,
    /// For which shortest round trip, how much longer the way has become.
    detour: (Span, Span),
    /// Since the queue seemed too long: the rate then, and the queue when a quarter of it was left.
    doubts: Option<(u64, Option<Span>)>,
}

const MICROS: i64 = 1_000_000;

impl Rate {
    pub(super) fn new(limits: RateLimits, now: Time) -> Self {
        let bytes_per_second = u64::from(limits.ceiling_bytes_per_second);
        let mut rate = Self {
            limits,
            bytes_per_second,
            credit: 0,
            refilled_at: now,
            delivered: 0,
            lost: 0,
            late: 0,
            shortest: None,
            verdict_at: now,
            detour: (Span::ZERO, Span::ZERO),
            doubts: None,
        };
        rate.credit = rate.credit_max();
        rate
    }

    pub(super) fn bytes_per_second(&self) -> u32 {
        self.bytes_per_second as u32
    }

    pub(super) fn budget_bytes(&mut self, now: Time) -> usize {
        self.refill(now);
        (self.credit / MICROS).max(0) as usize
    }

    /// A packet went out. Those that must go whatever the budget says make a debt.
    pub(super) fn spend(&mut self, now: Time, bytes: usize) {
        self.refill(now);
        let debt_max = -self.credit_max();
        self.credit = (self.credit - bytes as i64 * MICROS).max(debt_max);
    }

    /// When the budget will allow a packet of `bytes`.
    pub(super) fn affordable_at(&self, bytes: usize) -> Time {
        let missing = (bytes as i64 * MICROS - self.credit).max(0) as u64;
        if missing == 0 {
            return self.refilled_at;
        }
        self.refilled_at + Span::micros(missing.div_ceil(self.refill_per_second()))
    }

    /// Takes in the verdict on one packet, and now and then passes one on the line.
    pub(super) fn observe(&mut self, now: Time, delivered: bool, trip: RoundTrip) {
        if delivered {
            self.delivered += 1;
            self.shortest = Some(self.shortest.map_or(trip.latest, |s| s.min(trip.latest)));
        } else {
            self.lost += 1;
        }
        let interval = trip.smoothed.unwrap_or_default().max(VERDICT_INTERVAL_MIN);
        let total = self.delivered + self.lost;
        let waited = now - self.verdict_at;
        let is_enough = total >= PACKETS_PER_VERDICT || waited >= VERDICT_INTERVAL_MAX;
        if !is_enough || waited < interval {
            return;
        }
        let loss_percent = 100 * self.lost.saturating_sub(self.late) / total;
        let queue = self.queue(trip);
        let ceiling = u64::from(self.limits.ceiling_bytes_per_second);
        let floor =
            u64::from(self.limits.floor_bytes_per_second.min(self.limits.ceiling_bytes_per_second));
        let rate = if queue > QUEUE_MAX || loss_percent > LOSS_PERCENT_MAX {
            self.bytes_per_second * 17 / 20
        } else if loss_percent > LOSS_PERCENT_HARMLESS || queue > QUEUE_MAX / 2 {
            self.bytes_per_second
        } else {
            self.bytes_per_second + (ceiling / 40).max(self.bytes_per_second / 20)
        };
        self.refill(now);
        self.bytes_per_second = rate.clamp(floor, ceiling);
        self.credit = self.credit.min(self.credit_max());
        self.doubt(queue, loss_percent, trip);
        self.late = self.late.saturating_sub(self.lost);
        (self.delivered, self.lost, self.shortest, self.verdict_at) = (0, 0, None, now);
    }

    /// Takes in that so many packets were not lost, but late.
    pub(super) fn forgive(&mut self, late: u32) {
        self.late += late;
    }

    /// How much longer a round trip takes than it must.
    fn queue(&mut self, trip: RoundTrip) -> Span {
        if self.detour.0 != trip.minimum {
            // The shortest round trip is another one now; what was learnt of it is void.
            self.detour = (trip.minimum, Span::ZERO);
        }
        self.shortest.unwrap_or_default() - trip.minimum - self.detour.1
    }

    /// A queue of our own shrinks when we send less. One that does not, though we send an eighth, is a
    /// longer way: the round trip is what it is.
    fn doubt(&mut self, queue: Span, loss_percent: u32, trip: RoundTrip) {
        if queue <= QUEUE_MAX || loss_percent > LOSS_PERCENT_MAX {
            self.doubts = None;
            return;
        }
        let (rate, quarter) = *self.doubts.get_or_insert((self.bytes_per_second * 20 / 17, None));
        if self.bytes_per_second > rate / 4 {
            return;
        }
        let before = quarter.unwrap_or(queue);
        self.doubts = Some((rate, Some(before)));
        if self.bytes_per_second <= rate / 8 {
            if queue >= before * 9 / 10 {
                self.detour = (trip.minimum, self.detour.1 + queue);
            }
            self.doubts = None;
        }
    }

    fn refill(&mut self, now: Time) {
        let micros = (now - self.refilled_at).as_micros().min(10 * MICROS as u64);
        self.refilled_at = self.refilled_at.max(now);
        let earned = (micros * self.refill_per_second()) as i64;
        self.credit = (self.credit + earned).min(self.credit_max());
    }

    fn burst_bytes(&self) -> u64 {
        (self.bytes_per_second / BURST_PARTS).max(BURST_BYTES_MIN)
    }

    fn credit_max(&self) -> i64 {
        self.burst_bytes() as i64 * MICROS
    }

    fn refill_per_second(&self) -> u64 {
        // Below the ceiling the refill is the whole rate, or the floor would not be one; near it the
        // burst is left out, so that no second has more than the ceiling.
        let ceiling = u64::from(self.limits.ceiling_bytes_per_second);
        let rest = ceiling.saturating_sub(self.burst_bytes());
        self.bytes_per_second.min(rest).max(self.bytes_per_second / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RateLimits =
        RateLimits { ceiling_bytes_per_second: 100_000, floor_bytes_per_second: 5_000 };

    fn trip(millis: u64, minimum: u64) -> RoundTrip {
        RoundTrip {
            smoothed: Some(Span::millis(millis)),
            jitter: Span::ZERO,
            minimum: Span::millis(minimum),
            latest: Span::millis(millis),
        }
    }

    /// Resolves 60 packets a second for so long.
    fn run(
        rate: &mut Rate,
        from: Time,
        seconds: u64,
        lost_one_in: Option<u64>,
        trip: RoundTrip,
    ) -> Time {
        for packet in 0..seconds * 60 {
            let now = from + Span::micros(packet * 16_667);
            rate.observe(now, lost_one_in.is_none_or(|n| packet % n != 0), trip);
        }
        from + Span::seconds(seconds)
    }

    #[test]
    fn within_any_second_no_more_is_sent_than_the_ceiling() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        let mut sent: Vec<(Time, usize)> = Vec::new();
        for micros in (0..5_000_000).step_by(777) {
            let now = Time::from_micros(micros);
            while rate.budget_bytes(now) >= 1200 {
                rate.spend(now, 1200);
                sent.push((now, 1200));
            }
        }
        for (from, _) in &sent {
            let within =
                sent.iter().filter(|(at, _)| *at >= *from && *at < *from + Span::seconds(1));
            let bytes: usize = within.map(|(_, bytes)| bytes).sum();
            assert!(bytes <= 100_000, "{bytes} bytes in the second after {from}");
        }
        let total: usize = sent.iter().map(|(_, bytes)| bytes).sum();
        assert!(total > 400_000, "most of the ceiling can be used, not only {total}");
    }

    #[test]
    fn a_clean_line_keeps_the_ceiling() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        run(&mut rate, Time::ZERO, 30, None, trip(50, 45));
        assert_eq!(rate.bytes_per_second(), 100_000);
        let later = run(&mut rate, Time::from_seconds(30), 30, Some(40), trip(50, 45));
        assert_eq!(rate.bytes_per_second(), 100_000, "a few per cent are lost in passing");
        run(&mut rate, later, 30, None, trip(80, 45));
        assert_eq!(rate.bytes_per_second(), 100_000, "jitter is no queue");
    }

    #[test]
    fn a_longer_way_is_learnt_within_seconds() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        let later = run(&mut rate, Time::ZERO, 5, None, trip(50, 45));
        run(&mut rate, later, 12, None, trip(150, 45));
        assert_eq!(rate.bytes_per_second(), 100_000, "a hundred milliseconds more, for good");
    }

    #[test]
    fn loss_and_growing_delay_lower_the_rate_to_the_floor_and_no_further() {
        for (lost_one_in, trip) in [(Some(4), trip(50, 45)), (Some(5), trip(250, 45))] {
            let mut rate = Rate::new(LIMITS, Time::ZERO);
            let later = run(&mut rate, Time::ZERO, 30, lost_one_in, trip);
            assert_eq!(rate.bytes_per_second(), 5_000);
            run(&mut rate, later, 20, None, super::tests::trip(50, 45));
            assert_eq!(rate.bytes_per_second(), 100_000, "and it climbs back");
        }
    }

    #[test]
    fn the_budget_comes_back_when_it_says() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        rate.spend(Time::ZERO, 10_000);
        rate.spend(Time::ZERO, 1_000);
        let at = rate.affordable_at(1200);
        assert!(rate.budget_bytes(at - Span::micros(50)) < 1200);
        assert!(rate.budget_bytes(at) >= 1200);
    }

    #[test]
    fn the_floor_is_sent_at_and_left_within_seconds() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        let mut now = run(&mut rate, Time::ZERO, 20, Some(2), trip(50, 50));
        assert_eq!(rate.bytes_per_second(), LIMITS.floor_bytes_per_second);
        let mut sent = 0;
        for _ in 0..10_000 {
            now += Span::millis(1);
            if rate.budget_bytes(now) >= 100 {
                rate.spend(now, 100);
                sent += 100;
            }
        }
        assert!(sent >= 10 * LIMITS.floor_bytes_per_second, "{sent} bytes in ten seconds");
        // Long packets, one a second, of which none is lost any more.
        for _ in 0..3 {
            now += Span::seconds(1);
            rate.observe(now, true, trip(50, 50));
        }
        assert!(rate.bytes_per_second() > 2 * LIMITS.floor_bytes_per_second);
    }
}
