//! The sockets of Sametick. The library itself has none: it is given datagrams and moments, and these
//! links carry the ones and tell the others.
//!
//! | | |
//! |---|---|
//! | [`Link`] | what all links do: send a datagram to a peer, receive one, wait |
//! | [`UdpLink`] | UDP, many datagrams with one call to the system |
//! | [`TcpLink`] | datagrams over TCP connections |
//! | [`Conditioned`] | a bad network in real time, over any link |
//! | [`Clock`] | the clock of this machine as [`sametick::Time`] |

mod clock;
pub mod conditioner;
mod drive;
mod link;
mod socket;
pub mod tcp;
pub mod udp;

pub use clock::Clock;
pub use conditioner::Conditioned;
pub use drive::{drive_client, drive_mesh, drive_server};
pub use link::{DATAGRAM_BYTES_MAX, Departure, Link, Reason, address_of, peer_at};
pub use tcp::TcpLink;
pub use udp::UdpLink;

/// A thread may be given any link.
const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Conditioned<UdpLink>>();
    assert_send::<Conditioned<TcpLink>>();
};
