//! The same contest under snapshots: everyone is told the latest state, ten times a second.

use super::{Census, Contest, LOOK, Screens, Seen};
use crate::play::Seeded;
use sametick::{Client, Dice, Others, Rates, Rewinding, Server, Time, View};
use sametick_islands::bot::Bot;
use sametick_islands::{Islands, TICK};

/// A snapshot every 100 ms.
const TICKS_PER_SNAPSHOT: u32 = 2;

pub(super) fn play(contest: &Contest) -> Seen {
    let (mut network, here, hosts) = contest.network();
    let content = contest.content();
    let rates = Rates {
        tick_length: TICK,
        ticks_per_snapshot: TICKS_PER_SNAPSHOT,
        rewinding: Rewinding::NONE,
        ..Rates::USUAL
    };
    let view = View { others: Others::Latest, ..View::default() };
    let (mut now, mut random) = (Time::ZERO, Seeded(Dice::new(contest.seed, 9)));
    let mut server =
        Server::<Islands>::open(content.clone(), contest.seed, rates, now, &mut random);
    let address = network.address(here);
    let clients =
        hosts.iter().map(|_| Client::open(address, content.clone(), view, now, &mut random));
    let mut clients: Vec<Client<Islands>> = clients.collect();
    let mut bots: Vec<Bot> =
        (0..u64::from(contest.players)).map(|player| Bot::new(contest.seed ^ player)).collect();
    let mut traffic = contest.traffic();
    let (mut census, mut screens) = (Census::default(), Screens::new(clients.len()));
    let (mut stall, mut datagram) = (0, Vec::new());
    while now < Time::from_seconds(u64::from(contest.seconds)) {
        let at = now - Time::ZERO;
        while let Some(from) = network.receive(now, here, &mut datagram) {
            if let Some(answer) = server.receive(now, from, &mut datagram, &mut random) {
                network.send(now, here, from, &answer);
            }
        }
        server.advance(now);
        while let Some((to, datagram)) = server.transmit(now) {
            traffic.server_sent(at, datagram);
            network.send(now, here, to, datagram);
        }
        let is_turn = at.as_micros().is_multiple_of(TICK.as_micros());
        for (index, client) in clients.iter_mut().enumerate() {
            while network.receive(now, hosts[index], &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            if is_turn && let (Some(me), Some(world)) = (client.me(), client.snapshot()) {
                let request = bots[index].think(world, me, &content);
                client.command(request);
            }
            client.advance(now);
            if let Some(world) = client.snapshot().filter(|_| index + 1 < hosts.len()) {
                let still = screens.look(at, index, world.tick().0);
                let meant = TICKS_PER_SNAPSHOT - 1;
                stall = stall.max(if contest.counts(at) { still.saturating_sub(meant) } else { 0 });
            }
            while let Some(datagram) = client.transmit(now) {
                traffic.client_sent(at, index, datagram);
                network.send(now, hosts[index], address, datagram);
            }
        }
        if at.as_micros().is_multiple_of(1_000_000) && contest.counts(at) {
            census.count(server.world());
        }
        now += LOOK;
    }
    let verified = clients.iter().all(|client| client.malformed() == 0) && server.malformed() == 0;
    Seen {
        traffic,
        units_alive_min: census.least.unwrap_or(0),
        units_under_fire_mean: census.under_fire_mean(),
        stall_ticks_others_max: stall,
        verified,
    }
}
