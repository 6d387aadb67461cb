//! What a backend seals to let one client in, and what a server seals to let it come back. Knows
//! the bytes and the cipher; whether a token is late, used or meant for another is the gate's.
//!
//! A sealed token is a nonce, a ciphertext and a tag, under XChaCha20-Poly1305: its 24-byte nonce
//! may be drawn at random by any number of backends that share a key. The associated data are the
//! fields that stand open in the hello, so none of them can be changed:
//!
//! | bytes | associated data |
//! |---|---|
//! | 1 | version |
//! | 1 | kind: 0 a backend's token, 1 a server's resume ticket |
//! | 8 | protocol id |
//! | 8 | client id |
//! | 8 | expiry, in unix seconds |
//!
//! | offset | bytes | sealed token |
//! |---|---|---|
//! | 0 | 24 | nonce |
//! | 24 | 32 | key shared by client and server, from here on encrypted |
//! | 56 | 16 | server id, zero for any |
//! | 72 | 8 | moment of issue, in unix seconds |
//! | 80 | 2 | slot (resume tickets only) |
//! | 82 | 4 | epoch of the server (resume tickets only) |
//! | 80 or 86 | 0 to 224 | user data |
//! | end | 16 | tag |
//!
//! All integers are little-endian.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroize;

use super::hello::VERSION;
use super::random::{Random, draw};
use super::secret::{SECRET_BYTES, Secret};

/// The most a backend may attach for the game: an account's name, rights, a team.
pub const TOKEN_USER_BYTES_MAX: usize = 224;
/// The longest sealed token, for which the hello has room.
pub const SEALED_TOKEN_BYTES_MAX: usize = 512;
/// The longest a token may be valid; the log of used tokens remembers no longer.
pub const TOKEN_LIFETIME_SECONDS_MAX: u64 = 300;
/// How long a resume ticket is valid.
pub const TICKET_LIFETIME_SECONDS: u64 = 120;

/// What a server that uses [`TokenKey::PUBLISHED`] says when it starts.
pub const OPEN_MODE_WARNING: &str = "open mode: tokens are sealed with a published key. Traffic is \
    private against listeners, not against impostors. For local networks and development only.";

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const FIXED_BYTES: usize = SECRET_BYTES + ServerId::BYTES + 8;
const RESUME_BYTES: usize = 2 + 4;
const BODY_BYTES_MAX: usize = FIXED_BYTES + RESUME_BYTES + TOKEN_USER_BYTES_MAX;
const SEALED_BYTES_MIN: usize = NONCE_BYTES + FIXED_BYTES + TAG_BYTES;
/// The longest that is really written.
pub(super) const WRITTEN_BYTES_MAX: usize = NONCE_BYTES + BODY_BYTES_MAX + TAG_BYTES;
const ASSOCIATED_BYTES: usize = 1 + 1 + 8 + 8 + 8;
const _: () = assert!(WRITTEN_BYTES_MAX <= SEALED_TOKEN_BYTES_MAX);
const _: () = assert!(TICKET_LIFETIME_SECONDS <= TOKEN_LIFETIME_SECONDS_MAX);

/// Seals and opens tokens. Whoever holds it can let anybody in, and can pose as a server: give each
/// server that somebody else runs a key of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenKey(Secret);

impl TokenKey {
    /// The key of open mode, known to everybody: see [`OPEN_MODE_WARNING`].
    pub const PUBLISHED: TokenKey =
        TokenKey(Secret::from_bytes(*b"sametick open mode published key"));

    /// A key that is stored elsewhere.
    pub const fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(Secret::from_bytes(bytes))
    }

    /// A new key.
    pub fn generate(random: &mut dyn Random) -> Self {
        Self(Secret::generate(random))
    }

    /// The bytes, for storing.
    pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        self.0.as_bytes()
    }

    /// Whether everybody knows this key.
    pub fn is_published(&self) -> bool {
        *self == Self::PUBLISHED
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.0
    }
}

/// Names a server, or a fleet of servers, for which a token is meant. An id rather than an address:
/// a server behind a translator or a load balancer does not know its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(pub [u8; ServerId::BYTES]);

