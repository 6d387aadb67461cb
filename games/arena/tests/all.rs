//! The tests of the arena in one program: what they share is compiled once, and no core waits for the last of each.

#[path = "../../../crates/sametick/tests/common/gated.rs"]
mod gated;
mod harness;

#[path = "bots/main.rs"]
mod bots;
#[path = "hidden/main.rs"]
mod hidden;
#[path = "hostile/main.rs"]
mod hostile;
#[path = "lockstep.rs"]
mod lockstep;
#[path = "maps.rs"]
mod maps;
#[path = "prediction.rs"]
mod prediction;
#[path = "replays.rs"]
mod replays;
#[path = "rules/main.rs"]
mod rules;
#[path = "simulation.rs"]
mod simulation;
#[path = "theatre.rs"]
mod theatre;
#[path = "theatre_lockstep.rs"]
mod theatre_lockstep;
#[path = "truth/main.rs"]
mod truth;
