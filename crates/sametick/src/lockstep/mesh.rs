//! A lockstep game over sealed connections: one to everyone it talks to, all through one socket. Knows no socket.

use super::player::{ANYONE, Identity, Lockstep, Role};
use super::setup::Setup;
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;
use crate::transport::channel::{CloseReason, Event, Settings, Statistics};
use crate::transport::endpoint::{
    Answer, Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent, OPEN_PROTOCOL,
};
use crate::transport::secure::{ClientToken, ConnectionId, Random, TlsSession, is_handshake};
use std::collections::{BTreeMap, VecDeque};

/// How long one knocks before one knocks anew.
const KNOCK_MAX: Span = Span::seconds(3);

/// How many doors are knocked at, at once.
const DIALS_MAX: usize = 32;

/// How many datagrams wait to be sent; an owner that forgets them loses them.
const OUTBOX_MAX: usize = 4096;

/// A [`Lockstep`] and its connections, open to anyone: private against listeners, not against impostors.
///
/// The verbs are those of a `Client`: [`receive`](Mesh::receive) what came, [`command`](Mesh::command),
/// [`advance`](Mesh::advance), send what [`transmit`](Mesh::transmit) gives. All else is asked of the
/// [`game`](Mesh::game). Datagrams of all connections go through one socket, so that where one is seen is where
/// one is reached.
pub struct Mesh<G: Game> {
    game: Lockstep<G>,
    listener: Listener,
    /// By where they lead.
    dials: BTreeMap<Peer, Dial>,
    /// Who came to us, by session.
    guests: BTreeMap<u64, ConnectionId>,
    token: u32,
    /// Around all that goes out, if something is.
    tls: Option<TlsSession>,
    outbox: VecDeque<(Peer, Vec<u8>)>,
}

struct Dial {
    dialer: Dialer,
    /// Who is there, once it has said so.
    session: Option<u64>,
    since: Time,
}

/// What came on a connection.
enum News {
    /// From a guest: by its session.
    Guest(u64, ConnectionId, Vec<u8>),
    /// From a door.
    Door(Peer, Vec<u8>),
    /// A guest is here, and is told who we are.
    Came(u64, ConnectionId),
    /// A guest's connection is over.
    Left(u64, ConnectionId, CloseReason),
    /// A door is shut.
    Shut(Peer, CloseReason),
    /// Who is behind a door.
    Named(Peer, u64),
}

impl<G: Game> Mesh<G> {
    /// Founds a game. `at` is where others reach us, as far as we know.
    pub fn found(
        setup: Setup,
        me: Identity,
        at: Peer,
        content: (G::Content, u64),
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self::new(Lockstep::found(setup, me, at, content, now), now, random)
    }

    /// Asks to be let into a game by whoever is at `door`.
    pub fn join(
        door: Peer,
        me: Identity,
        content: (G::Content, u64),
        role: Role,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self::new(Lockstep::join(door, me, content, role, now), now, random)
    }

    fn new(game: Lockstep<G>, now: Time, random: &mut dyn Random) -> Self {
        Self {
            game,
            listener: Listener::new(ListenerConfig::open(random), now, random),
            dials: BTreeMap::new(),
            guests: BTreeMap::new(),
            token: 0,
            tls: None,
            outbox: VecDeque::new(),
        }
    }

    /// Plays through a TLS session that a link has vouched for, as a page does: packets are not sealed again. Such a
    /// machine reaches whoever is at the other end of the session, and nobody else. Call it before the first
    /// [`advance`](Mesh::advance).
    pub fn within(mut self, session: TlsSession) -> Self {
        self.tls = Some(session);
        self
    }

    /// The game itself.
    pub fn game(&self) -> &Lockstep<G> {
        &self.game
    }

    /// The same, to ask it for more.
    pub fn game_mut(&mut self) -> &mut Lockstep<G> {
        &mut self.game
    }

    /// What the player asks for from now on.
    pub fn command(&mut self, wish: G::Command) {
        self.game.command(wish);
    }

    /// What the connections to a session have counted as sent, if there are any.
    pub fn statistics(&self, session: u64) -> impl Iterator<Item = Statistics> {
        let dials = self.dials.values().filter(move |dial| dial.session == Some(session));
        let guest = self.guests.get(&session).and_then(|guest| self.listener.statistics(*guest));
        dials.filter_map(|dial| dial.dialer.statistics()).chain(guest)
    }

