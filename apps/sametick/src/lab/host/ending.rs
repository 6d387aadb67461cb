//! How a study is taken up from its log, and how the end of a trial gets into it.

use super::super::replays::name_of;
use super::Host;
use super::state::{Running, State, Trouble, unix_ms};
use super::table::{Said, lock};
use anyhow::Context;
use sametick::secure::SystemRandom;
use sametick_lab::people::{self, Attempt, EventKind, Flag, Line, SeatId, Telemetry};
use sametick_lab::{Achieved, Ended, Experiment, Log, Plan, TrialLog};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// So many of the seconds that a table counted may a page leave out: the first and the last are not whole.
const UNTOLD_MAX: usize = 2;
/// Whoever was not heard for longer when a trial ended may have been gone.
const UNHEARD_MS_MAX: f64 = 500.0;

/// The study as its log has it; a new one if there is none. What was being played when the host ended is broken.
pub(super) fn resume(
    experiment: &Experiment,
    plan: &Plan,
    database: &Path,
) -> anyhow::Result<State> {
    let log = Log::write(database, experiment, plan)?;
    let study = log.study(experiment, plan, &mut SystemRandom::new())?;
    let playing = study.playing();
    let mut state = State::new(study, log);
    for (group, trial, attempt) in playing {
        let reason = "the lab was stopped".to_owned();
        let broken = EventKind::Broken { group, trial, attempt, reason };
        state.happen(None, broken, "").map_err(super::fatal)?;
    }
    Ok(state)
}

impl Host {
    /// What a table played, and how that ended.
    pub(super) fn end(&self, said: Said) -> anyhow::Result<()> {
        let Said::Ended { group, trial, attempt, began_us, result } = said else { return Ok(()) };
        // Before anyone has to wait: a recording may be long.
        let (path, fresh) =
            (self.recordings.join(name_of(trial)), self.recordings.join(format!("{trial}.new")));
        if let Ok(Ended::Played(_, recording)) = &result {
            std::fs::write(&fresh, recording)
                .with_context(|| format!("cannot write {}", fresh.display()))?;
        }
        let mut state = lock(&self.desk().state);
        let begun = Instant::now();
        let Some(running) = state.running.remove(&group) else { return Ok(()) };
        // The experimenter may have left it out, or somebody may have left for good.
        let is_wanted = state.study.playing().contains(&(group, trial, attempt));
        let ended = match result {
            Ok(Ended::Played(rows, _)) if is_wanted => {
                std::fs::rename(&fresh, &path)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                self.write(&mut state, running, &rows, began_us)
            }
            Ok(Ended::Played(..)) => {
                // What is left of it is replaced by the next attempt, if this cannot be.
                let _ = std::fs::remove_file(&fresh);
                Ok(state.log.add_telemetry(&running.telemetry())?)
            }
            Ok(Ended::Broken(reason)) | Err(reason) => {
                state.log.add_telemetry(&running.telemetry())?;
                let kind = EventKind::Broken { group, trial, attempt, reason };
                match state.happen(None, kind, "") {
                    Ok(()) | Err(Trouble::Refused(_)) => Ok(()),
                    Err(Trouble::Log(error)) => Err(error.into()),
                }
            }
        };
        // Nobody could be heard meanwhile.
        state.forgive(begun.elapsed());
        ended
    }

    /// Writes a trial down with what is to be said against it, and that it is finished.
    fn write(
        &self,
        state: &mut State,
        mut running: Running,
        rows: &TrialLog,
        began_us: i64,
    ) -> anyhow::Result<()> {
        // What was changed before it began is among them.
        let mut changed = std::mem::take(&mut running.changed);
        let mut known = BTreeSet::new();
        changed.retain(|one| known.insert(one.clone()));
        running.start.changed = changed;
        state.rows_dropped += rows.dropped;
        let mut against = Vec::new();
        for (seat, player, _) in &running.start.seats {
            let seconds = running.telemetry_of(*seat);
            let found = running.achieved_of(*seat);
            let settings = &running.start.trial.settings;
            let asked = Line::asked(settings, &self.library.folder, *player);
            let (asked, achieved) = lines(asked, &found);
            let mut flags = people::flags(asked, achieved, &seconds, state.study.people());
            let untold = found.len().saturating_sub(seconds.len());
            if untold > UNTOLD_MAX && flags.iter().all(|flag| flag.name != "silent") {
                let detail = format!("the page said nothing for {untold} s");
                flags.push(Flag { name: "silent", detail });
            }
            // Its page may have told of all seconds but the last, in which it was gone.
            let unheard_ms = found.last().map_or(0.0, |one| one.unheard_ms);
            if unheard_ms > UNHEARD_MS_MAX && flags.iter().all(|flag| flag.name != "silent") {
                let detail =
                    format!("nothing was heard of it in the last {:.1} s", unheard_ms / 1000.0);
                flags.push(Flag { name: "silent", detail });
            }
            if let Some(life) = state.life(*seat) {
                life.flags =
                    flags.iter().map(|flag| format!("{}: {}", flag.name, flag.detail)).collect();
            }
            against.extend(flags.into_iter().map(|flag| (*seat, flag)));
        }
        let attempt = Attempt {
            start: &running.start,
            rows,
            began_us,
            telemetry: &running.telemetry(),
            flags: &against,
        };
        state.log.add_finished(&mut state.study, unix_ms(), &attempt)?;
        if state.tells {
            let seats = running.start.seats.iter().map(|(seat, _, _)| format!("P{:02}", seat.0));
            let (who, place) = (seats.collect::<Vec<_>>().join(", "), running.start.trial.place);
            let done = state.log.done()?.len();
            eprintln!("{who} finished round {place}: {done} of {} in all", self.trials);
        }
        Ok(())
    }
}

