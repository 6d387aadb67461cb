//! Bytes by second: what the server sent to all, and each client. All that we send is counted: messages, framing and
//! seals; what IP and UDP or TCP add is stated beside it.

use sametick::Span;

/// What sealing adds behind a packet; inside TLS there is none.
const SEAL_BYTES: f64 = 16.0;
/// What is added beneath to each packet: by IP and UDP, and by IP, TCP and our two bytes of length, if a segment has
/// one packet and acknowledgements ride along.
const UDP_HEADER_BYTES: f64 = 20.0 + 8.0;
const TCP_HEADER_BYTES: f64 = 20.0 + 20.0 + 2.0;

/// The first minute is not counted, in which everyone is told everything.
const FIRST_SECOND: usize = 60;
const MINUTE: usize = 60;

/// What went out in one second.
#[derive(Clone, Copy, Default)]
struct Second {
    bytes: u64,
    packets: u64,
}

pub(super) struct Traffic {
    server: Vec<Second>,
    clients: Vec<Vec<Second>>,
}

impl Traffic {
    pub(super) fn new(seconds: u32, clients: u8) -> Self {
        let seconds = vec![Second::default(); seconds as usize];
        Self { clients: vec![seconds.clone(); usize::from(clients)], server: seconds }
    }

    pub(super) fn server_sent(&mut self, at: Span, datagram: &[u8]) {
        count(&mut self.server, at, datagram);
    }

    pub(super) fn client_sent(&mut self, at: Span, client: usize, datagram: &[u8]) {
        count(&mut self.clients[client], at, datagram);
    }

    /// All figures by their names.
    pub(super) fn figures(&self) -> [(&'static str, f64); 9] {
        let sealed = |second: &Second| second.bytes as f64;
        let unsealed = |second: &Second| second.bytes as f64 - second.packets as f64 * SEAL_BYTES;
        let counted = &self.server[FIRST_SECOND.min(self.server.len())..];
        let seconds = counted.len().max(1) as f64;
        let packets = counted.iter().map(|second| second.packets).sum::<u64>() as f64 / seconds;
        let clients = self.clients.iter().map(|client| worst_minute(client, sealed));
        [
            ("server_bytes_per_second_worst_minute", worst_minute(&self.server, sealed)),
            ("client_bytes_per_second_worst_minute", clients.fold(0.0, f64::max)),
            ("server_bytes_peak_second", counted.iter().map(sealed).fold(0.0, f64::max)),
            ("server_bytes_per_second_mean", counted.iter().map(sealed).sum::<f64>() / seconds),
            ("server_unsealed_bytes_per_second_worst_minute", worst_minute(&self.server, unsealed)),
            ("server_packets_per_second", packets),
            ("server_seal_bytes_per_second", packets * SEAL_BYTES),
            ("server_udp_header_bytes_per_second", packets * UDP_HEADER_BYTES),
            ("server_tcp_header_bytes_per_second", packets * TCP_HEADER_BYTES),
        ]
    }
}

fn count(seconds: &mut [Second], at: Span, datagram: &[u8]) {
    if let Some(second) = seconds.get_mut((at.as_micros() / 1_000_000) as usize) {
        second.bytes += datagram.len() as u64;
        second.packets += 1;
    }
}

/// The mean over that minute, after the first, in which most was sent.
fn worst_minute(seconds: &[Second], bytes: impl Fn(&Second) -> f64) -> f64 {
    let counted = &seconds[FIRST_SECOND.min(seconds.len())..];
    let minutes = counted.windows(MINUTE).map(|minute| minute.iter().map(&bytes).sum::<f64>());
    minutes.fold(0.0, f64::max) / MINUTE as f64
}