    /// Says goodbye; call [`advance`](Mesh::advance) until the game is over.
    pub fn close(&mut self, now: Time) {
        self.game.close(now);
    }

    /// Takes a datagram, and from whom it came, in which TLS session if in any (see [`Listener::receive_within`]). Its
    /// bytes are of no use afterwards. An answer goes back to the same peer.
    pub fn receive(
        &mut self,
        now: Time,
        (from, session): (Peer, Option<TlsSession>),
        datagram: &mut [u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        let mut news = Vec::new();
        let is_answered = is_handshake(datagram) || !self.dials.contains_key(&from);
        if let Some(dial) = self.dials.get_mut(&from) {
            // Two may knock at each other: what is not the one's is the other's.
            let mut copy = datagram.to_vec();
            dial.dialer.receive(now, &mut copy, &mut |event| hear_door(from, event, &mut news));
        }
        let guests = &self.guests;
        let from = (from, session);
        let answer = self.listener.receive_from(now, from, datagram, random, &mut |event| {
            hear_guest(guests, event, &mut news);
        });
        self.take(now, news);
        answer.filter(|_| is_answered)
    }

    /// A TLS session is over, and whoever played in it is gone; see [`Listener::session_ended`].
    pub fn session_ended(&mut self, now: Time, peer: Peer) {
        self.listener.session_ended(now, peer);
    }

    /// Steps what is due, keeps connections to whom the game needs.
    pub fn advance(&mut self, now: Time, random: &mut dyn Random) {
        let mut news = Vec::new();
        let guests = &self.guests;
        self.listener.advance(now, &mut |event| hear_guest(guests, event, &mut news));
        for (door, dial) in &mut self.dials {
            dial.dialer.advance(now, &mut |event| hear_door(*door, event, &mut news));
        }
        self.take(now, news);
        self.dials.retain(|_, dial| {
            let is_unheard = !dial.dialer.is_connected() && now - dial.since >= KNOCK_MAX;
            !dial.dialer.is_over() && !is_unheard
        });
        self.game.advance(now);
        self.dial(now, random);
        while let Some(((session, at), message)) = self.game.transmit() {
            self.carry(session, at, &message);
        }
        self.send(now);
    }

    /// The next datagram to send, and to whom; call it until there is none.
    pub fn transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.outbox.pop_front()
    }

