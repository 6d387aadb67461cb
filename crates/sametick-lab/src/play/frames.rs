//! How long the parts of frames and ticks take, and what came and went in each.

use super::carrier::Counts;
use crate::rows::{FrameRow, TrialLog};
use std::time::Instant;

/// What a machine is busy with.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Network,
    Rules,
    Encoding,
    Drawing,
}

/// The frame under way of every host, if anyone wants to know.
pub(crate) struct Frames {
    is_on: bool,
    hosts: Vec<([f64; 4], Counts)>,
}

impl Frames {
    pub(crate) fn new(is_on: bool, hosts: usize) -> Self {
        Self { is_on, hosts: vec![([0.0; 4], Counts::default()); hosts] }
    }

    /// A part begins.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.is_on.then(Instant::now)
    }

    /// It is over.
    pub(crate) fn stop(&mut self, host: usize, part: Part, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.hosts[host].0[part as usize] += begun.elapsed().as_secs_f64() * 1000.0;
        }
    }

    /// The whole frame is over.
    pub(crate) fn end(
        &mut self,
        host: usize,
        now: Counts,
        (time_ms, tick): (f64, u32),
        log: &mut TrialLog,
    ) {
        if !self.is_on {
            return;
        }
        let (took_ms, before) = std::mem::replace(&mut self.hosts[host], ([0.0; 4], now));
        if time_ms >= 0.0 {
            let counts = [
                now.packets_out - before.packets_out,
                now.bytes_out - before.bytes_out,
                now.packets_in - before.packets_in,
                now.bytes_in - before.bytes_in,
            ];
            let row = FrameRow { time_ms, tick, player: host as u32, counts, took_ms };
            TrialLog::keep(&mut log.frames, &mut log.dropped, row);
        }
    }
}
