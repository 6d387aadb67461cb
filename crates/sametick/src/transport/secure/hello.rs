//! The bytes of the handshake: hello, retry, accept, denied and reset. Knows where each field
//! stands, not what it is worth; every reader is total, and what it accepts has one form only.
//!
//! All integers are little-endian. The first byte of a handshake datagram has its highest bit set;
//! in a packet of an established connection it is clear.
//!
//! **Hello**, client to server, exactly 1200 bytes. Everything before the Noise message is the
//! prologue of the Noise handshake, so that none of it, the cookie included, can be exchanged.
//!
//! | offset | bytes | hello |
//! |---|---|---|
//! | 0 | 1 | 0x81 |
//! | 1 | 1 | version, 1 |
//! | 2 | 8 | protocol id |
//! | 10 | 8 | client id |
//! | 18 | 8 | expiry of the token, in unix seconds |
//! | 26 | 8 | hello id: random, repeated by every answer |
//! | 34 | 16 | cookie, zero before the first retry |
//! | 50 | 1 | kind of token: 0 a backend's, 1 a resume ticket; the highest bit set if packets are not to be sealed |
//! | 51 | 2 | length of the sealed token, 1 to 512 |
//! | 53 | 512 | sealed token, then zeros |
//! | 565 | 48 | Noise message 1, zero while the cookie is |
//! | 613 | 587 | zeros, so that no answer is longer than its question |
//!
//! **Retry**, server to client, 26 bytes: asks for the same hello with this cookie.
//!
//! | offset | bytes | retry |
//! |---|---|---|
//! | 0 | 1 | 0x82 |
//! | 1 | 1 | version, 1 |
//! | 2 | 8 | hello id |
//! | 10 | 16 | cookie |
//!
//! **Accept**, server to client, 224 to 448 bytes.
//!
//! | offset | bytes | accept |
//! |---|---|---|
//! | 0 | 1 | 0x83 |
//! | 1 | 1 | version, 1 |
//! | 2 | 8 | hello id |
//! | 10 | 32 | Noise message 2: the server's ephemeral key |
//! | 42 | 4 | connection id: slot (2) and salt (2), from here on encrypted |
//! | 46 | 4 | the server's tick |
//! | 50 | 16 | reset token |
//! | 66 | 8 | expiry of the resume ticket, in unix seconds |
//! | 74 | 32 | key of the resume ticket |
//! | 106 | 102 to 326 | resume ticket |
//! | end | 16 | tag |
//!
//! **Denied**, server to client, 27 bytes: only to a client that proved its token.
//!
//! | offset | bytes | denied |
//! |---|---|---|
//! | 0 | 1 | 0x84 |
//! | 1 | 1 | version, 1 |
//! | 2 | 8 | hello id |
//! | 10 | 1 | reason, see [`Denial`] |
//! | 11 | 16 | keyed hash of all before, under the token's shared key |
//!
//! **Reset**, server to client, 17 bytes: the server does not know the connection any more. It is
//! shorter than any packet that could cause it.
//!
//! | offset | bytes | reset |
//! |---|---|---|
//! | 0 | 1 | 0x85 |
//! | 1 | 16 | reset token, as it stood in the accept |

use super::connection_id::ConnectionId;
use super::secret::{SECRET_BYTES, Secret, TAG_BYTES, same};
use super::token::{SEALED_TOKEN_BYTES_MAX, TokenHead, TokenKind, WRITTEN_BYTES_MAX};

/// The version of the handshake and of the packets after it.
pub const VERSION: u8 = 1;
/// The length of every hello, and the longest datagram there is.
pub const HELLO_BYTES: usize = 1200;
/// The length of a retry.
pub const RETRY_BYTES: usize = COOKIE_TO + COOKIE_BYTES;
/// The longest accept.
pub const ACCEPT_BYTES_MAX: usize =
    ANSWER_HEAD_BYTES + NOISE_2_BYTES_MIN + WELCOME_FIXED_BYTES + WRITTEN_BYTES_MAX;
/// The length of a denial.
pub const DENIED_BYTES: usize = ANSWER_HEAD_BYTES + 1 + TAG_BYTES;
/// The length of a reset.
pub const RESET_BYTES: usize = 1 + RESET_TOKEN_BYTES;
/// The length of a cookie.
pub const COOKIE_BYTES: usize = 16;
/// The length of the client's half of the Noise handshake.
pub const NOISE_1_BYTES: usize = 32 + 16;
/// What every answer repeats, so that only who saw the hello can answer it.
pub const HELLO_ID_BYTES: usize = 8;

