//! Servers and headless players meet over UDP, and part.

use crate::program::{Running, answer, refusal, scratch};
use sametick_arena::map::CORNERS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

fn bots(address: &str, arguments: &[&str]) -> Value {
    answer(&[&["bots", "--connect", address, "--json"], arguments].concat())
}

#[test]
fn a_crowd_joins_is_told_of_the_match_and_leaves() {
    // So many that their snapshots take turns.
    let (_server, address) = Running::serve(&["--players-max", "70"]);
    let report = bots(&address, &["--count", "70", "--crowd", "--seconds", "2"]);
    assert_eq!((&report["asked"], &report["joined"]), (&70.into(), &70.into()), "{report}");
    assert_eq!(report["reasons"], serde_json::json!({}), "{report}");
    assert_eq!(report["malformed"], 0);
    assert!(report["snapshots"].as_u64() > Some(70), "{report}");
}

#[test]
fn players_join_play_and_are_told_when_the_server_stops() {
    let (mut server, address) = Running::serve(&["--bots", "3"]);
    let report = bots(&address, &["--count", "6", "--seconds", "3"]);
    assert_eq!((&report["asked"], &report["joined"]), (&6.into(), &6.into()), "{report}");
    assert_eq!(report["reasons"], serde_json::json!({}), "{report}");
    assert_eq!(report["malformed"], 0);
    assert!(report["snapshots"].as_u64() > Some(6), "{report}");
    assert!(report["round_trip_ms"]["median"].as_f64() > Some(0.0), "{report}");

    let staying = Running::start(&[
        "bots",
        "--connect",
        &address,
        "--count",
        "2",
        "--seconds",
        "0",
        "--json",
    ]);
    for _ in 0..6 + 2 {
        server.next("joined");
    }
    server.ask_to_stop();
    let stopped = server.next("stopped");
    assert!(stopped["ticks"].as_u64() > Some(60), "{stopped}");
    assert_eq!((&stopped["bots"], &stopped["players"]), (&3.into(), &2.into()), "{stopped}");
    let names = stopped["match"].to_string();
    assert!(names.contains("\"Ada\""), "bots have names: {names}");
    assert!(server.end().0.success());
    let (status, text) = staying.end();
    assert!(status.success());
    let report: Value = serde_json::from_str(&text).expect("an object");
    assert_eq!(report["reasons"]["server stopped"], 2, "{report}");
}

#[test]
fn a_bad_line_is_felt() {
    let (_server, address) = Running::serve(&[]);
    let line = ["--delay", "20", "--jitter", "5", "--loss", "0.05"];
    let report = bots(&address, &[&["--count", "2", "--seconds", "2"], &line[..]].concat());
    assert_eq!(report["joined"], 2, "{report}");
    assert!(report["round_trip_ms"]["median"].as_f64() > Some(40.0), "{report}");
}

#[test]
fn a_second_match_on_one_machine_finds_doors_of_its_own() {
    let play = || Running::start(&["play", "--map", "corners", "--bots", "1", "--json"]);
    let mut both = [play(), play()];
    let [one, other] = both.each_mut().map(|running| running.next("listening"));
    assert_ne!(one["address"], other["address"]);
    assert_ne!(one["pages"], other["pages"]);
}

#[test]
#[cfg(target_os = "linux")]
fn the_page_is_opened_in_the_browser_of_the_machine() {
    let folder = scratch("opened", b"");
    let tools = format!("{folder}-tools");
    std::fs::create_dir_all(&tools).unwrap();
    let browser = format!("{tools}/xdg-open");
    std::fs::write(&browser, format!("#!/bin/sh\nprintf %s \"$1\" > {folder}\n")).unwrap();
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let arguments = ["play", "--map", "corners", "--bots", "1", "--open", "--json"];
    let mut running =
        Running::start_with(&arguments, &[("PATH", &format!("{tools}:/bin:/usr/bin"))]);
    let page = running.next("listening")["pages"][0].as_str().expect("it has a page").to_owned();
    while std::fs::read_to_string(&folder).unwrap() != page {
        std::thread::yield_now();
    }
}

#[test]
fn a_full_server_says_so() {
    let (_server, address) = Running::serve(&["--players-max", "2"]);
    let report = bots(&address, &["--count", "3", "--seconds", "2"]);
    assert_eq!(report["joined"], 2, "{report}");
    assert_eq!(report["reasons"]["denied, server full"], 1, "{report}");
}

