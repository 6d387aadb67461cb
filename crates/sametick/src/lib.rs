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

pub mod codec;
mod config;
mod core;
mod diagnostics;
pub mod eventlock;
pub mod lockstep;
#[cfg(feature = "secure")]
mod migration;
pub mod replay;
mod replication;
mod schema;
#[cfg(feature = "secure")]
mod session;
mod sim;
mod simnet;
pub mod theatre;
mod transport;

pub use crate::config::model::Model;
pub use crate::config::rates::{Base, Rates, Rewinding};
pub use crate::core::bits;
pub use crate::core::dice::Dice;
pub use crate::core::entity::{ENTITY_SLOTS_MAX, EntityId, GENERATIONS_MAX};
pub use crate::core::list::{List, Text};
#[cfg(feature = "mutants")]
pub use crate::core::mutant;
pub use crate::core::peer::Peer;
pub use crate::core::slots::{CHUNK_SLOTS, Slots};
pub use crate::core::tick::{AHEAD_TICKS_MAX, PlayerId, Tick};
pub use crate::core::time::{Span, Time};
pub use crate::diagnostics::health;
#[cfg(feature = "secure")]
pub use crate::migration::succession;
pub use crate::replication::client::predict::PREDICTED_TICKS_MAX;
pub use crate::replication::commands::REPEATED_COMMANDS_MAX;
pub use crate::replication::messages::FORESEEN_TICKS_MAX;
pub use crate::replication::messages::TABLES_MAX;
pub use crate::replication::messages::coded;
pub use crate::replication::server::rewind::REWIND_TOLERANCE_TICKS;
pub use crate::replication::server::serve::{Backlog, VERDICTS_MAX};
pub use crate::replication::wire::Wire;
pub use crate::schema::entities::{Entities, KindOf, Layouts};
pub use crate::schema::fields::{Field, Fields, Networked, Relation};
pub use crate::schema::record::{Layout, Precision, settle};
pub use crate::schema::table::{Head, Table};
pub use crate::schema::walks::{SWALLOWED_TICKS_MAX, SwallowWatch};
pub use crate::schema::{delta, kinds, record, word};
#[cfg(feature = "secure")]
pub use crate::session::client::{Client, ClientEvent};
#[cfg(feature = "secure")]
pub use crate::session::extra::Extra;
#[cfg(feature = "secure")]
pub use crate::session::hosted::{Hosted, HostedConfig, HostedEvent};
#[cfg(feature = "secure")]
pub use crate::session::server::Server;
pub use crate::sim::alone::{Alone, TICK_LENGTHS};
pub use crate::sim::authority::{CLAIMED_ENTITIES_MAX, CLAIMS_MAX, Claim, Trust};
pub use crate::sim::events::{Effect, FRESH_EFFECTS_MAX, HELD_EVENTS_MAX, SAVED_EVENTS_MAX};
pub use crate::sim::game::{
    Audience, Delivery, EVENTS_PER_TICK_MAX, EventKey, Game, NoEvent, REPEATS_MAX, Turn,
    VERDICTS_PER_TICK_MAX, Verdict, dice_of,
};
pub use crate::sim::near::Near;
pub use crate::sim::relevance;
pub use crate::sim::sight::HISTORY_MAX;
pub use crate::sim::view::{Interpolation, Others, Path, UnknownView, View};
pub use crate::sim::world::{Unsettled, World};
pub use crate::simnet::network;
#[cfg(feature = "secure")]
pub use crate::transport::endpoint::OPEN_PROTOCOL;
#[cfg(feature = "secure")]
pub use crate::transport::seats::{BODY_KEPT, PLACE_KEPT, ServerEvent};
pub use crate::transport::{channel, synchrony};
#[cfg(feature = "secure")]
pub use crate::transport::{endpoint, secure};

/// The code of the guide, which is compiled and run with the documentation.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/first-game.md")]
struct FirstGame;

/// The same of the guide to event locking.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/event-locking.md")]
struct EventLocking;
