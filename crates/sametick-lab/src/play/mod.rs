//! Plays one trial and says what is to be logged of it. Chance comes from the trial's seed, time from the carrier.

mod books;
mod carrier;
mod clock;
mod elsewhere;
mod fpsci;
mod frames;
mod islands;
mod lines;
mod live;
mod lockstep;
mod mind;
mod screen;
mod served;
mod targets;
mod verdicts;
mod weighing;

pub(crate) use books::Seeded;
pub(crate) use islands::WAYS as ISLANDS_WAYS;
pub(crate) use lines::{asked, conditions, says_delay};

pub use carrier::{Carrier, NewCarrier, Simulated};
pub use live::{
    Achieved, DROPPED_AFTER, Door, Ended, GATHERING_MAX, Person, Watch, Wish, live_ground,
    play_live,
};
pub use mind::{Library, content_named, content_recorded};

use crate::plan::Trial;
use crate::rows::TrialLog;
use sametick::Model;
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
        "islands" => islands::play(trial, library)?,
        "clock" => clock::play(trial, library, carrier(2, trial.seed)?)?,
        _ if Setup::named(trial.settings.text("model")).is_some() => {
            lockstep::play(trial, library, carrier(players, trial.seed)?)?
        }
        _ => served::play(trial, library, carrier(players + 1, trial.seed)?, None)?.log,
    };
    log.wall_ms = begun.elapsed().as_secs_f64() * 1000.0;
    Ok(log)
}

/// A trial that was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What is to be logged of it.
    pub log: TrialLog,
    /// As `sametick replay` reads it.
    pub recording: Vec<u8>,
    /// Its last tick; it begins with 0.
    pub last_tick: u32,
}

/// Plays a trial again in virtual time and records it, as `sametick replay` reads it. Only matches and scenes with a
/// server can be recorded.
pub fn record(trial: &Trial, library: &Library) -> Result<Recorded, String> {
    let is_served = Model::named(trial.settings.text("model")).is_some();
    if !is_served || !["match", "scene"].contains(&trial.settings.text("play")) {
        return Err("only matches and scenes with a server are recorded".to_owned());
    }
    let hosts = trial.settings.players() as usize + 1;
    let carrier = || Box::new(Simulated::new(hosts, trial.seed));
    // Who sits where is known once it was played; the recording tells it, so that players have the log's numbers there.
    let seats = served::play(trial, library, carrier(), None)?.seats;
    let played = served::play(trial, library, carrier(), Some(&seats))?;
    let (log, last_tick) = (played.log, played.last_tick);
    Ok(Recorded { log, recording: played.recording.unwrap_or_default(), last_tick })
}
