//! `serve`: a dedicated server of the arena.

mod config;

use crate::address;
use crate::host::log::{Line, Log};
use crate::host::metrics::{self, Board};
use crate::host::{Host, Plan};
use crate::page::{self, Match};
use crate::recording_file;
use crate::rules::Rules;
use crate::stop::Stop;
use crate::tokens;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use sametick::Span;
use sametick_links::{Both, Link, address_of};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick serve                                        port 4000 on all addresses
  sametick serve --map field --tick-rate 30 --bots 40   bots keep people company
  sametick serve --mode duel --map corners --model quake3
  sametick serve --token-key server.key                 only holders of tokens join
  sametick serve --metrics 127.0.0.1:9100               figures for Prometheus at /metrics
  sametick serve --record match.sametick                for `sametick replay match.sametick` to play again
  sametick serve --page 0.0.0.0:4080                    people join by browser
  sametick serve --print-config > server.toml           every option with its default
  sametick serve --config server.toml --tick-rate 128   options here go before those of the file";

/// Options of a dedicated server. Each of them but those about files and output is also a key of the
/// config file.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub(crate) struct Options {
    /// Where players reach it; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:4000", value_parser = address::listening)]
    address: SocketAddr,
    #[command(flatten)]
    rules: Rules,
    /// Bots of the server's own
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    bots: u32,
    /// Stop after so many minutes; without it, when asked to
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<f64>,
    /// File of 64 hexadecimal digits: only holders of tokens sealed with it join; without it anyone does
    #[arg(long, value_name = "FILE")]
    token_key: Option<PathBuf>,
    #[command(flatten)]
    page: page::Options,
    /// Answer GET /metrics here, for Prometheus; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address::listening)]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    recording: recording_file::Wanted,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write a config file with every option, its meaning and its default, and end
    #[arg(long)]
    print_config: bool,
    /// Tell everything as JSON, an object a line
    #[arg(long)]
    json: bool,
}

/// The options on their own, for reading them a second time.
#[derive(Parser)]
#[command(name = "serve", no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    if options.print_config {
        return crate::print(&config::template(&Alone::command()));
    }
    let options = with_config(options)?;
    if options.rules.model.lockstep.is_some() {
        let name = options.rules.model.name;
        anyhow::bail!("the model {name} has no server: `sametick play --model {name}`");
    }
    options.rules.seat(options.bots)?;
    let rates = options.rules.rates()?;
    let content = options.rules.content()?;
    let key = options.token_key.as_deref().map(tokens::read_key).transpose()?;
    let stop = Stop::on_signals()?;
    let link = address::bind(options.address, "--address")?;
    let bound = address_of(link.local());
    let board = Board::default();
    let figures_at = options.metrics.map(|at| metrics::serve(at, board.clone())).transpose()?;
    let facts = options.rules.facts(&content, &rates);
    let web = options.page.open(false, Match { facts, board: board.clone(), key: key.clone() })?;
    let pages = web.as_ref().map(page::addresses).unwrap_or_default();
    let what = options.rules.text(&content, &rates);
    let crew =
        (options.bots > 0).then(|| options.rules.crew(&content, options.bots, bound, key.clone()));
    let plan = Plan {
        content,
        rates,
        seed: options.rules.seed,
        players_max: options.rules.players_max as usize,
        key,
        link: Both::new(link, web),
        crew,
        lasts: options.minutes.map(|minutes| Span::from_micros_f64(minutes * 60e6)),
        recording: options.recording.open(&options.rules.configuration())?,
    };
    let metrics = figures_at.map(|at| at.to_string());
    let listening = Line::Listening { address: bound.to_string(), what, metrics, pages };
    Host::new(plan, board).run(listening, &stop, &mut Log::new(options.json));
    Ok(())
}

/// The options of the config file, and on top of them those of the command line.
fn with_config(options: Options) -> anyhow::Result<Options> {
    let Some(path) = &options.config else { return Ok(options) };
    let mut arguments = config::arguments(path, &Alone::command())?;
    // What stands last counts.
    arguments.extend(std::env::args_os().skip_while(|word| word != "serve").skip(1));
    let matches = Alone::command().try_get_matches_from(arguments)?;
    Ok(Alone::from_arg_matches(&matches)?.options)
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.0..=1e6).contains(minutes));
    minutes.ok_or_else(|| "a number from 0 to a million is wanted".to_owned())
}
