//! A player that acts a script: where it is at every moment is known beforehand, at every tick rate. For experiments,
//! pilots and scenes; it decides nothing.

use super::axes;
use super::hands::{angles, lead};
use super::legs::level;
use crate::arena::Entity;
use crate::command::Command;
use crate::content::Content;
use crate::fighter::Fighter;
use crate::rocket::ROCKET_SPEED;
use crate::vector::{Vector, add, along, length, scale, subtract};
use crate::weapon::Weapon;
use sametick::{PlayerId, World};
use std::f32::consts::TAU;
use std::ops::Range;

/// Where someone is, by the seconds since the act began. Places are those of the feet; speeds in metres a second, up
/// to nine tenths of a full run if they are to be kept.
///
/// | scene | script |
/// |---|---|
/// | strafe | [`Strafe`](Self::Strafe) |
/// | cross, dash across, run behind cover, run at each other (one each) | [`Cross`](Self::Cross) |
/// | peek out of a corner and back | [`Peek`](Self::Peek) |
/// | circle a tree or a pillar | [`Circle`](Self::Circle) |
/// | stand | [`Stand`](Self::Stand) |
/// | a way or keys that were recorded | [`Path`](Self::Path), [`Keys`](Self::Keys) |
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// Stands at a place.
    Stand {
        /// Where.
        at: Vector,
    },
    /// Runs to and fro between two places, for ever.
    Strafe {
        /// Where it begins.
        from: Vector,
        /// Where it turns round first.
        to: Vector,
        /// How fast.
        speed: f32,
    },
    /// Waits, then runs from one place to another, once.
    Cross {
        /// Where it waits.
        from: Vector,
        /// Where it stays.
        to: Vector,
        /// How fast.
        speed: f32,
        /// For how long it waits.
        wait_seconds: f32,
    },
    /// Steps out from behind something and back, again and again.
    Peek {
        /// Where it is hidden.
        cover: Vector,
        /// Where it is not.
        out: Vector,
        /// How fast it moves between them.
        speed: f32,
        /// How long it stays hidden.
        hidden_seconds: f32,
        /// How long it stays out.
        out_seconds: f32,
    },
    /// Runs round and round.
    Circle {
        /// Round this place.
        centre: Vector,
        /// How far from it.
        radius: f32,
        /// Where on the circle it begins, in radians left from east: two who are half a turn apart have the middle
        /// between them all the time.
        angle: f32,
        /// How fast; less than nothing is clockwise.
        speed: f32,
    },
    /// Is at each of these places at its second, and on the straight way between them; before the first and after
    /// the last it stands there.
    Path(Vec<(f32, Vector)>),
    /// Holds these keys, each from its second on.
    Keys(Vec<(f32, Command)>),
}

/// Where an actor looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Look {
    /// Where it goes.
    #[default]
    Ahead,
    /// At a place.
    To(Vector),
    /// At the middle of another player, exactly as the view shows it; ahead if it does not.
    At(PlayerId),
    /// Where a rocket fired now meets another player who moves on as the view shows it; ahead if it does not.
    Lead(PlayerId),
}

/// A script with all that goes with it. On free ground it is within 0.25 m of its [`place`](Self::place) at 60 ticks a
/// second and more, and within 0.35 m at 20.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// Where it is when.
    pub script: Script,
    /// Where it looks.
    pub look: Look,
    /// The second of the game at which the act begins; before, it goes where it begins.
    pub begins_at: f64,
    /// Between which seconds of the act it holds the trigger.
    pub fires: Vec<Range<f32>>,
    /// What it has in hand.
    pub weapon: Weapon,
    /// Whether it is crouched.
    pub crouches: bool,
}

/// Corners of a script are rounded over this time, because feet cannot turn at once, and in how many steps.
const ROUND_SECONDS: f32 = 0.5;
const ROUND_STEPS: u8 = 20;
/// How eagerly a place that was missed is made good, a second.
const EAGERNESS: f32 = 5.0;
/// Nearer than this to where it should be at rest, it stands.
const REST_METRES: f32 = 0.04;

