//! What cannot be done is refused in one sentence that says what is wrong, where, and what to do.

use crate::program::{refusal, scratch};
use sametick_arena::map::CORNERS;
use std::net::{TcpListener, UdpSocket};

/// Each refusal has all of its words.
fn expect(arguments: &[&str], words: &[&str]) {
    let sentence = refusal(arguments);
    for word in words {
        assert!(sentence.contains(word), "{arguments:?} has no {word:?}: {sentence}");
    }
}

#[test]
fn options() {
    expect(&["serve", "--mode", "rugby"], &["'rugby'", "ffa, tdm, duel, targets"]);
    expect(&["serve", "--model", "doom4"], &["'doom4'", "half_life", "doom3"]);
    expect(&["serve", "--tick-rate", "19"], &["--tick-rate", "20..=1000"]);
    expect(&["serve", "--tick-rate", "1001"], &["--tick-rate", "20..=1000"]);
    expect(&["serve", "--snapshot-rate", "61"], &["--snapshot-rate 61", "--tick-rate 60"]);
    expect(
        &["serve", "--bots", "9", "--players-max", "8"],
        &["9 bots", "--players-max 8", "raise"],
    );
    expect(&["serve", "--minutes", "long"], &["--minutes", "number"]);
    expect(&["serve", "--tickrate", "60"], &["'--tickrate'", "'--tick-rate'"]);
    expect(&["surf"], &["'surf'"]);
    expect(&["bots"], &["--connect"]);
    expect(&["bots", "--connect", "127.0.0.1:9", "--count", "0"], &["--count", "1..=1000"]);
    expect(&["bots", "--connect", "127.0.0.1:9", "--loss", "5"], &["--loss 5", "0 to 1"]);
    expect(&["bots", "--connect", "127.0.0.1:9", "--delay", "-1"], &["-1"]);
    expect(&["bots", "--connect", "127.0.0.1:9", "--profile", "string"], &["wifi", "satellite"]);
    expect(&["play", "--skill", "godlike"], &["novice", "regular", "expert"]);
    expect(&["serve", "--tables", "arena.tables"], &["--tables", "--codec compact"]);
    expect(&["play", "--alone", "--codec", "compact"], &["--alone", "--codec"]);
    expect(&["play", "--alone", "--also", "field"], &["--alone", "--also"]);
    expect(&["play", "--alone", "--record", "match.sametick"], &["--alone", "--record"]);
    expect(&["play", "--map", "corners", "--open", "--page", "off"], &["--open", "--page off"]);
}

#[test]
fn addresses() {
    expect(&["serve", "--address", "here"], &["'here'", "0.0.0.0:4000"]);
    expect(&["serve", "--map", "corners", "--address", "192.0.2.1:0"], &["192.0.2.1", "--address"]);
    expect(&["bots", "--connect", "nowhere"], &["\"nowhere\"", "HOST:PORT"]);
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    let port = address.rsplit(':').next().expect("a port").to_owned();
    for command in ["serve", "play"] {
        let arguments = [command, "--map", "corners", "--address", &address];
        expect(&arguments, &[&port, "127.0.0.1", "is taken", "--address"]);
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let metrics = taken.local_addr().expect("its address").to_string();
    let arguments =
        ["serve", "--map", "corners", "--address", "127.0.0.1:0", "--metrics", &metrics];
    expect(&arguments, &["TCP port", "is taken", "--metrics"]);
    let page = ["serve", "--map", "corners", "--address", "127.0.0.1:0", "--page"];
    expect(&[&page[..], &[&metrics]].concat(), &["TCP port", "is taken", "--page"]);
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let door = taken.local_addr().expect("its address").to_string();
    let arguments = [&page[..], &["127.0.0.1:0", "--webtransport", &door]].concat();
    expect(&arguments, &["UDP port", "is taken", "--webtransport"]);
    expect(&[&page[..], &[&door]].concat(), &["UDP port", "is taken", "--page"]);
    expect(&["serve", "--origin", "banana"], &["'banana'", "https://game.example.org"]);
}

#[test]
fn maps() {
    expect(&["serve", "--map", "atlantis"], &["\"atlantis\"", "corners, halls, field"]);
    expect(&["play", "--alone", "--map", "no/such.map"], &["no/such.map", ".map file"]);
    let brace = CORNERS.find("( ").expect("a face");
    let line = 1 + CORNERS[..brace].matches('\n').count();
    let damaged = [&CORNERS[..brace], "(", &CORNERS[brace + 2..]].concat().replacen("(", "( x", 1);
    let path = scratch("damaged.map", damaged.as_bytes());
    let place = format!("line {line}, column ");
    expect(&["serve", "--map", &path], &["damaged.map is damaged", &place]);
    let half = scratch("half.map", &CORNERS.as_bytes()[..CORNERS.len() / 2]);
    expect(&["serve", "--map", &half], &["half.map is damaged", "line ", "column "]);
    let binary = scratch("binary.map", b"{\n\"a\" \xff\xfe");
    expect(&["serve", "--map", &binary], &["line 2, column 5", "no text"]);
    expect(&["serve", "--map", &scratch("empty.map", b"")], &["worldspawn"]);
}

#[test]
fn config_files() {
    for (text, words) in [
        ("map = \"halls\"\n\ntickrate = 60\n", ["line 3, column 1", "`tick-rate`"]),
        ("  tick-rate = 5\n", ["line 1, column 15", "20..=1000"]),
        ("mode = \"rugby\"", ["line 1, column 8", "ffa, tdm, duel, targets"]),
        ("map = halls", ["line 1, column 7", "quote"]),
        ("[server]\nmap = \"halls\"", ["line 1, column 2", "no option `server`"]),
        ("bots = 1\nbots = 2", ["line 2, column 1", "duplicate"]),
    ] {
        let path = scratch("wrong.toml", text.as_bytes());
        expect(&["serve", "--config", &path], &["wrong.toml", words[0], words[1]]);
    }
    expect(&["serve", "--config", "no/such.toml"], &["no/such.toml", "cannot read"]);
}

#[test]
fn keys() {
    expect(&["serve", "--token-key", "no/such.key"], &["no/such.key", "cannot read"]);
    let short = scratch("short.key", b"abc");
    expect(&["serve", "--token-key", &short], &["short.key", "64 hexadecimal digits", "openssl"]);
}
