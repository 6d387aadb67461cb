//! Plays a scene: a server, its players and the lines between them, in steps of a millisecond of virtual time.

use super::party::Party;
use super::{
    Cargo, Frame, Hand, Keys, PLAYERS_MAX, Packet, Pane, Play, Recorded, Setup, Shot, Sum, Wire,
};
use crate::core::dice::Dice;
use crate::core::peer::Peer;
use crate::core::tick::PlayerId;
use crate::core::time::{Span, Time};
use crate::schema::entities::Layouts;
use crate::session::client::Client;
use crate::session::server::Server;
use crate::sim::game::Game;
use crate::sim::world::World;
use crate::simnet::network::{Conditions, Jitter, Loss, Outage, Pipe, Statistics};
use crate::transport::channel;
use crate::transport::secure::Random;
use std::collections::VecDeque;

pub(super) const STEP: Span = Span::millis(1);
/// A player looks, and decides, this often.
pub(super) const FRAME_MILLIS: u64 = 4;
/// All players knock at this one.
pub(super) const SERVER: Peer = Peer::new([0xfd; 16], 1);

/// Where a player knocks from; they are counted from one.
pub(super) fn peer_of(number: u64) -> Peer {
    Peer::new([0xfd; 16], 1 + number as u16)
}

/// Chance for what needs no secrets, because nothing leaves the run.
pub(super) struct Seeded(pub(super) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// One direction of a line, and which of the recorded packets are under way on it.
pub(super) struct Way {
    pub(super) pipe: Pipe,
    pub(super) under_way: VecDeque<usize>,
    pub(super) before: Statistics,
}

impl Way {
    /// A player's line in one direction, which is silent for a while; the stream sets its chance apart.
    pub(super) fn new(
        setup: &Setup,
        stream: u64,
        wire: &Wire,
        silent: Option<(Span, Span)>,
    ) -> Self {
        let begins = Time::ZERO + setup.begins;
        let seed = Dice::new(setup.seed, stream).roll_u64();
        let mut pipe = Pipe::new(seed, conditions(&wire.at(Time::ZERO, begins)));
        if let Some((from, until)) = silent {
            let outage = Outage { begins: begins + from, ends: begins + until, holds: false };
            pipe.add_outage(Time::ZERO, outage);
        }
        Self { pipe, under_way: VecDeque::new(), before: Statistics::default() }
    }

    /// From here on it is counted.
    pub(super) fn begin(&mut self) {
        self.before = *self.pipe.statistics();
        // Who is under way from before is not kept, and shall not be taken for who comes after.
        self.under_way = std::iter::repeat_n(usize::MAX, self.before.in_flight as usize).collect();
    }

    /// What it has carried since.
    pub(super) fn sum(&self) -> Sum {
        let (now, before) = (self.pipe.statistics(), &self.before);
        Sum {
            packets: now.pushed - before.pushed,
            bytes: now.bytes_pushed - before.bytes_pushed,
            lost: now.lost + now.cut - before.lost - before.cut,
        }
    }
}

/// A player's line to the server, both ways of it, and what its ends had counted when the scene began.
pub(super) struct Line {
    pub(super) up: Way,
    pub(super) down: Way,
    counted_before: [Sum; 2],
}

impl Line {
    /// The line of a player; they are counted from one.
    pub(super) fn new(setup: &Setup, number: u64, wire: &Wire) -> Self {
        Self {
            up: Way::new(setup, number << 8 | 1, wire, None),
            down: Way::new(setup, number << 8 | 2, wire, wire.silent),
            counted_before: [Sum::default(); 2],
        }
    }

    /// A line that is bad for a while becomes so, and good again.
    pub(super) fn change(&mut self, wire: &Wire, now: Time, begins: Time) {
        if wire.changes(now, begins) {
            let conditions = conditions(&wire.at(now, begins));
            self.up.pipe.set_conditions(conditions.clone());
            self.down.pipe.set_conditions(conditions);
        }
    }

    /// From here on it is counted; its ends have counted so much.
    pub(super) fn begin(&mut self, counted: [Sum; 2]) {
        self.counted_before = counted;
        self.up.begin();
        self.down.begin();
    }

    /// Takes down what it carried since, and what its ends counted.
    pub(super) fn count(&self, counted: [Sum; 2], recorded: &mut Recorded) {
        recorded.sums.push([self.up.sum(), self.down.sum()]);
        recorded.channel.push([0, 1].map(|way| counted[way].since(self.counted_before[way])));
    }
}

impl Setup {
    /// A record in which nothing has happened yet.
    pub(super) fn blank(&self) -> Recorded {
        let (begins, tick_length) = (Time::ZERO + self.begins, self.rates.tick_length);
        Recorded { begins, tick_length, ..Recorded::default() }
    }

    /// From this moment of the scene on these keys of A's are down; before it begins none is.
    pub(super) fn press(&mut self, now: Time, keys: Keys) {
        let begins = Time::ZERO + self.begins;
        if now >= begins && self.hand.at(Span::MAX) != Some(keys) {
            self.hand.press(now - begins, keys);
        }
    }
}

struct Guest<G: Game> {
    client: Client<G>,
    peer: Peer,
    line: Line,
    margin_ms: Option<f64>,
    correction: f32,
}

/// A scene that is being played: for whoever takes A's keys while it goes on. What it comes to is what [`run`] makes
/// of the same setup with the same [`Hand`].
pub struct Running<P: Play> {
    play: P,
    setup: Setup,
    now: Time,
    server: Server<P::Game>,
    guests: Vec<Guest<P::Game>>,
    random: Seeded,
    layouts: Layouts,
    recorded: Recorded,
    datagram: Vec<u8>,
}

/// Plays a scene to its end.
///
/// ```
/// use sametick::theatre::{Play, Setup, Shape, ShapeKind, Wire, run};
/// use sametick::{PlayerId, Rates, Span, View, World};
/// # use sametick::{Fields, Game, Networked, NoEvent, Turn};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Walker { pub x: f32, pub who: u16 }
/// # impl Networked for Walker {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) {
/// #         f.exact("x", &mut self.x);
/// #         f.bits("who", &mut self.who, 16);
/// #     }
/// # }
/// # sametick::entities! { pub enum Entity { Walker } }
/// # pub struct Walk;
/// # impl Game for Walk {
/// #     type Entity = Entity;
/// #     type Command = Walker;
/// #     type Event = NoEvent;
/// #     type Content = ();
/// #     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
/// #         for player in turn.joined() {
/// #             world.spawn_owned(player, Walker { x: 0.0, who: player.0 });
/// #         }
/// #         for (player, wish) in turn.commands() {
/// #             let Some((_, walker)) = world.owned_mut::<Walker>(player) else { continue };
/// #             walker.x += wish.x * turn.dt();
/// #         }
/// #     }
/// # }
///
/// // Two who walk east with 3 m/s.
/// struct East;
/// impl Play for East {
///     type Game = Walk;
///     fn content(&self) {}
///     fn command(&self, _me: PlayerId, _view: &World<Entity>, _dt: f32) -> Walker {
///         Walker { x: 3.0, who: 0 }
///     }
///     fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
///         into.extend(world.all::<Walker>().map(|(id, walker)| Shape {
///             id,
///             kind: ShapeKind::Person,
///             // Clients are not told who owns what is not theirs: the entity says whose it is.
///             owner: Some(PlayerId(walker.who)),
///             place: [walker.x, 0.0, 0.0],
///             size: [0.4, 1.8],
///             facing: 0.0,
///             pitch: 0.0,
///             is_alive: true,
///             is_unofficial: false,
///         }));
///     }
/// }
///
/// let setup = Setup {
///     seed: 1,
///     rates: Rates::USUAL,
///     view: View::USUAL,
///     wires: vec![Wire::of(Span::millis(100)), Wire::of(Span::millis(30))],
///     begins: Span::seconds(3),
///     length: Span::seconds(2),
///     hand: Default::default(),
///     lockstep: None,
/// };
/// let recorded = run(&East, &setup);
/// // What A sees of B is half a ping, two snapshots and a little old.
/// let age = recorded.age(100, 1, PlayerId(1)).unwrap().as_millis_f64();
/// assert!((150.0..190.0).contains(&age), "{age}");
/// assert_eq!(recorded.trace(), run(&East, &setup).trace());
/// ```
///
/// # Panics
/// If there are more than [`PLAYERS_MAX`] lines, or one that cannot be.
pub fn run<P: Play>(play: &P, setup: &Setup) -> Recorded {
    match setup.lockstep {
        Some(_) => Party::new(play, setup.clone()).finish(),
        None => Running::new(play, setup.clone()).finish(),
    }
}

pub(super) fn conditions(wire: &Wire) -> Conditions {
    Conditions {
        delay: wire.ping / 2,
        jitter: match wire.jitter {
            Span::ZERO => Jitter::None,
            width => Jitter::Uniform { width },
        },
        loss: Loss::Random { probability: wire.loss.clamp(0.0, 1.0) },
        ..Conditions::PERFECT
    }
}

impl<P: Play> Running<P> {
    /// Players are about to join.
    ///
    /// # Panics
    /// If there are more than [`PLAYERS_MAX`] lines, or one that cannot be.
    pub fn new(play: P, setup: Setup) -> Self {
        assert!(setup.wires.len() <= PLAYERS_MAX, "a scene has at most {PLAYERS_MAX} players");
        let mut random = Seeded(Dice::new(setup.seed, 2));
        let server = Server::open(play.content(), setup.seed, setup.rates, Time::ZERO, &mut random);
        let guests = (1..).zip(&setup.wires).map(|(number, wire)| Guest {
            client: Client::open(SERVER, play.content(), setup.view, Time::ZERO, &mut random),
            peer: peer_of(number),
            line: Line::new(&setup, number, wire),
            margin_ms: None,
            correction: 0.0,
        });
        let (guests, recorded) = (guests.collect(), setup.blank());
        let layouts = Layouts::of::<<P::Game as Game>::Entity>();
        let (now, datagram) = (Time::ZERO, Vec::new());
        Self { play, setup, now, server, guests, random, layouts, recorded, datagram }
    }

    /// Plays on until so long after the scene began, and at most to its end.
    pub fn advance(&mut self, until: Span) {
        let end = Time::ZERO + self.setup.begins + until.min(self.setup.length);
        while self.now < end {
            if self.now == self.recorded.begins {
                self.begin();
            }
            self.step();
            self.now += STEP;
        }
    }

    /// Plays to the end.
    pub fn finish(mut self) -> Recorded {
        self.advance(self.setup.length);
        self.count();
        self.recorded
    }

    /// From here on these keys of A's are down.
    pub fn press(&mut self, keys: Keys) {
        self.setup.press(self.now, keys);
    }

    /// All keys that were pressed.
    pub fn hand(&self) -> &Hand {
        &self.setup.hand
    }

    /// What everyone has seen so far; what the lines have counted is known at the end.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    fn is_kept(&self) -> bool {
        self.now >= self.recorded.begins
    }

    /// From here on all is kept, and counters start.
    fn begin(&mut self) {
        for guest in &mut self.guests {
            guest.line.begin(counted(&self.server, &guest.client));
        }
    }

    fn step(&mut self) {
        let (now, begins) = (self.now, self.recorded.begins);
        for (guest, wire) in self.guests.iter_mut().zip(&self.setup.wires) {
            guest.line.change(wire, now, begins);
        }
        let has_ticked = self.step_server();
        let millis = (self.now - Time::ZERO).as_micros() / 1000;
        let is_frame = millis.is_multiple_of(FRAME_MILLIS);
        for index in 0..self.guests.len() {
            // In the order of their letters, so that A is the first to be let in.
            let may_knock = index == 0 || self.guests[index - 1].client.me().is_some();
            if may_knock {
                self.step_guest(index, is_frame);
            }
        }
        if has_ticked && self.is_kept() {
            self.keep();
        }
    }

    fn step_server(&mut self) -> bool {
        let (now, is_kept) = (self.now, self.is_kept());
        let Self { server, guests, datagram, random, recorded, setup, .. } = self;
        for (guest, player) in guests.iter_mut().zip(0..) {
            while let Some(arrival) = guest.line.up.pipe.pop(now, datagram) {
                arrived(&mut guest.line.up, recorded, arrival);
                if let Some(answer) = server.receive(now, guest.peer, datagram, random) {
                    let packet = packet(player, false, now, answer.len(), Cargo::Upkeep);
                    send(&mut guest.line.down, recorded, is_kept, packet, &answer);
                }
            }
        }
        if server.next_wake() > now {
            return false;
        }
        let before = server.world().tick();
        server.advance(now);
        let tick = server.world().tick();
        let has_ticked = tick != before;
        let told = has_ticked && tick.0.is_multiple_of(setup.rates.ticks_per_snapshot.max(1));
        let cargo = if told { Cargo::Snapshot(tick) } else { Cargo::Upkeep };
        while let Some((to, datagram)) = server.transmit(now) {
            let Some(index) = guests.iter().position(|guest| guest.peer == to) else { continue };
            let packet = packet(index as u16, false, now, datagram.len(), cargo);
            send(&mut guests[index].line.down, recorded, is_kept, packet, datagram);
        }
        let _ = server.take_events();
        has_ticked
    }

    fn step_guest(&mut self, index: usize, is_frame: bool) {
        let (now, is_kept) = (self.now, self.is_kept());
        let guest = &mut self.guests[index];
        let mut has_heard = false;
        while let Some(arrival) = guest.line.down.pipe.pop(now, &mut self.datagram) {
            arrived(&mut guest.line.down, &mut self.recorded, arrival);
            guest.client.receive(now, &mut self.datagram);
            has_heard = true;
        }
        if !is_frame && !has_heard && guest.client.next_wake() > now {
            return;
        }
        if is_frame {
            let (me, dt) = (guest.client.me(), self.setup.rates.tick_length.as_seconds_f64());
            let view = guest.client.view(now);
            if let Some((view, me)) = view.zip(me) {
                let by_itself = self.play.command(me, view, dt as f32);
                let keys = self.setup.hand.at(now - self.recorded.begins);
                let keys = keys.filter(|_| is_kept && index == 0);
                guest.client.command(match keys {
                    Some(keys) => self.play.steered(by_itself, keys),
                    None => by_itself,
                });
            }
            let _ = (guest.client.take_effects(), guest.client.take_events());
        }
        let own = |client: &Client<P::Game>| client.predicted().map(World::tick);
        let before = own(&guest.client);
        guest.client.advance(now);
        let after = own(&guest.client);
        // Who predicts nothing counts its ticks elsewhere: what it sends are commands all the same.
        let has_stepped = after != before || !self.setup.view.predicts;
        let tick = after.filter(|_| has_stepped && guest.client.me().is_some());
        let cargo = tick.map_or(Cargo::Upkeep, Cargo::Commands);
        while let Some(datagram) = guest.client.transmit(now) {
            let packet = packet(index as u16, true, now, datagram.len(), cargo);
            send(&mut guest.line.up, &mut self.recorded, is_kept, packet, datagram);
        }
        let updates = if has_heard { guest.client.observe().updates } else { Vec::new() };
        for update in updates {
            guest.margin_ms = update.margin_ms.or(guest.margin_ms);
            guest.correction = guest.correction.max(update.correction);
        }
    }

    fn keep(&mut self) {
        let (number, recorded) = (self.recorded.frames.len(), &mut self.recorded);
        let mut panes = Vec::with_capacity(1 + self.guests.len());
        let pane = |world: Option<&World<_>>, shapes: &mut Vec<_>| {
            let from = shapes.len();
            let Some(world) = world else { return Pane::default() };
            self.play.shapes(world, shapes);
            let (hash, tick) = (world.hash(&self.layouts), world.tick());
            Pane { shapes: from..shapes.len(), hash, tick, ..Pane::default() }
        };
        let world = self.server.world();
        panes.push(pane(Some(world), &mut recorded.shapes));
        for guest in &mut self.guests {
            let seen = pane(guest.client.shown(), &mut recorded.shapes);
            let correction = std::mem::take(&mut guest.correction);
            let repredicted = guest.client.repredicted_ticks();
            panes.push(Pane { margin_ms: guest.margin_ms, correction, repredicted, ..seen });
        }
        let (at, tick) = (self.now - recorded.begins, world.tick());
        recorded.frames.push(Frame { at, tick, panes });
        for verdict in self.server.take_verdicts() {
            let line = self.play.shot(self.server.world(), verdict.player);
            recorded.shots.push(Shot {
                frame: number,
                by: verdict.player,
                seen: verdict.seen,
                present: verdict.present,
                hit: verdict.hit,
                rewound: verdict.rewound,
                line,
            });
        }
    }

    /// What lines and connections have counted since the scene began.
    fn count(&mut self) {
        for guest in &self.guests {
            guest.line.count(counted(&self.server, &guest.client), &mut self.recorded);
        }
    }
}

