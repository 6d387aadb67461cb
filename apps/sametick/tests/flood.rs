//! A short flood on real sockets, as a program sees it. Nothing here depends on how fast it ran.

use serde_json::Value;
use std::process::Command;

#[test]
fn strangers_leave_no_trace_get_no_more_than_they_sent_and_drive_nobody_out() {
    let arguments = "bench flood --seconds 2 --junk-per-second 10000 --clients 10 --seed 3 --json";
    let program = env!("CARGO_BIN_EXE_sametick");
    let output = Command::new(program).args(arguments.split(' ')).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object, nothing else");
    let figure = |name: &str| {
        report["figures"][name].as_f64().unwrap_or_else(|| panic!("{name} is missing"))
    };
    assert_eq!(report["name"], "flood");
    assert_eq!(report["verified"], true, "every datagram is accounted for, every echo is genuine");
    assert!(figure("junk_per_second") > 0.0 && figure("junk_received_per_second") > 0.0);
    assert_eq!(figure("unauthenticated_state_bytes"), 0.0);
    assert!(figure("amplification") <= 1.0);
    assert_eq!(figure("clients_connected"), 10.0);
    assert!(figure("honest_packets") > 0.0 && figure("honest_answered_percent") > 0.0);
}
