//! A server of the arena and its players over a simulated network, in steps of a millisecond of virtual time. Who
//! asks for what, and what is checked, is for the test to say.

// Each test uses a part of it.
#![allow(dead_code)]

mod learned;
pub(crate) mod rogue;

use sametick::codec::Agreed;
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::Random;
use sametick::{Client, Dice, EntityId, PlayerId, Rates, Server, Span, Time, View, World};
use sametick_arena::vector::Vector;
use sametick_arena::{Arena, Command, Content, Entity, Fighter};
use std::sync::Arc;

pub(crate) const STEP: Span = Span::millis(1);

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// What a match is played with: one player for each view, over the line of the same place or the last one.
pub(crate) struct Setup<'a> {
    pub(crate) content: &'a Content,
    pub(crate) rates: Rates,
    pub(crate) views: &'a [View],
    /// Each way.
    pub(crate) lines: &'a [Conditions],
    pub(crate) seed: u64,
}

pub(crate) struct Guest {
    pub(crate) host: Host,
    pub(crate) client: Client<Arena>,
}

pub(crate) struct Match {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) server_host: Host,
    pub(crate) server: Server<Arena>,
    pub(crate) guests: Vec<Guest>,
    pub(crate) random: Seeded,
}

impl Match {
    pub(crate) fn new(setup: &Setup<'_>) -> Self {
        let Setup { content, rates, views, lines, seed } = *setup;
        let mut random = Seeded(Dice::new(seed, 2));
        let mut network = Network::new(seed);
        let server_host = network.add_host();
        let server = Server::open(content.clone(), seed, rates, Time::ZERO, &mut random);
        let mut play =
            Self { now: Time::ZERO, network, server_host, server, guests: Vec::new(), random };
        for (index, view) in views.iter().enumerate() {
            let host = play.add_host(&lines[index.min(lines.len() - 1)]);
            let address = play.network.address(play.server_host);
            let client =
                Client::open(address, content.clone(), *view, Time::ZERO, &mut play.random);
            play.guests.push(Guest { host, client });
        }
        play
    }

    /// Sends compact snapshots to whoever joins from now on.
    pub(crate) fn offer_tables(&mut self) {
        let tables = &*learned::TABLES;
        self.server.use_tables(Arc::clone(tables)).expect("they are of this game");
        for guest in &mut self.guests {
            guest.client.bring_tables(Arc::clone(tables));
        }
    }

    /// Whether all players get such.
    pub(crate) fn is_compact(&self) -> bool {
        let codec = |guest: &Guest| guest.client.codec();
        self.guests.iter().all(|guest| matches!(codec(guest), Some(Agreed::Compact { .. })))
    }

    /// Someone more, whatever it is.
    pub(crate) fn add_host(&mut self, line: &Conditions) -> Host {
        let host = self.network.add_host();
        self.network.set_conditions(host, self.server_host, line.clone());
        self.network.set_conditions(self.server_host, host, line.clone());
        host
    }

    /// Lets the server receive, step and tell; `sent` is shown each datagram and whom it is for. Whether a tick
    /// passed.
    pub(crate) fn step_server(&mut self, mut sent: impl FnMut(Host, &[u8])) -> bool {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.server_host, from, &answer);
            }
        }
        let before = self.server.world().tick();
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            if let Some(host) = self.network.host_at(to) {
                sent(host, datagram);
            }
            self.network.send(now, self.server_host, to, datagram);
        }
        self.server.world().tick() != before
    }

    /// Hands a player what has come, and calls `after` with its client after each datagram.
    pub(crate) fn receive(&mut self, index: usize, mut after: impl FnMut(&mut Client<Arena>)) {
        let (now, mut datagram) = (self.now, Vec::new());
        let guest = &mut self.guests[index];
        while self.network.receive(now, guest.host, &mut datagram).is_some() {
            guest.client.receive(now, &mut datagram);
            after(&mut guest.client);
        }
    }

    /// Steps a player's client and sends what it has to say.
    pub(crate) fn send(&mut self, index: usize) {
        let now = self.now;
        let server = self.network.address(self.server_host);
        let guest = &mut self.guests[index];
        guest.client.advance(now);
        while let Some(datagram) = guest.client.transmit(now) {
            self.network.send(now, guest.host, server, datagram);
        }
    }

    /// A player's frame: receives, looks, asks for what `wish` makes of the picture, and sends.
    pub(crate) fn frame(
        &mut self,
        index: usize,
        wish: impl FnOnce(PlayerId, &World<Entity>) -> Command,
    ) {
        self.receive(index, |_| {});
        let client = &mut self.guests[index].client;
        let me = client.me();
        let command = client.view(self.now).zip(me).map(|(view, me)| wish(me, view));
        command.into_iter().for_each(|command| client.command(command));
        client.take_effects();
        self.send(index);
    }

    pub(crate) fn fighter(&self, player: PlayerId) -> Option<(EntityId, &Fighter)> {
        self.server.world().owned(player)
    }

    pub(crate) fn millis(&self) -> u64 {
        (self.now - Time::ZERO).as_micros() / 1000
    }
}

/// A line by its ping, its jitter in milliseconds each way, and its loss.
pub(crate) fn line(ping: u64, jitter: u64, loss: f64) -> Conditions {
    Conditions {
        delay: Span::micros(ping * 500),
        jitter: match jitter {
            0 => Jitter::None,
            millis => Jitter::Uniform { width: Span::millis(millis) },
        },
        loss: Loss::Random { probability: loss },
        ..Conditions::PERFECT
    }
}

/// Where to look to look along this.
pub(crate) fn angles(off: Vector) -> (f32, f32) {
    let level = (off[0] * off[0] + off[1] * off[1]).sqrt();
    (libm::atan2f(off[1], off[0]), libm::atan2f(off[2], level))
}
