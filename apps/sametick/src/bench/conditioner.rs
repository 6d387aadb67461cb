//! `bench conditioner`: whether a bad network in real time adds what was asked and nothing else.

use super::{Report, print};
use anyhow::{Context, ensure};
use sametick::network::{Conditions, IN_FLIGHT_MAX, Jitter, Loss, Statistics};
use sametick::{Dice, Span, Time};
use sametick_links::conditioner::{Direction, Passage};
use sametick_links::{Clock, Conditioned, Link, UdpLink};
use serde_json::json;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench conditioner
  sametick bench conditioner --delay-ms 100 --jitter-ms 20 --loss 5
  sametick bench conditioner --packets 10000 --rate 1000 --seed 7 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each datagram is held, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50.0, value_parser = parse_delay)]
    delay_ms: f64,
    /// How much longer it is held at most, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5.0, value_parser = parse_delay)]
    jitter_ms: f64,
    /// How many of a hundred are lost
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = parse_loss)]
    loss: f64,
    /// How many datagrams are sent
    #[arg(long, default_value_t = 1500)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    packets: u32,
    /// How many datagrams are sent a second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    rate: u32,
    /// What jitter and loss follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

const DELAY_MS_MAX: f64 = 10_000.0;
/// How many datagrams tell what the loopback takes by itself.
const UNCONDITIONED_MAX: u32 = 500;
/// What a small game sends.
const DATAGRAM_BYTES: usize = 100;
const HEAD_BYTES: usize = 8;
/// How often the receiver asks whether it is over.
const LOOK_EVERY: Span = Span::millis(20);

/// The goals on an idle machine, in milliseconds.
const ERROR_P50_GOAL_MS: f64 = 0.3;
const ERROR_P99_GOAL_MS: f64 = 2.0;

fn parse_delay(text: &str) -> Result<f64, String> {
    let millis: f64 = text.parse().map_err(|_| "not a number of milliseconds")?;
    let is_possible = (0.0..=DELAY_MS_MAX).contains(&millis);
    is_possible.then_some(millis).ok_or(format!("0 to {DELAY_MS_MAX} are possible"))
}

fn parse_loss(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number")?;
    // Of nothing at all no delay can be measured.
    let is_possible = (0.0..=99.0).contains(&percent);
    is_possible.then_some(percent).ok_or("0 to 99 are possible".into())
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let seconds_held = (options.delay_ms + options.jitter_ms) / 1000.0;
    ensure!(
        f64::from(options.rate) * seconds_held < IN_FLIGHT_MAX as f64,
        "too many datagrams would be under way, {IN_FLIGHT_MAX} is the most: \
         choose a lower --rate or a shorter --delay-ms"
    );
    let measured = measure(options).context("cannot use UDP on the loopback")?;
    ensure!(!measured.achieved.is_empty(), "all datagrams were lost: nothing can be measured");
    let mut report = Report {
        name: "conditioner",
        options: json!({
            "delay_ms": options.delay_ms,
            "jitter_ms": options.jitter_ms,
            "loss": options.loss,
            "packets": options.packets,
            "rate": options.rate,
        }),
        seed: options.seed,
        verified: measured.verified,
        figures: Vec::new(),
    };
    add_figures(&mut report, options, &measured);
    if options.json {
        report.print_json()?;
    } else {
        print(&describe(options, &measured)?)?;
    }
    ensure!(report.verified, "a datagram came damaged, early or not at all");
    Ok(())
}

/// Delays in milliseconds, sorted.
struct Measured {
    asked: Vec<f64>,
    achieved: Vec<f64>,
    /// How far each datagram was from what was asked of it, when the loopback's own time is taken
    /// off; more and less count alike.
    error: Vec<f64>,
    /// How late each was let go: the conditioner's own part of the error.
    late: Vec<f64>,
    loopback_p50: f64,
    /// What the machine disturbs without any conditions, its load included.
    loopback_p99: f64,
    arrived: usize,
    verified: bool,
}

