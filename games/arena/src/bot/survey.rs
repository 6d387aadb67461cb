//! Surveys a map for bots: where one can stand, and which ways lead from there. Level ground is swept; steps, slopes,
//! jumps and drops are tried by a fighter that walks them under the game's own rules.

use super::ways::{Link, Squares, Way};
use crate::body;
use crate::command::{AXIS_MAX, Command};
use crate::content::Content;
use crate::fighter::{Fighter, HEALTH_MAX};
use crate::movement;
use crate::solids::Solids;
use crate::vector::{Vector, along, scale, subtract};
use sametick::{EntityId, World};

/// What a survey finds: only what can be reached from a spawn.
pub(super) struct Survey {
    pub(super) places: Vec<Vector>,
    pub(super) links: Vec<Vec<Link>>,
    pub(super) spacing: f32,
    /// Where one boards each lift.
    pub(super) boarding: Vec<Option<u32>>,
}

/// A map of this floor area or less has a place each metre.
const FINE_AREA: f32 = 6400.0;
/// The largest spacing: wider gaps between walls are found.
const SPACING_METRES_MAX: f32 = 2.5;
/// How long a tick of a trial takes.
const TRIAL_DT: f32 = 1.0 / 30.0;
/// How long a step to a neighbour and a leap may take.
const WALK_SECONDS_MAX: f32 = 1.2;
const LEAP_SECONDS_MAX: f32 = 2.0;
/// Whoever comes less far in a tick of a trial walks against a wall.
const PROGRESS_METRES: f32 = 0.03;
/// Whoever is not in the air by then never will be.
const LEAP_BEGINS_SECONDS_MAX: f32 = 0.6;
/// How much longer than it takes a jump counts, because it may fail.
const LEAP_EXTRA_MILLISECONDS: u32 = 400;
/// Whoever comes down faster may be hurt.
const LANDING_SPEED_MAX: f32 = 13.5;
/// Ground between two places is looked for at most so far below.
const DIP_METRES: f32 = 0.6;
/// From the middle of a lift to places beside it at most.
const LIFT_METRES: f32 = 3.2;
/// The eight ways in which one leaps.
const COMPASS: [[f32; 2]; 8] = [
    [1.0, 0.0],
    [DIAGONAL, DIAGONAL],
    [0.0, 1.0],
    [-DIAGONAL, DIAGONAL],
    [-1.0, 0.0],
    [-DIAGONAL, -DIAGONAL],
    [0.0, -1.0],
    [DIAGONAL, -DIAGONAL],
];
const DIAGONAL: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// Finds the places of a map and the ways between them.
pub(super) fn survey(content: &Content) -> Survey {
    let mut surveyor = Surveyor::new(content);
    let mut reached: Vec<Option<u32>> = vec![None; surveyor.places.len()];
    let (mut order, mut links) = (Vec::new(), Vec::new());
    let spawns = 0..content.map.spawns.len().min(surveyor.places.len());
    let mut waiting: Vec<usize> = spawns.collect();
    while let Some(place) = waiting.pop() {
        if reached[place].is_some() {
            continue;
        }
        reached[place] = Some(order.len() as u32);
        order.push(place);
        let found = surveyor.links(place);
        waiting.extend(found.iter().map(|link| link.to as usize));
        links.push(found);
    }
    let renumbered = |place: u32| reached[place as usize];
    for link in links.iter_mut().flatten() {
        link.to = renumbered(link.to).unwrap_or(0);
    }
    Survey {
        places: order.iter().map(|place| surveyor.places[*place]).collect(),
        links,
        spacing: surveyor.spacing,
        boarding: surveyor.lifts.iter().map(|lift| renumbered(lift.below)).collect(),
    }
}

struct Surveyor<'a> {
    content: &'a Content,
    /// Spawns first, then the other things, then the grid.
    places: Vec<Vector>,
    /// Where the grid begins among them.
    grid_from: usize,
    squares: Squares,
    spacing: f32,
    lifts: Vec<Ends>,
    /// With all lifts below, and with all above; doors are open.
    solids: [Solids<'a>; 2],
    id: EntityId,
}

/// Where one boards a lift and where one leaves it.
struct Ends {
    below: u32,
    above: u32,
}

