//! The plan of an experiment: every trial that will be run, in order, with its seed and its settings.

use crate::experiment::{CONDITIONS_MAX, Experiment, Session, TrialKind};
use crate::people::arrange;
use crate::play::ISLANDS_WAYS;
use crate::settings::{Assignment, Settings};
use crate::wrong::Wrong;
use sametick::lockstep::{self, Setup};
use sametick::record::mix;

/// The most trials of an experiment.
pub const TRIALS_MAX: usize = 1_000_000;
/// What a player costs one core for each second of play, in seconds: with a server, in lockstep, guessing ahead, and in
/// FPSci's format for each other player, and on Islands. Measured; only for telling how long a run will take.
const COSTS: [f64; 5] = [0.002, 0.008, 0.016, 0.000_03, 0.001];
/// Islands have room for so many, and a war on them for so long.
const ISLANDS_PLAYERS_MAX: u32 = 8;
const ISLANDS_SECONDS_MAX: f64 = 1_500.0;

/// Every trial that will be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order in which the file has them.
    pub conditions: Vec<Condition>,
    /// In the order in which participants meet them.
    pub trials: Vec<Trial>,
}

/// One combination of levels.
#[derive(Clone, Debug)]
pub struct Condition {
    /// `ping 50 ms, loss 2 %`.
    pub label: String,
    /// What participants are shown instead: A, B, ... in an order by chance.
    pub letter: String,
    /// The levels.
    pub levels: Vec<Assignment>,
    /// All settings that hold in it, those of no trial's own included.
    pub settings: Settings,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Counted from 1; its name for ever.
    pub number: u32,
    /// Which session it belongs to.
    pub session: String,
    /// What kind of trial it is.
    pub name: String,
    /// The place of its condition in the plan.
    pub condition: usize,
    /// Who plays it, counted from 1.
    pub participant: u32,
    /// Which repetition it is, counted from 1.
    pub repetition: u32,
    /// Its place among its participant's trials, counted from 1.
    pub place: u32,
    /// Whether it counts.
    pub is_practice: bool,
    /// Decides every chance in it. Every condition meets the same seeds.
    pub seed: u64,
    /// When it begins on the clock of virtual time, after all trials before it; in milliseconds.
    pub begins_ms: f64,
    /// What holds in it.
    pub settings: Settings,
}

impl Plan {
    /// The plan of an experiment. The same file and seed give the same plan.
    pub fn new(experiment: &Experiment) -> Result<Self, Wrong> {
        let mut plan = Self { conditions: Vec::new(), trials: Vec::new() };
        let mut places: Vec<Vec<usize>> = Vec::new();
        for session in &experiment.sessions {
            let numbers = session.conditions.iter().map(|levels| plan.condition(session, levels));
            places.push(numbers.collect());
        }
        plan.check(experiment)?;
        let mut begins_ms = 0.0;
        for participant in 1..=experiment.participants {
            let mut place = 0;
            for (session, conditions) in experiment.sessions.iter().zip(&places) {
                let order = experiment.order.of(
                    participant as usize - 1,
                    conditions.len(),
                    experiment.seed,
                );
                let met: Vec<usize> = order.into_iter().map(|index| conditions[index]).collect();
                let practice = met.iter().cycle().take(experiment.practice as usize);
                let practice = practice.map(|condition| (0, true, *condition));
                let repetitions = session.repetitions.unwrap_or(experiment.repetitions);
                let counted = (1..=repetitions)
                    .flat_map(|repetition| met.iter().map(move |one| (repetition, false, *one)));
                for (repetition, is_practice, condition) in practice.chain(counted) {
                    for kind in &session.trials {
                        for count in 0..if is_practice { 1 } else { kind.count } {
                            place += 1;
                            let seed = seed_of(
                                experiment.seed,
                                [participant, repetition, count, u32::from(is_practice)],
                            );
                            let settings = plan.settings(session, kind, condition);
                            let trial = Trial {
                                number: plan.trials.len() as u32 + 1,
                                session: session.name.clone(),
                                name: kind.name.clone(),
                                condition,
                                participant,
                                repetition,
                                place,
                                is_practice,
                                seed,
                                begins_ms,
                                settings,
                            };
                            begins_ms += trial.played_ms() + 1000.0;
                            if plan.trials.len() == TRIALS_MAX {
                                let what = format!("more than {TRIALS_MAX} trials");
                                return Err(Wrong { line: 1, column: 1, what });
                            }
                            plan.trials.push(trial);
                        }
                    }
                }
            }
        }
        arrange(experiment, &mut plan)?;
        Ok(plan)
    }

    fn condition(&mut self, session: &Session, levels: &[Assignment]) -> usize {
        let label = match levels {
            [] => session.name.clone(),
            levels => levels.iter().map(Assignment::label).collect::<Vec<_>>().join(", "),
        };
        if let Some(known) = self.conditions.iter().position(|known| known.label == label) {
            return known;
        }
        let mut settings = Settings::default();
        session.assignments.iter().chain(levels).for_each(|one| settings.assign(one));
        settings.changes.clone_from(&session.changes);
        let letter = letter(self.conditions.len());
        self.conditions.push(Condition { label, letter, levels: levels.to_vec(), settings });
        self.conditions.len() - 1
    }