pub(super) const RESET_TOKEN_BYTES: usize = 16;
pub(super) const NOISE_2_BYTES_MIN: usize = 32 + 16;
pub(super) const WELCOME_BYTES_MAX: usize = WELCOME_FIXED_BYTES + WRITTEN_BYTES_MAX;

const HELLO: u8 = 0x81;
const RETRY: u8 = 0x82;
const ACCEPT: u8 = 0x83;
const DENIED: u8 = 0x84;
const RESET: u8 = 0x85;
/// Set in the first byte of a handshake datagram, clear in that of a packet.
pub(super) const HANDSHAKE_BIT: u8 = 0x80;

/// Set beside the kind of token if packets are not to be sealed.
const WITHIN_TLS_BIT: u8 = 0x80;
const TOKEN_LENGTH_AT: usize = 51;
const TOKEN_AT: usize = 53;
const NOISE_1_AT: usize = TOKEN_AT + SEALED_TOKEN_BYTES_MAX;
const PADDING_AT: usize = NOISE_1_AT + NOISE_1_BYTES;
const ANSWER_HEAD_BYTES: usize = 2 + HELLO_ID_BYTES;
const COOKIE_TO: usize = ANSWER_HEAD_BYTES;
const WELCOME_FIXED_BYTES: usize = ConnectionId::BYTES + 4 + RESET_TOKEN_BYTES + 8 + SECRET_BYTES;

// No answer is longer than the hello, and a reset is shorter than any packet.
const _: () = assert!(PADDING_AT < HELLO_BYTES && RETRY_BYTES <= 48);
const _: () = assert!(ACCEPT_BYTES_MAX < HELLO_BYTES && DENIED_BYTES < HELLO_BYTES);
const _: () = assert!(NOISE_1_AT == 565 && PADDING_AT == 613 && ACCEPT_BYTES_MAX == 448);

/// Whether a datagram belongs to a handshake and not to an established connection.
pub fn is_handshake(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & HANDSHAKE_BIT != 0)
}

/// A hello, lent from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// What the token says openly.
    pub head: TokenHead,
    /// Repeated by every answer.
    pub hello_id: [u8; HELLO_ID_BYTES],
    /// Proof that the client gets what is sent to its address; zero if it has none yet.
    pub cookie: [u8; COOKIE_BYTES],
    /// What the server can open.
    pub sealed_token: &'a [u8],
    /// The client's half of the Noise handshake; zero if there is no cookie yet.
    pub noise: [u8; NOISE_1_BYTES],
    /// Whether a TLS session around it protects the packets that follow, so that they travel unsealed.
    pub is_within_tls: bool,
}

/// Why a datagram is no hello of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHello {
    /// It has not the length of a hello.
    Length,
    /// It is something else, or another version's.
    Version,
    /// A field holds what no client writes.
    Malformed,
}

impl<'a> Hello<'a> {
    /// The datagram.
    pub fn write(&self) -> [u8; HELLO_BYTES] {
        assert!((1..=SEALED_TOKEN_BYTES_MAX).contains(&self.sealed_token.len()));
        let mut bytes = [0; HELLO_BYTES];
        (bytes[0], bytes[1]) = (HELLO, VERSION);
        bytes[2..10].copy_from_slice(&self.head.protocol_id.to_le_bytes());
        bytes[10..18].copy_from_slice(&self.head.client_id.to_le_bytes());
        bytes[18..26].copy_from_slice(&self.head.expires_unix_seconds.to_le_bytes());
        bytes[26..34].copy_from_slice(&self.hello_id);
        bytes[34..50].copy_from_slice(&self.cookie);
        bytes[50] = self.head.kind.to_byte() | if self.is_within_tls { WITHIN_TLS_BIT } else { 0 };
        let token_bytes = self.sealed_token.len();
        bytes[TOKEN_LENGTH_AT..TOKEN_AT].copy_from_slice(&(token_bytes as u16).to_le_bytes());
        bytes[TOKEN_AT..][..token_bytes].copy_from_slice(self.sealed_token);
        bytes[NOISE_1_AT..PADDING_AT].copy_from_slice(&self.noise);
        bytes
    }

