//! A unit: what it is, what is left of it, and to which squad it belongs. Where it is follows from its squad.

use crate::health::Health;
use crate::place::{LINK_BITS, Link, SUB, Spot};
use crate::tables::UnitKind;
use sametick::{Fields, Networked};

/// How many places a squad has.
pub const SQUAD_PLACES: u8 = 32;
/// Health and loss that a record can tell.
const HEALTH_MAX: u16 = 127;
pub(crate) const LOSS_MAX: u16 = 63;
/// Between neighbours in a squad.
const SPACING: i32 = SUB * 5 / 8;

/// One unit. Seven small words: what changes in a fight stands first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// What is left of it.
    pub health: Health,
    /// Whom it goes with.
    pub squad: Link,
    /// Where in the squad.
    pub place: u8,
    /// What it is.
    pub kind: UnitKind,
    /// Whose it is.
    pub seat: u8,
}

impl Networked for Unit {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        self.health.fields(f, HEALTH_MAX, LOSS_MAX);
        f.bits("squad", &mut self.squad.0, LINK_BITS);
        f.int("place", &mut self.place, 0..=SQUAD_PLACES - 1);
        f.choice("kind", &mut self.kind, &UnitKind::ALL);
        f.int("seat", &mut self.seat, 0..=7);
    }
}

/// How far from the squad's own spot the place is: row by row around the middle.
///
/// ```
/// use sametick_islands::place_offset;
/// assert_eq!(place_offset(0), place_offset(0));
/// assert!((0..32).all(|one| (0..one).all(|other| place_offset(one) != place_offset(other))));
/// ```
pub fn place_offset(place: u8) -> Spot {
    let (column, row) = PLACES[usize::from(place) % PLACES.len()];
    Spot { x: column * SPACING, y: row * SPACING }
}

/// Nearest the middle first.
const PLACES: [(i32, i32); SQUAD_PLACES as usize] = [
    (0, 0),
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (-1, -1),
    (1, -1),
    (-1, 1),
    (2, 0),
    (-2, 0),
    (0, 2),
    (0, -2),
    (2, 1),
    (-2, -1),
    (-1, 2),
    (1, -2),
    (-2, 1),
    (2, -1),
    (1, 2),
    (-1, -2),
    (2, 2),
    (-2, -2),
    (2, -2),
    (-2, 2),
    (3, 0),
    (-3, 0),
    (0, 3),
    (0, -3),
    (3, 1),
    (-3, -1),
    (3, -1),
];
