//! How much may be sent: a byte budget that follows what the line can carry.
//!
//! On a clean line the rate stays at its ceiling. When packets are lost or the round trip grows, as
//! it does when a queue fills somewhere, the rate falls, never below the floor; when that is over it
//! climbs back.

use super::acknowledge::RoundTrip;
use crate::core::mutant::{self, Mutant};
use crate::core::time::{Span, Time};

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
/// A queue of this length or less does not hold the rate down.
const QUEUE_HARMLESS: Span = Span::millis(30);
/// A queue stands once more verdicts than this find it unchanged.
const VERDICTS_UNTIL_STANDING: u32 = 5;
/// Where packets are few, verdicts are too: then a queue stands once it is unchanged for this long.
const STANDING_AFTER: Span = Span::seconds(2);

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
    doubts: Option<Doubts>,
}

/// What is found out about a queue that holds the rate down.
#[derive(Clone, Copy, Debug)]
struct Doubts {
    /// The rate when it first did.
    rate: u64,
    /// The queue when a quarter of that was left, and when that was.
    at_quarter: Option<(Span, Time)>,
    steady: Steady,
    at_floor: Option<Steady>,
    /// The queue stands though it is not too long: the rate is lowered to see whether it drains.
    is_tested: bool,
}

/// A queue that does not change by more than a quarter.
#[derive(Clone, Copy, Debug)]
struct Steady {
    queue: Span,
    since: Time,
    /// The rate until then.
    rate: u64,
    /// How many found it as long.
    verdicts: u32,
}

impl Doubts {
    fn new(now: Time, queue: Span, rate: u64) -> Self {
        let steady = Steady::new(now, queue, rate);
        Self { rate, at_quarter: None, steady, at_floor: None, is_tested: false }
    }
}

impl Steady {
    fn new(now: Time, queue: Span, rate: u64) -> Self {
        Self { queue, since: now, rate, verdicts: 1 }
    }

    /// Takes in what a verdict finds: the same queue once more, or another one.
    fn take(self, now: Time, queue: Span, rate: u64) -> Self {
        let is_same = queue >= self.queue * 3 / 4 && queue <= self.queue * 5 / 4;
        if is_same {
            Self { verdicts: self.verdicts + 1, ..self }
        } else {
            Self::new(now, queue, rate)
        }
    }

    /// Whether a whole round trip's packets, all sent since then, have been answered, and enough of them.
    fn stands(self, now: Time, trip: RoundTrip) -> bool {
        let lasted = now - self.since;
        let is_enough = self.verdicts > VERDICTS_UNTIL_STANDING || lasted >= STANDING_AFTER;
        is_enough && is_answered(now, self.since, trip)
    }

    /// Whether it has not changed although the rate fell by half, for so long that a queue of our own would have.
    ///
    /// A link that carries `c` changes our queue by `time * (rate / c - 1)`. The rate falls by the same
    /// factor with each verdict: in the first half of the time it is on average at least 0.78 of what it
    /// was, in the second half at most 0.57. Whatever `c` is, in one half the queue changes by
    /// `0.16 * time / 2` or more, for `(0.78 - 0.57) / (0.78 + 0.57) = 0.16`. A steady queue changes by at
    /// most half of itself, from a quarter below to a quarter above. So `8 * queue` is enough, and a round
    /// trip until it shows. Between two falls the rate is held only for queues of 80 ms and less; five
    /// falls, 100 ms or more apart, drain as much.
    fn outlasts_half(self, now: Time, rate: u64, trip: RoundTrip) -> bool {
        let needed = STANDING_AFTER.max(self.queue * 8) + trip.smoothed.unwrap_or_default();
        rate <= self.rate / 2 && now - self.since >= needed
    }
}

