//! What a player asks of its own line: delay, jitter, loss and rate, as the sliders and the page's address have them.

use sametick::Span;
use sametick::network::{Conditions, Jitter, Loss};

/// The most of each that can be asked for.
pub(crate) const DELAY_MS_MAX: f64 = 500.0;
/// The most jitter.
pub(crate) const JITTER_MS_MAX: f64 = 200.0;
/// The most loss: nothing comes through.
pub(crate) const LOSS_PERCENT_MAX: f64 = 100.0;
/// The fastest line that is still a limit.
pub(crate) const RATE_KBPS_MAX: f64 = 256.0;

/// What is asked for, each way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Added each way.
    pub(crate) delay_ms: f64,
    /// Up to so much more.
    pub(crate) jitter_ms: f64,
    /// Of a hundred datagrams towards the server, and from it.
    pub(crate) loss_percent: [f64; 2],
    /// Kilobytes a second; 0 is as fast as it goes.
    pub(crate) rate_kbps: f64,
}

impl Wanted {
    /// Within what can be asked for.
    pub(crate) fn clamped(self) -> Self {
        let within =
            |value: f64, most: f64| if value.is_finite() { value.clamp(0.0, most) } else { 0.0 };
        Self {
            delay_ms: within(self.delay_ms, DELAY_MS_MAX),
            jitter_ms: within(self.jitter_ms, JITTER_MS_MAX),
            loss_percent: self.loss_percent.map(|loss| within(loss, LOSS_PERCENT_MAX)),
            rate_kbps: within(self.rate_kbps, RATE_KBPS_MAX),
        }
    }

    /// As the library's lines have it: towards the server, and from it.
    pub(crate) fn conditions(&self) -> [Conditions; 2] {
        let Self { delay_ms, jitter_ms, loss_percent, rate_kbps } = self.clamped();
        let width = Span::from_millis_f64(jitter_ms);
        loss_percent.map(|loss_percent| Conditions {
            delay: Span::from_millis_f64(delay_ms),
            jitter: if jitter_ms > 0.0 { Jitter::Uniform { width } } else { Jitter::None },
            loss: if loss_percent > 0.0 {
                Loss::Random { probability: loss_percent / 100.0 }
            } else {
                Loss::None
            },
            bandwidth_bytes_per_second: (rate_kbps > 0.0)
                .then_some((rate_kbps * 1000.0).max(1.0) as u32),
            ..Conditions::PERFECT
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_for_a_line_can_have() {
        let odd = [-5.0, 0.0, 17.5, 1e9, f64::NAN, f64::INFINITY];
        for value in odd {
            let wanted = Wanted {
                delay_ms: value,
                jitter_ms: value,
                loss_percent: [value; 2],
                rate_kbps: value,
            };
            assert!(wanted.conditions().iter().all(|way| way.check().is_ok()), "{value}");
        }
    }

    #[test]
    fn nothing_asked_for_is_a_perfect_line() {
        assert_eq!(Wanted::default().conditions(), [Conditions::PERFECT, Conditions::PERFECT]);
    }
}
