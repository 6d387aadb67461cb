//! Where the next run of a bridge goes: along the cheapest way of land, water and turns to a goal.

use crate::building::SPAN_MAX;
use crate::content::Content;
use crate::place::{Cell, DIRECTIONS, SIDE_MAX};
use crate::ways::Ground;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A step on land, one over water, and what a turn over water costs besides.
const LAND: u32 = 1;
const WATER: u32 = 5;
const TURN: u32 = 12;

/// A straight run of a bridge that begins at a shore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: Cell,
    pub(super) direction: u8,
    pub(super) span: u8,
}

/// The first run of the cheapest bridges from one cell to another; none if nothing is missing.
pub(super) fn next_run(content: &Content, ground: &Ground, from: Cell, to: Cell) -> Option<Run> {
    let states = (SIDE_MAX * SIDE_MAX) as usize * DIRECTIONS.len();
    let mut cost = vec![u32::MAX; states];
    let mut back = vec![usize::MAX; states];
    let mut open = BinaryHeap::new();
    let state = |cell: Cell, direction: usize| usize::from(cell.0) * DIRECTIONS.len() + direction;
    for direction in 0..DIRECTIONS.len() {
        cost[state(from, direction)] = 0;
        open.push(Reverse((0, from, direction)));
    }
    let end = loop {
        let Reverse((spent, cell, direction)) = open.pop()?;
        if cell == to {
            break state(cell, direction);
        }
        if spent > cost[state(cell, direction)] {
            continue;
        }
        for (next_direction, (x, y)) in DIRECTIONS.iter().enumerate() {
            let Some(next) = cell.offset(*x, *y).filter(|next| content.is_inside(*next)) else {
                continue;
            };
            let turns = next_direction != direction && !ground.is_open(cell);
            let step =
                if ground.is_open(next) { LAND } else { WATER } + if turns { TURN } else { 0 };
            let there = state(next, next_direction);
            if spent + step < cost[there] {
                cost[there] = spent + step;
                back[there] = state(cell, direction);
                open.push(Reverse((spent + step, next, next_direction)));
            }
        }
    };
    let mut way = vec![end];
    while let Some(previous) =
        way.last().map(|state| back[*state]).filter(|state| *state != usize::MAX)
    {
        way.push(previous);
    }
    let steps = way.into_iter().rev().map(|state| (Cell((state / 4) as u16), (state % 4) as u8));
    let mut missing = steps.skip_while(|(cell, _)| ground.is_open(*cell));
    let (first, direction) = missing.next()?;
    let more = missing.take_while(|(cell, way)| *way == direction && !ground.is_open(*cell));
    let span = 1 + more.take(usize::from(SPAN_MAX) - 1).count() as u8;
    Some(Run { first, direction, span })
}
