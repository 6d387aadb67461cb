//! `Server`, `Client` and `Hosted`: the halves of replication on connections. Knows nothing of sockets.

pub(crate) mod client;
pub(crate) mod extra;
pub(crate) mod following;
pub(crate) mod hosted;
pub(crate) mod hosting;
pub(crate) mod server;
