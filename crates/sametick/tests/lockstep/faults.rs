//! The fault menu: lines that lose, double, reorder and delay; cuts in one direction or both; partitions; machines
//! that freeze, go dark, come back, move, or have clocks of their own; lines that are clogged one after the other.
//! After all of it, calm: then everyone plays one game again.
//!
//! Seeds from `WIDE_FROM` on draw more than that: see `wide`.
//!
//! The environment says how much is run ([`sametick_seeds`]); a failure prints the command that repeats it.

use super::party::{Party, wander};
use super::wide;
use crate::gated::gated;
use crate::tag::Tag;
use sametick::lockstep::{Setup, Topology};
use sametick::network::{Conditions, Jitter, Loss, Outage};
use sametick::{Dice, Game, Span, Time};
use sametick_seeds::{Script, Simulation, WIDE_FROM};

const SIMULATION: Simulation<Options, Counts> = Simulation {
    name: "lockstep",
    program: "-p sametick --features secure --test all",
    test: "lockstep::faults::everyone_steps_the_same_worlds_through_all_faults_and_goes_on_after_them",
    seeds: 200,
    seconds: None,
    expand: |seed, _| expand(seed),
    run,
};

pub(super) const FAULTS: Span = Span::seconds(8);
pub(super) const CALM: Span = Span::seconds(11);

#[derive(Debug)]
pub(crate) struct Options {
    #[expect(dead_code, reason = "printed with the others when a seed fails")]
    pub(super) model: &'static str,
    pub(super) setup: Setup,
    pub(super) count: usize,
    pub(super) conditions: Conditions,
    /// How many entities the world has besides those of players.
    pub(super) bystanders: u16,
    pub(super) seed: u64,
}

pub(crate) fn expand(seed: u64) -> Options {
    if seed >= WIDE_FROM {
        return wide::expand(seed);
    }
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
    Options { model, setup, count, conditions, bystanders: 0, seed }
}

/// What a run was worth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    ticks: u64,
    compared: u64,
    elections: u64,
    returns: u64,
}

pub(crate) fn run(options: &Options, script: &Script) -> Counts {
    let Options { setup, count, conditions, seed, .. } = options;
    if *seed >= WIDE_FROM {
        return wide::run(options, script);
    }
    let conditions = gated(script, conditions.clone());
    let mut party: Party<Tag> = Party::new(*setup, *count, ((), wander), *seed, conditions);
    let mut dice = Dice::new(*seed, 78);
    let_clocks_drift(&mut party, &mut dice, script);
    party.run(Span::seconds(3));
    let end = party.now + FAULTS;
    while party.now < end {
        fault(&mut party, &mut dice, script);
        party.run(Span::millis(200 + dice.below(1_500)));
    }
    calm(&mut party);
    party.run(CALM);
    judge(&mut party, script)
}

pub(super) fn let_clocks_drift<G: Game<Content: Clone>>(
    party: &mut Party<G>,
    dice: &mut Dice,
    script: &Script,
) {
    (0..party.machines.len()).for_each(|index| let_clock_drift(party, index, dice, script));
}

pub(super) fn let_clock_drift<G: Game<Content: Clone>>(
    party: &mut Party<G>,
    index: usize,
    dice: &mut Dice,
    script: &Script,
) {
    let host = party.machines[index].host;
    let drift = script.habit("drift", dice.below(1001) as i32 - 500, 0);
    party.network.clock_mut(host).set_drift(Time::ZERO, drift);
}

