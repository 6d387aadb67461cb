//! Datagrams that came or go together, in memory that stays. Makes no call to the system.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sametick::Peer;

use crate::link::{DATAGRAM_BYTES_MAX, peer_at};

/// How many datagrams go with one call.
pub(super) const BATCH: usize = 32;
/// One byte more than a datagram may have, to tell one that was longer.
const BUFFER_BYTES: usize = DATAGRAM_BYTES_MAX + 1;

/// An address that nobody has.
pub(super) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

type Buffers = [[u8; BUFFER_BYTES]; BATCH];

/// Datagrams of the system's that were not asked for yet.
#[derive(Debug)]
pub(super) struct Incoming {
    buffers: Box<Buffers>,
    /// Of each buffer, whom its datagram comes from and how long it is; longer ones are cut off.
    heads: [(SocketAddr, usize); BATCH],
    filled: usize,
    taken: usize,
}

impl Incoming {
    pub(super) fn new() -> Self {
        let buffers = Box::new([[0; BUFFER_BYTES]; BATCH]);
        Self { buffers, heads: [(NOWHERE, 0); BATCH], filled: 0, taken: 0 }
    }

    /// Forgets what is left: room for datagrams, and for their heads.
    pub(super) fn room(&mut self) -> (&mut Buffers, &mut [(SocketAddr, usize); BATCH]) {
        (self.filled, self.taken) = (0, 0);
        (&mut self.buffers, &mut self.heads)
    }

    /// Tells how many datagrams the room was filled with.
    pub(super) fn fill(&mut self, filled: usize) {
        self.filled = filled.min(BATCH);
    }

    pub(super) fn waiting(&self) -> usize {
        self.filled - self.taken
    }

    /// The next datagram; one that is longer than it may be is cut off one byte later.
    pub(super) fn next(&mut self) -> Option<(Peer, &[u8])> {
        if self.taken == self.filled {
            return None;
        }
        let (from, bytes) = self.heads[self.taken];
        let datagram = &self.buffers[self.taken][..bytes.min(BUFFER_BYTES)];
        self.taken += 1;
        Some((peer_at(from), datagram))
    }
}

/// Datagrams that the system has not been given yet.
#[derive(Debug)]
pub(super) struct Outgoing {
    buffers: Box<[[u8; DATAGRAM_BYTES_MAX]; BATCH]>,
    heads: [(SocketAddr, usize); BATCH],
    filled: usize,
    taken: usize,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let buffers = Box::new([[0; DATAGRAM_BYTES_MAX]; BATCH]);
        Self { buffers, heads: [(NOWHERE, 0); BATCH], filled: 0, taken: 0 }
    }

    /// Adds a datagram, for which there must be room.
    pub(super) fn push(&mut self, to: SocketAddr, datagram: &[u8]) {
        self.buffers[self.filled][..datagram.len()].copy_from_slice(datagram);
        self.heads[self.filled] = (to, datagram.len());
        self.filled += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.filled == BATCH
    }

    pub(super) fn waiting(&self) -> usize {
        self.filled - self.taken
    }

    /// The datagrams that wait, first in, first out.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let waiting = self.taken..self.filled;
        self.heads[waiting.clone()]
            .iter()
            .zip(&self.buffers[waiting])
            .map(|((to, bytes), buffer)| (*to, &buffer[..*bytes]))
    }

    /// Takes out the first ones and says how many bytes they had.
    pub(super) fn take(&mut self, count: usize) -> usize {
        let count = count.min(self.waiting());
        let taken = &self.heads[self.taken..self.taken + count];
        let bytes = taken.iter().map(|(_, bytes)| bytes).sum();
        self.taken += count;
        if self.taken == self.filled {
            (self.filled, self.taken) = (0, 0);
        }
        bytes
    }
}
