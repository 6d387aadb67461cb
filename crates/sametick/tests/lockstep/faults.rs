//! The fault menu: lines that lose, double, reorder and delay; cuts in one direction or both; partitions; machines
//! that freeze, go dark, come back, move, or have clocks of their own; lines that are clogged one after the other.
//! After all of it, calm: then everyone plays one game again.
//!
//! `SAMETICK_SEEDS` and `SAMETICK_FIRST_SEED` change how much is run; a failure prints the command that
//! repeats it.

use super::party::{Party, wander};
use crate::tag::Tag;
use sametick::lockstep::{Setup, Topology};
use sametick::network::{Conditions, Jitter, Loss, Outage};
use sametick::{Dice, Span, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 200;
const THREADS: usize = 2;
const FAULTS: Span = Span::seconds(8);
const CALM: Span = Span::seconds(11);

#[derive(Debug)]
struct Options {
    #[expect(dead_code, reason = "printed with the others when a seed fails")]
    model: &'static str,
    setup: Setup,
    count: usize,
    conditions: Conditions,
    seed: u64,
}

fn expand(seed: u64) -> Options {
    let mut dice = Dice::new(seed, 77);
    let (model, setup) = Setup::ALL[(seed % 5) as usize];
    let count = match seed % 20 {
        7 | 13 | 19 => 6 + dice.below(3) as usize,
        _ => 2 + dice.below(4) as usize,
    };
    let loss = match dice.below(3) {
        0 => Loss::None,
        1 => Loss::Random { probability: dice.unit() * 0.2 },
        _ => Loss::Burst { enter: 0.02, leave: 0.2, loss_good: 0.0, loss_bad: 0.8 },
    };
    let conditions = Conditions {
        delay: Span::millis(dice.below(80)),
        jitter: Jitter::Uniform { width: Span::millis(dice.below(40)) },
        loss,
        duplicate: dice.unit() * 0.1,
        reorder: dice.unit() * 0.1,
        reorder_by: Span::millis(250),
        keep_order: false,
        bandwidth_bytes_per_second: dice.chance(0.2).then_some(30_000),
        ..Conditions::PERFECT
    };
    let patience = Span::millis(2_000 + dice.below(2_000));
    let setup = Setup { players: count as u8, patience, ..setup };
    Options { model, setup, count, conditions, seed }
}

/// What a run was worth.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    ticks: u64,
    compared: u64,
    elections: u64,
    returns: u64,
}

fn run(options: &Options) -> Counts {
    let Options { setup, count, conditions, seed, .. } = options;
    let mut party: Party<Tag> = Party::new(*setup, *count, ((), wander), *seed, conditions.clone());
    let mut dice = Dice::new(*seed, 78);
    for index in 0..*count {
        let host = party.machines[index].host;
        let drift = dice.below(1001) as i32 - 500;
        party.network.clock_mut(host).set_drift(Time::ZERO, drift);
    }
    party.run(Span::seconds(3));
    let end = party.now + FAULTS;
    while party.now < end {
        fault(&mut party, &mut dice);
        party.run(Span::millis(200 + dice.below(1_500)));
    }
    calm(&mut party);
    party.run(CALM);
    if std::env::var_os("SAMETICK_EXPLAIN").is_some() {
        for machine in &party.machines {
            println!("{:#?}\n{:?}", machine.lockstep, machine.events);
        }
    }
    party.check();
    party.check_united(40);
    let before = party.lockstep(0).world().map_or(0, |world| world.tick().0);
    party.run(Span::seconds(1));
    let after = party.lockstep(0).world().map_or(0, |world| world.tick().0);
    assert!((30..=70).contains(&(after - before)), "{} ticks in a second", after - before);
    let of = |which: fn(&sametick::lockstep::Happening) -> bool| {
        let events = party.machines.iter().flat_map(|machine| &machine.events);
        events.filter(|(_, event)| which(event)).count() as u64
    };
    Counts {
        ticks: u64::from(after),
        compared: party.compared,
        elections: u64::from(party.lockstep(0).epoch().unwrap_or(0)) / 16,
        returns: of(|event| *event == sametick::lockstep::Happening::LeftBehind),
    }
}

