//! Runs repeat bit for bit on one core and many, in one piece, in parts or after a kill; and the log says what scripts
//! of FPSci ask it.

use crate::common::{Folder, SMALL, read, run_into};
use sametick_lab::{Analysis, Log, Metric, report};
use std::path::Path;
use std::process::Command;

fn hash_of(path: &Path) -> String {
    Log::read(path).expect("it opens").hash().expect("it is read")
}

#[test]
fn a_run_repeats_on_one_core_and_two_and_in_parts_that_are_merged() {
    let folder = Folder::new("repeats");
    let (one, two) = (folder.file("one.db"), folder.file("two.db"));
    let (_, ran) = run_into(&one, SMALL, 1, (0, 1)).expect("it runs");
    assert_eq!((ran.trials, ran.kept), (6, 0));
    run_into(&two, SMALL, 2, (0, 1)).expect("it runs");
    assert_eq!(hash_of(&one), hash_of(&two));

    let parts = [folder.file("a.db"), folder.file("b.db"), folder.file("c.db")];
    for (part, path) in (0..).zip(&parts) {
        run_into(path, SMALL, 2, (part, 3)).expect("it runs");
        assert_ne!(hash_of(path), hash_of(&one));
    }
    let log = Log::read(&parts[0]).expect("it opens");
    assert_eq!(log.merge(&parts[1]).expect("they fit"), 2);
    assert_eq!(log.merge(&parts[2]).expect("they fit"), 2);
    assert_eq!(log.merge(&parts[2]).expect("they fit"), 0, "twice does no harm");
    assert_eq!(log.hash().expect("it is read"), hash_of(&one));

    let other = folder.file("other.db");
    run_into(&other, &SMALL.replace("loss = \"2 %\"", "loss = \"3 %\""), 2, (0, 1))
        .expect("it runs");
    assert_ne!(hash_of(&other), hash_of(&one));
    let refused = log.merge(&other).expect_err("another experiment").to_string();
    assert!(refused.contains("another experiment"), "{refused}");
}

/// The other half of the test below: runs until it is killed.
#[test]
fn child_of_the_killed_run() {
    if let Ok(path) = std::env::var("SAMETICK_LAB_CHILD") {
        run_into(Path::new(&path), SMALL, 1, (0, 1)).expect("it runs");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_whole_trials_and_goes_on_to_the_same_log() {
    let folder = Folder::new("killed");
    let (whole, killed) = (folder.file("whole.db"), folder.file("killed.db"));
    run_into(&whole, SMALL, 2, (0, 1)).expect("it runs");
    let mut found = Vec::new();
    for millis in [30, 90, 200, 400, 700] {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["runs::child_of_the_killed_run", "--exact"])
            .env("SAMETICK_LAB_CHILD", &killed)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(millis));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        // Before the file is made there is nothing to open.
        let Ok(log) = Log::read(&killed) else { continue };
        let trials = log.done().expect("it is read");
        let is_whole = "SELECT COUNT(*) FROM trial t WHERE (SELECT COUNT(*) FROM player p WHERE p.trial = \
            t.trial) = 2 \
                        AND (SELECT MAX(second) FROM second s WHERE s.trial = t.trial) = 2";
        let counted: usize =
            log.connection.query_row(is_whole, [], |row| row.get::<_, i64>(0)).expect("it is read")
                as usize;
        assert_eq!(counted, trials.len(), "every trial in the file is whole");
        let rest = "SELECT COUNT(*) FROM second WHERE trial NOT IN (SELECT trial FROM trial)";
        let rest: i64 = log.connection.query_row(rest, [], |row| row.get(0)).expect("it is read");
        assert_eq!(rest, 0, "and nothing of the others");
        found.push(trials.len());
    }
    let (log, ran) = run_into(&killed, SMALL, 2, (0, 1)).expect("it goes on");
    assert_eq!(ran.kept, found.last().copied().unwrap_or(0), "{found:?}");
    assert_eq!(log.hash().expect("it is read"), hash_of(&whole));
}

#[test]
fn every_row_carries_its_trial_and_scripts_of_fpsci_find_what_they_ask_for() {
    let folder = Folder::new("views");
    let text = r#"
        question = "Who hits?"
        [settings]
        play = "scene"
        scene = "dash_across"
        duration = "4 s"
        warm_up = "6 s"
        ping = "40 ms"
        log_states = true
    "#;
    let (log, _) = run_into(&folder.file("views.db"), text, 1, (0, 1)).expect("it runs");
    let number = |sql: &str| -> f64 {
        log.connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    };
    let rate = "SELECT 1.0 * SUM(event IN ('hit', 'destroy')) / SUM(event IN ('hit', 'destroy', 'miss')) FROM \
        Player_Action";
    assert!(number(rate) > 0.9, "who aims at what it sees hits: {}", number(rate));
    let seconds = "SELECT (julianday(end_time) - julianday(start_time)) * 86400 FROM Trials";
    assert!((number(seconds) - 4.0).abs() < 0.01);
    // The windows of time that its importers join by hold what the trial's key does.
    let by_time = "SELECT COUNT(*) FROM Player_Action a JOIN Trials t ON a.time >= t.start_time AND a.time <= \
        t.end_time";
    let by_key = "SELECT COUNT(*) FROM Player_Action a JOIN Trials t ON a.trial = t.trial";
    assert!((number(by_time) - number(by_key)).abs() < 1.5 && number(by_key) > 400.0);
    for view in [
        "Experiments",
        "Sessions",
        "Target_Trajectory",
        "Frame_Info",
        "Users",
        "PlayerConfigs",
        "Raw_Remote_Fire_Inputs",
    ] {
        assert!(number(&format!("SELECT COUNT(*) FROM {view}")) > 0.0, "{view}");
    }
    assert_eq!(number("SELECT COUNT(*) FROM Questions"), 0.0);
    let warped = "SELECT AVG(Is_a_hit_with_TimeWarp) - AVG(Is_a_hit_without_TimeWarp) FROM Raw_Remote_Fire_Inputs";
    assert!(number(warped) > 0.3, "the present would have been missed: {}", number(warped));
}

