//! Runs the simulated games of many seeds.
//!
//! `SAMETICK_SEEDS`, `SAMETICK_SECONDS` and `SAMETICK_FIRST_SEED` change how much is run; a failure
//! prints the command that repeats it.

use super::ledger::Counts;
use super::simulation::{Options, run};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SEEDS: u64 = 200;
const SECONDS: u64 = 20;
const THREADS: usize = 2;

#[test]
fn every_invariant_of_a_game_holds_for_every_seed() {
    let (seeds, seconds) = (number("SAMETICK_SEEDS", SEEDS), number("SAMETICK_SECONDS", SECONDS));
    let first = number("SAMETICK_FIRST_SEED", 0);
    assert!(seconds >= 12, "a run needs 12 seconds: faults, then 4 s of calm");
    let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
    let failures: Mutex<Vec<String>> = Mutex::default();
    let total: Mutex<Counts> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    match run_seed(seed, seconds) {
                        Ok(counts) => add(&mut total.lock().unwrap(), counts),
                        Err(failure) => {
                            stop.store(true, Ordering::Relaxed);
                            failures.lock().unwrap().push(failure);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let total = total.into_inner().unwrap();
    println!("{total:?}");
    assert!(total.verdicts > 0 && total.farewells > 0, "nobody shot, or no stone fell");
    assert!(total.predictions > 0 && total.commands > 0 && total.events > 0, "nothing was checked");
}

#[test]
fn the_same_seed_gives_the_same_game() {
    let options = Options::expand(1_000, 12);
    assert_eq!(run(&options).counts, run(&options).counts);
}

/// One seed; what went wrong, with all that is needed to see it again.
fn run_seed(seed: u64, seconds: u64) -> Result<Counts, String> {
    let options = Options::expand(seed, seconds);
    match catch_unwind(AssertUnwindSafe(|| run(&options))) {
        Ok(ledger) => Ok(ledger.counts),
        Err(panic) => Err(format!(
            "seed {seed}, options {options:?}\n{}\nto repeat: SAMETICK_FIRST_SEED={seed} \
             SAMETICK_SEEDS=1 SAMETICK_SECONDS={seconds} cargo test -p sametick --features secure \
             --test all game::seeds::every_invariant",
            text_of(&*panic)
        )),
    }
}

fn add(total: &mut Counts, more: Counts) {
    total.snapshots += more.snapshots;
    total.verdicts += more.verdicts;
    total.farewells += more.farewells;
    total.whole += more.whole;
    total.predictions += more.predictions;
    total.commands += more.commands;
    total.events += more.events;
    total.sessions += more.sessions;
    total.ahead_max = total.ahead_max.max(more.ahead_max);
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => otherwise,
    }
}
