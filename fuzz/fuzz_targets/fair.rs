//! The game that the targets play, and somebody between its server and its client who changes what they say.
#![allow(dead_code, reason = "no target uses all of it")]

#[path = "../../crates/sametick/tests/common/damage.rs"]
mod damage;
#[path = "tap.rs"]
pub(crate) mod tap;
#[path = "../../crates/sametick/tests/common/zoo.rs"]
mod zoo;

use crate::script::{Script, Seeded};
use damage::damage;
use sametick::Wire;
use sametick::codec::compact::{Lineage, Tables, train};
use sametick::{
    Audience, Client, ClientEvent, Delivery, EntityId, Fields, Game, Networked, PlayerId, Rates,
    Server, Slots, Span, Table, Time, Turn, View, World,
};
use std::sync::{Arc, LazyLock};
use tap::{SERVER, Tap};
pub(crate) use zoo::Zoo;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub aim: f32,
    pub call: bool,
    pub plant: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.bool("call", &mut self.call);
        f.bool("plant", &mut self.plant);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    pub x: f32,
    pub calls: u8,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x).shown(-100.0..=100.0, 0.01);
        f.bits("calls", &mut self.calls, 8);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner, Zoo } }

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub loud: u8,
}

impl Networked for Call {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("loud", &mut self.loud, 0..=9);
    }
}

pub(crate) struct Fair;

impl Game for Fair {
    type Entity = Entity;
    type Command = Wish;
    type Event = Call;
    /// How many stand there from the start, an animal among eight.
    type Content = u64;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Runner::default());
        }
        for (player, wish) in turn.commands() {
            let Some((id, runner)) = world.owned_mut::<Runner>(player) else { continue };
            runner.x = (runner.x + wish.aim).clamp(-100.0, 100.0);
            let x = runner.x;
            if wish.call {
                runner.calls = runner.calls.wrapping_add(1);
                let to = [Audience::All, Audience::Seeing, Audience::One(player)];
                let to = to[usize::from(runner.calls) % 3];
                let delivery = Delivery { to, is_reliable: wish.plant, is_saved: wish.aim > 2.0 };
                turn.emit(id, delivery, Call { loud: runner.calls % 10 });
            }
            if wish.plant {
                let target = Some(id);
                world.spawn(Zoo { position: [x, 0.0, 1.0], target, alive: true, ..Zoo::default() });
            }
        }
        let mut gone = Vec::new();
        for (id, animal) in world.all_mut::<Zoo>() {
            animal.health = turn.dice(id, 1).below(100) as i32;
            animal.alive ^= true;
            gone.extend((turn.dice(id, 2).below(40) == 0).then_some(id));
        }
        gone.into_iter().for_each(|id| _ = world.despawn(id));
    }

    fn populate(crowd: &u64, world: &mut World<Entity>) {
        for place in 0..(*crowd % 80) as u32 {
            match place % 8 {
                0 => world.spawn(Zoo { flags: place, ..Zoo::default() }),
                _ => world.spawn(Runner { x: place as f32, calls: 0 }),
            };
        }
    }

    fn content_name(crowd: &u64) -> u64 {
        *crowd
    }

    fn update_every(_world: &World<Entity>, _viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        |entity| [1, 1, 3, u32::MAX][entity.slot() % 4]
    }

    fn relevant(world: &World<Entity>, _: &u64, _viewer: PlayerId, visible: &mut Slots) {
        let is_seen = |id: &EntityId| id.slot() % 8 != 7 || world.tick().0 % 30 < 10;
        let seen = world.entities().map(|(id, _)| id).filter(is_seen);
        seen.for_each(|id| visible.insert(id.slot()));
    }
}

/// Whose words are changed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Changed {
    Down,
    Up,
}

