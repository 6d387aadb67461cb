//! What headless players met with, one by one and all together.

use sametick::channel::CloseReason;
use sametick::codec::Agreed;
use sametick::health::{Kind, Severity, Warning, Whose};
use sametick::secure::Denial;
use sametick::{Span, Time};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What one player met with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) joined_at: Option<Time>,
    pub(crate) denied: Option<Denial>,
    /// The server plays what we have not got.
    pub(crate) is_unknown_game: bool,
    /// Why it was sent away or lost, if it did not leave by itself.
    pub(crate) left: Option<CloseReason>,
    pub(crate) played: Span,
    pub(crate) round_trip: Option<Span>,
    pub(crate) snapshots: u64,
    /// Snapshots of which a prediction was remembered.
    pub(crate) compared: u64,
    /// Of those, the ones that had its own body elsewhere.
    pub(crate) corrections: u64,
    pub(crate) corrected_metres_max: f32,
    /// Commands that the server had to guess.
    pub(crate) late_commands: u64,
    pub(crate) malformed: u64,
    pub(crate) bytes_received: u64,
    /// How snapshots came.
    pub(crate) codec: Option<Agreed>,
    /// The worst that it was warned of.
    pub(crate) warning: Option<Warning>,
}

impl Tally {
    /// Keeps the worse warning, with its newest words.
    pub(crate) fn warn(&mut self, warning: &Warning) {
        let rank = |warning: &Warning| (Reverse(warning.severity), warning.kind);
        if self.warning.as_ref().is_none_or(|known| rank(warning) <= rank(known)) {
            self.warning = Some(warning.clone());
        }
    }
}

/// What they all met with.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) asked: usize,
    pub(crate) seconds: f64,
    pub(crate) tallies: Vec<Tally>,
}

impl Summary {
    pub(crate) fn joined(&self) -> usize {
        self.tallies.iter().filter(|tally| tally.joined_at.is_some()).count()
    }

    /// Why they are not here any more, or never were, and how many.
    pub(crate) fn reasons(&self) -> BTreeMap<String, usize> {
        let mut reasons = BTreeMap::new();
        for tally in &self.tallies {
            let reason = match (tally.denied, tally.left, tally.is_unknown_game) {
                (Some(denial), _, _) => format!("denied, {}", words(&format!("{denial:?}"))),
                (_, Some(reason), _) => words(&format!("{reason:?}")),
                (_, _, true) => "unknown map".to_owned(),
                _ if tally.joined_at.is_none() => "no answer".to_owned(),
                _ => continue,
            };
            *reasons.entry(reason).or_default() += 1;
        }
        reasons
    }

    /// How snapshots came to one to whom they did not come compact, if there is one.
    pub(crate) fn not_compact(&self) -> Option<Agreed> {
        let agreed = self.tallies.iter().filter_map(|tally| tally.codec);
        agreed.into_iter().find(|agreed| !matches!(agreed, Agreed::Compact { .. }))
    }

    /// How snapshots came, and to how many, but where there was nothing to agree on.
    pub(crate) fn codecs(&self) -> BTreeMap<String, usize> {
        let mut codecs = BTreeMap::new();
        let agreed = self.tallies.iter().filter_map(|tally| tally.codec);
        for agreed in agreed.filter(|agreed| *agreed != Agreed::Plain) {
            *codecs.entry(agreed.to_string()).or_default() += 1;
        }
        codecs
    }

    /// The worst warning of each player: of each kind one, and to how many it was the worst.
    fn warnings(&self) -> BTreeMap<Kind, (&Warning, usize)> {
        let mut warnings = BTreeMap::new();
        for warning in self.tallies.iter().filter_map(|tally| tally.warning.as_ref()) {
            warnings.entry(warning.kind).or_insert((warning, 0)).1 += 1;
        }
        warnings
    }

    /// The least, the median, the 95th percentile and the largest of a figure of those who joined.
    fn spread(&self, figure: impl Fn(&Tally) -> f64) -> [f64; 4] {
        let joined = self.tallies.iter().filter(|tally| tally.joined_at.is_some());
        let mut values: Vec<f64> = joined.map(figure).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((values.len() as f64 * share) as usize).or(values.last());
        [values.first(), at(0.5), at(0.95), values.last()]
            .map(|value| value.copied().unwrap_or(0.0))
    }

    fn figures(&self) -> [(&'static str, &'static str, [f64; 4]); 6] {
        let per_second =
            |count: u64, tally: &Tally| count as f64 / tally.played.as_seconds_f64().max(0.001);
        let trip = |tally: &Tally| tally.round_trip.map_or(0.0, Span::as_millis_f64);
        [
            ("round_trip_ms", "round trip, ms", self.spread(trip)),
            (
                "snapshots_per_second",
                "snapshots/s",
                self.spread(|tally| per_second(tally.snapshots, tally)),
            ),
            (
                "kilobytes_per_second",
                "received, kB/s",
                self.spread(|tally| per_second(tally.bytes_received, tally) / 1000.0),
            ),
            ("corrections", "corrections", self.spread(|tally| tally.corrections as f64)),
            (
                "correction_cm_max",
                "largest correction, cm",
                self.spread(|tally| f64::from(tally.corrected_metres_max) * 100.0),
            ),
            ("late_commands", "late commands", self.spread(|tally| tally.late_commands as f64)),
        ]
    }

