//! Servers and players as programs, over real sockets: what they tell, and how they refuse.
#![cfg(unix)]

mod codec;
mod islands;
mod meeting;
mod program;
mod recorded;
mod refusals;

use program::{answer, sametick, scratch};

#[test]
fn every_command_has_examples() {
    for command in [&[][..], &["play"], &["serve"], &["bots"], &["replay"]] {
        let output = sametick(&[command, &["--help"]].concat());
        assert!(output.status.success(), "{command:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        let examples = text.split("Examples:\n").nth(1).expect("there are examples");
        let is_one = |line: &str| line.trim_start().starts_with("sametick");
        assert!(examples.lines().filter(|line| is_one(line)).count() >= 3, "{text}");
    }
}

#[test]
fn a_match_alone_needs_no_network_and_is_the_same_each_time() {
    let arguments = ["play", "--alone", "--map", "halls", "--seconds", "60", "--json"];
    let report = answer(&arguments);
    assert_eq!(report["ticks"], 3600);
    let scores = report["match"]["scores"].as_array().expect("a table");
    assert_eq!(scores.len(), 7);
    assert!(scores.iter().any(|line| line["deaths"].as_u64() > Some(0)), "{report}");
    assert_eq!(answer(&arguments)["match"], report["match"]);
}

#[test]
fn every_tick_rate_is_played() {
    for rate in ["20", "128", "400", "1000"] {
        let arguments = ["play", "--alone", "--map", "corners", "--seconds", "5", "--json"];
        let report = answer(&[&arguments[..], &["--tick-rate", rate]].concat());
        assert_eq!(report["ticks"].as_u64(), Some(5 * rate.parse::<u64>().expect("a number")));
    }
}

#[test]
fn play_ends_when_its_time_is_over() {
    let arguments = ["play", "--address", "127.0.0.1:0", "--map", "corners", "--seconds", "2"];
    let output = sametick(&[&arguments[..], &["--bots", "3"]].concat());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("listening on 127.0.0.1:"), "{text}");
    assert!(lines[0].contains("join with `sametick bots --connect 127.0.0.1:"), "{text}");
    assert!(lines[1].contains("play at http://127.0.0.1:"), "{text}");
    assert!(lines[2].contains("warning: open mode"), "{text}");
    assert!(text.contains(" stopped after 2 s and "), "{text}");
    assert!(!text.contains('\x1b'), "nothing for terminals goes into a file");
}

#[test]
fn the_printed_config_is_one_to_start_with() {
    let printed = sametick(&["serve", "--print-config"]);
    let path = scratch("printed.toml", &printed.stdout);
    let changed = ["--address", "127.0.0.1:0", "--map", "corners", "--minutes", "0"];
    let output = sametick(&[&["serve", "--config", &path], &changed[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("Corners (ffa), 60 ticks and 20 snapshots"), "{text}");
}

#[test]
fn the_command_line_goes_before_the_config() {
    let text = b"address = \"127.0.0.1:0\"\nmap = \"corners\"\ntick-rate = 40\nminutes = 0\nmode = \"tdm\"\n";
    let path = scratch("server.toml", text);
    let output = sametick(&["serve", "--tick-rate", "100", "--config", &path]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("Corners (tdm), 100 ticks and 20 snapshots"), "{text}");
}

#[test]
fn the_documented_options_are_those_of_the_program() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md");
    let document = std::fs::read_to_string(document).expect("the document is there");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `--"));
    let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let printed = String::from_utf8(sametick(&["serve", "--print-config"]).stdout).expect("text");
    let keys = printed.lines().filter_map(|line| line.split_once(" = "));
    let keys: Vec<&str> = keys.map(|(key, _)| key.trim_start_matches("# ")).collect();
    assert_eq!(documented, keys);
}
