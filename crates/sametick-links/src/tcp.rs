//! `TcpLink`: datagrams with their length in front, over connections. For event locking, and for
//! players whose firewall lets nothing else through.

mod connection;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use sametick::{Peer, Span, Time};
use socket2::{Protocol, Type};

use crate::clock::Clock;
use crate::link::{Departure, Link, assert_fits, peer_at};
use crate::socket;
use connection::Connection;
pub use connection::{BACKLOG_BYTES_MAX, UNFINISHED_MAX};

/// The most connections at once, unless told fewer; who comes on top is turned away.
pub const CONNECTIONS_MAX: usize = 1_024;
/// How long connecting may take.
pub const CONNECT_MAX: Span = Span::seconds(5);

/// The most departures that wait to be asked for; the oldest are forgotten.
const DEPARTED_MAX: usize = CONNECTIONS_MAX;
/// How many connections the system keeps until they are accepted, and how many are at once.
const ACCEPTED_AT_ONCE: usize = 128;
/// How long no connection is accepted after that failed, most likely for want of file descriptors.
const ACCEPT_PAUSE: Span = Span::millis(100);
/// After so many datagrams all connections are read anew, so that one full of small ones does not
/// keep the others waiting.
const RECEIVES_PER_PUMP: u32 = 32;

/// Connections to many peers, or to one.
///
/// Datagrams arrive in the order in which they were sent, if they arrive: what a peer does not read
/// fast enough is dropped. A peer is the other end of one connection; who connects anew is another.
///
/// ```
/// use sametick::Span;
/// use sametick_links::{Clock, Link, Reason, TcpLink};
///
/// let clock = Clock::start();
/// let mut server = TcpLink::listen("127.0.0.1:0".parse()?)?;
/// let mut client = TcpLink::connect(server.local())?;
/// client.send(clock.now(), server.local(), b"hello");
/// client.flush(clock.now());
/// drop(client);
///
/// let mut datagram = Vec::new();
/// let peer = loop {
///     server.wait(&clock, clock.now() + Span::seconds(5));
///     if let Some(peer) = server.receive(clock.now(), &mut datagram) {
///         break peer;
///     }
/// };
/// assert_eq!(datagram, b"hello");
/// let departure = loop {
///     assert_eq!(server.receive(clock.now(), &mut datagram), None);
///     if let Some(departure) = server.departed() {
///         break departure;
///     }
///     server.wait(&clock, clock.now() + Span::seconds(5));
/// };
/// assert_eq!((departure.peer, departure.reason), (peer, Reason::Closed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TcpLink {
    local: Peer,
    listener: Option<TcpListener>,
    /// When connections are accepted again, after that failed.
    accepts_from: Option<Time>,
    connections_max: usize,
    /// In ascending order.
    peers: Vec<(Peer, Connection<TcpStream>)>,
    /// Whose turn it is to be received from.
    turn: usize,
    receives_since_pump: u32,
    departed: VecDeque<Departure>,
    statistics: TcpStatistics,
}

/// What became of all datagrams and connections of a [`TcpLink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStatistics {
    /// Datagrams that were to be sent.
    pub pushed: u64,
    /// Of those, the ones that wait until the system takes them.
    pub queued: u64,
    /// Of those, the ones that the system took.
    pub sent: u64,
    /// Dropped because [`BACKLOG_BYTES_MAX`] waited already.
    pub backlogged: u64,
    /// Dropped because no connection leads to that peer.
    pub unreachable: u64,
    /// Lost because their connection ended while they waited.
    pub abandoned: u64,
    /// Datagrams that were received.
    pub received: u64,
    /// Connections that were made, either way.
    pub opened: u64,
    /// Of those, the ones that are open, or ended with datagrams left to receive.
    pub open: u64,
    /// Of those, the ones that ended.
    pub ended: u64,
    /// Connections that were turned away because there were too many.
    pub turned_away: u64,
    /// Times that accepting failed.
    pub accept_errors: u64,
    /// Departures that nobody asked for before there were too many.
    pub departures_forgotten: u64,
}