    /// When to call [`advance`](Mesh::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        let dials = self.dials.values().map(|dial| dial.dialer.next_wake());
        let connections = dials.fold(self.listener.next_wake(), Time::min);
        self.game.next_wake().min(connections)
    }

    fn take(&mut self, now: Time, news: Vec<News>) {
        for news in news {
            match news {
                News::Guest(session, connection, message) => {
                    let at = self.listener.peer(connection);
                    at.into_iter().for_each(|at| self.game.receive(now, (session, at), &message));
                }
                News::Door(door, message) => {
                    let session = self.dials.get(&door).and_then(|dial| dial.session);
                    if let Some(session) = session {
                        self.game.receive(now, (session, door), &message);
                    }
                }
                News::Came(session, connection) => {
                    self.guests.insert(session, connection);
                    let me = self.game.identity().session.to_le_bytes();
                    // A channel that has just opened has room for so little.
                    let _ = self.listener.send_reliable(connection, &me);
                }
                News::Left(session, connection, reason) => {
                    self.guests.retain(|_, known| *known != connection);
                    self.end_line(session, reason);
                }
                News::Shut(door, reason) => {
                    let session = self.dials.get_mut(&door).and_then(|dial| dial.session.take());
                    session.into_iter().for_each(|session| self.end_line(session, reason));
                }
                News::Named(door, session) => {
                    if let Some(dial) = self.dials.get_mut(&door) {
                        dial.session = Some(session);
                    }
                }
            }
        }
    }

    /// A line to somebody is over. If it was the last, and that one has ended it, it is gone.
    fn end_line(&mut self, session: u64, reason: CloseReason) {
        let has_other = self.guests.contains_key(&session)
            || self.dials.values().any(|dial| dial.session == Some(session));
        if reason == CloseReason::Left && !has_other {
            self.game.hear_hang_up(session);
        }
    }

    /// Knocks at the doors of those whom the game wants to talk to.
    fn dial(&mut self, now: Time, random: &mut dyn Random) {
        let me = self.game.identity().session;
        let is_in = self.game.me().is_some();
        for (session, at) in self.game.contacts() {
            // Who has come to us and fallen silent may have begun anew, and not know of us any more.
            let is_silent = self.game.is_silent(now, session);
            if is_silent {
                // So may who has let us in.
                self.dials.retain(|_, dial| {
                    dial.session != Some(session) || now - dial.since < KNOCK_MAX
                });
            }
            let has_line = (self.guests.contains_key(&session) && !is_silent)
                || self.dials.contains_key(&at)
                || self.dials.values().any(|dial| dial.session == Some(session));
            let there = self.dials.get(&at).and_then(|dial| dial.session);
            if let Some(there) = there.filter(|there| session != ANYONE && *there != session) {
                self.game.hear_restart(now, session, (there, at));
            }
            // Among those who are in, one of two knocks.
            let is_ours = session == ANYONE || !is_in || me > session || is_silent;
            if has_line || !is_ours || self.dials.len() >= DIALS_MAX {
                continue;
            }
            let token = ClientToken::open_mode(OPEN_PROTOCOL, me, b"", random);
            let Ok(token) = token else { continue };
            let dialer = Dialer::new(at, token, Settings::default(), now, random);
            let dialer = match self.tls {
                Some(tls) => dialer.within(tls),
                None => dialer,
            };
            self.dials.insert(at, Dial { dialer, session: None, since: now });
        }
    }

    /// Puts a message on the line to whom it is for; without one it is lost, and said again soon.
    fn carry(&mut self, session: u64, at: Peer, message: &[u8]) {
        self.token = self.token.wrapping_add(1);
        let dial = self.dials.iter_mut().find(|(door, dial)| {
            dial.session == Some(session) || (session == ANYONE && **door == at)
        });
        if let Some((_, dial)) = dial {
            dial.dialer.send_unreliable(self.token, message);
        } else if let Some(connection) = self.guests.get(&session) {
            self.listener.send_unreliable(*connection, self.token, message);
        }
    }

    fn send(&mut self, now: Time) {
        while self.outbox.len() < OUTBOX_MAX
            && let Some((to, datagram)) = self.listener.transmit(now)
        {
            self.outbox.push_back((to, datagram.to_vec()));
        }
        for (door, dial) in &mut self.dials {
            while self.outbox.len() < OUTBOX_MAX
                && let Some(datagram) = dial.dialer.transmit(now)
            {
                self.outbox.push_back((*door, datagram.to_vec()));
            }
        }
    }

    /// Says goodbye on every line, once the game is over.
    pub fn hang_up(&mut self, now: Time) {
        for dial in self.dials.values_mut() {
            dial.dialer.close(now, CloseReason::Left);
        }
        for connection in self.guests.values() {
            self.listener.close(now, *connection, CloseReason::Left);
        }
    }
}

fn hear_guest(
    guests: &BTreeMap<u64, ConnectionId>,
    event: ListenerEvent<'_>,
    news: &mut Vec<News>,
) {
    match event {
        ListenerEvent::Connected { connection, client_id, .. } => {
            news.push(News::Came(client_id, connection));
        }
        ListenerEvent::Message { connection, event: Event::Unreliable(message) } => {
            let came = news.iter().find_map(|news| match news {
                News::Came(session, new) if *new == connection => Some(*session),
                _ => None,
            });
            let known = guests.iter().find(|(_, known)| **known == connection);
            if let Some(session) = known.map(|(session, _)| *session).or(came) {
                news.push(News::Guest(session, connection, message.to_vec()));
            }
        }
        ListenerEvent::Message { .. } => {}
        ListenerEvent::Left { connection, client_id, reason } => {
            news.push(News::Left(client_id, connection, reason));
        }
    }
}

fn hear_door(door: Peer, event: DialerEvent<'_>, news: &mut Vec<News>) {
    match event {
        DialerEvent::Message(Event::Unreliable(message)) => {
            news.push(News::Door(door, message.to_vec()));
        }
        DialerEvent::Message(Event::Reliable(message)) => {
            if let Ok(session) = <[u8; 8]>::try_from(message) {
                news.push(News::Named(door, u64::from_le_bytes(session)));
            }
        }
        DialerEvent::Left(reason) => news.push(News::Shut(door, reason)),
        _ => {}
    }
}
