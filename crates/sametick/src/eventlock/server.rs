//! The server of an event-locked game: it alone steps the world, judges requests, and tells each player what changed
//! of what it may see.

use super::budget::{Bucket, Purse};
use super::ledger::{Ledger, News, Picture};
use super::speech::{ANSWERS_PER_TELLING_MAX, Asked, Asking, Telling, Welcome};
use super::{Denial, EventRates, Requests, TICK_LAST, rules, sight_hash, sight_of};
use crate::core::peer::Peer;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::{Layout, Precision};
use crate::schema::table::Head;
use crate::sim::game::Turn;
use crate::sim::world::World;
use crate::transport::channel::{CloseReason, Event, Settings, Statistics};
use crate::transport::endpoint::{Answer, Listener, ListenerConfig, ListenerEvent};
use crate::transport::seats::{PLACE_KEPT, ServerEvent};
use crate::transport::secure::{ConnectionId, Random, TlsSession};
use std::collections::VecDeque;

/// How many requests of a player can wait for their tick: one is judged a tick.
pub const QUEUED_REQUESTS_MAX: usize = 32;
/// How many answers can wait to be told; who asks on without reading is sent away.
pub const UNTOLD_ANSWERS_MAX: usize = 256;
/// How many questions for the time a player may ask at once, and how many a second in the long run: a client of ours
/// asks one every 1.5 s at first. More are not answered.
pub const TIME_QUESTIONS_AT_ONCE: u32 = 4;
/// See [`TIME_QUESTIONS_AT_ONCE`].
pub const TIME_QUESTIONS_PER_SECOND: u32 = 1;

/// So many ticks at most are made up for at once; what is more is lost time.
const STEPS_AT_ONCE_MAX: u32 = 40;
/// While so much waits to be acknowledged, a player is not told more: later it is told less of the same.
const BACKLOG_BYTES: usize = 4096;
/// How many hashes of a player are kept, where they are.
const HASHES_MAX: usize = 256;

/// The server of an event-locked game. It is driven like a [`Server`](crate::Server): `receive`, `advance`,
/// `transmit`, `next_wake`.
pub struct EventServer<G: Requests> {
    listener: Listener,
    world: World<G::Entity>,
    content: G::Content,
    layouts: Layouts,
    command_layout: Layout,
    /// The world as the content has it.
    map: Picture,
    seed: u64,
    rates: EventRates,
    /// When it was which tick, since time was last lost.
    began: (Time, Tick),
    /// By number.
    seats: Vec<Seat<G>>,
    joined: Vec<PlayerId>,
    left: Vec<PlayerId>,
    commands: Vec<(PlayerId, Option<G::Command>)>,
    events: Vec<ServerEvent>,
    /// The world as it is, once one is told of it.
    picture: Picture,
    pictured: Option<Tick>,
    visible: Slots,
    news: News,
    malformed: u64,
    floods: u64,
    questions_dropped: u64,
    unsettled: u64,
    /// Whether places are kept for as long as the game lasts, for whoever comes.
    is_lent: bool,
    /// Whether time stands.
    is_held: bool,
}

struct Seat<G: Requests> {
    player: PlayerId,
    /// None of a player of a saved game who has not come yet.
    client_id: Option<u64>,
    stream: Option<Stream<G>>,
    away_since: Time,
    /// What somebody else asks for while its player is away.
    proxy: Option<G::Command>,
}

impl<G: Requests> Seat<G> {
    fn new(player: PlayerId, away_since: Time) -> Self {
        Self { player, client_id: None, stream: None, away_since, proxy: None }
    }
}

/// One connection's account.
struct Stream<G: Requests> {
    connection: ConnectionId,
    telling: Telling,
    asking: Asking,
    requests: VecDeque<Result<G::Command, Denial>>,
    verdicts: VecDeque<Result<Tick, Denial>>,
    bucket: Bucket,
    questions: Bucket,
    tells_at: Time,
    purse: Purse,
    hashes: VecDeque<(Tick, u64)>,
}

