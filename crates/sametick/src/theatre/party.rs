//! Plays a scene in lockstep: machines without a server and a line between any two of them, over the same sealed
//! connections as anywhere, in steps of a millisecond of virtual time.

use super::run::{FRAME_MILLIS, STEP, Seeded, Way, arrived, conditions, packet, send};
use super::{
    Cargo, Frame, GOOD_PING, Hand, Keys, PLAYERS_MAX, Pane, Play, Recorded, Setup, Sum, Wire,
};
use crate::core::dice::Dice;
use crate::core::peer::Peer;
use crate::core::tick::PlayerId;
use crate::core::time::{Span, Time};
use crate::lockstep::{self, Identity, Lockstep, Mesh, Role};
use crate::schema::entities::Layouts;
use crate::sim::game::Game;
use crate::sim::world::World;
use crate::simnet::network::{Outage, Pipe, Statistics};
use std::collections::VecDeque;

/// Only what these two send and get is drawn.
const SHOWN: [usize; 2] = [0, 1];

/// A scene that is being played in lockstep, for whoever takes A's keys while it goes on; [`run`](super::run) plays it
/// to its end. The first player founds the game. A line between two is as the worse of the two players' lines, the
/// first pane is the newest world that all have, and every screen is the player's own.
///
/// ```
/// use sametick::lockstep;
/// use sametick::theatre::{Play, Setup, Shape, Wire, run};
/// use sametick::{PlayerId, Rates, Span, View, World};
/// # use sametick::{Fields, Game, Networked, NoEvent, Turn};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Walker { pub x: f32 }
/// # impl Networked for Walker {
/// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.exact("x", &mut self.x); }
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
/// #             world.spawn_owned(player, Walker { x: 0.0 });
/// #         }
/// #         for (player, wish) in turn.commands() {
/// #             let Some((_, walker)) = world.owned_mut::<Walker>(player) else { continue };
/// #             walker.x += wish.x * turn.dt();
/// #         }
/// #     }
/// # }
/// # struct East;
/// # impl Play for East {
/// #     type Game = Walk;
/// #     fn content(&self) {}
/// #     fn command(&self, _me: PlayerId, _view: &World<Entity>, _dt: f32) -> Walker {
/// #         Walker { x: 3.0 }
/// #     }
/// #     fn shapes(&self, _world: &World<Entity>, _into: &mut Vec<Shape>) {}
/// # }
/// // B's line goes bad after a second, and both have to wait.
/// let bad = Some((Span::seconds(1), Span::seconds(2)));
/// let setup = Setup {
///     seed: 1,
///     rates: Rates::USUAL,
///     view: View::USUAL,
///     wires: vec![Wire::of(Span::millis(30)), Wire { bad, ..Wire::of(Span::millis(300)) }],
///     begins: Span::seconds(3),
///     length: Span::seconds(2),
///     hand: Default::default(),
///     lockstep: Some(lockstep::Setup::DOOM_1993),
/// };
/// let recorded = run(&East, &setup);
/// let waits = |at| recorded.awaited(recorded.frame_at(at));
/// // Each waits for the other, of whom nothing comes; before, nobody did.
/// assert!(waits(Span::millis(1_100)).is_some());
/// assert_eq!(waits(Span::millis(500)), None);
/// assert!(recorded.stood(1) > Span::millis(100));
/// ```
pub struct Party<P: Play> {
    play: P,
    setup: Setup,
    now: Time,
    machines: Vec<Mesh<P::Game>>,
    /// From one to another.
    ways: Vec<Vec<Way>>,
    /// What had been sent from one to another when the scene began.
    counted_before: Vec<Vec<Sum>>,
    random: Seeded,
    layouts: Layouts,
    recorded: Recorded,
    datagram: Vec<u8>,
}

impl<P: Play> Party<P> {
    /// Players are about to join; without a model it is [`DOOM_1993`](lockstep::Setup::DOOM_1993).
    ///
    /// # Panics
    /// If there are more than [`PLAYERS_MAX`] lines, or one that cannot be.
    pub fn new(play: P, setup: Setup) -> Self {
        let count = setup.wires.len();
        assert!(count <= PLAYERS_MAX, "a scene has at most {PLAYERS_MAX} players");
        let mut random = Seeded(Dice::new(setup.seed, 2));
        let how = lockstep::Setup {
            players: count as u8,
            seed: setup.seed,
            tick_length: setup.rates.tick_length,
            ..setup.lockstep.unwrap_or(lockstep::Setup::DOOM_1993)
        };
        let machine = |index: usize| {
            let me = Identity { session: session(index), name: index as u64 };
            let (content, now) = ((play.content(), 1), Time::ZERO);
            match index {
                0 => Mesh::found(how, me, peer(0), content, now, &mut random),
                _ => Mesh::join(peer(0), me, content, Role::Plays, now, &mut random),
            }
        };
        let machines = (0..count).map(machine).collect();
        let ways = |from: usize| (0..count).map(|to| way(&setup, from, to)).collect();
        let ways = (0..count).map(ways).collect();
        let recorded = Recorded {
            begins: Time::ZERO + setup.begins,
            tick_length: setup.rates.tick_length,
            ..Recorded::default()
        };
        let layouts = Layouts::of::<<P::Game as Game>::Entity>();
        let (now, datagram) = (Time::ZERO, Vec::new());
        let counted_before = vec![vec![Sum::default(); count]; count];
        Self {
            play,
            setup,
            now,
            machines,
            ways,
            counted_before,
            random,
            layouts,
            recorded,
            datagram,
        }
    }

