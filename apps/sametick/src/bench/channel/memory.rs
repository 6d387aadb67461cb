//! What a server keeps for each connection, counted by its allocator.

use super::ours::{self, Seeded};
use crate::bench::Report;
use allocation_counter::measure;
use sametick::channel::Event;
use sametick::endpoint::{Dialer, Listener, ListenerEvent};
use sametick::secure::ConnectionId;
use sametick::{Dice, Peer, Span, Time};
use std::fmt::Write;

const CONNECTIONS: u16 = 500;
const STEP: Span = Span::millis(50);
/// A round trip, so that there is always something on its way.
const ROUND_TRIP_STEPS: usize = 2;
const IDLE_STEPS: u32 = 200;
const LOADED_STEPS: u32 = 200;

/// Under load, every step each way: three unreliable messages and a reliable one.
const UNRELIABLE_EACH: u32 = 3;
const UNRELIABLE_BYTES: usize = 100;
const RELIABLE_BYTES: usize = 40;

pub(super) struct Memory {
    idle_bytes: f64,
    loaded_bytes: f64,
    /// Whether all were connected to the end, and everything reliable came.
    pub(super) verified: bool,
}

impl Memory {
    pub(super) fn measure(seed: u64) -> anyhow::Result<Self> {
        let mut crowd = Crowd::new(seed)?;
        (0..IDLE_STEPS).for_each(|_| crowd.step(false));
        let idle = crowd.server_bytes;
        (0..LOADED_STEPS).for_each(|_| crowd.step(true));
        let loaded = crowd.server_bytes;
        let all_here = crowd.server.connections().count() == usize::from(CONNECTIONS);
        (0..10).for_each(|_| crowd.step(false));
        let verified = all_here && crowd.reliable_sent == crowd.reliable_came;
        // The place in the listener's table was there before the connection.
        let each = |bytes: i64| bytes as f64 / f64::from(CONNECTIONS) + size_of::<usize>() as f64;
        Ok(Self { idle_bytes: each(idle), loaded_bytes: each(loaded), verified })
    }

    pub(super) fn add_to(&self, report: &mut Report, text: &mut String) -> anyhow::Result<()> {
        report.add("idle_connection_bytes", self.idle_bytes);
        report.add("loaded_connection_bytes", self.loaded_bytes);
        writeln!(
            text,
            "A connection takes {:.0} bytes while it is idle, and {:.0} under load: {} unreliable\n\
             messages of {UNRELIABLE_BYTES} bytes and a reliable one of {RELIABLE_BYTES} every 50 ms \
             each way, 100 ms there and back,\n{CONNECTIONS} connections.",
            self.idle_bytes, self.loaded_bytes, UNRELIABLE_EACH
        )?;
        Ok(())
    }
}

/// A server and its many clients. Only what the server allocates is counted.
struct Crowd {
    now: Time,
    random: Seeded,
    server: Listener,
    server_bytes: i64,
    clients: Vec<Dialer>,
    connections: Vec<ConnectionId>,
    /// Datagrams under way, by when they were sent.
    up: Vec<Vec<(Peer, Vec<u8>)>>,
    down: Vec<Vec<(Peer, Vec<u8>)>>,
    reliable_sent: usize,
    reliable_came: usize,
}

impl Crowd {
    fn new(seed: u64) -> anyhow::Result<Self> {
        let mut random = Seeded(Dice::new(seed, 3));
        let server = ours::listener(usize::from(CONNECTIONS), &mut random);
        let clients: anyhow::Result<Vec<Dialer>> =
            (0..CONNECTIONS).map(|client| ours::dialer(client, Time::ZERO, &mut random)).collect();
        Ok(Self {
            now: Time::ZERO,
            random,
            server,
            server_bytes: 0,
            clients: clients?,
            connections: Vec::with_capacity(usize::from(CONNECTIONS)),
            up: vec![Vec::new(); ROUND_TRIP_STEPS / 2],
            down: vec![Vec::new(); ROUND_TRIP_STEPS / 2],
            reliable_sent: 0,
            reliable_came: 0,
        })
    }

