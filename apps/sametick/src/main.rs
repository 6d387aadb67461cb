//! The one binary: plays and serves the arena, sends headless players to servers, and measures what the library costs.

mod address;
mod bench;
mod bots;
mod codec;
mod content;
mod crew;
mod host;
mod islands;
mod lab;
mod line;
mod lockstep;
mod matches;
mod page;
mod play;
mod recording_file;
mod replay;
mod rules;
mod serve;
mod stop;
mod tables;
mod theatre;
mod tokens;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Write a game's rules once. Run them under every network model, and see what every player got.
///
/// Without a command it plays: a match of bots on this machine that others can join.
#[derive(Parser)]
#[command(name = "sametick", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  sametick                                           a match of bots, which others can join
  sametick serve --map field --bots 20               a dedicated server
  sametick bots --connect 127.0.0.1:4000 --count 8   headless players for it
  sametick play --game islands --open                the strategy game, in this machine's browser
  sametick theatre                                   see what everyone sees, without a match
  sametick play --alone --seconds 600                ten minutes of play without any network
  sametick lab run experiments/preset_comparison.toml   an experiment, in virtual time
  sametick bench codec                               what a snapshot costs, stage by stage";

#[derive(Subcommand)]
enum Command {
    /// Play a match with bots on this machine, open to others
    #[command(after_help = play::EXAMPLES)]
    Play(Box<play::Options>),
    /// Run a dedicated server
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<serve::Options>),
    /// Send headless players to a server
    #[command(after_help = bots::EXAMPLES)]
    Bots(bots::Options),
    /// Measure what the library costs
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Train the compact codec, and see where bits go
    #[command(subcommand, after_help = codec::EXAMPLES)]
    Codec(codec::Codec),
    /// Look at the recording of a match, and play it again
    #[command(after_help = replay::EXAMPLES)]
    Replay(replay::Options),
    /// Run experiments, from a file to a figure
    #[command(subcommand, after_help = lab::EXAMPLES)]
    Lab(lab::Lab),
    /// Serve the theatre alone: see what everyone sees
    #[command(after_help = theatre::EXAMPLES)]
    Theatre(theatre::Options),
}

/// Something that was asked for cannot be done.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let (done, failure) = match command() {
        Ok(Command::Play(options)) => (play::run(&options), REFUSED),
        Ok(Command::Serve(options)) => (serve::run(*options), REFUSED),
        Ok(Command::Bots(options)) => (bots::run(&options), REFUSED),
        Ok(Command::Bench(bench)) => (bench::run(bench), 1),
        Ok(Command::Codec(codec)) => (codec::run(&codec), 1),
        Ok(Command::Replay(options)) => (replay::run(&options), 1),
        Ok(Command::Lab(lab)) => (lab::run_lab(&lab), 1),
        Ok(Command::Theatre(options)) => (theatre::run(&options), REFUSED),
        Err(error) => return explain(&error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One sentence: what is wrong, where, and what was being tried.
            eprintln!("error: {error:#}");
            ExitCode::from(failure)
        }
    }
}

/// What was asked for; without a word, to play.
fn command() -> Result<Command, clap::Error> {
    let matches = Arguments::command().try_get_matches()?;
    match Arguments::from_arg_matches(&matches)?.command {
        Some(Command::Play(mut options)) => {
            options.given = matches.subcommand_matches("play").map(given).unwrap_or_default();
            Ok(Command::Play(options))
        }
        Some(command) => Ok(command),
        None => Ok(Command::Play(Box::new(Play::try_parse_from(["play"])?.options))),
    }
}

/// The options that somebody has written down, as they are written.
fn given(matches: &ArgMatches) -> Vec<String> {
    let is_given = |id: &&clap::Id| {
        matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    matches.ids().filter(is_given).map(|id| id.as_str().replace('_', "-")).collect()
}

/// The options of `play` on their own, for their defaults.
#[derive(Parser)]
struct Play {
    #[command(flatten)]
    options: play::Options,
}

/// Help goes out as it is; what is wrong with the options, in one sentence.
fn explain(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Whoever reads may stop reading.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
    } else {
        eprintln!("error: {}", one_line(error));
    }
    ExitCode::from(REFUSED)
}

/// What is wrong with options, without the usage that clap adds.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.take_while(|line| !line.starts_with("For more information"));
    let parts: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let text = parts.join(" ").replace(" tip: ", "; ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Prints an answer. Whoever reads it may stop reading: that is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}
