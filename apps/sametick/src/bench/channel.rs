//! `bench channel`: what a packet costs from message to sealed datagram and back, and a connection.
//!
//! In memory, on virtual time, both ends in one thread: no socket and no scheduler is measured.

mod memory;
mod ours;
#[cfg(feature = "peers")]
mod renet;

use super::{Report, print};
use anyhow::{Context, ensure};
use memory::Memory;
use sametick::bits::BitWriter;
use sametick::channel::{BODY_BYTES_MAX, Channel, Event, Settings};
use sametick::{Dice, Span, Time};
use serde_json::json;
use std::fmt::Write;
use std::time::{Duration, Instant};

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench channel
  sametick bench channel --packets 100000 --bytes 400 --seed 7 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many packets are sent, half of them each way
    #[arg(long, default_value_t = 200_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2000..=100_000_000))]
    packets: u32,
    /// The length of each payload
    #[arg(long, default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    bytes: u32,
    /// What keys and payloads follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// A tick of virtual time: one payload each way.
const TICK: Span = Span::micros(16_667);

/// Rounds of each contestant take turns, and the best counts: the others were disturbed.
const ROUNDS: u32 = 200;

/// Ticks before anything is counted: queues have grown and round trips are known.
const WARM_UP_TICKS: u32 = 300;

/// Two ends of one connection, which hand each other a payload a tick.
trait Exchange {
    /// Sends `up` to the server and `down` to the client; says whether both came as they were.
    fn tick(&mut self, now: Time, up: &[u8], down: &[u8], spent: &mut Spent) -> bool;
}

/// What some ticks took, both ends together.
#[derive(Clone, Copy, Default)]
struct Spent {
    advance: Duration,
    send: Duration,
    receive: Duration,
    datagrams: u64,
}

impl Spent {
    /// From the moments before advancing, sending and receiving, and after.
    fn add(&mut self, [began, advanced, sent, received]: [Instant; 4]) {
        self.advance += advanced - began;
        self.send += sent - advanced;
        self.receive += received - sent;
    }
}

/// What one payload takes, in nanoseconds.
#[derive(Clone, Copy)]
struct Cost {
    advance_ns: f64,
    send_ns: f64,
    receive_ns: f64,
    datagrams: f64,
}

/// One side of the comparison, through all its rounds.
struct Contestant<E> {
    exchange: E,
    now: Time,
    dice: Dice,
    payloads: [Vec<u8>; 2],
    best: Option<Cost>,
    verified: bool,
}

impl<E: Exchange> Contestant<E> {
    fn new(exchange: E, options: &Options, now: Time) -> Self {
        let payload = vec![0; options.bytes as usize];
        let mut contestant = Self {
            exchange,
            now,
            dice: Dice::new(options.seed, 2),
            payloads: [payload.clone(), payload],
            best: None,
            verified: true,
        };
        contestant.run(WARM_UP_TICKS);
        contestant
    }

    fn run(&mut self, ticks: u32) -> Spent {
        let mut spent = Spent::default();
        for _ in 0..ticks {
            self.payloads.iter_mut().for_each(|payload| self.dice.fill(payload));
            let [up, down] = &self.payloads;
            self.verified &= self.exchange.tick(self.now, up, down, &mut spent);
            self.now += TICK;
        }
        spent
    }

    fn round(&mut self, ticks: u32, clock_ns: f64) {
        let spent = self.run(ticks);
        let payloads = 2.0 * f64::from(ticks);
        let each = |span: Duration| (span.as_nanos() as f64 / payloads - clock_ns).max(0.0);
        let cost = Cost {
            advance_ns: each(spent.advance),
            send_ns: each(spent.send),
            receive_ns: each(spent.receive),
            datagrams: spent.datagrams as f64 / payloads,
        };
        let best = self.best.get_or_insert(cost);
        best.advance_ns = best.advance_ns.min(cost.advance_ns);
        best.send_ns = best.send_ns.min(cost.send_ns);
        best.receive_ns = best.receive_ns.min(cost.receive_ns);
    }

