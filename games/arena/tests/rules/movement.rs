//! Running, jumping, crouching, steps and slopes; the same at every tick rate.

use super::play::{FIRST, Play, SECOND, block, hall, ramp};
use sametick_arena::{Weapon, body};

const RATES: [u32; 5] = [20, 60, 128, 400, 1000];

/// What every rate comes to, which may differ by so much of the highest rate's.
fn agree(what: &str, tolerance: f32, measure: impl Fn(u32) -> f32) {
    let truth = measure(1000);
    for rate in RATES {
        let got = measure(rate);
        let off = (got - truth).abs() / truth;
        println!("{what} at {rate} Hz: {got:.4} m, {:.2} % off", off * 100.0);
        assert!(off <= tolerance, "{what} at {rate} Hz: {got} instead of {truth}");
    }
}

#[test]
fn a_run_is_as_far_at_every_rate() {
    agree("run", 0.002, |rate| {
        let mut play = Play::new(&hall("", ""), rate, 1);
        let start = play.fighter(FIRST).position[0];
        play.hold(FIRST, |command| command.forward = 7);
        play.run(1.0);
        play.hold(FIRST, |command| command.forward = 0);
        play.run(1.0);
        assert_eq!(play.fighter(FIRST).velocity, [0.0; 3]);
        play.fighter(FIRST).position[0] - start
    });
}

#[test]
fn a_jump_is_as_high_at_every_rate() {
    agree("jump", 0.02, |rate| {
        let mut play = Play::new(&hall("", ""), rate, 1);
        let start = play.fighter(FIRST).position[2];
        play.hold(FIRST, |command| command.jump = true);
        play.tick();
        play.hold(FIRST, |command| command.jump = false);
        let mut top = start;
        play.until(|play| {
            top = top.max(play.fighter(FIRST).position[2]);
            play.fighter(FIRST).is_grounded
        });
        top - start
    });
}

#[test]
fn a_running_jump_is_as_wide_at_every_rate() {
    agree("running jump", 0.02, |rate| {
        let mut play = Play::new(&hall("", ""), rate, 1);
        play.hold(FIRST, |command| command.forward = 7);
        play.run(1.0);
        let start = play.fighter(FIRST).position[0];
        play.hold(FIRST, |command| (command.jump, command.right) = (true, 7));
        play.run(0.05);
        play.hold(FIRST, |command| command.jump = false);
        play.run(1.0);
        play.fighter(FIRST).position[0] - start
    });
}

#[test]
fn in_the_air_one_can_steer_but_not_stop() {
    let mut play = Play::new(&hall("", ""), 60, 1);
    play.hold(FIRST, |command| command.forward = 7);
    play.run(1.0);
    play.hold(FIRST, |command| (command.jump, command.forward) = (true, 0));
    play.tick();
    play.hold(FIRST, |command| (command.jump, command.right) = (false, 7));
    play.run(0.5);
    let velocity = play.fighter(FIRST).velocity;
    assert!(!play.fighter(FIRST).is_grounded);
    assert!(velocity[0] > 6.0 && velocity[1] < -4.0, "{velocity:?}");
}

#[test]
fn a_wall_is_slid_along_and_never_entered() {
    let mut play = Play::new(&hall(&block([0, -640, 0], [32, 640, 256]), ""), 60, 1);
    play.hold(FIRST, |command| (command.forward, command.right) = (7, -7));
    play.run(2.5);
    let position = play.fighter(FIRST).position;
    assert!((position[0] + body::RADIUS_METRES).abs() < 0.02, "{position:?}");
    assert!(position[1] > 10.0, "{position:?}");
}