    /// The hello in a datagram. Judges length first, then version, then form.
    pub fn read(datagram: &'a [u8]) -> Result<Self, NotHello> {
        let bytes: &[u8; HELLO_BYTES] = datagram.try_into().map_err(|_| NotHello::Length)?;
        if bytes[0] != HELLO || bytes[1] != VERSION {
            return Err(NotHello::Version);
        }
        let kind = TokenKind::from_byte(bytes[50] & !WITHIN_TLS_BIT).ok_or(NotHello::Malformed)?;
        let token_bytes = usize::from(u16::from_le_bytes(array(bytes, TOKEN_LENGTH_AT)));
        if !(1..=SEALED_TOKEN_BYTES_MAX).contains(&token_bytes) {
            return Err(NotHello::Malformed);
        }
        let (sealed_token, after_token) = bytes[TOKEN_AT..NOISE_1_AT].split_at(token_bytes);
        if !is_zero(after_token) || !is_zero(&bytes[PADDING_AT..]) {
            return Err(NotHello::Malformed);
        }
        let hello = Self {
            head: TokenHead {
                kind,
                protocol_id: u64::from_le_bytes(array(bytes, 2)),
                client_id: u64::from_le_bytes(array(bytes, 10)),
                expires_unix_seconds: u64::from_le_bytes(array(bytes, 18)),
            },
            hello_id: array(bytes, 26),
            cookie: array(bytes, 34),
            sealed_token,
            noise: array(bytes, NOISE_1_AT),
            is_within_tls: bytes[50] & WITHIN_TLS_BIT != 0,
        };
        if is_zero(&hello.cookie) && !is_zero(&hello.noise) {
            return Err(NotHello::Malformed);
        }
        Ok(hello)
    }
}

/// The part of a hello that the Noise handshake authenticates as its prologue.
pub(super) fn prologue(hello: &[u8; HELLO_BYTES]) -> &[u8] {
    &hello[..NOISE_1_AT]
}

/// Puts the Noise message into a hello whose prologue is written.
pub(super) fn put_noise(hello: &mut [u8; HELLO_BYTES], noise: &[u8; NOISE_1_BYTES]) {
    hello[NOISE_1_AT..PADDING_AT].copy_from_slice(noise);
}

/// The server's demand for a hello with a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Of the hello that is answered.
    pub hello_id: [u8; HELLO_ID_BYTES],
    /// To be shown in the next one.
    pub cookie: [u8; COOKIE_BYTES],
}

impl Retry {
    /// The datagram.
    pub fn write(&self) -> [u8; RETRY_BYTES] {
        let mut bytes = [0; RETRY_BYTES];
        put_answer_head(&mut bytes, RETRY, &self.hello_id);
        bytes[COOKIE_TO..].copy_from_slice(&self.cookie);
        bytes
    }

    /// The retry in a datagram, if it is one.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let (hello_id, rest) = answer_of(datagram, RETRY)?;
        let cookie: [u8; COOKIE_BYTES] = rest.try_into().ok()?;
        (!is_zero(&cookie)).then_some(Self { hello_id, cookie })
    }
}

/// The server's half of the Noise handshake, lent from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept<'a> {
    /// Of the hello that is answered.
    pub hello_id: [u8; HELLO_ID_BYTES],
    /// Noise message 2, whose payload is the welcome.
    pub noise: &'a [u8],
}

impl<'a> Accept<'a> {
    /// Writes the datagram in front of `buffer` and tells its length.
    pub fn write(&self, buffer: &mut [u8; ACCEPT_BYTES_MAX]) -> usize {
        let length = ANSWER_HEAD_BYTES + self.noise.len();
        put_answer_head(buffer, ACCEPT, &self.hello_id);
        buffer[ANSWER_HEAD_BYTES..length].copy_from_slice(self.noise);
        length
    }

    /// The accept in a datagram, if it is one.
    pub fn read(datagram: &'a [u8]) -> Option<Self> {
        let (hello_id, noise) = answer_of(datagram, ACCEPT)?;
        let lengths =
            NOISE_2_BYTES_MIN + WELCOME_FIXED_BYTES..=ACCEPT_BYTES_MAX - ANSWER_HEAD_BYTES;
        lengths.contains(&noise.len()).then_some(Self { hello_id, noise })
    }
}

/// What an accept tells in private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Welcome<'a> {
    pub(super) connection_id: ConnectionId,
    pub(super) tick: u32,
    pub(super) reset_token: [u8; RESET_TOKEN_BYTES],
    pub(super) ticket_expires_unix_seconds: u64,
    pub(super) ticket_psk: Secret,
    pub(super) ticket: &'a [u8],
}

