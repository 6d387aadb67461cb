//! The server of a run: a listener, who is connected to it, and what it sends them.

use super::content::Way;
use super::ledger::Ledger;
use super::options::Options;
use super::{PROTOCOL, Seeded, TICKET_KEY, TOKEN_KEY, UNIX_SECONDS};
use sametick::channel::{CHANNEL_MEMORY_BYTES_MAX, CloseReason};
use sametick::endpoint::{Answer, Listener, ListenerConfig, ListenerEvent};
use sametick::network::{Host, Network};
use sametick::secure::{ConnectionId, Denial, DropReason, GateConfig, Past};
use sametick::{Dice, Peer, Time};
use std::collections::BTreeMap;

/// A connection beside its channel: keys, window, counters.
const CONNECTION_BYTES_MAX: usize = CHANNEL_MEMORY_BYTES_MAX + 4096;

pub(crate) struct Server {
    pub(crate) host: Host,
    pub(crate) listener: Listener,
    pub(crate) wake: Time,
    pub(crate) live: Vec<Live>,
    /// The session that had a name last, also when it is over.
    sessions: BTreeMap<ConnectionIdBytes, usize>,
    epoch: u32,
    received: u64,
    random: Seeded,
    dice: Dice,
    burst_dice: Dice,
    connections_max: usize,
    datagram: Vec<u8>,
}

type ConnectionIdBytes = [u8; ConnectionId::BYTES];

/// A connection of which the listener has told.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    pub(crate) connection: ConnectionId,
    pub(crate) session: usize,
}

impl Server {
    pub(crate) fn new(options: &Options, host: Host) -> Self {
        let mut random = Seeded(Dice::new(options.seed, 10));
        Self {
            host,
            listener: listener(options, Time::ZERO, 0, &mut random),
            wake: Time::MAX,
            live: Vec::new(),
            sessions: BTreeMap::new(),
            epoch: 0,
            received: 0,
            random,
            dice: Dice::new(options.seed, 11),
            burst_dice: Dice::new(options.seed, 12),
            connections_max: options.connections_max,
            datagram: Vec::new(),
        }
    }

    /// Everything but the keys on disk is forgotten.
    pub(crate) fn restart(&mut self, options: &Options, ledger: &mut Ledger) {
        self.check_counters(ledger);
        self.epoch += 1;
        self.received = 0;
        self.listener = listener(options, ledger.now, self.epoch, &mut self.random);
        self.live.clear();
        self.sessions.clear();
        self.wake = Time::MAX;
        ledger.restarted_at = ledger.now;
        // Also those of which this server was never told.
        ledger.sessions.iter_mut().for_each(|session| session.cause = Some("restart"));
    }

    pub(crate) fn receive(&mut self, ledger: &mut Ledger, network: &mut Network) {
        let now = ledger.now;
        let mut datagram = std::mem::take(&mut self.datagram);
        while let Some(from) = network.receive(now, self.host, &mut datagram) {
            self.receive_one(ledger, network, from, &mut datagram);
        }
        self.datagram = datagram;
        self.wake = self.listener.next_wake();
    }

    fn receive_one(
        &mut self,
        ledger: &mut Ledger,
        network: &mut Network,
        from: Peer,
        datagram: &mut [u8],
    ) {
        let now = ledger.now;
        self.received += 1;
        ledger.address_sent(from, datagram.len());
        let hash = ledger.arrives(Way::Up, datagram);
        let (bytes, before) = (datagram.len(), self.listener.packets_taken());
        let impossible_before = self.impossible_acknowledgements(ledger, hash);
        let (live, sessions) = (&mut self.live, &mut self.sessions);
        let answer = self.listener.receive(now, from, datagram, &mut self.random, &mut |event| {
            hear(event, live, sessions, ledger);
        });
        let was_taken = self.listener.packets_taken() > before;
        if was_taken {
            ledger.address_spoke(from);
        }
        let live = &self.live;
        ledger.arrived((hash, Way::Up), was_taken, |session| {
            live.iter().any(|live| live.session == session)
        });
        if let Some((connection, counted)) = impossible_before.filter(|_| was_taken) {
            let after = self.listener.statistics(connection).map(|s| s.drops.packets_impossible);
            if after == Some(counted) {
                ledger.fail("7", "an acknowledgement of what was never sent was believed");
            }
        }
        if let Some(answer) = answer {
            if answer.len() > bytes {
                ledger.fail("21", "an answer is longer than its question");
            }
            ledger.address_gets(from, answer.len(), matches!(answer, Answer::Accept(_)));
            network.send(now, self.host, from, &answer);
        }
    }

