//! A game's server: all players' connections and the one world they share.

use crate::codec::ByLoad;
use crate::codec::compact::{Tables, TablesError};
use crate::config::rates::Rates;
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::diagnostics::health::{Pace, Pacing};
use crate::migration::succession::Stage;
use crate::replay::Recording;
use crate::replication::messages::{CODED_EVENTS, EVENTS, WELCOME};
use crate::replication::server::serve::{Backlog, SnapshotServer};
use crate::session::hosting::Hosting;
use crate::sim::authority::Claim;
use crate::sim::game::{Game, Verdict};
use crate::sim::world::World;
use crate::transport::channel::{CloseReason, Event, PAYLOAD_BYTES_MAX, Statistics};
use crate::transport::endpoint::{Answer, Listener, ListenerConfig, ListenerEvent};
use crate::transport::seats::{BODY_KEPT, PLACE_KEPT, ServerEvent};
use crate::transport::secure::{ConnectionId, Random, TlsSession, is_handshake};
use std::sync::Arc;

/// One game's server. Give it each datagram that came ([`receive`](Server::receive)), let it do what is
/// due ([`advance`](Server::advance)), and send what it has to say ([`transmit`](Server::transmit)); it
/// may sleep until [`next_wake`](Server::next_wake). A [`Client`](crate::Client) is driven in the same way.
///
/// ```
/// use sametick::network::{Conditions, Network};
/// use sametick::secure::SystemRandom;
/// use sametick::{Client, PlayerId, Rates, Server, ServerEvent, Span, Time, View};
/// # use sametick::{Fields, Game, Networked, NoEvent, Turn, World};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Steps { pub taken: u16 }
/// # impl Networked for Steps {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.bits("taken", &mut self.taken, 16); }
/// # }
/// # sametick::entities! { pub enum Entity { Steps } }
/// # struct Walk;
/// # impl Game for Walk {
/// #     type Entity = Entity;
/// #     type Command = Steps;
/// #     type Event = NoEvent;
/// #     type Content = ();
/// #     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
/// #         turn.joined().for_each(|player| _ = world.spawn_owned(player, Steps { taken: 0 }));
/// #         for (player, wish) in turn.commands() {
/// #             let Some((_, steps)) = world.owned_mut::<Steps>(player) else { continue };
/// #             steps.taken += wish.taken;
/// #         }
/// #     }
/// # }
///
/// // A line of 50 ms each way, and time that passes when we say so.
/// let (mut now, random) = (Time::ZERO, &mut SystemRandom::new());
/// let mut network = Network::new(1);
/// network.set_default_conditions(Conditions { delay: Span::millis(50), ..Conditions::PERFECT });
/// let (here, there) = (network.add_host(), network.add_host());
/// let address = network.address(here);
///
/// let mut server = Server::<Walk>::open((), 1, Rates::default(), now, random);
/// let mut client = Client::<Walk>::open(address, (), View::default(), now, random);
/// let mut datagram = Vec::new();
/// while now < Time::from_seconds(2) {
///     while let Some(from) = network.receive(now, here, &mut datagram) {
///         if let Some(answer) = server.receive(now, from, &mut datagram, random) {
///             network.send(now, here, from, &answer);
///         }
///     }
///     server.advance(now);
///     while let Some((to, datagram)) = server.transmit(now) {
///         network.send(now, here, to, datagram);
///     }
///
///     while network.receive(now, there, &mut datagram).is_some() {
///         client.receive(now, &mut datagram);
///     }
///     client.command(Steps { taken: 1 });
///     client.advance(now);
///     while let Some(datagram) = client.transmit(now) {
///         network.send(now, there, address, datagram);
///     }
///     now += Span::millis(1);
/// }
///
/// let me = PlayerId(0);
/// assert!(matches!(server.take_events()[..], [ServerEvent::Joined { player, .. }] if player == me));
/// // The client is ahead of the server, by what its commands need to get there.
/// let (_, on_server) = server.world().owned::<Steps>(me).unwrap();
/// let (_, on_client) = client.own::<Steps>().unwrap();
/// assert!(on_client.taken > on_server.taken && on_server.taken > 90);
/// ```
pub struct Server<G: Game> {
    pub(crate) listener: Listener,
    pub(crate) half: SnapshotServer<G>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) events: Vec<ServerEvent>,
    /// Messages that no client of ours writes.
    pub(crate) malformed: u64,
    pub(crate) measured_at: Time,
    pub(crate) pacing: Pacing,
    /// If one of the players runs it.
    pub(crate) hosting: Option<Box<Hosting>>,
}

