//! What a plan is with people in it: one condition a group, two intervals for each trial, letters that tell nothing.

use super::chance::{INTERVALS, LETTERS, dice, shuffle};
use super::table::{Design, Intervals, People};
use crate::experiment::Experiment;
use crate::plan::{Condition, Plan, TRIALS_MAX, Trial};
use crate::settings::Assignment;
use crate::square::Order;
use crate::wrong::Wrong;
use sametick::Model;
use std::collections::BTreeMap;

/// What the rounds of a pair are called in the log.
const STANDARD: &str = "standard";
const COMPARISON: &str = "comparison";

impl Intervals {
    /// Whether a trial is the round with the standard setting.
    pub(crate) fn is_standard(&self, trial: &Trial) -> bool {
        trial.name == STANDARD
    }
}

/// Makes a plan one for people.
pub(crate) fn arrange(experiment: &Experiment, plan: &mut Plan) -> Result<(), Wrong> {
    let Some(people) = &experiment.people else { return Ok(()) };
    check(experiment, people, plan)?;
    if people.design == Design::Between {
        deal(experiment, plan);
    }
    if let Some(intervals) = &people.intervals {
        pair(experiment, plan, intervals)?;
    }
    let mut letters: Vec<String> = plan.conditions.iter().map(|one| one.letter.clone()).collect();
    shuffle(&mut letters, &mut dice(experiment.seed, &[], LETTERS));
    for (condition, letter) in plan.conditions.iter_mut().zip(letters) {
        condition.letter = letter;
    }
    number(plan);
    Ok(())
}

/// What people cannot play.
fn check(experiment: &Experiment, people: &People, plan: &Plan) -> Result<(), Wrong> {
    let wrong = |trial: &Trial, name: &str, what: String| {
        let session = experiment.sessions.iter().find(|session| session.name == trial.session);
        let said = session.into_iter().flat_map(|session| {
            let kinds = session.trials.iter().flat_map(|kind| &kind.assignments);
            session.assignments.iter().chain(session.conditions.iter().flatten()).chain(kinds)
        });
        let at = said.filter(|one| one.row.name == name).map(|one| one.at.clone()).next_back();
        Wrong::at(&experiment.text, &at.unwrap_or(0..0), what)
    };
    for trial in &plan.trials {
        let (play, model) = (trial.settings.text("play"), trial.settings.text("model"));
        if !["match", "scene"].contains(&play) {
            let what = format!("people cannot play `{play}`: they play a match or a scene");
            return Err(wrong(trial, "play", what));
        }
        if Model::named(model).is_none() {
            let what = format!("`{model}` has no server, and people play with one");
            return Err(wrong(trial, "model", what));
        }
        if trial.settings.players() < people.group {
            let (players, group) = (trial.settings.players(), people.group);
            let what = format!("{players} play, and {group} people are to be among them");
            return Err(wrong(trial, "players", what));
        }
    }
    Ok(())
}

/// Each group keeps one condition of each session: in every block of groups each once, in an order by chance.
fn deal(experiment: &Experiment, plan: &mut Plan) {
    let mut own: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for trial in &plan.trials {
        let conditions = own.entry(trial.session.clone()).or_default();
        if !conditions.contains(&trial.condition) {
            conditions.push(trial.condition);
        }
    }
    for conditions in own.values_mut() {
        conditions.sort_unstable();
    }
    let seed = experiment.seed;
    let dealt = |trial: &Trial| {
        let conditions = &own[&trial.session];
        let group = trial.participant as usize - 1;
        let (block, place) = (group / conditions.len(), group % conditions.len());
        conditions[Order::Shuffled.of(block, conditions.len(), seed)[place]]
    };
    let all = std::mem::take(&mut plan.trials);
    let model = all.clone();
    for mut trial in all {
        let own = dealt(&trial);
        if trial.condition != own {
            // Practice is in the group's own condition too.
            if !trial.is_practice {
                continue;
            }
            let like = model.iter().find(|other| {
                other.condition == own && other.session == trial.session && other.name == trial.name
            });
            if let Some(like) = like {
                (trial.condition, trial.settings) = (own, like.settings.clone());
            }
        }
        plan.trials.push(trial);
    }
}

/// Each trial becomes two rounds, one of them with the standard setting; which comes first is left to chance.
fn pair(experiment: &Experiment, plan: &mut Plan, intervals: &Intervals) -> Result<(), Wrong> {
    let all = std::mem::take(&mut plan.trials);
    if all.len() * 2 > TRIALS_MAX {
        let what = format!("more than {TRIALS_MAX} trials");
        return Err(Wrong { line: 1, column: 1, what });
    }
    for trial in all {
        let condition = standard_of(plan, trial.condition, &intervals.standard);
        let mut standard = trial.clone();
        standard.settings.assign(&intervals.standard);
        (standard.name, standard.condition) = (STANDARD.to_owned(), condition);
        let comparison = Trial { name: COMPARISON.to_owned(), ..trial };
        let parts = [standard.participant, standard.number];
        let comes_first = dice(experiment.seed, &parts, INTERVALS).chance(0.5);
        let both = if comes_first { [standard, comparison] } else { [comparison, standard] };
        plan.trials.extend(both);
    }
    Ok(())
}

/// The condition that the standard round of a condition is: the same, but for the setting.
fn standard_of(plan: &mut Plan, condition: usize, standard: &Assignment) -> usize {
    let of = &plan.conditions[condition];
    let mut levels: Vec<Assignment> =
        of.levels.iter().filter(|level| level.name() != standard.name()).cloned().collect();
    levels.push(standard.clone());
    let label = levels.iter().map(Assignment::label).collect::<Vec<_>>().join(", ");
    let same = |known: &Condition| {
        let one =
            |level: &Assignment| known.levels.iter().any(|other| other.label() == level.label());
        known.levels.len() == levels.len() && levels.iter().all(one)
    };
    if let Some(known) = plan.conditions.iter().position(same) {
        return known;
    }
    let mut settings = of.settings.clone();
    settings.assign(standard);
    let letter = crate::plan::letter(plan.conditions.len());
    plan.conditions.push(Condition { label, letter, levels, settings });
    plan.conditions.len() - 1
}

/// Numbers, places and times anew.
fn number(plan: &mut Plan) {
    let (mut begins_ms, mut places) = (0.0, BTreeMap::<u32, u32>::new());
    for (number, trial) in (1..).zip(&mut plan.trials) {
        let place = places.entry(trial.participant).or_insert(0);
        *place += 1;
        (trial.number, trial.place, trial.begins_ms) = (number, *place, begins_ms);
        begins_ms += trial.played_ms() + 1000.0;
    }
}
