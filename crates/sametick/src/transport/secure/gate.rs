//! The server's side of the handshake: lets those in whose token is genuine. Remembers nothing of
//! anybody before that, and answers nobody with more bytes than it got.
//!
//! A hello is checked in this order, the cheap before the dear: length, version, form, protocol,
//! the TLS session it claims, expiry, whether it was accepted already, cookie, rate of its prefix,
//! token, knowledge of the token's key, log of used tokens, server, the owner's will, and only then the
//! key agreement. That the sender must know the key before the token counts as used keeps an
//! eavesdropper from spending a token that it copied.

use super::connection_id::ConnectionId;
use super::cookie::Cookies;
use super::half_open::{HALF_OPEN_MAX, HalfOpen};
use super::hello::{
    ACCEPT_BYTES_MAX, Accept, Denial, HELLO_BYTES, Hello, NOISE_2_BYTES_MIN, NotHello, RESET_BYTES,
    Retry, WELCOME_BYTES_MAX, Welcome, prologue, write_denied,
};
use super::limiter::{Limiter, Quota};
use super::noise::Responder;
use super::packet::{Protection, Side, TlsSession};
use super::random::{Random, draw};
use super::reset::Resets;
use super::secret::Secret;
use super::token::{
    OPEN_MODE_WARNING, Resume, ServerId, TICKET_LIFETIME_SECONDS, Token, TokenHead, TokenKey,
    TokenKind,
};
use super::token_log::{LOG_WINDOW_SECONDS, TokenLog};
use super::verdict::{Accepted, Applicant, Counters, DropReason, Place, Reply, ReplyKind, Verdict};
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::time::Time;

/// What one server's gate needs to know.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// The game and its version.
    pub protocol_id: u64,
    /// This server's name in tokens; a token for another is denied.
    pub server: ServerId,
    /// Opens the backend's tokens. With [`TokenKey::PUBLISHED`] the server is in open mode.
    pub token_key: TokenKey,
    /// Seals resume tickets and makes reset tokens. Kept on disk, both survive a restart.
    pub ticket_key: TokenKey,
    /// Counted up and kept on disk at each start, before the first ticket.
    pub epoch: u32,
    /// What is known of tokens used before the start.
    pub past: Past,
    /// How many cookies a prefix may ask for.
    pub unvalidated: Quota,
    /// How many hellos with a valid cookie a prefix may send.
    pub validated: Quota,
    /// How many connections may wait for their first packet.
    pub half_open_max: usize,
}

/// What a server that starts knows of the tokens that were used before.
#[derive(Clone, Debug)]
pub enum Past {
    /// Nothing: tokens that were issued before the start are denied, and clients fetch fresh ones.
    /// Resume tickets are good, once. A backend whose clock is ahead can be outwitted by as much:
    /// keep the log where that matters.
    Unknown {
        /// When the server started.
        started_unix_seconds: u64,
    },
    /// Everything: the log was saved when the server stopped.
    Known(TokenLog),
}

impl GateConfig {
    /// With the usual limits, for a server that any token of its backend may name.
    pub fn new(protocol_id: u64, token_key: TokenKey, ticket_key: TokenKey, past: Past) -> Self {
        Self {
            protocol_id,
            server: ServerId::ANY,
            token_key,
            ticket_key,
            epoch: 0,
            past,
            unvalidated: Quota { burst: 512, per_second: 512 },
            validated: Quota { burst: 256, per_second: 128 },
            half_open_max: HALF_OPEN_MAX,
        }
    }
}

/// Decides who gets in.
///
/// ```
/// use sametick::secure::{
///     Applicant, ClientToken, Gate, GateConfig, Knock, Outcome, Past, Place, SystemRandom,
///     TokenKey, Verdict,
/// };
/// use sametick::{Peer, Time};
///
/// let (now, unix_seconds, peer) = (Time::from_micros(0), 1_800_000_000, Peer::new([1; 16], 4000));
/// let random = &mut SystemRandom::new();
/// let past = Past::Unknown { started_unix_seconds: unix_seconds };
/// let config = GateConfig::new(7, TokenKey::PUBLISHED, TokenKey::generate(random), past);
/// let mut gate = Gate::new(config, now, random);
/// let token = ClientToken::open_mode(7, 17, b"Ann", random).unwrap();
/// let mut knock = Knock::new(token, now, random);
///
/// // The first hello earns a cookie, the second a connection.
/// let hello = knock.transmit(now).unwrap();
/// let admit = &mut |_: &Applicant| Ok(Place { slot: 3, tick: 900 });
/// let Verdict::Reply(retry) = gate.receive(now, unix_seconds, peer, &hello, random, admit) else {
///     panic!("a stranger gets a cookie")
/// };
/// assert!(knock.receive(now, &retry).is_none());
/// let hello = knock.transmit(now).unwrap();
/// let Verdict::Accepted(server) = gate.receive(now, unix_seconds, peer, &hello, random, admit)
/// else {
///     panic!("its cookie and token are good")
/// };
/// let Some(Outcome::Connected(client)) = knock.receive(now, &server.reply) else {
///     panic!("it was accepted")
/// };
/// assert_eq!(client.connection_id.slot(), 3);
/// ```
#[derive(Debug)]
pub struct Gate {
    protocol_id: u64,
    server: ServerId,
    token_key: TokenKey,
    ticket_key: TokenKey,
    epoch: u32,
    /// Tokens issued before are denied.
    not_before_unix_seconds: u64,
    is_open: bool,
    cookies: Cookies,
    unvalidated: Limiter,
    validated: Limiter,
    log: TokenLog,
    half_open: HalfOpen,
    resets: Resets,
    counters: Counters,
}