#[test]
fn only_holders_of_tokens_join_a_server_with_a_key() {
    let key = scratch("server.key", "0123456789abcdef".repeat(4).as_bytes());
    let other = scratch("other.key", "fedcba9876543210".repeat(4).as_bytes());
    let (mut server, address) = Running::serve(&["--token-key", &key, "--bots", "1"]);
    let report = bots(&address, &["--seconds", "2", "--token-key", &key]);
    assert_eq!(report["joined"], 1, "{report}");
    let sentence = refusal(&["bots", "--connect", &address, "--token-key", &other]);
    assert!(sentence.contains("nobody could join"), "{sentence}");
    assert!(sentence.contains("--token-key"), "{sentence}");
    server.ask_to_stop();
    let stopped = server.next("stopped");
    assert_eq!(stopped["bots"], 1, "the server's own have tokens: {stopped}");
}

#[test]
fn a_map_of_ones_own_is_played_by_those_who_have_it() {
    let map = scratch("own.map", CORNERS.replace("Corners", "Own Corners").as_bytes());
    let (_server, address) = Running::serve(&["--map", &map]);
    let sentence = refusal(&["bots", "--connect", &address]);
    assert!(sentence.contains("give its file with --map"), "{sentence}");
    assert_eq!(bots(&address, &["--seconds", "1", "--map", &map])["joined"], 1);
}

#[test]
fn a_duel_and_teams_are_found_without_being_told() {
    for mode in ["duel", "tdm"] {
        let (_server, address) = Running::serve(&["--mode", mode, "--model", "quake3"]);
        let report = bots(&address, &["--count", "2", "--seconds", "1", "--model", "doom3"]);
        assert_eq!(report["joined"], 2, "{mode}: {report}");
    }
}

#[test]
fn figures_are_there_for_prometheus() {
    let common = ["serve", "--address", "127.0.0.1:0", "--map", "corners", "--json"];
    let mut server =
        Running::start(&[&common[..], &["--metrics", "127.0.0.1:0", "--bots", "2"]].concat());
    let listening = server.next("listening");
    let address = listening["address"].as_str().expect("text");
    let metrics = listening["metrics"].as_str().expect("text");
    assert_eq!(bots(address, &["--count", "1", "--seconds", "2"])["joined"], 1);
    let (head, page) = get(metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let figures = parse(&page);
    assert_eq!(figures["sametick_bots"], 2.0);
    assert!(figures["sametick_ticks_total"] > 60.0);
    assert_eq!(figures["sametick_tick_seconds_count"], figures["sametick_ticks_total"]);
    assert_eq!(
        figures["sametick_tick_seconds_bucket{le=\"+Inf\"}"],
        figures["sametick_tick_seconds_count"]
    );
    assert!(figures["sametick_received_bytes_total"] > 0.0);
    assert!(figures["sametick_sent_bytes_total"] > 0.0);
    assert_eq!(figures["sametick_malformed_messages_total"], 0.0);
    assert_eq!(figures["sametick_dropped_datagrams_total{reason=\"forged\"}"], 0.0);
    assert_eq!(figures["sametick_connections_accepted_total"], 3.0);
    assert!(figures.contains_key("sametick_late_commands_total"));
    assert!(get(metrics, "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404"));
    assert!(get(metrics, "POST /metrics HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405"));
    // Whoever says nothing, or too much, is hung up on, and the next is served.
    drop(TcpStream::connect(metrics).expect("it listens"));
    assert_eq!(get(metrics, &"x".repeat(20_000)).0, "");
    assert!(get(metrics, "GET /metrics HTTP/1.0\r\n\r\n").0.starts_with("HTTP/1.1 200"));
}

/// Head and body of an answer.
fn get(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let mut answer = String::new();
    // Whoever is hung up on cannot write or read to the end.
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_string(&mut answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (head.to_owned(), body.to_owned())
}

/// Every sample of a page in Prometheus' text format; each has a type before it.
fn parse(page: &str) -> BTreeMap<String, f64> {
    let mut typed = Vec::new();
    let mut samples = BTreeMap::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            typed.push(rest.split(' ').next().expect("a name").to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            assert!(typed.last().is_some_and(|typed| name.starts_with(typed.as_str())), "{line}");
            let before = samples.insert(name.to_owned(), value.parse().expect("a number"));
            assert!(before.is_none(), "{name} stands there twice");
        }
    }
    samples
}