    /// Plays on until so long after the scene began, and at most to its end.
    pub fn advance(&mut self, until: Span) {
        let end = Time::ZERO + self.setup.begins + until.min(self.setup.length);
        while self.now < end {
            self.step();
            self.now += STEP;
        }
    }

    /// From here on these keys of A's are down.
    pub fn press(&mut self, keys: Keys) {
        if let Some(since) = self.since().filter(|_| self.setup.hand.at(Span::MAX) != Some(keys)) {
            self.setup.hand.press(since, keys);
        }
    }

    /// All keys that were pressed.
    pub fn hand(&self) -> &Hand {
        &self.setup.hand
    }

    /// What everyone has seen so far; what the lines have counted is known at the end.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    fn since(&self) -> Option<Span> {
        (self.now >= self.recorded.begins).then(|| self.now - self.recorded.begins)
    }

    fn step(&mut self) {
        if self.now == self.recorded.begins {
            self.begin();
        }
        self.change_lines();
        let millis = (self.now - Time::ZERO).as_micros() / 1000;
        let is_frame = millis.is_multiple_of(FRAME_MILLIS);
        for index in 0..self.machines.len() {
            // In the order of their letters, so that A is the first to be let in.
            let may_knock = index == 0 || self.machines[index - 1].game().setup().is_some();
            if may_knock {
                self.step_machine(index, is_frame);
            }
        }
        let due = self.setup.rates.tick_length * self.recorded.frames.len() as u64;
        if self.since().is_some_and(|since| since >= due) {
            self.keep();
        }
    }

    /// From here on all is kept, and counters start.
    fn begin(&mut self) {
        for way in self.ways.iter_mut().flatten() {
            way.begin();
        }
        for (machine, before) in self.machines.iter().zip(&mut self.counted_before) {
            (0..).zip(before).for_each(|(to, before)| *before = counted(machine, to));
        }
    }

    fn change_lines(&mut self) {
        let (now, setup) = (self.now, &self.setup);
        if !setup.wires.iter().any(|wire| wire.changes(now, self.recorded.begins)) {
            return;
        }
        for (from, ways) in self.ways.iter_mut().enumerate() {
            for (to, way) in ways.iter_mut().enumerate() {
                way.pipe.set_conditions(conditions(&between(setup, [from, to], now)));
            }
        }
    }

    fn step_machine(&mut self, index: usize, is_frame: bool) {
        let (now, is_kept) = (self.now, self.since().is_some());
        let mut has_heard = false;
        for from in 0..self.machines.len() {
            while let Some(arrival) = self.ways[from][index].pipe.pop(now, &mut self.datagram) {
                has_heard = true;
                arrived(&mut self.ways[from][index], &mut self.recorded, arrival);
                let machine = &mut self.machines[index];
                let answer =
                    machine.receive(now, (peer(from), None), &mut self.datagram, &mut self.random);
                if let Some(answer) = answer {
                    self.send(index, from, &answer, is_kept);
                }
            }
        }
        let machine = &mut self.machines[index];
        if !is_frame && !has_heard && machine.next_wake() > now {
            return;
        }
        if is_frame {
            let dt = self.setup.rates.tick_length.as_seconds_f64() as f32;
            let game = machine.game();
            let seen = game.shown().zip(game.me());
            let keys = self.setup.hand.at(now - self.recorded.begins);
            let keys = keys.filter(|_| is_kept && index == 0);
            let command = seen.map(|(view, me)| {
                let by_itself = self.play.command(me, view, dt);
                match keys {
                    Some(keys) => self.play.steered(by_itself, keys),
                    None => by_itself,
                }
            });
            command.into_iter().for_each(|command| machine.command(command));
            let _ = (machine.game_mut().take_effects(), machine.game_mut().take_events());
        }
        machine.advance(now, &mut self.random);
        while let Some((to, datagram)) = self.machines[index].transmit() {
            let to = (0..self.machines.len()).find(|other| peer(*other) == to);
            to.into_iter().for_each(|to| self.send(index, to, &datagram, is_kept));
        }
    }

    fn send(&mut self, from: usize, to: usize, bytes: &[u8], is_kept: bool) {
        let is_shown = [from, to].map(|end| SHOWN.contains(&end));
        let game = self.machines[from].game();
        let delay = game.statistics().delay_ticks;
        let tick = game.shown().map(|world| crate::Tick(world.tick().0 + delay));
        let cargo = tick.map_or(Cargo::Upkeep, Cargo::Commands);
        // Whose line it is drawn on: its sender's, or that of whom it comes to from the middle.
        let (player, is_up) = if is_shown[0] { (from, true) } else { (to, false) };
        let mut packet = packet(player as u16, is_up, self.now, bytes.len(), cargo);
        packet.to = (is_shown == [true, true]).then_some(PlayerId(to as u16));
        let way = &mut self.ways[from][to];
        if is_shown.contains(&true) {
            send(way, &mut self.recorded, is_kept, packet, bytes);
        } else {
            way.pipe.push(self.now, bytes);
        }
    }

    fn keep(&mut self) {
        let recorded = &mut self.recorded;
        let pane = |world: Option<&World<_>>, shapes: &mut Vec<_>| {
            let from = shapes.len();
            let Some(world) = world else { return Pane::default() };
            self.play.shapes(world, shapes);
            let (hash, tick) = (world.hash(&self.layouts), world.tick());
            Pane { shapes: from..shapes.len(), hash, tick, ..Pane::default() }
        };
        let worlds = self.machines.iter().map(|machine| machine.game().world());
        let shared = worlds.min_by_key(|world| world.map(World::tick)).flatten();
        let mut panes = vec![pane(shared, &mut recorded.shapes)];
        for machine in &self.machines {
            let game: &Lockstep<P::Game> = machine.game();
            let (seen, counted) = (pane(game.shown(), &mut recorded.shapes), game.statistics());
            panes.push(Pane {
                repredicted: counted.resimulated_ticks,
                awaits: game.awaited(),
                delay_ticks: counted.delay_ticks,
                replaced: counted.replaced,
                ..seen
            });
        }
        let (at, tick) = (self.now - recorded.begins, panes[0].tick);
        recorded.frames.push(Frame { at, tick, panes });
    }

    /// Plays to the end.
    pub fn finish(mut self) -> Recorded {
        self.advance(self.setup.length);
        for index in 0..self.machines.len() {
            let up = self.ways[index].iter().map(Way::sum);
            let down = self.ways.iter().map(|ways| ways[index].sum());
            self.recorded.sums.push([up.fold(Sum::default(), add), down.fold(Sum::default(), add)]);
            let ends = 0..self.machines.len();
            let up = ends.clone().map(|to| self.counted(index, to));
            let down = ends.map(|from| self.counted(from, index));
            self.recorded
                .channel
                .push([up.fold(Sum::default(), add), down.fold(Sum::default(), add)]);
        }
        self.recorded
    }

    /// What a machine's own connections have counted as sent to another since the scene began.
    fn counted(&self, from: usize, to: usize) -> Sum {
        counted(&self.machines[from], to).since(self.counted_before[from][to])
    }
}

