//! Worlds of any size up to the limits: a client that joins, and one whose world suddenly grows, come to have all of
//! it, and what is sent for that is hardly more than the world is long.
#![cfg(feature = "secure")]

mod depot;
mod loads;
mod seeds;

use crate::gated::gated;
use depot::{Depot, Goods, Stock};
use sametick::channel::{RateLimits, Settings, Statistics};
use sametick::endpoint::ListenerConfig;
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::Random;
use sametick::{Client, Dice, PlayerId, Rates, Server, Span, Time, View};
use sametick_seeds::Script;

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// A run: what is in the world, when it comes, and over which link.
#[derive(Clone, Debug)]
struct Options {
    seed: u64,
    stock: Stock,
    ping: Span,
    loss: f64,
    jitter: Span,
    reorder: f64,
    rate: RateLimits,
    rates: Rates,
    is_compact: bool,
    /// How long it may take at most.
    within: Span,
}

impl Options {
    fn new(count: usize, goods: Goods, ping_millis: u64) -> Self {
        Self {
            seed: 1,
            stock: Stock { count, goods, from_tick: 1, per_tick: 4096, stirred_one_in: 0 },
            ping: Span::millis(ping_millis),
            loss: 0.0,
            jitter: Span::ZERO,
            reorder: 0.0,
            rate: RateLimits::default(),
            rates: Rates::default(),
            is_compact: false,
            within: Span::seconds(12),
        }
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    /// When the client first had all.
    after: Span,
    /// Bytes that the server had sent to it by then, from when the first of it was there, with all that the layers
    /// below add, and in how many packets.
    bytes: u64,
    packets: u64,
    /// What one snapshot of the world takes, in plain encoding.
    world_bytes: u64,
    /// The most entities that the client had and then did not have any more, though nothing left the world.
    vanished: usize,
}

struct Party {
    now: Time,
    network: Network,
    hosts: [Host; 2],
    server: Server<Depot>,
    client: Client<Depot>,
    random: Seeded,
}

impl Party {
    fn new(options: &Options) -> Self {
        Self::with(options, &Script::all())
    }

    fn with(options: &Options, script: &Script) -> Self {
        let mut network = Network::new(options.seed);
        let conditions = Conditions {
            delay: options.ping / 2,
            loss: Loss::Random { probability: options.loss },
            jitter: Jitter::Uniform { width: options.jitter },
            reorder: options.reorder,
            reorder_by: Span::millis(50),
            ..Conditions::PERFECT
        };
        network.set_default_conditions(gated(script, conditions));
        let hosts = [network.add_host(), network.add_host()];
        let mut random = Seeded(Dice::new(options.seed, 9));
        let config = ListenerConfig {
            channel: Settings { rate: options.rate, ..Settings::default() },
            ..ListenerConfig::open(&mut random)
        };
        let (stock, rates) = (options.stock, options.rates);
        let mut server = Server::new(config, stock, 1, rates, Time::ZERO, &mut random);
        if options.is_compact {
            server.use_tables(depot::tables()).expect("they are of this game");
        }
        let address = network.address(hosts[0]);
        let client = Client::open(address, stock, View::default(), Time::ZERO, &mut random);
        let client = if options.is_compact { client } else { client.plain_only() };
        Self { now: Time::ZERO, network, hosts, server, client, random }
    }

    fn step(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        let [here, there] = self.hosts;
        while let Some(from) = self.network.receive(now, here, &mut datagram) {
            if let Some(answer) = self.server.receive(now, from, &mut datagram, &mut self.random) {
                self.network.send(now, here, from, &answer);
            }
        }
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, here, to, datagram);
        }
        let address = self.network.address(here);
        while self.network.receive(now, there, &mut datagram).is_some() {
            self.client.receive(now, &mut datagram);
        }
        self.client.advance(now);
        while let Some(datagram) = self.client.transmit(now) {
            self.network.send(now, there, address, datagram);
        }
        self.now += Span::millis(1);
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    /// Runs until the client has all; none if that takes longer than it may.
    fn arrive(&mut self, options: &Options) -> Option<Arrived> {
        let mut arrived = Arrived::default();
        let (mut had, mut tick) = (0, None);
        let mut before = Statistics::default();
        while self.now < Time::ZERO + options.within {
            if self.server.world().tick().0 < options.stock.from_tick {
                before = self.server.statistics(PlayerId(0)).unwrap_or_default();
            }
            self.step();
            let Some(here) = self.client.snapshot() else { continue };
            if tick.replace(here.tick()) == Some(here.tick()) {
                continue;
            }
            let has = here.entities().count();
            arrived.vanished = arrived.vanished.max(had - has.min(had));
            had = has;
            let there = self.server.world();
            let is_complete = there.tick().0 >= options.stock.complete_at();
            if is_complete && depot::has_all(here, there) {
                let statistics = self.server.statistics(PlayerId(0)).expect("it is here");
                arrived.bytes = statistics.bytes_sent - before.bytes_sent;
                arrived.packets = statistics.packets_sent - before.packets_sent;
                arrived.world_bytes = depot::bytes_of(there, &options.stock, PlayerId(0));
                arrived.after = self.now - Time::ZERO;
                return Some(arrived);
            }
        }
        println!("{had} of {} after {}", self.server.world().entities().count(), options.within);
        None
    }
}
