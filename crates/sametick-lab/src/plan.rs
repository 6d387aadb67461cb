//! The plan of an experiment: every trial that will be run, in order, with its seed and its settings.

use crate::experiment::{CONDITIONS_MAX, Experiment, Session, TrialKind};
use crate::people::arrange;
use crate::play::ISLANDS_WAYS;
use crate::settings::{Assignment, Settings};
use crate::square::Order;
use crate::wrong::{Found, Wrong, Wrongs};
use sametick::Model;
use sametick::lockstep::{self, Setup};
use sametick::record::mix;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most trials of an experiment.
pub const TRIALS_MAX: usize = 1_000_000;
/// What a player costs one core for each second of play, in seconds: with a server, in lockstep, guessing ahead, and in
/// FPSci's format for each other player, and on Islands. Measured; only for telling how long a run will take.
const COSTS: [f64; 5] = [0.002, 0.008, 0.016, 0.000_03, 0.001];
/// What a match takes until its round begins: all join, and it counts down. Only for telling how long a run takes.
const COUNTDOWN_MS: f64 = 5_500.0;
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
    /// The session and the kind of trial, where what they say makes a difference: they are factors too, by these names.
    pub apart: Vec<(&'static str, String)>,
    /// All settings that hold in it.
    pub settings: Settings,
}

/// Whether sessions and kinds of trials are factors of their own: two that have the same levels and other settings must
/// not be taken for one.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    sessions: bool,
    kinds: bool,
}

