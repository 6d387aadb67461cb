//! What a trial is: it is logged from the start of its round, scenes and changing lines play under every model, and
//! players are who they are everywhere.

use crate::common::{Folder, read, run_into};
use sametick::Tick;
use sametick::replay::{Header, Replay};
use sametick_arena::{Arena, Contest, Fighter, Phase};
use sametick_lab::{Log, content_named, outcomes, play_again, report};

fn number(log: &Log, sql: &str) -> f64 {
    let asked = log.connection.query_row(sql, [], |row| row.get::<_, Option<f64>>(0));
    asked.unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap_or(f64::NAN)
}

/// Nobody says how long to warm up, and the first player is far away.
const MATCH: &str = r#"
question = "?"
[settings]
map = "corners"
mode = "duel"
duration = "4 s"
player.1.ping = "300 ms"
log_states = true
log_commands = true
[factors]
model = ["half_life", "doom1993", "rollback"]
"#;

#[test]
fn a_match_is_logged_from_the_start_of_its_round_and_for_its_whole_duration() {
    let folder = Folder::new("rounds");
    let (log, _) = run_into(&folder.file("rounds.db"), MATCH, 2, (0, 1)).expect("it runs");
    for trial in 1..=3 {
        let of = |what: &str| number(&log, &format!("SELECT {what} WHERE trial = {trial}"));
        // It counts down for 5 s, once both are in.
        assert!(
            of("MIN(tick) FROM state") >= 300.0,
            "trial {trial}: {}",
            of("MIN(tick) FROM state")
        );
        assert!((of("MAX(time_ms) FROM state") - 4000.0).abs() < 60.0, "trial {trial}");
        assert!((of("ticks FROM trial") - 240.0).abs() < 4.0, "{}", of("ticks FROM trial"));
        assert_eq!(of("MAX(second) FROM second"), 3.0);
        assert!(of("COUNT(*) FROM command") > 100.0, "trial {trial}");
    }
    let again = play_again(&log, 1, ".".as_ref()).expect("it is played");
    let header = Header::read(&again.recording).expect("a recording");
    let content = content_named(header.content_name, None).expect("a map of the game");
    let mut replay = Replay::<Arena>::open(again.recording, content).expect("it opens");
    let first = number(&log, "SELECT MIN(tick) FROM state WHERE trial = 1") as u32;
    replay.seek(Tick(first)).expect("it is in there");
    let phase = |replay: &Replay<Arena>| {
        replay.world().all::<Contest>().next().map(|(_, contest)| contest.phase)
    };
    assert_eq!(phase(&replay), Some(Phase::Playing));
    replay.seek(Tick(first - 4)).expect("it is in there");
    assert_eq!(phase(&replay), Some(Phase::Countdown), "and not much later");
    assert_eq!(*replay.ticks().end(), Tick(again.last_tick));
}

#[test]
fn a_recording_says_which_player_of_the_log_sits_where() {
    let folder = Folder::new("seats");
    let (log, _) = run_into(&folder.file("seats.db"), MATCH, 2, (0, 1)).expect("it runs");
    let again = play_again(&log, 1, ".".as_ref()).expect("it is played");
    let header = Header::read(&again.recording).expect("a recording");
    let said: serde_json::Value = serde_json::from_str(&header.configuration).expect("JSON");
    // The second was there first: its line is shorter.
    assert_eq!(said["seats"], serde_json::json!({ "0": 2, "1": 1 }));
    let content = content_named(header.content_name, None).expect("a map of the game");
    let mut replay = Replay::<Arena>::open(again.recording, content).expect("it opens");
    let tick = number(&log, "SELECT MAX(tick) FROM state WHERE trial = 1") as u32;
    replay.seek(Tick(tick)).expect("it is in there");
    for (_, fighter) in replay.world().all::<Fighter>() {
        let player = &said["seats"][fighter.player.to_string()];
        let sql =
            format!("SELECT x FROM state WHERE trial = 1 AND tick = {tick} AND player = {player}");
        assert_eq!(number(&log, &sql), f64::from(fighter.position[0]), "player {player}");
    }
}

