//! Keeps datagrams moving whatever the system says, and counts what became of each. Makes no call
//! itself.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV6};

use sametick::Peer;

use super::batch::{Incoming, Outgoing};
use super::wire::Calls;
use crate::link::{DATAGRAM_BYTES_MAX, address_of};

/// How many calls that gave nothing to hand on one receiving makes: then the rest of the program has
/// its turn.
const FRUITLESS_CALLS_MAX: u32 = 16;

/// What became of all datagrams of a UDP socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStatistics {
    /// Datagrams that were to be sent.
    pub pushed: u64,
    /// Of those, the ones that wait for a flush.
    pub queued: u64,
    /// Of those, the ones that the system took.
    pub sent: u64,
    /// Dropped because the system's buffer was full.
    pub blocked: u64,
    /// Dropped because their receiver, or the way to it, was not there.
    pub unreachable: u64,
    /// Dropped because of another error.
    pub failed: u64,
    /// Datagrams that were read from the system.
    pub arrived: u64,
    /// Of those, the ones that wait to be received.
    pub waiting: u64,
    /// Of those, the ones that were received.
    pub received: u64,
    /// Dropped because they were longer than [`DATAGRAM_BYTES_MAX`].
    pub too_large: u64,
    /// Errors while reading, most of them about hosts that are gone. No datagram was lost by them.
    pub receive_errors: u64,
    /// Bytes that the system took, headers not counted.
    pub bytes_sent: u64,
    /// Bytes that were received, headers not counted.
    pub bytes_received: u64,
}

impl UdpStatistics {
    /// Whether each datagram is accounted for exactly once. It always is.
    pub fn closes(&self) -> bool {
        let dropped = self.blocked + self.unreachable + self.failed;
        self.pushed == self.queued + self.sent + dropped
            && self.arrived == self.waiting + self.received + self.too_large
    }
}

/// The two directions of one socket.
#[derive(Debug)]
pub(super) struct Exchange {
    is_ipv6: bool,
    incoming: Incoming,
    outgoing: Outgoing,
    statistics: UdpStatistics,
}

impl Exchange {
    pub(super) fn new(is_ipv6: bool) -> Self {
        Self {
            is_ipv6,
            incoming: Incoming::new(),
            outgoing: Outgoing::new(),
            statistics: UdpStatistics::default(),
        }
    }

    pub(super) fn receive(&mut self, calls: &mut impl Calls, into: &mut Vec<u8>) -> Option<Peer> {
        for _ in 0..FRUITLESS_CALLS_MAX {
            if let Some(peer) = self.next(into) {
                return Some(peer);
            }
            match calls.receive(&mut self.incoming) {
                Ok(()) => self.statistics.arrived += self.incoming.waiting() as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Most are messages that some host is gone: they come once and then it goes on.
                Err(_) => self.statistics.receive_errors += 1,
            }
        }
        self.next(into)
    }

    fn next(&mut self, into: &mut Vec<u8>) -> Option<Peer> {
        while let Some((from, datagram)) = self.incoming.next() {
            if datagram.len() > DATAGRAM_BYTES_MAX {
                self.statistics.too_large += 1;
                continue;
            }
            into.clear();
            into.extend_from_slice(datagram);
            self.statistics.received += 1;
            self.statistics.bytes_received += datagram.len() as u64;
            return Some(from);
        }
        None
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.incoming.waiting() > 0
    }

    pub(super) fn send(&mut self, calls: &mut impl Calls, to: Peer, datagram: &[u8]) {
        self.statistics.pushed += 1;
        let Some(to) = self.reach(to) else {
            self.statistics.unreachable += 1;
            return;
        };
        if self.outgoing.is_full() {
            self.flush(calls);
        }
        self.outgoing.push(to, datagram);
    }

    /// The address as this socket must name it; an IPv4 socket has none for IPv6.
    fn reach(&self, peer: Peer) -> Option<SocketAddr> {
        match address_of(peer) {
            SocketAddr::V4(to) if self.is_ipv6 => {
                let mapped = to.ip().to_ipv6_mapped();
                Some(SocketAddrV6::new(mapped, to.port(), 0, 0).into())
            }
            SocketAddr::V6(_) if !self.is_ipv6 => None,
            to => Some(to),
        }
    }

    /// Gives the system all that waits. What it does not take at once is dropped: a game's datagram
    /// that is late is worth less than the next one.
    pub(super) fn flush(&mut self, calls: &mut impl Calls) {
        while self.outgoing.waiting() > 0 {
            match calls.send(&self.outgoing) {
                Ok(sent @ 1..) => {
                    self.statistics.bytes_sent += self.outgoing.take(sent) as u64;
                    self.statistics.sent += sent as u64;
                }
                Ok(0) => self.drop_waiting(),
                Err(error) => self.drop_for(&error),
            }
        }
    }

    fn drop_for(&mut self, error: &io::Error) {
        let count = match error.kind() {
            ErrorKind::WouldBlock => return self.drop_waiting(),
            ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable => &mut self.statistics.unreachable,
            _ => &mut self.statistics.failed,
        };
        *count += 1;
        self.outgoing.take(1);
    }

    fn drop_waiting(&mut self) {
        let waiting = self.outgoing.waiting();
        self.outgoing.take(waiting);
        self.statistics.blocked += waiting as u64;
    }

