//! Plays a scene under event locking: one server that decides, and players who are told what it decided, in steps of a
//! millisecond of virtual time.

use super::party::Party;
use super::run::{FRAME_MILLIS, Line, SERVER, STEP, Seeded, arrived, packet, peer_of, send};
use super::{Cargo, Frame, Hand, Keys, PLAYERS_MAX, Pane, Play, Recorded, Setup, Shape, Sum};
use crate::core::dice::Dice;
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::eventlock::{EventClient, EventRates, EventServer, Requests};
use crate::schema::entities::Layouts;
use crate::sim::game::Game;
use crate::sim::world::World;

struct Guest<G: Requests> {
    client: EventClient<G>,
    peer: Peer,
    line: Line,
    /// What it wants, of which it asks once.
    wanted: Option<G::Command>,
    /// A request that no datagram has carried yet, by the tick it was made in; and what it was told so far.
    asked: Option<Tick>,
    told: Option<Tick>,
}

/// A scene that is being played under event locking, for whoever takes A's keys while it goes on; [`run_locked`] plays
/// it to its end. The first pane is the server's official world, and every screen is the player's own: official, and
/// what it hopes for on top, which is [marked](Shape::is_unofficial).
///
/// What [`Play::command`] gives is asked for once, when it changes; the default asks for nothing. Of the setup's rates
/// only the tick's length counts, and of its view nothing.
pub struct Locked<P: Play<Game: Requests>> {
    play: P,
    setup: Setup,
    now: Time,
    server: EventServer<P::Game>,
    guests: Vec<Guest<P::Game>>,
    random: Seeded,
    layouts: Layouts,
    recorded: Recorded,
    datagram: Vec<u8>,
}

/// Plays a scene to its end under event locking; in lockstep if its setup says so, for comparison.
///
/// ```
/// use sametick::eventlock::{Denial, Requests};
/// use sametick::theatre::{Play, Setup, Shape, ShapeKind, Wire, run_locked};
/// use sametick::{PlayerId, Rates, Span, View, World};
/// # use sametick::{Fields, Game, Networked, NoEvent, Turn};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Flag { pub is_up: bool, pub who: u16 }
/// # impl Networked for Flag {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) {
/// #         f.bool("is_up", &mut self.is_up);
/// #         f.bits("who", &mut self.who, 16);
/// #     }
/// # }
/// # sametick::entities! { pub enum Entity { Flag } }
/// # pub struct Flags;
/// # impl Game for Flags {
/// #     type Entity = Entity;
/// #     type Command = Flag;
/// #     type Event = NoEvent;
/// #     type Content = ();
/// #     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
/// #         for player in turn.joined() {
/// #             world.spawn_owned(player, Flag { is_up: false, who: player.0 });
/// #         }
/// #         for (player, wish) in turn.commands() {
/// #             let Some((_, flag)) = world.owned_mut::<Flag>(player) else { continue };
/// #             flag.is_up |= wish.is_up;
/// #         }
/// #     }
/// # }
/// impl Requests for Flags {
///     fn judge(_: &World<Entity>, _: &(), _: PlayerId, _: &Flag) -> Result<(), Denial> {
///         Ok(())
///     }
/// }
///
/// // Each has a flag, and hoists it at the fourth second.
/// struct Hoist;
/// impl Play for Hoist {
///     type Game = Flags;
///     fn content(&self) {}
///     fn command(&self, _me: PlayerId, view: &World<Entity>, dt: f32) -> Flag {
///         Flag { is_up: view.tick().0 as f32 * dt >= 4.0, who: 0 }
///     }
///     fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
///         into.extend(world.all::<Flag>().map(|(id, flag)| Shape {
///             id,
///             kind: ShapeKind::Person,
///             owner: Some(PlayerId(flag.who)),
///             place: [0.0, 0.0, if flag.is_up { 2.0 } else { 0.0 }],
///             size: [0.2, 0.2],
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
///     rates: Rates { tick_length: Span::millis(50), ..Rates::USUAL },
///     view: View::USUAL,
///     wires: vec![Wire::of(Span::millis(200)), Wire::of(Span::millis(500))],
///     begins: Span::seconds(3),
///     length: Span::seconds(3),
///     hand: Default::default(),
///     lockstep: None,
/// };
/// let recorded = run_locked(&Hoist, &setup);
/// let hopes = |pane: usize, player: u16| {
///     let frames = 0..recorded.frames.len();
///     let own = |frame| recorded.person(frame, pane, PlayerId(player)).unwrap().is_unofficial;
///     frames.filter(|frame| own(*frame)).count()
/// };
/// // Each hopes for as long as its own line takes, on its own screen alone.
/// assert!((3..10).contains(&hopes(1, 0)), "{}", hopes(1, 0));
/// assert!((10..18).contains(&hopes(2, 1)), "{}", hopes(2, 1));
/// assert_eq!((hopes(0, 0), hopes(1, 1), hopes(2, 0)), (0, 0, 0));
/// ```
///
/// # Panics
/// If there are more than [`PLAYERS_MAX`] lines, or one that cannot be.
pub fn run_locked<P: Play<Game: Requests>>(play: &P, setup: &Setup) -> Recorded {
    match setup.lockstep {
        Some(_) => Party::new(play, setup.clone()).finish(),
        None => Locked::new(play, setup.clone()).finish(),
    }
}

