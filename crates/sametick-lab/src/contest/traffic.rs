//! What went over the lines of a contest, second by second: everything above the headers of IP and UDP, seals
//! included.

use sametick::Span;

/// What sealing adds behind a packet; inside TLS there is none.
const SEAL_BYTES: f64 = 16.0;
/// What is added beneath to each packet: by IP and UDP, and by IP, TCP and our two bytes of length, if a segment has
/// one packet and acknowledgements ride along.
const UDP_HEADER_BYTES: f64 = 20.0 + 8.0;
const TCP_HEADER_BYTES: f64 = 20.0 + 20.0 + 2.0;

const MINUTE: usize = 60;

/// What went out in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    bytes: u64,
    packets: u64,
}

/// What was sent, by second.
#[derive(Debug)]
pub struct Traffic {
    /// Those before this one are not counted, in which everyone is told everything.
    first: usize,
    server: Vec<Second>,
    clients: Vec<Vec<Second>>,
}

impl Traffic {
    pub(super) fn new(seconds: u32, warm_up: u32, clients: u8) -> Self {
        let seconds = vec![Second::default(); seconds as usize];
        let first = (warm_up as usize).min(seconds.len());
        Self { first, clients: vec![seconds.clone(); usize::from(clients)], server: seconds }
    }

    pub(super) fn server_sent(&mut self, at: Span, datagram: &[u8]) {
        count(&mut self.server, at, datagram);
    }

    pub(super) fn client_sent(&mut self, at: Span, client: usize, datagram: &[u8]) {
        count(&mut self.clients[client], at, datagram);
    }

    /// What the server sent to all in each second that counts.
    pub fn server(&self) -> impl Iterator<Item = u64> {
        self.server[self.first..].iter().map(|second| second.bytes)
    }

    /// What each client sent in each second that counts.
    pub fn clients(&self) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        self.clients.iter().map(|client| client[self.first..].iter().map(|second| second.bytes))
    }

    /// The most that the server sent to all in a second.
    pub fn server_peak_second(&self) -> f64 {
        self.server().max().unwrap_or(0) as f64
    }

    /// What the server sent to all a second, on average.
    pub fn server_mean(&self) -> f64 {
        self.server().sum::<u64>() as f64 / self.seconds()
    }

    /// All figures by their names.
    pub fn figures(&self) -> [(&'static str, f64); 9] {
        let sealed = |second: &Second| second.bytes as f64;
        let unsealed = |second: &Second| second.bytes as f64 - second.packets as f64 * SEAL_BYTES;
        let counted = &self.server[self.first..];
        let packets = counted.iter().map(|second| second.packets).sum::<u64>() as f64;
        let packets = packets / self.seconds();
        let clients = self.clients.iter().map(|client| worst_minute(&client[self.first..], sealed));
        [
            ("server_bytes_per_second_worst_minute", worst_minute(counted, sealed)),
            ("client_bytes_per_second_worst_minute", clients.fold(0.0, f64::max)),
            ("server_bytes_peak_second", self.server_peak_second()),
            ("server_bytes_per_second_mean", self.server_mean()),
            ("server_unsealed_bytes_per_second_worst_minute", worst_minute(counted, unsealed)),
            ("server_packets_per_second", packets),
            ("server_seal_bytes_per_second", packets * SEAL_BYTES),
            ("server_udp_header_bytes_per_second", packets * UDP_HEADER_BYTES),
            ("server_tcp_header_bytes_per_second", packets * TCP_HEADER_BYTES),
        ]
    }

    /// How many seconds count.
    fn seconds(&self) -> f64 {
        (self.server.len() - self.first).max(1) as f64
    }
}

fn count(seconds: &mut [Second], at: Span, datagram: &[u8]) {
    if let Some(second) = seconds.get_mut((at.as_micros() / 1_000_000) as usize) {
        second.bytes += datagram.len() as u64;
        second.packets += 1;
    }
}

/// The mean over that minute in which most was sent.
fn worst_minute(seconds: &[Second], bytes: impl Fn(&Second) -> f64) -> f64 {
    let minutes = seconds.windows(MINUTE).map(|minute| minute.iter().map(&bytes).sum::<f64>());
    minutes.fold(0.0, f64::max) / MINUTE as f64
}
