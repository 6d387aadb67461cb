//! A server and some clients on a simulated network, a millisecond at a time.

use sametick::channel::{CloseReason, Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::secure::{ClientToken, ConnectionId, GateConfig, Past, Random, TokenKey};
use sametick::{Dice, Peer, Span, Time};

pub(crate) const PROTOCOL: u64 = 7;
pub(crate) const SLOTS: usize = 32;
const UNIX_SECONDS: u64 = 1_800_000_000;

/// Seeded randomness, for simulations only.
pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

pub(crate) struct Town {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) server_host: Host,
    pub(crate) server: Listener,
    pub(crate) clients: Vec<Citizen>,
    pub(crate) random: Seeded,
    /// Who is here, by what the server told.
    pub(crate) here: Vec<(ConnectionId, u64)>,
    pub(crate) left: Vec<(u64, CloseReason)>,
    pub(crate) reliables: u64,
    pub(crate) unreliables: u64,
    epoch: u32,
    /// Hands datagrams that reach the server to whoever wants to see them first.
    pub(crate) seen: Vec<(Peer, Vec<u8>)>,
    pub(crate) is_watched: bool,
}

pub(crate) struct Citizen {
    pub(crate) host: Host,
    pub(crate) id: u64,
    pub(crate) dialer: Option<Dialer>,
    pub(crate) ticket: Option<ClientToken>,
    pub(crate) reliables: u64,
    pub(crate) unreliables: u64,
    pub(crate) left: Vec<CloseReason>,
    /// Whether it sends a little message each tick, and so does the server to it.
    pub(crate) is_chatty: bool,
}

impl Town {
    pub(crate) fn new(seed: u64, clients: u64) -> Self {
        let mut network = Network::new(seed);
        network
            .set_default_conditions(Conditions { delay: Span::millis(20), ..Conditions::PERFECT });
        let server_host = network.add_host();
        let mut random = Seeded(Dice::new(seed, 1));
        let server = listener(Time::ZERO, 0, &mut random);
        let mut town = Self {
            now: Time::ZERO,
            network,
            server_host,
            server,
            clients: Vec::new(),
            random,
            here: Vec::new(),
            left: Vec::new(),
            reliables: 0,
            unreliables: 0,
            epoch: 0,
            seen: Vec::new(),
            is_watched: false,
        };
        for id in 1..=clients {
            let host = town.network.add_host();
            let (dialer, ticket) = (None, None);
            let (reliables, unreliables, left) = (0, 0, Vec::new());
            let is_chatty = true;
            town.clients.push(Citizen {
                host,
                id,
                dialer,
                ticket,
                reliables,
                unreliables,
                left,
                is_chatty,
            });
            town.dial(id as usize - 1);
        }
        town
    }

    pub(crate) fn lossy(&mut self) {
        let conditions = Conditions {
            delay: Span::millis(20),
            loss: Loss::Random { probability: 0.2 },
            ..Conditions::PERFECT
        };
        self.set_conditions(&conditions);
    }

    pub(crate) fn set_conditions(&mut self, conditions: &Conditions) {
        for client in &self.clients {
            self.network.set_conditions(client.host, self.server_host, conditions.clone());
            self.network.set_conditions(self.server_host, client.host, conditions.clone());
        }
    }

    pub(crate) fn token(&mut self, id: u64) -> ClientToken {
        ClientToken::open_mode(PROTOCOL, id, b"", &mut self.random).expect("a short name")
    }

    /// Dials with a token of its own making.
    pub(crate) fn dial(&mut self, client: usize) {
        let token = self.token(self.clients[client].id);
        self.dial_with(client, token);
    }

    pub(crate) fn dial_with(&mut self, client: usize, token: ClientToken) {
        let to = self.network.address(self.server_host);
        let dialer = Dialer::new(to, token, Settings::default(), self.now, &mut self.random);
        self.clients[client].dialer = Some(dialer);
    }

    pub(crate) fn restart_server(&mut self) {
        self.epoch += 1;
        self.server = listener(self.now, self.epoch, &mut self.random);
        self.here.clear();
    }

