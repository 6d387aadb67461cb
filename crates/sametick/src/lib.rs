//! Sametick.
pub mod bits;
pub mod codec;
pub mod delta;
mod dice;
mod entity;
mod fields;
pub mod kinds;
mod list;
pub mod network;
mod peer;
pub mod record;
mod slots;
mod table;
mod time;
mod walks;

pub use dice::Dice;
pub use entity::{ENTITY_SLOTS_MAX, EntityId, GENERATIONS_MAX};
pub use fields::{Field, Fields, Networked};
pub use list::{List, Text};
pub use peer::Peer;
pub use record::{Layout, Precision, settle};
pub use slots::{CHUNK_SLOTS, Slots};
pub use table::{Head, Table};
pub use time::{Span, Time};
pub use walks::{SWALLOWED_TICKS_MAX, SwallowWatch};