fn measure(options: &Options) -> anyhow::Result<Measured> {
    let clock = Clock::start();
    let packets = options.packets.min(UNCONDITIONED_MAX);
    let mut plain = bind()?;
    let unconditioned = send_all(&mut plain, &clock, packets, options.rate)?;
    let loopback: Vec<f64> = sorted(unconditioned.delays());
    let loopback_p50 = percentile(&loopback, 50.0);

    let mut sender = Conditioned::new(bind()?, options.seed);
    sender.set_conditions(Direction::Outbound, conditions(options));
    sender.keep_log(options.packets as usize);
    let run = send_all(&mut sender, &clock, options.packets, options.rate)?;
    let log = sender.take_log();
    let statistics = sender.statistics_of(run.receiver, Direction::Outbound);
    let statistics = statistics.copied().unwrap_or_default();
    let asked: Vec<f64> = log.iter().map(|it| (it.due - it.entered).as_millis_f64()).collect();
    let achieved = run.delays();
    let error = asked.iter().zip(&achieved);
    let error = error.map(|(asked, achieved)| (achieved - asked - loopback_p50).abs()).collect();
    Ok(Measured {
        verified: unconditioned.is_whole
            && unconditioned.arrivals.len() == packets as usize
            && sender.link().statistics().closes()
            && is_as_decided(options, &run, &log, &statistics),
        asked: sorted(asked),
        arrived: achieved.len(),
        achieved: sorted(achieved),
        error: sorted(error),
        late: sorted(log.iter().map(|it| (it.released - it.due).as_millis_f64()).collect()),
        loopback_p50,
        loopback_p99: percentile(&loopback, 99.0),
    })
}

fn bind() -> anyhow::Result<UdpLink> {
    Ok(UdpLink::bind("127.0.0.1:0".parse()?)?)
}

fn conditions(options: &Options) -> Conditions {
    Conditions {
        delay: Span::from_millis_f64(options.delay_ms),
        jitter: Jitter::Uniform { width: Span::from_millis_f64(options.jitter_ms) },
        loss: Loss::Random { probability: options.loss / 100.0 },
        ..Conditions::PERFECT
    }
}

/// Whether exactly the datagrams arrived that were to arrive, whole, in order and none too early.
fn is_as_decided(options: &Options, run: &Run, log: &[Passage], statistics: &Statistics) -> bool {
    let counts = statistics.closes()
        && statistics.pushed == u64::from(options.packets)
        && statistics.pushed == statistics.delivered + statistics.lost
        && statistics.delivered == run.arrivals.len() as u64
        && log.len() == run.arrivals.len();
    let in_order = run.arrivals.is_sorted_by(|(one, _), (next, _)| one < next);
    let matches = log.iter().zip(&run.arrivals).all(|(passage, (index, arrived))| {
        passage.entered == run.sent[*index] && *arrived >= passage.due
    });
    run.is_whole && counts && in_order && matches
}

/// What was sent and what arrived.
struct Run {
    receiver: sametick::Peer,
    sent: Vec<Time>,
    /// Which datagram arrived and when, in that order.
    arrivals: Vec<(usize, Time)>,
    /// Whether each datagram that arrived was as it was sent.
    is_whole: bool,
}

impl Run {
    fn delays(&self) -> Vec<f64> {
        let delay =
            |(index, arrived): &(usize, Time)| (*arrived - self.sent[*index]).as_millis_f64();
        self.arrivals.iter().map(delay).collect()
    }
}

/// Sends datagrams at an even pace, to a receiver on another thread.
fn send_all(link: &mut impl Link, clock: &Clock, packets: u32, rate: u32) -> anyhow::Result<Run> {
    let mut receiver = bind()?;
    let to = receiver.local();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive_all(&mut receiver, clock, packets, &is_over));
        let begin = clock.now();
        let mut sent = Vec::with_capacity(packets as usize);
        for index in 0..u64::from(packets) {
            let at = begin + Span::seconds(index) / u64::from(rate);
            while clock.now() < at {
                link.wait(clock, at);
            }
            let now = clock.now();
            link.send(now, to, &datagram(index as usize));
            link.flush(now);
            sent.push(now);
        }
        while let Some(wake) = link.next_wake() {
            link.wait(clock, wake + LOOK_EVERY);
        }
        is_over.store(true, Ordering::Release);
        let (arrivals, is_whole) = receiving.join().expect("the receiver does not panic");
        Ok(Run { receiver: to, sent, arrivals, is_whole })
    })
}

