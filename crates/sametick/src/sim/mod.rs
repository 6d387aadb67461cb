//! The rules of a game and what they step: `Game`, `World`, events, interest, and the history that lag compensation
//! rewinds to. Knows nothing of connections.

pub(crate) mod alone;
pub(crate) mod authority;
pub(crate) mod events;
pub(crate) mod game;
pub(crate) mod near;
pub mod relevance;
pub(crate) mod sight;
pub(crate) mod view;
pub(crate) mod world;
