//! Mutation testing of the simulations: each mutant of the library is switched on, and the simulation that is
//! responsible for it must find it. A simulation that does not find them proves nothing.
//!
//! Without arguments each mutant is searched for from the seed that is recorded here as the first that finds it, for
//! some seeds: the check for CI. `SAMETICK_MUTANTS=search` searches from seed 0 on (or from 2^32 on, where faults are
//! wider), for up to `SAMETICK_SEEDS` (1,000) seeds, and prints the table of `docs/mutants.md`. `SAMETICK_MUTANT=NAME`
//! asks for one mutant only.
//!
//! A seed finds a mutant if it fails with it and passes without it.
#![allow(dead_code, unused_imports, reason = "the simulations' own tests are not compiled here")]

mod eventlock;
mod found;
mod game;
mod lockstep;
mod simulations;
mod succession;

#[path = "../simulation/harness/mod.rs"]
mod connections;
#[path = "../common/gated.rs"]
mod gated;
#[path = "../common/tag.rs"]
mod tag;

use found::{FOUND, Found};
use sametick::mutant::{self, Mutant};
use simulations::Simulation;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How many seeds are searched from seed 0 on.
const SEEDS: u64 = 1_000;

/// How many seeds are tried from the recorded one on: a change of the library may change what a seed's run comes to.
const SEEDS_FROM_RECORDED: u64 = 200;

const THREADS: usize = 2;

/// What became of the search for one mutant.
struct Outcome {
    found: &'static Found,
    /// How many seeds were run with it, and what the last of them said.
    seeds: u64,
    failure: Option<String>,
    seconds: f64,
    /// Seeds that fail without it too, and so say nothing about it.
    broken: Vec<u64>,
}

fn main() -> ExitCode {
    let is_search = std::env::var("SAMETICK_MUTANTS").is_ok_and(|mode| mode == "search");
    let only = std::env::var("SAMETICK_MUTANT").ok();
    let seeds = number("SAMETICK_SEEDS", if is_search { SEEDS } else { SEEDS_FROM_RECORDED });
    let is_asked = |found: &&Found| only.as_ref().is_none_or(|name| name_of(found.mutant) == *name);
    let asked: Vec<&'static Found> = FOUND.iter().filter(is_asked).collect();
    std::panic::set_hook(Box::new(|_| {}));
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..number("SAMETICK_THREADS", THREADS as u64) {
            scope.spawn(|| {
                while let Some(found) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let first = match is_search {
                        true => number("SAMETICK_FIRST_SEED", found.first_seed()),
                        false => found.seed,
                    };
                    let outcome = search(found, first, seeds);
                    eprintln!("{}", outcome.line());
                    outcomes.lock().expect("no search panics").push(outcome);
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let mut outcomes = outcomes.into_inner().expect("no search panics");
    outcomes.sort_by_key(|outcome| outcome.found.mutant as usize);
    if is_search {
        println!("| mutant | simulation | seeds until found | what broke |\n|---|---|---|---|");
        outcomes.iter().for_each(|outcome| println!("{}", outcome.row()));
    }
    let missed: Vec<String> = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_none())
        .map(|outcome| name_of(outcome.found.mutant))
        .collect();
    if missed.is_empty() && !outcomes.is_empty() {
        println!(
            "{} mutants were found, and no seed that found one fails without it",
            outcomes.len()
        );
        return ExitCode::SUCCESS;
    }
    println!("not found: {missed:?}");
    ExitCode::FAILURE
}

/// Runs seed after seed until one fails with the mutant and passes without it.
fn search(found: &'static Found, first: u64, seeds: u64) -> Outcome {
    let (began, mut broken) = (Instant::now(), Vec::new());
    for seed in first..first + seeds {
        let Some(why) = failure(Some(found.mutant), found.simulation, seed) else { continue };
        if failure(None, found.simulation, seed).is_some() {
            broken.push(seed);
            continue;
        }
        let seconds = began.elapsed().as_secs_f64();
        return Outcome { found, seeds: seed - first + 1, failure: Some(why), seconds, broken };
    }
    Outcome { found, seeds, failure: None, seconds: began.elapsed().as_secs_f64(), broken }
}

/// What a seed's run says if it fails.
fn failure(mutant: Option<Mutant>, simulation: Simulation, seed: u64) -> Option<String> {
    mutant::choose(mutant);
    let outcome = catch_unwind(AssertUnwindSafe(|| simulation.run(seed)));
    mutant::choose(None);
    outcome.err().map(|panic| text_of(&*panic))
}

impl Outcome {
    fn line(&self) -> String {
        let (name, seeds) = (name_of(self.found.mutant), self.seeds);
        let seconds = self.seconds;
        let broken = match &self.broken[..] {
            [] => String::new(),
            broken => format!(" (seeds that fail without it too: {broken:?})"),
        };
        match &self.failure {
            Some(why) => {
                format!(
                    "{name} was found after {seeds} seeds, {seconds:.0} s: {}{broken}",
                    short(why)
                )
            }
            None => format!("{name} was not found in {seeds} seeds, {seconds:.0} s{broken}"),
        }
    }

    fn row(&self) -> String {
        let (name, simulation) = (name_of(self.found.mutant), self.found.simulation.name());
        let why = self.failure.as_ref().map_or("-".to_owned(), |why| short(why).replace('|', "/"));
        let seeds = match self.failure {
            Some(_) => self.seeds.to_string(),
            None => format!("not in {}", self.seeds),
        };
        format!("| `{name}` | {simulation} | {seeds} | {why} |")
    }
}

fn name_of(mutant: Mutant) -> String {
    format!("{mutant:?}")
}

/// One line of what a failure says.
fn short(why: &str) -> String {
    const CHARACTERS_MAX: usize = 150;
    let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(CHARACTERS_MAX).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
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
