//! A match of players without a mind, and the hash of all its worlds: the same on every machine, or they would
//! not agree.

use crate::arena::{Arena, Entity};
use crate::command::{AXIS_MAX, Command};
use crate::content::Content;
use crate::weapon::Weapon;
use sametick::record::mix;
use sametick::{Alone, Dice, Layouts, PlayerId, Span, Unsettled};
use std::f64::consts::PI;

/// For so many ticks a player without a mind holds the same keys.
const HELD_TICKS: u32 = 15;

/// What a player without a mind asks for: anything, for a quarter of a second.
pub fn anything(seed: u64, tick: u32, player: PlayerId) -> Command {
    let mut dice = Dice::new(seed, u64::from(tick / HELD_TICKS) << 16 | u64::from(player.0));
    let mut axis = || dice.below(2 * AXIS_MAX as u64 + 1) as i8 - AXIS_MAX;
    let (forward, right) = (axis(), axis());
    Command {
        yaw: ((dice.unit() * 2.0 - 1.0) * PI) as f32,
        pitch: (dice.normal() * 0.3) as f32,
        forward,
        right,
        jump: dice.chance(0.3),
        crouch: dice.chance(0.2),
        fire: dice.chance(0.5),
        reload: dice.chance(0.1),
        weapon: Weapon::ALL[dice.below(3) as usize],
        ..Command::default()
    }
}

/// The hash of every world of a match at 60 ticks a second that the content and the seed decide.
pub fn trace(content: Content, seed: u64, players: u16, ticks: u32) -> Result<u64, Unsettled> {
    let layouts = Layouts::of::<Entity>();
    let mut game = Alone::<Arena>::new(content, seed, Span::micros(16_667));
    (0..players).for_each(|player| game.join(PlayerId(player)));
    let mut hash = 0;
    for tick in 0..ticks {
        let players = (0..players).map(PlayerId);
        game.step(players.map(|player| (player, anything(seed, tick, player))))?;
        let world = game.world().hash(&layouts);
        hash = mix(mix(hash, world as u32), (world >> 32) as u32);
    }
    Ok(hash)
}
