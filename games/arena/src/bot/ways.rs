//! The ways through a map: places to stand, links between them, and the quickest path from one to another. Surveyed
//! once, shared by all bots of a game; knows nothing of who walks.

use super::survey;
use crate::content::Content;
use crate::vector::{Bounds, Vector, length, subtract};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How one gets from a place to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On foot, over steps and slopes.
    Walk,
    /// By a jump at its beginning.
    Jump,
    /// By running over an edge.
    Drop,
    /// By waiting on the lift with this number.
    Lift(u8),
    /// By touching a teleporter.
    Teleport,
}

/// A way from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The place it leads to.
    pub to: u32,
    /// How.
    pub way: Way,
    /// How long it takes.
    pub milliseconds: u32,
}

/// One step of a path: go to this place, in this way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// The place it leads to.
    pub to: u32,
    /// How.
    pub way: Way,
}

/// A graph of the places of a map that can be reached from its spawns.
///
/// ```
/// use sametick_arena::bot::Ways;
/// use sametick_arena::{Content, Mode, map};
///
/// let content = Content::new(map::CORNERS, Mode::Duel)?;
/// let ways = Ways::new(&content);
/// let ends = [0, 1].map(|spawn: usize| ways.nearest(content.map.spawns[spawn].place).unwrap());
/// let mut path = Vec::new();
/// assert!(ways.path(ends[0], ends[1], |_, _| true, &mut path));
/// assert_eq!(path.last().map(|leg| leg.to), Some(ends[1]));
/// # Ok::<(), sametick_arena::map::MapError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ways {
    places: Vec<Vector>,
    /// Where the links of each place begin among `links`, and where the last ends.
    starts: Vec<u32>,
    links: Vec<Link>,
    squares: Squares,
    spacing: f32,
    run_speed: f32,
    /// Where one boards each lift of the map.
    boarding: Vec<Option<u32>>,
}

/// A path is looked for among this many places at most; then it leads as near as was found.
const EXPANSIONS_MAX: usize = 8000;
/// How much more what is left of the way counts than what is behind: a little more finds paths sooner.
const HASTE: f32 = 1.15;
/// Metres above or below count for as many on the level.
const HEIGHT_TIMES: f32 = 3.0;

impl Ways {
    /// Surveys the map of a game. Takes a moment: do it once and share it.
    pub fn new(content: &Content) -> Self {
        let found = survey::survey(content);
        let mut ways = Self {
            squares: Squares::new(&found.places, found.spacing),
            places: found.places,
            starts: Vec::with_capacity(found.links.len() + 1),
            links: Vec::new(),
            spacing: found.spacing,
            run_speed: content.tuning.run_speed,
            boarding: found.boarding,
        };
        for links in found.links {
            ways.starts.push(ways.links.len() as u32);
            ways.links.extend(links);
        }
        ways.starts.push(ways.links.len() as u32);
        ways
    }

    /// Where one can stand.
    pub fn places(&self) -> &[Vector] {
        &self.places
    }

    /// How far apart neighbours are on the level.
    pub fn spacing(&self) -> f32 {
        self.spacing
    }

    /// The ways from a place.
    pub fn links(&self, from: u32) -> &[Link] {
        let from = from as usize;
        &self.links[self.starts[from] as usize..self.starts[from + 1] as usize]
    }

    /// The lift that one boards at a place, if there is one.
    pub fn lift_at(&self, place: u32) -> Option<usize> {
        self.boarding.iter().position(|boarding| *boarding == Some(place))
    }

    /// The place nearest to where someone is, if there is one near.
    pub fn nearest(&self, to: Vector) -> Option<u32> {
        let far = |place: &u32| {
            let [x, y, z] = subtract(self.places[*place as usize], to);
            // Feet are above their ground, seldom below.
            x * x + y * y + HEIGHT_TIMES * z * z * if z > 0.5 { HEIGHT_TIMES } else { 1.0 }
        };
        (1..4).find_map(|reach| {
            let near = self.squares.near(to, reach);
            near.min_by(|a, b| far(a).total_cmp(&far(b)))
        })
    }

