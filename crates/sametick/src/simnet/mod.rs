//! The simulated network. Knows nothing of what is sent over it.

pub mod network;
