//! The half of a client: snapshots received, its own player predicted, and the others shown. Knows nothing of
//! datagrams.

pub(crate) mod eye;
pub(crate) mod follow;
pub(crate) mod interpolate;
pub(crate) mod predict;
pub(crate) mod received;
pub(crate) mod smooth;
