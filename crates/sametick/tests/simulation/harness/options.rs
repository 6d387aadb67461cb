//! What one seed stands for: every fault, size and habit of a run, so that it can be printed.

use sametick::channel::{Compression, RateLimits, Settings};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Dice, Span};

/// The virtual time without faults at the end of each run.
pub(crate) const CALM: Span = Span::seconds(5);

/// All that a run is made of; nothing else decides it.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    pub(crate) clients: usize,
    pub(crate) delay_ms: u64,
    pub(crate) loss_percent: u32,
    pub(crate) losses_in_bursts: bool,
    pub(crate) duplicate_percent: u32,
    pub(crate) reorder_by_ms: u64,
    pub(crate) bit_flip_percent: u32,
    pub(crate) truncate_percent: u32,
    pub(crate) bandwidth_bytes_per_second: Option<u32>,
    pub(crate) rebinds: bool,
    pub(crate) one_way_cuts: bool,
    pub(crate) clients_leave: bool,
    pub(crate) server_restarts: bool,
    pub(crate) adversary: bool,
    pub(crate) liar: bool,
    /// Whether the ends ask for their budget before they send, as they should.
    pub(crate) asks_budget: bool,
    pub(crate) first_number: u64,
    pub(crate) ceiling_bytes_per_second: u32,
    pub(crate) floor_bytes_per_second: u32,
    pub(crate) zero_runs: bool,
}

impl Options {
    pub(crate) fn expand(seed: u64, seconds: u64) -> Self {
        let dice = &mut Dice::new(seed, 1);
        // The first number is so far below an edge that the edge is passed within seconds.
        let below_edge = 1 + dice.below(400);
        let first_number = match seed % 4 {
            1 => (1 << 16) - below_edge,
            2 => (1 << 32) - below_edge,
            _ => 1,
        };
        let ceiling_bytes_per_second = [250_000, 250_000, 60_000][dice.below(3) as usize];
        Self {
            seed,
            seconds,
            clients: 3 + dice.below(3) as usize,
            delay_ms: 5 + dice.below(60),
            loss_percent: if dice.chance(0.85) { 20 } else { 2 },
            losses_in_bursts: dice.chance(0.2),
            duplicate_percent: 10,
            reorder_by_ms: 250,
            bit_flip_percent: 1,
            truncate_percent: 1,
            bandwidth_bytes_per_second: dice
                .chance(0.2)
                .then(|| 25_000 + dice.below(100_000) as u32),
            rebinds: seed.is_multiple_of(3),
            one_way_cuts: dice.chance(0.4),
            clients_leave: dice.chance(0.5),
            server_restarts: dice.chance(0.3),
            adversary: dice.chance(0.7),
            liar: dice.chance(0.5),
            asks_budget: dice.chance(0.6),
            first_number,
            ceiling_bytes_per_second,
            floor_bytes_per_second: [2_000, 12_000, 30_000][dice.below(3) as usize],
            zero_runs: dice.chance(0.1),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            rate: RateLimits {
                ceiling_bytes_per_second: self.ceiling_bytes_per_second,
                floor_bytes_per_second: self.floor_bytes_per_second,
            },
            compression: if self.zero_runs { Compression::ZeroRuns } else { Compression::None },
            first_number: self.first_number,
            ..Settings::default()
        }
    }

    /// An end that has so much waiting sends no more reliables: the calm must be able to clear it.
    pub(crate) fn backlog_bytes_max(&self) -> usize {
        self.ceiling_bytes_per_second as usize / 20
    }

    /// A line while faults last.
    pub(crate) fn faulty(&self) -> Conditions {
        let share = |percent: u32| f64::from(percent) / 100.0;
        let probability = share(self.loss_percent);
        let burst = Loss::Burst { enter: 0.02, leave: 0.1, loss_good: 0.02, loss_bad: 0.9 };
        let random = Loss::Random { probability };
        Conditions {
            delay: Span::millis(self.delay_ms),
            jitter: Jitter::Uniform { width: Span::millis(20) },
            keep_order: false,
            loss: if self.losses_in_bursts { burst } else { random },
            duplicate: share(self.duplicate_percent),
            reorder: 0.1,
            reorder_by: Span::millis(self.reorder_by_ms),
            bit_flip: share(self.bit_flip_percent),
            truncate: share(self.truncate_percent),
            bandwidth_bytes_per_second: self.bandwidth_bytes_per_second,
            queue_bytes_max: 32 * 1024,
            overhead_bytes: 28,
            ..Conditions::PERFECT
        }
    }

    /// The same line without faults. Nothing waits for what still stands in a queue of before.
    pub(crate) fn calm(&self) -> Conditions {
        let delay = Span::millis(self.delay_ms);
        Conditions { delay, keep_order: false, ..Conditions::PERFECT }
    }
}
