//! Which packets arrived: what we owe the other end, and what it told us of ours.

use crate::core::mutant::{self, Mutant};
use crate::core::time::{Span, Time};
use std::collections::VecDeque;

/// What one packet says of those that came the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    /// The newest that arrived.
    pub(super) newest: u64,
    /// A bit for each of the 32 before it, the newest of them lowest.
    pub(super) before: u32,
    /// How long ago the newest arrived.
    pub(super) delay: Span,
}

impl Acknowledgement {
    pub(super) fn covers(self, number: u64) -> bool {
        match self.newest.checked_sub(number) {
            Some(0) => true,
            Some(back @ 1..=32) => self.before & 1 << (back - 1) != 0,
            _ => false,
        }
    }
}

/// How far back from the newest packet an acknowledgement may be: further back it is a lie.
pub(super) const NUMBERS_BACK_MAX: u64 = 1 << 15;

/// Packets that came in, as far as they are to be acknowledged.
#[derive(Debug, Default)]
pub(super) struct Received {
    newest: Option<(u64, Time)>,
    before: u32,
    unacknowledged: u32,
    /// When the first of those came that still wait for an acknowledgement.
    waiting_since: Option<Time>,
}

impl Received {
    #[inline]
    pub(super) fn add(&mut self, now: Time, number: u64, asks: bool) {
        match self.newest {
            None => self.newest = Some((number, now)),
            Some((newest, _)) if number > newest => {
                let is_mutant = mutant::is(Mutant::AckOneBeyondAGap);
                let ahead = if is_mutant { (number - newest).min(32) } else { number - newest };
                let pushed = if ahead < 32 { self.before << ahead } else { 0 };
                self.before = if ahead <= 32 { pushed | 1 << (ahead - 1) } else { 0 };
                self.newest = Some((number, now));
            }
            Some((newest, _)) => {
                let back = newest - number;
                if (1..=32).contains(&back) {
                    self.before |= 1 << (back - 1);
                }
            }
        }
        if asks {
            self.unacknowledged += 1;
            self.waiting_since.get_or_insert(now);
        }
    }

    /// What to tell the other end now; it is then told.
    pub(super) fn acknowledge(&mut self, now: Time) -> Option<Acknowledgement> {
        (self.unacknowledged, self.waiting_since) = (0, None);
        let (newest, at) = self.newest?;
        Some(Acknowledgement { newest, before: self.before, delay: now - at })
    }

    /// How many packets wait for an acknowledgement.
    pub(super) fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// Since when.
    pub(super) fn waiting_since(&self) -> Option<Time> {
        self.waiting_since
    }
}

/// A packet of ours that the other end is to acknowledge.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) number: u64,
    pub(super) at: Time,
    /// The unreliable message it carries, and in how many pieces that comes.
    pub(super) token: Option<(u32, usize)>,
    /// Whether it carries reliable fragments.
    pub(super) reliable: bool,
}

/// The one verdict on a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved {
    pub(super) packet: SentPacket,
    pub(super) delivered: bool,
}

/// How long a round trip takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Averaged over the last few; none before the first is measured.
    pub smoothed: Option<Span>,
    /// How much it varies: the average distance from the average.
    pub jitter: Span,
    /// The shortest of the last 10 to 20 s.
    pub minimum: Span,
    /// The last one measured.
    pub latest: Span,
}

/// Our packets on their way.
#[derive(Debug)]
pub(super) struct Sent {
    /// By number, those without a verdict.
    flying: VecDeque<SentPacket>,
    /// Taken for lost, by number: an acknowledgement may still tell of them.
    missed: VecDeque<u64>,
    /// How many of those it told of, since that was asked last.
    late: u32,
    /// By number, when those were sent that expired although the expiry was [`EXPIRY_FIRST`] or more.
    /// Where a round trip takes longer than that, a late acknowledgement is its only measure.
    overdue: VecDeque<(u64, Time)>,
    resolved: VecDeque<Resolved>,
    round_trip: RoundTrip,
    /// The shortest round trip of this stretch and the one before, and when this one began.
    shortest: [Option<Span>; 2],
    stretch_began: Time,
    /// After so long a packet is taken for lost.
    expiry: Span,
    /// For how long the other end may gather acknowledgements.
    gathered_within: Span,
    /// When the newest packet that arrived was sent.
    delivered_at: Option<Time>,
}

