//! A whole world in one thread and in virtual time: a server, its clients, a liar among them and an
//! adversary on the way, over a bad network. A seed decides everything.

mod adversary;
mod client;
mod content;
mod hashing;
mod ledger;
mod liar;
mod options;
mod server;

pub(crate) use hashing::Trace;
pub(crate) use ledger::Counts;
pub(crate) use options::Options;

use crate::gated::gated;
use adversary::Adversary;
use client::Client;
use ledger::Ledger;
use liar::Liar;
use sametick::network::{Conditions, Host, Network};
use sametick::secure::{Random, TokenKey};
use sametick::{Dice, Peer, Span, Time};
use sametick_seeds::Script;
use server::{Sends, Server};

const PROTOCOL: u64 = 0x5a6e_7131;
const UNIX_SECONDS: u64 = 1_800_000_000;
const TOKEN_KEY: TokenKey = TokenKey::from_bytes([0x11; 32]);
const TICKET_KEY: TokenKey = TokenKey::from_bytes([0x22; 32]);
/// Number zero is nobody's.
const UNPROTECTED_FIRST: u64 = 1;

/// Sixty ticks a second.
const TICK: Span = Span::micros(16_667);
const FIRST_CUT_MS: u64 = 3_000;
const FIRST_DELAY_CHANGE_MS: u64 = 4_000;
/// A restart needs a while to be noticed by all before the calm.
const RESTARTS_END: Span = Span::seconds(3);

/// Seeded randomness, for simulations only.
pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) counts: Counts,
}

/// Runs a world from beginning to end; panics where an invariant does not hold.
pub(crate) fn run(options: &Options, script: &Script) -> Outcome {
    let mut world = World::new(options.clone(), script.clone());
    let (end, calm) = (options.end(), options.calm);
    world.run_until(end - Span::millis(calm.ms));
    world.calm_down();
    world.run_until(end - Span::millis(calm.reliables_ms));
    world.sends.reliables = false;
    world.run_until(end - Span::millis(calm.unreliables_ms));
    world.sends.unreliables = false;
    world.run_until(end);
    world.check_end();
    world.farewell();
    world.ledger.counts.forgeries += world.server.forgeries();
    script.lasted(world.ledger.now.as_seconds_f64());
    Outcome { trace: world.ledger.trace, counts: world.ledger.counts }
}

struct World {
    options: Options,
    network: Network,
    ledger: Ledger,
    server: Server,
    clients: Vec<Client>,
    adversary: Option<Adversary>,
    liar: Option<Liar>,
    sends: Sends,
    ticks: u64,
    next_tick: Time,
    faults: Option<Faults>,
    /// Hosts that nobody is at any more; what comes there is not read.
    deserted: Vec<Host>,
}

/// When something is done to the network next.
struct Faults {
    dice: Dice,
    rebind_at: Time,
    cut_at: Time,
    /// What is cut, and when it is healed.
    cut: Option<(Host, Host, Time)>,
    restart_at: Time,
    delay_change_at: Time,
    /// What every link is like until its delay changes.
    line: Conditions,
}

/// When a fault comes first, if it comes at all.
fn first(is_on: bool, after_ms: u64) -> Time {
    if is_on { Time::from_millis(after_ms) } else { Time::MAX }
}