/// The moment and the sender of a datagram, and the TLS session it came in, if it did.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    pub(crate) unix_seconds: u64,
    pub(crate) peer: Peer,
    pub(crate) session: Option<TlsSession>,
}

/// What the gate asks its owner, who has the connections.
pub(crate) struct Owner<'a> {
    /// The owner's word on an applicant.
    pub(crate) admit: &'a mut dyn FnMut(&Applicant) -> Result<Place, Denial>,
    /// Whether a connection bears this id, be it half-open or about to leave.
    pub(crate) has: &'a dyn Fn(ConnectionId) -> bool,
}

impl Gate {
    /// A gate that has seen nobody. All memory for strangers is allocated here.
    pub fn new(config: GateConfig, now: Time, random: &mut dyn Random) -> Self {
        let (log, not_before_unix_seconds) = match config.past {
            Past::Unknown { started_unix_seconds } => {
                (TokenLog::new(now, random), started_unix_seconds)
            }
            Past::Known(log) => (log, 0),
        };
        let reset_secret = config.ticket_key.secret().derive("sametick 2026 reset tokens");
        Self {
            protocol_id: config.protocol_id,
            server: config.server,
            is_open: config.token_key.is_published(),
            token_key: config.token_key,
            ticket_key: config.ticket_key,
            epoch: config.epoch,
            not_before_unix_seconds,
            cookies: Cookies::new(random),
            unvalidated: Limiter::new(config.unvalidated, random),
            validated: Limiter::new(config.validated, random),
            log,
            half_open: HalfOpen::new(config.half_open_max),
            resets: Resets::new(reset_secret),
            counters: Counters::default(),
        }
    }