    pub(crate) fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} of {} joined and played for {:.1} s",
            self.joined(),
            self.asked,
            self.seconds
        )];
        let reasons =
            self.reasons().into_iter().map(|(reason, count)| format!("{reason}: {count}"));
        lines.extend(reasons.map(|reason| format!("  {reason}")));
        let codecs = self.codecs().into_iter();
        lines.extend(codecs.map(|(codec, count)| format!("  snapshots {codec}: {count}")));
        lines.push(format!("{:<24}{:>10}{:>10}{:>10}", "each player", "median", "95 %", "most"));
        for (_, title, [_, median, high, most]) in self.figures() {
            lines.push(format!("  {title:<22}{median:>10.1}{high:>10.1}{most:>10.1}"));
        }
        for (warning, players) in self.warnings().into_values() {
            let mark = if warning.severity == Severity::Severe { '■' } else { '▲' };
            let who = if players == 1 { "player" } else { "players" };
            let whose = whose(warning.whose);
            lines.push(format!("{mark} {players} {who}, {whose}: {}", warning.sentence));
        }
        lines.join("\n") + "\n"
    }

    pub(crate) fn json(&self) -> Value {
        let rounded = |value: f64| (value * 1e3).round() / 1e3;
        let mut report = json!({
            "name": "bots",
            "asked": self.asked,
            "joined": self.joined(),
            "seconds": rounded(self.seconds),
            "reasons": self.reasons(),
            "codecs": self.codecs(),
            "snapshots": self.tallies.iter().map(|tally| tally.snapshots).sum::<u64>(),
            "compared": self.tallies.iter().map(|tally| tally.compared).sum::<u64>(),
            "malformed": self.tallies.iter().map(|tally| tally.malformed).sum::<u64>(),
        });
        let warnings = self.warnings().into_values().map(|(warning, players)| {
            json!({
                "kind": words(&format!("{:?}", warning.kind)),
                "whose": whose(warning.whose),
                "is_severe": warning.severity == Severity::Severe,
                "players": players,
                "sentence": warning.sentence,
            })
        });
        report["warnings"] = warnings.collect();
        for (name, _, [least, median, high, most]) in self.figures() {
            report[name] = json!({
                "min": rounded(least), "median": rounded(median), "percentile_95": rounded(high), "max": rounded(most),
            });
        }
        report
    }
}

fn whose(whose: Whose) -> &'static str {
    match whose {
        Whose::Line => "line",
        Whose::Computer => "computer",
        Whose::Server => "server",
    }
}

/// `ServerFull` as people write it.
pub(crate) fn words(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_who_came_and_why_others_did_not() {
        let here = Tally { joined_at: Some(Time::ZERO), snapshots: 40, ..Tally::default() };
        let here = Tally { played: Span::seconds(2), ..here };
        let denied = Tally { denied: Some(Denial::ServerFull), ..Tally::default() };
        let tallies = vec![here, denied, Tally::default()];
        let summary = Summary { asked: 3, seconds: 2.0, tallies };
        let report = summary.json();
        assert_eq!(report["joined"], 1);
        assert_eq!(report["snapshots_per_second"]["median"], 20.0);
        assert_eq!(report["reasons"]["denied, server full"], 1);
        assert_eq!(report["reasons"]["no answer"], 1);
        assert!(summary.text().starts_with("1 of 3 joined"));
    }

    #[test]
    fn a_summary_tells_each_players_worst_warning() {
        let warned = |kind, severity, sentence: &str| Warning {
            kind,
            whose: Whose::Line,
            severity,
            sentence: sentence.to_owned(),
            since: Time::ZERO,
        };
        let late = warned(Kind::Late, Severity::Warning, "Commands arrive late.");
        let lost = warned(Kind::Lost, Severity::Severe, "30 % of updates are lost.");
        let mut one = Tally::default();
        [&late, &lost, &late].into_iter().for_each(|warning| one.warn(warning));
        let mut other = Tally::default();
        other.warn(&late);
        let tallies = vec![one, other.clone(), other];
        let summary = Summary { asked: 3, seconds: 2.0, tallies };
        let text = summary.text();
        assert!(text.contains("■ 1 player, line: 30 % of updates are lost.\n"), "{text}");
        assert!(text.contains("▲ 2 players, line: Commands arrive late.\n"), "{text}");
        assert_eq!(summary.json()["warnings"][1]["players"], 2);
    }
}
