//! A network architecture for multiplayer games: write the rules once, as values and a step from one
//! tick to the next, and run them under any network model.
//!
//! This crate has no socket, no clock, no thread and no unsafe code, and runs in the browser as it
//! does natively. So far it holds values as bits, connections that can be trusted, and a world that a server
//! shares with its clients by snapshots.
//!
//! # From a value to the wire and back
//!
//! A value names its fields once. From that one walk follow its record (a list of small integers),
//! its rounding, and the layout that says what each integer means. Records are written against a
//! base that both ends hold, so that only what changed is sent.
//!
//! ```
//! use sametick::bits::{BitReader, BitWriter};
//! use sametick::codec::plain;
//! use sametick::{EntityId, Fields, Head, Layout, Networked, Precision, Table, settle};
//!
//! #[derive(Clone, Debug, Default, PartialEq)]
//! struct Runner { x: f32, y: f32, facing: f32, health: i32 }
//!
//! impl Networked for Runner {
//!     fn fields<F: Fields>(&mut self, f: &mut F) {
//!         // The rules add to x and y every tick, so they are exact; others see centimetres.
//!         f.exact("x", &mut self.x).shown(-50.0..=50.0, 0.01);
//!         f.exact("y", &mut self.y).shown(-50.0..=50.0, 0.01);
//!         f.angle("facing", &mut self.facing, 12);
//!         f.int("health", &mut self.health, 0..=100);
//!     }
//! }
//!
//! // The server: rules ran, the value is settled and gathered as others may see it.
//! let layouts = [Layout::of::<Runner>(Precision::Shown)];
//! let mut runner = Runner { x: 1.2345, y: -7.0, facing: 0.5, health: 120 };
//! settle(&mut runner)?;
//! assert_eq!(runner.health, 100, "settled into its range");
//! let head = Head { id: EntityId::new(0, 1).unwrap(), kind: 0 };
//! let (base, mut now) = (Table::default(), Table::default());
//! now.gather(head, &layouts[0], &mut runner);
//! let mut bits = BitWriter::fixed(1200);
//! plain::write(&mut bits, &layouts, &base, &now);
//! let message = bits.finish()?;
//! assert_eq!(message.len(), 15);
//!
//! // The client: holds the same base, reads the message, has what was shown.
//! let mut seen = Table::default();
//! let mut reader = BitReader::new(message);
//! plain::read(&mut reader, &layouts, &base, &mut seen);
//! reader.finish()?;
//! let shown: Runner = layouts[0].value(seen.record(0, &layouts[0]));
//! assert_eq!((shown.x, shown.y, shown.health), (1.23, -7.0, 100));
//!
//! // Any two records can be compared, by name: this is what a desync report prints.
//! let mut other = now.clone();
//! other.record_mut(0, &layouts[0])[3] = 90;
//! let differences = layouts[0].differences(now.record(0, &layouts[0]), other.record(0, &layouts[0]));
//! assert_eq!(differences[0].to_string(), "health: 100 on the left, 90 on the right");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! `docs/first-game.md` in the repository leads from an empty crate to a client and a server.
//!
//! | module | what it does |
//! |---|---|
//! | [`Networked`], [`Fields`] | the one walk over a value |
//! | [`kinds`] | what a field can be |
//! | [`record`], [`word`] | a value as small integers, and what each of them means |
//! | [`delta`] | a record against a base record |
//! | [`Table`], [`codec`] | many entities at one moment, and their way across |
//! | [`bits`] | integers packed into bytes |
//! | [`Game`], [`World`], [`Turn`] | the rules, what they lead from tick to tick, and what a tick is given |
//! | [`Alone`] | runs the rules without a network |
//! | `Server`, `Client` | run them over one; need the feature `secure` |
//! | [`Model`], [`Rates`], [`View`] | which network model: what the server does, and how a client sees it |
//! | [`relevance`] | whom a player may know of |
//! | `Hosted`, `succession` | a game that one of its players hosts, and what happens when that one leaves |
//! | [`lockstep`] | the same world on every machine: peer to peer, relayed, with rollback |
//! | [`eventlock`] | the server alone decides, and tells what it decided: for hundreds of units on thin lines |
//! | [`synchrony`] | the time on another machine |
//! | [`health`] | what a net graph shows, and warnings that say whose fault it is |
//! | [`channel`] | one connection's messages, over packets that may be lost |
//! | [`network`] | bad networks, simulated |
//! | [`replay`] | recorded matches: played again, compared, looked at |
//! | [`theatre`] | a scene of a few players, and what everyone saw of it |
//! | `secure` | handshake and sealed packets; needs the feature `secure` |
//! | `endpoint` | a server's connections and a client's, handshake to goodbye; likewise |

