//! The maps that come with the game: sound, playable, and never hiding what can be seen.

use proptest::prelude::*;
use sametick::Dice;
use sametick_arena::vector::{Vector, length, subtract};
use sametick_arena::{Content, Map, Mode, body, map};
use std::sync::LazyLock;

static MAPS: LazyLock<Vec<(&str, Map)>> = LazyLock::new(|| {
    map::MAPS.iter().map(|(name, text)| (*name, Map::read(text).expect("it is sound"))).collect()
});

fn within(map: &Map, dice: &mut Dice) -> Vector {
    let bounds = map.bounds();
    [0, 1, 2]
        .map(|axis| bounds.low[axis] + (bounds.high[axis] - bounds.low[axis]) * dice.unit() as f32)
}

/// Where a fighter can be, whom nothing outside of the map can be.
fn anywhere(map: &Map, dice: &mut Dice) -> Vector {
    loop {
        let mut feet = within(map, dice);
        // Most are near the ground.
        if dice.chance(0.7) {
            let Some(down) = map.ground(feet, 20.0) else { continue };
            feet = down;
        }
        if map.fits(body::half(false), body::centre(feet, false)) {
            return feet;
        }
    }
}

#[test]
fn everything_stands_where_it_can() {
    for (name, map) in &*MAPS {
        assert!(map.spawns.len() >= 6);
        for spawn in &map.spawns {
            assert!(map.ground(spawn.place, 1.0).is_some(), "{name}: spawn at {:?}", spawn.place);
        }
        for teleporter in &map.teleporters {
            assert!(map.ground(teleporter.to, 1.0).is_some(), "{name}: {:?}", teleporter.to);
        }
        for item in &map.items {
            assert!(map.fits([0.3; 3], item.place), "{name}: {item:?}");
        }
        for target in &map.targets {
            assert!(map.fits([0.4; 3], target.place), "{name}: {target:?}");
        }
        for prop in &map.props {
            let [x, y, z] = prop.place;
            assert!(map.fits([0.45; 3], [x, y, z + 0.46]), "{name}: {prop:?}");
        }
    }
    let halls = &MAPS[1].1;
    assert!(!halls.doors.is_empty() && !halls.lifts.is_empty() && !halls.teleporters.is_empty());
}

/// On foot, by jumps, and down whatever one can fall: from each spawn to each item.
#[test]
fn every_item_can_be_walked_to_from_every_spawn() {
    for (name, map) in &*MAPS {
        let places = map.standing_places(1.0);
        let near = |to: Vector, from: Vector, reach: f32| {
            let off = [0, 1, 2].map(|axis| to[axis] - from[axis]);
            off[0].abs() <= reach && off[1].abs() <= reach && off[2] <= 1.2 && off[2] > -20.0
        };
        let half = body::half(false);
        let can_walk = |from: Vector, to: Vector| {
            let high = from[2].max(to[2]) + half[2] + 0.55;
            let (over, beyond) = ([from[0], from[1], high], [to[0], to[1], high]);
            let up = map.trace(half, body::centre(from, false), over);
            let across = map.trace(half, over, beyond);
            near(to, from, 1.05)
                && !up.is_hit()
                && !across.is_hit()
                && !map.trace(half, beyond, body::centre(to, false)).is_hit()
        };
        for spawn in &map.spawns {
            let mut reached = vec![false; places.len()];
            let mut waiting: Vec<Vector> = vec![spawn.place];
            while let Some(from) = waiting.pop() {
                for (index, to) in places.iter().enumerate() {
                    let is_near =
                        (to[0] - from[0]).abs() <= 1.05 && (to[1] - from[1]).abs() <= 1.05;
                    if is_near && !reached[index] && can_walk(from, *to) {
                        reached[index] = true;
                        waiting.push(*to);
                    }
                }
            }
            for item in &map.items {
                let is_at =
                    |place: &Vector| near(item.place, *place, 1.05) && item.place[2] >= place[2];
                let mut reached = places.iter().zip(&reached).filter(|(_, reached)| **reached);
                assert!(
                    reached.any(|(place, _)| is_at(place)),
                    "{name}: from {spawn:?} to {item:?}"
                );
            }
            if *name == "field" {
                break;
            }
        }
    }
}

