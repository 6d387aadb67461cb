//! The map: islands in the sea, made from a seed and the number of players, the same for each of them.

use crate::contest::{SEATS_MAX, TICKS_PER_SECOND};
use crate::place::{Cell, SIDE_MAX};
use sametick::Dice;
use sametick::record::mix;

/// How many workers a spring feeds.
pub const SPRING_WORKERS_MAX: usize = 3;
/// How long a contest lasts at most.
pub const CONTEST_SECONDS: u32 = 15 * 60;

/// With what everyone begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// An altar, a workshop, four workers and four raiders.
    #[default]
    Settlers,
    /// A standing army and all that keeps it: for a quick war, and for measuring one.
    War,
}

/// Where it is played and how it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    seed: u64,
    opening: Opening,
    /// Cells along a side.
    side: i32,
    /// A bit for each cell, row by row.
    land: Vec<u128>,
    /// One for each seat.
    homes: Vec<Home>,
    springs: Vec<Cell>,
    /// Ticks until the contest ends by itself.
    ticks: u32,
}

/// Where a player begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Where the altar stands.
    pub altar: Cell,
    /// Where workshops stand: the first from the beginning.
    pub workshops: [Cell; 4],
    /// Where towers stand, if it begins with war.
    pub towers: [Cell; 2],
    /// The springs of this island, as numbers of [`Content::springs`].
    pub springs: [u8; 4],
}

/// A turn, divided so that it can be shared by up to eight.
const TURN: i32 = 840;
/// What a sine of one is.
const ONE: i32 = 1024;

impl Content {
    /// The map of a seed for 2 to 8 players (others are taken for the nearest).
    ///
    /// ```
    /// use sametick_islands::{Content, Opening};
    /// let map = Content::new(7, 4, Opening::Settlers);
    /// assert_eq!(map.homes().len(), 4);
    /// assert!(map.homes().iter().all(|home| map.is_land(home.altar)));
    /// ```
    pub fn new(seed: u64, players: u8, opening: Opening) -> Self {
        let players = i32::from(players.clamp(2, SEATS_MAX as u8));
        let (ring, side) = [(20, 64), (24, 72), (27, 78), (30, 84), (33, 90), (36, 96), (39, 102)]
            [players as usize - 2];
        let mut map = Self {
            seed,
            opening,
            side,
            land: vec![0; SIDE_MAX as usize],
            homes: Vec::new(),
            springs: Vec::new(),
            ticks: CONTEST_SECONDS * TICKS_PER_SECOND,
        };
        let mut dice = Dice::new(seed, 0x15_1a_4d);
        let mut roll = |low: i32, high: i32| low + dice.below((high - low + 1) as u64) as i32;
        // Discs beside the main one of each island: how far out, how far aside, how large.
        let home_discs = [0, 1, 2].map(|_| (roll(-4, 5), roll(-5, 5), roll(3, 5)));
        let between_discs = [0, 1].map(|_| (roll(-2, 2), roll(-2, 2), roll(2, 3)));
        let between_ring = ring * roll(60, 70) / 100;
        let turned = roll(0, TURN - 1) / 105 * 105;
        for seat in 0..players {
            let frame = Frame::new(side, turned + seat * TURN / players, ring);
            map.raise(frame.cell(0, 0), 7);
            home_discs
                .iter()
                .for_each(|(out, aside, size)| map.raise(frame.cell(*out, *aside), *size));
            let first = map.springs.len() as u8;
            map.springs.extend(
                [(4, 3), (4, -3), (-1, 5), (-1, -5)].map(|(out, aside)| frame.cell(out, aside)),
            );
            map.homes.push(Home {
                altar: frame.cell(1, 0),
                workshops: [(-4, 0), (-3, 3), (-3, -3), (6, 0)]
                    .map(|(out, aside)| frame.cell(out, aside)),
                towers: [(-6, 2), (-6, -2)].map(|(out, aside)| frame.cell(out, aside)),
                springs: [0, 1, 2, 3].map(|spring| first + spring),
            });
        }
        for gap in 0..players {
            let angle = turned + (2 * gap + 1) * TURN / players / 2;
            let frame = Frame::new(side, angle, between_ring);
            map.raise(frame.cell(0, 0), 4);
            between_discs
                .iter()
                .for_each(|(out, aside, size)| map.raise(frame.cell(*out, *aside), *size));
            map.springs.extend([(0, 2), (0, -2)].map(|(out, aside)| frame.cell(out, aside)));
        }
        let middle = if players > 4 { 6 } else { 4 };
        map.raise(Frame::new(side, 0, 0).cell(0, 0), middle);
        for seat in 0..players {
            map.springs
                .push(Frame::new(side, turned + seat * TURN / players, middle - 2).cell(0, 0));
        }
        map
    }