impl<'a> Surveyor<'a> {
    fn new(content: &'a Content) -> Self {
        let map = &content.map;
        let bounds = map.bounds();
        let area = (bounds.high[0] - bounds.low[0]) * (bounds.high[1] - bounds.low[1]);
        let spacing = (area / FINE_AREA).sqrt().clamp(1.0, SPACING_METRES_MAX);
        let ground = |place: Vector| map.ground(along(place, [0.0, 0.0, 1.0], 0.05), 3.0);
        let spawns = map.spawns.iter().map(|spawn| ground(spawn.place).unwrap_or(spawn.place));
        let mut places: Vec<Vector> = spawns.collect();
        places.extend(map.items.iter().filter_map(|item| ground(item.place)));
        places.extend(map.teleporters.iter().filter_map(|teleporter| ground(teleporter.to)));
        let mut lifts = Vec::new();
        for lift in &map.lifts {
            let [x, y, _] = lift.bounds.centre();
            let low = lift.bounds.high[2] + crate::map::SKIN_METRES;
            let below = places.len() as u32;
            places.extend([[x, y, low], [x, y, low + lift.rise_metres]]);
            lifts.push(Ends { below, above: below + 1 });
        }
        let grid_from = places.len();
        let is_under = |place: &Vector| {
            map.lifts.iter().any(|lift| lift.bounds.touches(body::bounds(*place, false)))
        };
        places.extend(map.standing_places(spacing).into_iter().filter(|place| !is_under(place)));
        let nobody = World::default();
        let raised = map.lifts.iter().map(|lift| lift.wait_seconds + lift.seconds);
        let raised = f64::from(raised.fold(0.0, f32::max)) + 0.1;
        let solids = [0.0, raised].map(|seconds| Solids::new(content, &nobody, seconds, |_| 1.0));
        let id = EntityId::new(0, 1).expect("there is a first slot");
        let squares = Squares::new(&places, spacing);
        Self { content, squares, places, grid_from, spacing, lifts, solids, id }
    }

    /// All ways from a place.
    fn links(&mut self, from: usize) -> Vec<Link> {
        let place = self.places[from];
        let touches = |teleporter: &crate::map::Teleporter| {
            teleporter.from.touches(body::bounds(place, false))
        };
        let teleporters = &self.content.map.teleporters;
        if let Some(teleporter) = teleporters.iter().find(|teleporter| touches(teleporter)) {
            // Whoever comes here is elsewhere at once.
            let to = self.at(teleporter.to);
            return to
                .map(|to| Link { to, way: Way::Teleport, milliseconds: 100 })
                .into_iter()
                .collect();
        }
        let mut links = Vec::new();
        let near: Vec<u32> =
            self.squares.near(place, 3).filter(|to| *to as usize != from).collect();
        for to in near {
            links.extend(self.walk(from, to));
        }
        for (index, ends) in self.lifts.iter().enumerate() {
            if ends.below as usize == from {
                let plan = &self.content.map.lifts[index];
                let milliseconds = ((plan.seconds + plan.wait_seconds) * 1000.0) as u32;
                links.push(Link { to: ends.above, way: Way::Lift(index as u8), milliseconds });
            }
        }
        if from >= self.grid_from {
            self.leaps(from, &mut links);
        }
        links
    }

    /// On foot to a neighbour, if that is possible.
    fn walk(&self, from: usize, to: u32) -> Option<Link> {
        let (start, end) = (self.places[from], self.places[to as usize]);
        let off = subtract(end, start);
        let level = (off[0] * off[0] + off[1] * off[1]).sqrt();
        let is_end = |place: usize| {
            self.lifts.iter().any(|lift| [lift.below, lift.above].contains(&(place as u32)))
        };
        let reach = if is_end(from) || is_end(to as usize) { LIFT_METRES } else { 0.0 };
        if level > reach.max(1.5 * self.spacing)
            || off[2].abs() > level + self.content.tuning.step_height
        {
            return None;
        }
        let is_above = |place: usize| self.lifts.iter().any(|lift| lift.above as usize == place);
        let is_high = is_above(from) || is_above(to as usize);
        let solids = &self.solids[usize::from(is_high)];
        let can = self.is_level(solids, start, end) || self.is_walked(solids, start, end);
        let milliseconds = (level / self.content.tuning.run_speed * 1000.0) as u32 + 1;
        can.then_some(Link { to, way: Way::Walk, milliseconds })
    }

    /// Whether nothing stands between two places of the same height, and there is ground halfway.
    fn is_level(&self, solids: &Solids<'_>, start: Vector, end: Vector) -> bool {
        let half = body::half(false);
        let raised = |feet: Vector| along(body::centre(feet, false), [0.0, 0.0, 1.0], 0.01);
        if (start[2] - end[2]).abs() > 0.02
            || solids.sweep(half, raised(start), raised(end), |_| true).trace.is_hit()
        {
            return false;
        }
        let middle = scale(crate::vector::add(raised(start), raised(end)), 0.5);
        let below = along(middle, [0.0, 0.0, -1.0], DIP_METRES);
        solids.sweep(half, middle, below, |_| true).trace.is_hit()
    }

    /// Whether a fighter that walks from one place comes to the other without losing its feet.
    fn is_walked(&self, solids: &Solids<'_>, start: Vector, end: Vector) -> bool {
        let mut fighter = self.walker(start, subtract(end, start), 0.3);
        let mut left = f32::INFINITY;
        for _ in 0..(WALK_SECONDS_MAX / TRIAL_DT) as usize {
            let off = subtract(end, fighter.position);
            let metres = (off[0] * off[0] + off[1] * off[1]).sqrt();
            if metres < 0.38 {
                return off[2].abs() < 0.3;
            }
            if metres > left - PROGRESS_METRES {
                return false;
            }
            left = metres;
            fighter.yaw = libm::atan2f(off[1], off[0]);
            self.tick(solids, &mut fighter, false);
            if !fighter.is_grounded {
                return false;
            }
        }
        false
    }

