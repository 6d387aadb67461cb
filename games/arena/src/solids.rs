//! All that stands in the way during one tick: the map, doors and lifts where they are now, and the bodies of
//! fighters and props where they were when the tick began. Nobody's turn comes first.

use crate::arena::Entity;
use crate::content::Content;
use crate::door::Door;
use crate::map::{Brush, Map, Passage, SKIN_METRES, Trace, pass};
use crate::vector::{Bounds, Vector, greatest, least, scale, subtract};
use sametick::{EntityId, World};

/// The side of a square of the grid over the bodies.
const SQUARE_METRES: f32 = 4.0;
/// How many squares there are on each axis.
const SQUARES: usize = (2.0 * crate::map::REACH_METRES / SQUARE_METRES) as usize;

/// What stands in the way.
pub(crate) struct Solids<'a> {
    map: &'a Map,
    movers: Vec<Mover<'a>>,
    bodies: Vec<Body>,
    /// Whether fighters stand in each other's way.
    pub(crate) fighters_collide: bool,
    /// Where the bodies of each square begin among `members`, and where the last ends.
    starts: Vec<u32>,
    members: Vec<u16>,
}

/// Someone or something that can be met.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) id: EntityId,
    pub(crate) bounds: Bounds,
    pub(crate) is_fighter: bool,
}

struct Mover<'a> {
    brushes: &'a [Brush],
    offset: Vector,
}

/// How a sweep went, and whom it met.
pub(crate) struct Contact {
    pub(crate) trace: Trace,
    pub(crate) body: Option<EntityId>,
}

impl<'a> Solids<'a> {
    pub(crate) fn new(
        content: &'a Content,
        world: &World<Entity>,
        seconds: f64,
        doors_open: impl Fn(&Door) -> f32,
    ) -> Self {
        let map = &content.map;
        let doors = world.all::<Door>().filter_map(|(_, door)| {
            let plan = map.doors.get(usize::from(door.index))?;
            let offset = scale(plan.slide, doors_open(door));
            Some(Mover { brushes: &plan.brushes, offset })
        });
        let lifts = map
            .lifts
            .iter()
            .map(|lift| Mover { brushes: &lift.brushes, offset: [0.0, 0.0, lift.height(seconds)] });
        let body = |id: EntityId, entity: &Entity| {
            let is_fighter = matches!(entity, Entity::Fighter(_));
            let is_solid = is_fighter || matches!(entity, Entity::Prop(_));
            let bounds = entity.bounds().filter(|_| is_solid)?;
            Some(Body { id, bounds, is_fighter })
        };
        let mut bodies = Vec::with_capacity(world.len());
        bodies.extend(world.entities().filter_map(|(id, entity)| body(id, entity)));
        let fighters_collide = content.tuning.fighters_collide;
        let movers = doors.chain(lifts).collect();
        let mut solids =
            Self { map, movers, bodies, fighters_collide, starts: Vec::new(), members: Vec::new() };
        solids.sort_bodies();
        solids
    }

    /// The map alone.
    pub(crate) fn map(&self) -> &'a Map {
        self.map
    }

    /// A line past all but the bodies.
    pub(crate) fn ray(&self, from: Vector, to: Vector) -> Trace {
        self.pass_movers([0.0; 3], from, to, self.map.ray(from, to))
    }

    /// Sweeps a box of these half sizes between two places of its middle. Whatever moves and already holds the
    /// beginning does not count, so that one can always walk out of it.
    pub(crate) fn sweep(
        &self,
        half: Vector,
        from: Vector,
        to: Vector,
        ignored: impl Fn(&Body) -> bool,
    ) -> Contact {
        let mut trace = self.pass_movers(half, from, to, self.map.trace(half, from, to));
        let mut struck = None;
        self.near(
            Bounds { low: least(from, to), high: greatest(from, to) }
                .grown(half.map(|half| half + SKIN_METRES)),
            |body| {
                let passage = pass(sides(body.bounds.grown(half), from, to), SKIN_METRES);
                if let Passage::Hit(fraction, normal) = passage
                    && fraction < trace.fraction
                    && !ignored(body)
                {
                    trace.meet(fraction, normal, from, to);
                    struck = Some(body.id);
                }
            },
        );
        Contact { trace, body: struck }
    }

    /// Whether a box is free of the map and of what moves in it; bodies do not count.
    pub(crate) fn fits(&self, half: Vector, centre: Vector) -> bool {
        let is_in = |mover: &Mover<'_>| {
            let centre = subtract(centre, mover.offset);
            mover.brushes.iter().any(|brush| brush.overlaps(half, centre))
        };
        self.map.fits(half, centre) && !self.movers.iter().any(is_in)
    }

    fn pass_movers(&self, half: Vector, from: Vector, to: Vector, mut trace: Trace) -> Trace {
        for mover in &self.movers {
            for brush in mover.brushes {
                let mut own = Trace::free(to);
                brush.sweep(
                    half,
                    subtract(from, mover.offset),
                    subtract(to, mover.offset),
                    &mut own,
                );
                if !own.started_inside && own.is_hit() {
                    trace.meet(own.fraction, own.normal, from, to);
                }
            }
        }
        trace
    }

    fn sort_bodies(&mut self) {
        let mut counts = vec![0_u32; SQUARES * SQUARES + 1];
        for body in &self.bodies {
            squares(body.bounds, |square| counts[square] += 1);
        }
        let mut start = 0;
        for count in &mut counts {
            start += *count;
            *count = start;
        }
        // Filled from behind, each count comes to be where its square begins.
        let mut members = vec![0; start as usize];
        for (index, body) in self.bodies.iter().enumerate().rev() {
            squares(body.bounds, |square| {
                counts[square] -= 1;
                members[counts[square] as usize] = index as u16;
            });
        }
        (self.starts, self.members) = (counts, members);
    }

    /// Calls `meet` with every body in the squares that a box touches, some more than once.
    fn near(&self, bounds: Bounds, mut meet: impl FnMut(&Body)) {
        squares(bounds, |square| {
            let members = self.starts[square] as usize..self.starts[square + 1] as usize;
            for &member in &self.members[members] {
                meet(&self.bodies[usize::from(member)]);
            }
        });
    }
}

/// Calls `visit` with every square that a box touches.
fn squares(bounds: Bounds, mut visit: impl FnMut(usize)) {
    let square = |metres: f32| {
        (((metres + crate::map::REACH_METRES) / SQUARE_METRES) as usize).min(SQUARES - 1)
    };
    for row in square(bounds.low[1])..=square(bounds.high[1]) {
        for column in square(bounds.low[0])..=square(bounds.high[0]) {
            visit(row * SQUARES + column);
        }
    }
}

/// How high the ends of a way are above each side of a box.
fn sides(bounds: Bounds, from: Vector, to: Vector) -> impl Iterator<Item = (f32, f32, Vector)> {
    (0..6).map(move |side| {
        let (axis, mut normal) = (side % 3, [0.0; 3]);
        let above = |place: Vector| match side {
            ..3 => place[axis] - bounds.high[axis],
            _ => bounds.low[axis] - place[axis],
        };
        normal[axis] = if side < 3 { 1.0 } else { -1.0 };
        (above(from), above(to), normal)
    })
}
