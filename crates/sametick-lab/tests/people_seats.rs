//! Seats of studies: who may take one, whose line will do, who leaves and who comes in somebody's place.

use crate::common::people::{Driver, PAIRS};
use sametick_lab::people::{Calibration, EventKind, SeatId, Stage};

fn driver(text: &str, seed: u64) -> Driver {
    Driver::new(text, seed)
}

#[test]
fn a_condition_below_a_lines_floor_is_refused_and_says_so() {
    let mut driver = driver(PAIRS, 1);
    for _ in 0..3 {
        driver.act(SeatId(1), 72.0);
    }
    let why = "asked 40 ms, this line's floor is 72 ms".to_owned();
    assert_eq!(driver.study.stage(SeatId(1), 0), Stage::Refused { why: why.clone() });
    let live = driver.study.live(0);
    assert_eq!(live["anomalies"][0], format!("P01: {why}."));
    assert!(!driver.apply(Some(SeatId(1)), EventKind::Ready), "nobody plays what cannot be had");
    // The experimenter may give all a longer line.
    let (setting, value) = ("ping".to_owned(), "90 ms".to_owned());
    driver.must(None, EventKind::Changed { group: Some(1), setting: setting.clone(), value });
    assert!(matches!(driver.study.stage(SeatId(1), 0), Stage::Ready { .. }));
    driver.must(None, EventKind::Changed { group: Some(1), setting, value: String::new() });
    assert!(matches!(driver.study.stage(SeatId(1), 0), Stage::Refused { .. }));
    // A floor within the tolerance of what is asked is what is asked.
    let found = Calibration { floor_ms: 49.0, ..Calibration::default() };
    let calibrated = EventKind::Calibrated(found);
    assert!(!driver.apply(Some(SeatId(1)), calibrated.clone()), "it was measured");
    driver.must(Some(SeatId(1)), EventKind::MeasuresAgain);
    assert_eq!(driver.study.stage(SeatId(1), 0), Stage::Calibration);
    driver.must(Some(SeatId(1)), calibrated.clone());
    assert!(matches!(driver.study.stage(SeatId(1), 0), Stage::Ready { .. }));
    assert!(!driver.apply(Some(SeatId(1)), calibrated), "once is enough");
    assert!(!driver.apply(Some(SeatId(1)), EventKind::MeasuresAgain), "nothing was refused");
}

#[test]
fn a_seat_that_another_browser_takes_is_measured_again() {
    let mut driver = driver(PAIRS, 1);
    let seat = Some(SeatId(1));
    for _ in 0..3 {
        driver.act(SeatId(1), 72.0);
    }
    let claimed = |hash: &str| EventKind::Claimed { secret_hash: hash.to_owned() };
    driver.must(seat, EventKind::Left);
    driver.must(seat, claimed("s"));
    assert!(matches!(driver.study.stage(SeatId(1), 0), Stage::Refused { .. }), "it is the same");
    driver.must(seat, EventKind::Left);
    driver.must(seat, claimed("another"));
    assert_eq!(driver.study.stage(SeatId(1), 0), Stage::Calibration);
}

#[test]
fn floors_are_held_against_all_that_a_line_is_asked_for_in_a_trial() {
    let refused = |text: &str, floor_ms: f64| {
        let file = format!("question = \"?\"\nrepetitions = 13\n{text}");
        let mut driver = driver(&file, 1);
        for _ in 0..3 {
            driver.act(SeatId(1), floor_ms);
        }
        match driver.study.stage(SeatId(1), 0) {
            Stage::Refused { why } => Some(why),
            _ => None,
        }
    };
    let people = "[people]\nconsent = \"?\"\n";
    let falls = format!(
        "[settings]\nping = \"90 ms\"\n[[settings.change]]\nat = \"1 s\"\nping = \"20 ms\"\n{people}"
    );
    let why = "asked 20 ms, this line's floor is 40 ms";
    assert_eq!(refused(&falls, 40.0).as_deref(), Some(why));
    assert_eq!(refused(&falls, 25.0), None);
    let stairs = |standard: &str| {
        format!(
            "{people}[people.intervals]\nsetting = \"ping\"\nstandard = \"{standard}\"\nask = \"?\"\n\
             [people.staircase]\nsetting = \"ping\"\nstart = \"200 ms\"\nstep = \"20 ms\"\n\
             least = \"60 ms\"\nmost = \"300 ms\"\ncorrect = \"interval\""
        )
    };
    assert_eq!(refused(&stairs("20 ms"), 40.0).as_deref(), Some(why), "the standard is asked too");
    assert_eq!(refused(&stairs("60 ms"), 40.0), None);
    assert!(refused(&stairs("100 ms"), 90.0).is_some(), "and the least of the staircase");
}