impl World {
    fn new(options: Options, script: Script) -> Self {
        let mut network = Network::new(options.seed);
        let line = gated(&script, options.faulty());
        network.set_default_conditions(line.clone());
        let server = Server::new(&options, network.add_host());
        let address = network.address(server.host);
        let clients = (0..options.clients as u64)
            .map(|identity| Client::new(&options, network.add_host(), address, 1 + identity))
            .collect();
        let adversary = options.adversary.then(|| Adversary::new(options.seed, network.add_host()));
        let number = options.first_number;
        let liar = options.liar.then(|| Liar::new(options.seed, network.add_host(), number));
        let mut dice = Dice::new(options.seed, 3);
        let reliable_chance = [0.02, 0.1, 0.4][dice.below(3) as usize];
        let faults = Faults {
            rebind_at: first(options.rebinds, options.rebind_interval_ms),
            cut_at: first(options.one_way_cuts, FIRST_CUT_MS),
            cut: None,
            restart_at: first(options.server_restarts, options.first_restart_ms),
            delay_change_at: first(options.delay_change_ms_max.is_some(), FIRST_DELAY_CHANGE_MS),
            line,
            dice,
        };
        Self {
            ledger: Ledger::new(&options, script),
            network,
            server,
            clients,
            adversary,
            liar,
            sends: Sends { unreliables: true, reliables: true, reliable_chance, bursts: true },
            ticks: 0,
            next_tick: Time::ZERO,
            faults: Some(faults),
            deserted: Vec::new(),
            options,
        }
    }

