//! Rules that foresee for the compact codec: both ends foresee the same, from nothing but what the client has, and it
//! saves bytes.

use crate::codec::compact::Tables;
use crate::codec::{Agreed, ByLoad};
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Time;
use crate::replication::client::follow::SnapshotClient;
use crate::replication::foresight::Vantage;
use crate::replication::messages::FORESEEN_TICKS_MAX;
use crate::replication::server::serve::SnapshotServer;
use crate::replication::wire::Wire;
use crate::schema::entities::Layouts;
use crate::schema::fields::{Fields, Networked};
use crate::schema::record::mix;
use crate::schema::table::Table;
use crate::sim::game::{Game, NoEvent, Turn};
use crate::sim::world::World;
use crate::transport::secure::Random;
use crate::{Client, Dice, Peer, Rates, Server, View};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq)]
struct Wish {
    aim: f32,
}

/// Moves by its own wish, in floats.
#[derive(Clone, Debug, Default, PartialEq)]
struct Runner {
    place: [f32; 3],
    speed: [f32; 3],
    hurt: u8,
}

/// Who is never in sight of anyone, and may hurt all the same.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lurker {
    mood: u32,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 16);
    }
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-500.0..=500.0, 0.01);
        f.exacts("speed", &mut self.speed).shown_each(-50.0..=50.0, 0.01);
        f.bits("hurt", &mut self.hurt, 8);
    }
}

impl Networked for Lurker {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("mood", &mut self.mood, 32);
    }
}

/// Much that nobody foresees, so that snapshots go in several parts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Dust {
    grains: [u32; 4],
}

impl Networked for Dust {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        for (name, grain) in ["first", "second", "third", "fourth"].iter().zip(&mut self.grains) {
            f.bits(name, grain, 32);
        }
    }
}

crate::entities! { enum Entity { Runner, Lurker, Dust } }

/// What there is at the start.
#[derive(Clone, Copy, Default)]
struct Weather {
    /// The lurker's.
    mood: u32,
    dust: u32,
}

/// Foresees or not; by so much rules go astray where they predict.
struct Yard<const FORESEES: bool, const ASTRAY: u8>;

impl<const FORESEES: bool, const ASTRAY: u8> Game for Yard<FORESEES, ASTRAY> {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = Weather;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Runner::default()));
        for (player, wish) in turn.commands() {
            let Some((_, runner)) = world.owned_mut::<Runner>(player) else { continue };
            for (axis, by) in [wish.aim, 0.37 * wish.aim, 0.11].into_iter().enumerate() {
                runner.speed[axis] = (runner.speed[axis] * 0.98 + by).clamp(-40.0, 40.0);
                runner.place[axis] =
                    (runner.place[axis] + 0.016 * runner.speed[axis]).clamp(-400.0, 400.0);
            }
        }
        if turn.is_predicted() {
            // A lurker that came into what is foreseen would be felt there.
            let moods: u32 = world.all::<Lurker>().map(|(_, lurker)| lurker.mood).sum();
            let by = moods as f32 + f32::from(ASTRAY);
            world.all_mut::<Runner>().for_each(|(_, runner)| runner.speed[0] += by);
            return;
        }
        // Only the server knows of the lurker.
        for (_, lurker) in world.all_mut::<Lurker>() {
            lurker.mood = lurker.mood.wrapping_mul(5).wrapping_add(turn.tick().0);
        }
        for (id, dust) in world.all_mut::<Dust>() {
            let mut dice = turn.dice(id, 1);
            dust.grains
                .iter_mut()
                .for_each(|grain| *grain = dice.below(u64::from(u32::MAX)) as u32);
        }
        if turn.tick().0.is_multiple_of(40) {
            world
                .all_mut::<Runner>()
                .for_each(|(_, runner)| runner.hurt = runner.hurt.wrapping_add(1));
        }
    }

    fn populate(weather: &Weather, world: &mut World<Entity>) {
        _ = world.spawn(Lurker { mood: 1 });
        (0..weather.dust).for_each(|_| _ = world.spawn(Dust::default()));
    }

    fn content_name(_: &Weather) -> u64 {
        7
    }

    fn relevant(world: &World<Entity>, _: &Weather, _: PlayerId, visible: &mut Slots) {
        world.all::<Runner>().for_each(|(id, _)| visible.insert(id.slot()));
        world.all::<Dust>().for_each(|(id, _)| visible.insert(id.slot()));
    }

    fn foresees() -> bool {
        FORESEES
    }
}

