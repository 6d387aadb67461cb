//! Matches over real sockets are recorded, and play again as they were, however their server ended.

use crate::program::{Running, answer, sametick};
use serde_json::Value;
use std::path::PathBuf;

fn path(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("its path is text").to_owned()
}

/// Plays a recording again, and says what was found.
fn replay(path: &str) -> Value {
    answer(&["replay", path, "--json"])
}

#[test]
fn a_match_with_lossy_players_plays_again_as_it_was() {
    let path = path("stopped.sametick");
    let (mut server, address) = Running::serve(&["--bots", "2", "--record", &path]);
    let line =
        ["--count", "4", "--seconds", "4", "--delay", "40", "--jitter", "10", "--loss", "0.05"];
    let report = answer(&[&["bots", "--connect", &address, "--json"], &line[..]].concat());
    assert_eq!(report["joined"], 4, "{report}");
    server.ask_to_stop();
    let ticks = server.next("stopped")["ticks"].as_u64().expect("a number");
    assert!(server.end().0.success());
    let report = replay(&path);
    assert_eq!(report["divergence"], Value::Null, "{report}");
    assert_eq!(report["is_ended"], true, "{report}");
    assert!(report["last_tick"].as_u64() >= Some(ticks), "{report}");
    assert_eq!(report["seed"], 1, "{report}");
    let configuration = report["configuration"].as_str().expect("text");
    assert!(configuration.contains("map = \"corners\""), "{configuration}");
}

#[test]
fn a_killed_server_leaves_a_recording_that_plays() {
    let path = path("killed.sametick");
    let (mut server, address) = Running::serve(&["--record", &path]);
    let crew = ["--count", "3", "--seconds", "0"];
    let crew = Running::start(&[&["bots", "--connect", &address, "--json"], &crew[..]].concat());
    (0..3).for_each(|_| _ = server.next("joined"));
    while std::fs::metadata(&path).map_or(0, |file| file.len()) < 4_000 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // Dropped without a word, as by `kill -9`.
    drop(server);
    drop(crew);
    let report = replay(&path);
    assert_eq!(report["divergence"], Value::Null, "{report}");
    assert_eq!(report["is_ended"], false, "{report}");
    assert!(report["last_tick"].as_u64() > Some(60), "{report}");
}

#[test]
fn a_recording_ends_where_it_may_not_be_longer_and_the_match_goes_on() {
    let path = path("full.sametick");
    let limits = ["--record", &path, "--record-what", "streams", "--record-max", "1"];
    let (mut server, _) = Running::serve(&[&["--bots", "30"], &limits[..]].concat());
    while !server.next("warning").to_string().contains("as long as it may be") {}
    server.next("status");
    server.ask_to_stop();
    assert!(server.end().0.success());
    let report = replay(&path);
    assert_eq!(
        (&report["divergence"], &report["is_ended"]),
        (&Value::Null, &true.into()),
        "{report}"
    );
    assert!(std::fs::metadata(&path).expect("it is there").len() < 20 << 20);
}

#[test]
fn a_recording_that_cannot_be_made_is_said_at_the_start() {
    let output = sametick(&["serve", "--address", "127.0.0.1:0", "--record", "/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("cannot make the recording /nowhere/at/all"), "{said}");
}
