//! One established connection: its channel, its keys, and where the other end is at present.

use crate::core::bits::BitWriter;
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};
use crate::transport::channel::{Channel, CloseReason, DATAGRAM_BYTES_MAX, Event, Settings, State};
use crate::transport::secure::{
    ConnectionId, HALF_OPEN_TIMEOUT, Opener, Refusal, Resume, Sealer, TlsSession,
};

/// How long a connection that is over still answers, counted from when it ended: an end that did not
/// hear the goodbye hears it again.
pub const ZOMBIE_TIME: Span = Span::seconds(3);

/// How often it does.
const ZOMBIE_ANSWER_INTERVAL: Span = Span::millis(200);

/// To an address that has not proved itself go at most so many times the bytes that came from it.
const UNPROVEN_FACTOR: u64 = 3;

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
    /// What the backend attached, until it is told.
    pub(super) user_data: Vec<u8>,
    pub(super) began_at: Time,
    ended_at: Option<Time>,
    answered_at: Time,
    pub(super) last_sealed: Option<LastSealed>,
}

/// What a datagram that was just transmitted holds: for tests, which see only its ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastSealed {
    /// Names the key without giving it away.
    pub key_id: u64,
    /// The connection it belongs to.
    pub connection: ConnectionId,
    /// The packet's number: no key ever seals two packets under one.
    pub number: u64,
    /// The unreliable message it carries, whole or in part.
    pub token: Option<u32>,
}

/// The address the other end speaks from.
#[derive(Debug)]
struct Path {
    peer: Peer,
    /// Whoever acknowledges this packet, or a later one, has received what was sent there.
    proof: u64,
    is_proven: bool,
    bytes_received: u64,
    bytes_sent: u64,
}

impl Path {
    fn allows(&self, bytes: usize) -> bool {
        self.is_proven || self.bytes_sent + bytes as u64 <= UNPROVEN_FACTOR * self.bytes_received
    }
}

impl Connection {
    /// A connection after its handshake, which has proved the address.
    pub(super) fn new(
        id: ConnectionId,
        client_id: u64,
        peer: Peer,
        (sealer, mut opener): (Sealer, Opener),
        settings: Settings,
        now: Time,
        seed: u64,
    ) -> Self {
        opener.begin_at(settings.first_number);
        let overhead_bytes = sealer.header_bytes() + sealer.tag_bytes() + IP_AND_UDP_BYTES;
        Self {
            id,
            client_id,
            channel: Channel::new(Settings { overhead_bytes, ..settings }, now, seed),
            sealer,
            opener,
            path: Path { peer, proof: 0, is_proven: true, bytes_received: 0, bytes_sent: 0 },
            newest_number: 0,
            is_confirmed: false,
            resume: None,
            user_data: Vec::new(),
            began_at: now,
            ended_at: None,
            answered_at: now,
            last_sealed: None,
        }
    }

    /// Whether a TLS session around its packets protects them, and they are not sealed.
    pub(super) fn is_within_tls(&self) -> bool {
        self.opener.is_passthrough()
    }

    /// Where the other end is at present.
    pub(super) fn peer(&self) -> Peer {
        self.path.peer
    }

    /// Opens a datagram that names this connection: its number and its body. One that is not genuine
    /// changes nothing.
    #[inline]
    pub(super) fn open<'a>(
        &mut self,
        peer: Peer,
        session: Option<TlsSession>,
        datagram: &'a mut [u8],
    ) -> Result<(u64, &'a [u8]), Refusal> {
        let bytes = datagram.len() as u64;
        // What is not sealed is genuine only in the very session that shook hands.
        if self.opener.is_passthrough() && (session.is_none() || peer != self.path.peer) {
            return Err(Refusal::Forged);
        }
        let packet = self.opener.open_in_place(datagram)?;
        if packet.flags != 0 {
            return Err(Refusal::Malformed);
        }
        // Only the newest packet moves the path: an old one may come from where the other end was.
        if packet.number > self.newest_number {
            self.newest_number = packet.number;
            if peer != self.path.peer {
                // Nothing that was sent before counts; before the first packet, nothing at all.
                let early = u64::from(mutant::is(Mutant::PathProvenByTheOldPath));
                let proof = self.sealer.next_number().saturating_sub(early).max(1);
                self.path =
                    Path { peer, proof, is_proven: false, bytes_received: 0, bytes_sent: 0 };
            }
        }
        if peer == self.path.peer {
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
        self.path.is_proven |= self.channel.newest_acknowledged() >= self.path.proof;
        if self.ended_at.is_some() && now - self.answered_at >= ZOMBIE_ANSWER_INTERVAL {
            self.answered_at = now;
            self.channel.repeat_goodbye();
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

    /// The heap it holds, itself included.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.channel.memory_bytes()
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
        body.clear();
        let number = if self.path.allows(DATAGRAM_BYTES_MAX) {
            self.channel.transmit(now, body)
        } else if self.path.allows(PROBE_BYTES_MAX) {
            // Somebody who has little to say would have to say it for seconds otherwise.
            self.channel.transmit_probe(now, body)
        } else {
            None
        };
        let Some(number) = number else { return false };
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
        let (key_id, token) = (self.sealer.key_id(), self.channel.last_token());
        self.last_sealed = Some(LastSealed { key_id, connection: self.id, number, token });
        true
    }

    /// When something is due at the latest.
    #[inline]
    pub(super) fn next_wake(&self) -> Time {
        if let Some(at) = self.ended_at {
            // An end that did not hear the goodbye may be hearing it again.
            let is_answering = matches!(self.channel.state(), State::Closing(_));
            let answers = is_answering && self.path.allows(DATAGRAM_BYTES_MAX);
            let answer_at = if answers { self.channel.next_wake() } else { Time::MAX };
            answer_at.min(at + ZOMBIE_TIME)
        } else if !self.is_confirmed {
            self.began_at + HALF_OPEN_TIMEOUT
        } else if !self.path.allows(PROBE_BYTES_MAX) {
            self.channel.next_deadline()
        } else if !self.path.allows(DATAGRAM_BYTES_MAX) {
            self.channel.next_deadline().min(self.channel.next_probe())
        } else {
            self.channel.next_wake()
        }
    }
}

/// The most that an empty packet takes: less than three times the least that comes from anyone.
const PROBE_BYTES_MAX: usize = 48;

/// An IPv4 header and a UDP header.
const IP_AND_UDP_BYTES: usize = 28;
