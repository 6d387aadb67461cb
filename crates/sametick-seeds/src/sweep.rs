//! One simulation over a range of seeds, on some threads. Nothing of a run depends on the thread that runs it.

use crate::panics::catch;
use crate::report::{Command, Failure, Shortest};
use crate::script::Script;
use crate::settings::Settings;
use crate::shrink::shrink;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many seeds fail before a sweep stops, unless failures are collected.
const FAILURES_MAX: usize = 3;

/// A run that takes longer than this hangs. Only looked at while failures are collected.
const RUN_MAX: Duration = Duration::from_secs(600);

/// What is simulated and how; plain data.
pub struct Simulation<O, T> {
    /// What `cargo xtask soak` calls it, and its failures.
    pub name: &'static str,
    /// The arguments of `cargo test` that choose the program.
    pub program: &'static str,
    /// The test that sweeps it, with its modules.
    pub test: &'static str,
    /// How many seeds a test runs unless told otherwise.
    pub seeds: u64,
    /// How many virtual seconds a run has, if that can be chosen.
    pub seconds: Option<Seconds>,
    /// What a seed stands for, printed if it fails. The second argument is the number of virtual seconds, or 0.
    pub expand: fn(u64, u64) -> O,
    /// Runs it to its end and panics where something does not hold.
    pub run: fn(&O, &Script) -> T,
}

/// How many virtual seconds a run has.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// Unless told otherwise.
    pub usual: u64,
    /// A run needs so many.
    pub min: u64,
}

/// Seeds that all held.
#[derive(Debug)]
pub struct Sweep<T> {
    /// What each run came to, in the order of their seeds.
    pub tallies: Vec<T>,
    /// Whether faults were left out.
    pub is_scripted: bool,
}

impl<T> Sweep<T> {
    /// Whether so many seeds were run with all their faults that what they came to together can be judged.
    pub fn is_whole(&self, seeds_min: usize) -> bool {
        !self.is_scripted && self.tallies.len() >= seeds_min
    }
}

impl<O: Debug, T: Send> Simulation<O, T> {
    /// Runs the seeds that the environment asks for.
    ///
    /// # Panics
    /// If a seed failed, with every failure and the command that repeats it.
    pub fn sweep(&self) -> Sweep<T> {
        match self.sweep_with(&Settings::from_env()) {
            Ok(sweep) => sweep,
            Err(failures) => panic!("{failures}"),
        }
    }

