//! Studies of people: the straight road, every procedure, and random histories that keep what is promised.

use crate::common::people::{Driver, PAIRS, Seeded};
use crate::common::{Folder, read};
use sametick::Dice;
use sametick_lab::people::{Calibration, Event, EventKind, Line, SeatId, Stage, Telemetry, flags};
use sametick_lab::{Experiment, Log, Plan};
use std::collections::{BTreeMap, BTreeSet};

fn driver(text: &str, seed: u64) -> Driver {
    Driver::new(text, seed)
}

#[test]
fn pairs_go_from_consent_to_thanks_in_the_order_of_the_square() {
    let mut driver = driver(PAIRS, 1);
    driver.finish(5.0);
    assert!(driver.study.is_over());
    for seat in driver.study.seats() {
        assert_eq!(driver.study.stage(seat, driver.now_ms), Stage::Thanks { text: "Bye.".into() });
    }
    let (_, plan) = read(PAIRS);
    for (group, played) in &driver.finished {
        let planned = plan.trials.iter().filter(|trial| trial.participant == *group);
        assert_eq!(*played, planned.map(|trial| trial.number).collect::<Vec<_>>(), "group {group}");
        assert_eq!(played.len(), 9, "a practice and twice four");
    }
    assert_eq!(driver.finished.len(), 4, "eight people in pairs");
    let breaks = driver.now_ms - 1_000 - 4 * 9 * 2_000;
    assert!(breaks >= 60_000, "two breaks of 30 s, {breaks}");
}

#[test]
fn order_tables_are_the_same_for_the_same_seed_and_balanced() {
    let (one, other) = (driver(PAIRS, 1), driver(PAIRS, 2));
    let table = one.study.order_table();
    assert_eq!(table, other.study.order_table(), "codes differ, orders do not");
    let letters: BTreeSet<&str> =
        table.lines().skip(1).filter_map(|l| l.rsplit(',').next()).collect();
    assert_eq!(letters.len(), 4);
    let mut places: BTreeMap<(u32, String), u32> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let place: u32 = cells[1].parse().expect("a place");
        if place > 1 {
            *places.entry((place, cells[3].to_owned())).or_default() += 1;
        }
    }
    assert_eq!(places.len(), 8 * 4, "each letter in each place");
    assert!(places.values().all(|count| *count == 1), "{places:?}");
    assert_ne!(
        table,
        driver(&PAIRS.replace("question =", "seed = 7\nquestion ="), 1).study.order_table()
    );
}

#[test]
fn roles_change_and_each_condition_is_met_in_each_role() {
    let mut driver = driver(PAIRS, 3);
    type Parts = BTreeSet<(SeatId, Option<String>)>;
    let mut met: BTreeMap<(u32, usize), Parts> = BTreeMap::new();
    for _ in 0..10_000 {
        for seat in driver.study.seats() {
            driver.act(seat, 0.0);
        }
        for start in driver.study.due(driver.now_ms) {
            for (seat, player, role) in &start.seats {
                let expected = if *player == 1 { "peeker" } else { "holder" };
                assert_eq!(role.as_deref(), Some(expected), "a role is a player's number");
                let key = (start.group, start.trial.condition);
                if !start.trial.is_practice {
                    met.entry(key).or_default().insert((*seat, role.clone()));
                }
            }
            assert!((1_000..=3_000).contains(&start.foreperiod_ms), "{}", start.foreperiod_ms);
        }
        driver.play();
    }
    assert_eq!(met.len(), 16);
    assert!(met.values().all(|parts| parts.len() == 4), "both people in both roles: {met:?}");
}

#[test]
fn between_subjects_each_group_meets_one_condition_and_all_are_dealt_evenly() {
    let text = PAIRS.replace("group = 2", "group = 1\ndesign = \"between\"");
    let text = text.replace("roles = [\"peeker\", \"holder\"]\nswap = true", "");
    let (_, plan) = read(&text);
    let mut dealt: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for trial in &plan.trials {
        dealt.entry(trial.condition).or_default().insert(trial.participant);
        assert_eq!(trial.settings.number("ping"), Some(40.0 * (trial.condition + 1) as f64));
    }
    assert!(dealt.values().all(|groups| groups.len() == 2), "{dealt:?}");
    assert_eq!(plan.trials.len(), 8 * 3, "a practice and two repetitions each");
    let mut driver = driver(&text, 1);
    driver.finish(0.0);
    assert!(driver.study.is_over());
}

