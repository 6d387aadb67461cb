//! Runs the simulations for as long as wanted, as released, and says how fast virtual time passed.
//! Knows the names of the tests and their settings, nothing of what they check.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// How much to run.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Soak {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// How many virtual seconds each.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(12..))]
    seconds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// What to run.
    #[arg(long, value_enum, default_value_t = What::All)]
    what: What,
}

/// What is simulated.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Connections and their messages, with an adversary on the way.
    Channel,
    /// Whole games.
    Game,
    /// One after the other, the same seeds.
    All,
}

impl What {
    /// The tests that it means.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Channel => &["simulation"],
            Self::Game => &["game"],
            Self::All => &["simulation", "game"],
        }
    }
}

const TEST: [&str; 7] =
    ["test", "--release", "--package", "sametick", "--features", "secure", "--test"];

pub(crate) fn run(soak: Soak) -> Result<ExitCode> {
    // Built first, so that only running is timed.
    for test in soak.what.tests() {
        if !cargo(test).arg("--no-run").status().context("cannot start cargo")?.success() {
            bail!("the test {test} does not build");
        }
    }
    for test in soak.what.tests() {
        if !run_test(test, soak)? {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether it held.
fn run_test(test: &str, soak: Soak) -> Result<bool> {
    let Soak { seeds, seconds, first_seed, .. } = soak;
    let mut command = cargo(test);
    command.args(["--", "--nocapture", "every_invariant"]);
    command.env("SAMETICK_SEEDS", seeds.to_string());
    command.env("SAMETICK_SECONDS", seconds.to_string());
    command.env("SAMETICK_FIRST_SEED", first_seed.to_string());
    let began = Instant::now();
    let status = command.status().context("cannot start cargo")?;
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    if !status.success() {
        return Ok(false);
    }
    let hours = virtual_hours(soak);
    println!("soak: {test}, seeds {first_seed} to {}, {seconds} s each", first_seed + seeds - 1);
    println!("soak: {hours:.2} virtual hours in {minutes:.2} minutes");
    println!("soak: {:.1} virtual hours per minute", hours / minutes);
    Ok(true)
}

fn virtual_hours(soak: Soak) -> f64 {
    soak.seeds as f64 * soak.seconds as f64 / 3600.0
}

fn cargo(test: &str) -> Command {
    let mut command = crate::cargo();
    command.args(TEST).arg(test);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_those_of_all_seeds() {
        let soak = Soak { seeds: 120, seconds: 60, first_seed: 7, what: What::All };
        assert_eq!(virtual_hours(soak), 2.0);
    }
}
