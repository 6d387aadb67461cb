//! Lockstep as people start it: machines on real sockets, in one process and in two.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

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

#[test]
fn two_processes_play_one_match() {
    let mut first = sametick()
        .args(["--model", "doom1993", "--players", "3", "--here", "2", "--seconds", "3"])
        .args(["--address", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let errors = BufReader::new(first.stderr.take().expect("it is piped"));
    let waiting = errors.lines().next().expect("it says where it is").expect("it is text");
    let door = waiting.rsplit("--join ").next().map(|text| text.trim_end_matches('`'));
    let second = sametick()
        .args(["--model", "doom1993", "--players", "3", "--here", "1", "--seconds", "2"])
        .args(["--address", "127.0.0.1:0", "--join", door.expect("it says how to join")])
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
