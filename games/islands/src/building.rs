//! A building: where it stands or will stand, what is left of it, and what it makes.

use crate::health::{Health, beat_before};
use crate::place::{CELL_BITS, Cell, DIRECTIONS, Spot};
use crate::squad::{CLOCK_BITS, moment};
use crate::tables::{BuildingKind, UnitKind};
use sametick::{Fields, Networked};

/// The longest run of a bridge, in cells.
pub const SPAN_MAX: u8 = 4;
/// How many units can be ordered at once.
pub const BATCH_MAX: u8 = 15;
const HEALTH_MAX: u16 = 2000;
pub(crate) const LOSS_MAX: u16 = 255;

/// One building, or the plan of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Building {
    /// What is left of it.
    pub health: Health,
    /// When it began to make units.
    pub begun: u16,
    /// How many it makes from then on, one after the other.
    pub count: u8,
    /// What it makes.
    pub product: UnitKind,
    /// When it stands; 0 if nobody has begun to build it.
    pub ready: u16,
    /// Where it stands; of a bridge, the first cell.
    pub cell: Cell,
    /// What it is.
    pub kind: BuildingKind,
    /// Whose it is.
    pub seat: u8,
    /// Of a bridge: which of [`DIRECTIONS`] it leads.
    pub direction: u8,
    /// Of a bridge: how many cells.
    pub span: u8,
}

impl Networked for Building {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        self.health.fields(f, HEALTH_MAX, LOSS_MAX);
        f.bits("begun", &mut self.begun, CLOCK_BITS);
        f.int("count", &mut self.count, 0..=BATCH_MAX);
        f.choice("product", &mut self.product, &UnitKind::ALL);
        f.bits("ready", &mut self.ready, CLOCK_BITS);
        f.bits("cell", &mut self.cell.0, CELL_BITS);
        f.choice("kind", &mut self.kind, &BuildingKind::ALL);
        f.int("seat", &mut self.seat, 0..=7);
        f.int("direction", &mut self.direction, 0..=3);
        f.int("span", &mut self.span, 0..=SPAN_MAX);
    }
}

impl Building {
    /// Whether it is built.
    pub fn is_ready(&self, clock: u32) -> bool {
        self.ready > 0 && u32::from(self.ready) <= clock
    }

    /// How many of the units it was told to make are not made yet.
    pub fn left(&self, clock: u32) -> u8 {
        let made = clock.saturating_sub(u32::from(self.begun)) / self.product.table().ticks;
        u32::from(self.count).saturating_sub(made) as u8
    }

    /// How many of them have not appeared yet when a step begins: whoever is done appears with the next beat. Rules
    /// count these, or who is done but not there would be lost.
    pub(crate) fn owed(&self, clock: u32) -> u8 {
        self.left(beat_before(clock))
    }

    /// How far the next unit is made, of a hundred; none if none is.
    pub fn progress(&self, clock: u32) -> Option<u32> {
        let ticks = self.product.table().ticks;
        (self.left(clock) > 0)
            .then(|| clock.saturating_sub(u32::from(self.begun)) % ticks * 100 / ticks)
    }

    /// Makes so many more.
    pub(crate) fn make(&mut self, product: UnitKind, more: u8, clock: u32) {
        let left = self.owed(clock);
        if left == 0 {
            (self.begun, self.count, self.product) = (moment(clock), more, product);
            return;
        }
        let made = u32::from(self.count - left) * self.product.table().ticks;
        (self.begun, self.count) = (moment(u32::from(self.begun) + made), left + more);
    }

    /// The cells it covers.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        run(self.cell, self.direction, self.span.max(1))
    }

    /// Where it is hit.
    pub fn spot(&self) -> Spot {
        let (first, last) = (self.cell.centre(), self.cells().last().unwrap_or(self.cell).centre());
        Spot { x: (first.x + last.x) / 2, y: (first.y + last.y) / 2 }
    }

    /// What it cost.
    pub fn cost(&self) -> u32 {
        self.kind.table().cost * u32::from(self.span.max(1))
    }

    /// How long it takes to build.
    pub fn build_ticks(&self) -> u32 {
        self.kind.table().ticks * u32::from(self.span.max(1))
    }
}

/// The cells of a straight run; those beyond the map are not there.
pub(crate) fn run(first: Cell, direction: u8, span: u8) -> impl Iterator<Item = Cell> + use<> {
    let (x, y) = DIRECTIONS[usize::from(direction) % DIRECTIONS.len()];
    (0..i32::from(span)).filter_map(move |step| first.offset(x * step, y * step))
}
