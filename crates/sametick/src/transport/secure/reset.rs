//! How a server that lost its memory tells a client that their connection is over. Keeps nothing of
//! a connection: the token in a reset is a keyed hash.

use super::connection_id::ConnectionId;
use super::hello::{RESET_BYTES, RESET_TOKEN_BYTES, read_reset, write_reset};
use super::packet::{PACKET_TAG_BYTES, UP_HEADER_BYTES};
use super::secret::{Secret, same};
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};

/// Between two resets at least so much time passes, whoever asks for them.
pub const RESET_INTERVAL: Span = Span::millis(20);

// Two servers that reset each other stop at once: a reset is shorter than any packet.
const _: () = assert!(RESET_BYTES < UP_HEADER_BYTES + PACKET_TAG_BYTES);

/// Proves to a client that a reset comes from its server.
#[derive(Clone, Copy)]
pub struct ResetToken([u8; RESET_TOKEN_BYTES]);

impl ResetToken {
    pub(super) fn from_bytes(bytes: [u8; RESET_TOKEN_BYTES]) -> Self {
        Self(bytes)
    }

    /// Whether a datagram is the reset of this connection. Asked only for what no key opens.
    pub fn matches(&self, datagram: &[u8]) -> bool {
        read_reset(datagram).is_some_and(|token| same(token, &self.0))
    }
}

impl std::fmt::Debug for ResetToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ResetToken(..)")
    }
}

/// Makes the tokens and the resets of one server.
#[derive(Clone, Debug)]
pub(super) struct Resets {
    secret: Secret,
    sent_at: Option<Time>,
}

impl Resets {
    /// Equal secrets make equal tokens, before and after a restart.
    pub(super) fn new(secret: Secret) -> Self {
        Self { secret, sent_at: None }
    }

    /// Bound to the client's address (not its port, which translators change), so that nobody can
    /// collect the tokens of connections to come.
    pub(super) fn token(&self, id: ConnectionId, peer: Peer) -> [u8; RESET_TOKEN_BYTES] {
        let mut bytes = [0; ConnectionId::BYTES + 16];
        bytes[..ConnectionId::BYTES].copy_from_slice(&id.to_bytes());
        bytes[ConnectionId::BYTES..].copy_from_slice(&peer.address());
        self.secret.tag(&bytes)
    }

    pub(super) fn reset_for(
        &mut self,
        now: Time,
        peer: Peer,
        id: ConnectionId,
        trigger_bytes: usize,
    ) -> Option<[u8; RESET_BYTES]> {
        let too_soon = self.sent_at.is_some_and(|sent_at| now - sent_at < RESET_INTERVAL);
        if too_soon || trigger_bytes <= RESET_BYTES {
            return None;
        }
        self.sent_at = Some(now);
        Some(write_reset(&self.token(id, peer)))
    }
}
