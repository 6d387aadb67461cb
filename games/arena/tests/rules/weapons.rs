//! Each weapon, and what it takes to use it.

use super::play::{FIRST, Play, SECOND, SEED, block, hall, thing};
use sametick::Effect;
use sametick_arena::vector::{dot, subtract, unit};
use sametick_arena::{
    Event, Fighter, HEALTH_MAX, Prop, Rocket, Seat, Tuning, Weapon, What, pellets_of,
};

fn fires(play: &mut Play, weapon: Weapon, seconds: f32) {
    play.hold(FIRST, |command| command.weapon = weapon);
    play.run(0.5);
    play.hold(FIRST, |command| command.fire = true);
    play.run(seconds);
    play.hold(FIRST, |command| command.fire = false);
}

#[test]
fn a_rifle_hits_where_one_looks_and_nothing_else() {
    let mut play = Play::new(&hall("", ""), 60, 2);
    fires(&mut play, Weapon::Rifle, 0.02);
    // Eye to eye: the head, which hurts twice as much.
    assert_eq!(play.fighter(SECOND).health, HEALTH_MAX - 36);
    play.hold(FIRST, |command| command.pitch = -0.03);
    fires(&mut play, Weapon::Rifle, 0.02);
    assert_eq!(play.fighter(SECOND).health, HEALTH_MAX - 36 - 18);
    play.hold(FIRST, |command| (command.yaw, command.pitch) = (0.1, 0.0));
    fires(&mut play, Weapon::Rifle, 0.5);
    assert_eq!(play.fighter(SECOND).health, HEALTH_MAX - 36 - 18, "20 m away, 0.1 is a miss");
}

#[test]
fn walls_stop_bullets_and_pellets_and_blasts() {
    for weapon in Weapon::ALL {
        let wall = block([300, -640, 0], [304, 640, 256]);
        let mut play = Play::new(&hall(&wall, ""), 60, 2);
        fires(&mut play, weapon, 2.0);
        play.run(1.0);
        assert_eq!(play.fighter(SECOND).health, HEALTH_MAX, "{weapon:?}");
    }
}

#[test]
fn the_rate_of_fire_is_the_same_at_every_tick_rate() {
    for rate in [20, 60, 128, 400, 1000] {
        let mut play = Play::new(&hall("", ""), rate, 1);
        fires(&mut play, Weapon::Rifle, 2.001);
        let shots = 30 - play.fighter(FIRST).loaded[0];
        assert!((20..=21).contains(&shots), "{rate} Hz: {shots}");
    }
}

#[test]
fn a_shotgun_hurts_those_who_are_near_more() {
    let hurt = |metres: f32| {
        let mut play = Play::new(&hall("", ""), 60, 2);
        play.hold(FIRST, |command| command.forward = 7);
        play.until(|play| play.fighter(FIRST).position[0] > 10.0 - metres);
        play.hold(FIRST, |command| command.forward = 0);
        play.hold(FIRST, |command| command.pitch = -0.05);
        fires(&mut play, Weapon::Shotgun, 0.02);
        HEALTH_MAX - play.fighter(SECOND).health
    };
    let (near, far) = (hurt(2.5), hurt(18.0));
    assert!(near >= 70 && far <= near / 2, "{near} near, {far} far");
}

#[test]
fn whoever_knows_the_seed_knows_where_pellets_go() {
    let mut play = Play::new(&hall("", ""), 60, 1);
    let _ = play.game.take_effects();
    fires(&mut play, Weapon::Shotgun, 0.02);
    let is_shot = |effect: Effect<Event>| match effect {
        Effect::Started { key, event, .. } if event.what == What::Shot => Some((key, event)),
        _ => None,
    };
    let shots: Vec<_> = play.game.take_effects().into_iter().filter_map(is_shot).collect();
    let [(key, shot)] = &shots[..] else { panic!("{shots:?}") };
    let tuning = &Tuning::default().weapons[Weapon::Shotgun.index()];
    let ways = pellets_of(tuning, shot.direction, SEED, (key.tick, key.entity));
    assert_eq!(ways.len(), usize::from(tuning.pellets));
    let flown = unit(subtract(shot.at, play.fighter(FIRST).eye()));
    assert!(dot(ways[0], flown) > 0.999_99, "{:?} and {flown:?}", ways[0]);
    assert!(dot(shot.direction, flown) < 0.999_99, "it went where the rifle's bullet goes");
}

