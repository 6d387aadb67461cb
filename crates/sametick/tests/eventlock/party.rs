//! A server and some clients over a simulated network, in steps of some milliseconds.

use super::tanks::{Entity, Field, Order, Tank, Tanks};
use sametick::eventlock::{EventClient, EventRates, EventServer, RequestNumber, sight_hash};
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::secure::{ClientToken, Random};
use sametick::{
    Dice, EntityId, Game, Layouts, OPEN_PROTOCOL, PlayerId, Slots, Span, Tick, Time, World,
};
use std::collections::VecDeque;

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// What sealing a packet adds behind it.
pub(crate) const TAG_BYTES: usize = 16;

pub(crate) struct Party {
    pub(crate) now: Time,
    pub(crate) step: Span,
    pub(crate) network: Network,
    pub(crate) server: EventServer<Tanks>,
    pub(crate) clients: Vec<EventClient<Tanks>>,
    pub(crate) server_host: Host,
    pub(crate) hosts: Vec<Host>,
    pub(crate) field: Field,
    pub(crate) random: Seeded,
    /// Datagrams to each client, if they are kept.
    pub(crate) trace: Option<Vec<Vec<Vec<u8>>>>,
    /// Bytes that the server sent to each, and each to the server; the tags of their seals are not counted.
    pub(crate) bytes: Vec<[u64; 2]>,
    /// How many datagrams it sent to all: each has a seal.
    pub(crate) packets: u64,
    /// The server's worlds of the last ticks, the newest last.
    past: VecDeque<World<Entity>>,
    /// How many of them are kept.
    pub(crate) past_ticks: usize,
    /// Until then a client does nothing.
    pub(crate) frozen_until: Vec<Time>,
}

/// How many worlds are kept of ticks of 50 ms: those of 10 s, longer than anything is under way.
const PAST_TICKS: usize = 200;

pub(crate) fn line(ping: u64, loss: f64) -> Conditions {
    Conditions {
        delay: Span::micros(ping * 500),
        loss: Loss::Random { probability: loss },
        ..Conditions::PERFECT
    }
}

impl Party {
    pub(crate) fn new(count: usize, seed: u64, field: Field, rates: EventRates) -> Self {
        Self::around(count, seed, field, |now, random| {
            EventServer::open(field, seed, EventRates { keeps_hashes: true, ..rates }, now, random)
        })
    }

    pub(crate) fn around(
        count: usize,
        seed: u64,
        field: Field,
        server: impl FnOnce(Time, &mut Seeded) -> EventServer<Tanks>,
    ) -> Self {
        let mut random = Seeded(Dice::new(seed, 9));
        let mut network = Network::new(seed);
        network.set_default_conditions(line(60, 0.0));
        let server_host = network.add_host();
        let server = server(Time::ZERO, &mut random);
        let address = network.address(server_host);
        let hosts: Vec<Host> = (0..count).map(|_| network.add_host()).collect();
        let clients = (0..count).map(|index| {
            let mut random = Seeded(Dice::new(seed, 100 + index as u64));
            EventClient::open(address, field, Time::ZERO, &mut random)
        });
        let (clients, bytes) = (clients.collect(), vec![[0; 2]; count]);
        let (now, step, trace) = (Time::ZERO, Span::millis(5), None);
        Self {
            now,
            step,
            network,
            server,
            clients,
            server_host,
            hosts,
            field,
            random,
            trace,
            bytes,
            packets: 0,
            past: VecDeque::new(),
            past_ticks: PAST_TICKS,
            frozen_until: vec![Time::ZERO; count],
        }
    }

    /// Both ways of one client's line.
    pub(crate) fn set_line(&mut self, client: usize, conditions: &Conditions) {
        let (here, there) = (self.server_host, self.hosts[client]);
        self.network.set_conditions(here, there, conditions.clone());
        self.network.set_conditions(there, here, conditions.clone());
    }

    pub(crate) fn run(&mut self, span: Span, mut each: impl FnMut(&mut Self)) {
        let end = self.now + span;
        while self.now < end {
            self.tick();
            each(self);
            self.now += self.step;
        }
    }

    /// What a client's own clock shows.
    pub(crate) fn time_of(&self, client: usize) -> Time {
        self.network.clock(self.hosts[client]).local(self.now)
    }

