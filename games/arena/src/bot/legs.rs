//! How a bot gets somewhere: along a path of the map's ways, straight where that is possible, and out again where it
//! got stuck.

use super::sense::Sense;
use super::ways::{Leg, Link, Way, Ways};
use crate::vector::{Vector, subtract};
use sametick::Dice;

/// So near to a place of its path, on the level, a bot goes on to the next.
const ARRIVED_METRES: f32 = 0.55;
/// And so near where it matters: before a leap, on a lift, beside a ramp.
const EXACT_METRES: f32 = 0.25;
/// As far from where a leap was tried it is still made, and with as much speed to the side.
const TAKEOFF_METRES: f32 = 0.45;
const TAKEOFF_SPEED_ASIDE: f32 = 1.5;
/// So near to a goal a bot is there.
const GOAL_METRES: f32 = 0.7;
/// Further than this many spacings from the next place the path is lost: a shortcut is never so long.
const LOST_SPACINGS: f32 = 1.5 * SHORTCUT_LEGS as f32 + 2.0;
/// How often a bot looks for a straight way past the next places, and past how many.
const SHORTCUT_SECONDS: f64 = 0.15;
const SHORTCUT_LEGS: usize = 6;
/// A path is looked for at most this often.
const PLAN_SECONDS: f64 = 0.4;
/// Whoever has moved less than this far in this time is stuck.
const STUCK_METRES: f32 = 0.6;
const STUCK_SECONDS: f64 = 0.9;
/// And whoever has not for so long tries a jump.
const STALLED_SECONDS: f64 = 0.35;
/// How long a bot goes another way then, and how long it avoids the way on which it was stuck.
const DETOUR_SECONDS: f64 = 0.45;
const AVOID_SECONDS: f64 = 12.0;
/// How many such ways it remembers.
const AVOIDED_MAX: usize = 8;

/// What the feet are to do in a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// The way on the level, of length one; nothing is to stand.
    pub(super) way: [f32; 2],
    pub(super) jump: bool,
}

/// A goal and the path that leads there.
#[derive(Clone, Debug, Default)]
pub(super) struct Legs {
    goal: Option<Vector>,
    path: Vec<Leg>,
    next: usize,
    /// Whether the path does not lead to the goal from here, and when one may be looked for.
    is_lost: bool,
    plan_at: f64,
    shortcut_at: f64,
    /// Where it was when it last was not stuck, and when.
    anchor: Vector,
    anchored_at: f64,
    leap: Option<Leap>,
    detour: [f32; 2],
    detour_until: f64,
    /// Places of the map towards which it was stuck, and until when they are avoided.
    avoided: Vec<(u32, f64)>,
    /// How often it was stuck.
    pub(super) stuck_count: u32,
}

/// A leap that was decided on.
#[derive(Clone, Copy, Debug)]
struct Leap {
    to: u32,
    /// In the air.
    has_begun: bool,
}

impl Legs {
    /// Forgets goal and path.
    pub(super) fn stop(&mut self) {
        (self.goal, self.next, self.is_lost, self.leap) = (None, 0, false, None);
        self.path.clear();
    }

    /// Whether there is a goal left to go to.
    pub(super) fn has_goal(&self) -> bool {
        self.goal.is_some()
    }

    /// The place a few steps ahead, where one looks.
    pub(super) fn ahead(&self, ways: &Ways) -> Option<Vector> {
        let leg = self.path.get((self.next + 3).min(self.path.len().checked_sub(1)?))?;
        Some(ways.places()[leg.to as usize])
    }

    /// Makes a place the goal and looks for a path.
    pub(super) fn go(&mut self, goal: Vector, ways: &Ways, sense: &Sense<'_>) {
        let moved = self.goal.map_or(f32::INFINITY, |old| level(subtract(goal, old)));
        if moved < 0.3 {
            return;
        }
        if self.goal.is_none() {
            (self.anchor, self.anchored_at) = (sense.own.position, sense.now);
        }
        (self.goal, self.is_lost) = (Some(goal), true);
        self.plan(ways, sense);
    }

