//! The tests of the library in one program: what they share is compiled once, and no core waits for the last of each.
//! Beside it are those that need a program of their own; Cargo.toml names them.

mod common;
#[path = "common/damage.rs"]
mod damage;
#[path = "common/gated.rs"]
mod gated;
#[path = "common/tag.rs"]
mod tag;

#[path = "canonical.rs"]
mod canonical;
#[path = "coded_streams.rs"]
mod coded_streams;
#[path = "compact.rs"]
mod compact;
#[path = "congestion.rs"]
mod congestion;
#[path = "deltas.rs"]
mod deltas;
#[path = "endpoint/main.rs"]
mod endpoint;
#[path = "eventlock/main.rs"]
mod eventlock;
#[path = "game/main.rs"]
mod game;
#[path = "golden_bytes.rs"]
mod golden_bytes;
#[path = "health/main.rs"]
mod health;
#[path = "kinds.rs"]
mod kinds;
#[path = "large/main.rs"]
mod large;
#[path = "lines.rs"]
mod lines;
#[path = "lockstep/main.rs"]
mod lockstep;
#[path = "models/main.rs"]
mod models;
#[path = "network.rs"]
mod network;
#[path = "networks_document.rs"]
mod networks_document;
#[path = "records.rs"]
mod records;
#[path = "replays.rs"]
mod replays;
#[path = "secure/main.rs"]
mod secure;
#[path = "simulation/main.rs"]
mod simulation;
#[path = "streams.rs"]
mod streams;
#[path = "succession/main.rs"]
mod succession;
#[path = "theatre.rs"]
mod theatre;
#[path = "threats/main.rs"]
mod threats;
#[path = "widths.rs"]
mod widths;
#[path = "worlds.rs"]
mod worlds;
