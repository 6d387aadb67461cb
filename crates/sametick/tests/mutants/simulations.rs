//! The simulations in which mutants are searched for, and how one seed of each is run.

use crate::{connections, eventlock, game, lockstep, succession};
use sametick_seeds::Script;

/// Which simulation is responsible for a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simulation {
    Connections,
    Games,
    Lockstep,
    Migration,
    EventLocking,
}

/// How long a run of connections or of a game is.
const SECONDS: u64 = 20;

impl Simulation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Games => "games",
            Self::Lockstep => "lockstep",
            Self::Migration => "host migration",
            Self::EventLocking => "event locking",
        }
    }

    /// Runs one seed; panics where an invariant does not hold.
    pub(crate) fn run(self, seed: u64) {
        let script = Script::all();
        match self {
            Self::Connections => {
                connections::run(&connections::Options::expand(seed, SECONDS), &script);
            }
            Self::Games => {
                game::simulation::run(&game::simulation::Options::expand(seed, SECONDS), &script);
            }
            Self::Lockstep => {
                lockstep::faults::run(&lockstep::faults::expand(seed), &script);
            }
            Self::Migration => {
                succession::partitions::run(&seed, &script);
            }
            Self::EventLocking => {
                eventlock::agreement::play(seed, &script);
            }
        }
    }
}
