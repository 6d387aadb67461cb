//! The truth about a run, kept beside it, and the invariants that are checked against it. A broken
//! one panics with its number in the facts about threats and tests.

use super::content::{Content, Head, Way};
use super::hashing::{ByHash, Trace, hash_of};
use super::options::Options;
use sametick::channel::{CloseReason, Event};
use sametick::endpoint::LastSealed;
use sametick::secure::{ConnectionId, HALF_OPEN_TIMEOUT, REPLAY_WINDOW_PACKETS};
use sametick::{Peer, Span, Time};
use sametick_seeds::Script;
use std::collections::{HashMap, VecDeque};

/// What may pass the ceiling within a second: the reliable part of one packet whose payload alone
/// was within the budget, and the keep-alives and acknowledgements that go out at any rate, at most
/// 30 a second of 64 bytes.
const RATE_TOLERANCE_BYTES: usize = 1_300 + 30 * 64;
/// IP and UDP, which count into the rate.
const BELOW_BYTES: usize = 28;

/// What a channel keeps: packets on their way, unreliable messages that wait for a budget, early reliable fragments
/// and those of one packet, and unreliable messages that wait for a reliable one.
const FLYING_MAX: u32 = 512;
const OUTBOX_BURST_MAX: u32 = 128;
const WINDOW_FRAGMENTS: u32 = 128;
const FRAGMENTS_PER_PACKET_MAX: u32 = 64;
const HELD_MAX: u32 = 8;

/// What one datagram can cause at most: each packet on its way gets its verdict, each early
/// fragment and held message is handed out.
const EVENTS_PER_DATAGRAM_MAX: u32 =
    FLYING_MAX + WINDOW_FRAGMENTS + FRAGMENTS_PER_PACKET_MAX + HELD_MAX;

/// The same where more packets are on their way than are remembered: every message that was sent since time last
/// passed may have had an older one taken for lost, whose verdict is due as well. And the datagram has a message of its
/// own.
const EVENTS_PER_DATAGRAM_WIDE_MAX: u32 = EVENTS_PER_DATAGRAM_MAX + OUTBOX_BURST_MAX + 1;

/// The time-out of a connection, by a clock that is fast by two thousandths.
const TIME_OUT_MIN: Span = Span::millis(9_980);

/// To an address that only one packet came from go at most so many times its bytes.
const UNPROVEN_FACTOR: u64 = 3;

/// Everything that was sent, and what became of it.
pub(crate) struct Ledger {
    pub(crate) now: Time,
    /// Which faults are inflicted.
    pub(crate) script: Script,
    pub(crate) trace: Trace,
    pub(crate) content: Content,
    pub(crate) sessions: Vec<Session>,
    pub(crate) counts: Counts,
    /// By the way they go: a client's clock may be fast, and its second short.
    ceilings_bytes_per_second: [u32; 2],
    /// Whether the network may keep an end silent for longer than the time-out, and clients send all that they may.
    is_wide: bool,
    flows: Vec<Flow>,
    flow_of_key: HashMap<u64, usize, ByHash>,
    datagrams: HashMap<u64, Sealed, ByHash>,
    /// Datagrams that acknowledge what was never sent, and the session of each.
    pub(crate) lies: HashMap<u64, usize, ByHash>,
    peers: HashMap<Peer, Address>,
    events_of_datagram: u32,
    /// When the server last lost its memory.
    pub(crate) restarted_at: Time,
}

/// What a run did, for its summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) datagrams: u64,
    pub(crate) joins: u64,
    pub(crate) reliables: u64,
    pub(crate) unreliables: u64,
    pub(crate) delivered: u64,
    pub(crate) forgeries: u64,
}

/// One connection between a client and the server, as both of them should see it.
pub(crate) struct Session {
    pub(crate) connection: ConnectionId,
    pub(crate) identity: u64,
    pub(crate) is_liar: bool,
    /// When its client began to dial.
    dialed_at: Time,
    /// Whether the server was told of it.
    is_confirmed: bool,
    /// What was done to it that may end it.
    pub(crate) cause: Option<&'static str>,
    pub(crate) streams: [Stream; 2],
    /// When a packet was last taken, by the way it went; or else when the session began.
    taken_at: [Time; 2],
}

