//! Bytes by second: what the server sent to all, and each client.

use sametick::Span;

/// What sealing adds behind a packet, and the headers of IP and UDP: stated beside, not counted.
const TAG_BYTES: usize = 16;
const IP_AND_UDP_BYTES: usize = 28;

/// The first minute is not counted, in which everyone is told everything.
const FIRST_SECOND: usize = 60;
const MINUTE: usize = 60;

pub(super) struct Traffic {
    server: Vec<u64>,
    clients: Vec<Vec<u64>>,
    server_packets: u64,
}

impl Traffic {
    pub(super) fn new(seconds: u32, clients: u8) -> Self {
        let seconds = vec![0; seconds as usize];
        Self {
            clients: vec![seconds.clone(); usize::from(clients)],
            server: seconds,
            server_packets: 0,
        }
    }

    pub(super) fn server_sent(&mut self, at: Span, datagram: &[u8]) {
        let second = second(at);
        if let Some(bytes) = self.server.get_mut(second) {
            *bytes += counted(datagram);
            self.server_packets += u64::from(second >= FIRST_SECOND);
        }
    }

    pub(super) fn client_sent(&mut self, at: Span, client: usize, datagram: &[u8]) {
        if let Some(bytes) = self.clients[client].get_mut(second(at)) {
            *bytes += counted(datagram);
        }
    }

    pub(super) fn server_worst_minute(&self) -> f64 {
        worst_minute(&self.server)
    }

    /// Of whichever client sends most.
    pub(super) fn client_worst_minute(&self) -> f64 {
        self.clients.iter().map(|client| worst_minute(client)).fold(0.0, f64::max)
    }

    pub(super) fn server_peak_second(&self) -> f64 {
        self.server.iter().skip(FIRST_SECOND).max().copied().unwrap_or(0) as f64
    }

    pub(super) fn server_mean(&self) -> f64 {
        let seconds = self.server.len().saturating_sub(FIRST_SECOND).max(1);
        self.server.iter().skip(FIRST_SECOND).sum::<u64>() as f64 / seconds as f64
    }

    /// What seals, UDP and IP add to what the server sent, on average.
    pub(super) fn server_beneath(&self) -> f64 {
        let seconds = self.server.len().saturating_sub(FIRST_SECOND).max(1);
        self.server_packets as f64 * (TAG_BYTES + IP_AND_UDP_BYTES) as f64 / seconds as f64
    }
}

fn second(at: Span) -> usize {
    (at.as_micros() / 1_000_000) as usize
}

fn counted(datagram: &[u8]) -> u64 {
    datagram.len().saturating_sub(TAG_BYTES) as u64
}

fn worst_minute(seconds: &[u64]) -> f64 {
    let counted = &seconds[FIRST_SECOND.min(seconds.len())..];
    let worst = counted.windows(MINUTE).map(|minute| minute.iter().sum::<u64>()).max();
    worst.unwrap_or(0) as f64 / MINUTE as f64
}
