//! The messages of replication as the compact codec writes them: a client's message, the parts of a snapshot, events.
//! Knows nothing of connections.

pub(crate) mod asked;
pub(crate) mod part;
pub(crate) mod stream;

pub use stream::{EVENTS_TOGETHER_MAX, Named, Streams};