/// One direction's messages.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) reliables_sent: u32,
    pub(crate) reliables_told: u32,
    unreliable_told: Option<u32>,
    /// By token, which counts the unreliable messages.
    tokens: Vec<TokenState>,
}

#[derive(Clone, Copy, Default)]
struct TokenState {
    packets_sent: u8,
    packets_taken: u8,
    is_resolved: bool,
}

/// One key's packets.
struct Flow {
    session: usize,
    way: Way,
    last_number: u64,
    highest_taken: u64,
    last_second: VecDeque<(Time, usize)>,
    last_second_bytes: usize,
}

/// A datagram that somebody with a key made.
struct Sealed {
    flow: usize,
    number: u64,
    token: Option<u32>,
    is_taken: bool,
}

#[derive(Default)]
struct Address {
    bytes_in: u64,
    bytes_out: u64,
    packets_taken: u32,
    has_cookie: bool,
}

impl Ledger {
    pub(crate) fn new(options: &Options, script: Script) -> Self {
        Self {
            script,
            now: Time::ZERO,
            trace: Trace::default(),
            content: Content::new(options),
            sessions: Vec::new(),
            counts: Counts::default(),
            ceilings_bytes_per_second: options.ceilings_bytes_per_second(),
            is_wide: options.is_wide(),
            flows: Vec::new(),
            flow_of_key: HashMap::default(),
            datagrams: HashMap::default(),
            lies: HashMap::default(),
            peers: HashMap::new(),
            events_of_datagram: 0,
            restarted_at: Time::ZERO,
        }
    }

    pub(crate) fn fail(&self, invariant: &str, what: impl std::fmt::Display) -> ! {
        panic!("at {}: invariant {invariant} is broken: {what}", self.now);
    }

    pub(crate) fn begin_session(
        &mut self,
        connection: ConnectionId,
        identity: u64,
        is_liar: bool,
        dialed_at: Time,
    ) -> usize {
        self.counts.joins += 1;
        self.trace.add(0x10, identity);
        let streams = [Stream::default(), Stream::default()];
        // The server that accepted it may be no more.
        let cause = (dialed_at < self.restarted_at).then_some("restart");
        let taken_at = [self.now; 2];
        self.sessions.push(Session {
            connection,
            identity,
            is_liar,
            dialed_at,
            is_confirmed: false,
            cause,
            streams,
            taken_at,
        });
        self.sessions.len() - 1
    }

    /// The session of which a listener tells; its client learned of it first.
    pub(crate) fn session_named(&mut self, connection: ConnectionId, identity: u64) -> usize {
        let named = |s: &Session| s.connection == connection && s.identity == identity;
        let Some(session) = self.sessions.iter().rposition(named) else {
            self.fail("24", format!("nobody has {connection:?} of client {identity}"))
        };
        self.sessions[session].is_confirmed = true;
        session
    }

    /// A next reliable message; it counts once [`Ledger::reliable_sent`] says that it was taken.
    pub(crate) fn next_reliable(&self, session: usize, way: Way) -> Head {
        let counter = self.sessions[session].streams[way as usize].reliables_sent;
        let session = session as u32;
        Head { is_reliable: true, way, session, counter, reliables_before: counter }
    }

    pub(crate) fn reliable_sent(&mut self, session: usize, way: Way) {
        self.sessions[session].streams[way as usize].reliables_sent += 1;
    }

    /// A next unreliable message, which must be sent; its counter is its token.
    pub(crate) fn next_unreliable(&mut self, session: usize, way: Way) -> Head {
        let stream = &mut self.sessions[session].streams[way as usize];
        let counter = stream.tokens.len() as u32;
        stream.tokens.push(TokenState::default());
        let (session, reliables_before) = (session as u32, stream.reliables_sent);
        Head { is_reliable: false, way, session, counter, reliables_before }
    }

