//! Runs all trials of a plan on all cores, and writes each to the log as it is done; what is there already is not run
//! again.

use crate::experiment::Experiment;
use crate::log::{Log, LogError};
use crate::plan::{Plan, Trial};
use crate::play::{Library, NewCarrier, play};
use crate::rows::TrialLog;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many trials may wait for the disk before those who play wait for it.
pub const QUEUE_TRIALS_MAX: usize = 16;

/// How trials are run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// On how many threads.
    pub threads: usize,
    /// Which part of the trials, and of how many parts: every trial whose number leaves this rest.
    pub shard: (u32, u32),
    /// Whether trials last as long as they do for people.
    pub is_real_time: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Trials that are done, those of runs before included.
    pub done: usize,
    /// Trials of this part of the plan.
    pub all: usize,
    /// How long the rest will take, once that can be told.
    pub left: Option<Duration>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Trials run now.
    pub trials: usize,
    /// Trials that were there already.
    pub kept: usize,
    /// Whether it was stopped before the end.
    pub is_stopped: bool,
}

/// Runs what is missing. Trials go to the log in any order, each whole; the log is the same in the end.
pub fn run(
    experiment: &Experiment,
    plan: &Plan,
    log: &Log,
    how: How,
    carrier: &NewCarrier<'_>,
    stop: &AtomicBool,
    mut tell: impl FnMut(Progress),
) -> Result<Ran, LogError> {
    let done = log.done()?;
    let (part, parts) = how.shard;
    let ours = |trial: &&Trial| (trial.number - 1) % parts.max(1) == part;
    let all = plan.trials.iter().filter(ours).count();
    let missing: Vec<&Trial> =
        plan.trials.iter().filter(ours).filter(|trial| !done.contains(&trial.number)).collect();
    let kept = all - missing.len();
    let library = Library::new(&experiment.folder);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) =
        sync_channel::<(usize, i64, Result<TrialLog, String>)>(QUEUE_TRIALS_MAX);
    let begun = Instant::now();
    let mut ran = Ran { kept, ..Ran::default() };
    tell(Progress { done: kept, all, left: None });
    std::thread::scope(|scope| -> Result<(), LogError> {
        for _ in 0..how.threads.clamp(1, missing.len().max(1)) {
            let sender = sender.clone();
            let (next, failed, missing, library) = (&next, &failed, &missing, &library);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
                    let Some(trial) = missing.get(index).filter(|_| !is_over) else { return };
                    let began = unix_us();
                    if sender.send((index, began, play(trial, library, carrier))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, began, result) in results {
            let trial = missing[index];
            let written = result
                .map_err(|what| LogError(format!("trial {}: {what}", trial.number)))
                .and_then(|rows| log.add(trial, &rows, how.is_real_time.then_some(began)));
            if let Err(error) = written {
                failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            ran.trials += 1;
            let left =
                begun.elapsed().mul_f64((missing.len() - ran.trials) as f64 / ran.trials as f64);
            tell(Progress { done: kept + ran.trials, all, left: Some(left) });
        }
        Ok(())
    })?;
    ran.is_stopped = ran.trials < missing.len();
    Ok(ran)
}

fn unix_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// Reads an experiment's file.
pub fn read_file(path: &Path, is_quick: bool) -> Result<Experiment, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Experiment::read(&text, folder, is_quick)
        .map_err(|wrong| format!("{}, {wrong}", path.display()))
}