impl<G: Requests> EventServer<G> {
    /// A server that lets in whoever its listener does. How connections gather acknowledgements is set here.
    pub fn new(
        mut config: ListenerConfig,
        content: G::Content,
        seed: u64,
        rates: EventRates,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        assert!(crate::TICK_LENGTHS.contains(&rates.tick_length), "a tick lasts 1 to 50 ms");
        config.channel = frugal(config.channel);
        let layouts = Layouts::of::<G::Entity>();
        let mut world = World::default();
        G::populate(&content, &mut world);
        let unsettled = u64::from(world.settle().is_err());
        let mut map = Picture::default();
        take_picture(&world, &layouts, &mut map);
        Self {
            listener: Listener::new(config, now, random),
            world,
            content,
            command_layout: Layout::of::<G::Command>(Precision::State),
            layouts,
            map,
            seed,
            rates,
            began: (now, Tick::default()),
            seats: Vec::new(),
            joined: Vec::new(),
            left: Vec::new(),
            commands: Vec::new(),
            events: Vec::new(),
            picture: Picture::default(),
            pictured: None,
            visible: Slots::default(),
            news: News::default(),
            malformed: 0,
            floods: 0,
            questions_dropped: 0,
            unsettled,
            is_lent: false,
            is_held: false,
        }
    }

    /// A server that lets in anyone, for development and local networks.
    pub fn open(
        content: G::Content,
        seed: u64,
        rates: EventRates,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self::new(ListenerConfig::open(random), content, seed, rates, now, random)
    }

    /// Goes on with a saved game ([`World::save`]) from the tick it was saved in. Its players' seats are given to those
    /// who come, in order, without the rules hearing of anyone who joined. Call it before anybody has come.
    pub fn resume(mut self, now: Time, world: World<G::Entity>, players: &[PlayerId]) -> Self {
        self.began = (now, world.tick());
        (self.world, self.pictured) = (world, None);
        let is_new = |player: &&PlayerId| self.seats.iter().all(|seat| seat.player != **player);
        let seats = players.iter().filter(is_new);
        let seats: Vec<_> = seats.map(|player| Seat::new(*player, Time::MAX)).collect();
        self.seats.extend(seats);
        self.seats.sort_by_key(|seat| seat.player);
        self
    }

    /// Keeps the place of whoever leaves for as long as the game lasts: for that one, or else for the next who comes.
    /// Meanwhile [`play_for`](EventServer::play_for) can play on.
    pub fn with_lent_places(mut self) -> Self {
        self.is_lent = true;
        self
    }

    /// What a player who is away asks for in the next tick; it is judged like any request. Who is here asks for itself.
    pub fn play_for(&mut self, player: PlayerId, request: G::Command) {
        let away = self.seats.iter_mut().filter(|seat| seat.stream.is_none());
        away.filter(|seat| seat.player == player)
            .for_each(|seat| seat.proxy = Some(request.clone()));
    }

    /// Lets time stand, or go on. Whoever comes meanwhile is let in, and is told of the world when it goes on.
    /// Clocks that ran on meanwhile are early then, and wait for some seconds.
    pub fn hold(&mut self, now: Time, is_held: bool) {
        if self.is_held != is_held {
            self.began = (now, self.world.tick());
        }
        self.is_held = is_held;
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

    /// The same for a datagram of a link that says in which TLS session it came, if in any.
    pub fn receive_from(
        &mut self,
        now: Time,
        from: (Peer, Option<TlsSession>),
        datagram: &mut [u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        let mut heard = Vec::new();
        let tell = &mut |event: ListenerEvent<'_>| heard.extend(Heard::of(event));
        let answer = self.listener.receive_from(now, from, datagram, random, tell);
        heard.into_iter().for_each(|heard| self.hear(now, heard));
        answer
    }

    /// A TLS session is over, and whoever played in it is gone.
    pub fn session_ended(&mut self, now: Time, peer: Peer) {
        self.listener.session_ended(now, peer);
    }

    /// Steps what is due, and tells whoever is to be told.
    pub fn advance(&mut self, now: Time) {
        let mut heard = Vec::new();
        self.listener.advance(now, &mut |event| heard.extend(Heard::of(event)));
        heard.into_iter().for_each(|heard| self.hear(now, heard));
        let (left, is_lent) = (&mut self.left, self.is_lent);
        self.seats.retain(|seat| {
            let is_kept = is_lent || seat.stream.is_some() || now - seat.away_since < PLACE_KEPT;
            if !is_kept {
                left.push(seat.player);
            }
            is_kept
        });
        for _ in 0..STEPS_AT_ONCE_MAX {
            if now < self.next_step_at() {
                break;
            }
            self.step();
        }
        if now >= self.next_step_at() {
            self.began = (now, self.world.tick());
        }
        self.listener.set_tick(self.world.tick().0);
        for index in 0..self.seats.len() {
            self.tell(now, index);
        }
    }

    /// The next datagram to send, and to whom; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<(Peer, &[u8])> {
        self.listener.transmit(now)
    }

    /// When to call [`advance`](EventServer::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        self.next_step_at().min(self.listener.next_wake())
    }