impl Parts {
    fn of(experiment: &Experiment) -> Self {
        let mut all: Vec<(String, &str, &str, String)> = Vec::new();
        for session in &experiment.sessions {
            for levels in &session.conditions {
                let label = levels.iter().map(Assignment::label).collect::<Vec<_>>().join(", ");
                for kind in &session.trials {
                    let settings = settings(session, kind, levels);
                    let said = format!("{} {:?}", settings.json(), settings.changes);
                    all.push((label.clone(), &session.name, &kind.name, said));
                }
            }
        }
        let asked = Self {
            sessions: experiment.speaks_of("session"),
            kinds: experiment.speaks_of("trial"),
        };
        // As few factors as tell everything apart that differs.
        let ways = [(false, false), (true, false), (false, true)].map(|(sessions, kinds)| Self {
            sessions: sessions || asked.sessions,
            kinds: kinds || asked.kinds,
        });
        let tells_apart = |parts: &Self| {
            let mut known: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
            all.iter().all(|(label, session, kind, said)| {
                let session = if parts.sessions { session } else { "" };
                let kind = if parts.kinds { kind } else { "" };
                *known.entry((label, session, kind)).or_insert(said) == said.as_str()
            })
        };
        ways.into_iter().find(tells_apart).unwrap_or(Self { sessions: true, kinds: true })
    }
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
        let mut found = Found::default();
        check(experiment, &mut found);
        if !found.all.is_empty() {
            return Err(Wrongs::new(found.all).first());
        }
        let mut plan = Self { conditions: Vec::new(), trials: Vec::new() };
        let places = plan.places(experiment)?;
        let mut begins_ms = 0.0;
        for participant in 1..=experiment.participants {
            let mut place = 0;
            for index in experiment.session_order(participant) {
                let (session, conditions) = (&experiment.sessions[index], &places[index]);
                let repetitions = session.repetitions.unwrap_or(experiment.repetitions);
                for repetition in 0..=repetitions {
                    // Practice is the repetition before the first.
                    let is_practice = repetition == 0;
                    let room = TRIALS_MAX - plan.trials.len();
                    for met in meetings(experiment, session, participant, repetition, room)? {
                        place += 1;
                        let (kind, condition) =
                            (&session.trials[met.kind], conditions[met.levels][met.kind]);
                        let seed = seed_of(
                            experiment.seed,
                            [participant, repetition, met.count, u32::from(is_practice)],
                        );
                        let levels = &plan.conditions[condition].levels;
                        let settings = settings(session, kind, levels);
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
                        plan.trials.push(trial);
                    }
                }
            }
        }
        let kinds = Arc::new(experiment.targets.clone());
        let all = plan.trials.iter_mut().map(|trial| &mut trial.settings);
        let all = all.chain(plan.conditions.iter_mut().map(|condition| &mut condition.settings));
        all.for_each(|settings| settings.kinds = Arc::clone(&kinds));
        arrange(experiment, &mut plan)?;
        Ok(plan)
    }

    /// The number of each condition: by session, by combination of levels and by kind of trial.
    fn places(&mut self, experiment: &Experiment) -> Result<Vec<Vec<Vec<usize>>>, Wrong> {
        let parts = Parts::of(experiment);
        let mut places: Vec<Vec<Vec<usize>>> = Vec::new();
        for session in &experiment.sessions {
            let of_levels = |levels: &Vec<Assignment>| {
                session
                    .trials
                    .iter()
                    .map(|kind| self.condition(session, levels, kind, parts))
                    .collect()
            };
            places.push(session.conditions.iter().map(of_levels).collect());
        }
        if self.conditions.len() > CONDITIONS_MAX {
            let what = format!("more than {CONDITIONS_MAX} conditions");
            return Err(Wrong { line: 1, column: 1, what });
        }
        Ok(places)
    }

    fn condition(
        &mut self,
        session: &Session,
        levels: &[Assignment],
        kind: &TrialKind,
        parts: Parts,
    ) -> usize {
        let mut words: Vec<String> = levels.iter().map(Assignment::label).collect();
        let mut apart = Vec::new();
        if parts.sessions {
            apart.push(("session", session.name.clone()));
        }
        if parts.sessions || levels.is_empty() {
            words.push(session.name.clone());
        }
        if parts.kinds {
            apart.push(("trial", kind.name.clone()));
            words.push(kind.name.clone());
        }
        let label = words.join(", ");
        if let Some(known) = self.conditions.iter().position(|known| known.label == label) {
            return known;
        }
        let settings = settings(session, kind, levels);
        let letter = letter(self.conditions.len());
        self.conditions.push(Condition { label, letter, levels: levels.to_vec(), apart, settings });
        self.conditions.len() - 1
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

/// A trial of one repetition of a session: the places of its levels and of its kind there, and its count of these.
#[derive(Clone, Copy)]
struct Meeting {
    levels: usize,
    kind: usize,
    count: u32,
}

/// All that a participant meets in one repetition of a session, in order; `room` at most. Shuffled are trials one by
/// one, anew in each repetition; squares order the combinations of levels, and the kinds of trials stay as written.
fn meetings(
    experiment: &Experiment,
    session: &Session,
    participant: u32,
    repetition: u32,
    room: usize,
) -> Result<Vec<Meeting>, Wrong> {
    let (row, seed) = (participant as usize - 1, experiment.seed);
    let order = experiment.order.of(row, session.conditions.len(), seed);
    let is_practice = repetition == 0;
    let times = if is_practice { experiment.practice as usize } else { order.len() };
    let mut all = Vec::new();
    for levels in order.iter().copied().cycle().take(times) {
        for (kind, what) in session.trials.iter().enumerate() {
            for count in 0..if is_practice { 1 } else { what.count } {
                if all.len() == room {
                    let what = format!("more than {TRIALS_MAX} trials");
                    return Err(Wrong { line: 1, column: 1, what });
                }
                all.push(Meeting { levels, kind, count });
            }
        }
    }
    if experiment.order == Order::Shuffled && !is_practice {
        let order = Order::Shuffled.of(row, all.len(), seed_of(seed, [repetition, 0, 0, 0]));
        all = order.into_iter().map(|place| all[place]).collect();
    }
    Ok(all)
}

impl Trial {
    /// How long it plays, warm-up and countdown included.
    pub fn played_ms(&self) -> f64 {
        let ms = |name| self.settings.number(name).unwrap_or(0.0);
        let countdown = if self.settings.text("play") == "match" { COUNTDOWN_MS } else { 0.0 };
        let wait = ms("foreperiod").max(ms("foreperiod_most"));
        ms("warm_up").max(countdown) + wait + ms("duration")
    }
}

/// What holds in a trial: what is said further inside holds.
pub(crate) fn settings(session: &Session, kind: &TrialKind, levels: &[Assignment]) -> Settings {
    let mut settings = Settings::default();
    let said = session.assignments.iter().chain(&kind.assignments);
    said.chain(levels).for_each(|one| settings.assign(one));
    settings.changes.clone_from(&session.changes);
    settings
}

/// Some values are possible alone and not together, and some mean nothing where they stand.
pub(crate) fn check(experiment: &Experiment, found: &mut Found) {
    // By where it stands: whether it means something in one trial at least, and what to say if not.
    let mut meant: BTreeMap<usize, (bool, Wrong)> = BTreeMap::new();
    for session in &experiment.sessions {
        for levels in &session.conditions {
            for kind in &session.trials {
                let said: Vec<&Assignment> =
                    session.assignments.iter().chain(&kind.assignments).chain(levels).collect();
                let settings = settings(session, kind, levels);
                for (name, what) in impossible(&settings) {
                    let said = said.iter().rev().find(|one| one.row.name == name);
                    let at = said.map_or(0..0, |one| one.at.clone());
                    found.note(Wrong::at(&experiment.text, &at, what));
                }
                let mut note = |at: &std::ops::Range<usize>, means: bool, what: String| {
                    let wrong = || (false, Wrong::at(&experiment.text, at, what));
                    meant.entry(at.start).or_insert_with(wrong).0 |= means;
                };
                for one in &said {
                    if let Some((means, where_)) = means(one.row.name, &settings) {
                        let what =
                            format!("`{}` means nothing here: it is of {where_}", one.name());
                        note(&one.at, means, what);
                    }
                }
                for change in &session.changes {
                    let duration = settings.number("duration").unwrap_or(0.0);
                    let play = settings.text("play");
                    let (means, what) = match play {
                        "match" | "scene" => {
                            let seconds = duration / 1000.0;
                            let what = format!("a trial is over by then: it lasts {seconds} s");
                            (change.at_ms < duration, what)
                        }
                        play => (false, format!("lines do not change during a trial of `{play}`")),
                    };
                    note(&change.at, means, what);
                }
            }
        }
    }
    meant.into_values().filter(|(means, _)| !means).for_each(|(_, wrong)| found.note(wrong));
}

/// Whether a setting means something beside these; and where it does. None if it may stand anywhere.
fn means(name: &str, settings: &Settings) -> Option<(bool, &'static str)> {
    let (play, model) = (settings.text("play"), settings.text("model"));
    let plays = |wanted: &[&str]| wanted.contains(&play);
    let is_served = plays(&["match", "scene"]) && Model::named(model).is_some();
    Some(match name {
        "scene" => (plays(&["scene"]), "play = \"scene\""),
        "aim_ahead" => (plays(&["scene"]), "the scripts of play = \"scene\""),
        "mode" => (plays(&["match"]), "play = \"match\""),
        "skill" | "weapon" => (plays(&["match"]), "the bots of play = \"match\""),
        "budget" => (
            plays(&["islands"]) && model == "netstorm",
            "play = \"islands\" with model = \"netstorm\"",
        ),
        "estimator" => (plays(&["clock"]), "play = \"clock\""),
        "rewind" | "interpolation" | "smoothing" => (is_served, "matches and scenes with a server"),
        _ => return None,
    })
}

/// What cannot be played, by the setting that is to blame.
pub(crate) fn impossible(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let number = |name| settings.number(name).unwrap_or(0.0);
    if number("duration") < 100.0 {
        wrong.push(("duration", "`duration` is at least 100 ms".to_owned()));
    }
    wrong.extend(crate::targets::impossible(settings));
    let (model, play) = (settings.text("model"), settings.text("play"));
    let players = settings.players();
    if play == "clock" {
        return wrong;
    }
    if play == "islands" {
        let names = ISLANDS_WAYS.map(|(name, _)| name);
        if !names.contains(&model) {
            let what = format!("`{model}` is not played on Islands: {}", names.join(", "));
            wrong.push(("model", what));
        }
        if !(2..=ISLANDS_PLAYERS_MAX).contains(&players) {
            let what = format!("{players} players: on Islands 2 to {ISLANDS_PLAYERS_MAX} can play");
            wrong.push(("players", what));
        }
        let seconds = (number("duration") + number("warm_up")) / 1000.0;
        if seconds > ISLANDS_SECONDS_MAX {
            let what = format!("a war on Islands lasts {ISLANDS_SECONDS_MAX} s at most");
            wrong.push(("duration", what));
        }
        return wrong;
    }
    if model == "netstorm" {
        let what = "`netstorm` is played on Islands only: play = \"islands\"".to_owned();
        wrong.push(("model", what));
        return wrong;
    }
    let is_locked = Setup::named(model).is_some() && play != "fpsci";
    if settings.text("stages") != "off" && (is_locked || play == "fpsci") {
        wrong.push(("stages", "`stages` weighs snapshots, which only servers send".to_owned()));
    }
    let most = lockstep::PLAYERS_MAX as u32;
    if is_locked && !(2..=most).contains(&players) {
        let what = format!("{players} players: in lockstep 2 to {most} can play");
        wrong.push(("players", what));
    }
    // Of those that a file has it is said already.
    let are_maps = settings.text("targets").is_empty();
    if is_locked && play == "match" && settings.text("mode") == "targets" && are_maps {
        let what = "shots at targets are judged by a server: choose a `model` that has one";
        wrong.push(("mode", what.to_owned()));
    }
    if play == "match" && settings.text("mode") == "duel" && players < 2 {
        wrong.push(("players", "a duel takes two players".to_owned()));
    }
    let said = number("players");
    if play == "scene" && said != f64::from(players) {
        let what = format!("a scene has {players} players, not {said}: leave it out");
        wrong.push(("players", what));
    }
    let is_served = !is_locked && play != "fpsci";
    if is_served && number("snapshot_rate") > number("tick_rate") {
        wrong.push(("snapshot_rate", "`snapshot_rate` is at most one a tick".to_owned()));
    }
    wrong
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
