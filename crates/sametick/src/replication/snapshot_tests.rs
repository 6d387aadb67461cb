//! Server and clients of the snapshot models, joined by lossy lines in virtual time: what a client has
//! is what the server showed it, always, and what it predicts is what the server then says.

use crate::config::rates::{Base, Rates};
use crate::core::bits::{BitReader, BitWriter};
use crate::replication::client::follow::SnapshotClient;
use crate::replication::client::received::ServerTables;
use crate::replication::messages::coded::part::Said;
use crate::replication::messages::decoded::Decoded;
use crate::replication::server::changes::Changes;
use crate::replication::server::serve::SnapshotServer;
use crate::replication::server::snapshot::{ClientBase, Frame, Preface, Teller};
use crate::replication::versions::{Versions, WireLayouts};
use crate::schema::entities::Layouts;
use crate::{
    Dice, EntityId, Fields, Game, Networked, NoEvent, PlayerId, Precision, Slots, Span, Table,
    Tick, Time, Turn, View, World,
};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

mod compact;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    aim: f32,
    run: bool,
    fire: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 10);
        f.bool("run", &mut self.run);
        f.bool("fire", &mut self.fire);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    position: [f32; 2],
    speed: f32,
    health: u8,
    shots: u16,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("position", &mut self.position).shown_each(-200.0..=200.0, 0.01);
        f.exact("speed", &mut self.speed).shown(0.0..=10.0, 0.1);
        f.int("health", &mut self.health, 0..=100);
        f.bits("shots", &mut self.shots, 16);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Crate {
    colour: u8,
}

impl Networked for Crate {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("colour", &mut self.colour, 0..=255);
    }
}

crate::entities! { pub(crate) enum Entity { Runner, Crate } }

/// Runners who only see those within some distance, and crates that change now and then.
struct Yard;

const CRATES: u16 = 150;
const SIGHT_METRES: f32 = 60.0;

impl Game for Yard {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        if turn.tick() == Tick(1) {
            (0..CRATES).for_each(|colour| {
                world.spawn(Crate { colour: colour as u8 });
            });
        }
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Runner>(player) {
                world.despawn(id);
            }
        }
        for player in turn.joined() {
            let start = f32::from(player.0) * 15.0;
            world.spawn_owned(
                player,
                Runner { position: [start, 0.0], health: 100, ..Runner::default() },
            );
        }
        for (player, wish) in turn.commands() {
            let Some((_, runner)) = world.owned_mut::<Runner>(player) else { continue };
            let (north, east) = libm::sincosf(wish.aim);
            runner.speed += (if wish.run { 8.0 } else { 0.0 } - runner.speed) * 0.2;
            runner.position[0] =
                (runner.position[0] + east * runner.speed * turn.dt()).clamp(-200.0, 200.0);
            runner.position[1] =
                (runner.position[1] + north * runner.speed * turn.dt()).clamp(-200.0, 200.0);
            runner.shots = runner.shots.wrapping_add(u16::from(wish.fire));
        }
        for (id, painted) in world.all_mut::<Crate>() {
            if turn.dice(id, 1).chance(0.01) {
                painted.colour = painted.colour.wrapping_add(1);
            }
        }
    }

    fn relevant(world: &World<Entity>, _content: &(), viewer: PlayerId, visible: &mut Slots) {
        let Some((_, me)) = world.owned::<Runner>(viewer) else { return };
        for (id, _) in world.all::<Crate>() {
            visible.insert(id.slot());
        }
        for (id, other) in world.all::<Runner>() {
            let off = [0, 1].map(|axis| other.position[axis] - me.position[axis]);
            if off[0] * off[0] + off[1] * off[1] < SIGHT_METRES * SIGHT_METRES {
                visible.insert(id.slot());
            }
        }
    }
}

/// A message under way: when it arrives, in which order it was sent, to whom, and what it says.
type Flight = std::cmp::Reverse<(Time, u64, Option<usize>, usize, Vec<u8>)>;

struct Simulation {
    now: Time,
    dice: Dice,
    loss: f64,
    delay: Span,
    jitter_micros: u64,
    budget_bytes: usize,
    server: SnapshotServer<Yard>,
    clients: Vec<SnapshotClient<Yard>>,
    under_way: BinaryHeap<Flight>,
    sent: u64,
    /// What the server showed to each client at each tick: the hash of each entity in sight.
    shown: Vec<BTreeMap<Tick, BTreeMap<usize, u64>>>,
    wishes: Vec<Dice>,
    checked: u64,
    /// What each client saw of each tick, if that is to be compared; lines are then bad for whole moments.
    seen: Option<Seen>,
}

