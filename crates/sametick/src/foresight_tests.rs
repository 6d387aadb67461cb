//! Rules that foresee for the compact codec: both ends foresee the same, from nothing but what the client has, and it
//! saves bytes.

use crate::codec::compact::Tables;
use crate::codec::{Agreed, Wire};
use crate::entities::Layouts;
use crate::fields::{Fields, Networked};
use crate::foresight::{FORESEEN_TICKS_MAX, Foresight, Vantage};
use crate::game::{Game, NoEvent, Turn};
use crate::record::mix;
use crate::secure::Random;
use crate::slots::Slots;
use crate::table::Table;
use crate::time::Time;
use crate::world::{PlayerId, Tick, World};
use crate::{Client, Dice, Peer, Rates, Server, View};
use std::collections::BTreeMap;

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

crate::entities! { enum Entity { Runner, Lurker } }

/// Foresees or not; the content is the lurker's mood.
struct Yard<const FORESEES: bool>;

impl<const FORESEES: bool> Game for Yard<FORESEES> {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = u32;

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
            world.all_mut::<Runner>().for_each(|(_, runner)| runner.speed[0] += moods as f32);
            return;
        }
        // Only the server knows of the lurker.
        for (_, lurker) in world.all_mut::<Lurker>() {
            lurker.mood = lurker.mood.wrapping_mul(5).wrapping_add(turn.tick().0);
        }
        if turn.tick().0.is_multiple_of(40) {
            world
                .all_mut::<Runner>()
                .for_each(|(_, runner)| runner.hurt = runner.hurt.wrapping_add(1));
        }
    }

    fn populate(_: &u32, world: &mut World<Entity>) {
        _ = world.spawn(Lurker { mood: 1 });
    }

    fn content_name(_: &u32) -> u64 {
        7
    }

    fn relevant(world: &World<Entity>, _: &u32, _: PlayerId, visible: &mut Slots) {
        world.all::<Runner>().for_each(|(id, _)| visible.insert(id.slot()));
    }

    fn foresight() -> Foresight {
        if FORESEES { Foresight::Own } else { Foresight::Nobody }
    }
}

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

/// What came of a session: bytes and a hash of all datagrams to the client, and how many snapshots it had.
struct Session {
    bytes: usize,
    hash: u64,
    snapshots: u32,
}

/// Plays for some seconds over a line that loses `loss` of 100 datagrams and delivers the others a tick later.
fn session<const FORESEES: bool>(seed: u64, loss: u64, mood: u32) -> Session {
    let (me, random) = (Peer::new([1; 16], 1), &mut Same(seed));
    let mut server = Server::<Yard<FORESEES>>::open(mood, 1, Rates::default(), Time::ZERO, random);
    let mut client = Client::<Yard<FORESEES>>::open(me, mood, View::default(), Time::ZERO, random);
    let tables = Tables::built_in(Wire::of::<Yard<FORESEES>>().layouts());
    server.use_tables(tables.clone()).expect("they are of this game");
    client = client.with_tables(tables);
    if mood > 0 {
        server.half.world.all_mut::<Lurker>().for_each(|(_, lurker)| lurker.mood = mood);
    }
    let (mut dice, mut under_way) = (Dice::new(seed, 3), Vec::new());
    let mut session = Session { bytes: 0, hash: 0, snapshots: 0 };
    let (mut seen_at, mut truths) = (0, BTreeMap::new());
    for now in (0..6_000).map(Time::from_millis) {
        let step = now.as_micros() / 1_000;
        client.command(Wish { aim: (step / 170 % 7) as f32 - 3.0 });
        client.advance(now);
        while let Some(mut sent) = client.transmit(now).map(<[u8]>::to_vec) {
            if step > 500 && dice.below(100) < loss {
                continue;
            }
            let answer = server.receive(now, me, &mut sent, random);
            answer.into_iter().for_each(|answer| client.receive(now, &mut answer.to_vec()));
        }
        server.advance(now);
        while let Some((_, datagram)) = server.transmit(now) {
            session.bytes += datagram.len();
            session.hash =
                datagram.iter().fold(session.hash, |hash, byte| mix(hash, u32::from(*byte)));
            if step < 500 || dice.below(100) >= loss {
                under_way.push((now, datagram.to_vec()));
            }
        }
        under_way.retain_mut(|(sent_at, datagram)| {
            let waits = now - *sent_at < crate::Span::millis(20);
            if !waits {
                client.receive(now, datagram);
            }
            waits
        });
        let truth = server.world().owned::<Runner>(PlayerId(0)).map(|(_, runner)| runner.clone());
        truths.insert(server.world().tick(), truth);
        let Some(told) = client.snapshot() else { continue };
        if told.tick().0 > seen_at {
            seen_at = told.tick().0;
            session.snapshots += 1;
            assert_eq!(told.all::<Lurker>().count(), 0, "nobody sees the lurker");
            let own = told.owned::<Runner>(PlayerId(0)).map(|(_, runner)| runner.clone());
            assert_eq!(Some(&own), truths.get(&told.tick()), "seed {seed}, {:?}", told.tick());
        }
    }
    assert_eq!((server.malformed(), client.malformed()), (0, 0), "seed {seed}");
    assert!(matches!(client.codec(), Some(Agreed::Compact { .. })));
    session
}

#[test]
fn both_ends_foresee_the_same_over_any_line_and_it_saves_bytes() {
    for seed in 0..4 {
        let loss = [0, 5, 20, 40][seed as usize];
        let [foreseen, without] = [session::<true>(seed, loss, 0), session::<false>(seed, loss, 0)];
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
fn nothing_out_of_sight_shows_in_what_is_foreseen() {
    let [calm, angry] = [5, 77_777].map(|mood| session::<true>(9, 10, mood));
    assert_eq!(calm.hash, angry.hash, "the lurker's mood is in the datagrams");
    let other = session::<true>(8, 10, 5);
    assert_ne!(calm.hash, other.hash, "the hash tells sessions apart");
}

#[test]
fn a_base_that_is_too_old_or_a_command_that_is_not_known_is_not_foreseen_from() {
    let wire = Wire::of::<Yard<true>>();
    let layouts = Layouts::of::<Entity>();
    let vantage = Vantage::<Yard<true>> {
        me: PlayerId(0),
        content: &0,
        seed: 1,
        tick_length: crate::Span::millis(16),
        layouts: &layouts,
        wire: wire.layouts(),
    };
    let mut world = World::default();
    world.spawn_owned(PlayerId(0), Runner::default());
    let mut base = Table::default();
    wire.view::<Yard<true>>(&world, &0, PlayerId(0), &mut base);
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
