//! Who moves where in one snapshot: what the leader did, and what neighbours did that are coded already.

use super::turn::{Turn, swing};

/// How an entity moved, known to both ends once it is coded. Places in steps, the rest with four bits
/// behind the point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Motion {
    pub(crate) from: [i32; 3],
    pub(crate) by: [i32; 3],
    /// What its prediction missed.
    pub(crate) missed: [i32; 3],
    pub(crate) turn: Turn,
    pub(crate) turn_missed: Turn,
}

/// What neighbours say of how somebody may move.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rumour {
    /// How many there are.
    pub(crate) count: i32,
    /// How they moved, and how the place would that they would take along.
    pub(crate) by: [i32; 3],
    pub(crate) swung: [i32; 3],
    pub(crate) missed: [i32; 3],
    pub(crate) turn: Turn,
    pub(crate) turn_missed: Turn,
    /// How much their predictions missed, all axes together.
    pub(crate) error: i32,
    pub(crate) turn_error: i32,
}

const CELLS: usize = 1024;
/// A cell remembers so many; who comes later takes the place of the first.
const CELL_ENTRIES: usize = 8;
const NOBODY: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Who moved in it: the index of a motion.
    entries: [u16; CELL_ENTRIES],
    count: u16,
    /// How many moved in it or beside it.
    around: u16,
    /// Of which snapshot this is.
    epoch: u32,
}

/// The motions of one snapshot by place. Two places may share a cell: that only makes predictions worse,
/// and on both ends alike.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) leader: Option<Motion>,
    motions: Vec<Motion>,
    cells: Vec<Cell>,
    epoch: u32,
}

impl Default for Space {
    fn default() -> Self {
        let empty = Cell { entries: [NOBODY; CELL_ENTRIES], count: 0, around: 0, epoch: 0 };
        Self { leader: None, motions: Vec::new(), cells: vec![empty; CELLS], epoch: 0 }
    }
}

impl Space {
    /// Forgets the last snapshot.
    pub(crate) fn clear(&mut self) {
        self.leader = None;
        self.motions.clear();
        self.epoch += 1;
    }

    /// How many moved near a place.
    #[inline]
    pub(crate) fn crowd(&self, place: &[i32; 3], radius: u32) -> i32 {
        let cell = &self.cells[index(cell_of(place, radius))];
        if cell.epoch == self.epoch { i32::from(cell.around) } else { 0 }
    }

    /// Takes in how somebody moved.
    pub(crate) fn add(&mut self, motion: Motion, radius: u32) {
        let number = self.motions.len().min(usize::from(NOBODY)) as u16;
        self.motions.push(motion);
        let [x, y, z] = cell_of(&motion.from, radius);
        for near in around(x, y, z) {
            let cell = self.cell_mut(index(near));
            cell.around = cell.around.saturating_add(1);
        }
        let cell = self.cell_mut(index([x, y, z]));
        cell.entries[usize::from(cell.count) % CELL_ENTRIES] = number;
        cell.count = cell.count.wrapping_add(1);
    }

    fn cell_mut(&mut self, index: usize) -> &mut Cell {
        let cell = &mut self.cells[index];
        if cell.epoch != self.epoch {
            (cell.count, cell.around, cell.epoch) = (0, 0, self.epoch);
        }
        cell
    }

    /// What the motions near a place say.
    pub(crate) fn listen(&self, place: &[i32; 3], radius: u32) -> Rumour {
        let mut sum = Sum::default();
        let [x, y, z] = cell_of(place, radius);
        for near in around(x, y, z) {
            let cell = &self.cells[index(near)];
            if cell.epoch == self.epoch {
                for entry in &cell.entries[..usize::from(cell.count).min(CELL_ENTRIES)] {
                    if let Some(motion) = self.motions.get(usize::from(*entry)) {
                        sum.add(motion, place, radius);
                    }
                }
            }
        }
        sum.mean()
    }

    /// How far the leader would take a place along.
    #[inline]
    pub(crate) fn led(&self, place: &[i32; 3]) -> [i32; 3] {
        let Some(leader) = self.leader else { return [0; 3] };
        let arm = std::array::from_fn(|axis| {
            (place[axis].wrapping_sub(leader.from[axis])).clamp(-ARM_MAX, ARM_MAX) * 16
        });
        let swung = swing(&leader.turn, &arm);
        std::array::from_fn(|axis| leader.by[axis].saturating_add(swung[axis]))
    }
}

/// Nobody is taken along from farther away.
const ARM_MAX: i32 = 1 << 20;

#[derive(Default)]
struct Sum {
    count: i32,
    weight: i64,
    by: [i64; 3],
    swung: [i64; 3],
    missed: [i64; 3],
    turn: [i64; 3],
    turn_missed: [i64; 3],
}

impl Sum {
    #[inline]
    fn add(&mut self, motion: &Motion, place: &[i32; 3], radius: u32) {
        let arm: [i32; 3] = std::array::from_fn(|axis| place[axis].wrapping_sub(motion.from[axis]));
        let square: i64 = arm.iter().map(|part| i64::from(*part).pow(2)).sum();
        let reach = i64::from(radius).pow(2);
        if square >= reach {
            return;
        }
        // From 1 at the edge to 256 in the same place.
        let weight = 1 + 255 * (reach - square) / reach;
        self.count += 1;
        self.weight += weight;
        let swung = swing(&motion.turn, &arm.map(|part| part * 16));
        for axis in 0..3 {
            self.by[axis] += weight * i64::from(motion.by[axis]);
            self.swung[axis] += weight * (i64::from(motion.by[axis]) + i64::from(swung[axis]));
            self.missed[axis] += weight * i64::from(motion.missed[axis]);
            self.turn[axis] += weight * i64::from(motion.turn[axis]);
            self.turn_missed[axis] += weight * i64::from(motion.turn_missed[axis]);
        }
    }

    fn mean(&self) -> Rumour {
        if self.count == 0 {
            return Rumour::default();
        }
        let mean = |sums: &[i64; 3]| sums.map(|sum| (sum / self.weight) as i32);
        let (missed, turn_missed) = (mean(&self.missed), mean(&self.turn_missed));
        Rumour {
            count: self.count,
            by: mean(&self.by),
            swung: mean(&self.swung),
            missed,
            turn: mean(&self.turn),
            turn_missed,
            error: missed.iter().map(|part| part.abs()).sum(),
            turn_error: turn_missed.iter().map(|part| part.abs()).sum(),
        }
    }
}

#[inline]
fn cell_of(place: &[i32; 3], radius: u32) -> [i32; 3] {
    place.map(|part| part.div_euclid(radius.cast_signed().max(1)))
}

#[inline]
fn index([x, y, z]: [i32; 3]) -> usize {
    let mixed = (x as u32).wrapping_mul(0x9E37_79B1)
        ^ (y as u32).wrapping_mul(0x85EB_CA6B)
        ^ (z as u32).wrapping_mul(0xC2B2_AE35);
    (mixed ^ mixed >> 15) as usize % CELLS
}

fn around(x: i32, y: i32, z: i32) -> impl Iterator<Item = [i32; 3]> {
    let near = |part: i32| [part.wrapping_sub(1), part, part.wrapping_add(1)];
    near(x).into_iter().flat_map(move |x| {
        near(y).into_iter().flat_map(move |y| near(z).into_iter().map(move |z| [x, y, z]))
    })
}