/// 100 000 free lines between eyes and bodies, over all maps: none that is as long as one sees there leads to a cell
/// that counts as hidden.
#[test]
fn whatever_can_be_seen_is_told() {
    for (name, map) in &*MAPS {
        let visibility = map.visibility();
        let mut dice = Dice::new(5, 5);
        let sight = map.sight_metres.unwrap_or(f32::INFINITY);
        let (mut lines, mut free) = (0, 0);
        while lines < 34_000 {
            let (from, to) = (anywhere(map, &mut dice), anywhere(map, &mut dice));
            let eye = body::eye(from, false);
            let bounds = body::bounds(to, false);
            for _ in 0..20 {
                let at = [0, 1, 2].map(|axis| {
                    bounds.low[axis] + (bounds.high[axis] - bounds.low[axis]) * dice.unit() as f32
                });
                lines += 1;
                if map.visible(eye, at) && length(subtract(eye, at)) <= sight {
                    free += 1;
                    assert!(visibility.sees(from, to), "{name}: {from:?} sees {at:?} of {to:?}");
                }
            }
        }
        let hidden = visibility.hidden_share() * 100.0;
        println!(
            "{name}: {free} of {lines} lines are free; {hidden:.1} % of all places are hidden"
        );
    }
}

#[test]
fn who_is_further_away_than_one_sees_is_not_told_of() {
    let (_, map) = MAPS.iter().find(|(name, _)| *name == "field").unwrap();
    let sight = map.sight_metres.expect("the field is misty");
    let visibility = map.visibility();
    // Cells are of four metres here, and bodies reach out of them.
    let surely = sight + 2.0 * 4.0 * 1.5 + 4.0;
    let (mut dice, mut hidden) = (Dice::new(6, 6), 0);
    for _ in 0..20_000 {
        let (from, to) = (anywhere(map, &mut dice), anywhere(map, &mut dice));
        if length(subtract(from, to)) > surely {
            assert!(!visibility.sees(from, to), "{from:?} sees {to:?}");
            hidden += 1;
        }
    }
    assert!(hidden > 5_000, "{hidden} of 20000 are that far apart");
    assert!(visibility.hidden_share() > 0.7, "{}", visibility.hidden_share());
    let blind = map::FIELD.replace("\"sight\" \"1024\"", "\"sight\" \"-1\"");
    assert!(Map::read(&blind).unwrap_err().to_string().contains("sees"));
}

#[test]
fn content_has_a_name_of_its_own() {
    let name = |text, mode| Content::new(text, mode).unwrap().name();
    assert_eq!(name(map::CORNERS, Mode::Duel), name(map::CORNERS, Mode::Duel));
    assert_ne!(name(map::CORNERS, Mode::Duel), name(map::CORNERS, Mode::Teams));
    assert_ne!(name(map::CORNERS, Mode::Duel), name(map::HALLS, Mode::Duel));
    let mut tuned = Content::new(map::CORNERS, Mode::Duel).unwrap();
    tuned.tuning.gravity += 1.0;
    assert_ne!(tuned.name(), name(map::CORNERS, Mode::Duel));
}

#[test]
fn damaged_maps_are_told_with_their_place() {
    let damaged = map::CORNERS.replacen("\"origin\" \"-560", "\"origin\" \"west", 1);
    let error = Map::read(&damaged).unwrap_err();
    assert!(error.line > 100 && error.to_string().contains("origin"), "{error}");
    let cut = &map::HALLS[..map::HALLS.len() / 2];
    assert!(Map::read(cut).unwrap_err().line > 500);
    assert_eq!(Map::read("").unwrap_err().to_string(), "line 1, column 1: there is no worldspawn");
}

#[test]
fn no_damage_to_a_map_is_worse_than_an_error() {
    let letters = b"{}()[]\"/ \n-.0123456789ex";
    let (mut read, mut refused) = (0, 0);
    for seed in 0..300 {
        let mut dice = Dice::new(seed, 9);
        let mut bytes = map::CORNERS.as_bytes().to_vec();
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] = letters[dice.below(letters.len() as u64) as usize];
        }
        match Map::read(&String::from_utf8(bytes).unwrap()) {
            Ok(_) => read += 1,
            Err(error) => refused += u32::from(error.line > 0),
        }
    }
    assert!(read > 20 && refused > 20, "{read} read, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sweep_never_ends_inside(seed: u64, which in 0..3_usize, reach in 0.01_f32..40.0) {
        let map = &MAPS[which].1;
        let mut dice = Dice::new(seed, 1);
        let half = [0, 1, 2].map(|_| 0.05 + dice.unit() as f32);
        let from = (0..).map(|_| within(map, &mut dice)).find(|from| map.fits(half, *from)).unwrap();
        let way = [0, 1, 2].map(|_| dice.normal() as f32 * reach);
        let to = [0, 1, 2].map(|axis| from[axis] + way[axis]);
        let trace = map.trace(half, from, to);
        prop_assert!(map.fits(half, trace.end), "{from:?} to {to:?} ended at {:?}", trace.end);
        prop_assert!(map.bounds().contains(trace.end));
    }
}
