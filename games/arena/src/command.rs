//! What a player asks for in one tick. Where one looks is told as it is, not as a change: a lost command then
//! costs nothing later.

use crate::weapon::Weapon;
use sametick::{Fields, Networked, Text};

/// How far one can look up and down, in radians: not quite straight.
pub const PITCH_MAX: f32 = 1.55;
/// To how much that is told: 15 bits.
pub(crate) const PITCH_STEP: f32 = PITCH_MAX / 16000.0;
/// The longest that can be said at once.
pub const SAY_BYTES_MAX: usize = 60;
/// The full deflection of a move axis.
pub const AXIS_MAX: i8 = 7;

/// Buttons, where one looks and where one moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Turns left from +x, in radians.
    pub yaw: f32,
    /// Up from the horizon, in radians.
    pub pitch: f32,
    /// Forwards, up to [`AXIS_MAX`]; less than zero is backwards.
    pub forward: i8,
    /// To the right, up to [`AXIS_MAX`]; less than zero is left.
    pub right: i8,
    /// Held in order to jump, again and again.
    pub jump: bool,
    /// Held in order to crouch.
    pub crouch: bool,
    /// Held in order to fire.
    pub fire: bool,
    /// Fills the magazine.
    pub reload: bool,
    /// The weapon to have in hand.
    pub weapon: Weapon,
    /// Ready for the round to begin.
    pub ready: bool,
    /// Would rather watch than play.
    pub watch: bool,
    /// A letter of the player's name, as ASCII; 0 changes nothing. A name is spelled one letter a tick, so that
    /// no command has to carry it whole.
    pub letter: u8,
    /// Which letter of the name that is; the name ends with it.
    pub letter_at: u8,
    /// What the player says to everyone, in the one tick it says it; most often nothing.
    pub say: Text<SAY_BYTES_MAX>,
}

impl Command {
    /// The same of one who may only look around.
    pub(crate) fn looking(&self) -> Self {
        let Self { yaw, pitch, weapon, ready, watch, .. } = *self;
        Self { yaw, pitch, weapon, ready, watch, ..Self::default() }
    }
}

impl Networked for Command {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("yaw", &mut self.yaw, 16);
        f.ranged("pitch", &mut self.pitch, -PITCH_MAX..=PITCH_MAX, PITCH_STEP);
        f.int("forward", &mut self.forward, -AXIS_MAX..=AXIS_MAX);
        f.int("right", &mut self.right, -AXIS_MAX..=AXIS_MAX);
        f.bool("jump", &mut self.jump);
        f.bool("crouch", &mut self.crouch);
        f.bool("fire", &mut self.fire);
        f.bool("reload", &mut self.reload);
        f.choice("weapon", &mut self.weapon, &Weapon::ALL);
        f.bool("ready", &mut self.ready);
        f.bool("watch", &mut self.watch);
        f.int("letter", &mut self.letter, 0..=127);
        f.int("letter_at", &mut self.letter_at, 0..=15);
        f.text("say", &mut self.say);
    }
}
