//! `Both`: players over UDP, players in browsers and, where that is wanted, over TCP, as one link for one server.

use rustix::event::{PollFd, PollFlags};
use sametick::secure::TlsSession;
use sametick::{Peer, Time};

use crate::clock::Clock;
use crate::link::{Departure, Link};
use crate::socket;
use crate::tcp::TcpLink;
use crate::udp::UdpLink;
use crate::web::WebLink;

/// A UDP socket, browsers' sessions and TCP connections if there are any. A datagram goes out where its peer came in;
/// to one who came over UDP and TCP with the same port, over TCP.
#[derive(Debug)]
pub struct Both {
    /// The socket.
    pub udp: UdpLink,
    /// The sessions.
    pub web: Option<WebLink>,
    /// The connections.
    pub tcp: Option<TcpLink>,
    /// Whose turn it is to be received from first.
    turn: usize,
}

impl Both {
    /// One link of the two.
    pub fn new(udp: UdpLink, web: Option<WebLink>) -> Self {
        Self { udp, web, tcp: None, turn: 0 }
    }

    /// The same, and whoever comes over TCP.
    pub fn with_tcp(mut self, tcp: TcpLink) -> Self {
        self.tcp = Some(tcp);
        self
    }

    fn receive_by(&mut self, turn: usize, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        match turn % 3 {
            0 => self.udp.receive(now, into),
            1 => self.web.as_mut()?.receive(now, into),
            _ => self.tcp.as_mut()?.receive(now, into),
        }
    }
}

impl Link for Both {
    fn local(&self) -> Peer {
        self.udp.local()
    }

    fn receive(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        // In turn, so that a flood on one side does not keep the others waiting.
        self.turn = (self.turn + 1) % 3;
        (self.turn..self.turn + 3).find_map(|turn| self.receive_by(turn, now, into))
    }

    fn send(&mut self, now: Time, to: Peer, datagram: &[u8]) {
        match (&mut self.web, &mut self.tcp) {
            (Some(web), _) if WebLink::is_session(to) => web.send(now, to, datagram),
            (_, Some(tcp)) if tcp.is_connected(to) => tcp.send(now, to, datagram),
            _ => self.udp.send(now, to, datagram),
        }
    }

    fn flush(&mut self, now: Time) {
        self.udp.flush(now);
        if let Some(tcp) = &mut self.tcp {
            tcp.flush(now);
        }
    }

    fn wait(&mut self, clock: &Clock, until: Time) {
        let Self { udp, web, tcp, .. } = self;
        if web.is_none() && tcp.is_none() {
            return udp.wait(clock, until);
        }
        let now = clock.now();
        let may_sleep = udp.may_sleep()
            && tcp.as_mut().is_none_or(|tcp| tcp.may_sleep(now))
            && web.as_ref().is_none_or(WebLink::may_sleep);
        if !may_sleep {
            return;
        }
        let until = tcp.as_ref().and_then(Link::next_wake).map_or(until, |wake| wake.min(until));
        let readable = [Some(udp.socket()), web.as_ref().map(WebLink::waker)];
        let readable = readable.into_iter().flatten();
        let mut sockets: Vec<PollFd<'_>> =
            readable.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        sockets.extend(tcp.iter().flat_map(|tcp| tcp.wishes(now)));
        socket::sleep_on(&mut sockets, until - now);
    }

    fn departed(&mut self) -> Option<Departure> {
        let web = self.web.as_mut().and_then(Link::departed);
        web.or_else(|| self.tcp.as_mut().and_then(Link::departed))
    }

    fn forget(&mut self, peer: Peer) {
        if let Some(web) = &mut self.web {
            web.forget(peer);
        }
        if let Some(tcp) = &mut self.tcp {
            tcp.forget(peer);
        }
    }

    fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.web.as_ref().filter(|_| WebLink::is_session(peer))?.session(peer)
    }
}
