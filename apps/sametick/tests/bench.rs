//! The benchmarks as a program sees them: one object on standard output, one sentence on errors.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn sametick(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sametick");
    Command::new(program).args(arguments).output().expect("the program starts")
}

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the scratch folder can be written");
    path
}

fn codec(seed: &str) -> Value {
    let output = sametick(&["bench", "codec", "--seconds", "3", "--seed", seed, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one object and nothing else")
}

#[test]
fn the_codec_answers_one_verified_object_with_its_figures() {
    let report = codec("1");
    assert_eq!(report["name"], "codec");
    assert_eq!(report["seed"], 1);
    assert_eq!(report["verified"], true);
    assert_eq!(report["options"]["age"], 2, "100 ms at 20 snapshots a second");
    let figure = |name: &str| {
        report["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"))
    };
    for name in [
        "bytes_per_snapshot_mean",
        "bytes_per_entity_update",
        "encode_us_per_snapshot",
        "decode_us_per_snapshot",
        "encode_ns_per_entity",
        "decode_ns_per_entity",
    ] {
        assert!(figure(name) > 0.0, "{name}");
        assert!(figure(&format!("exact_{name}")) > 0.0, "{name}");
    }
    // The paper's order of magnitude, on work that rests less than its own.
    assert!((10.0..=20.0).contains(&figure("exact_packed_reduction_percent")));
    assert!((70.0..=90.0).contains(&figure("exact_delta_reduction_percent")));
    assert!(figure("left_out_bytes") < figure("delta_bytes"));
    assert!(figure("delta_bytes") < figure("packed_bytes"));
    assert!(figure("packed_bytes") < figure("full_bytes"));
    assert!(figure("chosen_bytes") <= figure("left_out_bytes") + 1.0, "a flag, on a byte");
    assert!(figure("zero_runs_ordered_bytes") <= figure("zero_runs_bytes"));
}

#[test]
fn every_client_has_what_the_server_showed_within_its_bounds() {
    for (players, loss) in [("8", "0"), ("64", "0.05"), ("100", "0")] {
        let arguments = ["bench", "server", "--seconds", "2", "--json"];
        let chosen = ["--players", players, "--loss", loss];
        let output = sametick(&[&arguments[..], &chosen].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(report["verified"], true, "{players} players, {loss} lost");
        let figure = |name: &str| report["figures"][name].as_f64().expect(name);
        // With assertions on, walking the fields checks their names, and that allocates.
        let allocations = figure("allocations_per_client_snapshot");
        assert!(allocations < 0.1 || cfg!(debug_assertions), "{report}");
        assert!(figure("server_bytes_per_client") < 32768.0, "{report}");
        assert!(figure("bytes_per_entity_update") < if players == "8" { 20.0 } else { 14.0 });
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |seed| codec(seed)["figures"]["bytes_per_snapshot_mean"].clone();
    assert_eq!(bytes("7"), bytes("7"));
    assert_ne!(bytes("7"), bytes("8"));
}

#[test]
fn a_file_that_is_no_recording_gets_one_sentence_with_the_offset() {
    let cubes = [&b"CUB1"[..], &[7, 0, 0, 0, 2, 0, 0, 0, 60, 0, 0, 0, 2, 0, 9]].concat();
    for (name, bytes, sentence) in [
        ("unknown.bin", &b"hello"[..], "at byte 0: not a recording this program knows"),
        ("damaged.cub", &cubes, "at byte "),
    ] {
        let path = scratch(name, bytes);
        let output = sametick(&["bench", "codec", "--data", path.to_str().expect("plain text")]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(error.starts_with("error: ") && error.contains(name), "{error}");
        assert!(error.contains(sentence) && error.lines().count() == 1, "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = sametick(&["bench", "codec", "--data", "nowhere.bin"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("cannot read nowhere.bin") && error.lines().count() == 1, "{error}");
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        &["--help"][..],
        &["bench", "channel", "--help"],
        &["bench", "codec", "--help"],
        &["bench", "conditioner", "--help"],
        &["bench", "flood", "--help"],
        &["bench", "instructions", "--help"],
    ] {
        let output = sametick(command);
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && help.contains("Examples:"), "{command:?}: {help}");
    }
}

fn conditioner(more: &[&str]) -> Output {
    let arguments = ["bench", "conditioner", "--packets", "100", "--rate", "1000", "--json"];
    sametick(&[&arguments[..], more].concat())
}

#[test]
fn the_conditioner_answers_one_verified_object_with_its_figures() {
    let report = || {
        let output = conditioner(&["--delay-ms", "5", "--jitter-ms", "2", "--loss", "20"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("one object and nothing else")
    };
    let (one, other) = (report(), report());
    assert_eq!((&one["name"], &one["verified"]), (&"conditioner".into(), &true.into()));
    let figure =
        |name: &str| one["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"));
    // How precise it is depends on what else the machine does; what it adds at least does not.
    assert!((5.0..=7.0).contains(&figure("asked_delay_ms")));
    assert!(figure("achieved_p50_ms") >= figure("asked_delay_ms"));
    for name in ["achieved", "error"] {
        let [p50, p95, p99] = [50, 95, 99].map(|percent| figure(&format!("{name}_p{percent}_ms")));
        assert!(0.0 <= p50 && p50 <= p95 && p95 <= p99, "{name}");
    }
    assert!(figure("loopback_p50_ms") > 0.0);
    assert_eq!(figure("loss_asked_percent"), 20.0);
    assert_eq!(one["figures"]["loss_achieved_percent"], other["figures"]["loss_achieved_percent"]);
    assert_eq!(figure("received_count"), 100.0 - figure("loss_achieved_percent"));
}

#[test]
fn what_the_conditioner_cannot_hold_is_refused_in_one_sentence() {
    let output = conditioner(&["--delay-ms", "9999"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: too many") && error.lines().count() == 1, "{error}");
}

#[test]
fn the_channel_allocates_nothing_and_is_compared_in_the_same_run() {
    let output = sametick(&["bench", "channel", "--packets", "2000", "--seed", "3", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object, nothing else");
    let figure = |name: &str| {
        report["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"))
    };
    assert_eq!((&report["name"], &report["seed"]), (&"channel".into(), &3.into()));
    assert_eq!(report["verified"], true);
    assert_eq!(figure("allocations_per_packet"), 0.0);
    assert_eq!(figure("datagrams_per_packet"), 1.0);
    assert!(figure("send_ns") > 0.0 && figure("receive_ns") > 0.0);
    assert!(figure("idle_connection_bytes") < 4096.0);
    assert!(figure("loaded_connection_bytes") < 16.0 * 1024.0);
    if cfg!(feature = "peers") {
        assert!(figure("renet_send_ns") > 0.0 && figure("renet_receive_ns") > 0.0);
        assert!(figure("renet_send_ratio") > 0.0 && figure("renet_receive_ratio") > 0.0);
    }
}

#[test]
fn rollback_answers_verified_figures_and_sends_no_more_than_ggrs() {
    let output = sametick(&["bench", "rollback", "--seconds", "3", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(report["verified"], true);
    let figure = |name: &str| {
        report["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"))
    };
    assert!(figure("resimulated_ticks_per_second") > 0.0);
    assert!(figure("ggrs_resimulated_ticks_per_second") > 0.0);
    let ours = figure("bytes_per_player_per_second");
    assert!(ours <= figure("ggrs_bytes_per_player_per_second"), "{ours} bytes, sealed");
}

#[test]
fn islands_keeps_the_limits_of_a_modem_and_nobody_waits_for_the_slow_one() {
    let output = sametick(&["bench", "islands", "--seconds", "181", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(report["verified"], true, "{report}");
    let figure = |name: &str| {
        report["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"))
    };
    assert!((figure("players") - 8.0).abs() < 0.5);
    assert!(figure("units_alive_min") >= 400.0, "{report}");
    assert!(figure("units_under_fire_mean") > 0.0, "they fight: {report}");
    // Seals are in it; 9600 baud are 960 bytes a second.
    assert!(figure("server_bytes_per_second_worst_minute") < 960.0, "{report}");
    assert!(figure("client_bytes_per_second_worst_minute") < 120.0, "{report}");
    assert!(figure("stall_ticks_others_max") < 0.5, "{report}");
    // An order is answered within the round trip of 80 ms, a tick, and what acknowledgements may gather for.
    let answers = [figure("answer_ms_median"), figure("answer_ms_p95")];
    assert!(answers[0] > 80.0 && answers[1] < 450.0, "{report}");
    let traffic = [
        "server_bytes_per_second_worst_minute",
        "client_bytes_per_second_worst_minute",
        "server_bytes_peak_second",
        "server_seal_bytes_per_second",
        "server_udp_header_bytes_per_second",
        "server_tcp_header_bytes_per_second",
    ];
    for name in traffic {
        let locked = figure(name);
        assert!(locked > 0.0, "{name}");
        assert!(figure(&format!("snapshots_{name}")) > locked, "{name}: {report}");
        assert!(figure(&format!("lockstep_{name}")) > locked, "{name}: {report}");
    }
}
