//! Holds datagrams until they arrive, and gives their memory to later ones. Knows no fault.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::core::time::Time;

/// How many empty buffers are kept for datagrams to come.
const SPARE_BUFFERS_MAX: usize = 256;

/// Datagrams under way to one place, each with a label that no fault touches.
#[derive(Clone, Debug)]
pub(super) struct Flights<L> {
    flights: BinaryHeap<Reverse<Flight<L>>>,
    spare: Vec<Vec<u8>>,
    next_serial: u64,
}

#[derive(Clone, Debug)]
struct Flight<L> {
    arrival: Time,
    /// Which came first, for those that arrive together.
    serial: u64,
    label: L,
    bytes: Vec<u8>,
}

impl<L> Flights<L> {
    pub(super) fn new() -> Self {
        Self { flights: BinaryHeap::new(), spare: Vec::new(), next_serial: 0 }
    }

    /// Adds a datagram; `change` is what happens to its bytes on the way.
    pub(super) fn push(
        &mut self,
        arrival: Time,
        label: L,
        bytes: &[u8],
        change: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut held = self.spare.pop().unwrap_or_default();
        held.extend_from_slice(bytes);
        change(&mut held);
        let serial = self.next_serial;
        self.next_serial += 1;
        self.flights.push(Reverse(Flight { arrival, serial, label, bytes: held }));
    }

    /// Takes out the first datagram that has arrived. `into` becomes its bytes; the memory that it
    /// had is kept for a later datagram.
    pub(super) fn pop(&mut self, now: Time, into: &mut Vec<u8>) -> Option<(Time, L)> {
        if self.next_arrival()? > now {
            return None;
        }
        let Reverse(mut flight) = self.flights.pop()?;
        std::mem::swap(into, &mut flight.bytes);
        keep(&mut self.spare, flight.bytes);
        Some((flight.arrival, flight.label))
    }

    /// When the next datagram arrives.
    pub(super) fn next_arrival(&self) -> Option<Time> {
        self.flights.peek().map(|Reverse(flight)| flight.arrival)
    }

    /// Forgets the datagrams that `is_kept` refuses.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Time, &L) -> bool) {
        self.flights.retain(|Reverse(flight)| is_kept(flight.arrival, &flight.label));
    }
}

fn keep(spare: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    if spare.len() < SPARE_BUFFERS_MAX {
        buffer.clear();
        spare.push(buffer);
    }
}

impl<L> Ord for Flight<L> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.arrival, self.serial).cmp(&(other.arrival, other.serial))
    }
}

impl<L> PartialOrd for Flight<L> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<L> PartialEq for Flight<L> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<L> Eq for Flight<L> {}
