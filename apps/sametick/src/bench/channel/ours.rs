//! A listener and a dialer, joined by hand.

use super::{Exchange, Spent};
use anyhow::{Context, bail, ensure};
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::secure::{ClientToken, ConnectionId, GateConfig, Past, Random, TokenKey};
use sametick::{Dice, Peer, Span, Time};
use std::time::Instant;

const PROTOCOL: u64 = 7;
const UNIX_SECONDS: u64 = 1_800_000_000;

/// Half a round trip. Less than a tick: both ends hear of everything before they speak again.
const DELAY: Span = Span::millis(5);

/// Seeded, so that a run can be repeated; a game takes the system's.
pub(super) struct Seeded(pub(super) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// A server with one client.
pub(super) struct Pair {
    server: Listener,
    client: Dialer,
    random: Seeded,
    address: Peer,
    connection: ConnectionId,
    token: u32,
    datagram: Vec<u8>,
}

impl Pair {
    /// Goes through a whole handshake.
    pub(super) fn connect(seed: u64) -> anyhow::Result<(Self, Time)> {
        let mut random = Seeded(Dice::new(seed, 1));
        let mut server = listener(1, &mut random);
        let mut client = dialer(1, Time::ZERO, &mut random)?;
        let mut now = Time::ZERO;
        let mut connection = None;
        let mut datagram = Vec::new();
        for _ in 0..10 {
            if let Some(sent) = client.transmit(now) {
                datagram.clear();
                datagram.extend_from_slice(sent);
                let mut tell = |event: ListenerEvent<'_>| {
                    if let ListenerEvent::Connected { connection: id, .. } = event {
                        connection = Some(id);
                    }
                };
                let from = address_of(1);
                let answer = server.receive(now, from, &mut datagram, &mut random, &mut tell);
                if let Some(answer) = answer {
                    client.receive(now, &mut answer.to_vec(), &mut |_| {});
                }
            }
            now += DELAY;
        }
        ensure!(client.is_connected(), "the handshake failed");
        let connection = connection.context("the handshake failed")?;
        let (address, datagram) = (address_of(1), Vec::with_capacity(1200));
        let pair = Self { server, client, random, address, connection, token: 0, datagram };
        Ok((pair, now))
    }
}

impl Pair {
    /// Says whether one datagram took it all.
    fn send_up(&mut self, now: Time, payload: &[u8]) -> bool {
        self.token = self.token.wrapping_add(1);
        self.client.send_unreliable(self.token, payload);
        keep(&mut self.datagram, self.client.transmit(now));
        self.client.transmit(now).is_none()
    }

    fn receive_up(&mut self, now: Time, payload: &[u8]) -> bool {
        let mut came = false;
        let mut tell = |event: ListenerEvent<'_>| {
            if let ListenerEvent::Message { event: Event::Unreliable(said), .. } = event {
                came = said == payload;
            }
        };
        let Self { server, address, datagram, random, .. } = self;
        server.receive(now, *address, datagram, random, &mut tell);
        came
    }

    fn send_down(&mut self, now: Time, payload: &[u8]) -> bool {
        self.server.send_unreliable(self.connection, self.token, payload);
        keep(&mut self.datagram, self.server.transmit(now).map(|(_, datagram)| datagram));
        self.server.transmit(now).is_none()
    }

    fn receive_down(&mut self, now: Time, payload: &[u8]) -> bool {
        let mut came = false;
        self.client.receive(now, &mut self.datagram, &mut |event| {
            if let DialerEvent::Message(Event::Unreliable(said)) = event {
                came = said == payload;
            }
        });
        came
    }

    /// A tick that nobody times: two payloads, each sent and received.
    pub(super) fn untimed_tick(&mut self, now: Time, payload: &[u8]) -> bool {
        let later = now + DELAY;
        self.client.advance(now, &mut |_| {});
        let up = self.send_up(now, payload) && self.receive_up(later, payload);
        self.server.advance(later, &mut |_| {});
        up && self.send_down(later, payload) && self.receive_down(later + DELAY, payload)
    }
}

impl Exchange for Pair {
    fn tick(&mut self, now: Time, up: &[u8], down: &[u8], spent: &mut Spent) -> bool {
        let later = now + DELAY;
        let began = Instant::now();
        self.client.advance(now, &mut |_| {});
        let advanced = Instant::now();
        let is_alone = self.send_up(now, up);
        let sent = Instant::now();
        let came_up = self.receive_up(later, up);
        spent.add([began, advanced, sent, Instant::now()]);

        let began = Instant::now();
        self.server.advance(later, &mut |_| {});
        let advanced = Instant::now();
        let is_alone = is_alone && self.send_down(later, down);
        let sent = Instant::now();
        let came_down = self.receive_down(later + DELAY, down);
        spent.add([began, advanced, sent, Instant::now()]);
        spent.datagrams += 2;
        is_alone && came_up && came_down
    }
}

/// What a socket would do.
fn keep(datagram: &mut Vec<u8>, sent: Option<&[u8]>) {
    datagram.clear();
    datagram.extend_from_slice(sent.unwrap_or_default());
}

/// Where the client of that number is; no two share a neighbourhood.
pub(super) fn address_of(client: u16) -> Peer {
    let [high, low] = client.to_be_bytes();
    Peer::from_ipv4([10, high, low, 1], 4000)
}

/// The client that is there.
pub(super) fn client_at(address: Peer) -> u16 {
    let [.., high, low, _] = address.address();
    u16::from_be_bytes([high, low])
}

/// A server in open mode.
pub(super) fn listener(connections_max: usize, random: &mut Seeded) -> Listener {
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let ticket_key = TokenKey::generate(random);
    let config = ListenerConfig {
        gate: GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, ticket_key, past),
        channel: Settings::default(),
        connections_max,
        unix_seconds_at_zero: UNIX_SECONDS,
    };
    Listener::new(config, Time::ZERO, random)
}

pub(super) fn dialer(client: u16, now: Time, random: &mut Seeded) -> anyhow::Result<Dialer> {
    let token = ClientToken::open_mode(PROTOCOL, u64::from(client), b"", random);
    let Ok(token) = token else { bail!("a token could not be made") };
    Ok(Dialer::new(Peer::from_ipv4([10, 0, 0, 1], 5000), token, Settings::default(), now, random))
}