#[test]
fn an_expectation_fails_where_the_log_says_otherwise() {
    let folder = Folder::new("expects");
    let text = r#"
        question = "?"
        [settings]
        play = "fpsci"
        duration = "2 s"
        warm_up = "1 s"
        [factors]
        ping = ["40 ms", "80 ms"]
        [[expect]]
        name = "right"
        metric = "line_delay"
        equals = "ping / 2"
        within = 0.1
        [[expect]]
        name = "too short"
        metric = "line_delay"
        at_most = "ping / 2 - 1"
        [[expect]]
        name = "too long"
        metric = "line_delay"
        at_least = "ping / 2 + 1"
        [[expect]]
        name = "steeper"
        metric = "line_delay"
        slope_over = "ping"
        equals = 0.6
        within = "10 %"
        [[expect]]
        name = "twice"
        metric = "line_delay"
        where = { ping = "80 ms" }
        against = { ping = "40 ms" }
        equals = 2
        within = "1 %"
        [[expect]]
        name = "silent"
        metric = "accuracy"
        at_least = 0
    "#;
    let (log, _) = run_into(&folder.file("expects.db"), text, 1, (0, 1)).expect("it runs");
    let (experiment, _) = read(text);
    let outcomes = sametick_lab::outcomes(&experiment, &log).expect("they are compared");
    let held: Vec<bool> = outcomes.iter().map(|outcome| outcome.holds).collect();
    let expected = [true, true, false, false, false, false, false, true, false, false];
    assert_eq!(held, expected, "{outcomes:#?}");
}

#[test]
fn a_table_of_which_no_cell_was_played_does_not_hold_and_every_seed_is_a_unit() {
    let folder = Folder::new("cells");
    let text = r#"
        question = "?"
        repetitions = 2
        [settings]
        play = "fpsci"
        duration = "1 s"
        [factors]
        ping = ["40 ms", "80 ms"]
        loss = ["0 %"]
        [[trial]]
        count = 3
        [quick.factors]
        ping = ["40 ms"]
        [[expect]]
        metric = "line_delay"
        rows = "ping"
        row_levels = [80]
        columns = "loss"
        column_levels = [0]
        table = [[40]]
        within = "10 %"
    "#;
    let (log, _) = run_into(&folder.file("cells.db"), text, 1, (0, 1)).expect("it runs");
    assert_eq!(Analysis::new(&log).expect("it is read").units, 6);
    let (experiment, _) = read(text);
    let judged = sametick_lab::outcomes(&experiment, &log).expect("they are compared");
    assert!(judged.len() == 1 && judged[0].holds, "{judged:#?}");
    log.connection
        .execute("UPDATE condition SET levels = '{}', settings = '{}'", [])
        .expect("ours");
    let judged = sametick_lab::outcomes(&experiment, &log).expect("they are compared");
    assert!(judged.len() == 1 && !judged[0].holds, "{judged:#?}");
}

#[test]
fn no_interval_shrinks_when_every_shot_is_stored_twice() {
    let folder = Folder::new("twice");
    let text = "question = \"?\"\nrepetitions = 4\n[settings]\nplay = \"scene\"\nduration = \"2 s\"\nwarm_up \
        = \"6 s\"\nmodel = \"quake3\"\njitter = \"30 ms\"";
    let (log, _) = run_into(&folder.file("twice.db"), text, 2, (0, 1)).expect("it runs");
    let accuracy: &Metric = sametick_lab::METRICS.iter().find(|m| m.name == "accuracy").unwrap();
    let estimate = |log: &Log| {
        let analysis = Analysis::new(log).expect("it is read");
        analysis.estimates(log, accuracy).expect("it is read")[0].expect("they shot")
    };
    let before = estimate(&log);
    assert!(before.interval.is_some_and(|(low, high)| low < high), "{before:?}");
    let columns = "trial, tick, ordinal + 1000, time_ms, player, pellets, pellets_hit, aimed, seen, present, \
        hit, rewound_ms, \
                   shown_x, shown_y, shown_z, own_x, own_y, own_z, served_x, served_y, served_z, \
                   is_behind_cover, lead_m, lead_rewound_m, target, aimed_target, aim_error";
    log.connection
        .execute(&format!("INSERT INTO shot SELECT {columns} FROM shot"), [])
        .expect("twice");
    assert_eq!(estimate(&log), before);
}

#[test]
fn asked_is_compared_with_what_was_measured_and_a_report_opens_without_script_or_network() {
    let folder = Folder::new("report");
    let (log, _) = run_into(&folder.file("report.db"), SMALL, 2, (0, 1)).expect("it runs");
    let page = report(&log, "sametick lab run small.toml").expect("a page");
    for wanted in [
        "Does it &lt;b&gt;repeat&lt;/b&gt;?",
        "Did we get what we asked?",
        "Codebook",
        "sametick lab run small.toml",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("<b>repeat"));
    // Somebody else's 20 ms are seen.
    assert!(page.contains("Yes: every line") || page.contains("lines were not within"));
    log.connection
        .execute("UPDATE line SET delay_ms = delay_ms + 20 WHERE player = 1", [])
        .expect("ours");
    let page = report(&log, "").expect("a page");
    assert!(page.contains("lines were not within"), "20 ms more are seen");
    let (experiment, plan) = read(SMALL);
    assert_eq!((experiment.participants, plan.conditions.len()), (1, 3));
}
