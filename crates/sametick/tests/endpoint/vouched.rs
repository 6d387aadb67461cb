//! Sessions that TLS protects already: the same tokens and limits, packets that are not sealed twice.

use super::pair::{Seeded, seeded};
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::secure::{
    ClientToken, ConnectionId, Denial, DropReason, GateConfig, Grant, Past, TlsSession,
    TokenIssuer, TokenKey,
};
use sametick::{Peer, Span, Time};

const PROTOCOL: u64 = 7;
const UNIX_SECONDS: u64 = 1_800_000_000;
const WORDS: &[u8] = b"words that a sealed packet hides";

fn session() -> TlsSession {
    TlsSession::vouched_for_by("test")
}

/// A client, where it is, and whether it is in a TLS session.
struct End {
    peer: Peer,
    session: Option<TlsSession>,
    dialer: Dialer,
    connection: Option<ConnectionId>,
    denied: Option<Denial>,
    heard: Vec<Vec<u8>>,
    /// All that it sent.
    sent: Vec<Vec<u8>>,
}

struct Room {
    now: Time,
    random: Seeded,
    key: TokenKey,
    listener: Listener,
    heard: Vec<(ConnectionId, Vec<u8>)>,
}

impl Room {
    fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let mut random = seeded(seed);
        let key = TokenKey::generate(&mut random);
        let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
        let gate = GateConfig::new(PROTOCOL, key.clone(), TokenKey::generate(&mut random), past);
        let config = ListenerConfig {
            gate,
            channel: Settings::default(),
            connections_max: 4,
            unix_seconds_at_zero: UNIX_SECONDS,
        };
        let listener = Listener::new(config, Time::ZERO, &mut random);
        Self { now: Time::ZERO, random, key, listener, heard: Vec::new() }
    }

    fn token(&mut self, client_id: u64) -> ClientToken {
        let grant = Grant { client_id, ..Grant::default() };
        let issuer = TokenIssuer::new(self.key.clone(), PROTOCOL);
        issuer.issue(&grant, UNIX_SECONDS + 1, &mut self.random).expect("an ordinary grant")
    }

    fn dial(&mut self, host: u8, token: ClientToken, session: Option<TlsSession>) -> End {
        let server = Peer::from_ipv4([192, 0, 2, 1], 4000);
        let dialer = Dialer::new(server, token, Settings::default(), self.now, &mut self.random);
        let dialer = match session {
            Some(session) => dialer.within(session),
            None => dialer,
        };
        End {
            peer: Peer::from_ipv4([192, 0, 2, 100], host.into()),
            session,
            dialer,
            connection: None,
            denied: None,
            heard: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// What the listener makes of a datagram.
    fn deliver(
        &mut self,
        peer: Peer,
        session: Option<TlsSession>,
        datagram: &[u8],
    ) -> Option<Vec<u8>> {
        let (mut datagram, heard) = (datagram.to_vec(), &mut self.heard);
        let mut tell = |event: ListenerEvent<'_>| {
            if let ListenerEvent::Message { connection, event: Event::Reliable(bytes) } = event {
                heard.push((connection, bytes.to_vec()));
            }
        };
        let (now, random) = (self.now, &mut self.random);
        let answer = match session {
            Some(session) => {
                self.listener.receive_within(now, (peer, session), &mut datagram, random, &mut tell)
            }
            None => self.listener.receive(now, peer, &mut datagram, random, &mut tell),
        };
        answer.map(|answer| answer.to_vec())
    }

    fn run(&mut self, ends: &mut [&mut End], span: Span) {
        let until = self.now + span;
        while self.now < until {
            for end in ends.iter_mut() {
                end.dialer.advance(self.now, &mut |_| {});
                while let Some(datagram) = end.dialer.transmit(self.now).map(<[u8]>::to_vec) {
                    end.sent.push(datagram.clone());
                    if let Some(answer) = self.deliver(end.peer, end.session, &datagram) {
                        end.take(self.now, &answer);
                    }
                }
            }
            self.listener.advance(self.now, &mut |_| {});
            while let Some((to, datagram)) = self.listener.transmit(self.now) {
                if let Some(end) = ends.iter_mut().find(|end| end.peer == to) {
                    end.take(self.now, datagram);
                }
            }
            self.now += Span::millis(10);
        }
    }
}

