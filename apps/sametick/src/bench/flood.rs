//! `bench flood`: strangers send junk as fast as they can, and the players must not notice.
//!
//! Real UDP sockets on this machine: a server, its honest clients and the strangers, a thread each.
//! All of them share the machine's cores.

mod clients;
mod junk;
mod server;

use super::{Report, print};
use anyhow::{Context, bail, ensure};
use sametick::{Span, Time};
use sametick_links::Clock;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench flood
  sametick bench flood --seconds 30 --junk-per-second 200000 --json
  sametick bench flood --clients 10 --junk-per-second 0";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long the flood lasts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// How much junk is sent in a second, if the machine is fast enough
    #[arg(long, default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=2_000_000))]
    junk_per_second: u32,
    /// How many honest clients there are, each of which sends 60 commands a second
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    clients: u32,
    /// What the junk follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Everyone has joined by then, or never will.
const JOIN_SECONDS_MAX: u64 = 20;

/// A command that is not answered by then is not answered.
const ANSWER_WITHIN: Span = Span::seconds(1);

/// Where a run stands; whoever is done with a stage moves everybody to the next.
pub(crate) struct Stage(AtomicUsize);

/// The stages in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub(crate) enum Now {
    Joining,
    Flooded,
    /// No more junk and no more commands, but answers may still come.
    Settling,
    Over,
}

impl Stage {
    fn enter(&self, now: Now) {
        self.0.store(now as usize, Ordering::Release);
    }

    fn is(&self, now: Now) -> bool {
        self.0.load(Ordering::Acquire) == now as usize
    }
}

/// What all three found out.
struct Outcome {
    server: server::Outcome,
    clients: clients::Outcome,
    junk: junk::Outcome,
    seconds: f64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let outcome = flood(options)?;
    let Outcome { server, clients, junk, seconds } = &outcome;
    let junk_per_second = junk.sent as f64 / seconds;
    let answered_percent = 100.0 * clients.answered as f64 / clients.sent.max(1) as f64;
    let amplification = server.stranger_bytes_out as f64 / server.stranger_bytes_in.max(1) as f64;
    let all_here = clients.connected == options.clients as usize;
    let mut report = Report {
        name: "flood",
        options: json!({
            "seconds": options.seconds,
            "junk_per_second": options.junk_per_second,
            "clients": options.clients,
        }),
        seed: options.seed,
        verified: server.adds_up && clients.all_genuine && all_here,
        figures: Vec::new(),
    };
    report.add("junk_per_second", junk_per_second);
    report.add("junk_received_per_second", server.stranger_datagrams as f64 / seconds);
    report.add("honest_answered_percent", answered_percent);
    report.add("honest_packets", clients.sent as f64);
    report.add("honest_answer_p99_ms", clients.answer_ms(99));
    report.add("clients_connected", clients.connected as f64);
    report.add("unauthenticated_state_bytes", server.stranger_state_bytes as f64);
    report.add("amplification", amplification);
    if let Some(busy) = server.busy_seconds {
        report.add("server_core_percent", 100.0 * busy / seconds);
    }
    if options.json {
        report.print_json()?;
    } else {
        let core = server.busy_seconds.map_or_else(String::new, |busy| {
            format!("The server's thread was busy {:.0} % of the time.\n", 100.0 * busy / seconds)
        });
        print(&format!(
            "{:.1} s of junk on loopback, {} honest clients, seed {}.\n\
             Junk sent             {junk_per_second:>10.0} a second, {:.0} of them received\n\
             Honest packets        {:>10} sent, {answered_percent:.2} % answered within 1 s, 99 of \
             100 within {:.1} ms\n\
             Still connected       {:>10} of {}\n\
             Memory for strangers  {:>10} bytes\n\
             Bytes to strangers    {amplification:>10.4} for each byte from them\n{core}",
            seconds,
            options.clients,
            options.seed,
            server.stranger_datagrams as f64 / seconds,
            clients.sent,
            clients.answer_ms(99),
            clients.connected,
            options.clients,
            server.stranger_state_bytes,
        ))?;
    }
    ensure!(all_here, "an honest client lost its connection");
    ensure!(clients.all_genuine, "an answer was not what its client had sent");
    ensure!(server.adds_up, "a datagram is not accounted for");
    Ok(())
}

fn flood(options: &Options) -> anyhow::Result<Outcome> {
    let clock = Clock::start();
    let stage = Stage(AtomicUsize::new(Now::Joining as usize));
    let links = clients::bind(options.clients)?;
    let server = server::Server::bind(&links, options.clients)?;
    let address = server.address();
    let junk = junk::Junk::bind(address, options.junk_per_second, options.seed)?;
    let joined = AtomicUsize::new(0);
    thread::scope(|scope| {
        let server = scope.spawn(|| server.run(clock, &stage));
        let clients = scope.spawn(|| clients::run(links, address, clock, &stage, &joined));
        let began = wait_for_all(&joined, options.clients as usize, &clock);
        let until = clock.now() + Span::seconds(u64::from(options.seconds));
        let junk = match began {
            Ok(()) => {
                stage.enter(Now::Flooded);
                let from = clock.now();
                let outcome = junk.run(clock, until);
                let seconds = (clock.now() - from).as_seconds_f64();
                stage.enter(Now::Settling);
                thread::sleep(std::time::Duration::from_micros(ANSWER_WITHIN.as_micros()));
                Ok((outcome, seconds))
            }
            Err(error) => Err(error),
        };
        stage.enter(Now::Over);
        let server = server.join().ok().context("the server's thread died")?;
        let clients = clients.join().ok().context("the clients' thread died")??;
        let (junk, seconds) = junk?;
        Ok(Outcome { server, clients, junk, seconds })
    })
}

fn wait_for_all(joined: &AtomicUsize, clients: usize, clock: &Clock) -> anyhow::Result<()> {
    let patience = clock.now() + Span::seconds(JOIN_SECONDS_MAX);
    while joined.load(Ordering::Acquire) < clients {
        if clock.now() >= patience {
            let joined = joined.load(Ordering::Acquire);
            bail!("only {joined} of {clients} clients could join before the flood");
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
    Ok(())
}

/// Seconds for which this thread has run so far, where the system tells.
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// A moment every so often, none of them skipped.
struct Metronome {
    next: Time,
    every: Span,
}

impl Metronome {
    fn is_due(&mut self, now: Time) -> bool {
        let due = now >= self.next;
        if due {
            self.next += self.every;
        }
        due
    }
}