    fn server_address(&self) -> Peer {
        self.network.address(self.server.host)
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let next = self.next_event();
            if next >= end {
                return;
            }
            self.ledger.now = self.ledger.now.max(next);
            self.step();
        }
    }

    fn next_event(&self) -> Time {
        let network = self.network.next_wake().unwrap_or(Time::MAX);
        let adversary = self.adversary.as_ref().map_or(Time::MAX, |adversary| adversary.wake);
        let liar = self.liar.as_ref().map_or(Time::MAX, |liar| liar.wake);
        let clients = self.clients.iter().map(|client| client.wake).min().unwrap_or(Time::MAX);
        [network, self.next_tick, self.server.wake, clients, adversary, liar]
            .into_iter()
            .fold(Time::MAX, Time::min)
    }

    /// Everything that is due now, in a fixed order.
    fn step(&mut self) {
        let Self { ledger, network, server, clients, adversary, liar, .. } = self;
        let now = ledger.now;
        let address = network.address(server.host);
        server.receive(ledger, network);
        for client in clients.iter_mut() {
            if network.next_wake_of(client.host).is_some_and(|at| at <= now) {
                client.receive(ledger, network);
            }
        }
        if let Some(adversary) = adversary {
            adversary.receive(ledger, network, address);
            if adversary.wake <= now {
                adversary.act(ledger, network, address);
            }
        }
        if let Some(liar) = liar {
            liar.receive(ledger, network);
            if liar.wake <= now {
                liar.act(ledger, network, address);
            }
        }
        for host in &self.deserted {
            while self.network.receive(now, *host, &mut Vec::new()).is_some() {}
        }
        if self.next_tick <= now {
            self.tick();
        }
        self.pump();
    }

    fn pump(&mut self) {
        let Self { ledger, network, server, clients, adversary, .. } = self;
        let now = ledger.now;
        let address = network.address(server.host);
        let mut overheard = |from: Peer, to: Peer, bytes: &[u8]| {
            if let Some(adversary) = adversary {
                adversary.overhear(from, to, bytes);
            }
        };
        if server.wake <= now {
            server.pump(ledger, network, &mut overheard);
        }
        for client in clients {
            if client.wake <= now {
                client.pump(ledger, network, address, &mut overheard);
            }
        }
    }

    fn tick(&mut self) {
        self.next_tick = self.ledger.now + TICK;
        self.ticks += 1;
        self.inflict();
        let server = self.server_address();
        for client in &mut self.clients {
            client.tick(&self.options, &mut self.ledger, self.sends, server);
        }
        self.server.wake = self.ledger.now;
        self.pump();
        self.server.tick(&self.options, &mut self.ledger, self.sends);
        self.server.wake = self.ledger.now;
        if self.ticks.is_multiple_of(15) {
            self.server.check(&self.ledger);
            self.clients.iter().for_each(|client| client.check(&self.ledger));
        }
        if self.ticks.is_multiple_of(60) && !self.network.statistics_of_all().closes() {
            self.ledger.fail("31", "the network's datagrams do not add up");
        }
    }

    fn inflict(&mut self) {
        let Some(faults) = &mut self.faults else { return };
        let (now, script) = (self.ledger.now, self.ledger.script.clone());
        let place = faults.dice.below(self.clients.len() as u64) as usize;
        let (server, client) = (self.server.host, self.clients[place].host);
        if now >= faults.rebind_at {
            for (index, client) in self.clients.iter().enumerate() {
                if script.allows("rebind", now, || format!("client {index} has a new address")) {
                    self.network.rebind(now, client.host);
                }
            }
            faults.rebind_at = now + Span::millis(self.options.rebind_interval_ms);
        }
        if let Some((from, to, _)) = faults.cut.take_if(|(_, _, until)| now >= *until) {
            self.network.heal(from, to);
            faults.cut_at = now + Span::millis(500 + faults.dice.below(6_000));
        }
        if now >= faults.cut_at && faults.cut.is_none() {
            let is_up = faults.dice.chance(0.5);
            let (from, to) = if is_up { (client, server) } else { (server, client) };
            let until = now + Span::millis(200 + faults.dice.below(self.options.cut_ms));
            let way = if is_up { "to" } else { "from" };
            let what = || format!("{way} the server, client {place}, until {until}");
            if script.allows("cut", now, what) {
                self.network.cut(from, to);
            }
            faults.cut = Some((from, to, until));
        }
        if now >= faults.delay_change_at {
            let delay_ms = faults.dice.below(self.options.delay_change_ms_max.unwrap_or(0) + 1);
            let changed = Conditions { delay: Span::millis(delay_ms), ..faults.line.clone() };
            let what = || format!("{delay_ms} ms each way, client {place}");
            if script.allows("delay", now, what) {
                self.network.set_conditions(server, client, changed.clone());
                self.network.set_conditions(client, server, changed);
            }
            faults.delay_change_at = now + Span::millis(500 + faults.dice.below(5_000));
        }
        let last = self.options.end() - Span::millis(self.options.calm.ms) - RESTARTS_END;
        if now >= faults.restart_at && now < last {
            if script.allows("restart", now, || "of the server".to_owned()) {
                self.server.restart(&self.options, &mut self.ledger);
            }
            let least = self.options.restart_interval_ms;
            faults.restart_at = now + Span::millis(least + faults.dice.below(3 * least));
        }
    }

    /// Ends all faults; whoever has no key goes on.
    fn calm_down(&mut self) {
        if let Some(Faults { cut: Some((from, to, _)), .. }) = self.faults.take() {
            self.network.heal(from, to);
        }
        self.sends.bursts = false;
        let clean = self.options.clean();
        let hosts: Vec<Host> = self.network.hosts().collect();
        for from in &hosts {
            for to in &hosts {
                self.network.set_conditions(*from, *to, clean.clone());
            }
        }
        self.deserted.extend(self.liar.take().map(|liar| liar.host));
        let server = self.server_address();
        for client in &mut self.clients {
            client.calm_down(&self.options, &mut self.ledger, server);
        }
    }

    fn check_end(&self) {
        for client in &self.clients {
            match client.session.filter(|_| client.dialer.is_connected()) {
                Some(session) => {
                    self.ledger.check_complete(session);
                    client.check_acknowledged(&self.ledger);
                }
                None => self.ledger.fail("32", "a client is not here at the end"),
            }
        }
        self.server.check_acknowledged(&self.ledger);
    }

    /// All leave, and nothing of them stays.
    fn farewell(&mut self) {
        self.deserted.extend(self.adversary.take().map(|adversary| adversary.host));
        self.server.kick_all(&mut self.ledger);
        self.deserted.extend(self.clients.drain(..).map(|client| client.host));
        self.run_until(self.options.end() + Span::millis(self.options.calm.farewell_ms));
        let held = self.server.listener.memory_bytes();
        if held > 0 || !self.server.live.is_empty() {
            self.ledger.fail("28", format!("{held} bytes are held for nobody"));
        }
    }
}
