//! The figures of a net graph, and warnings that name the cause. Knows nothing of games, sockets or screens.

pub mod health;