impl<'a> Welcome<'a> {
    /// Writes it in front of `buffer` and tells its length.
    pub(super) fn write(&self, buffer: &mut [u8; WELCOME_BYTES_MAX]) -> usize {
        buffer[0..4].copy_from_slice(&self.connection_id.to_bytes());
        buffer[4..8].copy_from_slice(&self.tick.to_le_bytes());
        buffer[8..24].copy_from_slice(&self.reset_token);
        buffer[24..32].copy_from_slice(&self.ticket_expires_unix_seconds.to_le_bytes());
        buffer[32..WELCOME_FIXED_BYTES].copy_from_slice(self.ticket_psk.as_bytes());
        let length = WELCOME_FIXED_BYTES + self.ticket.len();
        buffer[WELCOME_FIXED_BYTES..length].copy_from_slice(self.ticket);
        length
    }

    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (connection_id, rest) = bytes.split_first_chunk()?;
        let (tick, rest) = rest.split_first_chunk()?;
        let (reset_token, rest) = rest.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (psk, ticket) = rest.split_first_chunk()?;
        (1..=SEALED_TOKEN_BYTES_MAX).contains(&ticket.len()).then(|| Self {
            connection_id: ConnectionId::from_bytes(*connection_id),
            tick: u32::from_le_bytes(*tick),
            reset_token: *reset_token,
            ticket_expires_unix_seconds: u64::from_le_bytes(*expires),
            ticket_psk: Secret::from_bytes(*psk),
            ticket,
        })
    }
}

/// Why a server does not take a client whose token is genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denial {
    /// 1: the token was used before.
    TokenUsed,
    /// 2: the token is older than the server's memory of used ones. A fresh one will do.
    TokenTooOld,
    /// 3: the token is for another server.
    WrongServer,
    /// 4: no slot is free.
    ServerFull,
    /// 5: too many came in too short a time. Later will do.
    Busy,
    /// 6: the server's owner does not want this client.
    Unwelcome,
}

impl Denial {
    /// All of them, in the order of their bytes.
    pub const ALL: [Denial; 6] = [
        Denial::TokenUsed,
        Denial::TokenTooOld,
        Denial::WrongServer,
        Denial::ServerFull,
        Denial::Busy,
        Denial::Unwelcome,
    ];

    fn to_byte(self) -> u8 {
        self as u8 + 1
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|denial| denial.to_byte() == byte)
    }
}

/// A denial's datagram, under the key that the token gave both sides.
pub(super) fn write_denied(
    hello_id: &[u8; HELLO_ID_BYTES],
    denial: Denial,
    psk: &Secret,
) -> [u8; DENIED_BYTES] {
    let mut bytes = [0; DENIED_BYTES];
    put_answer_head(&mut bytes, DENIED, hello_id);
    bytes[ANSWER_HEAD_BYTES] = denial.to_byte();
    let (said, tag) = bytes.split_at_mut(DENIED_BYTES - TAG_BYTES);
    tag.copy_from_slice(&denial_tag(psk, said));
    bytes
}

/// The denial in a datagram, if it is one and comes from who can open the token.
pub(super) fn read_denied(
    datagram: &[u8],
    hello_id: &[u8; HELLO_ID_BYTES],
    psk: &Secret,
) -> Option<Denial> {
    let (answered, rest) = answer_of(datagram, DENIED)?;
    let [reason, tag @ ..]: [u8; 1 + TAG_BYTES] = rest.try_into().ok()?;
    let denial = Denial::from_byte(reason)?;
    let said = datagram.get(..DENIED_BYTES - TAG_BYTES)?;
    (answered == *hello_id && same(&tag, &denial_tag(psk, said))).then_some(denial)
}

fn denial_tag(psk: &Secret, said: &[u8]) -> [u8; TAG_BYTES] {
    psk.derive("sametick 2026 denial").tag(said)
}

/// A reset's datagram.
pub(super) fn write_reset(token: &[u8; RESET_TOKEN_BYTES]) -> [u8; RESET_BYTES] {
    let mut bytes = [RESET; RESET_BYTES];
    bytes[1..].copy_from_slice(token);
    bytes
}

/// The token in a reset, if it is one.
pub(super) fn read_reset(datagram: &[u8]) -> Option<&[u8; RESET_TOKEN_BYTES]> {
    let bytes: &[u8; RESET_BYTES] = datagram.try_into().ok()?;
    if bytes[0] == RESET { bytes[1..].first_chunk() } else { None }
}

fn put_answer_head(bytes: &mut [u8], kind: u8, hello_id: &[u8; HELLO_ID_BYTES]) {
    (bytes[0], bytes[1]) = (kind, VERSION);
    bytes[2..ANSWER_HEAD_BYTES].copy_from_slice(hello_id);
}

