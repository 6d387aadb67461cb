//! `serve`: a dedicated server of the arena.

mod config;

use crate::address;
use crate::host::log::Log;
use crate::matches::{self, Matches, Wanted};
use crate::stop::Stop;
use crate::tokens;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use sametick::Span;
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
  sametick serve --page 0.0.0.0:4080 --also field       and choose between two matches
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
    matches: matches::Options,
    /// Bots of the server's own
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    bots: u32,
    /// Stop after so many minutes; without it, when asked to
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<f64>,
    /// File of 64 hexadecimal digits: only holders of tokens sealed with it join; without it anyone does
    #[arg(long, value_name = "FILE")]
    token_key: Option<PathBuf>,
    /// Answer GET /metrics here, for Prometheus; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address::listening)]
    metrics: Option<SocketAddr>,
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
    let model = options.matches.rules.model;
    if model.lockstep.is_some() {
        let name = model.name;
        anyhow::bail!("the model {name} has no server: `sametick play --model {name}`");
    }
    let stop = Stop::on_signals()?;
    let matches = Matches::open(
        &options.matches,
        &Wanted {
            bots: options.bots,
            address: Some(options.address),
            key: options.token_key.as_deref().map(tokens::read_key).transpose()?,
            metrics: options.metrics,
            lasts: options.minutes.map(|minutes| Span::from_micros_f64(minutes * 60e6)),
            invites: false,
        },
    )?;
    matches.run(&stop, &mut Log::new(options.json));
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
