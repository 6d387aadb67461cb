//! What lines do, from settings: each player's way up and down at each moment of a trial.

use crate::scan::trace_of;
use crate::settings::{SETTINGS, Scope, Settings};
use crate::value::Value;
use sametick::Span;
use sametick::network::{Conditions, Jitter, Loss, Profile};
use std::collections::BTreeMap;
use std::path::Path;

/// How often ramps take a step.
pub(crate) const RAMP_STEP: Span = Span::millis(100);

/// One player's way to the server (`is_up`) or from it, so many milliseconds after logging began.
pub(crate) fn conditions(
    settings: &Settings,
    folder: &Path,
    player: u32,
    is_up: bool,
    at_ms: f64,
) -> Result<Conditions, String> {
    let said = said(settings, player, at_ms);
    let number = |name: &str| said.get(name).and_then(Value::number);
    let of_way = |both: &str, up: &str, down: &str| {
        number(if is_up { up } else { down }).or_else(|| number(both))
    };
    let mut line = match said.get("profile") {
        Some(Value::Text(name)) => {
            let profile = Profile::named(name).ok_or_else(|| format!("no profile {name:?}"))?;
            if is_up { profile.up } else { profile.down }
        }
        _ => Conditions::PERFECT,
    };
    let ping = number("ping").map(|ping| ping / 2.0);
    if let Some(ms) = number(if is_up { "delay_up" } else { "delay_down" }).or(ping) {
        line.delay = Span::from_millis_f64(ms);
    }
    if let Some(ms) = of_way("jitter", "jitter_up", "jitter_down") {
        let width = Span::from_millis_f64(ms);
        line.jitter = if ms > 0.0 { Jitter::Uniform { width } } else { Jitter::None };
    }
    if let Some(Value::Text(name)) = said.get("trace") {
        line.jitter = Jitter::Trace(trace_of(folder, name)?);
    }
    if let Some(percent) = of_way("loss", "loss_up", "loss_down") {
        line.loss = loss(percent / 100.0, number("burst").unwrap_or(1.0));
    }
    if let Some(kilobits) = number("bandwidth") {
        let bytes = (kilobits * 125.0) as u32;
        line.bandwidth_bytes_per_second = Some(bytes.max(1));
        line.queue_bytes_max = (bytes / 4).max(3_000);
    }
    line.check().map_err(|wrong| wrong.to_string())?;
    Ok(line)
}

/// Lost by chance, or in bursts of a mean length with the same share lost in all.
fn loss(share: f64, burst: f64) -> Loss {
    if share <= 0.0 {
        return Loss::None;
    }
    if burst <= 1.0 || share >= 1.0 {
        return Loss::Random { probability: share };
    }
    let leave = 1.0 / burst;
    let enter = (share * leave / (1.0 - share)).min(1.0);
    Loss::Burst { enter, leave, loss_good: 0.0, loss_bad: 1.0 }
}

/// The settings of a line at a moment: what was said at first, then every change that has begun.
fn said(settings: &Settings, player: u32, at_ms: f64) -> BTreeMap<&'static str, Value> {
    let rows = SETTINGS.iter().filter(|row| row.scope == Scope::Line);
    let mut said: BTreeMap<&'static str, Value> =
        rows.map(|row| (row.name, settings.value_of(player, row.name).clone())).collect();
    for change in settings.changes.iter().filter(|change| change.at_ms <= at_ms) {
        for one in &change.assignments {
            if one.player.is_some_and(|of| of != player) {
                continue;
            }
            let part = match change.over_ms > 0.0 {
                true => ((at_ms - change.at_ms) / change.over_ms).min(1.0),
                false => 1.0,
            };
            let before = said.get(one.row.name).and_then(Value::number);
            let value = match one.value {
                Value::Number(to) => {
                    let from = before.unwrap_or(0.0);
                    Value::Number(from + (to - from) * part)
                }
                ref other => other.clone(),
            };
            said.insert(one.row.name, value);
        }
    }
    said
}

/// Whether anything is said of how long a player's line takes.
pub(crate) fn says_delay(settings: &Settings, player: u32, at_ms: f64) -> bool {
    let said = said(settings, player, at_ms);
    let is_said = |name| said.get(name).is_some_and(|value| value.number().is_some());
    let has_name = |name| matches!(said.get(name), Some(Value::Text(text)) if !text.is_empty());
    ["ping", "delay_up", "delay_down"].into_iter().any(is_said)
        || ["profile", "trace"].into_iter().any(has_name)
}

