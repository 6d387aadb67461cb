//! A run that fires each warning, one that must not, and one at its edge.

use super::run::{Run, SEED, jittery, line, lossy};
use sametick::health::{Kind, Link, Severity, Whose};
use sametick::network::Conditions;
use sametick::{Rates, Rewinding, Span, View};

/// The number behind some words in a sentence.
fn number(sentence: &str, behind: &str) -> f64 {
    let rest = sentence.split_once(behind).map(|(_, rest)| rest);
    let digits = rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next());
    let digits = digits.flatten().unwrap_or_default().trim_end_matches('.');
    digits.parse().unwrap_or_else(|_| panic!("no number behind {behind:?} in {sentence:?}"))
}

#[test]
fn a_line_without_faults_is_not_warned_of() {
    let mut run = Run::new(&line(30));
    run.seconds(60).is_silent();
    let mut run = Run::new(&line(0));
    run.seconds(20).is_silent();
}

#[test]
fn late_commands_are_warned_of_with_how_much_earlier_they_go() {
    let mut run = Run::new(&line(30));
    run.seconds(10).up(line(90));
    run.seconds(10);
    let shown = run.only(Kind::Late);
    assert!(shown.sentences[0].starts_with("Commands arrive late. Sending "), "{shown:?}");
    let earlier = number(&shown.sentences[0], "Sending ");
    assert!((40.0..=75.0).contains(&earlier), "seed {SEED}: 60 ms more, {shown:?}");
    assert_eq!(run.shown.len(), 1, "seed {SEED}: {:?}", run.shown);
}

#[test]
fn a_little_jitter_upwards_is_no_lateness() {
    let mut run = Run::new(&line(30));
    run.up(jittery(30, 10));
    run.seconds(40).is_silent();
}

#[test]
fn at_the_edge_of_lateness_nothing_flickers() {
    let mut run = Run::new(&line(30));
    run.seconds(10);
    for _ in 0..8 {
        run.up(line(90));
        run.millis(1_500).up(line(30));
        run.millis(1_500);
    }
    assert_eq!(run.only(Kind::Late).severity, Severity::Warning);
}

#[test]
fn lost_updates_are_warned_of_and_many_are_severe() {
    let mut run = Run::new(&line(30));
    run.seconds(5).down(lossy(30, 0.1));
    run.seconds(30);
    let shown = run.only(Kind::Lost);
    let words = &shown.sentences[1];
    assert!(words.ends_with(" % of updates are lost. Others are partly guessed."), "{words}");
    assert!((5.0..=16.0).contains(&number(words, "")), "seed {SEED}: {words}");
    assert_eq!(shown.severity, Severity::Warning, "seed {SEED}");
    run.down(lossy(30, 0.4));
    run.seconds(15);
    assert_eq!(run.only(Kind::Lost).severity, Severity::Severe, "seed {SEED}");
}

#[test]
fn one_lost_update_in_a_hundred_is_not_warned_of() {
    let mut run = Run::new(&line(30));
    run.down(lossy(30, 0.01));
    run.seconds(60).is_silent();
}

