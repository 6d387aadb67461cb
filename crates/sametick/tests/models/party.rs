//! A server and some clients on the range over a simulated network, in steps of a millisecond.

use super::range::{Place, Range, Runner, Wish};
use sametick::network::{Conditions, Host, Network};
use sametick::secure::Random;
use sametick::{Client, Dice, EntityId, Rates, Server, Span, Time, View};

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

pub(crate) struct Party {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) server: Server<Range>,
    pub(crate) clients: Vec<Client<Range>>,
    pub(crate) server_host: Host,
    pub(crate) hosts: Vec<Host>,
    random: Seeded,
    /// The first client stands still until then.
    pub(crate) stalls_until: Time,
    /// When a client looks at its screen.
    pub(crate) looks_every: u64,
    /// By how much its own place was changed by each snapshot that changed it, by client.
    pub(crate) corrections: Vec<Vec<f32>>,
    /// Sent by the first client, and to it.
    pub(crate) bytes: [u64; 2],
}

impl Party {
    pub(crate) fn new(rates: Rates, views: &[View], place: Place, conditions: &Conditions) -> Self {
        let mut random = Seeded(Dice::new(7, 9));
        let mut network = Network::new(7);
        network.set_default_conditions(conditions.clone());
        let server_host = network.add_host();
        let server = Server::open(place, 7, rates, Time::ZERO, &mut random);
        let address = network.address(server_host);
        let hosts: Vec<Host> = views.iter().map(|_| network.add_host()).collect();
        let clients =
            views.iter().map(|view| Client::open(address, place, *view, Time::ZERO, &mut random));
        let clients: Vec<_> = clients.collect();
        let corrections = vec![Vec::new(); clients.len()];
        let (now, looks_every) = (Time::ZERO, 5);
        Self {
            now,
            network,
            server,
            clients,
            server_host,
            hosts,
            random,
            looks_every,
            corrections,
            bytes: [0, 0],
            stalls_until: Time::ZERO,
        }
    }

    pub(crate) fn run(&mut self, span: Span, mut each: impl FnMut(&mut Self)) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            each(self);
            self.now += Span::millis(1);
        }
    }

    fn step(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.server_host, from, &answer);
            }
        }
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            if to == self.network.address(self.hosts[0]) {
                self.bytes[1] += datagram.len() as u64;
            }
            self.network.send(now, self.server_host, to, datagram);
        }
        let server = self.network.address(self.server_host);
        let millis = (now - Time::ZERO).as_micros() / 1000;
        let looks = millis.is_multiple_of(self.looks_every);
        for (index, client) in self.clients.iter_mut().enumerate() {
            if index == 0 && now < self.stalls_until {
                continue;
            }
            let before = own(client).map(|runner| runner.x);
            while self.network.receive(now, self.hosts[index], &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            if let (Some(before), Some(after)) = (before, own(client).map(|runner| runner.x))
                && (after - before).abs() > 0.001
            {
                self.corrections[index].push((after - before).abs());
            }
            client.advance(now);
            if looks {
                client.view(now);
            }
            while let Some(datagram) = client.transmit(now) {
                self.bytes[0] += if index == 0 { datagram.len() as u64 } else { 0 };
                self.network.send(now, self.hosts[index], server, datagram);
            }
        }
    }

    pub(crate) fn id_of(&self, client: usize) -> Option<EntityId> {
        let me = self.clients[client].me()?;
        self.server.world().owned::<Runner>(me).map(|(id, _)| id)
    }

    /// Where a runner is on the server.
    pub(crate) fn truth(&self, of: usize) -> Option<&Runner> {
        self.server.world().get::<Runner>(self.id_of(of)?)
    }

    /// What one client's screen shows of another's runner.
    pub(crate) fn shown(&self, on: usize, of: usize) -> Option<&Runner> {
        self.clients[on].shown()?.get::<Runner>(self.id_of(of)?)
    }
}

/// A client's own runner at its own time.
pub(crate) fn own(client: &Client<Range>) -> Option<&Runner> {
    client.own::<Runner>().map(|(_, runner)| runner)
}

pub(crate) fn line(ping: u64, loss: f64) -> Conditions {
    Conditions {
        delay: Span::micros(ping * 500),
        loss: sametick::network::Loss::Random { probability: loss },
        ..Conditions::PERFECT
    }
}

/// To and fro, turning every so often.
pub(crate) fn pace(now: Time, every_millis: u64) -> Wish {
    let leg = (now - Time::ZERO).as_micros() / 1000 / every_millis;
    Wish { east: if leg.is_multiple_of(2) { 1 } else { -1 }, stamp: leg as u16, ..Wish::default() }
}
