//! The claims of the theatre's scenes: each of their sentences is measured, on seeded runs.

use sametick::theatre::{HEADERS_BYTES, Recorded, Scene, Setup, Wire, run};
use sametick::{Model, Span};
use sametick_arena::scenes::{RUN_SPEED, RUNNER, SHOOTER};
use sametick_arena::theatre::{Staged, approaches, passed_behind, pressed_and_moved};

/// The panes.
const SERVER: usize = 0;
const A: usize = 1;
const B: usize = 2;
const TICK_SECONDS: f64 = 0.016_667;
const TICK_METRES: f32 = RUN_SPEED * 0.016_667;

fn staged(key: &str) -> Staged {
    Staged::named(key).expect("there is such a scene")
}

fn played(scene: &Staged) -> Recorded {
    run(scene, &scene.setup())
}

fn under(scene: &Staged, model: Model) -> Recorded {
    run(scene, &Setup { rates: model.rates, view: model.view, ..scene.setup() })
}

fn with_sight(scene: &Staged) -> Recorded {
    let mut setup = scene.setup();
    setup.rates.rewinding.needs_sight = true;
    run(scene, &setup)
}

/// How many shots there were, and how many hit.
fn hits(shown: &Recorded) -> (usize, usize) {
    (shown.shots.len(), shown.shots.iter().filter(|shot| shot.hit.is_some()).count())
}

/// How far a pane shows someone to move from one moment to another.
fn moves(shown: &Recorded, pane: usize, from: Span, to: Span) -> f32 {
    let [from, to] =
        [from, to].map(|at| shown.person(shown.frame_at(at), pane, RUNNER).expect("B is shown"));
    (to.place[0] - from.place[0]).abs()
}

#[test]
fn cover_b_dies_behind_the_wall_on_its_own_screen_and_lives_where_sight_is_needed() {
    let scene = staged("cover");
    let shown = played(&scene);
    let moment = scene.moment(&shown).unwrap();
    assert!(moment.seconds >= 0.1 && moment.metres > 0.4, "{moment:?}");
    assert!(shown.frames[moment.frame].at < Span::seconds(6), "it is there within 8 s");
    // A fired at what A's screen showed, within what is rewound.
    let shot = shown.shots[0];
    assert!(shot.seen.is_some() && shot.hit.is_some() && shot.present.is_none(), "{shot:?}");
    assert!(shot.rewound < Span::millis(249), "{:?}", shot.rewound);
    assert!(scene.hides(&shown, moment.frame - 1, B, [RUNNER, SHOOTER]));

    let fair = with_sight(&scene);
    let is_dead = |frame| fair.person(frame, SERVER, RUNNER).is_some_and(|own| !own.is_alive);
    assert!(!(0..fair.frames.len()).any(is_dead), "nobody dies where sight is needed");
    assert!(fair.shots.iter().any(|shot| shot.seen.is_some() && shot.hit.is_none()));
    assert!(scene.moment(&fair).unwrap().caption.contains("refused"));
}

#[test]
fn step_a_waits_a_round_trip_under_quake_and_is_put_right_at_the_bump_under_quakeworld() {
    let scene = staged("step");
    let waited = |shown: &Recorded| {
        let [pressed, moved] = pressed_and_moved(shown).unwrap();
        (shown.frames[moved].at - shown.frames[pressed].at).as_seconds_f64()
    };
    let quake = waited(&played(&scene));
    assert!((0.150..0.150 + 0.05 + 3.0 * TICK_SECONDS).contains(&quake), "{quake}");
    let shown = under(&scene, Model::QUAKEWORLD);
    assert!(waited(&shown) <= 3.0 * TICK_SECONDS, "{}", waited(&shown));
    let put_right = |shown: &Recorded| {
        shown.frames.iter().map(|frame| frame.panes[A].correction).fold(0.0, f32::max)
    };
    assert!(put_right(&shown) > 0.1, "{}", put_right(&shown));
    assert!(scene.moment(&shown).unwrap().caption.contains("bump"));
}

