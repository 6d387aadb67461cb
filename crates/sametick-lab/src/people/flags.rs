//! What is to be said against a trial: lines that were not as asked, pages that were slow, hidden or out of focus.

use super::event::SeatId;
use super::line::Line;
use super::table::People;
use serde::{Deserialize, Serialize};

/// A page may be hidden for so long before it is flagged: the blink of a menu.
const HIDDEN_MS_MAX: f64 = 100.0;
/// Browsers draw once a second or less in the background.
const THROTTLED_FRAMES_MAX: u32 = 2;
/// So many seconds may be missing among those that a page told of.
const SILENT_SECONDS_MAX: u32 = 1;

/// One second of a participant's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Which trial.
    pub trial: u32,
    /// Which attempt at it.
    pub attempt: u32,
    /// Whose page.
    pub seat: SeatId,
    /// From 0.
    pub second: u32,
    /// Pictures drawn.
    pub frames: u32,
    /// Mean time of a frame.
    pub frame_ms: f64,
    /// A twentieth took longer.
    pub frame_ms_95: f64,
    /// How long the page was hidden.
    pub hidden_ms: f64,
    /// Whether it had the focus all the time.
    pub is_focused: bool,
    /// Round trip as the server measured it.
    pub ping_ms: Option<f64>,
    /// Share lost as the server measured it, 0 to 1.
    pub loss: Option<f64>,
    /// Keys and mouse.
    pub inputs: u32,
}

/// Something that is to be said against a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// ping, loss, frames, hidden, throttled, focus or silent.
    pub name: &'static str,
    /// In words.
    pub detail: String,
}

impl Line {
    /// What a line achieved in these seconds: the median round trip and the mean loss.
    pub fn achieved(seconds: &[Telemetry]) -> Self {
        let mut pings: Vec<f64> = seconds.iter().filter_map(|second| second.ping_ms).collect();
        pings.sort_by(f64::total_cmp);
        let losses: Vec<f64> = seconds.iter().filter_map(|second| second.loss).collect();
        let count = losses.len() as f64;
        Self {
            ping_ms: pings.get(pings.len() / 2).copied(),
            loss: (count > 0.0).then(|| losses.iter().sum::<f64>() / count),
        }
    }
}

/// What is to be said against one participant's trial.
///
/// ```
/// use sametick_lab::people::{Line, flags};
/// # let file = "question = \"?\"\n[people]\nconsent = \"Yes?\"";
/// # let people = sametick_lab::Experiment::read(file, ".".as_ref(), false)?.people.ok_or("none")?;
/// let asked = Line { ping_ms: Some(50.0), loss: None };
/// let achieved = Line { ping_ms: Some(70.0), loss: Some(0.0) };
/// let flags = flags(asked, achieved, &[], &people);
/// assert_eq!(flags[0].detail, "asked 50 ms, achieved 70 ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flags(asked: Line, achieved: Line, telemetry: &[Telemetry], people: &People) -> Vec<Flag> {
    let mut found = Vec::new();
    let mut flag = |name, detail: String| found.push(Flag { name, detail });
    match (asked.ping_ms, achieved.ping_ms) {
        (Some(asked), Some(achieved)) if (asked - achieved).abs() > people.tolerance_ms => {
            flag("ping", format!("asked {asked:.0} ms, achieved {achieved:.0} ms"));
        }
        (Some(asked), None) => flag("ping", format!("asked {asked:.0} ms, nothing was measured")),
        _ => {}
    }
    match (asked.loss.map(|share| 100.0 * share), achieved.loss.map(|share| 100.0 * share)) {
        (Some(asked), Some(achieved)) if (asked - achieved).abs() > people.tolerance_loss => {
            flag("loss", format!("asked {asked:.1} %, achieved {achieved:.1} %"));
        }
        (Some(asked), None) => flag("loss", format!("asked {asked:.1} %, nothing was measured")),
        _ => {}
    }
    let frames: f64 = telemetry.iter().map(|second| f64::from(second.frames)).sum();
    let weighed = telemetry.iter().map(|second| second.frame_ms_95 * f64::from(second.frames));
    let frame_ms_95 = if frames > 0.0 { weighed.sum::<f64>() / frames } else { 0.0 };
    if frame_ms_95 > people.frame_tolerance_ms {
        flag("frames", format!("a twentieth of all frames took longer than {frame_ms_95:.0} ms"));
    }
    let hidden: f64 = telemetry.iter().map(|second| second.hidden_ms).sum();
    if hidden > HIDDEN_MS_MAX {
        flag("hidden", format!("the page was hidden for {:.1} s", hidden / 1000.0));
    }
    // The first second and the last are not whole.
    let inner = telemetry.get(1..telemetry.len().saturating_sub(1)).unwrap_or_default();
    let slow = inner.iter().filter(|second| second.frames <= THROTTLED_FRAMES_MAX).count();
    if slow > 0 {
        flag("throttled", format!("the page hardly drew in {slow} s"));
    }
    let away = telemetry.iter().filter(|second| !second.is_focused).count();
    if away > 0 {
        flag("focus", format!("the page was out of focus in {away} s"));
    }
    let last = telemetry.iter().map(|second| second.second + 1).max().unwrap_or(0);
    let missing = last.saturating_sub(telemetry.len() as u32);
    if missing > SILENT_SECONDS_MAX {
        flag("silent", format!("the page said nothing for {missing} s"));
    }
    found
}
