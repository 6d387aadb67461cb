//! The tests of the lab in one program: what they share is compiled once, and no core waits for the last of each.

mod common;

#[path = "any.rs"]
mod any;
#[path = "around.rs"]
mod around;
#[path = "bad_input.rs"]
mod bad_input;
#[path = "document.rs"]
mod document;
#[path = "imports.rs"]
mod imports;
#[path = "people.rs"]
mod people;
#[path = "people_file.rs"]
mod people_file;
#[path = "people_log.rs"]
mod people_log;
#[path = "people_seats.rs"]
mod people_seats;
#[path = "runs.rs"]
mod runs;
#[path = "shipped.rs"]
mod shipped;
#[path = "targets.rs"]
mod targets;
#[path = "trials.rs"]
mod trials;