const STAIRS: &str = r#"
question = "Which ping is too much?"
repetitions = 200
[settings]
duration = "1 s"
[people]
consent = "Agree?"
[people.staircase]
setting = "ping"
start = "200 ms"
step = "20 ms"
least = "0 ms"
most = "400 ms"
up = 1
down = 2
harder = "less"
reversals = 12
correct = "hit"
"#;

#[test]
fn a_staircase_turns_where_the_participant_turns_and_ends_after_its_reversals() {
    let mut driver = driver(STAIRS, 1);
    // Right above 100 ms, wrong below: it must hang around there.
    driver.is_right = |level, _| level >= 100.0;
    driver.finish(0.0);
    assert!(driver.study.is_over());
    let staircase = driver.study.people().staircase.clone().expect("a staircase");
    let stairs = driver.study.stairs(1).expect("a group")[&0].clone();
    assert_eq!(stairs.reversals(&staircase).len(), 12);
    let threshold = stairs.threshold(&staircase).expect("a threshold");
    assert!((80.0..=100.0).contains(&threshold), "{threshold}: {stairs:?}");
    assert!(stairs.steps.len() < 200, "what is left is not played");
    let levels: Vec<f64> = stairs.steps.iter().take(5).map(|step| step.level).collect();
    assert_eq!(levels, [200.0, 200.0, 180.0, 180.0, 160.0], "two right ones take it down");
}

#[test]
fn a_staircase_of_two_down_one_up_finds_where_seven_of_ten_are_right() {
    let mut found = Vec::new();
    for seed in 0..40 {
        let mut driver = driver(&STAIRS.replace("reversals = 12", "reversals = 20"), seed);
        // A participant whose share of right answers grows evenly from 0 at 0 ms to 1 at 400 ms.
        driver.is_right = |level, dice| dice.unit() < level / 400.0;
        driver.finish(0.0);
        let staircase = driver.study.people().staircase.clone().expect("a staircase");
        found.extend(driver.study.stairs(1).expect("a group")[&0].threshold(&staircase));
    }
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    // Where the chance of two right ones in a row is one half: 0.707 of 400 ms.
    assert!((mean - 283.0).abs() < 15.0, "{mean} of {}", found.len());
}

const INTERVALS: &str = r#"
question = "Who notices which delay?"
participants = 2
repetitions = 3
[settings]
duration = "1 s"
[factors]
ping = ["50 ms", "100 ms"]
[people]
consent = "Agree?"
[people.intervals]
setting = "ping"
standard = "0 ms"
ask = "Which of the two felt slower?"
"#;

#[test]
fn two_intervals_are_two_trials_one_of_them_standard_in_an_order_by_chance() {
    let (_, plan) = read(INTERVALS);
    assert_eq!(plan.trials.len(), 2 * 2 * 3 * 2);
    let mut first = BTreeSet::new();
    for pair in plan.trials.chunks(2) {
        let names: BTreeSet<&str> = pair.iter().map(|trial| trial.name.as_str()).collect();
        assert_eq!(names, ["comparison", "standard"].into_iter().collect());
        first.insert(pair[0].name.clone());
        for trial in pair {
            let is_standard = trial.settings.number("ping") == Some(0.0);
            assert_eq!(is_standard, trial.name == "standard");
        }
    }
    assert_eq!(first.len(), 2, "either comes first at times");
    assert_eq!(plan.conditions.len(), 3, "the standard is a condition of its own");
    let mut driver = driver(INTERVALS, 1);
    driver.is_right = |_, _| true;
    driver.finish(0.0);
    assert!(driver.study.is_over());
    let asked = driver
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Answered { question: 0, .. }));
    assert_eq!(asked.count(), 2 * 6, "asked after both");
}

#[test]
fn intervals_with_a_staircase_go_by_which_interval_was_named() {
    let text = INTERVALS.replace("participants = 2\nrepetitions = 3", "repetitions = 100");
    let text = text.replace("[factors]\nping = [\"50 ms\", \"100 ms\"]", "");
    let text = text
        + "[people.staircase]\nsetting = \"ping\"\nstart = \"200 ms\"\nstep = \"20 ms\"\nleast = \"0 ms\"\n\
           most = \"400 ms\"\nreversals = 8\ncorrect = \"interval\"";
    let mut driver = driver(&text, 4);
    driver.is_right = |level, _| level >= 70.0;
    driver.finish(0.0);
    let staircase = driver.study.people().staircase.clone().expect("a staircase");
    let stairs = driver.study.stairs(1).expect("a group").values().next().cloned().expect("one");
    assert!(stairs.is_over(&staircase));
    let threshold = stairs.threshold(&staircase).expect("a threshold");
    assert!((60.0..=80.0).contains(&threshold), "{threshold}");
    assert!(driver.study.is_over());
}

