//! The client's side of the handshake: knocks until it is let in, turned away or tired. Believes
//! nobody who has not seen its hello, and nobody to be its server who cannot open its token.

use std::fmt;

use super::client_token::ClientToken;
use super::connection_id::ConnectionId;
use super::cookie::COOKIE_SECONDS;
use super::hello::{
    Accept, COOKIE_BYTES, Denial, HELLO_BYTES, HELLO_ID_BYTES, Hello, NOISE_1_BYTES, Retry,
    WELCOME_BYTES_MAX, Welcome, prologue, put_noise, read_denied,
};
use super::noise::Initiator;
use super::packet::{Opener, Protection, Sealer, Side, TlsSession};
use super::random::{Random, draw};
use super::reset::ResetToken;
use super::secret::Secret;
use super::token::{TokenHead, TokenKind};
use crate::core::mutant::{self, Mutant};
use crate::core::time::{Span, Time};

/// How long a client knocks if it is not told otherwise.
pub const KNOCK_TIMEOUT: Span = Span::seconds(5);
/// The time between the first two hellos; it doubles from one to the next, unless [`Knock::evenly_until`] says
/// otherwise.
pub const KNOCK_INTERVAL: Span = Span::millis(200);
/// The longest time between two hellos.
pub const KNOCK_INTERVAL_MAX: Span = Span::seconds(1);

/// How long a cookie is clung to. A retry that comes sooner was sent before the server saw it; one
/// that comes later means that the server does not take it any more.
const COOKIE_KEPT: Span = Span::seconds(COOKIE_SECONDS - 1);

/// One attempt to connect.
pub struct Knock {
    token: ClientToken,
    hello_id: [u8; HELLO_ID_BYTES],
    /// Around everything that is sent and received, if it is so.
    session: Option<TlsSession>,
    /// From which each handshake's ephemeral key is derived.
    seed: Secret,
    handshakes: u32,
    hello: Box<[u8; HELLO_BYTES]>,
    /// The handshake whose first message the hello carries, and since when it does.
    handshake: Option<(Initiator, [u8; COOKIE_BYTES], Time)>,
    next_send: Time,
    interval: Span,
    /// Before this moment the interval does not grow.
    even_until: Time,
    deadline: Time,
    is_over: bool,
}

/// How a knock ended.
#[derive(Debug)]
pub enum Outcome {
    /// The server opened.
    Connected(Box<Connected>),
    /// The server knows the token and does not let the client in.
    Denied(Denial),
}

/// A connection that the server accepted. The client speaks first.
#[derive(Debug)]
pub struct Connected {
    /// Names the connection, and the client's slot.
    pub connection_id: ConnectionId,
    /// The server's tick when it accepted.
    pub tick: u32,
    /// For packets to the server.
    pub sealer: Sealer,
    /// For packets from the server.
    pub opener: Opener,
    /// Used in place of a token to come back to the same slot.
    pub resume: ClientToken,
    /// Tells a reset of this server from anybody's.
    pub reset_token: ResetToken,
}

impl Knock {
    /// Begins to knock, for [`KNOCK_TIMEOUT`]. The first hello is due at once.
    pub fn new(token: ClientToken, now: Time, random: &mut dyn Random) -> Self {
        let hello_id = draw(random);
        Self {
            hello: Box::new(hello(&token, hello_id, [0; COOKIE_BYTES], false)),
            hello_id,
            session: None,
            seed: Secret::generate(random),
            handshakes: 0,
            handshake: None,
            token,
            next_send: now,
            interval: KNOCK_INTERVAL,
            even_until: now,
            deadline: now + KNOCK_TIMEOUT,
            is_over: false,
        }
    }

    /// Knocks until another moment.
    pub fn until(mut self, deadline: Time) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sends hellos every [`KNOCK_INTERVAL`] until this moment; only then the interval grows. A game stands still
    /// while its players look for a successor: there three lost packets in a row must cost 600 ms, and not 1.4 s.
    /// The caller chooses a moment that bounds how many hellos more a server receives.
    pub fn evenly_until(mut self, moment: Time) -> Self {
        self.even_until = moment;
        self
    }

    /// Knocks through a TLS session: the same handshake, after which packets travel unsealed. Nothing may
    /// have been transmitted yet.
    pub fn within(mut self, session: TlsSession) -> Self {
        assert!(self.interval == KNOCK_INTERVAL && self.handshake.is_none(), "it knocked already");
        *self.hello = hello(&self.token, self.hello_id, [0; COOKIE_BYTES], true);
        self.session = Some(session);
        self
    }

