//! The benchmarks: each prints a table for people, or with `--json` one object for programs.

mod channel;
pub(crate) mod codec;
pub(crate) mod compact;
mod conditioner;
mod flood;
pub(crate) mod footage;
mod instructions;
mod islands;
mod line;
mod load;
mod measure;
mod recording;
mod rollback;
mod scene;
mod served;
mod server;
mod workload;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::io::{ErrorKind, Write};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Nanoseconds, allocations and memory of sealed packets and their connections
    #[command(after_help = channel::EXAMPLES)]
    Channel(channel::Options),
    /// Bytes of a snapshot after each stage of the paper's codec, and its speed
    #[command(after_help = codec::EXAMPLES)]
    Codec(codec::Options),
    /// What a bad network in real time adds, against what was asked of it
    #[command(after_help = conditioner::EXAMPLES)]
    Conditioner(conditioner::Options),
    /// Honest clients on real sockets while strangers flood their server
    #[command(after_help = flood::EXAMPLES)]
    Flood(flood::Options),
    /// Instructions for each gathered, changed and unchanged field and each packet, by valgrind
    #[command(after_help = instructions::EXAMPLES)]
    Instructions(instructions::Options),
    /// Hundreds of units under event locking, beside snapshots and lockstep: what servers and clients send
    #[command(after_help = islands::EXAMPLES)]
    Islands(islands::Options),
    /// How many players of the arena one core holds: time, bytes and memory of its server
    #[command(after_help = load::EXAMPLES)]
    Load(load::Options),
    /// Guessing ahead and stepping again: ticks a second and bytes, beside ggrs
    #[command(after_help = rollback::EXAMPLES)]
    Rollback(rollback::Options),
    /// What a client's snapshot costs a server, sealed, and the client
    #[command(after_help = server::EXAMPLES)]
    Server(server::Options),
    /// The work that `instructions` counts
    #[command(hide = true)]
    Work(instructions::Work),
}

pub(crate) fn run(bench: Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Channel(options) => channel::run(&options),
        Bench::Codec(options) => codec::run(&options),
        Bench::Conditioner(options) => conditioner::run(&options),
        Bench::Flood(options) => flood::run(&options),
        Bench::Instructions(options) => instructions::run(&options),
        Bench::Islands(options) => islands::run(&options),
        Bench::Load(options) => load::run(&options),
        Bench::Rollback(options) => rollback::run(&options),
        Bench::Server(options) => server::run(&options),
        Bench::Work(work) => instructions::work(&work),
    }
}

/// What every benchmark answers to a program. The names are an interface: keep them.
struct Report {
    name: &'static str,
    options: Value,
    seed: u64,
    /// Only when the answer was checked, not merely timed.
    verified: bool,
    figures: Vec<(String, f64)>,
}

impl Report {
    fn add(&mut self, name: impl Into<String>, value: f64) {
        self.figures.push((name.into(), value));
    }

    fn print_json(&self) -> anyhow::Result<()> {
        // Finer than any of them is measured, and short enough to read.
        let rounded = |value: f64| match (value * 1e4).round() / 1e4 {
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => json!(whole as i64),
            broken => json!(broken),
        };
        let figures: Map<String, Value> =
            self.figures.iter().map(|(name, value)| (name.clone(), rounded(*value))).collect();
        let report = json!({
            "name": self.name,
            "options": self.options,
            "seed": self.seed,
            "verified": self.verified,
            "figures": figures,
        });
        print(&format!("{report}\n"))
    }
}

/// Prints an answer. Whoever reads it may stop reading: that is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}
