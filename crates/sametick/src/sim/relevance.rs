//! Whom a player may know of: helpers for [`Game::relevant`](crate::Game::relevant). What they leave out
//! is never on the wire, so where they are unsure they let in.

use crate::core::entity::ENTITY_SLOTS_MAX;
use crate::core::slots::Slots;
use crate::schema::entities::Entities;
use crate::sim::world::World;
use std::ops::Range;

/// The most cells a map can be divided into.
pub const CELLS_MAX: usize = 1 << 14;
const _: () = assert!(CELLS_MAX <= 1 << 16 && ENTITY_SLOTS_MAX <= 1 << 16);

/// Everyone.
///
/// ```
/// # use sametick::{Fields, Networked, Slots, World, relevance};
/// # #[derive(Clone, Debug, Default)]
/// # pub struct Rock { pub x: f32 }
/// # impl Networked for Rock {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.exact("x", &mut self.x); }
/// # }
/// # sametick::entities! { pub enum Entity { Rock } }
/// # let mut world = World::<Entity>::default();
/// world.spawn(Rock { x: 3.0 });
/// let mut visible = Slots::default();
/// relevance::everything(&world, &mut visible);
/// assert_eq!(visible.len(), 1);
/// ```
pub fn everything<E: Entities>(world: &World<E>, visible: &mut Slots) {
    world.occupied(visible);
}

/// Whoever is at most so far from the eye; those without a place are always in sight.
///
/// ```
/// # use sametick::{Fields, Networked, Slots, World, relevance};
/// # #[derive(Clone, Debug, Default)]
/// # pub struct Rock { pub x: f32 }
/// # impl Networked for Rock {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.exact("x", &mut self.x); }
/// # }
/// # sametick::entities! { pub enum Entity { Rock } }
/// # let mut world = World::<Entity>::default();
/// world.spawn(Rock { x: 3.0 });
/// world.spawn(Rock { x: 30.0 });
/// let place = |entity: &Entity| match entity {
///     Entity::Rock(rock) => Some([rock.x, 0.0, 0.0]),
/// };
/// let mut visible = Slots::default();
/// relevance::within(&world, [0.0; 3], 10.0, place, &mut visible);
/// assert_eq!(visible.iter().collect::<Vec<_>>(), [0]);
/// ```
pub fn within<E: Entities>(
    world: &World<E>,
    eye: [f32; 3],
    distance: f32,
    place: impl Fn(&E) -> Option<[f32; 3]>,
    visible: &mut Slots,
) {
    for (id, entity) in world.entities() {
        let is_far = place(entity).is_some_and(|place| {
            let off = [0, 1, 2].map(|axis| place[axis] - eye[axis]);
            // Not the other way round: what is not a number is near.
            off[0] * off[0] + off[1] * off[1] + off[2] * off[2] > distance * distance
        });
        if !is_far {
            visible.insert(id.slot());
        }
    }
}

/// A map divided into cells, and from which of them which others can be seen. It is part of a game's
/// content, made once; both ends may have it, only the server asks it.
///
/// Conservative by construction: a cell sees itself, seeing is mutual, and where a place is in no cell
/// everyone sees everyone.
///
/// ```
/// # use sametick::{Fields, Networked, Slots, World};
/// # #[derive(Clone, Debug, Default)]
/// # pub struct Rock { pub x: f32 }
/// # impl Networked for Rock {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.exact("x", &mut self.x); }
/// # }
/// # sametick::entities! { pub enum Entity { Rock } }
/// # let mut world = World::<Entity>::default();
/// use sametick::relevance::{Cells, Grid};
///
/// // Three rooms in a row; from each one sees into the next, but not through two walls.
/// let grid = Grid { corner: [0.0, 0.0], cell_metres: 10.0, columns: 3, rows: 1 };
/// let mut rooms = Cells::new(grid.cells());
/// rooms.see_each_other(0, 1);
/// rooms.see_each_other(1, 2);
///
/// world.spawn(Rock { x: 5.0 });
/// world.spawn(Rock { x: 25.0 });
/// let cell = |entity: &Entity| match entity {
///     Entity::Rock(rock) => grid.cell([rock.x, 5.0]),
/// };
/// let mut visible = Slots::default();
/// rooms.visible_from(&world, grid.cell([2.0, 5.0]), cell, &mut visible);
/// assert_eq!(visible.iter().collect::<Vec<_>>(), [0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    cells: usize,
    /// A row of bits for each cell.
    rows: Vec<u64>,
}

impl Cells {
    /// So many cells, at most [`CELLS_MAX`], from each of which only itself is seen.
    ///
    /// # Panics
    /// If there are too many.
    pub fn new(cells: usize) -> Self {
        assert!(cells <= CELLS_MAX, "a map has at most {CELLS_MAX} cells");
        let mut new = Self { cells, rows: vec![0; cells * cells.div_ceil(64)] };
        (0..cells).for_each(|cell| new.set(cell, cell));
        new
    }

