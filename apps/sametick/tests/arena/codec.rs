//! Compact snapshots between programs, over UDP: the same tables on both ends, others, or none.

use crate::program::{Running, answer, refusal, sametick, scratch};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

fn bots(address: &str, arguments: &[&str]) -> Value {
    answer(&[&["bots", "--connect", address, "--json"], arguments].concat())
}

/// A match of a few seconds.
fn recorded(name: &str, seed: &str) -> String {
    let recording = scratch(&format!("{name}.sametick"), b"");
    let play = ["play", "--address", "127.0.0.1:0", "--map", "corners", "--page", "off"];
    let rest = ["--bots", "3", "--seconds", "4", "--seed", seed, "--record", &recording];
    assert!(std::fs::remove_file(&recording).is_ok());
    assert!(sametick(&[&play[..], &rest].concat()).status.success());
    recording
}

/// Tables from one.
fn trained(name: &str, seed: &str) -> String {
    let tables = scratch(name, b"");
    let output = sametick(&["codec", "train", &recorded(name, seed), "-o", &tables]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tables
}

#[test]
fn snapshots_are_compact_where_both_have_what_is_built_in() {
    let (_server, address) = Running::serve(&["--codec", "compact", "--bots", "2"]);
    let line = ["--delay", "20", "--jitter", "10", "--loss", "0.05"];
    let some = ["--count", "4", "--seconds", "3", "--codec", "compact"];
    let report = bots(&address, &[&some[..], &line].concat());
    assert_eq!((&report["joined"], &report["malformed"]), (&4.into(), &0.into()), "{report}");
    let codecs = report["codecs"].as_object().expect("a table");
    let [(codec, count)] = codecs.iter().collect::<Vec<_>>()[..] else { panic!("{report}") };
    assert!(codec.starts_with("compact, tables ") && count == 4, "{report}");
    assert!(report["snapshots"].as_u64() > Some(100), "{report}");
    // Who wants plain ones gets them, beside the others.
    let report = bots(&address, &["--seconds", "1", "--codec", "plain"]);
    assert!(
        report["codecs"].to_string().contains("plain, as was asked for: the server has tables"),
        "{report}"
    );
}

#[test]
fn tables_for_little_time_say_so_and_impossible_prices_are_refused() {
    let (recording, tables) = (recorded("priced", "5"), scratch("priced.tables", b""));
    let train = ["codec", "train", &recording, "-o", &tables, "--price"];
    for price in ["0", "17", "NaN"] {
        let output = sametick(&[&train[..], &[price]].concat());
        let sentence = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{price}");
        assert_eq!(sentence, "error: --price is from 0.25 to 16\n", "{price}");
    }
    let output = sametick(&[&train[..], &["4"]].concat());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.ends_with("priced.sametick, price 4\n"), "{said}");
}

#[test]
fn trained_tables_are_needed_on_both_ends_and_what_is_missing_is_said() {
    let [ours, other] = [trained("ours.tables", "1"), trained("other.tables", "2")];
    let serve = ["--codec", "compact", "--tables", &ours, "--bots", "2"];
    let (_server, address) = Running::serve(&serve);
    let mine = ["--seconds", "2", "--codec", "compact", "--tables"];
    let report = bots(&address, &[&mine[..], &[&ours]].concat());
    assert!(report["codecs"].to_string().contains("compact, tables"), "{report}");
    assert_eq!(report["malformed"], 0, "{report}");

    let without = bots(&address, &["--seconds", "2"]);
    let codecs = without["codecs"].to_string();
    assert!(codecs.contains("and there are none here"), "{without}");
    assert!(without["snapshots"].as_u64() > Some(10), "they play all the same: {without}");

    let connect = ["bots", "--connect", &address, "--seconds", "1", "--codec", "compact"];
    for (arguments, word) in [(&[][..], "none here"), (&["--tables", &other], "those here are")] {
        let sentence = refusal(&[&connect[..], arguments].concat());
        assert!(sentence.contains(word) && sentence.contains("--tables"), "{sentence}");
    }
    let damaged = scratch("damaged.tables", b"tables, or not");
    let sentence = refusal(&["serve", "--codec", "compact", "--tables", &damaged]);
    assert!(sentence.contains("damaged.tables"), "{sentence}");
}

#[test]
fn a_server_that_chooses_by_its_load_says_which_codec_it_uses() {
    let (mut server, address) = Running::serve(&["--codec", "auto", "--bots", "2"]);
    let report = bots(&address, &["--seconds", "2", "--codec", "compact"]);
    assert!(report["codecs"].to_string().contains("compact, tables"), "{report}");
    assert_eq!(report["malformed"], 0, "{report}");
    // Compact, unless it told that it has no time for that.
    let mut codec = Value::from("compact");
    let status = loop {
        let line = server.next_of(&["codec", "status"]);
        if line["event"] == "status" {
            break line;
        }
        codec = line["codec"].clone();
    };
    assert_eq!(status["codec"], codec, "{status}");
}

#[test]
fn a_page_is_told_where_the_tables_are() {
    let page = ["--page", "127.0.0.1:0", "--webtransport", "off", "--codec", "compact"];
    let common = ["serve", "--address", "127.0.0.1:0", "--map", "corners", "--json"];
    let mut server = Running::start(&[&common[..], &page].concat());
    let page = server.next("listening")["pages"][0].as_str().expect("it has a page").to_owned();
    let host = page.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&host).expect("the page is there");
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        answer.split_off(end)
    };
    let session: Value = serde_json::from_slice(&get("session.json")).expect("an object");
    let path = session["tables"].as_str().expect("there are tables").to_owned();
    let tables = sametick::codec::compact::Tables::from_bytes(&get(&path)).expect("whole ones");
    assert_eq!(path, format!("tables/{:016x}", tables.hash()));
}
