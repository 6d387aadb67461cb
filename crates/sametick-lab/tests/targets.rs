//! Targets of an experiment: read strictly, played by bots, logged life by life, and asked for as FPSci's scripts do.

use crate::common::{Folder, read};
use sametick_lab::{
    Experiment, How, Log, METRICS, NewCarrier, Plan, Simulated, content_recorded, outcomes,
    play_again, run,
};
use std::sync::atomic::AtomicBool;

const AIM: &str = r#"
question = "How quickly are targets destroyed?"
seed = 5
repetitions = 2
[settings]
mode = "targets"
map = "field"
players = 1
duration = "8 s"
warm_up = "2 s"
log_states = true
skill = "veteran"
foreperiod = "300 ms"
foreperiod_most = "900 ms"
[factors]
targets = [["near", "near"], "path"]
[[target]]
name = "near"
size = "0.8 m"
distance = ["8 m", "12 m"]
ecc_h = ["5 deg", "25 deg"]
ecc_v = ["0 deg", "5 deg"]
symmetric_v = false
speed = ["0 deg/s", "8 deg/s"]
respawns = 1
hits = 2
[[target]]
name = "path"
space = "player"
size = ["1 m", "1.5 m"]
destinations = [[0, 10, -3, 1], [2, 10, 3, 1], [4, 10, -3, 1]]
respawns = "forever"
"#;

fn run_all(experiment: &Experiment, plan: &Plan, folder: &Folder) -> Log {
    let log = Log::write(&folder.file("aim.db"), experiment, plan).expect("a log");
    let how = How { threads: 2, shard: (0, 1), is_real_time: false, runs_programs: false };
    let carrier: &NewCarrier<'_> = &|hosts, seed| Ok(Box::new(Simulated::new(hosts, seed)) as _);
    run(experiment, plan, &log, how, carrier, &AtomicBool::new(false), |_| {}).expect("it runs");
    log
}

#[test]
fn bots_destroy_targets_and_the_log_tells_of_every_life_and_shot() {
    let folder = Folder::new("targets");
    let (experiment, plan) = read(AIM);
    let log = run_all(&experiment, &plan, &folder);
    let number = |sql: &str| -> f64 {
        let asked = log.connection.query_row(sql, [], |row| row.get::<_, f64>(0));
        asked.unwrap_or_else(|error| panic!("{sql}: {error}"))
    };
    assert_eq!(number("SELECT COUNT(*) * 1.0 FROM trial"), 4.0);
    // Two targets that come back once each: four lives at most, and the bot gets most of them.
    let near = "(SELECT trial FROM target WHERE kind = 'near')";
    let lives = number(&format!(
        "SELECT MAX(n) * 1.0 FROM (SELECT COUNT(*) AS n FROM target WHERE trial IN {near} GROUP BY trial)"
    ));
    assert!((2.0..=4.0).contains(&lives), "{lives} lives");
    let destroyed = number("SELECT COUNT(destroyed_ms) * 1.0 FROM target WHERE kind = 'near'");
    assert!(destroyed >= 2.0, "{destroyed} were destroyed");
    assert_eq!(
        number(
            "SELECT COUNT(*) * 1.0 FROM target WHERE destroyed_ms IS NOT NULL AND kind = 'near' AND hits <> 2"
        ),
        0.0
    );
    // Where they appeared is as the file has it.
    let beside = "SELECT COUNT(*) * 1.0 FROM target WHERE kind = 'near' AND (ABS(ecc_h) NOT BETWEEN 4.9 AND 25.1 \
        OR ecc_v NOT BETWEEN -0.1 AND 5.1 OR distance_m NOT BETWEEN 7.9 AND 12.1)";
    assert_eq!(number(beside), 0.0);
    // Shots that hit name a target, and the first of a life comes after it.
    assert!(number("SELECT COUNT(target) * 1.0 FROM shot") >= 2.0 * destroyed);
    assert!(number("SELECT AVG(aim_error) FROM shot WHERE target IS NOT NULL") < 8.0);
    assert!(number("SELECT COUNT(*) * 1.0 FROM target_state") > 400.0);
    let far = "SELECT MAX(ABS(a.x - b.x) + ABS(a.y - b.y) + ABS(a.z - b.z)) FROM target_state a JOIN target_state b \
        ON a.trial = b.trial AND a.target = b.target AND a.life = b.life AND b.tick = a.tick + 1 \
        WHERE a.trial IN (SELECT trial FROM target WHERE kind = 'near')";
    // They go along with the player, whose own way is none of theirs.
    let walks = "SELECT MAX(ABS(a.x - b.x) + ABS(a.y - b.y) + ABS(a.z - b.z)) FROM state a JOIN state b \
        ON a.trial = b.trial AND a.player = b.player AND b.tick = a.tick + 1";
    let (far, walks) = (number(far), number(walks));
    assert!(walks < 0.5 && far < 0.2 + walks, "they do not leap: {far} m, the player {walks} m");
    // The wait is what the file says, to within a tick.
    let wait = "SELECT COUNT(*) * 1.0 FROM figure WHERE name = 'foreperiod' AND value NOT BETWEEN 280 AND 920";
    assert_eq!(number(wait), 0.0);
    assert_eq!(number("SELECT COUNT(*) * 1.0 FROM figure WHERE name = 'foreperiod'"), 4.0);
    assert!(outcomes(&experiment, &log).unwrap().is_empty());
    // What others are aimed at is nobody's reaction to this one.
    let metric = METRICS.iter().find(|metric| metric.name == "reaction_time").unwrap();
    assert!(!metric.of_trials(&log.connection).unwrap().is_empty());
    log.connection.execute("UPDATE shot SET aimed_target = 99", []).unwrap();
    assert!(metric.of_trials(&log.connection).unwrap().is_empty());
}