    /// Cells of which any two see each other unless `is_hidden` is sure that nothing of one can be
    /// seen from anywhere in the other.
    pub fn unless(cells: usize, is_hidden: impl Fn(usize, usize) -> bool) -> Self {
        let mut new = Self::new(cells);
        for one in 0..cells {
            for other in (0..one).filter(|other| !is_hidden(one, *other)) {
                new.see_each_other(one, other);
            }
        }
        new
    }

    /// Lets two cells see each other.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn see_each_other(&mut self, one: usize, other: usize) {
        assert!(one.max(other) < self.cells, "there are {} cells", self.cells);
        self.set(one, other);
        self.set(other, one);
    }

    /// Whether something in one place may be seen from another, each a cell or outside of all.
    pub fn sees(&self, from: Option<usize>, to: Option<usize>) -> bool {
        let known = |cell: Option<usize>| cell.filter(|cell| *cell < self.cells);
        let (Some(from), Some(to)) = (known(from), known(to)) else { return true };
        self.rows[from * self.row_words() + to / 64] & 1 << (to % 64) != 0
    }

    /// Adds whoever may be seen from a cell; `cell` says where an entity is.
    pub fn visible_from<E: Entities>(
        &self,
        world: &World<E>,
        eye: Option<usize>,
        cell: impl Fn(&E) -> Option<usize>,
        visible: &mut Slots,
    ) {
        let seen = world.entities().filter(|(_, entity)| self.sees(eye, cell(entity)));
        seen.for_each(|(id, _)| visible.insert(id.slot()));
    }

    /// Adds whoever may be seen from a cell, of those who stand where `places` says.
    pub fn visible_among(&self, places: &Places, eye: Option<usize>, visible: &mut Slots) {
        visible.insert_chunks(places.anywhere.chunks().iter().copied());
        let mut insert = |slots: &[u16]| {
            slots.iter().for_each(|slot| visible.insert(usize::from(*slot)));
        };
        let Some(eye) = eye.filter(|cell| *cell < self.cells) else {
            return insert(&places.slots);
        };
        // Cells that there are not see everyone, and are seen by everyone.
        insert(places.within(self.cells..CELLS_MAX));
        let row = &self.rows[eye * self.row_words()..][..self.row_words()];
        for (word, seen) in row.iter().enumerate() {
            let mut seen = *seen;
            // Cells that are seen and follow each other are taken at once.
            while seen != 0 {
                let first = seen.trailing_zeros();
                let count = (!(seen >> first)).trailing_zeros();
                let cell = word * 64 + first as usize;
                insert(places.within(cell..cell + count as usize));
                seen = if first + count < 64 { seen & u64::MAX << (first + count) } else { 0 };
            }
        }
    }

    fn set(&mut self, from: usize, to: usize) {
        let word = from * self.row_words() + to / 64;
        self.rows[word] |= 1 << (to % 64);
    }

    fn row_words(&self) -> usize {
        self.cells.div_ceil(64)
    }
}

/// Where everyone stands at one tick: found once for all who look.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Slots, each with its cell.
    placed: Vec<(u16, u16)>,
    /// The same slots, cell by cell.
    slots: Vec<u16>,
    /// By cell, where its slots begin; at last, where those of the last end.
    starts: Vec<u32>,
    /// Those in no cell: everyone sees them.
    anywhere: Slots,
}

impl Places {
    /// Notes everyone's cell, as `cell` tells.
    pub fn fill<E: Entities>(&mut self, world: &World<E>, cell: impl Fn(&E) -> Option<usize>) {
        for (id, entity) in world.entities() {
            match cell(entity).filter(|cell| *cell < CELLS_MAX) {
                Some(cell) => self.placed.push((id.slot() as u16, cell as u16)),
                None => self.anywhere.insert(id.slot()),
            }
        }
        self.sort();
    }

    /// Counts who is in each cell, and puts them one cell behind the other.
    fn sort(&mut self) {
        let cells = self.placed.iter().map(|(_, cell)| usize::from(*cell) + 1).max().unwrap_or(0);
        self.starts.clear();
        self.starts.resize(cells + 1, 0);
        self.placed.iter().for_each(|(_, cell)| self.starts[usize::from(*cell)] += 1);
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.slots.clear();
        self.slots.resize(self.placed.len(), 0);
        // Filled from behind, each comes to be where its cell begins.
        for (slot, cell) in self.placed.iter().rev() {
            let start = &mut self.starts[usize::from(*cell)];
            *start -= 1;
            self.slots[*start as usize] = *slot;
        }
    }

    /// Who is in some cells that follow each other.
    fn within(&self, cells: Range<usize>) -> &[u16] {
        let start = |cell: usize| self.starts.get(cell).map_or(self.slots.len(), |at| *at as usize);
        &self.slots[start(cells.start)..start(cells.end)]
    }

    pub(crate) fn clear(&mut self) {
        self.placed.clear();
        self.slots.clear();
        self.starts.clear();
        self.anywhere.clear();
    }
}

/// Square cells over a rectangle, for maps that have no cells of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Where the first cell begins.
    pub corner: [f32; 2],
    /// How long the side of a cell is.
    pub cell_metres: f32,
    /// How many cells there are along the first axis.
    pub columns: usize,
    /// How many there are along the second.
    pub rows: usize,
}