fn fault(party: &mut Party<Tag>, dice: &mut Dice) {
    let count = party.machines.len() as u64;
    let (one, other) = (dice.below(count) as usize, dice.below(count) as usize);
    let hosts = [one, other].map(|index| party.machines[index].host);
    match dice.below(11) {
        0 => party.network.cut(hosts[0], hosts[1]),
        1 => party.network.cut_both(hosts[0], hosts[1]),
        2 => {
            // Every line between two sides.
            let sides = dice.below(1 << count);
            for i in 0..count as usize {
                for j in 0..count as usize {
                    if sides >> i & 1 != sides >> j & 1 {
                        let (from, to) = (party.machines[i].host, party.machines[j].host);
                        party.network.cut(from, to);
                    }
                }
            }
        }
        3 => party.machines[one].frozen_until = party.now + Span::millis(dice.below(4_000)),
        // Somebody must be left who has the world.
        4 if party
            .machines
            .iter()
            .all(|m| m.lockstep.as_ref().is_some_and(|l| l.world().is_some())) =>
        {
            party.kill(one);
        }
        5 => {
            // Two who move at once would not find each other again.
            let host = party.machines[0].host;
            party.network.rebind(party.now, host);
        }
        6 => revive(party),
        7 => {
            // Lines are clogged one after the other, and let go in another order: what was held arrives at once.
            let now = party.now;
            for from in party.machines.iter().map(|machine| machine.host) {
                let begins = now + Span::millis(dice.below(300));
                let ends = begins + Span::millis(50 + dice.below(800));
                let outage = Outage { begins, ends, holds: true };
                let to = party.machines[other].host;
                if from != to {
                    party.network.add_outage(now, from, to, outage);
                }
            }
        }
        8 => {
            // Somebody's clock is set forward.
            let host = party.machines[one].host;
            party.network.clock_mut(host).step_micros(dice.below(2_000_000) as i64);
        }
        _ => heal(party),
    }
}

fn heal(party: &mut Party<Tag>) {
    let hosts: Vec<_> = party.machines.iter().map(|machine| machine.host).collect();
    for one in &hosts {
        hosts.iter().for_each(|other| party.network.heal(*one, *other));
    }
}

fn revive(party: &mut Party<Tag>) {
    for index in 0..party.machines.len() {
        // Who does not find in asks somebody else.
        let is_dark = party.machines[index].lockstep.as_ref().is_none_or(|l| l.epoch().is_none());
        if is_dark {
            party.revive(index);
        }
    }
}

/// Everything works again, as well as lines do.
fn calm(party: &mut Party<Tag>) {
    heal(party);
    revive(party);
    let hosts: Vec<_> = party.machines.iter().map(|machine| machine.host).collect();
    let good = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
    for one in &hosts {
        hosts.iter().for_each(|other| party.network.set_conditions(*one, *other, good.clone()));
    }
}

#[test]
fn everyone_steps_the_same_worlds_through_all_faults_and_goes_on_after_them() {
    let (first, seeds) = (number("SAMETICK_FIRST_SEED", 0), number("SAMETICK_SEEDS", SEEDS));
    let (next, failures) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    let total: Mutex<Counts> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds || failures.lock().is_ok_and(|f| f.len() >= 3) {
                        return;
                    }
                    let options = expand(seed);
                    match catch_unwind(AssertUnwindSafe(|| run(&options))) {
                        Ok(counts) => {
                            let mut total = total.lock().unwrap();
                            total.ticks += counts.ticks;
                            total.compared += counts.compared;
                            total.elections += counts.elections;
                            total.returns += counts.returns;
                        }
                        Err(panic) => {
                            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                            failures.lock().unwrap().push(format!(
                                "{options:?}\n{text}\nto repeat: SAMETICK_FIRST_SEED={seed} \
                                 SAMETICK_SEEDS=1 cargo test -p sametick --features secure --test all lockstep::faults"
                            ));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let total = total.into_inner().unwrap();
    println!("{total:?}");
    assert!(total.compared > 500 * seeds && total.ticks > 300 * seeds, "{total:?}");
    assert!(seeds < 50 || (total.elections > 10 && total.returns > 10), "{total:?}");
}

#[test]
fn the_same_seed_gives_the_same_game() {
    let options = expand(2);
    assert_eq!(options.setup.topology, Topology::PacketServer);
    let [one, other] = [run(&options), run(&options)];
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => otherwise,
    }
}