#[test]
fn crossing_every_shot_misses_by_speed_times_delay_and_half_life_makes_them_hit() {
    let scene = staged("crossing");
    let shown = played(&scene);
    let (shots, hit) = hits(&shown);
    assert!(shots >= 12 && hit == 0, "{hit} of {shots}");
    // Half a ping down, one snapshot of interpolation, half a ping up, and what commands are early by.
    let ping = scene.pings[0] as f64 / 1000.0;
    let snapshot = 3.0 * TICK_SECONDS;
    for shot in &shown.shots {
        let behind = passed_behind(&shown, shot).unwrap();
        let margin = shown.frames[shot.frame].panes[A].margin_ms.unwrap() / 1000.0;
        let foretold = RUN_SPEED * (ping + snapshot + margin.max(0.0)) as f32;
        let off = behind - foretold;
        assert!(off.abs() <= TICK_METRES, "{behind} m behind, {foretold} m foretold");
    }
    let (shots, hit) = hits(&under(&scene, Model::HALF_LIFE));
    assert!(shots >= 12 && hit == shots, "{hit} of {shots}");
}

#[test]
fn peek_a_sees_b_before_b_can_see_a_and_longer_with_a_longer_line() {
    let scene = staged("peek");
    let ahead = |ping: u64| {
        let mut setup = scene.setup();
        setup.wires = vec![Wire::of(Span::millis(ping)); 2];
        scene.moment(&run(&scene, &setup)).unwrap().seconds
    };
    let [short, usual, long] = [10, 60, 160].map(ahead);
    // Both ways of the line, and the snapshots that B waits for.
    assert!((0.1..0.25).contains(&usual), "{usual}");
    let grown = [usual - short, long - usual];
    assert!((grown[0] - 0.05).abs() < 0.035 && (grown[1] - 0.1).abs() < 0.035, "{grown:?}");
}

#[test]
fn tree_b_is_hit_through_the_tree_until_a_clear_line_is_needed() {
    let scene = staged("tree");
    let shown = played(&scene);
    let (shots, hit) = hits(&shown);
    assert!(shots >= 50 && hit == shots, "{hit} of {shots}");
    for shot in &shown.shots {
        assert!(!scene.sees(&shown, shot.frame, B, [RUNNER, SHOOTER]), "{shot:?}");
        assert!(shot.present.is_none() && shot.rewound < Span::millis(249), "{shot:?}");
    }
    let frames = 60..shown.frames.len();
    let open = frames.clone().filter(|frame| scene.sees(&shown, *frame, A, [SHOOTER, RUNNER]));
    let (open, all) = (open.count(), frames.len());
    assert!(open * 100 > all * 95, "A's screen shows no tree in the way in {open} of {all}");
    let past: Vec<usize> =
        frames.filter(|frame| scene.sees(&shown, *frame, B, [RUNNER, SHOOTER])).collect();
    assert!(past.is_empty(), "B sees past the tree in {past:?}");
    assert_eq!(hits(&with_sight(&scene)).1, 0);
}

#[test]
fn rockets_pass_behind_b_and_meet_it_under_doom3_until_it_turns() {
    let scene = staged("rockets");
    // Those that come while B has run straight for as long as anybody looks back and ahead.
    let steady = |shown: &Recorded| -> Vec<f32> {
        let straight = |frame: usize| {
            let places = (frame.saturating_sub(45)..=frame)
                .filter_map(|frame| shown.person(frame, SERVER, RUNNER).map(|own| own.place[0]));
            let places: Vec<f32> = places.collect();
            let ran = (places[places.len() - 1] - places[0]).abs();
            frame > 45 && ran > 0.97 * RUN_SPEED * 45.0 * 0.016_667
        };
        let near = approaches(shown).into_iter();
        near.filter(|(frame, _)| straight(*frame)).map(|(_, off)| off).collect()
    };
    let quake3 = steady(&played(&scene));
    assert!(quake3.len() >= 3 && quake3.iter().all(|off| *off > 0.8), "{quake3:?}");
    let shown = under(&scene, Model::DOOM3);
    let doom3 = steady(&shown);
    assert!(doom3.len() >= 3 && doom3.iter().all(|off| *off < 0.8), "{doom3:?}");
    assert!(approaches(&shown).iter().any(|(_, off)| *off > 1.0), "until it turns");
}

