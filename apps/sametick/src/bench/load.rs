//! `bench load`: how many players one core holds. A real server of the arena in memory, on virtual time; only its
//! own calls are measured, everything sealed, shots rewound.

mod crowd;
mod curve;

use super::{Report, print};
use anyhow::{Context, ensure};
use crowd::{Crowd, Match, Spent};
use sametick::Model;
use sametick_arena::{Content, Mode, map};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench load --players 128 --snapshot-rate 60
  sametick bench load --players 256 --json
  sametick bench load --players 1000 --map field     each told of those it may see
  sametick bench load --players 64 --tick-rate 400 --snapshot-rate 400
  sametick bench load --curve --svg load.svg         from 2 to 1000 players, as a table and a picture";

#[derive(Clone, clap::Args)]
pub(crate) struct Options {
    /// How many players there are
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=1000))]
    players: u32,
    /// Ticks a second
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(20..=1000))]
    tick_rate: u32,
    /// Snapshots a second; what does not divide the ticks is rounded down to what does
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    snapshot_rate: u32,
    /// Where they play, corners, halls or field, each told of those it may see; without it on the field, everyone told
    /// of everyone
    #[arg(long, value_name = "NAME")]
    map: Option<String>,
    /// How the game is served and seen
    #[arg(long, default_value = "half_life", value_parser = super::server::model)]
    model: Model,
    /// Milliseconds there and back
    #[arg(long, default_value_t = 66, value_parser = clap::value_parser!(u32).range(0..=500))]
    ping: u32,
    /// How many seconds are measured, after those that nobody counts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// What players, keys and chance follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure 2 to 1000 players
    #[arg(long)]
    curve: bool,
    /// Draw the curve into this file
    #[arg(long, requires = "curve")]
    svg: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

impl Options {
    fn map(&self) -> &str {
        self.map.as_deref().unwrap_or("field")
    }

    fn all_visible(&self) -> bool {
        self.map.is_none()
    }
}

/// Everyone joins, queues grow, round trips become known.
const WARM_UP_SECONDS: u32 = 4;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let content = content(options)?;
    if options.curve {
        return curve::run(options, &content);
    }
    let report = measure(options, &content)?;
    if options.json { report.print_json() } else { print(&text(&report)) }
}

fn content(options: &Options) -> anyhow::Result<Content> {
    let known = map::MAPS.iter().find(|(name, _)| *name == options.map());
    let names = || map::MAPS.map(|(name, _)| name).join(", ");
    let (_, text) = known.with_context(|| format!("no map {:?}: {}", options.map(), names()))?;
    let mut content = Content::new(text, Mode::FreeForAll)?;
    content.tuning.sees_all = options.all_visible();
    Ok(content)
}

fn measure(options: &Options, content: &Content) -> anyhow::Result<Report> {
    let plan = Match {
        players: options.players,
        tick_rate: options.tick_rate,
        ticks_per_snapshot: options.tick_rate.div_ceil(options.snapshot_rate),
        model: options.model,
        ping_ms: options.ping,
        content: content.clone(),
        seed: options.seed,
    };
    let mut crowd = Crowd::new(&plan);
    crowd.run(WARM_UP_SECONDS * options.tick_rate);
    ensure!(crowd.is_complete(), "not everyone joined within {WARM_UP_SECONDS} s");
    crowd.spent = Spent::default();
    (crowd.verified, crowd.compared) = (true, 0);
    let malformed = crowd.malformed();
    crowd.run(options.seconds * options.tick_rate);
    let mut report = Report {
        name: "load",
        options: json!({
            "players": options.players,
            "tick_rate": options.tick_rate,
            "snapshot_rate": options.snapshot_rate,
            "map": options.map(),
            "all_visible": options.all_visible(),
            "model": options.model.name,
            "ping": options.ping,
            "seconds": options.seconds,
        }),
        seed: options.seed,
        verified: crowd.verified && crowd.compared > 0 && crowd.malformed() == malformed,
        figures: Vec::new(),
    };
    let Spent { mut ticks, bytes_down, snapshots, late } = std::mem::take(&mut crowd.spent);
    let (players, seconds) = (f64::from(options.players), f64::from(options.seconds));
    let core: Duration = ticks.iter().sum();
    ticks.sort_unstable();
    let part =
        |share: f64| ticks[((ticks.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1e3;
    report.add("players", players);
    report.add("ticks_per_second", ticks.len() as f64 / seconds);
    report.add("snapshots_per_second_per_client", snapshots as f64 / players / seconds);
    report.add("tick_p50_ms", part(0.5));
    report.add("tick_p99_ms", part(0.99));
    report.add("server_core_percent", core.as_secs_f64() / seconds * 100.0);
    report.add("bytes_per_client_per_second", bytes_down as f64 / players / seconds);
    report.add("server_bytes_per_client", crowd.server_bytes as f64 / players);
    report.add("late_commands_percent", late as f64 / players / ticks.len() as f64 * 100.0);
    Ok(report)
}

fn text(report: &Report) -> String {
    let mut text =
        String::from("A match of the arena, its server on one core, everything sealed:\n");
    for (name, value) in &report.figures {
        text += &format!("  {:<40}{value:>14.2}\n", name.replace('_', " "));
    }
    let verdict = if report.verified { "" } else { "not " };
    text + &format!("What clients had was {verdict}what the server showed.\n")
}