pub(crate) struct Seat {
    pub(crate) player: PlayerId,
    pub(crate) client_id: u64,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) away_since: Time,
    /// How long its body is left alone then.
    body_kept: Span,
    /// Snapshots since it was told how many, and how far back its last command was judged.
    pub(crate) snapshots: u32,
    pub(crate) rewound: Option<Span>,
}

impl Seat {
    /// Of somebody who is to come, or to come back.
    pub(crate) fn away(player: PlayerId, client_id: u64, away_since: Time) -> Self {
        let (connection, body_kept) = (None, BODY_KEPT);
        Self { player, client_id, connection, away_since, body_kept, snapshots: 0, rewound: None }
    }
}

impl<G: Game> Server<G> {
    /// A server that lets in whoever its listener does.
    pub fn new(
        config: ListenerConfig,
        content: G::Content,
        seed: u64,
        rates: Rates,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self {
            listener: Listener::new(config, now, random),
            half: SnapshotServer::new(content, seed, rates, now),
            seats: Vec::new(),
            events: Vec::new(),
            malformed: 0,
            measured_at: now,
            pacing: Pacing::default(),
            hosting: None,
        }
    }

    /// A server that lets in anyone, for development and local networks: private against listeners, not
    /// against impostors.
    pub fn open(
        content: G::Content,
        seed: u64,
        rates: Rates,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self::new(ListenerConfig::open(random), content, seed, rates, now, random)
    }

    /// Sends compact snapshots, with these tables, to whoever joins from now on and has the same; others get plain
    /// ones, as all do where [`Rates::base`] is not the common one. Refused if they are of another game.
    pub fn use_tables(&mut self, tables: impl Into<Arc<Tables>>) -> Result<(), TablesError> {
        self.half.use_tables(tables.into())
    }

    /// Sends plain snapshots instead while ticks take too long, as [`ByLoad`] decides once a second, if whoever runs it
    /// says how long they take ([`worked`](Server::worked)).
    pub fn choose_by_load(&mut self) {
        self.half.by_load = Some(ByLoad::default());
    }

    /// Lets the rules foresee a player's own entities in compact snapshots, for whoever joins from now on: both ends
    /// step what the player has in sight from its base on, with the commands that it gave. Whatever comes as foreseen
    /// costs a fraction of a bit; each snapshot costs both ends a step for each tick since its base, of which there are
    /// at most [`FORESEEN_TICKS_MAX`](crate::FORESEEN_TICKS_MAX). False, and without effect, if they cannot
    /// ([`Game::foresees`]); it takes tables ([`use_tables`](Server::use_tables)), too.
    pub fn foresee(&mut self) -> bool {
        self.half.foresees = G::foresees();
        self.half.foresees
    }

    /// Whether snapshots are compact now, for those who have the tables.
    pub fn sends_compact(&self) -> bool {
        self.half.sends_compact()
    }