/// Tables that were learned from a short session.
static TRAINED: LazyLock<Arc<Tables>> = LazyLock::new(|| {
    let (mut middle, wire) = (Middle::new(0x40), Wire::of::<Fair>());
    let (mut views, mut wishes, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..120_u32 {
        let aim = (step % 7) as f32 * 0.5 - 1.5;
        let wish = Wish { aim, call: step % 5 == 0, plant: step % 9 == 0 };
        wishes.push(wire.commands().record(&wish));
        calls.push(vec![wire.events().record(&Call { loud: (step % 10) as u8 })]);
        middle.tap.client.command(wish);
        middle.step(Span::millis(20), Changed::Down, &mut Script(&[]));
        let mut table = Table::default();
        wire.view::<Fair>(middle.tap.server.world(), &20, PlayerId(0), &mut table);
        views.push(table);
    }
    let tables = train::train(wire.layouts(), &mut |learn| {
        for four in views.windows(4) {
            let [earlier, before, base, now] = four else { continue };
            let (before, earlier, spans) = (Some(before), Some(earlier), [1; 3]);
            learn(&Lineage { base, before, earlier, spans }, now);
        }
    });
    let messages: Vec<_> = wishes.windows(4).map(<[_]>::to_vec).collect();
    let (commands, events) = ((wire.commands(), &messages[..]), (wire.events(), &calls[..]));
    Arc::new(train::train_streams(tables, commands, events))
});

pub(crate) struct Middle {
    pub tap: Tap<Server<Fair>, Client<Fair>>,
    maps: u64,
}

impl Middle {
    /// A session that has begun.
    pub fn new(options: u8) -> Self {
        let (now, mut random) = (Time::ZERO, Seeded::new(1));
        let map = u64::from(options >> 4) * 5;
        let ticks_per_snapshot = 1 + u32::from(options & 1);
        let rates = Rates { tick_length: Span::millis(20), ticks_per_snapshot, ..Rates::default() };
        let view = View {
            predicts: options & 2 == 0,
            others_commands: options & 4 != 0,
            snapshot_every: u32::from(options & 8) / 2,
            ..View::default()
        };
        let mut server = Server::open(map, 3, rates, now, &mut random);
        let mut client = Client::open(SERVER, map, view, now, &mut random);
        if options & 32 != 0 {
            // Those that were trained on half of the maps, those that are built in on the others.
            let built_in = || Arc::new(Tables::built_in(Wire::of::<Fair>().layouts()));
            let is_trained = options & 64 != 0;
            let tables = if is_trained { Arc::clone(&TRAINED) } else { built_in() };
            server.use_tables(Arc::clone(&tables)).expect("they are of this game");
            client = client.with_tables(tables);
        }
        let mut middle = Self { tap: Tap::new(server, client, random), maps: map };
        let nothing = &mut Script(&[]);
        (0..6).for_each(|_| middle.step(Span::millis(20), Changed::Down, nothing));
        middle
    }

    /// What a script tells: how much time passes, what the player does, what happens to messages.
    pub fn operate(&mut self, changed: Changed, script: &mut Script<'_>) {
        let deed = script.byte();
        match deed % 16 {
            0 => {
                self.maps += 1;
                self.tap.server.change(self.tap.now, self.maps, 4);
            }
            1..=4 => {
                let aim = f32::from(script.byte()) / 40.0 - 3.0;
                let (call, plant) = (deed & 16 != 0, deed & 32 != 0);
                self.tap.client.command(Wish { aim, call, plant });
            }
            _ => {}
        }
        self.step(Span::millis(1 + u64::from(deed >> 4) * 4), changed, script);
    }

    fn step(&mut self, span: Span, changed: Changed, script: &mut Script<'_>) {
        let [down, up] = self.tap.listen(span);
        let in_the_way = |is: Changed| is == changed && !script.is_over();
        let is_changed = [Changed::Down, Changed::Up].map(in_the_way);
        for (is_reliable, mut message) in down {
            let copies = if is_changed[0] { change(&mut message, script) } else { 1 };
            (0..copies).for_each(|_| self.tap.say_down(is_reliable, &message));
        }
        for (is_reliable, mut message) in up {
            let copies = if is_changed[1] { change(&mut message, script) } else { 1 };
            (0..copies).for_each(|_| self.tap.say_up(is_reliable, &message));
        }
        for event in self.tap.client.take_events() {
            if let ClientEvent::GameChanged { content } = event {
                self.tap.client.load(self.tap.now, content);
            }
        }
        let _ = self.tap.client.take_effects();
    }
}

/// Changes a message or replaces it; gives how often it is then sent.
fn change(message: &mut Vec<u8>, script: &mut Script<'_>) -> usize {
    match script.byte() % 8 {
        0..=2 => 1,
        3 => 0,
        4 => 2,
        5 => {
            *message = script.string().to_vec();
            1
        }
        _ => {
            // What tells messages apart is at their beginning, and kept most of the time.
            let orders = usize::from(script.byte() % 4) * 3;
            damage(message, script.bytes(orders));
            1
        }
    }
}