    /// Where to set the feet now.
    pub(super) fn step(&mut self, ways: &Ways, sense: &Sense<'_>, dice: &mut Dice) -> Step {
        let Some(goal) = self.goal else { return Step::default() };
        if sense.now < self.detour_until {
            return Step { way: self.detour, jump: sense.own.is_grounded };
        }
        self.land(ways, sense);
        self.plan(ways, sense);
        self.pass_places(ways, sense);
        let Some(leg) = self.path.get(self.next).copied() else {
            let off = subtract(goal, sense.own.position);
            if !self.is_lost && (level(off) < GOAL_METRES || !sense.is_straight(goal)) {
                self.stop();
                return Step::default();
            }
            return self.unless_stuck(Step { way: unit(off), jump: false }, None, sense, dice);
        };
        let place = ways.places()[leg.to as usize];
        let off = subtract(place, sense.own.position);
        if waits_for_lift(leg, ways, sense) {
            (self.anchor, self.anchored_at) = (sense.own.position, sense.now);
            // On the lift, to its middle; before it, where one is.
            let is_on = matches!(leg.way, Way::Lift(_)) && level(off) > 0.4;
            return Step { way: if is_on { unit(off) } else { [0.0; 2] }, jump: false };
        }
        let is_far = level(off) > LOST_SPACINGS * ways.spacing() || off[2] > 2.5;
        self.is_lost |= is_far && leg.way != Way::Teleport;
        let step = match leg.way {
            Way::Teleport => Step { way: unit(to_teleporter(place, sense)), jump: false },
            Way::Jump | Way::Drop if sense.own.is_grounded => self.leap(leg, ways, sense),
            _ => Step { way: unit(off), jump: false },
        };
        self.unless_stuck(step, Some(leg.to), sense, dice)
    }

    /// Leaps as the leap was tried: from its place, and straight.
    fn leap(&mut self, leg: Leg, ways: &Ways, sense: &Sense<'_>) -> Step {
        let place = |leg: &Leg| ways.places()[leg.to as usize];
        let from = self.next.checked_sub(1).and_then(|before| self.path.get(before)).map(place);
        let from = from.unwrap_or(sense.own.position);
        let way = unit(subtract(place(&leg), from));
        let [vx, vy, _] = sense.own.velocity;
        let aside = vy * way[0] - vx * way[1];
        let off = subtract(from, sense.own.position);
        // Past its beginning, on the way.
        let ahead = -(off[0] * way[0] + off[1] * way[1]);
        if self.leap.is_none() && level(off) > TAKEOFF_METRES && !(0.0..1.0).contains(&ahead) {
            return Step { way: unit(off), jump: false };
        }
        if aside.abs() > TAKEOFF_SPEED_ASIDE {
            let against = -aside.signum();
            return Step { way: [-way[1] * against, way[0] * against], jump: false };
        }
        self.leap = Some(Leap { to: leg.to, has_begun: false });
        Step { way: unit(subtract(place(&leg), sense.own.position)), jump: leg.way == Way::Jump }
    }

    /// Sees where a leap has led, and avoids one that has led elsewhere.
    fn land(&mut self, ways: &Ways, sense: &Sense<'_>) {
        let Some(leap) = &mut self.leap else { return };
        if !sense.own.is_grounded || !leap.has_begun {
            leap.has_begun |= !sense.own.is_grounded;
            return;
        }
        let to = leap.to;
        self.leap = None;
        let off = subtract(ways.places()[to as usize], sense.own.position);
        if level(off) > 1.5 * ways.spacing() || off[2].abs() > 0.8 {
            self.avoid(to, sense.now);
            self.is_lost = true;
        }
    }

    fn avoid(&mut self, place: u32, now: f64) {
        self.avoided.truncate(AVOIDED_MAX - 1);
        self.avoided.insert(0, (place, now + AVOID_SECONDS));
    }

    /// Finds a path, if there is none that leads to the goal and it is time.
    fn plan(&mut self, ways: &Ways, sense: &Sense<'_>) {
        // Wedged between things one may be neither on the ground nor falling.
        let is_firm = sense.own.is_grounded || sense.own.velocity[2].abs() < 0.5;
        let may = self.is_lost && sense.now >= self.plan_at && is_firm;
        let Some(goal) = self.goal.filter(|_| may) else { return };
        (self.next, self.is_lost, self.leap) = (0, false, None);
        self.path.clear();
        self.plan_at = sense.now + PLAN_SECONDS;
        self.avoided.retain(|(_, until)| *until > sense.now);
        let ends = (ways.nearest(sense.own.position), ways.nearest(goal));
        let (Some(from), Some(to)) = ends else { return };
        let is_allowed =
            |_: u32, link: &Link| !self.avoided.iter().any(|(place, _)| *place == link.to);
        let mut path = std::mem::take(&mut self.path);
        ways.path(from, to, is_allowed, &mut path);
        self.path = path;
    }

