//! Datagrams under way, in memory that is used again: the lines must not show in what is counted.

use sametick::Dice;
use std::collections::VecDeque;

/// The datagrams of one moment.
#[derive(Default)]
pub(crate) struct Flight {
    bytes: Vec<u8>,
    /// Whose each is, and where it ends; nobody's is lost.
    ends: Vec<(Option<usize>, usize)>,
}

impl Flight {
    pub(crate) fn push(&mut self, client: usize, datagram: &[u8]) {
        self.bytes.extend_from_slice(datagram);
        self.ends.push((Some(client), self.bytes.len()));
    }

    pub(crate) fn each(&mut self, mut take: impl FnMut(usize, &mut [u8])) {
        let mut start = 0;
        for (client, end) in &self.ends {
            if let Some(client) = client {
                take(*client, &mut self.bytes[start..*end]);
            }
            start = *end;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// More than a client gets or says in one moment.
const CLIENT_BYTES: usize = 8192;
const CLIENT_DATAGRAMS: usize = 16;

/// One direction between the server and everyone.
pub(crate) struct Line {
    flights: VecDeque<Flight>,
}

impl Line {
    pub(crate) fn new(delay_steps: usize, clients: usize) -> Self {
        let flight = |_| Flight {
            bytes: Vec::with_capacity(clients * CLIENT_BYTES),
            ends: Vec::with_capacity(clients * CLIENT_DATAGRAMS),
        };
        Self { flights: (0..=delay_steps).map(flight).collect() }
    }

    /// What arrives now; some of it was lost. Give it back with [`depart`](Line::depart).
    pub(crate) fn arrive(&mut self, dice: &mut Dice, loss: f64) -> Flight {
        let mut flight = self.flights.pop_front().unwrap_or_default();
        for (client, _) in &mut flight.ends {
            if dice.chance(loss) {
                *client = None;
            }
        }
        flight
    }

    /// Where to put what is sent now.
    pub(crate) fn departing(&mut self) -> &mut Flight {
        self.flights.back_mut().expect("a line has room for what is under way")
    }

    /// Ends the moment: takes back what arrived, as room for what is sent next.
    pub(crate) fn depart(&mut self, mut arrived: Flight) {
        arrived.bytes.clear();
        arrived.ends.clear();
        self.flights.push_back(arrived);
    }
}
