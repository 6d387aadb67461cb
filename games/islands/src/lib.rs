//! Islands, the strategy game of Sametick: rules, maps and players without hands, and nothing else. No socket, no
//! clock, no network model. The same step runs in lockstep, under snapshots and under event locking.
//!
//! Everything is **structured by time**: a record changes only when something is decided. A squad's way is written once
//! and says where its units are at any moment; health is what was left at a moment and what goes each second; what is
//! being built or made has the moment at which it is ready. Between decisions nothing changes, so nothing is sent.
//!
//! ```
//! use sametick::{Alone, PlayerId};
//! use sametick_islands::{Content, Islands, Mark, Opening, Request, Squad, TICK};
//!
//! let content = Content::new(7, 2, Opening::Settlers);
//! let mut game = Alone::<Islands>::new(content.clone(), 1, TICK);
//! (0..2).for_each(|player| game.join(PlayerId(player)));
//! game.step([])?;
//! let (squad, _) = game.world().all::<Squad>().find(|(_, squad)| squad.seat == 0).unwrap();
//! let order = Request::march([Mark::to(squad)], content.homes()[0].altar, false);
//! game.step([(PlayerId(0), order)])?;
//! let moving = game.world().get::<Squad>(squad).unwrap();
//! assert!(moving.is_moving(1), "it is on its way, and nothing of it changes until it is there");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `islands` | the order of a tick, and which entities there are |
//! | `unit`, `squad`, `errand`, `building`, `realm`, `contest` | one kind of entity each |
//! | `health`, `place`, `tables` | what goes each second; cells, spots and links; what everything costs and does |
//! | `content` | the map of a seed |
//! | `request`, `judge`, `orders` | what can be asked for, whether it is lawful, and what becomes of it |
//! | `works`, `war` | a beat of peace, and of war |
//! | `ways` | where one can walk, and the shortest way there |
//! | `census`, `sight` | who is there, and who sees whom |
//! | [`bot`] | players without hands |
//! | [`theatre`] | the scene that the theatre shows of it |
//! | `saved` | a contest as bytes, for a file |
//! | `trace` | a contest of bots, for comparing machines |

pub mod bot;
mod building;
mod census;
mod content;
mod contest;
mod errand;
mod health;
mod islands;
mod judge;
mod orders;
mod place;
mod realm;
mod request;
mod requests;
mod saved;
mod sight;
mod squad;
mod tables;
pub mod theatre;
mod trace;
mod unit;
mod war;
mod ways;
mod works;

pub use building::{BATCH_MAX, Building, SPAN_MAX};
pub use census::{Census, clock, contest, seat_of};
pub use content::{CONTEST_SECONDS, Content, Home, Opening, SPRING_WORKERS_MAX};
pub use contest::{Contest, SEATS_MAX, TICKS_PER_SECOND};
pub use errand::{Errand, Job};
pub use health::{BEAT_TICKS, Health};
pub use islands::{Entity, Islands, TICK, scores};
pub use judge::{foresee, judge};
pub use orders::{BEAT_WAYS_PER_PLAYER_MAX, WAYS_PER_PLAYER_MAX};
pub use place::{Cell, DIRECTIONS, Link, Mark, SIDE_MAX, SUB, Spot};
pub use realm::{BUILDINGS_MAX, CRYSTALS_MAX, GRAINS, Realm, UNITS_EACH_MAX, UNITS_MAX};
pub use request::{Denial, GROUP_MAX, Request, Verb};
pub use saved::{SAVED_BYTES_MAX, load_contest, save_contest};
pub use sight::{BLOCK_CELLS, Sight};
pub use squad::{POINTS_MAX, Squad};
pub use tables::{BuildingKind, BuildingTable, UnitKind, UnitTable};
pub use trace::trace;
pub use unit::{SQUAD_PLACES, Unit, place_offset};
pub use war::shots;
pub use ways::{GOAL_REACH, Ground, Way};
