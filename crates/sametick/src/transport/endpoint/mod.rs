//! Connections that can be trusted: handshake, sealing and channel joined, still without a socket.
//!
//! A server has one [`Listener`] for all its clients, a client one [`Dialer`]. Both are fed datagrams
//! and time, tell what happened, and are asked for the datagrams to send. A connection is known by
//! its name and its keys, never by its address, which may change at any moment.

mod connection;
mod dialer;
mod listener;
mod open;

pub use connection::{LastSealed, ZOMBIE_TIME};
pub use dialer::{Dialer, DialerEvent};
pub use listener::{
    Answer, CONNECTIONS_MAX, Listener, ListenerConfig, ListenerDrops, ListenerEvent,
};
pub use open::OPEN_PROTOCOL;
