//! Metrics, one row each: name, unit, meaning, and how each trial's number is asked of the log.

use crate::people::QUESTIONS_MAX;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A number that each trial has.
#[derive(Debug)]
pub struct Metric {
    /// As files have it.
    pub name: &'static str,
    /// What it is measured in.
    pub unit: &'static str,
    /// What it means, for the codebook.
    pub help: &'static str,
    /// Answers with each trial and its number.
    pub sql: &'static str,
}

/// Those that lie between nothing and all. Other percentages are savings and differences, which may be negative.
const SHARES: [&str; 10] = [
    "accuracy",
    "behind_cover",
    "clock_within_100",
    "clock_within_150",
    "hit_agreement",
    "line_loss",
    "seen_again",
    "stale",
    "targets_destroyed",
    "told_apart",
];

impl Metric {
    /// Whether it is a share, from 0 to 100 %.
    pub fn is_share(&self) -> bool {
        SHARES.contains(&self.name)
    }
}

/// A number that the trial itself has, by name.
macro_rules! figure {
    ($name:literal) => {
        concat!("SELECT trial, value FROM figure WHERE name = '", $name, "'")
    };
}

/// What a number of each player (`n`, of `q`) is with the shortest line less what it is with the longest.
macro_rules! gap {
    ($each:literal) => {
        concat!(
            "WITH q AS (",
            $each,
            "), w AS (SELECT q.trial, q.n, (SELECT AVG(l.asked_delay_ms) FROM line l WHERE l.trial = q.trial \
            AND l.player = q.player) AS ms FROM q), \
            r AS (SELECT trial, MIN(ms) AS least, MAX(ms) AS most FROM w GROUP BY trial) \
            SELECT w.trial, AVG(CASE WHEN w.ms <= r.least + 1 THEN w.n END) - AVG(CASE WHEN w.ms >= r.most - 1 \
            THEN w.n END) FROM w JOIN r USING (trial) WHERE r.most > r.least + 5 GROUP BY w.trial"
        )
    };
}

/// Of clocks whose answers were mostly not sent again.
macro_rules! clock {
    ($number:literal) => {
        concat!(
            "SELECT e.trial, ",
            $number,
            " FROM figure e JOIN figure r ON r.trial = e.trial AND r.name = 'clock_resent' \
            WHERE e.name = 'clock_error' AND r.value < 50"
        )
    };
}

/// A number of people's pages in the attempt that is logged.
macro_rules! page {
    ($number:literal) => {
        concat!(
            "SELECT y.trial, ",
            $number,
            " FROM telemetry y JOIN figure f ON f.trial = y.trial AND f.name = 'attempt' AND f.value = y.attempt \
            GROUP BY y.trial"
        )
    };
}

/// What only our own clients count: where people play, their pages do not, and a 0 would be no measurement.
macro_rules! clients {
    ($number:literal) => {
        concat!(
            "SELECT trial, ",
            $number,
            " FROM second WHERE player > 0 AND trial NOT IN (SELECT trial FROM sitting) GROUP BY trial"
        )
    };
}