impl<P: Play<Game: Requests>> Locked<P> {
    /// Players are about to join.
    ///
    /// # Panics
    /// If there are more than [`PLAYERS_MAX`] lines, or one that cannot be.
    pub fn new(play: P, setup: Setup) -> Self {
        assert!(setup.wires.len() <= PLAYERS_MAX, "a scene has at most {PLAYERS_MAX} players");
        let mut random = Seeded(Dice::new(setup.seed, 2));
        let tick_length = setup.rates.tick_length;
        let rates = EventRates { tick_length, ..EventRates::default() };
        let server = EventServer::open(play.content(), setup.seed, rates, Time::ZERO, &mut random);
        let guests = (1..).zip(&setup.wires).map(|(number, wire)| Guest {
            client: EventClient::open(SERVER, play.content(), Time::ZERO, &mut random),
            peer: peer_of(number),
            line: Line::new(&setup, number, wire),
            wanted: None,
            asked: None,
            told: None,
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
        for guest in &self.guests {
            guest.line.count(counted(&self.server, &guest.client), &mut self.recorded);
        }
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
        let Self { server, guests, datagram, random, recorded, .. } = self;
        let mut has_heard = false;
        for (guest, player) in guests.iter_mut().zip(0..) {
            while let Some(arrival) = guest.line.up.pipe.pop(now, datagram) {
                has_heard = true;
                arrived(&mut guest.line.up, recorded, arrival);
                if let Some(answer) = server.receive(now, guest.peer, datagram, random) {
                    let packet = packet(player, false, now, answer.len(), Cargo::Upkeep);
                    send(&mut guest.line.down, recorded, is_kept, packet, &answer);
                }
            }
        }
        if !has_heard && server.next_wake() > now {
            return false;
        }
        let before = server.world().tick();
        server.advance(now);
        let told: Vec<Option<Tick>> =
            guests.iter().map(|guest| server.told(guest.client.me()?)).collect();
        while let Some((to, datagram)) = server.transmit(now) {
            let Some(index) = guests.iter().position(|guest| guest.peer == to) else { continue };
            let guest = &mut guests[index];
            let news = told[index].filter(|_| guest.told != told[index]);
            guest.told = told[index];
            let cargo = news.map_or(Cargo::Upkeep, Cargo::Snapshot);
            let packet = packet(index as u16, false, now, datagram.len(), cargo);
            send(&mut guest.line.down, recorded, is_kept, packet, datagram);
        }
        let _ = server.take_events();
        server.world().tick() != before
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
            let keys = self.setup.hand.at(now - self.recorded.begins);
            let keys = keys.filter(|_| is_kept && index == 0);
            let dt = self.setup.rates.tick_length.as_seconds_f64() as f32;
            ask(&self.play, guest, now, keys, dt);
            let _ = (guest.client.take_answers(), guest.client.take_events());
        }
        guest.client.advance(now);
        while let Some(datagram) = guest.client.transmit(now) {
            let cargo = guest.asked.take().map_or(Cargo::Upkeep, Cargo::Commands);
            let packet = packet(index as u16, true, now, datagram.len(), cargo);
            send(&mut guest.line.up, &mut self.recorded, is_kept, packet, datagram);
        }
    }

    fn keep(&mut self) {
        let recorded = &mut self.recorded;
        let world = self.server.world();
        let mut panes = Vec::with_capacity(1 + self.guests.len());
        let mut hang = |world: &World<_>, drawn: Vec<Shape>| {
            let from = recorded.shapes.len();
            recorded.shapes.extend(drawn);
            let (hash, tick) = (world.hash(&self.layouts), world.tick());
            panes.push(Pane { shapes: from..recorded.shapes.len(), hash, tick, ..Pane::default() });
        };
        hang(world, shapes(&self.play, world));
        for guest in &mut self.guests {
            match guest.client.shown(self.now).cloned() {
                Some(shown) => {
                    hang(&shown, screen(&self.play, &guest.client, self.now, &shown));
                }
                None => hang(&World::default(), Vec::new()),
            }
        }
        recorded.frames.push(Frame { at: self.now - recorded.begins, tick: world.tick(), panes });
    }
}

/// Asks for what a player wants, if it has not asked already. What its own judgement denies is asked again as long as
/// it is wanted.
fn ask<P: Play<Game: Requests>>(
    play: &P,
    guest: &mut Guest<P::Game>,
    now: Time,
    keys: Option<Keys>,
    dt: f32,
) {
    let me = guest.client.me();
    let Some((view, me)) = guest.client.shown(now).zip(me) else { return };
    let (tick, by_itself) = (view.tick(), play.command(me, view, dt));
    let wanted = match keys {
        Some(keys) => play.steered(by_itself, keys),
        None => by_itself,
    };
    if guest.wanted.as_ref() == Some(&wanted) {
        return;
    }
    let is_nothing = wanted == <P::Game as Game>::Command::default();
    if is_nothing {
        guest.wanted = None;
    } else if guest.client.request(now, wanted.clone()).is_ok() {
        (guest.wanted, guest.asked) = (Some(wanted), Some(tick));
    }
}

fn shapes<P: Play>(play: &P, world: &World<<P::Game as Game>::Entity>) -> Vec<Shape> {
    let mut shapes = Vec::new();
    play.shapes(world, &mut shapes);
    shapes
}

/// What a player's screen shows: what is not as the official world has it is marked, and what has just become official
/// is on its way there.
fn screen<P: Play<Game: Requests>>(
    play: &P,
    client: &EventClient<P::Game>,
    now: Time,
    shown: &World<<P::Game as Game>::Entity>,
) -> Vec<Shape> {
    let mut drawn = shapes(play, shown);
    if let Some(official) = client.world().filter(|_| client.waiting() > 0) {
        let mut official = official.clone();
        official.set_tick(shown.tick());
        let official = shapes(play, &official);
        for shape in &mut drawn {
            shape.is_unofficial = !official.contains(shape);
        }
    }
    let (mut past, mut along) = (shown.clone(), 1.0_f32);
    for (id, _) in shown.entities() {
        if let Some((from, share)) = client.leaving(now, id) {
            past.put(id, shown.owner(id), from.clone());
            along = along.min(share);
        }
    }
    if along < 1.0 {
        let past = shapes(play, &past);
        for shape in &mut drawn {
            let Some(from) = past.iter().find(|from| from.id == shape.id) else { continue };
            let place = shape.place;
            shape.place =
                [0, 1, 2].map(|axis| from.place[axis] + (place[axis] - from.place[axis]) * along);
        }
    }
    drawn
}

/// What both ends of a client's connection have counted as sent: up, and down.
fn counted<G: Requests>(server: &EventServer<G>, client: &EventClient<G>) -> [Sum; 2] {
    let down = client.me().and_then(|me: PlayerId| server.statistics(me));
    [client.statistics(), down].map(Sum::of)
}
