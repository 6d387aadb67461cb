//! Whole games: what their simulation finds in the module around it.

use sametick::Dice;
use sametick::secure::Random;

pub(crate) struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

#[path = "../game/arena.rs"]
mod arena;
#[path = "../game/ledger.rs"]
mod ledger;
#[path = "../game/simulation.rs"]
pub(crate) mod simulation;