    /// Takes a datagram; its bytes are of no use afterwards. An answer goes back to the same peer.
    pub fn receive(
        &mut self,
        now: Time,
        from: Peer,
        datagram: &mut [u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        self.receive_from(now, (from, None), datagram, random)
    }

    /// The same for a datagram of a link that says in which TLS session it came, if in any; see
    /// [`Listener::receive_within`].
    pub fn receive_from(
        &mut self,
        now: Time,
        from: (Peer, Option<TlsSession>),
        datagram: &mut [u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        if self.stage() == Some(Stage::Over) && is_handshake(datagram) {
            return None;
        }
        let mut heard = Vec::new();
        let Self { listener, half, seats, malformed, .. } = self;
        let answer = listener.receive_from(now, from, datagram, random, &mut |event| match event {
            // What was heard before waits, so this waits too.
            ListenerEvent::Message { connection, event: Event::Unreliable(message) }
                if heard.is_empty() =>
            {
                let is_theirs = |seat: &&Seat| seat.connection == Some(connection);
                // Most often it stands where its connection does.
                let likely = seats.get(usize::from(connection.slot())).filter(is_theirs);
                let seat = likely.or_else(|| seats.iter().find(is_theirs));
                let read = seat.map(|seat| half.read(now, seat.player, message));
                // A connection whose player came back on another has nothing more to say.
                *malformed += u64::from(matches!(read, Some(Err(_))));
            }
            event => heard.extend(Heard::of(event)),
        });
        heard.into_iter().for_each(|heard| self.hear(now, heard));
        // An answer is long and rare: only one that is there is moved.
        if answer.is_some() { answer } else { None }
    }

    /// A TLS session is over, and whoever played in it is gone; see [`Listener::session_ended`].
    pub fn session_ended(&mut self, now: Time, peer: Peer) {
        self.listener.session_ended(now, peer);
    }

    /// Steps what is due, and says to each player what it may see.
    pub fn advance(&mut self, now: Time) {
        self.step(now);
        self.tell(now);
    }

    /// The first half of [`advance`](Server::advance), for who wants to know how long each takes: steps what is due.
    pub fn step(&mut self, now: Time) {
        let mut heard = Vec::new();
        self.listener.advance(now, &mut |event| heard.extend(Heard::of(event)));
        heard.into_iter().for_each(|heard| self.hear(now, heard));
        let may_step = self.advance_hosting(now);
        let half = &mut self.half;
        self.seats.retain(|seat| {
            let is_away = may_step && seat.connection.is_none();
            let is_kept = !is_away || now - seat.away_since < PLACE_KEPT;
            if !is_kept {
                half.leave(seat.player);
            } else if is_away && now - seat.away_since >= seat.body_kept {
                half.miss(seat.player);
            }
            is_kept
        });
        if may_step {
            self.half.advance(now);
        }
        self.measure(now);
    }

    /// The other half: says to each player what it may see of what was stepped.
    pub fn tell(&mut self, now: Time) {
        let mut events = Vec::new();
        for seat in &mut self.seats {
            let Some(connection) = seat.connection else { continue };
            if !self.half.has_news_for(seat.player) {
                continue;
            }
            self.half.take_events(seat.player, &mut events);
            if !events.is_empty() {
                send_events(&mut self.listener, now, connection, &events);
            }
            let budget = self.listener.budget_bytes(now, connection);
            let (listener, mut is_told) = (&mut self.listener, false);
            self.half.write(seat.player, PAYLOAD_BYTES_MAX, budget, |number, part| {
                listener.send_unreliable(connection, number as u32, part);
                is_told = true;
            });
            seat.snapshots += u32::from(is_told);
        }
    }

    /// Begins another game with those who are here: another map, other content.
    pub fn change(&mut self, now: Time, content: G::Content, seed: u64) {
        for (player, welcome) in self.half.change(content, seed) {
            let seat = self.seats.iter().find(|seat| seat.player == player);
            let Some(connection) = seat.and_then(|seat| seat.connection) else { continue };
            let message = [&[WELCOME], &welcome[..]].concat();
            if self.listener.send_reliable(connection, &message).is_err() {
                self.listener.close(now, connection, CloseReason::Backlogged);
            }
        }
        // Who is away starts afresh too.
        self.seats.retain(|seat| seat.connection.is_some());
    }

    /// The next datagram to send, and to whom; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<(Peer, &[u8])> {
        self.listener.transmit(now)
    }

    /// When to call [`advance`](Server::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        let resting = self.hosting.as_ref().filter(|hosting| !hosting.steps());
        let step = resting.map_or(self.half.next_wake(), |hosting| hosting.next_wake());
        step.min(self.listener.next_wake())
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<ServerEvent> {
        std::mem::take(&mut self.events)
    }

    /// The world as it is.
    pub fn world(&self) -> &World<G::Entity> {
        &self.half.world
    }

    /// What its owner should know before it starts.
    pub fn warning(&self) -> Option<&'static str> {
        self.listener.warning()
    }