/// Every metric but ratings, of which a file has as many as it asks for. A new one is a row here.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "accuracy",
        unit: "%",
        help: "Shots that hit somebody or a target, of all that were fired; rockets are not counted.",
        sql: "SELECT trial, 100.0 * AVG(COALESCE(hit, target) IS NOT NULL) FROM shot GROUP BY trial",
    },
    Metric {
        name: "reaction_time",
        unit: "ms",
        help: "From a target's appearing to the first shot for which it was nearest to the crosshair, while it was \
            there; of those that appeared while it was logged.",
        sql: "WITH r AS (SELECT t.trial, (SELECT MIN(s.time_ms) FROM shot s WHERE s.trial = t.trial AND s.aimed_target \
            = t.target AND s.tick > t.tick AND s.tick <= COALESCE(t.destroyed_tick, s.tick)) - t.time_ms AS ms FROM \
            target t WHERE t.time_ms >= 0) SELECT trial, AVG(ms) FROM r WHERE ms IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "time_to_destroy",
        unit: "ms",
        help: "From a target's appearing to its end, of those that were destroyed.",
        sql: "SELECT trial, AVG(destroyed_ms - time_ms) FROM target WHERE destroyed_ms IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "targets_destroyed",
        unit: "%",
        help: "Targets that were destroyed, of those that appeared.",
        sql: "SELECT trial, 100.0 * AVG(destroyed_ms IS NOT NULL) FROM target GROUP BY trial",
    },
    Metric {
        name: "aim_error",
        unit: "deg",
        help: "How far beside the middle of the nearest target the crosshair was when a shot was fired, on the \
            shooter's own screen.",
        sql: "SELECT trial, AVG(aim_error) FROM shot WHERE aim_error IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "hit_agreement",
        unit: "%",
        help: "Of the shots that hit on the shooter's screen, those that the server let hit the same.",
        sql: "SELECT trial, 100.0 * AVG(hit IS NOT NULL AND hit = aimed) FROM shot WHERE aimed IS NOT NULL \
            GROUP BY trial",
    },
    Metric {
        name: "behind_cover",
        unit: "%",
        help: "Of the shots that hit, those whose victim was out of the shooter's sight on the victim's own \
            screen.",
        sql: "SELECT trial, 100.0 * AVG(is_behind_cover) FROM shot WHERE hit IS NOT NULL AND is_behind_cover IS \
            NOT NULL GROUP BY trial",
    },
    Metric {
        name: "behind_cover_hits",
        unit: "1/min",
        help: "How often somebody is hit who is out of the shooter's sight on its own screen.",
        sql: "SELECT t.trial, COALESCE(SUM(s.is_behind_cover), 0) * 60000.0 / t.duration_ms FROM trial t LEFT JOIN \
            shot s ON s.trial = t.trial AND s.hit IS NOT NULL GROUP BY t.trial \
            HAVING COUNT(s.trial) = 0 OR COUNT(s.is_behind_cover) > 0",
    },
    Metric {
        name: "shots",
        unit: "1/min",
        help: "Shots fired by all players.",
        sql: "SELECT t.trial, COUNT(s.trial) * 60000.0 / t.duration_ms FROM trial t LEFT JOIN shot s USING \
            (trial) GROUP BY t.trial",
    },
    Metric {
        name: "kills",
        unit: "1/min",
        help: "Kills by all players.",
        sql: "SELECT t.trial, SUM(p.kills) * 60000.0 / t.duration_ms FROM trial t JOIN player p USING (trial) \
            WHERE p.player > 0 GROUP BY t.trial",
    },
    Metric {
        name: "time_to_damage",
        unit: "ms",
        help: "From the first shot of a fight to its first hit; a fight is over when a shooter rests for a second.",
        sql: "WITH s AS (SELECT *, LAG(time_ms) OVER (PARTITION BY trial, player ORDER BY tick, ordinal) AS \
            before FROM shot), \
              f AS (SELECT *, SUM(before IS NULL OR time_ms - before > 1000) OVER (PARTITION BY trial, player \
              ORDER BY tick, ordinal) AS fight FROM s), \
              g AS (SELECT trial, MIN(time_ms) AS began, MIN(CASE WHEN hit IS NOT NULL THEN time_ms END) AS \
              struck FROM f GROUP BY trial, player, fight) \
              SELECT trial, AVG(struck - began) FROM g WHERE struck IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "time_to_kill",
        unit: "ms",
        help: "From the first hit on a victim since it was last whole to its death.",
        sql: "WITH h AS (SELECT *, SUM(is_kill) OVER (PARTITION BY trial, player ORDER BY tick ROWS BETWEEN \
            UNBOUNDED PRECEDING AND 1 PRECEDING) AS life FROM hit), \
              l AS (SELECT trial, MIN(time_ms) AS began, MAX(CASE WHEN is_kill THEN time_ms END) AS died FROM \
              h GROUP BY trial, player, life) \
              SELECT trial, AVG(died - began) FROM l WHERE died IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "rewound",
        unit: "ms",
        help: "How far back shots were judged, on average.",
        sql: "SELECT trial, AVG(rewound_ms) FROM shot GROUP BY trial",
    },
    Metric {
        name: "lead",
        unit: "m",
        help: "How far a target was ahead of where its shooter saw it when the shot was judged, on straight \
            runs at full speed.",
        sql: "SELECT trial, AVG(lead_m) FROM shot WHERE lead_m IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "lead_needed",
        unit: "m",
        help: "The same, less what the server puts back: how far ahead of the picture one must aim.",
        sql: "SELECT trial, AVG(lead_m - lead_rewound_m) FROM shot WHERE lead_m IS NOT NULL GROUP BY trial",
    },
    Metric {
        name: "peekers_advantage",
        unit: "ms",
        help: "In the corner scene: from when the peeker (player 2) sees the holder on its own screen to when the \
               holder (player 1) sees the peeker on its own.",
        sql: "WITH p AS (SELECT trial, time_ms FROM sighting WHERE player = 2 AND of_player = 1) \
              SELECT p.trial, AVG((SELECT MIN(h.time_ms) FROM sighting h WHERE h.trial = p.trial AND h.player = 1 \
              AND h.of_player = 2 AND h.time_ms > p.time_ms - 50 AND h.time_ms < p.time_ms + 1000) - p.time_ms) \
              FROM p GROUP BY p.trial",
    },
    Metric {
        name: "first_shot_gap",
        unit: "ms",
        help: "In the corner scene: by how much a shot that the peeker fires at first sight reaches the \
               server before one that the holder fires at first sight.",
        sql: "WITH p AS (SELECT trial, time_ms FROM sighting WHERE player = 2 AND of_player = 1), \
              a AS (SELECT p.trial, AVG((SELECT MIN(h.time_ms) FROM sighting h WHERE h.trial = p.trial AND h.player = \
              1 AND h.of_player = 2 AND h.time_ms > p.time_ms - 50 AND h.time_ms < p.time_ms + 1000) - p.time_ms) AS \
              seen FROM p GROUP BY p.trial) \
              SELECT a.trial, a.seen + SUM(CASE WHEN l.player = 1 THEN l.delay_ms ELSE -l.delay_ms END) FROM a JOIN \
              line l ON l.trial = a.trial AND l.way = 'up' GROUP BY a.trial",
    },
    Metric {
        name: "own_delay",
        unit: "ms",
        help: "From a command to its effect on the player's own screen.",
        sql: "SELECT trial, SUM(own_delay_ms) / SUM(own_delays) FROM second WHERE own_delays > 0 GROUP BY trial",
    },
    Metric {
        name: "deviation",
        unit: "m",
        help: "Between where a screen shows another player and where that player has itself on its own screen, \
            while it moves.",
        sql: "SELECT trial, SUM(deviation_m) / SUM(deviations) FROM second WHERE deviations > 0 GROUP BY trial",
    },
    Metric {
        name: "deviation_server",
        unit: "m",
        help: "Between where a screen shows another player and where the server has it, while it moves.",
        sql: "SELECT trial, SUM(server_deviation_m) / SUM(deviations) FROM second WHERE deviations > 0 GROUP BY \
            trial",
    },
    Metric {
        name: "deviation_straight",
        unit: "m",
        help: "The first, of those who run straight and fast on both screens.",
        sql: "SELECT trial, SUM(straight_m) / SUM(straights) FROM second WHERE straights > 0 GROUP BY trial",
    },
    Metric {
        name: "deviation_max",
        unit: "m",
        help: "The largest deviation of a second, on average over seconds and players.",
        sql: "SELECT trial, AVG(deviation_m_max) FROM second WHERE deviations > 0 GROUP BY trial",
    },
    Metric {
        name: "stale",
        unit: "%",
        help: "Pictures that show nothing newer of a moving player than the picture before; in FPSci's format, \
            nothing as new as without loss.",
        sql: "SELECT trial, 100.0 * SUM(stale) / SUM(deviations) FROM second WHERE deviations > 0 GROUP BY trial",
    },
    Metric {
        name: "corrections",
        unit: "1/min",
        help: "How often a snapshot moved a player from where it had predicted itself; of bots alone, as are the next \
            ones: people's pages do not count it.",
        sql: "SELECT t.trial, SUM(s.corrections) * 60000.0 / t.duration_ms / (SELECT COUNT(*) FROM player p \
            WHERE p.trial = t.trial AND p.player > 0) FROM trial t JOIN second s USING (trial) WHERE s.player \
            > 0 AND t.trial NOT IN (SELECT trial FROM sitting) GROUP BY t.trial",
    },
    Metric {
        name: "correction_size",
        unit: "m",
        help: "How far it did, on average.",
        sql: "SELECT trial, SUM(corrected_m) / SUM(corrections) FROM second WHERE corrections > 0 GROUP BY trial",
    },
    Metric {
        name: "repredicted",
        unit: "1/s",
        help: "Ticks that a player's machine stepped again, a second.",
        sql: clients!("AVG(repredicted)"),
    },
    Metric {
        name: "repredicted_entities",
        unit: "1/s",
        help: "The same, times the entities that there were to step.",
        sql: clients!("AVG(repredicted_entities)"),
    },
    Metric {
        name: "late_commands",
        unit: "1/min",
        help: "Commands that came too late, of each player.",
        sql: clients!("AVG(late_commands) * 60.0"),
    },
    Metric {
        name: "stalled",
        unit: "ms/s",
        help: "How long a player's game stood still, a second.",
        sql: clients!("AVG(stalled_ms)"),
    },
    Metric {
        name: "server_out",
        unit: "bit/s",
        help: "What the server sends, application bytes; in lockstep the first player's machine.",
        sql: "SELECT trial, AVG(bytes_out) * 8.0 FROM second WHERE player = 0 GROUP BY trial",
    },
    Metric {
        name: "server_packets",
        unit: "1/s",
        help: "Datagrams that the server sends.",
        sql: "SELECT trial, AVG(packets_out) FROM second WHERE player = 0 GROUP BY trial",
    },
    Metric {
        name: "client_out",
        unit: "bit/s",
        help: "What each player's machine sends, application bytes.",
        sql: "SELECT trial, AVG(bytes_out) * 8.0 FROM second WHERE player > 0 GROUP BY trial",
    },
    Metric {
        name: "client_out_wire",
        unit: "bit/s",
        help: "The same with the 28 bytes of UDP and IP around every datagram.",
        sql: "SELECT trial, AVG(bytes_out + 28 * packets_out) * 8.0 FROM second WHERE player > 0 GROUP BY trial",
    },
    Metric {
        name: "client_in",
        unit: "bit/s",
        help: "What each player's machine receives.",
        sql: "SELECT trial, AVG(bytes_in) * 8.0 FROM second WHERE player > 0 GROUP BY trial",
    },
    Metric {
        name: "client_packets",
        unit: "1/s",
        help: "Datagrams that each player's machine sends.",
        sql: "SELECT trial, AVG(packets_out) FROM second WHERE player > 0 GROUP BY trial",
    },
    Metric {
        name: "frame_bytes",
        unit: "B",
        help: "Bytes that a client sends in each of its frames.",
        sql: clients!("SUM(bytes_out) * 1.0 / SUM(frames)"),
    },
    Metric {
        name: "frames",
        unit: "1/s",
        help: "Frames of each client a second; of people's pages the table telemetry has them.",
        sql: clients!("AVG(frames)"),
    },
    Metric {
        name: "line_delay",
        unit: "ms",
        help: "How long datagrams were under way, measured at both ends; the mean of all lines and ways.",
        sql: "SELECT trial, AVG(delay_ms) FROM line GROUP BY trial",
    },
    Metric {
        name: "line_loss",
        unit: "%",
        help: "Datagrams that did not arrive.",
        sql: "SELECT trial, 100.0 * SUM(lost) / SUM(packets) FROM line GROUP BY trial",
    },
    Metric {
        name: "round_trip",
        unit: "ms",
        help: "From a probe's departure in a client's frame to its answer's arrival in one; waits for frames \
            included.",
        sql: "SELECT trial, SUM(round_trip_ms) / SUM(round_trips) FROM second WHERE round_trips > 0 GROUP BY trial",
    },
    Metric {
        name: "round_trip_extra",
        unit: "ms",
        help: "The same, less what the line itself takes there and back.",
        sql: "SELECT s.trial, SUM(s.round_trip_ms) / SUM(s.round_trips) - 2 * (SELECT AVG(l.delay_ms) FROM line \
            l WHERE l.trial = s.trial) FROM second s WHERE s.round_trips > 0 AND s.trial NOT IN (SELECT trial FROM \
            sitting) GROUP BY s.trial",
    },
    Metric {
        name: "unfairness",
        unit: "1/min",
        help: "Kills of the players with the shortest lines less those of the longest, each a minute.",
        sql: gap!(
            "SELECT p.trial, p.player, p.kills * 60000.0 / t.duration_ms AS n FROM player p JOIN trial t USING \
            (trial) WHERE p.player > 0"
        ),
    },
    Metric {
        name: "unfairness_delay",
        unit: "ms",
        help: "How much longer players with the longest lines wait for the effect of a command than those \
               with the shortest.",
        sql: gap!(
            "SELECT trial, player, -SUM(own_delay_ms) / SUM(own_delays) AS n FROM second WHERE own_delays > 0 GROUP \
            BY trial, player"
        ),
    },
    Metric {
        name: "unfairness_hits",
        unit: "%",
        help: "Hit registration agreement of players with the shortest lines less that of the longest, in \
               points.",
        sql: gap!(
            "SELECT trial, player, 100.0 * AVG(hit IS NOT NULL AND hit = aimed) AS n FROM shot WHERE aimed IS NOT \
            NULL GROUP BY trial, player"
        ),
    },
    Metric {
        name: "packing_saves",
        unit: "%",
        help: "001, section 6: what bit packing saves of full 32-bit fields.",
        sql: figure!("packing_saves"),
    },
    Metric {
        name: "delta_saves",
        unit: "%",
        help: "What delta compression of every entity saves of packed snapshots.",
        sql: figure!("delta_saves"),
    },
    Metric {
        name: "left_out_saves",
        unit: "%",
        help: "The same where unchanged entities are left out.",
        sql: figure!("left_out_saves"),
    },
    Metric {
        name: "zero_runs_save",
        unit: "%",
        help: "What zero runs of 3-bit words save of that.",
        sql: figure!("zero_runs_save"),
    },
    Metric {
        name: "left_out_bytes",
        unit: "B",
        help: "A snapshot as it is written, on average.",
        sql: figure!("left_out_bytes"),
    },
    Metric {
        name: "common_base_saves",
        unit: "%",
        help: "What a common base saves of snapshots written against the last acknowledged one alone, as \
               Quake III does.",
        sql: figure!("common_base_saves"),
    },
    Metric {
        name: "common_base_saves_again",
        unit: "%",
        help: "The same, of the snapshots in which an entity comes into sight again.",
        sql: figure!("common_base_saves_again"),
    },
    Metric {
        name: "entities_seen",
        unit: "entities",
        help: "How many entities are in a player's sight, on average.",
        sql: figure!("entities_seen"),
    },
    Metric {
        name: "seen_again",
        unit: "%",
        help: "How many snapshots that are.",
        sql: figure!("seen_again"),
    },
    Metric {
        name: "units_alive",
        unit: "units",
        help: "On Islands: the fewest units that were alive.",
        sql: figure!("units_alive"),
    },
    Metric {
        name: "stall_ticks",
        unit: "ticks",
        help: "On Islands: the longest that a screen stood still, the last player's left out.",
        sql: figure!("stall_ticks"),
    },
    Metric {
        name: "server_peak",
        unit: "B/s",
        help: "On Islands: the most that the server sent in a second.",
        sql: figure!("server_peak"),
    },
    Metric {
        name: "clock_error",
        unit: "ms",
        help: "How far a clock is off once it has its stamps, where fewer than half of them were sent again.",
        sql: clock!("e.value"),
    },
    Metric {
        name: "clock_within_150",
        unit: "%",
        help: "Clocks that are off by less than 150 ms, of these.",
        sql: clock!("100.0 * (e.value < 150)"),
    },
    Metric {
        name: "clock_within_100",
        unit: "%",
        help: "Clocks that are off by less than 100 ms, of these.",
        sql: clock!("100.0 * (e.value < 100)"),
    },
    Metric {
        name: "core_time",
        unit: "%",
        help: "Processor time of the whole trial, of its virtual time, on this machine; reported, never part of \
            what repeats.",
        sql: "SELECT trial, 100.0 * wall_ms / duration_ms FROM trial",
    },
    Metric {
        name: "told_apart",
        unit: "%",
        help: "Of two intervals, how often the one was named that did not have the standard setting; half is chance.",
        sql: "SELECT CASE WHEN t.name = 'comparison' THEN q.trial ELSE q.trial - 1 END, \
            100.0 * AVG((q.answer = 'the first') = (t.name = 'standard')) FROM question q JOIN trial t \
            ON t.trial = q.trial WHERE q.ordinal = 0 GROUP BY q.trial",
    },
    Metric {
        name: "page_frame",
        unit: "ms",
        help: "Of people's pages: the 95th percentile of frame times, the mean over seconds.",
        sql: page!("SUM(y.frame_ms_95 * y.frames) / MAX(SUM(y.frames), 1)"),
    },
    Metric {
        name: "page_ping",
        unit: "ms",
        help: "Of people's lines: the round trip as the server measured it, floor and added delay together.",
        sql: page!("AVG(y.ping_ms)"),
    },
];

