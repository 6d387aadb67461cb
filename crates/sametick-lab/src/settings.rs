//! All that a trial can be told, one row a setting: name, kind, default and meaning.

use crate::targets::NamedTarget;
use crate::value::{Kind, Value};
use sametick::Model;
use sametick::lockstep::Setup;
use sametick::network::Profile;
use sametick_arena::bot::SKILLS;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The most players of a trial.
pub const PLAYERS_MAX: u32 = 1_000;
/// The longest trial: a day.
const TRIAL_MS_MAX: f64 = 86_400_000.0;
/// Nobody would play over a slower line.
const LINE_MS_MAX: f64 = 5_000.0;

/// Whom a setting concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole trial.
    Trial,
    /// Each player, who may have its own.
    Player,
    /// Each player's line, which may also change during a trial.
    Line,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As a file has it.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whom it concerns.
    pub scope: Scope,
    /// What it is unless a file says otherwise.
    pub default: Otherwise,
    /// What it means.
    pub help: &'static str,
}

/// A default, as plain data.
#[derive(Clone, Copy, Debug)]
pub enum Otherwise {
    /// Something else decides.
    Unsaid,
    /// In the kind's own unit.
    Number(f64),
    /// A name.
    Text(&'static str),
    /// Yes or no.
    Flag(bool),
}

impl Otherwise {
    fn value(self) -> Value {
        match self {
            Self::Unsaid => Value::Unsaid,
            Self::Number(number) => Value::Number(number),
            Self::Text(text) => Value::Text(text.to_owned()),
            Self::Flag(flag) => Value::Flag(flag),
        }
    }
}

const fn row(
    name: &'static str,
    kind: Kind,
    scope: Scope,
    default: Otherwise,
    help: &'static str,
) -> Row {
    Row { name, kind, scope, default, help }
}

use Otherwise::{Flag, Number, Text, Unsaid};
use Scope::{Line, Player, Trial};

const TIME: Kind = Kind::Time { at_most: TRIAL_MS_MAX };
const LINE_TIME: Kind = Kind::Time { at_most: LINE_MS_MAX };

/// Every setting. A new one is a row here and its use where a trial is played.
pub const SETTINGS: &[Row] = &[
    row(
        "play",
        Kind::Choice(plays),
        Trial,
        Text("match"),
        "what is played: `match` (bots fight), `scene` (two play a script), `fpsci` (headless clients in \
            FPSci's own wire format), `islands` (bots wage war on Islands), `clock` (one machine learns another's \
            time over a stream)",
    ),
    row(
        "map",
        Kind::Text,
        Trial,
        Text("halls"),
        "corners, halls, field, or the path of a .map file, from the experiment file",
    ),
    row("mode", Kind::Choice(modes), Trial, Text("ffa"), "what a match is played for"),
    row(
        "scene",
        Kind::Choice(scenes),
        Trial,
        Text("dash_across"),
        "which script: two run at each other, one dashes across, one peeks round a corner, two circle a tree",
    ),
    row(
        "players",
        Kind::Count { at_least: 1, at_most: PLAYERS_MAX },
        Trial,
        Number(2.0),
        "how many play; a scene always has two",
    ),
    row(
        "duration",
        TIME,
        Trial,
        Number(30_000.0),
        "how long is played and logged; of a match from the start of its round, with `targets` from when one appears",
    ),
    row(
        "warm_up",
        TIME,
        Trial,
        Number(3_000.0),
        "how long all join and set their clocks before that, at least; not logged, nor is a match's countdown, which \
            takes 5 s",
    ),
    row(
        "model",
        Kind::Choice(models),
        Trial,
        Text("half_life"),
        "network model, with a server or in lockstep; `netstorm` is event locking, on Islands only",
    ),
    row(
        "tick_rate",
        Kind::Rate { at_least: 20.0, at_most: 1000.0 },
        Trial,
        Number(60.0),
        "ticks of the rules a second",
    ),
    row(
        "snapshot_rate",
        Kind::Rate { at_least: 1.0, at_most: 1000.0 },
        Trial,
        Number(20.0),
        "snapshots a second to each player, at most one a tick",
    ),
    row(
        "rewind",
        LINE_TIME,
        Trial,
        Unsaid,
        "how far back shots are judged at most; 0 ms is by the present, unsaid is the model's",
    ),
    row(
        "stages",
        Kind::Choice(stages),
        Trial,
        Text("off"),
        "whether every snapshot of a match is also written stage by stage: as we write it (`shown`), or with floats \
            whole and as 001 does (`exact`)",
    ),
    row(
        "budget",
        Kind::Bandwidth,
        Trial,
        Unsaid,
        "what an event-locked server may send to all together; unsaid is as much as it takes",
    ),
    row(
        "estimator",
        Kind::Choice(estimators),
        Trial,
        Text("bounds"),
        "how another machine's time is found from stamps; high_modes is 002's",
    ),
    row(
        "targets",
        Kind::Names,
        Trial,
        Unsaid,
        "the targets of a match with mode `targets`, by the names of [[target]]; unsaid are the map's own",
    ),
    row(
        "foreperiod",
        TIME,
        Trial,
        Number(0.0),
        "how long `targets` wait before they appear, from the start of the round; with `foreperiod_most` the least",
    ),
    row(
        "foreperiod_most",
        TIME,
        Trial,
        Unsaid,
        "the most; between both it is drawn anew for every trial, exponentially, so that short waits are commoner",
    ),
    row(
        "foreperiod_mean",
        TIME,
        Trial,
        Unsaid,
        "what it would be on average if there were no most; unsaid is the middle of both",
    ),
    row(
        "log_states",
        Kind::Flag,
        Trial,
        Flag(false),
        "whether every player's and target's state is logged at every tick",
    ),
    row(
        "log_views",
        Kind::Flag,
        Trial,
        Flag(false),
        "whether what every screen shows of everyone is logged at every frame",
    ),
    row("log_commands", Kind::Flag, Trial, Flag(false), "whether every command is logged"),
    row(
        "log_frames",
        Kind::Flag,
        Trial,
        Flag(false),
        "whether every frame and tick is logged: time in network, rules, encoding and drawing, packets and bytes",
    ),
    row(
        "interpolation",
        Kind::Count { at_least: 1, at_most: 8 },
        Player,
        Unsaid,
        "how many snapshots behind the newest others are shown, where the model interpolates",
    ),
    row(
        "smoothing",
        LINE_TIME,
        Player,
        Unsaid,
        "for how long what is left of an error is shown; unsaid is the model's",
    ),
    row(
        "frame_rate",
        Kind::Rate { at_least: 10.0, at_most: 1000.0 },
        Player,
        Number(60.0),
        "pictures a second of each client",
    ),
    row(
        "frame_delay",
        Kind::Count { at_least: 0, at_most: 60 },
        Player,
        Number(0.0),
        "how many frames later than it is made a picture is seen",
    ),
    row(
        "input_delay",
        LINE_TIME,
        Player,
        Number(0.0),
        "how long a command waits on the client's own machine",
    ),
    row(
        "field_of_view",
        Kind::Count { at_least: 60, at_most: 130 },
        Player,
        Unsaid,
        "degrees from left to right that a person's page shows, 95 if unsaid; bots have eyes of their own",
    ),
    row(
        "reads",
        Kind::Choice(reads),
        Player,
        Text("at_once"),
        "when a client takes datagrams in: at_once, or at_frames only, as loops do that are bound to them",
    ),
    row(
        "aim_ahead",
        LINE_TIME,
        Player,
        Number(0.0),
        "how far ahead of its picture a script aims at its target, in time that the target runs on",
    ),
    row("skill", Kind::Choice(skills), Player, Text("regular"), "how well a bot plays"),
    row(
        "weapon",
        Kind::Choice(weapons),
        Player,
        Text("any"),
        "what a bot uses whatever it would choose, as long as there is ammunition for it",
    ),
    row(
        "profile",
        Kind::Choice(profiles),
        Line,
        Unsaid,
        "a line that many people have; the settings below change it",
    ),
    row("ping", LINE_TIME, Line, Unsaid, "there and back; half of it each way"),
    row("delay_up", LINE_TIME, Line, Unsaid, "to the server only"),
    row("delay_down", LINE_TIME, Line, Unsaid, "from the server only"),
    row("jitter", LINE_TIME, Line, Unsaid, "up to so much more, each way"),
    row("jitter_up", LINE_TIME, Line, Unsaid, "to the server only"),
    row("jitter_down", LINE_TIME, Line, Unsaid, "from the server only"),
    row("loss", Kind::Share, Line, Unsaid, "share of datagrams lost, each way"),
    row("loss_up", Kind::Share, Line, Unsaid, "to the server only"),
    row("loss_down", Kind::Share, Line, Unsaid, "from the server only"),
    row(
        "burst",
        Kind::Count { at_least: 1, at_most: 1000 },
        Line,
        Number(1.0),
        "how many datagrams are lost in a row on average; 1 is each by chance",
    ),
    row("bandwidth", Kind::Bandwidth, Line, Unsaid, "how fast the line sends, each way"),
    row(
        "trace",
        Kind::Text,
        Line,
        Unsaid,
        "a file of delays in milliseconds, one a line, instead of jitter; from the experiment file",
    ),
];

fn plays() -> Vec<&'static str> {
    vec!["match", "scene", "fpsci", "islands", "clock"]
}