#[test]
fn a_broken_second_interval_has_both_played_again() {
    let mut driver = driver(INTERVALS, 1);
    let seat = SeatId(1);
    while driver.study.due(driver.now_ms).is_empty() {
        assert!(driver.act(seat, 0.0));
    }
    assert!(driver.play());
    assert!(driver.act(seat, 0.0), "ready for the second");
    let start = driver.study.due(driver.now_ms)[0].clone();
    let (group, trial, attempt) = (start.group, start.trial.number, start.attempt);
    driver.must(None, EventKind::Started { group, trial, attempt });
    let reason = "the page fell silent".to_owned();
    driver.must(None, EventKind::Broken { group, trial, attempt, reason });
    assert!(matches!(
        driver.study.stage(seat, driver.now_ms),
        Stage::Ready { interval: Some(1), place: 1, .. }
    ));
    assert!(driver.act(seat, 0.0));
    let again = driver.study.due(driver.now_ms)[0].clone();
    assert_eq!((again.trial.number, again.attempt), (1, 2));
    driver.must(None, EventKind::Started { group, trial: 1, attempt: 2 });
    let reason = "the page fell silent".to_owned();
    assert_eq!(driver.study.live(0)["anomalies"].as_array().map(Vec::len), Some(0));
    driver.must(None, EventKind::Broken { group, trial: 1, attempt: 2, reason });
    let told = "Group 1: its trial was broken off 2 times.";
    assert_eq!(driver.study.live(0)["anomalies"][0], told);
}

#[test]
fn the_experimenter_pauses_repeats_skips_and_changes_and_always_says_why() {
    let mut driver = driver(PAIRS, 1);
    for seat in [1, 2].map(SeatId) {
        for _ in 0..4 {
            driver.act(seat, 0.0);
        }
    }
    let without = Event { at_ms: 0, seat: None, kind: EventKind::Paused, why: " ".to_owned() };
    assert_eq!(driver.study.apply(&without).expect_err("why?").what, "say why: it is logged");
    driver.must(None, EventKind::Paused);
    assert!(driver.study.due(driver.now_ms).is_empty(), "nothing begins in a pause");
    driver.must(None, EventKind::Resumed);
    let (setting, value) = ("ping".to_owned(), "55 ms".to_owned());
    driver.must(None, EventKind::Changed { group: None, setting, value });
    let start = driver.study.due(driver.now_ms)[0].clone();
    assert_eq!(start.trial.settings.number("ping"), Some(55.0));
    assert_eq!(start.changed, ["ping 55 ms"]);
    assert!(driver.play());
    let trial = start.trial.number;
    driver.must(None, EventKind::Repeated { group: 1, trial });
    for seat in [1, 2].map(SeatId) {
        assert!(driver.act(seat, 0.0), "ready at once: what is played again is asked again");
    }
    let again = driver.study.due(driver.now_ms)[0].clone();
    assert_eq!((again.trial.number, again.attempt), (trial, 2));
    driver.must(None, EventKind::Skipped { group: 1, trial });
    assert!(driver.study.due(driver.now_ms).is_empty());
    assert!(!driver.apply(None, EventKind::Skipped { group: 1, trial }), "once is enough");
    let bad = |setting: &str, value: &str| EventKind::Changed {
        group: None,
        setting: setting.to_owned(),
        value: value.to_owned(),
    };
    for (setting, value) in [
        ("pnig", "5 ms"),
        ("ping", "5"),
        ("players", "3"),
        ("model", "rollback"),
        ("player.9.ping", "5 ms"),
    ] {
        assert!(!driver.apply(None, bad(setting, value)), "{setting} = {value}");
    }
    driver.finish(0.0);
    assert!(driver.study.is_over());
}

