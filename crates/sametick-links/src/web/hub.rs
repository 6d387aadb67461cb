//! The queues between the game's thread and the browsers' sessions. Nothing in here grows: what finds no
//! place pushes out the oldest of its own session, and is counted.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sametick::Peer;
use sametick::secure::{TlsSession, is_handshake};
use tokio::sync::Notify;

use crate::link::{DATAGRAM_BYTES_MAX, Departure, Reason, peer_at};

/// How many datagrams of one session wait for the game.
pub const INBOX_MAX: usize = 64;
/// How many datagrams to one session wait for a browser that does not read.
pub const OUTBOX_MAX: usize = 64;
/// How many sessions there may be of one network: 24 bits of an IPv4 address, 64 of an IPv6 one.
pub const SESSIONS_PER_PREFIX_MAX: usize = 64;
/// A session to which the game has not sent any packet of a connection for so long is closed: nobody was
/// let in there, or the player has left.
pub const UNSERVED_SECONDS: u64 = 15;

/// The most departures that wait to be asked for; the oldest are forgotten.
const DEPARTED_MAX: usize = 1_024;
/// What the second half of a session's address begins with.
const MARK: [u8; 4] = [0xfd, 0x5a, 0x6d, 0x65];

/// What became of all datagrams and sessions of a [`WebLink`](super::WebLink).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebStatistics {
    /// Datagrams from browsers that the game was given.
    pub received: u64,
    /// Bytes of them.
    pub received_bytes: u64,
    /// Datagrams that went to browsers.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Datagrams from browsers that were pushed out by newer ones.
    pub dropped_in: u64,
    /// Datagrams to browsers that were pushed out by newer ones.
    pub dropped_out: u64,
    /// Datagrams to sessions that are gone.
    pub unreachable: u64,
    /// Sessions that were opened.
    pub opened: u64,
    /// Sessions that are over.
    pub ended: u64,
    /// Sessions that were closed because nobody was let in there.
    pub unserved: u64,
    /// Sessions that were turned away because there were too many.
    pub refused: u64,
    /// Requests of pages that have no business here.
    pub foreign: u64,
}

/// All sessions.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    /// A datagram to itself wakes the game's thread.
    waker: UdpSocket,
    sessions_max: usize,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<Peer, Session>,
    /// Who has something in its inbox, in turn.
    ready: VecDeque<Peer>,
    departed: VecDeque<Departure>,
    next_number: u32,
    is_asleep: bool,
    statistics: WebStatistics,
}

#[derive(Debug)]
struct Session {
    tls: Option<TlsSession>,
    inbox: VecDeque<Vec<u8>>,
    outbox: VecDeque<Vec<u8>>,
    news: Arc<Notify>,
    served_at: Instant,
}

/// What a session's task shall do next.
pub(super) enum Next {
    Send(Vec<u8>),
    Wait,
    Close,
}

