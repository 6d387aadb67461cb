//! The same over sealed connections: what is damaged on the way is dropped there, and the game never sees it.

use crate::tag::{Tag, Wish};
use sametick::lockstep::{Identity, Mesh, Role, Setup};
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::secure::Random;
use sametick::{Dice, Peer, Span, Tick, Time};
use std::collections::BTreeMap;

pub(crate) struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// Machines with connections over a simulated network.
pub(crate) struct Town {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) machines: Vec<(Host, Mesh<Tag>)>,
    random: Seeded,
    pub(crate) ledger: BTreeMap<u32, u32>,
    pub(crate) compared: u64,
    /// Sent by each, and to each.
    pub(crate) bytes: Vec<[u64; 2]>,
}

impl Town {
    pub(crate) fn new(setup: Setup, count: usize, seed: u64, conditions: Conditions) -> Self {
        let mut network = Network::new(seed);
        network.set_default_conditions(conditions);
        let mut random = Seeded(Dice::new(seed, 5));
        let hosts: Vec<Host> = (0..count).map(|_| network.add_host()).collect();
        let door = network.address(hosts[0]);
        let setup = Setup { players: count as u8, seed, ..setup };
        let machine = |(index, host): (usize, &Host)| {
            let session = 50 + index as u64;
            (*host, begin(setup, (index, session), door, Time::ZERO, &mut random))
        };
        let machines = hosts.iter().enumerate().map(machine).collect();
        let (ledger, bytes) = (BTreeMap::new(), vec![[0; 2]; count]);
        Self { now: Time::ZERO, network, machines, random, ledger, compared: 0, bytes }
    }

    /// A machine's program is started anew, where it was, and knows nothing.
    fn restart(&mut self, setup: Setup, index: usize, session: u64) {
        let door = self.network.address(self.machines[0].0);
        let mesh = begin(setup, (index, session), door, self.now, &mut self.random);
        self.machines[index].1 = mesh;
    }

    pub(crate) fn run(&mut self, span: Span, step: Span, mut each: impl FnMut(&mut Self)) {
        let end = self.now + span;
        while self.now < end {
            self.turn();
            each(self);
            self.now += step;
        }
    }

    fn turn(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        for (index, (host, mesh)) in self.machines.iter_mut().enumerate() {
            while let Some(from) = self.network.receive(now, *host, &mut datagram) {
                self.bytes[index][1] += datagram.len() as u64;
                let answer = mesh.receive(now, (from, None), &mut datagram, &mut self.random);
                if let Some(answer) = answer {
                    self.network.send(now, *host, from, &answer);
                }
            }
            mesh.advance(now, &mut self.random);
            while let Some((to, datagram)) = mesh.transmit() {
                self.bytes[index][0] += datagram.len() as u64;
                self.network.send(now, *host, to, &datagram);
            }
            let game = mesh.game();
            let Some(newest) = game.world().map(|world| world.tick()) else { continue };
            for tick in newest.0.saturating_sub(20)..=newest.0 {
                let Some(hash) = game.hash_of(Tick(tick)) else { continue };
                let known = *self.ledger.entry(tick).or_insert(hash);
                assert_eq!(known, hash, "tick {tick}");
                self.compared += 1;
            }
        }
    }

    pub(crate) fn tick(&self, index: usize) -> u32 {
        self.machines[index].1.game().world().map_or(0, |world| world.tick().0)
    }
}

/// The first founds the game, the others join it. Their names are others each time.
fn begin(
    setup: Setup,
    (index, session): (usize, u64),
    door: Peer,
    now: Time,
    random: &mut Seeded,
) -> Mesh<Tag> {
    let me = Identity { session, name: session };
    match index {
        0 => Mesh::found(setup, me, door, ((), 1), now, random),
        _ => Mesh::join(door, me, ((), 1), Role::Plays, now, random),
    }
}

