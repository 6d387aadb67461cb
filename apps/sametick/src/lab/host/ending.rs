//! How a study is taken up from its log, and how the end of a trial gets into it.

use super::Host;
use super::state::{Running, State, Trouble, unix_ms};
use super::table::{Said, lock};
use anyhow::{Context, anyhow};
use sametick::secure::SystemRandom;
use sametick_lab::people::{Event, EventKind, Line, SeatId, Study};
use sametick_lab::{Achieved, Ended, Experiment, Log, Plan, TrialLog};
use std::path::Path;

/// The study as its log has it; a new one if there is none. What was being played when the host ended is broken.
pub(super) fn resume(
    experiment: &Experiment,
    plan: &Plan,
    database: &Path,
) -> anyhow::Result<State> {
    let log = Log::write(database, experiment, plan)?;
    let seats = Study::seats_of(experiment);
    let codes = Study::draw_codes(seats, &mut SystemRandom::new());
    let study = Study::new(experiment, plan, codes).map_err(|what| anyhow!(what))?;
    Ok(State::new(study, log))
}

impl Host {
    /// What a table played, and how that ended.
    pub(super) fn end(&self, said: Said) -> anyhow::Result<()> {
        let Said::Ended { group, trial, attempt, began_us, result } = said else { return Ok(()) };
        let mut state = lock(&self.desk().state);
        let Some(running) = state.running.remove(&group) else { return Ok(()) };
        // The experimenter may have left it out, or somebody may have left it for good.
        if !state.study.playing().contains(&(group, trial, attempt)) {
            return Ok(());
        }
        let kind = match result {
            Ok(Ended::Played(rows, recording)) => {
                let path = self.recordings.join(format!("trial-{trial}.sametick"));
                std::fs::write(&path, recording)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                let flags = write(&mut state, &running, &rows, began_us)?;
                EventKind::Finished { group, trial, attempt, flags, result: None }
            }
            Ok(Ended::Broken(reason)) | Err(reason) => {
                EventKind::Broken { group, trial, attempt, reason }
            }
        };
        match state.happen(None, kind, "") {
            Ok(()) | Err(Trouble::Refused(_)) => Ok(()),
            Err(Trouble::Log(error)) => Err(error.into()),
        }
    }
}

/// Writes a trial down; what is to be said against it.
fn write(
    state: &mut State,
    running: &Running,
    rows: &TrialLog,
    began_us: i64,
) -> anyhow::Result<Vec<String>> {
    state.log.add(&running.start.trial, rows, Some(began_us))?;
    Ok(Vec::new())
}
