//! All links over real sockets on the loopback, and bad networks in front of them. Nothing here depends
//! on how fast the machine is.

mod allocations;
mod conditioner;
mod drive;
mod event_locked;
mod every_link;
mod suite;
mod tcp;