/// Ratings by when they are asked for: their name, what it means, and for which trials an answer (`q`) counts.
const RATINGS: [(&str, &str, &str); 3] = [
    (
        "rating",
        "What participants answered to the first question that is a rating and asked after each trial: the mean. The \
         second such question is `rating_2`, and so on.",
        "JOIN trial t ON t.trial = q.trial WHERE q.after = 'trial'",
    ),
    (
        "session_rating",
        "The same of ratings that are asked after sessions, `session_rating_2` and so on: what a participant answered \
         counts for each trial of that session.",
        "JOIN trial l ON l.trial = q.trial JOIN trial t ON t.participant = l.participant AND t.session = l.session \
         WHERE q.after = 'session'",
    ),
    (
        "study_rating",
        "The same of ratings that are asked after the study, `study_rating_2` and so on: what a participant answered \
         counts for each of its trials.",
        "JOIN seat s ON s.seat = q.seat JOIN trial t ON t.participant = s.participant WHERE q.after = 'study'",
    ),
];

/// The metrics of all ratings that a file can have: of each kind as many as there may be questions.
static RATED: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let all = RATINGS.iter().flat_map(|rating| (0..QUESTIONS_MAX).map(move |nth| (rating, nth)));
    all.map(|((name, help, whose), nth)| Metric {
        name: if nth == 0 { name } else { format!("{name}_{}", nth + 1).leak() },
        unit: "points",
        help,
        sql: format!(
            "SELECT t.trial, AVG(CAST(q.answer AS REAL)) FROM question q {whose} AND q.answer <> '' \
             AND q.ordinal = ({}) GROUP BY t.trial",
            ordinal(name, nth)
        )
        .leak(),
    })
    .collect()
});

