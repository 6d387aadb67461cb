//! Somebody between a server and its client who holds a connection to each, so that what is sealed can be read and
//! changed on the way. Knows no game and no model.

use crate::script::Seeded;
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Answer, Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::eventlock::{EventClient, EventServer, Requests};
use sametick::secure::{ClientToken, ConnectionId, GateConfig, Past, TokenKey};
use sametick::{Client, Game, OPEN_PROTOCOL, Peer, Server, Span, Time};

pub(crate) const SERVER: Peer = Peer::new([1; 16], 1);
const CLIENT: Peer = Peer::new([2; 16], 2);

/// A server of any model.
pub(crate) trait Serves {
    fn receive(&mut self, now: Time, datagram: &mut [u8], random: &mut Seeded) -> Option<Answer>;
    fn advance(&mut self, now: Time);
    fn transmit(&mut self, now: Time) -> Option<Vec<u8>>;
}

impl<G: Game> Serves for Server<G> {
    fn receive(&mut self, now: Time, datagram: &mut [u8], random: &mut Seeded) -> Option<Answer> {
        Server::receive(self, now, CLIENT, datagram, random)
    }

    fn advance(&mut self, now: Time) {
        Server::advance(self, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        Server::transmit(self, now).map(|(_, datagram)| datagram.to_vec())
    }
}

impl<G: Requests> Serves for EventServer<G> {
    fn receive(&mut self, now: Time, datagram: &mut [u8], random: &mut Seeded) -> Option<Answer> {
        EventServer::receive(self, now, CLIENT, datagram, random)
    }

    fn advance(&mut self, now: Time) {
        EventServer::advance(self, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        EventServer::transmit(self, now).map(|(_, datagram)| datagram.to_vec())
    }
}

/// Its client.
pub(crate) trait Plays {
    fn receive(&mut self, now: Time, datagram: &mut [u8]);
    fn advance(&mut self, now: Time);
    fn transmit(&mut self, now: Time) -> Option<Vec<u8>>;
}

impl<G: Game> Plays for Client<G> {
    fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        Client::receive(self, now, datagram);
    }

    fn advance(&mut self, now: Time) {
        Client::advance(self, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        Client::transmit(self, now).map(<[u8]>::to_vec)
    }
}

impl<G: Requests> Plays for EventClient<G> {
    fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        EventClient::receive(self, now, datagram);
    }

    fn advance(&mut self, now: Time) {
        EventClient::advance(self, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        EventClient::transmit(self, now).map(<[u8]>::to_vec)
    }
}

/// A message that was read, and whether it was a reliable one.
pub(crate) type Message = (bool, Vec<u8>);

pub(crate) struct Tap<S, C> {
    pub now: Time,
    pub server: S,
    pub client: C,
    /// Our own ends: the one that the server hears, and the one that the client does.
    dialer: Dialer,
    listener: Listener,
    connection: Option<ConnectionId>,
    random: Seeded,
}

impl<S: Serves, C: Plays> Tap<S, C> {
    pub fn new(server: S, client: C, mut random: Seeded) -> Self {
        let now = Time::ZERO;
        let past = Past::Unknown { started_unix_seconds: 0 };
        let key = TokenKey::from_bytes([9; 32]);
        let config = ListenerConfig {
            gate: GateConfig::new(OPEN_PROTOCOL, TokenKey::PUBLISHED, key, past),
            channel: Settings::default(),
            connections_max: 1,
            unix_seconds_at_zero: 0,
        };
        let token = ClientToken::open_mode(OPEN_PROTOCOL, 5, b"", &mut random).expect("it is short");
        Self {
            now,
            server,
            client,
            dialer: Dialer::new(SERVER, token, Settings::default(), now, &mut random),
            listener: Listener::new(config, now, &mut random),
            connection: None,
            random,
        }
    }

    /// Lets time pass: what the server has said since, and what the client has.
    pub fn listen(&mut self, span: Span) -> [Vec<Message>; 2] {
        self.now += span;
        let (mut down, mut up) = (Vec::new(), Vec::new());
        self.talk_to_server(&mut down);
        self.talk_to_client(&mut up);
        [down, up]
    }

    /// Says something to the client.
    pub fn say_down(&mut self, is_reliable: bool, message: &[u8]) {
        let Some(to) = self.connection else { return };
        if is_reliable {
            let _ = self.listener.send_reliable(to, message);
        } else {
            self.listener.send_unreliable(to, 0, message);
        }
    }

    /// Says something to the server.
    pub fn say_up(&mut self, is_reliable: bool, message: &[u8]) {
        if is_reliable {
            let _ = self.dialer.send_reliable(message);
        } else {
            self.dialer.send_unreliable(0, message);
        }
    }

    fn talk_to_server(&mut self, down: &mut Vec<Message>) {
        let now = self.now;
        let hear = &mut |event: DialerEvent<'_>| match event {
            DialerEvent::Message(Event::Reliable(message)) => down.push((true, message.to_vec())),
            DialerEvent::Message(Event::Unreliable(m)) => down.push((false, m.to_vec())),
            _ => {}
        };
        self.dialer.advance(now, hear);
        while let Some(mut datagram) = self.dialer.transmit(now).map(<[u8]>::to_vec) {
            if let Some(answer) = self.server.receive(now, &mut datagram, &mut self.random) {
                self.dialer.receive(now, &mut answer.to_vec(), hear);
            }
        }
        self.server.advance(now);
        while let Some(mut datagram) = self.server.transmit(now) {
            self.dialer.receive(now, &mut datagram, hear);
        }
    }

    fn talk_to_client(&mut self, up: &mut Vec<Message>) {
        let (now, connected) = (self.now, &mut self.connection);
        let hear = &mut |event: ListenerEvent<'_>| match event {
            ListenerEvent::Connected { connection, .. } => *connected = Some(connection),
            ListenerEvent::Message { event: Event::Reliable(m), .. } => up.push((true, m.to_vec())),
            ListenerEvent::Message { event: Event::Unreliable(m), .. } => {
                up.push((false, m.to_vec()));
            }
            _ => {}
        };
        self.client.advance(now);
        while let Some(mut datagram) = self.client.transmit(now) {
            let random = &mut self.random;
            let answer = self.listener.receive(now, CLIENT, &mut datagram, random, hear);
            if let Some(answer) = answer {
                self.client.receive(now, &mut answer.to_vec());
            }
        }
        self.listener.advance(now, hear);
        while let Some((_, datagram)) = self.listener.transmit(now) {
            self.client.receive(now, &mut datagram.to_vec());
        }
    }
}