#[test]
fn options_come_in_an_order_by_chance_that_stays_and_answers_are_checked() {
    let mut driver = driver(PAIRS, 1);
    let mut orders = BTreeSet::new();
    for _ in 0..10_000 {
        for seat in driver.study.seats() {
            if let Stage::Questions { trial, questions } = driver.study.stage(seat, driver.now_ms) {
                let asked = questions.iter().find(|one| one.question == 2);
                if let Some(asked) = asked {
                    orders.insert(asked.options.clone());
                    assert_eq!(
                        driver.study.stage(seat, 0),
                        driver.study.stage(seat, 1),
                        "it stays"
                    );
                    let answered = |answer: &str, presented: Vec<String>| EventKind::Answered {
                        trial,
                        question: 2,
                        presented,
                        answer: answer.to_owned(),
                    };
                    let options = asked.options.clone();
                    assert!(!driver.apply(Some(seat), answered("lag", options.clone())));
                    assert!(!driver.apply(Some(seat), answered("delay", vec!["delay".to_owned()])));
                    driver.must(Some(seat), answered("", options));
                    continue;
                }
                if let Some(asked) = questions.iter().find(|one| one.required) {
                    let (question, presented) = (asked.question, asked.options.clone());
                    let answer = String::new();
                    let empty = EventKind::Answered { trial, question, presented, answer };
                    assert!(!driver.apply(Some(seat), empty), "this one must be answered");
                }
            }
            driver.act(seat, 0.0);
        }
        driver.play();
    }
    assert!(driver.study.is_over());
    assert!(orders.len() > 2, "{orders:?}");
}

/// What anybody might send, sense or not.
fn anything(driver: &mut Driver) -> (Option<SeatId>, EventKind) {
    let events = driver.events.len();
    let dice = &mut driver.dice;
    let mut below = |count: u64| dice.below(count) as u32;
    let (group, trial, attempt) = (below(6), below(45), below(4));
    let seat = Some(SeatId(below(10)));
    let kind = match below(20) {
        0 => EventKind::Claimed { secret_hash: ["a", "b", ""][below(3) as usize].to_owned() },
        1 | 2 => EventKind::Left,
        3 => EventKind::Returned,
        4 => EventKind::Consented,
        5 => EventKind::Calibrated(Calibration {
            floor_ms: [f64::NAN, 3.0, 60.0, -1.0][below(4) as usize],
            ..Calibration::default()
        }),
        6 => EventKind::Ready,
        7 => EventKind::Started { group, trial, attempt },
        8 => {
            let (flags, result) = (Vec::new(), Some(1.0));
            EventKind::Finished { group, trial, attempt, flags, result }
        }
        9 => EventKind::Broken { group, trial, attempt, reason: "by chance".to_owned() },
        10 => EventKind::Answered {
            trial: Some(trial),
            question: below(5),
            presented: Vec::new(),
            answer: "2".to_owned(),
        },
        11 => EventKind::Paused,
        12 => EventKind::Resumed,
        13 => EventKind::Repeated { group, trial },
        14 => EventKind::Skipped { group, trial },
        15 => EventKind::Noted { text: "hm".to_owned() },
        16 => EventKind::Revealed { group },
        17 => EventKind::MeasuresAgain,
        18 => EventKind::Freed { seat: below(10), code: format!("FREE{events}") },
        _ => EventKind::Changed {
            group: (below(2) == 0).then_some(group),
            setting: ["ping", "loss", "player.2.ping", "nothing"][below(4) as usize].to_owned(),
            value: ["70 ms", "", "3 %"][below(3) as usize].to_owned(),
        },
    };
    let seat = if kind.is_participants() || below(20) == 0 { seat } else { None };
    (seat, kind)
}

/// Somebody at a table drops while it plays, or the host plays on.
fn play_or_break(driver: &mut Driver) {
    let due = driver.study.due(driver.now_ms);
    for start in due {
        let (group, trial, attempt) = (start.group, start.trial.number, start.attempt);
        driver.must(None, EventKind::Started { group, trial, attempt });
        driver.now_ms += 500;
        if driver.dice.chance(0.2) {
            let seat = start.seats[0].0;
            driver.apply(Some(seat), EventKind::Left);
            let reason = "somebody dropped".to_owned();
            driver.must(None, EventKind::Broken { group, trial, attempt, reason });
        } else {
            let (flags, result) = (Vec::new(), Some(f64::from(driver.dice.chance(0.5))));
            driver.must(None, EventKind::Finished { group, trial, attempt, flags, result });
        }
    }
}

