//! The handshake and the packets after it, in virtual time and without sockets.
#![cfg(feature = "secure")]

mod common;
mod floods;
mod handshakes;
mod packets;
mod resets;
mod tokens;
