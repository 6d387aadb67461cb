//! Bits, time, ids, random numbers and bounded containers. Knows nothing of values, games or connections.

pub mod bits;
pub(crate) mod dice;
pub(crate) mod entity;
pub(crate) mod list;
#[cfg(not(feature = "mutants"))]
pub(crate) mod mutant;
#[cfg(feature = "mutants")]
pub mod mutant;
pub(crate) mod order;
pub(crate) mod peer;
pub(crate) mod sequence;
pub(crate) mod slots;
pub(crate) mod tick;
pub(crate) mod time;