#[test]
fn a_rocket_flies_bursts_and_hurts_around() {
    let mut play = Play::new(&hall("", ""), 60, 2);
    play.hold(FIRST, |command| command.pitch = -0.07);
    fires(&mut play, Weapon::Launcher, 0.02);
    assert_eq!(play.world().all::<Rocket>().count(), 1);
    assert_eq!(play.fighter(SECOND).health, HEALTH_MAX);
    play.run(1.0);
    assert_eq!(play.world().all::<Rocket>().count(), 0);
    let second = play.fighter(SECOND);
    assert!(second.health < HEALTH_MAX - 30, "{}", second.health);
}

#[test]
fn magazines_empty_and_are_filled() {
    let mut play = Play::new(&hall("", ""), 60, 1);
    fires(&mut play, Weapon::Rifle, 3.2);
    let fighter = play.fighter(FIRST);
    assert!(fighter.loaded[0] == 0 && fighter.reloading > 0.0, "{fighter:?}");
    play.run(2.0);
    let fighter: &Fighter = play.fighter(FIRST);
    assert_eq!((fighter.loaded[0], fighter.reserve[0]), (30, 0));
    fires(&mut play, Weapon::Rifle, 3.2);
    play.run(3.0);
    assert_eq!(play.fighter(FIRST).loaded[0], 0, "nothing is left");
    fires(&mut play, Weapon::Shotgun, 0.02);
    play.hold(FIRST, |command| command.reload = true);
    play.run(4.0);
    assert_eq!(play.fighter(FIRST).loaded[1], 6);
}

#[test]
fn who_dies_is_counted_and_begins_again() {
    let mut play = Play::new(&hall("", ""), 60, 2);
    play.hold(FIRST, |command| command.fire = true);
    assert!(play.until(|play| play.fighter(SECOND).health == 0));
    play.hold(FIRST, |command| command.fire = false);
    let scores: Vec<(i16, u16)> =
        play.world().all::<Seat>().map(|(_, seat)| (seat.score, seat.deaths)).collect();
    assert_eq!(scores, [(1, 0), (0, 1)]);
    play.run(2.2);
    let second = play.fighter(SECOND);
    assert!(second.is_alive() && second.health == HEALTH_MAX);
}

#[test]
fn friends_are_pushed_but_not_hurt() {
    let mut play = Play::new(&hall("", ""), 60, 3);
    // The third is in the first one's team, and begins where the first does.
    play.hold(FIRST, |command| command.forward = -7);
    play.run(1.0);
    play.hold(FIRST, |command| command.forward = 0);
    fires(&mut play, Weapon::Rifle, 1.0);
    assert_eq!(play.fighter(sametick::PlayerId(2)).health, HEALTH_MAX);
}

#[test]
fn props_are_thrown_rest_and_break() {
    let mut play = Play::new(&hall("", &thing("misc_crate", [-128, 0, 1], "")), 60, 1);
    let prop = |play: &Play| play.world().all::<Prop>().next().unwrap().1.clone();
    assert!(prop(&play).is_resting);
    let start = prop(&play).position[0];
    play.hold(FIRST, |command| (command.weapon, command.pitch) = (Weapon::Launcher, -0.35));
    play.run(0.5);
    play.hold(FIRST, |command| command.fire = true);
    play.run(0.05);
    play.hold(FIRST, |command| command.fire = false);
    assert!(play.until(|play| !prop(play).is_resting));
    play.run(3.0);
    assert!(prop(&play).is_resting && prop(&play).position[0] > start + 0.3, "{:?}", prop(&play));
    play.hold(FIRST, |command| {
        (command.weapon, command.pitch, command.fire) = (Weapon::Rifle, -0.12, true)
    });
    assert!(play.until(|play| prop(play).health == 0), "{:?}", prop(&play));
}