/// Every counted trial of everyone is finished, or was left out; none twice without being repeated.
fn check_history(driver: &Driver, seed: u64) {
    let mut open: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for event in &driver.events {
        match event.kind {
            EventKind::Finished { group, trial, .. } => {
                let times = open.entry((group, trial)).or_default();
                *times += 1;
                assert_eq!(*times, 1, "seed {seed}: trial {trial} finished twice");
            }
            EventKind::Repeated { group, trial } => {
                // Intervals are repeated in pairs: an odd number is the first.
                let is_pair = driver.study.people().intervals.is_some();
                let other = if trial % 2 == 1 { trial + 1 } else { trial - 1 };
                open.insert((group, trial), 0);
                open.extend(is_pair.then_some(((group, other), 0)));
            }
            // Both of two intervals, if the second is broken.
            EventKind::Broken { group, trial, .. }
                if driver.study.people().intervals.is_some() && trial % 2 == 0 =>
            {
                open.insert((group, trial - 1), 0);
            }
            EventKind::Skipped { group, trial } => {
                open.insert((group, trial), 0);
            }
            _ => {}
        }
    }
    let (_, plan) = read(&driver.text);
    let is_fixed = driver.study.people().staircase.is_none();
    let skipped = driver.events.iter().filter_map(|event| match event.kind {
        EventKind::Skipped { trial, .. } => Some(trial),
        _ => None,
    });
    let mut skipped: BTreeSet<u32> = skipped.collect();
    if driver.study.people().intervals.is_some() {
        let others: Vec<u32> = skipped
            .iter()
            .map(|trial| if trial % 2 == 1 { trial + 1 } else { trial - 1 })
            .collect();
        skipped.extend(others);
    }
    for trial in plan.trials.iter().filter(|_| is_fixed) {
        let finished = open.get(&(trial.participant, trial.number)) == Some(&1);
        let number = trial.number;
        assert!(finished || skipped.contains(&number), "seed {seed}: trial {number} is missing");
    }
}

/// First attempts come in the order of the plan, whatever is repeated in between. Only what was left out may come after
/// its turn, if that is taken back; nothing comes before it.
fn check_order(driver: &Driver, seed: u64) {
    let mut most: BTreeMap<u32, u32> = BTreeMap::new();
    let is_pair = driver.study.people().intervals.is_some();
    let skipped: BTreeSet<u32> = driver
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Skipped { trial, .. } => Some(trial),
            _ => None,
        })
        // Of two intervals both are left out.
        .flat_map(|trial| match (is_pair, trial % 2) {
            (false, _) => [trial; 2],
            (true, 1) => [trial, trial + 1],
            (true, _) => [trial - 1, trial],
        })
        .collect();
    for event in &driver.events {
        if let EventKind::Started { group, trial, attempt: 1 } = event.kind {
            let before = most.entry(group).or_default();
            assert!(
                *before < trial || skipped.contains(&trial),
                "seed {seed}: {trial} after {before}"
            );
            *before = (*before).max(trial);
        }
    }
}

#[test]
fn random_histories_keep_order_finish_each_trial_once_end_and_fold_again() {
    let stairs = STAIRS
        .replace("repetitions = 200", "participants = 2\nrepetitions = 12")
        .replace("reversals = 12", "reversals = 6");
    for seed in 0..500 {
        let text = [PAIRS, INTERVALS, &stairs][seed as usize % 3];
        let mut driver = driver(text, seed);
        for _ in 0..driver.dice.below(400) {
            driver.now_ms += driver.dice.below(4_000);
            match driver.dice.below(4) {
                0 => {
                    let (seat, kind) = anything(&mut driver);
                    let before = Driver::seen(&driver.study, driver.now_ms);
                    if !driver.apply(seat, kind.clone()) {
                        let after = Driver::seen(&driver.study, driver.now_ms);
                        assert_eq!(
                            before, after,
                            "seed {seed}: refused {kind:?} changed something"
                        );
                    }
                }
                1 => play_or_break(&mut driver),
                _ => {
                    let seats = driver.study.seats().count() as u64;
                    let seat = SeatId(driver.dice.below(seats) as u32 + 1);
                    driver.act(seat, 3.0);
                }
            }
        }
        let now = driver.now_ms;
        let again = driver.folded_again();
        let (one, other) = (Driver::seen(&driver.study, now), Driver::seen(&again, now));
        assert_eq!(one, other, "seed {seed}: folded again");
        // Then everybody does what pages ask for, and nobody waits for ever.
        driver.apply(None, EventKind::Resumed);
        for (group, trial, attempt) in driver.study.playing() {
            let reason = "the server stopped".to_owned();
            driver.must(None, EventKind::Broken { group, trial, attempt, reason });
        }
        for seat in driver.study.seats() {
            driver.apply(Some(seat), EventKind::Returned);
        }
        driver.finish(3.0);
        assert!(
            driver.study.is_over(),
            "seed {seed}: {}",
            Driver::seen(&driver.study, driver.now_ms)
        );
        check_history(&driver, seed);
        check_order(&driver, seed);
    }
}