impl End {
    fn take(&mut self, now: Time, datagram: &[u8]) {
        let (connection, denied, heard) = (&mut self.connection, &mut self.denied, &mut self.heard);
        self.dialer.receive(now, &mut datagram.to_vec(), &mut |event| match event {
            DialerEvent::Connected { connection: id, .. } => *connection = Some(id),
            DialerEvent::Denied(denial) => *denied = Some(denial),
            DialerEvent::Message(Event::Reliable(bytes)) => heard.push(bytes.to_vec()),
            DialerEvent::Message(_) | DialerEvent::Left(_) => {}
        });
    }

    fn spoke_openly(&self) -> bool {
        self.sent.iter().any(|sent| sent.windows(WORDS.len()).any(|part| part == WORDS))
    }
}

#[test]
fn a_vouched_client_and_a_sealed_one_talk_to_the_same_server() {
    let mut room = Room::new(1);
    let tokens = [room.token(1), room.token(2), room.token(3)];
    let [one, two, three] = tokens;
    let mut vouched = room.dial(1, one, Some(session()));
    let mut sealed = room.dial(2, two, None);
    // Somebody may also seal inside TLS: it costs, and that is all.
    let mut both = room.dial(3, three, None);
    both.session = Some(session());
    let ends = &mut [&mut vouched, &mut sealed, &mut both];
    ends.iter_mut().for_each(|end| end.dialer.send_reliable(WORDS).unwrap());
    room.run(ends, Span::seconds(1));
    for (end, is_open) in [(&vouched, true), (&sealed, false), (&both, false)] {
        let connection = end.connection.expect("it was let in");
        assert_eq!(room.listener.is_within_tls(connection), Some(is_open));
        assert!(room.heard.contains(&(connection, WORDS.to_vec())), "its words arrived");
        assert_eq!(end.spoke_openly(), is_open, "only TLS lets words travel as they are");
        room.listener.send_reliable(connection, b"welcome").unwrap();
    }
    room.run(&mut [&mut vouched, &mut sealed, &mut both], Span::seconds(1));
    for end in [vouched, sealed, both] {
        assert_eq!(end.heard, [b"welcome".to_vec()]);
    }
}

#[test]
fn who_claims_a_tls_session_that_no_link_vouches_for_is_not_let_in() {
    let mut room = Room::new(2);
    let token = room.token(1);
    let mut liar = room.dial(1, token, Some(session()));
    liar.session = None;
    room.run(&mut [&mut liar], Span::seconds(3));
    assert_eq!((liar.connection, room.listener.connections().count()), (None, 0));
    let counters = room.listener.gate_counters();
    assert_eq!(counters.dropped(DropReason::Unvouched), counters.received());
    assert!(counters.received() > 0);
}

#[test]
fn an_unsealed_packet_counts_in_its_own_session_only() {
    let mut room = Room::new(3);
    let (one, two) = (room.token(1), room.token(2));
    let (mut victim, mut other) =
        (room.dial(1, one, Some(session())), room.dial(2, two, Some(session())));
    room.run(&mut [&mut victim, &mut other], Span::seconds(1));
    let connection = victim.connection.expect("it was let in");
    // A packet that the victim's session would take, from elsewhere.
    victim.dialer.send_reliable(WORDS).unwrap();
    let packet = loop {
        room.now += Span::millis(1);
        if let Some(packet) = victim.dialer.transmit(room.now) {
            break packet.to_vec();
        }
    };
    let (victims, others) = (victim.peer, other.peer);
    let (forged, taken) = (room.listener.drops().forged, room.listener.packets_taken());
    room.deliver(others, Some(session()), &packet);
    room.deliver(others, None, &packet);
    room.deliver(victims, None, &packet);
    assert_eq!(room.listener.drops().forged, forged + 3);
    assert_eq!(room.listener.packets_taken(), taken);
    assert_eq!(room.listener.peer(connection), Some(victims), "nothing moves its path");
    assert!(room.heard.is_empty());
    room.deliver(victims, Some(session()), &packet);
    assert_eq!(room.heard, [(connection, WORDS.to_vec())]);
    room.deliver(victims, Some(session()), &packet);
    assert_eq!(room.listener.drops().replayed, 1, "nor does it count twice");
}

