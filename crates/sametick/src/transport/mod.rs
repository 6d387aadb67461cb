//! Datagrams: the channel of a connection, the handshake and sealed packets, the connections of a listener and of a
//! dialer, and clocks. Knows nothing of games.

pub mod channel;
pub(crate) mod clock;
#[cfg(feature = "secure")]
pub mod endpoint;
#[cfg(feature = "secure")]
pub(crate) mod seats;
#[cfg(feature = "secure")]
pub mod secure;
pub mod synchrony;
