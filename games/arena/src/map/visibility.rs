//! Which places can be seen from which: cells over the open space of a map, and for each pair of them whether
//! the solid between them is sure to hide one from the other.
//!
//! Conservative by proof, not by sampling. The map is cut into small cubes; one that lies wholly inside a brush
//! is solid. All lines between two boxes cross any plane between them inside a rectangle that is easily
//! found; if every cube of that rectangle is solid, nothing of one box can be seen from the other. Where no
//! single plane does it, the boxes are halved and each half has its own. Whatever cannot be
//! proven hidden within a bounded effort counts as visible. Doors and lifts hide nothing. Where a map says how far one
//! sees, cells are hidden from each other that are further apart than that at their nearest.

use super::Map;
use super::cubes::{CUBE_METRES, Cubes, Range};
use crate::body;
use crate::vector::{Vector, length, subtract};
use sametick::relevance::Cells;

/// A cell's sides in cubes, unless there would be too many.
const CELL_CUBES: i32 = 8;
/// How many cells there are at most; larger maps have larger ones.
const CELLS_MAX: usize = 1536;
/// And where one does not see far: few pairs of them are looked at, and the smaller they are the less is told of that
/// is behind the mist.
const MISTY_CELLS_MAX: usize = 4096;
/// How often a pair of cells is halved at most before it counts as visible.
const HALVINGS_MAX: u32 = 32;
/// Cells further apart than this are not halved: it rarely helps, and there are many of them.
const HALVED_METRES_MAX: f32 = 48.0;
/// How many cubes a body reaches to each side of its feet, and above them.
const BODY_CUBES: [i32; 3] =
    [cubes(body::RADIUS_METRES), cubes(body::RADIUS_METRES), cubes(body::STANDING_METRES)];
/// Above the feet of the smallest fighter so many cubes are free.
const CROUCHED_CUBES: i32 = (body::CROUCHED_METRES / CUBE_METRES) as i32;

const fn cubes(metres: f32) -> i32 {
    (metres / CUBE_METRES) as i32 + 1
}

/// Cells over the open space of a map, and which of them see each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Visibility {
    corner: Vector,
    size: [i32; 3],
    cells_per_metre: Vector,
    /// The number of each cell; none where all is solid.
    numbers: Vec<Option<u16>>,
    cells: Cells,
    /// In how many places one can stand, by cell.
    standing: Vec<u32>,
}

impl Visibility {
    pub(super) fn new(map: &Map) -> Self {
        let cubes = Cubes::new(map, CELL_CUBES);
        let mut cell = [CELL_CUBES; 3];
        let (mut size, mut boxes) = cells_of(&cubes, cell);
        let most = if map.sight_metres.is_some() { MISTY_CELLS_MAX } else { CELLS_MAX };
        while boxes.iter().flatten().count() > most {
            (cell[0], cell[1]) = (cell[0] * 2, cell[1] * 2);
            (size, boxes) = cells_of(&cubes, cell);
        }
        let mut numbers = vec![None; boxes.len()];
        let (mut open, mut places) = (Vec::new(), Vec::new());
        for (index, cell) in boxes.into_iter().enumerate() {
            if let Some(cell) = cell {
                numbers[index] = Some(open.len() as u16);
                open.push(cell);
                places.push(index);
            }
        }
        let around: Vec<Vec<usize>> =
            places.iter().map(|place| neighbours(*place, size, &numbers)).collect();
        let sight = sight(&around, |one, other| may_see(&cubes, map, &open[one], &open[other]));
        Self {
            corner: cubes.corner,
            size,
            cells_per_metre: cell.map(|cubes| 1.0 / (cubes as f32 * CUBE_METRES)),
            cells: Cells::unless(open.len(), |one, other| !sight[one * open.len() + other]),
            numbers,
            standing: open.iter().map(|cell| cell.standing).collect(),
        }
    }

