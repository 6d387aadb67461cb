//! What a backend hands to a client so that it may knock, as bytes or as text. Travels over the
//! backend's own encrypted connection, never in an address line; opens no seal.
//!
//! | offset | bytes | client token |
//! |---|---|---|
//! | 0 | 1 | version |
//! | 1 | 1 | kind: 0 a backend's token, 1 a server's resume ticket |
//! | 2 | 8 | protocol id |
//! | 10 | 8 | client id |
//! | 18 | 8 | expiry, in unix seconds |
//! | 26 | 32 | key shared with the server |
//! | 58 | 1 to 512 | sealed token |
//!
//! As text it is the same bytes in the URL-safe alphabet of base 64, unpadded.

use std::fmt;

use super::hello::VERSION;
use super::random::Random;
use super::secret::Secret;
use super::token::{
    SEALED_TOKEN_BYTES_MAX, ServerId, TOKEN_LIFETIME_SECONDS_MAX, TOKEN_USER_BYTES_MAX, Token,
    TokenHead, TokenKey, TokenKind,
};

const HEAD_BYTES: usize = 58;
/// The longest client token in bytes.
pub const CLIENT_TOKEN_BYTES_MAX: usize = HEAD_BYTES + SEALED_TOKEN_BYTES_MAX;

/// All that a client needs to connect, once: the sealed token and its half of the shared key.
///
/// ```
/// use sametick::secure::{ClientToken, Grant, SystemRandom, TokenIssuer, TokenKey};
///
/// let random = &mut SystemRandom::new();
/// let issuer = TokenIssuer::new(TokenKey::generate(random), 0x5a6e);
/// let grant = Grant { client_id: 17, user_data: b"Ann", ..Grant::default() };
/// let token = issuer.issue(&grant, 1_800_000_000, random).unwrap();
/// assert_eq!(ClientToken::from_text(&token.to_text()), Some(token));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientToken {
    /// What stands open in the hello.
    pub head: TokenHead,
    /// Known to this client and, inside the seal, to its server.
    pub psk: Secret,
    /// What only the server can open.
    pub sealed: Vec<u8>,
}

impl ClientToken {
    /// A token for a server in open mode, made by the client itself: it keeps listeners out, not
    /// impostors. It does not expire, for clocks on a local network may be wrong.
    pub fn open_mode(
        protocol_id: u64,
        client_id: u64,
        user_data: &[u8],
        random: &mut dyn Random,
    ) -> Result<Self, NotIssued> {
        let kind = TokenKind::Connect;
        let head = TokenHead { kind, protocol_id, client_id, expires_unix_seconds: u64::MAX };
        seal(&TokenKey::PUBLISHED, head, 0, ServerId::ANY, user_data, random)
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(self.sealed.len() <= SEALED_TOKEN_BYTES_MAX, "a sealed token is too long");
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.sealed.len());
        bytes.extend_from_slice(&[VERSION, self.head.kind.to_byte()]);
        bytes.extend_from_slice(&self.head.protocol_id.to_le_bytes());
        bytes.extend_from_slice(&self.head.client_id.to_le_bytes());
        bytes.extend_from_slice(&self.head.expires_unix_seconds.to_le_bytes());
        bytes.extend_from_slice(self.psk.as_bytes());
        bytes.extend_from_slice(&self.sealed);
        bytes
    }

    /// From bytes, or nothing if no client token looks like this.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([version, kind], rest) = bytes.split_first_chunk()?;
        let (protocol_id, rest) = rest.split_first_chunk()?;
        let (client_id, rest) = rest.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (psk, sealed) = rest.split_first_chunk()?;
        if *version != VERSION || !(1..=SEALED_TOKEN_BYTES_MAX).contains(&sealed.len()) {
            return None;
        }
        let head = TokenHead {
            kind: TokenKind::from_byte(*kind)?,
            protocol_id: u64::from_le_bytes(*protocol_id),
            client_id: u64::from_le_bytes(*client_id),
            expires_unix_seconds: u64::from_le_bytes(*expires),
        };
        Some(Self { head, psk: Secret::from_bytes(*psk), sealed: sealed.to_vec() })
    }

    /// As text, for a form field or a file. Not for an address line, which ends up in logs.
    pub fn to_text(&self) -> String {
        text_of(&self.to_bytes())
    }

    /// From text, white space around it aside.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > CLIENT_TOKEN_BYTES_MAX.div_ceil(3) * 4 {
            return None;
        }
        Self::from_bytes(&bytes_of(text)?)
    }
}

/// Seals tokens for one game, in a backend.
#[derive(Clone, Debug)]
pub struct TokenIssuer {
    key: TokenKey,
    protocol_id: u64,
}

/// What a backend decides about one client.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// The identity; at most one session of it is alive.
    pub client_id: u64,
    /// Which server may take it.
    pub server: ServerId,
    /// How long the client may take to knock; at most [`TOKEN_LIFETIME_SECONDS_MAX`].
    pub lifetime_seconds: u64,
    /// What the game's server shall know of the client; at most [`TOKEN_USER_BYTES_MAX`] bytes.
    pub user_data: &'a [u8],
}