impl Grid {
    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.columns * self.rows
    }

    /// The cell of a place; none outside.
    pub fn cell(&self, place: [f32; 2]) -> Option<usize> {
        let [column, row] = [0, 1].map(|axis| (place[axis] - self.corner[axis]) / self.cell_metres);
        let is_inside = column >= 0.0 && row >= 0.0;
        let (column, row) = (column as usize, row as usize);
        (is_inside && column < self.columns && row < self.rows).then(|| row * self.columns + column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dice, Fields, Networked};

    #[derive(Clone, Debug, Default)]
    pub(crate) struct Mark {
        place: [f32; 2],
    }

    impl Networked for Mark {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.exacts("place", &mut self.place);
        }
    }

    crate::entities! { pub(crate) enum Entity { Mark } }

    fn place(entity: &Entity) -> [f32; 2] {
        let Entity::Mark(mark) = entity;
        mark.place
    }

    fn scattered(count: usize) -> World<Entity> {
        let mut dice = Dice::new(5, 0);
        let mut world = World::default();
        for _ in 0..count {
            let mut metres = || dice.unit() as f32 * 120.0 - 10.0;
            let place = [metres(), metres()];
            world.spawn(Mark { place });
        }
        world
    }

    #[test]
    fn within_is_what_the_distance_says() {
        let world = scattered(500);
        let mut visible = Slots::default();
        let at = |entity: &Entity| Some([place(entity)[0], place(entity)[1], 0.0]);
        within(&world, [50.0, 50.0, 0.0], 30.0, at, &mut visible);
        assert!(visible.len() > 20);
        for (id, entity) in world.entities() {
            let off = place(entity).map(|metres| f64::from(metres) - 50.0);
            let metres = libm::hypot(off[0], off[1]);
            if (metres - 30.0).abs() > 1e-3 {
                assert_eq!(visible.contains(id.slot()), metres < 30.0, "{metres} m away");
            }
        }
    }

    #[test]
    fn what_has_no_place_or_no_number_is_let_in() {
        let mut world = World::default();
        world.spawn(Mark { place: [f32::NAN, 0.0] });
        let mut visible = Slots::default();
        let at = |entity: &Entity| Some([place(entity)[0], 0.0, 0.0]);
        within(&world, [0.0; 3], 1.0, at, &mut visible);
        assert_eq!(visible.len(), 1);
        let mut visible = Slots::default();
        within(&world, [0.0; 3], 1.0, |_| None, &mut visible);
        assert_eq!(visible.len(), 1);
    }

    #[test]
    fn cells_are_conservative() {
        let mut dice = Dice::new(9, 0);
        let hidden: Vec<bool> = (0..100 * 100).map(|_| dice.chance(0.5)).collect();
        let cells = Cells::unless(100, |one, other| hidden[one * 100 + other]);
        for one in 0..100 {
            assert!(cells.sees(Some(one), Some(one)), "a cell sees itself");
            assert!(cells.sees(None, Some(one)) && cells.sees(Some(one), None));
            assert!(
                cells.sees(Some(one), Some(100)),
                "of a cell that is not there nothing is known"
            );
            for other in 0..one {
                let sees = cells.sees(Some(one), Some(other));
                assert_eq!(sees, cells.sees(Some(other), Some(one)), "seeing is mutual");
                assert_eq!(sees, !hidden[one * 100 + other]);
            }
        }
    }

    #[test]
    fn a_grid_has_a_cell_for_each_place_inside_and_none_outside() {
        let grid = Grid { corner: [0.0, 0.0], cell_metres: 10.0, columns: 10, rows: 10 };
        let (world, mut cells) = (scattered(500), Cells::new(grid.cells()));
        cells.see_each_other(0, 99);
        for (_, entity) in world.entities() {
            let [x, y] = place(entity);
            let is_inside = (0.0..100.0).contains(&x) && (0.0..100.0).contains(&y);
            let cell = is_inside.then(|| (y / 10.0) as usize * 10 + (x / 10.0) as usize);
            assert_eq!(grid.cell([x, y]), cell);
        }
        assert_eq!(grid.cell([f32::NAN, 0.0]), None);
        let (mut visible, mut all) = (Slots::default(), Slots::default());
        let cell = |entity: &Entity| grid.cell(place(entity));
        cells.visible_from(&world, Some(0), cell, &mut visible);
        everything(&world, &mut all);
        assert!(visible.len() < all.len());
        for (id, entity) in world.entities() {
            let is_seen = matches!(cell(entity), None | Some(0 | 99));
            assert_eq!(visible.contains(id.slot()), is_seen);
        }
        let mut places = Places::default();
        places.fill(&world, cell);
        for eye in [None, Some(100), Some(0), Some(99), Some(42)] {
            let [mut one_by_one, mut at_once] = [Slots::default(), Slots::default()];
            cells.visible_from(&world, eye, cell, &mut one_by_one);
            cells.visible_among(&places, eye, &mut at_once);
            assert_eq!(at_once, one_by_one, "from {eye:?}");
        }
    }
}
