//! What the figures and strips of a net graph measure.

use super::run::{Run, SEED, line, lossy};
use sametick::health::{FRAMES_MAX, Fate, KEPT, UPDATES_MAX};
use sametick::network::Conditions;
use sametick::{Others, Rates, Span, View};

/// The largest loss that was shown each way, looked at each half second.
fn losses(run: &mut Run, seconds: u64) -> [f64; 2] {
    let mut most = [0.0_f64; 2];
    for _ in 0..seconds * 2 {
        let figures = run.millis(500).figures();
        most[0] = most[0].max(figures.loss_down_percent);
        most[1] = most[1].max(figures.loss_up_percent);
    }
    most
}

#[test]
fn loss_downwards_moves_only_the_figure_for_down() {
    for share in [0.05, 0.2, 0.4] {
        let mut run = Run::new(&line(30));
        run.seconds(5).down(lossy(30, share));
        run.seconds(7);
        let [down, up] = losses(&mut run, 40);
        assert!(down > share * 100.0 * 0.8, "seed {SEED}, {share}: {down} %");
        assert_eq!(up, 0.0, "seed {SEED}, {share}");
    }
}

#[test]
fn loss_upwards_moves_only_the_figure_for_up() {
    for share in [0.05, 0.2, 0.4] {
        let mut run = Run::new(&line(30));
        run.seconds(5).up(lossy(30, share));
        run.seconds(7);
        let [down, up] = losses(&mut run, 40);
        assert!(up > share * 100.0 * 0.8, "seed {SEED}, {share}: {up} %");
        assert_eq!(down, 0.0, "seed {SEED}, {share}");
    }
}

#[test]
fn delay_that_is_added_outside_appears_in_the_ping() {
    for (up, down) in [(80, 30), (30, 80), (55, 55)] {
        let mut run = Run::new(&line(30));
        let before = run.seconds(10).figures().ping_ms.unwrap();
        run.up(line(up));
        run.down(line(down));
        let after = run.seconds(5).figures().ping_ms.unwrap();
        // A frame takes 16 ms, and what comes meanwhile waits for the next.
        let more = after - before;
        assert!((34.0..=66.0).contains(&more), "seed {SEED}: 50 ms more are {more}");
    }
}

#[test]
fn margin_age_and_rewind_fit_the_line() {
    let mut run = Run::new(&line(30));
    let figures = run.seconds(20).figures();
    let margin = figures.margin_ms.unwrap();
    assert!((0.0..40.0).contains(&margin), "seed {SEED}: {figures:?}");
    // 30 ms on their way, and two snapshots of 50 ms behind.
    let age = figures.others_age_ms.unwrap();
    assert!((120.0..=165.0).contains(&age), "seed {SEED}: {figures:?}");
    let (needed, rewound) = (figures.needs_rewind_ms.unwrap(), figures.rewound_ms.unwrap());
    assert!((needed - rewound).abs() < 35.0, "seed {SEED}: {figures:?}");
    assert!((160.0..=230.0).contains(&rewound), "seed {SEED}: {figures:?}");
    assert!((48.0..=52.0).contains(&figures.gap_ms.mean), "seed {SEED}: {figures:?}");
    assert!((19.0..=21.0).contains(&figures.updates_per_second), "seed {SEED}: {figures:?}");
    assert_eq!((figures.late_per_second, figures.repeated_per_second), (0.0, 0.0));
    assert_eq!((figures.frame_ms.mean, figures.frame_ms.worst), (16.0, 16.0));
    assert_eq!(figures.server_tick_ms.map(|tick| tick.mean), Some(2.0));
    assert!(figures.to_string().ends_with(" kB/s"), "{figures}");
}

#[test]
fn those_who_are_predicted_have_no_age() {
    let view = View { others: Others::Predicted, ..View::USUAL };
    let mut run = Run::with(&line(30), Rates::USUAL, view, 0);
    assert_eq!(run.seconds(10).figures().others_age_ms, Some(0.0), "seed {SEED}");
    let view = View { others: Others::Latest, ..View::USUAL };
    let mut run = Run::with(&line(30), Rates::USUAL, view, 0);
    let age = run.seconds(10).figures().others_age_ms.unwrap();
    assert!((30.0..=95.0).contains(&age), "seed {SEED}: {age}");
}

#[test]
fn rates_are_what_the_network_carried() {
    let mut run = Run::with(&line(30), Rates::USUAL, View::USUAL, 50);
    run.seconds(10);
    let delivered = |run: &Run| run.network.statistics(run.here, run.there).delivered;
    let before = (delivered(&run), run.received_bytes);
    let figures = run.seconds(2).figures();
    let datagrams = (delivered(&run) - before.0) as f64 / 2.0;
    let bytes = (run.received_bytes - before.1) as f64 / 2.0;
    // The figure counts 28 bytes of UDP and IP for each.
    let carried = bytes + datagrams * 28.0;
    let off = (figures.in_bytes_per_second - carried).abs();
    assert!(off < carried * 0.05, "seed {SEED}: {carried}, {figures:?}");
}

#[test]
fn the_view_is_past_the_newest_update_only_while_none_comes() {
    let mut run = Run::new(&line(30));
    run.seconds(10);
    let views = |run: &Run| -> Vec<f64> {
        let screens = run.health.frames().iter().filter_map(|(_, frame)| frame.screen);
        screens.map(|screen| screen.past_newest_ms).collect()
    };
    assert!(views(&run).iter().all(|past| (-150.0..=0.0).contains(past)), "{:?}", views(&run));
    run.cut(false, true);
    run.millis(400);
    let past = *views(&run).last().unwrap();
    assert!((200.0..=400.0).contains(&past), "seed {SEED}: {past}");
}

#[test]
fn what_is_overtaken_is_late_and_not_lost() {
    let mut run = Run::new(&line(30));
    let reorder_by = Span::millis(80);
    run.seconds(5).down(Conditions { reorder: 0.1, reorder_by, ..line(30) });
    run.seconds(15);
    let count =
        |fate: Fate| run.health.updates().iter().filter(|(_, bar)| bar.fate == fate).count();
    assert!(count(Fate::Late) >= 4, "seed {SEED}");
    let lost = run.figures().loss_down_percent;
    assert!(lost <= 1.0, "seed {SEED}: {lost} %");
}

#[test]
fn corrections_are_measured_in_what_the_game_measures() {
    let mut run = Run::new(&line(30));
    run.seconds(10);
    let most = |run: &Run| {
        let corrections = run.health.updates().iter().map(|(_, bar)| bar.update.correction);
        corrections.fold(0.0, f32::max)
    };
    assert_eq!(most(&run), 0.0, "seed {SEED}");
    // Without commands the runner stands still on the server, and we run at 6 m/s.
    run.cut(true, false);
    run.millis(300).cut(false, false);
    run.seconds(2);
    assert!((0.2..3.0).contains(&most(&run)), "seed {SEED}: {}", most(&run));
}

#[test]
fn rings_stay_bounded_however_fast_the_screen_and_the_server_are() {
    let rates = Rates { tick_length: Span::millis(2), ticks_per_snapshot: 1, ..Rates::USUAL };
    let mut run = Run::with(&line(10), rates, View::USUAL, 0);
    run.frame = Span::millis(1);
    run.seconds(12);
    assert_eq!(run.health.frames().len(), FRAMES_MAX);
    assert_eq!(run.health.updates().len(), UPDATES_MAX);
    run.frame = Span::millis(16);
    run.seconds(8);
    let oldest = run.health.frames().iter().next().map(|(at, _)| at).unwrap();
    assert!(run.now - oldest <= KEPT + run.frame * 2);
}