#[test]
fn what_a_line_or_a_page_did_is_flagged_in_words() {
    let (experiment, _) = read(PAIRS);
    let people = experiment.people.expect("people");
    let second = |second: u32| Telemetry {
        trial: 1,
        attempt: 1,
        seat: SeatId(1),
        second,
        frames: 60,
        frame_ms: 16.7,
        frame_ms_95: 18.0,
        hidden_ms: 0.0,
        is_focused: true,
        ping_ms: Some(52.0),
        loss: Some(0.0),
        inputs: 9,
    };
    let fine: Vec<Telemetry> = (0..10).map(second).collect();
    let asked = Line { ping_ms: Some(50.0), loss: Some(0.0) };
    let names = |rows: &[Telemetry]| -> Vec<&str> {
        flags(asked, Line::achieved(rows), rows, &people).iter().map(|flag| flag.name).collect()
    };
    assert_eq!(names(&fine), [""; 0]);
    let with = |change: &dyn Fn(&mut Telemetry)| {
        let mut rows = fine.clone();
        rows[3..8].iter_mut().for_each(change);
        rows
    };
    let all = |change: &dyn Fn(&mut Telemetry)| {
        let mut rows = fine.clone();
        rows.iter_mut().for_each(change);
        rows
    };
    assert_eq!(names(&all(&|row| row.ping_ms = Some(72.0))), ["ping"], "20 ms from outside");
    assert_eq!(names(&all(&|row| row.ping_ms = None)), ["ping"]);
    assert_eq!(names(&all(&|row| row.loss = Some(0.05))), ["loss"]);
    assert_eq!(names(&all(&|row| row.frame_ms_95 = 40.0)), ["frames"]);
    assert_eq!(names(&with(&|row| row.hidden_ms = 1_000.0)), ["hidden"]);
    assert_eq!(names(&with(&|row| row.frames = 1)), ["throttled"]);
    assert_eq!(names(&with(&|row| row.is_focused = false)), ["focus"]);
    assert_eq!(names(&fine[7..]), ["silent"]);
}

#[test]
fn a_study_is_where_it_stopped_when_its_log_is_read_again() {
    let folder = Folder::new("people-again");
    let (experiment, plan): (Experiment, Plan) = read(PAIRS);
    let path = folder.file("people.db");
    let log = Log::write(&path, &experiment, &plan).expect("a log");
    let mut random = Seeded(Dice::new(9, 9));
    let study = log.study(&experiment, &plan, &mut random).expect("a study");
    let mut driver = driver(PAIRS, 9);
    driver.study = study;
    for round in 0..40 {
        for seat in driver.study.seats() {
            driver.act(seat, 2.5);
        }
        if round < 25 {
            driver.play();
        }
        for event in driver.events.split_off(0) {
            log.add_event(&driver.study, &event).expect("it is logged");
        }
    }
    drop(log);
    let log = Log::write(&path, &experiment, &plan).expect("the same log");
    let again = log.study(&experiment, &plan, &mut random).expect("the same study");
    let now = driver.now_ms;
    assert_eq!(Driver::seen(&driver.study, now), Driver::seen(&again, now));
    let sql = "SELECT COUNT(*), COUNT(DISTINCT seat) FROM question WHERE after = 'trial' AND kind = 'rating'";
    let (answers, seats): (i64, i64) =
        log.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("answers");
    assert!(answers > 8 && seats == 8, "{answers} of {seats}");
    let refused = log.merge(&other_people(&folder, &experiment, &plan));
    assert!(refused.expect_err("other people").to_string().contains("other participants"));
}

fn other_people(folder: &Folder, experiment: &Experiment, plan: &Plan) -> std::path::PathBuf {
    let path = folder.file("other.db");
    let log = Log::write(&path, experiment, plan).expect("a log");
    log.study(experiment, plan, &mut Seeded(Dice::new(8, 8))).expect("a study");
    path
}
