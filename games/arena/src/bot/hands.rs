//! Where a bot points, and when it pulls the trigger: it turns no faster than a hand does, understands late that
//! someone has changed speed, and is off by an error that shrinks while it follows.

use super::skill::Skill;
use crate::command::PITCH_MAX;
use crate::vector::{Vector, along, dot, scale, subtract};
use sametick::{Dice, EntityId};
use std::f32::consts::{PI, TAU};

/// How quickly a wrong direction is made good, a second.
const EAGERNESS: f32 = 14.0;
/// How long an error stays about what it is.
const WANDER_SECONDS: f32 = 0.3;
/// How much more one is off for each radian a second by which the target moves past.
const HASTE_ERROR: f32 = 0.35;
/// How much more one is off at a full run.
const RUN_ERROR: f32 = 0.4;

/// Something to aim at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    pub(super) id: EntityId,
    /// From the eyes to what is to be hit.
    pub(super) off: Vector,
    /// How fast it moves past, in metres a second.
    pub(super) velocity: Vector,
    /// How much of a full run the bot itself makes.
    pub(super) run_share: f32,
}

/// Directions in radians and speeds in radians a second: yaw, then pitch.
#[derive(Clone, Debug, Default)]
pub(super) struct Hands {
    pub(super) yaw: f32,
    pub(super) pitch: f32,
    speed: [f32; 2],
    error: [f32; 2],
    /// Whom it follows, for how long, and how fast it takes that one to be.
    followed: Option<EntityId>,
    followed_seconds: f32,
    believed_velocity: Vector,
    /// How far the hand is from where the bot believes its target to be.
    off_belief: f32,
    burst_left: f32,
    pause_left: f32,
}

impl Hands {
    /// Follows a target for a tick.
    pub(super) fn follow(&mut self, aim: &Aim, skill: &Skill, dice: &mut Dice, dt: f32) {
        if self.followed != Some(aim.id) {
            self.followed = Some(aim.id);
            (self.followed_seconds, self.believed_velocity) = (0.0, aim.velocity);
            self.error = [0.0, 0.0].map(|_: f32| dice.normal() as f32 * skill.error_first);
        }
        self.followed_seconds += dt;
        let learned = 1.0 - libm::expf(-dt / skill.lag_seconds);
        let surprise = subtract(aim.velocity, self.believed_velocity);
        self.believed_velocity = along(self.believed_velocity, surprise, learned);
        // Where it would be, had it gone on as believed.
        let believed = along(aim.off, surprise, -skill.lag_seconds);
        let [x, y, z] = believed;
        let level_squared = (x * x + y * y).max(0.01);
        let [vx, vy, vz] = self.believed_velocity;
        let level = level_squared.sqrt();
        let inwards = (x * vx + y * vy) / level;
        let rates = [
            (x * vy - y * vx) / level_squared,
            (level * vz - z * inwards) / (level_squared + z * z),
        ];
        self.wander(skill, aim, rates, dice, dt);
        let (yaw, pitch) = angles(believed);
        let wanted = (yaw + self.error[0], pitch + self.error[1]);
        self.turn(wanted, rates, skill, dt);
        let [wide, high] = [turn_between(self.yaw, wanted.0), wanted.1 - self.pitch];
        self.off_belief = (wide * wide + high * high).sqrt();
    }

    /// Looks somewhere without aiming.
    pub(super) fn look(&mut self, off: Vector, skill: &Skill, dt: f32) {
        self.followed = None;
        let (yaw, pitch) = angles(off);
        // Nobody swings round at full speed just to see where one goes.
        let calm = Skill { turn_speed: skill.turn_speed * 0.6, ..*skill };
        self.turn((yaw, pitch), [0.0; 2], &calm, dt);
    }

