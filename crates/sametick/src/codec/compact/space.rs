//! Who moves where in one snapshot: what the leader did, and what neighbours did that are coded already.

use super::turn::{Swing, Turn};
use crate::core::entity::EntityId;

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
}

const CELLS: usize = 1024;
/// A cell remembers so many; who comes later takes the place of the first.
const CELL_ENTRIES: usize = 16;

/// The motions of one snapshot by place. Two places may share a cell: that only makes predictions worse,
/// and on both ends alike.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) leader: Option<Motion>,
    /// How those moved that others may be attached to, by slot.
    anchors: Vec<Option<(EntityId, Motion)>>,
    motions: Vec<Neighbour>,
    /// How many moved in each small cell or beside it.
    around: Vec<u16>,
    /// How many moved in each large cell, and which.
    counts: Vec<u16>,
    entries: Vec<[u16; CELL_ENTRIES]>,
}

/// A motion, ready to be asked.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    motion: Motion,
    swing: Swing,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            leader: None,
            anchors: Vec::new(),
            motions: Vec::new(),
            around: vec![0; CELLS],
            counts: vec![0; CELLS],
            entries: vec![[0; CELL_ENTRIES]; CELLS],
        }
    }
}

impl Space {
    /// Forgets the last snapshot.
    pub(crate) fn clear(&mut self) {
        self.leader = None;
        self.anchors.clear();
        if !self.motions.is_empty() {
            self.motions.clear();
            self.around.fill(0);
            self.counts.fill(0);
        }
    }

    /// How many moved near a place.
    #[inline]
    pub(crate) fn crowd(&self, place: &[i32; 3], radius: u32) -> i32 {
        if self.motions.is_empty() {
            return 0;
        }
        let [x, y, z] = cell_of(place, shift_of(radius));
        i32::from(self.around[index(hash_x(x) ^ hash_y(y) ^ hash_z(z))])
    }

    /// Takes in how somebody moved.
    pub(crate) fn add(&mut self, motion: Motion, radius: u32) {
        let limit = |part: i32| part.clamp(-MOTION_MAX, MOTION_MAX);
        let motion = Motion {
            from: motion.from,
            by: motion.by.map(limit),
            missed: motion.missed.map(limit),
            turn: motion.turn.map(limit),
            turn_missed: motion.turn_missed.map(limit),
        };
        let number = self.motions.len() as u16;
        self.motions.push(Neighbour { motion, swing: Swing::new(&motion.turn) });
        let shift = shift_of(radius);
        let [x, y, z] = cell_of(&motion.from, shift);
        for x in near(x).map(hash_x) {
            for y in near(y).map(hash_y) {
                for z in near(z).map(hash_z) {
                    let around = &mut self.around[index(x ^ y ^ z)];
                    *around = around.saturating_add(1);
                }
            }
        }
        let [x, y, z] = cell_of(&motion.from, shift + 1);
        let cell = index(hash_x(x) ^ hash_y(y) ^ hash_z(z));
        self.entries[cell][usize::from(self.counts[cell]) % CELL_ENTRIES] = number;
        self.counts[cell] += 1;
    }

    /// What the motions near a place say. A ball of the radius meets at most eight cells of twice that.
    pub(crate) fn listen(&self, place: &[i32; 3], radius: u32) -> Rumour {
        let mut sum = Sum::default();
        if self.motions.is_empty() {
            return Rumour::default();
        }
        let reach = Reach::new(radius);
        let shift = shift_of(radius);
        let [x, y, z] = [0, 1, 2].map(|axis| both(place[axis], shift));
        for x in x.map(hash_x) {
            for y in y.map(hash_y) {
                for z in z.map(hash_z) {
                    let cell = index(x ^ y ^ z);
                    let count = usize::from(self.counts[cell]).min(CELL_ENTRIES);
                    for entry in &self.entries[cell][..count] {
                        sum.add(&self.motions[usize::from(*entry)], place, &reach);
                    }
                }
            }
        }
        sum.mean()
    }

    /// Takes in how somebody moved whom others may be attached to.
    pub(crate) fn anchor(&mut self, id: EntityId, motion: Motion) {
        if self.anchors.len() <= id.slot() {
            self.anchors.resize(id.slot() + 1, None);
        }
        self.anchors[id.slot()] = Some((id, motion));
    }

    /// How somebody moved, if it did.
    pub(crate) fn moved(&self, id: EntityId) -> Option<Motion> {
        let (known, motion) = (*self.anchors.get(id.slot())?)?;
        (known == id).then_some(motion)
    }

    /// How far the leader would take a place along.
    #[inline]
    pub(crate) fn led(&self, place: &[i32; 3]) -> [i32; 3] {
        self.leader.map_or([0; 3], |leader| leader.leads(place))
    }
}

