//! Bots do not cheat: nobody is seen through a wall, noticed at once, or turned to faster than a hand turns. The same
//! seed plays the same match.

use crate::party::{MAPS, Party, hall, place_spawns};
use sametick::Layouts;
use sametick_arena::bot::{Act, SKILLS, Script, Ways};
use sametick_arena::{Content, Entity};
use std::f32::consts::{PI, TAU};
use std::sync::Arc;

/// A rooted bot at the western end that looks east, and someone who stands or moves.
fn watch(content: &mut Content, level: u8, script: Script) -> Party {
    let to = script.place(0.0).expect("it knows places");
    place_spawns(content, &[([-10.0, 0.0, 0.01], 0.0), (to, PI)]);
    let ways = Arc::new(Ways::new(content));
    let mut party = Party::at(60, content, &ways, &[level], 3, vec![Act::new(script)]);
    party.bots[0].is_rooted = true;
    party
}

#[test]
fn nobody_is_seen_through_a_wall() {
    let mut content = hall(&[[[-1, -10, 0], [1, 10, 8]]]);
    let mut party = watch(&mut content, 5, Script::Stand { at: [10.0, 0.0, 0.01] });
    party.run(0.2);
    assert!(!party.until(5.0, |party| party.bots[0].target().is_some()));
    let mut content = hall(&[]);
    let mut party = watch(&mut content, 5, Script::Stand { at: [10.0, 0.0, 0.01] });
    party.run(0.2);
    assert!(party.until(5.0, |party| party.bots[0].target().is_some()), "without the wall it is");
}

#[test]
fn whoever_comes_into_sight_is_noticed_after_a_reaction_time() {
    for (level, skill) in (1..).zip(SKILLS) {
        // Out from behind a wall after two seconds.
        let mut content = hall(&[[[4, -20, 0], [5, -1, 8]]]);
        let (from, to) = ([10.0, -8.0, 0.01], [10.0, 6.0, 0.01]);
        let script = Script::Cross { from, to, speed: 7.0, wait_seconds: 2.0 };
        let mut party = watch(&mut content, level, script);
        let is_visible = |party: &Party| {
            let (own, other) = (party.fighter(0), party.fighter(1));
            let bounds = other.bounds().expect("it is alive");
            party.content.map.visible(own.eye(), bounds.centre())
        };
        assert!(party.until(6.0, is_visible), "it comes out");
        let visible_at = party.world().tick().0;
        assert!(party.bots[0].target().is_none());
        assert!(party.until(3.0, |party| party.bots[0].target().is_some()));
        let seconds = (party.world().tick().0 - visible_at) as f32 * party.dt;
        let least = skill.reaction_seconds;
        assert!(seconds > least - 0.02 && seconds < least + 0.25, "{}: {seconds}", skill.name);
    }
}

#[test]
fn nobody_turns_faster_than_its_hand() {
    for (level, skill) in (1..).zip(SKILLS) {
        let (_, content, ways) = &MAPS[0];
        let mut party = Party::new(content, ways, &[level; 4], 11);
        let mut before = [0.0_f32; 4];
        for _ in 0..1200 {
            party.step();
            for (player, before) in before.iter_mut().enumerate() {
                let yaw = party.fighter(player).yaw;
                let turn = (yaw - *before + PI).rem_euclid(TAU) - PI;
                let most = skill.turn_speed * party.dt + 0.001;
                assert!(turn.abs() <= most, "{}: {turn} in a tick", skill.name);
                *before = yaw;
            }
        }
    }
}

#[test]
fn the_same_seed_plays_the_same_match() {
    let layouts = Layouts::of::<Entity>();
    let (_, content, ways) = &MAPS[0];
    let hash = |seed| {
        let mut party = Party::new(content, ways, &[1, 3, 5], seed);
        party.run(20.0);
        party.world().hash(&layouts)
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