    /// The cell of a place: of the feet of a fighter, of the middle of anything smaller. None in solid or outside.
    pub fn cell(&self, place: Vector) -> Option<usize> {
        let mut index = 0;
        for axis in (0..3).rev() {
            let at = (place[axis] - self.corner[axis]) * self.cells_per_metre[axis];
            if !(at >= 0.0 && at < self.size[axis] as f32) {
                return None;
            }
            index = index * self.size[axis] as usize + at as usize;
        }
        self.numbers[index].map(usize::from)
    }

    /// Which cells see each other.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.standing.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// Whether someone with the feet in one place may see someone with the feet in another.
    pub fn sees(&self, from: Vector, to: Vector) -> bool {
        self.cells.sees(self.cell(from), self.cell(to))
    }

    /// How much of all places to stand in is hidden from the average of them: 0 is nothing.
    pub fn hidden_share(&self) -> f64 {
        let (mut hidden, mut all) = (0.0, 0.0);
        for (from, here) in self.standing.iter().enumerate() {
            for (to, there) in self.standing.iter().enumerate() {
                let pairs = f64::from(*here) * f64::from(*there);
                all += pairs;
                hidden += if self.cells.sees(Some(from), Some(to)) { 0.0 } else { pairs };
            }
        }
        if all > 0.0 { hidden / all } else { 0.0 }
    }
}

/// What a cell holds: all cubes in which a part of someone may be whose feet are in it.
#[derive(Clone, Debug)]
struct Cell {
    reach: Range,
    standing: u32,
    /// Places in it that are open: a line between those of two cells saves looking for a proof.
    samples: Vec<Vector>,
}

/// All cells of this size over the map, by place; none where nobody can be.
fn cells_of(cubes: &Cubes, cell: [i32; 3]) -> ([i32; 3], Vec<Option<Cell>>) {
    let size = [0, 1, 2].map(|axis| (cubes.size[axis] + cell[axis] - 1) / cell[axis]);
    let mut cells = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                let low = [x * cell[0], y * cell[1], z * cell[2]];
                let high = [0, 1, 2].map(|axis| (low[axis] + cell[axis]).min(cubes.size[axis]));
                cells.push(cell_of(cubes, Range { low, high }));
            }
        }
    }
    (size, cells)
}

/// The cells that touch a cell, corners included.
fn neighbours(place: usize, size: [i32; 3], numbers: &[Option<u16>]) -> Vec<usize> {
    let [x, y, z] = [
        place as i32 % size[0],
        place as i32 / size[0] % size[1],
        place as i32 / size[0] / size[1],
    ];
    let around = Range { low: [x - 1, y - 1, z - 1], high: [x + 2, y + 2, z + 2] };
    let inside = around.cubes().filter(|at| (0..3).all(|axis| (0..size[axis]).contains(&at[axis])));
    let index = |at: [i32; 3]| ((at[2] * size[1] + at[1]) * size[0] + at[0]) as usize;
    inside.filter_map(|at| numbers[index(at)].map(usize::from)).collect()
}

/// For each pair of cells whether they see each other. A line leads from cell to cell and each of those on the
/// way is seen too, so only cells beside a seen one are asked about.
fn sight(around: &[Vec<usize>], may_see: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    let count = around.len();
    let mut sight = vec![false; count * count];
    for one in 0..count {
        let (mut asked, mut seen) = (vec![false; count], vec![false; count]);
        let mut waiting = vec![one];
        (asked[one], seen[one]) = (true, true);
        while let Some(here) = waiting.pop() {
            for &other in &around[here] {
                if !std::mem::replace(&mut asked[other], true) {
                    // Those before have found out already.
                    seen[other] =
                        if other < one { sight[other * count + one] } else { may_see(one, other) };
                    waiting.extend(seen[other].then_some(other));
                }
            }
        }
        for (other, seen) in seen.into_iter().enumerate() {
            sight[one * count + other] = seen;
            if other < one {
                sight[other * count + one] = seen;
            }
        }
    }
    sight
}

