//! Runs the simulated games of many seeds.
//!
//! The environment says how much is run ([`sametick_seeds`]); a failure prints the command that repeats it.

use super::ledger::Counts;
use super::simulation::{Options, run};
use sametick_seeds::{Script, Seconds, Simulation};

const SIMULATION: Simulation<Options, Counts> = Simulation {
    name: "games",
    program: "-p sametick --features secure --test all",
    test: "game::seeds::every_invariant_of_a_game_holds_for_every_seed",
    seeds: 200,
    // Faults, then 4 s of calm.
    seconds: Some(Seconds { usual: 20, min: 12 }),
    expand: Options::expand,
    run: |options, script| run(options, script).counts,
};

#[test]
fn every_invariant_of_a_game_holds_for_every_seed() {
    let sweep = SIMULATION.sweep();
    let mut total = Counts::default();
    sweep.tallies.iter().for_each(|counts| add(&mut total, *counts));
    println!("{total:?}");
    if sweep.is_whole(20) {
        assert!(total.verdicts > 0 && total.farewells > 0, "nobody shot, or no stone fell");
        assert!(
            total.predictions > 0 && total.commands > 0 && total.events > 0,
            "nothing was checked"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_game() {
    let options = Options::expand(1_000, 12);
    let [one, other] = [(), ()].map(|()| run(&options, &Script::all()).counts);
    assert_eq!(one, other);
}

fn add(total: &mut Counts, more: Counts) {
    total.snapshots += more.snapshots;
    total.verdicts += more.verdicts;
    total.farewells += more.farewells;
    total.whole += more.whole;
    total.predictions += more.predictions;
    total.commands += more.commands;
    total.events += more.events;
    total.sessions += more.sessions;
    total.ahead_max = total.ahead_max.max(more.ahead_max);
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    run(&Options::expand(1_000, 12), &script);
    let kinds = ["jitter", "loss", "duplicates", "reordering"];
    let drawn = ["loss, always: Random { probability: 0.05 }", "duplicates, always: 0.1"];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}
