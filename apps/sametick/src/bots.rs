//! `bots`: headless players over real sockets, and what they met with.

use crate::address;
use crate::content::Shelf;
use crate::crew::skill::{self, skills};
use crate::crew::{self, Crew};
use crate::line::LineOptions;
use crate::rules::models;
use crate::stop::Stop;
use crate::tables::{self, Codec};
use crate::tokens;
use anyhow::bail;
use clap::{Args, value_parser};
use sametick::{Model, Span};
use sametick_arena::bot::Skill;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bots --connect 127.0.0.1:4000 --count 8
  sametick bots --connect 127.0.0.1:4000 --count 64 --seconds 60 --profile wifi
  sametick bots --connect 127.0.0.1:4000 --delay 50 --jitter 10 --loss 0.02 --model doom3
  sametick bots --connect 127.0.0.1:4000 --count 250 --crowd    a load, not a match (docs/load.md)
  sametick bots --connect game.example.org:4000 --token-key server.key --json";

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The server
    #[arg(long, value_name = "HOST:PORT")]
    connect: String,
    /// Players
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=1000))]
    count: u32,
    /// How long they play, from when they have joined; 0 is until the server stops or Ctrl-C
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(0..=1_000_000))]
    seconds: u32,
    #[command(flatten)]
    line: LineOptions,
    /// Players who press any key and keep no world: they cost a server what others do, and hundreds fit one machine
    #[arg(long)]
    crowd: bool,
    /// How well they play
    #[arg(long, default_value = skill::USUAL, value_parser = skills())]
    skill: Skill,
    /// Network model whose view of the others they have
    #[arg(long, default_value = "half_life", value_parser = models())]
    model: Model,
    /// The server's map, if it is none of those that come with the game
    #[arg(long, value_name = "FILE")]
    map: Option<String>,
    /// The server's token key, if it has one
    #[arg(long, value_name = "FILE")]
    token_key: Option<PathBuf>,
    /// How snapshots must come: compact is an error if the server's tables are not ours; without it as the server can
    #[arg(long, value_enum)]
    codec: Option<Codec>,
    /// The server's tables, if it has a file of them
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// Decides the bots' whims and their line's chances
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let stop = Stop::on_signals()?;
    let crew = Crew {
        server: address::resolve(&options.connect)?,
        client_ids: crew::client_ids(options.count as usize),
        key: options.token_key.as_deref().map(tokens::read_key).transpose()?,
        shelf: Arc::new(Shelf::new(options.map.as_deref())?),
        view: options.model.view,
        skill: options.skill,
        seed: options.seed,
        conditions: options.line.conditions()?,
        plays_for: (options.seconds > 0).then(|| Span::seconds(options.seconds.into())),
        tables: options.tables.as_deref().map(tables::read).transpose()?,
        reads_compact: options.codec != Some(Codec::Plain),
        needs_compact: options.codec == Some(Codec::Compact),
    };
    let summary = if options.crowd { crew.crowd(&stop)? } else { crew.play(&stop)? };
    if summary.joined() == 0 && !stop.is_asked() {
        let reasons: Vec<String> = summary.reasons().into_keys().collect();
        let (reason, advice) = match reasons.first().map_or("no answer", String::as_str) {
            "unknown map" => ("it plays a map that is not known here", "give its file with --map"),
            "denied, server full" => ("it is full", "raise its --players-max, or come later"),
            denied if denied.starts_with("denied") => (denied, "draw a fresh token"),
            _ => (
                "nothing came back",
                "start it with `sametick serve`, or give its --token-key if it has one",
            ),
        };
        bail!("nobody could join {}: {reason}; {advice}", options.connect);
    }
    let wants_compact = options.codec == Some(Codec::Compact);
    if let Some(agreed) = summary.not_compact().filter(|_| wants_compact) {
        bail!("snapshots of {} come {agreed}; give its tables with --tables", options.connect);
    }
    match options.json {
        true => crate::print(&format!("{}\n", summary.json())),
        false => crate::print(&summary.text()),
    }
}