type Foreseeing = Yard<true, 0>;
type Without = Yard<false, 0>;
type Astray = Yard<true, 1>;

/// Foreseeable, so that two sessions can be compared.
struct Same(u64);

impl Random for Same {
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (self.0 >> 56) as u8;
        });
    }
}

/// How a session goes: over a line that loses `loss` of 100 datagrams and delivers the others a tick later.
#[derive(Clone, Copy, Default)]
struct Course {
    seed: u64,
    loss: u64,
    weather: Weather,
    /// Besides the first.
    more_players: u16,
    /// Whether the server goes plain and comes back every second.
    goes_plain: bool,
}

/// What came of a session.
#[derive(Debug)]
struct Session {
    /// Of all datagrams to clients.
    bytes: usize,
    hash: u64,
    /// That the first client had.
    snapshots: u32,
    parts: u64,
    /// What clients refused, and whether all foresee to the end.
    refused: u64,
    foresee: bool,
}

struct Seat<C: Game> {
    peer: Peer,
    client: Client<C>,
    /// The newest snapshot that was looked at, and how many were.
    seen_at: Tick,
    seen: u32,
}

fn own(world: &World<Entity>, me: PlayerId) -> Option<Runner> {
    world.owned::<Runner>(me).map(|(_, runner)| runner.clone())
}

impl<C: Game<Entity = Entity>> Seat<C> {
    /// Compares what it was told of itself with what the server had, by tick and player.
    fn look(&mut self, truths: &BTreeMap<Tick, Vec<Option<Runner>>>) {
        let Some((told, me)) = self.client.snapshot().zip(self.client.me()) else { return };
        if told.tick() <= self.seen_at {
            return;
        }
        (self.seen_at, self.seen) = (told.tick(), self.seen + 1);
        assert_eq!(told.all::<Lurker>().count(), 0, "nobody sees the lurker");
        // Of several parts, the one with our own may be missing.
        let is_whole = self.client.playing().is_some_and(|half| half.own_tick == told.tick());
        let truth = &truths[&told.tick()][usize::from(me.0)];
        assert!(!is_whole || *truth == own(told, me), "{me:?}, {:?}", told.tick());
    }
}

/// Plays for some seconds; whatever clients see of themselves is what the server had.
fn session<S, C>(course: Course) -> Session
where
    S: Game<Entity = Entity, Command = Wish, Content = Weather>,
    C: Game<Entity = Entity, Command = Wish, Content = Weather>,
{
    let Course { seed, loss, weather, .. } = course;
    let random = &mut Same(seed);
    let mut server = Server::<S>::open(weather, 1, Rates::default(), Time::ZERO, random);
    let tables = Tables::built_in(Wire::of::<S>().layouts());
    server.use_tables(tables.clone()).expect("they are of this game");
    assert_eq!(server.foresee(), S::foresees());
    let mut seats: Vec<Seat<C>> = (0..=course.more_players)
        .map(|number| {
            let peer = Peer::new([number as u8 + 1; 16], 1);
            let client = Client::open(peer, weather, View::default(), Time::ZERO, random);
            Seat { peer, client: client.with_tables(tables.clone()), seen_at: Tick(0), seen: 0 }
        })
        .collect();
    server.half.world.all_mut::<Lurker>().for_each(|(_, lurker)| lurker.mood = weather.mood.max(1));
    let (mut dice, mut under_way) = (Dice::new(seed, 3), Vec::new());
    let mut session =
        Session { bytes: 0, hash: 0, snapshots: 0, parts: 0, refused: 0, foresee: true };
    let mut truths = BTreeMap::new();
    for now in (0..6_000).map(Time::from_millis) {
        let step = now.as_micros() / 1_000;
        if course.goes_plain && step.is_multiple_of(1_000) {
            let load = crate::Span::millis(if step / 1_000 % 2 == 1 { 100 } else { 0 });
            let choice = ByLoad::default().after(load, crate::Span::millis(16));
            server.half.by_load = Some(choice);
        }
        for (number, Seat { peer, client, .. }) in seats.iter_mut().enumerate() {
            client.command(Wish { aim: (step / 170 % (7 + number as u64)) as f32 - 3.0 });
            client.advance(now);
            while let Some(mut sent) = client.transmit(now).map(<[u8]>::to_vec) {
                if step > 500 && dice.below(100) < loss {
                    continue;
                }
                let answer = server.receive(now, *peer, &mut sent, random);
                answer.into_iter().for_each(|answer| client.receive(now, &mut answer.to_vec()));
            }
        }
        server.advance(now);
        while let Some((peer, datagram)) = server.transmit(now) {
            session.bytes += datagram.len();
            session.hash =
                datagram.iter().fold(session.hash, |hash, byte| mix(hash, u32::from(*byte)));
            if step < 500 || dice.below(100) >= loss {
                under_way.push((now, peer, datagram.to_vec()));
            }
        }
        under_way.retain_mut(|(sent_at, to, datagram)| {
            let waits = now - *sent_at < crate::Span::millis(20);
            if !waits {
                let seat = seats.iter_mut().find(|seat| seat.peer == *to);
                seat.expect("it is one of them").client.receive(now, datagram);
            }
            waits
        });
        let players = 0..seats.len() as u16;
        let truth: Vec<_> = players.map(|me| own(server.world(), PlayerId(me))).collect();
        truths.insert(server.world().tick(), truth);
        seats.iter_mut().for_each(|seat| seat.look(&truths));
    }
    for Seat { client, .. } in &seats {
        assert!(matches!(client.codec(), Some(Agreed::Compact { .. })));
        session.refused += client.malformed();
        session.foresee &= client.playing().is_some_and(|half| half.foresees);
    }
    session.snapshots = seats[0].seen;
    session.parts = seats[0].client.playing().map_or(0, |half| half.parts_read());
    assert_eq!(server.malformed(), 0, "seed {seed}");
    session
}

