//! Snapshot replication as messages: the half of the server, and the half of a client. Knows nothing of datagrams.

pub(crate) mod births;
pub(crate) mod client;
pub(crate) mod commands;
pub(crate) mod foresight;
#[cfg(all(test, feature = "secure"))]
mod foresight_tests;
pub(crate) mod messages;
#[cfg(test)]
mod netcode_tests;
pub(crate) mod others;
pub(crate) mod server;
#[cfg(test)]
mod snapshot_tests;
pub(crate) mod versions;
pub(crate) mod wire;
