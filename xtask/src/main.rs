//! The workspace's own chores, started as `cargo xtask`. Knows nothing of games or networks.

#[cfg(feature = "e2e")]
mod e2e;
mod endure;
#[cfg(feature = "e2e")]
mod pictures;
mod soak;
mod tidy;
mod trace;
#[cfg(feature = "web")]
mod web;

use std::env;
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

fn main() -> Result<ExitCode> {
    match Arguments::parse().chore {
        Chore::Endure(endure) => endure::run(&endure),
        #[cfg(feature = "e2e")]
        Chore::E2e(options) => e2e::run(&options),
        #[cfg(feature = "e2e")]
        Chore::Pictures(pictures) => pictures::run(&pictures),
        Chore::Soak(soak) => soak::run(&soak),
        Chore::Tidy => tidy::run(),
        Chore::Trace => trace::run(),
        #[cfg(feature = "web")]
        Chore::Web(web) => web::run(&web),
    }
}

/// What cargo tells programs and build scripts of their own package. Another cargo that hears it builds anew what it
/// has built already, and with it all that needs that.
const OF_OUR_PACKAGE: [&str; 4] = ["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_MANIFEST_", "CARGO_PKG_"];

/// The cargo that runs us, which need not be the first on the path, as if nobody ran it.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let is_ours = |name: &str| OF_OUR_PACKAGE.iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_ours)) {
        cargo.env_remove(name);
    }
    cargo
}

/// The workspace's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLE)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Play a match over real sockets and bad lines, as released.
    ///
    /// Headless players on a real server, for ten minutes unless told otherwise. Nobody is lost or stuck, the server's
    /// memory stays flat, and its recording plays again as it was; otherwise the exit code is 1.
    Endure(endure::Endure),
    /// Drive real browsers against real servers.
    ///
    /// Needs Chromium and its driver, and installs nothing. Screenshots go to target/e2e.
    #[cfg(feature = "e2e")]
    #[command(name = "e2e")]
    E2e(e2e::EndToEnd),
    /// Make the pictures of the README from the running product.
    ///
    /// Needs what `e2e` needs. With `--check` nothing is made: pictures whose sources have changed since, or that are
    /// not those that were made, are named, and make the exit code 1.
    #[cfg(feature = "e2e")]
    Pictures(pictures::Pictures),
    /// Run the simulations for as many seeds as wanted.
    ///
    /// Connections, whole games, lockstep, host migration, event locking and matches of the arena, in virtual time and
    /// on all cores. Seeds that fail are collected: each is shrunk to few faults and written to target/soak with the
    /// command that repeats it, and makes the exit code 1. Progress is kept there too.
    #[command(after_help = soak::EXAMPLE)]
    Soak(soak::Soak),
    /// Check what the compiler does not.
    ///
    /// Arrows between crates; clocks, chance and unordered containers inside the rules; files and
    /// lines that have grown too long; files that do not say what they do; paths that exist on one
    /// machine only.
    ///
    /// Every finding is printed as `path:line: what is wrong; what to do`, and any finding makes
    /// the exit code 1.
    #[command(after_help = EXAMPLE)]
    Tidy,
    /// Play the same game natively, as released, and in wasm, and compare what it came to.
    ///
    /// Wasm is run with node and left out where there is none. The exit code is 1 if they differ.
    Trace,
    /// Build the page, which programs that are not released read from target/web.
    #[cfg(feature = "web")]
    Web(web::Web),
}

const EXAMPLE: &str = "\
Example:
  $ cargo xtask tidy
  games/arena/src/rules.rs:12: a clock inside the rules (`Instant::now`); take the time as an \
argument, `now: Time`";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