    /// Runs the seeds that are asked for; fails with what is to be said of all that failed.
    pub fn sweep_with(&self, settings: &Settings) -> Result<Sweep<T>, String> {
        let plan = Plan::new(self, settings);
        let began = Instant::now();
        let (next, found) = (AtomicU64::new(0), Mutex::new(Found::new(plan.threads)));
        std::thread::scope(|scope| {
            for thread in 0..plan.threads {
                let (plan, next, found) = (&plan, &next, &found);
                scope.spawn(move || {
                    while let Some(seed) = plan.next_seed(next, found) {
                        let begin = || lock(found).running[thread] = Some((seed, Instant::now()));
                        let outcome = self.run_seed(seed, plan, &begin);
                        lock(found).add(seed, outcome, plan.settings.soak_dir.as_deref());
                        lock(found).running[thread] = None;
                    }
                });
            }
            if plan.settings.soak_dir.is_some() {
                scope.spawn(|| self.watch(&plan, &found));
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.tallies.sort_by_key(|(seed, _)| *seed);
        found.failures.sort_by_key(|failure| failure.seed);
        self.report(&plan, &found, began.elapsed());
        if found.failures.is_empty() {
            let tallies = found.tallies.into_iter().map(|(_, tally)| tally).collect();
            return Ok(Sweep { tallies, is_scripted: settings.script.is_some() });
        }
        let texts: Vec<String> = found.failures.iter().map(Failure::text).collect();
        Err(format!("{} of {} failed\n\n{}", texts.len(), self.name, texts.join("\n\n")))
    }

    /// Runs one seed, and again for shrinking if it fails; calls `begin` before each run.
    fn run_seed(&self, seed: u64, plan: &Plan<'_>, begin: &dyn Fn()) -> Outcome<T> {
        begin();
        let failure = |options: String, why: String| Failure {
            simulation: self.name,
            seed,
            options,
            why,
            faults: 0,
            shortest: None,
            command: self.command(plan),
        };
        let options = match catch(|| (self.expand)(seed, plan.seconds.unwrap_or(0))) {
            Ok(options) => options,
            Err(why) => return Outcome::Failed(Box::new(failure(String::new(), why))),
        };
        let script = Script::keeping(plan.settings.script.clone());
        let why = match catch(|| (self.run)(&options, &script)) {
            Ok(tally) => return Outcome::Held { tally, virtual_seconds: script.virtual_seconds() },
            Err(why) => why,
        };
        Outcome::Failed(Box::new(Failure {
            faults: script.inflicted().len(),
            shortest: self.shortest(&options, &script, plan.settings.shrink_runs_max, begin),
            ..failure(format!("{options:?}"), why)
        }))
    }

    fn command(&self, plan: &Plan<'_>) -> Command {
        let Plan { seconds, settings, .. } = plan;
        let script = settings.script.clone();
        Command { program: self.program, test: self.test, seconds: *seconds, script }
    }

    /// Shrinks the faults of a run that failed. None if what it did cannot be repeated.
    fn shortest(
        &self,
        options: &O,
        failed: &Script,
        runs_max: u32,
        begin: &dyn Fn(),
    ) -> Option<Shortest> {
        let fails = |kept: &BTreeSet<u32>| {
            begin();
            let script = Script::keeping(Some(kept.clone()));
            let failed = catch(|| (self.run)(options, &script)).is_err();
            failed.then(|| script.inflicted().iter().map(|fault| fault.number).collect())
        };
        let shrunk = shrink(&failed.inflicted(), runs_max, fails);
        // Once more, for its words.
        let script = Script::describing(Some(shrunk.kept));
        let why = catch(|| (self.run)(options, &script)).err()?;
        Some(Shortest { faults: script.inflicted(), why, runs: shrunk.runs })
    }

    /// One line, and one for the program that soaks.
    fn report(&self, plan: &Plan<'_>, found: &Found<T>, took: Duration) {
        let Plan { first, threads, .. } = plan;
        let run = (found.tallies.len() + found.failures.len()) as u64;
        let (failed, wall) = (found.failures.len(), took.as_secs_f64());
        let hours = found.virtual_seconds / 3600.0;
        let virtual_time =
            if hours > 0.0 { format!("{hours:.2} virtual hours in ") } else { String::new() };
        println!(
            "{}: {run} seeds from {first}, {virtual_time}{wall:.1} s on {threads} threads, {failed} failed",
            self.name
        );
        if plan.settings.soak_dir.is_some() {
            let seeds: Vec<String> =
                found.failures.iter().map(|failure| failure.seed.to_string()).collect();
            println!(
                "soak: {{\"simulation\":\"{}\",\"first_seed\":{first},\"seeds\":{run},\
                 \"virtual_seconds\":{:.0},\"failed\":[{}]}}",
                self.name,
                found.virtual_seconds,
                seeds.join(",")
            );
        }
    }

    /// Ends the program if a run never ends: nothing else would tell the seed.
    fn watch(&self, plan: &Plan<'_>, found: &Mutex<Found<T>>) {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let found = lock(found);
            if found.is_over(plan) {
                return;
            }
            let mut running = found.running.iter().flatten();
            if let Some((seed, _)) = running.find(|(_, began)| began.elapsed() > RUN_MAX) {
                let failure = Failure {
                    simulation: self.name,
                    seed: *seed,
                    options: String::new(),
                    why: format!(
                        "it has run for {RUN_MAX:?}: it hangs, or the machine has no time for it"
                    ),
                    faults: 0,
                    shortest: None,
                    command: self.command(plan),
                };
                println!("{}", failure.text());
                write(&failure, plan.settings.soak_dir.as_deref());
                std::process::exit(1);
            }
        }
    }
}

/// What a sweep will do.
struct Plan<'a> {
    settings: &'a Settings,
    first: u64,
    seeds: u64,
    seconds: Option<u64>,
    threads: usize,
}

impl<'a> Plan<'a> {
    fn new<O, T>(simulation: &Simulation<O, T>, settings: &'a Settings) -> Self {
        let seconds = simulation.seconds.map(|seconds| {
            let chosen = settings.seconds.unwrap_or(seconds.usual);
            assert!(chosen >= seconds.min, "a run needs {} s, not {chosen}", seconds.min);
            chosen
        });
        let (first, seeds) = (settings.first_seed, settings.seeds.unwrap_or(simulation.seeds));
        assert!(seeds > 0 && first.checked_add(seeds).is_some(), "{seeds} seeds from {first}");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.unwrap_or(cores).clamp(1, 256);
        Self { settings, first, seeds, seconds, threads }
    }

    fn next_seed<T>(&self, next: &AtomicU64, found: &Mutex<Found<T>>) -> Option<u64> {
        let is_collecting = self.settings.soak_dir.is_some();
        if !is_collecting && lock(found).failures.len() >= FAILURES_MAX {
            return None;
        }
        let index = next.fetch_add(1, Ordering::Relaxed);
        (index < self.seeds).then(|| self.first + index)
    }
}

/// What one seed came to.
enum Outcome<T> {
    Held { tally: T, virtual_seconds: f64 },
    Failed(Box<Failure>),
}

/// What all seeds came to so far.
struct Found<T> {
    tallies: Vec<(u64, T)>,
    failures: Vec<Failure>,
    virtual_seconds: f64,
    /// By thread: its seed and since when.
    running: Vec<Option<(u64, Instant)>>,
}

impl<T> Found<T> {
    fn new(threads: usize) -> Self {
        let running = vec![None; threads];
        Self { tallies: Vec::new(), failures: Vec::new(), virtual_seconds: 0.0, running }
    }

