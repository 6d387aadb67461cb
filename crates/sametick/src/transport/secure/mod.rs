//! The handshake, and the packets it protects: who may connect, under which keys, and that nobody
//! else can read, change or repeat a packet. Opens no socket, reads no clock, draws no lots: time
//! and randomness are handed in.
//!
//! A backend seals a token for one client ([`TokenIssuer`]). The client knocks with it ([`Knock`])
//! at the server's [`Gate`], which first makes it prove its address by a cookie, then opens the
//! token and agrees with it on keys that no other session has. From then on a [`Sealer`] and an
//! [`Opener`] on each side turn payloads into packets and back.
//!
//! | promise | by |
//! |---|---|
//! | strangers take no memory and no curve arithmetic, and get no more than they sent | [`Gate`] |
//! | a token lets one session in, from the address that proved it | [`TokenLog`], [`Cookies`] |
//! | no (key, number) pair seals twice, across restarts, tokens and reconnects | [`Sealer`] |
//! | a packet is taken once, unchanged, and moves nothing if it is forged | [`Opener`] |
//! | recorded traffic stays secret if a key of backend or server leaks | Noise's ephemeral keys |
//!
//! The bytes are documented with their code: [`hello`] (the handshake), [`packet`] (established
//! connections), [`token`] and [`client_token`].

mod cipher;
pub mod client_token;
mod connection_id;
mod cookie;
mod gate;
mod half_open;
pub mod hello;
mod knock;
mod limiter;
mod noise;
pub mod packet;
mod random;
mod reset;
mod secret;
#[cfg(test)]
mod seeded;
pub mod token;
mod token_log;
mod verdict;
mod window;

pub use client_token::{ClientToken, Grant, NotIssued, TokenIssuer};
pub use connection_id::ConnectionId;
pub use cookie::{COOKIE_SECONDS, Cookies};
pub(crate) use gate::{Arrival, Owner};
pub use gate::{Gate, GateConfig, Past};
pub use half_open::{HALF_OPEN_MAX, HALF_OPEN_TIMEOUT};
pub use hello::{Denial, RESET_BYTES, is_handshake};
pub use knock::{Connected, KNOCK_INTERVAL, KNOCK_INTERVAL_MAX, KNOCK_TIMEOUT, Knock, Outcome};
pub use limiter::{LIMITER_BUCKETS, Limiter, Quota};
pub use noise::SessionKeys;
pub use packet::{
    Exhausted, Opener, Packet, Protection, Refusal, Sealer, Side, TlsSession, connection_id_of,
};
pub use random::Random;
pub(crate) use random::Seedling;
#[cfg(not(target_arch = "wasm32"))]
pub use random::SystemRandom;
pub use reset::{RESET_INTERVAL, ResetToken};
pub use secret::{SECRET_BYTES, Secret};
pub use token::{
    OPEN_MODE_WARNING, Resume, ServerId, TICKET_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS_MAX,
    TOKEN_USER_BYTES_MAX, Token, TokenHead, TokenKey, TokenKind,
};
pub use token_log::{CLOCK_SKEW_SECONDS_MAX, LOG_TOKENS_MAX, LOG_WINDOW_SECONDS, TokenLog};
pub use verdict::{Accepted, Applicant, Counters, DropReason, Place, Reply, ReplyKind, Verdict};
pub use window::{PACKET_NUMBERS, REPLAY_WINDOW_PACKETS};