impl ServerId {
    /// Every server that has the key.
    pub const ANY: ServerId = ServerId([0; Self::BYTES]);
    /// How long it is on the wire.
    pub const BYTES: usize = 16;
}

/// Who sealed a token, and so under which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A backend, for a client that comes.
    Connect,
    /// A server, for a client that comes back.
    Resume,
}

impl TokenKind {
    /// As it stands on the wire.
    pub const fn to_byte(self) -> u8 {
        match self {
            TokenKind::Connect => 0,
            TokenKind::Resume => 1,
        }
    }

    /// From the wire.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(TokenKind::Connect),
            1 => Some(TokenKind::Resume),
            _ => None,
        }
    }
}

/// What a resume ticket remembers of the session it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The slot the client had.
    pub slot: u16,
    /// The server's epoch then: another than now means that the server restarted in between.
    pub epoch: u32,
}

/// The fields of a token that stand open in the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHead {
    /// Under which key it is sealed.
    pub kind: TokenKind,
    /// The game and its version; a server refuses others.
    pub protocol_id: u64,
    /// The identity that the backend gave.
    pub client_id: u64,
    /// The first second at which it is no longer valid.
    pub expires_unix_seconds: u64,
}

impl TokenHead {
    fn associated_data(&self) -> [u8; ASSOCIATED_BYTES] {
        let mut bytes = [0; ASSOCIATED_BYTES];
        (bytes[0], bytes[1]) = (VERSION, self.kind.to_byte());
        bytes[2..10].copy_from_slice(&self.protocol_id.to_le_bytes());
        bytes[10..18].copy_from_slice(&self.client_id.to_le_bytes());
        bytes[18..26].copy_from_slice(&self.expires_unix_seconds.to_le_bytes());
        bytes
    }
}

/// A token as its server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What stood open.
    pub head: TokenHead,
    /// Proves, in the handshake, that client and server mean the same token.
    pub psk: Secret,
    /// For which server it is.
    pub server: ServerId,
    /// When it was sealed.
    pub issued_unix_seconds: u64,
    /// The session it continues, in a ticket; in a backend's token there is none.
    pub resume: Option<Resume>,
    /// What the backend attached.
    pub user_data: Vec<u8>,
}

impl Token {
    /// Encrypts the token. Asserts that a ticket, and only a ticket, names what it continues.
    pub fn seal(&self, key: &TokenKey, random: &mut dyn Random) -> Vec<u8> {
        assert!(self.user_data.len() <= TOKEN_USER_BYTES_MAX, "too much user data for a token");
        assert_eq!(self.head.kind == TokenKind::Resume, self.resume.is_some());
        let nonce: [u8; NONCE_BYTES] = draw(random);
        let mut sealed = Vec::with_capacity(WRITTEN_BYTES_MAX);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(self.psk.as_bytes());
        sealed.extend_from_slice(&self.server.0);
        sealed.extend_from_slice(&self.issued_unix_seconds.to_le_bytes());
        if let Some(resume) = self.resume {
            sealed.extend_from_slice(&resume.slot.to_le_bytes());
            sealed.extend_from_slice(&resume.epoch.to_le_bytes());
        }
        sealed.extend_from_slice(&self.user_data);
        let body = &mut sealed[NONCE_BYTES..];
        let tag = cipher(key)
            .encrypt_inout_detached(&nonce.into(), &self.head.associated_data(), body.into())
            .expect("a token is far shorter than the cipher's limit");
        sealed.extend_from_slice(&tag);
        sealed
    }

    /// Decrypts a token, or nothing if any bit of it or of its head was changed. Allocates only for
    /// what is authentic.
    pub fn open(head: TokenHead, sealed: &[u8], key: &TokenKey) -> Option<Self> {
        if !(SEALED_BYTES_MIN..=WRITTEN_BYTES_MAX).contains(&sealed.len()) {
            return None;
        }
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG_BYTES>()?;
        let mut buffer = [0; BODY_BYTES_MAX];
        let body = buffer.get_mut(..ciphertext.len())?;
        body.copy_from_slice(ciphertext);
        let associated = head.associated_data();
        let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
        let authentic =
            cipher(key).decrypt_inout_detached(&nonce, &associated, (&mut *body).into(), &tag);
        let token = authentic.ok().and_then(|()| Self::read(head, body));
        buffer.zeroize();
        token
    }