/// Asks for the ordinal of the n-th rating of a kind, from 0.
fn ordinal(name: &str, nth: usize) -> String {
    let after = name.strip_suffix("_rating").unwrap_or("trial");
    format!(
        "SELECT DISTINCT ordinal FROM question WHERE after = '{after}' AND kind = 'rating' ORDER BY ordinal \
         LIMIT 1 OFFSET {nth}"
    )
}

/// The metric of this name.
pub(crate) fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().chain(RATED.iter()).find(|metric| metric.name == name)
}

/// Every metric by name, for whoever misspelt one: of ratings the first of each kind.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    METRICS.iter().map(|metric| metric.name).chain(RATINGS.iter().map(|(name, _, _)| *name))
}

/// Every metric for a document: of ratings the first of each kind.
pub(crate) fn documented() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().chain(RATED.iter().step_by(QUESTIONS_MAX))
}

/// Every metric that a log may have: each rating that was asked for is one.
pub(crate) fn of(log: &Connection) -> rusqlite::Result<Vec<&'static Metric>> {
    let mut all: Vec<&'static Metric> = METRICS.iter().collect();
    for (kind, (name, _, _)) in RATINGS.iter().enumerate() {
        let after = name.strip_suffix("_rating").unwrap_or("trial");
        let sql =
            "SELECT COUNT(DISTINCT ordinal) FROM question WHERE kind = 'rating' AND after = ?1";
        let count: u32 = log.query_row(sql, [after], |row| row.get(0))?;
        all.extend(
            RATED.iter().skip(kind * QUESTIONS_MAX).take((count as usize).min(QUESTIONS_MAX)),
        );
    }
    Ok(all)
}

impl Metric {
    /// What it means in a log: of a rating, what was asked.
    pub(crate) fn meaning(&self, log: &Connection) -> rusqlite::Result<String> {
        let place = RATED.iter().position(|rated| rated.name == self.name);
        let Some(place) = place else { return Ok(self.help.to_owned()) };
        let (name, _, _) = RATINGS[place / QUESTIONS_MAX];
        let sql = format!(
            "SELECT question FROM question WHERE ordinal = ({}) LIMIT 1",
            ordinal(name, place % QUESTIONS_MAX)
        );
        let asked = log.query_row(&sql, [], |row| row.get::<_, String>(0));
        Ok(asked.map_or_else(|_| self.help.to_owned(), |asked| format!("\u{201c}{asked}\u{201d}")))
    }

    /// Each trial's number; trials that have none are left out.
    pub fn of_trials(&self, log: &Connection) -> rusqlite::Result<BTreeMap<u32, f64>> {
        let mut found = BTreeMap::new();
        let mut statement = log.prepare_cached(self.sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let number: Option<f64> = row.get(1)?;
            if let Some(number) = number.filter(|number| number.is_finite()) {
                found.insert(row.get(0)?, number);
            }
        }
        Ok(found)
    }
}