    fn add(&mut self, seed: u64, outcome: Outcome<T>, soak_dir: Option<&Path>) {
        match outcome {
            Outcome::Held { tally, virtual_seconds } => {
                self.tallies.push((seed, tally));
                self.virtual_seconds += virtual_seconds;
            }
            Outcome::Failed(failure) => {
                write(&failure, soak_dir);
                self.failures.push(*failure);
            }
        }
    }

    fn is_over(&self, plan: &Plan<'_>) -> bool {
        (self.tallies.len() + self.failures.len()) as u64 == plan.seeds
    }
}

/// Writes a failure beside its seed, if there is a folder for it.
fn write(failure: &Failure, soak_dir: Option<&Path>) {
    let Some(folder) = soak_dir else { return };
    let path = folder.join(format!("{}-{}.txt", failure.simulation, failure.seed));
    let written =
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, failure.text() + "\n"));
    if let Err(error) = written {
        println!("{} cannot be written: {error}", path.display());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve steps, each with a fault of one of three kinds; in every tenth seed two cuts break it.
    fn run(seed: &u64, script: &Script) -> u64 {
        let mut cuts = 0;
        for step in 0..12 {
            let kind = ["cut", "loss", "freeze"][(seed + step) as usize % 3];
            let is_inflicted = script.allows(kind, step, || format!("{kind} of {seed}"));
            cuts += u64::from(is_inflicted && kind == "cut");
            assert!(seed % 10 != 3 || cuts < 2, "{cuts} cuts at step {step}");
        }
        script.lasted(3.0);
        cuts
    }

    const SIMULATION: Simulation<u64, u64> = Simulation {
        name: "toy",
        program: "-p toy --test all",
        test: "toys::every_toy_holds",
        seeds: 3,
        seconds: Some(Seconds { usual: 20, min: 10 }),
        expand: |seed, _| seed,
        run,
    };

    fn settings() -> Settings {
        Settings { shrink_runs_max: 100, threads: Some(2), ..Settings::default() }
    }

    #[test]
    fn seeds_that_hold_give_their_tallies_in_order() {
        let sweep = SIMULATION.sweep_with(&settings()).unwrap();
        let alone: Vec<u64> = (0..3).map(|seed| run(&seed, &Script::all())).collect();
        assert_eq!(sweep.tallies, alone);
        assert!(sweep.is_whole(3) && !sweep.is_whole(4));
    }

    #[test]
    fn a_seed_that_fails_is_shrunk_and_told_with_its_command() {
        let asked = Settings { first_seed: 3, seeds: Some(1), ..settings() };
        let text = SIMULATION.sweep_with(&asked).unwrap_err();
        assert!(text.contains("toy, seed 3: 3\nfailed: 2 cuts at step"), "{text}");
        assert!(text.contains("2 of "), "{text}");
        let line = text.lines().find(|line| line.starts_with("to repeat with them: ")).unwrap();
        assert!(line.contains("SAMETICK_FIRST_SEED=3 SAMETICK_SEEDS=1 SAMETICK_SECONDS=20 "));
        assert!(line.ends_with("cargo test -p toy --test all toys::every_toy_holds"), "{line}");
        let script = line.split("SAMETICK_SCRIPT=").nth(1).unwrap().split(' ').next().unwrap();
        let script = crate::settings::parse_script(script);
        assert_eq!(script.as_ref().map(BTreeSet::len), Some(2));
        let again = SIMULATION.sweep_with(&Settings { script, ..asked.clone() }).unwrap_err();
        assert!(again.contains("2 cuts at step"), "{again}");
        let calm = Settings { script: Some(BTreeSet::new()), ..asked };
        assert!(SIMULATION.sweep_with(&calm).is_ok_and(|sweep| sweep.is_scripted));
    }

    #[test]
    fn a_sweep_stops_after_some_failures_unless_they_are_collected() {
        let asked = Settings { seeds: Some(100), threads: Some(1), ..settings() };
        let text = SIMULATION.sweep_with(&asked).unwrap_err();
        assert!(text.starts_with("3 of toy failed"), "{text}");
        let folder = std::env::temp_dir().join(format!("sametick-seeds-{}", std::process::id()));
        let collecting = Settings { soak_dir: Some(folder.clone()), ..asked };
        let text = SIMULATION.sweep_with(&collecting).unwrap_err();
        assert!(text.starts_with("10 of toy failed"), "{text}");
        let written = std::fs::read_to_string(folder.join("toy-43.txt")).unwrap();
        assert!(written.starts_with("toy, seed 43: 43\n") && text.contains(written.trim()));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 10);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[should_panic = "a run needs 10 s, not 9"]
    fn a_run_that_is_too_short_is_refused() {
        let _ = SIMULATION.sweep_with(&Settings { seconds: Some(9), ..settings() });
    }
}