#[test]
fn steps_are_taken_up_and_down_and_walls_are_not() {
    let mut stairs = String::new();
    for step in 0..8 {
        stairs += &block([-160 + step * 16, -64, 0], [-144 + step * 16, 64, 16 + step * 16]);
    }
    stairs += &block([-32, -64, 0], [64, 64, 128]);
    for rate in RATES {
        let mut play = Play::new(&hall(&stairs, ""), rate, 1);
        play.hold(FIRST, |command| command.forward = 7);
        let up = play.until(|play| play.fighter(FIRST).position[0] > 0.0);
        assert!(up && play.fighter(FIRST).position[2] > 3.9, "{rate}: {:?}", play.fighter(FIRST));
    }
    let mut play = Play::new(&hall(&block([0, -64, 0], [64, 64, 24]), ""), 60, 1);
    play.hold(FIRST, |command| command.forward = 7);
    play.run(2.0);
    assert!(play.fighter(FIRST).position[0] < 0.0, "24 units are too high a step");
    play.hold(FIRST, |command| command.jump = true);
    assert!(play.until(|play| play.fighter(FIRST).position[0] > 0.5), "but not for a jump");
}

#[test]
fn slopes_are_run_up_and_down_without_losing_ground() {
    let slope = ramp([-128, -128, 0], [128, 128, 128]) + &block([128, -128, 0], [256, 128, 128]);
    agree("slope", 0.01, |rate| {
        let mut play = Play::new(&hall(&slope, ""), rate, 1);
        play.hold(FIRST, |command| command.forward = 7);
        play.until(|play| play.fighter(FIRST).position[0] > 3.0);
        assert!((play.fighter(FIRST).position[2] - 3.5).abs() < 0.6, "{:?}", play.fighter(FIRST));
        assert!(play.fighter(FIRST).is_grounded);
        let start = play.fighter(FIRST).position[0];
        play.hold(FIRST, |command| command.forward = -7);
        for _ in 0..rate {
            play.tick();
            // Standing on the lower edge of its box, all the way down.
            assert!(play.fighter(FIRST).is_grounded, "{rate} {:?}", play.fighter(FIRST));
        }
        start - play.fighter(FIRST).position[0]
    });
}

#[test]
fn who_crouches_gets_under_and_cannot_stand_up_there() {
    let beam = block([-64, -640, 44], [64, 640, 256]);
    let mut play = Play::new(&hall(&beam, ""), 60, 1);
    play.hold(FIRST, |command| command.forward = 7);
    play.run(2.0);
    assert!(play.fighter(FIRST).position[0] < -2.0, "standing does not fit");
    play.hold(FIRST, |command| command.crouch = true);
    assert!(play.until(|play| play.fighter(FIRST).position[0] > -1.0));
    play.hold(FIRST, |command| (command.crouch, command.forward) = (false, 0));
    play.run(1.0);
    assert!(play.fighter(FIRST).is_crouched, "there is no room to stand up");
    play.hold(FIRST, |command| command.forward = 7);
    assert!(play.until(|play| play.fighter(FIRST).position[0] > 3.0));
    assert!(!play.fighter(FIRST).is_crouched);
}

#[test]
fn fighters_stand_in_each_others_way() {
    let mut play = Play::new(&hall("", ""), 60, 2);
    play.hold(FIRST, |command| command.forward = 7);
    play.run(4.0);
    let between = play.fighter(SECOND).position[0] - play.fighter(FIRST).position[0];
    assert!((0.79..0.9).contains(&between), "{between}");
}

#[test]
fn a_rocket_at_ones_feet_throws_one_up() {
    let mut play = Play::new(&hall("", ""), 60, 1);
    play.hold(FIRST, |command| {
        (command.weapon, command.pitch) = (Weapon::Launcher, -1.55);
    });
    play.run(0.5);
    play.hold(FIRST, |command| command.fire = true);
    let mut top: f32 = 0.0;
    play.until(|play| {
        top = top.max(play.fighter(FIRST).position[2]);
        false
    });
    assert!(top > 2.0, "{top}");
    assert!(play.fighter(FIRST).is_alive() || play.fighter(FIRST).respawn > 0.0);
}