    /// For a lie about what was acknowledged: whose it is, and how many were found so far. None if
    /// its connection is not open any more, for then nothing is believed anyway.
    fn impossible_acknowledgements(
        &self,
        ledger: &Ledger,
        hash: u64,
    ) -> Option<(ConnectionId, u64)> {
        let session = *ledger.lies.get(&hash)?;
        let live = self.live.iter().find(|live| live.session == session)?;
        let drops = self.listener.statistics(live.connection)?.drops;
        let is_open = drops.packets_closed == 0 && drops.packets_impossible == 0;
        is_open.then_some((live.connection, drops.packets_impossible))
    }

    /// Lets time pass and sends what is due.
    pub(crate) fn pump(
        &mut self,
        ledger: &mut Ledger,
        network: &mut Network,
        overheard: &mut impl FnMut(Peer, Peer, &[u8]),
    ) {
        let now = ledger.now;
        ledger.time_passes();
        let (live, sessions) = (&mut self.live, &mut self.sessions);
        self.listener.advance(now, &mut |event| hear(event, live, sessions, ledger));
        let own = network.address(self.host);
        while let Some((to, bytes)) = self.listener.transmit(now) {
            self.datagram.clear();
            self.datagram.extend_from_slice(bytes);
            ledger.address_gets(to, self.datagram.len(), false);
            let Some(last) = self.listener.last_sealed() else {
                ledger.fail("23", "a packet was sent and not sealed")
            };
            let Some(session) = self.sessions.get(&last.connection.to_bytes()) else {
                ledger.fail("24", "a packet was sent to nobody of whom was told")
            };
            ledger.sealed(*session, Way::Down, last, &self.datagram);
            overheard(own, to, &self.datagram);
            network.send(now, self.host, to, &self.datagram);
        }
        self.wake = self.listener.next_wake();
        if self.wake <= now {
            ledger.fail("30", "the listener asks to be woken at once, again and again");
        }
    }

    /// What the game does each tick.
    pub(crate) fn tick(&mut self, options: &Options, ledger: &mut Ledger, sends: Sends) {
        for live in self.live.clone() {
            for _ in 0..options.messages(sends, &mut self.burst_dice) {
                self.send(options, ledger, sends, live);
            }
        }
        self.check_sessions(ledger);
    }

    fn send(&mut self, options: &Options, ledger: &mut Ledger, sends: Sends, to: Live) {
        let Live { connection, session } = to;
        let backlog = self.listener.backlog_bytes(connection);
        let is_due = self.dice.chance(sends.reliable_chance);
        if sends.reliables && is_due && backlog < options.backlog_bytes_max() {
            let head = ledger.next_reliable(session, Way::Down);
            let message = ledger.content.message(head);
            if self.listener.send_reliable(connection, message).is_ok() {
                ledger.reliable_sent(session, Way::Down);
            }
        }
        let budget = self.listener.budget_bytes(ledger.now, connection);
        if sends.unreliables && (!options.asks_budget || budget >= 400) {
            let head = ledger.next_unreliable(session, Way::Down);
            let message = ledger.content.message(head);
            self.listener.send_unreliable(connection, head.counter, message);
        }
    }

    pub(crate) fn kick_all(&mut self, ledger: &mut Ledger) {
        for Live { connection, session } in &self.live {
            ledger.sessions[*session].cause = Some("the server stopped");
            self.listener.close(ledger.now, *connection, CloseReason::ServerStopped);
        }
    }

    fn check_sessions(&self, ledger: &Ledger) {
        let here = self.listener.connections().count();
        // One that has heard a goodbye is told at the next advance.
        if here != self.live.len() {
            ledger.fail("27", format!("{here} connections, {} told of", self.live.len()));
        }
        let mut identities: Vec<u64> =
            self.live.iter().map(|live| ledger.sessions[live.session].identity).collect();
        identities.sort_unstable();
        identities.dedup();
        if identities.len() != self.live.len() {
            ledger.fail("27", "an identity has two sessions");
        }
    }

