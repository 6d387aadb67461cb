//! A server's figures for Prometheus: one small page over HTTP, on a thread of its own. The game never waits for it;
//! whoever reads sees the figures of at most a second ago.

use super::figures::{BUCKETS_MICROS, Figures};
use crate::address;
use crate::crew::tally::words;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request is a line and a few headers; more is nobody we know.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// How long one reader may take for all of it; the next waits meanwhile.
const READER_SECONDS_MAX: u64 = 2;

/// Where the game leaves its figures for whoever asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<Mutex<Figures>>);

impl Board {
    /// Leaves the newest figures, unless somebody is reading just now.
    pub(crate) fn post(&self, figures: &Figures) {
        if let Ok(mut place) = self.0.try_lock() {
            place.clone_from(figures);
        }
    }

    pub(crate) fn read(&self) -> Figures {
        self.0.lock().map(|figures| figures.clone()).unwrap_or_default()
    }
}

/// Answers at an address from now on, and says at which: port 0 is any that is free.
pub(crate) fn serve(address: SocketAddr, board: Board) -> anyhow::Result<SocketAddr> {
    let refused = |error| address::refused(&error, address, "--metrics", "TCP");
    let listener = TcpListener::bind(address).map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    std::thread::Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Whoever hangs up early has only itself to blame.
                Ok(stream) => _ = answer(stream, &board),
                // Too many files are open, or the like: it passes.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, board: &Board) -> std::io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(READER_SECONDS_MAX);
    stream.set_write_timeout(Some(Duration::from_secs(READER_SECONDS_MAX)))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST_BYTES_MAX {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(()),
            count => request.extend_from_slice(&part[..count]),
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut words = line.split_ascii_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => {
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(&board.read()))
        }
        (Some("GET"), _) => ("404 Not Found", "text/plain", "the figures are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET is understood\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The figures as Prometheus reads them.
fn page(figures: &Figures) -> String {
    let mut page = Page::default();
    let seconds = figures.uptime.as_seconds_f64();
    page.gauge("uptime_seconds", "How long the server has run", seconds);
    page.gauge("players", "Players who came over the network", figures.people as f64);
    page.gauge("bots", "Bots of the server's own", figures.bots as f64);
    page.counter("ticks_total", "Ticks stepped", figures.ticks);
    page.counter("tick_overruns_total", "Ticks that took longer than a tick", figures.overruns);
    page.gauge(
        "tick_length_seconds",
        "How long a tick may take",
        figures.tick_length.as_seconds_f64(),
    );
    page.ticks(figures);
    page.counter("received_bytes_total", "Bytes received, headers not counted", figures.bytes_in);
    page.counter("sent_bytes_total", "Bytes sent, headers not counted", figures.bytes_out);
    page.counter("received_datagrams_total", "Datagrams received", figures.datagrams_in);
    page.counter("sent_datagrams_total", "Datagrams sent", figures.datagrams_out);
    page.counter(
        "late_commands_total",
        "Commands that had to be guessed because none had come in time",
        figures.late_commands,
    );
    page.counter(
        "malformed_messages_total",
        "Messages of players that no client writes",
        figures.malformed,
    );
    page.labelled(
        "dropped_datagrams_total",
        "Datagrams that were not taken or not sent",
        "reason",
        figures.drops.named().map(|(name, count)| (name.to_owned(), count)),
    );
    page.counter("connections_accepted_total", "Connections let in", figures.accepted);
    page.labelled(
        "connections_denied_total",
        "Connections not let in",
        "reason",
        figures
            .denied
            .iter()
            .map(|(denial, count)| (words(&format!("{denial:?}")).replace(' ', "_"), *count)),
    );
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.0, "# HELP sametick_{name} {help}.\n# TYPE sametick_{name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        let _ = writeln!(self.0, "sametick_{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        let _ = writeln!(self.0, "sametick_{name} {value}");
    }

    fn labelled(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(name, help, "counter");
        for (of, count) in values {
            let _ = writeln!(self.0, "sametick_{name}{{{label}=\"{of}\"}} {count}");
        }
    }

    fn ticks(&mut self, figures: &Figures) {
        self.head("tick_seconds", "Work of a tick, datagrams and snapshots included", "histogram");
        for (bound, count) in BUCKETS_MICROS.iter().zip(figures.tick_buckets) {
            let bound = *bound as f64 / 1e6;
            let _ = writeln!(self.0, "sametick_tick_seconds_bucket{{le=\"{bound}\"}} {count}");
        }
        let (ticks, sum) = (figures.ticks, figures.tick_sum.as_seconds_f64());
        let _ = writeln!(self.0, "sametick_tick_seconds_bucket{{le=\"+Inf\"}} {ticks}");
        let _ = writeln!(
            self.0,
            "sametick_tick_seconds_sum {sum}\nsametick_tick_seconds_count {ticks}"
        );
    }
}