impl Motion {
    /// How far it takes a place along.
    pub(crate) fn leads(&self, place: &[i32; 3]) -> [i32; 3] {
        let leader = self;
        let arm = std::array::from_fn(|axis| {
            (place[axis].wrapping_sub(leader.from[axis])).clamp(-ARM_MAX, ARM_MAX) * 16
        });
        let swung = Swing::new(&leader.turn).of(&arm);
        std::array::from_fn(|axis| leader.by[axis].saturating_add(swung[axis]))
    }
}

/// Nobody is taken along from farther away.
const ARM_MAX: i32 = 1 << 20;

/// Nobody is said to move farther.
const MOTION_MAX: i32 = 1 << 24;

/// How near a neighbour must be, and how much it counts.
struct Reach {
    square: i64,
    /// What a square is to be divided by for a weight, as a factor.
    factor: i64,
}

const WEIGHT_BITS: u32 = 4;
const FACTOR_BITS: u32 = 36;

impl Reach {
    fn new(radius: u32) -> Self {
        let square = i64::from(radius).pow(2);
        Self { square, factor: (1 << (FACTOR_BITS + WEIGHT_BITS)) / square }
    }
}

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
    #[inline(always)]
    fn add(&mut self, neighbour: &Neighbour, place: &[i32; 3], reach: &Reach) {
        let motion = &neighbour.motion;
        let arm: [i32; 3] = std::array::from_fn(|axis| place[axis].wrapping_sub(motion.from[axis]));
        let square: i64 =
            arm.iter().map(|part| i64::from(*part).saturating_mul(i64::from(*part)) >> 2).sum();
        let square = square.saturating_mul(4);
        if square >= reach.square {
            return;
        }
        // From 1 at the edge to 17 in the same place.
        let weight = 1 + (((reach.square - square) * reach.factor) >> FACTOR_BITS);
        self.count += 1;
        self.weight += weight;
        let swung = neighbour.swing.of(&arm.map(|part| part * 16));
        for (axis, swung) in swung.into_iter().enumerate() {
            self.by[axis] += weight * i64::from(motion.by[axis]);
            self.swung[axis] += weight * i64::from(swung);
            self.missed[axis] += weight * i64::from(motion.missed[axis]);
            self.turn[axis] += weight * i64::from(motion.turn[axis]);
            self.turn_missed[axis] += weight * i64::from(motion.turn_missed[axis]);
        }
    }

    fn mean(&self) -> Rumour {
        if self.count == 0 {
            return Rumour::default();
        }
        // One division for all of them.
        let share = (1 << MEAN_BITS) / self.weight;
        let mean = |sums: &[i64; 3]| sums.map(|sum| ((sum * share) >> MEAN_BITS) as i32);
        let (by, swung) = (mean(&self.by), mean(&self.swung));
        let missed = mean(&self.missed);
        Rumour {
            count: self.count,
            by,
            swung: std::array::from_fn(|axis| by[axis] + swung[axis]),
            missed,
            turn: mean(&self.turn),
            turn_missed: mean(&self.turn_missed),
            error: missed.iter().map(|part| part.abs()).sum(),
        }
    }
}

const MEAN_BITS: u32 = 24;
// The sum of the most neighbours with the greatest weights, times a share of one, fits.
const _: () = assert!(24 + 5 + (8 * CELL_ENTRIES).ilog2() + MEAN_BITS < 63);

/// Cells are as large as the radius, or up to twice that: a power of two, so that nothing is divided.
#[inline(always)]
fn shift_of(radius: u32) -> u32 {
    radius.max(1).next_power_of_two().trailing_zeros()
}

#[inline(always)]
fn cell_of(place: &[i32; 3], shift: u32) -> [i32; 3] {
    place.map(|part| part >> shift)
}

/// The two cells of twice the size that a ball around a place meets along one axis.
#[inline(always)]
fn both(part: i32, shift: u32) -> [i32; 2] {
    let half = part >> shift;
    let cell = half >> 1;
    [cell, if half & 1 == 0 { cell.wrapping_sub(1) } else { cell.wrapping_add(1) }]
}

#[inline(always)]
fn near(part: i32) -> [i32; 3] {
    [part.wrapping_sub(1), part, part.wrapping_add(1)]
}

#[inline(always)]
fn hash_x(x: i32) -> u32 {
    x.cast_unsigned().wrapping_mul(0x9E37_79B1)
}
#[inline(always)]
fn hash_y(y: i32) -> u32 {
    y.cast_unsigned().wrapping_mul(0x85EB_CA6B)
}
#[inline(always)]
fn hash_z(z: i32) -> u32 {
    z.cast_unsigned().wrapping_mul(0xC2B2_AE35)
}

#[inline(always)]
fn index(mixed: u32) -> usize {
    (mixed ^ mixed >> 15) as usize % CELLS
}