    /// The hello, if one is due. Nothing comes any more after an outcome or the time-out.
    pub fn transmit(&mut self, now: Time) -> Option<[u8; HELLO_BYTES]> {
        if self.is_over || now >= self.deadline || now < self.next_send {
            return None;
        }
        self.next_send = now + self.interval;
        if now >= self.even_until {
            let doubled = Span::micros(self.interval.as_micros() * 2);
            self.interval = doubled.min(KNOCK_INTERVAL_MAX);
        }
        Some(*self.hello)
    }

    /// When to call [`Knock::transmit`] or give up, whichever is sooner.
    pub fn next_wake(&self) -> Option<Time> {
        (!self.is_over).then(|| self.next_send.min(self.deadline))
    }

    /// Whether the server has answered at all: then the token may be used up.
    pub fn is_answered(&self) -> bool {
        self.handshake.is_some()
    }

    /// Whether no answer came in time.
    pub fn timed_out(&self, now: Time) -> bool {
        !self.is_over && now >= self.deadline
    }

    /// Takes a datagram from the server. Junk is ignored, and so is all that comes after the end.
    pub fn receive(&mut self, now: Time, datagram: &[u8]) -> Option<Outcome> {
        if self.is_over || now >= self.deadline {
            return None;
        }
        if let Some(retry) = Retry::read(datagram) {
            self.take_cookie(now, &retry);
            return None;
        }
        let outcome = match read_denied(datagram, &self.hello_id, &self.token.psk) {
            Some(denial) => Outcome::Denied(denial),
            None => Outcome::Connected(Box::new(self.accepted(datagram)?)),
        };
        self.is_over = true;
        Some(outcome)
    }

    fn take_cookie(&mut self, now: Time, retry: &Retry) {
        let has_good_one = self.handshake.as_ref().is_some_and(|(_, cookie, since)| {
            *cookie == retry.cookie || now - *since < COOKIE_KEPT
        });
        if retry.hello_id != self.hello_id || has_good_one {
            return;
        }
        // The prologue has changed, so the handshake is another and must have a key of its own:
        // the same would authenticate two messages under one nonce.
        *self.hello = hello(&self.token, self.hello_id, retry.cookie, self.session.is_some());
        let mut ephemeral = self.seed.child(self.handshakes);
        if mutant::is(Mutant::KeysAgainAfterRestart) {
            ephemeral = self.token.psk.derive("sametick mutant client");
        }
        self.handshakes += 1;
        let (initiator, noise) =
            Initiator::start(&self.token.psk, prologue(&self.hello), ephemeral);
        put_noise(&mut self.hello, &noise);
        self.handshake = Some((initiator, retry.cookie, now));
        (self.next_send, self.interval) = (now, KNOCK_INTERVAL);
    }

    fn accepted(&mut self, datagram: &[u8]) -> Option<Connected> {
        let accept = Accept::read(datagram).filter(|accept| accept.hello_id == self.hello_id)?;
        let (initiator, ..) = self.handshake.as_mut()?;
        let mut payload = [0; WELCOME_BYTES_MAX];
        let (length, keys) = initiator.finish(accept.noise, &mut payload)?;
        let welcome = Welcome::read(payload.get(..length)?)?;
        let protection = match self.session.take() {
            Some(session) => Protection::Passthrough(session),
            None => Protection::Sealed(keys),
        };
        let (sealer, opener) = protection.split(Side::Client, welcome.connection_id);
        Some(Connected {
            connection_id: welcome.connection_id,
            tick: welcome.tick,
            sealer,
            opener,
            resume: ClientToken {
                head: TokenHead {
                    kind: TokenKind::Resume,
                    expires_unix_seconds: welcome.ticket_expires_unix_seconds,
                    ..self.token.head
                },
                psk: welcome.ticket_psk,
                sealed: welcome.ticket.to_vec(),
            },
            reset_token: ResetToken::from_bytes(welcome.reset_token),
        })
    }
}

/// A hello without its Noise message.
fn hello(
    token: &ClientToken,
    hello_id: [u8; HELLO_ID_BYTES],
    cookie: [u8; COOKIE_BYTES],
    is_within_tls: bool,
) -> [u8; HELLO_BYTES] {
    let (head, sealed_token, noise) = (token.head, &token.sealed[..], [0; NOISE_1_BYTES]);
    Hello { head, hello_id, cookie, sealed_token, noise, is_within_tls }.write()
}

impl fmt::Debug for Knock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client_id = self.token.head.client_id;
        formatter.debug_struct("Knock").field("client_id", &client_id).finish_non_exhaustive()
    }
}