    /// The one world, as it is.
    pub fn world(&self) -> &World<G::Entity> {
        &self.world
    }

    /// Map and tuning.
    pub fn content(&self) -> &G::Content {
        &self.content
    }

    /// The game's time: zero at tick zero. What clients' clocks follow. At [`TICK_LAST`] it stands.
    pub fn time(&self, now: Time) -> Time {
        let (at, tick) = self.began;
        let passed = if self.is_held { Span::ZERO } else { now - at };
        let last = Time::ZERO + self.rates.tick_length * u64::from(TICK_LAST.0);
        (Time::ZERO + self.rates.tick_length * u64::from(tick.0) + passed).min(last)
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<ServerEvent> {
        std::mem::take(&mut self.events)
    }

    /// Those who are here.
    pub fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.seats.iter().filter(|seat| seat.stream.is_some()).map(|seat| seat.player)
    }

    /// What was counted and measured on a player's connection.
    pub fn statistics(&self, of: PlayerId) -> Option<Statistics> {
        let seat = self.seats.iter().find(|seat| seat.player == of)?;
        self.listener.statistics(seat.stream.as_ref()?.connection)
    }

    /// Up to which tick a player was told what it sees.
    pub(crate) fn told(&self, player: PlayerId) -> Option<Tick> {
        let seat = self.seats.iter().find(|seat| seat.player == player)?;
        seat.stream.as_ref().map(|stream| stream.telling.ledger.tick)
    }

    /// The hash of what a player may see at a tick it was told of, where [`EventRates::keeps_hashes`] is set: of the
    /// world itself, not of what was sent.
    pub fn hash_told(&self, player: PlayerId, tick: Tick) -> Option<u64> {
        let seat = self.seats.iter().find(|seat| seat.player == player)?;
        let hashes = &seat.stream.as_ref()?.hashes;
        hashes.iter().find(|(at, _)| *at == tick).map(|(_, hash)| *hash)
    }

    /// Messages that were not taken because no client of ours writes such.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Requests that were denied because their player made too many.
    pub fn floods(&self) -> u64 {
        self.floods
    }

    /// Questions for the time that were not answered because their player asked too many.
    pub fn questions_dropped(&self) -> u64 {
        self.questions_dropped
    }

    /// Ticks after which the world held a number that is not finite, and was mended.
    pub fn unsettled(&self) -> u64 {
        self.unsettled
    }

    /// The connections beneath.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Says goodbye to everyone, because the server stops.
    pub fn close(&mut self, now: Time) {
        for seat in &self.seats {
            if let Some(stream) = &seat.stream {
                self.listener.close(now, stream.connection, CloseReason::ServerStopped);
            }
        }
    }

    fn next_step_at(&self) -> Time {
        if self.is_held || self.world.tick() >= TICK_LAST {
            return Time::MAX;
        }
        let (at, tick) = self.began;
        at + self.rates.tick_length * (u64::from(self.world.tick().0 - tick.0) + 1)
    }

    fn step(&mut self) {
        let tick = Tick(self.world.tick().0 + 1);
        self.commands.clear();
        for seat in &mut self.seats {
            let Some(stream) = &mut seat.stream else {
                let is_lawful = |request: &G::Command| {
                    G::judge(&self.world, &self.content, seat.player, request).is_ok()
                };
                let proxy = seat.proxy.take().filter(is_lawful);
                self.commands.push((seat.player, proxy.or_else(G::absent)));
                continue;
            };
            let request = stream.requests.pop_front().map(|request| {
                let request = request?;
                G::judge(&self.world, &self.content, seat.player, &request).map(|()| request)
            });
            let verdict = request.as_ref().map(|request| match request {
                Ok(_) => Ok(tick),
                Err(denial) => Err(*denial),
            });
            stream.verdicts.extend(verdict);
            self.commands.push((seat.player, request.and_then(Result::ok)));
        }
        let turn = Turn {
            joined: &self.joined,
            left: &self.left,
            commands: &self.commands,
            ..Turn::new(tick, self.rates.tick_length, self.seed, &self.content)
        };
        G::step(&mut self.world, &turn);
        self.world.set_tick(tick);
        self.unsettled += u64::from(self.world.settle().is_err());
        self.joined.clear();
        self.left.clear();
    }