    /// First and last cell of each land of [`strait`](Self::strait).
    pub(crate) const STRAIT: [[[i32; 2]; 2]; 2] = [[[4, 8], [14, 21]], [[19, 8], [32, 21]]];

    /// A small map for a scene of two: two lands, as far apart as a bridge can be long.
    pub(crate) fn strait() -> Self {
        let cell = |[x, y]: [i32; 2]| Cell::new(x, y).unwrap_or_default();
        let springs = [[12, 10], [5, 12], [5, 17], [8, 20], [28, 9], [31, 11], [31, 18], [28, 20]];
        let home = |altar: [i32; 2], workshop: [i32; 2], first: u8| Home {
            altar: cell(altar),
            workshops: [cell(workshop); 4],
            towers: [cell(altar); 2],
            springs: [0, 1, 2, 3].map(|spring| first + spring),
        };
        let mut map = Self {
            seed: 0,
            opening: Opening::Settlers,
            side: 37,
            land: vec![0; SIDE_MAX as usize],
            homes: vec![home([8, 14], [6, 10], 0), home([28, 14], [30, 15], 4)],
            springs: springs.map(cell).to_vec(),
            ticks: CONTEST_SECONDS * TICKS_PER_SECOND,
        };
        for [from, to] in Self::STRAIT {
            let rows = &mut map.land[from[1] as usize..=to[1] as usize];
            rows.iter_mut().for_each(|row| (from[0]..=to[0]).for_each(|x| *row |= 1 << x));
        }
        map
    }

    /// The same map for a contest of another length; at most 25 minutes, which its clock can count.
    pub fn lasting(self, seconds: u32) -> Self {
        Self { ticks: seconds.min(25 * 60) * TICKS_PER_SECOND, ..self }
    }

    /// With what everyone begins.
    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// How many can play.
    pub fn players(&self) -> u8 {
        self.homes.len() as u8
    }

    /// Cells along a side.
    pub fn side(&self) -> i32 {
        self.side
    }

    /// Whether there is land in a cell.
    pub fn is_land(&self, cell: Cell) -> bool {
        self.land[cell.y() as usize] >> cell.x() & 1 != 0
    }

    /// Whether a cell is on the map at all.
    pub fn is_inside(&self, cell: Cell) -> bool {
        cell.x() < self.side && cell.y() < self.side
    }

    /// Land, a bit for each cell, row by row.
    pub fn land(&self) -> &[u128] {
        &self.land
    }

    /// Where players begin, by seat.
    pub fn homes(&self) -> &[Home] {
        &self.homes
    }

    /// Where crystals come out of the ground.
    pub fn springs(&self) -> &[Cell] {
        &self.springs
    }

    /// Ticks until the contest ends by itself.
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// A number for all of it: who has another plays another game.
    pub fn name(&self) -> u64 {
        let [high, low] = [(self.seed >> 32) as u32, self.seed as u32];
        let words = [high, low, u32::from(self.players()), self.opening as u32, self.ticks];
        let rows =
            self.land.iter().flat_map(|row| [0, 32, 64, 96].map(|shift| (row >> shift) as u32));
        words.into_iter().chain(rows).fold(0, mix)
    }

    /// A disc of land.
    fn raise(&mut self, centre: Cell, radius: i32) {
        for cell in centre.around(radius) {
            let (x, y) = (cell.x() - centre.x(), cell.y() - centre.y());
            let is_inside =
                (1..self.side - 1).contains(&cell.x()) && (1..self.side - 1).contains(&cell.y());
            if is_inside && x * x + y * y <= radius * radius + radius / 2 {
                self.land[cell.y() as usize] |= 1 << cell.x();
            }
        }
    }
}

/// An island's own directions: out from the map's middle, and aside.
struct Frame {
    side: i32,
    sine: i32,
    cosine: i32,
    ring: i32,
}

impl Frame {
    fn new(side: i32, angle: i32, ring: i32) -> Self {
        Self { side, sine: sine(angle), cosine: sine(angle + TURN / 4), ring }
    }

    fn cell(&self, out: i32, aside: i32) -> Cell {
        let out = self.ring + out;
        let (x, y) = (out * self.cosine - aside * self.sine, out * self.sine + aside * self.cosine);
        let rounded = |value: i32| (value + ONE / 2).div_euclid(ONE) + self.side / 2;
        Cell::new(rounded(x), rounded(y)).unwrap_or_default()
    }
}

/// Bhaskara's sine of an angle in 840ths of a turn, times 1024: wrong by less than six thousandths.
fn sine(angle: i32) -> i32 {
    let (half, angle) = (TURN / 2, angle.rem_euclid(TURN));
    let rest = angle % half;
    let product = rest * (half - rest);
    let value = 16 * product * (ONE / 4) / (5 * half * half - 4 * product) * 4;
    if angle < half { value } else { -value }
}
