//! What a line is asked for, and what it achieved: a round trip and a loss.

use crate::play::{asked, conditions, says_delay};
use crate::settings::Settings;
use crate::value::Value;
use std::path::Path;

/// A line in two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// There and back, with the mean of its jitter; none if nothing is asked or known.
    pub ping_ms: Option<f64>,
    /// Share lost each way, the mean of both, 0 to 1; none if nothing is asked or known.
    pub loss: Option<f64>,
}

impl Line {
    /// What is asked of a player's line at the start of a trial; paths of traces begin in `folder`.
    pub fn asked(settings: &Settings, folder: &Path, player: u32) -> Self {
        let way = |is_up| conditions(settings, folder, player, is_up, 0.0).ok();
        let (Some(up), Some(down)) = (way(true), way(false)) else { return Self::default() };
        let (up, down) = (asked(&up), asked(&down));
        Self {
            ping_ms: says_delay(settings, player, 0.0).then_some(up.0 + down.0),
            loss: says_loss(settings, player).then_some((up.1 + down.1) / 2.0),
        }
    }

    /// The shortest round trip that a player's line must be capable of in a trial. Jitter and traces come on top of it:
    /// a line's own time is taken from its delay alone.
    pub(crate) fn least_ms(settings: &Settings, folder: &Path, player: u32) -> Option<f64> {
        let ms = |at_ms: f64| {
            let way = |is_up| conditions(settings, folder, player, is_up, at_ms).ok();
            let ms = way(true)?.delay.as_millis_f64() + way(false)?.delay.as_millis_f64();
            says_delay(settings, player, at_ms).then_some(ms)
        };
        // Between these moments a line stays as it is, or goes straight from one to the next.
        let ends = settings.changes.iter().flat_map(|one| [one.at_ms, one.at_ms + one.over_ms]);
        [0.0].into_iter().chain(ends).filter_map(ms).min_by(f64::total_cmp)
    }
}

const LOSSES: [&str; 4] = ["profile", "loss", "loss_up", "loss_down"];

fn says_loss(settings: &Settings, player: u32) -> bool {
    LOSSES.iter().any(|name| *settings.value_of(player, name) != Value::Unsaid)
}