    /// Whether the finger is on the trigger, if the target fills this much of the view.
    pub(super) fn fires(&mut self, half_angle: f32, skill: &Skill, dt: f32) -> bool {
        self.pause_left -= dt;
        if self.pause_left > 0.0 || self.off_belief > half_angle {
            return false;
        }
        self.burst_left -= dt;
        if self.burst_left <= 0.0 {
            (self.burst_left, self.pause_left) = (skill.burst_seconds, skill.pause_seconds);
        }
        true
    }

    /// Lets the error wander about a mean of nothing, by as much as the bot is off at present.
    fn wander(&mut self, skill: &Skill, aim: &Aim, rates: [f32; 2], dice: &mut Dice, dt: f32) {
        let unsettled = libm::expf(-self.followed_seconds / skill.settle_seconds);
        let deviation = skill.error_settled
            + (skill.error_first - skill.error_settled) * unsettled
            + HASTE_ERROR * skill.lag_seconds * (rates[0].abs() + rates[1].abs());
        let deviation = deviation * (1.0 + RUN_ERROR * aim.run_share);
        let kept = libm::expf(-dt / WANDER_SECONDS);
        let fresh = (1.0 - kept * kept).sqrt() * deviation;
        self.error = self.error.map(|error| error * kept + fresh * dice.normal() as f32);
    }

    /// Turns towards a direction that itself turns at these rates.
    fn turn(&mut self, (yaw, pitch): (f32, f32), rates: [f32; 2], skill: &Skill, dt: f32) {
        let off = [turn_between(self.yaw, yaw), pitch - self.pitch];
        let most = skill.turn_acceleration * dt;
        for axis in 0..2 {
            let closing = off[axis] * (1.0 - libm::expf(-EAGERNESS * dt)) / dt;
            let wanted = (closing + rates[axis]).clamp(-skill.turn_speed, skill.turn_speed);
            self.speed[axis] += (wanted - self.speed[axis]).clamp(-most, most);
        }
        self.yaw = turn_between(0.0, self.yaw + self.speed[0] * dt);
        self.pitch = (self.pitch + self.speed[1] * dt).clamp(-PITCH_MAX, PITCH_MAX);
    }
}

/// Yaw and pitch of a direction.
pub(super) fn angles(off: Vector) -> (f32, f32) {
    let level = (off[0] * off[0] + off[1] * off[1]).sqrt();
    (libm::atan2f(off[1], off[0]), libm::atan2f(off[2], level))
}

/// The short way round from one angle to another.
pub(super) fn turn_between(from: f32, to: f32) -> f32 {
    let turn = to - from;
    turn - TAU * ((turn + PI) / TAU).floor()
}

/// Where to aim with something that takes its time: where a target will be that moves on, as far as that is foreseen.
pub(super) fn lead(off: Vector, velocity: Vector, speed: f32, foresight: f32) -> Vector {
    let mut ahead = off;
    for _ in 0..3 {
        let seconds = dot(ahead, ahead).sqrt() / speed;
        ahead = along(off, scale(velocity, foresight), seconds);
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{length, unit};

    #[test]
    fn a_lead_meets_what_moves_on() {
        let (off, velocity) = ([20.0, 0.0, 0.0], [0.0, 6.0, 0.0]);
        let aim = unit(lead(off, velocity, 30.0, 1.0));
        let nearest = (0..200).map(|step| {
            let seconds = step as f32 * 0.01;
            let apart = subtract(along(off, velocity, seconds), scale(aim, 30.0 * seconds));
            length(apart)
        });
        assert!(nearest.fold(f32::INFINITY, f32::min) < 0.3);
        assert_eq!(lead(off, velocity, 30.0, 0.0), off);
    }

    #[test]
    fn one_turns_the_short_way() {
        assert!((turn_between(3.0, -3.0) - (TAU - 6.0)).abs() < 1e-5);
        assert!((turn_between(-3.0, 3.0) + (TAU - 6.0)).abs() < 1e-5);
        assert_eq!(turn_between(1.0, 1.5), 0.5);
    }
}
