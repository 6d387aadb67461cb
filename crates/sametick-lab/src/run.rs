//! Runs all trials of a plan on all cores, and writes each to the log as it is done; what is there already is not run
//! again.

use crate::experiment::Experiment;
use crate::log::{Log, LogError};
use crate::plan::{Plan, Trial};
use crate::play::{Library, NewCarrier, play};
use crate::programs::{self, Place};
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
    /// Whether the file's own programs are run when sessions and trials begin and end.
    pub runs_programs: bool,
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
    log.check_clock(how.is_real_time)?;
    let done = log.done()?;
    let (part, parts) = how.shard;
    let ours = |trial: &&Trial| (trial.number - 1) % parts.max(1) == part;
    let all = plan.trials.iter().filter(ours).count();
    let missing: Vec<&Trial> =
        plan.trials.iter().filter(ours).filter(|trial| !done.contains(&trial.number)).collect();
    let runs_programs = how.runs_programs && experiment.programs().next().is_some();
    let mut running = Running {
        experiment,
        plan,
        log,
        how: How { runs_programs, ..how },
        library: Library::new(&experiment.folder),
        begun: Instant::now(),
        all,
        missing: missing.len(),
        ran: Ran { kept: all - missing.len(), ..Ran::default() },
    };
    tell(Progress { done: running.ran.kept, all, left: None });
    // Sessions follow each other only where something happens between them.
    let is_same = |one: &&Trial, other: &&Trial| {
        !runs_programs || (one.participant, &one.session) == (other.participant, &other.session)
    };
    for some in missing.chunk_by(is_same) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        running.program(some[0], "session_start")?;
        running.some(some, carrier, stop, &mut tell)?;
        running.program(some[some.len() - 1], "session_end")?;
    }
    running.ran.is_stopped = running.ran.trials < missing.len();
    Ok(running.ran)
}

struct Running<'a> {
    experiment: &'a Experiment,
    plan: &'a Plan,
    log: &'a Log,
    how: How,
    library: Library,
    begun: Instant,
    all: usize,
    missing: usize,
    ran: Ran,
}

impl Running<'_> {
    /// Runs the file's own program for this moment, if it has one.
    fn program(&self, trial: &Trial, when: &'static str) -> Result<(), LogError> {
        let programs =
            Moments { experiment: self.experiment, plan: self.plan, path: self.log.path() };
        match self.how.runs_programs {
            true => programs.run(trial, when).map_err(LogError),
            false => Ok(()),
        }
    }

    /// Runs some trials on all threads.
    fn some(
        &mut self,
        trials: &[&Trial],
        carrier: &NewCarrier<'_>,
        stop: &AtomicBool,
        tell: &mut impl FnMut(Progress),
    ) -> Result<(), LogError> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, results) =
            sync_channel::<(usize, i64, Result<TrialLog, String>)>(QUEUE_TRIALS_MAX);
        let Self { experiment, plan, log, how, library, .. } = self;
        let moments = Moments { experiment, plan, path: log.path() };
        let (library, ran, how) = (&*library, &mut self.ran, *how);
        std::thread::scope(|scope| -> Result<(), LogError> {
            for _ in 0..how.threads.clamp(1, trials.len().max(1)) {
                let sender = sender.clone();
                let (next, failed, moments) = (&next, &failed, &moments);
                scope.spawn(move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let is_over =
                            stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
                        let Some(trial) = trials.get(index).filter(|_| !is_over) else { return };
                        let began = unix_us();
                        let played = match how.runs_programs {
                            true => moments.around(trial, || play(trial, library, carrier)),
                            false => play(trial, library, carrier),
                        };
                        if sender.send((index, began, played)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (index, began, result) in results {
                let trial = trials[index];
                let written = result
                    .map_err(|what| LogError(format!("trial {}: {what}", trial.number)))
                    .and_then(|rows| log.add(trial, &rows, how.is_real_time.then_some(began)));
                if let Err(error) = written {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                ran.trials += 1;
                let left = (self.missing - ran.trials) as f64 / ran.trials as f64;
                let left = Some(self.begun.elapsed().mul_f64(left));
                tell(Progress { done: ran.kept + ran.trials, all: self.all, left });
            }
            Ok(())
        })
    }
}

/// The file's own programs, and what they are told.
struct Moments<'a> {
    experiment: &'a Experiment,
    plan: &'a Plan,
    path: &'a Path,
}

impl Moments<'_> {
    fn run(&self, trial: &Trial, when: &'static str) -> Result<(), String> {
        let session = self.experiment.sessions.iter().find(|one| one.name == trial.session);
        let Some(programs) = session.map(|session| &session.programs) else { return Ok(()) };
        let program = match when {
            "session_start" => &programs.session_start,
            "session_end" => &programs.session_end,
            "trial_start" => &programs.trial_start,
            _ => &programs.trial_end,
        };
        let place = Place {
            folder: &self.experiment.folder,
            database: self.path,
            condition: &self.plan.conditions[trial.condition].label,
            trial,
        };
        programs::run(program, when, place)
    }

    fn around(
        &self,
        trial: &Trial,
        play: impl FnOnce() -> Result<TrialLog, String>,
    ) -> Result<TrialLog, String> {
        self.run(trial, "trial_start")?;
        let played = play();
        // Also of a trial that failed: what was started is ended.
        self.run(trial, "trial_end")?;
        played
    }
}

fn unix_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// Reads an experiment's file. What is wrong with it is told line by line.
pub fn read_file(path: &Path, is_quick: bool) -> Result<Experiment, String> {
    read_plan(path, is_quick).map(|(experiment, _)| experiment)
}

/// Reads an experiment's file and plans it. What is wrong with it is told line by line.
pub fn read_plan(path: &Path, is_quick: bool) -> Result<(Experiment, Plan), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let (experiment, plan) = Experiment::check(&text, folder, is_quick)
        .map_err(|wrongs| wrongs.told(&path.display().to_string()))?;
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok((Experiment { file: file.unwrap_or_default(), ..experiment }, plan))
}
