//! A map as small cubes, each solid or not, and whether a layer of them hides one place from another. Knows nothing
//! of cells or fighters.

use super::Map;
use crate::vector::{Bounds, Vector, along, length};

/// The side of a cube: walls thinner than this hide nothing.
pub(super) const CUBE_METRES: f32 = 0.5;

/// Cubes from the first up to, but without, the last on each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: [i32; 3],
    pub(super) high: [i32; 3],
}

/// The map as small cubes, each solid or not.
pub(super) struct Cubes {
    pub(super) corner: Vector,
    pub(super) size: [i32; 3],
    /// How many cubes are solid below each corner, on all axes: any box is counted by eight of them.
    sums: Vec<u32>,
    solid: Vec<bool>,
}

impl Cubes {
    pub(super) fn new(map: &Map, aligned_cubes: i32) -> Self {
        let cell = aligned_cubes as f32 * CUBE_METRES;
        let bounds = map.bounds();
        // Aligned with the cells, so that walls drawn on their grid lie between them.
        let corner = bounds.low.map(|end| (end / cell).floor() * cell);
        let size =
            [0, 1, 2].map(|axis| ((bounds.high[axis] - corner[axis]) / CUBE_METRES).ceil() as i32);
        let mut cubes = Self { corner, size, sums: Vec::new(), solid: Vec::new() };
        let mut solid = vec![false; (size[0] * size[1] * size[2]) as usize];
        for brush in map.brushes() {
            let bounds = brush.bounds();
            let (low, high) = (cubes.cube(bounds.low), cubes.cube(bounds.high));
            let touched = Range { low, high: high.map(|end| end + 1) };
            for place in touched.cubes() {
                if let Some(index) = cubes.index(place) {
                    solid[index] |= brush.holds(cubes.bounds(place));
                }
            }
        }
        cubes.fill_unreachable(map, &mut solid);
        cubes.count(&solid);
        cubes.solid = solid;
        cubes
    }

    /// What nobody can get to counts as solid: a line through it passes what shuts it off.
    fn fill_unreachable(&self, map: &Map, solid: &mut [bool]) {
        let starts = map.spawns.iter().map(|spawn| spawn.place);
        let starts = starts.chain(map.items.iter().map(|item| item.place));
        let starts = starts.chain(map.teleporters.iter().map(|teleporter| teleporter.to));
        let mut waiting: Vec<[i32; 3]> = starts.map(|place| self.cube(place)).collect();
        let mut reached = vec![false; solid.len()];
        while let Some(place) = waiting.pop() {
            let Some(index) = self.index(place).filter(|index| !solid[*index] && !reached[*index])
            else {
                continue;
            };
            reached[index] = true;
            let around = Range { low: place.map(|at| at - 1), high: place.map(|at| at + 2) };
            waiting.extend(around.cubes());
        }
        solid.iter_mut().zip(reached).for_each(|(solid, reached)| *solid = !reached);
    }

    fn count(&mut self, solid: &[bool]) {
        let [columns, rows, _] = self.size.map(|cubes| cubes as usize + 1);
        self.sums = vec![0; self.size.iter().map(|cubes| *cubes as usize + 1).product()];
        let all = Range { low: [0; 3], high: self.size };
        for (index, place) in all.cubes().enumerate() {
            let [x, y, z] = place.map(|at| at as usize + 1);
            let at = |x: usize, y: usize, z: usize| self.sums[(z * rows + y) * columns + x];
            let before =
                at(x - 1, y, z) + at(x, y - 1, z) + at(x, y, z - 1) + at(x - 1, y - 1, z - 1);
            let twice = at(x - 1, y - 1, z) + at(x - 1, y, z - 1) + at(x, y - 1, z - 1);
            let sum = before + u32::from(solid[index]) - twice;
            self.sums[(z * rows + y) * columns + x] = sum;
        }
    }

    /// Whether all cubes of a range are solid; those outside of the map are.
    pub(super) fn is_solid(&self, range: Range) -> bool {
        let low = [0, 1, 2].map(|axis| range.low[axis].clamp(0, self.size[axis]) as usize);
        let high = [0, 1, 2].map(|axis| range.high[axis].clamp(0, self.size[axis]) as usize);
        let [columns, rows, _] = self.size.map(|cubes| cubes as usize + 1);
        let at = |x: usize, y: usize, z: usize| self.sums[(z * rows + y) * columns + x];
        let slab = |z: usize| {
            (at(high[0], high[1], z) + at(low[0], low[1], z))
                - (at(low[0], high[1], z) + at(high[0], low[1], z))
        };
        let volume: usize = (0..3).map(|axis| high[axis].saturating_sub(low[axis])).product();
        slab(high[2]).wrapping_sub(slab(low[2])) as usize == volume
    }