    /// Tells a player what is new to it, if it is its turn and there is anything.
    fn tell(&mut self, now: Time, index: usize) {
        let tick = self.world.tick();
        let shares = self.seats.len().max(1) as u64;
        let seat = &mut self.seats[index];
        let Some(stream) = &mut seat.stream else { return };
        let is_due = now >= stream.tells_at && stream.telling.ledger.tick != tick;
        if !is_due || self.listener.backlog_bytes(stream.connection) > BACKLOG_BYTES {
            return;
        }
        if let Some(bytes) = self.rates.bytes_per_second {
            let sent = self.listener.statistics(stream.connection).unwrap_or_default();
            // An acknowledgement that is due before the next tick is a packet of its own unless it rides along.
            let acknowledges_at = self.listener.acknowledges_at(stream.connection);
            let goes_anyway = acknowledges_at.is_some_and(|at| at <= now + self.rates.tick_length);
            if !stream.purse.is_open(now, sent, u64::from(bytes) / shares, goes_anyway) {
                return;
            }
        }
        if self.pictured != Some(tick) {
            self.pictured = Some(tick);
            take_picture(&self.world, &self.layouts, &mut self.picture);
        }
        sight_of::<G>(&self.world, &self.content, seat.player, &mut self.visible);
        let (layouts, news) = (&self.layouts.state, &mut self.news);
        stream.telling.ledger.news(&self.picture, &self.visible, layouts, news);
        if news.is_empty() && stream.verdicts.is_empty() {
            return;
        }
        let answers = stream.verdicts.len().min(ANSWERS_PER_TELLING_MAX);
        let verdicts: Vec<_> = stream.verdicts.drain(..answers).collect();
        let message = stream.telling.write_news(layouts, (tick, &self.picture), news, &verdicts);
        if self.rates.keeps_hashes {
            let is_seen = |id: crate::EntityId| self.visible.contains(id.slot());
            let hash = sight_hash(&self.world, &self.layouts, tick, is_seen);
            if stream.hashes.len() == HASHES_MAX {
                stream.hashes.pop_front();
            }
            stream.hashes.push_back((tick, hash));
        }
        stream.tells_at = now + self.rates.tell_every;
        if self.listener.send_reliable(stream.connection, &message).is_err() {
            self.listener.close(now, stream.connection, CloseReason::Backlogged);
        }
    }

    fn hear(&mut self, now: Time, heard: Heard) {
        match heard {
            Heard::Connected(connection, client_id) => self.seat(now, connection, client_id),
            Heard::Reliable(connection, message) => self.hear_message(now, connection, &message),
            Heard::Left(connection, reason) => {
                let is_theirs = |seat: &&mut Seat<G>| {
                    seat.stream.as_ref().is_some_and(|stream| stream.connection == connection)
                };
                let Some(seat) = self.seats.iter_mut().find(is_theirs) else { return };
                (seat.stream, seat.away_since) = (None, now);
                self.events.push(ServerEvent::Left { player: seat.player, reason });
            }
        }
    }

    fn hear_message(&mut self, now: Time, connection: ConnectionId, message: &[u8]) {
        let time = self.time(now);
        let streams = self.seats.iter_mut().filter_map(|seat| seat.stream.as_mut());
        // A connection whose player came back on another has nothing more to say.
        let mut streams = streams.filter(|stream| stream.connection == connection);
        let Some(stream) = streams.next() else { return };
        let mut reason = CloseReason::Backlogged;
        let is_well = match stream.asking.read(&self.command_layout, message) {
            Ok(Asked::Time(_))
                if !stream.questions.takes(
                    now,
                    TIME_QUESTIONS_PER_SECOND,
                    TIME_QUESTIONS_AT_ONCE,
                ) =>
            {
                self.questions_dropped += 1;
                true
            }
            Ok(Asked::Time(question)) => {
                let answer = stream.telling.write_time(question, time);
                self.listener.send_reliable(connection, &answer).is_ok()
            }
            Ok(Asked::Request) => {
                let waiting = stream.requests.len();
                let EventRates { requests_per_second, requests_at_once, .. } = self.rates;
                let fits = stream.bucket.takes(now, requests_per_second, requests_at_once)
                    && waiting < QUEUED_REQUESTS_MAX;
                let request = self.command_layout.value(stream.asking.last());
                self.floods += u64::from(!fits);
                stream.requests.push_back(if fits { Ok(request) } else { Err(Denial::FLOOD) });
                // Denials wait their turn in the order of the requests; beyond all measure it is an attack.
                reason = CloseReason::Kicked;
                waiting + stream.verdicts.len() < UNTOLD_ANSWERS_MAX
            }
            Err(_) => {
                self.malformed += 1;
                reason = CloseReason::ProtocolViolation;
                false
            }
        };
        // What cannot be granted anyway takes no tick.
        while let Some(Err(denial)) = stream.requests.front() {
            stream.verdicts.push_back(Err(*denial));
            stream.requests.pop_front();
        }
        if !is_well {
            self.listener.close(now, connection, reason);
        }
    }

