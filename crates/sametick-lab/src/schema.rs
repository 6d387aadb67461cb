//! The tables of the log and the views on them, as text: what docs/lab.md and the codebook speak of.

/// The version of the tables; a file of another one is refused.
pub const SCHEMA_VERSION: i64 = 5;

/// One table: its name, its columns with what they mean, and its key.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Name, type and meaning; those that differ from run to run end in `!`.
    pub(crate) columns: &'static [(&'static str, &'static str, &'static str)],
    pub(crate) key: &'static str,
}

impl Table {
    pub(crate) fn create(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|(name, kind, _)| format!("{name} {}", plain(kind))).collect();
        let (name, key) = (self.name, self.key);
        format!("CREATE TABLE {name} ({}, PRIMARY KEY ({key})) WITHOUT ROWID;", columns.join(", "))
    }

    pub(crate) fn insert(&self) -> String {
        let marks = vec!["?"; self.columns.len()].join(", ");
        format!("INSERT INTO {} VALUES ({marks})", self.name)
    }

    /// The columns that are the same in every run.
    pub(crate) fn repeatable(&self) -> Vec<&'static str> {
        let same = self.columns.iter().filter(|(_, kind, _)| !kind.ends_with('!'));
        same.map(|(name, _, _)| *name).collect()
    }
}

fn plain(kind: &str) -> &str {
    kind.trim_end_matches('!')
}

const TEXT: &str = "TEXT";
const REAL: &str = "REAL";
const INTEGER: &str = "INTEGER";

