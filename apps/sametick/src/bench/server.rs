//! `bench server`: what a client's snapshot costs a server, sealed, channel included, and the client.
//!
//! One real server and its real clients in memory, on virtual time; only calls into the library are
//! measured.

mod arena;
mod party;

use super::instructions::collected;
use super::workload::TICKS_PER_SECOND;
use super::{Report, print};
use anyhow::{Context, ensure};
use arena::Film;
use party::{Guests, Party, Spent};
use sametick::{Model, Others};
use serde_json::json;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench server
  sametick bench server --players 64 --rate 20 --loss 0.02 --json
  sametick bench server --instructions      counted by valgrind too
  sametick bench server --idle              a world in which nobody moves
  sametick bench server --model half_life   with shots rewound
  sametick bench server --model doom3       everyone predicted: what that costs clients at which ping";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many players there are; every client sees all of them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=256))]
    players: u32,
    /// Snapshots a second, of a world that ticks 60 times
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60))]
    rate: u32,
    /// Which part of the datagrams is lost, each way
    #[arg(long, default_value_t = 0.0, value_parser = probability)]
    loss: f64,
    /// How the game is served and seen
    #[arg(long, default_value = "quakeworld", value_parser = model)]
    model: Model,
    /// Milliseconds there and back
    #[arg(long, default_value_t = 66, value_parser = clap::value_parser!(u32).range(0..=500))]
    ping: u32,
    /// How many ticks clients take in one when they predict others anew
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    stride: u32,
    /// How many seconds are measured, after those that nobody counts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// What players, keys and loss follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Nobody moves
    #[arg(long)]
    idle: bool,
    /// Count the server's instructions too; takes valgrind and a minute
    #[arg(long)]
    instructions: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// So many players fit one datagram: a snapshot comes whole or not at all.
const PLAYERS_IN_ONE_PART: usize = 64;

/// Everyone joins, queues grow, round trips become known.
const WARM_UP_SECONDS: u32 = 5;

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(loss) if (0.0..=0.9).contains(&loss) => Ok(loss),
        _ => Err("a part from 0 to 0.9".into()),
    }
}

pub(super) fn model(name: &str) -> Result<Model, String> {
    let names = || Model::ALL.map(|model| model.name).join(", ");
    Model::named(name).ok_or_else(|| format!("one of {}", names()))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let ticks = (WARM_UP_SECONDS + options.seconds + 1) * TICKS_PER_SECOND;
    let pages = if options.idle { 1 } else { ticks };
    let film = Arc::new(Film::new(options.seed, options.players as usize, pages));
    let ticks_per_snapshot = TICKS_PER_SECOND.div_ceil(options.rate);
    let guests = Guests {
        players: options.players,
        model: options.model,
        stride: options.stride,
        ping_ms: options.ping,
    };
    let mut party = Party::new(guests, ticks_per_snapshot, options.loss, options.seed, &film);
    party.run(WARM_UP_SECONDS * TICKS_PER_SECOND);
    ensure!(party.is_complete(), "not everyone joined within {WARM_UP_SECONDS} s");
    (party.verified, party.compared) = (true, 0);
    let malformed = party.malformed();
    let (mut sum, mut best) = (Spent::default(), Best::default());
    for _ in 0..options.seconds {
        party.spent = Spent::default();
        party.run(TICKS_PER_SECOND);
        best.take(&party.spent);
        sum.allocations += party.spent.allocations;
        sum.due += party.spent.due;
        sum.bytes_down += party.spent.bytes_down;
    }
    let mut report = Report {
        name: "server",
        options: json!({
            "players": options.players,
            "rate": options.rate,
            "loss": options.loss,
            "model": options.model.name,
            "ping": options.ping,
            "stride": options.stride,
            "seconds": options.seconds,
            "idle": options.idle,
        }),
        seed: options.seed,
        verified: party.verified && party.compared > 0 && party.malformed() == malformed,
        figures: Vec::new(),
    };
    let players = f64::from(options.players);
    let due = sum.due as f64;
    report.add("server_us_per_client_snapshot", best.server_us_per_snapshot);
    report.add("server_us_per_tick", best.server_us_per_tick);
    report.add("bytes_per_entity_update", sum.bytes_down as f64 / due / players);
    report.add("client_us_per_snapshot", best.client_us_per_snapshot);
    report.add("repredict_us_per_tick", best.repredict_us_per_tick);
    report.add("server_bytes_per_client", party.server_bytes as f64 / players);
    report.add("allocations_per_client_snapshot", sum.allocations as f64 / due);
    report.add("repredicted_ticks_per_snapshot", best.repredicted_ticks);
    if options.model.view.others == Others::Predicted {
        add_sweep(&mut report, options, &film)?;
    }
    if options.instructions {
        let instructions = instructions(options)?;
        report.add("server_instructions_per_client_snapshot", instructions);
    }
    if options.json { report.print_json() } else { print(&text(options, &report)) }
}

