//! Ticks and players, as numbers. Knows nothing of what happens in a tick.

/// Counts the steps of a game, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u32);

/// A player's number in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u16);

/// How far ahead of the server a command may be.
pub const AHEAD_TICKS_MAX: u32 = 64;
