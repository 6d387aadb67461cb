//! One server and one client on a simulated network, in virtual time.

use sametick::channel::{CloseReason, Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::network::{Conditions, Host, Network};
use sametick::secure::{ClientToken, ConnectionId, Denial, GateConfig, Past, Random, TokenKey};
use sametick::{Dice, Span, Time};

pub(crate) const CONNECTIONS: usize = 4;
const PROTOCOL: u64 = 7;
const UNIX_SECONDS: u64 = 1_800_000_000;

/// What an end was told, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Connected,
    Denied(Denial),
    Reliable(Vec<u8>),
    Unreliable(Vec<u8>),
    Delivered(u32),
    Lost(u32),
    Left(CloseReason),
}

impl From<Event<'_>> for Told {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Reliable(bytes) => Self::Reliable(bytes.to_vec()),
            Event::Unreliable(bytes) => Self::Unreliable(bytes.to_vec()),
            Event::Delivered(token) => Self::Delivered(token),
            Event::Lost(token) => Self::Lost(token),
        }
    }
}

/// Seeded randomness, for simulations only.
pub(crate) struct Seeded {
    dice: Dice,
    /// Whether all connection ids are drawn with one salt: nothing else draws two bytes.
    repeats_salts: bool,
}

pub(crate) fn seeded(seed: u64) -> Seeded {
    Seeded { dice: Dice::new(seed, 1), repeats_salts: false }
}

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.dice.fill(bytes);
        if self.repeats_salts && bytes.len() == 2 {
            bytes.fill(7);
        }
    }
}

pub(crate) struct Pair {
    pub(crate) now: Time,
    network: Network,
    hosts: [Host; 2],
    random: Seeded,
    server: Listener,
    pub(crate) client: Dialer,
    connection: Option<ConnectionId>,
    ticket: Option<ClientToken>,
    pub(crate) server_told: Vec<Told>,
    pub(crate) client_told: Vec<Told>,
}

