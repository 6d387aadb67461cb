//! The rules of the arena, each in a small world of its own.

mod chaos;
mod matches;
mod movement;
mod play;
mod size;
mod targets;
mod things;
mod version;
mod weapons;
