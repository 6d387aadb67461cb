//! What happens in a study: the events that are logged, and why some are refused.

use serde::{Deserialize, Serialize};

/// The most events of a study.
pub const EVENTS_MAX: u64 = 10_000_000;
/// The most characters of an answer, a reason or a note.
pub const CHARACTERS_MAX: usize = 4_000;

/// One person's place, counted from 1 over all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeatId(pub u32);

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who did it, if a participant did.
    pub seat: Option<SeatId>,
    /// What.
    pub kind: EventKind,
    /// Why the experimenter did it; of its events only a note may leave it out.
    pub why: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A page took a seat.
    Claimed {
        /// A hash of the secret that the page now holds.
        secret_hash: String,
    },
    /// A page fell silent.
    Left,
    /// It is back.
    Returned,
    /// It agreed to take part.
    Consented,
    /// It did not, or does not any more.
    Declined,
    /// What its machine and its line are.
    Calibrated(Calibration),
    /// Its line was refused, and it is measured once more.
    MeasuresAgain,
    /// It is ready for the next trial.
    Ready,
    /// A trial began.
    Started {
        /// Whose.
        group: u32,
        /// Which.
        trial: u32,
        /// Which attempt at it, from 1.
        attempt: u32,
    },
    /// It is over and its rows are logged.
    Finished {
        /// Whose.
        group: u32,
        /// Which.
        trial: u32,
        /// Which attempt.
        attempt: u32,
        /// What is to be said against it.
        flags: Vec<String>,
        /// For a staircase by a metric: 1 if it was right, 0 if it was not.
        result: Option<f64>,
    },
    /// It could not be played to its end: somebody dropped, or the server stopped. It is played again.
    Broken {
        /// Whose.
        group: u32,
        /// Which.
        trial: u32,
        /// Which attempt.
        attempt: u32,
        /// Why.
        reason: String,
    },
    /// A question was answered.
    Answered {
        /// After which trial; none after the study.
        trial: Option<u32>,
        /// Which, counted from 1 as in the file; 0 is which of two intervals.
        question: u32,
        /// The options in the order in which they were shown.
        presented: Vec<String>,
        /// Empty if it was passed over.
        answer: String,
    },
    /// The experimenter paused the study.
    Paused,
    /// And let it go on.
    Resumed,
    /// The experimenter has a trial played again.
    Repeated {
        /// Whose.
        group: u32,
        /// Which.
        trial: u32,
    },
    /// The experimenter left a trial out.
    Skipped {
        /// Whose.
        group: u32,
        /// Which.
        trial: u32,
    },
    /// The experimenter wrote something down.
    Noted {
        /// What.
        text: String,
    },
    /// The experimenter changed a setting from now on, whatever conditions say.
    Changed {
        /// Whose; otherwise of all.
        group: Option<u32>,
        /// Which: `ping`, or `player.2.ping`.
        setting: String,
        /// As a file has it, without quotes; empty takes the change back.
        value: String,
    },
    /// The experimenter gave a seat to somebody else, before its group had finished anything.
    Freed {
        /// Which.
        seat: u32,
        /// What it is joined with from now on.
        code: String,
    },
    /// The experimenter looked at the condition behind a letter.
    Revealed {
        /// Whose.
        group: u32,
    },
}

impl EventKind {
    /// Whether the experimenter does it.
    pub fn is_experimenters(&self) -> bool {
        matches!(
            self,
            Self::Paused
                | Self::Resumed
                | Self::Repeated { .. }
                | Self::Skipped { .. }
                | Self::Noted { .. }
                | Self::Changed { .. }
                | Self::Freed { .. }
                | Self::Revealed { .. }
        )
    }

    /// Whether a participant does it.
    pub fn is_participants(&self) -> bool {
        matches!(
            self,
            Self::Claimed { .. }
                | Self::Left
                | Self::Returned
                | Self::Consented
                | Self::Declined
                | Self::Calibrated(_)
                | Self::MeasuresAgain
                | Self::Ready
                | Self::Answered { .. }
        )
    }
}

/// A participant's machine and line as its page and the server found them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Calibration {
    /// The round trip with nothing added, as the server measures it.
    pub floor_ms: f64,
    /// Pictures a second of the display.
    pub refresh_hz: f64,
    /// A twentieth of all frames took longer.
    pub frame_ms_95: f64,
    /// Of the mouse, as the play page has it.
    pub sensitivity: f64,
    /// Whether up is down.
    pub invert: bool,
    /// Of the page, in its own pixels.
    pub width: u32,
    /// Of the page.
    pub height: u32,
    /// Pixels of the display for each of the page's.
    pub pixel_ratio: f64,
    /// WebTransport, WebSocket or UDP.
    pub road: String,
    /// Mouse, touch or gamepad.
    pub input: String,
    /// The keys that are not the page's usual ones: `jump=KeyJ&fire=KeyF`.
    pub keys: String,
}

impl Calibration {
    /// The longest floor that is believed, in milliseconds.
    pub const FLOOR_MS_MAX: f64 = 10_000.0;
    /// The longest list of keys.
    pub const KEYS_BYTES_MAX: usize = 1_024;

    /// What cannot be true of it.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        let numbers = [self.refresh_hz, self.frame_ms_95, self.sensitivity, self.pixel_ratio];
        let odd = |number: &f64| !(0.0..=1e6).contains(number);
        if !(0.0..=Self::FLOOR_MS_MAX).contains(&self.floor_ms) {
            return Some("no line has such a floor");
        }
        if numbers.iter().any(odd) || self.width > 1 << 20 || self.height > 1 << 20 {
            return Some("no display is like that");
        }
        if self.keys.len() > Self::KEYS_BYTES_MAX {
            return Some("no page has so many keys");
        }
        let is_long = |text: &String| text.chars().count() > 40;
        (is_long(&self.road) || is_long(&self.input)).then_some("a name of 40 characters at most")
    }
}

/// Why an event is refused, in one sentence. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// Whether it happened before and is so already: nothing is wrong with who says it twice.
    pub is_repeat: bool,
}

impl Refusal {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_repeat: false }
    }

    pub(crate) fn again(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_repeat: true }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}
