//! Server and clients of a small game, sealed connections and all, over a simulated network.
#![cfg(feature = "secure")]

mod arena;
mod ledger;
mod seeds;
mod simulation;

use super::tag::{Runner, Shout, Tag, Wish};
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::Random;
use sametick::{
    Client, ClientEvent, Dice, Effect, PlayerId, Rates, Server, ServerEvent, Span, Time, View,
};

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

struct Party {
    now: Time,
    network: Network,
    server_host: Host,
    server: Server<Tag>,
    clients: Vec<(Host, Client<Tag>)>,
    random: Seeded,
    server_events: Vec<ServerEvent>,
}

impl Party {
    fn new(seed: u64, clients: usize, view: View) -> Self {
        println!("seed {seed}");
        let mut network = Network::new(seed);
        network
            .set_default_conditions(Conditions { delay: Span::millis(50), ..Conditions::PERFECT });
        let server_host = network.add_host();
        let mut random = Seeded(Dice::new(seed, 9));
        let server = Server::open((), seed, Rates::default(), Time::ZERO, &mut random);
        let mut party = Self {
            now: Time::ZERO,
            network,
            server_host,
            server,
            clients: Vec::new(),
            random,
            server_events: Vec::new(),
        };
        (0..clients).for_each(|_| party.join(view));
        party
    }

    fn join(&mut self, view: View) {
        let host = self.network.add_host();
        let server = self.network.address(self.server_host);
        self.clients.push((host, Client::open(server, (), view, self.now, &mut self.random)));
    }

    fn set_conditions(&mut self, conditions: &Conditions) {
        for (host, _) in &self.clients {
            self.network.set_conditions(*host, self.server_host, conditions.clone());
            self.network.set_conditions(self.server_host, *host, conditions.clone());
        }
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
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
            self.network.send(now, self.server_host, to, datagram);
        }
        self.server_events.extend(self.server.take_events());
        let server = self.network.address(self.server_host);
        for (host, client) in &mut self.clients {
            while self.network.receive(now, *host, &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            client.advance(now);
            while let Some(datagram) = client.transmit(now) {
                self.network.send(now, *host, server, datagram);
            }
        }
    }

    fn own(&self, client: usize) -> Option<Runner> {
        let client = &self.clients[client].1;
        client.predicted()?.owned::<Runner>(client.me()?).map(|(_, runner)| runner.clone())
    }
}

const WALK: Wish = Wish { aim: 0.0, walk: true, shout: false, stamp: 0 };

#[test]
fn players_join_and_see_each_other() {
    let mut party = Party::new(1, 3, View::default());
    party.run(Span::seconds(2));
    for (_, client) in &mut party.clients {
        assert!(matches!(client.take_events()[..], [ClientEvent::Joined(_)]));
        assert_eq!(client.predicted().map(|world| world.all::<Runner>().count()), Some(3));
        assert_eq!(client.malformed(), 0);
    }
    assert_eq!(party.server.players().count(), 3);
    assert_eq!(party.server.malformed(), 0);
}

#[test]
fn with_prediction_the_own_player_moves_at_once_and_without_it_a_round_trip_later() {
    for (predicts, ticks_most) in [(true, 1), (false, 12)] {
        let mut party = Party::new(2, 1, View { predicts, ..View::default() });
        party.run(Span::seconds(2));
        let before = party.own(0).expect("we are there").x;
        party.clients[0].1.command(WALK);
        let asked_at = party.now;
        while party.own(0).is_none_or(|runner| runner.x == before) {
            party.run(Span::millis(1));
        }
        let delay = party.now - asked_at;
        let tick = Rates::default().tick_length;
        assert!(delay <= tick * ticks_most + tick, "{delay} with prediction {predicts}");
        assert!(predicts || delay >= Span::millis(100), "{delay} is no round trip");
    }
}