fn stages() -> Vec<&'static str> {
    vec!["off", "shown", "exact"]
}

fn estimators() -> Vec<&'static str> {
    vec!["uncorrected", "half_trip", "high_modes", "shortest_trip", "bounds"]
}

fn modes() -> Vec<&'static str> {
    vec!["ffa", "tdm", "duel", "targets"]
}

fn scenes() -> Vec<&'static str> {
    vec!["dash_across", "corner", "run_at_each_other", "tree"]
}

fn reads() -> Vec<&'static str> {
    vec!["at_once", "at_frames"]
}

fn skills() -> Vec<&'static str> {
    SKILLS.iter().map(|skill| skill.name).collect()
}

fn weapons() -> Vec<&'static str> {
    vec!["any", "rifle", "shotgun", "launcher"]
}

fn profiles() -> Vec<&'static str> {
    Profile::NAMES.to_vec()
}

fn models() -> Vec<&'static str> {
    let served = Model::ALL.into_iter().map(|model| model.name);
    served.chain(Setup::ALL.into_iter().map(|(name, _)| name)).chain(["netstorm"]).collect()
}

/// The row of this name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    SETTINGS.iter().find(|row| row.name == name)
}

/// One setting said of all, or of one player.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Which.
    pub row: &'static Row,
    /// Of one player, counted from 1; otherwise of all.
    pub player: Option<u32>,
    /// What it is to be.
    pub value: Value,
    /// Where in the file it stands.
    pub at: Range<usize>,
}

