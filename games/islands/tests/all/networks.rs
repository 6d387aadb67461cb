//! The same rules under lockstep and under snapshots: every machine has the same worlds.

use crate::stage::bots;
use sametick::lockstep::{Happening, Identity, Lockstep, Role, Setup};
use sametick::network::{Conditions, Jitter, Loss, Network};
use sametick::secure::Random;
use sametick::{
    Client, Dice, Entities, Game, Layouts, Model, PlayerId, Rates, Server, Slots, Span, Table,
    Tick, Time,
};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, Opening, TICK, Unit, contest};
use std::collections::BTreeMap;

const MACHINES: usize = 3;

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

fn conditions() -> Conditions {
    Conditions {
        delay: Span::millis(30),
        jitter: Jitter::Uniform { width: Span::millis(10) },
        loss: Loss::Random { probability: 0.02 },
        ..Conditions::PERFECT
    }
}

#[test]
fn bots_play_under_every_lockstep_model_and_all_machines_agree_on_every_tick() {
    let content = Content::new(8, MACHINES as u8, Opening::War);
    for (seed, (name, setup)) in Setup::ALL.into_iter().enumerate() {
        let mut network = Network::new(seed as u64);
        network.set_default_conditions(conditions());
        let hosts: Vec<_> = (0..MACHINES).map(|_| network.add_host()).collect();
        let at: Vec<_> = hosts.iter().map(|host| network.address(*host)).collect();
        let setup =
            Setup { players: MACHINES as u8, seed: seed as u64, tick_length: TICK, ..setup };
        let mut now = Time::ZERO;
        let mut machines: Vec<(Lockstep<Islands>, Bot, Tick)> = (0..MACHINES)
            .map(|index| {
                let me = Identity { session: index as u64 + 1, name: index as u64 };
                let content = (content.clone(), 1);
                let lockstep = match index {
                    0 => Lockstep::found(setup, me, at[0], content, now),
                    _ => Lockstep::join(at[0], me, content, Role::Plays, now),
                };
                (lockstep, Bot::new(index as u64), Tick(0))
            })
            .collect();
        let (mut ledger, mut compared, mut message) = (BTreeMap::new(), 0, Vec::new());
        while now < Time::from_seconds(25) {
            for (index, (lockstep, bot, thought)) in machines.iter_mut().enumerate() {
                while let Some(from) = network.receive(now, hosts[index], &mut message) {
                    let who = at.iter().position(|at| *at == from).expect("one of them") as u64 + 1;
                    lockstep.receive(now, (who, from), &message);
                }
                if let (Some(world), Some(me)) = (lockstep.shown(), lockstep.me())
                    && world.tick() > *thought
                {
                    *thought = world.tick();
                    let request = bot.think(world, me, &content);
                    lockstep.command(request);
                }
                lockstep.advance(now);
                while let Some(((_, to), message)) = lockstep.transmit() {
                    network.send(now, hosts[index], to, &message);
                }
                for event in lockstep.take_events() {
                    assert_ne!(event, Happening::Halted, "{name}");
                }
                let newest = lockstep.world().map_or(0, |world| world.tick().0);
                for tick in newest.saturating_sub(3)..=newest {
                    let Some(hash) = lockstep.hash_of(Tick(tick)) else { continue };
                    let known = *ledger.entry(tick).or_insert(hash);
                    assert_eq!(known, hash, "{name}: tick {tick}");
                    compared += 1;
                }
            }
            now += Span::millis(10);
        }
        let tick = |index: usize| machines[index].0.world().map_or(0, |world| world.tick().0);
        assert!((0..MACHINES).all(|index| tick(index) > 300), "{name}: {:?}", [0, 1, 2].map(tick));
        assert!(compared > 1000, "{name}: {compared}");
        let world = machines[0].0.world().expect("it plays");
        assert!(world.all::<Unit>().count() > MACHINES * 40, "{name}");
    }
}