    /// Names a sealed token among all others: its nonce, which is drawn for it alone.
    pub(super) fn id(sealed: &[u8]) -> &[u8] {
        sealed.get(..NONCE_BYTES).unwrap_or(sealed)
    }

    fn read(head: TokenHead, body: &[u8]) -> Option<Self> {
        let (psk, rest) = body.split_first_chunk()?;
        let (server, rest) = rest.split_first_chunk()?;
        let (issued, mut rest) = rest.split_first_chunk()?;
        let mut resume = None;
        if head.kind == TokenKind::Resume {
            let (slot, after) = rest.split_first_chunk()?;
            let (epoch, after) = after.split_first_chunk()?;
            let (slot, epoch) = (u16::from_le_bytes(*slot), u32::from_le_bytes(*epoch));
            (resume, rest) = (Some(Resume { slot, epoch }), after);
        }
        (rest.len() <= TOKEN_USER_BYTES_MAX).then(|| Self {
            head,
            psk: Secret::from_bytes(*psk),
            server: ServerId(*server),
            issued_unix_seconds: u64::from_le_bytes(*issued),
            resume,
            user_data: rest.to_vec(),
        })
    }
}

fn cipher(key: &TokenKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.as_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Seeded;
    use super::*;

    fn token(kind: TokenKind, user_bytes: usize) -> Token {
        let head = TokenHead { kind, protocol_id: 7, client_id: 8, expires_unix_seconds: 9 };
        let random = &mut Seeded::new(1);
        let resume = Resume { slot: 0x1234, epoch: 0x5678_9abc };
        Token {
            head,
            psk: Secret::generate(random),
            server: ServerId(draw(random)),
            issued_unix_seconds: 5,
            resume: (kind == TokenKind::Resume).then_some(resume),
            user_data: (0..user_bytes).map(|i| i as u8).collect(),
        }
    }

    #[test]
    fn what_is_sealed_comes_out_again() {
        let random = &mut Seeded::new(2);
        let key = TokenKey::generate(random);
        for kind in [TokenKind::Connect, TokenKind::Resume] {
            for user_bytes in [0, 1, 100, TOKEN_USER_BYTES_MAX] {
                let token = token(kind, user_bytes);
                let sealed = token.seal(&key, random);
                assert!(sealed.len() <= SEALED_TOKEN_BYTES_MAX);
                assert_eq!(Token::open(token.head, &sealed, &key), Some(token));
            }
        }
    }

    #[test]
    fn no_bit_of_a_token_or_its_head_can_be_changed() {
        let random = &mut Seeded::new(3);
        let key = TokenKey::generate(random);
        let token = token(TokenKind::Resume, 20);
        let sealed = token.seal(&key, random);
        for bit in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Token::open(token.head, &forged, &key), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(Token::open(token.head, &sealed[..length], &key), None);
        }
        let head = token.head;
        for other in [
            TokenHead { kind: TokenKind::Connect, ..head },
            TokenHead { protocol_id: 6, ..head },
            TokenHead { client_id: 6, ..head },
            TokenHead { expires_unix_seconds: 10, ..head },
        ] {
            assert_eq!(Token::open(other, &sealed, &key), None, "{other:?}");
        }
        assert_eq!(Token::open(head, &sealed, &TokenKey::generate(random)), None);
        assert_eq!(Token::open(head, &sealed, &TokenKey::PUBLISHED), None);
    }

    #[test]
    fn a_key_never_shows_itself() {
        let key = TokenKey::from_bytes([0x55; 32]);
        assert_eq!(format!("{key:?}"), "TokenKey(Secret(..))");
        assert!(!key.is_published() && TokenKey::PUBLISHED.is_published());
    }
}