    pub(super) fn statistics(&self) -> UdpStatistics {
        UdpStatistics {
            queued: self.outgoing.waiting() as u64,
            waiting: self.incoming.waiting() as u64,
            ..self.statistics
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A system that says what it was told to, call after call; then it would block.
    #[derive(Default)]
    struct Script {
        receiving: VecDeque<io::Result<Vec<Vec<u8>>>>,
        sending: VecDeque<io::Result<usize>>,
        sent: Vec<Vec<u8>>,
    }

    impl Calls for Script {
        fn receive(&mut self, into: &mut Incoming) -> io::Result<()> {
            let datagrams = self.receiving.pop_front().unwrap_or(Err(would_block()))?;
            let (buffers, heads) = into.room();
            for (index, datagram) in datagrams.iter().enumerate() {
                let kept = datagram.len().min(buffers[index].len());
                buffers[index][..kept].copy_from_slice(&datagram[..kept]);
                heads[index] = ("127.0.0.1:9".parse().unwrap(), kept);
            }
            into.fill(datagrams.len());
            Ok(())
        }

        fn send(&mut self, from: &Outgoing) -> io::Result<usize> {
            let count = self.sending.pop_front().unwrap_or(Ok(from.waiting()))?;
            self.sent.extend(from.iter().take(count).map(|(_, datagram)| datagram.to_vec()));
            Ok(count)
        }
    }

    fn would_block() -> io::Error {
        ErrorKind::WouldBlock.into()
    }

    fn peer() -> Peer {
        Peer::from_ipv4([127, 0, 0, 1], 9)
    }

    const ERRORS: [ErrorKind; 6] = [
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionReset,
        ErrorKind::HostUnreachable,
        ErrorKind::NetworkUnreachable,
        ErrorKind::OutOfMemory,
        ErrorKind::PermissionDenied,
    ];

    #[test]
    fn no_error_while_receiving_stops_the_loop() {
        let mut script = Script::default();
        for kind in ERRORS {
            script.receiving.push_back(Err(kind.into()));
            script.receiving.push_back(Ok(vec![vec![kind as u8]]));
        }
        let mut exchange = Exchange::new(false);
        let mut datagram = Vec::new();
        for kind in ERRORS {
            assert_eq!(exchange.receive(&mut script, &mut datagram), Some(peer()));
            assert_eq!(datagram, [kind as u8]);
        }
        assert_eq!(exchange.receive(&mut script, &mut datagram), None);
        let statistics = exchange.statistics();
        assert_eq!(statistics.receive_errors, ERRORS.len() as u64);
        assert!(statistics.closes(), "{statistics:?}");
    }

    #[test]
    fn an_endless_error_does_not_hang() {
        let mut script = Script::default();
        let errors = (0..100).map(|_| Err(ErrorKind::OutOfMemory.into()));
        script.receiving = errors.collect();
        assert_eq!(Exchange::new(false).receive(&mut script, &mut Vec::new()), None);
        assert_eq!(script.receiving.len(), 100 - FRUITLESS_CALLS_MAX as usize);
    }

    #[test]
    fn an_error_while_sending_costs_one_datagram() {
        for kind in ERRORS {
            let sending = [Ok(1), Err(kind.into())].into();
            let mut script = Script { sending, ..Script::default() };
            let mut exchange = Exchange::new(false);
            (0..4).for_each(|index| exchange.send(&mut script, peer(), &[index]));
            exchange.flush(&mut script);
            assert_eq!(script.sent, [[0], [2], [3]], "{kind}");
            let statistics = exchange.statistics();
            assert_eq!(statistics.unreachable + statistics.failed, 1, "{kind}");
            assert!(statistics.closes(), "{statistics:?}");
        }
    }

    #[test]
    fn what_would_block_is_dropped_and_counted() {
        for full in [Err(would_block()), Ok(0)] {
            let mut script = Script { sending: [Ok(1), full].into(), ..Script::default() };
            let mut exchange = Exchange::new(false);
            (0..4).for_each(|index| exchange.send(&mut script, peer(), &[index]));
            assert_eq!(exchange.statistics().queued, 4);
            exchange.flush(&mut script);
            exchange.send(&mut script, peer(), &[9]);
            exchange.flush(&mut script);
            assert_eq!(script.sent, [[0], [9]]);
            let statistics = exchange.statistics();
            assert_eq!((statistics.blocked, statistics.queued), (3, 0));
            assert!(statistics.closes(), "{statistics:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_dropped_and_counted() {
        let mut script = Script::default();
        let long = vec![1; DATAGRAM_BYTES_MAX + 1];
        let longest = vec![2; DATAGRAM_BYTES_MAX];
        script.receiving = [Ok(vec![long.clone(), longest.clone(), long])].into();
        let mut exchange = Exchange::new(false);
        let mut datagram = Vec::new();
        assert!(exchange.receive(&mut script, &mut datagram).is_some());
        assert_eq!(datagram, longest);
        assert_eq!(exchange.statistics().waiting, 1);
        assert_eq!(exchange.receive(&mut script, &mut datagram), None);
        let statistics = exchange.statistics();
        assert_eq!((statistics.arrived, statistics.too_large), (3, 2));
        assert!(statistics.closes(), "{statistics:?}");
    }

    #[test]
    fn an_ipv4_socket_does_not_reach_ipv6() {
        let mut script = Script::default();
        let mut exchange = Exchange::new(false);
        exchange.send(&mut script, Peer::new([7; 16], 9), b"lost");
        assert_eq!(exchange.statistics().unreachable, 1);
        assert!(exchange.statistics().closes());
        let mapped = Exchange::new(true).reach(peer()).unwrap();
        assert_eq!(mapped, "[::ffff:127.0.0.1]:9".parse().unwrap());
    }
}