impl Hub {
    pub(super) fn new(sessions_max: usize) -> io::Result<Self> {
        let waker = UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        // Connected to itself: it hears nobody else.
        waker.connect(waker.local_addr()?)?;
        waker.set_nonblocking(true)?;
        Ok(Self { state: Mutex::default(), waker, sessions_max })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked while it had the queues left them whole: each change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a session, if there is one left.
    pub(super) fn open(
        &self,
        from: SocketAddr,
        tls: Option<TlsSession>,
    ) -> Option<(Peer, Arc<Notify>)> {
        let mut state = self.state();
        let number = state.next_number;
        let peer = session_peer(from, number);
        let is_near = |other: &&Peer| other.address()[..8] == peer.address()[..8];
        let near = state.sessions.keys().filter(is_near).count();
        if state.sessions.len() >= self.sessions_max || near >= SESSIONS_PER_PREFIX_MAX {
            state.statistics.refused += 1;
            return None;
        }
        state.next_number = number.wrapping_add(1);
        state.statistics.opened += 1;
        let news = Arc::new(Notify::new());
        let session = Session {
            tls,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            news: Arc::clone(&news),
            served_at: Instant::now(),
        };
        state.sessions.insert(peer, session);
        Some((peer, news))
    }

    /// Takes in a datagram from a browser; says whether it could be one.
    pub(super) fn deliver(&self, from: Peer, datagram: &[u8]) -> bool {
        if datagram.is_empty() || datagram.len() > DATAGRAM_BYTES_MAX {
            return false;
        }
        let mut state = self.state();
        let State { sessions, ready, statistics, is_asleep, .. } = &mut *state;
        let Some(session) = sessions.get_mut(&from) else { return false };
        if session.inbox.is_empty() {
            ready.push_back(from);
        } else if session.inbox.len() >= INBOX_MAX {
            session.inbox.pop_front();
            statistics.dropped_in += 1;
        }
        session.inbox.push_back(datagram.to_vec());
        if std::mem::take(is_asleep) {
            // If its buffer is full, it is awake already.
            let _ = self.waker.send(&[0]);
        }
        true
    }

    /// The next datagram for a browser.
    pub(super) fn next(&self, to: Peer) -> Next {
        let mut state = self.state();
        let State { sessions, statistics, .. } = &mut *state;
        let Some(session) = sessions.get_mut(&to) else { return Next::Close };
        if let Some(datagram) = session.outbox.pop_front() {
            statistics.sent += 1;
            statistics.sent_bytes += datagram.len() as u64;
            return Next::Send(datagram);
        }
        if session.served_at.elapsed() >= Duration::from_secs(UNSERVED_SECONDS) {
            statistics.unserved += 1;
            return Next::Close;
        }
        Next::Wait
    }

    /// A session is over.
    pub(super) fn end(&self, peer: Peer, reason: Reason) {
        let mut state = self.state();
        if state.sessions.remove(&peer).is_none() {
            return;
        }
        state.ready.retain(|other| *other != peer);
        state.statistics.ended += 1;
        if state.departed.len() >= DEPARTED_MAX {
            state.departed.pop_front();
        }
        state.departed.push_back(Departure { peer, reason });
    }

    /// The game wants to hear no more of a session.
    pub(super) fn close(&self, peer: Peer) {
        let mut state = self.state();
        let Some(session) = state.sessions.remove(&peer) else { return };
        state.ready.retain(|other| *other != peer);
        state.statistics.ended += 1;
        session.news.notify_one();
    }

    pub(super) fn receive(&self, into: &mut Vec<u8>) -> Option<Peer> {
        let mut state = self.state();
        let State { sessions, ready, statistics, .. } = &mut *state;
        let peer = ready.pop_front()?;
        let session = sessions.get_mut(&peer)?;
        *into = session.inbox.pop_front()?;
        if !session.inbox.is_empty() {
            ready.push_back(peer);
        }
        statistics.received += 1;
        statistics.received_bytes += into.len() as u64;
        Some(peer)
    }

    pub(super) fn send(&self, to: Peer, datagram: &[u8]) {
        let mut state = self.state();
        let State { sessions, statistics, .. } = &mut *state;
        let Some(session) = sessions.get_mut(&to) else {
            statistics.unreachable += 1;
            return;
        };
        if !is_handshake(datagram) {
            session.served_at = Instant::now();
        }
        if session.outbox.len() >= OUTBOX_MAX {
            session.outbox.pop_front();
            statistics.dropped_out += 1;
        }
        session.outbox.push_back(datagram.to_vec());
        session.news.notify_one();
    }

    pub(super) fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.state().sessions.get(&peer)?.tls
    }

    pub(super) fn departed(&self) -> Option<Departure> {
        self.state().departed.pop_front()
    }

    pub(super) fn statistics(&self) -> WebStatistics {
        self.state().statistics
    }

    pub(super) fn count_foreign(&self) {
        self.state().statistics.foreign += 1;
    }

    pub(super) fn waker(&self) -> &UdpSocket {
        &self.waker
    }

    /// Whether there is nothing to receive. Then the waker becomes readable when there is.
    pub(super) fn may_sleep(&self) -> bool {
        let mut scratch = [0; 8];
        while self.waker.recv(&mut scratch).is_ok() {}
        let mut state = self.state();
        state.is_asleep = state.ready.is_empty();
        state.is_asleep
    }
}