/// What must hold after the calm, and what the run was worth.
pub(super) fn judge<G: Game<Content: Clone>>(party: &mut Party<G>, script: &Script) -> Counts {
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
    script.lasted((party.now - Time::ZERO).as_micros() as f64 / 1e6);
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

pub(super) fn fault<G: Game<Content: Clone>>(
    party: &mut Party<G>,
    dice: &mut Dice,
    script: &Script,
) {
    let (now, count) = (party.now, party.machines.len() as u64);
    let (one, other) = (dice.below(count) as usize, dice.below(count) as usize);
    let hosts = [one, other].map(|index| party.machines[index].host);
    match dice.below(11) {
        0 => {
            if script.allows("cut", now, || format!("from {one} to {other}")) {
                party.network.cut(hosts[0], hosts[1]);
            }
        }
        1 => {
            if script.allows("cut", now, || format!("between {one} and {other}")) {
                party.network.cut_both(hosts[0], hosts[1]);
            }
        }
        2 => part(party, dice.below(1 << count), script),
        3 => {
            let span = Span::millis(dice.below(4_000));
            if script.allows("freeze", now, || format!("{one} for {span}")) {
                party.machines[one].frozen_until = now + span;
            }
        }
        // Somebody must be left who has the world.
        4 if party
            .machines
            .iter()
            .all(|m| m.lockstep.as_ref().is_some_and(|l| l.world().is_some())) =>
        {
            if script.allows("kill", now, || format!("{one} goes dark")) {
                party.kill(one);
            }
        }
        5 => {
            // Two who move at once would not find each other again.
            if script.allows("rebind", now, || "0 moves to another address".to_owned()) {
                let host = party.machines[0].host;
                party.network.rebind(now, host);
            }
        }
        6 => revive(party, |at, index| {
            script.allows("revive", at, || format!("{index} begins anew"))
        }),
        7 => clog(party, other, dice, script),
        8 => {
            // Somebody's clock is set forward.
            let micros = dice.below(2_000_000) as i64;
            if script.allows("clock", now, || format!("{one} forward by {micros} us")) {
                let host = party.machines[one].host;
                party.network.clock_mut(host).step_micros(micros);
            }
        }
        _ => heal(party),
    }
}

/// Cuts every line between two sides; a bit for each machine says on which it is.
fn part<G: Game<Content: Clone>>(party: &mut Party<G>, sides: u64, script: &Script) {
    if !script.allows("partition", party.now, || format!("{sides:b}, machine 0 last")) {
        return;
    }
    let count = party.machines.len();
    for i in 0..count {
        for j in 0..count {
            if sides >> i & 1 != sides >> j & 1 {
                let (from, to) = (party.machines[i].host, party.machines[j].host);
                party.network.cut(from, to);
            }
        }
    }
}

/// Lines are clogged one after the other, and let go in another order: what was held arrives at once.
fn clog<G: Game<Content: Clone>>(
    party: &mut Party<G>,
    other: usize,
    dice: &mut Dice,
    script: &Script,
) {
    let now = party.now;
    let to = party.machines[other].host;
    for (index, machine) in party.machines.iter().enumerate() {
        let begins = now + Span::millis(dice.below(300));
        let ends = begins + Span::millis(50 + dice.below(800));
        let from = machine.host;
        let what = || format!("from {index} to {other} until {ends}");
        if from != to && script.allows("clog", begins, what) {
            let outage = Outage { begins, ends, holds: true };
            party.network.add_outage(now, from, to, outage);
        }
    }
}

fn heal<G: Game<Content: Clone>>(party: &mut Party<G>) {
    let hosts: Vec<_> = party.machines.iter().map(|machine| machine.host).collect();
    for one in &hosts {
        hosts.iter().for_each(|other| party.network.heal(*one, *other));
    }
}

/// Who is not in begins anew, if that is allowed.
fn revive<G: Game<Content: Clone>>(party: &mut Party<G>, allows: impl Fn(Time, usize) -> bool) {
    for index in 0..party.machines.len() {
        // Who does not find in asks somebody else.
        let is_dark = party.machines[index].lockstep.as_ref().is_none_or(|l| l.epoch().is_none());
        if is_dark && allows(party.now, index) {
            party.revive(index);
        }
    }
}

/// Everything works again, as well as lines do.
pub(super) fn calm<G: Game<Content: Clone>>(party: &mut Party<G>) {
    heal(party);
    revive(party, |_, _| true);
    let hosts: Vec<_> = party.machines.iter().map(|machine| machine.host).collect();
    let good = Conditions { delay: Span::millis(30), ..Conditions::PERFECT };
    for one in &hosts {
        hosts.iter().for_each(|other| party.network.set_conditions(*one, *other, good.clone()));
    }
}

#[test]
fn everyone_steps_the_same_worlds_through_all_faults_and_goes_on_after_them() {
    let sweep = SIMULATION.sweep();
    let mut total = Counts::default();
    for counts in &sweep.tallies {
        total.ticks += counts.ticks;
        total.compared += counts.compared;
        total.elections += counts.elections;
        total.returns += counts.returns;
    }
    println!("{total:?}");
    let seeds = sweep.tallies.len() as u64;
    assert!(total.ticks > 300 * seeds, "{total:?}");
    assert!(!sweep.is_whole(20) || total.compared > 500 * seeds, "{total:?}");
    assert!(!sweep.is_whole(50) || (total.elections > 10 && total.returns > 10), "{total:?}");
}

/// What once failed, and the seeds that found it; `elections.rs` has the promises by name.
const FOUND: [(&str, &[u64]); 19] = [
    (
        "a candidate stepped commands that came after an earlier promise of its own",
        &[8111737053224, 4296000903],
    ),
    (
        "a player that had promised a candidate its vote gave up its world for an earlier epoch",
        &[400004697, 400006693, 4296001478, 4296001910, 4296002322],
    ),
    ("two candidates counted one restarted player", &[5000563, 7000194, 7002144, 7000415]),
    ("a leader that had moved was asked where it had been", &[5000216]),
    ("a restarted player asked at a machine that asked itself", &[5000972]),
    ("the last that had the world did not play yet", &[7001044, 7001089, 7002602]),
    ("the last that had the world gave it up for one that was lost", &[7001555, 7001835]),
    ("a late message of a joiner had it taken out again", &[7002515]),
    ("a leader waited for a rival that the others refused", &[7002866]),
    ("a tick waited for commands that nobody had any more", &[7003158]),
    ("the ledger kept what a killed machine was alone with", &[30001065]),
    ("a player lacked commands that were lost with a leader, but not their world", &[90002618]),
    ("a watcher that only a deposed leader knew stayed behind", &[16004195106867]),
    ("a game was full of the rows of those that had left lately", &[16004195106873]),
    ("a watcher kept a restarted player from the last that had a world", &[4295100236]),
    ("a restarted player that had moved heard only of itself from a watcher", &[4295200216]),
    ("a new leader took a player out of a tick that others had stepped", &[4295200247]),
    ("a promise named commands of a joiner that had left before it began", &[4295200261]),
    ("two that had been taken out of each other's rosters did not hear each other", &[4294967468]),
];

#[test]
fn every_seed_that_once_failed_holds() {
    for (what, seeds) in FOUND {
        for seed in seeds {
            println!("seed {seed}: {what}");
            run(&expand(*seed), &Script::all());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_game() {
    let options = expand(2);
    assert_eq!(options.setup.topology, Topology::PacketServer);
    let [one, other] = [run(&options, &Script::all()), run(&options, &Script::all())];
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn the_same_wide_seed_gives_the_same_game() {
    let options = expand(WIDE_FROM + 1);
    let [one, other] = [run(&options, &Script::all()), run(&options, &Script::all())];
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    run(&expand(3), &script);
    let kinds = ["jitter", "duplicates", "reordering", "drift", "cut", "partition", "clock"];
    let drawn = [
        "jitter, always: Uniform { width: Span(39000) }",
        "duplicates, always: 0.040506517739551384",
        "reordering, always: 0.0917666386264841",
        "drift, always: -24",
        "drift, always: 50",
        "drift, always: 494",
        "cut, 3.564000 s: between 0 and 2",
        "clock, 4.784000 s: 1 forward by 953707 us",
        "partition, 5.468000 s: 1, machine 0 last",
        "clock, 6.608000 s: 1 forward by 763039 us",
        "cut, 8.216000 s: from 0 to 0",
        "partition, 9.020000 s: 101, machine 0 last",
    ];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}
