//! The same contest under snapshots: everyone is told the latest state, ten times a second.

use super::{Census, Contest, LOOK, Screens, Seen};
use crate::play::Seeded;
use sametick::{
    Client, Dice, EntityId, Game, Layouts, Others, Rates, Rewinding, Server, Slots, Table, Time,
    View, World,
};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, TICK};
use std::collections::VecDeque;

/// A snapshot every 100 ms.
const TICKS_PER_SNAPSHOT: u32 = 2;
const RATES: Rates = Rates {
    tick_length: TICK,
    ticks_per_snapshot: TICKS_PER_SNAPSHOT,
    rewinding: Rewinding::NONE,
    ..Rates::USUAL
};

pub(super) fn play(contest: &Contest) -> Seen {
    let (mut network, here, hosts) = contest.network();
    let content = contest.content();
    let view = View { others: Others::Latest, ..View::default() };
    let (mut now, mut random) = (Time::ZERO, Seeded(Dice::new(contest.seed, 9)));
    let mut server =
        Server::<Islands>::open(content.clone(), contest.seed, RATES, now, &mut random);
    let address = network.address(here);
    let clients =
        hosts.iter().map(|_| Client::open(address, content.clone(), view, now, &mut random));
    let mut clients: Vec<Client<Islands>> = clients.collect();
    let mut bots: Vec<Bot> =
        (0..u64::from(contest.players)).map(|player| Bot::new(contest.seed ^ player)).collect();
    let mut traffic = contest.traffic();
    let (mut census, mut screens) = (Census::default(), Screens::new(clients.len()));
    let (mut stall, mut datagram) = (0, Vec::new());
    let (mut truth, mut compared) = (Truth::default(), 0);
    while now < Time::from_seconds(u64::from(contest.seconds)) {
        let at = now - Time::ZERO;
        while let Some(from) = network.receive(now, here, &mut datagram) {
            if let Some(answer) = server.receive(now, from, &mut datagram, &mut random) {
                network.send(now, here, from, &answer);
            }
        }
        server.advance(now);
        truth.keep(server.world());
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
            compared += clients.iter().filter(|client| truth.is_seen_by(client, &content)).count();
        }
        now += LOOK;
    }
    let asked = (contest.seconds - contest.warm_up_seconds) as usize * clients.len();
    let is_well = clients.iter().all(|client| client.malformed() == 0) && server.malformed() == 0;
    Seen {
        traffic,
        answers: Vec::new(),
        units_alive_min: census.least.unwrap_or(0),
        units_under_fire_mean: census.under_fire_mean(),
        stall_ticks_others_max: stall,
        verified: is_well && compared == asked,
    }
}

/// So many worlds of the server are kept: those of three seconds.
const WORLDS_MAX: usize = 60;

/// What the server's world was, tick by tick.
#[derive(Default)]
struct Truth(VecDeque<World<Entity>>);

impl Truth {
    fn keep(&mut self, world: &World<Entity>) {
        if self.0.back().is_some_and(|last| last.tick() == world.tick()) {
            return;
        }
        if self.0.len() == WORLDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(world.clone());
    }

    /// Whether a client's newest snapshot is the server's world of that tick, as far as its player may see it.
    fn is_seen_by(&self, client: &Client<Islands>, content: &Content) -> bool {
        let Some((me, seen)) = client.me().zip(client.snapshot()) else { return false };
        let Some(world) = self.0.iter().find(|world| world.tick() == seen.tick()) else {
            return false;
        };
        let (layouts, mut visible) = (Layouts::of::<Entity>(), Slots::default());
        Islands::relevant(world, content, me, &mut visible);
        // Whose others are is not in a snapshot: ownership is compared of one's own alone.
        let is_own = |world: &World<Entity>, id: EntityId| world.owner(id) == Some(me);
        let known = seen.entities().map(|(id, _)| id).filter(|id| !id.is_provisional());
        let may_know = world.entities().map(|(id, _)| id);
        let may_know = may_know.filter(|id| visible.contains(id.slot()) || is_own(world, *id));
        let [mut here, mut there] = [Table::default(), Table::default()];
        seen.fill(&layouts.state, &mut here);
        world.fill(&layouts.state, &mut there);
        let known: Vec<EntityId> = known.collect();
        known.iter().copied().eq(may_know)
            && known.into_iter().all(|id| {
                let (slot, kind) = (id.slot(), here.head(id.slot()).map(|head| head.kind));
                let layout = kind.map(|kind| &layouts.state[usize::from(kind)]);
                here.head(slot) == there.head(slot)
                    && is_own(seen, id) == is_own(world, id)
                    && layout.is_some_and(|layout| {
                        here.record(slot, layout) == there.record(slot, layout)
                    })
            })
    }
}