    /// Leaves behind the places that were reached, and those that need not be.
    fn pass_places(&mut self, ways: &Ways, sense: &Sense<'_>) {
        let off = |leg: &Leg| subtract(ways.places()[leg.to as usize], sense.own.position);
        while let Some(leg) = self.path.get(self.next) {
            let off = off(leg);
            if level(off) > ARRIVED_METRES || off[2].abs() > 1.0 {
                break;
            }
            // Where the next way may not be open from here, one goes exactly.
            let stride = level(sense.own.velocity) * sense.dt;
            let is_open = |next: &Leg| {
                next.way == Way::Walk && sense.is_straight(ways.places()[next.to as usize])
            };
            let is_exact = level(off) < EXACT_METRES.max(stride * 0.6);
            if !is_exact && self.path.get(self.next + 1).is_some_and(|next| !is_open(next)) {
                break;
            }
            self.next += 1;
        }
        if sense.now < self.shortcut_at || !sense.own.is_grounded {
            return;
        }
        self.shortcut_at = sense.now + SHORTCUT_SECONDS;
        let rest = &self.path[self.next.min(self.path.len())..];
        let walked = rest.iter().take(SHORTCUT_LEGS).take_while(|leg| leg.way == Way::Walk);
        let is_lift = |leg: &Leg| ways.lift_at(leg.to).is_some();
        let walked = walked.take_while(|leg| !is_lift(leg)).count();
        let followed_by_leap = rest.get(walked).is_some_and(|leg| leg.way != Way::Walk);
        let last = if followed_by_leap { walked.saturating_sub(1) } else { walked };
        let straight = (1..last)
            .rev()
            .find(|index| sense.is_straight(ways.places()[rest[*index].to as usize]));
        self.next += straight.unwrap_or(0);
    }

    /// The step, or another way for a while if it has led nowhere.
    fn unless_stuck(
        &mut self,
        step: Step,
        towards: Option<u32>,
        sense: &Sense<'_>,
        dice: &mut Dice,
    ) -> Step {
        let off = subtract(sense.own.position, self.anchor);
        if level(off) > STUCK_METRES || off[2].abs() > 1.0 {
            (self.anchor, self.anchored_at) = (sense.own.position, sense.now);
        }
        if sense.now - self.anchored_at < STUCK_SECONDS {
            // Many a thing in the way can be jumped over.
            let is_stalled = sense.now - self.anchored_at > STALLED_SECONDS && step.way != [0.0; 2];
            return Step { jump: step.jump || is_stalled && sense.own.is_grounded, ..step };
        }
        self.anchored_at = sense.now;
        self.stuck_count += 1;
        if let (Some(place), true) = (towards, dice.chance(0.5)) {
            self.avoid(place, sense.now);
        }
        // Past the obstacle on one side or, by a jump, over it.
        let (sine, cosine) = libm::sincosf((dice.unit() as f32 - 0.5) * 4.0);
        let [x, y] = step.way;
        self.detour = [x * cosine - y * sine, x * sine + y * cosine];
        self.detour_until = sense.now + DETOUR_SECONDS;
        (self.is_lost, self.plan_at) = (true, 0.0);
        Step { way: self.detour, jump: true }
    }
}

/// The way to what takes one to a place.
fn to_teleporter(place: Vector, sense: &Sense<'_>) -> Vector {
    let far = |to: Vector| level(subtract(to, place));
    let teleporters = sense.content.map.teleporters.iter();
    let nearest = teleporters.min_by(|a, b| far(a.to).total_cmp(&far(b.to)));
    nearest.map_or([0.0; 3], |found| subtract(found.from.centre(), sense.own.position))
}

/// Whether the lift that one boards or rides is not yet where one needs it.
fn waits_for_lift(leg: Leg, ways: &Ways, sense: &Sense<'_>) -> bool {
    let lifts = &sense.content.map.lifts;
    if let Way::Lift(index) = leg.way {
        let top = ways.places()[leg.to as usize][2];
        return lifts.get(usize::from(index)).is_some() && sense.own.position[2] < top - 0.2;
    }
    let Some(lift) = ways.lift_at(leg.to).and_then(|index| lifts.get(index)) else { return false };
    let height = sense.lift_height(lift);
    height > 0.3 && sense.own.position[2] < lift.bounds.high[2] + height - 0.3
}

/// How long it is on the level.
pub(super) fn level(off: Vector) -> f32 {
    (off[0] * off[0] + off[1] * off[1]).sqrt()
}

/// Its direction on the level.
pub(super) fn unit(off: Vector) -> [f32; 2] {
    let metres = level(off).max(1e-6);
    [off[0] / metres, off[1] / metres]
}