impl Default for Grant<'_> {
    fn default() -> Self {
        Self { client_id: 0, server: ServerId::ANY, lifetime_seconds: 30, user_data: &[] }
    }
}

/// Why a token could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotIssued {
    /// More user data than [`TOKEN_USER_BYTES_MAX`].
    UserDataTooLong,
    /// A lifetime of zero, or beyond what servers remember used tokens for.
    LifetimeOutOfRange,
}

impl fmt::Display for NotIssued {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UserDataTooLong => {
                write!(formatter, "a token holds {TOKEN_USER_BYTES_MAX} bytes of user data")
            }
            Self::LifetimeOutOfRange => {
                write!(formatter, "a token lives 1 to {TOKEN_LIFETIME_SECONDS_MAX} seconds")
            }
        }
    }
}

impl std::error::Error for NotIssued {}

impl TokenIssuer {
    /// Seals for servers that have the same key and protocol id.
    pub fn new(key: TokenKey, protocol_id: u64) -> Self {
        Self { key, protocol_id }
    }

    /// A token for one client, valid from now on.
    pub fn issue(
        &self,
        grant: &Grant<'_>,
        unix_seconds: u64,
        random: &mut dyn Random,
    ) -> Result<ClientToken, NotIssued> {
        if !(1..=TOKEN_LIFETIME_SECONDS_MAX).contains(&grant.lifetime_seconds) {
            return Err(NotIssued::LifetimeOutOfRange);
        }
        let head = TokenHead {
            kind: TokenKind::Connect,
            protocol_id: self.protocol_id,
            client_id: grant.client_id,
            expires_unix_seconds: unix_seconds.saturating_add(grant.lifetime_seconds),
        };
        seal(&self.key, head, unix_seconds, grant.server, grant.user_data, random)
    }
}

fn seal(
    key: &TokenKey,
    head: TokenHead,
    issued_unix_seconds: u64,
    server: ServerId,
    user_data: &[u8],
    random: &mut dyn Random,
) -> Result<ClientToken, NotIssued> {
    if user_data.len() > TOKEN_USER_BYTES_MAX {
        return Err(NotIssued::UserDataTooLong);
    }
    let psk = Secret::generate(random);
    let user_data = user_data.to_vec();
    let token =
        Token { head, psk: psk.clone(), server, issued_unix_seconds, resume: None, user_data };
    Ok(ClientToken { head, psk, sealed: token.seal(key, random) })
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = 0;
        for (index, byte) in chunk.iter().enumerate() {
            word |= u32::from(*byte) << (16 - 8 * index);
        }
        for digit in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

/// Refuses letters outside the alphabet and leftover bits, so that a token has one text only.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0;
        for (index, letter) in chunk.iter().enumerate() {
            let digit = ALPHABET.iter().position(|known| known == letter)?;
            word |= (digit as u32) << (18 - 6 * index);
        }
        let whole = chunk.len() * 6 / 8;
        let (value, leftover) = (&word.to_be_bytes()[1..=whole], word << 8 << (8 * whole));
        if whole == 0 || leftover != 0 {
            return None;
        }
        bytes.extend_from_slice(value);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Seeded;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_backend_cannot_promise_what_servers_do_not_keep() {
        let random = &mut Seeded::new(1);
        let issuer = TokenIssuer::new(TokenKey::generate(random), 1);
        let long = [0; TOKEN_USER_BYTES_MAX + 1];
        let grant = Grant { user_data: &long, ..Grant::default() };
        assert_eq!(issuer.issue(&grant, 0, random), Err(NotIssued::UserDataTooLong));
        for lifetime_seconds in [0, TOKEN_LIFETIME_SECONDS_MAX + 1, u64::MAX] {
            let grant = Grant { lifetime_seconds, ..Grant::default() };
            assert_eq!(issuer.issue(&grant, 0, random), Err(NotIssued::LifetimeOutOfRange));
        }
    }

    #[test]
    fn text_is_that_of_base_64() {
        assert_eq!(text_of(b"Many hands"), "TWFueSBoYW5kcw");
        assert_eq!(text_of(&[0xfb, 0xff]), "-_8");
        for broken in ["A", "AB", "AAA?", "TWF=", "é", "AAAAA"] {
            assert_eq!(bytes_of(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn bytes_and_text_go_there_and_back(bytes: Vec<u8>, text in "[A-Za-z0-9_-]{0,80}") {
            prop_assert_eq!(bytes_of(&text_of(&bytes)), Some(bytes.clone()));
            if let Some(bytes) = bytes_of(&text) {
                prop_assert_eq!(text_of(&bytes), text);
            }
            if let Some(token) = ClientToken::from_bytes(&bytes) {
                prop_assert_eq!(token.to_bytes(), bytes);
            }
        }
    }
}