    /// Those who are here.
    pub fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.seats.iter().filter(|seat| seat.connection.is_some()).map(|seat| seat.player)
    }

    /// What was counted and measured on a player's connection.
    pub fn statistics(&self, of: PlayerId) -> Option<Statistics> {
        let seat = self.seats.iter().find(|seat| seat.player == of)?;
        self.listener.statistics(seat.connection?)
    }

    /// What a player may see and does not have yet; none if it has all, or all fits one datagram. With a ceiling of
    /// 4,000 bytes a second or more ([`RateLimits`](crate::channel::RateLimits)) every world arrives at last. With
    /// less it may not: ask now and then, and close or move a player whose backlog lasts.
    pub fn backlog(&self, of: PlayerId) -> Option<Backlog> {
        self.half.backlog(of)
    }

    /// Where a player's datagrams go at present, if it is here.
    pub fn peer(&self, of: PlayerId) -> Option<Peer> {
        let seat = self.seats.iter().find(|seat| seat.player == of)?;
        self.listener.peer(seat.connection?)
    }

    /// Bytes on the heap for one player's snapshots.
    pub fn memory_bytes(&self, of: PlayerId) -> usize {
        self.half.memory_bytes(of)
    }

    /// The connections beneath: whom they let in and what they dropped.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// How often a command had to be repeated because none had come in time, of all players ever.
    pub fn repeated(&self) -> u64 {
        self.half.repeated
    }

    /// Takes down how long the owner's computer worked for this server since this was last said: receiving,
    /// advancing and sending. Say it after each round of these; players are then told once a second how long
    /// ticks take, and can see when the server is at fault.
    pub fn worked(&mut self, took: Span) {
        self.pacing.worked(took, self.half.world.tick());
    }

    /// Says goodbye to everyone, because the server stops. They have heard it when there are no
    /// [`players`](Server::players) left; until then it is driven as before.
    pub fn close(&mut self, now: Time) {
        for connection in self.seats.iter().filter_map(|seat| seat.connection) {
            self.listener.close(now, connection, CloseReason::ServerStopped);
        }
    }

    /// Messages that were not taken because no client of ours writes such.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// What shots hit since this was last asked, as their shooters saw it and as it was.
    pub fn take_verdicts(&mut self) -> Vec<Verdict> {
        self.half.verdicts.drain(..).collect()
    }

    /// What players claimed for their own entities since this was last asked, where they are trusted.
    pub fn take_claims(&mut self) -> Vec<Claim> {
        self.half.claims.drain(..).collect()
    }

    /// Has players who come from now on tell what their screens show, even where no shot is judged by it: a few bits
    /// with each command. Then [`shown_to`](Server::shown_to) knows it.
    pub fn ask_what_is_shown(&mut self) {
        self.half.ask_what_is_shown();
    }

    /// The world as a player's screen showed it when it gave its command of a tick of late, or the last before it: made
    /// again from snapshots by the player's own word, which may be a lie. Errors that its screen smoothed are not in
    /// it. Who `predicts` its own player has that in the present, else in the past like all others. None if the player
    /// does not tell, or predicts others too: how, only its own computer knows.
    pub fn shown_to(&self, player: PlayerId, at: Tick, predicts: bool) -> Option<World<G::Entity>> {
        self.half.shown_to(player, at, predicts)
    }

    /// By how much a player's own time runs ahead of the server's: by how much its commands come early, and half of its
    /// round trip. None if it does not tell what its screen shows.
    pub fn ahead(&self, player: PlayerId) -> Option<Span> {
        let way = self.statistics(player)?.round_trip.smoothed? / 2;
        let micros = way.as_micros() as i64 + self.half.early_micros(player)?;
        Some(Span::micros(micros.max(0) as u64))
    }

    /// What a player asked for in the last tick; where nothing had come in time, what was taken for it.
    pub fn asked_by(&self, player: PlayerId) -> Option<&G::Command> {
        self.half.asked_by(player)
    }

    /// Records the match from now on, in place of what was recorded before; see [`replay`](crate::replay). It
    /// changes nothing of the game. A recording is of one match: [`change`](Server::change) ends it.
    ///
    /// Nothing is written anywhere: take the bytes after each [`advance`](Server::advance) and hand them to a thread
    /// of your own that appends them to a file. What is taken is whole blocks, good for what was played up to a
    /// second ago. When [`RECORDING_WAITING_BYTES_MAX`](crate::replay::RECORDING_WAITING_BYTES_MAX) wait, it ends.
    ///
    /// ```
    /// use sametick::replay::{Recording, Replay};
    /// use sametick::secure::SystemRandom;
    /// use sametick::{Fields, Game, Networked, NoEvent, Rates, Server, Tick, Time, Turn, World};
    ///
    /// #[derive(Clone, Debug, Default, PartialEq)]
    /// pub struct Lamp { pub hours: u16 }
    /// impl Networked for Lamp {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bits("hours", &mut self.hours, 16); }
    /// }
    /// sametick::entities! { pub enum Entity { Lamp } }
    ///
    /// struct Lamps;
    /// impl Game for Lamps {
    ///     type Entity = Entity;
    ///     type Command = Lamp;
    ///     type Event = NoEvent;
    ///     type Content = ();
    ///     fn populate(_content: &(), world: &mut World<Entity>) {
    ///         world.spawn(Lamp::default());
    ///     }
    ///     fn step(world: &mut World<Entity>, _turn: &Turn<'_, Self>) {
    ///         world.all_mut::<Lamp>().for_each(|(_, lamp)| lamp.hours += 1);
    ///     }
    /// }
    ///
    /// let random = &mut SystemRandom::new();
    /// let mut server = Server::<Lamps>::open((), 7, Rates::default(), Time::ZERO, random);
    /// server.record(&Recording::new("1.0", "lamps = 1"));
    /// let mut file = Vec::new();
    /// for millis in (0..5_000).step_by(10) {
    ///     server.advance(Time::from_millis(millis));
    ///     file.extend(server.take_recording());
    /// }
    /// file.extend(server.finish_recording());
    ///
    /// let mut replay = Replay::<Lamps>::open(file, ())?;
    /// assert_eq!(replay.verify()?.divergence, None);
    /// replay.seek(Tick(60))?;
    /// assert_eq!(replay.world().all::<Lamp>().next().unwrap().1.hours, 60);
    /// # Ok::<(), sametick::replay::ReplayError>(())
    /// ```
    pub fn record(&mut self, recording: &Recording) {
        self.half.record(recording);
    }

    /// Whether the match is being recorded: not any more once it has ended by itself.
    pub fn is_recording(&self) -> bool {
        self.half.is_recording()
    }

    /// What was recorded since this was last asked, in whole blocks.
    pub fn take_recording(&mut self) -> Vec<u8> {
        self.half.take_recording()
    }

    /// Ends the recording, and gives the rest of it.
    pub fn finish_recording(&mut self) -> Vec<u8> {
        self.half.finish_recording();
        self.half.take_recording()
    }

    /// Tells the rules' side how long round trips take, now and then.
    fn measure(&mut self, now: Time) {
        if now - self.measured_at < MEASURED_EVERY {
            return;
        }
        self.measured_at = now;
        for seat in &mut self.seats {
            let statistics = seat.connection.and_then(|of| self.listener.statistics(of));
            if let Some(statistics) = statistics {
                seat.rewound = self.half.measure(seat.player, statistics.round_trip.minimum);
            }
        }
        let Some(pace) = self.pacing.take(now) else { return };
        let Rates { ticks_per_snapshot, rewinding, tick_length, .. } = self.half.rates;
        let by_load = self.half.by_load.map(|choice| choice.after(pace.tick_mean, tick_length));
        self.half.by_load = by_load;
        for seat in &mut self.seats {
            let snapshots = std::mem::take(&mut seat.snapshots);
            let Some(connection) = seat.connection else { continue };
            let rewinds_at_most = rewinding.at_most;
            let rewound = seat.rewound.filter(|_| rewinds_at_most > Span::ZERO);
            let pace = Pace { snapshots, ticks_per_snapshot, rewinds_at_most, rewound, ..pace };
            self.listener.send_unreliable(connection, 0, &pace.write());
        }
    }

    fn hear(&mut self, now: Time, heard: Heard) {
        match heard {
            Heard::Connected(connection, client_id) => {
                let who = (connection, client_id);
                let hosting = self.hosting.as_mut();
                if hosting.is_none_or(|hosting| hosting.seats_at_once(now, who)) {
                    self.seat(connection, client_id);
                }
            }
            Heard::Reliable(connection, message) => self.hear_reliable(connection, &message),
            Heard::Unreliable(connection, message) => {
                let seat = self.seats.iter().find(|seat| seat.connection == Some(connection));
                // A connection whose player came back on another has nothing more to say.
                let read = seat.map(|seat| self.half.read(now, seat.player, &message));
                self.malformed += u64::from(matches!(read, Some(Err(_))));
            }
            Heard::Left(connection, reason) => {
                let seat = self.seats.iter_mut().find(|seat| seat.connection == Some(connection));
                if let Some(hosting) = &mut self.hosting {
                    let client_id = seat.as_ref().map(|seat| seat.client_id);
                    hosting.depart(connection, client_id, reason);
                }
                if let Some(seat) = seat {
                    (seat.connection, seat.away_since) = (None, now);
                    let is_long = reason == CloseReason::TimedOut;
                    seat.body_kept = if is_long { Span::ZERO } else { BODY_KEPT };
                    self.half.suspend(seat.player);
                    self.events.push(ServerEvent::Left { player: seat.player, reason });
                }
            }
        }
    }

    pub(crate) fn seat(&mut self, connection: ConnectionId, client_id: u64) {
        let known = self.seats.iter_mut().find(|seat| seat.client_id == client_id);
        let (player, welcome) = match known {
            Some(seat) => {
                seat.connection = Some(connection);
                (seat.player, self.half.rejoin(seat.player))
            }
            None => {
                let taken = |id: &u16| self.seats.iter().any(|seat| seat.player == PlayerId(*id));
                let player = PlayerId((0..).find(|id| !taken(id)).unwrap_or_default());
                let connection = Some(connection);
                self.seats.push(Seat { connection, ..Seat::away(player, client_id, Time::ZERO) });
                (player, self.half.join(player))
            }
        };
        // A fresh connection has room for it.
        if let Some(hosting) = &self.hosting {
            let _ = self.listener.send_reliable(connection, &hosting.reign_message());
        }
        let _ = self.listener.send_reliable(connection, &[&[WELCOME], &welcome[..]].concat());
        self.events.push(ServerEvent::Joined { player, client_id });
    }
}

