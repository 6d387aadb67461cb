//! Bots: they get everywhere, see what they may, aim as well as their skill, play matches, and act scripts.

mod acts;
mod errands;
mod far;
mod matches;
mod party;
mod range;
mod senses;
