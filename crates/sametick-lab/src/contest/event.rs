//! The contest under event locking: eight clients far from the server, each with a bot that sees what its player sees.

use super::Traffic;
use super::{Census, Contest, LOOK, Screens, Seen};
use crate::play::Seeded;
use sametick::eventlock::{EventClient, EventRates, EventServer};
use sametick::network::{Host, Network};
use sametick::{Dice, Span, Time};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Islands, TICK};

struct Stage {
    network: Network,
    here: Host,
    hosts: Vec<Host>,
    server: EventServer<Islands>,
    clients: Vec<EventClient<Islands>>,
    bots: Vec<Bot>,
    random: Seeded,
    traffic: Traffic,
}

pub(super) fn play(contest: &Contest) -> Seen {
    let (network, here, hosts) = contest.network();
    let content = contest.content();
    let rates = EventRates {
        tick_length: TICK,
        bytes_per_second: contest.budget,
        keeps_hashes: true,
        ..EventRates::default()
    };
    let (mut now, mut random) = (Time::ZERO, Seeded(Dice::new(contest.seed, 9)));
    let server = EventServer::open(content.clone(), contest.seed, rates, now, &mut random);
    let address = network.address(here);
    let clients =
        hosts.iter().map(|_| EventClient::open(address, content.clone(), now, &mut random));
    let clients: Vec<_> = clients.collect();
    let bots = (0..u64::from(contest.players)).map(|player| Bot::new(contest.seed ^ player));
    let mut stage = Stage {
        network,
        here,
        hosts,
        server,
        clients,
        bots: bots.collect(),
        random,
        traffic: contest.traffic(),
    };
    let (mut census, mut screens) = (Census::default(), Screens::new(stage.clients.len()));
    let (mut stall, mut verified, mut compared) = (0, true, 0);
    while now < Time::from_seconds(u64::from(contest.seconds)) {
        let at = now - Time::ZERO;
        stage.drive(now, at, &content);
        for client in 0..stage.clients.len() - 1 {
            let Some((tick, _)) = stage.clients[client].tick_at(now) else { continue };
            let still = screens.look(at, client, tick.0);
            stall = stall.max(if contest.counts(at) { still } else { 0 });
        }
        if at.as_micros().is_multiple_of(1_000_000) && contest.counts(at) {
            census.count(stage.server.world());
            let (agreed, seen) = stage.compare();
            (verified, compared) = (verified && agreed, compared + seen);
        }
        now += LOOK;
    }
    let asked = u64::from(contest.seconds - contest.warm_up_seconds) * u64::from(contest.players);
    Seen {
        traffic: stage.traffic,
        units_alive_min: census.least.unwrap_or(0),
        units_under_fire_mean: census.under_fire_mean(),
        stall_ticks_others_max: stall,
        verified: verified && compared == asked,
    }
}

impl Stage {
    fn drive(&mut self, now: Time, at: Span, content: &Content) {
        let mut datagram = Vec::new();
        while let Some(from) = self.network.receive(now, self.here, &mut datagram) {
            if let Some(answer) = self.server.receive(now, from, &mut datagram, &mut self.random) {
                self.traffic.server_sent(at, &answer);
                self.network.send(now, self.here, from, &answer);
            }
        }
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.traffic.server_sent(at, datagram);
            self.network.send(now, self.here, to, datagram);
        }
        let (server, is_turn) =
            (self.network.address(self.here), at.as_micros().is_multiple_of(TICK.as_micros()));
        for (index, client) in self.clients.iter_mut().enumerate() {
            while self.network.receive(now, self.hosts[index], &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            client.advance(now);
            if let (true, Some(me)) = (is_turn, client.me())
                && let Some(world) = client.shown(now)
            {
                let request = self.bots[index].think(world, me, content);
                if !request.is_nothing() {
                    // What cannot be done any more is thought about again.
                    let _ = client.request(now, request);
                }
            }
            while let Some(datagram) = client.transmit(now) {
                self.traffic.client_sent(at, index, datagram);
                self.network.send(now, self.hosts[index], server, datagram);
            }
        }
    }

    /// Whether all official worlds are what the server told of itself, and how many could be compared.
    fn compare(&self) -> (bool, u64) {
        let mut compared = 0;
        let agreed = self.clients.iter().all(|client| {
            let (Some(me), Some((tick, hash))) = (client.me(), client.hash()) else { return false };
            compared += 1;
            self.server.hash_told(me, tick) == Some(hash)
        });
        (agreed, compared)
    }
}