/// What a datagram meets that goes up one player's line and down another's.
pub(crate) fn joined(up: &Conditions, down: &Conditions) -> Conditions {
    let (one, other) = (up.loss.mean(), down.loss.mean());
    let probability = 1.0 - (1.0 - one) * (1.0 - other);
    let width = |jitter: &Jitter| match jitter {
        Jitter::Uniform { width } => *width,
        _ => Span::ZERO,
    };
    let widths = width(&up.jitter) + width(&down.jitter);
    let slower = match (up.bandwidth_bytes_per_second, down.bandwidth_bytes_per_second) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Conditions {
        delay: up.delay + down.delay,
        jitter: match (&up.jitter, &down.jitter) {
            (Jitter::None | Jitter::Uniform { .. }, Jitter::None | Jitter::Uniform { .. }) => {
                match widths > Span::ZERO {
                    true => Jitter::Uniform { width: widths },
                    false => Jitter::None,
                }
            }
            (Jitter::None, other) => other.clone(),
            (one, _) => one.clone(),
        },
        loss: match (up.loss, down.loss) {
            (Loss::None, burst) | (burst, Loss::None) => burst,
            _ => Loss::Random { probability },
        },
        bandwidth_bytes_per_second: slower,
        ..up.clone()
    }
}

/// What was asked of a way: its delay with the mean of its jitter, and its loss.
pub(crate) fn asked(conditions: &Conditions) -> (f64, f64) {
    let jitter = match &conditions.jitter {
        Jitter::None | Jitter::Normal { .. } => 0.0,
        Jitter::Uniform { width } => width.as_millis_f64() / 2.0,
        Jitter::Pareto { scale, shape, .. } => scale.as_millis_f64() / (shape - 1.0).max(0.1),
        Jitter::Trace(trace) => {
            let sum: f64 = trace.delays().iter().map(|delay| delay.as_millis_f64()).sum();
            sum / trace.delays().len().max(1) as f64
        }
    };
    (conditions.delay.as_millis_f64() + jitter, conditions.loss.mean())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use crate::Plan;

    fn settings(text: &str) -> Settings {
        let text = format!("question = \"?\"\n[settings]\n{text}");
        let experiment = Experiment::read(&text, ".".as_ref(), false).unwrap();
        Plan::new(&experiment).unwrap().trials[0].settings.clone()
    }

    fn delay_ms(settings: &Settings, player: u32, is_up: bool, at_ms: f64) -> f64 {
        let line = conditions(settings, ".".as_ref(), player, is_up, at_ms).unwrap();
        line.delay.as_millis_f64()
    }

    #[test]
    fn players_and_directions_have_lines_of_their_own() {
        let settings = settings(
            "ping = \"80 ms\"\nplayer.2.ping = \"20 ms\"\nplayer.2.delay_up = \"90 ms\"\nloss = \"2 %\"\nburst = 4",
        );
        assert_eq!([true, false].map(|up| delay_ms(&settings, 1, up, 0.0)), [40.0, 40.0]);
        assert_eq!([true, false].map(|up| delay_ms(&settings, 2, up, 0.0)), [90.0, 10.0]);
        let line = conditions(&settings, ".".as_ref(), 1, true, 0.0).unwrap();
        assert!((line.loss.mean() - 0.02).abs() < 1e-9, "bursts lose as much in all");
    }

    #[test]
    fn lines_step_and_ramp_during_a_trial() {
        let settings = settings(
            "ping = \"0 ms\"\n[[settings.change]]\nat = \"2 s\"\nping = \"40 ms\"\n[[settings.change]]\nat = \
                \"4 s\"\nover = \"2 s\"\nplayer.1.ping = \"240 ms\"",
        );
        let at = |player, ms| delay_ms(&settings, player, true, ms);
        assert_eq!(
            [1_999.0, 2_000.0, 5_000.0, 9_000.0].map(|ms| at(1, ms)),
            [0.0, 20.0, 70.0, 120.0]
        );
        assert_eq!(at(2, 9_000.0), 20.0);
    }
}