fn counted<G: Game>(machine: &Mesh<G>, to: usize) -> Sum {
    let ends = machine.statistics(session(to)).map(|counted| Sum::of(Some(counted)));
    ends.fold(Sum::default(), add)
}

fn add(one: Sum, other: Sum) -> Sum {
    let (packets, bytes) = (one.packets + other.packets, one.bytes + other.bytes);
    Sum { packets, bytes, lost: one.lost + other.lost }
}

fn session(index: usize) -> u64 {
    1 + index as u64
}

fn peer(index: usize) -> Peer {
    Peer::new([0xfd; 16], 1 + index as u16)
}

fn way(setup: &Setup, from: usize, to: usize) -> Way {
    let seed = Dice::new(setup.seed, (from as u64 + 1) << 8 | to as u64).roll_u64();
    let begins = Time::ZERO + setup.begins;
    let mut pipe = Pipe::new(seed, conditions(&between(setup, [from, to], Time::ZERO)));
    if let Some((first, last)) = setup.wires[to].silent {
        let outage = Outage { begins: begins + first, ends: begins + last, holds: false };
        pipe.add_outage(Time::ZERO, outage);
    }
    Way { pipe, under_way: VecDeque::new(), before: Statistics::default() }
}

/// The line between two at a time: the worse of theirs.
fn between(setup: &Setup, ends: [usize; 2], now: Time) -> Wire {
    let [one, other] = ends.map(|index| setup.wires[index].at(now, Time::ZERO + setup.begins));
    Wire {
        ping: one.ping.max(other.ping),
        jitter: one.jitter.max(other.jitter),
        loss: one.loss.max(other.loss),
        ..one
    }
}

impl Wire {
    /// The line as it is at this time, if the scene began at that one.
    pub(super) fn at(&self, now: Time, began: Time) -> Self {
        let is_bad = |(from, until)| began + from <= now && now < began + until;
        match self.bad {
            Some(when) if !is_bad(when) => Self { silent: self.silent, ..Self::of(GOOD_PING) },
            _ => *self,
        }
    }

    /// Whether it becomes worse or better at this time.
    pub(super) fn changes(&self, now: Time, began: Time) -> bool {
        self.bad.is_some_and(|(from, until)| now == began + from || now == began + until)
    }
}
