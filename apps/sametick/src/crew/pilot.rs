//! Who decides for a headless player. The one place that chooses; everyone else only asks for a command.

use clap::ValueEnum;
use sametick::{Dice, PlayerId, World};
use sametick_arena::vector::{Vector, along, direction, length, subtract};
use sametick_arena::{AXIS_MAX, Command, Content, Entity, Fighter, PITCH_MAX};
use serde::Serialize;
use std::f32::consts::PI;

/// How well a bot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Skill {
    /// Slow to notice, aims badly
    Easy,
    /// In between
    Normal,
    /// Quick and steady
    Hard,
}

/// Decides what a player asks for, from what that player sees.
pub(crate) trait Pilot: Send {
    fn think(
        &mut self,
        world: &World<Entity>,
        me: PlayerId,
        content: &Content,
        seconds: f32,
    ) -> Command;
}

/// A pilot of this skill; the seed decides its whims.
pub(crate) fn pilot(skill: Skill, seed: u64) -> Box<dyn Pilot> {
    Box::new(Walker::new(skill, seed))
}

/// Walks until something is in the way, then elsewhere, and fires at whoever it sees.
struct Walker {
    dice: Dice,
    /// In radians: how far off it aims.
    error: f32,
    /// How fast it turns, in radians a second.
    turn_speed: f32,
    yaw: f32,
    pitch: f32,
    heading: f32,
    /// Seconds until it would rather go elsewhere.
    patience: f32,
    last: Vector,
}

/// It turns before it touches a wall.
const LOOKS_AHEAD_METRES: f32 = 2.0;
/// It fires at nobody further away.
const SIGHT_METRES: f32 = 40.0;
/// It fires when it aims this well, in radians.
const GOOD_AIM: f32 = 0.05;

impl Walker {
    fn new(skill: Skill, seed: u64) -> Self {
        let (error, turn_speed) = match skill {
            Skill::Easy => (0.12, 2.0),
            Skill::Normal => (0.06, 4.0),
            Skill::Hard => (0.02, 8.0),
        };
        let dice = Dice::new(seed, 0x5711);
        Self {
            dice,
            error,
            turn_speed,
            yaw: 0.0,
            pitch: 0.0,
            heading: 0.0,
            patience: 0.0,
            last: [0.0; 3],
        }
    }

    fn walk(&mut self, own: &Fighter, content: &Content, seconds: f32) {
        self.patience -= seconds;
        let moved = length(subtract(own.position, self.last));
        self.last = own.position;
        let ahead = along(own.eye(), direction(self.heading, 0.0), LOOKS_AHEAD_METRES);
        let is_stuck = moved < 0.5 * seconds && own.is_grounded;
        if self.patience < 0.0 || is_stuck || !content.map.visible(own.eye(), ahead) {
            self.heading = ((self.dice.unit() * 2.0 - 1.0) * f64::from(PI)) as f32;
            self.patience = 1.0 + 3.0 * self.dice.unit() as f32;
        }
    }

    fn turn(&mut self, yaw: f32, pitch: f32, seconds: f32) {
        let most = self.turn_speed * seconds;
        let off = wrap(yaw - self.yaw).clamp(-most, most);
        self.yaw = wrap(self.yaw + off);
        self.pitch =
            (self.pitch + (pitch - self.pitch).clamp(-most, most)).clamp(-PITCH_MAX, PITCH_MAX);
    }
}

impl Pilot for Walker {
    fn think(
        &mut self,
        world: &World<Entity>,
        me: PlayerId,
        content: &Content,
        seconds: f32,
    ) -> Command {
        let Some((id, own)) = world.owned::<Fighter>(me) else { return Command::default() };
        self.walk(own, content, seconds);
        let near = |other: &Fighter| length(subtract(other.position, own.position));
        let in_sight = |other: &Fighter| {
            near(other) < SIGHT_METRES && content.map.visible(own.eye(), other.eye())
        };
        let others = world.all::<Fighter>().filter(|(other, _)| *other != id);
        let enemy = others
            .filter(|(_, other)| other.is_alive() && in_sight(other))
            .min_by(|(_, one), (_, other)| near(one).total_cmp(&near(other)));
        let mut fire = false;
        if let Some((_, enemy)) = enemy {
            let to = subtract(enemy.eye(), own.eye());
            let (yaw, flat) = (libm::atan2f(to[1], to[0]), libm::hypotf(to[0], to[1]));
            let (sway_yaw, sway_pitch) = (self.dice.normal() as f32, self.dice.normal() as f32);
            let pitch = libm::atan2f(to[2], flat);
            self.turn(yaw + sway_yaw * self.error, pitch + sway_pitch * self.error, seconds);
            fire = wrap(yaw - self.yaw).abs() < GOOD_AIM + self.error;
        } else {
            self.turn(self.heading, 0.0, seconds);
        }
        // It walks where it wants to, wherever it looks.
        let (right, forward) = libm::sincosf(wrap(self.yaw - self.heading));
        let axis = |share: f32| (share * f32::from(AXIS_MAX)) as i8;
        Command {
            yaw: self.yaw,
            pitch: self.pitch,
            forward: axis(forward),
            right: axis(right),
            jump: self.dice.chance(f64::from(seconds) / 4.0),
            fire,
            reload: own.loaded[0] == 0,
            ..Command::default()
        }
    }
}

/// An angle between -π and π.
fn wrap(angle: f32) -> f32 {
    angle - 2.0 * PI * libm::roundf(angle / (2.0 * PI))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{ModeName, load};
    use sametick::{Alone, Span};
    use sametick_arena::Arena;

    #[test]
    fn a_pilot_gets_about() {
        let content = load("halls", ModeName::Ffa).unwrap();
        let mut game = Alone::<Arena>::new(content.clone(), 3, Span::micros(16_667));
        let me = PlayerId(0);
        game.join(me);
        let mut pilot = pilot(Skill::Normal, 7);
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..1200 {
            let command = pilot.think(game.world(), me, &content, 1.0 / 60.0);
            game.step([(me, command)]).unwrap();
            let (_, own) = game.world().owned::<Fighter>(me).unwrap();
            places.insert(own.position.map(|metres| (metres / 4.0) as i32));
        }
        assert!(places.len() > 4, "{places:?}");
    }
}
