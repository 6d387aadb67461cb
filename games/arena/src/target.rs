//! A target for practice: hangs still, glides to and fro, or jumps; when it is hit it is away for a moment and comes
//! back near its place.

use crate::arena::{Arena, Entity, Roll};
use crate::map::{Motion, SHOWN_METRES, SHOWN_RANGE};
use crate::movement::SPEED_MAX;
use crate::vector::{Bounds, Vector, along, scale};
use sametick::{Dice, Fields, Networked, Turn, World};

/// Half the side of a target.
pub const TARGET_HALF_METRES: f32 = 0.4;
/// What a target can take.
pub const TARGET_HEALTH: u8 = 20;
/// How fast one glides.
const GLIDE_SPEED: f32 = 4.0;
/// How far from its place one glides.
const ROAM_METRES: f32 = 2.5;
/// How often one turns round by chance, and how often one jumps, in a second.
const TURNS_PER_SECOND: f64 = 0.7;
const JUMPS_PER_SECOND: f64 = 0.6;

/// Something to shoot at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its number in the map.
    pub index: u8,
    /// Its middle.
    pub position: Vector,
    /// Metres a second.
    pub velocity: Vector,
    /// None left: away.
    pub health: u8,
    /// When it is back.
    pub back_at: u32,
}

impl Networked for Target {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("index", &mut self.index, 8);
        f.exacts("position", &mut self.position).shown_each(SHOWN_RANGE, SHOWN_METRES);
        f.exacts("velocity", &mut self.velocity).shown_each(-SPEED_MAX..=SPEED_MAX, 1.0 / 32.0);
        f.int("health", &mut self.health, 0..=TARGET_HEALTH);
        f.bits("back_at", &mut self.back_at, 32);
    }
}

impl Target {
    /// Where it can be hit, if it is there.
    pub fn bounds(&self) -> Option<Bounds> {
        (self.health > 0).then(|| self.body())
    }

    /// The room it takes, whether it is there or away.
    pub(crate) fn body(&self) -> Bounds {
        Bounds { low: self.position, high: self.position }.grown([TARGET_HALF_METRES; 3])
    }
}

/// Moves all targets and brings back those that have been away long enough.
pub(crate) fn step(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    for (id, target) in world.all_mut::<Target>() {
        let mut dice = turn.dice(id, Roll::Target as u32);
        if target.health == 0 && turn.tick().0 >= target.back_at {
            appear(target, &mut dice, turn);
        } else if target.health > 0 {
            glide(target, &mut dice, turn);
        }
    }
}

fn appear(target: &mut Target, dice: &mut Dice, turn: &Turn<'_, Arena>) {
    let map = &turn.content().map;
    let Some(plan) = map.targets.get(usize::from(target.index)) else { return };
    let (sine, cosine) = libm::sincosf((dice.unit() * std::f64::consts::TAU) as f32);
    let way = [cosine, sine, 0.0];
    let aside = along(plan.place, way, ROAM_METRES * dice.unit() as f32);
    let is_free = map.fits([TARGET_HALF_METRES; 3], aside) && map.visible(plan.place, aside);
    target.position = if is_free { aside } else { plan.place };
    target.velocity = if plan.motion == Motion::Still { [0.0; 3] } else { scale(way, GLIDE_SPEED) };
    target.health = TARGET_HEALTH;
}

fn glide(target: &mut Target, dice: &mut Dice, turn: &Turn<'_, Arena>) {
    let (content, dt) = (turn.content(), turn.dt());
    let Some(plan) = content.map.targets.get(usize::from(target.index)) else { return };
    if plan.motion == Motion::Still {
        return;
    }
    let off = [0, 1].map(|axis| target.position[axis] - plan.place[axis]);
    let leaves = off[0] * target.velocity[0] + off[1] * target.velocity[1] > 0.0;
    let is_far = off[0] * off[0] + off[1] * off[1] > ROAM_METRES * ROAM_METRES;
    if is_far && leaves || dice.chance(TURNS_PER_SECOND * f64::from(dt)) {
        (target.velocity[0], target.velocity[1]) = (-target.velocity[0], -target.velocity[1]);
    }
    let is_down = target.position[2] <= plan.place[2] && target.velocity[2] <= 0.0;
    if is_down {
        (target.position[2], target.velocity[2]) = (plan.place[2], 0.0);
        if plan.motion == Motion::Jumping && dice.chance(JUMPS_PER_SECOND * f64::from(dt)) {
            target.velocity[2] = content.tuning.jump_speed;
        }
    }
    let mut way = scale(target.velocity, dt);
    if !is_down || target.velocity[2] > 0.0 {
        way[2] -= content.tuning.gravity * dt * dt / 2.0;
        target.velocity[2] -= content.tuning.gravity * dt;
    }
    let trace = content.map.trace(
        [TARGET_HALF_METRES; 3],
        target.position,
        along(target.position, way, 1.0),
    );
    target.position = trace.end;
    if trace.is_hit() {
        target.velocity = crate::map::slide(scale(target.velocity, -1.0), trace.normal);
        target.velocity[2] = target.velocity[2].min(0.0);
    }
}