#[cfg(test)]
impl Default for Sent {
    fn default() -> Self {
        Self::new(super::ACKNOWLEDGE_WITHIN)
    }
}

impl Sent {
    pub(super) fn new(gathered_within: Span) -> Self {
        Self {
            flying: VecDeque::new(),
            missed: VecDeque::new(),
            late: 0,
            overdue: VecDeque::new(),
            resolved: VecDeque::new(),
            round_trip: RoundTrip::default(),
            shortest: [None; 2],
            stretch_began: Time::ZERO,
            expiry: EXPIRY_FIRST,
            gathered_within,
            delivered_at: None,
        }
    }
}

/// How many of our packets can be on their way; one more, and the oldest is taken for lost.
pub(super) const FLYING_MAX: usize = 512;

/// How many of those taken for lost are remembered: an acknowledgement tells of no more.
const MISSED_MAX: usize = 33;

/// After so many newer ones arrived, a packet is more likely lost than late.
const OVERTAKEN_BY: u64 = 3;

/// Before any round trip was measured, a packet is taken for lost after this.
const EXPIRY_FIRST: Span = Span::seconds(1);
const EXPIRY_MIN: Span = Span::millis(100);
const STRETCH: Span = Span::seconds(10);

impl Sent {
    pub(super) fn add(&mut self, packet: SentPacket) {
        if self.flying.len() == FLYING_MAX {
            let oldest = self.flying.pop_front();
            oldest.into_iter().for_each(|packet| self.give_up(packet));
        }
        self.flying.push_back(packet);
    }

    fn give_up(&mut self, packet: SentPacket) {
        if self.missed.len() == MISSED_MAX {
            self.missed.pop_front();
        }
        self.missed.push_back(packet.number);
        self.resolved.push_back(Resolved { packet, delivered: false });
    }

    /// How many that were taken for lost have arrived after all, since this was asked last.
    pub(super) fn take_late(&mut self) -> u32 {
        std::mem::take(&mut self.late)
    }

