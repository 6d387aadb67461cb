//! Whole worlds by seed: every invariant of delivery, security and resources, checked at each step.
//!
//! The environment says how much is run ([`sametick_seeds`]); a failure prints the command that repeats it.
#![cfg(feature = "secure")]

mod harness;
mod pinned;

use harness::{Counts, Options, run};
use sametick_seeds::{Script, Seconds, Simulation};

const SIMULATION: Simulation<Options, Counts> = Simulation {
    name: "connections",
    program: "-p sametick --features secure --test all",
    test: "simulation::every_invariant_holds_for_every_seed",
    seeds: 200,
    // Faults, then 5 s of calm.
    seconds: Some(Seconds { usual: 60, min: 12 }),
    expand: Options::expand,
    run: |options, script| run(options, script).counts,
};

#[test]
fn every_invariant_holds_for_every_seed() {
    let mut total = Counts::default();
    SIMULATION.sweep().tallies.iter().for_each(|counts| add(&mut total, *counts));
    println!("{total:?}");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    for seed in 1_000..1_006 {
        let options = Options::expand(seed, 15);
        let [one, other] = [(), ()].map(|()| run(&options, &Script::all()));
        assert_eq!(one, other, "seed {seed}");
    }
}

fn add(total: &mut Counts, more: Counts) {
    total.datagrams += more.datagrams;
    total.joins += more.joins;
    total.reliables += more.reliables;
    total.unreliables += more.unreliables;
    total.delivered += more.delivered;
    total.forgeries += more.forgeries;
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    run(&Options::expand(9, 15), &script);
    let kinds = ["loss", "rebind", "cut", "restart"];
    let drawn = [
        "loss, always: Random { probability: 0.2 }",
        "cut, 3.000060 s: from the server, client 3, until 4.863060 s",
        "rebind, 5.000100 s: client 0 has a new address",
        "rebind, 5.000100 s: client 1 has a new address",
        "rebind, 5.000100 s: client 2 has a new address",
        "rebind, 5.000100 s: client 3 has a new address",
        "cut, 7.950159 s: from the server, client 2, until 8.570159 s",
        "cut, 9.316853 s: from the server, client 1, until 10.863853 s",
    ];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}
