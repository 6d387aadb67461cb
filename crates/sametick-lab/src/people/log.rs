//! People in the log: seats, events, telemetry, answers, flags; and a study read again from them.

use super::event::{Event, EventKind, SeatId};
use super::flags::{Flag, Telemetry};
use super::stage::Start;
use super::study::{Study, WHICH};
use super::table::{Correct, People, When};
use crate::experiment::Experiment;
use crate::log::{Log, LogError, flag, integer, maybe, real, text};
use crate::plan::Plan;
use crate::rows::TrialLog;
use rusqlite::types::Value as Cell;
use sametick::secure::Random;
use serde_json::{Value as Json, json};

/// The tables of a trial that its next attempt does not replace.
const KEPT: [&str; 2] = ["telemetry", "question"];

/// An attempt at a trial that was played to its end.
pub struct Attempt<'a> {
    /// What was played, by whom.
    pub start: &'a Start,
    /// What is logged of it.
    pub rows: &'a TrialLog,
    /// When that began, in microseconds since 1970.
    pub began_us: i64,
    /// What pages told of it.
    pub telemetry: &'a [Telemetry],
    /// What is to be said against it, and whose page or line it is said of; no flag of a seat twice.
    pub flags: &'a [(SeatId, Flag)],
}

impl Log {
    /// The study of a log: a new one with codes that are drawn and logged, or the one that was begun, where it stopped.
    /// What was being played then is still in [`Study::playing`]: break it.
    pub fn study(
        &self,
        experiment: &Experiment,
        plan: &Plan,
        random: &mut dyn Random,
    ) -> Result<Study, LogError> {
        let known = self.codes()?;
        if known.is_empty() {
            self.check_clock(true)?;
            let codes = Study::draw_codes(Study::seats_of(experiment), random);
            let study = Study::new(experiment, plan, codes).map_err(LogError)?;
            self.add_seats(&study)?;
            return Ok(study);
        }
        let mut study = Study::new(experiment, plan, known).map_err(LogError)?;
        for (number, event) in (1..).zip(self.events()?) {
            study.apply(&event).map_err(|refusal| {
                LogError(format!("event {number} of the log cannot be: {refusal}"))
            })?;
        }
        Ok(study)
    }

