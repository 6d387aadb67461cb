//! Studies under strain: pages that ask too often, disks that stall.

use super::{ALONE, Folder, Lab, PAIR, check_rows, count};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_page_that_asks_too_often_is_told_so_and_no_other_seat_is_held_up() {
    let folder = Folder::new("quotas");
    folder.write("pair.toml", PAIR);
    let lab = Lab::open(&folder, "pair.toml", 0);
    let bearers = [0, 1].map(|seat| {
        let (status, claimed) = lab.claim(lab.code(seat));
        assert_eq!(status, 200, "{claimed}");
        format!("Bearer {}", claimed["secret"].as_str().expect("a secret"))
    });
    let ask = |seat: usize| lab.ask("/lab/seat", &[("authorization", &bearers[seat])], None).0;
    // A hundred at once, then twenty a second.
    let (begun, asked) = (Instant::now(), 400);
    let granted = (0..asked).filter(|_| ask(0) == 200).count();
    let fair = 100.0 + 20.0 * begun.elapsed().as_secs_f64() + 1.0;
    assert!(granted >= 90 && granted as f64 <= fair.max(90.0), "{granted} of {asked}, fair {fair}");
    assert_eq!(ask(1), 200, "the other seat has its own");
    assert_eq!(
        lab.act(&json!({ "do": "note", "text": "fine" })).0,
        200,
        "and so have experimenters"
    );
}

#[test]
fn a_disk_that_stalls_holds_up_nobody_who_plays() {
    let folder = Folder::new("stalls");
    folder.write("alone.toml", &ALONE.replace("SECONDS", "6").replace("10 ms", "500 ms"));
    let lab = Lab::open(&folder, "alone.toml", 0);
    let person = lab.attend(&folder, 0, &[]);
    lab.until(|state| state["seats"][0]["achieved_ms"].is_f64());
    // Nobody else can write for as long as this is open; what the experimenter does has to wait for it.
    let disk = folder.log("alone.db");
    disk.connection.execute_batch("BEGIN IMMEDIATE").expect("it is held");
    std::thread::scope(|scope| {
        let note = scope.spawn(|| lab.act(&json!({ "do": "note", "text": "slow" })));
        std::thread::sleep(Duration::from_millis(2_500));
        assert!(!note.is_finished(), "it is not told before it is written");
        disk.connection.execute_batch("COMMIT").expect("it is let go");
        assert_eq!(note.join().expect("an answer").0, 200);
    });
    person.finish();
    lab.until(|state| state["is_over"] == true);
    drop(lab);
    let log = folder.log("alone.db");
    check_rows(&log, 1);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM event WHERE kind = 'broken'"), 0);
    assert!(count(&log, "SELECT ticks FROM trial") >= 6 * 60 * 7 / 10, "ticks went on");
    let quiet = "SELECT COUNT(*) FROM second WHERE player = 1 AND second < 6 AND packets_in = 0";
    assert_eq!(count(&log, quiet), 0, "and so did what is sent");
}
