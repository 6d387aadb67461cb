//! `Both`: players over UDP and players in browsers, as one link for one server.

use sametick::secure::TlsSession;
use sametick::{Peer, Time};

use crate::clock::Clock;
use crate::link::{Departure, Link};
use crate::socket;
use crate::udp::UdpLink;
use crate::web::WebLink;

/// A UDP socket, and browsers' sessions if there are any. A datagram goes out where its peer came in.
#[derive(Debug)]
pub struct Both {
    /// The socket.
    pub udp: UdpLink,
    /// The sessions.
    pub web: Option<WebLink>,
    /// Whose turn it is to be received from first.
    is_web_first: bool,
}

impl Both {
    /// One link of the two.
    pub fn new(udp: UdpLink, web: Option<WebLink>) -> Self {
        Self { udp, web, is_web_first: false }
    }

    fn receive_web(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        self.web.as_mut()?.receive(now, into)
    }
}

impl Link for Both {
    fn local(&self) -> Peer {
        self.udp.local()
    }

    fn receive(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        // In turn, so that a flood on one side does not keep the other waiting.
        self.is_web_first = !self.is_web_first;
        if self.is_web_first {
            self.receive_web(now, into).or_else(|| self.udp.receive(now, into))
        } else {
            self.udp.receive(now, into).or_else(|| self.receive_web(now, into))
        }
    }

    fn send(&mut self, now: Time, to: Peer, datagram: &[u8]) {
        match &mut self.web {
            Some(web) if WebLink::is_session(to) => web.send(now, to, datagram),
            _ => self.udp.send(now, to, datagram),
        }
    }

    fn flush(&mut self, now: Time) {
        self.udp.flush(now);
    }

    fn wait(&mut self, clock: &Clock, until: Time) {
        let Some(web) = &self.web else { return self.udp.wait(clock, until) };
        if self.udp.may_sleep() && web.may_sleep() {
            socket::sleep_on_readable(&[self.udp.socket(), web.waker()], until - clock.now());
        }
    }

    fn departed(&mut self) -> Option<Departure> {
        self.web.as_mut().and_then(Link::departed)
    }

    fn forget(&mut self, peer: Peer) {
        if let Some(web) = &mut self.web {
            web.forget(peer);
        }
    }

    fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.web.as_ref().filter(|_| WebLink::is_session(peer))?.session(peer)
    }
}
