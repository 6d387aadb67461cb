//! The rules of Islands, whole contests of bots, and the same contest under lockstep and snapshots.

mod contests;
mod fog;
#[path = "../../../../crates/sametick/tests/common/gated.rs"]
mod gated;
mod limits;
mod maps;
mod networks;
mod production;
mod requests;
mod secrets;
mod seeds;
mod stage;
mod telling;
mod theatre;
mod ways;