impl Pair {
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let mut network = Network::new(seed);
        network
            .set_default_conditions(Conditions { delay: Span::millis(10), ..Conditions::PERFECT });
        let hosts = [network.add_host(), network.add_host()];
        let mut random = seeded(seed);
        let server = listener(Time::ZERO, 0, &mut random);
        let token = ClientToken::open_mode(PROTOCOL, 1, b"", &mut random).expect("a short name");
        let to = network.address(hosts[0]);
        let client = Dialer::new(to, token, Settings::default(), Time::ZERO, &mut random);
        Self {
            now: Time::ZERO,
            network,
            hosts,
            random,
            server,
            client,
            connection: None,
            ticket: None,
            server_told: Vec::new(),
            client_told: Vec::new(),
        }
    }

    /// From now on every connection id is drawn with the same salt.
    pub(crate) fn repeat_salts(&mut self) {
        self.random.repeats_salts = true;
    }

    /// The connection of which the server told last.
    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }

    pub(crate) fn set_conditions(&mut self, conditions: Conditions) {
        let [server, client] = self.hosts;
        self.network.set_conditions(server, client, conditions.clone());
        self.network.set_conditions(client, server, conditions);
    }

    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    pub(crate) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            self.step();
            assert!(self.now < Time::from_seconds(60), "it never came");
        }
    }

    /// One millisecond.
    fn step(&mut self) {
        let [server_host, client_host] = self.hosts;
        let now = self.now;
        let mut datagram = Vec::new();
        while let Some(from) = self.network.receive(now, server_host, &mut datagram) {
            let told = &mut self.server_told;
            let connection = &mut self.connection;
            let mut tell = |event: ListenerEvent<'_>| hear(event, told, connection);
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random, &mut tell);
            if let Some(answer) = answer {
                self.network.send(now, server_host, from, &answer);
            }
        }
        let (told, ticket) = (&mut self.client_told, &mut self.ticket);
        let mut tell = |event: DialerEvent<'_>| match event {
            DialerEvent::Connected { resume, .. } => {
                *ticket = Some(resume.clone());
                told.push(Told::Connected);
            }
            DialerEvent::Denied(denial) => told.push(Told::Denied(denial)),
            DialerEvent::Message(event) => told.push(event.into()),
            DialerEvent::Left(reason) => told.push(Told::Left(reason)),
        };
        while self.network.receive(now, client_host, &mut datagram).is_some() {
            self.client.receive(now, &mut datagram, &mut tell);
        }
        self.client.advance(now, &mut tell);
        let (told, connection) = (&mut self.server_told, &mut self.connection);
        self.server.advance(now, &mut |event| hear(event, told, connection));
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, server_host, to, datagram);
        }
        let to = self.network.address(server_host);
        while let Some(datagram) = self.client.transmit(now) {
            self.network.send(now, client_host, to, datagram);
        }
        self.now += Span::millis(1);
    }

    pub(crate) fn server_send_reliable(&mut self, message: &[u8]) {
        let to = self.connection.expect("a client is here");
        self.server.send_reliable(to, message).expect("there is room");
    }

    pub(crate) fn server_send_unreliable(&mut self, token: u32, message: &[u8]) {
        let to = self.connection.expect("a client is here");
        self.server.send_unreliable(to, token, message);
    }

    pub(crate) fn close_client(&mut self, reason: CloseReason) {
        self.client.close(self.now, reason);
    }

    pub(crate) fn close_server(&mut self, reason: CloseReason) {
        self.server.close(self.now, self.connection.expect("a client is here"), reason);
    }

    pub(crate) fn rebind_client(&mut self) {
        self.network.rebind(self.now, self.hosts[1]);
    }

    pub(crate) fn cut_to_client(&mut self) {
        self.network.cut(self.hosts[0], self.hosts[1]);
    }

    pub(crate) fn heal_to_client(&mut self) {
        self.network.heal(self.hosts[0], self.hosts[1]);
    }

    pub(crate) fn cut_both(&mut self) {
        self.network.cut_both(self.hosts[0], self.hosts[1]);
    }

    pub(crate) fn restart_server(&mut self) {
        self.server = listener(self.now, 1, &mut self.random);
    }

    pub(crate) fn redial_with_ticket(&mut self) {
        let ticket = self.ticket.clone().expect("there was a session");
        self.dial(ticket);
    }

    pub(crate) fn ticket(&self) -> ClientToken {
        self.ticket.clone().expect("there was a session")
    }

    pub(crate) fn redial_with(&mut self, ticket: ClientToken) {
        self.dial(ticket);
    }

    /// Dials again as the same player and gives the older client, with a host of its own to live on.
    pub(crate) fn redial_beside(&mut self, client_id: u64) -> (Host, Dialer) {
        let host = self.hosts[1];
        self.hosts[1] = self.network.add_host();
        let token = ClientToken::open_mode(PROTOCOL, client_id, b"", &mut self.random);
        let to = self.network.address(self.hosts[0]);
        let token = token.expect("a short name");
        let new = Dialer::new(to, token, Settings::default(), self.now, &mut self.random);
        (host, std::mem::replace(&mut self.client, new))
    }

    /// The older client goes on, and the newer one is not heard of again.
    pub(crate) fn return_to(&mut self, (host, old): (Host, Dialer)) {
        self.hosts[1] = host;
        self.client = old;
    }

    /// Runs with the older client too, and shows what that was told in the end.
    pub(crate) fn run_both(
        &mut self,
        span: Span,
        (host, mut old): (Host, Dialer),
        check: impl Fn(&[Told]),
    ) {
        let end = self.now + span;
        let (mut told, mut datagram) = (Vec::new(), Vec::new());
        while self.now < end {
            let now = self.now;
            let mut tell = |event: DialerEvent<'_>| {
                if let DialerEvent::Left(reason) = event {
                    told.push(Told::Left(reason));
                }
            };
            while self.network.receive(now, host, &mut datagram).is_some() {
                old.receive(now, &mut datagram, &mut tell);
            }
            old.advance(now, &mut tell);
            let to = self.network.address(self.hosts[0]);
            while let Some(datagram) = old.transmit(now) {
                self.network.send(now, host, to, datagram);
            }
            self.step();
        }
        check(&told);
    }

    pub(crate) fn redial_as(&mut self, client_id: u64) {
        let token = ClientToken::open_mode(PROTOCOL, client_id, b"", &mut self.random);
        self.dial(token.expect("a short name"));
    }

    pub(crate) fn server_backlog_bytes(&self) -> usize {
        self.server.backlog_bytes(self.connection.expect("a client is here"))
    }

    pub(crate) fn server_next_wake(&self) -> Time {
        self.server.next_wake()
    }

    /// How many were accepted and have not spoken.
    pub(crate) fn half_open(&self) -> u64 {
        self.server.gate_counters().accepted() - self.connections() as u64
    }

    pub(crate) fn connections(&self) -> usize {
        self.server.connections().count()
    }

    fn dial(&mut self, token: ClientToken) {
        let to = self.network.address(self.hosts[0]);
        self.client = Dialer::new(to, token, Settings::default(), self.now, &mut self.random);
    }
}

fn hear(event: ListenerEvent<'_>, told: &mut Vec<Told>, known: &mut Option<ConnectionId>) {
    match event {
        ListenerEvent::Connected { connection, .. } => {
            *known = Some(connection);
            told.push(Told::Connected);
        }
        ListenerEvent::Message { event, .. } => told.push(event.into()),
        ListenerEvent::Left { reason, .. } => told.push(Told::Left(reason)),
    }
}

/// A server in open mode whose tickets survive a restart.
fn listener(now: Time, epoch: u32, random: &mut Seeded) -> Listener {
    let ticket_key = TokenKey::from_bytes([9; 32]);
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let mut gate = GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, ticket_key, past);
    gate.epoch = epoch;
    let config = ListenerConfig {
        gate,
        channel: Settings::default(),
        connections_max: CONNECTIONS,
        unix_seconds_at_zero: UNIX_SECONDS,
    };
    Listener::new(config, now, random)
}
