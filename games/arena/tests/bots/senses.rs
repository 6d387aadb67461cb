//! Bots do not cheat: nobody is seen through a wall, noticed at once, or turned to faster than a hand turns. The same
//! seed plays the same match.

use super::party::{MAPS, Party, hall, place_spawns};
use sametick::Layouts;
use sametick::PlayerId;
use sametick_arena::bot::{Act, Bot, Look, SKILLS, Script, Skill, Ways};
use sametick_arena::{Content, Entity, Seat};
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

#[test]
fn a_weak_bot_takes_cover() {
    // A wall to hide behind, a little to the side.
    let mut content = hall(&[[[-9, 2, 0], [-8, 9, 8]]]);
    let at = [10.0, 0.0, 0.01];
    place_spawns(&mut content, &[([-10.0, 0.0, 0.01], 0.0), (at, PI)]);
    let ways = Arc::new(Ways::new(&content));
    // Shot four times, with time to see by whom.
    let act = Act {
        look: Look::At(PlayerId(0)),
        fires: vec![1.2..1.55],
        ..Act::new(Script::Stand { at })
    };
    let mut party = Party::at(60, &content, &ways, &[1], 3, vec![act]);
    let nervous = Skill { cover_health: 90.0, ..Skill::level(1) };
    party.bots[0] = Bot::new(nervous, 3, ways);
    assert!(party.until(4.0, |party| party.bots[0].mood() == "hide"), "it looks for cover");
    let is_hidden = |party: &Party| {
        let own = party.fighter(0);
        let eye = party.fighter(1).eye();
        own.is_alive() && !party.content.map.visible(eye, own.eye())
    };
    assert!(party.until(3.0, is_hidden), "it finds it");
}

#[test]
fn a_bot_has_its_name_in_the_score_table() {
    let (_, content, ways) = &MAPS[0];
    for name in ["Ada", "Play", "Player 0 and more letters", "Zoë"] {
        let mut party = Party::new(content, ways, &[3], 1);
        party.bots[0].call(name);
        party.run(1.0);
        let (_, seat) = party.world().all::<Seat>().next().expect("it has joined");
        let shown: String = name.chars().filter(char::is_ascii).take(16).collect();
        assert_eq!(&*seat.name, shown.as_str());
    }
}