/// By client and tick, the hash of each entity in sight.
type Seen = BTreeMap<(usize, Tick), BTreeMap<usize, u64>>;

impl Simulation {
    fn new(seed: u64, clients: u16, predicts: bool) -> Self {
        let server = SnapshotServer::<Yard>::new((), seed, Rates::default(), Time::ZERO);
        Self::with(server, seed, clients, |welcome| {
            SnapshotClient::new(welcome, (), View { predicts, ..View::default() }, Time::ZERO)
                .expect("a lawful welcome")
        })
    }

    fn with(
        mut server: SnapshotServer<Yard>,
        seed: u64,
        clients: u16,
        mut follow: impl FnMut(&[u8]) -> SnapshotClient<Yard>,
    ) -> Self {
        let join = |id| follow(&server.join(PlayerId(id)));
        Self {
            now: Time::ZERO,
            dice: Dice::new(seed, 1),
            loss: 0.0,
            delay: Span::millis(40),
            jitter_micros: 0,
            budget_bytes: 100_000,
            clients: (0..clients).map(join).collect(),
            server,
            under_way: BinaryHeap::new(),
            sent: 0,
            shown: (0..clients).map(|_| BTreeMap::new()).collect(),
            wishes: (0..clients).map(|id| Dice::new(seed, 100 + u64::from(id))).collect(),
            checked: 0,
            seen: None,
        }
    }

    fn send(&mut self, to: Option<usize>, from: usize, message: Vec<u8>) {
        if self.seen.is_some() {
            // Whatever is said at a moment, in however many messages, is lost or comes together.
            let way = 2 * from as u64 + u64::from(to.is_some());
            self.dice = Dice::new(self.now.as_micros(), way);
        }
        if self.dice.chance(self.loss) {
            return;
        }
        let jitter = Span::micros(self.dice.below(self.jitter_micros + 1));
        let arrival = self.now + self.delay + jitter;
        self.sent += 1;
        self.under_way.push(std::cmp::Reverse((arrival, self.sent, to, from, message)));
    }

    fn run(&mut self, seconds: u64) {
        let end = self.now + Span::seconds(seconds);
        while self.now < end {
            self.step();
            self.now += Span::millis(1);
        }
    }

    fn step(&mut self) {
        while self.under_way.peek().is_some_and(|flight| flight.0.0 <= self.now) {
            let Some(std::cmp::Reverse((_, _, to, from, message))) = self.under_way.pop() else {
                break;
            };
            match to {
                None => self
                    .server
                    .read(self.now, PlayerId(from as u16), &message)
                    .expect("well formed"),
                Some(client) => self.deliver(client, &message),
            }
        }
        self.server.advance(self.now);
        for client in 0..self.clients.len() {
            self.record(client);
            let mut parts = Vec::new();
            let budget = self.budget_bytes;
            self.server
                .write(PlayerId(client as u16), 1100, budget, |_, part| parts.push(part.to_vec()));
            parts.into_iter().for_each(|part| self.send(Some(client), client, part));
        }
        for client in 0..self.clients.len() {
            if self.now.as_micros().is_multiple_of(200_000) {
                let dice = &mut self.wishes[client];
                let aim = dice.unit() as f32 * 6.0 - 3.0;
                self.clients[client].command(Wish {
                    aim,
                    run: dice.chance(0.8),
                    fire: dice.chance(0.3),
                });
            }
            self.clients[client].advance(self.now);
            if let Some(message) = self.clients[client].write(1200).map(<[u8]>::to_vec) {
                self.send(None, client, message);
            }
        }
    }

    /// What the server would show this client now.
    fn record(&mut self, client: usize) {
        let (world, me) = (&self.server.world, PlayerId(client as u16));
        if self.shown[client].contains_key(&world.tick()) {
            return;
        }
        let mut visible = Slots::default();
        Yard::relevant(world, &(), me, &mut visible);
        let hashes = hashes(world, |slot, _| visible.contains(slot), me);
        self.shown[client].insert(world.tick(), hashes);
    }