    /// What closes only slowly enough to be looked at now and then.
    pub(crate) fn check(&self, ledger: &Ledger) {
        self.check_counters(ledger);
        for live in &self.live {
            let held = self.listener.connection_memory_bytes(live.connection).unwrap_or(0);
            if held > CONNECTION_BYTES_MAX {
                ledger.fail("28", format!("a connection holds {held} bytes"));
            }
            if self.listener.statistics(live.connection).is_some_and(|s| !s.adds_up()) {
                ledger.fail("31", "a connection's packets do not add up");
            }
        }
        if self.listener.memory_bytes() > self.connections_max * CONNECTION_BYTES_MAX {
            ledger.fail("28", "all connections together hold too much");
        }
    }

    /// After the calm the clients have said of every reliable message that it came. Liars do not.
    pub(crate) fn check_acknowledged(&self, ledger: &Ledger) {
        let honest = self.live.iter().filter(|live| !ledger.sessions[live.session].is_liar);
        for Live { connection, session } in honest {
            let waiting = self.listener.backlog_bytes(*connection);
            if waiting > 0 {
                ledger.fail("33", format!("{waiting} bytes not acknowledged in {session}"));
            }
        }
    }

    fn check_counters(&self, ledger: &Ledger) {
        let counters = self.listener.gate_counters();
        let dropped: u64 = DropReason::ALL.iter().map(|reason| counters.dropped(*reason)).sum();
        let denied: u64 = Denial::ALL.iter().map(|denial| counters.denied(*denial)).sum();
        let said =
            dropped + denied + counters.retries() + counters.accepts_again() + counters.accepted();
        let drops = self.listener.drops();
        let packets = self.listener.packets_taken()
            + drops.malformed
            + drops.unknown_connection
            + drops.replayed
            + drops.forged;
        if counters.received() != said || counters.received() + packets != self.received {
            ledger.fail("31", format!("{} received, {said} + {packets} told", self.received));
        }
        let agreed = counters.accepted() + counters.dropped(DropReason::KeyRefused);
        if counters.key_agreements() != agreed {
            ledger.fail("22", "keys were agreed on with somebody who had no cookie and token");
        }
    }

    /// Datagrams refused for their seal, for the summary.
    pub(crate) fn forgeries(&self) -> u64 {
        self.listener.drops().forged
    }
}

/// What the ends send at present.
#[derive(Clone, Copy)]
pub(crate) struct Sends {
    pub(crate) unreliables: bool,
    pub(crate) reliables: bool,
    pub(crate) reliable_chance: f64,
    /// Now and then many at once.
    pub(crate) bursts: bool,
}

fn hear(
    event: ListenerEvent<'_>,
    live: &mut Vec<Live>,
    sessions: &mut BTreeMap<ConnectionIdBytes, usize>,
    ledger: &mut Ledger,
) {
    match event {
        ListenerEvent::Connected { connection, client_id, .. } => {
            let session = ledger.session_named(connection, client_id);
            sessions.insert(connection.to_bytes(), session);
            live.push(Live { connection, session });
        }
        ListenerEvent::Message { connection, event } => {
            // A connection that is over still resolves what it sent.
            match sessions.get(&connection.to_bytes()) {
                Some(session) => ledger.told(*session, Way::Up, event),
                None => ledger.fail("24", "a message came from nobody of whom was told"),
            }
        }
        ListenerEvent::Left { connection, client_id, reason } => {
            let Some(place) = live.iter().position(|live| live.connection == connection) else {
                ledger.fail("35", format!("client {client_id} left twice"))
            };
            let Live { session, .. } = live.remove(place);
            ledger.ended(session, Way::Up, reason);
        }
    }
}

fn listener(options: &Options, now: Time, epoch: u32, random: &mut Seeded) -> Listener {
    let started_unix_seconds = UNIX_SECONDS + now.as_micros() / 1_000_000;
    let past = Past::Unknown { started_unix_seconds };
    let mut gate = GateConfig::new(PROTOCOL, TOKEN_KEY, TICKET_KEY, past);
    gate.epoch = epoch;
    let config = ListenerConfig {
        gate,
        channel: options.settings(),
        connections_max: options.connections_max,
        unix_seconds_at_zero: UNIX_SECONDS,
    };
    Listener::new(config, now, random)
}
