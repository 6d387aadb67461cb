//! Seals and opens the packets of an established connection. Knows keys, numbers and the header;
//! what a packet carries, and when one is sent, is the channel's.
//!
//! | offset | bytes | packet to the server | bytes | packet to the client |
//! |---|---|---|---|---|
//! | 0 | 1 | flags, the highest bit clear | 1 | flags, the highest bit clear |
//! | 1 | 4 | connection id | – | – |
//! | next | 2 | low 16 bits of the packet number | 2 | low 16 bits of the packet number |
//! | next | any | ciphertext | any | ciphertext |
//! | end | 16 | tag | 16 | tag |
//!
//! That is 23 bytes more than the payload on the way up and 19 on the way down. The header is the
//! associated data. The nonce is four zeros and the whole 64-bit number, little-endian; each
//! direction has its own key. A receiver takes the number nearest to the highest that was
//! authentic, refuses what it has seen or what is too old, decrypts, and only then marks the
//! number. Inside a TLS session the same packets travel without ciphertext and tag.

use super::cipher::{Cipher, TAG_BYTES};
use super::connection_id::ConnectionId;
use super::hello::HANDSHAKE_BIT;
use super::noise::SessionKeys;
use super::secret::Secret;
use super::window::{PACKET_NUMBERS, Unwelcome, Window};
use crate::core::mutant::{self, Mutant};

/// What a packet to the server has before its payload.
pub const UP_HEADER_BYTES: usize = 1 + ConnectionId::BYTES + NUMBER_BYTES;
/// What a packet to the client has before its payload.
pub const DOWN_HEADER_BYTES: usize = 1 + NUMBER_BYTES;
/// What a sealed packet has after its payload.
pub const PACKET_TAG_BYTES: usize = TAG_BYTES;
/// After so many forgeries a connection must close: the cipher's bound on their success.
pub const FORGERIES_MAX: u64 = 1 << 36;

const NUMBER_BYTES: usize = 2;

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends up, receives down.
    Client,
    /// Sends down, receives up.
    Server,
}

/// What keeps strangers out of a connection. There is no third way: plain datagrams cannot be had.
#[derive(Debug)]
pub enum Protection {
    /// Each packet is sealed under the keys of a handshake.
    Sealed(SessionKeys),
    /// The session below seals already, so that sealing again would only cost.
    Passthrough(TlsSession),
}

/// The word of a link that the datagrams it carries are inside one TLS 1.3 session. Nothing else makes
/// packets travel unsealed.
#[derive(Clone, Copy, Debug)]
pub struct TlsSession {
    link: &'static str,
}

impl TlsSession {
    /// Called by a link, by its name, for one session that finished its TLS handshake. Whoever
    /// calls it elsewhere takes the encryption away.
    pub fn vouched_for_by(link: &'static str) -> Self {
        Self { link }
    }

    /// The link that gave its word.
    pub fn link(&self) -> &'static str {
        self.link
    }
}

impl Protection {
    /// The two halves for one end of a connection, whose first packets have number 0.
    pub fn split(self, side: Side, connection_id: ConnectionId) -> (Sealer, Opener) {
        self.split_at(side, connection_id, 0)
    }

    /// Like [`Protection::split`], but numbers start at `first` in both directions, at both ends.
    pub fn split_at(self, side: Side, connection_id: ConnectionId, first: u64) -> (Sealer, Opener) {
        let (sends_with, opens_with) = match (self, side) {
            (Protection::Sealed(SessionKeys { up, down }), Side::Client) => (Some(up), Some(down)),
            (Protection::Sealed(SessionKeys { up, down }), Side::Server) => (Some(down), Some(up)),
            (Protection::Passthrough(_), _) => (None, None),
        };
        let sealer = Sealer {
            key_id: sends_with.as_ref().map_or(0, key_id),
            key: sends_with.as_ref().map(Cipher::new),
            connection_id: (side == Side::Client).then_some(connection_id),
            next: first,
        };
        let opener = Opener {
            key: opens_with.as_ref().map(Cipher::new),
            header_bytes: header_bytes(side == Side::Server),
            window: Window::new(first),
            forgeries: 0,
        };
        (sealer, opener)
    }
}

fn key_id(key: &Secret) -> u64 {
    let id = key.derive("sametick 2026 key id");
    u64::from_le_bytes(*id.as_bytes().first_chunk().expect("a secret has 32 bytes"))
}

const fn header_bytes(up: bool) -> usize {
    if up { UP_HEADER_BYTES } else { DOWN_HEADER_BYTES }
}

/// Turns payloads into packets. Uses each number once.
#[derive(Debug)]
pub struct Sealer {
    key: Option<Cipher>,
    key_id: u64,
    /// Written into the header, on the way up.
    connection_id: Option<ConnectionId>,
    /// The lowest number that was not used.
    next: u64,
}

