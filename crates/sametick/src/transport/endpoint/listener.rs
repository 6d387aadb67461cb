//! The server's end of all its connections.

use super::connection::{Connection, LastSealed};
use crate::core::bits::BitWriter;
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};
use crate::transport::channel::{
    BODY_BYTES_MAX, Backlogged, CloseReason, DATAGRAM_BYTES_MAX, Event, Settings, State, Statistics,
};
use crate::transport::secure::{
    Accepted, Applicant, Arrival, ConnectionId, Counters, Denial, Gate, GateConfig,
    HALF_OPEN_TIMEOUT, Owner, Place, Random, Refusal, Reply, Resume, TlsSession, TokenKey,
    TokenLog, Verdict, connection_id_of, is_handshake,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// How many replaced connections can be saying goodbye; more are dropped without.
const LEAVING_MAX: usize = 64;

/// How often the secret behind the cookies changes.
const COOKIE_SECRET_LASTS: Span = Span::seconds(120);

/// How many connections a listener can have.
pub const CONNECTIONS_MAX: usize = 4096;

/// How a listener behaves.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Who is let in.
    pub gate: GateConfig,
    /// How connections behave.
    pub channel: Settings,
    /// How many there may be, at most [`CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// The seconds since 1970 at [`Time::ZERO`]: tokens tell real time.
    pub unix_seconds_at_zero: u64,
}

/// What a listener tells its owner.
#[derive(Debug)]
pub enum ListenerEvent<'a> {
    /// A client is here and has shown its keys.
    Connected {
        /// Its connection.
        connection: ConnectionId,
        /// The identity that the backend gave it.
        client_id: u64,
        /// What the backend attached.
        user_data: &'a [u8],
        /// What it continues, if it came back.
        resume: Option<Resume>,
    },
    /// Something happened on a connection.
    Message {
        /// Which one.
        connection: ConnectionId,
        /// What happened.
        event: Event<'a>,
    },
    /// A connection is over.
    Left {
        /// Which one.
        connection: ConnectionId,
        /// Whose it was.
        client_id: u64,
        /// Why.
        reason: CloseReason,
    },
}

/// A datagram to be sent at once to whoever sent the one it answers. Never longer than that.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an answer to a stranger must not allocate")]
pub enum Answer {
    /// The gate's.
    Reply(Reply),
    /// Welcome.
    Accept(Vec<u8>),
    /// Nobody here has that connection.
    Reset([u8; crate::transport::secure::RESET_BYTES]),
}

/// Datagrams that were no handshake and were not taken, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerDrops {
    /// Too short for anything.
    pub malformed: u64,
    /// Of a connection that is not there.
    pub unknown_connection: u64,
    /// Seen before, or too old to tell.
    pub replayed: u64,
    /// Not sealed by the other end.
    pub forged: u64,
}

/// All connections of a server. Strangers leave no trace in it.
#[derive(Debug)]
pub struct Listener {
    gate: Gate,
    channel: Settings,
    unix_seconds_at_zero: u64,
    /// By slot.
    connections: Vec<Option<Box<Connection>>>,
    /// By slot as far as any was used, before when nothing is due on a connection: nearly always it is
    /// passed over with a look at this. Whoever does anything to a connection notes it here.
    wakes: Vec<Time>,
    /// By name, those whose client has not spoken yet. Each has a slot waiting for it, which an older
    /// session of the same client keeps until then: a hello that was long under way ends nothing.
    half_open: BTreeMap<[u8; ConnectionId::BYTES], Box<Connection>>,
    /// Those that a newer session replaced, while they are told so.
    leaving: Vec<Connection>,
    cookie_secret_at: Time,
    /// What the next accepted clients are told of the time.
    tick: u32,
    drops: ListenerDrops,
    packets_taken: u64,
    last_sealed: Option<LastSealed>,
    /// The slot to ask next for something to send.
    cursor: usize,
    body: BitWriter,
    datagram: Vec<u8>,
}

