//! What a game is played with: map, tuning, mode and targets. The same for everyone, never changed while it runs.

use crate::map::{Map, MapError};
use crate::target::TargetSet;
use crate::weapon::{WEAPONS, WeaponTuning};
use sametick::record::mix;

/// Map, tuning, mode and targets.
#[derive(Clone, Debug)]
pub struct Content {
    /// Where it is played.
    pub map: Map,
    /// How things move and hurt.
    pub tuning: Tuning,
    /// What it is played for.
    pub mode: Mode,
    /// What is shot at for practice; if there is nothing in it, the map's own targets.
    pub targets: TargetSet,
    /// How many must play before the countdown begins; until it is over nobody walks or fires. With 0 anybody begins
    /// it, and everyone may.
    pub held_for: u16,
}

/// What a match is played for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everyone against everyone.
    #[default]
    FreeForAll,
    /// Two teams; friends do not hurt each other.
    Teams,
    /// Two players who say when they are ready; the others watch.
    Duel,
    /// Targets instead of enemies.
    Practice,
}

/// How things move and hurt. Metres, seconds, and points of health.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// How fast one runs.
    pub run_speed: f32,
    /// What is left of that when crouched.
    pub crouch_share: f32,
    /// How firmly feet grip: the share of a wrong speed that is lost falls by e with each 1/grip seconds.
    pub grip: f32,
    /// How quickly one gains speed in the air.
    pub air_acceleration: f32,
    /// How quickly one falls faster.
    pub gravity: f32,
    /// How fast a jump begins.
    pub jump_speed: f32,
    /// How high a step is taken without a jump.
    pub step_height: f32,
    /// Whether fighters stand in each other's way.
    pub fighters_collide: bool,
    /// Whether everyone is told of everyone, also of those behind walls.
    pub sees_all: bool,
    /// How much of a hurt armour takes away, as long as there is any.
    pub armour_share: f32,
    /// How long one is dead.
    pub respawn_seconds: f32,
    /// How long a taken item is away.
    pub item_seconds: f32,
    /// How long a broken prop is away.
    pub prop_seconds: f32,
    /// How long a target that was hit is away.
    pub target_seconds: f32,
    /// How many kills, or targets, end a round; 0 is never.
    pub score_limit: u16,
    /// How long a round lasts; 0 is for ever.
    pub round_seconds: f32,
    /// How long before and after a round.
    pub pause_seconds: f32,
    /// By weapon, as [`Weapon::ALL`](crate::Weapon::ALL) has them.
    pub weapons: [WeaponTuning; 3],
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            run_speed: 8.0,
            crouch_share: 0.45,
            grip: 10.0,
            air_acceleration: 12.0,
            gravity: 20.0,
            jump_speed: 7.2,
            step_height: 0.55,
            fighters_collide: true,
            sees_all: false,
            armour_share: 0.6,
            respawn_seconds: 2.0,
            item_seconds: 20.0,
            prop_seconds: 30.0,
            target_seconds: 1.0,
            score_limit: 30,
            round_seconds: 600.0,
            pause_seconds: 5.0,
            weapons: WEAPONS,
        }
    }
}

impl Content {
    /// The usual tuning on a map.
    pub fn new(map_text: &str, mode: Mode) -> Result<Self, MapError> {
        let (map, tuning) = (Map::read(map_text)?, Tuning::default());
        Ok(Self { map, tuning, mode, targets: TargetSet::default(), held_for: 0 })
    }

    /// The same with a round that is held: when so many play it waits for so long, and nobody does anything before it.
    pub fn held(mut self, players: u16, seconds: f32) -> Self {
        (self.held_for, self.tuning.pause_seconds) = (players, seconds);
        self
    }

    /// A number for all of it: who has another plays another game.
    pub fn name(&self) -> u64 {
        let (tuning, mode) = (&self.tuning, self.mode);
        let mut text = format!("{tuning:?} {mode:?}");
        if !self.targets.kinds.is_empty() {
            text.push_str(&self.targets.text());
        }
        if self.held_for > 0 {
            text.push_str(&format!(" held for {}", self.held_for));
        }
        text.bytes().fold(self.map.text_hash(), |hash, byte| mix(hash, u32::from(byte)))
    }
}
