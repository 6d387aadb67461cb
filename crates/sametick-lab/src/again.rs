//! Plays a trial of a log again, and records it for `sametick replay`.

use crate::experiment::Experiment;
use crate::log::{Log, LogError, build};
use crate::plan::Plan;
use crate::play::{Library, Recorded, record};
use std::path::Path;

/// The recording of a trial. It is played again from the log's own file and seed, and must end in the same world; paths
/// in the file begin in `folder`.
pub fn play_again(log: &Log, number: u32, folder: &Path) -> Result<Recorded, LogError> {
    let path = log.path().display();
    let sql = "SELECT config, is_quick, build FROM experiment";
    let (config, is_quick, by): (String, bool, String) =
        log.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if by != build() {
        let this = build();
        return Err(LogError(format!("{path} was made by {by}, and this is {this}: use that one")));
    }
    let sql = "SELECT world_hash, is_virtual FROM trial WHERE trial = ?1";
    let trial: rusqlite::Result<(String, bool)> =
        log.connection.query_row(sql, [number], |row| Ok((row.get(0)?, row.get(1)?)));
    let Ok((hash, is_virtual)) = trial else {
        return Err(LogError(format!("{path} has no trial {number}")));
    };
    if !is_virtual {
        return Err(LogError(format!(
            "trial {number} was played over real sockets, and no run is like another there"
        )));
    }
    let odd = |what: String| LogError(format!("trial {number}: {what}"));
    let experiment = Experiment::read(&config, folder, is_quick).map_err(|w| odd(w.to_string()))?;
    let plan = Plan::new(&experiment).map_err(|wrong| odd(wrong.to_string()))?;
    let trial =
        plan.trials.get(number as usize - 1).ok_or_else(|| odd("not planned".to_owned()))?;
    let recorded = record(trial, &Library::new(folder)).map_err(odd)?;
    if format!("{:016x}", recorded.log.world_hash) != hash {
        return Err(odd("played again it ends otherwise: maps or traces have changed".to_owned()));
    }
    Ok(recorded)
}
