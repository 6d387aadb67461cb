//! The four cases of the papers: what the shooter saw, what the server had, and what the one who was shot saw of it.

use super::range::{FRAME_MILLIS, TICK_METRES, TICK_SECONDS};
use crate::harness::{Match, STEP, Setup, line};
use sametick::{PlayerId, Span, Time};
use sametick_arena::body::RADIUS_METRES;
use sametick_arena::scenes::{
    BEGINS_AT, CORNER_EDGE_X, RUN_SPEED, RUNNER, SHOOTER, Scene, fighter,
};
use sametick_arena::vector::{Vector, direction, dot, subtract, unit};

/// What a shot was to its shooter and to the server.
#[derive(Clone, Copy, Debug)]
struct Shot {
    by: PlayerId,
    /// Hit on the shooter's screen, in the present, and after all.
    seen: bool,
    present: bool,
    hit: bool,
    rewound: Span,
    /// Whether the server had the two in sight of each other then.
    is_in_sight: bool,
    /// How far from the target as it was the bullet passed.
    passed_by: f32,
}

/// What a wound was to who was wounded, on its own screen, when it heard of it.
#[derive(Clone, Copy, Debug)]
struct Wound {
    /// For how long it had been behind cover, wholly.
    hidden: Span,
    place: Vector,
    /// How much it looked towards who shot: 1 is straight at.
    faces: f32,
}

#[derive(Debug, Default)]
struct Told {
    shots: Vec<Shot>,
    wounds: Vec<Wound>,
    /// Of so many looks of the runner in how many the shooter was in sight.
    looks: u32,
    clear_looks: u32,
}

impl Told {
    fn of(&self, by: PlayerId) -> impl Iterator<Item = &Shot> {
        self.shots.iter().filter(move |shot| shot.by == by)
    }

    fn count(&self, by: PlayerId, holds: impl Fn(&Shot) -> bool) -> usize {
        self.of(by).filter(|shot| holds(shot)).count()
    }

    fn hidden_at_most(&self) -> Span {
        self.wounds.iter().map(|wound| wound.hidden).max().unwrap_or_default()
    }
}

fn play(mut scene: Scene, needs_sight: bool) -> Told {
    scene.model.rates.rewinding.needs_sight = needs_sight;
    scene.content.map.visibility();
    let lines = scene.pings.map(|ping| line(ping.as_micros() / 1000, 0, 0.0));
    let mut play = Match::new(&Setup {
        content: &scene.content,
        rates: scene.model.rates,
        views: &[scene.model.view; 2],
        lines: &lines,
        seed: 7,
    });
    let begins = Time::from_micros((BEGINS_AT * 1e6) as u64) + Span::millis(500);
    let (mut told, mut health, mut open_at) = (Told::default(), None, Time::ZERO);
    while play.now < begins + Span::from_millis_f64(f64::from(scene.seconds) * 1000.0) {
        if play.step_server(|_, _| {}) {
            keep_shots(&scene, &mut play, &mut told);
        }
        let is_frame = play.millis().is_multiple_of(FRAME_MILLIS);
        // The shooter comes first.
        let shooter_is_in = play.guests[0].client.me().is_some();
        for guest in 0..if !is_frame { 0 } else { 1 + usize::from(shooter_is_in) } {
            play.frame(guest, |me, view| scene.think(me, view, TICK_SECONDS));
        }
        let runner = &play.guests[1].client;
        if let Some(view) = runner.shown().filter(|_| play.now > begins && is_frame)
            && let (Some(own), Some(other)) = (fighter(view, RUNNER), fighter(view, SHOOTER))
        {
            let is_hidden = own.bounds().is_some_and(|body| scene.hides(other.eye(), body));
            open_at = if is_hidden { open_at } else { play.now };
            told.looks += 1;
            told.clear_looks += u32::from(scene.has_in_sight(view, RUNNER, SHOOTER));
            let snapshot = runner.snapshot().and_then(|world| fighter(world, RUNNER));
            let left = snapshot.map(|own| own.health);
            if left < health {
                let faces =
                    dot(direction(own.yaw, own.pitch), unit(subtract(other.eye(), own.eye())));
                let (hidden, place) = (play.now - open_at, own.position);
                told.wounds.push(Wound { hidden, place, faces });
            }
            health = left;
        }
        play.now += STEP;
    }
    told
}

fn keep_shots(scene: &Scene, play: &mut Match, told: &mut Told) {
    for verdict in play.server.take_verdicts() {
        let by = verdict.player;
        let other = if by == SHOOTER { RUNNER } else { SHOOTER };
        let world = play.server.world();
        let (Some(own), Some(target)) = (fighter(world, by), fighter(world, other)) else {
            continue;
        };
        let off = subtract(target.bounds().map_or([0.0; 3], |body| body.centre()), own.eye());
        let aim = direction(own.yaw, own.pitch);
        let beside = (dot(off, off) - dot(off, aim) * dot(off, aim)).max(0.0).sqrt();
        told.shots.push(Shot {
            by,
            seen: verdict.seen.is_some(),
            present: verdict.present.is_some(),
            hit: verdict.hit.is_some(),
            rewound: verdict.rewound,
            is_in_sight: scene.has_in_sight(world, by, other),
            passed_by: beside,
        });
    }
}

/// Of the shots of the one with the long line: how far back it sees, at least and at most.
fn ages(told: &Told) -> [f32; 2] {
    let seconds = || told.of(SHOOTER).map(|shot| shot.rewound.as_seconds_f64() as f32);
    [seconds().fold(f32::MAX, f32::min), seconds().fold(0.0, f32::max)]
}

