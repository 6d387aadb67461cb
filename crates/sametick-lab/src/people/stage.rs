//! What a participant's page shows, and what the host is to play.

use super::event::SeatId;
use super::line::Line;
use crate::plan::Trial;
use serde::Serialize;

/// What a participant's page shows; `{"stage": "ready", ...}` as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// What is agreed to.
    Consent {
        /// The text.
        text: String,
    },
    /// The machine and the line are measured.
    Calibration,
    /// This line or machine cannot have a condition.
    Refused {
        /// In a sentence.
        why: String,
    },
    /// Others are waited for.
    Waiting {
        /// For what, in a sentence.
        why: String,
    },
    /// A trial waits for this one to be ready.
    Ready {
        /// Its place among this group's trials, from 1.
        place: u32,
        /// How many these are.
        of: u32,
        /// Which of those that count it is, from 1.
        round: u32,
        /// How many count.
        rounds: u32,
        /// Whether it does not count.
        is_practice: bool,
        /// The blind letter of its condition; empty in intervals, which would be told apart by it.
        letter: String,
        /// The role in it.
        role: Option<String>,
        /// Which of two intervals, 1 or 2.
        interval: Option<u32>,
    },
    /// It is being played.
    Play {
        /// Which.
        trial: u32,
        /// Which attempt.
        attempt: u32,
        /// Its place, from 1.
        place: u32,
        /// Of how many.
        of: u32,
        /// Which of those that count it is, from 1.
        round: u32,
        /// How many count.
        rounds: u32,
        /// Whether it does not count.
        is_practice: bool,
        /// The blind letter.
        letter: String,
        /// The role in it.
        role: Option<String>,
        /// Which of two intervals.
        interval: Option<u32>,
    },
    /// A rest.
    Break {
        /// For so long.
        seconds_left: u64,
    },
    /// Questions are to be answered.
    Questions {
        /// After which trial; none after the study.
        trial: Option<u32>,
        /// At least one.
        questions: Vec<Asked>,
    },
    /// It is over.
    Thanks {
        /// What is said in the end.
        text: String,
    },
}

/// A question as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// From 1 as in the file; 0 is which of two intervals.
    pub question: u32,
    /// What is asked.
    pub ask: String,
    /// rating, choice, drop_down or text.
    pub kind: &'static str,
    /// In the order in which they are shown.
    pub options: Vec<String>,
    /// Whether it must be answered.
    pub required: bool,
}

/// A trial that everyone is ready for.
#[derive(Clone, Debug)]
pub struct Start {
    /// Who plays.
    pub group: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// With the settings that hold now: the experimenter's changes and a staircase's level are in them. A line's floor
    /// is not taken off.
    pub trial: Trial,
    /// Who sits where: the seat, its player's number from 1, and its role.
    pub seats: Vec<(SeatId, u32, Option<String>)>,
    /// What is asked of each of these seats' lines in all.
    pub asked: Vec<Line>,
    /// How long to wait before the round.
    pub foreperiod_ms: u64,
    /// What the experimenter changed in it, in words; to be flagged.
    pub changed: Vec<String>,
}
