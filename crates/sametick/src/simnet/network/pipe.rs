//! One direction of one line: datagrams go in, and come out late, damaged, twice or never. Knows
//! neither hosts nor addresses.

use super::conditions::Conditions;
use super::flights::Flights;
use super::line::{Line, Outage, Statistics};
use crate::core::time::Time;

/// One direction of one line.
///
/// A datagram's fate is decided when it enters, by the seed, the conditions of that moment and what
/// entered before; nothing changes it later.
///
/// ```
/// use sametick::{Span, Time};
/// use sametick::network::{Conditions, Pipe};
/// let conditions = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
/// let mut pipe = Pipe::new(1, conditions);
/// pipe.push(Time::ZERO, b"hello");
/// assert_eq!(pipe.next_wake(), Some(Time::from_millis(30)));
///
/// let mut bytes = Vec::new();
/// assert_eq!(pipe.pop(Time::from_millis(29), &mut bytes), None);
/// assert_eq!(pipe.pop(Time::from_millis(31), &mut bytes), Some(Time::from_millis(30)));
/// assert_eq!(bytes, b"hello");
/// ```
#[derive(Clone, Debug)]
pub struct Pipe {
    line: Line,
    /// Each with the moment at which it entered.
    flights: Flights<Time>,
}

/// When a datagram or a copy of it entered a pipe, and when it arrived at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// When it was sent in.
    pub entered: Time,
    /// When it arrived, however much later it was taken out.
    pub arrival: Time,
}

impl Pipe {
    /// An empty pipe.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn new(seed: u64, conditions: Conditions) -> Self {
        Self { line: Line::new(seed, conditions), flights: Flights::new() }
    }

    /// Sends a datagram in.
    pub fn push(&mut self, now: Time, bytes: &[u8]) {
        for passage in self.line.decide(now, bytes.len()).into_iter().flatten() {
            self.flights.push(passage.arrival, now, bytes, |bytes| passage.damage(bytes));
        }
    }

    /// Takes out the first datagram that has arrived and says when it did; those that arrived
    /// together come in the order in which they were sent. `into` becomes the datagram, and the
    /// memory that it had is used again.
    pub fn pop(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Time> {
        self.pop_transit(now, into).map(|transit| transit.arrival)
    }

    /// As [`Pipe::pop`], and says when the datagram entered too.
    ///
    /// ```
    /// use sametick::{Span, Time};
    /// use sametick::network::{Conditions, Pipe};
    /// let conditions = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
    /// let mut pipe = Pipe::new(1, conditions);
    /// pipe.push(Time::from_millis(5), b"hello");
    /// let transit = pipe.pop_transit(Time::from_seconds(1), &mut Vec::new()).unwrap();
    /// assert_eq!(transit.arrival - transit.entered, Span::millis(30));
    /// ```
    pub fn pop_transit(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Transit> {
        let (arrival, entered) = self.flights.pop(now, into)?;
        self.line.deliver(into.len());
        Some(Transit { entered, arrival })
    }

    /// When the next datagram arrives, or arrived.
    pub fn next_wake(&self) -> Option<Time> {
        self.flights.next_arrival()
    }

    /// The conditions for datagrams to come.
    pub fn conditions(&self) -> &Conditions {
        self.line.conditions()
    }

    /// Changes the conditions for datagrams to come; those under way keep their fate.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.line.set_conditions(conditions);
    }

    /// From now on nothing gets in.
    pub fn cut(&mut self) {
        self.line.set_cut(true);
    }

    /// Ends a cut.
    pub fn heal(&mut self) {
        self.line.set_cut(false);
    }

    /// Plans an outage. Outages that ended before `now` are forgotten; where two overlap, the one
    /// planned last counts.
    ///
    /// # Panics
    /// If [`OUTAGES_MAX`](super::OUTAGES_MAX) are already ahead.
    pub fn add_outage(&mut self, now: Time, outage: Outage) {
        self.line.add_outage(now, outage);
    }

    /// What became of all datagrams so far.
    pub fn statistics(&self) -> &Statistics {
        self.line.statistics()
    }
}