#[test]
fn who_withdraws_ends_its_groups_study_and_nobody_elses() {
    let mut driver = driver(PAIRS, 1);
    for seat in driver.study.seats() {
        driver.act(seat, 0.0);
        driver.act(seat, 0.0);
    }
    driver.must(Some(SeatId(3)), EventKind::Declined);
    driver.finish(0.0);
    assert!(driver.study.is_over());
    assert_eq!(driver.finished.keys().copied().collect::<Vec<_>>(), [1, 3, 4]);
    let Stage::Thanks { text } = driver.study.stage(SeatId(4), 0) else { panic!("it waits") };
    assert!(text.contains("does not take part"), "{text}");
    for seat in [3, 4].map(SeatId) {
        driver.must(Some(seat), EventKind::Left);
        driver.must(Some(seat), EventKind::Returned);
        driver.must(Some(seat), EventKind::Left);
        driver.must(Some(seat), EventKind::Claimed { secret_hash: "another".to_owned() });
        assert!(matches!(driver.study.stage(seat, 0), Stage::Thanks { .. }));
    }
}

#[test]
fn who_declines_can_be_replaced_until_the_group_has_finished_something() {
    let mut driver = driver(PAIRS, 1);
    let (order, old) =
        (driver.study.order_table(), driver.study.code_of(SeatId(3)).map(str::to_owned));
    for seat in [3, 4].map(SeatId) {
        driver.act(seat, 0.0);
    }
    driver.must(Some(SeatId(3)), EventKind::Declined);
    let freed = |seat: u32, code: &str| EventKind::Freed { seat, code: code.to_owned() };
    let taken = driver.study.code_of(SeatId(1)).expect("a code").to_owned();
    assert!(!driver.apply(None, freed(3, &taken)) && !driver.apply(None, freed(3, "")));
    assert!(!driver.apply(None, freed(1, "ANOTHER")), "nobody has it");
    driver.must(None, freed(3, "ANOTHER"));
    assert_eq!(driver.study.seat_of("another"), Some(SeatId(3)));
    assert_eq!(driver.study.seat_of(&old.expect("a code")), None, "the old link is worth nothing");
    assert!(matches!(driver.study.stage(SeatId(4), 0), Stage::Consent { .. }), "it goes on");
    driver.finish(0.0);
    assert!(driver.study.is_over());
    assert_eq!(driver.finished.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(driver.study.order_table(), order);
    assert!(!driver.apply(None, freed(3, "THIRD")), "what was played is of whoever sat there");
    let now = driver.now_ms;
    assert_eq!(Driver::seen(&driver.folded_again(), now), Driver::seen(&driver.study, now));
}

#[test]
fn a_finished_seat_is_thanked_on_any_machine_and_measured_only_if_it_plays_again() {
    let mut driver = driver(PAIRS, 1);
    driver.finish(30.0);
    let (id, seat) = (SeatId(1), Some(SeatId(1)));
    assert!(driver.study.is_over());
    driver.must(seat, EventKind::Left);
    driver.must(seat, EventKind::Claimed { secret_hash: "at home".to_owned() });
    assert!(matches!(driver.study.stage(id, u64::MAX), Stage::Thanks { .. }));
    let found = EventKind::Calibrated(Calibration::default());
    assert!(!driver.apply(seat, found), "nothing is measured any more");
    let trial = driver.finished[&1][0];
    driver.must(None, EventKind::Repeated { group: 1, trial });
    assert_eq!(driver.study.stage(id, u64::MAX), Stage::Calibration);
}
