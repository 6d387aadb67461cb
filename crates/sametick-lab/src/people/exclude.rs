//! What the analysis leaves out, by the rules of the file, and whoever withdrew.

use super::read::FIGURES;
use super::table::{Exclusion, People};
use crate::experiment::Experiment;
use crate::log::{Log, LogError, integer, text};
use crate::metrics;
use std::collections::BTreeMap;

/// A trial or a participant that the analysis leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Whether it is a whole participant, or group of them; otherwise a trial.
    pub is_participant: bool,
    /// Which.
    pub number: u32,
    /// By which rule; `declined` is of whoever withdrew.
    pub rule: String,
    /// Why, in words.
    pub reason: String,
}

impl Excluded {
    /// Whether it concerns a trial of a participant.
    pub(crate) fn is_of(&self, trial: u32, participant: u32) -> bool {
        self.number == if self.is_participant { participant } else { trial }
    }
}

/// The `[people]` of the experiment that a log holds, wherever its maps and traces are now. A log in which people sit
/// and whose file cannot be read is an error: rules of exclusion must not vanish.
pub(crate) fn people_of(log: &Log) -> Result<Option<(Experiment, People)>, LogError> {
    let sql = "SELECT config, is_quick FROM experiment";
    let (config, is_quick): (String, bool) =
        log.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match Experiment::read_again(&config, is_quick) {
        Ok(one) => Ok(one.people.clone().map(|people| (one, people))),
        Err(_) if log.codes()?.is_empty() => Ok(None),
        Err(wrong) => Err(LogError(format!("the experiment of the log cannot be read: {wrong}"))),
    }
}

/// All that the analysis of a log leaves out.
pub fn excluded(log: &Log) -> Result<Vec<Excluded>, LogError> {
    let Some((_, people)) = people_of(log)? else { return Ok(Vec::new()) };
    let mut found = withdrawn(log)?;
    for rule in &people.exclusions {
        let numbers = numbers(log, rule)?;
        let numbers = match rule.of_participant {
            false => numbers,
            true => by_participant(log, &numbers)?,
        };
        let beyond =
            numbers.iter().filter(|(_, number)| rule.comparison.holds(**number, rule.bound));
        found.extend(beyond.map(|(number, _)| Excluded {
            is_participant: rule.of_participant,
            number: *number,
            rule: rule.rule.clone(),
            reason: rule.reason.clone(),
        }));
    }
    Ok(found)
}

/// Those who agreed at first and withdrew later.
fn withdrawn(log: &Log) -> Result<Vec<Excluded>, LogError> {
    let sql = "SELECT DISTINCT s.participant FROM event e JOIN seat s ON s.seat = e.seat \
               WHERE e.kind = 'declined' AND s.participant IN (SELECT participant FROM trial) \
               AND NOT EXISTS (SELECT 1 FROM event f WHERE f.kind = 'freed' AND f.number > e.number \
               AND json_extract(f.detail, '$.seat') = e.seat)";
    let mut statement = log.connection.prepare(sql)?;
    let numbers = statement.query_map([], |row| row.get(0))?;
    let out = |number| Excluded {
        is_participant: true,
        number,
        rule: "declined".to_owned(),
        reason: "withdrew".to_owned(),
    };
    Ok(numbers.map(|number| number.map(out)).collect::<rusqlite::Result<_>>()?)
}

/// The number that a rule looks at, by trial. Of several pages in a trial it is that of the worst.
fn numbers(log: &Log, rule: &Exclusion) -> Result<BTreeMap<u32, f64>, LogError> {
    // A name that both have is the page's: it is people who are looked at.
    let is_pages = FIGURES.iter().any(|(name, _)| *name == rule.figure);
    if let Some(metric) = metrics::find(&rule.figure).filter(|_| !is_pages) {
        return Ok(metric.of_trials(&log.connection)?);
    }
    let column = match rule.figure.as_str() {
        "flags" => {
            let sql = "SELECT t.trial, COUNT(f.flag) FROM trial t LEFT JOIN trial_flag f USING (trial) \
                       GROUP BY t.trial";
            return by_trial(log, sql);
        }
        "frame_ms" => "SUM(y.frame_ms * y.frames) / MAX(SUM(y.frames), 1)",
        "frame_ms_95" => "SUM(y.frame_ms_95 * y.frames) / MAX(SUM(y.frames), 1)",
        "frames" => "AVG(y.frames)",
        "hidden_ms" => "SUM(y.hidden_ms)",
        "unfocused" => "SUM(NOT y.is_focused)",
        "ping_ms" => "AVG(y.ping_ms)",
        "loss_share" => "100.0 * AVG(y.loss)",
        _ => "AVG(y.inputs)",
    };
    let worst = if rule.comparison.name().starts_with('>') { "MAX" } else { "MIN" };
    let sql = format!(
        "WITH w AS (SELECT y.trial, y.seat, {column} AS n FROM telemetry y JOIN figure f ON f.trial = y.trial \
         AND f.name = 'attempt' AND f.value = y.attempt GROUP BY y.trial, y.seat) \
         SELECT trial, {worst}(n) FROM w WHERE n IS NOT NULL GROUP BY trial"
    );
    by_trial(log, &sql)
}

fn by_trial(log: &Log, sql: &str) -> Result<BTreeMap<u32, f64>, LogError> {
    let mut statement = log.connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The mean over a participant's trials that count.
fn by_participant(log: &Log, numbers: &BTreeMap<u32, f64>) -> Result<BTreeMap<u32, f64>, LogError> {
    let sql = "SELECT trial, participant FROM trial WHERE NOT is_practice";
    let mut statement = log.connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if let Some(number) = numbers.get(&row.get::<_, u32>(0)?) {
            let sum = sums.entry(row.get(1)?).or_insert((0.0, 0.0));
            *sum = (sum.0 + number, sum.1 + 1.0);
        }
    }
    Ok(sums.into_iter().map(|(number, (sum, count))| (number, sum / count)).collect())
}

impl Log {
    /// Writes down what the analysis leaves out, for programs that read the file themselves; what was there goes.
    pub fn keep_exclusions(&self) -> Result<(), LogError> {
        let all = excluded(self)?;
        let is_kept = "SELECT COUNT(*) FROM exclusion";
        let kept: i64 = self.connection.query_row(is_kept, [], |row| row.get(0))?;
        if all.is_empty() && kept == 0 {
            return Ok(());
        }
        self.connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM exclusion")?;
        for one in &all {
            let kind = if one.is_participant { "participant" } else { "trial" };
            let cells = vec![text(kind), integer(one.number), text(&one.rule), text(&one.reason)];
            if let Err(error) = self.insert("exclusion", cells) {
                // The first error is the one to tell.
                let _ = self.connection.execute_batch("ROLLBACK");
                return Err(error.into());
            }
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }
}