/// What both ends of a client's connection have counted as sent: up, and down.
fn counted<G: Game>(server: &Server<G>, client: &Client<G>) -> [Sum; 2] {
    let down = client.me().and_then(|me| server.statistics(me));
    [client.statistics(), down].map(Sum::of)
}

impl Sum {
    /// What one end of a connection has counted as sent.
    pub(super) fn of(counted: Option<channel::Statistics>) -> Self {
        counted.map_or(Self::default(), |counted| Self {
            packets: counted.packets_sent,
            bytes: counted.bytes_sent,
            lost: 0,
        })
    }

    /// What of it came after an earlier count.
    pub(super) fn since(self, before: Self) -> Self {
        let (packets, bytes) = (self.packets - before.packets, self.bytes - before.bytes);
        Self { packets, bytes, lost: self.lost - before.lost }
    }
}

pub(super) fn packet(player: u16, is_up: bool, sent: Time, bytes: usize, cargo: Cargo) -> Packet {
    let player = PlayerId(player);
    Packet { player, is_up, to: None, sent, arrived: None, bytes: bytes as u32, cargo }
}

pub(super) fn send(
    way: &mut Way,
    recorded: &mut Recorded,
    is_kept: bool,
    packet: Packet,
    bytes: &[u8],
) {
    let before = way.pipe.statistics().in_flight;
    way.pipe.push(packet.sent, bytes);
    if is_kept {
        // What is lost never sets out.
        if way.pipe.statistics().in_flight > before {
            way.under_way.push_back(recorded.packets.len());
        }
        recorded.packets.push(packet);
    }
}

/// Lines keep their order, so whoever arrives is the first of those under way.
pub(super) fn arrived(way: &mut Way, recorded: &mut Recorded, arrival: Time) {
    if let Some(number) = way.under_way.pop_front()
        && let Some(packet) = recorded.packets.get_mut(number)
    {
        packet.arrived = Some(arrival);
    }
}