    fn step(&mut self, loaded: bool) {
        self.now += STEP;
        let now = self.now;
        self.server_receives(now);
        self.clients_receive(now);
        if loaded {
            self.load();
        }
        self.up.remove(0);
        let (up, down) = (self.clients_send(now), self.server_sends(now));
        self.up.push(up);
        self.down.push(down);
    }

    fn server_receives(&mut self, now: Time) {
        let mut answers = Vec::new();
        for (from, mut datagram) in std::mem::take(&mut self.up[0]) {
            let mut answer_bytes = [0; 1200];
            let mut answer_length = 0;
            let (server, random) = (&mut self.server, &mut self.random);
            let (connections, came) = (&mut self.connections, &mut self.reliable_came);
            let mut tell = |event: ListenerEvent<'_>| match event {
                ListenerEvent::Connected { connection, .. } => connections.push(connection),
                ListenerEvent::Message { event: Event::Reliable(_), .. } => *came += 1,
                _ => {}
            };
            let counted = measure(|| {
                if let Some(answer) = server.receive(now, from, &mut datagram, random, &mut tell) {
                    answer_length = answer.len();
                    answer_bytes[..answer_length].copy_from_slice(&answer);
                }
            });
            self.server_bytes += counted.bytes_current;
            if answer_length > 0 {
                answers.push((from, answer_bytes[..answer_length].to_vec()));
            }
        }
        self.down[0].extend(answers);
    }

    fn server_sends(&mut self, now: Time) -> Vec<(Peer, Vec<u8>)> {
        let mut sent = Vec::new();
        let server = &mut self.server;
        let counted = measure(|| server.advance(now, &mut |_| {}));
        self.server_bytes += counted.bytes_current;
        loop {
            let mut bytes = [0; 1200];
            let mut to = None;
            let counted = measure(|| {
                if let Some((peer, datagram)) = self.server.transmit(now) {
                    bytes[..datagram.len()].copy_from_slice(datagram);
                    to = Some((peer, datagram.len()));
                }
            });
            self.server_bytes += counted.bytes_current;
            let Some((peer, length)) = to else { return sent };
            sent.push((peer, bytes[..length].to_vec()));
        }
    }

    fn clients_receive(&mut self, now: Time) {
        for (to, mut datagram) in self.down.remove(0) {
            let client = ours::client_at(to);
            let came = &mut self.reliable_came;
            self.clients[usize::from(client)].receive(now, &mut datagram, &mut |event| {
                use sametick::endpoint::DialerEvent::Message;
                *came += usize::from(matches!(event, Message(Event::Reliable(_))));
            });
        }
    }

    fn clients_send(&mut self, now: Time) -> Vec<(Peer, Vec<u8>)> {
        let mut sent = Vec::new();
        for (number, client) in (0..).zip(&mut self.clients) {
            client.advance(now, &mut |_| {});
            while let Some(datagram) = client.transmit(now) {
                sent.push((ours::address_of(number), datagram.to_vec()));
            }
        }
        sent
    }

    fn load(&mut self) {
        let (unreliable, reliable) = ([7; UNRELIABLE_BYTES], [8; RELIABLE_BYTES]);
        for client in &mut self.clients {
            (0..UNRELIABLE_EACH).for_each(|token| client.send_unreliable(token, &unreliable));
            self.reliable_sent += usize::from(client.send_reliable(&reliable).is_ok());
        }
        for id in &self.connections {
            let (server, sent) = (&mut self.server, &mut self.reliable_sent);
            let counted = measure(|| {
                (0..UNRELIABLE_EACH)
                    .for_each(|token| server.send_unreliable(*id, token, &unreliable));
                *sent += usize::from(server.send_reliable(*id, &reliable).is_ok());
            });
            self.server_bytes += counted.bytes_current;
        }
    }
}