    /// An end with keys made a datagram. Checks that its number is fresh and the rate is kept.
    pub(crate) fn sealed(&mut self, session: usize, way: Way, last: LastSealed, bytes: &[u8]) {
        let flow = self.flow(last.key_id, session, way);
        let Flow { session: first, last_number: known, .. } = self.flows[flow];
        if first != session {
            self.fail("23", format!("one key in two sessions: {first} and {session}"));
        }
        if known >= last.number {
            self.fail("23", format!("number {} again, after {known}, in {session}", last.number));
        }
        self.flows[flow].last_number = last.number;
        self.count_rate(flow, bytes.len() + BELOW_BYTES);
        if let Some(token) = last.token {
            let tokens = &mut self.sessions[session].streams[way as usize].tokens;
            tokens[token as usize].packets_sent += 1;
        }
        let (number, token) = (last.number, last.token);
        self.datagrams.insert(hash_of(bytes), Sealed { flow, number, token, is_taken: false });
    }

    /// What a liar makes is genuine too: it has keys. Its numbers and rate are its own affair.
    pub(crate) fn sealed_by_liar(
        &mut self,
        session: usize,
        key_id: u64,
        number: u64,
        bytes: &[u8],
    ) {
        let flow = self.flow(key_id, session, Way::Up);
        let sealed = Sealed { flow, number, token: None, is_taken: false };
        self.datagrams.insert(hash_of(bytes), sealed);
    }

    /// A datagram acknowledges what was never sent.
    pub(crate) fn lied(&mut self, session: usize, bytes: &[u8]) {
        self.lies.insert(hash_of(bytes), session);
    }

    fn flow(&mut self, key_id: u64, session: usize, way: Way) -> usize {
        let next = self.flows.len();
        let flows = &mut self.flows;
        *self.flow_of_key.entry(key_id).or_insert_with(|| {
            let last_second = VecDeque::new();
            flows.push(Flow {
                session,
                way,
                last_number: 0,
                highest_taken: 0,
                last_second,
                last_second_bytes: 0,
            });
            next
        })
    }

    fn count_rate(&mut self, flow: usize, bytes: usize) {
        let now = self.now;
        let flow = &mut self.flows[flow];
        flow.last_second.push_back((now, bytes));
        flow.last_second_bytes += bytes;
        while let Some((at, bytes)) = flow.last_second.front().copied()
            && now - at >= Span::seconds(1)
        {
            flow.last_second.pop_front();
            flow.last_second_bytes -= bytes;
        }
        let sent = flow.last_second_bytes;
        let ceiling = self.ceilings_bytes_per_second[flow.way as usize] as usize;
        if sent > ceiling + RATE_TOLERANCE_BYTES {
            self.fail("9", format!("{sent} bytes within a second"));
        }
    }

    /// A datagram is handed to the end that hears `way`; to be told afterwards what it did.
    pub(crate) fn arrives(&mut self, way: Way, bytes: &[u8]) -> u64 {
        let hash = hash_of(bytes);
        self.counts.datagrams += 1;
        self.trace.add(0x20 | way as u64, hash);
        self.trace.add(0x22, self.now.as_micros());
        self.events_of_datagram = 0;
        hash
    }

    /// What an end did with a datagram. `is_here` says whether the end has a session now.
    pub(crate) fn arrived(
        &mut self,
        (hash, way): (u64, Way),
        was_taken: bool,
        is_here: impl FnOnce(usize) -> bool,
    ) {
        let Some(sealed) = self.datagrams.get_mut(&hash) else {
            if was_taken {
                self.fail("24", "a packet that nobody sealed was taken");
            }
            return;
        };
        let (flow, number, was_taken_before) = (sealed.flow, sealed.number, sealed.is_taken);
        sealed.is_taken |= was_taken;
        let token = sealed.token;
        let flow = &mut self.flows[flow];
        if was_taken && (was_taken_before || flow.way != way) {
            self.fail("24", format!("packet {number} was taken again or by its own sender"));
        }
        let (session, highest) = (flow.session, flow.highest_taken);
        let in_window = highest < number + REPLAY_WINDOW_PACKETS;
        if was_taken {
            flow.highest_taken = highest.max(number);
            self.sessions[session].taken_at[way as usize] = self.now;
            let stream = &mut self.sessions[session].streams[way as usize];
            if let Some(token) = token {
                stream.tokens[token as usize].packets_taken += 1;
            }
        } else if !was_taken_before && flow.way == way && in_window && is_here(session) {
            self.fail("25", format!("honest packet {number} was refused, the last was {highest}"));
        }
    }