impl TcpStatistics {
    /// Whether each datagram and connection is accounted for exactly once. It always is.
    pub fn closes(&self) -> bool {
        let dropped = self.backlogged + self.unreachable + self.abandoned;
        self.pushed == self.queued + self.sent + dropped && self.opened == self.open + self.ended
    }
}

impl TcpLink {
    /// Waits for connections at an address. Port 0 is any that is free.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let socket = socket::bind(address, Type::STREAM, Protocol::TCP)?;
        socket.listen(ACCEPTED_AT_ONCE as i32)?;
        let listener = TcpListener::from(socket);
        Ok(Self::new(peer_at(listener.local_addr()?), Some(listener)))
    }

    /// Waits for connections at a port of all addresses of this machine, IPv6 and IPv4 at once where
    /// there are both.
    pub fn listen_everywhere(port: u16) -> io::Result<Self> {
        socket::everywhere(port, Self::listen)
    }

    /// Connects to a peer. Blocks until that has succeeded or failed, at most for [`CONNECT_MAX`].
    pub fn connect(to: Peer) -> io::Result<Self> {
        let at_most = Duration::from_micros(CONNECT_MAX.as_micros());
        let stream = TcpStream::connect_timeout(&crate::link::address_of(to), at_most)?;
        prepare(&stream)?;
        let mut link = Self::new(peer_at(stream.local_addr()?), None);
        link.statistics.opened += 1;
        link.peers.push((to, Connection::new(stream, None)));
        Ok(link)
    }

    fn new(local: Peer, listener: Option<TcpListener>) -> Self {
        Self {
            local,
            listener,
            accepts_from: None,
            connections_max: CONNECTIONS_MAX,
            peers: Vec::new(),
            turn: 0,
            receives_since_pump: 0,
            departed: VecDeque::new(),
            statistics: TcpStatistics::default(),
        }
    }

    /// Has at most so many connections at once, and never more than [`CONNECTIONS_MAX`]. Those that
    /// are open stay.
    pub fn limit_connections(&mut self, most: usize) {
        self.connections_max = most.min(CONNECTIONS_MAX);
    }

    /// All peers that are connected, in ascending order.
    pub fn peers(&self) -> impl Iterator<Item = Peer> {
        self.peers.iter().map(|(peer, _)| *peer)
    }

    /// Whether a connection leads to a peer.
    pub fn is_connected(&self, peer: Peer) -> bool {
        self.place(peer).is_ok()
    }

    /// What became of all datagrams and connections so far.
    pub fn statistics(&self) -> TcpStatistics {
        let queued = self.peers.iter().map(|(_, connection)| connection.queued()).sum();
        TcpStatistics { queued, open: self.peers.len() as u64, ..self.statistics }
    }

    /// Where a peer stands, or would stand.
    fn place(&self, peer: Peer) -> Result<usize, usize> {
        self.peers.binary_search_by_key(&peer, |(peer, _)| *peer)
    }

    /// The next whole frame, connection by connection.
    fn next_frame(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        for step in 0..self.peers.len() {
            let index = (self.turn + step) % self.peers.len();
            let (peer, connection) = &mut self.peers[index];
            if connection.next_frame(now, into) {
                self.turn = index + 1;
                self.receives_since_pump += 1;
                self.statistics.received += 1;
                return Some(*peer);
            }
        }
        None
    }

    /// Takes in connections and bytes, and buries connections that are over.
    fn pump(&mut self, now: Time) {
        self.receives_since_pump = 0;
        self.accept(now);
        for index in self.readable() {
            self.peers[index].1.fill(now);
        }
        self.peers.iter_mut().for_each(|(_, connection)| connection.expire(now));
        self.bury();
    }

    fn accept(&mut self, now: Time) {
        if let Some(listener) = self.listener.take() {
            self.accept_from(now, || listener.accept());
            self.listener = Some(listener);
        }
    }

    fn accept_from(&mut self, now: Time, mut next: impl FnMut() -> io::Result<Accepted>) {
        if self.accepts_from.is_some_and(|from| now < from) {
            return;
        }
        self.accepts_from = None;
        for _ in 0..ACCEPTED_AT_ONCE {
            match next() {
                Ok(_) if !self.has_room(now) => self.statistics.turned_away += 1,
                Ok((stream, from)) => self.add(now, stream, peer_at(from)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_of_one_connection(error.kind()) => {}
                Err(_) => {
                    self.statistics.accept_errors += 1;
                    self.accepts_from = Some(now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    /// Whether another can be taken. Who has been silent for longest gives way if that was long: one
    /// host that says a word on each of many connections must not shut everybody else out.
    fn has_room(&mut self, now: Time) -> bool {
        if self.peers.len() < self.connections_max {
            return true;
        }
        let longest = self.peers.iter_mut().min_by_key(|(_, connection)| connection.heard_at());
        if let Some((_, connection)) = longest
            && now - connection.heard_at() >= UNFINISHED_MAX
        {
            connection.give_way();
            self.bury();
        }
        self.peers.len() < self.connections_max
    }

    fn add(&mut self, now: Time, stream: TcpStream, peer: Peer) {
        if prepare(&stream).is_err() {
            // Gone before it was accepted.
            return;
        }
        // The address was used before: that connection is over, whether or not we heard of it.
        self.forget(peer);
        let place = self.place(peer).unwrap_or_else(|place| place);
        self.peers.insert(place, (peer, Connection::new(stream, Some(now))));
        self.statistics.opened += 1;
    }

    /// The connections with something to read. Asking the system once is cheaper than reading from
    /// all.
    fn readable(&self) -> Vec<usize> {
        let polled = |(_, connection): &'_ (Peer, Connection<TcpStream>)| !connection.is_ending();
        let indices = (0..self.peers.len()).filter(|index| polled(&self.peers[*index]));
        let indices: Vec<usize> = indices.collect();
        let streams = indices.iter().map(|index| self.peers[*index].1.stream());
        let mut sockets: Vec<_> =
            streams.map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
        socket::sleep_on(&mut sockets, Span::ZERO);
        let ready = sockets.iter().map(|socket| !socket.revents().is_empty());
        indices
            .iter()
            .zip(ready)
            .filter(|(_, is_ready)| *is_ready)
            .map(|(index, _)| *index)
            .collect()
    }

    /// Removes the connections that are over and of which nothing is left to receive.
    fn bury(&mut self) {
        let Self { peers, departed, statistics, .. } = self;
        let announces_all = self.listener.is_none();
        peers.retain(|(peer, connection)| {
            let Some(reason) = connection.ended() else { return true };
            statistics.ended += 1;
            statistics.abandoned += connection.queued();
            // Whoever never said anything is nobody's acquaintance.
            if announces_all || connection.has_spoken() {
                if departed.len() == DEPARTED_MAX {
                    departed.pop_front();
                    statistics.departures_forgotten += 1;
                }
                departed.push_back(Departure { peer: *peer, reason });
            }
            false
        });
    }

    /// Whether [`Link::receive`] or [`Link::departed`] has something without asking the system.
    fn has_news(&self) -> bool {
        let is_new = |(_, connection): &(Peer, Connection<TcpStream>)| {
            connection.has_frame() || connection.is_ending()
        };
        !self.departed.is_empty() || self.peers.iter().any(is_new)
    }

    /// Whether the system has to be asked for what comes next, which then shows on a socket.
    #[cfg(feature = "web")]
    pub(crate) fn may_sleep(&mut self, now: Time) -> bool {
        self.flush(now);
        !self.has_news()
    }

    /// All sockets, and what is to be known of each.
    pub(crate) fn wishes(&self, now: Time) -> Vec<PollFd<'_>> {
        let is_accepting = self.accepts_from.is_none_or(|from| from <= now);
        let listener = self.listener.iter().filter(|_| is_accepting);
        let mut sockets: Vec<PollFd<'_>> =
            listener.map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        sockets.extend(self.peers.iter().map(|(_, connection)| {
            let writes = connection.queued() > 0;
            let wish = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(connection.stream(), wish)
        }));
        sockets
    }

    /// Sleeps until anything can be read or written.
    fn sleep(&self, now: Time, at_most: Span) -> Woken {
        let mut sockets = self.wishes(now);
        socket::sleep_on(&mut sockets, at_most);
        let woken = sockets.iter().fold(PollFlags::empty(), |all, socket| all | socket.revents());
        match woken {
            nothing if nothing.is_empty() => Woken::ByTime,
            PollFlags::OUT => Woken::ToWrite,
            _ => Woken::ToRead,
        }
    }
}

/// A connection as the system hands it over, and where it comes from.
type Accepted = (TcpStream, SocketAddr);

/// What ended a sleep.
enum Woken {
    ByTime,
    ToWrite,
    ToRead,
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

/// Whether an error while accepting says nothing of the next connection.
fn is_of_one_connection(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

impl Link for TcpLink {
    fn local(&self) -> Peer {
        self.local
    }

    fn receive(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        if self.receives_since_pump >= RECEIVES_PER_PUMP {
            self.pump(now);
        }
        self.next_frame(now, into).or_else(|| {
            self.pump(now);
            let next = self.next_frame(now, into);
            // What ended by an impossible frame is over now.
            self.bury();
            next
        })
    }

    fn send(&mut self, _now: Time, to: Peer, datagram: &[u8]) {
        assert_fits(datagram);
        self.statistics.pushed += 1;
        let Ok(place) = self.place(to) else {
            self.statistics.unreachable += 1;
            return;
        };
        let (_, connection) = &mut self.peers[place];
        if connection.push(datagram) {
            return;
        }
        self.statistics.sent += connection.flush();
        self.statistics.backlogged += u64::from(!connection.push(datagram));
    }

    fn flush(&mut self, _now: Time) {
        let flush = |(_, connection): &mut (Peer, Connection<TcpStream>)| connection.flush();
        self.statistics.sent += self.peers.iter_mut().map(flush).sum::<u64>();
    }

    fn wait(&mut self, clock: &Clock, until: Time) {
        loop {
            let now = clock.now();
            self.flush(now);
            let until = self.next_wake().map_or(until, |wake| until.min(wake));
            if now >= until || self.has_news() {
                return;
            }
            if !matches!(self.sleep(now, until - now), Woken::ToWrite) {
                return;
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let expiries = self.peers.iter().filter_map(|(_, connection)| connection.expires());
        expiries.chain(self.accepts_from).min()
    }

    fn departed(&mut self) -> Option<Departure> {
        self.departed.pop_front()
    }

    fn forget(&mut self, peer: Peer) {
        let Ok(place) = self.place(peer) else { return };
        let (_, mut connection) = self.peers.remove(place);
        self.statistics.sent += connection.flush();
        self.statistics.abandoned += connection.queued();
        self.statistics.ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_file_descriptors_is_asked_again_later() {
        let mut server = TcpLink::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let mut errors = [ErrorKind::ConnectionAborted, ErrorKind::Interrupted, ErrorKind::Other]
            .map(io::Error::from)
            .into_iter();
        let later = Time::ZERO + ACCEPT_PAUSE;
        let mut calls = 0;
        let mut next = || {
            calls += 1;
            Err(errors.next().unwrap_or(ErrorKind::WouldBlock.into()))
        };
        server.accept_from(Time::ZERO, &mut next);
        server.accept_from(later - Span::micros(1), &mut next);
        assert_eq!(server.next_wake(), Some(later));
        server.accept_from(later, &mut next);
        assert_eq!(server.next_wake(), None);
        assert_eq!((calls, server.statistics().accept_errors), (4, 1));
    }
}
