//! The line between a headless player and its server, as options.

use anyhow::bail;
use clap::Args;
use clap::builder::PossibleValuesParser;
use sametick::Span;
use sametick::network::{Conditions, Jitter, Loss, Profile};

/// Delay, jitter and loss of both directions, or a line by name.
#[derive(Args, Clone, Debug)]
pub(crate) struct LineOptions {
    /// Delay each way in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0, conflicts_with = "profile")]
    delay: f64,
    /// Up to so many milliseconds more each way, at random
    #[arg(long, value_name = "MS", default_value_t = 0.0, conflicts_with = "profile")]
    jitter: f64,
    /// Share of datagrams lost each way, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, conflicts_with = "profile")]
    loss: f64,
    /// A line that many people have (docs/networks.md)
    #[arg(long, value_parser = PossibleValuesParser::new(Profile::NAMES))]
    profile: Option<String>,
}

impl LineOptions {
    /// To the server, and from it.
    pub(crate) fn conditions(&self) -> anyhow::Result<[Conditions; 2]> {
        if let Some(profile) = self.profile.as_deref().and_then(Profile::named) {
            return Ok([profile.up, profile.down]);
        }
        for (name, value) in [("delay", self.delay), ("jitter", self.jitter)] {
            if !(0.0..=DELAY_MS_MAX).contains(&value) {
                bail!(
                    "--{name} {value} is not possible: it takes 0 to {DELAY_MS_MAX} milliseconds"
                );
            }
        }
        if !(0.0..=1.0).contains(&self.loss) {
            bail!("--loss {} is not possible: it is a share from 0 to 1, 0.05 is 5 %", self.loss);
        }
        let width = Span::from_millis_f64(self.jitter);
        let conditions = Conditions {
            delay: Span::from_millis_f64(self.delay),
            jitter: if self.jitter > 0.0 { Jitter::Uniform { width } } else { Jitter::None },
            loss: if self.loss > 0.0 {
                Loss::Random { probability: self.loss }
            } else {
                Loss::None
            },
            ..Conditions::PERFECT
        };
        Ok([conditions.clone(), conditions])
    }
}

/// Nobody would play over a slower line.
const DELAY_MS_MAX: f64 = 5_000.0;
