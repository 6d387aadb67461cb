//! What a line is asked for, and what it achieved: a round trip and a loss.

use crate::play::{asked, conditions};
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
            ping_ms: says(settings, player, &DELAYS).then_some(up.0 + down.0),
            loss: says(settings, player, &LOSSES).then_some((up.1 + down.1) / 2.0),
        }
    }

    /// The shortest round trip that a player's line must be capable of, without jitter.
    pub(crate) fn least_ms(settings: &Settings, folder: &Path, player: u32) -> Option<f64> {
        let way = |is_up| conditions(settings, folder, player, is_up, 0.0).ok();
        let ms = way(true)?.delay.as_millis_f64() + way(false)?.delay.as_millis_f64();
        says(settings, player, &DELAYS).then_some(ms)
    }
}

const DELAYS: [&str; 4] = ["profile", "ping", "delay_up", "delay_down"];
const LOSSES: [&str; 4] = ["profile", "loss", "loss_up", "loss_down"];

fn says(settings: &Settings, player: u32, names: &[&'static str]) -> bool {
    names.iter().any(|name| *settings.value_of(player, name) != Value::Unsaid)
}