    /// Something was told on a session's way.
    pub(crate) fn told(&mut self, session: usize, heard: Way, event: Event<'_>) {
        self.events_of_datagram += 1;
        let events_max =
            if self.is_wide { EVENTS_PER_DATAGRAM_WIDE_MAX } else { EVENTS_PER_DATAGRAM_MAX };
        if self.events_of_datagram > events_max {
            self.fail("29", "one datagram caused too much");
        }
        match event {
            Event::Reliable(bytes) => self.told_reliable(session, heard, bytes),
            Event::Unreliable(bytes) => self.told_unreliable(session, heard, bytes),
            Event::Delivered(token) => self.told_verdict(session, heard.back(), token, true),
            Event::Lost(token) => self.told_verdict(session, heard.back(), token, false),
        }
    }

    /// Between datagrams time passes, which causes events of its own.
    pub(crate) fn time_passes(&mut self) {
        self.events_of_datagram = 0;
    }

    fn told_reliable(&mut self, session: usize, way: Way, bytes: &[u8]) {
        self.counts.reliables += 1;
        self.trace.add(0x30, hash_of(bytes));
        if self.sessions[session].is_liar && way == Way::Up {
            return;
        }
        let head = self.content.check(bytes);
        let stream = &mut self.sessions[session].streams[way as usize];
        let counter = stream.reliables_told;
        stream.reliables_told += 1;
        let sent = stream.reliables_sent;
        let (is_reliable, session) = (true, session as u32);
        let reliables_before = counter;
        let expected = Head { is_reliable, way, session, counter, reliables_before };
        if head != Some(expected) || counter >= sent {
            self.fail("4", format!("{head:?} came as reliable {counter} of {sent}, {way:?}"));
        }
    }

    fn told_unreliable(&mut self, session: usize, way: Way, bytes: &[u8]) {
        self.counts.unreliables += 1;
        self.trace.add(0x31, hash_of(bytes));
        if self.sessions[session].is_liar && way == Way::Up {
            return;
        }
        let Some(head) = self.content.check(bytes) else {
            self.fail("5", "an unreliable message came that nobody sent");
        };
        let stream = &mut self.sessions[session].streams[way as usize];
        let (last, told) = (stream.unreliable_told, stream.reliables_told);
        let sent = stream.tokens.len() as u32;
        stream.unreliable_told = Some(head.counter);
        let is_of_session = head.session == session as u32 && head.way == way && !head.is_reliable;
        if !is_of_session || head.counter >= sent {
            self.fail("5", format!("{head:?} was not sent in session {session}, {way:?}"));
        }
        if last.is_some_and(|last| last >= head.counter) {
            self.fail("6", format!("unreliable {} came after {last:?}", head.counter));
        }
        if head.reliables_before > told {
            let before = head.reliables_before;
            self.fail("6", format!("unreliable {} came before reliable {before}", head.counter));
        }
    }

    fn told_verdict(&mut self, session: usize, way: Way, token: u32, is_delivered: bool) {
        self.counts.delivered += u64::from(is_delivered);
        self.trace.add(0x32 | u64::from(is_delivered), u64::from(token));
        let is_liars = self.sessions[session].is_liar;
        let tokens = &mut self.sessions[session].streams[way as usize].tokens;
        let Some(state) = tokens.get_mut(token as usize) else {
            self.fail("8", format!("token {token} was never used"));
        };
        let before = std::mem::replace(&mut state.is_resolved, true);
        let TokenState { packets_sent, packets_taken, .. } = *state;
        if before {
            self.fail("8", format!("token {token} was resolved twice"));
        }
        if is_delivered && !is_liars && (packets_sent == 0 || packets_taken != packets_sent) {
            let taken = format!("{packets_taken} of {packets_sent} packets");
            self.fail("7", format!("token {token} was acknowledged, {taken} were taken"));
        }
    }