/// All numbers are used: the connection must close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl Sealer {
    /// Where in a datagram the payload begins.
    pub fn header_bytes(&self) -> usize {
        header_bytes(self.connection_id.is_some())
    }

    /// How much room there must be after the payload.
    pub fn tag_bytes(&self) -> usize {
        if self.key.is_some() { PACKET_TAG_BYTES } else { 0 }
    }

    /// The lowest number that may be used next. Numbers may be skipped, never repeated.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Names the key without giving it away, so that a test can see that no key ever seals two
    /// packets under one number. Zero if packets pass unsealed.
    pub fn key_id(&self) -> u64 {
        self.key_id
    }

    /// Makes a packet of a datagram whose payload stands after [`Sealer::header_bytes`] and before
    /// the last [`Sealer::tag_bytes`]; header and tag are written around it. Allocates nothing.
    ///
    /// Asserts that the number was not used before and that the flags leave the highest bit clear.
    #[inline]
    pub fn seal_in_place(
        &mut self,
        number: u64,
        flags: u8,
        datagram: &mut [u8],
    ) -> Result<(), Exhausted> {
        assert!(number >= self.next, "packet number {number} was used before");
        assert_eq!(flags & HANDSHAKE_BIT, 0, "the highest flag tells handshakes apart");
        if number >= PACKET_NUMBERS {
            return Err(Exhausted);
        }
        let (header, rest) = datagram.split_at_mut(self.header_bytes());
        header[0] = flags;
        if let Some(id) = self.connection_id {
            header[1..=ConnectionId::BYTES].copy_from_slice(&id.to_bytes());
        }
        let low_at = header.len() - NUMBER_BYTES;
        header[low_at..].copy_from_slice(&(number as u16).to_le_bytes());
        if let Some(key) = &self.key {
            let payload_bytes = rest.len().checked_sub(PACKET_TAG_BYTES).expect("room for a tag");
            let (payload, room) = rest.split_at_mut(payload_bytes);
            room.copy_from_slice(&key.seal(number, header, payload));
        }
        self.next = number + 1;
        Ok(())
    }
}

/// Turns packets back into payloads. Lets each number pass once, and only if it is authentic.
#[derive(Debug)]
pub struct Opener {
    key: Option<Cipher>,
    header_bytes: usize,
    window: Window,
    forgeries: u64,
}

/// An authentic packet, decrypted where it lay.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender's number, whole.
    pub number: u64,
    /// What the sender's channel set.
    pub flags: u8,
    /// What it carries.
    pub payload: &'a mut [u8],
}

/// Why a datagram is not taken as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Shorter than the shortest packet, or part of a handshake.
    Malformed,
    /// Its number was seen already.
    Replayed,
    /// Its number is further back than the window.
    TooOld,
    /// Its number is beyond the last: the sender should have closed.
    Exhausted,
    /// It was not sealed by the other end, or changed on the way.
    Forged,
}

impl Opener {
    /// Checks, decrypts and marks a packet. A refused datagram changes nothing but the count of
    /// forgeries; its bytes are then worthless. Allocates nothing.
    #[inline]
    pub fn open_in_place<'a>(&mut self, datagram: &'a mut [u8]) -> Result<Packet<'a>, Refusal> {
        let tag_bytes = if self.key.is_some() { PACKET_TAG_BYTES } else { 0 };
        if datagram.len() < self.header_bytes + tag_bytes || datagram[0] & HANDSHAKE_BIT != 0 {
            return Err(Refusal::Malformed);
        }
        let (header, rest) = datagram.split_at_mut(self.header_bytes);
        let (flags, low) = (header[0], header.last_chunk().ok_or(Refusal::Malformed)?);
        let number = self.window.reconstruct(u16::from_le_bytes(*low));
        self.window.check(number).map_err(|unwelcome| match unwelcome {
            Unwelcome::Replayed => Refusal::Replayed,
            Unwelcome::TooOld => Refusal::TooOld,
            Unwelcome::Exhausted => Refusal::Exhausted,
        })?;
        let is_early = mutant::is(Mutant::WindowBeforeAuthentication);
        if is_early {
            self.window.advance(number);
        }
        let payload = match &self.key {
            None => rest,
            Some(key) => match key.open(number, header, rest) {
                Some(payload) => payload,
                None => {
                    self.forgeries += 1;
                    return Err(Refusal::Forged);
                }
            },
        };
        // Only now: a forged packet must not push honest ones out of the window.
        if !is_early {
            self.window.advance(number);
        }
        Ok(Packet { number, flags, payload })
    }

    /// Whether packets come unsealed, so that the session around them vouches for each.
    pub(crate) fn is_passthrough(&self) -> bool {
        self.key.is_none()
    }

    /// Expects numbers from `first` on. Only before anything was opened, and if the other end's
    /// sealer begins there too.
    pub(crate) fn begin_at(&mut self, first: u64) {
        self.window = Window::new(first);
    }

    /// How many datagrams were forged; at [`FORGERIES_MAX`] the connection must close.
    pub fn forgeries(&self) -> u64 {
        self.forgeries
    }
}

/// The connection that a packet on its way up claims to belong to.
pub fn connection_id_of(datagram: &[u8]) -> Option<ConnectionId> {
    let (first, rest) = datagram.split_first()?;
    let id = rest.first_chunk()?;
    let is_packet = first & HANDSHAKE_BIT == 0 && datagram.len() >= UP_HEADER_BYTES;
    is_packet.then(|| ConnectionId::from_bytes(*id))
}
