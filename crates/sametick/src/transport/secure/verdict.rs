//! What the gate says to a datagram, and how often it said so. Decides nothing.

use std::fmt;
use std::ops::Deref;

use super::connection_id::ConnectionId;
use super::hello::{ACCEPT_BYTES_MAX, Denial};
use super::packet::{Opener, Sealer};
use super::token::Resume;
use crate::core::peer::Peer;

/// What becomes of a datagram that came to the gate.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a reply to a stranger must not allocate")]
pub enum Verdict {
    /// Nothing is sent, nothing is remembered.
    Dropped(DropReason),
    /// A datagram goes back to the sender, and nothing is remembered.
    Reply(Reply),
    /// A connection begins. Its accept goes back to the sender.
    Accepted(Box<Accepted>),
}

/// Why a datagram was dropped, in the order in which the gate checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// It has not the length of a hello.
    Length,
    /// It is no hello, or one of another version.
    Version,
    /// A field holds what no client writes.
    Malformed,
    /// Another game, or another version of this one.
    Protocol,
    /// It asks for packets that are not sealed, and no TLS session is around it.
    Unvouched,
    /// The token is no longer valid.
    Expired,
    /// The token claims to be valid for longer than any token is.
    ExpiryTooFar,
    /// Too many hellos without a valid cookie from that prefix.
    Flooded,
    /// Too many hellos with a valid cookie from that prefix.
    Limited,
    /// The token does not open.
    TokenForged,
    /// The sender does not know the key that is in its token.
    Unproven,
    /// The sender's ephemeral key is no proper point.
    KeyRefused,
}

impl DropReason {
    /// All of them, in order.
    pub const ALL: [DropReason; 12] = [
        DropReason::Length,
        DropReason::Version,
        DropReason::Malformed,
        DropReason::Protocol,
        DropReason::Unvouched,
        DropReason::Expired,
        DropReason::ExpiryTooFar,
        DropReason::Flooded,
        DropReason::Limited,
        DropReason::TokenForged,
        DropReason::Unproven,
        DropReason::KeyRefused,
    ];
}

/// Why the gate answers somebody it does not let in now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// It shall come again, with a cookie.
    Retry,
    /// It was accepted already; this is the same accept again.
    AcceptAgain,
    /// Its token is genuine, but it is not let in.
    Denied(Denial),
}

/// A datagram to be sent back. Derefs to its bytes; never longer than what it answers.
#[derive(Clone)]
pub struct Reply {
    kind: ReplyKind,
    length: u16,
    bytes: [u8; ACCEPT_BYTES_MAX],
}

impl Reply {
    pub(super) fn new(kind: ReplyKind, content: &[u8]) -> Self {
        let mut bytes = [0; ACCEPT_BYTES_MAX];
        bytes[..content.len()].copy_from_slice(content);
        Self { kind, length: content.len() as u16, bytes }
    }

    /// Why it is sent.
    pub fn kind(&self) -> ReplyKind {
        self.kind
    }
}

impl Deref for Reply {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reply({:?}, {} bytes)", self.kind, self.length)
    }
}

/// Somebody whose token is genuine and unused, about whom the server's owner decides.
#[derive(Clone, Debug)]
pub struct Applicant {
    /// The identity that the backend gave.
    pub client_id: u64,
    /// What the backend attached.
    pub user_data: Vec<u8>,
    /// Where it wants to continue, if it comes with a resume ticket.
    pub resume: Option<Resume>,
    /// From where it knocks.
    pub peer: Peer,
}

/// What the owner gives to an applicant. It is taken only if the verdict is `Accepted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Free, or held by an older session of the same client, which the new one replaces.
    pub slot: u16,
    /// The server's tick, as a first idea of the time.
    pub tick: u32,
}

/// A connection that begins. The client speaks first; until then it is half-open.
#[derive(Debug)]
pub struct Accepted {
    /// The identity that the backend gave. An older session of it ends now.
    pub client_id: u64,
    /// What the backend attached.
    pub user_data: Vec<u8>,
    /// What the client continues, if it came with a resume ticket.
    pub resume: Option<Resume>,
    /// Names the connection in packets from the client.
    pub connection_id: ConnectionId,
    /// For packets to the client.
    pub sealer: Sealer,
    /// For packets from the client.
    pub opener: Opener,
    /// When the resume ticket that was given ends.
    pub ticket_expires_unix_seconds: u64,
    /// A half-open connection that had to make room; its owner drops it.
    pub evicted: Option<ConnectionId>,
    /// The datagram to send back.
    pub reply: Vec<u8>,
}

/// How often the gate said what. Every datagram is counted in exactly one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    received: u64,
    dropped: [u64; DropReason::ALL.len()],
    denied: [u64; Denial::ALL.len()],
    retries: u64,
    accepts_again: u64,
    accepted: u64,
    pub(super) key_agreements: u64,
}

impl Counters {
    pub(super) fn count(&mut self, verdict: &Verdict) {
        self.received += 1;
        match verdict {
            Verdict::Dropped(reason) => self.dropped[*reason as usize] += 1,
            Verdict::Accepted(_) => self.accepted += 1,
            Verdict::Reply(reply) => match reply.kind {
                ReplyKind::Retry => self.retries += 1,
                ReplyKind::AcceptAgain => self.accepts_again += 1,
                ReplyKind::Denied(denial) => self.denied[denial as usize] += 1,
            },
        }
    }

    /// Datagrams that came. Equal to the sum of all that follow, key agreements aside.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Datagrams dropped for one reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Clients denied for one reason.
    pub fn denied(&self, denial: Denial) -> u64 {
        self.denied[denial as usize]
    }

    /// Cookies sent.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Accepts sent again.
    pub fn accepts_again(&self) -> u64 {
        self.accepts_again
    }

    /// Connections begun.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Times that points were multiplied: the expensive step, of which a stranger causes none.
    pub fn key_agreements(&self) -> u64 {
        self.key_agreements
    }
}
