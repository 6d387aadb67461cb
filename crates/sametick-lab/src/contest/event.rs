//! The contest under event locking: eight clients far from the server, each with a bot that sees what its player sees.

use super::Traffic;
use super::{Census, Contest, LOOK, Screens, Seen};
use crate::play::Seeded;
use sametick::eventlock::{EventClient, EventRates, EventServer};
use sametick::network::{Host, Network};
use sametick::{Dice, Span, Time, World};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Islands, TICK};
use std::collections::VecDeque;

struct Stage {
    network: Network,
    here: Host,
    hosts: Vec<Host>,
    server: EventServer<Islands>,
    clients: Vec<EventClient<Islands>>,
    bots: Vec<Bot>,
    random: Seeded,
    traffic: Traffic,
    /// When each player asked for what is not answered yet, oldest first.
    asked: Vec<VecDeque<Time>>,
    /// How long answers took, of all but the last player, where that counts.
    answer_ms: Vec<f64>,
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
        asked: vec![VecDeque::new(); usize::from(contest.players)],
        answer_ms: Vec::new(),
    };
    let (mut census, mut screens) = (Census::default(), Screens::new(stage.clients.len()));
    let (mut stall, mut verified, mut compared) = (0, true, 0);
    while now < Time::from_seconds(u64::from(contest.seconds)) {
        let at = now - Time::ZERO;
        stage.drive(now, at, contest.counts(at), &content);
        for client in 0..stage.clients.len() - 1 {
            let Some(tick) = stage.clients[client].shown(now).map(World::tick) else { continue };
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
    let answer_ms = &mut stage.answer_ms;
    answer_ms.sort_by(f64::total_cmp);
    let share = |share: f64| {
        answer_ms.get((answer_ms.len() as f64 * share) as usize).copied().unwrap_or(0.0)
    };
    let answers = vec![("answer_ms_median", share(0.5)), ("answer_ms_p95", share(0.95))];
    Seen {
        answers,
        traffic: stage.traffic,
        units_alive_min: census.least.unwrap_or(0),
        units_under_fire_mean: census.under_fire_mean(),
        stall_ticks_others_max: stall.max(screens.still(now - Time::ZERO, stage.clients.len() - 1)),
        verified: verified && compared == asked,
    }
}

impl Stage {
    fn drive(&mut self, now: Time, at: Span, counts: bool, content: &Content) {
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
                    if client.request(now, request).is_ok() {
                        self.asked[index].push_back(now);
                    }
                }
            }
            for _ in client.take_answers() {
                let waited = self.asked[index].pop_front().map(|asked| now - asked);
                let is_counted = index + 1 < self.hosts.len() && counts;
                self.answer_ms.extend(waited.filter(|_| is_counted).map(Span::as_millis_f64));
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