    /// A session ended at the end that hears `way`; it must have a reason.
    pub(crate) fn ended(&mut self, session: usize, way: Way, reason: CloseReason) {
        self.trace.add(0x40, session as u64);
        if self.is_wide && self.is_silence(session, way, reason) {
            self.sessions[session].cause.get_or_insert("silence");
        }
        let Session { cause, is_liar, identity, .. } = self.sessions[session];
        if cause.is_none() && !is_liar {
            let who = if way == Way::Up { "the server's end" } else { "the client's end" };
            self.fail("35", format!("{who} of client {identity} ended without a cause: {reason}"));
        }
    }

    /// Whether a session ended because the network kept its packets away for as long as an end waits.
    /// That is a cause for the other end too. Wide seeds alone have cuts and queues that long.
    fn is_silence(&self, session: usize, way: Way, reason: CloseReason) -> bool {
        let Session { dialed_at, is_confirmed, .. } = self.sessions[session];
        match reason {
            CloseReason::TimedOut => self.silence(session, way) >= TIME_OUT_MIN,
            // The server accepted it, at the earliest when it was dialed, and heard nothing more.
            CloseReason::Reset => !is_confirmed && self.now - dialed_at >= HALF_OPEN_TIMEOUT,
            _ => false,
        }
    }

    /// For how long no packet was taken at the end that hears `way`.
    pub(crate) fn silence(&self, session: usize, way: Way) -> Span {
        self.now - self.sessions[session].taken_at[way as usize]
    }

    /// All that was sent by a way is there at the end.
    pub(crate) fn check_complete(&self, session: usize) {
        for (stream, way) in self.sessions[session].streams.iter().zip([Way::Up, Way::Down]) {
            let (sent, told) = (stream.reliables_sent, stream.reliables_told);
            if sent != told {
                self.fail("33", format!("{told} of {sent} reliables came in {session}, {way:?}"));
            }
            let unresolved = stream.tokens.iter().filter(|token| !token.is_resolved).count();
            if unresolved > 0 {
                self.fail("8", format!("{unresolved} tokens were never resolved in {session}"));
            }
        }
    }

    /// The number of the last packet that the server sealed in a session.
    pub(crate) fn last_down_number(&self, session: usize) -> u64 {
        let down = |flow: &&Flow| flow.session == session && flow.way == Way::Down;
        self.flows.iter().rev().find(down).map_or(0, |flow| flow.last_number)
    }

    /// Bytes came to the server from an address.
    pub(crate) fn address_sent(&mut self, peer: Peer, bytes: usize) {
        self.peers.entry(peer).or_default().bytes_in += bytes as u64;
    }

    /// The address sent an authentic packet.
    pub(crate) fn address_spoke(&mut self, peer: Peer) {
        self.peers.entry(peer).or_default().packets_taken += 1;
    }

    /// The server answers or sends to an address.
    pub(crate) fn address_gets(&mut self, peer: Peer, bytes: usize, has_cookie: bool) {
        let address = self.peers.entry(peer).or_default();
        address.has_cookie |= has_cookie;
        address.bytes_out += bytes as u64;
        let is_proven = address.has_cookie || address.packets_taken >= 2;
        let factor = if address.packets_taken == 0 { 1 } else { UNPROVEN_FACTOR };
        let (bytes_out, bytes_in) = (address.bytes_out, address.bytes_in);
        if !is_proven && bytes_out > factor * bytes_in {
            self.fail("21", format!("{bytes_out} bytes to {peer}, {bytes_in} from it"));
        }
    }
}

impl Way {
    fn back(self) -> Self {
        match self {
            Way::Up => Way::Down,
            Way::Down => Way::Up,
        }
    }
}