    /// A place for somebody new: one that was left, if places are lent (the last one first: it may be the same player
    /// with another token), or the first to which nobody has come.
    fn free_seat(&self) -> Option<usize> {
        let seats = || self.seats.iter().enumerate().filter(|(_, seat)| seat.stream.is_none());
        let left = seats().filter(|(_, seat)| self.is_lent && seat.client_id.is_some());
        let left = left.max_by_key(|(_, seat)| seat.away_since).map(|(index, _)| index);
        left.or_else(|| seats().find(|(_, seat)| seat.client_id.is_none()).map(|(index, _)| index))
    }

    fn seat(&mut self, now: Time, connection: ConnectionId, client_id: u64) {
        let known = self.seats.iter().position(|seat| seat.client_id == Some(client_id));
        let index = known.or_else(|| self.free_seat()).unwrap_or_else(|| {
            let taken = |id: &u16| self.seats.iter().any(|seat| seat.player == PlayerId(*id));
            let player = PlayerId((0..).find(|id| !taken(id)).unwrap_or_default());
            let index = self.seats.partition_point(|seat| seat.player < player);
            self.seats.insert(index, Seat::new(player, now));
            self.joined.push(player);
            index
        });
        let tick = self.world.tick();
        let welcome = Welcome {
            me: self.seats[index].player,
            content: G::content_name(&self.content),
            rules: rules::<G>(&self.layouts),
            tick,
            tick_length: self.rates.tick_length,
            time: self.time(now),
        };
        let seat = &mut self.seats[index];
        (seat.client_id, seat.proxy) = (Some(client_id), None);
        seat.stream = Some(Stream {
            connection,
            telling: Telling::new(Ledger::new(self.map.clone(), tick)),
            asking: Asking::new(&self.command_layout),
            requests: VecDeque::new(),
            verdicts: VecDeque::new(),
            bucket: Bucket::full(now),
            questions: Bucket::full(now),
            tells_at: now,
            purse: Purse::new(now),
            hashes: VecDeque::new(),
        });
        let player = seat.player;
        // A fresh connection has room for it.
        let _ = self.listener.send_reliable(connection, &welcome.write());
        self.events.push(ServerEvent::Joined { player, client_id });
    }
}

/// All entities as records.
fn take_picture<E: Entities>(world: &World<E>, layouts: &Layouts, picture: &mut Picture) {
    picture.table.visible.clear();
    for (id, owner, entity) in world.owned_entities().filter(|(id, ..)| !id.is_provisional()) {
        entity.clone().gather(&layouts.state, Head { id, kind: entity.kind() }, &mut picture.table);
        picture.set_owner(id.slot(), owner.map_or(0, |owner| 1 + u32::from(owner.0)));
    }
}

/// The map as a client that has the same content makes it.
pub(super) fn map_of<G: Requests>(content: &G::Content, layouts: &Layouts) -> Picture {
    let (mut world, mut map) = (World::default(), Picture::default());
    G::populate(content, &mut world);
    // Mended as on the server.
    let _ = world.settle();
    take_picture(&world, layouts, &mut map);
    map
}

/// Connections on which acknowledgements ride along with what is told or asked for, and silence is no news.
pub(super) fn frugal(channel: Settings) -> Settings {
    Settings {
        keep_alive: KEEP_ALIVE,
        acknowledge_within: crate::transport::channel::ACKNOWLEDGE_WITHIN_MAX,
        acknowledged_within: crate::transport::channel::ACKNOWLEDGE_WITHIN_MAX,
        ..channel
    }
}

/// When nothing was said for so long, something is.
const KEEP_ALIVE: Span = Span::millis(2500);

/// What the listener said, kept until it can be acted on.
enum Heard {
    Connected(ConnectionId, u64),
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
            ListenerEvent::Message { connection, event: Event::Reliable(message) } => {
                Some(Self::Reliable(connection, message.to_vec()))
            }
            ListenerEvent::Left { connection, reason, .. } => Some(Self::Left(connection, reason)),
            ListenerEvent::Message { .. } => None,
        }
    }
}
