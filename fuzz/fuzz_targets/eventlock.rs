//! An event-locked game whose messages are damaged, lost, doubled and made up on the way, in both directions: no panic,
//! no world that cannot be kept, and whatever the one does harms the other by no more than its connection.
#![no_main]

mod fair;
mod script;

use fair::{Entity, Fair, Wish};
use libfuzzer_sys::fuzz_target;
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::eventlock::{Denial, EventClient, EventRates, EventServer, Requests};
use sametick::secure::{ClientToken, ConnectionId};
use sametick::{Layouts, Peer, PlayerId, Span, Time, World};
use script::{Script, Seeded};

const PROTOCOL: u64 = 0x5a6d_e71c_0001;
const SERVER: Peer = Peer::new([1; 16], 1);
const CLIENT: Peer = Peer::new([2; 16], 2);
const OPERATIONS_MAX: usize = 50;

impl Requests for Fair {
    fn judge(_: &World<Entity>, _: &u64, _: PlayerId, wish: &Wish) -> Result<(), Denial> {
        if wish.call && wish.plant { Err(Denial(7)) } else { Ok(()) }
    }
}

/// Somebody between a server and its client who holds a connection to each.
struct Middle {
    now: Time,
    server: EventServer<Fair>,
    client: EventClient<Fair>,
    dialer: Dialer,
    listener: Listener,
    connection: Option<ConnectionId>,
    random: Seeded,
    down: Vec<Vec<u8>>,
    up: Vec<Vec<u8>>,
}

impl Middle {
    fn new(options: u8) -> Self {
        let (now, mut random) = (Time::ZERO, Seeded::new(1));
        let map = u64::from(options >> 4) * 5;
        let rates = EventRates {
            tick_length: Span::millis(20),
            tell_every: Span::millis(20 * u64::from(options & 3)),
            ..EventRates::default()
        };
        let token = ClientToken::open_mode(PROTOCOL, 5, b"", &mut random).expect("it is short");
        let config = ListenerConfig::open(&mut random);
        let mut middle = Self {
            now,
            server: EventServer::open(map, 3, rates, now, &mut random),
            client: EventClient::open(SERVER, map, now, &mut random),
            dialer: Dialer::new(SERVER, token, Settings::default(), now, &mut random),
            listener: Listener::new(config, now, &mut random),
            connection: None,
            random,
            down: Vec::new(),
            up: Vec::new(),
        };
        (0..6).for_each(|_| middle.step(Span::millis(20), &mut Script(&[])));
        middle
    }

    fn step(&mut self, span: Span, script: &mut Script<'_>) {
        self.now += span;
        self.talk_to_server();
        self.talk_to_client();
        for message in std::mem::take(&mut self.down) {
            for message in change(message, script) {
                let to = self.connection;
                let _ = to.map(|to| self.listener.send_reliable(to, &message));
            }
        }
        for message in std::mem::take(&mut self.up) {
            for message in change(message, script) {
                let _ = self.dialer.send_reliable(&message);
            }
        }
    }

    fn talk_to_server(&mut self) {
        let (now, down) = (self.now, &mut self.down);
        let hear = &mut |event: DialerEvent<'_>| {
            if let DialerEvent::Message(Event::Reliable(message)) = event {
                down.push(message.to_vec());
            }
        };
        self.dialer.advance(now, hear);
        while let Some(mut datagram) = self.dialer.transmit(now).map(<[u8]>::to_vec) {
            let answer = self.server.receive(now, CLIENT, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
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
            ListenerEvent::Message { event: Event::Reliable(m), .. } => up.push(m.to_vec()),
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

/// What becomes of a message on its way.
fn change(mut message: Vec<u8>, script: &mut Script<'_>) -> Vec<Vec<u8>> {
    match script.byte() % 8 {
        3 => Vec::new(),
        4 => vec![message.clone(), message],
        5 => vec![script.string().to_vec()],
        6 | 7 => {
            script.damage(&mut message);
            vec![message]
        }
        _ => vec![message],
    }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut middle = Middle::new(script.byte());
    let mut shown = Time::ZERO;
    for _ in 0..OPERATIONS_MAX {
        if script.is_over() {
            break;
        }
        let deed = script.byte();
        if deed & 15 < 6 {
            let aim = f32::from(script.byte()) / 40.0 - 3.0;
            let wish = Wish { aim, call: deed & 16 != 0, plant: deed & 32 != 0 };
            let _ = middle.client.request(middle.now, wish);
        }
        middle.step(Span::millis(1 + u64::from(deed >> 4) * 4), &mut script);
        let time = middle.client.server_time(middle.now).unwrap_or(shown);
        assert!(time >= shown, "time runs backwards");
        shown = time;
    }
    let layouts = Layouts::of::<Entity>();
    if let Some(world) = middle.client.world() {
        let loaded = World::<Entity>::load(&world.save(&layouts), &layouts);
        let loaded = loaded.expect("what was saved is loaded");
        assert_eq!(loaded.hash(&layouts), world.hash(&layouts));
    }
    let _ = middle.client.shown(middle.now);
});
