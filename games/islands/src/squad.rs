//! A squad: units that go together. Its way is written once, when it is decided; where it is at any moment follows. Why
//! it goes is its errand's.

use crate::errand::Errand;
use crate::place::{CELL_BITS, Cell, SPOT_MAX, Spot};
use sametick::{Fields, List, Networked};

/// How many turns of a way are written at once; the rest is written on arrival.
pub const POINTS_MAX: usize = 8;
/// Of moments on the contest's clock.
pub(crate) const CLOCK_BITS: u32 = 15;

/// A moment of the contest's clock as records have it; none is later than they can tell.
pub(crate) fn moment(clock: u32) -> u16 {
    clock.min((1 << CLOCK_BITS) - 1) as u16
}

/// Units that go together, and their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Squad {
    /// When it stopped on its way to fight; 0 if it did not.
    pub halt: u16,
    /// When it set out.
    pub since: u16,
    /// Where it set out.
    pub from: Spot,
    /// Where it turns, and where it arrives.
    pub points: List<Cell, POINTS_MAX>,
    /// How far it goes in a tick, in spots.
    pub pace: u8,
    /// Whether it goes over water.
    pub flies: bool,
    /// Whose it is.
    pub seat: u8,
}

impl Networked for Squad {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("halt", &mut self.halt, CLOCK_BITS);
        f.bits("since", &mut self.since, CLOCK_BITS);
        f.int("from_x", &mut self.from.x, 0..=SPOT_MAX);
        f.int("from_y", &mut self.from.y, 0..=SPOT_MAX);
        f.list("points", &mut self.points, |f, point| {
            f.bits("cell", &mut point.0, CELL_BITS);
        });
        f.int("pace", &mut self.pace, 0..=7);
        f.bool("flies", &mut self.flies);
        f.int("seat", &mut self.seat, 0..=7);
    }
}

impl Squad {
    /// Where it is at a moment of the contest's clock.
    pub fn spot(&self, clock: u32) -> Spot {
        let until = if self.halt > 0 { clock.min(u32::from(self.halt)) } else { clock };
        let ticks = until.saturating_sub(u32::from(self.since));
        // However long ago it set out, it is at the end of its way at the latest.
        let way = ticks.saturating_mul(u32::from(self.pace));
        self.along(i32::try_from(way).unwrap_or(i32::MAX))
    }

    /// Where it is at a moment, for eyes: the clock has fractions, and so has the answer, in cells. Rules never ask.
    pub fn shown_at(&self, clock: f64) -> [f32; 2] {
        let whole = clock.max(0.0) as u32;
        let [now, next] = [self.spot(whole), self.spot(whole.saturating_add(1))];
        let part = (clock - f64::from(whole)) as f32;
        let blend =
            |from: i32, to: i32| (from as f32 + (to - from) as f32 * part) / crate::SUB as f32;
        [blend(now.x, next.x), blend(now.y, next.y)]
    }

    /// Whether it is under way: neither halted nor there.
    pub fn is_moving(&self, clock: u32) -> bool {
        self.halt == 0 && !self.is_there(clock)
    }

    /// Whether it has come to the end of what is written of its way.
    pub fn is_there(&self, clock: u32) -> bool {
        self.points.is_empty()
            || self.halt == 0
                && clock.saturating_sub(u32::from(self.since)).saturating_mul(u32::from(self.pace))
                    >= self.length() as u32
    }

    /// Whether it stands, but is to go on.
    pub(crate) fn waits(&self, clock: u32, errand: &Errand) -> bool {
        self.is_there(clock) && self.end().cell() != errand.goal
    }

    /// The end of what is written of its way.
    pub fn end(&self) -> Spot {
        self.points.last().map_or(self.from, |cell| cell.centre())
    }

    /// Stops it where it is, for good.
    pub(crate) fn rest(&mut self, clock: u32) {
        self.from = self.spot(clock);
        self.points.clear();
        (self.halt, self.since) = (0, 0);
    }

    /// Goes on after a halt.
    pub(crate) fn resume(&mut self, clock: u32) {
        let stood = clock.saturating_sub(u32::from(self.halt));
        self.since = moment(u32::from(self.since).saturating_add(stood));
        self.halt = 0;
    }

    /// The cells it still comes through, as straight legs between spots.
    pub fn legs_ahead(&self, clock: u32) -> impl Iterator<Item = (Spot, Spot)> {
        let here = self.spot(clock);
        let mut from = self.from;
        let mut is_ahead = false;
        self.points.into_iter().filter_map(move |point| {
            let (start, end) = (from, point.centre());
            from = end;
            if is_ahead {
                return Some((start, end));
            }
            let length = start.distance(end);
            let on_leg = start.distance(here) + here.distance(end) <= length + 2;
            is_ahead = on_leg;
            on_leg.then_some((here, end))
        })
    }

    fn length(&self) -> i32 {
        let mut from = self.from;
        let mut sum = 0;
        for point in &self.points {
            sum += from.distance(point.centre());
            from = point.centre();
        }
        sum
    }

    fn along(&self, mut way: i32) -> Spot {
        let mut from = self.from;
        for point in &self.points {
            let to = point.centre();
            let length = from.distance(to);
            if way < length {
                let part = |from: i32, to: i32| from + (to - from) * way / length;
                return Spot { x: part(from.x, to.x), y: part(from.y, to.y) };
            }
            way -= length;
            from = to;
        }
        from
    }
}