#[test]
fn a_token_serves_one_session_whatever_road_it_takes() {
    for (first, second) in
        [(Some(session()), None), (None, Some(session())), (Some(session()), Some(session()))]
    {
        let mut room = Room::new(4);
        let token = room.token(1);
        let mut honest = room.dial(1, token.clone(), first);
        room.run(&mut [&mut honest], Span::seconds(1));
        assert!(honest.connection.is_some());
        let mut thief = room.dial(2, token, second);
        room.run(&mut [&mut honest, &mut thief], Span::seconds(1));
        assert_eq!(thief.denied, Some(Denial::TokenUsed));
        assert!(honest.dialer.is_connected());
    }
}

#[test]
fn sessions_without_a_token_leave_no_trace_and_are_limited() {
    let mut room = Room::new(5);
    let wrong = TokenKey::generate(&mut room.random);
    for host in 0..100 {
        let grant = Grant { client_id: host, ..Grant::default() };
        let issuer = TokenIssuer::new(wrong.clone(), PROTOCOL);
        let token = issuer.issue(&grant, UNIX_SECONDS + 1, &mut room.random).unwrap();
        let mut stranger = room.dial(host as u8, token, Some(session()));
        stranger.dialer.advance(room.now, &mut |_| {});
        let hello = stranger.dialer.transmit(room.now).unwrap().to_vec();
        let retry = room.deliver(stranger.peer, stranger.session, &hello).unwrap();
        stranger.take(room.now, &retry);
        let hello = stranger.dialer.transmit(room.now).unwrap().to_vec();
        for _ in 0..10 {
            assert_eq!(room.deliver(stranger.peer, stranger.session, &hello), None);
        }
    }
    assert_eq!(room.listener.memory_bytes(), 0);
    let counters = room.listener.gate_counters();
    assert_eq!((counters.accepted(), counters.key_agreements()), (0, 0));
    // The quota of a prefix with a valid cookie.
    assert_eq!(counters.dropped(DropReason::TokenForged), 256);
    assert_eq!(counters.dropped(DropReason::Limited), 1_000 - 256);
}

#[test]
fn who_was_in_a_session_that_is_over_is_gone_and_nobody_else() {
    let mut room = Room::new(7);
    let tokens = [room.token(1), room.token(2), room.token(3)];
    let [one, two, three] = tokens;
    let mut gone = room.dial(1, one, Some(session()));
    let mut other = room.dial(2, two, Some(session()));
    let mut sealed = room.dial(3, three, None);
    room.run(&mut [&mut gone, &mut other, &mut sealed], Span::seconds(1));
    assert_eq!(room.listener.connections().count(), 3);
    room.listener.session_ended(room.now, gone.peer);
    room.listener.session_ended(room.now, sealed.peer);
    room.run(&mut [&mut other, &mut sealed], Span::millis(500));
    let left: Vec<_> = room.listener.connections().collect();
    assert_eq!(left, [other.connection.unwrap(), sealed.connection.unwrap()]);
}

#[test]
fn a_full_server_is_full_for_vouched_clients_too() {
    let mut room = Room::new(6);
    let tokens: Vec<ClientToken> = (1..=5).map(|id| room.token(id)).collect();
    let mut ends: Vec<End> = Vec::new();
    for (host, token) in tokens.into_iter().enumerate() {
        ends.push(room.dial(host as u8, token, (host % 2 == 0).then(session)));
        room.run(&mut ends.iter_mut().collect::<Vec<_>>(), Span::millis(500));
    }
    assert_eq!(room.listener.connections().count(), 4);
    assert_eq!(ends[4].denied, Some(Denial::ServerFull));
}