    fn deliver(&mut self, client: usize, message: &[u8]) {
        let read = self.clients[client].read(self.now, self.delay, message);
        let Ok(Some((tick, slots))) = read else { return };
        let follower = &self.clients[client];
        if follower.snapshot.tick() != tick || self.budget_bytes < 100_000 {
            return;
        }
        let me = PlayerId(client as u16);
        let seen = hashes(&follower.snapshot, |slot, _| slots.contains(&slot), me);
        if let Some(all) = &mut self.seen {
            let entry = all.entry((client, tick)).or_default();
            entry.extend(seen.iter().map(|(slot, hash)| (*slot, *hash)));
        }
        let shown = &self.shown[client][&tick];
        let expected: BTreeMap<usize, u64> =
            shown.iter().filter(|(slot, _)| slots.contains(slot)).map(|(s, h)| (*s, *h)).collect();
        let wrong: Vec<usize> = slots.filter(|slot| seen.get(slot) != expected.get(slot)).collect();
        assert!(wrong.is_empty(), "client {client} at {tick:?}: slots {wrong:?} are wrong");
        self.checked += 1;
    }
}

/// A number for each entity's record, at the precision that a player gets.
fn hashes(
    world: &World<Entity>,
    wanted: impl Fn(usize, &Entity) -> bool,
    me: PlayerId,
) -> BTreeMap<usize, u64> {
    let layouts = crate::Layouts::of::<Entity>();
    let mut hashes = BTreeMap::new();
    for (id, entity) in world.entities().filter(|(id, entity)| wanted(id.slot(), entity)) {
        let own = world.owner(id) == Some(me);
        let precision = if own { Precision::State } else { Precision::Shown };
        let mut table = crate::Table::default();
        let head = crate::Head { id, kind: crate::Entities::kind(entity) };
        crate::Entities::gather(&mut entity.clone(), layouts.at(precision), head, &mut table);
        hashes.insert(id.slot(), table.hash(layouts.at(precision)));
    }
    hashes
}

#[test]
fn a_client_has_what_the_server_showed_it_at_every_tick() {
    for seed in 0..12 {
        let mut simulation = Simulation::new(seed, 3, true);
        simulation.loss = [0.0, 0.1, 0.3][seed as usize % 3];
        simulation.jitter_micros = 30_000 * (seed % 2);
        simulation.run(20);
        assert!(
            simulation.checked > 200,
            "seed {seed}: {} snapshots were checked",
            simulation.checked
        );
    }
}