impl Assignment {
    /// What factors are called by: `ping`, or `player.2.ping`.
    pub fn name(&self) -> String {
        match self.player {
            Some(player) => format!("player.{player}.{}", self.row.name),
            None => self.row.name.to_owned(),
        }
    }

    /// What a condition is called by: `ping 50 ms`.
    pub fn label(&self) -> String {
        format!("{} {}", self.name(), self.value.shown(self.row.kind))
    }
}

/// A change of a line during a trial: at once, or evenly over some time.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it begins, in milliseconds from the start of what is logged.
    pub at_ms: f64,
    /// How long it takes.
    pub over_ms: f64,
    /// What changes.
    pub assignments: Vec<Assignment>,
    /// Where in the file it says when.
    pub at: Range<usize>,
}

/// All settings of one trial.
#[derive(Clone, Debug)]
pub struct Settings {
    all: BTreeMap<&'static str, Value>,
    players: BTreeMap<(u32, &'static str), Value>,
    /// By time.
    pub changes: Vec<Change>,
    /// Every kind of target that its experiment has.
    pub kinds: Arc<Vec<NamedTarget>>,
}

impl Default for Settings {
    fn default() -> Self {
        let all = SETTINGS.iter().map(|row| (row.name, row.default.value())).collect();
        Self { all, players: BTreeMap::new(), changes: Vec::new(), kinds: Arc::default() }
    }
}

impl Settings {
    /// Says one thing. What is said of one player holds for it whatever is said of all.
    pub fn assign(&mut self, assignment: &Assignment) {
        let (name, value) = (assignment.row.name, assignment.value.clone());
        match assignment.player {
            Some(player) => _ = self.players.insert((player, name), value),
            None => _ = self.all.insert(name, value),
        }
    }

    /// A setting of the trial.
    ///
    /// # Panics
    /// If there is no such setting: names are those of [`SETTINGS`].
    pub fn value(&self, name: &str) -> &Value {
        self.all.get(name).unwrap_or_else(|| panic!("there is no setting `{name}`"))
    }

    /// A setting of one player, counted from 1.
    pub fn value_of(&self, player: u32, name: &'static str) -> &Value {
        self.players.get(&(player, name)).unwrap_or_else(|| self.value(name))
    }

    /// A number of the trial, if one is said.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.value(name).number()
    }

    /// A number of one player, if one is said.
    pub fn number_of(&self, player: u32, name: &'static str) -> Option<f64> {
        self.value_of(player, name).number()
    }

    /// A name of the trial.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// A name of one player.
    pub fn text_of(&self, player: u32, name: &'static str) -> &str {
        match self.value_of(player, name) {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// A yes or no of the trial.
    pub fn flag(&self, name: &str) -> bool {
        *self.value(name) == Value::Flag(true)
    }

    /// How many play.
    pub fn players(&self) -> u32 {
        match self.text("play") {
            "scene" => 2,
            "clock" => 1,
            _ => self.number("players").unwrap_or(2.0) as u32,
        }
    }

    /// The settings that differ from the defaults, for a program to read.
    pub fn json(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        for (name, value) in &self.all {
            let is_said = find(name).is_some_and(|row| row.default.value() != *value);
            if is_said {
                object.insert((*name).to_owned(), value.json());
            }
        }
        for ((player, name), value) in &self.players {
            object.insert(format!("player.{player}.{name}"), value.json());
        }
        let set = self.target_set();
        if !set.kinds.is_empty() {
            // What a recording is played again with.
            object.insert("target_set".to_owned(), set.text().into());
        }
        object.into()
    }
}
