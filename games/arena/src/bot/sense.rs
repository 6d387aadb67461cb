//! What a bot has before its eyes in one tick: its player's view of the world, its own body, and what a straight line
//! of sight meets.

use crate::arena::Entity;
use crate::body;
use crate::content::Content;
use crate::door::Door;
use crate::fighter::Fighter;
use crate::map::Brush;
use crate::vector::{Vector, along, scale, subtract};
use sametick::World;

/// One tick as a bot meets it.
pub(super) struct Sense<'a> {
    pub(super) world: &'a World<Entity>,
    pub(super) content: &'a Content,
    pub(super) own: &'a Fighter,
    /// For how long the bot has been there, in seconds.
    pub(super) now: f64,
    pub(super) dt: f32,
}

impl Sense<'_> {
    /// Whether a line meets neither walls nor doors nor lifts.
    pub(super) fn sees(&self, from: Vector, to: Vector) -> bool {
        let map = &self.content.map;
        if !map.visible(from, to) {
            return false;
        }
        let is_behind = |brushes: &[Brush], offset: Vector| {
            let (from, to) = (subtract(from, offset), subtract(to, offset));
            brushes.iter().any(|brush| brush.blocks(from, to))
        };
        let mut lifts = map.lifts.iter();
        if lifts.any(|lift| is_behind(&lift.brushes, [0.0, 0.0, self.lift_height(lift)])) {
            return false;
        }
        let is_open = |door: &Door| {
            map.doors.get(usize::from(door.index)).is_none_or(|plan| {
                let open = door.openness(plan, self.world.tick(), self.dt);
                !is_behind(&plan.brushes, scale(plan.slide, open))
            })
        };
        map.doors.is_empty() || self.world.all::<Door>().all(|(_, door)| is_open(door))
    }

    /// How far a lift has risen.
    pub(super) fn lift_height(&self, lift: &crate::map::LiftPlan) -> f32 {
        lift.height(f64::from(self.world.tick().0) * f64::from(self.dt))
    }

    /// Whether one can go so many metres this way from one's own feet: no wall in the way, no abyss at the end.
    pub(super) fn is_open(&self, way: [f32; 2], metres: f32) -> bool {
        let up = [0.0, 0.0, 1.0];
        let start = along(body::centre(self.own.position, false), up, CLEARANCE_METRES);
        let end = along(start, [way[0], way[1], 0.0], metres);
        let map = &self.content.map;
        let feet = along(end, up, -body::half(false)[2]);
        !map.trace(body::half(false), start, end).is_hit()
            && map.ground(feet, CLEARANCE_METRES + DROP_METRES_MAX).is_some()
    }

    /// Whether one can go straight to another place of about the same height: ground all along, nothing in the way.
    pub(super) fn is_straight(&self, to: Vector) -> bool {
        let off = subtract(to, self.own.position);
        let metres = (off[0] * off[0] + off[1] * off[1]).sqrt();
        if off[2].abs() > CLEARANCE_METRES || metres < 0.01 {
            return false;
        }
        let way = [off[0] / metres, off[1] / metres, 0.0];
        let start = along(self.own.position, [0.0, 0.0, 1.0], CLEARANCE_METRES);
        let (map, half) = (&self.content.map, body::half(false));
        let centre = |metres: f32| body::centre(along(start, way, metres), false);
        let samples = (metres / SAMPLE_METRES) as usize;
        !map.trace(half, centre(0.0), centre(metres)).is_hit()
            && (1..=samples).all(|sample| {
                let feet = along(start, way, sample as f32 * SAMPLE_METRES);
                map.ground(feet, 2.0 * CLEARANCE_METRES).is_some()
            })
    }
}

/// How high over the ground one looks for a free way: less is stepped over.
const CLEARANCE_METRES: f32 = 0.35;
/// How deep a bot steps down in a fight.
const DROP_METRES_MAX: f32 = 1.5;
/// How far apart ground is looked for.
const SAMPLE_METRES: f32 = 0.8;
