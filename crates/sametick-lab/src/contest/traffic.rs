//! Bytes by second: what the server sent to all, and each client.

use sametick::Span;

/// What sealing adds behind a packet, and the headers of IP and UDP: stated beside, not counted.
const TAG_BYTES: usize = 16;
const IP_AND_UDP_BYTES: usize = 28;

const MINUTE: usize = 60;

/// Bytes by second.
#[derive(Debug)]
pub struct Traffic {
    /// Those before this one are not counted, in which everyone is told everything.
    first: usize,
    server: Vec<u64>,
    clients: Vec<Vec<u64>>,
    server_packets: u64,
}

impl Traffic {
    pub(super) fn new(seconds: u32, warm_up: u32, clients: u8) -> Self {
        let seconds = vec![0; seconds as usize];
        Self {
            first: (warm_up as usize).min(seconds.len()),
            clients: vec![seconds.clone(); usize::from(clients)],
            server: seconds,
            server_packets: 0,
        }
    }

    pub(super) fn server_sent(&mut self, at: Span, datagram: &[u8]) {
        let second = second(at);
        if let Some(bytes) = self.server.get_mut(second) {
            *bytes += counted(datagram);
            self.server_packets += u64::from(second >= self.first);
        }
    }

    pub(super) fn client_sent(&mut self, at: Span, client: usize, datagram: &[u8]) {
        if let Some(bytes) = self.clients[client].get_mut(second(at)) {
            *bytes += counted(datagram);
        }
    }

    /// What the server sent to all in each second that counts.
    pub fn server(&self) -> &[u64] {
        &self.server[self.first..]
    }

    /// What each client sent in each second that counts.
    pub fn clients(&self) -> impl Iterator<Item = &[u64]> {
        self.clients.iter().map(|client| &client[self.first..])
    }

    /// What the server sent to all a second, in the minute in which that was most.
    pub fn server_worst_minute(&self) -> f64 {
        worst_minute(self.server())
    }

    /// The same of whichever client sends most.
    pub fn client_worst_minute(&self) -> f64 {
        self.clients().map(worst_minute).fold(0.0, f64::max)
    }

    /// The most that the server sent to all in a second.
    pub fn server_peak_second(&self) -> f64 {
        self.server().iter().max().copied().unwrap_or(0) as f64
    }

    /// What the server sent to all a second, on average.
    pub fn server_mean(&self) -> f64 {
        self.server().iter().sum::<u64>() as f64 / self.server().len().max(1) as f64
    }

    /// What seals, UDP and IP add to what the server sent, on average.
    pub fn server_beneath(&self) -> f64 {
        let seconds = self.server().len().max(1) as f64;
        self.server_packets as f64 * (TAG_BYTES + IP_AND_UDP_BYTES) as f64 / seconds
    }
}

fn second(at: Span) -> usize {
    (at.as_micros() / 1_000_000) as usize
}

fn counted(datagram: &[u8]) -> u64 {
    datagram.len().saturating_sub(TAG_BYTES) as u64
}

fn worst_minute(seconds: &[u64]) -> f64 {
    let worst = seconds.windows(MINUTE).map(|minute| minute.iter().sum::<u64>()).max();
    worst.unwrap_or(0) as f64 / MINUTE as f64
}
