//! Lockstep: everyone steps the same world from the same commands, and only commands travel. Peer to peer, through
//! a server that waits, or through one that does not; with turns that adapt; with or without guessing ahead.
//!
//! A [`Lockstep`] is one machine's part in such a game. It speaks in messages: whoever owns it brings them
//! to the others, sealed (`Mesh`, feature `secure`), through a page's own connection, or simulated. A message
//! may be lost, doubled, late or out of order; it must not be damaged or forged.
//!
//! # How agreement is kept
//!
//! *Commands* have an author, and a tick. A tick is stepped when the command of everyone who plays in it is
//! there. With a server in between, commands count as the server passes them on.
//!
//! *The roster* says who plays from which tick to which. Only the leader makes a new one, and nobody takes
//! commands from someone whose roster is newer than its own; so the leader's command of a tick comes with
//! everything that was decided about that tick.
//!
//! *Who is gone without a word* is taken out by an election: the leader, or the first of the others when it is
//! the leader who is gone, calls for the word of all. Whoever gives it says what it has of everyone's commands,
//! hands over what the caller lacks, and hears nobody else until the new roster is there. With the word of more
//! than half (or of half, and the first player's) the caller leads, and the gone leave at the first tick of which
//! nobody had their command. Two such halves share a player, and a player gives its word once an epoch: so there
//! are never two. A leader that passes on commands stops when it has not been heard by a quorum for 1.2 s; its
//! players look for another after 1.5 s at the soonest.
//!
//! *Who was left out* may have stepped a few ticks that never counted. It comes back as anyone joins: it is handed
//! the world.
//!
//! | file | job |
//! |---|---|
//! | `setup` | [`Setup`]: the choices, and the models by name |
//! | `roster` | who takes part, from when to when |
//! | `streams` | everyone's commands |
//! | `words` | messages as bits |
//! | `contact` | what is known of another machine |
//! | `turns` | the game's clock, and when commands are made |
//! | `worlds` | stepping, guessing, stepping again; the newest worlds and their hashes |
//! | `barrier` | coming in, being refused, beginning together |
//! | `relay` | what a server among the players passes on |
//! | `election` | who leads when somebody is gone |
//! | `leading` | what the leader decides |
//! | `transfer` | a world in pieces |
//! | `recording` | what this machine steps, for replays |
//! | `desync` | worlds that differ: what, where, since when |
//! | `player` | [`Lockstep`]: all of it on one machine |
//! | `playing` | its time: commands made, ticks stepped, guessed or waited for |
//! | `mesh` | `Mesh`: the same over sealed connections (feature `secure`) |

mod barrier;
mod contact;
mod desync;
mod election;
mod leading;
#[cfg(feature = "secure")]
mod mesh;
mod player;
mod playing;
mod recording;
mod relay;
mod roster;
mod setup;
mod streams;
mod transfer;
#[cfg(test)]
mod trust_tests;
mod turns;
mod words;
mod worlds;

pub use desync::Desync;
#[cfg(feature = "secure")]
pub use mesh::Mesh;
pub use player::{Happening, Identity, Lockstep, Role, Statistics};
pub use setup::{Setup, Topology, Turns};
pub use words::{MESSAGE_BYTES_MAX, Refusal};

use crate::time::Span;

/// How many can play.
pub const PLAYERS_MAX: usize = 8;

/// How many can watch: fewer than would take the rows of those who play.
pub const WATCHERS_MAX: usize = 4;
const _: () = assert!(PLAYERS_MAX + WATCHERS_MAX < MEMBERS_MAX);

/// How many rows a roster has: players, watchers, and those who left lately.
pub const MEMBERS_MAX: usize = 16;

/// A command takes effect at most so many ticks after it was given.
pub const DELAY_TICKS_MAX: u32 = 60;

/// At most so many ticks are guessed ahead of what is known.
pub const ROLLBACK_TICKS_MAX: u32 = 30;

/// How many ticks' commands are kept for those who are behind; who is further behind is handed the world.
pub const KEPT_TICKS: u32 = 512;

/// For so many ticks commands are kept for who is being handed the world, which takes longer the longer that is.
pub const JOINER_TICKS_MAX: u32 = 3600;
const _: () = assert!(JOINER_TICKS_MAX >= KEPT_TICKS);

/// How many commands of one seat a message carries.
const STREAMED_TICKS_MAX: usize = 32;
const _: () = assert!(STREAMED_TICKS_MAX <= crate::delta::SEQUENCE_RECORDS_MAX);

/// Hashes of every so many ticks are compared.
const HASH_EVERY_TICKS: u32 = 8;

/// How many of the newest worlds are kept, to be compared.
const HASHES_MAX: usize = 40;

/// How many ticks one call steps at most: who is far behind catches up over several.
const STEPS_MAX: u32 = 16;

/// A piece of a world.
const PIECE_BYTES_MAX: usize = 1000;

/// The longest world that is handed over.
pub const BLOB_BYTES_MAX: usize = 1 << 20;

/// After so long without a word players look for another leader.
pub const SILENCE: Span = Span::millis(1_500);

/// So long a leader that passes on commands counts a player, from when it sent what the player has heard.
pub const LEASE: Span = Span::millis(1_200);
const _: () = assert!(LEASE.as_micros() * 5 <= SILENCE.as_micros() * 4);

/// A number for a program by its version, for those who agree on what they play by it.
///
/// ```
/// use sametick::lockstep::build_of;
///
/// assert_ne!(build_of("0.1.0"), build_of("0.1.1"));
/// ```
pub const fn build_of(version: &str) -> u64 {
    let (text, mut sum, mut at) = (version.as_bytes(), 0_u64, 0);
    while at < text.len() {
        sum = sum.wrapping_mul(257).wrapping_add(text[at] as u64);
        at += 1;
    }
    sum
}

/// How fast a game runs: what all agree on, from some tick on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many ticks a communication turn has.
    pub turn_ticks: u8,
    /// How long a tick takes on the wall's clock; the rules never learn of it.
    pub tick_takes: Span,
}
