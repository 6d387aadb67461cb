//! A herd's snapshots, written and read with the tables in the tree; then a session of server and client whose
//! snapshots, commands and events are coded with tables learned from a session before it. The hash of all messages is
//! the same natively, as released, and in wasm: `cargo xtask trace` compares them.

#[path = "../tests/common/herd.rs"]
mod herd;

use sametick::Wire;
use sametick::codec::Agreed;
use sametick::codec::compact::{Compact, Lineage, Tables, train};
use sametick::record::mix;
use sametick::secure::Random;
use sametick::{
    Audience, Client, Delivery, Fields, Game, Networked, Peer, PlayerId, Rates, Server, Table,
    Time, Turn, World,
};

const TABLES: &[u8] = include_bytes!("../tests/golden/herd.tables");

fn main() {
    let layouts = herd::layouts();
    let tables = [Tables::from_bytes(TABLES).expect("they are whole"), Tables::built_in(&layouts)];
    let (mut hash, mut back) = (0, Table::default());
    for tables in tables {
        let mut codec = Compact::new(tables);
        herd::play(9, 400, 2, |lineage, now| {
            let message = codec.write(&layouts, lineage, now).to_vec();
            hash = mixed(hash, &message);
            codec.read(&layouts, lineage, &message, &mut back).expect("it was written so");
            assert!(back.looks_like(now, &layouts), "a snapshot came back as another");
        });
    }
    let (plain, learned) = session(None);
    let (coded, _) = session(Some(learned));
    let text = format!("sametick trace {:016x}", hash ^ plain ^ coded.rotate_left(1));
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}

fn mixed(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| mix(hash, u32::from(*byte)))
}

/// What a player asks for: where to, and whether to call.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wish {
    aim: f32,
    calls: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Runner {
    place: [f32; 3],
    calls: u8,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Call(u8);

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.bool("calls", &mut self.calls);
    }
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-500.0..=500.0, 0.01);
        f.bits("calls", &mut self.calls, 8);
        f.near("place", 400);
    }
}

impl Networked for Call {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("loud", &mut self.0, 8);
    }
}

sametick::entities! { enum Entity { Runner } }

struct Yard;

impl Game for Yard {
    type Entity = Entity;
    type Command = Wish;
    type Event = Call;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Runner::default()));
        for (player, wish) in turn.commands() {
            let Some((id, runner)) = world.owned_mut::<Runner>(player) else { continue };
            runner.place[0] = (runner.place[0] + wish.aim * 0.1).clamp(-400.0, 400.0);
            if wish.calls {
                runner.calls = runner.calls.wrapping_add(1);
                let delivery = Delivery { to: Audience::All, ..Delivery::default() };
                turn.emit(id, delivery, Call(runner.calls));
            }
        }
        let dice = |id| turn.dice(id, 1).below(201) as f32 * 0.01 - 1.0;
        for (id, runner) in world.all_mut::<Runner>() {
            runner.place[1] = (runner.place[1] + dice(id)).clamp(-400.0, 400.0);
        }
    }

    fn foresees() -> bool {
        true
    }

    fn populate(_: &(), world: &mut World<Entity>) {
        (0..20).for_each(|place| {
            _ = world.spawn(Runner { place: [place as f32, 0.0, 1.0], calls: 0 });
        });
    }
}

/// Foreseeable, for a comparison only: SplitMix64.
struct Foreseeable(u64);

impl Random for Foreseeable {
    fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            part.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes()[..part.len()]);
        }
    }
}

/// A session of some seconds: the hash of its datagrams, and what can be learned from it.
fn session(tables: Option<Tables>) -> (u64, Tables) {
    let (me, random) = (Peer::new([1; 16], 1), &mut Foreseeable(1));
    let mut server = Server::<Yard>::open((), 1, Rates::default(), Time::ZERO, random);
    let mut client = Client::<Yard>::open(me, (), Default::default(), Time::ZERO, random);
    let is_coded = tables.is_some();
    if let Some(tables) = tables {
        server.use_tables(tables.clone()).expect("they are of this game");
        assert!(server.foresee());
        client = client.with_tables(tables);
    }
    let wire = Wire::of::<Yard>();
    let (mut hash, mut views, mut wishes, mut calls) = (0, Vec::new(), Vec::new(), Vec::new());
    for now in (0..4_000).map(Time::from_millis) {
        let step = now.as_micros() / 1_000;
        let wish = Wish { aim: (step / 300 % 6) as f32 - 2.5, calls: step % 100 < 20 };
        client.command(wish.clone());
        client.advance(now);
        while let Some(mut sent) = client.transmit(now).map(<[u8]>::to_vec) {
            hash = mixed(hash, &sent);
            let answer = server.receive(now, me, &mut sent, random);
            answer.into_iter().for_each(|answer| client.receive(now, &mut answer.to_vec()));
        }
        server.advance(now);
        while let Some((_, datagram)) = server.transmit(now) {
            hash = mixed(hash, datagram);
            client.receive(now, &mut datagram.to_vec());
        }
        calls.extend(client.take_effects().iter().map(|_| wire.events().record(&Call(step as u8))));
        if step % 50 == 0 {
            let mut table = Table::default();
            wire.view::<Yard>(server.world(), &(), PlayerId(0), &mut table);
            views.push(table);
            wishes.push(wire.commands().record(&wish));
        }
    }
    assert_eq!((server.malformed(), client.malformed()), (0, 0), "what is said is understood");
    assert!(!calls.is_empty(), "something happened");
    assert_eq!(matches!(client.codec(), Some(Agreed::Compact { .. })), is_coded);
    let learned = train::train(wire.layouts(), &mut |learn| {
        for four in views.windows(4) {
            let [earlier, before, base, now] = four else { continue };
            let (before, earlier, spans) = (Some(before), Some(earlier), [3; 3]);
            learn(&Lineage { base, before, earlier, spans }, now);
        }
    });
    let messages: Vec<_> = wishes.windows(5).map(<[_]>::to_vec).collect();
    let calls: Vec<_> = calls.into_iter().map(|call| vec![call]).collect();
    let (commands, events) = ((wire.commands(), &messages[..]), (wire.events(), &calls[..]));
    (hash, train::train_streams(learned, commands, events))
}