fn receive_all(
    link: &mut UdpLink,
    clock: &Clock,
    packets: u32,
    is_over: &AtomicBool,
) -> (Vec<(usize, Time)>, bool) {
    let mut arrivals = Vec::with_capacity(packets as usize);
    let (mut bytes, mut is_whole) = (Vec::new(), true);
    loop {
        // Asked first: what was sent before the end is then received after it.
        let was_over = is_over.load(Ordering::Acquire);
        while link.receive(clock.now(), &mut bytes).is_some() {
            let arrived = clock.now();
            let head = bytes.first_chunk::<HEAD_BYTES>().copied().unwrap_or([0xff; HEAD_BYTES]);
            let index = u64::from_le_bytes(head) as usize;
            if index < packets as usize && bytes == datagram(index) {
                arrivals.push((index, arrived));
            } else {
                is_whole = false;
            }
        }
        if was_over {
            return (arrivals, is_whole);
        }
        link.wait(clock, clock.now() + LOOK_EVERY);
    }
}

/// Its number, and bytes that follow from it.
fn datagram(index: usize) -> [u8; DATAGRAM_BYTES] {
    let mut bytes = [0; DATAGRAM_BYTES];
    bytes[..HEAD_BYTES].copy_from_slice(&(index as u64).to_le_bytes());
    Dice::new(index as u64, 1).fill(&mut bytes[HEAD_BYTES..]);
    bytes
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The smallest value that so many per cent do not exceed.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn loss_achieved(options: &Options, measured: &Measured) -> f64 {
    100.0 * (1.0 - measured.arrived as f64 / f64::from(options.packets))
}

fn add_figures(report: &mut Report, options: &Options, measured: &Measured) {
    let Measured { error, achieved, late, .. } = measured;
    for (name, values) in [("error", error), ("achieved", achieved), ("late", late)] {
        for percent in [50.0, 95.0, 99.0] {
            report.add(format!("{name}_p{percent}_ms"), percentile(values, percent));
        }
    }
    report.add("asked_delay_ms", percentile(&measured.asked, 50.0));
    report.add("loopback_p50_ms", measured.loopback_p50);
    report.add("loopback_p99_ms", measured.loopback_p99);
    report.add("loss_asked_percent", options.loss);
    report.add("loss_achieved_percent", loss_achieved(options, measured));
    report.add("received_count", measured.arrived as f64);
}

fn describe(options: &Options, measured: &Measured) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "{} datagrams of {DATAGRAM_BYTES} bytes at {} a second over UDP on the loopback, seed {}: \
         {} ms of delay, up to {} ms of jitter, {} % loss.\n\n",
        options.packets,
        options.rate,
        options.seed,
        options.delay_ms,
        options.jitter_ms,
        options.loss,
    );
    writeln!(text, "                         p50           p95           p99")?;
    let error = &measured.error;
    let rows = [
        ("asked", &measured.asked),
        ("achieved", &measured.achieved),
        ("error", error),
        ("let go late", &measured.late),
    ];
    for (name, values) in rows {
        let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|percent| percentile(values, percent));
        writeln!(text, "  {name:<12}  {p50:>11.3} ms{p95:>11.3} ms{p99:>11.3} ms")?;
    }
    writeln!(
        text,
        "  Without conditions the loopback alone takes {:.3} ms (p99 {:.3} ms); the error is what is \
         left without that median.",
        measured.loopback_p50, measured.loopback_p99
    )?;
    writeln!(
        text,
        "  loss: {:.2} % asked, {:.2} % achieved; {} of {} arrived.",
        options.loss,
        loss_achieved(options, measured),
        measured.arrived,
        options.packets
    )?;
    for (percent, goal) in [(50.0, ERROR_P50_GOAL_MS), (99.0, ERROR_P99_GOAL_MS)] {
        let reached = if percentile(error, percent) < goal { "reached" } else { "missed" };
        writeln!(
            text,
            "  goal on an idle machine, p{percent} of the error under {goal} ms: {reached}"
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        let at = |percent| percentile(&values, percent);
        assert_eq!([at(0.0), at(50.0), at(99.0), at(100.0)], [1.0, 100.0, 198.0, 200.0]);
        assert_eq!(percentile(&[3.0], 50.0), 3.0);
        assert_eq!(percentile(&[], 50.0), 0.0);
    }

    #[test]
    fn impossible_options_are_refused() {
        assert!(["-1", "10001", "NaN", "fast"].iter().all(|text| parse_delay(text).is_err()));
        assert!(["-1", "100", "NaN", "some"].iter().all(|text| parse_loss(text).is_err()));
        assert_eq!((parse_delay("0.5"), parse_loss("2.5")), (Ok(0.5), Ok(2.5)));
    }
}
