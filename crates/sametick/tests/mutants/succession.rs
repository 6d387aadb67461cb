//! Host migration: what its simulation finds in the module around it.

use sametick::Span;

const WARM_UP: Span = Span::millis(2_500);

#[path = "../succession/partitions.rs"]
pub(crate) mod partitions;
#[path = "../succession/party.rs"]
mod party;
#[path = "../succession/scores.rs"]
mod scores;
#[path = "../succession/strikes.rs"]
mod strikes;