impl Listener {
    /// A server without clients.
    pub fn new(config: ListenerConfig, now: Time, random: &mut dyn Random) -> Self {
        let slots = config.connections_max;
        assert!((1..=CONNECTIONS_MAX).contains(&slots), "1 to {CONNECTIONS_MAX} connections");
        Self {
            gate: Gate::new(config.gate, now, random),
            channel: config.channel,
            unix_seconds_at_zero: config.unix_seconds_at_zero,
            connections: (0..slots).map(|_| None).collect(),
            wakes: Vec::new(),
            half_open: BTreeMap::new(),
            leaving: Vec::new(),
            cookie_secret_at: now,
            tick: 0,
            drops: ListenerDrops::default(),
            packets_taken: 0,
            last_sealed: None,
            cursor: 0,
            body: BitWriter::fixed(BODY_BYTES_MAX),
            datagram: Vec::with_capacity(DATAGRAM_BYTES_MAX),
        }
    }

    /// What its owner should know before it starts; open mode has such a warning.
    pub fn warning(&self) -> Option<&'static str> {
        self.gate.warning()
    }

    /// What the handshake counted.
    pub fn gate_counters(&self) -> &Counters {
        self.gate.counters()
    }

    /// Packets of connections that were not taken.
    pub fn drops(&self) -> ListenerDrops {
        self.drops
    }

    /// Packets of connections that were taken.
    pub fn packets_taken(&self) -> u64 {
        self.packets_taken
    }

    /// What the datagram that was transmitted last holds.
    pub fn last_sealed(&self) -> Option<LastSealed> {
        self.last_sealed
    }

    /// The heap that one connection holds, at most a little more than
    /// [`CHANNEL_MEMORY_BYTES_MAX`](crate::transport::channel::CHANNEL_MEMORY_BYTES_MAX).
    pub fn connection_memory_bytes(&self, of: ConnectionId) -> Option<usize> {
        self.iter().find(|connection| connection.id == of).map(Connection::memory_bytes)
    }

    /// The heap that all connections hold, half-open and ended ones among them.
    pub fn memory_bytes(&self) -> usize {
        self.iter().map(Connection::memory_bytes).sum()
    }

    /// Tells clients who are accepted from now on what tick it is.
    pub fn set_tick(&mut self, tick: u32) {
        self.tick = tick;
    }

    /// The connections of clients who are here.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        let here = |connection: &&Connection| connection.is_confirmed && !connection.has_ended();
        self.iter().filter(here).map(|connection| connection.id)
    }

    /// Takes a datagram; its bytes are of no use afterwards. An answer goes back to the same peer.
    pub fn receive(
        &mut self,
        now: Time,
        peer: Peer,
        datagram: &mut [u8],
        random: &mut dyn Random,
        tell: &mut impl FnMut(ListenerEvent<'_>),
    ) -> Option<Answer> {
        self.receive_from(now, (peer, None), datagram, random, tell)
    }

    /// The same for a datagram that came in a TLS session, for which its link vouches: a client may ask
    /// there that its packets not be sealed a second time. Tokens, limits and counters are the same.
    /// Those packets count in that session only, so a link gives every session a peer of its own.
    pub fn receive_within(
        &mut self,
        now: Time,
        (peer, session): (Peer, TlsSession),
        datagram: &mut [u8],
        random: &mut dyn Random,
        tell: &mut impl FnMut(ListenerEvent<'_>),
    ) -> Option<Answer> {
        self.receive_from(now, (peer, Some(session)), datagram, random, tell)
    }

    pub(crate) fn receive_from(
        &mut self,
        now: Time,
        (peer, session): (Peer, Option<TlsSession>),
        datagram: &mut [u8],
        random: &mut dyn Random,
        tell: &mut impl FnMut(ListenerEvent<'_>),
    ) -> Option<Answer> {
        if is_handshake(datagram) {
            let unix_seconds = self.unix_seconds(now);
            let arrival = Arrival { now, unix_seconds, peer, session };
            return self.receive_handshake(arrival, datagram, random);
        }
        let Some(id) = connection_id_of(datagram) else {
            self.drops.malformed += 1;
            return None;
        };
        let half_open = self.half_open.get_mut(&id.to_bytes()).map(|connection| &mut **connection);
        let Some(connection) = half_open.or_else(|| find(&mut self.connections, id)) else {
            self.drops.unknown_connection += 1;
            return self.gate.reset_for(now, peer, id, datagram.len()).map(Answer::Reset);
        };
        let opened = match connection.open(peer, session, datagram) {
            Ok(opened) => opened,
            Err(refusal) => {
                self.drops.count(refusal);
                return None;
            }
        };
        self.packets_taken += 1;
        if !connection.is_confirmed {
            self.confirm(now, id, tell);
        }
        if let Some(connection) = find(&mut self.connections, id) {
            connection.take(now, opened, &mut |event| {
                tell(ListenerEvent::Message { connection: id, event });
            });
            self.wakes[usize::from(id.slot())] = connection.next_wake();
        }
        None
    }

    /// Moves time on: finds who is gone, and forgets those who have been for long.
    pub fn advance(&mut self, now: Time, tell: &mut impl FnMut(ListenerEvent<'_>)) {
        while let Some(overdue) = self.gate.take_overdue(now) {
            self.remove_half_open(overdue);
        }
        self.half_open.retain(|_, connection| now - connection.began_at < HALF_OPEN_TIMEOUT);
        for (place, wake) in self.connections.iter_mut().zip(&mut self.wakes) {
            let is_due = |c: &&mut Box<Connection>| now >= *wake || c.channel.has_news();
            let Some(connection) = place.as_mut().filter(is_due) else { continue };
            let (id, client_id) = (connection.id, connection.client_id);
            let ended = connection.advance(now, &mut |event| {
                tell(ListenerEvent::Message { connection: id, event });
            });
            if let Some(reason) = ended {
                tell(ListenerEvent::Left { connection: id, client_id, reason });
            }
            *wake = connection.next_wake();
            if connection.is_forgotten(now) {
                (*place, *wake) = (None, Time::MAX);
            }
        }
        // Their end has been told already; what is left is to be polite.
        self.leaving.retain_mut(|connection| connection.advance(now, &mut |_| {}).is_none());
        self.cursor = 0;
    }

    /// The next datagram to send, and to whom; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<(Peer, &[u8])> {
        for connection in &mut self.leaving {
            if connection.transmit(now, &mut self.body, &mut self.datagram) {
                self.last_sealed = connection.last_sealed;
                return Some((connection.peer(), &self.datagram));
            }
        }
        while let Some(ahead) = self.wakes[self.cursor..].iter().position(|wake| now >= *wake) {
            let slot = self.cursor + ahead;
            self.cursor = slot;
            if let Some(connection) = &mut self.connections[slot] {
                let is_sent = connection.transmit(now, &mut self.body, &mut self.datagram);
                self.wakes[slot] = connection.next_wake();
                if is_sent {
                    self.last_sealed = connection.last_sealed;
                    return Some((connection.peer(), &self.datagram));
                }
            }
            self.cursor += 1;
        }
        self.cursor = 0;
        None
    }

    /// When to call [`advance`](Listener::advance) and [`transmit`](Listener::transmit) at the
    /// latest, if nothing is received and nothing sent before.
    pub fn next_wake(&self) -> Time {
        let half_open = self.half_open.values().map(|connection| connection.next_wake());
        let leaving = self.leaving.iter().map(Connection::next_wake);
        let wakes = self.wakes.iter().copied().fold(Time::MAX, Time::min);
        half_open.chain(leaving).fold(wakes, Time::min)
    }

    /// The log of used tokens, to be kept when the server stops: then no token serves twice, even
    /// after a restart.
    pub fn token_log(&self) -> &TokenLog {
        self.gate.token_log()
    }

    /// Takes a reliable message for a client.
    pub fn send_reliable(&mut self, to: ConnectionId, message: &[u8]) -> Result<(), Backlogged> {
        let Some(connection) = find(&mut self.connections, to) else { return Ok(()) };
        let sent = connection.channel.send_reliable(message);
        self.wake(to);
        sent
    }

    /// Takes an unreliable message for a client; `token` names it in what is told of its fate.
    pub fn send_unreliable(&mut self, to: ConnectionId, token: u32, message: &[u8]) {
        if let Some(connection) = find(&mut self.connections, to) {
            connection.channel.send_unreliable(token, message);
            self.wake(to);
        }
    }

    /// How many bytes of a message may be sent to a client now; none if it is not here.
    pub fn budget_bytes(&mut self, now: Time, to: ConnectionId) -> usize {
        let connection = find(&mut self.connections, to);
        connection.map_or(0, |connection| connection.channel.budget_bytes(now))
    }

    /// Bytes of reliable messages that a client has not acknowledged: one who falls far behind is to
    /// be sent away.
    pub fn backlog_bytes(&self, of: ConnectionId) -> usize {
        let found = self.iter().find(|connection| connection.id == of);
        found.map_or(0, |connection| connection.channel.backlog_bytes())
    }

    /// When a client is sent a packet that only acknowledges, unless another goes there before; none if nothing is to
    /// be acknowledged.
    pub fn acknowledges_at(&self, of: ConnectionId) -> Option<Time> {
        self.iter().find(|connection| connection.id == of)?.channel.acknowledges_at()
    }

    /// Says goodbye to a client.
    pub fn close(&mut self, now: Time, to: ConnectionId, reason: CloseReason) {
        if let Some(connection) = find(&mut self.connections, to) {
            connection.channel.close(now, reason);
            self.wake(to);
        }
    }

    /// A TLS session is over: who was in it cannot say anything any more, so its connection ends without
    /// waiting for the time-out. A sealed connection may go on elsewhere and is left alone.
    pub fn session_ended(&mut self, now: Time, peer: Peer) {
        let is_in_it = |c: &&mut Box<Connection>| c.is_within_tls() && c.peer() == peer;
        let gone = self.connections.iter_mut().flatten().find(is_in_it);
        if let Some(id) = gone.map(|connection| connection.id) {
            self.close(now, id, CloseReason::Left);
        }
    }

    /// Has a connection looked after at once.
    fn wake(&mut self, connection: ConnectionId) {
        let slot = usize::from(connection.slot());
        if self.wakes.len() <= slot {
            self.wakes.resize(slot + 1, Time::MAX);
        }
        self.wakes[slot] = Time::ZERO;
    }

    /// What was counted and measured on a connection.
    pub fn statistics(&self, of: ConnectionId) -> Option<Statistics> {
        self.iter().find(|connection| connection.id == of).map(|c| c.channel.statistics())
    }

    /// Whether a client's packets travel unsealed in a TLS session; none if it is not here.
    pub fn is_within_tls(&self, of: ConnectionId) -> Option<bool> {
        self.iter().find(|connection| connection.id == of).map(Connection::is_within_tls)
    }

    /// Where a client is at present.
    pub fn peer(&self, of: ConnectionId) -> Option<Peer> {
        self.iter().find(|connection| connection.id == of).map(Connection::peer)
    }

    /// Where a client is, and when we sent the newest packet that it has; none if it is not here. The
    /// first that it has is the one that let it in.
    pub fn lent(&self, of: ConnectionId) -> Option<(Peer, Time)> {
        let connection = self.connections.get(usize::from(of.slot()))?.as_deref()?;
        let is_here = connection.id == of && connection.channel.state() == State::Open;
        let delivered_at = connection.channel.delivered_at().unwrap_or(connection.began_at);
        is_here.then_some((connection.peer(), delivered_at))
    }

    /// The game and its version.
    pub fn protocol_id(&self) -> u64 {
        self.gate.protocol_id()
    }

    /// Seals what lets a client come back.
    pub(crate) fn ticket_key(&self) -> &TokenKey {
        self.gate.ticket_key()
    }

    /// The seconds since 1970.
    pub fn unix_seconds(&self, now: Time) -> u64 {
        self.unix_seconds_at_zero + now.as_micros() / 1_000_000
    }

    fn iter(&self) -> impl Iterator<Item = &Connection> {
        let half_open = self.half_open.values();
        self.connections.iter().flatten().chain(half_open).map(|connection| &**connection)
    }

    fn receive_handshake(
        &mut self,
        arrival: Arrival,
        datagram: &[u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        let Arrival { now, peer, .. } = arrival;
        if now - self.cookie_secret_at >= COOKIE_SECRET_LASTS {
            self.gate.rotate_cookie_secret(now, random);
            self.cookie_secret_at = now;
        }
        let (connections, half_open, tick) = (&self.connections, &self.half_open, self.tick);
        let mut admit = |applicant: &Applicant| {
            let others = half_open.values().filter(|c| c.client_id != applicant.client_id);
            let reserved = others.map(|c| c.id.slot().into()).collect();
            // Who was accepted and never spoke makes room, unless a live session stands there still.
            let is_live = |slot: u16| {
                let place = connections.get(usize::from(slot)).and_then(Option::as_ref);
                place.is_some_and(|live| !live.has_ended())
            };
            let waiting = half_open.values().filter(|c| !is_live(c.id.slot()));
            let oldest = waiting.min_by_key(|c| c.began_at).map(|c| c.id.slot());
            let slot = place_for(connections, &reserved, applicant)
                .or(oldest)
                .ok_or(Denial::ServerFull)?;
            Ok(Place { slot, tick })
        };
        let leaving = &self.leaving;
        let has = |id: ConnectionId| {
            let place = connections.get(usize::from(id.slot())).and_then(Option::as_ref);
            place.is_some_and(|c| c.id == id)
                || half_open.contains_key(&id.to_bytes())
                || leaving.iter().any(|c| c.id == id)
        };
        let owner = Owner { admit: &mut admit, has: &has };
        match self.gate.receive_from(arrival, datagram, random, owner) {
            Verdict::Dropped(_) => None,
            Verdict::Reply(reply) => Some(Answer::Reply(reply)),
            Verdict::Accepted(accepted) => {
                Some(Answer::Accept(self.add(now, peer, *accepted, random)))
            }
        }
    }

    fn add(
        &mut self,
        now: Time,
        peer: Peer,
        accepted: Accepted,
        random: &mut dyn Random,
    ) -> Vec<u8> {
        if let Some(evicted) = accepted.evicted {
            self.remove_half_open(evicted);
        }
        let mut seed = [0; 8];
        random.fill(&mut seed);
        let id = accepted.connection_id;
        let keys = (accepted.sealer, accepted.opener);
        let seed = u64::from_le_bytes(seed);
        let mut connection =
            Connection::new(id, accepted.client_id, peer, keys, self.channel, now, seed);
        connection.resume = accepted.resume;
        connection.user_data = accepted.user_data;
        self.make_room_for(accepted.client_id, id.slot());
        self.half_open.insert(id.to_bytes(), Box::new(connection));
        accepted.reply
    }

    /// The client has shown its keys: the connection takes its place.
    fn confirm(&mut self, now: Time, id: ConnectionId, tell: &mut impl FnMut(ListenerEvent<'_>)) {
        let Some(mut connection) = self.half_open.remove(&id.to_bytes()) else { return };
        connection.is_confirmed = true;
        let (client_id, resume) = (connection.client_id, connection.resume);
        let user_data = std::mem::take(&mut connection.user_data);
        // What was accepted before is an attempt that the client has given up.
        let began_at = connection.began_at;
        let keeps = mutant::is(Mutant::OlderAttemptKept);
        self.half_open.retain(|_, c| c.client_id != client_id || c.began_at > began_at || keeps);
        self.gate.confirm(client_id);
        // An identity has one session, whatever slot an older one has; a slot has one connection.
        for (slot, place) in self.connections.iter_mut().enumerate() {
            let is_own = place.as_ref().is_some_and(|old| old.client_id == client_id);
            if !is_own && slot != usize::from(id.slot()) {
                continue;
            }
            if let Some(wake) = self.wakes.get_mut(slot) {
                *wake = Time::MAX;
            }
            if let Some(mut old) = place.take().filter(|old| !old.has_ended()) {
                let (connection, client_id) = (old.id, old.client_id);
                tell(ListenerEvent::Left { connection, client_id, reason: CloseReason::Replaced });
                old.channel.close(now, CloseReason::Replaced);
                if self.leaving.len() < LEAVING_MAX {
                    self.leaving.push(*old);
                }
            }
        }
        self.connections[usize::from(id.slot())] = Some(connection);
        self.wake(id);
        let user_data = &user_data;
        tell(ListenerEvent::Connected { connection: id, client_id, user_data, resume });
    }

    /// A client may have one half-open connection besides the next: which of two hellos is the newer
    /// one only its first packet tells. Who was to get its slot and never spoke makes room.
    fn make_room_for(&mut self, client_id: u64, slot: u16) {
        self.half_open.retain(|_, other| other.client_id == client_id || other.id.slot() != slot);
        let own = self.half_open.values().filter(|other| other.client_id == client_id);
        let oldest = own.clone().min_by_key(|other| other.began_at).map(|oldest| oldest.id);
        if let Some(oldest) = oldest.filter(|_| own.count() > 1) {
            self.remove_half_open(oldest);
        }
    }

    fn remove_half_open(&mut self, id: ConnectionId) {
        self.half_open.remove(&id.to_bytes());
    }
}

fn find(connections: &mut [Option<Box<Connection>>], id: ConnectionId) -> Option<&mut Connection> {
    let connection = connections.get_mut(usize::from(id.slot()))?.as_deref_mut()?;
    (connection.id == id).then_some(connection)
}

/// The slot of an older session of the same client, the one it comes back to, or the first free one; if
/// there is none, that of a connection which is over. None that is reserved for somebody else.
fn place_for(
    connections: &[Option<Box<Connection>>],
    reserved: &BTreeSet<usize>,
    applicant: &Applicant,
) -> Option<u16> {
    let find = |is_right: &dyn Fn(Option<&Connection>) -> bool| {
        let mut places = connections.iter().enumerate();
        let right = |(slot, place): &(usize, &Option<Box<Connection>>)| {
            !reserved.contains(slot) && is_right(place.as_deref())
        };
        places.find(right).map(|(slot, _)| slot)
    };
    let is_own = |c: &Connection| c.client_id == applicant.client_id;
    let is_free = |slot: &usize| {
        connections.get(*slot).is_some_and(Option::is_none) && !reserved.contains(slot)
    };
    let own = find(&|place| place.is_some_and(is_own));
    let back = applicant.resume.map(|resume| usize::from(resume.slot)).filter(is_free);
    let free = || find(&|place| place.is_none());
    let over = || find(&|place| place.is_some_and(Connection::has_ended));
    own.or(back).or_else(free).or_else(over).map(|slot| slot as u16)
}

impl ListenerDrops {
    pub(super) fn count(&mut self, refusal: Refusal) {
        let counter = match refusal {
            Refusal::Malformed | Refusal::Exhausted => &mut self.malformed,
            Refusal::Replayed | Refusal::TooOld => &mut self.replayed,
            Refusal::Forged => &mut self.forged,
        };
        *counter += 1;
    }
}

impl Deref for Answer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Reply(reply) => reply,
            Self::Accept(bytes) => bytes,
            Self::Reset(bytes) => bytes,
        }
    }
}
