//! Arena, the shooter of Sametick: rules and maps, and nothing else. No socket, no clock, no network model; chance
//! only from the turn's dice. The same step is server, prediction, replay and test, natively and in the browser.
//!
//! ```
//! use sametick::{Alone, PlayerId, Span};
//! use sametick_arena::{Arena, Command, Content, Fighter, Mode, map};
//!
//! let content = Content::new(map::CORNERS, Mode::FreeForAll)?;
//! let mut game = Alone::<Arena>::new(content, 1, Span::micros(16_667));
//! game.join(PlayerId(0));
//! for _ in 0..60 {
//!     game.step([(PlayerId(0), Command { forward: 7, ..Command::default() })])?;
//! }
//! let (_, fighter) = game.world().owned::<Fighter>(PlayerId(0)).expect("it has joined");
//! assert!(fighter.is_alive() && fighter.is_grounded);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `arena` | the order of a tick, and which entities there are |
//! | `fighter`, `rocket`, `item`, `door`, `prop`, `target`, `seat`, `contest` | one kind of entity each |
//! | `movement`, `weapon`, `damage` | what fighters do and suffer |
//! | `solids` | what stands in the way during a tick |
//! | `trace` | a match without anyone, for comparing machines |
//! | [`bot`] | players without hands: who fights, and who acts a script |
//! | [`scenes`] | two players and what the papers tell of lag compensation |
//! | [`theatre`] | seven such scenes as they are staged, and what each of them shows |
//! | [`map`] | maps: text, brushes, things, and what can be seen from where |
//! | [`vector`], [`body`] | arithmetic, and how large a fighter is |
//!
//! Metres, seconds and radians; z points up, yaw turns left from +x.

mod arena;
pub mod body;
pub mod bot;
mod command;
mod content;
mod contest;
mod damage;
mod door;
mod event;
mod fighter;
mod item;
pub mod map;
mod movement;
mod prop;
mod rocket;
pub mod scenes;
mod seat;
mod solids;
mod target;
pub mod theatre;
mod trace;
pub mod vector;
mod weapon;

pub use arena::{Arena, Entity};
pub use command::{AXIS_MAX, Command, PITCH_MAX, SAY_BYTES_MAX};
pub use content::{Content, Mode, Tuning};
pub use contest::{Contest, Phase};
pub use door::Door;
pub use event::{Event, What};
pub use fighter::{ARMOUR_MAX, Fighter, HEALTH_MAX};
pub use item::Item;
pub use map::Map;
pub use prop::{PROP_HALF_METRES, PROP_HEALTH, Prop};
pub use rocket::{BLAST_METRES, ROCKET_SPEED, Rocket};
pub use seat::{NAME_BYTES_MAX, Seat};
pub use target::{
    Jumping, RESPAWNS_MAX, Space, TARGET_HALF_METRES, TARGET_HEALTH, TARGET_HITS_MAX,
    TARGET_SIZE_LEAST, TARGET_SIZE_MAX, TARGETS_MAX, Target, TargetKind, TargetSet, WAYPOINTS_MAX,
};
pub use trace::{anything, trace};
pub use weapon::{Weapon, WeaponTuning, pellets_of};

/// The version of these rules. Two programs step worlds alike if this, the schema and the content are the same:
/// machines in lockstep compare all three before they play. Raise it with every change of what a step computes; the
/// test `rules::version` fails where that was forgotten.
pub const RULES: &str = "1";