#[test]
fn burst_some_models_freeze_some_run_on_and_some_guess() {
    let scene = staged("burst");
    let [from, to] = scene.silent.unwrap().map(Span::millis);
    // From when the last that came has been shown.
    let (early, late) = (from + Span::millis(200), to);
    let shown = |model| under(&scene, model);
    for model in [Model::QUAKE, Model::QUAKE3, Model::HALF_LIFE] {
        let shown = shown(model);
        let [frozen, truth] = [A, SERVER].map(|pane| moves(&shown, pane, early, late));
        assert!(frozen < 0.1 && truth > 2.0, "{}: {frozen} of {truth} m", model.name);
    }
    // A tenth of a second further than who rests at the newest; B runs the same in both.
    let ends = |model| {
        let shown = shown(model);
        shown.person(shown.frame_at(late), A, RUNNER).unwrap().place[0]
    };
    let on = (ends(Model::QUAKEWORLD) - ends(Model::QUAKE3)).abs();
    assert!((on - 0.1 * RUN_SPEED).abs() < 2.0 * TICK_METRES, "{on} m");
    let guessed = shown(Model::DOOM3);
    let worst = (guessed.frame_at(early)..guessed.frame_at(late))
        .map(|frame| guessed.error(frame, A, false))
        .fold(0.0, f32::max);
    // Its own time is ahead of the server's by the way there.
    assert!(worst < RUN_SPEED * 0.09, "{worst} m");
}

#[test]
fn a_burst_to_a_alters_as_pane_only() {
    let scene = staged("burst");
    let [with, without] = [true, false].map(|is_silent| {
        let mut setup = scene.setup();
        setup.wires[0].silent = setup.wires[0].silent.filter(|_| is_silent);
        run(&scene, &setup)
    });
    let same = |pane: usize| {
        let pairs = with.frames.iter().zip(&without.frames);
        pairs.filter(|(one, other)| one.panes[pane].hash != other.panes[pane].hash).count()
    };
    assert_eq!((same(SERVER), same(B)), (0, 0));
    assert!(same(A) > 20, "{}", same(A));
}

#[test]
fn what_is_drawn_of_the_wire_is_what_the_lines_and_the_channel_counted() {
    let scene = staged("cover");
    let mut setup = scene.setup();
    (setup.wires[0].loss, setup.wires[1].jitter) = (0.05, Span::millis(15));
    let shown = run(&scene, &setup);
    for (player, sums) in (0..).zip(&shown.sums) {
        for (is_up, sum) in [true, false].into_iter().zip(sums) {
            let packets = shown.packets.iter();
            let own = packets.filter(|packet| packet.player.0 == player && packet.is_up == is_up);
            let packets: Vec<_> = own.collect();
            let bytes: u64 = packets.iter().map(|packet| u64::from(packet.bytes)).sum();
            let end = shown.begins + setup.length - Span::millis(200);
            let never = packets.iter().filter(|p| p.arrived.is_none() && p.sent < end).count();
            assert_eq!((packets.len() as u64, bytes), (sum.packets, sum.bytes));
            assert!((never as u64).abs_diff(sum.lost) <= 2, "{never} of {}", sum.lost);
            let slow = packets.iter().filter_map(|packet| Some(packet.arrived? - packet.sent));
            let ping = setup.wires[usize::from(player)].ping;
            assert!(slow.min().unwrap() >= ping / 2);
        }
        // What both ends of the connection have counted as sent is what the lines carried, to the byte.
        for (sum, counted) in sums.iter().zip(shown.channel[usize::from(player)]) {
            let bytes = counted.bytes - HEADERS_BYTES * counted.packets;
            assert_eq!((sum.packets, sum.bytes), (counted.packets, bytes));
        }
    }
    assert!(shown.sums[0][0].lost > 10 && shown.sums[1][0].lost == 0);
}

#[test]
fn the_same_seed_gives_the_same_scene_and_another_line_another() {
    for scene in Staged::all() {
        let mut setup = scene.setup();
        let first = run(&scene, &setup);
        // What `sametick theatre --trace` and the page say, too.
        println!("{} {:016x}", scene.key, first.trace());
        assert_eq!(first.trace(), run(&scene, &setup).trace(), "{}", scene.key);
        setup.wires[0].ping += Span::millis(10);
        assert_ne!(first.trace(), run(&scene, &setup).trace(), "{}", scene.key);
    }
}
