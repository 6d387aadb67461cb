//! Event-locked games: what their simulation finds in the module around it.

#[path = "../eventlock/agreement.rs"]
pub(crate) mod agreement;
#[path = "../eventlock/party.rs"]
mod party;
#[path = "../eventlock/tanks.rs"]
mod tanks;
#[path = "../eventlock/wide.rs"]
mod wide;
