//! Servers and clients that follow the handshake and nothing else: whatever they say harms nobody but themselves.

use super::party::Seeded;
use super::tanks::{OPEN_FIELD, Order, Tank, Tanks};
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::eventlock::{
    EventClient, EventRates, EventServer, TICK_LAST, TIME_QUESTIONS_AT_ONCE,
    TIME_QUESTIONS_PER_SECOND,
};
use sametick::secure::{ClientToken, ConnectionId};
use sametick::{Dice, OPEN_PROTOCOL, Peer, Span, Time};

const SERVER: Peer = Peer::new([3; 16], 1);
const CLIENT: Peer = Peer::new([2; 16], 1);
const STEP: Span = Span::millis(10);
/// Where a welcome has its tick and its time.
const WELCOME_TICK: std::ops::Range<usize> = 18..22;
const WELCOME_TIME: std::ops::Range<usize> = 25..31;
/// With the first bit set it is the time, or a question for it; all others are set, too.
const LATEST_TIME: [u8; 8] = [0xff; 8];
const QUESTION: [u8; 2] = [0xff; 2];

/// Somebody between an honest server and an honest client: what the server says to it is changed, or made up, before it
/// says so to the client.
struct Middle<F: FnMut(usize, Vec<u8>) -> Vec<Vec<u8>>> {
    now: Time,
    server: EventServer<Tanks>,
    client: EventClient<Tanks>,
    dialer: Dialer,
    listener: Listener,
    connection: Option<ConnectionId>,
    random: Seeded,
    told: usize,
    change: F,
}

impl<F: FnMut(usize, Vec<u8>) -> Vec<Vec<u8>>> Middle<F> {
    fn new(change: F) -> Self {
        let (now, mut random) = (Time::ZERO, Seeded(Dice::new(3, 3)));
        let token =
            ClientToken::open_mode(OPEN_PROTOCOL, 5, b"", &mut random).expect("it is short");
        let config = ListenerConfig::open(&mut random);
        Self {
            now,
            server: EventServer::open(OPEN_FIELD, 1, EventRates::default(), now, &mut random),
            client: EventClient::open(SERVER, OPEN_FIELD, now, &mut random),
            dialer: Dialer::new(SERVER, token, Settings::default(), now, &mut random),
            listener: Listener::new(config, now, &mut random),
            connection: None,
            random,
            told: 0,
            change,
        }
    }

    /// Both talk for a while, and the client asks for something whenever it can.
    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            let (mut down, mut up) = (Vec::new(), Vec::new());
            self.talk_to_server(&mut down);
            self.talk_to_client(&mut up);
            for message in down {
                let changed = (self.change)(self.told, message);
                self.told += 1;
                for message in changed {
                    self.connection.map(|to| self.listener.send_reliable(to, &message));
                }
            }
            up.iter().for_each(|message| _ = self.dialer.send_reliable(message));
            let order = Order { builds: true, to: [9, 9], unit: None };
            let _ = self.client.request(self.now, order);
            let _ = self.client.shown(self.now);
            self.now += STEP;
        }
    }

    fn talk_to_server(&mut self, down: &mut Vec<Vec<u8>>) {
        let now = self.now;
        let hear = &mut |event: DialerEvent<'_>| {
            if let DialerEvent::Message(Event::Reliable(message)) = event {
                down.push(message.to_vec());
            }
        };
        self.dialer.advance(now, hear);
        while let Some(mut datagram) = self.dialer.transmit(now).map(<[u8]>::to_vec) {
            let answer = self.server.receive(now, CLIENT, &mut datagram, &mut self.random);
            answer.into_iter().for_each(|a| self.dialer.receive(now, &mut a.to_vec(), hear));
        }
        self.server.advance(now);
        while let Some((_, datagram)) = self.server.transmit(now) {
            self.dialer.receive(now, &mut datagram.to_vec(), hear);
        }
    }

    fn talk_to_client(&mut self, up: &mut Vec<Vec<u8>>) {
        let (now, connected) = (self.now, &mut self.connection);
        let hear = &mut |event: ListenerEvent<'_>| match event {
            ListenerEvent::Connected { connection, .. } => *connected = Some(connection),
            ListenerEvent::Message { event: Event::Reliable(m), .. } => up.push(m.to_vec()),
            _ => {}
        };
        self.client.advance(now);
        while let Some(mut datagram) = self.client.transmit(now).map(<[u8]>::to_vec) {
            let random = &mut self.random;
            let answer = self.listener.receive(now, CLIENT, &mut datagram, random, hear);
            answer.into_iter().for_each(|answer| self.client.receive(now, &mut answer.to_vec()));
        }
        self.listener.advance(now, hear);
        while let Some((_, datagram)) = self.listener.transmit(now) {
            self.client.receive(now, &mut datagram.to_vec());
        }
    }
}

