//! The sockets of Sametick. The library itself has none: it is given datagrams and moments, and these
//! links carry the ones and tell the others.
//!
//! | | |
//! |---|---|
//! | [`Link`] | what all links do: send a datagram to a peer, receive one, wait |
//! | `UdpLink` | UDP, many datagrams with one call to the system |
//! | `TcpLink` | datagrams over TCP connections |
//! | `WebLink` | browsers' sessions over WebTransport and WebSocket (feature `web`) |
//! | `Both` | UDP and browsers as one link (feature `web`) |
//! | `BrowserLink` | a page's own link (in wasm only) |
//! | [`Conditioned`] | a bad network in real time, over any link |
//! | [`Clock`] | the clock of this machine as [`sametick::Time`] |

#[cfg(all(feature = "web", not(target_arch = "wasm32")))]
mod both;
#[cfg(target_arch = "wasm32")]
pub mod browser;
mod clock;
pub mod conditioner;
mod drive;
mod link;
#[cfg(not(target_arch = "wasm32"))]
mod socket;
#[cfg(not(target_arch = "wasm32"))]
pub mod tcp;
#[cfg(not(target_arch = "wasm32"))]
pub mod udp;
#[cfg(all(feature = "web", not(target_arch = "wasm32")))]
pub mod web;

#[cfg(all(feature = "web", not(target_arch = "wasm32")))]
pub use both::Both;
#[cfg(target_arch = "wasm32")]
pub use browser::BrowserLink;
pub use clock::Clock;
pub use conditioner::Conditioned;
pub use drive::{
    TAKEN_AT_ONCE_MAX, drive_client, drive_event_client, drive_event_server, drive_mesh,
    drive_server,
};
pub use link::{DATAGRAM_BYTES_MAX, Departure, Link, Reason, address_of, peer_at};
#[cfg(not(target_arch = "wasm32"))]
pub use tcp::TcpLink;
#[cfg(not(target_arch = "wasm32"))]
pub use udp::UdpLink;
#[cfg(all(feature = "web", not(target_arch = "wasm32")))]
pub use web::WebLink;

/// A thread may be given any link.
#[cfg(not(target_arch = "wasm32"))]
const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Conditioned<UdpLink>>();
    assert_send::<Conditioned<TcpLink>>();
};