#[test]
fn prediction_is_what_the_server_then_says() {
    let mut simulation = Simulation::new(3, 2, true);
    simulation.run(2);
    let mut predicted: BTreeMap<Tick, Runner> = BTreeMap::new();
    let mut compared = 0;
    for _ in 0..10_000 {
        simulation.step();
        simulation.now += Span::millis(1);
        let client = &simulation.clients[0];
        let mine =
            |world: &World<Entity>| world.owned::<Runner>(PlayerId(0)).map(|(_, r)| r.clone());
        if let Some(runner) = mine(client.predicted()) {
            predicted.insert(client.predicted().tick(), runner);
        }
        if let (Some(runner), Some(expected)) =
            (mine(&client.snapshot), predicted.get(&client.snapshot.tick()))
        {
            assert_eq!(runner, *expected, "at {:?}", client.snapshot.tick());
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared} ticks were compared");
    assert_eq!(simulation.clients[0].repeated, 0, "no command came late");
}

#[test]
fn commands_are_in_time_again_within_a_second_of_a_step_in_delay() {
    let mut simulation = Simulation::new(5, 1, true);
    simulation.run(5);
    let before = simulation.clients[0].repeated;
    simulation.delay = Span::millis(90);
    simulation.run(1);
    let during = simulation.clients[0].repeated;
    simulation.run(5);
    assert!(during > before, "the step was felt");
    assert_eq!(simulation.clients[0].repeated, during, "and made up for within a second");
}

#[test]
fn a_budget_too_small_for_all_makes_progress_with_everyone() {
    let mut simulation = Simulation::new(7, 3, true);
    simulation.budget_bytes = 120;
    simulation.run(30);
    let crates = simulation.clients[0].snapshot.all::<Crate>().count();
    assert_eq!(crates, usize::from(CRATES), "all have come at last");
}

/// A peer with a key may send anything: what no writer makes is refused, and nobody panics.
#[test]
fn damaged_messages_of_a_game_are_refused_or_lawful_and_never_a_panic() {
    let mut simulation = Simulation::new(11, 2, true);
    simulation.run(2);
    let flights: Vec<(Option<usize>, usize, Vec<u8>)> = simulation
        .under_way
        .iter()
        .map(|std::cmp::Reverse((_, _, to, from, message))| (*to, *from, message.clone()))
        .collect();
    assert!(
        flights.iter().any(|(to, ..)| to.is_some()) && flights.iter().any(|(to, ..)| to.is_none())
    );
    let mut dice = Dice::new(12, 0);
    let mut refused = 0;
    for round in 0..20_000 {
        let (to, from, message) = &flights[round % flights.len()];
        let mut damaged = message.clone();
        for _ in 0..=dice.below(3) {
            let bit = dice.below(8 * damaged.len() as u64) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        damaged.truncate(damaged.len() - dice.below(4).min(damaged.len() as u64 - 1) as usize);
        let now = simulation.now;
        let is_refused = match to {
            None => simulation.server.read(now, PlayerId(*from as u16), &damaged).is_err(),
            Some(client) => {
                let client = &mut simulation.clients[*client];
                let event = client.read_event(&damaged, false).is_err();
                client.read(now, simulation.delay, &damaged).is_err() && event
            }
        };
        refused += u32::from(is_refused);
        let welcome: Vec<u8> = (0..dice.below(40)).map(|_| dice.below(256) as u8).collect();
        let _ = SnapshotClient::<Yard>::new(&welcome, (), View::default(), now);
        if round % 100 == 0 {
            simulation.now += Span::millis(5);
            simulation.server.advance(simulation.now);
            simulation.clients.iter_mut().for_each(|client| client.advance(simulation.now));
        }
    }
    // A flipped value is a lawful message, a flipped mask or count hardly ever: both must have come.
    assert!((2_000..18_000).contains(&refused), "{refused} of 20000 were refused");
}

/// A server's half alone, with one client that acknowledges whatever it is sent at once.
struct Told {
    world: World<Entity>,
    layouts: Layouts,
    versions: Versions,
    base: ClientBase,
    turn: u64,
    teller: Option<Teller>,
    bytes_max: usize,
}

impl Told {
    fn of(crates: usize) -> Self {
        let mut world = World::default();
        (0..crates).for_each(|colour| _ = world.spawn(Crate { colour: colour as u8 }));
        let base = ClientBase::new(Base::Common, Vec::new());
        let (layouts, versions) = (Layouts::of::<Entity>(), Versions::default());
        Self { world, layouts, versions, base, turn: 0, teller: None, bytes_max: 1100 }
    }

    fn paint(&mut self, is_painted: impl Fn(usize) -> bool) {
        for (id, painted) in self.world.all_mut::<Crate>() {
            painted.colour = painted.colour.wrapping_add(u8::from(is_painted(id.slot())));
        }
    }

    /// The bytes of each part of the next snapshot.
    fn tell(&mut self, every: u32) -> Vec<usize> {
        let mut parts = Vec::new();
        self.turn += 1;
        let newest = self.write(
            |_| every,
            &Slots::default(),
            usize::MAX / 16,
            |part| {
                assert!(part.len() <= 1100, "a part of {} bytes", part.len());
                parts.push(part.len());
            },
        );
        self.base.acknowledge(Decoded { newest, before: u64::MAX });
        parts
    }

    /// Hands out the parts of the snapshot of this turn, but for those who are hidden; gives the number of the last.
    fn write(
        &mut self,
        every: impl Fn(usize) -> u32,
        hidden: &Slots,
        budget_bytes: usize,
        mut each: impl FnMut(&[u8]),
    ) -> u64 {
        self.versions.update(&mut self.world, &self.layouts);
        let wire = WireLayouts::new(&self.layouts);
        let mut visible = Slots::default();
        crate::sim::relevance::everything(&self.world, &mut visible);
        hidden.iter().for_each(|slot| visible.remove(slot));
        let mut frame = Frame {
            layouts: wire.all(),
            versions: &self.versions,
            changes: &mut Changes::default(),
            candidates: &mut Vec::new(),
            holds_back: false,
            resting: &mut Vec::new(),
            turn: self.turn,
            update_every: |entity: EntityId| every(entity.slot()),
        };
        let mut newest = 0;
        let bits = &mut BitWriter::growing(2 * self.bytes_max);
        let limits = (self.bytes_max, budget_bytes);
        if let Some(teller) = &mut self.teller {
            let said = Said { tick: 3 * self.turn as u32, ..Said::default() };
            let preface = Preface { game_id: 1, said, extra: [None, None] };
            self.base.write_compact(
                &mut frame,
                (PlayerId(0), &visible),
                limits,
                (teller, &preface, None),
                (bits, &mut |bits: &mut BitWriter, _| {
                    bits.write(1 | u64::from(said.tick) << 8, 40)
                }),
                &mut |number, part: &[u8]| {
                    each(part);
                    newest = number;
                },
            );
            return newest;
        }
        let mut part = |number: u64, bits: &mut BitWriter, more: bool| {
            each(bits.finish().expect("it has room"));
            newest = number;
            if more {
                bits.clear();
            }
        };
        if !self.base.write(&mut frame, PlayerId(0), &visible, limits, &mut part, bits) {
            self.base.write_bulk(&mut frame, (PlayerId(0), &visible), limits, &mut part, bits);
        }
        newest
    }
}

#[test]
fn a_crowd_in_which_little_changes_is_told_of_in_one_part() {
    let mut told = Told::of(2000);
    assert!(told.tell(1).len() > 4, "all is new");
    told.paint(|slot| slot % 16 == 5);
    assert_eq!(told.tell(1).len(), 1);
    assert!(told.tell(1)[0] < 60, "nothing has changed");
    // Whatever comes and goes, no part is longer than it may be; that is asserted above.
    for round in 1..40 {
        told.paint(|slot| slot * round % 7 < round % 9);
        let gone = |slot: usize| slot % 41 == round;
        let ids: Vec<_> = told.world.entities().map(|(id, _)| id).collect();
        let gone: Vec<_> = ids.into_iter().filter(|id| gone(id.slot())).collect();
        gone.into_iter().for_each(|id| _ = told.world.despawn(id));
        (0..round % 30).for_each(|colour| _ = told.world.spawn(Crate { colour: colour as u8 }));
        told.tell(1 + (round % 3) as u32);
    }
}

#[test]
fn who_is_told_of_rarely_has_turns_and_many_who_change_at_once_are_not_told_of_at_once() {
    let mut told = Told::of(1000);
    told.tell(4);
    told.paint(|_| true);
    let bytes = [0; 4].map(|_| told.tell(4).into_iter().sum::<usize>());
    let (least, most) = (bytes.into_iter().min().unwrap(), bytes.into_iter().max().unwrap());
    assert!(least > 200 && most < 2 * least, "{bytes:?}");
    let after: usize = told.tell(4).into_iter().sum();
    assert!(after < least / 4, "all have been told of: {after} bytes after {bytes:?}");
}

#[test]
fn a_part_whose_base_was_only_said_to_be_there_is_passed_over_and_is_not_malformed() {
    let mut told = Told::of(3);
    let (wire, mut tables) = (WireLayouts::new(&told.layouts), ServerTables::default());
    let [lost, based_on_it] = [(); 2].map(|()| {
        told.paint(|_| true);
        told.turn += 1;
        let mut parts = Vec::new();
        let keep = |part: &[u8]| parts.push(part.to_vec());
        let newest = told.write(|_| 1, &Slots::default(), usize::MAX / 16, keep);
        told.base.acknowledge(Decoded { newest, before: 0 });
        parts.remove(0)
    });
    let mut is_taken = |part: &[u8]| {
        let read = tables.read(BitReader::new(part), wire.all(), Default::default());
        read.expect("it is whole").is_some()
    };
    assert!(!is_taken(&based_on_it));
    assert!(is_taken(&lost), "it was only late");
    assert!(is_taken(&based_on_it));
    assert!(!is_taken(&based_on_it), "it is known");
}

/// Crates that all change between snapshots and are told of in turns, while some go out of sight for a while: what
/// comes back is shown as it is now, and nothing is shown that is older than its turns.
fn what_comes_into_sight_is_shown_as_it_is(
    seed: u64,
    (loss, budget): (f64, usize),
    compact_bytes_max: Option<usize>,
) {
    let is_compact = compact_bytes_max.is_some();
    const CRATES: usize = 400;
    const SNAPSHOTS_UNDER_WAY: usize = 2;
    let mut dice = Dice::new(seed, 1);
    let mut told = Told::of(CRATES);
    let wire = WireLayouts::new(&told.layouts);
    let mut tables = ServerTables::new(Table::default(), is_compact);
    let mut coder = compact::coder(&wire);
    if let Some(bytes_max) = compact_bytes_max {
        told.bytes_max = bytes_max;
        told.teller = Some(Teller::new(compact::coder(&wire)));
        told.base = ClientBase::new(Base::Common, Vec::new()).with_past();
    }
    let (mut screen, mut hidden) = (Table::default(), Slots::default());
    let (mut under_way, mut came_back) = (VecDeque::new(), 0);
    let colour = |table: &Table, slot: usize| table.record(slot, &wire.all()[2])[0] as u8;
    for turn in 1..200_u64 {
        told.paint(|_| true);
        (told.turn, hidden) = (
            turn,
            (0..CRATES)
                .filter(|slot| {
                    let chance = if hidden.contains(*slot) { 0.4 } else { 0.05 };
                    dice.chance(chance) != hidden.contains(*slot)
                })
                .collect(),
        );
        let mut parts = Vec::new();
        told.write(|slot| 1 << (slot % 4), &hidden, budget, |part| parts.push(part.to_vec()));
        let before = screen.visible.clone();
        for part in parts {
            if dice.chance(loss) {
                continue;
            }
            let part = compact::read(&mut tables, &mut coder, &wire, &part, is_compact);
            let left = (&part.held, &part.untold);
            screen.take_slots(part.table, part.slots, left, wire.all());
        }
        for slot in screen.visible.iter() {
            let age = (turn as u8).wrapping_sub(colour(&screen, slot).wrapping_sub(slot as u8));
            let is_back = !before.contains(slot);
            came_back += u32::from(is_back);
            assert!(age == 0 || !is_back, "seed {seed}: {slot} is back, {age} snapshots old");
            let is_punctual = loss > 0.0 || budget < usize::MAX / 16 || age < 1 << (slot % 4);
            assert!(is_punctual, "seed {seed}: {slot} is {age} snapshots old");
        }
        under_way.push_back(tables.acknowledgement());
        if under_way.len() > SNAPSHOTS_UNDER_WAY {
            told.base.acknowledge(under_way.pop_front().expect("there are some"));
        }
    }
    assert!(came_back > 1_000, "seed {seed}: {came_back} came back");
}

#[test]
fn who_comes_into_sight_is_shown_as_it_is_and_who_is_told_of_rarely_no_older_than_its_turns() {
    for seed in 1..=4 {
        what_comes_into_sight_is_shown_as_it_is(seed, (0.0, usize::MAX / 16), None);
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, usize::MAX / 16), None);
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, 700), None);
    }
}