    /// The least range that holds all cubes of a range that are not solid; none if all are.
    pub(super) fn tight(&self, mut range: Range) -> Option<Range> {
        for axis in 0..3 {
            range.low[axis] = range.low[axis].max(0);
            range.high[axis] = range.high[axis].min(self.size[axis]);
        }
        for axis in 0..3 {
            while range.low[axis] < range.high[axis] {
                let mut layer = range;
                layer.high[axis] = range.low[axis] + 1;
                if !self.is_solid(layer) {
                    break;
                }
                range.low[axis] += 1;
            }
            while range.low[axis] < range.high[axis] {
                let mut layer = range;
                layer.low[axis] = range.high[axis] - 1;
                if !self.is_solid(layer) {
                    break;
                }
                range.high[axis] -= 1;
            }
            if range.low[axis] >= range.high[axis] {
                return None;
            }
        }
        Some(range)
    }

    /// Whether all lines between two ranges cross solid cubes in one layer across an axis.
    pub(super) fn has_wall(&self, one: Range, other: Range, axis: usize) -> bool {
        let (near, far) = if one.low[axis] < other.low[axis] { (one, other) } else { (other, one) };
        let (from, to) = (near.middle(), far.middle());
        (near.high[axis]..far.low[axis]).any(|layer| {
            // The line between the middles is quickly looked at, and mostly free.
            let share = (layer as f32 + 0.5 - from[axis]) / (to[axis] - from[axis]);
            let cube = [0, 1, 2].map(|axis| (from[axis] + (to[axis] - from[axis]) * share) as i32);
            self.index(cube).is_none_or(|index| self.solid[index])
                && self.is_solid(crossing(near, far, axis, layer))
        })
    }

    pub(super) fn cube(&self, place: Vector) -> [i32; 3] {
        [0, 1, 2].map(|axis| ((place[axis] - self.corner[axis]) / CUBE_METRES).floor() as i32)
    }

    fn index(&self, [x, y, z]: [i32; 3]) -> Option<usize> {
        let [columns, rows, storeys] = self.size;
        let is_inside =
            (0..columns).contains(&x) && (0..rows).contains(&y) && (0..storeys).contains(&z);
        is_inside.then(|| ((z * rows + y) * columns + x) as usize)
    }

    fn bounds(&self, cube: [i32; 3]) -> Bounds {
        let low = [0, 1, 2].map(|axis| self.corner[axis] + cube[axis] as f32 * CUBE_METRES);
        Bounds { low, high: low.map(|end| end + CUBE_METRES) }
    }

    pub(super) fn centre(&self, range: Range) -> Vector {
        along(self.corner, range.middle(), CUBE_METRES)
    }
}

/// The cubes of one layer that hold every crossing of a line between two ranges with the middle of that layer.
fn crossing(near: Range, far: Range, axis: usize, layer: i32) -> Range {
    // A line along the edge of a cube touches its neighbour too.
    const EDGE: f32 = 1e-3;
    let plane = layer as f32 + 0.5;
    let mut crossing = near;
    (crossing.low[axis], crossing.high[axis]) = (layer, layer + 1);
    for other in (0..3).filter(|other| *other != axis) {
        let (mut low, mut high) = (f32::MAX, f32::MIN);
        for from in [near.low[axis], near.high[axis]] {
            for to in [far.low[axis], far.high[axis]] {
                let share = (plane - from as f32) / (to - from) as f32;
                let between = |a: i32, b: i32| a as f32 + (b - a) as f32 * share;
                low = low.min(between(near.low[other], far.low[other]));
                high = high.max(between(near.high[other], far.high[other]));
            }
        }
        crossing.low[other] = (low - EDGE).floor() as i32;
        crossing.high[other] = (high + EDGE).ceil() as i32;
    }
    crossing
}

impl Range {
    pub(super) fn cubes(self) -> impl Iterator<Item = [i32; 3]> {
        let Self { low, high } = self;
        (low[2]..high[2]).flat_map(move |z| {
            (low[1]..high[1]).flat_map(move |y| (low[0]..high[0]).map(move |x| [x, y, z]))
        })
    }

    /// Its middle, counted in cubes.
    pub(super) fn middle(self) -> Vector {
        [0, 1, 2].map(|axis| (self.low[axis] + self.high[axis]) as f32 / 2.0)
    }

    /// How far it is to another at the nearest, counted in cubes.
    pub(super) fn gap(self, other: Self) -> f32 {
        let gap = |axis: usize| {
            (other.low[axis] - self.high[axis]).max(self.low[axis] - other.high[axis]).max(0) as f32
        };
        length([0, 1, 2].map(gap))
    }

    /// The axis to halve it on and how wide it is there; nothing if it cannot be halved.
    pub(super) fn widest(self) -> (usize, f32) {
        let width = |axis: usize| match self.high[axis] - self.low[axis] {
            ..2 => 0.0,
            // Walls stand upright and reach the ceiling: heights are halved last.
            cubes => cubes as f32 * if axis == 2 { 0.4 } else { 1.0 },
        };
        let axis = (0..3).fold(0, |best, axis| if width(axis) > width(best) { axis } else { best });
        (axis, width(axis))
    }

    pub(super) fn halves(self, axis: usize) -> [Self; 2] {
        let middle = (self.low[axis] + self.high[axis]) / 2;
        let (mut first, mut second) = (self, self);
        (first.high[axis], second.low[axis]) = (middle, middle);
        [first, second]
    }
}
