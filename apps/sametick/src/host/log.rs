//! What a server tells whoever started it: lines that a person can read, objects that a program can, and on a
//! terminal a last line that is always up to date.

use super::figures::Figures;
use sametick::{Span, Time};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How often the last line of a terminal is written anew.
const LIVE_EVERY: Span = Span::millis(500);
/// How often a line goes into a log that nobody may be watching.
const LOGGED_EVERY: Span = Span::seconds(10);
/// What is told again and again.
pub(crate) const STATUS: &str = "status";
/// How many lines may wait to be written.
const LINES_WAITING_MAX: usize = 1024;

/// One thing to tell.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// Ready for players.
    Listening {
        address: String,
        what: String,
        metrics: Option<String>,
        /// To be opened in a browser.
        pages: Vec<String>,
    },
    /// Works, but whoever started it should know.
    Warning(&'a str),
    Joined {
        player: u16,
    },
    Left {
        player: u16,
        reason: String,
    },
    Status(&'a Figures),
    Stopped(&'a Figures),
    /// Whatever else a game has to say.
    Note {
        event: &'static str,
        text: String,
        facts: Value,
    },
}

/// Where lines go: through a thread of their own, so that a terminal or a pipe that stands still does not stop the
/// game. While one does, lines are left out.
pub(crate) struct Log {
    /// None once it is over, or when nobody is told.
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    is_json: bool,
    is_live: bool,
    told_at: Time,
    has_live_line: bool,
}

impl Log {
    pub(crate) fn new(is_json: bool) -> Self {
        let is_live = !is_json && std::io::stdout().is_terminal();
        let (lines, waiting) = sync_channel::<String>(LINES_WAITING_MAX);
        let writer = std::thread::spawn(move || {
            // Whoever reads may stop reading: the game goes on.
            let mut out = std::io::stdout();
            waiting
                .iter()
                .for_each(|text| _ = out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        });
        let (lines, writer) = (Some(lines), Some(writer));
        Self { lines, writer, is_json, is_live, told_at: Time::ZERO, has_live_line: false }
    }

    /// Tells nobody.
    pub(crate) fn silent() -> Self {
        let (is_json, is_live, has_live_line) = (false, false, false);
        Self { lines: None, writer: None, is_json, is_live, told_at: Time::ZERO, has_live_line }
    }

    /// When figures are wanted next.
    pub(crate) fn next_status(&self) -> Time {
        self.told_at + if self.is_live { LIVE_EVERY } else { LOGGED_EVERY }
    }

    /// Tells, or lets it be.
    pub(crate) fn tell(&mut self, now: Time, line: &Line<'_>) {
        let mut text = String::new();
        if std::mem::take(&mut self.has_live_line) {
            text += START_OF_LINE_ANEW;
        }
        let is_status = matches!(line, Line::Status(_) | Line::Note { event: STATUS, .. });
        if is_status {
            self.told_at = now;
        }
        let is_live_status = self.is_live && is_status;
        if self.is_json {
            text += &format!("{}\n", line.json(now));
        } else if is_live_status {
            // A line that wrapped could not be written over.
            text += &format!("{WITHOUT_WRAPPING}{} {}{WRAPPING}", clock(now), line.text());
            self.has_live_line = true;
        } else {
            text += &format!("{} {}\n", clock(now), line.text());
        }
        let _ = self.lines.as_ref().map(|lines| lines.try_send(text));
    }
}

/// Everything that was told is written before the program ends.
impl Drop for Log {
    fn drop(&mut self) {
        self.lines = None;
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

/// What terminals understand, all of them since the VT100.
const START_OF_LINE_ANEW: &str = "\r\x1b[K";
const WITHOUT_WRAPPING: &str = "\x1b[?7l";
const WRAPPING: &str = "\x1b[?7h";

impl Line<'_> {
    fn text(&self) -> String {
        match self {
            Self::Listening { address, what, metrics, pages } => {
                let metrics =
                    metrics.as_ref().map(|at| format!("; figures at http://{at}/metrics"));
                let metrics = metrics.unwrap_or_default();
                let pages = match &pages[..] {
                    [] => String::new(),
                    pages => format!("\n         play at {}", pages.join(" or ")),
                };
                format!("listening on {address}: {what}{metrics}{pages}")
            }
            Self::Warning(warning) => format!("warning: {warning}"),
            Self::Joined { player } => format!("player {player} joined"),
            Self::Left { player, reason } => format!("player {player} is gone: {reason}"),
            Self::Status(figures) => figures.text(),
            Self::Note { text, .. } => text.clone(),
            Self::Stopped(figures) => format!(
                "stopped after {:.0} s and {} ticks ({} took too long); \
                 {:.1} MB in, {:.1} MB out, {} commands late\n{}",
                figures.uptime.as_seconds_f64(),
                figures.ticks,
                figures.overruns,
                figures.bytes_in as f64 / 1e6,
                figures.bytes_out as f64 / 1e6,
                figures.late_commands,
                figures.standing.table(),
            )
            .trim_end()
            .to_owned(),
        }
    }

    fn json(&self, now: Time) -> Value {
        let (event, mut object) = match self {
            Self::Listening { address, what, metrics, pages } => (
                "listening",
                json!({ "address": address, "what": what, "metrics": metrics, "pages": pages }),
            ),
            Self::Warning(warning) => ("warning", json!({ "warning": warning })),
            Self::Joined { player } => ("joined", json!({ "player": player })),
            Self::Left { player, reason } => {
                ("left", json!({ "player": player, "reason": reason }))
            }
            Self::Status(figures) => (STATUS, figures.json()),
            Self::Stopped(figures) => ("stopped", figures.json()),
            Self::Note { event, facts, .. } => (*event, facts.clone()),
        };
        object["event"] = event.into();
        object["at_seconds"] = now.as_seconds_f64().into();
        object
    }
}

/// Hours, minutes and seconds since the start.
fn clock(now: Time) -> String {
    let seconds = now.as_micros() / 1_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_the_same_to_people_and_to_programs() {
        let left = Line::Left { player: 3, reason: "timed out".into() };
        assert_eq!(left.text(), "player 3 is gone: timed out");
        let now = Time::from_seconds(3_723);
        assert_eq!(left.json(now)["reason"], "timed out");
        assert_eq!(left.json(now)["event"], "left");
        assert_eq!(clock(now), "01:02:03");
    }
}
