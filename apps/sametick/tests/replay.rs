//! `sametick replay` as people start it: what it prints of a recording, of a cut one, and of what is none.

use sametick::lockstep::{Desync, Happening, Identity, Lockstep, Role, Setup};
use sametick::replay::Recording;
use sametick::secure::SystemRandom;
use sametick::{Model, Peer, PlayerId, Server, Span, Time};
use sametick_arena::{Arena, Content, Fighter, Mode, map};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A match of five seconds in which nobody came.
fn recording() -> Vec<u8> {
    let content = Content::new(map::HALLS, Mode::Duel).expect("the map is sound");
    let random = &mut SystemRandom::new();
    let mut server = Server::<Arena>::open(content, 3, Model::HALF_LIFE.rates, Time::ZERO, random);
    server.record(&Recording::new("test build", "map = halls\nmode = duel"));
    (0..5_000).step_by(10).for_each(|millis| server.advance(Time::from_millis(millis)));
    server.finish_recording()
}

fn replay(name: &str, bytes: &[u8], options: &[&str]) -> Output {
    let path: PathBuf =
        std::env::temp_dir().join(format!("sametick-{}-{name}.recording", std::process::id()));
    std::fs::write(&path, bytes).expect("there is room for it");
    let sametick = env!("CARGO_BIN_EXE_sametick");
    let output =
        Command::new(sametick).arg("replay").arg(&path).args(options).output().expect("it starts");
    std::fs::remove_file(&path).expect("it was just made");
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it speaks in text")
}

#[test]
fn a_recording_is_summed_up_and_played_again() {
    let output = replay("whole", &recording(), &[]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for line in ["build          test build", "               mode = duel", "end            whole"]
    {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
    assert!(said.contains("played again   the same: 300 ticks, 300 hashes"), "{said}");
}

#[test]
fn it_is_also_for_programs() {
    let output = replay("json", &recording(), &["--json"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["last_tick"], 300);
    assert_eq!(said["divergence"], serde_json::Value::Null);
    let output = replay("export", &recording(), &["--seek", "290", "--export", "json"]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 11);
    assert_eq!((&lines[0]["tick"], &lines[10]["tick"]), (&290.into(), &300.into()));
    assert_eq!(lines[0]["entities"][0]["kind"], "contest");
}

#[test]
fn a_tick_is_shown_or_refused() {
    let output = replay("seek", &recording(), &["--seek", "77"]);
    assert!(text(&output.stdout).starts_with("tick 77, "), "{}", text(&output.stdout));
    let output = replay("beyond", &recording(), &["--seek", "301"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("there is no tick 301 in 0 to 300"));
}

#[test]
fn a_cut_recording_is_played_as_far_as_it_goes_and_others_are_refused() {
    let bytes = recording();
    let output = replay("cut", &bytes[..bytes.len() - 40], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("bytes are cut or damaged"));
    let output = replay("junk", b"not a recording", &[]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("this is not a recording of a match"));
}

/// What two machines find out after one bit of one of their worlds was flipped, the spoiled one first.
fn desync() -> [Desync; 2] {
    let content = || (Content::new(map::HALLS, Mode::FreeForAll).expect("the map is sound"), 1);
    let at = |port| Peer::new([1; 16], port);
    let (mut now, me) = (Time::ZERO, |session| Identity { session, name: session });
    let mut machines = [
        Lockstep::<Arena>::found(Setup::DOOM_1993, me(1), at(1), content(), now),
        Lockstep::join(at(1), me(2), content(), Role::Plays, now),
    ];
    let mut found = [None, None];
    while found.iter().any(Option::is_none) {
        assert!(now < Time::from_seconds(5), "nothing is reported");
        if now == Time::from_seconds(3) {
            let world = machines[0].spoil().expect("it plays");
            let (_, own) = world.owned_mut::<Fighter>(PlayerId(1)).expect("both are there");
            own.position[0] = f32::from_bits(own.position[0].to_bits() ^ 1);
        }
        for index in 0..2 {
            machines[index].advance(now);
            while let Some((_, message)) = machines[index].transmit() {
                let from = (index as u64 + 1, at(index as u16 + 1));
                machines[1 - index].receive(now, from, &message);
            }
            for event in machines[index].take_events() {
                if let Happening::Desynced(desync) = event {
                    found[index] = Some(*desync);
                }
            }
        }
        now += Span::millis(4);
    }
    found.map(|desync| desync.expect("both have found it"))
}

#[test]
fn what_a_desync_leaves_is_opened_and_the_spoiled_match_names_its_tick_and_field() {
    let [spoiled, sound] = desync();
    assert!(spoiled.first.contains("position"), "{}", spoiled.first);
    assert_eq!(spoiled.recordings.len(), 3, "its match, its world and the other's");
    for (desync, who) in [(&spoiled, "spoiled"), (&sound, "sound")] {
        for (name, bytes) in &desync.recordings {
            let output = replay(&format!("desync-{who}-{name}"), bytes, &["--json"]);
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(said["last_tick"].as_u64() > Some(100), "{who}, {name}: {said}");
            // Only the spoiled machine did otherwise than the rules say.
            let is_spoiled = (who, *name) == ("spoiled", "ours-since-we-agreed");
            let error = text(&output.stderr);
            assert_eq!(output.status.success(), !is_spoiled, "{who}, {name}: {error}");
            assert_eq!(error.contains("position.x"), is_spoiled, "{who}, {name}: {error}");
        }
    }
}
