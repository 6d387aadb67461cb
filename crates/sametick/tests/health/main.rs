//! What a net graph and its warnings promise. Each warning has a run that fires it, one that must not, and one
//! at the edge where it must not flicker: real server and client, seeded network, virtual time.
#![cfg(feature = "secure")]

mod document;
mod figures;
mod run;
mod street;
mod warnings;