/// What an answer of the given kind repeats of its hello, and what follows.
fn answer_of(datagram: &[u8], kind: u8) -> Option<([u8; HELLO_ID_BYTES], &[u8])> {
    let (head, rest) = datagram.split_first_chunk::<ANSWER_HEAD_BYTES>()?;
    (head[0] == kind && head[1] == VERSION).then(|| (array(head, 2), rest))
}

/// The bytes from an offset that is known to be inside.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: TokenHead = TokenHead {
        kind: TokenKind::Resume,
        protocol_id: 0x0102_0304_0506_0708,
        client_id: 9,
        expires_unix_seconds: 10,
    };

    fn check_every_reader(bytes: &[u8]) {
        if let Ok(hello) = Hello::read(bytes) {
            assert_eq!(hello.write(), bytes);
        }
        if let Some(retry) = Retry::read(bytes) {
            assert_eq!(retry.write(), bytes);
        }
        if let Some(accept) = Accept::read(bytes) {
            let mut buffer = [0; ACCEPT_BYTES_MAX];
            let length = accept.write(&mut buffer);
            assert_eq!(&buffer[..length], bytes);
        }
        if let Some(token) = read_reset(bytes) {
            assert_eq!(write_reset(token), bytes);
        }
        if let Some(welcome) = Welcome::read(bytes)
            && welcome.ticket.len() <= WRITTEN_BYTES_MAX
        {
            let mut buffer = [0; WELCOME_BYTES_MAX];
            let length = welcome.write(&mut buffer);
            assert_eq!(&buffer[..length], bytes);
        }
        assert_eq!(read_denied(bytes, &[0; 8], &Secret::from_bytes([7; 32])), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_and_what_is_read_has_one_form(
            mut bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..600),
                proptest::collection::vec(any::<u8>(), HELLO_BYTES),
                (0..PADDING_AT, any::<u8>()).prop_map(|(at, byte)| {
                    let token = [3; 40];
                    let (cookie, noise) = ([5; 16], [6; 48]);
                    let (hello_id, is_within_tls) = ([4; 8], false);
                    let sealed_token = &token;
                    let mut hello =
                        Hello { head: HEAD, hello_id, cookie, sealed_token, noise, is_within_tls }
                            .write();
                    hello[at] = byte;
                    hello.to_vec()
                }),
            ],
            kind in 0x80..0x88u8,
        ) {
            check_every_reader(&bytes);
            if bytes.len() >= 2 {
                (bytes[0], bytes[1]) = (kind, VERSION);
                check_every_reader(&bytes);
            }
        }
    }

    #[test]
    fn fields_stand_where_the_tables_say() {
        let (hello_id, cookie, noise) = ([4; 8], [5; 16], [6; 48]);
        let hello = Hello {
            head: HEAD,
            hello_id,
            cookie,
            sealed_token: &[3; 40],
            noise,
            is_within_tls: true,
        };
        let bytes = hello.write();
        assert_eq!(bytes[..10], [0x81, 1, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!((bytes[26], bytes[34], bytes[50], bytes[51], bytes[52]), (4, 5, 0x81, 40, 0));
        assert_eq!((bytes[53], bytes[92], bytes[93]), (3, 3, 0));
        assert_eq!((bytes[564], bytes[565], bytes[612], bytes[613]), (0, 6, 6, 0));
        assert_eq!(Hello::read(&bytes), Ok(hello));
        assert_eq!(Hello::read(&bytes[..1199]), Err(NotHello::Length));
        for (at, byte, error) in [
            (0, 0x82, NotHello::Version),
            (1, 2, NotHello::Version),
            (50, 2, NotHello::Malformed),
            (52, 0xff, NotHello::Malformed),
            (93, 1, NotHello::Malformed),
            (1199, 1, NotHello::Malformed),
        ] {
            let mut broken = bytes;
            broken[at] = byte;
            assert_eq!(Hello::read(&broken), Err(error), "offset {at}");
        }
    }

    #[test]
    fn a_denial_is_believed_only_from_who_holds_the_shared_key() {
        let (psk, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        for denial in Denial::ALL {
            let bytes = write_denied(&[9; 8], denial, &psk);
            assert_eq!(read_denied(&bytes, &[9; 8], &psk), Some(denial));
            assert_eq!(read_denied(&bytes, &[8; 8], &psk), None);
            assert_eq!(read_denied(&bytes, &[9; 8], &other), None);
            for bit in 0..bytes.len() * 8 {
                let mut forged = bytes;
                forged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read_denied(&forged, &[9; 8], &psk), None);
            }
        }
    }
}
