//! Plays one trial and says what is to be logged of it. Chance comes from the trial's seed, time from the carrier.

mod carrier;
mod fpsci;
mod lines;
mod lockstep;
mod mind;
mod screen;
mod served;
mod verdicts;

pub use carrier::{Carrier, NewCarrier, Simulated};
pub use mind::Library;

use crate::plan::Trial;
use crate::rows::TrialLog;
use sametick::lockstep::Setup;

/// Plays a trial. With the [`Simulated`] carrier its log is the same every time, but for the time it took.
pub fn play(
    trial: &Trial,
    library: &Library,
    carrier: &NewCarrier<'_>,
) -> Result<TrialLog, String> {
    let players = trial.settings.players() as usize;
    let begun = std::time::Instant::now();
    let mut log = match trial.settings.text("play") {
        "fpsci" => fpsci::play(trial, library, carrier(players + 1, trial.seed)?)?,
        _ if Setup::named(trial.settings.text("model")).is_some() => {
            lockstep::play(trial, library, carrier(players, trial.seed)?)?
        }
        _ => served::play(trial, library, carrier(players + 1, trial.seed)?)?,
    };
    log.wall_ms = begun.elapsed().as_secs_f64() * 1000.0;
    Ok(log)
}
