//! The rules of Islands, whole contests of bots, and the same contest under lockstep and snapshots.

mod contests;
mod fog;
mod maps;
mod networks;
mod production;
mod requests;
mod stage;
mod telling;
mod theatre;
mod ways;
