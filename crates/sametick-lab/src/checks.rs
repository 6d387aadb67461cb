//! What a file says of its own parts: factors, levels, settings and players that it speaks of must be there.

use crate::expectations::SAME;
use crate::experiment::Experiment;
use crate::scan::Source;
use crate::settings::{self, Assignment};
use crate::value::{Plain, Value};
use crate::wrong::meant;
use std::ops::Range;

/// The parts of an experiment that are factors beside settings.
pub(crate) const PARTS: [&str; 2] = ["session", "trial"];
/// How many play if nothing is said.
const PLAYERS_USUAL: u32 = 2;

/// What an expectation or a figure speaks of, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mentions {
    /// By name.
    pub(crate) factors: Vec<(String, Range<usize>)>,
    /// By the factor's name, and as the file has it.
    pub(crate) levels: Vec<(String, Value, String, Range<usize>)>,
    /// Of a table's rows and columns: the factor's name and a number.
    pub(crate) cells: Vec<(String, f64, Range<usize>)>,
    /// In formulas.
    pub(crate) settings: Vec<(String, Range<usize>)>,
}

/// Takes down all that is not there.
pub(crate) fn all(experiment: &Experiment, source: Source<'_>) {
    let mentions = std::mem::take(&mut source.found.borrow_mut().mentions);
    let factors = experiment.factors();
    for (name, at) in &mentions.factors {
        if !factors.contains(name) && !PARTS.contains(&name.as_str()) {
            let meant = meant(name, factors.iter().map(String::as_str));
            source.note(at, format!("`{name}` is no factor here; {meant}"));
        }
    }
    for (name, at) in &mentions.settings {
        let last = name.rsplit('.').next().unwrap_or_default();
        if settings::find(last).is_none() {
            let meant = meant(last, settings::SETTINGS.iter().map(|row| row.name));
            source.note(at, format!("`{name}` is no setting; {meant}"));
        }
    }
    for (name, value, shown, at) in &mentions.levels {
        // The small version has fewer.
        if !experiment.is_quick && (factors.contains(name) || PARTS.contains(&name.as_str())) {
            level(experiment, source, (name, value, shown), at);
        }
    }
    for (name, number, at) in &mentions.cells {
        if !experiment.is_quick && factors.contains(name) {
            cell(experiment, source, (name, *number), at);
        }
    }
    players(experiment, source);
}

/// A row or a column of a table that no condition belongs to would never be looked at.
fn cell(
    experiment: &Experiment,
    source: Source<'_>,
    (name, number): (&str, f64),
    at: &Range<usize>,
) {
    let levels = experiment.sessions.iter().flat_map(|s| s.conditions.iter().flatten());
    let mut known: Vec<f64> = levels
        .filter(|level| level.name() == name)
        .filter_map(|level| level.value.number())
        .collect();
    if !known.iter().any(|level| (level - number).abs() < SAME) {
        known.sort_by(f64::total_cmp);
        known.dedup();
        let known: Vec<String> = known.into_iter().map(|level| Plain(level).to_string()).collect();
        let number = Plain(number);
        source.note(at, format!("`{name}` has no level {number}; it has {}", known.join(", ")));
    }
}

fn level(
    experiment: &Experiment,
    source: Source<'_>,
    (name, value, shown): (&str, &Value, &str),
    at: &Range<usize>,
) {
    let mut known: Vec<(Value, String)> = Vec::new();
    let mut add = |value: Value, shown: String| {
        if !known.iter().any(|(one, _)| *one == value) {
            known.push((value, shown));
        }
    };
    for session in &experiment.sessions {
        match name {
            "session" => add(Value::Text(session.name.clone()), session.name.clone()),
            "trial" => {
                session
                    .trials
                    .iter()
                    .for_each(|t| add(Value::Text(t.name.clone()), t.name.clone()));
            }
            name => {
                for level in session.conditions.iter().flatten().filter(|one| one.name() == name) {
                    add(level.value.clone(), level.value.shown(level.row.kind));
                }
            }
        }
    }
    if !known.iter().any(|(one, _)| one == value) {
        let known: Vec<String> = known.into_iter().map(|(_, shown)| shown).collect();
        source.note(at, format!("`{name}` has no level {shown}; it has {}", known.join(", ")));
    }
}

/// Nothing is said of a player beyond those who play.
fn players(experiment: &Experiment, source: Source<'_>) {
    for session in &experiment.sessions {
        let trials = session.trials.iter().flat_map(|trial| &trial.assignments);
        let levels = session.conditions.iter().flatten();
        let changes = session.changes.iter().flat_map(|change| &change.assignments);
        let all: Vec<&Assignment> =
            session.assignments.iter().chain(levels).chain(trials).chain(changes).collect();
        let said = all.iter().filter(|one| one.row.name == "players");
        let players = said.filter_map(|one| one.value.number()).fold(0.0, f64::max);
        let players = if players > 0.0 { players as u32 } else { PLAYERS_USUAL };
        for one in all.iter().filter(|one| one.player.is_some_and(|one| one > players)) {
            source.note(&one.at, format!("`{}` is of nobody: {players} play", one.name()));
        }
    }
}