/// Says what happened. What may be lost goes together, as much as fits one packet; nothing overtakes what must arrive.
fn send_events(listener: &mut Listener, now: Time, to: ConnectionId, events: &[(bool, Arc<[u8]>)]) {
    let mut together = Vec::with_capacity(PAYLOAD_BYTES_MAX);
    together.push(EVENTS);
    let flush = |together: &mut Vec<u8>, listener: &mut Listener| {
        if together.len() > 1 {
            listener.send_unreliable(to, 0, together);
            together.truncate(1);
        }
    };
    for (is_reliable, message) in events {
        // All but its kind. What is coded is together already.
        let event = &message[1..];
        let is_alone = *is_reliable || message[0] == CODED_EVENTS;
        let length = u8::try_from(event.len()).ok().filter(|_| !is_alone);
        if length.is_none() || together.len() + 1 + event.len() > PAYLOAD_BYTES_MAX {
            flush(&mut together, listener);
        }
        if let Some(length) = length {
            together.push(length);
            together.extend_from_slice(event);
        } else if !is_reliable {
            listener.send_unreliable(to, 0, message);
        } else if listener.send_reliable(to, message).is_err() {
            listener.close(now, to, CloseReason::Backlogged);
        }
    }
    flush(&mut together, listener);
}

/// How often round trips are looked at.
const MEASURED_EVERY: Span = Span::millis(500);

/// What the listener said, kept until it can be acted on.
enum Heard {
    Connected(ConnectionId, u64),
    Unreliable(ConnectionId, Vec<u8>),
    Reliable(ConnectionId, Vec<u8>),
    Left(ConnectionId, CloseReason),
}

impl Heard {
    /// None if nothing is to be done.
    fn of(event: ListenerEvent<'_>) -> Option<Self> {
        match event {
            ListenerEvent::Connected { connection, client_id, .. } => {
                Some(Self::Connected(connection, client_id))
            }
            ListenerEvent::Message { connection, event: Event::Unreliable(message) } => {
                Some(Self::Unreliable(connection, message.to_vec()))
            }
            ListenerEvent::Message { connection, event: Event::Reliable(message) } => {
                Some(Self::Reliable(connection, message.to_vec()))
            }
            ListenerEvent::Left { connection, reason, .. } => Some(Self::Left(connection, reason)),
            ListenerEvent::Message { .. } => None,
        }
    }
}
