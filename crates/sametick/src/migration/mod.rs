//! Host migration: which player continues the game of a host that is gone. Knows nothing of rules.

pub mod succession;
