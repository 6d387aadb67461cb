//! Lockstep games over simulated networks: everyone steps the same worlds, whatever the network does.

mod faults;
mod party;
mod tag;

use party::{Party, wander};
use sametick::lockstep::{Role, Setup};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Span, Time};
use tag::Tag;

fn line(ping: u64, loss: f64) -> Conditions {
    Conditions {
        delay: Span::micros(ping * 500),
        jitter: Jitter::Uniform { width: Span::millis(ping / 20) },
        loss: Loss::Random { probability: loss },
        keep_order: false,
        ..Conditions::PERFECT
    }
}

fn party(setup: Setup, count: usize, seed: u64, conditions: Conditions) -> Party<Tag> {
    let setup = Setup { players: count as u8, ..setup };
    Party::new(setup, count, ((), wander), seed, conditions)
}

#[test]
fn every_model_keeps_everyone_on_the_same_tick() {
    for (name, setup) in Setup::ALL {
        for count in [2, 4, 8] {
            let mut party = party(setup, count, 5, line(80, 0.05));
            party.run(Span::seconds(10));
            party.check();
            party.check_united(30);
            let tick = party.lockstep(0).world().unwrap().tick().0;
            println!("{name} {count}: tick {tick}, {} compared, {:?}", party.compared, party.lockstep(1).statistics());
            assert!(tick > 400, "{name} with {count}: tick {tick}");
            assert!(party.compared > 300 * (count as u64 - 1), "{name}: {}", party.compared);
        }
    }
}