/// What predicting everyone takes a client at some pings, in steps of one tick and in larger ones.
fn add_sweep(report: &mut Report, options: &Options, film: &Arc<Film>) -> anyhow::Result<()> {
    for (ping_ms, stride) in [(50, 1), (50, 4), (100, 1), (100, 4), (200, 1), (200, 4)] {
        let Options { players, model, .. } = *options;
        let guests = Guests { players, model, stride, ping_ms };
        let ticks_per_snapshot = TICKS_PER_SECOND.div_ceil(options.rate);
        let mut party = Party::new(guests, ticks_per_snapshot, options.loss, options.seed, film);
        party.run(WARM_UP_SECONDS * TICKS_PER_SECOND);
        ensure!(party.is_complete(), "not everyone joined at {ping_ms} ms");
        let mut best = Best::default();
        for _ in 0..options.seconds.min(3) {
            party.spent = Spent::default();
            party.run(TICKS_PER_SECOND);
            best.take(&party.spent);
        }
        let name = |what: &str| format!("ping_{ping_ms}_ms_stride_{stride}_{what}");
        // Our own at each tick, the others when they are due.
        let steps = (best.repredicted_ticks / f64::from(stride)).ceil();
        let entity_ticks = best.repredicted_ticks + steps * f64::from(players - 1);
        report.add(name("repredicted_entity_ticks"), entity_ticks);
        let us = best.repredict_us_per_tick * best.repredicted_ticks;
        report.add(name("repredict_us"), us);
    }
    Ok(())
}

/// The least of each figure: the others were disturbed.
struct Best {
    server_us_per_snapshot: f64,
    server_us_per_tick: f64,
    client_us_per_snapshot: f64,
    repredict_us_per_tick: f64,
    /// Ticks stepped again for a snapshot.
    repredicted_ticks: f64,
}

impl Default for Best {
    fn default() -> Self {
        Self {
            server_us_per_snapshot: f64::MAX,
            server_us_per_tick: f64::MAX,
            client_us_per_snapshot: f64::MAX,
            repredict_us_per_tick: f64::MAX,
            repredicted_ticks: f64::MAX,
        }
    }
}

impl Best {
    fn take(&mut self, spent: &Spent) {
        let each = |span: Duration, count: u64| span.as_secs_f64() * 1e6 / count.max(1) as f64;
        let least = |best: &mut f64, now: f64| *best = best.min(now);
        least(&mut self.server_us_per_snapshot, each(spent.server, spent.due));
        least(&mut self.server_us_per_tick, each(spent.server, spent.ticks));
        let [predicts, watches] = spent.clients;
        let (whole, bare) =
            (each(predicts.time, predicts.snapshots), each(watches.time, watches.snapshots));
        least(&mut self.client_us_per_snapshot, whole);
        // What predicting takes besides, for each tick that is stepped again.
        let again = predicts.ticks_again as f64 / predicts.snapshots.max(1) as f64;
        least(&mut self.repredicted_ticks, again);
        least(&mut self.repredict_us_per_tick, ((whole - bare) / again.max(1.0)).max(0.0));
    }
}

/// Instructions of the server for each client's snapshot: the difference of a long and a short run.
fn instructions(options: &Options) -> anyhow::Result<f64> {
    let count = |seconds: u32| {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg("--toggle-collect=*step_server*")
            .arg(std::env::current_exe().context("this program cannot be found")?)
            .args(["bench", "server", "--json", "--seconds", &seconds.to_string()])
            .args(["--players", &options.players.to_string()])
            .args(["--rate", &options.rate.to_string()])
            .args(["--loss", &options.loss.to_string()])
            .args(["--model", options.model.name, "--ping", &options.ping.to_string()])
            .args(["--seed", &options.seed.to_string()]);
        if options.idle {
            command.arg("--idle");
        }
        collected(&mut command)
    };
    let (few, many) = (count(1)?, count(3)?);
    let ticks_per_snapshot = TICKS_PER_SECOND.div_ceil(options.rate);
    let snapshots = options.players * 2 * TICKS_PER_SECOND / ticks_per_snapshot;
    Ok((many - few) as f64 / f64::from(snapshots))
}

fn text(options: &Options, report: &Report) -> String {
    let Options { players, rate, loss, model, ping, .. } = options;
    let mut text = format!(
        "{players} players who see each other, {rate} snapshots a second, {:.1} % lost, {ping} ms there \
         and back, {}, sealed:\n",
        loss * 100.0,
        model.name
    );
    for (name, value) in &report.figures {
        text += &format!("  {:<48}{value:>12.2}\n", name.replace('_', " "));
    }
    let verdict = if report.verified { "" } else { "not " };
    text + &format!("What clients had was {verdict}what the server showed.\n")
}
