//! The messages of replication: their numbers, the widths of their fields, and their forms. Knows neither servers nor
//! clients.

pub mod coded;
pub(crate) mod decoded;
pub(crate) mod heading;
pub(crate) mod merge;

use crate::core::entity::ENTITY_SLOTS_MAX;
use crate::core::slots::CHUNK_SLOTS;
use crate::core::tick::AHEAD_TICKS_MAX;

/// What precedes each message to a client.
pub(crate) const WELCOME: u8 = 0;

pub(crate) const SNAPSHOT: u8 = 1;

pub(crate) const EVENT: u8 = 2;

/// Several events that may be lost, each with its length before it: 3 to 6 are succession's.
pub(crate) const EVENTS: u8 = 7;

/// One that may not and several that may, with the compact codec: 8 is a server's pace.
pub(crate) const CODED_EVENT: u8 = 9;

pub(crate) const CODED_EVENTS: u8 = 10;

/// The highest number of a game: the bit above says that what follows is coded.
pub(crate) const GAME_ID_MAX: u8 = 127;

/// A snapshot names the low bits of its tick: enough for hours of silence.
pub(crate) const TICK_BITS: u32 = 24;

pub(crate) const TICK_MASK: u64 = (1 << TICK_BITS) - 1;

/// How often commands were repeated is told as the low bits of a running count.
pub(crate) const REPEATED_BITS: u32 = 6;

/// The newest command that came is told from the snapshot's tick on; zero is further back than that.
pub(crate) const RECEIVED_BITS: u32 = 8;

pub(crate) const RECEIVED_BACK_MAX: u32 = 191;

const _: () = assert!(RECEIVED_BACK_MAX + AHEAD_TICKS_MAX < 1 << RECEIVED_BITS);

/// What a margin is told in.
pub(crate) const MARGIN_UNIT_MICROS: i64 = 100;

/// How many tables each end keeps of a connection.
pub const TABLES_MAX: usize = 64;

pub(crate) const NUMBER_BITS: u32 = 16;

/// How far back a base is; zero is the map as loaded, which both ends begin with.
pub(crate) const BACK_BITS: u32 = 6;

pub(crate) const BACK_MAX: u64 = (1 << BACK_BITS) - 1;

// Whatever can be named is kept: ten snapshots of six parts, or a tenth of a second at 400 a second.
const _: () = assert!(TABLES_MAX as u64 == BACK_MAX + 1);

pub(crate) const CHUNK_BITS: u32 = 8;

pub(crate) const CHUNKS_MAX: usize = ENTITY_SLOTS_MAX / CHUNK_SLOTS;

/// So many ticks at most lie between a base and what the rules foresee from it; see
/// [`Server::foresee`](crate::Server::foresee).
pub const FORESEEN_TICKS_MAX: u32 = 16;

/// Of what both ends must have made alike, so many bits are told: rules that are not the same everywhere are noticed.
pub(crate) const CHECK_BITS: u32 = 20;
