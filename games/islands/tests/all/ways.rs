//! Ways: never through water, and as short as any.

use sametick::{Dice, PlayerId};
use sametick_islands::{Cell, Content, DIRECTIONS, Ground, Opening, POINTS_MAX, SUB, Spot};
use std::collections::VecDeque;

/// Some map with some bridges, by seed.
fn ground(seed: u64) -> (Content, Ground) {
    let content = Content::new(seed, 2 + (seed % 7) as u8, Opening::Settlers);
    let mut ground = Ground::of_land(&content);
    let mut dice = Dice::new(seed, 9);
    for _ in 0..40 {
        let mut coordinate = || dice.below(content.side() as u64) as i32;
        let (x, y) = (coordinate(), coordinate());
        let (along, across) = DIRECTIONS[dice.below(4) as usize];
        for step in 0..16 {
            let cell = Cell::new(x + along * step, y + across * step)
                .filter(|cell| content.is_inside(*cell));
            cell.into_iter().for_each(|cell| ground.open(cell));
        }
    }
    (content, ground)
}

/// How many steps to a neighbour a cell is away; diagonals count two.
fn steps(ground: &Ground, from: Cell, to: Cell) -> Option<i32> {
    let mut far = vec![None; 128 * 128];
    far[usize::from(from.0)] = Some(0);
    let mut open = VecDeque::from([from]);
    while let Some(cell) = open.pop_front() {
        for next in DIRECTIONS.iter().filter_map(|(x, y)| cell.offset(*x, *y)) {
            if ground.is_open(next) && far[usize::from(next.0)].is_none() {
                far[usize::from(next.0)] = far[usize::from(cell.0)].map(|steps: i32| steps + 1);
                open.push_back(next);
            }
        }
    }
    far[usize::from(to.0)]
}

#[test]
fn a_way_never_leads_through_water_and_is_found_whenever_there_is_one() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..60 {
        let (content, ground) = ground(seed);
        let mut dice = Dice::new(seed, 10);
        let mut any = || loop {
            let mut coordinate = || dice.below(content.side() as u64) as i32;
            let cell = Cell::new(coordinate(), coordinate()).expect("inside");
            if ground.is_open(cell) {
                break cell;
            }
        };
        for _ in 0..25 {
            let (from, to) = (any(), any());
            let way = ground.way(from.centre(), to);
            let steps = steps(&ground, from, to);
            assert_eq!(way.is_some(), steps.is_some(), "seed {seed}: {from:?} to {to:?}");
            let (Some(way), Some(steps)) = (way, steps) else {
                none += 1;
                continue;
            };
            found += 1;
            assert_eq!(way.goal, to);
            let mut at = from.centre();
            let mut length = 0;
            for point in &way.points {
                let next = point.centre();
                length += at.distance(next);
                walk(&ground, at, next, seed);
                at = next;
            }
            // Along the axes it cannot be longer; and never shorter than as the crow flies.
            assert!(length <= steps * SUB, "seed {seed}: {length} for {steps} steps");
            let is_whole = way.points.last() == Some(&to) || way.points.is_empty();
            assert!(is_whole || way.points.len() == POINTS_MAX, "seed {seed}");
            assert!(length + POINTS_MAX as i32 >= from.centre().distance(at));
        }
    }
    assert!(found > 300 && none > 300, "{found} found, {none} not");
}

/// Every spot of a leg is on open ground.
fn walk(ground: &Ground, from: Spot, to: Spot, seed: u64) {
    let length = from.distance(to).max(1);
    for step in 0..=length {
        let part = |from: i32, to: i32| from + (to - from) * step / length;
        let spot = Spot { x: part(from.x, to.x), y: part(from.y, to.y) };
        assert!(ground.is_open(spot.cell()), "seed {seed}: {from:?} to {to:?} at {spot:?}");
    }
}

#[test]
fn squads_of_bots_never_stand_in_water() {
    let mut stage = crate::stage::Stage::with(Content::new(5, 4, Opening::War));
    let mut bots = crate::stage::bots(&stage.content, 5);
    for tick in 0..6_000 {
        let asked = crate::stage::think(&mut bots, stage.world(), &stage.content);
        stage.game.step(asked).expect("all numbers are finite");
        if tick % 20 != 0 {
            continue;
        }
        let clock = stage.clock();
        let ground = Ground::new(&stage.content, stage.world(), clock);
        for (id, squad) in stage.world().all::<sametick_islands::Squad>() {
            let cell = squad.spot(clock).cell();
            assert!(squad.flies || ground.is_open(cell), "{id:?} at {cell:?} in tick {tick}");
        }
    }
    assert!(stage.world().owned::<sametick_islands::Realm>(PlayerId(0)).is_some());
}
