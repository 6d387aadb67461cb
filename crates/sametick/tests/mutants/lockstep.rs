//! Lockstep games: what their simulation finds in the module around it.

#[path = "../lockstep/faults.rs"]
pub(crate) mod faults;
#[path = "../lockstep/party.rs"]
mod party;
#[path = "../lockstep/strikes.rs"]
mod strikes;
#[path = "../lockstep/wide.rs"]
mod wide;