/// How many parts the first snapshot of many has, in which all is new, and the next two, in each of which a few have
/// changed; the client acknowledges each at once.
#[test]
fn a_snapshot_in_many_parts_is_followed_by_one_in_few() {
    const BYTES_MAX: usize = 1100;
    let mut world = World::<Entity>::default();
    (0..2000).for_each(|colour| _ = world.spawn(Crate { colour: colour as u8 }));
    let (layouts, mut versions) = (Layouts::of::<Entity>(), Versions::default());
    let (wire, mut changes) = (WireLayouts::new(&layouts), Changes::default());
    let mut base = ClientBase::new(Base::Common, Vec::new());
    let mut visible = Slots::default();
    crate::sim::relevance::everything(&world, &mut visible);
    let parts = [0, 1, 2].map(|_| {
        for (id, painted) in world.all_mut::<Crate>() {
            painted.colour = painted.colour.wrapping_add(u8::from(id.slot() % 200 == 5));
        }
        versions.update(&mut world, &layouts);
        let mut frame = Frame {
            layouts: wire.all(),
            versions: &versions,
            changes: &mut changes,
            candidates: &mut Vec::new(),
            holds_back: false,
            resting: &mut Vec::new(),
            turn: 0,
            update_every: |_| 1,
        };
        let (mut parts, mut newest) = (0, 0);
        let mut part = |number: u64, bits: &mut BitWriter, _: bool| {
            (newest, parts) = (number, parts + 1);
            bits.clear();
        };
        let bits = &mut BitWriter::growing(2 * BYTES_MAX);
        let limits = (BYTES_MAX, usize::MAX / 16);
        if !base.write(&mut frame, PlayerId(0), &visible, limits, &mut part, bits) {
            base.write_bulk(&mut frame, (PlayerId(0), &visible), limits, &mut part, bits);
        }
        base.acknowledge(Decoded { newest, before: u64::MAX });
        parts
    });
    assert!(parts[0] > 4 && parts[1] <= 2 && parts[2] <= 2, "{parts:?}");
}

#[test]
fn what_a_client_has_of_64_parts_comes_back() {
    for before in [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX] {
        let mut bits = BitWriter::growing(64);
        let decoded = Decoded { newest: 70, before };
        decoded.write(&mut bits);
        let bytes = bits.finish().unwrap().to_vec();
        assert_eq!(Decoded::read(&mut crate::core::bits::BitReader::new(&bytes)), decoded);
    }
}
