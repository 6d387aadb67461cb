//! The simulation is itself tested: each bug that others had is let loose and must be found.
#![cfg(all(feature = "secure", feature = "historical_bugs"))]

#[path = "../simulation/harness/mod.rs"]
mod harness;

use harness::{Options, run};
use sametick::bug::{self, Bug};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEEDS_MAX: u64 = 1_000;
const SECONDS: u64 = 20;

/// One test for all: what is let loose is so in the whole process.
#[test]
fn every_bug_that_others_had_is_found_and_nothing_else() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found: Vec<(Bug, Option<(u64, String)>)> =
        bug::ALL.iter().map(|bug| (*bug, first_failure(Some(*bug), SEEDS_MAX))).collect();
    std::panic::set_hook(loud);
    let mut seeds = 0;
    for (bug, failure) in found {
        let Some((seed, why)) = failure else { panic!("{bug:?} was not found in {SEEDS_MAX}") };
        println!("{bug:?} was found after {} seeds: {why}", seed + 1);
        seeds = seeds.max(seed + 1);
    }
    let failure = first_failure(None, seeds);
    assert_eq!(failure, None, "without a bug the same {seeds} seeds must pass");
}

/// The first seed that fails, and how.
fn first_failure(bug: Option<Bug>, seeds: u64) -> Option<(u64, String)> {
    bug::choose(bug);
    let failure = (0..seeds).find_map(|seed| {
        let options = Options::expand(seed, SECONDS);
        let panic = catch_unwind(AssertUnwindSafe(|| run(&options))).err()?;
        let why = panic.downcast_ref::<String>().cloned();
        Some((seed, why.unwrap_or_else(|| "an assertion of the library".to_owned())))
    });
    bug::choose(None);
    failure
}