impl Act {
    /// An act that begins with the game, looks ahead and does not fire.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            look: Look::Ahead,
            begins_at: 0.0,
            fires: Vec::new(),
            weapon: Weapon::Rifle,
            crouches: false,
        }
    }

    /// Where it is, so many seconds after it began: where the script has it, with corners rounded over half a second.
    pub fn place(&self, seconds: f32) -> Option<Vector> {
        let mut sum = [0.0; 3];
        for step in 0..ROUND_STEPS {
            let share = (f32::from(step) + 0.5) / f32::from(ROUND_STEPS) - 0.5;
            sum = add(sum, self.script.place(seconds + share * ROUND_SECONDS)?);
        }
        Some(scale(sum, 1.0 / f32::from(ROUND_STEPS)))
    }

    /// What it asks for next, if this is what its player's view shows and a tick takes `dt` seconds.
    pub fn think(
        &self,
        world: &World<Entity>,
        me: PlayerId,
        content: &Content,
        dt: f32,
    ) -> Command {
        let next = (f64::from(world.tick().0) + 1.0) * f64::from(dt) - self.begins_at;
        let seconds = next.max(0.0) as f32;
        if let Script::Keys(keys) = &self.script {
            let held = keys.iter().rev().find(|(from, _)| seconds >= *from);
            return held.map_or_else(Command::default, |(_, command)| *command);
        }
        let mut command = Command {
            weapon: self.weapon,
            ready: true,
            crouch: self.crouches,
            fire: next >= 0.0 && self.fires.iter().any(|range| range.contains(&seconds)),
            ..Command::default()
        };
        let Some((_, own)) = world.owned::<Fighter>(me).filter(|(_, own)| own.is_alive()) else {
            return command;
        };
        let wish = self.wish(own, seconds, next >= 0.0, content, dt);
        let ahead = if level(wish) > 0.5 { Some(wish) } else { None };
        let eye = own.eye();
        let off = match self.look {
            Look::Ahead => ahead,
            Look::To(place) => Some(subtract(place, eye)),
            Look::At(player) => {
                find(world, player).map(|(middle, _)| subtract(middle, eye)).or(ahead)
            }
            Look::Lead(player) => find(world, player)
                .map(|(middle, velocity)| lead(subtract(middle, eye), velocity, ROCKET_SPEED, 1.0))
                .or(ahead),
        };
        (command.yaw, command.pitch) = off.map_or((own.yaw, own.pitch), angles);
        let full = content.tuning.run_speed
            * if self.crouches { content.tuning.crouch_share } else { 1.0 };
        let share = scale(wish, 1.0 / full);
        [command.forward, command.right] = axes([share[0], share[1]], command.yaw);
        command
    }

    /// The speed to ask for, so that the feet are where the script has them.
    fn wish(
        &self,
        own: &Fighter,
        seconds: f32,
        has_begun: bool,
        content: &Content,
        dt: f32,
    ) -> Vector {
        let Some(place) = self.place(seconds - dt) else { return [0.0; 3] };
        let off = subtract(place, own.position);
        // Feet take a moment to follow a wish: what will be wanted then is asked for now.
        let grip_seconds = 1.0 / content.tuning.grip;
        let later = self.place(seconds + grip_seconds + dt);
        let sooner = self.place(seconds + grip_seconds);
        let pace = match (sooner, later) {
            (Some(sooner), Some(later)) if has_begun => scale(subtract(later, sooner), 1.0 / dt),
            _ => [0.0; 3],
        };
        if length(pace) < 0.01 && level(off) < REST_METRES {
            return [0.0; 3];
        }
        let wish = along(pace, off, EAGERNESS);
        let most = content.tuning.run_speed;
        scale(wish, (most / level(wish).max(0.01)).min(1.0))
    }
}

impl Script {
    /// Where its feet are, so many seconds after it began; none for keys, which know no places.
    pub fn place(&self, seconds: f32) -> Option<Vector> {
        let seconds = seconds.max(0.0);
        Some(match self {
            Self::Stand { at } => *at,
            Self::Strafe { from, to, speed } => {
                let half = duration(*from, *to, *speed);
                let phase = seconds % (2.0 * half);
                between(*from, *to, if phase < half { phase } else { 2.0 * half - phase } / half)
            }
            Self::Cross { from, to, speed, wait_seconds } => {
                between(*from, *to, (seconds - wait_seconds) / duration(*from, *to, *speed))
            }
            Self::Peek { cover, out, speed, hidden_seconds, out_seconds } => {
                let way = duration(*cover, *out, *speed);
                let phase = seconds % (hidden_seconds + out_seconds + 2.0 * way) - hidden_seconds;
                let back = (phase - way - out_seconds) / way;
                between(*cover, *out, (phase / way).min(1.0) - back.max(0.0))
            }
            Self::Circle { centre, radius, angle, speed } => {
                let angle = (angle + speed * seconds / radius) % TAU;
                let (sine, cosine) = libm::sincosf(angle);
                along(*centre, [cosine, sine, 0.0], *radius)
            }
            Self::Path(places) => {
                let after = places.iter().position(|(at, _)| *at > seconds);
                match after {
                    Some(0) => places[0].1,
                    Some(after) => {
                        let ((begin, from), (end, to)) = (places[after - 1], places[after]);
                        between(from, to, (seconds - begin) / (end - begin))
                    }
                    None => places.last()?.1,
                }
            }
            Self::Keys(_) => return None,
        })
    }
}

/// The middle of a player's fighter and its speed, if the view shows one that is alive.
fn find(world: &World<Entity>, player: PlayerId) -> Option<(Vector, Vector)> {
    let mut fighters = world.all::<Fighter>().map(|(_, fighter)| fighter);
    let fighter = fighters.find(|fighter| fighter.player == player.0)?;
    Some((fighter.bounds()?.centre(), fighter.velocity))
}

fn duration(from: Vector, to: Vector, speed: f32) -> f32 {
    (length(subtract(to, from)) / speed.max(0.01)).max(0.001)
}

fn between(from: Vector, to: Vector, share: f32) -> Vector {
    along(from, subtract(to, from), share.clamp(0.0, 1.0))
}
