//! Two logs side by side, metric by metric, what differs most first.

use crate::analysis::Analysis;
use crate::log::{Log, LogError};
use crate::metrics::{self, Metric};
use crate::report::{rounded, signed};
use crate::wrong::meant;
use std::fmt::Write;

/// Two logs side by side as text: each metric where both have it, or those that are named. First comes what differs
/// most, in parts of the larger of both numbers; where the 95 % intervals do not touch, that is said.
pub fn compare(one: &Log, other: &Log, names: &[String]) -> Result<String, LogError> {
    let mut wanted: Vec<&Metric> = Vec::new();
    for name in names {
        let hint = || meant(name, metrics::names());
        let metric = metrics::find(name)
            .ok_or_else(|| LogError(format!("there is no metric {name:?}; {}", hint())))?;
        wanted.push(metric);
    }
    if names.is_empty() {
        let all = metrics::of(&one.connection)?;
        wanted.extend(all.into_iter().filter(|metric| metric.name != "core_time"));
    }
    let (first, second) = (Analysis::new(one)?, Analysis::new(other)?);
    let mut lines: Vec<(f64, String)> = Vec::new();
    for metric in wanted {
        let (ours, theirs) = (first.estimates(one, metric)?, second.estimates(other, metric)?);
        for (met, ours) in first.conditions.iter().zip(&ours) {
            let place = second.conditions.iter().position(|known| known.label == met.label);
            let theirs = place.and_then(|place| theirs[place]);
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let difference = theirs.mean - ours.mean;
            let larger = ours.mean.abs().max(theirs.mean.abs());
            let share = if larger > 0.0 { difference.abs() / larger } else { 0.0 };
            let is_clear = ours
                .interval
                .zip(theirs.interval)
                .is_some_and(|(one, other)| one.1 < other.0 || other.1 < one.0);
            let line = format!(
                "{:<21} {:<40} {:>12} {:>12} {:>12} {:>6.1} % {:<6} {}",
                metric.name,
                met.label,
                rounded(ours.mean),
                rounded(theirs.mean),
                signed(difference),
                100.0 * share,
                metric.unit,
                if is_clear { "clear" } else { "" }
            );
            lines.push((share, line.trim_end().to_owned()));
        }
    }
    if lines.is_empty() {
        let (one, other) = (one.path().display(), other.path().display());
        return Err(LogError(format!("{one} and {other} have no condition in common")));
    }
    lines.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut text = format!(
        "{:<21} {:<40} {:>12} {:>12} {:>12} {:>8}\n",
        "metric", "condition", "first", "second", "difference", "share"
    );
    for (_, line) in lines {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