#[test]
fn who_hangs_up_without_a_word_is_gone_at_once() {
    for (name, setup) in Setup::ALL {
        let conditions = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
        let mut town = Town::new(setup, 4, 6, conditions);
        town.run(Span::seconds(3), Span::millis(4), |_| {});
        for leaver in [3, 0] {
            // As a page does that is closed: its lines end, and there is no time for more.
            let now = town.now;
            town.machines[leaver].1.hang_up(now);
            town.run(Span::millis(4), Span::millis(4), |_| {});
            town.machines.remove(leaver);
            let players = town.machines.len();
            town.run(Span::millis(1_200), Span::millis(4), |_| {});
            for (_, mesh) in &town.machines {
                assert_eq!(mesh.game().players().len(), players, "{name}, {leaver} is gone");
            }
        }
    }
}

#[test]
fn who_is_left_when_all_others_start_anew_finds_them_where_it_came_in() {
    for (name, setup) in Setup::ALL {
        // Whoever of two has the lower number does not call the other of itself.
        for sessions in [[10, 20], [80, 90]] {
            let conditions = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
            let setup = Setup { players: 3, ..setup };
            let mut town = Town::new(setup, 3, 6, conditions);
            town.run(Span::seconds(3), Span::millis(4), |_| {});
            assert!(town.tick(2) > 60, "{name}: it has begun");
            town.ledger.clear();
            (0..2).for_each(|index| town.restart(setup, index, sessions[index]));
            town.run(Span::millis(500), Span::millis(4), |town| town.ledger.clear());
            town.run(Span::seconds(12), Span::millis(4), |town| {
                // The old game's ticks are none of the new one's.
                if town.tick(2) > town.tick(0) + 60 {
                    town.ledger.clear();
                }
            });
            let ticks = [0, 1, 2].map(|index| town.tick(index));
            let players = town.machines.iter().map(|(_, mesh)| mesh.game().players().len());
            let case = format!("{name}, {sessions:?}: ticks {ticks:?}");
            assert!(players.eq([3; 3]), "{case}");
            assert!(ticks.iter().all(|tick| tick.abs_diff(ticks[0]) < 30), "{case}");
        }
    }
}

#[test]
fn damage_on_the_way_costs_a_datagram_and_nothing_else() {
    for (seed, (name, setup)) in Setup::ALL.into_iter().cycle().take(10).enumerate() {
        let conditions = Conditions {
            delay: Span::millis(30),
            loss: Loss::Random { probability: 0.05 },
            bit_flip: 0.02,
            truncate: 0.02,
            duplicate: 0.05,
            reorder: 0.05,
            reorder_by: Span::millis(60),
            mtu_bytes: 1200,
            ..Conditions::PERFECT
        };
        let mut town = Town::new(setup, 3, seed as u64, conditions);
        town.run(Span::seconds(8), Span::millis(4), |town| {
            let walk = ((town.now - Time::ZERO).as_micros() / 500_000).is_multiple_of(2);
            for (_, mesh) in &mut town.machines {
                mesh.command(Wish { walk, ..Wish::default() });
            }
        });
        let ticks = [0, 1, 2].map(|index| town.tick(index));
        assert!(ticks.iter().all(|tick| *tick > 200), "{name}, seed {seed}: {ticks:?}");
        assert!(town.compared > 1000, "{name}, seed {seed}");
    }
}

#[test]
fn a_sealed_relay_that_dies_is_replaced_over_connections_made_beforehand() {
    let conditions = Conditions { delay: Span::millis(50), ..Conditions::PERFECT };
    let mut town = Town::new(Setup::PACKET_SERVER, 4, 3, conditions);
    town.run(Span::seconds(4), Span::millis(4), |_| {});
    town.machines.remove(0);
    town.bytes.remove(0);
    let before = town.tick(0);
    town.run(Span::seconds(3), Span::millis(4), |_| {});
    let after = town.tick(0);
    assert!(after > before + 30, "from tick {before} to {after} in 3 s");
    assert_eq!(town.machines.iter().filter(|(_, mesh)| mesh.game().is_leader()).count(), 1);
}
