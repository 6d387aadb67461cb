//! The game that the targets play, and somebody between its server and its client who reads along: it
//! holds a connection to each, so that it can change what is sealed on the way.
#![allow(dead_code, reason = "no target uses all of it")]

#[path = "../../crates/sametick/tests/common/damage.rs"]
mod damage;
#[path = "../../crates/sametick/tests/common/zoo.rs"]
mod zoo;

use crate::script::{Script, Seeded};
use damage::damage;
use sametick::channel::{Event, Settings};
use sametick::codec::Wire;
use sametick::codec::compact::Tables;
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::secure::{ClientToken, ConnectionId, GateConfig, Past, TokenKey};
use sametick::{
    Audience, Client, ClientEvent, Delivery, EntityId, Fields, Game, Networked, Peer, PlayerId,
    Rates, Server, Slots, Span, Time, Turn, View, World,
};
pub(crate) use zoo::Zoo;

/// What open servers and clients call their game.
const PROTOCOL: u64 = 0x5a6d_e71c_0001;
const SERVER: Peer = Peer::new([1; 16], 1);
const CLIENT: Peer = Peer::new([2; 16], 2);

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

pub(crate) struct Middle {
    now: Time,
    pub server: Server<Fair>,
    pub client: Client<Fair>,
    /// Our own ends: the one that the server hears, and the one that the client does.
    dialer: Dialer,
    listener: Listener,
    connection: Option<ConnectionId>,
    random: Seeded,
    /// Messages on their way: whether reliable, and what.
    down: Vec<(bool, Vec<u8>)>,
    up: Vec<Vec<u8>>,
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
        let past = Past::Unknown { started_unix_seconds: 0 };
        let key = TokenKey::from_bytes([9; 32]);
        let config = ListenerConfig {
            gate: GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, key, past),
            channel: Settings::default(),
            connections_max: 1,
            unix_seconds_at_zero: 0,
        };
        let token = ClientToken::open_mode(PROTOCOL, 5, b"", &mut random).expect("it is short");
        let mut middle = Self {
            now,
            server: Server::open(map, 3, rates, now, &mut random),
            client: Client::open(SERVER, map, view, now, &mut random),
            dialer: Dialer::new(SERVER, token, Settings::default(), now, &mut random),
            listener: Listener::new(config, now, &mut random),
            connection: None,
            random,
            down: Vec::new(),
            up: Vec::new(),
            maps: map,
        };
        if options & 32 != 0 {
            let tables = Tables::built_in(Wire::of::<Fair>().layouts());
            middle.server.use_tables(tables).expect("they are of this game");
        }
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
                self.server.change(self.now, self.maps, 4);
            }
            1..=4 => {
                let aim = f32::from(script.byte()) / 40.0 - 3.0;
                let (call, plant) = (deed & 16 != 0, deed & 32 != 0);
                self.client.command(Wish { aim, call, plant });
            }
            _ => {}
        }
        self.step(Span::millis(1 + u64::from(deed >> 4) * 4), changed, script);
    }

    fn step(&mut self, span: Span, changed: Changed, script: &mut Script<'_>) {
        self.now += span;
        self.talk_to_server();
        self.talk_to_client();
        let in_the_way = |is: Changed| is == changed && !script.is_over();
        let is_changed = [Changed::Down, Changed::Up].map(in_the_way);
        for (is_reliable, mut message) in std::mem::take(&mut self.down) {
            let copies = if is_changed[0] { change(&mut message, script) } else { 1 };
            let Some(to) = self.connection else { continue };
            for _ in 0..copies {
                if is_reliable {
                    let _ = self.listener.send_reliable(to, &message);
                } else {
                    self.listener.send_unreliable(to, 0, &message);
                }
            }
        }
        for mut message in std::mem::take(&mut self.up) {
            let copies = if is_changed[1] { change(&mut message, script) } else { 1 };
            (0..copies).for_each(|_| self.dialer.send_unreliable(0, &message));
        }
        for event in self.client.take_events() {
            if let ClientEvent::GameChanged { content } = event {
                self.client.load(self.now, content);
            }
        }
        let _ = self.client.take_effects();
    }

    fn talk_to_server(&mut self) {
        let (now, down) = (self.now, &mut self.down);
        let hear = &mut |event: DialerEvent<'_>| match event {
            DialerEvent::Message(Event::Reliable(message)) => down.push((true, message.to_vec())),
            DialerEvent::Message(Event::Unreliable(m)) => down.push((false, m.to_vec())),
            _ => {}
        };
        self.dialer.advance(now, hear);
        while let Some(mut datagram) = self.dialer.transmit(now).map(<[u8]>::to_vec) {
            let random = &mut self.random;
            if let Some(answer) = self.server.receive(now, CLIENT, &mut datagram, random) {
                self.dialer.receive(now, &mut answer.to_vec(), hear);
            }
        }
        self.server.advance(now);
        while let Some((_, datagram)) = self.server.transmit(now) {
            self.dialer.receive(now, &mut datagram.to_vec(), hear);
        }
    }

    fn talk_to_client(&mut self) {
        let (now, up, connected) = (self.now, &mut self.up, &mut self.connection);
        let hear = &mut |event: ListenerEvent<'_>| match event {
            ListenerEvent::Connected { connection, .. } => *connected = Some(connection),
            ListenerEvent::Message { event: Event::Unreliable(m), .. } => up.push(m.to_vec()),
            _ => {}
        };
        self.client.advance(now);
        while let Some(mut datagram) = self.client.transmit(now).map(<[u8]>::to_vec) {
            let random = &mut self.random;
            let answer = self.listener.receive(now, CLIENT, &mut datagram, random, hear);
            if let Some(answer) = answer {
                self.client.receive(now, &mut answer.to_vec());
            }
        }
        self.listener.advance(now, hear);
        while let Some((_, datagram)) = self.listener.transmit(now) {
            self.client.receive(now, &mut datagram.to_vec());
        }
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
