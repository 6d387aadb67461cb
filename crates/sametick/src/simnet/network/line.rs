//! Decides what happens to each datagram that enters one direction of one line. Holds no datagram.

use std::collections::VecDeque;

use super::conditions::{Conditions, Jitter, Loss};
use crate::core::dice::Dice;
use crate::core::time::{Span, Time};

/// The most datagrams that a line carries at once; what comes on top is dropped and counted.
pub const IN_FLIGHT_MAX: u64 = 8_192;
/// The most outages that a line can have ahead of it.
pub const OUTAGES_MAX: usize = 64;

/// A stretch of time in which a line passes nothing; what is already under way still arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The first moment of the outage.
    pub begins: Time,
    /// The first moment after it.
    pub ends: Time,
    /// Whether what is sent meanwhile waits and leaves at the end in a burst, as at a radio that
    /// roams; otherwise it is lost.
    pub holds: bool,
}

/// What became of the datagrams that entered a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Datagrams that were sent into the line.
    pub pushed: u64,
    /// Copies that the line made of them.
    pub duplicated: u64,
    /// Datagrams and copies that were taken out at the other end.
    pub delivered: u64,
    /// Datagrams and copies still under way, or arrived and not taken out yet.
    pub in_flight: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Lost because the line was cut or had an outage.
    pub cut: u64,
    /// Dropped because too many bytes waited for the line.
    pub queue_full: u64,
    /// Dropped because they were larger than the line's MTU.
    pub too_large: u64,
    /// Dropped because [`IN_FLIGHT_MAX`] were under way.
    pub overflow: u64,
    /// Lost because their address was given up while they were under way.
    pub misaddressed: u64,
    /// Datagrams and copies in which a bit was flipped.
    pub flipped: u64,
    /// Datagrams and copies that were shortened.
    pub truncated: u64,
    /// Datagrams that were held back for reordering.
    pub reordered: u64,
    /// Bytes that were sent into the line, headers not counted.
    pub bytes_pushed: u64,
    /// Bytes that were taken out at the other end, headers not counted.
    pub bytes_delivered: u64,
}

impl Statistics {
    /// Whether each datagram and copy is accounted for exactly once. It always is.
    pub fn closes(&self) -> bool {
        let dropped = self.lost + self.cut + self.queue_full + self.too_large;
        let ends = self.delivered + self.in_flight + dropped + self.overflow + self.misaddressed;
        self.pushed + self.duplicated == ends
    }

    /// Adds another line's counts.
    pub(super) fn add(&mut self, other: &Self) {
        self.pushed += other.pushed;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.in_flight += other.in_flight;
        self.lost += other.lost;
        self.cut += other.cut;
        self.queue_full += other.queue_full;
        self.too_large += other.too_large;
        self.overflow += other.overflow;
        self.misaddressed += other.misaddressed;
        self.flipped += other.flipped;
        self.truncated += other.truncated;
        self.reordered += other.reordered;
        self.bytes_pushed += other.bytes_pushed;
        self.bytes_delivered += other.bytes_delivered;
    }
}

/// How one copy of a datagram comes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) arrival: Time,
    /// Which bit is flipped, counted from the first byte's lowest.
    flipped_bit: Option<usize>,
    /// What is left of a shortened datagram.
    bytes_left: Option<usize>,
}

impl Passage {
    /// Does to a datagram what the line did to it.
    pub(super) fn damage(&self, bytes: &mut Vec<u8>) {
        if let Some(bit) = self.flipped_bit {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let Some(bytes_left) = self.bytes_left {
            bytes.truncate(bytes_left);
        }
    }
}

/// One direction of one line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    conditions: Conditions,
    dice: FaultDice,
    /// The place of the next delay in the trace, if there is one.
    trace_place: usize,
    /// Whether losses come in a burst now.
    is_bad: bool,
    queue: Queue,
    /// When the last datagram that kept its place arrives.
    latest_arrival: Time,
    is_cut: bool,
    outages: Vec<Outage>,
    statistics: Statistics,
}

/// One fault's dice never depend on another fault: they are rolled for every datagram, whatever
/// becomes of it. So a run with more loss loses what it lost before, and more.
#[derive(Clone, Debug)]
struct FaultDice {
    delay: Dice,
    loss: Dice,
    reorder: Dice,
    duplicate: Dice,
    damage: Dice,
    /// All that happens to copies only.
    copy: Dice,
}

