//! Where things are: cells of the map, spots within them, and links from one entity to another. Integers throughout.

use sametick::EntityId;

/// Spots along the side of a cell.
pub const SUB: i32 = 32;
/// The largest map, in cells along a side; a row of cells is a `u128`.
pub const SIDE_MAX: i32 = 128;
/// Of a cell's number.
pub(crate) const CELL_BITS: u32 = 14;
/// The highest coordinate of a spot.
pub(crate) const SPOT_MAX: i32 = SIDE_MAX * SUB - 1;
const _: () = assert!(SIDE_MAX * SIDE_MAX == 1 << CELL_BITS);

/// A cell of the map: its row, then its column.
///
/// ```
/// use sametick_islands::Cell;
/// let cell = Cell::new(3, 5).unwrap();
/// assert_eq!((cell.x(), cell.y()), (3, 5));
/// assert_eq!(cell.centre().cell(), cell);
/// assert_eq!(Cell::new(-1, 0), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub u16);

/// A point on the map, in thirty-seconds of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// To the east.
    pub x: i32,
    /// To the south.
    pub y: i32,
}

/// The four ways a bridge can lead: east, south, west, north.
pub const DIRECTIONS: [(i32, i32); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];

impl Cell {
    /// The cell of a column and a row, if the largest map has one there.
    pub fn new(x: i32, y: i32) -> Option<Self> {
        let is_there = (0..SIDE_MAX).contains(&x) && (0..SIDE_MAX).contains(&y);
        is_there.then_some(Self((y * SIDE_MAX + x) as u16))
    }

    /// Its column.
    pub fn x(self) -> i32 {
        i32::from(self.0) % SIDE_MAX
    }

    /// Its row.
    pub fn y(self) -> i32 {
        i32::from(self.0) / SIDE_MAX
    }

    /// The spot in its middle.
    pub fn centre(self) -> Spot {
        Spot { x: self.x() * SUB + SUB / 2, y: self.y() * SUB + SUB / 2 }
    }

    /// The cell so many columns and rows away.
    pub fn offset(self, x: i32, y: i32) -> Option<Self> {
        Self::new(self.x() + x, self.y() + y)
    }

    /// How many steps a king would need.
    pub fn apart(self, other: Self) -> i32 {
        (self.x() - other.x()).abs().max((self.y() - other.y()).abs())
    }

    /// The cells at most `reach` king's steps away, nearest first, itself among them.
    pub fn around(self, reach: i32) -> impl Iterator<Item = Self> {
        let square = move |ring: i32| {
            let rows = (-ring..=ring).flat_map(move |y| (-ring..=ring).map(move |x| (x, y)));
            rows.filter(move |(x, y)| x.abs().max(y.abs()) == ring)
        };
        (0..=reach).flat_map(square).filter_map(move |(x, y)| self.offset(x, y))
    }
}

impl Spot {
    /// The cell it lies in; at the map's edge if it lies beyond.
    pub fn cell(self) -> Cell {
        let column = |at: i32| at.div_euclid(SUB).clamp(0, SIDE_MAX - 1);
        Cell::new(column(self.x), column(self.y)).unwrap_or_default()
    }

    /// The square of the way to another.
    pub fn distance_squared(self, other: Self) -> i64 {
        let (x, y) = (i64::from(self.x - other.x), i64::from(self.y - other.y));
        x * x + y * y
    }

    /// The way to another, rounded down.
    pub fn distance(self, other: Self) -> i32 {
        self.distance_squared(other).isqrt() as i32
    }

    /// Whether another is at most so far.
    pub fn is_within(self, other: Self, reach: i32) -> bool {
        self.distance_squared(other) <= i64::from(reach) * i64::from(reach)
    }
}

/// Another entity by its slot, in 13 bits where a whole name takes 32. The rules take a link away in the tick in which
/// what it leads to goes, so that it never leads to a slot's next tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub u16);

/// Slots of a client's guesses, which have names of their own, come behind the others.
const PROVISIONAL: u16 = 4096;
pub(crate) const LINK_BITS: u32 = 13;
const _: () = assert!(sametick::ENTITY_SLOTS_MAX == PROVISIONAL as usize);

impl Link {
    /// Leads nowhere.
    pub const NOBODY: Self = Self(0);

    /// The link to an entity. The first slot is the contest's, which nobody links to.
    pub fn to(id: EntityId) -> Self {
        Self(id.slot() as u16 | if id.is_provisional() { PROVISIONAL } else { 0 })
    }

    /// Whether it leads to what only this client knows of: the server has nothing of that name.
    pub fn is_provisional(self) -> bool {
        self.0 >= PROVISIONAL
    }

    /// Whether it leads anywhere.
    pub fn is_some(self) -> bool {
        self != Self::NOBODY
    }
}

/// An entity as a request calls it: its link, and the lowest bits of its name's generation. Whoever has gone before the
/// request arrives is not taken for the slot's next tenant.
///
/// ```
/// use sametick::EntityId;
/// use sametick_islands::{Link, Mark};
/// let [first, next] = [1, 2].map(|generation| EntityId::new(7, generation).unwrap());
/// assert_eq!(Mark::to(first).link(), Link::to(next));
/// assert_ne!(Mark::to(first), Mark::to(next));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u16);

/// So many tenants of a slot are told apart; no request is under way while more come and go.
const GENERATION_BITS: u32 = 3;
pub(crate) const MARK_BITS: u32 = LINK_BITS + GENERATION_BITS;
const _: () = assert!(MARK_BITS <= u16::BITS);

impl Mark {
    /// Calls an entity.
    pub fn to(id: EntityId) -> Self {
        let generation = id.generation() as u16 % (1 << GENERATION_BITS);
        Self(Link::to(id).0 << GENERATION_BITS | generation)
    }

    /// The link to whoever stands in its slot.
    pub fn link(self) -> Link {
        Link(self.0 >> GENERATION_BITS)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::NOBODY
    }
}
