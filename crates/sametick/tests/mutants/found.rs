//! Every mutant, the simulation that is responsible for it, and the first seed that finds it.

use crate::simulations::Simulation;
use sametick::mutant::Mutant;

/// One row.
pub(crate) struct Found {
    pub(crate) mutant: Mutant,
    pub(crate) simulation: Simulation,
    /// The first seed that finds it, as `SAMETICK_MUTANTS=search` says.
    pub(crate) seed: u64,
}

/// The first seed of those with wider faults.
pub(crate) const WIDE: u64 = 1 << 32;

impl Found {
    /// From where on it is searched for: from the first of the seeds that find it.
    pub(crate) fn first_seed(&self) -> u64 {
        if self.seed >= WIDE { WIDE } else { 0 }
    }
}

const fn found(mutant: Mutant, simulation: Simulation, seed: u64) -> Found {
    Found { mutant, simulation, seed }
}

pub(crate) const FOUND: [Found; 28] = [
    found(Mutant::WindowBeforeAuthentication, Simulation::Connections, 0),
    found(Mutant::AdditiveOverflow, Simulation::Connections, 2),
    found(Mutant::UnclampedAcknowledgement, Simulation::Connections, 3),
    found(Mutant::UnboundedGaps, Simulation::Connections, 11),
    found(Mutant::KeysAgainAfterRestart, Simulation::Connections, 44),
    found(Mutant::AckOneBeyondAGap, Simulation::Connections, 0),
    found(Mutant::WindowAWordTooLong, Simulation::Connections, 162),
    found(Mutant::PathProvenByTheOldPath, Simulation::Connections, 717),
    found(Mutant::OlderAttemptKept, Simulation::Connections, WIDE),
    found(Mutant::BurstAboveTheCeiling, Simulation::Connections, WIDE + 3),
    found(Mutant::BaselineJoinedAPartEarly, Simulation::Games, 295),
    found(Mutant::OnScreenASnapshotEarly, Simulation::Games, 1),
    found(Mutant::FreshVersionNotMarked, Simulation::Games, 0),
    found(Mutant::RewoundBeyondTheLimit, Simulation::Games, 2),
    found(Mutant::CommandsForgottenWithALostPart, Simulation::Games, 139),
    found(Mutant::LeaseFromWhatWasHeard, Simulation::Lockstep, WIDE + 21),
    found(Mutant::GoneATickEarly, Simulation::Lockstep, 7),
    found(Mutant::RosterAfterItsPromise, Simulation::Lockstep, WIDE + 66),
    found(Mutant::HearsAfterItsPromise, Simulation::Lockstep, 13),
    found(Mutant::PromiseBeforeHandover, Simulation::Lockstep, 7),
    found(Mutant::LeaseFromLastHeard, Simulation::Migration, 2),
    found(Mutant::SettledByTheNewElectorate, Simulation::Migration, 18),
    found(Mutant::ProxyKeptOnReturn, Simulation::Migration, WIDE + 3),
    found(Mutant::LastWordForEverySuccessor, Simulation::Migration, WIDE + 8),
    found(Mutant::StandsWithAnOldOrder, Simulation::Migration, WIDE + 1),
    found(Mutant::SameSlotSameEntity, Simulation::EventLocking, 1),
    found(Mutant::SightOfTheLastViewer, Simulation::EventLocking, 0),
    found(Mutant::DenialMovesTheTick, Simulation::EventLocking, 0),
];