    /// Adds jumps and drops, in directions in which one cannot walk.
    fn leaps(&self, from: usize, links: &mut Vec<Link>) {
        let (place, solids, half) = (self.places[from], &self.solids[0], body::half(false));
        let leads = |links: &[Link], way: [f32; 2]| {
            links.iter().filter(|link| link.way == Way::Walk).any(|link| {
                let off = subtract(self.places[link.to as usize], place);
                let level = (off[0] * off[0] + off[1] * off[1]).sqrt();
                off[0] * way[0] + off[1] * way[1] > 0.9 * level
            })
        };
        let is_free = |way: [f32; 2], height: f32| {
            let start = along(body::centre(place, false), [0.0, 0.0, 1.0], height);
            let end = along(start, [way[0], way[1], 0.0], 1.0);
            !solids.sweep(half, start, end, |_| true).trace.is_hit()
        };
        for way in COMPASS.into_iter().filter(|way| !leads(links, *way)).collect::<Vec<_>>() {
            let tuning = &self.content.tuning;
            let jump_height = tuning.jump_speed * tuning.jump_speed / (2.0 * tuning.gravity);
            let over_edge = is_free(way, tuning.step_height);
            if over_edge {
                links.extend(self.leap(from, way, false));
            }
            if over_edge || is_free(way, jump_height * 0.95) {
                links.extend(self.leap(from, way, true));
            }
        }
    }

    /// Where a leap leads, if it leads to a place to which one cannot walk from here, however fast one comes.
    fn leap(&self, from: usize, way: [f32; 2], jumps: bool) -> Option<Link> {
        let (start, middle) = (self.places[from], body::half(false)[2]);
        let (landing, seconds) = self.fly(start, way, jumps, 0.5)?;
        let to = self.at(landing).filter(|to| *to as usize != from)?;
        let end = self.places[to as usize];
        let off = subtract(end, start);
        let is_new = off[2].abs() > self.content.tuning.step_height
            || off[0] * off[0] + off[1] * off[1] > 2.3 * self.spacing * self.spacing;
        let raised = |feet: Vector| along(feet, [0.0, 0.0, 1.0], middle);
        let is_same = |share: f32| {
            let landed = self.fly(start, way, jumps, share);
            landed.is_some_and(|(landing, _)| (landing[2] - end[2]).abs() < 0.4)
        };
        let is_sure = is_new
            && self.content.map.visible(raised(landing), raised(end))
            && is_same(0.15)
            && is_same(0.85);
        let milliseconds = (seconds * 1000.0) as u32 + LEAP_EXTRA_MILLISECONDS;
        let way = if jumps { Way::Jump } else { Way::Drop };
        is_sure.then_some(Link { to, way, milliseconds })
    }

    /// Where and when one lands unhurt who leaves a place this way, with a share of a full run.
    fn fly(&self, start: Vector, way: [f32; 2], jumps: bool, share: f32) -> Option<(Vector, f32)> {
        let mut fighter = self.walker(start, [way[0], way[1], 0.0], share);
        let (mut flew, mut seconds) = (false, 0.0);
        while seconds < LEAP_SECONDS_MAX && (flew || seconds < LEAP_BEGINS_SECONDS_MAX) {
            let falling = -fighter.velocity[2];
            self.tick(&self.solids[0], &mut fighter, jumps && !flew);
            seconds += TRIAL_DT;
            if flew && fighter.is_grounded {
                return (falling < LANDING_SPEED_MAX).then_some((fighter.position, seconds));
            }
            flew |= !fighter.is_grounded;
        }
        None
    }

    /// The place that someone is at who stands here.
    fn at(&self, feet: Vector) -> Option<u32> {
        let far = |place: &u32| {
            let [x, y, _] = subtract(self.places[*place as usize], feet);
            x * x + y * y
        };
        let is_level = |place: &u32| (self.places[*place as usize][2] - feet[2]).abs() < 0.4;
        let nearest = self.squares.near(feet, 1).filter(is_level);
        let nearest = nearest.min_by(|a, b| far(a).total_cmp(&far(b)))?;
        (far(&nearest) <= self.spacing * self.spacing).then_some(nearest)
    }

    fn walker(&self, place: Vector, way: Vector, share: f32) -> Fighter {
        let speed = self.content.tuning.run_speed * share;
        let level = crate::vector::unit([way[0], way[1], 0.0]);
        Fighter {
            position: place,
            velocity: scale(level, speed),
            yaw: libm::atan2f(way[1], way[0]),
            health: HEALTH_MAX,
            is_grounded: true,
            ..Fighter::default()
        }
    }

    fn tick(&self, solids: &Solids<'_>, fighter: &mut Fighter, jump: bool) {
        let command = Command { forward: AXIS_MAX, jump, ..Command::default() };
        let tuning = &self.content.tuning;
        movement::walk(fighter, self.id, &command, solids, tuning, TRIAL_DT);
    }
}
