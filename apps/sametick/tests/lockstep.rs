//! Lockstep as people start it: machines on real sockets, in one process and in two.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

fn sametick() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sametick"));
    command.args(["play", "--map", "corners", "--json"]);
    command
}

fn report(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("one object")
}

#[test]
fn four_machines_at_one_address_play_the_same_match_under_every_model() {
    for model in ["doom1993", "packet_server", "age_of_empires", "rollback", "frame_locked"] {
        let arguments = ["--model", model, "--players", "4", "--seconds", "2"];
        let output = sametick().args(arguments).args(["--address", "127.0.0.1:0"]).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{model}: {}", String::from_utf8_lossy(&output.stderr));
        let report = report(&output.stdout);
        assert_eq!(report["ticks_differed"], 0, "{model}: {report}");
        assert!(report["ticks_agreed"].as_u64().is_some_and(|n| n > 60), "{model}: {report}");
        let players = report["players"].as_array().expect("a row each");
        let ports: BTreeSet<_> = players.iter().map(|row| row["address"].to_string()).collect();
        assert_eq!((players.len(), ports.len()), (4, 4), "{model}: one address, different ports");
    }
}

/// Where the founder of a game is, as it says itself.
fn door(founder: &mut Child) -> String {
    let errors = BufReader::new(founder.stderr.take().expect("it is piped"));
    let waiting = errors.lines().next().expect("it says where it is").expect("it is text");
    let door = waiting.rsplit("--join ").next().map(|text| text.trim_end_matches('`'));
    door.expect("it says how to join").to_owned()
}

#[test]
fn one_who_watches_sees_the_match_and_has_no_part_in_it() {
    for model in ["doom1993", "packet_server"] {
        let mut players = sametick()
            .args(["--model", model, "--players", "3", "--seconds", "4"])
            .args(["--address", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let door = door(&mut players);
        let watcher = sametick()
            .args(["--model", model, "--seconds", "2", "--address", "127.0.0.1:0"])
            .args(["--join", &door, "--watch"])
            .output()
            .expect("the program starts");
        assert!(watcher.status.success(), "{}", String::from_utf8_lossy(&watcher.stderr));
        let players = players.wait_with_output().expect("it ends");
        let [players, watcher] = [players.stdout, watcher.stdout].map(|bytes| report(&bytes));
        assert_eq!(players["match"]["scores"].as_array().map(Vec::len), Some(3), "{players}");
        assert_eq!(watcher["players"][0]["watches"], true, "{watcher}");
        let [theirs, seen] = [&players["hashes"], &watcher["hashes"]].map(|of| of.as_object());
        let (theirs, seen) = theirs.zip(seen).expect("both tell hashes");
        let common = seen.iter().filter(|(tick, _)| theirs.contains_key(*tick));
        let common: Vec<_> = common.collect();
        assert!(common.len() > 60, "{model}: {} ticks are known to both", common.len());
        assert!(common.iter().all(|(tick, hash)| theirs[*tick] == **hash), "{model}");
    }
}

#[test]
fn a_match_in_lockstep_is_recorded_and_plays_again() {
    let file = std::env::temp_dir().join(format!("sametick-lockstep-{}", std::process::id()));
    let path = file.to_str().expect("a plain path");
    let arguments = ["--model", "rollback", "--players", "2", "--seconds", "3", "--record", path];
    let output = sametick().args(arguments).args(["--address", "127.0.0.1:0"]).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut replay = Command::new(env!("CARGO_BIN_EXE_sametick"));
    let replay = replay.args(["replay", path]).output().expect("the program starts");
    std::fs::remove_file(&file).expect("the recording is there");
    let errors = String::from_utf8_lossy(&replay.stderr);
    assert!(replay.status.success(), "{errors}");
}

#[test]
fn what_means_nothing_with_a_model_is_refused_in_a_sentence() {
    let cases = [
        (&["--model", "doom1993", "--bots", "3"][..], "--bots means nothing with --model doom1993"),
        (&["--model", "rollback", "--alone"], "--alone means nothing with --model rollback"),
        (&["--model", "doom1993", "--also", "field"], "--also means nothing"),
        (&["--model", "doom1993", "--snapshot-rate", "20"], "--snapshot-rate means nothing"),
        (&["--model", "doom1993", "--players-max", "8"], "--players-max means nothing"),
        (
            &["--model", "doom1993", "--record", "x", "--record-what", "match"],
            "--record-what means",
        ),
        (&["--model", "doom1993", "--open"], "--open needs a page"),
        (&["--model", "doom1993", "--watch"], "--join"),
        (&["--players", "4"], "--players is for lockstep, and --model half_life has a server"),
        (&["--model", "quake3", "--here", "1"], "--here is for lockstep"),
        (&["--join", "127.0.0.1:1"], "--join is for lockstep"),
    ];
    for (arguments, wanted) in cases {
        let output = sametick().args(arguments).output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(wanted), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
    }
}

#[test]
fn two_processes_play_one_match() {
    let mut first = sametick()
        .args(["--model", "doom1993", "--players", "3", "--here", "2", "--seconds", "3"])
        .args(["--address", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let door = door(&mut first);
    let second = sametick()
        .args(["--model", "doom1993", "--players", "3", "--here", "1", "--seconds", "2"])
        .args(["--address", "127.0.0.1:0", "--join", &door])
        .output()
        .expect("the program starts");
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    let first = first.wait_with_output().expect("it ends");
    let [first, second] = [first.stdout, second.stdout].map(|bytes| report(&bytes));
    assert_eq!(first["ticks_differed"], 0, "{first}");
    assert_eq!(first["players"].as_array().map(Vec::len), Some(2), "{first}");
    let tick = second["players"][0]["tick"].as_u64();
    assert!(tick.is_some_and(|tick| tick > 60), "{second}");
}