    /// What the server must say when it starts, in open mode.
    pub fn warning(&self) -> Option<&'static str> {
        self.is_open.then_some(OPEN_MODE_WARNING)
    }

    /// Judges one datagram. `admit` is asked about those who may come in and gives them a place,
    /// or denies them; it is asked at most once, and not about strangers.
    ///
    /// The gate knows no connections: whoever calls this instead of having a
    /// [`Listener`](crate::transport::endpoint::Listener) must end what bears the same connection id.
    pub fn receive(
        &mut self,
        now: Time,
        unix_seconds: u64,
        peer: Peer,
        datagram: &[u8],
        random: &mut dyn Random,
        admit: &mut dyn FnMut(&Applicant) -> Result<Place, Denial>,
    ) -> Verdict {
        let arrival = Arrival { now, unix_seconds, peer, session: None };
        self.receive_from(arrival, datagram, random, Owner { admit, has: &|_| false })
    }

    /// The same for a datagram that may have come in a TLS session, and an owner that says which
    /// connection ids are in use: no other is given.
    pub(crate) fn receive_from(
        &mut self,
        arrival: Arrival,
        datagram: &[u8],
        random: &mut dyn Random,
        owner: Owner<'_>,
    ) -> Verdict {
        let verdict = self.judge(arrival, datagram, random, owner);
        let verdict = verdict.unwrap_or_else(Verdict::Dropped);
        self.counters.count(&verdict);
        verdict
    }

    /// The client has spoken: its connection is open, and its accept need not be kept.
    pub fn confirm(&mut self, client_id: u64) {
        self.half_open.remove(client_id);
    }

    /// One connection whose client did not speak in time, to be dropped; call it until it gives
    /// none.
    pub fn take_overdue(&mut self, now: Time) -> Option<ConnectionId> {
        self.half_open.take_overdue(now)
    }

    /// How many connections wait for their first packet.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// The reset to send to who uses a connection id that nobody has: shorter than what caused it,
    /// and not more often than every [`super::RESET_INTERVAL`].
    pub fn reset_for(
        &mut self,
        now: Time,
        peer: Peer,
        connection_id: ConnectionId,
        trigger_bytes: usize,
    ) -> Option<[u8; RESET_BYTES]> {
        self.resets.reset_for(now, peer, connection_id, trigger_bytes)
    }

    /// Changes the secret behind the cookies: every few minutes is often enough.
    pub fn rotate_cookie_secret(&mut self, now: Time, random: &mut dyn Random) {
        self.cookies.rotate(now, random);
    }

    /// The game and its version.
    pub fn protocol_id(&self) -> u64 {
        self.protocol_id
    }

    /// Seals what this gate lets in again.
    pub(crate) fn ticket_key(&self) -> &TokenKey {
        &self.ticket_key
    }

    /// The log of used tokens, to be saved when the server stops.
    pub fn token_log(&self) -> &TokenLog {
        &self.log
    }

    /// What was said so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn judge(
        &mut self,
        arrival: Arrival,
        datagram: &[u8],
        random: &mut dyn Random,
        owner: Owner<'_>,
    ) -> Result<Verdict, DropReason> {
        let Arrival { now, unix_seconds, peer, session } = arrival;
        let hello = Hello::read(datagram).map_err(|error| match error {
            NotHello::Length => DropReason::Length,
            NotHello::Version => DropReason::Version,
            NotHello::Malformed => DropReason::Malformed,
        })?;
        let bytes: &[u8; HELLO_BYTES] = datagram.try_into().map_err(|_| DropReason::Length)?;
        if hello.head.protocol_id != self.protocol_id {
            return Err(DropReason::Protocol);
        }
        // Nobody gets a connection whose packets travel in the clear.
        if hello.is_within_tls && session.is_none() {
            return Err(DropReason::Unvouched);
        }
        self.check_expiry(&hello.head, unix_seconds)?;
        let client_id = hello.head.client_id;
        if let Some((accepted, accept)) = self.half_open.answer_to(now, client_id, bytes) {
            // Its address may have changed since: it would be denied with another hello, for its token
            // is used.
            if accepted != peer && !self.unvalidated.allow(now, peer) {
                return Err(DropReason::Flooded);
            }
            return Ok(Verdict::Reply(Reply::new(ReplyKind::AcceptAgain, accept)));
        }
        if !self.cookies.accepts(now, peer, client_id, &hello.cookie) {
            if !self.unvalidated.allow(now, peer) {
                return Err(DropReason::Flooded);
            }
            let cookie = self.cookies.bake(now, peer, client_id);
            let retry = Retry { hello_id: hello.hello_id, cookie }.write();
            return Ok(Verdict::Reply(Reply::new(ReplyKind::Retry, &retry)));
        }
        if !self.validated.allow(now, peer) {
            return Err(DropReason::Limited);
        }
        let key = match hello.head.kind {
            TokenKind::Connect => &self.token_key,
            TokenKind::Resume => &self.ticket_key,
        };
        let token = Token::open(hello.head, hello.sealed_token, key);
        let token = token.ok_or(DropReason::TokenForged)?;
        let mut ephemeral = Secret::generate(random);
        if mutant::is(Mutant::KeysAgainAfterRestart) {
            ephemeral = token.psk.derive("sametick mutant server");
        }
        let responder = Responder::hear(&token.psk, prologue(bytes), &hello.noise, ephemeral);
        let responder = responder.ok_or(DropReason::Unproven)?;
        match self.admit(arrival, &hello, &token, owner.admit) {
            Ok(place) => {
                let id = unused_id(place.slot, random, owner.has);
                let tick = place.tick;
                self.accept(arrival, bytes, &hello, token, responder, id, tick, random)
            }
            Err(denial) => {
                let denied = write_denied(&hello.hello_id, denial, &token.psk);
                Ok(Verdict::Reply(Reply::new(ReplyKind::Denied(denial), &denied)))
            }
        }
    }

    fn check_expiry(&self, head: &TokenHead, unix_seconds: u64) -> Result<(), DropReason> {
        // In open mode clients make their own tokens, by clocks that may be wrong.
        if self.is_open && head.kind == TokenKind::Connect {
            Ok(())
        } else if head.expires_unix_seconds <= unix_seconds {
            Err(DropReason::Expired)
        } else if head.expires_unix_seconds - unix_seconds > LOG_WINDOW_SECONDS {
            Err(DropReason::ExpiryTooFar)
        } else {
            Ok(())
        }
    }

    /// The place of a client that proved its token, or why it gets none.
    fn admit(
        &mut self,
        arrival: Arrival,
        hello: &Hello<'_>,
        token: &Token,
        admit: &mut dyn FnMut(&Applicant) -> Result<Place, Denial>,
    ) -> Result<Place, Denial> {
        self.log.advance(arrival.now);
        if self.log.contains(Token::id(hello.sealed_token)) {
            return Err(Denial::TokenUsed);
        }
        let from_backend = token.head.kind == TokenKind::Connect && !self.is_open;
        if from_backend && token.issued_unix_seconds < self.not_before_unix_seconds {
            return Err(Denial::TokenTooOld);
        }
        if token.server != ServerId::ANY && token.server != self.server {
            return Err(Denial::WrongServer);
        }
        if self.log.is_full() {
            return Err(Denial::Busy);
        }
        admit(&Applicant {
            client_id: token.head.client_id,
            user_data: token.user_data.clone(),
            resume: token.resume,
            peer: arrival.peer,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "all that one handshake gathered")]
    fn accept(
        &mut self,
        arrival: Arrival,
        bytes: &[u8; HELLO_BYTES],
        hello: &Hello<'_>,
        token: Token,
        responder: Responder,
        connection_id: ConnectionId,
        tick: u32,
        random: &mut dyn Random,
    ) -> Result<Verdict, DropReason> {
        let Arrival { now, unix_seconds, peer, session } = arrival;
        let ticket = self.ticket(unix_seconds, &token, connection_id.slot(), random);
        let welcome = Welcome {
            connection_id,
            tick,
            reset_token: self.resets.token(connection_id, peer),
            ticket_expires_unix_seconds: ticket.head.expires_unix_seconds,
            ticket_psk: ticket.psk.clone(),
            ticket: &ticket.seal(&self.ticket_key, random),
        };
        let mut payload = [0; WELCOME_BYTES_MAX];
        let payload_bytes = welcome.write(&mut payload);
        let mut noise = [0; NOISE_2_BYTES_MIN + WELCOME_BYTES_MAX];
        self.counters.key_agreements += 1;
        let agreed = responder.answer(&payload[..payload_bytes], &mut noise);
        let (noise_bytes, keys) = agreed.ok_or(DropReason::KeyRefused)?;
        let mut buffer = [0; ACCEPT_BYTES_MAX];
        let accept = Accept { hello_id: hello.hello_id, noise: &noise[..noise_bytes] };
        let accept_bytes = accept.write(&mut buffer);
        let reply = &buffer[..accept_bytes];
        self.log.insert(Token::id(hello.sealed_token));
        let client_id = token.head.client_id;
        let evicted = self.half_open.insert(now, (client_id, peer, connection_id), bytes, reply);
        let protection = match session.filter(|_| hello.is_within_tls) {
            Some(session) => Protection::Passthrough(session),
            None => Protection::Sealed(keys),
        };
        let (sealer, opener) = protection.split(Side::Server, connection_id);
        Ok(Verdict::Accepted(Box::new(Accepted {
            client_id,
            user_data: token.user_data,
            resume: token.resume,
            connection_id,
            sealer,
            opener,
            ticket_expires_unix_seconds: ticket.head.expires_unix_seconds,
            evicted,
            reply: reply.to_vec(),
        })))
    }

    /// What lets the same client come back to its slot.
    fn ticket(
        &self,
        unix_seconds: u64,
        token: &Token,
        slot: u16,
        random: &mut dyn Random,
    ) -> Token {
        let expires_unix_seconds = unix_seconds.saturating_add(TICKET_LIFETIME_SECONDS);
        Token {
            head: TokenHead { kind: TokenKind::Resume, expires_unix_seconds, ..token.head },
            psk: Secret::generate(random),
            server: self.server,
            issued_unix_seconds: unix_seconds,
            resume: Some(Resume { slot, epoch: self.epoch }),
            user_data: token.user_data.clone(),
        }
    }
}

/// An id in a slot that no connection bears. A salt alone does not tell a connection from the one
/// that had the slot before: one in 65,536 draws is the same again, and then the new connection
/// would be given the packets of the old one.
fn unused_id(
    slot: u16,
    random: &mut dyn Random,
    has: &dyn Fn(ConnectionId) -> bool,
) -> ConnectionId {
    let drawn = u16::from_le_bytes(draw(random));
    // Counted up, not drawn again: that ends whatever the randomness gives. A slot has far fewer
    // connections than salts.
    let salts = (0..=u16::MAX).map(|more| drawn.wrapping_add(more));
    let mut ids = salts.map(|salt| ConnectionId::new(slot, salt));
    ids.find(|id| !has(*id)).unwrap_or(ConnectionId::new(slot, drawn))
}
