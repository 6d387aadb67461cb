//! Where one can walk, and the shortest way there.

use crate::building::Building;
use crate::content::Content;
use crate::islands::Entity;
use crate::place::{Cell, DIRECTIONS, SIDE_MAX, SUB, Spot};
use crate::squad::POINTS_MAX;
use crate::tables::BuildingKind;
use sametick::{List, World};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far from where one is told to go, in cells, a place to stand is looked for.
pub const GOAL_REACH: i32 = 5;
/// A step to a neighbour, and across a corner.
const STRAIGHT: u32 = 5;
const ACROSS: u32 = 7;
const CELLS: usize = (SIDE_MAX * SIDE_MAX) as usize;

/// Where one can walk at a moment: land and bridges that stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    rows: Vec<u128>,
    side: i32,
}

/// A way: where it turns and ends, and whether that is all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where it turns, and where it ends.
    pub points: List<Cell, POINTS_MAX>,
    /// Where the whole way ends.
    pub goal: Cell,
}

impl Ground {
    /// The ground as a world has it.
    pub fn new(content: &Content, world: &World<Entity>, clock: u32) -> Self {
        let mut ground = Self::of_land(content);
        for (_, building) in world.all::<Building>() {
            if building.kind == BuildingKind::Bridge && building.is_ready(clock) {
                building.cells().for_each(|cell| ground.open(cell));
            }
        }
        ground
    }

    /// Land alone.
    pub fn of_land(content: &Content) -> Self {
        Self { rows: content.land().to_vec(), side: content.side() }
    }

    /// Lets one walk in a cell.
    pub fn open(&mut self, cell: Cell) {
        self.rows[cell.y() as usize] |= 1 << cell.x();
    }

    /// Whether one can walk in a cell.
    pub fn is_open(&self, cell: Cell) -> bool {
        self.rows[cell.y() as usize] >> cell.x() & 1 != 0
    }

    /// The nearest cell to walk in.
    pub fn nearest(&self, cell: Cell, reach: i32) -> Option<Cell> {
        cell.around(reach).find(|cell| self.is_open(*cell))
    }

    /// The shortest way on foot from a spot to a cell, or next to it; none if there is no way.
    pub fn way(&self, from: Spot, to: Cell) -> Option<Way> {
        let start = self.nearest(from.cell(), 2)?;
        let goal = self.nearest(to, GOAL_REACH)?;
        let cells = self.search(start, goal)?;
        Some(Way { points: self.straighten(from, &cells), goal })
    }

    /// All cells that can be reached on foot.
    pub fn reachable(&self, from: Cell) -> Self {
        let mut seen = Self { rows: vec![0; self.rows.len()], side: self.side };
        let mut open: Vec<Cell> = self.nearest(from, 2).into_iter().collect();
        open.iter().for_each(|cell| seen.open(*cell));
        while let Some(cell) = open.pop() {
            for next in DIRECTIONS.iter().filter_map(|(x, y)| cell.offset(*x, *y)) {
                if self.is_open(next) && !seen.is_open(next) {
                    seen.open(next);
                    open.push(next);
                }
            }
        }
        seen
    }

    /// Every cell of a shortest way, by A*; each cell is looked at once, so the work is bounded by the map.
    fn search(&self, start: Cell, goal: Cell) -> Option<Vec<Cell>> {
        let ahead = |cell: Cell| {
            let (x, y) =
                ((cell.x() - goal.x()).unsigned_abs(), (cell.y() - goal.y()).unsigned_abs());
            STRAIGHT * x.max(y) + (ACROSS - STRAIGHT) * x.min(y)
        };
        let mut cost = vec![u32::MAX; CELLS];
        let mut back = vec![start; CELLS];
        let mut is_done = vec![false; CELLS];
        let mut open = BinaryHeap::new();
        cost[usize::from(start.0)] = 0;
        open.push(Reverse((ahead(start), start)));
        while let Some(Reverse((_, cell))) = open.pop() {
            if cell == goal {
                return Some(trail(&back, start, goal));
            }
            if std::mem::replace(&mut is_done[usize::from(cell.0)], true) {
                continue;
            }
            for (next, step) in self.steps(cell) {
                let there = cost[usize::from(cell.0)] + step;
                if there < cost[usize::from(next.0)] {
                    cost[usize::from(next.0)] = there;
                    back[usize::from(next.0)] = cell;
                    open.push(Reverse((there + ahead(next), next)));
                }
            }
        }
        None
    }

    /// The neighbours one can step to, never past the corner of water.
    fn steps(&self, cell: Cell) -> impl Iterator<Item = (Cell, u32)> {
        let is_open =
            move |x: i32, y: i32| cell.offset(x, y).is_some_and(|cell| self.is_open(cell));
        let straight = DIRECTIONS.into_iter().map(|(x, y)| (x, y, STRAIGHT));
        let across = [(1, 1), (-1, 1), (-1, -1), (1, -1)].into_iter();
        let across = across.filter(move |(x, y)| is_open(*x, 0) && is_open(0, *y));
        let all = straight.chain(across.map(|(x, y)| (x, y, ACROSS)));
        all.filter(move |(x, y, _)| is_open(*x, *y))
            .filter_map(move |(x, y, step)| Some((cell.offset(x, y)?, step)))
    }

    /// Leaves out every turn that is not needed, and what does not fit.
    fn straighten(&self, from: Spot, cells: &[Cell]) -> List<Cell, POINTS_MAX> {
        let mut points = List::default();
        let (mut at, mut index) = (from, 0);
        while index < cells.len() {
            // The farthest that can be walked to in a straight line; the next one if none can.
            let sees = |next: &usize| self.is_clear(at, cells[*next].centre());
            let mut far = index;
            let mut stride = 1;
            while far + stride < cells.len() && sees(&(far + stride)) {
                far += stride;
                stride *= 2;
            }
            while stride > 0 {
                if far + stride < cells.len() && sees(&(far + stride)) {
                    far += stride;
                }
                stride /= 2;
            }
            if !points.push(cells[far]) {
                break;
            }
            (at, index) = (cells[far].centre(), far + 1);
        }
        points
    }

    /// Whether one can walk straight from one spot to another, with a little room on both sides.
    pub fn is_clear(&self, from: Spot, to: Spot) -> bool {
        let steps = (from.distance(to) / (SUB / 4)).max(1);
        let room = SUB / 4;
        (0..=steps).all(|step| {
            let part = |from: i32, to: i32| from + (to - from) * step / steps;
            let (x, y) = (part(from.x, to.x), part(from.y, to.y));
            // Where it begins there may be less room than that.
            let room = if step == 0 { 0 } else { room };
            [(-room, -room), (room, -room), (-room, room), (room, room)]
                .iter()
                .all(|(aside, along)| self.is_open(Spot { x: x + aside, y: y + along }.cell()))
        })
    }
}

/// The way back, turned round.
fn trail(back: &[Cell], start: Cell, goal: Cell) -> Vec<Cell> {
    let mut cells = vec![goal];
    let mut at = goal;
    while at != start {
        at = back[usize::from(at.0)];
        cells.push(at);
    }
    cells.reverse();
    cells
}