/// Whether a whole round trip's packets, all sent since then, have been answered.
fn is_answered(now: Time, since: Time, trip: RoundTrip) -> bool {
    now - since >= trip.smoothed.unwrap_or_default() * 2
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

    /// Takes in whether one packet was delivered, and now and then passes a verdict on the link.
    pub(super) fn observe(&mut self, now: Time, delivered: bool, trip: RoundTrip) {
        if delivered {
            self.delivered += 1;
            self.shortest = Some(self.shortest.map_or(trip.latest, |s| s.min(trip.latest)));
        } else {
            self.lost += 1;
        }
        let total = self.delivered + self.lost;
        let waited = now - self.verdict_at;
        let is_enough = total >= PACKETS_PER_VERDICT || waited >= VERDICT_INTERVAL_MAX;
        // Most packets end here.
        if is_enough && waited >= VERDICT_INTERVAL_MIN {
            self.judge(now, waited, trip);
        }
    }

    /// Passes a verdict on the link, unless the last one is too fresh to have shown.
    #[inline(never)]
    fn judge(&mut self, now: Time, waited: Span, trip: RoundTrip) {
        // What we change shows a round trip later. But where a queue of ours takes seconds, waiting for
        // that would fill it further: then half a second is enough.
        let patience = (trip.minimum * 2).max(VERDICT_INTERVAL_MAX);
        let smoothed = trip.smoothed.unwrap_or_default();
        if waited < smoothed.min(patience).max(VERDICT_INTERVAL_MIN) {
            return;
        }
        let total = self.delivered + self.lost;
        let loss_percent = 100 * self.lost.saturating_sub(self.late) / total;
        let queue = self.queue(trip);
        let ceiling = u64::from(self.limits.ceiling_bytes_per_second);
        let before = self.bytes_per_second;
        let is_tested = self.doubts.is_some_and(|doubts| doubts.is_tested);
        let queue_max = if is_tested { QUEUE_HARMLESS } else { QUEUE_MAX };
        let rate = if queue > queue_max || loss_percent > LOSS_PERCENT_MAX {
            before * 17 / 20
        } else if loss_percent > LOSS_PERCENT_HARMLESS || queue > QUEUE_HARMLESS {
            before
        } else {
            before + (ceiling / 40).max(before / 20)
        };
        self.refill(now);
        self.bytes_per_second = rate.clamp(self.floor(), ceiling);
        self.credit = self.credit.min(self.credit_max());
        if queue > QUEUE_HARMLESS && loss_percent <= LOSS_PERCENT_MAX && rate < ceiling {
            self.doubt(now, queue, before, trip);
        } else {
            self.doubts = None;
        }
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
    /// longer path: the round trip is what it is.
    ///
    /// This holds for every queue that keeps the rate from climbing, also for one that is not too long: the rate
    /// would stay where it is until the shortest round trip is forgotten. Such a queue is put to the test when it
    /// stands.
    fn doubt(&mut self, now: Time, queue: Span, before: u64, trip: RoundTrip) {
        let rate = self.bytes_per_second;
        let mut doubts = match self.doubts {
            Some(doubts) => Doubts { steady: doubts.steady.take(now, queue, before), ..doubts },
            None => Doubts::new(now, queue, before),
        };
        // At the floor we cannot send less. A queue of our own would drain there, or grow until packets are lost.
        doubts.at_floor = (rate <= self.floor()).then(|| {
            let fresh = Steady::new(now, queue, rate);
            doubts.at_floor.map_or(fresh, |steady| steady.take(now, queue, rate))
        });
        let stands_at_floor = doubts.at_floor.is_some_and(|steady| steady.stands(now, trip));
        let mut is_longer_path = stands_at_floor || doubts.steady.outlasts_half(now, rate, trip);
        let mut is_settled = is_longer_path;
        if rate <= doubts.rate / 4 {
            let (before, since) = *doubts.at_quarter.get_or_insert((queue, now));
            is_settled |= rate <= doubts.rate / 8 && is_answered(now, since, trip);
            is_longer_path |= is_settled && queue >= before * 9 / 10;
        }
        if is_longer_path {
            self.detour = (trip.minimum, self.detour.1 + queue);
        }
        let is_held = queue <= QUEUE_MAX && !doubts.is_tested && rate > self.floor();
        if is_held && doubts.steady.stands(now, trip) {
            doubts = Doubts { is_tested: true, ..Doubts::new(now, queue, rate) };
        }
        self.doubts = (!is_settled).then_some(doubts);
    }

    fn floor(&self) -> u64 {
        let RateLimits { ceiling_bytes_per_second, floor_bytes_per_second } = self.limits;
        u64::from(floor_bytes_per_second.min(ceiling_bytes_per_second))
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
        let is_mutant = mutant::is(Mutant::BurstAboveTheCeiling);
        let rest = if is_mutant { ceiling } else { ceiling.saturating_sub(self.burst_bytes()) };
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
    fn a_longer_way_is_learnt_within_seconds_at_the_floor_too() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        let later = run(&mut rate, Time::ZERO, 30, Some(4), trip(50, 45));
        assert_eq!(rate.bytes_per_second(), 5_000);
        run(&mut rate, later, 12, None, trip(150, 45));
        assert_eq!(rate.bytes_per_second(), 100_000, "a hundred milliseconds more, for good");
    }

    /// Long packets at the pace that the rate allows, on a path of one round-trip time; one in `lost_one_in` is lost.
    fn run_paced(
        rate: &mut Rate,
        from: Time,
        until: impl Fn(&Rate, Time) -> bool,
        lost_one_in: Option<u64>,
        trip: RoundTrip,
    ) -> Time {
        let mut now = from;
        for packet in 1.. {
            if until(rate, now) {
                break;
            }
            now += Span::micros(1_100 * 1_000_000 / u64::from(rate.bytes_per_second()));
            rate.observe(now, lost_one_in.is_none_or(|n| packet % n != 0), trip);
        }
        now
    }

    #[test]
    fn a_longer_path_is_learnt_within_seconds_where_packets_are_few() {
        let limits =
            RateLimits { ceiling_bytes_per_second: 1_000_000, floor_bytes_per_second: 2_000 };
        for (start, longer_ms) in [2_000, 3_000, 5_000, 9_000, 16_000, 40_000]
            .into_iter()
            .flat_map(|start| [35, 58, 81, 200].map(|longer| (start, longer)))
        {
            let mut rate = Rate::new(limits, Time::ZERO);
            let is_low = |rate: &Rate, _| rate.bytes_per_second() <= start;
            let began = run_paced(&mut rate, Time::ZERO, is_low, Some(1), trip(70, 70));
            let is_high = |rate: &Rate, now| {
                rate.bytes_per_second() >= 100_000 || now - began > Span::seconds(60)
            };
            let trip = trip(70 + longer_ms, 70);
            let took = run_paced(&mut rate, began, is_high, None, trip) - began;
            assert!(took < Span::seconds(9), "from {start} B/s, {longer_ms} ms longer: {took}");
        }
    }

    /// Sends all that the rate allows over a link for a minute. So much waits for the link at the beginning.
    fn run_over_link(rate: &mut Rate, link_bytes_per_second: u64, packet_bytes: u64, wait: Span) {
        let span = |rate: u64| Span::micros(packet_bytes * 1_000_000 / rate);
        let minimum = Span::millis(50) + span(link_bytes_per_second);
        let wait_max = Span::millis(800).max(wait * 2);
        let (mut now, mut is_free_at) = (Time::ZERO, Time::ZERO + wait);
        let mut flying = std::collections::VecDeque::<(Time, Span, bool)>::new();
        while now < Time::from_seconds(60) {
            while let Some((at, latest, delivered)) = flying.front().copied()
                && at <= now
            {
                flying.pop_front();
                let smoothed = Some(latest);
                let trip = RoundTrip { smoothed, jitter: Span::ZERO, minimum, latest };
                rate.observe(at, delivered, trip);
            }
            let wait = is_free_at.max(now) - now;
            let fits = wait < wait_max;
            if fits {
                is_free_at = is_free_at.max(now) + span(link_bytes_per_second);
            }
            flying.push_back((now + wait + minimum, wait + minimum, fits));
            now += span(u64::from(rate.bytes_per_second()));
        }
    }

    #[test]
    fn a_queue_of_our_own_is_never_taken_for_a_longer_path() {
        for link in [6_000, 10_000, 20_000, 33_000, 50_000, 75_000, 99_000] {
            for packet_bytes in [200, 500, 1_100] {
                for wait in [0, 35, 45, 55, 80, 200].map(Span::millis) {
                    let mut rate = Rate::new(LIMITS, Time::ZERO);
                    if wait > Span::ZERO {
                        // The link carries exactly what is sent: the queue stands.
                        rate.bytes_per_second = link;
                    }
                    run_over_link(&mut rate, link, packet_bytes, wait);
                    // The shortest round trip never changes here, so that what is learnt stays.
                    let what = format!("{link} B/s, {packet_bytes} bytes each, {wait} at first");
                    assert_eq!(rate.detour.1, Span::ZERO, "{what}");
                }
            }
        }
    }

    #[test]
    fn a_queue_that_grows_at_the_floor_is_no_longer_way() {
        let mut rate = Rate::new(LIMITS, Time::ZERO);
        let mut later = run(&mut rate, Time::ZERO, 30, Some(4), trip(50, 45));
        // The link carries a tenth less than the floor: a tenth of a second more each second.
        for second in 1..=20 {
            later = run(&mut rate, later, 1, None, trip(150 + second * 100, 45));
            assert_eq!(rate.bytes_per_second(), 5_000, "after {second} s");
        }
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