    fn settings(&self, session: &Session, kind: &TrialKind, condition: usize) -> Settings {
        let mut settings = Settings::default();
        let said = session.assignments.iter().chain(&kind.assignments);
        said.chain(&self.conditions[condition].levels).for_each(|one| settings.assign(one));
        settings.changes.clone_from(&session.changes);
        settings
    }

    /// Some values are possible alone and not together.
    fn check(&self, experiment: &Experiment) -> Result<(), Wrong> {
        if self.conditions.len() > CONDITIONS_MAX {
            let what = format!("more than {CONDITIONS_MAX} conditions");
            return Err(Wrong { line: 1, column: 1, what });
        }
        for session in &experiment.sessions {
            for levels in &session.conditions {
                for kind in &session.trials {
                    let said: Vec<&Assignment> =
                        session.assignments.iter().chain(&kind.assignments).chain(levels).collect();
                    let mut settings = Settings::default();
                    said.iter().for_each(|one| settings.assign(one));
                    if let Some((name, what)) = impossible(&settings) {
                        let said = said.iter().rev().find(|one| one.row.name == name);
                        let at = said.map_or(0..0, |one| one.at.clone());
                        return Err(Wrong::at(&experiment.text, &at, what));
                    }
                }
            }
        }
        Ok(())
    }

    /// How long all trials play together, in seconds.
    pub fn played_seconds(&self) -> f64 {
        self.trials.iter().map(|trial| trial.played_ms() / 1000.0).sum()
    }

    /// How long that takes in virtual time on so many cores, as a guess.
    pub fn guessed_seconds(&self, cores: usize) -> f64 {
        let cost = |trial: &Trial| {
            let players = f64::from(trial.settings.players());
            let model = trial.settings.text("model");
            let each = match trial.settings.text("play") {
                "fpsci" => COSTS[3] * players,
                "islands" => COSTS[4],
                "clock" => 0.0,
                _ if model == "rollback" => COSTS[2],
                _ if Setup::named(model).is_some() => COSTS[1],
                _ => COSTS[0] * (1.0 + players / 64.0),
            };
            players * each * trial.played_ms() / 1000.0
        };
        self.trials.iter().map(cost).sum::<f64>() / cores.max(1) as f64
    }
}

impl Trial {
    /// How long it plays, warm-up included.
    pub fn played_ms(&self) -> f64 {
        let ms = |name| self.settings.number(name).unwrap_or(0.0);
        ms("warm_up") + ms("duration")
    }
}

/// What cannot be played, by the setting that is to blame.
pub(crate) fn impossible(settings: &Settings) -> Option<(&'static str, String)> {
    let number = |name| settings.number(name).unwrap_or(0.0);
    if number("duration") < 100.0 {
        return Some(("duration", "`duration` is at least 100 ms".to_owned()));
    }
    let (model, play) = (settings.text("model"), settings.text("play"));
    let players = settings.players();
    if play == "clock" {
        return None;
    }
    if play == "islands" {
        let names = ISLANDS_WAYS.map(|(name, _)| name);
        if !names.contains(&model) {
            let what = format!("`{model}` is not played on Islands: {}", names.join(", "));
            return Some(("model", what));
        }
        if !(2..=ISLANDS_PLAYERS_MAX).contains(&players) {
            let what = format!("{players} players: on Islands 2 to {ISLANDS_PLAYERS_MAX} can play");
            return Some(("players", what));
        }
        let seconds = (number("duration") + number("warm_up")) / 1000.0;
        if seconds > ISLANDS_SECONDS_MAX {
            let what = format!("a war on Islands lasts {ISLANDS_SECONDS_MAX} s at most");
            return Some(("duration", what));
        }
        return None;
    }
    if model == "netstorm" {
        return Some((
            "model",
            "`netstorm` is played on Islands only: play = \"islands\"".to_owned(),
        ));
    }
    if settings.text("stages") != "off" && (Setup::named(model).is_some() || play == "fpsci") {
        return Some(("stages", "`stages` weighs snapshots, which only servers send".to_owned()));
    }
    if Setup::named(model).is_some() {
        if play == "scene" {
            let what = format!(
                "`{model}` has no server, and scripts of scenes are told apart by a server's seats: it plays matches"
            );
            return Some(("model", what));
        }
        let most = lockstep::PLAYERS_MAX as u32;
        if !(2..=most).contains(&players) {
            let what = format!("{players} players: in lockstep 2 to {most} can play");
            return Some(("players", what));
        }
    }
    let is_served = Setup::named(model).is_none() && play != "fpsci";
    if is_served && number("snapshot_rate") > number("tick_rate") {
        let what = "`snapshot_rate` is at most one a tick".to_owned();
        return Some(("snapshot_rate", what));
    }
    None
}

fn seed_of(seed: u64, parts: [u32; 4]) -> u64 {
    let seed = mix(mix(0, seed as u32), (seed >> 32) as u32);
    parts.into_iter().fold(seed, mix)
}

/// A, B, ..., Z, AA, ...
pub(crate) fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}