#[test]
fn around_a_tree_one_is_shot_through_it_and_sight_in_the_present_robs_the_other() {
    let told = play(Scene::tree(), false);
    // On its own screen the tree hid all of the shooter all the time, and all of it from the shooter.
    assert_eq!((told.clear_looks, told.looks > 1900), (0, true), "{told:?}");
    assert!(told.wounds.len() >= 25, "{told:?}");
    let act = Span::from_millis_f64(f64::from(Scene::tree().seconds) * 1000.0);
    assert!(told.hidden_at_most() >= act - Span::millis(500), "{:?}", told.hidden_at_most());
    // Each of these shots was a hit on the shooter's screen; in the present none would have been.
    assert!(told.of(SHOOTER).all(|shot| shot.seen && shot.hit && !shot.present), "{told:?}");
    assert!(told.of(SHOOTER).all(|shot| !shot.is_in_sight), "{told:?}");
    let [least, most] = ages(&told);
    assert!(least > 0.150 && most < 0.250, "{least} to {most} s");

    // With sight in the present nobody is hurt: and every shot that hit on the shooter's screen did not.
    let told = play(Scene::tree(), true);
    assert_eq!((told.wounds.len(), told.clear_looks), (0, 0), "{told:?}");
    assert!(told.count(SHOOTER, |shot| shot.seen && !shot.hit) >= 25, "{told:?}");
}

#[test]
fn around_a_corner_one_is_shot_behind_it_and_sight_in_the_present_moves_the_wrong_to_the_shooter() {
    let mut scene = Scene::corner();
    // As many shots as there can be without killing it.
    scene.content.tuning.weapons[0].interval = 0.05;
    let told = play(scene.clone(), false);
    assert!(told.of(SHOOTER).all(|shot| shot.seen && shot.hit), "it hits what it sees: {told:?}");
    let around = told.count(SHOOTER, |shot| shot.hit && !shot.is_in_sight);
    assert!(around >= 4, "{around} hits from around the corner: {told:?}");
    // How deep: as far as it ran while the picture was under way and the shot came back, up to where a shot fell.
    let deepest =
        told.wounds.iter().map(|wound| wound.place[0] - CORNER_EDGE_X).fold(0.0, f32::max);
    let [_, age] = ages(&told);
    let runner_is_ahead = scene.pings[1].as_seconds_f64() as f32 + 2.0 * TICK_SECONDS;
    let foretold = RUN_SPEED * (age + runner_is_ahead);
    let shots_apart = RUN_SPEED * (0.05 + TICK_SECONDS);
    assert!(
        (foretold - 2.0 * shots_apart..foretold + TICK_METRES).contains(&deepest),
        "{deepest} m behind the edge, {foretold} m foretold"
    );
    // How long: on its own screen nothing of it had been in sight for as long as that takes.
    let hidden = told.hidden_at_most().as_seconds_f64() as f32;
    let wholly = (deepest - RADIUS_METRES) / RUN_SPEED;
    assert!(hidden > 0.05 && (hidden - wholly).abs() < 2.0 * TICK_SECONDS, "{hidden} s, {wholly}");

    // With sight in the present it is safe as soon as it is behind the corner.
    let told_else = play(scene, true);
    let hidden_else = told_else.hidden_at_most().as_seconds_f64() as f32;
    assert!(hidden_else <= runner_is_ahead, "{hidden_else} s");
    assert_eq!(told_else.count(SHOOTER, |shot| shot.hit && !shot.is_in_sight), 0);
    // But the shooter had it under the crosshair, and what it hit was not hit.
    assert_eq!(told_else.count(SHOOTER, |shot| shot.seen && !shot.hit), around);
    assert!(told_else.of(SHOOTER).all(|shot| shot.seen));
}

#[test]
fn who_run_at_each_other_are_hit_where_they_are() {
    let told = play(Scene::run_at_each_other(), false);
    for by in [SHOOTER, RUNNER] {
        let (all, hits) = (told.count(by, |_| true), told.count(by, |shot| shot.hit));
        // What is put back moves along the line of fire: it would have been hit in the present too.
        let same = told.count(by, |shot| shot.hit && shot.present);
        assert!(
            all >= 70 && hits * 100 >= all * 99 && same == hits,
            "{by:?}: {all}, {hits}, {same}"
        );
    }
    // Whoever was shot was looking at who shot.
    assert!(told.wounds.len() >= 70 && told.wounds.iter().all(|wound| wound.faces > 0.99));
}

#[test]
fn who_dashes_across_is_hit_where_it_was_and_does_not_see_the_gun() {
    let told = play(Scene::dash_across(), false);
    let all = told.count(SHOOTER, |_| true);
    assert!(all >= 70 && told.count(SHOOTER, |shot| shot.hit) * 100 >= all * 99, "{told:?}");
    // Bullets pass behind it, by its speed times how long ago the picture was.
    let [_, age] = ages(&told);
    let passed = told.of(SHOOTER).map(|shot| shot.passed_by).fold(0.0, f32::max);
    assert!((passed - RUN_SPEED * age).abs() < TICK_METRES, "{passed} m, {age} s");
    let missed = told.count(SHOOTER, |shot| shot.hit && !shot.present);
    assert!(missed * 10 > all * 8, "{missed} of {all} hit nothing in the present");
    // With a field of view of 90 degrees it cannot see where the other aims.
    let half_view = libm::cosf(std::f32::consts::FRAC_PI_4);
    assert!(told.wounds.iter().all(|wound| wound.faces < half_view), "{told:?}");
    // Sight in the present changes nothing here: it is in sight, and is hit beside where it is.
    let told_else = play(Scene::dash_across(), true);
    let hits = |told: &Told| told.count(SHOOTER, |shot| shot.hit);
    assert_eq!(hits(&told_else), hits(&told));
}