impl Line {
    /// A line whose chance comes from its seed alone.
    pub(super) fn new(seed: u64, conditions: Conditions) -> Self {
        let mut line = Self {
            conditions: Conditions::PERFECT,
            dice: FaultDice {
                delay: Dice::new(seed, 1),
                loss: Dice::new(seed, 2),
                reorder: Dice::new(seed, 3),
                duplicate: Dice::new(seed, 4),
                damage: Dice::new(seed, 5),
                copy: Dice::new(seed, 6),
            },
            trace_place: 0,
            is_bad: false,
            queue: Queue::default(),
            latest_arrival: Time::ZERO,
            is_cut: false,
            outages: Vec::new(),
            statistics: Statistics::default(),
        };
        line.set_conditions(conditions);
        line
    }

    pub(super) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Changes what happens to later datagrams. A trace that stays goes on where it was.
    pub(super) fn set_conditions(&mut self, conditions: Conditions) {
        if let Err(impossible) = conditions.check() {
            panic!("a line cannot be so: {impossible}");
        }
        if self.conditions.jitter != conditions.jitter {
            self.trace_place = 0;
        }
        self.conditions = conditions;
    }

    pub(super) fn set_cut(&mut self, is_cut: bool) {
        self.is_cut = is_cut;
    }

    pub(super) fn add_outage(&mut self, now: Time, outage: Outage) {
        self.outages.retain(|outage| outage.ends > now);
        assert!(self.outages.len() < OUTAGES_MAX, "a line has at most {OUTAGES_MAX} outages ahead");
        self.outages.push(outage);
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// What happens to a datagram of so many bytes: it comes through once, twice or not at all.
    pub(super) fn decide(&mut self, now: Time, bytes: usize) -> [Option<Passage>; 2] {
        let is_lost = self.roll_loss();
        let jittered = self.roll_delay(false);
        let held_back = self.roll_reorder();
        let is_duplicated = self.dice.duplicate.chance(self.conditions.duplicate);
        let (flipped_bit, bytes_left) = roll_damage(&mut self.dice.damage, &self.conditions, bytes);

        self.statistics.pushed += 1;
        self.statistics.bytes_pushed += bytes as u64;
        let Some(departure) = self.depart(now, bytes) else { return [None, None] };
        if is_lost {
            self.statistics.lost += 1;
            return [None, None];
        }
        let arrival = self.in_order(departure + jittered) + held_back;
        self.statistics.reordered += u64::from(held_back > Span::ZERO);
        let first = self.carry(Passage { arrival, flipped_bit, bytes_left });
        if !is_duplicated {
            return [first, None];
        }
        self.statistics.duplicated += 1;
        let jittered = self.roll_delay(true);
        let (flipped_bit, bytes_left) = roll_damage(&mut self.dice.copy, &self.conditions, bytes);
        let arrival = self.in_order(departure + jittered);
        [first, self.carry(Passage { arrival, flipped_bit, bytes_left })]
    }

    /// Counts what was taken out at the other end.
    pub(super) fn deliver(&mut self, bytes: usize) {
        self.statistics.in_flight -= 1;
        self.statistics.delivered += 1;
        self.statistics.bytes_delivered += bytes as u64;
    }

    /// Counts what came to an address that is no more.
    pub(super) fn misaddress(&mut self) {
        self.statistics.in_flight -= 1;
        self.statistics.misaddressed += 1;
    }

    fn roll_loss(&mut self) -> bool {
        let (turn, fall) = (self.dice.loss.unit(), self.dice.loss.unit());
        match self.conditions.loss {
            Loss::None => false,
            Loss::Random { probability } => fall < probability,
            Loss::Burst { enter, leave, loss_good, loss_bad } => {
                self.is_bad = if self.is_bad { turn >= leave } else { turn < enter };
                fall < if self.is_bad { loss_bad } else { loss_good }
            }
        }
    }

    /// The delay with its jitter.
    fn roll_delay(&mut self, for_copy: bool) -> Span {
        let dice = if for_copy { &mut self.dice.copy } else { &mut self.dice.delay };
        let delay = self.conditions.delay;
        match &self.conditions.jitter {
            Jitter::None => delay,
            Jitter::Uniform { width } => {
                delay + Span::micros(dice.below(width.as_micros().saturating_add(1)))
            }
            Jitter::Normal { deviation } => {
                let off = dice.normal() * deviation.as_micros() as f64;
                Span::from_micros_f64(delay.as_micros() as f64 + off)
            }
            Jitter::Pareto { scale, shape, cap } => {
                let times = libm::pow(1.0 - dice.unit(), -1.0 / shape) - 1.0;
                delay + Span::from_micros_f64(times * scale.as_micros() as f64).min(*cap)
            }
            Jitter::Trace(trace) => {
                let more = trace.delays()[self.trace_place];
                self.trace_place = (self.trace_place + 1) % trace.delays().len();
                delay + more
            }
        }
    }

    fn roll_reorder(&mut self) -> Span {
        let is_held_back = self.dice.reorder.chance(self.conditions.reorder);
        let share = 1.0 - self.dice.reorder.unit();
        let most = self.conditions.reorder_by.as_micros() as f64;
        if is_held_back { Span::from_micros_f64(share * most) } else { Span::ZERO }
    }

    /// When a datagram has left the sender's end, if it does.
    fn depart(&mut self, now: Time, bytes: usize) -> Option<Time> {
        let outage = self.outages.iter().rfind(|outage| outage.begins <= now && now < outage.ends);
        if self.is_cut || outage.is_some_and(|outage| !outage.holds) {
            self.statistics.cut += 1;
            return None;
        }
        if bytes > self.conditions.mtu_bytes {
            self.statistics.too_large += 1;
            return None;
        }
        let ready = outage.map_or(now, |outage| outage.ends);
        let Some(rate) = self.conditions.bandwidth_bytes_per_second else { return Some(ready) };
        let bytes = bytes as u64 + u64::from(self.conditions.overhead_bytes);
        let bytes_max = u64::from(self.conditions.queue_bytes_max);
        let departure = self.queue.enter(now, ready, bytes, u64::from(rate), bytes_max);
        self.statistics.queue_full += u64::from(departure.is_none());
        departure
    }

    fn in_order(&mut self, arrival: Time) -> Time {
        let latest = self.latest_arrival.max(arrival);
        self.latest_arrival = latest;
        if self.conditions.keep_order { latest } else { arrival }
    }

    /// Counts what sets out and how it was damaged, unless too much is under way already.
    fn carry(&mut self, passage: Passage) -> Option<Passage> {
        if self.statistics.in_flight == IN_FLIGHT_MAX {
            self.statistics.overflow += 1;
            return None;
        }
        self.statistics.in_flight += 1;
        self.statistics.flipped += u64::from(passage.flipped_bit.is_some());
        self.statistics.truncated += u64::from(passage.bytes_left.is_some());
        Some(passage)
    }
}

/// Which bit is flipped and what is left; an empty datagram has nothing to be damaged.
fn roll_damage(
    dice: &mut Dice,
    conditions: &Conditions,
    bytes: usize,
) -> (Option<usize>, Option<usize>) {
    let (is_flipped, where_flipped) = (dice.chance(conditions.bit_flip), dice.unit());
    let (is_truncated, where_truncated) = (dice.chance(conditions.truncate), dice.unit());
    // A share below 1 of a whole number, rounded down, is below that number.
    let flipped_bit = (where_flipped * (bytes * 8) as f64) as usize;
    let bytes_left = (where_truncated * bytes as f64) as usize;
    (
        (is_flipped && bytes > 0).then_some(flipped_bit),
        (is_truncated && bytes > 0).then_some(bytes_left),
    )
}

/// The bytes that wait for a line of limited bandwidth, first come, first sent.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// When each waiting datagram will have been sent, and its bytes.
    waiting: VecDeque<(Time, u64)>,
    bytes: u64,
    /// When the last of them will have been sent. Finer than [`Time`], lest a fast line lose up to
    /// a microsecond with each datagram.
    free_nanos: u64,
}

const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Queue {
    /// When a datagram will have been sent, if the queue takes it. An idle line takes any.
    fn enter(
        &mut self,
        now: Time,
        ready: Time,
        bytes: u64,
        bytes_per_second: u64,
        bytes_max: u64,
    ) -> Option<Time> {
        while let Some((sent, bytes)) = self.waiting.front().copied()
            && sent <= now
        {
            self.bytes -= bytes;
            self.waiting.pop_front();
        }
        let is_idle = self.waiting.is_empty();
        let is_full = self.bytes + bytes > bytes_max || self.waiting.len() as u64 == IN_FLIGHT_MAX;
        if !is_idle && is_full {
            return None;
        }
        let begin = self.free_nanos.max(ready.as_micros().saturating_mul(NANOS_PER_MICRO));
        let takes = (bytes * NANOS_PER_SECOND).div_ceil(bytes_per_second);
        self.free_nanos = begin.saturating_add(takes);
        let sent = Time::from_micros(self.free_nanos.div_ceil(NANOS_PER_MICRO));
        self.waiting.push_back((sent, bytes));
        self.bytes += bytes;
        Some(sent)
    }
}
