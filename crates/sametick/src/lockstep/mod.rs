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
//! *A machine that restarted* (or gave up its world because others went on) does not know what it promised or
//! stepped before, so it never counts for a majority: the same player, asked by two candidates, would make two
//! leaders. It gives a *blank promise*: nothing is left here of what this member knew. A candidate leads without a
//! majority only if every elector has answered its call, by a promise or by a blank one; whatever any quorum decided
//! before, one that remembers it was asked, or nobody does. A blank promise goes to one candidate at a time: it counts
//! for 1.2 s from when the call was sent, and binds for 1.5 s from when it came; and to none that knows of older
//! decisions than another that called. What this cannot exclude: a player that was a quorum by itself restarts, and
//! of two games that need its help the one that knows less reaches it alone.
//!
//! *The leader refuses a rival* for as long as it leads, and calls anew above it, so that those that hear the leader
//! and those that do not end in one epoch. A member that has promised a later epoch than a new leader's tells it so.
//!
//! *A promise binds against notices, too.* A member whose promise a candidate holds keeps its world for 2.2 s, whatever
//! it hears of a game of an earlier epoch: the candidate may lead by now, and its roster counts on that world.
//!
//! *Nothing is stepped after a promise* until a roster of that epoch or a later one is there. A leader counts on what
//! each member had when it promised, and ends seats there. A member that promised and then calls itself, in a later
//! epoch, receives commands with the promises of others. It holds them for the roster that it may make, and steps none:
//! the leader that has its earlier promise may have ended a seat before them.
//!
//! *Commands that nobody of a quorum holds* were stepped by nobody of it: members leave at the first such tick, also
//! those that had left at a later one.
//!
//! *A lobby*, which is a game that has not begun, is led and taken over by the same rules. The founder's vote counts
//! from the start. The vote of a member that wants to play counts once it has confirmed a roster that it is in; it then
//! plays from the first tick on. The electors of a lobby change as those of a game do: a quorum of the old and of the
//! new ones confirms the change before the next, and before the game begins. So the game begins with electors that a
//! quorum of themselves knows, and a candidate that takes over a lobby and a leader that begins it need one elector in
//! common: two parts of a lobby never both begin. A part without a quorum lets machines in, but their votes do not
//! count, and it waits; the second of two waits for the first unless that one leaves, or restarts and asks to be let
//! in. A machine that is let in and never answers has no vote, so that no number of them stops a lobby.
//!
//! *A leaving player* receives the roster that it is not in, and confirms it: from then on it votes for no candidate.
//! The leader counts it among the old electors that know the roster. Of two players the second needs that, because
//! it has no quorum without the first.
//!
//! *A leader whose old electors restarted* before they confirmed a roster asks all members anew after 1.5 s. A member
//! that restarted and joined again counts as a blank promise of its former self.
//!
//! *A candidate that the dead leader admitted* may have the newest roster while its peers do not know it. They adopt
//! the roster from its call if it continues theirs: same epoch, leader and setup, and all their members in it.
//!
//! *A world whose commands are lost* is continued, and no older one. A leader steps ahead of a player whose packets to
//! it arrive while its own packets to the player do not, admits a joiner with its newest world, and dies. The joiner
//! has the world of tick W; the player stands at an earlier tick P, and nobody has all commands between P and W.
//!
//! 1. Say that Y is *beyond* X if X needs a command of a tick up to Y's world that Y does not have. Y has all commands
//!    from the tick after its world on that it ever received, so the world of Y is later than that of X. Hence of two
//!    machines at most one is beyond the other.
//! 2. The vote of Y for X could never count: a candidate counts a promise only once it has all commands that its
//!    sender has. So Y does not promise. It calls itself, above X, and X promises: X has nothing that Y lacks and could
//!    not receive. Before a candidate leads it waits for the answer of every joiner, up to 400 ms: a joiner does not
//!    vote, and would otherwise be left out with the later world. If Y is out of reach the others continue from the
//!    older world, as if the dead leader had stepped those ticks alone; Y is left out, and receives that world.
//! 3. The promise of X is a vote like any other: X votes for no other candidate of that epoch, and states what it has.
//!    But X has not stepped up to W and cannot. So in the roster of Y the seat of X ends like that of a gone member,
//!    where its last commands end, and X is admitted in the same roster under a new seat that enters at W. X is no
//!    elector until it has the world and plays: nobody counts it as having stepped those ticks.
//! 4. X is an old elector of that roster and confirms it by following it. A machine that follows a roster in which it
//!    has a new seat puts its world and all commands aside: no vector of it names commands of the old world. Until it
//!    has the world of W it votes for nobody. If then all others lose their worlds, it goes on from its own.
//!
//! *A member that may not call* for votes (a watcher, or a joiner without a world) learns of an election from the
//! candidate, or by asking: while its leader is silent it sends its state to one player after the other, and those
//! that play without it name their leader. A watcher decides nothing. It vouches for no epoch where it names the leader
//! to a machine that asks, and after 6.5 s without its leader it follows any player that it knew, also to an earlier
//! epoch: the later one was that of a quorum which lost all that it knew.
//!
//! *Who was left out* may have stepped a few ticks that never counted. It comes back as anyone joins: it is handed
//! the world. Until it has that it keeps its own, and goes on from there if all others have lost theirs.
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
//! | `behind` | members that hear no leader, or lack commands that nobody has |
//! | `relay` | what a server among the players passes on |
//! | `election` | who leads when somebody is gone |
//! | `lobby` | what the leader decides before the game begins |
//! | `leading` | what the leader decides afterwards |
//! | `transfer` | a world in pieces |
//! | `recording` | what this machine steps, for replays |
//! | `desync` | worlds that differ: what, where, since when |
//! | `player` | [`Lockstep`]: all of it on one machine |
//! | `playing` | its time: commands made, ticks stepped, guessed or waited for |
//! | `mesh` | `Mesh`: the same over sealed connections (feature `secure`) |

mod barrier;
mod behind;
mod contact;
mod desync;
mod election;
mod leading;
mod lobby;
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

use crate::core::time::Span;

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
const _: () = assert!(STREAMED_TICKS_MAX <= crate::schema::delta::SEQUENCE_RECORDS_MAX);

/// Hashes of every so many ticks are compared.
const HASH_EVERY_TICKS: u32 = 8;

/// How many of the newest worlds are kept at most, to be compared: those of two seconds, if that is fewer.
const HASHES_MAX: usize = 127;

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
