//! Ways are found quickly, and lead where they say.

use super::party::{MAPS, Party, place_spawns};
use sametick_arena::bot::{Way, Ways};
use sametick_arena::vector::{Vector, length, subtract};
use sametick_arena::{Mode, map};
use std::time::{Duration, Instant};

#[test]
fn a_map_is_surveyed_in_a_moment() {
    for (name, content, _) in &*MAPS {
        let begun = Instant::now();
        let ways = Ways::new(content);
        println!("{name}: {} places in {:.0?}", ways.places().len(), begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(10), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_path_leads_from_every_spawn_to_every_item() {
    let mut path = Vec::new();
    for (name, content, ways) in &*MAPS {
        for spawn in &content.map.spawns {
            let from = ways.nearest(spawn.place).expect("there is ground");
            for item in &content.map.items {
                let to = ways.nearest(item.place).expect("there is ground");
                let is_found = ways.path(from, to, |_, _| true, &mut path);
                assert!(is_found, "{name}: from {:?} to {:?}", spawn.place, item.place);
            }
        }
    }
}

#[test]
fn every_way_of_getting_about_is_found() {
    let (_, _, halls) = &MAPS[1];
    let has = |wanted: fn(Way) -> bool| {
        (0..halls.places().len() as u32)
            .any(|place| halls.links(place).iter().any(|link| wanted(link.way)))
    };
    assert!(has(|way| way == Way::Jump) && has(|way| way == Way::Drop));
    assert!(has(|way| way == Way::Teleport) && has(|way| matches!(way, Way::Lift(_))));
}

/// Sends a bot from a place to another: how long it takes.
fn errand(which: usize, from: Vector, to: Vector) -> Option<f32> {
    let (_, content, ways) = &MAPS[which];
    let mut content = content.clone();
    place_spawns(&mut content, &[(from, 0.0)]);
    content.mode = Mode::FreeForAll;
    let mut party = Party::new(&content, ways, &[3], 7);
    party.step();
    party.bots[0].send(Some(to));
    let is_there = |party: &Party| {
        let [x, y, z] = subtract(to, party.fighter(0).position);
        x * x + y * y < 1.0 && z.abs() < 1.6
    };
    let begun = party.world().tick();
    let arrives = party.until(60.0, is_there);
    arrives.then(|| (party.world().tick().0 - begun.0) as f32 * party.dt)
}

#[test]
fn a_bot_gets_from_spawns_to_items() {
    for (which, (name, content, ways)) in MAPS.iter().enumerate() {
        let (mut seconds, mut needed) = (0.0, 0.0);
        for (index, item) in content.map.items.iter().enumerate().take(20) {
            let spawn = content.map.spawns[index * 7 % content.map.spawns.len()].place;
            let took = errand(which, spawn, item.place);
            let took = took.unwrap_or_else(|| panic!("{name}: from {spawn:?} to {:?}", item.place));
            let ends =
                [spawn, item.place].map(|place| ways.nearest(place).expect("there is ground"));
            let mut path = Vec::new();
            ways.path(ends[0], ends[1], |_, _| true, &mut path);
            let mut metres = 0.0;
            let mut at = spawn;
            for leg in &path {
                let next = ways.places()[leg.to as usize];
                let is_walked = leg.way != Way::Teleport;
                metres += if is_walked { length(subtract(next, at)) } else { 0.0 };
                at = next;
            }
            (seconds, needed) = (seconds + took, needed + metres / content.tuning.run_speed);
        }
        println!("{name}: {seconds:.0} s for ways of {needed:.0} s at a full run");
        assert!(seconds < 1.5 * needed + 10.0, "{name}: {seconds} s instead of {needed} s");
    }
}

#[test]
fn a_bot_rides_the_lift() {
    assert_eq!(map::MAPS[1].0, "halls");
    let lift = &MAPS[1].1.map.lifts[0];
    let [x, y, _] = lift.bounds.centre();
    let top = [x, y, lift.bounds.high[2] + lift.rise_metres];
    let took = errand(1, [x + 4.0, y - 4.0, 0.1], top);
    assert!(took.is_some_and(|seconds| seconds < 15.0), "{took:?}");
}

#[test]
fn a_bot_takes_the_teleporter_and_goes_through_the_door() {
    let map = &MAPS[1].1.map;
    let teleporter = &map.teleporters[0];
    let [x, y, z] = teleporter.from.centre();
    let took = errand(1, [x - 4.0, y + 5.0, z - 1.4], teleporter.to);
    assert!(took.is_some_and(|seconds| seconds < 4.0), "{took:?}");
    let [x, y, _] = map.doors[0].reach.centre();
    let took = errand(1, [x - 2.5, y, 0.1], [x + 6.0, y, 0.1]);
    assert!(took.is_some_and(|seconds| seconds < 5.0), "{took:?}");
}
