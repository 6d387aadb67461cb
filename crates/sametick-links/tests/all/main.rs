//! All links over real sockets on the loopback. Nothing here depends on how fast the machine is.

mod allocations;
mod every_link;
mod suite;
mod tcp;
