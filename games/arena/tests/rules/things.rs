//! Items, doors, lifts, teleporters and targets.

use super::play::{FIRST, Play, block, hall, solid_thing, thing};
use sametick::record::ROW_WORDS;
use sametick::{Entities, Layouts};
use sametick_arena::{Door, Entity, Item, Mode, Prop, Seat, Target, Tuning};

#[test]
fn items_are_taken_once_by_those_who_need_them_and_come_back() {
    let items = thing("item_health", [-160, 0, 20], "") + &thing("item_bullets", [-96, 0, 20], "");
    let mut play = Play::new(&hall("", &items), 60, 1);
    let there = |play: &Play| -> Vec<bool> {
        play.world().all::<Item>().map(|(_, item)| item.is_there(play.world().tick())).collect()
    };
    play.hold(FIRST, |command| command.forward = 7);
    play.run(1.5);
    assert_eq!(there(&play), [true, false], "who is well leaves health to others");
    assert_eq!(play.fighter(FIRST).reserve[0], 90);
    play.hold(FIRST, |command| command.forward = 0);
    play.run(19.0);
    assert_eq!(there(&play), [true, false]);
    play.run(2.0);
    assert_eq!(there(&play), [true, true]);
}

#[test]
fn a_door_opens_for_who_comes_and_closes_behind() {
    let wall = block([0, -1024, 0], [16, -48, 256])
        + &block([0, 48, 0], [16, 1024, 256])
        + &block([0, -48, 96], [16, 48, 256]);
    let door = solid_thing(
        "func_door",
        "\"angle\" \"-1\"\n\"speed\" \"100\"",
        &block([4, -48, 0], [12, 48, 96]),
    );
    for rate in [20, 60, 400] {
        let mut play = Play::new(&hall(&wall, &door), rate, 1);
        let is_open = |play: &Play| play.world().all::<Door>().all(|(_, door)| door.is_opening);
        assert!(!is_open(&play));
        play.hold(FIRST, |command| command.forward = 7);
        assert!(
            play.until(|play| play.fighter(FIRST).position[0] > 8.0),
            "{rate}: {:?}",
            play.fighter(FIRST)
        );
        assert!(!is_open(&play));
        play.hold(FIRST, |command| command.forward = -7);
        assert!(play.until(is_open));
    }
}

#[test]
fn a_lift_carries_who_stands_on_it() {
    let lift = solid_thing(
        "func_plat",
        "\"height\" \"128\"\n\"speed\" \"64\"\n\"wait\" \"2\"",
        &block([-368, -48, -200], [-272, 48, 0]),
    );
    // The first player begins on it.
    for rate in [20, 60, 128, 1000] {
        let mut play = Play::new(&hall("", &lift), rate, 1);
        let (mut low, mut high): (f32, f32) = (9.0, 0.0);
        for _ in 0..8 * rate {
            play.tick();
            let fighter = play.fighter(FIRST);
            assert!(fighter.is_grounded && fighter.is_alive(), "{rate}: {fighter:?}");
            (low, high) = (low.min(fighter.position[2]), high.max(fighter.position[2]));
        }
        assert!(low < 0.05 && (high - 4.0).abs() < 0.05, "{rate}: {low} {high}");
    }
}

#[test]
fn a_teleporter_takes_one_elsewhere_and_says_so() {
    let things =
        solid_thing("trigger_teleport", "\"target\" \"there\"", &block([-64, -64, 0], [0, 64, 96]))
            + &thing("info_teleport_destination", [640, 640, 25], "\"targetname\" \"there\"\n");
    let mut play = Play::new(&hall("", &things), 60, 1);
    let before = play.fighter(FIRST).teleports;
    play.hold(FIRST, |command| command.forward = 7);
    assert!(play.until(|play| play.fighter(FIRST).position[1] > 19.0));
    assert_eq!(play.fighter(FIRST).teleports, (before + 1) % 4);
}

#[test]
fn targets_move_break_score_and_come_back() {
    let things = thing("info_target", [0, 0, 50], "\"motion\" \"still\"\n")
        + &thing("info_target", [320, 320, 50], "\"motion\" \"moving\"\n")
        + &thing("info_target", [320, -320, 50], "\"motion\" \"jumping\"\n");
    let tuning = Tuning { pause_seconds: 0.1, ..Tuning::default() };
    let mut play = Play::with(&hall("", &things), 60, 1, Mode::Practice, tuning);
    let targets = |play: &Play| -> Vec<Target> {
        play.world().all::<Target>().map(|(_, target)| target.clone()).collect()
    };
    let (mut moved, mut jumped) = (false, false);
    for _ in 0..600 {
        let before = targets(&play);
        play.tick();
        let after = targets(&play);
        moved |= before[1].position[..2] != after[1].position[..2];
        jumped |= after[2].position[2] > 2.0;
        assert!(
            after.iter().all(|target| target.position[2] > 1.0 && target.position[2] < 6.0),
            "{after:?}"
        );
        assert_eq!(before[0].position, after[0].position);
    }
    assert!(moved && jumped);
    // At the one that hangs still, wherever it appeared.
    let aim = |play: &mut Play| {
        let (eye, at) = (play.fighter(FIRST).eye(), targets(play)[0].position);
        let off = [0, 1, 2].map(|axis| at[axis] - eye[axis]);
        let flat = (off[0] * off[0] + off[1] * off[1]).sqrt();
        play.hold(FIRST, |command| {
            (command.yaw, command.pitch) = (off[1].atan2(off[0]), off[2].atan2(flat))
        });
    };
    for _ in 0..3 {
        aim(&mut play);
        play.hold(FIRST, |command| command.fire = true);
        assert!(play.until(|play| targets(play)[0].health == 0));
        play.hold(FIRST, |command| command.fire = false);
        play.run(1.2);
        assert!(targets(&play)[0].health > 0);
    }
    assert_eq!(play.world().all::<Seat>().next().unwrap().1.score, 3);
}

/// A player on a crate moves with it, so its client predicts it exactly only if both have the crate at one position.
#[test]
fn a_crate_comes_to_rest_where_clients_can_be_told_that_it_is() {
    let layouts = Layouts::of::<Entity>();
    let crates: String = (0..24)
        .map(|index| thing("misc_crate", [index * 37 - 448, index * 19 - 211, 41 + index * 3], ""))
        .collect();
    for rate in [20, 60, 221, 1000] {
        let mut play = Play::new(&hall("", &crates), rate, 1);
        play.run(2.0);
        assert_eq!(play.world().all::<Prop>().count(), 24);
        for (_, prop) in play.world().all::<Prop>() {
            assert!(prop.is_resting, "{rate} Hz: {prop:?}");
            let (mut told, mut row) = (Entity::from(prop.clone()), [0; ROW_WORDS]);
            told.record(&layouts.shown, &mut row);
            told.scatter(&layouts.shown, &row);
            let Entity::Prop(told) = told else { panic!("a crate is a crate") };
            assert_eq!(*prop, told, "{rate} Hz");
        }
    }
}
