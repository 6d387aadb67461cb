//! `Link`: how datagrams get from here to a peer and back. Knows no particular kind of socket.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sametick::secure::TlsSession;
use sametick::{Peer, Time};

use crate::clock::Clock;

/// The most bytes that a datagram has on any link: what every path on the internet carries, and what
/// a browser sends.
pub const DATAGRAM_BYTES_MAX: usize = 1_200;

/// Carries datagrams to peers and from them. They may be lost, and nothing but [`Link::wait`] ever
/// blocks. All moments that one link is given are of one clock and never go back.
///
/// A loop over a link receives until there is nothing more, does its work, sends, and waits until its
/// own next deadline or the link's:
///
/// ```
/// use sametick::{Span, Time};
/// use sametick_links::{Clock, Link, UdpLink};
///
/// /// Answers everything with itself until the deadline, and says how often.
/// fn echo(link: &mut impl Link, clock: &Clock, deadline: Time) -> u32 {
///     let (mut datagram, mut answered) = (Vec::new(), 0);
///     while clock.now() < deadline {
///         while let Some(peer) = link.receive(clock.now(), &mut datagram) {
///             link.send(clock.now(), peer, &datagram);
///             answered += 1;
///         }
///         link.flush(clock.now());
/// #       if answered > 0 { break }
///         link.wait(clock, deadline);
///     }
///     answered
/// }
///
/// let clock = Clock::start();
/// let mut server = UdpLink::bind("127.0.0.1:0".parse()?)?;
/// let mut client = UdpLink::bind("127.0.0.1:0".parse()?)?;
/// client.send(clock.now(), server.local(), b"hello");
/// client.flush(clock.now());
/// assert_eq!(echo(&mut server, &clock, clock.now() + Span::seconds(5)), 1);
///
/// client.wait(&clock, clock.now() + Span::seconds(5));
/// let mut datagram = Vec::new();
/// assert_eq!(client.receive(clock.now(), &mut datagram), Some(server.local()));
/// assert_eq!(datagram, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Link {
    /// Where this end is reached; the address that was bound, which may stand for all of a machine.
    fn local(&self) -> Peer;

    /// Takes out the next datagram and says whom it comes from. `into` becomes the datagram, and its
    /// memory is used again.
    fn receive(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer>;

    /// Sends a datagram, at the latest with the next [`Link::flush`] or [`Link::wait`]. One that
    /// cannot be sent is dropped and counted.
    ///
    /// # Panics
    /// If the datagram is longer than [`DATAGRAM_BYTES_MAX`].
    fn send(&mut self, now: Time, to: Peer, datagram: &[u8]);

    /// Hands all that was sent to the system, as far as it takes it.
    fn flush(&mut self, now: Time);

    /// Flushes, and sleeps until there may be something to receive or the moment has come. Now and
    /// then it returns for no reason.
    fn wait(&mut self, clock: &Clock, until: Time);

    /// When the link itself next has something to do, if nothing arrives before. [`Link::wait`] sees
    /// to it; a caller that sleeps elsewhere calls [`Link::receive`] by then.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// Takes out the next peer that is gone for good. Links without connections never know.
    fn departed(&mut self) -> Option<Departure> {
        None
    }

    /// Tells that nobody here wants to hear of a peer any more: a link with connections closes it. A
    /// peer that is forgotten does not depart.
    fn forget(&mut self, _peer: Peer) {}

    /// The TLS session in which all datagrams of a peer come and go, if there is one around them. Such a
    /// peer is one session and no address.
    fn session(&self, _peer: Peer) -> Option<TlsSession> {
        None
    }
}

/// A peer that is gone for good, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Who is gone.
    pub peer: Peer,
    /// Why.
    pub reason: Reason,
}

/// Why a peer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It closed its end.
    Closed,
    /// The connection broke.
    Broken(io::ErrorKind),
    /// It sent what no peer sends.
    Hostile,
    /// It began a datagram and did not end it.
    Silent,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "it closed the connection"),
            Self::Broken(kind) => write!(f, "the connection broke: {kind}"),
            Self::Hostile => write!(f, "it sent a datagram of an impossible length"),
            Self::Silent => write!(f, "it left a datagram unfinished for too long"),
        }
    }
}

/// The peer at an address. What tells apart the same link-local address on two interfaces is not
/// kept.
///
/// ```
/// use sametick::Peer;
/// use sametick_links::{address_of, peer_at};
/// let address = "192.0.2.7:4000".parse().unwrap();
/// assert_eq!(peer_at(address), Peer::from_ipv4([192, 0, 2, 7], 4000));
/// assert_eq!(peer_at("[::ffff:192.0.2.7]:4000".parse().unwrap()), peer_at(address));
/// assert_eq!(address_of(peer_at(address)), address);
/// ```
pub fn peer_at(address: SocketAddr) -> Peer {
    match address.ip() {
        IpAddr::V4(ip) => Peer::from_ipv4(ip.octets(), address.port()),
        IpAddr::V6(ip) => Peer::new(ip.octets(), address.port()),
    }
}

/// The address of a peer, an IPv4 address for one that has one.
pub fn address_of(peer: Peer) -> SocketAddr {
    match peer.ipv4() {
        Some(ip) => SocketAddr::from((Ipv4Addr::from(ip), peer.port())),
        None => SocketAddr::from((Ipv6Addr::from(peer.address()), peer.port())),
    }
}

pub(crate) fn assert_fits(datagram: &[u8]) {
    let bytes = datagram.len();
    assert!(bytes <= DATAGRAM_BYTES_MAX, "{bytes} bytes: {DATAGRAM_BYTES_MAX} is the most");
}