// Without sealed connections nobody uses the halves of server and client yet; the browser will.
#![cfg_attr(not(feature = "secure"), allow(dead_code))]

mod alone;
mod authority;
mod births;
pub mod bits;
mod blend;
#[cfg(not(feature = "historical_bugs"))]
mod bug;
#[cfg(feature = "historical_bugs")]
pub mod bug;
mod changes;
pub mod channel;
#[cfg(feature = "secure")]
mod client;
mod clock;
pub mod codec;
mod commands;
pub mod delta;
mod dice;
#[cfg(feature = "secure")]
pub mod endpoint;
mod entities;
mod entity;
pub mod eventlock;
mod events;
#[cfg(feature = "secure")]
mod extra;
mod eye;
mod fields;
mod follow;
mod foresight;
#[cfg(all(test, feature = "secure"))]
mod foresight_tests;
mod game;
mod heading;
pub mod health;
#[cfg(feature = "secure")]
mod hosted;
mod interpolate;
pub mod kinds;
mod list;
pub mod lockstep;
mod model;
mod near;
#[cfg(test)]
mod netcode_tests;
pub mod network;
mod others;
mod peer;
mod predict;
mod rates;
mod received;
pub mod record;
pub mod relevance;
pub mod replay;
mod rewind;
#[cfg(feature = "secure")]
pub mod secure;
mod serve;
#[cfg(feature = "secure")]
mod server;
mod sight;
mod slots;
mod smooth;
mod snapshot;
#[cfg(test)]
mod snapshot_tests;
#[cfg(feature = "secure")]
pub mod succession;
pub mod synchrony;
mod table;
pub mod theatre;
mod time;
mod versions;
mod view;
mod walks;
pub mod word;
mod world;

pub use alone::{Alone, TICK_LENGTHS};
pub use authority::{CLAIMED_ENTITIES_MAX, CLAIMS_MAX, Claim, Trust};
#[cfg(feature = "secure")]
pub use client::{Client, ClientEvent};
pub use commands::{AHEAD_TICKS_MAX, REPEATED_COMMANDS_MAX};
pub use dice::Dice;
pub use entities::{Entities, KindOf, Layouts};
pub use entity::{ENTITY_SLOTS_MAX, EntityId, GENERATIONS_MAX};
pub use events::{Effect, FRESH_EFFECTS_MAX, HELD_EVENTS_MAX, SAVED_EVENTS_MAX};
#[cfg(feature = "secure")]
pub use extra::Extra;
pub use fields::{Field, Fields, Networked, Relation};
pub use foresight::FORESEEN_TICKS_MAX;
pub use game::{
    Audience, Delivery, EVENTS_PER_TICK_MAX, EventKey, Game, NoEvent, REPEATS_MAX, Turn,
    VERDICTS_PER_TICK_MAX, Verdict, dice_of,
};
#[cfg(feature = "secure")]
pub use hosted::{Hosted, HostedConfig, HostedEvent};
pub use list::{List, Text};
pub use model::Model;
pub use near::Near;
pub use peer::Peer;
pub use predict::PREDICTED_TICKS_MAX;
pub use rates::Rates;
pub use record::{Layout, Precision, settle};
pub use rewind::{REWIND_TOLERANCE_TICKS, Rewinding};
pub use serve::VERDICTS_MAX;
#[cfg(feature = "secure")]
pub use server::{BODY_KEPT, OPEN_PROTOCOL, PLACE_KEPT, Server, ServerEvent};
pub use sight::HISTORY_MAX;
pub use slots::{CHUNK_SLOTS, Slots};
pub use snapshot::{Base, TABLES_MAX};
pub use table::{Head, Table};
pub use time::{Span, Time};
pub use view::{Interpolation, Others, Path, UnknownView, View};
pub use walks::{SWALLOWED_TICKS_MAX, SwallowWatch};
pub use world::{PlayerId, Tick, Unsettled, World};

/// The code of the guide, which is compiled and run with the documentation.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/first-game.md")]
struct FirstGame;

/// The same of the guide to event locking.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/event-locking.md")]
struct EventLocking;