#[test]
fn a_player_who_drops_and_returns_has_its_place() {
    let mut party = Party::new(3, 2, View::default());
    party.run(Span::seconds(1));
    party.clients[1].1.command(WALK);
    party.run(Span::seconds(3));
    let before = party.own(1).expect("we are there");
    let ticket = party.clients[1].1.ticket().expect("we were let in").clone();
    let (host, me) = (party.clients[1].0, party.clients[1].1.me());
    party.network.cut_both(host, party.server_host);
    party.run(Span::seconds(20));
    assert!(matches!(party.server_events[..], [.., ServerEvent::Left { .. }]));
    party.network.heal_both(host, party.server_host);
    let server = party.network.address(party.server_host);
    let back = Client::new(server, ticket, (), View::default(), party.now, &mut party.random);
    party.clients[1].1 = back;
    party.run(Span::seconds(1));
    assert_eq!(party.clients[1].1.me(), me);
    let after = party.own(1).expect("our runner waited for us");
    // Its last command was repeated for 25 ticks, then no more.
    assert!((after.x - before.x).abs() < 2.5, "{} is not where it was left, {}", after.x, before.x);
    assert_eq!(party.server.world().all::<Runner>().count(), 2);
}

#[test]
fn an_event_is_played_once_and_told_to_all_who_see_it() {
    let mut party = Party::new(4, 2, View::default());
    party.set_conditions(&Conditions {
        delay: Span::millis(60),
        loss: Loss::Random { probability: 0.1 },
        ..Conditions::PERFECT
    });
    party.run(Span::seconds(2));
    party.clients[0].1.command(Wish { shout: true, ..Wish::default() });
    party.run(Span::millis(200));
    party.clients[0].1.command(Wish::default());
    party.run(Span::seconds(3));
    let shouts =
        party.server.world().all::<Runner>().map(|(_, r)| u32::from(r.shouts)).sum::<u32>();
    assert!(shouts > 5);
    for (_, client) in &mut party.clients {
        let effects = client.take_effects();
        let mut keys: Vec<_> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Started { key, event: Shout { loud: false }, .. } => Some(*key),
                _ => None,
            })
            .collect();
        assert_eq!(keys.len(), shouts as usize);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), shouts as usize, "each once");
    }
}

#[test]
fn a_late_joiner_is_told_of_what_was_saved() {
    let mut party = Party::new(5, 1, View::default());
    party.run(Span::seconds(1));
    party.join(View::default());
    party.run(Span::seconds(1));
    let effects = party.clients[1].1.take_effects();
    let hello = |effect: &Effect<Shout>| {
        matches!(effect, Effect::Started { event: Shout { loud: true }, .. })
    };
    assert_eq!(
        effects.iter().filter(|effect| hello(effect)).count(),
        2,
        "each runner came with one"
    );
    assert_eq!(party.clients[1].1.me(), Some(PlayerId(1)));
}

/// A second after it joined, a client is ahead by what the way takes, twice the jitter and two ticks at
/// most: the margin that it holds, and what is left of the tick that it guessed to be safe.
#[test]
fn a_client_finds_its_place_ahead_of_the_server_within_a_second() {
    for (delay_ms, jitter_ms) in [(2, 0), (10, 2), (50, 0), (50, 10), (100, 5), (150, 20)] {
        let mut party = Party::new(6, 0, View::default());
        let (delay, jitter) = (Span::millis(delay_ms), Span::millis(jitter_ms));
        let jitter_of_each = Jitter::Uniform { width: jitter };
        let line = Conditions { delay, jitter: jitter_of_each, ..Conditions::PERFECT };
        party.network.set_default_conditions(line);
        party.join(View::default());
        while party.own(0).is_none() {
            party.run(Span::millis(1));
        }
        party.run(Span::seconds(1));
        let (tick, began) = (Rates::default().tick_length, party.clients[0].1.repeated());
        for _ in 0..1_000 {
            party.run(Span::millis(1));
            let client = &party.clients[0].1;
            let own = client.snapshot().map_or(0, |world| world.tick().0) + client.ticks_ahead();
            let ahead = tick * u64::from(own.saturating_sub(party.server.world().tick().0));
            assert!(ahead <= delay + jitter * 2 + tick * 2, "{ahead} ahead, {delay} away");
        }
        let late = party.clients[0].1.repeated() - began;
        assert!(late <= 1, "{late} commands were late, {delay} away");
    }
}
