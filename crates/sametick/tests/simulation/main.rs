//! Whole worlds by seed: every invariant of delivery, security and resources, checked at each step.
//!
//! `SAMETICK_SEEDS`, `SAMETICK_SECONDS` and `SAMETICK_FIRST_SEED` change how much is run; a failure
//! prints the command that repeats it.
#![cfg(feature = "secure")]

mod harness;

use harness::{Counts, Options, run};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

const SEEDS: u64 = 200;
const SECONDS: u64 = 60;
const THREADS: usize = 2;

#[test]
fn every_invariant_holds_for_every_seed() {
    let (seeds, seconds) = (number("SAMETICK_SEEDS", SEEDS), number("SAMETICK_SECONDS", SECONDS));
    let first = number("SAMETICK_FIRST_SEED", 0);
    assert!(seconds >= 12, "a run needs 12 seconds: faults, then 5 s of calm");
    let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
    let failures: Mutex<Vec<String>> = Mutex::default();
    let total: Mutex<Counts> = Mutex::default();
    let began = Instant::now();
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
                    report(seed - first + 1, seeds, seconds, began);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let hours = (seeds * seconds) as f64 / 3600.0;
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    println!("{seeds} seeds of {seconds} s: {:.1} virtual hours a minute", hours / minutes);
    println!("{:?}", total.into_inner().unwrap());
}

#[test]
fn the_same_seed_gives_the_same_world() {
    for seed in 1_000..1_006 {
        let options = Options::expand(seed, 15);
        assert_eq!(run(&options), run(&options), "seed {seed}");
    }
}

/// One seed; what went wrong, with all that is needed to see it again.
fn run_seed(seed: u64, seconds: u64) -> Result<Counts, String> {
    let options = Options::expand(seed, seconds);
    match catch_unwind(AssertUnwindSafe(|| run(&options))) {
        Ok(outcome) => Ok(outcome.counts),
        Err(panic) => Err(format!(
            "seed {seed}, options {options:?}\n{}\nto repeat: SAMETICK_FIRST_SEED={seed} \
             SAMETICK_SEEDS=1 SAMETICK_SECONDS={seconds} cargo test -p sametick --features secure \
             --test all simulation::every_invariant",
            text_of(&*panic)
        )),
    }
}

fn add(total: &mut Counts, more: Counts) {
    total.datagrams += more.datagrams;
    total.joins += more.joins;
    total.reliables += more.reliables;
    total.unreliables += more.unreliables;
    total.delivered += more.delivered;
    total.forgeries += more.forgeries;
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

/// Every twentieth part, where the test's output is shown.
fn report(done: u64, seeds: u64, seconds: u64, began: Instant) {
    if done.is_multiple_of(seeds.div_ceil(20)) {
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        let hours = (done * seconds) as f64 / 3600.0;
        println!("{done} of {seeds} seeds, {:.1} virtual hours a minute", hours / minutes);
    }
}