#[test]
fn both_ends_foresee_the_same_over_any_line_and_it_saves_bytes() {
    for seed in 0..4 {
        let loss = [0, 5, 20, 40][seed as usize];
        let course = Course { seed, loss, ..Course::default() };
        let foreseen = session::<Foreseeing, Foreseeing>(course);
        assert!(foreseen.foresee && foreseen.refused == 0, "seed {seed}: {foreseen:?}");
        let without = session::<Without, Without>(course);
        let [foreseen, without] = [foreseen, without].map(|session| {
            assert!(session.snapshots > 30, "seed {seed}: {} snapshots", session.snapshots);
            session.bytes as f64 / f64::from(session.snapshots)
        });
        if loss == 0 {
            assert!(foreseen < 0.85 * without, "{foreseen} bytes a snapshot, {without} without");
        }
    }
}

#[test]
fn several_players_several_parts_and_a_server_that_goes_plain_now_and_then_are_foreseen_alike() {
    for seed in 0..4 {
        let loss = [0, 5, 20, 30][seed as usize];
        let weather = Weather { mood: 1, dust: if seed % 2 == 0 { 120 } else { 0 } };
        let course = Course { seed, loss, weather, more_players: 2, goes_plain: seed < 2 };
        let session = session::<Foreseeing, Foreseeing>(course);
        assert!(session.foresee && session.refused == 0, "seed {seed}: {session:?}");
        assert!(session.snapshots > 20, "seed {seed}: {session:?}");
        let is_split = 2 * session.parts > 3 * u64::from(session.snapshots);
        assert_eq!(is_split, weather.dust > 0, "seed {seed}: {session:?}");
    }
}

#[test]
fn whoever_foresees_otherwise_or_not_at_all_is_told_as_often_and_as_truly_as_the_others() {
    let course = Course { seed: 5, ..Course::default() };
    let usual = session::<Foreseeing, Foreseeing>(course);
    let astray = session::<Foreseeing, Astray>(course);
    assert!(!astray.foresee && (1..=4).contains(&astray.refused), "{astray:?}");
    for other in [
        astray,
        session::<Foreseeing, Without>(course),
        session::<Without, Foreseeing>(course),
        session::<Without, Astray>(course),
    ] {
        assert!(!other.foresee && other.refused <= 4, "{other:?}");
        assert!(other.snapshots + 5 >= usual.snapshots, "{other:?} of {}", usual.snapshots);
    }
}

#[test]
fn nothing_out_of_sight_shows_in_what_is_foreseen() {
    let of = |seed: u64, mood: u32| {
        let weather = Weather { mood, dust: 0 };
        session::<Foreseeing, Foreseeing>(Course { seed, loss: 10, weather, ..Course::default() })
    };
    let [calm, angry] = [5, 77_777].map(|mood| of(9, mood));
    assert_eq!(calm.hash, angry.hash, "the lurker's mood is in the datagrams");
    assert_ne!(calm.hash, of(8, 5).hash, "the hash tells sessions apart");
}