#[test]
fn at_the_edge_of_loss_nothing_flickers() {
    let mut run = Run::new(&line(30));
    run.down(lossy(30, 0.05));
    run.seconds(60);
    let shown = run.stretches(Kind::Lost).len();
    assert!((1..=4).contains(&shown), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn uneven_updates_are_warned_of_with_how_much_later_others_are_shown() {
    let mut run = Run::new(&line(20));
    run.seconds(5).down(jittery(20, 100));
    run.seconds(25);
    let shown = run.only(Kind::Uneven);
    let (uneven, later) =
        (number(&shown.sentences[1], "±"), number(&shown.sentences[1], "others "));
    assert!((25.0..=60.0).contains(&uneven), "seed {SEED}: {shown:?}");
    assert!((20.0..=70.0).contains(&later), "seed {SEED}: {shown:?}");
}

#[test]
fn updates_that_are_a_little_uneven_are_not_warned_of() {
    let mut run = Run::new(&line(20));
    run.down(jittery(20, 30));
    run.seconds(40).is_silent();
}

#[test]
fn one_hiccup_is_not_uneven() {
    let mut run = Run::new(&line(20));
    run.seconds(10).down(line(220));
    run.millis(200).down(line(20));
    run.seconds(10);
    assert!(run.stretches(Kind::Uneven).is_empty(), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn at_the_edge_of_unevenness_nothing_flickers() {
    let mut run = Run::new(&line(20));
    run.down(jittery(20, 70));
    run.seconds(60);
    let shown = run.stretches(Kind::Uneven).len();
    assert!((1..=4).contains(&shown), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn a_full_line_is_warned_of_with_what_comes_and_what_would() {
    let mut run = Run::limited(4_000, 200);
    run.seconds(20);
    let shown = run.only(Kind::Full);
    assert!(shown.sentences[1].ends_with(" updates a second instead of 20."), "{shown:?}");
    let sent = number(&shown.sentences[1], "Full: ");
    let seen = run.figures().updates_per_second;
    assert!((4.0..15.0).contains(&sent), "seed {SEED}: {shown:?}");
    assert!((sent - seen).abs() <= 2.0, "seed {SEED}: {sent} were sent, {seen} came");
}

#[test]
fn a_line_with_room_is_not_full() {
    let mut run = Run::limited(20_000, 200);
    run.seconds(20).is_silent();
}

#[test]
fn at_the_edge_of_a_full_line_nothing_flickers() {
    for ceiling in [4_600, 4_800, 5_000, 5_200, 5_400] {
        let mut run = Run::limited(ceiling, 200);
        run.seconds(60);
        let shown = run.stretches(Kind::Full).len();
        assert!(shown <= 3, "seed {SEED}, {ceiling} bytes a second: {:#?}", run.shown);
    }
}

#[test]
fn a_line_that_is_too_narrow_is_always_warned_of() {
    for bytes in [4_000, 8_000] {
        let narrow = Conditions {
            bandwidth_bytes_per_second: Some(bytes),
            queue_bytes_max: 3_000,
            ..line(30)
        };
        let mut run = Run::with(&line(30), Rates::USUAL, View::USUAL, 200);
        run.seconds(2).down(narrow);
        run.seconds(20);
        assert!(run.health.warning().is_some(), "seed {SEED}: {:#?}", run.shown);
        let whose = run.health.warning().map(|warning| warning.whose);
        assert_eq!(whose, Some(Whose::Line), "seed {SEED}: {:#?}", run.shown);
    }
}

#[test]
fn commands_that_do_not_come_are_warned_of_with_for_how_long() {
    let mut run = Run::new(&line(30));
    run.seconds(10).cut(true, false);
    run.millis(700).cut(false, false);
    run.seconds(10);
    let shown = run.only(Kind::Repeated);
    let first = number(&shown.sentences[0], "last command for ");
    let last = number(&shown.sentences[1], "last command for ");
    assert!((250.0..=300.0).contains(&first), "seed {SEED}: {shown:?}");
    assert!((450.0..=750.0).contains(&last), "seed {SEED}: {shown:?}");
}

#[test]
fn commands_that_do_not_come_for_a_moment_are_not_warned_of_so() {
    let mut run = Run::new(&line(30));
    run.seconds(10).cut(true, false);
    run.millis(150).cut(false, false);
    run.seconds(10);
    assert!(run.stretches(Kind::Repeated).is_empty(), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn at_the_edge_of_missing_commands_nothing_flickers() {
    let mut run = Run::new(&line(30));
    run.seconds(10);
    for _ in 0..10 {
        run.cut(true, false);
        run.millis(320).cut(false, false);
        run.millis(1_000);
    }
    let shown = run.stretches(Kind::Repeated).len();
    assert!((1..=2).contains(&shown), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn a_ping_beyond_what_is_rewound_is_warned_of() {
    let mut run = Run::new(&line(145));
    run.seconds(20);
    let shown = run.only(Kind::Far);
    assert!(shown.sentences[1].ends_with(" ms exceeds what the server rewinds. Aim ahead."));
    let ping = number(&shown.sentences[1], "Ping ");
    assert!((285.0..=315.0).contains(&ping), "seed {SEED}: {shown:?}");
}

#[test]
fn a_ping_within_what_is_rewound_and_a_server_that_rewinds_nothing_are_not_warned_of() {
    let mut run = Run::new(&line(60));
    run.seconds(20).is_silent();
    let rates = Rates { rewinding: Rewinding::NONE, ..Rates::USUAL };
    let mut run = Run::with(&line(145), rates, View::USUAL, 0);
    run.seconds(20).is_silent();
}

#[test]
fn at_the_edge_of_what_is_rewound_nothing_flickers() {
    let mut run = Run::new(&line(76));
    for turn in 0..20 {
        let delay = if turn % 2 == 0 { 75 } else { 81 };
        run.up(line(delay));
        run.down(line(delay));
        run.millis(1_500);
    }
    assert!(run.stretches(Kind::Far).len() <= 3, "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn a_stream_that_holds_up_updates_is_warned_of() {
    let mut run = Run::over_stream(&lossy(30, 0.01), Link::Stream);
    run.seconds(30);
    let shown = run.stretches(Kind::HeldUp);
    assert!(!shown.is_empty(), "seed {SEED}: {:#?}", run.shown);
    assert_eq!(
        shown[0].sentences[0], "WebSocket: one lost packet holds up those behind it.",
        "seed {SEED}"
    );
}

#[test]
fn a_stream_that_holds_up_nothing_and_datagrams_are_not_warned_of_so() {
    let mut run = Run::over_stream(&line(30), Link::Stream);
    run.seconds(30).is_silent();
    let mut run = Run::new(&lossy(30, 0.01));
    run.seconds(30);
    assert!(run.stretches(Kind::HeldUp).is_empty(), "seed {SEED}: {:#?}", run.shown);
    let mut run = Run::over_stream(&lossy(30, 0.01), Link::Datagrams);
    run.seconds(30);
    assert!(run.stretches(Kind::HeldUp).is_empty(), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn at_the_edge_of_hold_ups_nothing_flickers() {
    let mut run = Run::over_stream(&lossy(30, 0.002), Link::Stream);
    run.seconds(60);
    assert!(run.stretches(Kind::HeldUp).len() <= 6, "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn slow_frames_are_the_computers_fault() {
    let mut run = Run::new(&line(30));
    run.frame = Span::millis(31);
    run.seconds(10);
    let shown = run.only(Kind::SlowFrames);
    assert_eq!(shown.sentences[0], "Frames take 31 ms; the game runs at 16.7.");
    assert_eq!(run.health.warning().map(|warning| warning.whose), Some(Whose::Computer));
    assert_eq!(shown.severity, Severity::Warning);
}

#[test]
fn frames_a_little_over_a_tick_are_not_warned_of() {
    let mut run = Run::new(&line(30));
    run.frame = Span::millis(20);
    run.seconds(20).is_silent();
    // One that takes long is a hiccup.
    run.frame = Span::millis(400);
    run.millis(10).frame = Span::millis(16);
    run.seconds(5);
    assert!(run.stretches(Kind::SlowFrames).is_empty(), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn at_the_edge_of_slow_frames_nothing_flickers() {
    let mut run = Run::new(&line(30));
    for turn in 0..20 {
        run.frame = Span::millis(if turn % 2 == 0 { 27 } else { 23 });
        run.seconds(2);
    }
    assert_eq!(run.only(Kind::SlowFrames).severity, Severity::Warning, "seed {SEED}");
}

#[test]
fn slow_ticks_are_the_servers_fault() {
    let mut run = Run::new(&line(30));
    run.tick_takes = Span::millis(24);
    run.seconds(10);
    assert_eq!(run.only(Kind::SlowTicks).sentences[1], "Ticks take 24 ms of 16.7.");
    assert_eq!(run.health.warning().map(|warning| warning.whose), Some(Whose::Server));
    run.tick_takes = Span::millis(5);
    run.seconds(6);
    assert_eq!(run.health.warning(), None, "seed {SEED}");
}

#[test]
fn a_server_with_time_to_spare_is_not_warned_of() {
    let mut run = Run::new(&line(30));
    run.tick_takes = Span::millis(14);
    run.seconds(20).is_silent();
}

#[test]
fn at_the_edge_of_slow_ticks_nothing_flickers() {
    let mut run = Run::new(&line(30));
    for turn in 0..20 {
        run.tick_takes = Span::millis(if turn % 2 == 0 { 18 } else { 15 });
        run.seconds(2);
    }
    run.only(Kind::SlowTicks);
}

#[test]
fn a_silent_server_is_warned_of_at_once() {
    let mut run = Run::new(&line(30));
    run.seconds(10).cut(true, true);
    run.millis(1_700).cut(false, false);
    run.seconds(10);
    let shown = run.only(Kind::Silent);
    assert!((1.0..=1.1).contains(&number(&shown.sentences[0], "Silent for ")), "{shown:?}");
    assert!(shown.sentences[0].ends_with(" s. Reconnecting."), "{shown:?}");
    assert!((1.4..=1.8).contains(&number(&shown.sentences[1], "Silent for ")), "{shown:?}");
    assert_eq!(shown.severity, Severity::Severe);
}

#[test]
fn a_server_that_is_silent_for_a_moment_is_not_warned_of_so() {
    let mut run = Run::new(&line(30));
    run.seconds(10).cut(true, true);
    run.millis(700).cut(false, false);
    run.seconds(10);
    assert!(run.stretches(Kind::Silent).is_empty(), "seed {SEED}: {:#?}", run.shown);
}

#[test]
fn at_the_edge_of_silence_nothing_flickers() {
    let mut run = Run::new(&line(30));
    run.seconds(10);
    for _ in 0..8 {
        run.cut(true, true);
        run.millis(1_100).cut(false, false);
        run.millis(400);
    }
    run.only(Kind::Silent);
}

#[test]
fn whoever_was_away_blames_nobody() {
    let mut run = Run::new(&line(30));
    run.seconds(10).away(5).seconds(10).is_silent();
}
