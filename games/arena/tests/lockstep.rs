//! The arena, unchanged, in lockstep: bots on three machines over a bad network, under every model, step the same
//! worlds.

use sametick::lockstep::{Happening, Identity, Lockstep, Role, Setup};
use sametick::network::{Conditions, Jitter, Loss, Network};
use sametick::{Effect, Span, Tick, Time};
use sametick_arena::bot::{Bot, Skill, Ways};
use sametick_arena::{Arena, Content, Fighter, Mode, map};
use std::collections::BTreeMap;
use std::sync::Arc;

const MACHINES: usize = 3;

#[test]
fn bots_play_the_arena_under_every_lockstep_model_and_all_machines_agree_on_every_tick() {
    let content = Content::new(map::MAPS[0].1, Mode::FreeForAll).expect("the map is sound");
    let ways = Arc::new(Ways::new(&content));
    for (seed, (name, setup)) in Setup::ALL.into_iter().enumerate() {
        let mut network = Network::new(seed as u64);
        network.set_default_conditions(Conditions {
            delay: Span::millis(25),
            jitter: Jitter::Uniform { width: Span::millis(10) },
            loss: Loss::Random { probability: 0.03 },
            ..Conditions::PERFECT
        });
        let hosts: Vec<_> = (0..MACHINES).map(|_| network.add_host()).collect();
        let at: Vec<_> = hosts.iter().map(|host| network.address(*host)).collect();
        let setup = Setup { players: MACHINES as u8, seed: seed as u64, ..setup };
        let mut now = Time::ZERO;
        let mut machines: Vec<(Lockstep<Arena>, Bot, Tick)> = (0..MACHINES)
            .map(|index| {
                let me = Identity { session: index as u64 + 1, name: index as u64 };
                let content = (content.clone(), 1);
                let lockstep = match index {
                    0 => Lockstep::found(setup, me, at[0], content, now),
                    _ => Lockstep::join(at[0], me, content, Role::Plays, now),
                };
                (lockstep, Bot::new(Skill::level(3), index as u64, Arc::clone(&ways)), Tick(0))
            })
            .collect();
        let (mut ledger, mut compared, mut message) = (BTreeMap::new(), 0, Vec::new());
        let mut shots = [0_usize; MACHINES];
        while now < Time::from_seconds(12) {
            for (index, (lockstep, bot, thought)) in machines.iter_mut().enumerate() {
                while let Some(from) = network.receive(now, hosts[index], &mut message) {
                    let who = at.iter().position(|at| *at == from).expect("one of them") as u64 + 1;
                    lockstep.receive(now, (who, from), &message);
                }
                if let (Some(world), Some(me)) = (lockstep.shown(), lockstep.me())
                    && world.tick() > *thought
                {
                    *thought = world.tick();
                    let command = bot.think(world, me, &content, 1.0 / 60.0);
                    lockstep.command(command);
                }
                lockstep.advance(now);
                let started = |effect: &Effect<_>| matches!(effect, Effect::Started { .. });
                shots[index] += lockstep.take_effects().iter().filter(|e| started(e)).count();
                while let Some(((_, to), message)) = lockstep.transmit() {
                    network.send(now, hosts[index], to, &message);
                }
                for event in lockstep.take_events() {
                    assert_ne!(event, Happening::Halted, "{name}");
                }
                let newest = lockstep.world().map_or(0, |world| world.tick().0);
                for tick in newest.saturating_sub(4)..=newest {
                    let Some(hash) = lockstep.hash_of(Tick(tick)) else { continue };
                    let known = *ledger.entry(tick).or_insert(hash);
                    assert_eq!(known, hash, "{name}: tick {tick}");
                    compared += 1;
                }
            }
            now += Span::millis(4);
        }
        let tick = |index: usize| machines[index].0.world().map_or(0, |world| world.tick().0);
        assert!((0..MACHINES).all(|index| tick(index) > 500), "{name}: {:?}", [0, 1, 2].map(tick));
        assert!(compared > 3000 && shots.iter().all(|shots| *shots > 5), "{name}: {shots:?}");
        let world = machines[0].0.world().expect("it plays");
        assert_eq!(world.all::<Fighter>().count(), MACHINES, "{name}");
    }
}