    /// Takes in what the other end says; those far behind the newest are lost.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Time, told: Acknowledgement) {
        if !self.missed.is_empty() {
            let before = self.missed.len();
            self.missed.retain(|number| !told.covers(*number));
            self.late += (before - self.missed.len()) as u32;
        }
        if let Some(at) = self.take_overdue(told.newest) {
            self.measure(now, (now - at) - told.delay);
        }
        if self.flying.front().is_none_or(|oldest| oldest.number > told.newest) {
            return;
        }
        let newest = self.flying.iter().find(|packet| packet.number == told.newest);
        if let Some(packet) = newest {
            // The other end may claim to have waited for longer than the packet was away.
            self.measure(now, (now - packet.at) - told.delay);
        }
        let patience = self.round_trip.latest + self.round_trip.latest / 8;
        let mut index = 0;
        while let Some(packet) = self.flying.get(index).copied().filter(|p| p.number <= told.newest)
        {
            let delivered = told.covers(packet.number);
            let back = told.newest - packet.number;
            let lost = back > 32 || back >= OVERTAKEN_BY && now - packet.at > patience;
            if delivered {
                self.delivered_at = self.delivered_at.max(Some(packet.at));
            }
            if !delivered && !lost {
                index += 1;
                continue;
            }
            let _ = if index == 0 { self.flying.pop_front() } else { self.flying.remove(index) };
            if delivered {
                self.resolved.push_back(Resolved { packet, delivered });
            } else {
                self.give_up(packet);
            }
        }
    }

    /// When a packet was sent that is overdue; it and those before it are then forgotten.
    #[inline]
    fn take_overdue(&mut self, number: u64) -> Option<Time> {
        if self.overdue.is_empty() {
            return None;
        }
        let before = self.overdue.partition_point(|(overdue, _)| *overdue <= number);
        let (newest, at) = self.overdue.drain(..before).next_back()?;
        (newest == number).then_some(at)
    }

    /// Takes for lost what has been away for far longer than a round trip.
    #[inline]
    pub(super) fn expire(&mut self, now: Time) {
        let expiry = self.expiry;
        while let Some(packet) = self.flying.front().copied().filter(|p| now - p.at >= expiry) {
            self.flying.pop_front();
            self.give_up(packet);
            if expiry >= EXPIRY_FIRST {
                // The expiry grows no further without a measure: everything would be taken for lost,
                // and sent again, for as long as the connection lasts.
                if self.overdue.len() == FLYING_MAX {
                    self.overdue.pop_front();
                }
                self.overdue.push_back((packet.number, packet.at));
            }
            // A line may have become slower than that all of a sudden: with more patience it is measured again.
            self.expiry = (expiry * 2).min(EXPIRY_FIRST).max(expiry);
        }
    }

    pub(super) fn next_expiry(&self) -> Option<Time> {
        self.flying.front().map(|packet| packet.at + self.expiry)
    }

    pub(super) fn has_resolved(&self) -> bool {
        !self.resolved.is_empty()
    }

    pub(super) fn next_resolved(&mut self) -> Option<Resolved> {
        self.resolved.pop_front()
    }

    /// The heap it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        self.flying.capacity() * size_of::<SentPacket>()
            + self.missed.capacity() * size_of::<u64>()
            + self.overdue.capacity() * size_of::<(u64, Time)>()
            + self.resolved.capacity() * size_of::<Resolved>()
    }

    pub(super) fn delivered_at(&self) -> Option<Time> {
        self.delivered_at
    }

    pub(super) fn round_trip(&self) -> RoundTrip {
        self.round_trip
    }

    fn measure(&mut self, now: Time, sample: Span) {
        let trip = &mut self.round_trip;
        trip.latest = sample;
        let (smoothed, jitter) = match trip.smoothed {
            None => (sample, sample / 2),
            Some(smoothed) => {
                let off = if sample > smoothed { sample - smoothed } else { smoothed - sample };
                ((smoothed * 7 + sample) / 8, (trip.jitter * 3 + off) / 4)
            }
        };
        (trip.smoothed, trip.jitter) = (Some(smoothed), jitter);
        let waits = self.gathered_within + super::ACKNOWLEDGE_WITHIN;
        self.expiry = (smoothed + jitter * 4 + waits).max(EXPIRY_MIN);
        if now - self.stretch_began >= STRETCH {
            self.shortest = [None, self.shortest[0]];
            self.stretch_began = now;
        }
        self.shortest[0] = Some(self.shortest[0].map_or(sample, |shortest| shortest.min(sample)));
        trip.minimum = self.shortest.iter().flatten().min().copied().unwrap_or(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(number: u64, at: Time) -> SentPacket {
        SentPacket { number, at, token: None, reliable: false }
    }

    #[test]
    fn who_comes_after_it_was_taken_for_lost_is_counted_once() {
        let mut sent = Sent::default();
        (1..=6).for_each(|number| sent.add(packet(number, Time::ZERO)));
        let told = |before| Acknowledgement { newest: 6, before, delay: Span::ZERO };
        let seconds = Time::from_seconds;
        sent.acknowledge(seconds(1), told(0b0_0111));
        sent.acknowledge(seconds(2), told(0b0_0111));
        sent.expire(seconds(9));
        let verdicts = std::iter::from_fn(|| sent.next_resolved());
        assert_eq!(
            verdicts.filter(|verdict| !verdict.delivered).count(),
            2,
            "1 and 2 did not come"
        );
        assert_eq!(sent.take_late(), 0);
        sent.acknowledge(seconds(9), told(0b0_1111));
        sent.acknowledge(seconds(9), told(0b0_1111));
        assert_eq!(sent.take_late(), 1, "2 did");
        assert_eq!(sent.take_late(), 0);
    }

    #[test]
    fn a_round_trip_longer_than_the_first_patience_is_measured() {
        let (mut sent, mut now) = (Sent::default(), Time::ZERO);
        for number in 1..=400 {
            sent.add(packet(number, now));
            // What was sent 3 s ago is acknowledged now.
            if let Some(newest) = number.checked_sub(180).filter(|newest| *newest > 0) {
                sent.acknowledge(now, Acknowledgement { newest, before: 0, delay: Span::ZERO });
            }
            sent.expire(now);
            now += Span::micros(16_667);
        }
        assert_eq!(sent.round_trip().latest.as_micros() / 1_000, 3_000);
        let verdicts: Vec<bool> =
            std::iter::from_fn(|| sent.next_resolved()).map(|verdict| verdict.delivered).collect();
        let arrived = verdicts.iter().rev().take_while(|delivered| **delivered).count();
        assert!(arrived > 30, "since it is known, packets are waited for: {arrived}");
    }

    proptest! {
        #[test]
        fn acknowledgements_tell_exactly_what_came(numbers in prop::collection::vec(1u64..100, 1..60)) {
            let mut received = Received::default();
            for number in &numbers {
                received.add(Time::ZERO, *number, true);
            }
            let told = received.acknowledge(Time::ZERO).unwrap();
            let newest = *numbers.iter().max().unwrap();
            prop_assert_eq!(told.newest, newest);
            for number in newest.saturating_sub(32)..=newest + 5 {
                prop_assert!(!told.covers(number) || numbers.contains(&number));
            }
            // In ascending order nothing within reach is forgotten.
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let mut ordered = Received::default();
            sorted.iter().for_each(|number| ordered.add(Time::ZERO, *number, true));
            let told = ordered.acknowledge(Time::ZERO).unwrap();
            prop_assert!(sorted.iter().all(|n| newest - n > 32 || told.covers(*n)));
        }
    }

    #[test]
    fn a_line_that_becomes_slow_all_of_a_sudden_is_measured_again() {
        let mut sent = Sent::default();
        let (mut now, mut delivered) = (Time::ZERO, 0);
        for number in 1..=400_u64 {
            now += Span::millis(16);
            sent.add(packet(number, now));
            // At first an answer takes 16 ms, later 320.
            let answered = if number <= 100 { number } else { number.saturating_sub(20) };
            let told = Acknowledgement { newest: answered, before: u32::MAX, delay: Span::ZERO };
            sent.acknowledge(now + Span::millis(15), told);
            sent.expire(now + Span::millis(15));
            while let Some(resolved) = sent.next_resolved() {
                delivered += u32::from(resolved.delivered);
            }
        }
        assert!(sent.round_trip().smoothed > Some(Span::millis(300)), "{:?}", sent.round_trip());
        assert!(delivered > 340, "{delivered}");
    }

    #[test]
    fn each_packet_resolves_once() {
        let mut sent = Sent::default();
        let at = Time::from_millis(100);
        (1..=40).for_each(|number| sent.add(packet(number, at)));
        let told = Acknowledgement { newest: 36, before: 0, delay: Span::ZERO };
        sent.acknowledge(at + Span::millis(20), told);
        sent.acknowledge(at + Span::millis(20), told);
        sent.expire(at + Span::seconds(5));
        sent.expire(at + Span::seconds(9));
        let mut verdicts: Vec<(u64, bool)> = Vec::new();
        while let Some(resolved) = sent.next_resolved() {
            verdicts.push((resolved.packet.number, resolved.delivered));
        }
        verdicts.sort_unstable();
        let expected: Vec<(u64, bool)> = (1..=40).map(|number| (number, number == 36)).collect();
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn the_round_trip_leaves_out_what_the_other_end_waited() {
        let mut sent = Sent::default();
        sent.add(packet(1, Time::ZERO));
        let told = Acknowledgement { newest: 1, before: 0, delay: Span::millis(30) };
        sent.acknowledge(Time::from_millis(80), told);
        assert_eq!(sent.round_trip().smoothed, Some(Span::millis(50)));
        assert_eq!(sent.round_trip().minimum, Span::millis(50));
    }

    #[test]
    fn too_many_on_their_way_are_taken_for_lost_oldest_first() {
        let mut sent = Sent::default();
        (0..=FLYING_MAX as u64).for_each(|number| sent.add(packet(number, Time::ZERO)));
        assert!(sent.next_resolved().is_some_and(|r| r.packet.number == 0 && !r.delivered));
        assert!(sent.next_resolved().is_none());
    }
}