#[test]
fn scenes_play_under_lockstep_models_too() {
    let folder = Folder::new("locked");
    let text = r#"
        question = "?"
        [settings]
        play = "scene"
        scene = "corner"
        duration = "8 s"
        ping = "100 ms"
        [factors]
        model = ["doom1993", "packet_server", "age_of_empires", "rollback"]
    "#;
    let (log, _) = run_into(&folder.file("locked.db"), text, 2, (0, 1)).expect("it runs");
    for trial in 1..=4 {
        let of = |what: &str| number(&log, &format!("SELECT {what} WHERE trial = {trial}"));
        assert!(
            of("SUM(player = 1) FROM shot") > 20.0,
            "the first fires: {}",
            of("COUNT(*) FROM shot")
        );
        assert_eq!(of("SUM(player = 2) FROM shot"), 0.0, "the second runs");
        for player in [1, 2] {
            assert!(of(&format!("SUM(player = {player}) FROM sighting")) >= 1.0, "trial {trial}");
        }
    }
    // All machines of a lockstep show the same world: nobody sees earlier, but for a frame.
    let metric = sametick_lab::METRICS.iter().find(|one| one.name == "peekers_advantage").unwrap();
    let advantage = metric.of_trials(&log.connection).expect("it is asked for");
    assert!(advantage[&1].abs() < 2.0 * 1000.0 / 60.0, "{advantage:?}");
}

#[test]
fn lines_change_during_trials_of_every_model_and_what_was_asked_is_their_mean() {
    let folder = Folder::new("changes");
    let text = r#"
        question = "?"
        [settings]
        map = "corners"
        duration = "8 s"
        ping = "20 ms"
        [[settings.change]]
        at = "4 s"
        ping = "220 ms"
        [factors]
        model = ["half_life", "doom1993"]
    "#;
    let (log, _) = run_into(&folder.file("changes.db"), text, 2, (0, 1)).expect("it runs");
    for (trial, times) in [(1, 1.0), (2, 2.0)] {
        let of = |what: &str| number(&log, &format!("SELECT {what} WHERE trial = {trial}"));
        assert!((of("AVG(asked_delay_ms) FROM line") - 60.0).abs() < 2.0, "half of the time each");
        // In lockstep a word goes up one line and down another.
        let achieved = of("AVG(delay_ms) FROM line");
        assert!((achieved / times - 60.0).abs() < 20.0, "trial {trial}: {achieved}");
    }
    let delay = |part: &str| {
        let sql = "SELECT SUM(own_delay_ms) / SUM(own_delays) FROM second WHERE trial = 2 AND player > 0 AND second";
        number(&log, &format!("{sql} {part}"))
    };
    assert!(delay("> 5") > delay("< 4") + 60.0, "{} and {}", delay("< 4"), delay("> 5"));
    let page = report(&log, "").expect("a page");
    assert!(page.contains("asked and achieved"), "the lines");
}

#[test]
fn what_a_player_waits_for_its_own_machine_counts_under_every_model() {
    let folder = Folder::new("own");
    let text = r#"
        question = "?"
        [settings]
        map = "corners"
        duration = "6 s"
        ping = "20 ms"
        player.1.input_delay = "100 ms"
        player.2.frame_delay = 3
        [factors]
        model = ["half_life", "rollback"]
    "#;
    let (log, _) = run_into(&folder.file("own.db"), text, 2, (0, 1)).expect("it runs");
    for trial in [1, 2] {
        let of = |player: u32| {
            let sql = "SELECT SUM(own_delay_ms) / SUM(own_delays) FROM second WHERE trial";
            number(&log, &format!("{sql} = {trial} AND player = {player}"))
        };
        assert!((100.0..175.0).contains(&of(1)), "input waits: {}", of(1));
        assert!((50.0..125.0).contains(&of(2)), "pictures come late: {}", of(2));
    }
}

#[test]
fn what_sessions_say_is_never_averaged_with_what_others_say() {
    let folder = Folder::new("sessions");
    let text = r#"
        question = "?"
        [settings]
        play = "fpsci"
        duration = "2 s"
        [factors]
        ping = ["0 ms", "40 ms"]
        [figure]
        metric = "client_packets"
        over = "ping"
        [[session]]
        name = "slow"
        settings.tick_rate = "30 Hz"
        [[session]]
        name = "fast"
        settings.tick_rate = "120 Hz"
        [[expect]]
        name = "as many packets as frames"
        metric = "client_packets"
        equals = "tick_rate"
        within = "2 %"
        [[expect]]
        name = "in the fast one"
        metric = "client_packets"
        where = { session = "fast" }
        equals = 120
        within = "2 %"
    "#;
    let (log, _) = run_into(&folder.file("sessions.db"), text, 2, (0, 1)).expect("it runs");
    let (experiment, _) = read(text);
    let outcomes = outcomes(&experiment, &log).expect("compared");
    assert_eq!(outcomes.len(), 6, "{outcomes:#?}");
    assert!(outcomes.iter().all(|outcome| outcome.holds), "{outcomes:#?}");
    let page = report(&log, "").expect("a page");
    assert!(page.contains("ping 0 ms, slow") && page.contains("ping 0 ms, fast"), "both");
    assert_eq!(page.matches("<figcaption>Session ").count(), 2, "a figure for each");
}
