//! One established connection: its channel, its keys, and where the other end is at present.

use crate::bits::BitWriter;
use crate::channel::{Channel, CloseReason, Event, Settings, State};
use crate::peer::Peer;
use crate::secure::{ConnectionId, Opener, Refusal, Resume, Sealer};
use crate::time::{Span, Time};

/// How long a connection that is over still answers, counted from when it ended: an end that did not
/// hear the goodbye hears it again.
pub const ZOMBIE_TIME: Span = Span::seconds(3);

/// How often it does.
const ZOMBIE_ANSWER_INTERVAL: Span = Span::millis(200);

/// To an address that has not proved itself go at most so many times the bytes that came from it.
const UNPROVEN_FACTOR: u64 = 3;

/// So many packets from a new address prove it: one could be a copy, sent on by somebody.
const PROOF_PACKETS: u32 = 2;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: ConnectionId,
    pub(super) client_id: u64,
    pub(super) channel: Channel,
    sealer: Sealer,
    opener: Opener,
    path: Path,
    newest_number: u64,
    /// Whether the other end has shown that it has the keys.
    pub(super) is_confirmed: bool,
    /// What it continues, if the client came back.
    pub(super) resume: Option<Resume>,
    ended_at: Option<Time>,
    answered_at: Time,
}

/// The address the other end speaks from.
#[derive(Debug)]
struct Path {
    peer: Peer,
    packets: u32,
    bytes_received: u64,
    bytes_sent: u64,
}

impl Path {
    fn allows(&self, bytes: usize) -> bool {
        let is_proven = self.packets >= PROOF_PACKETS;
        is_proven || self.bytes_sent + bytes as u64 <= UNPROVEN_FACTOR * self.bytes_received
    }
}

impl Connection {
    /// A connection after its handshake, which has proved the address.
    pub(super) fn new(
        id: ConnectionId,
        client_id: u64,
        peer: Peer,
        (sealer, opener): (Sealer, Opener),
        settings: Settings,
        now: Time,
        seed: u64,
    ) -> Self {
        let overhead_bytes = sealer.header_bytes() + sealer.tag_bytes() + IP_AND_UDP_BYTES;
        Self {
            id,
            client_id,
            channel: Channel::new(Settings { overhead_bytes, ..settings }, now, seed),
            sealer,
            opener,
            path: Path { peer, packets: PROOF_PACKETS, bytes_received: 0, bytes_sent: 0 },
            newest_number: 0,
            is_confirmed: false,
            resume: None,
            ended_at: None,
            answered_at: now,
        }
    }

    /// Where the other end is at present.
    pub(super) fn peer(&self) -> Peer {
        self.path.peer
    }

    /// Opens a datagram that names this connection: its number and its body. One that is not genuine
    /// changes nothing.
    pub(super) fn open<'a>(
        &mut self,
        peer: Peer,
        datagram: &'a mut [u8],
    ) -> Result<(u64, &'a [u8]), Refusal> {
        let bytes = datagram.len() as u64;
        let packet = self.opener.open_in_place(datagram)?;
        // Only the newest packet moves the path: an old one may come from where the other end was.
        if packet.number > self.newest_number {
            self.newest_number = packet.number;
            if peer != self.path.peer {
                self.path = Path { peer, packets: 0, bytes_received: 0, bytes_sent: 0 };
            }
        }
        if peer == self.path.peer {
            self.path.packets = self.path.packets.saturating_add(1);
            self.path.bytes_received += bytes;
        }
        Ok((packet.number, packet.payload))
    }

    /// Takes in what was opened.
    pub(super) fn take(
        &mut self,
        now: Time,
        (number, body): (u64, &[u8]),
        tell: &mut impl FnMut(Event<'_>),
    ) {
        self.channel.receive(now, number, body, tell);
        if self.ended_at.is_some() && now - self.answered_at >= ZOMBIE_ANSWER_INTERVAL {
            self.answered_at = now;
            self.channel.repeat_goodbye(now);
        }
    }

    /// Moves time on; says how the connection ended, once.
    pub(super) fn advance(
        &mut self,
        now: Time,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Option<CloseReason> {
        self.channel.advance(now, tell);
        match (self.channel.state(), self.ended_at) {
            (State::Closed(reason), None) => {
                self.ended_at = Some(now);
                Some(reason)
            }
            _ => None,
        }
    }

    /// Whether it has been over for long enough to be forgotten.
    pub(super) fn is_forgotten(&self, now: Time) -> bool {
        self.ended_at.is_some_and(|at| now - at >= ZOMBIE_TIME)
    }

    /// Whether it is over.
    pub(super) fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Writes the next datagram, if there is one to send now.
    pub(super) fn transmit(
        &mut self,
        now: Time,
        body: &mut BitWriter,
        datagram: &mut Vec<u8>,
    ) -> bool {
        if !self.path.allows(DATAGRAM_BYTES_EXPECTED) {
            return false;
        }
        body.clear();
        let Some(number) = self.channel.transmit(now, body) else { return false };
        let Ok(body) = body.finish() else { unreachable!("a channel's packets fit") };
        datagram.clear();
        datagram.resize(self.sealer.header_bytes(), 0);
        datagram.extend_from_slice(body);
        datagram.resize(datagram.len() + self.sealer.tag_bytes(), 0);
        if self.sealer.seal_in_place(number, 0, datagram).is_err() {
            // All numbers are used: after centuries at sixty a second.
            self.channel.close(now, CloseReason::Left);
            return false;
        }
        self.path.bytes_sent += datagram.len() as u64;
        true
    }

    /// When something is due at the latest.
    pub(super) fn next_wake(&self) -> Time {
        if let Some(at) = self.ended_at {
            return at + ZOMBIE_TIME;
        }
        // Whatever there is to send to an unproven address waits for what comes from there.
        let may_speak = self.path.allows(DATAGRAM_BYTES_EXPECTED);
        if may_speak { self.channel.next_wake() } else { self.channel.next_advance() }
    }
}

/// What a small packet takes; towards an unproven address no more is counted on.
const DATAGRAM_BYTES_EXPECTED: usize = 64;

/// An IPv4 header and a UDP header.
const IP_AND_UDP_BYTES: usize = 28;
