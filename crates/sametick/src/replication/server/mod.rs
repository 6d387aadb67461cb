//! The half of a server: what each client has, what it is sent of the world, and what it asks for. Knows nothing of
//! datagrams.

pub(crate) mod changes;
pub(crate) mod rewind;
pub(crate) mod serve;
pub(crate) mod snapshot;
