//! How a body moves through the world: on its feet, through the air, along walls, up steps and down slopes.
//!
//! Speeds follow laws whose sum over a tick is known exactly: feet pull a speed towards the wanted one by a
//! power of e, air and gravity add a constant acceleration. So a run or a jump is the same at every tick rate,
//! but for the ticks at which it begins and ends.

use crate::body;
use crate::command::{AXIS_MAX, Command};
use crate::content::Tuning;
use crate::fighter::Fighter;
use crate::map::{STEEPEST_UP, Trace, slide};
use crate::solids::{Body, Solids};
use crate::vector::{Vector, add, along, cross, dot, length, scale, unit};
use sametick::EntityId;

/// How near the ground must be to stand on it: more than the skin.
const GROUND_METRES: f32 = 0.02;
/// Who rises faster than this has left the ground.
const RISING_SPEED: f32 = 1.0;
/// As fast as others can be shown to move.
pub(crate) const SPEED_MAX: f32 = 31.0;
/// Slower than this one stands.
const STILL_SPEED: f32 = 0.005;
/// How many walls one can slide along in a tick.
const SLIDES_MAX: usize = 4;

/// What a move did besides moving.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Steps {
    pub(crate) jumped: bool,
    /// How fast one came down, if one did.
    pub(crate) landed: Option<f32>,
}

/// Moves a fighter for one tick, as its command says.
pub(crate) fn walk(
    fighter: &mut Fighter,
    id: EntityId,
    command: &Command,
    solids: &Solids<'_>,
    tuning: &Tuning,
    dt: f32,
) -> Steps {
    crouch(fighter, command, solids);
    let mover = Mover { solids, id, half: body::half(fighter.is_crouched) };
    let centre = body::centre(fighter.position, fighter.is_crouched);
    let was_grounded = fighter.is_grounded;
    let ground = mover.ground(centre, GROUND_METRES).filter(|_| fighter.velocity[2] < RISING_SPEED);
    let mut steps = Steps { jumped: ground.is_some() && command.jump, landed: None };
    let wish = wish(fighter, command, tuning);
    let falling = -fighter.velocity[2];
    let (end, velocity, is_grounded) = match ground.filter(|_| !steps.jumped) {
        Some(ground) => {
            let (velocity, motion) = on_foot(fighter.velocity, wish, tuning.grip, dt);
            // Feet follow the slope; how steep it is changes nothing about how fast one gets on.
            let rise =
                -(ground.normal[0] * motion[0] + ground.normal[1] * motion[1]) / ground.normal[2];
            mover.run(centre, [motion[0], motion[1], rise], velocity, tuning.step_height)
        }
        None => {
            if steps.jumped {
                fighter.velocity[2] = tuning.jump_speed;
            }
            let (velocity, motion) = in_air(fighter.velocity, wish, tuning, dt);
            let (end, velocity, _) = mover.slide(centre, motion, velocity, false);
            let is_rising = velocity[2] >= RISING_SPEED;
            (end, velocity, !is_rising && mover.ground(end, GROUND_METRES).is_some())
        }
    };
    fighter.position = along(end, [0.0, 0.0, -1.0], mover.half[2]);
    fighter.velocity = velocity.map(|speed| speed.clamp(-SPEED_MAX, SPEED_MAX));
    fighter.is_grounded = is_grounded;
    if is_grounded {
        fighter.velocity[2] = 0.0;
        steps.landed = (!was_grounded).then_some(falling);
    }
    steps
}

/// Lets something without feet slide and fall for one tick; whether it lies on the ground.
pub(crate) fn tumble(
    (centre, velocity): (&mut Vector, &mut Vector),
    (id, half): (EntityId, Vector),
    solids: &Solids<'_>,
    tuning: &Tuning,
    dt: f32,
) -> bool {
    let mover = Mover { solids, id, half };
    let is_down = velocity[2] < RISING_SPEED && mover.ground(*centre, GROUND_METRES).is_some();
    let (speed, motion) = if is_down {
        on_foot(*velocity, [0.0; 3], tuning.grip / 2.0, dt)
    } else {
        in_air(*velocity, [0.0; 3], tuning, dt)
    };
    let (end, speed, _) = mover.slide(*centre, motion, speed, false);
    (*centre, *velocity) = (end, speed.map(|speed| speed.clamp(-SPEED_MAX, SPEED_MAX)));
    is_down
}

fn crouch(fighter: &mut Fighter, command: &Command, solids: &Solids<'_>) {
    if command.crouch {
        fighter.is_crouched = true;
    } else if fighter.is_crouched {
        let standing = body::centre(fighter.position, false);
        fighter.is_crouched = !solids.fits(body::half(false), standing);
    }
}

/// The speed that the command asks for, level.
fn wish(fighter: &Fighter, command: &Command, tuning: &Tuning) -> Vector {
    let (sine, cosine) = libm::sincosf(fighter.yaw);
    let [forward, right] =
        [command.forward, command.right].map(|axis| f32::from(axis) / f32::from(AXIS_MAX));
    let wish = [cosine * forward + sine * right, sine * forward - cosine * right, 0.0];
    let share = if fighter.is_crouched { tuning.crouch_share } else { 1.0 };
    scale(wish, tuning.run_speed * share / length(wish).max(1.0))
}