/// Every table. Every row of a trial carries its number.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "experiment",
        help: "The experiment itself: one row.",
        columns: &[
            ("title", TEXT, "its title"),
            ("question", TEXT, "what it asks"),
            ("hash", TEXT, "a number for file and size: the same runs the same trials"),
            ("config", TEXT, "the whole file"),
            ("build", TEXT, "the version of the program and of the rules of the game"),
            ("seed", INTEGER, "what decides every chance"),
            ("is_quick", INTEGER, "whether it is the small version, for tests"),
            ("trials", INTEGER, "how many trials are planned"),
            ("unit", TEXT, "what intervals resample: participant, group or seed"),
            ("file", "TEXT!", "the name of the experiment's file"),
            ("created", "TEXT!", "when the file was made, UTC"),
        ],
        key: "hash",
    },
    Table {
        name: "condition",
        help: "Every combination of levels.",
        columns: &[
            ("condition", INTEGER, "its number, from 1"),
            ("letter", TEXT, "what participants are shown instead of it"),
            ("label", TEXT, "its levels in words"),
            ("levels", TEXT, "its levels as JSON, in the units of docs/lab.md"),
            ("settings", TEXT, "all settings that are not the default, as JSON"),
        ],
        key: "condition",
    },
    Table {
        name: "session",
        help: "Every session.",
        columns: &[("session", TEXT, "its name"), ("place", INTEGER, "its place, from 1")],
        key: "session",
    },
    Table {
        name: "trial",
        help: "Every trial that is whole; the others are not in the file.",
        columns: &[
            ("trial", INTEGER, "its number in the plan, from 1"),
            ("session", TEXT, "its session"),
            ("name", TEXT, "what kind of trial it is"),
            ("condition", INTEGER, "its condition"),
            ("participant", INTEGER, "who played it, from 1"),
            ("repetition", INTEGER, "which repetition, from 1"),
            ("place", INTEGER, "its place among its participant's trials, from 1"),
            ("is_practice", INTEGER, "whether it is left out of metrics"),
            ("seed", TEXT, "what decides its chances, as a number in text"),
            (
                "begins_us",
                INTEGER,
                "when it began, in microseconds since 1970; in virtual time on a clock of \
                its own",
            ),
            ("duration_ms", REAL, "how long was logged"),
            ("ticks", INTEGER, "ticks of the rules in that time"),
            ("world_hash", TEXT, "a number for the world at the end"),
            ("is_virtual", INTEGER, "whether it ran in virtual time"),
            ("dropped", INTEGER, "rows that were too many and were left out"),
            ("wall_ms", "REAL!", "how long it took on this machine"),
        ],
        key: "trial",
    },
    Table {
        name: "player",
        help: "Everyone in every trial.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("player", INTEGER, "who, from 1"),
            ("role", TEXT, "bot, script or format"),
            ("skill", TEXT, "how well a bot plays"),
            ("frame_rate", REAL, "pictures a second asked for"),
            ("joined", INTEGER, "whether it was in the game"),
            ("kills", INTEGER, "kills less those of itself"),
            ("deaths", INTEGER, "how often it died"),
        ],
        key: "trial, player",
    },
    Table {
        name: "line",
        help: "Each way of each player's line: asked and achieved.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("player", INTEGER, "whose"),
            ("way", TEXT, "up or down; in lockstep to the others or from them"),
            (
                "asked_delay_ms",
                REAL,
                "asked, on average over the trial: delay with the mean of its jitter",
            ),
            ("asked_loss", REAL, "asked, on average over the trial: share lost, 0 to 1"),
            ("delay_ms", REAL, "measured at both ends: mean"),
            ("delay_ms_50", REAL, "median"),
            ("delay_ms_95", REAL, "95th percentile"),
            ("packets", INTEGER, "datagrams sent"),
            ("lost", INTEGER, "of these, not arrived"),
            ("bytes", INTEGER, "bytes sent"),
        ],
        key: "trial, player, way",
    },
    Table {
        name: "second",
        help: "Each second of each player, and of the server (player 0): sums, and how many they are of.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("second", INTEGER, "from 0"),
            ("player", INTEGER, "who; 0 is the server, in lockstep the first player's machine"),
            ("frames", INTEGER, "pictures drawn"),
            ("packets_out", INTEGER, "datagrams sent"),
            ("bytes_out", INTEGER, "their bytes"),
            ("packets_in", INTEGER, "datagrams received"),
            ("bytes_in", INTEGER, "their bytes"),
            ("own_delay_ms", REAL, "sum of times from a command to its effect on the own screen"),
            ("own_delays", INTEGER, "of how many"),
            (
                "deviation_m",
                REAL,
                "sum of distances between where a moving player is shown and where it has \
                itself",
            ),
            ("server_deviation_m", REAL, "the same to where the server has it"),
            ("straight_m", REAL, "the first, of those who run straight and fast on both screens"),
            ("straights", INTEGER, "of how many of these"),
            ("deviation_m_max", REAL, "the largest of the first"),
            ("deviations", INTEGER, "of how many looks"),
            ("stale", INTEGER, "looks that showed nothing new"),
            ("corrections", INTEGER, "own predictions put right"),
            ("corrected_m", REAL, "by how many metres in all"),
            ("repredicted", INTEGER, "ticks stepped again"),
            ("repredicted_entities", INTEGER, "the same, times the entities there were to step"),
            ("late_commands", INTEGER, "commands that came too late"),
            ("stalled_ms", REAL, "how long the game stood still"),
            ("round_trip_ms", REAL, "sum of round trips, waits for frames included"),
            ("round_trips", INTEGER, "of how many"),
        ],
        key: "trial, second, player",
    },
    Table {
        name: "shot",
        help: "Every shot of a gun, with both verdicts and what shooter and victim saw.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("tick", INTEGER, "the tick in which it was judged"),
            ("ordinal", INTEGER, "which of that tick"),
            ("time_ms", REAL, "since logging began"),
            ("player", INTEGER, "who fired"),
            ("pellets", INTEGER, "what left the barrel"),
            ("pellets_hit", INTEGER, "of these, what hit"),
            ("aimed", INTEGER, "who was under the crosshair on the shooter's screen"),
            ("seen", INTEGER, "who was hit in the past that it was judged by (with rewinding)"),
            ("present", INTEGER, "who would have been hit in the present (without)"),
            ("hit", INTEGER, "who was hit"),
            ("rewound_ms", REAL, "how far back it was judged"),
            ("shown_x", REAL, "where the shooter's screen showed who was aimed at"),
            ("shown_y", REAL, ""),
            ("shown_z", REAL, ""),
            ("own_x", REAL, "where that one had itself on its own screen"),
            ("own_y", REAL, ""),
            ("own_z", REAL, ""),
            ("served_x", REAL, "where the server had it"),
            ("served_y", REAL, ""),
            ("served_z", REAL, ""),
            (
                "is_behind_cover",
                INTEGER,
                "whether who was hit was out of the shooter's sight on its own screen",
            ),
            ("lead_m", REAL, "how far the target had run on since the picture, on straight runs"),
            ("lead_rewound_m", REAL, "how far of that it was put back"),
            ("target", INTEGER, "which target was hit"),
            (
                "aimed_target",
                INTEGER,
                "the target nearest to the crosshair on the shooter's screen",
            ),
            ("aim_error", REAL, "how far beside its middle the crosshair was, in degrees"),
        ],
        key: "trial, tick, ordinal",
    },
    Table {
        name: "hit",
        help: "Every wound.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("tick", INTEGER, "in which tick"),
            ("player", INTEGER, "whose wound"),
            ("time_ms", REAL, "since logging began"),
            ("by", INTEGER, "whose shot, if it was one"),
            ("amount", INTEGER, "points of health"),
            ("is_kill", INTEGER, "whether it was the last"),
        ],
        key: "trial, tick, player",
    },
    Table {
        name: "sighting",
        help: "In scenes: the moment at which somebody comes into a player's sight on its own screen.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("ordinal", INTEGER, "from 0, by time"),
            ("time_ms", REAL, "since logging began"),
            ("player", INTEGER, "on whose screen"),
            ("of_player", INTEGER, "who"),
        ],
        key: "trial, ordinal",
    },
    Table {
        name: "state",
        help: "Every player at every tick as the server has it (setting log_states).",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("tick", INTEGER, "which tick"),
            ("player", INTEGER, "who"),
            ("time_ms", REAL, "since logging began"),
            ("x", REAL, "its feet, in metres"),
            ("y", REAL, ""),
            ("z", REAL, "upwards"),
            ("yaw", REAL, "where it looks, in radians left from +x"),
            ("pitch", REAL, "and how far up"),
            ("health", INTEGER, "points of health"),
        ],
        key: "trial, tick, player",
    },
    Table {
        name: "target_kind",
        help: "Every kind of target of the experiment's file.",
        columns: &[
            ("kind", TEXT, "its name"),
            ("place", INTEGER, "its place in the file, from 1"),
            ("space", TEXT, "world or player"),
            ("motion", TEXT, "destinations, jumping or gliding"),
            ("size_least", REAL, "metres across"),
            ("size_most", REAL, ""),
            ("is_symmetric_h", INTEGER, "whether it appears as often to the right"),
            ("is_symmetric_v", INTEGER, "and below"),
            ("ecc_h_least", REAL, "degrees beside the view, to the left"),
            ("ecc_h_most", REAL, ""),
            ("ecc_v_least", REAL, "degrees above the view"),
            ("ecc_v_most", REAL, ""),
            (
                "speed_least",
                REAL,
                "metres a second in the world, degrees a second around the player",
            ),
            ("speed_most", REAL, ""),
            ("turn_s_least", REAL, "motion change period, in seconds"),
            ("turn_s_most", REAL, ""),
            ("respawns", INTEGER, "how often it comes back; -1 is for ever"),
            ("hits", INTEGER, "what it takes"),
        ],
        key: "kind",
    },
    Table {
        name: "target",
        help: "Every life of every target.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("target", INTEGER, "which of its trial's targets, from 1"),
            ("life", INTEGER, "which life, from 1"),
            ("kind", TEXT, "its kind; `map` for a map's own"),
            ("tick", INTEGER, "when it appeared"),
            ("time_ms", REAL, "since logging began; before 0 if it was there by then"),
            ("size_m", REAL, "metres across"),
            ("distance_m", REAL, "metres from the eye by whose view it appeared"),
            ("ecc_h", REAL, "degrees beside that view, to the left"),
            ("ecc_v", REAL, "degrees above it"),
            ("hits", INTEGER, "what it took"),
            ("destroyed_tick", INTEGER, "when it was destroyed"),
            ("destroyed_ms", REAL, "since logging began"),
            ("destroyed_by", INTEGER, "by whose bullet"),
        ],
        key: "trial, target, life",
    },
    Table {
        name: "target_state",
        help: "Every target that is there at every tick as the server has it (setting log_states).",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("tick", INTEGER, "which tick"),
            ("target", INTEGER, "which target"),
            ("time_ms", REAL, "since logging began"),
            ("life", INTEGER, "which of its lives"),
            ("x", REAL, "its middle, in metres"),
            ("y", REAL, ""),
            ("z", REAL, "upwards"),
            ("health", INTEGER, "hits, or points, that it can still take"),
        ],
        key: "trial, tick, target",
    },
    Table {
        name: "picture",
        help: "What every screen shows of everyone, frame by frame (setting log_views).",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("ordinal", INTEGER, "from 0, by time"),
            ("tick", INTEGER, "the server's tick at that moment"),
            ("time_ms", REAL, "since logging began"),
            ("player", INTEGER, "whose screen"),
            ("of_player", INTEGER, "of whom"),
            ("x", REAL, "where it is shown"),
            ("y", REAL, ""),
            ("z", REAL, ""),
            ("off_m", REAL, "how far that is from where it has itself"),
        ],
        key: "trial, ordinal",
    },
    Table {
        name: "command",
        help: "Every command as it was given (setting log_commands).",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("ordinal", INTEGER, "from 0, by time"),
            ("tick", INTEGER, "the server's tick at that moment"),
            ("time_ms", REAL, "since logging began"),
            ("player", INTEGER, "who gave it"),
            ("yaw", REAL, "where it looks"),
            ("pitch", REAL, "and how far up"),
            ("forward", INTEGER, "-7 to 7"),
            ("right", INTEGER, "-7 to 7"),
            ("jump", INTEGER, "whether it jumps"),
            ("fire", INTEGER, "whether it fires"),
        ],
        key: "trial, ordinal",
    },
    Table {
        name: "frame",
        help: "Every frame of every client and every tick of the server (setting log_frames; not in FPSci's format): \
               what came and went since the one before, and how long what took on this machine.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("ordinal", INTEGER, "from 0, by time"),
            ("tick", INTEGER, "the server's tick at that moment"),
            ("time_ms", REAL, "since logging began"),
            ("player", INTEGER, "whose frame; 0 is a tick of the server"),
            ("packets_out", INTEGER, "datagrams sent"),
            ("bytes_out", INTEGER, "their bytes"),
            ("packets_in", INTEGER, "datagrams received"),
            ("bytes_in", INTEGER, "their bytes"),
            ("network_ms", "REAL!", "taking datagrams in: opening seals, reading, acknowledging"),
            ("rules_ms", "REAL!", "stepping the rules; of a client, predicting"),
            ("encoding_ms", "REAL!", "writing datagrams, seals included"),
            ("drawing_ms", "REAL!", "making the picture; nothing is rasterised"),
        ],
        key: "trial, ordinal",
    },
    Table {
        name: "figure",
        help: "Numbers of a whole trial, by name: what the stages of a codec leave, clocks, contests on Islands.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("name", TEXT, "which number"),
            ("value", REAL, "how much"),
        ],
        key: "trial, name",
    },
    Table {
        name: "question",
        help: "Answers of participants; empty as long as bots play.",
        columns: &[
            ("trial", INTEGER, "after which trial; after the study, the last one that was planned"),
            ("seat", INTEGER, "who answered"),
            (
                "ordinal",
                INTEGER,
                "which question, from 1 as in the file; 0 is which of two intervals",
            ),
            ("player", INTEGER, "who that was in the trial"),
            ("after", TEXT, "trial, session or study"),
            ("kind", TEXT, "rating, choice, drop_down or text"),
            ("question", TEXT, "what was asked"),
            ("options", TEXT, "what was to choose from, as JSON"),
            ("presented", TEXT, "the same in the order in which it was shown, as JSON"),
            ("answer", TEXT, "what was answered; empty if it was passed over"),
            (
                "shown_us",
                "INTEGER!",
                "when its page first had it, with all others of the same form; unknown if no host told it",
            ),
            ("answered_us", "INTEGER!", "when it was answered, in microseconds since 1970"),
        ],
        key: "trial, seat, ordinal",
    },
    Table {
        name: "seat",
        help: "Everyone who was to take part: a code, never a name or an address.",
        columns: &[
            ("seat", INTEGER, "its number, from 1 over all groups"),
            ("code", "TEXT!", "what its participant joins with"),
            ("participant", INTEGER, "its group, as trials have it"),
            ("place", INTEGER, "its place in the group, from 1"),
            ("role", TEXT, "its role in the group's first trial, if there are roles"),
        ],
        key: "seat",
    },
    Table {
        name: "sitting",
        help: "Which participant was which player in a trial, and what was asked of its line in all.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("seat", INTEGER, "who"),
            ("player", INTEGER, "which player that was"),
            ("role", TEXT, "in which role, if there are roles"),
            ("asked_ms", REAL, "round trip asked, floor included; empty if nothing was asked"),
            ("asked_loss", REAL, "share lost each way that was asked, 0 to 1"),
        ],
        key: "trial, seat",
    },
    Table {
        name: "event",
        help: "All that happened in a study with people, in order: whoever reads it again has the study.",
        columns: &[
            ("number", INTEGER, "from 1"),
            ("at_us", "INTEGER!", "when, in microseconds since 1970"),
            ("seat", INTEGER, "who did it, if a participant did"),
            ("kind", TEXT, "what"),
            ("detail", "TEXT!", "the rest of it, as JSON"),
            ("why", "TEXT!", "why the experimenter did it"),
        ],
        key: "number",
    },
    Table {
        name: "telemetry",
        help: "Each second of each participant's page, of every attempt.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            (
                "attempt",
                INTEGER,
                "which attempt at it; figure `attempt` names the one that is logged",
            ),
            ("seat", INTEGER, "whose page"),
            ("second", INTEGER, "from 0"),
            ("frames", "INTEGER!", "pictures drawn"),
            ("frame_ms", "REAL!", "mean time of a frame"),
            ("frame_ms_95", "REAL!", "95th percentile"),
            ("hidden_ms", "REAL!", "how long the page was hidden"),
            ("is_focused", "INTEGER!", "whether it had the focus all the time"),
            ("ping_ms", "REAL!", "round trip as the server measured it"),
            ("loss", "REAL!", "share lost as the server measured it, 0 to 1"),
            ("inputs", "INTEGER!", "keys and mouse"),
        ],
        key: "trial, attempt, seat, second",
    },
    Table {
        name: "trial_flag",
        help: "What is to be said against a trial, in words.",
        columns: &[
            ("trial", INTEGER, "which trial"),
            ("seat", INTEGER, "whose; 0 is of all"),
            ("flag", TEXT, "ping, loss, frames, hidden, throttled, focus, silent or changed"),
            ("detail", "TEXT!", "in words"),
        ],
        key: "trial, seat, flag",
    },
    Table {
        name: "exclusion",
        help: "What the analysis leaves out, by rule.",
        columns: &[
            ("kind", TEXT, "trial or participant"),
            ("number", INTEGER, "which"),
            ("rule", TEXT, "by which rule of the file; declined is of who withdrew"),
            ("reason", TEXT, "why, in words"),
        ],
        key: "kind, number, rule",
    },
];

/// Views named and shaped like FPSci's tables, so that its scripts run; each has the trial besides.
pub(crate) fn views() -> String {
    let mut text = String::new();
    let mut rest = include_str!("views.sql");
    // A moment as FPSci writes it, from microseconds since 1970.
    while let Some((before, after)) = rest.split_once("@utc(") {
        let end = closing(after);
        let us = &after[..end];
        text.push_str(before);
        text.push_str(&format!(
            "strftime('%Y-%m-%d %H:%M:%S', ({us}) / 1000000, 'unixepoch') || printf('.%06d', ({us}) % 1000000)"
        ));
        rest = &after[end + 1..];
    }
    text + rest
}

/// Where the parenthesis is closed that was opened before the text.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth == 0 {
            return at;
        }
    }
    text.len()
}