/// All clients over bad lines; what each was told by a snapshot of a tick is what the server had for it then.
#[test]
fn bots_play_over_a_server_and_every_client_has_what_the_server_had_for_it() {
    let content = Content::new(9, MACHINES as u8, Opening::War);
    let layouts = Layouts::of::<Entity>();
    let mut random = Seeded(Dice::new(9, 2));
    let mut network = Network::new(9);
    network.set_default_conditions(conditions());
    let server_host = network.add_host();
    let rates = Rates { tick_length: TICK, ..Rates::default() };
    let mut server = Server::<Islands>::open(content.clone(), 9, rates, Time::ZERO, &mut random);
    let mut guests: Vec<_> = (0..MACHINES)
        .map(|_| {
            let host = network.add_host();
            let address = network.address(server_host);
            (
                host,
                Client::<Islands>::open(
                    address,
                    content.clone(),
                    Model::QUAKE.view,
                    Time::ZERO,
                    &mut random,
                ),
            )
        })
        .collect();
    let mut minds = bots(&content, 9);
    let (mut now, mut datagram, mut compared) = (Time::ZERO, Vec::new(), 0);
    let mut worlds = BTreeMap::new();
    let mut thought = [Tick(0); MACHINES];
    while now < Time::from_seconds(60) {
        while let Some(from) = network.receive(now, server_host, &mut datagram) {
            if let Some(answer) = server.receive(now, from, &mut datagram, &mut random) {
                network.send(now, server_host, from, &answer);
            }
        }
        server.advance(now);
        worlds.entry(server.world().tick()).or_insert_with(|| server.world().clone());
        worlds.retain(|tick, _| tick.0 + 60 > server.world().tick().0);
        while let Some((to, datagram)) = server.transmit(now) {
            network.send(now, server_host, to, datagram);
        }
        for (index, (host, client)) in guests.iter_mut().enumerate() {
            while network.receive(now, *host, &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            let me = client.me();
            if let (Some(view), Some(me)) = (client.view(now), me)
                && view.tick() > thought[index]
            {
                thought[index] = view.tick();
                let request = minds[usize::from(me.0)].think(view, me, &content);
                client.command(request);
            }
            if let (Some(told), Some(me)) = (client.snapshot(), me) {
                compared += compare(&worlds, told, me, &content, &layouts);
            }
            client.advance(now);
            while let Some(datagram) = client.transmit(now) {
                network.send(now, *host, network.address(server_host), datagram);
            }
        }
        now += Span::millis(10);
    }
    let world = server.world();
    assert_eq!(contest(world).came.count_ones(), MACHINES as u32);
    assert!(world.all::<Unit>().count() > MACHINES * 40);
    assert!(compared > 10_000, "{compared} records compared");
}

/// Every record in a client's world is that of the server's world of the same tick, for whoever may know of it.
fn compare(
    worlds: &BTreeMap<Tick, sametick::World<Entity>>,
    view: &sametick::World<Entity>,
    me: PlayerId,
    content: &Content,
    layouts: &Layouts,
) -> usize {
    let Some(server) = worlds.get(&view.tick()) else { return 0 };
    let mut visible = Slots::default();
    Islands::relevant(server, content, me, &mut visible);
    let [mut here, mut there] = [Table::default(), Table::default()];
    view.fill(&layouts.shown, &mut here);
    server.fill(&layouts.shown, &mut there);
    let mut compared = 0;
    for (id, entity) in view.entities().filter(|(id, _)| !id.is_provisional()) {
        let layout = &layouts.shown[usize::from(entity.kind())];
        assert!(visible.contains(id.slot()), "{me:?} knows of {id:?}");
        assert_eq!(here.head(id.slot()), there.head(id.slot()));
        assert_eq!(
            here.record(id.slot(), layout),
            there.record(id.slot(), layout),
            "{me:?}: {id:?} of {:?}",
            view.tick()
        );
        compared += 1;
    }
    compared
}