#[test]
fn a_damaged_part_that_was_foreseen_and_is_refused_moves_nothing() {
    let tables = Arc::new(Tables::built_in(Wire::of::<Foreseeing>().layouts()));
    let (weather, start) = (Weather::default(), Time::ZERO);
    let mut server = SnapshotServer::<Foreseeing>::new(weather, 1, Rates::default(), start);
    server.use_tables(Arc::clone(&tables)).expect("they are of this game");
    server.foresees = true;
    let (me, view) = (PlayerId(0), View::default());
    let welcome = server.join(me);
    let client = SnapshotClient::<Foreseeing>::with_tables(
        &welcome,
        weather,
        view,
        start,
        Some(Some(&tables)),
    );
    let mut client = client.expect("it is a welcome");
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for now in (0..1_900).map(Time::from_millis) {
        client.command(Wish { aim: (now.as_micros() / 90_000 % 5) as f32 });
        client.advance(now);
        if let Some(message) = client.write(1_000).map(<[u8]>::to_vec) {
            server.read(now, me, &message).expect("it is whole");
        }
        server.advance(now);
        // The newest stays under way.
        let mut newer = Vec::new();
        server.write(me, 1_000, 1_000, |_, part| newer.push(part.to_vec()));
        if !newer.is_empty() {
            for part in std::mem::replace(&mut parts, newer) {
                client.read(now, crate::Span::ZERO, &part).expect("it is whole");
            }
        }
    }
    assert!(client.foresees && parts.len() == 1 && parts[0].len() < 20, "{parts:?}");
    let layouts = Layouts::of::<Entity>();
    let state = |client: &SnapshotClient<Foreseeing>| {
        let worlds = [&client.snapshot, &client.predicted].map(|world| world.hash(&layouts));
        (worlds, client.tables_kept())
    };
    let (mut dice, mut refused) = (Dice::new(3, 0), 0);
    for round in 0..5_000 {
        let mut damaged = parts[0].clone();
        let bit = 8 + dice.below(8 * (damaged.len() as u64 - 1)) as usize;
        damaged[bit / 8] ^= 1 << (bit % 8);
        let before = state(&client);
        client.foresees = true;
        // Refused, or of no use: its base or a command that it asks for is not there.
        let read = client.read(Time::from_millis(1_900), crate::Span::ZERO, &damaged);
        if !matches!(read, Ok(Some(_))) {
            refused += 1;
            assert_eq!(state(&client), before, "round {round}");
        }
    }
    assert!(refused > 2_000, "{refused} of 5000 were refused");
}

#[test]
fn a_base_that_is_too_old_or_a_command_that_is_not_known_is_not_foreseen_from() {
    let wire = Wire::of::<Foreseeing>();
    let layouts = Layouts::of::<Entity>();
    let vantage = Vantage::<Foreseeing> {
        me: PlayerId(0),
        content: &Weather::default(),
        seed: 1,
        tick_length: crate::Span::millis(16),
        layouts: &layouts,
        wire: wire.layouts(),
    };
    let mut world = World::default();
    world.spawn_owned(PlayerId(0), Runner::default());
    let mut base = Table::default();
    wire.view::<Foreseeing>(&world, &Weather::default(), PlayerId(0), &mut base);
    let mut into = Table::default();
    let mut foresee = |from: u32, to: u32, known_until: u32| {
        let command = |of: Tick| (of.0 <= known_until).then_some(Wish { aim: 1.0 });
        let foreseen = vantage.foresee(&base, (Tick(from), Tick(to)), command, &mut into);
        (foreseen, into.visible.len())
    };
    assert_eq!(foresee(10, 13, 13), (true, 1));
    assert_eq!(foresee(10, 13, 12), (false, 0), "the last command is not known");
    assert_eq!(foresee(10, 10, 99), (false, 0), "no time has passed");
    assert_eq!(foresee(13, 10, 99), (false, 0), "time does not run back");
    assert_eq!(foresee(10, 10 + FORESEEN_TICKS_MAX, 99), (true, 1));
    assert_eq!(foresee(10, 11 + FORESEEN_TICKS_MAX, 99), (false, 0), "too old");
}
