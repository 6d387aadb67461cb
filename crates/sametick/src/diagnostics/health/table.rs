//! What is warned of: each with its threshold, the threshold at which it is over, and its sentence.

use super::figures::Figures;
use crate::core::time::Span;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The way between the player and the server.
    Line,
    /// The player's own computer.
    Computer,
    /// The server.
    Server,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// One can play on.
    Warning,
    /// One can hardly play.
    Severe,
}

/// What is warned of, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nothing comes from the server.
    Silent,
    /// The server does not keep up.
    SlowTicks,
    /// The server guesses what the player wants.
    Repeated,
    /// Our screen does not keep up.
    SlowFrames,
    /// The line carries less than the server would send.
    Full,
    /// Updates are lost.
    Lost,
    /// Commands come too late.
    Late,
    /// A stream holds up what is behind a lost packet.
    HeldUp,
    /// Updates come unevenly.
    Uneven,
    /// The line is longer than the server rewinds.
    Far,
}

/// One thing that is warned of.
#[derive(Clone, Copy)]
pub struct Row {
    /// What.
    pub kind: Kind,
    /// Whose fault it is.
    pub whose: Whose,
    /// What is measured, for documents.
    pub measures: &'static str,
    /// From this on it is warned of.
    pub fires: f64,
    /// Below this it is over. Between the two, what is stays.
    pub clears: f64,
    /// From this on it is severe.
    pub severe: f64,
    /// It must have been so for so long.
    pub lasts: Span,
    pub(super) value: fn(&Figures) -> f64,
    pub(super) sentence: fn(&Figures) -> String,
}

/// All that is warned of, the worst first.
pub const TABLE: [Row; 10] = [
    Row {
        kind: Kind::Silent,
        whose: Whose::Server,
        measures: "seconds since anything came",
        fires: 1.0,
        clears: 0.5,
        severe: 1.0,
        lasts: Span::ZERO,
        value: |figures| figures.silent.as_seconds_f64(),
        sentence: |figures| {
            format!("Silent for {:.1} s. Reconnecting.", figures.silent.as_seconds_f64())
        },
    },
    Row {
        kind: Kind::SlowTicks,
        whose: Whose::Server,
        measures: "a tick's time, in tick lengths",
        fires: 1.0,
        clears: 0.85,
        severe: 2.0,
        lasts: Span::ZERO,
        value: |figures| {
            ratio(figures.server_tick_ms.map(|tick| tick.mean), figures.tick_length_ms)
        },
        sentence: |figures| {
            let tick = figures.server_tick_ms.unwrap_or_default().mean;
            format!("Ticks take {tick:.0} ms of {:.1}.", figures.tick_length_ms.unwrap_or(0.0))
        },
    },
    Row {
        kind: Kind::Repeated,
        whose: Whose::Line,
        measures: "milliseconds without a command of ours at the server",
        fires: 250.0,
        clears: 50.0,
        severe: 1_000.0,
        lasts: Span::ZERO,
        value: |figures| figures.repeated_for_ms,
        sentence: |figures| {
            let span = figures.repeated_for_ms;
            format!("The server has repeated your last command for {span:.0} ms.")
        },
    },
    Row {
        kind: Kind::SlowFrames,
        whose: Whose::Computer,
        measures: "the median frame, in tick lengths of at least 16.7 ms",
        fires: 1.5,
        clears: 1.2,
        severe: 3.0,
        lasts: Span::seconds(1),
        value: |figures| ratio(Some(figures.frame_median_ms), figures.frame_budget_ms()),
        sentence: |figures| {
            let (took, budget) = (figures.frame_median_ms, figures.frame_budget_ms());
            format!("Frames take {took:.0} ms; the game runs at {:.1}.", budget.unwrap_or(0.0))
        },
    },
    Row {
        kind: Kind::Full,
        whose: Whose::Line,
        measures: "share of due updates that the server could not send",
        fires: 0.25,
        clears: 0.1,
        severe: 0.5,
        lasts: Span::ZERO,
        value: |figures| figures.unsent_share,
        sentence: |figures| {
            let (sent, due) = figures.sent_per_second.unwrap_or_default();
            format!("Full: {sent:.0} updates a second instead of {due:.0}.")
        },
    },
    Row {
        kind: Kind::Lost,
        whose: Whose::Line,
        measures: "per cent of updates lost, of six seconds",
        fires: 5.0,
        clears: 1.5,
        severe: 20.0,
        lasts: Span::ZERO,
        value: |figures| figures.loss_down_percent,
        sentence: |figures| {
            let lost = figures.loss_down_percent;
            format!("{lost:.0} % of updates are lost. Others are partly guessed.")
        },
    },
    Row {
        kind: Kind::Late,
        whose: Whose::Line,
        measures: "updates a second that tell of a late command",
        fires: 1.5,
        clears: 1.0,
        severe: 8.0,
        lasts: Span::ZERO,
        value: |figures| figures.late_per_second,
        sentence: |figures| match figures.made_up_ms.round() {
            earlier if earlier >= 1.0 => {
                format!("Commands arrive late. Sending {earlier:.0} ms earlier.")
            }
            _ => "Commands arrive late.".to_owned(),
        },
    },
    Row {
        kind: Kind::HeldUp,
        whose: Whose::Line,
        measures: "updates of four seconds that a stream held up",
        fires: 1.0,
        clears: 1.0,
        severe: f64::INFINITY,
        lasts: Span::ZERO,
        value: |figures| f64::from(figures.hold_ups),
        sentence: |_| "WebSocket: one lost packet holds up those behind it.".to_owned(),
    },
    Row {
        kind: Kind::Uneven,
        whose: Whose::Line,
        measures: "milliseconds by which updates come unevenly, of two seconds",
        fires: 25.0,
        clears: 15.0,
        severe: 80.0,
        // A single hiccup is over by then.
        lasts: Span::millis(2_500),
        // What a stream holds up comes unevenly, of course.
        value: |figures| if figures.hold_ups > 0 { 0.0 } else { figures.unevenness_ms },
        sentence: |figures| {
            let uneven = figures.unevenness_ms;
            match figures.waits_ms {
                Some(waits) => format!(
                    "Updates come unevenly (±{uneven:.0} ms). Showing others {waits:.0} ms later."
                ),
                None => format!("Updates come unevenly (±{uneven:.0} ms)."),
            }
        },
    },
    Row {
        kind: Kind::Far,
        whose: Whose::Line,
        measures: "ping and what is shown late on purpose, less what the server rewinds, in milliseconds",
        fires: 10.0,
        clears: 0.0,
        severe: f64::INFINITY,
        lasts: Span::seconds(1),
        value: |figures| match (figures.needs_rewind_ms, figures.rewinds_at_most_ms) {
            // However late others are shown, here it is only of the ping.
            (Some(needed), Some(at_most)) => {
                needed.min(figures.ping_ms.unwrap_or(0.0) + figures.buffer_ms) - at_most
            }
            _ => f64::NEG_INFINITY,
        },
        sentence: |figures| {
            let ping = figures.ping_ms.unwrap_or(0.0);
            format!("Ping {ping:.0} ms exceeds what the server rewinds. Aim ahead.")
        },
    },
];

fn ratio(value: Option<f64>, of: Option<f64>) -> f64 {
    match (value, of) {
        (Some(value), Some(of)) if of > 0.0 => value / of,
        _ => 0.0,
    }
}
