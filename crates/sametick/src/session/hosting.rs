//! A server that one of the players runs: may it step, what does it order, who has its state. Puts
//! [`Reign`] on the server's connections.

use crate::core::mutant::{self, Mutant};
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::diagnostics::health::Pacing;
use crate::migration::succession::estate::Parcel;
use crate::migration::succession::reign::{Present, Reign, Stage};
use crate::migration::succession::words::{Said, write_reign};
use crate::migration::succession::{
    CHECK_INTERVAL, LAST_WORD_BACKLOG_BYTES_MAX, LEASE, STATE_BACKLOG_BYTES_MAX, STATE_INTERVAL,
    TICKET_SECONDS, TICKETS_EACH,
};
use crate::replication::server::serve::SnapshotServer;
use crate::session::following::Bequest;
use crate::session::server::{Seat, Server};
use crate::sim::game::Game;
use crate::transport::channel::CloseReason;
use crate::transport::endpoint::{Listener, ListenerConfig};
use crate::transport::secure::{
    ClientToken, ConnectionId, Random, Resume, Secret, Seedling, ServerId, Token, TokenHead,
    TokenKey, TokenKind,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a server needs to be a host.
pub(crate) struct Hosting {
    reign: Reign,
    random: Seedling,
    /// The state on its way to each successor.
    parcels: BTreeMap<u64, Parcel>,
    state_at: Time,
    /// The tick at which it stopped for good.
    last_tick: Option<Tick>,
    /// Those who have come to a server that does not step yet.
    waiting: Vec<(ConnectionId, u64)>,
    checked_at: Time,
    /// Worlds that were too large to be handed on.
    pub(crate) too_large: u64,
}

impl Hosting {
    fn new(reign: Reign, now: Time, random: &mut dyn Random) -> Box<Self> {
        Box::new(Self {
            reign,
            random: Seedling::new(random),
            parcels: BTreeMap::new(),
            state_at: now,
            last_tick: None,
            waiting: Vec::new(),
            checked_at: now,
            too_large: 0,
        })
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.reign.epoch
    }

    pub(crate) fn stage(&self) -> Stage {
        self.reign.stage
    }

    pub(crate) fn steps(&self) -> bool {
        self.reign.stage == Stage::Reigning
    }

    pub(crate) fn next_wake(&self) -> Time {
        self.checked_at + CHECK_INTERVAL
    }

    /// Those who come wait until the server has begun; nobody is let into one that is over.
    pub(crate) fn seats_at_once(&mut self, now: Time, who: (ConnectionId, u64)) -> bool {
        self.reign.arrive(now, who.1);
        match self.reign.stage {
            Stage::Standing | Stage::Calling => {
                self.waiting.push(who);
                false
            }
            stage => stage != Stage::Over,
        }
    }

    /// The first message on a connection that is seated, and what asks a player for its promise.
    pub(crate) fn reign_message(&self) -> Vec<u8> {
        write_reign(self.name())
    }

    /// Epoch and order: no two servers share both before they step.
    pub(crate) fn name(&self) -> (u32, u32) {
        (self.reign.epoch, self.reign.number)
    }

    pub(crate) fn depart(&mut self, connection: ConnectionId, who: Option<u64>, why: CloseReason) {
        let waiting = self.waiting.iter().find(|(waiting, _)| *waiting == connection);
        if let Some(client_id) = waiting.map(|(_, client_id)| *client_id).or(who) {
            self.reign.depart(client_id, why == CloseReason::Left);
            self.parcels.remove(&client_id);
        }
        self.waiting.retain(|(waiting, _)| *waiting != connection);
    }

    fn hear(&mut self, from: u64, message: &[u8]) -> bool {
        let Some(said) = Said::read(message) else { return false };
        if let (Said::Holds(tick), Some(last)) = (said, self.last_tick) {
            self.reign.hold(from, tick, last);
        }
        self.reign.hear(from, said);
        true
    }
}

impl<G: Game> Server<G> {
    /// Makes this a server that one of its players runs, whose client id is `own`.
    pub(crate) fn host(&mut self, own: u64, now: Time, random: &mut dyn Random) {
        self.hosting = Some(Hosting::new(Reign::first(own, now), now, random));
    }

    /// A server that goes on with what a host left, as soon as enough of its players have come. None if
    /// the content is another.
    pub(crate) fn stand(
        bequest: Bequest<G::Entity>,
        content: G::Content,
        mut config: ListenerConfig,
        now: Time,
        random: &mut dyn Random,
    ) -> Option<Self> {
        let Bequest { charge, charged_at, estate, host_is_gone } = bequest;
        if G::content_name(&content) != estate.content {
            return None;
        }
        config.gate.ticket_key = charge.key.clone();
        config.gate.epoch = charge.epoch;
        // Tickets were sealed by the host's clock, so they are judged by it.
        let at_zero = charge.unix_seconds.saturating_sub(charged_at.as_micros() / 1_000_000);
        config.unix_seconds_at_zero = at_zero;
        let seats = estate.seats.iter();
        let seats = seats.map(|&(player, client_id)| Seat::away(player, client_id, now));
        let seats = seats.collect();
        let reign = Reign::stand(&charge, host_is_gone, now);
        Some(Self {
            listener: Listener::new(config, now, random),
            half: SnapshotServer::inherit(content, estate, now),
            seats,
            events: Vec::new(),
            malformed: 0,
            measured_at: now,
            pacing: Pacing::default(),
            hosting: Some(Hosting::new(reign, now, random)),
        })
    }

    /// Stops stepping and hands over to the first successor, then says goodbye.
    pub(crate) fn hand_over(&mut self, now: Time) {
        let Some(hosting) = &mut self.hosting else { return };
        let has_authority = hosting.reign.stage == Stage::Reigning;
        hosting.reign.enter(now, if has_authority { Stage::HandingOver } else { Stage::Over });
        hosting.last_tick = Some(self.half.world.tick());
        hosting.parcels.clear();
        hosting.state_at = now;
    }

    /// Is a server no more, from this moment on.
    pub(crate) fn abdicate(&mut self, now: Time) {
        if let Some(hosting) = &mut self.hosting {
            hosting.reign.enter(now, Stage::Over);
        }
        self.close_all(now);
    }

    /// A host's turn: may it step?
    pub(crate) fn advance_hosting(&mut self, now: Time) -> bool {
        let present = self.present();
        let Some(hosting) = &mut self.hosting else { return true };
        hosting.checked_at = now;
        let before = hosting.reign.stage;
        hosting.reign.advance(now, &present);
        let random = &mut hosting.random;
        hosting.reign.draw_keys(|| TokenKey::generate(random));
        match (before, hosting.reign.stage) {
            (Stage::Standing | Stage::Calling, Stage::Reigning) => {
                self.half.begin(now);
                self.seats.iter_mut().for_each(|seat| seat.away_since = now);
                let waiting = std::mem::take(&mut hosting.waiting);
                for (connection, client_id) in waiting {
                    self.seat(connection, client_id);
                }
            }
            (Stage::Paused, Stage::Reigning) => self.half.begin(now),
            (_, Stage::Over) => self.close_all(now),
            _ => self.dismiss(now),
        }
        self.send_calls();
        self.send_orders(now);
        self.send_state(now);
        self.hosting.as_ref().is_none_or(|hosting| hosting.steps())
    }

    pub(crate) fn hear_reliable(&mut self, connection: ConnectionId, message: &[u8]) {
        let seat = self.seats.iter().find(|seat| seat.connection == Some(connection));
        let Some(hosting) = &mut self.hosting else { return self.malformed += 1 };
        let waiting = hosting.waiting.iter().find(|(waiting, _)| *waiting == connection);
        let from = waiting.map(|(_, client_id)| *client_id);
        let Some(from) = from.or(seat.map(|seat| seat.client_id)) else { return };
        self.malformed += u64::from(!hosting.hear(from, message));
    }

    /// Everyone who has a connection.
    fn present(&self) -> Vec<Present> {
        let Some(hosting) = &self.hosting else { return Vec::new() };
        let seated = self.seats.iter().filter_map(|seat| Some((seat.connection?, seat.client_id)));
        let all = seated.chain(hosting.waiting.iter().copied());
        let present = all.filter_map(|(connection, client_id)| {
            let (peer, lent_at) = self.listener.lent(connection)?;
            Some(Present { client_id, peer, lent_at })
        });
        present.collect()
    }

    fn dismiss(&mut self, now: Time) {
        let Some(hosting) = &mut self.hosting else { return };
        for client_id in hosting.reign.dismissed(now) {
            let waiting = hosting.waiting.iter().find(|(_, waiting)| *waiting == client_id);
            let seat = self.seats.iter().find(|seat| seat.client_id == client_id);
            let seated = seat.and_then(|seat| seat.connection);
            if let Some(connection) = waiting.map(|(connection, _)| *connection).or(seated) {
                self.listener.close(now, connection, CloseReason::ServerStopped);
                hosting.depart(connection, Some(client_id), CloseReason::ServerStopped);
            }
        }
    }

    fn close_all(&mut self, now: Time) {
        let connections: Vec<ConnectionId> = self.listener.connections().collect();
        for connection in connections {
            self.listener.close(now, connection, CloseReason::ServerStopped);
        }
    }

    /// Asks those who wait to promise the epoch that this server would begin.
    fn send_calls(&mut self) {
        let Some(hosting) = &mut self.hosting else { return };
        let message = hosting.reign_message();
        for (connection, client_id) in &hosting.waiting {
            if hosting.reign.calls(*client_id) {
                // A fresh connection has room for it.
                let _ = self.listener.send_reliable(*connection, &message);
            }
        }
    }

    fn send_orders(&mut self, now: Time) {
        let present = self.present();
        let Some(hosting) = &mut self.hosting else { return };
        let unix_seconds = self.listener.unix_seconds(now);
        let (protocol_id, epoch) = (self.listener.protocol_id(), hosting.reign.epoch);
        let (random, own_key) = (&mut hosting.random, self.listener.ticket_key());
        let orders = hosting.reign.take_orders(&present, unix_seconds, |client_id, key| {
            let key = key.unwrap_or(own_key);
            let mut seal =
                || seal_ticket(client_id, key, (protocol_id, epoch, unix_seconds), random);
            (0..TICKETS_EACH).map(|_| seal()).collect()
        });
        for (client_id, message) in orders {
            self.send_to(now, client_id, &message);
        }
    }

    fn send_to(&mut self, now: Time, client_id: u64, message: &[u8]) {
        let seat = self.seats.iter().find(|seat| seat.client_id == client_id);
        if let Some(connection) = seat.and_then(|seat| seat.connection)
            && self.listener.send_reliable(connection, message).is_err()
        {
            self.listener.close(now, connection, CloseReason::Backlogged);
        }
    }

    /// Sends a piece of the state to each successor whose line has room for it: a slow one gets it less
    /// often, and slows nobody.
    fn send_state(&mut self, now: Time) {
        let Some(hosting) = &mut self.hosting else { return };
        let is_last_word = hosting.reign.stage == Stage::HandingOver;
        if !(hosting.steps() || is_last_word) {
            return;
        }
        let heirs: Vec<u64> = hosting.reign.heirs().collect();
        hosting.parcels.retain(|heir, _| heirs.contains(heir));
        if now >= hosting.state_at && heirs.iter().any(|heir| !hosting.parcels.contains_key(heir)) {
            hosting.state_at = if is_last_word { Time::MAX } else { now + STATE_INTERVAL };
            let seats = self.seats.iter().map(|seat| (seat.player, seat.client_id)).collect();
            let Some(bytes) = self.half.bequeath(seats) else {
                hosting.too_large += 1;
                return;
            };
            let bytes: Arc<[u8]> = bytes.into();
            for heir in &heirs {
                let tick = self.half.world.tick();
                // Only one may speak for a host that has left.
                let is_mutant = mutant::is(Mutant::LastWordForEverySuccessor);
                let is_last_word = is_last_word && (heirs.first() == Some(heir) || is_mutant);
                let parcel = || Parcel::new(tick, Arc::clone(&bytes), is_last_word);
                hosting.parcels.entry(*heir).or_insert_with(parcel);
            }
        }
        let (pieces_max, backlog_max) = match is_last_word {
            false => (1, STATE_BACKLOG_BYTES_MAX),
            true => (usize::MAX, LAST_WORD_BACKLOG_BYTES_MAX),
        };
        for heir in heirs {
            let seat = self.seats.iter().find(|seat| seat.client_id == heir);
            let Some(connection) = seat.and_then(|seat| seat.connection) else { continue };
            for _ in 0..pieces_max {
                if self.listener.backlog_bytes(connection) > backlog_max {
                    break;
                }
                let parcel = hosting.parcels.get_mut(&heir);
                let Some(piece) = parcel.and_then(|parcel| parcel.take(hosting.reign.epoch)) else {
                    if !is_last_word {
                        hosting.parcels.remove(&heir);
                    }
                    break;
                };
                // There was room for it.
                let _ = self.listener.send_reliable(connection, &piece);
            }
        }
    }

    /// Where a server that one of the players runs stands.
    pub(crate) fn stage(&self) -> Option<Stage> {
        self.hosting.as_ref().map(|hosting| hosting.stage())
    }

    /// Which server of a game that its players host this is; higher after each change of host.
    pub fn epoch(&self) -> Option<u32> {
        self.hosting.as_ref().map(|hosting| hosting.epoch())
    }

    /// The epoch and order that a successor asks its players to promise, before it has begun.
    pub(crate) fn call(&self) -> Option<(u32, u32)> {
        let hosting = self.hosting.as_ref()?;
        (hosting.stage() == Stage::Calling).then(|| hosting.name())
    }

    /// For how long a host has not stepped because too few of its players are there.
    pub(crate) fn paused_for(&self, now: Time) -> Span {
        match &self.hosting {
            Some(hosting) if hosting.reign.stage == Stage::Paused => now - hosting.reign.since,
            _ => Span::ZERO,
        }
    }

    /// Whether a host has stopped for good and nobody who still listens would learn it from more.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        self.hosting.as_ref().is_some_and(|hosting| {
            hosting.reign.stage == Stage::Over && now - hosting.reign.since >= LEASE
        })
    }
}

/// What lets a player in at a successor that has the key.
fn seal_ticket(
    client_id: u64,
    key: &TokenKey,
    (protocol_id, epoch, unix_seconds): (u64, u32, u64),
    random: &mut dyn Random,
) -> ClientToken {
    let head = TokenHead {
        kind: TokenKind::Resume,
        protocol_id,
        client_id,
        expires_unix_seconds: unix_seconds.saturating_add(TICKET_SECONDS),
    };
    let psk = Secret::generate(random);
    let token = Token {
        head,
        psk: psk.clone(),
        server: ServerId::ANY,
        issued_unix_seconds: unix_seconds,
        resume: Some(Resume { slot: u16::MAX, epoch }),
        user_data: Vec::new(),
    };
    ClientToken { head, psk, sealed: token.seal(key, random) }
}