fn refuses(what: &str, change: impl FnMut(usize, Vec<u8>) -> Vec<Vec<u8>>) {
    let mut middle = Middle::new(change);
    middle.run(Span::seconds(3));
    let client = &middle.client;
    assert_eq!(client.malformed(), 1, "{what}");
    assert!(client.is_over() && client.world().is_none(), "{what}");
}

#[test]
fn a_server_whose_ticks_would_overflow_is_left() {
    let mut honest = Middle::new(|_, message| vec![message]);
    honest.run(Span::seconds(3));
    assert_eq!(honest.client.malformed(), 0);
    assert!(honest.client.world().is_some_and(|world| world.all::<Tank>().count() > 3));

    for tick in [TICK_LAST.0 + 1, u32::MAX] {
        refuses("a welcome's tick", |index, mut message| {
            if index == 0 {
                message[WELCOME_TICK].copy_from_slice(&tick.to_le_bytes());
            }
            vec![message]
        });
    }
    refuses("a welcome's time", |index, mut message| {
        if index == 0 {
            message[WELCOME_TIME].fill(0xff);
        }
        vec![message]
    });
    // The client waits for no question's answer by then, and is told the time all the same.
    refuses(
        "a time",
        |index, message| {
            if index == 5 { vec![LATEST_TIME.to_vec()] } else { vec![message] }
        },
    );
}

#[test]
fn a_server_near_the_last_tick_is_played_with() {
    // All but the last byte's highest bits: 2^31 less some hundred thousand ticks, and the time of that.
    let tick = TICK_LAST.0 - 100_000;
    let micros = u64::from(tick) * 50_000;
    let mut middle = Middle::new(|index, mut message| {
        if index == 0 {
            message[WELCOME_TICK].copy_from_slice(&tick.to_le_bytes());
            message[WELCOME_TIME].copy_from_slice(&micros.to_le_bytes()[..6]);
        }
        vec![message]
    });
    middle.run(Span::seconds(3));
    assert_eq!(middle.client.malformed(), 0);
    assert!(middle.client.world().is_some_and(|world| world.tick().0 > tick));
}

/// A client that says what it likes.
struct Stranger {
    now: Time,
    server: EventServer<Tanks>,
    dialer: Dialer,
    random: Seeded,
    heard: u32,
}

impl Stranger {
    fn new() -> Self {
        let (now, mut random) = (Time::ZERO, Seeded(Dice::new(4, 4)));
        let token =
            ClientToken::open_mode(OPEN_PROTOCOL, 5, b"", &mut random).expect("it is short");
        let server = EventServer::open(OPEN_FIELD, 1, EventRates::default(), now, &mut random);
        let dialer = Dialer::new(SERVER, token, Settings::default(), now, &mut random);
        let mut stranger = Self { now, server, dialer, random, heard: 0 };
        stranger.run(Span::seconds(1));
        stranger
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            let (now, heard) = (self.now, &mut self.heard);
            let hear = &mut |event: DialerEvent<'_>| {
                *heard += u32::from(matches!(event, DialerEvent::Message(Event::Reliable(_))));
            };
            self.dialer.advance(now, hear);
            while let Some(mut datagram) = self.dialer.transmit(now).map(<[u8]>::to_vec) {
                let answer = self.server.receive(now, CLIENT, &mut datagram, &mut self.random);
                answer.into_iter().for_each(|a| self.dialer.receive(now, &mut a.to_vec(), hear));
            }
            self.server.advance(now);
            while let Some((_, datagram)) = self.server.transmit(now) {
                self.dialer.receive(now, &mut datagram.to_vec(), hear);
            }
            self.now += STEP;
        }
    }
}

#[test]
fn questions_for_the_time_are_bounded_and_those_too_many_counted() {
    const SECONDS: u32 = 5;
    const ASKED_A_SECOND: u32 = 40;
    let mut stranger = Stranger::new();
    // All is told by now, and in a quiet world nothing else is.
    let before = stranger.heard;
    for _ in 0..SECONDS * 10 {
        for _ in 0..ASKED_A_SECOND / 10 {
            stranger.dialer.send_reliable(&QUESTION).expect("there is room");
        }
        stranger.run(Span::millis(100));
    }
    let answered = stranger.heard - before;
    let most = TIME_QUESTIONS_AT_ONCE + SECONDS * TIME_QUESTIONS_PER_SECOND;
    assert!((most - 1..=most).contains(&answered), "{answered} answers");
    let dropped = u64::from(SECONDS * ASKED_A_SECOND - answered);
    assert_eq!(stranger.server.questions_dropped(), dropped);
    assert!(!stranger.dialer.is_over(), "it harms nobody, and may stay");

    // Who asks as an honest client does is always answered.
    let before = (stranger.heard, stranger.server.questions_dropped());
    for _ in 0..10 {
        stranger.run(Span::millis(1500));
        stranger.dialer.send_reliable(&QUESTION).expect("there is room");
    }
    stranger.run(Span::seconds(1));
    assert_eq!((stranger.heard, stranger.server.questions_dropped()), (before.0 + 10, before.1));
}