    /// The quickest path found between two places, without its beginning, over links that are allowed. If there is
    /// none, or it is too long to be found, leads as near as was found and returns false.
    pub fn path(
        &self,
        from: u32,
        to: u32,
        is_allowed: impl Fn(u32, &Link) -> bool,
        path: &mut Vec<Leg>,
    ) -> bool {
        path.clear();
        let goal = self.places[to as usize];
        let left = |place: u32| {
            let metres = length(subtract(self.places[place as usize], goal));
            (metres / self.run_speed * 1000.0 * HASTE) as u32
        };
        let unknown = Reached { milliseconds: u32::MAX, from: u32::MAX, way: Way::Walk };
        let mut reached = vec![unknown; self.places.len()];
        let mut waiting = BinaryHeap::from([Reverse((left(from), from))]);
        let (mut best, mut expansions) = ((left(from), from), 0);
        reached[from as usize].milliseconds = 0;
        while let Some(Reverse((whole, place))) = waiting.pop() {
            if whole > reached[place as usize].milliseconds + left(place) {
                // Since it began to wait, a quicker way to it was found.
                continue;
            }
            best = best.min((left(place), place));
            expansions += 1;
            if place == to || expansions > EXPANSIONS_MAX {
                break;
            }
            let before = reached[place as usize].milliseconds;
            for link in self.links(place).iter().filter(|link| is_allowed(place, link)) {
                let milliseconds = before + link.milliseconds;
                let known = &mut reached[link.to as usize];
                if milliseconds < known.milliseconds {
                    *known = Reached { milliseconds, from: place, way: link.way };
                    waiting.push(Reverse((milliseconds + left(link.to), link.to)));
                }
            }
        }
        let mut place = best.1;
        while place != from {
            let Reached { from, way, .. } = reached[place as usize];
            path.push(Leg { to: place, way });
            place = from;
        }
        path.reverse();
        best.1 == to
    }
}

#[derive(Clone, Copy)]
struct Reached {
    milliseconds: u32,
    from: u32,
    way: Way,
}

/// Places by the squares of a level grid they are in.
#[derive(Clone, Debug)]
pub(super) struct Squares {
    bounds: Bounds,
    side: f32,
    columns: usize,
    rows: usize,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Squares {
    pub(super) fn new(places: &[Vector], side: f32) -> Self {
        let bounds = Bounds::around(places.iter().copied());
        let count = |axis: usize| ((bounds.high[axis] - bounds.low[axis]) / side) as usize + 1;
        let (columns, rows) = (count(0), count(1));
        let mut squares =
            Self { bounds, side, columns, rows, starts: Vec::new(), members: Vec::new() };
        let mut sorted: Vec<(usize, u32)> =
            places.iter().zip(0..).map(|(place, index)| (squares.square(*place), index)).collect();
        sorted.sort_unstable();
        let mut from = 0;
        for square in 0..columns * rows {
            squares.starts.push(from as u32);
            from += sorted[from..].iter().take_while(|(own, _)| *own == square).count();
        }
        squares.starts.push(from as u32);
        squares.members = sorted.into_iter().map(|(_, index)| index).collect();
        squares
    }

    /// All that are in the square of a place or at most so many squares from it.
    pub(super) fn near(&self, place: Vector, reach: usize) -> impl Iterator<Item = u32> {
        let [column, row] = self.column_and_row(place);
        let columns = column.saturating_sub(reach)..=(column + reach).min(self.columns - 1);
        let rows = row.saturating_sub(reach)..=(row + reach).min(self.rows - 1);
        rows.flat_map(move |row| {
            let [first, last] = [*columns.start(), *columns.end() + 1];
            let [first, last] =
                [first, last].map(|column| self.starts[row * self.columns + column] as usize);
            self.members[first..last].iter().copied()
        })
    }

    fn square(&self, place: Vector) -> usize {
        let [column, row] = self.column_and_row(place);
        row * self.columns + column
    }

    fn column_and_row(&self, place: Vector) -> [usize; 2] {
        [(0, self.columns), (1, self.rows)].map(|(axis, count): (usize, usize)| {
            (((place[axis] - self.bounds.low[axis]) / self.side).max(0.0) as usize).min(count - 1)
        })
    }
}