impl Running {
    /// The seconds that all pages told of.
    fn telemetry(&self) -> Vec<Telemetry> {
        let seats = self.start.seats.iter();
        seats.flat_map(|(seat, _, _)| self.telemetry_of(*seat)).collect()
    }

    /// The seconds that a seat's page told of, with what the server saw of its line.
    fn telemetry_of(&self, seat: SeatId) -> Vec<Telemetry> {
        let told = self.told.range((seat, 0)..=(seat, u32::MAX));
        let row = |((_, second), told): (&(SeatId, u32), &super::state::Told)| {
            let achieved = self.achieved.get(&(seat, *second));
            Telemetry {
                trial: self.start.trial.number,
                attempt: self.start.attempt,
                seat,
                second: *second,
                frames: told.frames,
                frame_ms: told.frame_ms,
                frame_ms_95: told.frame_ms_95,
                hidden_ms: told.hidden_ms,
                is_focused: told.is_focused,
                ping_ms: achieved.and_then(|it| it.ping_ms),
                loss: achieved.and_then(|it| it.loss),
                inputs: told.inputs,
            }
        };
        told.map(row).collect()
    }

    fn achieved_of(&self, seat: SeatId) -> Vec<Achieved> {
        self.achieved.range((seat, 0)..=(seat, u32::MAX)).map(|(_, one)| *one).collect()
    }
}

/// What was asked of a line and what it achieved. What is asked may change from second to second, and is compared with
/// what was achieved in the same.
fn lines(asked: Line, seconds: &[Achieved]) -> (Line, Line) {
    let mean = |all: &[f64]| match all.len() {
        0 => None,
        count => Some(all.iter().sum::<f64>() / count as f64),
    };
    let asked_ms: Vec<f64> = seconds.iter().filter_map(|one| one.asked_ms).collect();
    let both = seconds.iter().filter_map(|one| Some(one.ping_ms? - one.asked_ms?));
    let mut off: Vec<f64> = both.collect();
    off.sort_by(f64::total_cmp);
    let asked_ping = mean(&asked_ms).or(asked.ping_ms);
    let achieved_ping =
        asked_ping.and_then(|asked| off.get(off.len() / 2).map(|middle| asked + middle));
    let asked_loss: Vec<f64> = seconds.iter().map(|one| one.asked_loss).collect();
    let loss: Vec<f64> = seconds.iter().filter_map(|one| one.loss).collect();
    let is_loss_asked = asked.loss.is_some() || asked_loss.iter().any(|share| *share > 0.0);
    let asked_loss = mean(&asked_loss).filter(|_| is_loss_asked);
    let achieved = Line { ping_ms: achieved_ping, loss: mean(&loss) };
    (Line { ping_ms: asked_ping, loss: asked_loss }, achieved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_changes_is_compared_second_by_second() {
        let second = |asked: f64, found: f64| Achieved {
            player: 1,
            second: Some(0),
            is_here: true,
            asked_ms: Some(asked),
            ping_ms: Some(found),
            asked_loss: 0.0,
            loss: Some(0.0),
            unheard_ms: 0.0,
        };
        let seconds = [second(20.0, 22.0), second(20.0, 22.0), second(120.0, 121.0)];
        let (asked, achieved) = lines(Line::default(), &seconds);
        let off = achieved.ping_ms.unwrap() - asked.ping_ms.unwrap();
        assert!((off - 2.0).abs() < 1e-9, "{off}");
        assert_eq!(asked.loss, None, "no loss was asked for");
        let late = [second(20.0, 42.0), second(120.0, 141.0)];
        let (asked, achieved) = lines(Line::default(), &late);
        assert!(achieved.ping_ms.unwrap() - asked.ping_ms.unwrap() > 20.0);
    }
}