    fn tick(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.server_host, from, &answer);
            }
        }
        self.server.advance(now);
        let world = self.server.world();
        if self.past.back().is_none_or(|last| last.tick() != world.tick()) {
            self.past.push_back(world.clone());
            let excess = self.past.len().saturating_sub(self.past_ticks);
            self.past.drain(..excess);
        }
        while let Some((to, datagram)) = self.server.transmit(now) {
            let host = self.network.host_at(to);
            if let Some(index) = self.hosts.iter().position(|other| Some(*other) == host) {
                self.bytes[index][0] += (datagram.len() - TAG_BYTES) as u64;
                self.packets += 1;
                if let Some(trace) = &mut self.trace {
                    trace[index].push(datagram.to_vec());
                }
            }
            self.network.send(now, self.server_host, to, datagram);
        }
        let server = self.network.address(self.server_host);
        for index in 0..self.clients.len() {
            if self.frozen_until[index] > now {
                continue;
            }
            let (local, host) = (self.time_of(index), self.hosts[index]);
            let client = &mut self.clients[index];
            while self.network.receive(now, host, &mut datagram).is_some() {
                client.receive(local, &mut datagram);
            }
            client.advance(local);
            while let Some(datagram) = client.transmit(local) {
                self.bytes[index][1] += (datagram.len() - TAG_BYTES) as u64;
                self.network.send(now, host, server, datagram);
            }
        }
    }

    /// A client's own tank, by its place among them.
    pub(crate) fn tank(&self, client: usize, which: usize) -> Option<EntityId> {
        let client = &self.clients[client];
        let tanks = client.world()?.all_owned(client.me()?);
        tanks.filter(|(_, entity)| matches!(entity, Entity::Tank(_))).nth(which).map(|(id, _)| id)
    }

    pub(crate) fn order(&mut self, client: usize, unit: EntityId, to: [i32; 2]) -> RequestNumber {
        let now = self.time_of(client);
        let order = Order { unit: Some(unit), to, ..Order::default() };
        self.clients[client].request(now, order).expect("a lawful order")
    }

    /// A tank as a client's screen shows it, and when that is in ticks.
    pub(crate) fn screen(&mut self, client: usize, unit: EntityId) -> Option<(Tank, f64)> {
        let now = self.time_of(client);
        let client = &mut self.clients[client];
        let (tick, share) = client.tick_at(now)?;
        let tank = client.shown(now)?.get::<Tank>(unit)?.clone();
        Some((tank, f64::from(tick.0) + f64::from(share)))
    }

    /// The player leaves without a word and comes back as the same, on a fresh connection.
    pub(crate) fn come_back(&mut self, index: usize) {
        let Some(ticket) = self.clients[index].ticket().cloned() else { return };
        self.knock(index, ticket);
    }

    /// Another process of the player comes: with its ticket, or as the same who once came without any.
    pub(crate) fn knock_as_before(&mut self, index: usize) {
        let token = self.clients[index].ticket().cloned().unwrap_or_else(|| {
            let identity = 1 + index as u64;
            let token = ClientToken::open_mode(OPEN_PROTOCOL, identity, b"", &mut self.random);
            token.expect("nothing is attached")
        });
        self.knock(index, token);
    }

    fn knock(&mut self, index: usize, token: ClientToken) {
        let (address, now) = (self.network.address(self.server_host), self.time_of(index));
        self.clients[index] = EventClient::new(address, token, self.field, now, &mut self.random);
    }

    /// Compares each client's official world with the server's; says how many could be.
    pub(crate) fn compare(&self, seed: u64) -> u32 {
        let mut compared = 0;
        for client in &self.clients {
            let (Some(me), Some((tick, hash))) = (client.me(), client.hash()) else { continue };
            assert_eq!(client.malformed(), 0, "seed {seed}: player {me:?} was told nonsense");
            if let Some(truth) = self.server.hash_told(me, tick) {
                assert_eq!(hash, truth, "seed {seed}: player {me:?} at {tick:?}");
                let seen = self.past.iter().find(|world| world.tick() == tick);
                let seen = seen.map(|world| self.sight(world, me));
                assert!(
                    seen.is_none_or(|seen| seen == hash),
                    "seed {seed}: player {me:?} has at {tick:?} what it may not see"
                );
                compared += 1;
            } else {
                let is_fresh = client.world().is_some_and(World::is_empty);
                assert!(
                    is_fresh,
                    "seed {seed}: {me:?} has a world that nobody told it at {tick:?}"
                );
            }
        }
        compared
    }

    /// Whether what a client has is what it might see in some of so many last ticks; the tick of its world may be
    /// older, where nothing changed.
    pub(crate) fn is_present(&self, client: usize, ticks: usize) -> bool {
        let client = &self.clients[client];
        let (Some(me), Some(world)) = (client.me(), client.world()) else { return false };
        let layouts = Layouts::of::<Entity>();
        let has = sight_hash(world, &layouts, Tick(0), |_| true);
        self.past.iter().rev().take(1 + ticks).any(|world| self.sight_at(world, me, Tick(0)) == has)
    }

    /// The hash of what a player may see of a world, by the game's rule and by nothing that the server keeps.
    fn sight(&self, world: &World<Entity>, player: PlayerId) -> u64 {
        self.sight_at(world, player, world.tick())
    }

    fn sight_at(&self, world: &World<Entity>, player: PlayerId, tick: Tick) -> u64 {
        let mut visible = Slots::default();
        Tanks::relevant(world, &self.field, player, &mut visible);
        world.all_owned(player).for_each(|(id, _)| visible.insert(id.slot()));
        let layouts = Layouts::of::<Entity>();
        sight_hash(world, &layouts, tick, |id| visible.contains(id.slot()))
    }

    pub(crate) fn count(&self, player: PlayerId) -> usize {
        self.server.world().all_owned(player).count()
    }
}
