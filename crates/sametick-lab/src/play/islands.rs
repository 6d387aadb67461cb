//! A trial on Islands: a war of bots under event locking, under snapshots or frame by frame.

use super::books::all_lines;
use super::mind::Library;
use crate::contest::{Contest, Way};
use crate::plan::Trial;
use crate::rows::{PlayerRow, SecondRow, TrialLog};

/// The ways in which Islands can be played, by the models' names.
pub(crate) const WAYS: [(&str, Way); 3] =
    [("netstorm", Way::EventLocked), ("quake", Way::Snapshots), ("frame_locked", Way::FrameLocked)];

/// Plays a trial, in virtual time.
pub(crate) fn play(trial: &Trial, library: &Library) -> Result<TrialLog, String> {
    let settings = &trial.settings;
    let model = settings.text("model");
    let way = WAYS.iter().find(|(name, _)| *name == model).map(|(_, way)| *way);
    let way = way.ok_or_else(|| format!("{model:?} is not played on Islands"))?;
    let seconds = |name| (settings.number(name).unwrap_or(0.0) / 1000.0).ceil() as u32;
    let contest = Contest {
        seconds: seconds("warm_up") + seconds("duration"),
        warm_up_seconds: seconds("warm_up"),
        players: settings.players() as u8,
        seed: trial.seed,
        budget: settings.number("budget").map(|kilobits| (kilobits * 125.0) as u32),
        lines: all_lines(settings, &library.folder, 0.0)?,
    };
    let seen = contest.play(way);
    if !seen.verified {
        return Err("the worlds of two machines were not the same".to_owned());
    }
    let mut log = TrialLog::default();
    let row = |second: usize, player: usize, bytes_out: u64| {
        let (second, player) = (second as u32, player as u32);
        SecondRow { second, player, bytes_out, ..SecondRow::default() }
    };
    let server = seen.traffic.server().enumerate();
    log.seconds.extend(server.map(|(second, bytes)| row(second, 0, bytes)));
    for (index, client) in seen.traffic.clients().enumerate() {
        let of_client = client.enumerate();
        log.seconds.extend(of_client.map(|(second, bytes)| row(second, index + 1, bytes)));
        let player = index as u32 + 1;
        log.players.push(PlayerRow { player, role: "bot", joined: true, ..PlayerRow::default() });
    }
    log.figures = vec![
        ("units_alive", seen.units_alive_min as f64),
        ("units_under_fire", seen.units_under_fire_mean),
        ("stall_ticks", f64::from(seen.stall_ticks_others_max)),
        ("server_peak", seen.traffic.server_peak_second()),
    ];
    Ok(log)
}