#[test]
fn a_trial_is_over_when_all_of_its_targets_are_gone_and_says_how_long_it_was() {
    let folder = Folder::new("targets-gone");
    let text = AIM
        .replace("targets = [[\"near\", \"near\"], \"path\"]", "targets = [\"near\"]")
        .replace("0.8 m", "4 m")
        .replace("hits = 2", "hits = 1")
        .replace("respawns = 1", "respawns = 0");
    let (experiment, plan) = read(&text);
    let log = run_all(&experiment, &plan, &folder);
    let sql = "SELECT duration_ms, destroyed_ms FROM trial JOIN target USING (trial)";
    let mut statement = log.connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(f64, Option<f64>)> = rows.map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2, "a target each: {rows:?}");
    assert!(rows.iter().any(|(_, destroyed)| destroyed.is_some()), "seed 5: {rows:?}");
    for (duration, destroyed) in rows {
        assert_eq!(duration, destroyed.unwrap_or(8_000.0));
    }
}

#[test]
fn queries_of_fpsci_analyses_run_on_the_views() {
    let folder = Folder::new("targets-views");
    let (experiment, plan) = read(AIM);
    let log = run_all(&experiment, &plan, &folder);
    let number = |sql: &str| -> f64 {
        let asked = log.connection.query_row(sql, [], |row| row.get::<_, f64>(0));
        asked.unwrap_or_else(|error| panic!("{sql}: {error}"))
    };
    // Hit rate as destroy / (destroy + miss), reaction times by julianday, windows of trials by time.
    let rate = "SELECT 1.0 * SUM(event = 'destroy') / SUM(event IN ('destroy', 'miss')) FROM Player_Action";
    assert!((0.001..=1.0).contains(&number(rate)));
    let reaction = "SELECT AVG((julianday(a.time) - julianday(g.spawn_time)) * 86400) FROM Targets g JOIN \
        Player_Action a ON a.target_id = g.target_id AND a.trial = g.trial WHERE a.event = 'destroy'";
    assert!((0.05..8.0).contains(&number(reaction)), "{} s", number(reaction));
    let inside = "SELECT COUNT(*) * 1.0 FROM Target_Trajectory p JOIN Trials t ON p.time BETWEEN \
        t.start_time AND t.end_time";
    assert_eq!(number(inside), number("SELECT COUNT(*) * 1.0 FROM target_state"));
    let types = "SELECT COUNT(*) * 1.0 FROM Target_Types WHERE (target_type = 'near' AND min_ecc_h = 5 AND \
        max_ecc_h = 25 AND min_ecc_v = 0 AND max_ecc_v = 5 AND dest_space = 'player' AND motion_type = 'gliding') \
        OR target_type = 'path'";
    assert_eq!(number(types), 2.0);
    let totals = "SELECT COUNT(*) * 1.0 FROM Trials WHERE total_targets NOT IN (4, -1) OR destroyed_targets < 0 \
        OR destroyed_targets > 4 AND total_targets = 4 OR pretrial_duration NOT BETWEEN 0.28 AND 0.92";
    assert_eq!(number(totals), 0.0);
    assert_eq!(number("SELECT COUNT(*) * 1.0 FROM Trials WHERE total_targets = 4"), 2.0);
    let named = "SELECT COUNT(*) * 1.0 FROM Player_Action WHERE event IN ('hit', 'destroy') AND target_id IS NULL";
    assert_eq!(number(named), 0.0);
}

