//! The `[people]` table of an experiment file, as it is read.

use crate::metrics::Metric;
use crate::settings::{Assignment, Row};

/// The most people at a table.
pub const GROUP_MAX: u32 = 64;
/// The most questions of an experiment.
pub const QUESTIONS_MAX: usize = 100;
/// The most options of a question.
pub const OPTIONS_MAX: usize = 100;

/// What an experiment says of people.
#[derive(Clone, Debug)]
pub struct People {
    /// People at a table.
    pub group: u32,
    /// One for each of them, or none at all.
    pub roles: Vec<String>,
    /// Whether roles change from trial to trial.
    pub swap: bool,
    /// Whether each group meets all conditions or one.
    pub design: Design,
    /// What participants agree to.
    pub consent: String,
    /// What they are told in the end.
    pub thanks: String,
    /// How far the achieved ping may be from the asked.
    pub tolerance_ms: f64,
    /// How far the achieved loss may be from the asked, in per cent.
    pub tolerance_loss: f64,
    /// The longest 95th percentile of frame times that is not flagged.
    pub frame_tolerance_ms: f64,
    /// After how many trials there is a break.
    pub break_every: Option<u32>,
    /// How long it is.
    pub break_ms: u64,
    /// Between these, a trial waits after everyone is ready.
    pub foreperiod_ms: Option<(f64, f64)>,
    /// In the order of the file.
    pub questions: Vec<Question>,
    /// A setting that follows the answers.
    pub staircase: Option<Staircase>,
    /// Two rounds and the question which of them it was.
    pub intervals: Option<Intervals>,
    /// What is left out of the analysis.
    pub exclusions: Vec<Exclusion>,
}

impl People {
    /// What is still to be written before anyone may come: a text that only holds the place of another.
    pub fn unwritten(&self) -> Option<&'static str> {
        let is_unwritten = self.consent.trim() == crate::import::CONSENT;
        is_unwritten
            .then_some("`consent` is still the importer's: write what participants agree to")
    }
}

/// Who meets which conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Each group meets all of them.
    Within,
    /// Each group meets one of them, dealt out evenly.
    Between,
}

/// A question to participants.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked.
    pub ask: String,
    /// How it is answered.
    pub kind: QuestionKind,
    /// When it is asked.
    pub after: When,
    /// What can be chosen; empty for texts.
    pub options: Vec<String>,
    /// Whether options come in an order by chance.
    pub randomised: bool,
    /// Whether it must be answered.
    pub required: bool,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// On a scale.
    Rating,
    /// One of some buttons.
    Choice,
    /// One of a list.
    DropDown,
    /// In one's own words.
    Text,
}

impl QuestionKind {
    /// By the names that a file has.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("rating", Self::Rating),
        ("choice", Self::Choice),
        ("drop_down", Self::DropDown),
        ("text", Self::Text),
    ];

    /// As a file has it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// When a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After each trial.
    Trial,
    /// After each session.
    Session,
    /// In the end.
    Study,
}

impl When {
    /// By the names that a file has.
    pub const NAMES: [(&'static str, Self); 3] =
        [("trial", Self::Trial), ("session", Self::Session), ("study", Self::Study)];
}

/// A setting that goes up and down with the answers.
#[derive(Clone, Debug)]
pub struct Staircase {
    /// Which setting, of whom; the value is where it begins.
    pub setting: Assignment,
    /// How far a step goes.
    pub step: f64,
    /// The lowest level.
    pub least: f64,
    /// The highest level.
    pub most: f64,
    /// So many wrong ones in a row make it easier by a step.
    pub up: u32,
    /// So many right ones in a row make it harder by a step.
    pub down: u32,
    /// Whether more is harder; otherwise less is.
    pub harder_is_more: bool,
    /// After how many changes of direction it is over.
    pub reversals: u32,
    /// What is right.
    pub correct: Correct,
}

impl Staircase {
    /// Where it begins.
    pub fn start(&self) -> f64 {
        self.setting.value.number().unwrap_or(self.least)
    }

    /// The setting's row.
    pub fn row(&self) -> &'static Row {
        self.setting.row
    }
}

/// What is right in a staircase.
#[derive(Clone, Debug)]
pub enum Correct {
    /// A metric of the trial is on one side of a bound.
    Metric(&'static Metric, Comparison, f64),
    /// A question was answered so; questions count from 1.
    Answer(u32, String),
    /// The interval was named that had the other setting.
    Interval,
}

/// How a number is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `<=`
    AtMost,
}

impl Comparison {
    /// Longer ones first, as they are looked for.
    pub const NAMES: [(&'static str, Self); 4] =
        [(">=", Self::AtLeast), ("<=", Self::AtMost), (">", Self::More), ("<", Self::Less)];

    /// As a file has it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// Whether it holds.
    pub fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Self::More => number > bound,
            Self::AtLeast => number >= bound,
            Self::Less => number < bound,
            Self::AtMost => number <= bound,
        }
    }
}

/// Two rounds, one of them with a standard setting, then the question which.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// Which setting, of whom; the value is the standard.
    pub standard: Assignment,
    /// What is asked after both.
    pub ask: String,
}

/// What is left out of the analysis, by rule.
#[derive(Clone, Debug)]
pub struct Exclusion {
    /// As the file has it: `frame_ms_95 > 25`.
    pub rule: String,
    /// The metric or figure.
    pub figure: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub bound: f64,
    /// Whether a whole participant is left out; otherwise a trial.
    pub of_participant: bool,
    /// Why, in words.
    pub reason: String,
}
