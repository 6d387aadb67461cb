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

impl Exchange for Pair {
    fn tick(&mut self, now: Time, up: &[u8], down: &[u8], spent: &mut Spent) -> bool {
        let Self { server, client, random, datagram, .. } = self;
        let (mut came_up, mut came_down) = (false, false);
        let later = now + DELAY;
        self.token = self.token.wrapping_add(1);
        let began = Instant::now();
        client.advance(now, &mut |_| {});
        let advanced = Instant::now();
        client.send_unreliable(self.token, up);
        keep(datagram, client.transmit(now));
        let is_alone = client.transmit(now).is_none();
        let sent = Instant::now();
        let mut tell = |event: ListenerEvent<'_>| {
            if let ListenerEvent::Message { event: Event::Unreliable(payload), .. } = event {
                came_up = payload == up;
            }
        };
        server.receive(later, self.address, datagram, random, &mut tell);
        let received = Instant::now();
        spent.advance += advanced - began;
        spent.send += sent - advanced;
        spent.receive += received - sent;

        let began = Instant::now();
        server.advance(later, &mut |_| {});
        let advanced = Instant::now();
        server.send_unreliable(self.connection, self.token, down);
        keep(datagram, server.transmit(later).map(|(_, datagram)| datagram));
        let is_alone = is_alone && server.transmit(later).is_none();
        let sent = Instant::now();
        client.receive(later + DELAY, datagram, &mut |event| {
            if let DialerEvent::Message(Event::Unreliable(payload)) = event {
                came_down = payload == down;
            }
        });
        let received = Instant::now();
        spent.advance += advanced - began;
        spent.send += sent - advanced;
        spent.receive += received - sent;
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
