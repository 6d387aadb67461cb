//! What a running server says of itself at one moment. Plain data: the log, the status line and the metrics are
//! all made of it.

use sametick::endpoint::ListenerDrops;
use sametick::secure::Denial;
use sametick::{Span, World};
use sametick_arena::{Contest, Entity, Phase, Seat};
use serde_json::{Value, json};

/// Upper bounds of the histogram of tick times, in microseconds.
pub(crate) const BUCKETS_MICROS: [u64; 12] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 16_667, 25_000, 50_000, 100_000];

/// Counts since the start, and rates over the time since the figures before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) uptime: Span,
    pub(crate) tick_length: Span,
    /// Those who came over the network, and the server's own.
    pub(crate) people: usize,
    pub(crate) bots: usize,
    pub(crate) ticks: u64,
    /// Ticks that took longer than a tick may.
    pub(crate) overruns: u64,
    /// Of the last ticks.
    pub(crate) tick_median: Span,
    pub(crate) tick_percentile_99: Span,
    /// How many ticks took at most as long as each bound; those that took longer are in `ticks` alone.
    pub(crate) tick_buckets: [u64; BUCKETS_MICROS.len()],
    pub(crate) tick_sum: Span,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) datagrams_in: u64,
    pub(crate) datagrams_out: u64,
    pub(crate) bytes_in_per_second: f64,
    pub(crate) bytes_out_per_second: f64,
    /// Commands that had to be guessed because none had come in time.
    pub(crate) late_commands: u64,
    pub(crate) late_per_second: f64,
    /// Messages of players that no client of ours writes.
    pub(crate) malformed: u64,
    pub(crate) drops: Drops,
    /// Who was let in, and who was not.
    pub(crate) accepted: u64,
    pub(crate) denied: Vec<(Denial, u64)>,
    pub(crate) standing: Standing,
    /// How snapshots are written now, for those who can read that.
    pub(crate) is_compact: bool,
}

/// Datagrams that were not taken or not sent, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drops {
    pub(crate) listener: ListenerDrops,
    /// Hellos that were no hellos, forged, expired or too many.
    pub(crate) gate: u64,
    pub(crate) unsent: u64,
}

impl Drops {
    /// By name, for a program to read.
    pub(crate) fn named(&self) -> [(&'static str, u64); 6] {
        let ListenerDrops { malformed, unknown_connection, replayed, forged, .. } = self.listener;
        [
            ("malformed", malformed),
            ("unknown_connection", unknown_connection),
            ("replayed", replayed),
            ("forged", forged),
            ("hello", self.gate),
            ("unsent", self.unsent),
        ]
    }
}

/// How the match stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) phase: Phase,
    pub(crate) round: u8,
    /// Name, score and deaths, the best first.
    pub(crate) scores: Vec<(String, i16, u16)>,
}

impl Standing {
    pub(crate) fn of(world: &World<Entity>) -> Self {
        let contest = world.all::<Contest>().next().map(|(_, contest)| contest.clone());
        let contest = contest.unwrap_or_default();
        let mut scores: Vec<(String, i16, u16)> = world
            .all::<Seat>()
            .filter(|(_, seat)| seat.plays())
            .map(|(_, seat)| (seat.name.to_string(), seat.score, seat.deaths))
            .collect();
        scores.sort_by_key(|(_, score, deaths)| (-score, *deaths));
        Self { phase: contest.phase, round: contest.round, scores }
    }

    fn text(&self) -> String {
        let phase = match self.phase {
            Phase::Waiting => "waiting".to_owned(),
            Phase::Countdown => "about to begin".to_owned(),
            Phase::Playing => format!("round {}", self.round),
            Phase::Over => format!("round {} is over", self.round),
        };
        match self.scores.first() {
            Some((name, score, _)) if *score > 0 => format!("{phase}, {name} leads with {score}"),
            _ => phase,
        }
    }

    /// A line each, the best first.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("  {:<18}{:>6}{:>8}\n", "player", "score", "deaths");
        for (name, score, deaths) in self.scores.iter().take(TABLE_LINES_MAX) {
            text += &format!("  {name:<18}{score:>6}{deaths:>8}\n");
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let mut scores = Vec::new();
        for (name, score, deaths) in &self.scores {
            scores.push(json!({ "name": name, "score": score, "deaths": deaths }));
        }
        json!({
            "phase": format!("{:?}", self.phase).to_lowercase(),
            "round": self.round,
            "scores": scores,
        })
    }
}

/// A score table is no longer than a screen.
const TABLE_LINES_MAX: usize = 20;

impl Figures {
    /// One line.
    pub(crate) fn text(&self) -> String {
        format!(
            "{} players, {} bots | tick {:.2} ms, 99 % {:.2} of {:.1} | in {:.1} out {:.1} kB/s | \
             late {:.1}/s | {}",
            self.people,
            self.bots,
            self.tick_median.as_millis_f64(),
            self.tick_percentile_99.as_millis_f64(),
            self.tick_length.as_millis_f64(),
            self.bytes_in_per_second / 1000.0,
            self.bytes_out_per_second / 1000.0,
            self.late_per_second,
            self.standing.text(),
        )
    }

    pub(crate) fn json(&self) -> Value {
        let drops: serde_json::Map<String, Value> = self
            .drops
            .named()
            .map(|(name, count)| (name.to_owned(), count.into()))
            .into_iter()
            .collect();
        json!({
            "seconds": self.uptime.as_seconds_f64(),
            "players": self.people,
            "bots": self.bots,
            "ticks": self.ticks,
            "overruns": self.overruns,
            "tick_ms_median": self.tick_median.as_millis_f64(),
            "tick_ms_percentile_99": self.tick_percentile_99.as_millis_f64(),
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "late_commands": self.late_commands,
            "malformed": self.malformed,
            "codec": if self.is_compact { "compact" } else { "plain" },
            "drops": drops,
            "match": self.standing.json(),
        })
    }
}
