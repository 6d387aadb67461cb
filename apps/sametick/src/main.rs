//! The one binary: measures what the library costs.

mod bench;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Write a game's rules once. Run them under every network model, and see what every player got.
///
/// Without a command it shows what a snapshot costs, stage by stage.
#[derive(Parser)]
#[command(name = "sametick", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  sametick                              what a snapshot costs, stage by stage
  sametick bench codec --json           the same, for a program to read
  sametick bench codec --data FILE      the same on a recorded game
  sametick bench conditioner            delay achieved against delay asked, over real UDP
  sametick bench channel                what a sealed packet and a connection cost
  sametick bench flood                  what players notice of a flood of junk
  sametick bench instructions           instructions for each field, counted by valgrind
  sametick bench server                 what a client's snapshot costs a server of 64 players
  sametick bench load --players 128     what a match of the arena costs its server";

#[derive(Subcommand)]
enum Command {
    /// Measure what the library costs
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Some(Command::Bench(bench)) => bench::run(bench),
        None => bench::run(bench::Bench::Codec(bench::codec::Options::default())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One sentence: what is wrong, where, and what was being tried.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