    /// Writes down who sits where.
    pub fn add_seats(&self, study: &Study) -> Result<(), LogError> {
        self.whole(|log| {
            for (index, seat) in (1..).zip(&study.seats) {
                let role = study.people.roles.get(seat.place);
                log.insert(
                    "seat",
                    vec![
                        integer(index),
                        text(&seat.code),
                        integer(seat.group as u32 + 1),
                        integer(seat.place as u32 + 1),
                        role.map_or(Cell::Null, |role| text(role)),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// The codes of all seats, in their order; none before a study began.
    pub fn codes(&self) -> Result<Vec<String>, LogError> {
        let mut statement = self.connection.prepare("SELECT code FROM seat ORDER BY seat")?;
        let codes = statement.query_map([], |row| row.get(0))?;
        Ok(codes.collect::<rusqlite::Result<_>>()?)
    }

    /// Writes an event that a study has taken in; an answer also as such.
    pub fn add_event(&self, study: &Study, event: &Event) -> Result<(), LogError> {
        self.whole(|log| log.insert_event(study, event))
    }

    fn insert_event(&self, study: &Study, event: &Event) -> Result<(), LogError> {
        let mut detail = serde_json::to_value(&event.kind).unwrap_or(Json::Null);
        let kind = match detail.as_object_mut().and_then(|object| object.remove("kind")) {
            Some(Json::String(kind)) => kind,
            _ => return Err(LogError("an event has a kind".to_owned())),
        };
        let sql = "SELECT COALESCE(MAX(number), 0) + 1 FROM event";
        let number: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        self.insert(
            "event",
            vec![
                Cell::Integer(number),
                moment(event.at_ms),
                maybe(event.seat.map(|seat| seat.0)),
                text(&kind),
                text(&detail.to_string()),
                text(&event.why),
            ],
        )?;
        if let EventKind::Freed { seat, code } = &event.kind {
            let sql = "UPDATE seat SET code = ?1 WHERE seat = ?2";
            self.connection.execute(sql, (code, seat))?;
        }
        if let EventKind::Repeated { group, trial }
        | EventKind::Skipped { group, trial }
        | EventKind::Broken { group, trial, .. } = event.kind
        {
            for number in study.uncounted(group, trial) {
                self.delete_rows(number)?;
            }
        }
        Ok(self.insert_answer(study, event)?)
    }

    /// Takes away what is logged of a trial that counts no more, but for its telemetry.
    fn delete_rows(&self, number: u32) -> rusqlite::Result<()> {
        for table in crate::schema::TABLES {
            if table.columns[0].0 == "trial" && !KEPT.contains(&table.name) {
                let sql = format!("DELETE FROM {} WHERE trial = ?1", table.name);
                self.connection.execute(&sql, [number])?;
            }
        }
        let sql = "DELETE FROM question WHERE trial = ?1 AND after = 'trial'";
        self.connection.execute(sql, [number]).map(|_| ())
    }

    fn insert_answer(&self, study: &Study, event: &Event) -> rusqlite::Result<()> {
        let EventKind::Answered { trial, question, presented, answer } = &event.kind else {
            return Ok(());
        };
        let Some((id, seat)) = event.seat.and_then(|id| Some((id, study.seat(id)?))) else {
            return Ok(());
        };
        let group = &study.groups[seat.group];
        let last = group.trials.len().saturating_sub(1);
        let of =
            |number: &u32| group.trials.iter().position(|at| study.trials[*at].number == *number);
        let place = trial.as_ref().and_then(of).unwrap_or(last);
        let (after, kind, ask, options) = match question.checked_sub(1) {
            None => {
                let ask = study.people.intervals.as_ref().map_or("", |one| &one.ask);
                (When::Trial, "choice", ask, presented.clone())
            }
            Some(index) => match study.people.questions.get(index as usize) {
                Some(one) => (one.after, one.kind.name(), &*one.ask, one.options.clone()),
                None => return Ok(()),
            },
        };
        let after =
            When::NAMES.iter().find(|(_, when)| *when == after).map_or("", |(name, _)| name);
        let sql = "DELETE FROM question WHERE trial = ?1 AND seat = ?2 AND ordinal = ?3";
        let number = study.trial_at(group, place).number;
        let shown = seat.shown.filter(|(of, _)| of == trial);
        self.connection.execute(sql, [number, id.0, *question])?;
        self.insert(
            "question",
            vec![
                integer(number),
                integer(id.0),
                integer(*question),
                integer(study.part(group, place, seat).0),
                text(after),
                text(kind),
                text(ask),
                text(&json!(options).to_string()),
                text(&json!(presented).to_string()),
                text(answer),
                shown.map_or(Cell::Null, |(_, at_ms)| moment(at_ms)),
                moment(event.at_ms),
            ],
        )
    }

    /// All events, in order.
    pub fn events(&self) -> Result<Vec<Event>, LogError> {
        let sql = "SELECT at_us, seat, kind, detail, why FROM event ORDER BY number";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            let (kind, detail): (String, String) = (row.get(2)?, row.get(3)?);
            let odd = |error: &dyn std::fmt::Display| {
                LogError(format!("an event of the log, {kind}, is damaged: {error}"))
            };
            let mut detail: Json = serde_json::from_str(&detail).map_err(|error| odd(&error))?;
            let object = detail.as_object_mut().ok_or_else(|| odd(&"it is no object"))?;
            object.insert("kind".to_owned(), json!(kind));
            events.push(Event {
                at_ms: (row.get::<_, i64>(0)? / 1_000).max(0) as u64,
                seat: row.get::<_, Option<u32>>(1)?.map(SeatId),
                kind: serde_json::from_value(detail).map_err(|error| odd(&error))?,
                why: row.get(4)?,
            });
        }
        Ok(events)
    }

    /// Writes seconds of pages; a second that is there already stays.
    pub fn add_telemetry(&self, rows: &[Telemetry]) -> Result<(), LogError> {
        self.whole(|log| Ok(log.insert_telemetry(rows)?))
    }

    fn insert_telemetry(&self, rows: &[Telemetry]) -> rusqlite::Result<()> {
        for row in rows {
            let sql = "SELECT COUNT(*) FROM telemetry WHERE trial = ?1 AND attempt = ?2 AND \
                       seat = ?3 AND second = ?4";
            let key = [row.trial, row.attempt, row.seat.0, row.second];
            let known = self.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0));
            if known.unwrap_or(0_i64) > 0 {
                continue;
            }
            self.insert(
                "telemetry",
                vec![
                    integer(row.trial),
                    integer(row.attempt),
                    integer(row.seat.0),
                    integer(row.second),
                    integer(row.frames),
                    Cell::Real(row.frame_ms),
                    Cell::Real(row.frame_ms_95),
                    Cell::Real(row.hidden_ms),
                    flag(row.is_focused),
                    real(row.ping_ms),
                    real(row.loss),
                    integer(row.inputs),
                ],
            )?;
        }
        Ok(())
    }

    /// Writes the attempt at a trial that was played to its end, in the place of an earlier one if there is one: its
    /// rows, its number, how long it waited, who sat where, what pages told, what is to be said against it and what the
    /// experimenter changed. The study takes in that it is finished, and that is logged too: all of it or nothing, so
    /// that no trial is logged that the study does not count. An attempt that is not being played is an error.
    pub fn add_finished(
        &self,
        study: &mut Study,
        at_ms: u64,
        attempt: &Attempt<'_>,
    ) -> Result<(), LogError> {
        let start = attempt.start;
        self.whole(|log| {
            log.insert_played(start, attempt.rows, attempt.began_us)?;
            log.insert_telemetry(attempt.telemetry)?;
            let number = start.trial.number;
            for (seat, one) in attempt.flags {
                let (who, detail) = (integer(seat.0), text(&one.detail));
                log.insert("trial_flag", vec![integer(number), who, text(one.name), detail])?;
            }
            let told = attempt.flags.iter();
            let told =
                told.map(|(seat, one)| format!("P{:02} {}: {}", seat.0, one.name, one.detail));
            let kind = EventKind::Finished {
                group: start.group,
                trial: number,
                attempt: start.attempt,
                flags: told.collect(),
                result: result(log, &study.people, number)?,
            };
            let event = Event { at_ms, seat: None, kind, why: String::new() };
            study.apply(&event).map_err(|refusal| LogError(refusal.what))?;
            log.insert_event(study, &event)
        })
    }

    fn insert_played(&self, start: &Start, rows: &TrialLog, began_us: i64) -> Result<(), LogError> {
        let number = start.trial.number;
        self.delete_rows(number)?;
        self.insert_trial(&start.trial, rows, Some(began_us))?;
        self.insert_rows(&start.trial, rows)?;
        // Targets have a foreperiod of their own, from the start of the round.
        let asked = start.foreperiod_ms as f64;
        let is_measured = rows.figures.iter().any(|(name, _)| *name == "wait");
        let mut figures = vec![("attempt", f64::from(start.attempt)), ("asked_wait", asked)];
        // Where nobody is waited for it is what was asked.
        figures.extend((!is_measured).then_some(("wait", asked)));
        for (name, value) in figures {
            self.insert("figure", vec![integer(number), text(name), Cell::Real(value)])?;
        }
        for ((seat, player, role), asked) in start.seats.iter().zip(&start.asked) {
            let role = role.as_ref().map_or(Cell::Null, |role| text(role));
            let (ping, loss) = (real(asked.ping_ms), real(asked.loss));
            let who = [integer(seat.0), integer(*player), role, ping, loss];
            let cells = [integer(number)].into_iter().chain(who);
            self.insert("sitting", cells.collect())?;
        }
        if !start.changed.is_empty() {
            let detail = text(&start.changed.join(", "));
            let cells = vec![integer(number), integer(0), text("changed"), detail];
            self.insert("trial_flag", cells)?;
        }
        Ok(())
    }

    /// What of two logs of people cannot be joined.
    pub(crate) fn check_people(&self, theirs: &Self) -> Result<(), LogError> {
        let (mine, other) = (self.codes()?, theirs.codes()?);
        if !mine.is_empty() && !other.is_empty() && mine != other {
            let path = theirs.path().display();
            return Err(LogError(format!("{path} is of other participants: keep both files")));
        }
        let (mine, other) = (self.events()?, theirs.events()?);
        let both = mine.len().min(other.len());
        if mine[..both] != other[..both] {
            let path = theirs.path().display();
            return Err(LogError(format!("something else happened in {path}: keep both files")));
        }
        Ok(())
    }

    /// All of it or nothing.
    fn whole(&self, write: impl FnOnce(&Self) -> Result<(), LogError>) -> Result<(), LogError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        match write(self) {
            Ok(()) => Ok(self.connection.execute_batch("COMMIT")?),
            Err(error) => {
                // The first error is the one to tell.
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }
}

/// Milliseconds since 1970, in microseconds.
fn moment(at_ms: u64) -> Cell {
    Cell::Integer(at_ms.min(i64::MAX as u64 / 1_000) as i64 * 1_000)
}

/// What a staircase by a metric is told of a trial that is logged: 1 if it was right, 0 if not, nothing if nothing was
/// measured or no staircase asks.
pub fn result(log: &Log, people: &People, trial: u32) -> Result<Option<f64>, LogError> {
    let Some(Correct::Metric(metric, comparison, bound)) =
        people.staircase.as_ref().map(|staircase| &staircase.correct)
    else {
        return Ok(None);
    };
    let found = metric.of_trials(&log.connection)?;
    Ok(found.get(&trial).map(|number| f64::from(comparison.holds(*number, *bound))))
}

/// The question which of two intervals it was, as the log numbers it.
pub const WHICH_INTERVAL: u32 = WHICH;