pub(super) fn is_session(peer: Peer) -> bool {
    peer.address()[8..12] == MARK
}

/// The address of a session: its network, so that limits hold for networks, and a number of its own.
fn session_peer(from: SocketAddr, number: u32) -> Peer {
    let from = peer_at(from);
    let mut address = [0; 16];
    match from.ipv4() {
        Some([a, b, c, _]) => {
            address[..4].copy_from_slice(&MARK);
            address[4..7].copy_from_slice(&[a, b, c]);
        }
        None => address[..8].copy_from_slice(&from.address()[..8]),
    }
    address[8..12].copy_from_slice(&MARK);
    address[12..].copy_from_slice(&number.to_be_bytes());
    Peer::new(address, from.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn sessions_are_no_addresses_and_no_two_are_the_same() {
        let hub = Hub::new(10).unwrap();
        let (one, _) = hub.open(at("192.0.2.7:4000"), None).unwrap();
        let (other, _) = hub.open(at("192.0.2.7:4000"), None).unwrap();
        assert_ne!(one, other);
        assert_eq!(one.address()[..8], other.address()[..8]);
        assert!(is_session(one) && !is_session(peer_at(at("192.0.2.7:4000"))));
        let (far, _) = hub.open(at("[2001:db8::1]:4000"), None).unwrap();
        assert_eq!(far.address()[..8], [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0]);
    }

    #[test]
    fn one_who_does_not_read_and_one_who_floods_cost_a_bounded_queue() {
        let hub = Hub::new(10).unwrap();
        let (flood, _) = hub.open(at("192.0.2.7:1"), None).unwrap();
        let (honest, _) = hub.open(at("192.0.2.8:1"), None).unwrap();
        for number in 0..10_000_u32 {
            assert!(hub.deliver(flood, &number.to_le_bytes()));
            hub.send(flood, &number.to_le_bytes());
        }
        assert!(hub.deliver(honest, b"hello"));
        let (mut datagram, mut heard) = (Vec::new(), Vec::new());
        while let Some(from) = hub.receive(&mut datagram) {
            heard.push((from, datagram.clone()));
        }
        assert_eq!(heard[1], (honest, b"hello".to_vec()), "in turn");
        assert_eq!(heard.len(), INBOX_MAX + 1);
        assert_eq!(heard.last().unwrap().1, 9_999_u32.to_le_bytes(), "the newest are kept");
        let mut waiting = 0;
        while let Next::Send(_) = hub.next(flood) {
            waiting += 1;
        }
        assert_eq!(waiting, OUTBOX_MAX);
        let statistics = hub.statistics();
        let pushed_out = 10_000 - INBOX_MAX as u64;
        assert_eq!((statistics.dropped_in, statistics.dropped_out), (pushed_out, pushed_out));
    }

    #[test]
    fn sessions_are_limited_altogether_and_by_network() {
        let hub = Hub::new(SESSIONS_PER_PREFIX_MAX + 1).unwrap();
        for host in 0..SESSIONS_PER_PREFIX_MAX {
            assert!(hub.open(at(&format!("192.0.2.{host}:1")), None).is_some());
        }
        assert!(hub.open(at("192.0.2.200:1"), None).is_none());
        assert!(hub.open(at("198.51.100.1:1"), None).is_some());
        assert!(hub.open(at("203.0.113.1:1"), None).is_none());
        assert_eq!(hub.statistics().refused, 2);
    }

    #[test]
    fn what_no_client_sends_is_not_taken() {
        let hub = Hub::new(1).unwrap();
        let (peer, _) = hub.open(at("192.0.2.7:1"), None).unwrap();
        assert!(!hub.deliver(peer, &[]));
        assert!(!hub.deliver(peer, &[0; DATAGRAM_BYTES_MAX + 1]));
        assert!(hub.deliver(peer, &[0; DATAGRAM_BYTES_MAX]));
        hub.end(peer, Reason::Closed);
        assert!(!hub.deliver(peer, b"late"));
        assert_eq!(hub.receive(&mut Vec::new()), None);
        assert_eq!(hub.departed(), Some(Departure { peer, reason: Reason::Closed }));
    }
}