/// Speed and way after a tick in which feet pull the speed towards the wanted one.
fn on_foot(velocity: Vector, wish: Vector, grip: f32, dt: f32) -> (Vector, Vector) {
    let wrong = [velocity[0] - wish[0], velocity[1] - wish[1], 0.0];
    let left = libm::expf(-grip * dt);
    let mut speed = along(wish, wrong, left);
    if wish == [0.0; 3] && length(speed) < STILL_SPEED {
        speed = [0.0; 3];
    }
    (speed, along(scale(wish, dt), wrong, (1.0 - left) / grip))
}

/// Speed and way after a tick of falling; in the wanted direction one can gain speed, up to the wanted one.
fn in_air(velocity: Vector, wish: Vector, tuning: &Tuning, dt: f32) -> (Vector, Vector) {
    let way = unit(wish);
    let lacks = (length(wish) - dot(velocity, way)).max(0.0);
    let seconds = (lacks / tuning.air_acceleration).min(dt);
    let gain = tuning.air_acceleration * seconds;
    let mut speed = along(velocity, way, gain);
    let mut motion = along(scale(velocity, dt), way, gain * (dt - seconds / 2.0));
    motion[2] -= tuning.gravity * dt * dt / 2.0;
    speed[2] -= tuning.gravity * dt;
    (speed, motion)
}

/// A box on its way.
struct Mover<'a> {
    solids: &'a Solids<'a>,
    id: EntityId,
    half: Vector,
}

impl Mover<'_> {
    fn sweep(&self, from: Vector, to: Vector) -> Trace {
        let is_ignored =
            |body: &Body| body.id == self.id || body.is_fighter && !self.solids.fighters_collide;
        self.solids.sweep(self.half, from, to, is_ignored).trace
    }

    /// What one can stand on, if it is that near.
    fn ground(&self, from: Vector, depth: f32) -> Option<Trace> {
        let trace = self.sweep(from, along(from, [0.0, 0.0, -1.0], depth));
        (trace.is_hit() && !trace.started_inside && trace.normal[2] >= STEEPEST_UP).then_some(trace)
    }

    /// Goes as far as it can and slides along what is in the way: where it ends, what is left of the speed, and
    /// whether a wall was met. On foot, ground is no wall: one goes on over it, and as fast.
    fn slide(
        &self,
        from: Vector,
        motion: Vector,
        velocity: Vector,
        on_foot: bool,
    ) -> (Vector, Vector, bool) {
        let (mut at, mut motion, mut velocity) = (from, motion, velocity);
        let (mut walls, mut met, mut met_wall) = ([[0.0; 3]; SLIDES_MAX], 0, false);
        for _ in 0..SLIDES_MAX {
            let trace = self.sweep(at, add(at, motion));
            at = trace.end;
            if !trace.is_hit() {
                break;
            }
            if trace.started_inside {
                return (at, [0.0; 3], true);
            }
            motion = scale(motion, 1.0 - trace.fraction);
            let is_ground = trace.normal[2] >= STEEPEST_UP;
            met_wall |= !is_ground;
            if is_ground && on_foot {
                motion = over_ground(motion, trace.normal);
                continue;
            }
            walls[met] = trace.normal;
            met += 1;
            motion = slide_along(motion, &walls[..met]);
            velocity = slide_along(velocity, &walls[..met]);
            if dot(motion, motion) < 1e-10 {
                break;
            }
        }
        (at, velocity, met_wall)
    }

    /// Goes on foot: up a step where that leads further, and down where the ground falls away.
    fn run(
        &self,
        from: Vector,
        motion: Vector,
        velocity: Vector,
        step: f32,
    ) -> (Vector, Vector, bool) {
        let (mut end, mut speed, met_wall) = self.slide(from, motion, velocity, true);
        if met_wall {
            let raised = self.sweep(from, along(from, [0.0, 0.0, 1.0], step)).end;
            let (over, over_speed, _) =
                self.slide(raised, [motion[0], motion[1], 0.0], velocity, true);
            let landing = self.ground(over, raised[2] - from[2] + GROUND_METRES);
            let gained = |to: Vector| (to[0] - from[0]) * motion[0] + (to[1] - from[1]) * motion[1];
            if let Some(landing) = landing.filter(|_| gained(over) > gained(end) + 1e-6) {
                (end, speed) = (landing.end, over_speed);
            }
        }
        match self.ground(end, step) {
            Some(ground) => (ground.end, speed, true),
            None => (end, speed, false),
        }
    }
}

/// The same way over sloping ground: how steep that is changes nothing about how fast one gets on.
fn over_ground(motion: Vector, normal: Vector) -> Vector {
    let rise = -(normal[0] * motion[0] + normal[1] * motion[1]) / normal[2];
    // A hair's breadth up, so that rounding does not press the feet into the ground.
    [motion[0], motion[1], rise + 1e-5]
}

/// What of a motion is left beside all of these walls: along the last, along the edge of two, or none.
fn slide_along(motion: Vector, normals: &[Vector]) -> Vector {
    let Some((last, earlier)) = normals.split_last() else { return motion };
    let along_last = slide(motion, *last);
    let Some(other) = earlier.iter().find(|normal| dot(along_last, **normal) < -1e-6) else {
        return along_last;
    };
    let edge = unit(cross(*last, *other));
    let along_edge = scale(edge, dot(motion, edge));
    let is_free = normals.iter().all(|normal| dot(along_edge, *normal) > -1e-5);
    if is_free { along_edge } else { [0.0; 3] }
}