/// What of a cell anyone can be in; none if nobody can.
fn cell_of(cubes: &Cubes, range: Range) -> Option<Cell> {
    let mut reach = cubes.tight(range)?;
    let mut standing = 0;
    for feet in reach.cubes() {
        let column = |from: i32, to: i32| Range {
            low: [feet[0], feet[1], from],
            high: [feet[0] + 1, feet[1] + 1, to],
        };
        let is_free = |z: i32| !cubes.is_solid(column(z, z + 1));
        if !(feet[2]..=feet[2] + CROUCHED_CUBES).all(is_free) {
            continue;
        }
        // A body is in one piece: it does not reach past a ceiling.
        let crown = (feet[2]..=feet[2] + BODY_CUBES[2]).take_while(|z| is_free(*z)).last();
        let crown = crown.unwrap_or(feet[2]) + 1;
        for axis in 0..2 {
            reach.low[axis] = reach.low[axis].min(feet[axis] - BODY_CUBES[axis]);
            reach.high[axis] = reach.high[axis].max(feet[axis] + BODY_CUBES[axis] + 1);
        }
        reach.high[2] = reach.high[2].max(crown);
        standing += u32::from(!is_free(feet[2] - 1));
    }
    let reach = cubes.tight(reach)?;
    Some(Cell { reach, standing, samples: samples(cubes, reach) })
}

/// The middles of the open cubes among the middle and the corners of a range.
fn samples(cubes: &Cubes, range: Range) -> Vec<Vector> {
    let middle = [0, 1, 2].map(|axis| (range.low[axis] + range.high[axis]) / 2);
    let corner = |corner: usize| {
        let end = |axis: usize| {
            if corner >> axis & 1 == 0 { range.low[axis] } else { range.high[axis] - 1 }
        };
        [0, 1, 2].map(end)
    };
    let sampled = std::iter::once(middle).chain([0, 3, 5, 6].map(corner));
    let ranges = sampled.map(|low| Range { low, high: low.map(|at| at + 1) });
    ranges.filter(|cube| !cubes.is_solid(*cube)).map(|cube| cubes.centre(cube)).collect()
}

/// Whether it cannot be ruled out that two cells see each other.
fn may_see(cubes: &Cubes, map: &Map, one: &Cell, other: &Cell) -> bool {
    if map.sight_metres.is_some_and(|sight| one.reach.gap(other.reach) * CUBE_METRES > sight) {
        return false;
    }
    let firsts = one.samples.first().zip(other.samples.first());
    if firsts.is_some_and(|(from, to)| map.visible(*from, *to)) {
        return true;
    }
    if (0..3).any(|axis| cubes.has_wall(one.reach, other.reach, axis)) {
        return false;
    }
    let sees = |from: &Vector| other.samples.iter().any(|to| map.visible(*from, *to));
    if one.samples.iter().any(sees) {
        return true;
    }
    let distance = length(subtract(one.reach.middle(), other.reach.middle())) * CUBE_METRES;
    let is_far = distance > HALVED_METRES_MAX;
    is_far || !hides(cubes, map, one.reach, other.reach, &mut { HALVINGS_MAX })
}

/// Whether it is sure that nothing of one range can be seen from the other.
fn hides(cubes: &Cubes, map: &Map, one: Range, other: Range, halvings: &mut u32) -> bool {
    let (Some(one), Some(other)) = (cubes.tight(one), cubes.tight(other)) else { return true };
    if (0..3).any(|axis| cubes.has_wall(one, other, axis)) {
        return true;
    }
    if *halvings == 0 || map.visible(cubes.centre(one), cubes.centre(other)) {
        return false;
    }
    *halvings -= 1;
    let (one_axis, one_width) = one.widest();
    let (other_axis, other_width) = other.widest();
    if one_width.max(other_width) <= 0.0 {
        return false;
    }
    if one_width >= other_width {
        one.halves(one_axis).into_iter().all(|half| hides(cubes, map, half, other, halvings))
    } else {
        other.halves(other_axis).into_iter().all(|half| hides(cubes, map, one, half, halvings))
    }
}