#[test]
fn a_trial_with_targets_is_played_again_and_its_recording_finds_its_content() {
    let folder = Folder::new("targets-again");
    let (experiment, plan) = read(&AIM.replace("8 s", "3 s"));
    let log = run_all(&experiment, &plan, &folder);
    let recording = play_again(&log, 1, &folder.0).expect("it ends in the same world");
    let header = sametick::replay::Header::read(&recording.recording).expect("a recording");
    let content = content_recorded(header.content_name, &header.configuration, None);
    assert_eq!(content.expect("the same content").targets.kinds.len(), 2);
}

/// What is changed in the file, and what is told of it when it is read.
const ODD: &[(&str, &str, &str)] = &[
    ("\"path\"]", "\"pth\"]", "there is no target \"pth\"; did you mean `path`?"),
    (
        "size = \"0.8 m\"",
        "size = 0.8",
        "`size` is \"1 m\", or from least to most [\"1 m\", \"2 m\"]",
    ),
    (
        "size = \"0.8 m\"",
        "size = \"0.8 deg\"",
        "`size` is \"1 m\", or from least to most [\"1 m\", \"2 m\"]",
    ),
    ("respawns = 1", "respawns = -1", "`respawns` is how often it comes back, or \"forever\""),
    ("hits = 2", "hits = 0", "`hits` cannot be 0: it is a whole number from 1 to 255"),
    ("hits = 2", "hist = 2", "`hist` means nothing here; did you mean `hits`?"),
    ("name = \"path\"", "name = \"near\"", "there are two targets \"near\""),
    (
        "[2, 10, 3, 1]",
        "[2, 10, 3]",
        "`destinations` are rows of seconds, x, y and z: [[0, 1, 2, 3], [1.5, 4, 2, 3]]",
    ),
    (
        "[2, 10, 3, 1]",
        "[0, 10, 3, 1]",
        "the target \"path\": its destinations are at least two, each later than the one before",
    ),
    ("\"player\"", "\"moon\"", "`space` is world or player, not \"moon\""),
    ("hits = 2", "away = [\"1 s\", \"3 s\"]", "`away` is one time: \"1 s\""),
    ("hits = 2", "gravity = \"9 m/s2\"", "`gravity` means nothing here: it is of jumps = true"),
    ("hits = 2", "locked = [\"x\"]", "`locked` means nothing here: it is of space = \"world\""),
    (
        "hits = 2",
        "space = \"world\"\nupper_hemisphere_only = true",
        "`upper_hemisphere_only` means nothing here: it is of space = \"player\"",
    ),
    ("respawns = 1", "respawns = 65534", "`respawns` is how often it comes back, or \"forever\""),
    (
        "\"8 deg/s\"",
        "\"800 deg/s\"",
        "the target \"near\": its speed is 0 to 800: from 0 to 148 it may be",
    ),
];
/// The same, told when it is planned.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    (
        "mode = \"targets\"",
        "mode = \"ffa\"",
        "`targets` are shot at in matches with mode = \"targets\"",
    ),
    (
        "foreperiod_most = \"900 ms\"",
        "foreperiod_most = \"90 ms\"",
        "`foreperiod_most` is no less than `foreperiod`, which is the least",
    ),
    (
        "players = 1",
        "players = 2\nmodel = \"rollback\"",
        "`targets` are logged by a server: choose a `model` that has one",
    ),
    (
        "targets = [[\"near\", \"near\"], \"path\"]",
        "ping = [\"1 ms\"]",
        "`foreperiod` is of the wait before `targets` appear, and none are named",
    ),
    (
        "foreperiod_most = \"900 ms\"",
        "foreperiod_mean = \"500 ms\"",
        "`foreperiod_mean` is of a wait by chance, up to `foreperiod_most`",
    ),
    (
        "warm_up = \"2 s\"",
        "foreperiod_mean = \"300 ms\"",
        "`foreperiod_mean` is more than `foreperiod`, which is the least",
    ),
];

#[test]
fn what_is_wrong_with_targets_is_said_with_its_place() {
    for (from, to, said) in ODD {
        assert!(AIM.contains(from), "{from}");
        let wrong = Experiment::read(&AIM.replacen(from, to, 1), ".".as_ref(), false);
        let wrong = wrong.expect_err(to).to_string();
        assert!(wrong.starts_with("line ") && wrong.ends_with(said), "{to}: {wrong}");
    }
    for (from, to, said) in IMPOSSIBLE {
        let experiment = Experiment::read(&AIM.replacen(from, to, 1), ".".as_ref(), false).unwrap();
        let wrong = Plan::new(&experiment).expect_err(to).to_string();
        assert!(wrong.ends_with(said), "{to}: {wrong}");
    }
}
