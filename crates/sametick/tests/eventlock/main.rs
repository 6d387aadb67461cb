//! Event-locked games over simulated networks: what is official is the same everywhere, and nobody waits.
#![cfg(feature = "secure")]

mod agreement;
mod clocks;
mod hostile;
mod party;
mod requests;
mod scenes;
mod seats;
mod tanks;
mod wide;