    /// How often memory is asked for, for each payload.
    fn allocations(&mut self, ticks: u32) -> f64 {
        let counted = allocation_counter::measure(|| {
            self.run(ticks);
        });
        counted.count_total as f64 / (2.0 * f64::from(ticks))
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let ticks = (options.packets / 2 / ROUNDS).max(1);
    let clock_ns = clock_ns();
    let (pair, now) = ours::Pair::connect(options.seed)?;
    let mut ours = Contestant::new(pair, options, now);
    #[cfg(feature = "peers")]
    let mut peer = Contestant::new(renet::Pair::connect()?, options, Time::ZERO);
    for _ in 0..ROUNDS {
        ours.round(ticks, clock_ns);
        #[cfg(feature = "peers")]
        peer.round(ticks, clock_ns);
    }
    let mut report = Report {
        name: "channel",
        options: json!({ "packets": options.packets, "bytes": options.bytes }),
        seed: options.seed,
        verified: true,
        figures: Vec::new(),
    };
    let allocations = ours.allocations(ticks);
    report.add("allocations_per_packet", allocations);
    let mut text = format!(
        "{} payloads of {} bytes, sealed, 60 a second of virtual time each way, seed {}.\n\
         {:<20}{:>10}{:>12}{:>12}{:>14}{:>12}\n",
        options.packets,
        options.bytes,
        options.seed,
        "each payload",
        "send ns",
        "receive ns",
        "advance ns",
        "allocations",
        "datagrams"
    );
    let own = add_cost(&mut report, &mut text, "", "sametick", ours.best, allocations)?;
    #[cfg(feature = "peers")]
    {
        let allocations = peer.allocations(ticks);
        report.add("renet_allocations_per_packet", allocations);
        let name = "renet with netcode";
        let other = add_cost(&mut report, &mut text, "renet_", name, peer.best, allocations)?;
        report.verified &= peer.verified;
        let ratios = [other.send_ns / own.send_ns, other.receive_ns / own.receive_ns];
        report.add("renet_send_ratio", ratios[0]);
        report.add("renet_receive_ratio", ratios[1]);
        writeln!(text, "{:<20}{:>10.1}{:>12.1}", "times our cost", ratios[0], ratios[1])?;
    }
    #[cfg(not(feature = "peers"))]
    let _ = own;
    let memory = Memory::measure(options.seed)?;
    report.verified &= ours.verified && memory.verified;
    memory.add_to(&mut report, &mut text)?;
    if options.json {
        report.print_json()?;
    } else {
        print(&text)?;
    }
    ensure!(report.verified, "a payload did not come as it was sent");
    Ok(())
}

fn add_cost(
    report: &mut Report,
    text: &mut String,
    prefix: &str,
    name: &str,
    best: Option<Cost>,
    allocations: f64,
) -> anyhow::Result<Cost> {
    let Some(cost) = best else { anyhow::bail!("nothing was measured") };
    let Cost { advance_ns, send_ns, receive_ns, datagrams } = cost;
    report.add(format!("{prefix}send_ns"), send_ns);
    report.add(format!("{prefix}receive_ns"), receive_ns);
    report.add(format!("{prefix}advance_ns"), advance_ns);
    report.add(format!("{prefix}datagrams_per_packet"), datagrams);
    writeln!(
        text,
        "{name:<20}{send_ns:>10.0}{receive_ns:>12.0}{advance_ns:>12.0}{allocations:>14.2}\
         {datagrams:>12.2}"
    )?;
    Ok(cost)
}

/// The work that `instructions` counts: ticks of two payloads, sent sealed over a connection.
pub(super) fn work_sealed(ticks: u32) -> anyhow::Result<()> {
    let (mut pair, mut now) = ours::Pair::connect(1)?;
    for _ in 0..ticks {
        ensure!(pair.untimed_tick(now, &[7; 100]), "a payload did not come");
        now += TICK;
    }
    Ok(())
}

/// The same over channels alone, without keys.
pub(super) fn work_unsealed(ticks: u32) -> anyhow::Result<()> {
    let mut body = BitWriter::fixed(BODY_BYTES_MAX);
    let mut now = Time::ZERO;
    let mut ends = [1, 2].map(|seed| Channel::new(Settings::default(), now, seed));
    for token in 0..2 * ticks {
        let [first, second] = &mut ends;
        let (near, far) = if token % 2 == 0 { (first, second) } else { (second, first) };
        near.advance(now, &mut |_| {});
        near.send_unreliable(token, &[7; 100]);
        body.clear();
        let number = near.transmit(now, &mut body).context("nothing was sent")?;
        now += TICK / 2;
        let mut came = false;
        far.receive(now, number, body.finish()?, &mut |event| {
            came |= matches!(event, Event::Unreliable(said) if said == [7; 100]);
        });
        ensure!(came, "a payload did not come");
    }
    Ok(())
}

/// What reading the clock takes, which every measured stretch contains once.
fn clock_ns() -> f64 {
    let read = |_| {
        let began = Instant::now();
        let mut ended = began;
        (0..1000).for_each(|_| ended = Instant::now());
        (ended - began).as_nanos() as f64 / 1000.0
    };
    (0..20).map(read).fold(f64::MAX, f64::min)
}