    pub(crate) fn connection_of(&self, id: u64) -> Option<ConnectionId> {
        self.here.iter().find(|(_, client)| *client == id).map(|(connection, _)| *connection)
    }

    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    /// One millisecond.
    pub(crate) fn step(&mut self) {
        self.receive();
        let is_tick = (self.now.as_micros() / 1000).is_multiple_of(16);
        for client in &mut self.clients {
            let connection = self.here.iter().find(|(_, id)| *id == client.id);
            if let Some(dialer) = &mut client.dialer
                && is_tick
                && client.is_chatty
            {
                dialer.send_unreliable(0, &[3; 60]);
            }
            if let Some((connection, _)) = connection.filter(|_| is_tick && client.is_chatty) {
                self.server.send_unreliable(*connection, 0, &[4; 60]);
            }
        }
        self.transmit();
        self.now += Span::millis(1);
    }

    fn receive(&mut self) {
        let now = self.now;
        let mut datagram = Vec::new();
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            if self.is_watched {
                self.seen.push((from, datagram.clone()));
            }
            self.hand_to_server(from, &mut datagram);
        }
        for client in &mut self.clients {
            while self.network.receive(now, client.host, &mut datagram).is_some() {
                let Citizen { dialer: Some(dialer), reliables, unreliables, left, ticket, .. } =
                    client
                else {
                    continue;
                };
                dialer.receive(now, &mut datagram, &mut |event| {
                    hear(event, ticket, reliables, unreliables, left);
                });
            }
        }
    }

    /// A datagram reaches the server, whoever sent it.
    pub(crate) fn hand_to_server(&mut self, from: Peer, datagram: &mut [u8]) {
        let Self { here, left, reliables, unreliables, server, random, .. } = self;
        let answer = server.receive(self.now, from, datagram, random, &mut |event| {
            note(event, here, left, reliables, unreliables);
        });
        if let Some(answer) = answer {
            self.network.send(self.now, self.server_host, from, &answer);
        }
    }

    fn transmit(&mut self) {
        let now = self.now;
        let Self { here, left, reliables, unreliables, server, .. } = self;
        server.advance(now, &mut |event| note(event, here, left, reliables, unreliables));
        while let Some((to, bytes)) = server.transmit(now) {
            self.network.send(now, self.server_host, to, bytes);
        }
        let to = self.network.address(self.server_host);
        for client in &mut self.clients {
            let Citizen { dialer: Some(dialer), reliables, unreliables, left, ticket, .. } = client
            else {
                continue;
            };
            dialer.advance(now, &mut |event| hear(event, ticket, reliables, unreliables, left));
            while let Some(bytes) = dialer.transmit(now) {
                self.network.send(now, client.host, to, bytes);
            }
        }
    }
}

fn hear(
    event: DialerEvent<'_>,
    ticket: &mut Option<ClientToken>,
    reliables: &mut u64,
    unreliables: &mut u64,
    left: &mut Vec<CloseReason>,
) {
    match event {
        DialerEvent::Connected { resume, .. } => *ticket = Some(resume.clone()),
        DialerEvent::Message(Event::Reliable(_)) => *reliables += 1,
        DialerEvent::Message(Event::Unreliable(_)) => *unreliables += 1,
        DialerEvent::Message(_) | DialerEvent::Denied(_) => {}
        DialerEvent::Left(reason) => left.push(reason),
    }
}

fn note(
    event: ListenerEvent<'_>,
    here: &mut Vec<(ConnectionId, u64)>,
    left: &mut Vec<(u64, CloseReason)>,
    reliables: &mut u64,
    unreliables: &mut u64,
) {
    match event {
        ListenerEvent::Connected { connection, client_id, .. } => {
            here.push((connection, client_id));
        }
        ListenerEvent::Left { connection, client_id, reason } => {
            here.retain(|(other, _)| *other != connection);
            left.push((client_id, reason));
        }
        ListenerEvent::Message { event: Event::Reliable(_), .. } => *reliables += 1,
        ListenerEvent::Message { event: Event::Unreliable(_), .. } => *unreliables += 1,
        ListenerEvent::Message { .. } => {}
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
        connections_max: SLOTS,
        unix_seconds_at_zero: UNIX_SECONDS,
    };
    Listener::new(config, now, random)
}
