//! What one seed stands for: every fault, size and habit of a run, so that it can be printed.

use super::server::Sends;
use sametick::channel::{
    Compression, RATE_FLOOR_BYTES_PER_SECOND, RELIABLE_BYTES_MAX, RateLimits, Settings,
    UNRELIABLE_BYTES_MAX,
};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Dice, Span, Time};
use sametick_seeds::WIDE_FROM;

/// How many sessions a liar may have at once.
pub(crate) const LIAR_IDENTITIES: u64 = 3;

/// The virtual time without faults that the seconds of a run include.
const CALM_MS: u64 = 5_000;

/// All that a run is made of; nothing else decides it. Seeds from [`WIDE_FROM`] on draw from wider
/// ranges, up to the limits that the library states.
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
    /// The longest reliable and unreliable messages.
    pub(crate) reliable_bytes_max: usize,
    pub(crate) unreliable_bytes_max: usize,
    /// How many connections the server takes.
    pub(crate) connections_max: usize,
    /// How many bytes wait for a link that has a bandwidth.
    pub(crate) queue_bytes_max: u32,
    pub(crate) rebind_interval_ms: u64,
    /// A cut lasts for 200 ms and up to so much more.
    pub(crate) cut_ms: u64,
    /// Now and then a client's link becomes longer or shorter, up to this one way; never if none.
    pub(crate) delay_change_ms_max: Option<u64>,
    pub(crate) first_restart_ms: u64,
    /// Between two restarts pass at least so many, and at most four times as many.
    pub(crate) restart_interval_ms: u64,
    /// How many messages of each kind an end sends at once now and then.
    pub(crate) burst_messages: u64,
    /// By how much the clocks of clients are fast or slow at most.
    pub(crate) drift_ppm_max: u64,
    pub(crate) calm: Calm,
}

/// The end of a run, without faults: how long before it each thing stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    /// The faults.
    pub(crate) ms: u64,
    /// Reliable messages: what waits must have arrived at the end.
    pub(crate) reliables_ms: u64,
    /// Unreliable messages: each must have its verdict at the end.
    pub(crate) unreliables_ms: u64,
    /// So long after the end nothing is held for anybody.
    pub(crate) farewell_ms: u64,
}

impl Options {
    pub(crate) fn expand(seed: u64, seconds: u64) -> Self {
        let narrow = Self::narrow(seed, seconds);
        if narrow.is_wide() { narrow.widened() } else { narrow }
    }

    /// Whether its ranges are the wide ones.
    pub(crate) fn is_wide(&self) -> bool {
        self.seed >= WIDE_FROM
    }

    /// What the seeds below [`WIDE_FROM`] have always drawn.
    fn narrow(seed: u64, seconds: u64) -> Self {
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
            connections_max: 16,
            queue_bytes_max: 32 * 1024,
            rebind_interval_ms: 5_000,
            cut_ms: 2_500,
            delay_change_ms_max: None,
            first_restart_ms: 6_000,
            restart_interval_ms: 4_000,
            reliable_bytes_max: (ceiling_bytes_per_second as usize / 6).min(40_000),
            unreliable_bytes_max: 1_300 + 2 * 4_095,
            burst_messages: 1,
            drift_ppm_max: 0,
            calm: Calm {
                ms: CALM_MS,
                reliables_ms: 4_000,
                unreliables_ms: 1_500,
                farewell_ms: 5_500,
            },
        }
    }

    /// The same run drawn from wider ranges. Half of all draws stay near the easy end: where
    /// everything is at its worst, hardly a client ever joins.
    fn widened(self) -> Self {
        let dice = &mut Dice::new(self.seed, 4);
        let delay_ms = skewed(dice, 600);
        let clients = 1 + skewed(dice, 15) as usize;
        let ceiling_bytes_per_second =
            [18_000, 30_000, 60_000, 250_000, 1_000_000][dice.below(5) as usize];
        let ceiling = ceiling_bytes_per_second as usize;
        let wide = Self {
            clients,
            delay_ms,
            loss_percent: skewed(dice, 40) as u32,
            duplicate_percent: skewed(dice, 50) as u32,
            reorder_by_ms: skewed(dice, 1_000),
            bit_flip_percent: skewed(dice, 10) as u32,
            truncate_percent: skewed(dice, 10) as u32,
            bandwidth_bytes_per_second: dice.chance(0.4).then(|| {
                let floor = u64::from(RATE_FLOOR_BYTES_PER_SECOND);
                (floor + skewed(dice, 200_000)) as u32
            }),
            ceiling_bytes_per_second,
            floor_bytes_per_second: [RATE_FLOOR_BYTES_PER_SECOND, 6_000, 12_000, 30_000]
                [dice.below(4) as usize],
            // A client has one slot: a server of this size is never full, and never has one to spare.
            connections_max: clients + LIAR_IDENTITIES as usize,
            queue_bytes_max: 2_048 + skewed(dice, 64 * 1024) as u32,
            rebinds: dice.chance(0.3),
            rebind_interval_ms: 1_000 + dice.below(9_000),
            cut_ms: 2_500 + skewed(dice, 12_000),
            delay_change_ms_max: dice.chance(0.4).then(|| skewed(dice, 2_000)),
            first_restart_ms: 1_500 + dice.below(5_000),
            restart_interval_ms: 1_000 + dice.below(4_000),
            reliable_bytes_max: RELIABLE_BYTES_MAX.min(ceiling),
            unreliable_bytes_max: UNRELIABLE_BYTES_MAX.min(ceiling / 8),
            burst_messages: 1 + skewed(dice, 60),
            drift_ppm_max: skewed(dice, 2_000),
            ..self
        };
        Self { calm: wide.calm_when_wide(), ..wide }
    }

    /// The calm that follows from how long a round trip takes and how much may wait. A rate may have
    /// fallen to its floor and climbs by a fortieth of its ceiling with each round trip or half
    /// second, so that the first second's worth of bytes takes about ten of these.
    fn calm_when_wide(&self) -> Calm {
        let ceiling = u64::from(self.ceiling_bytes_per_second);
        // Without bursts eight unreliable messages wait at most; half the ceiling is theirs.
        let unreliable = 16 * 1_000 * self.unreliable_bytes_max as u64 / ceiling;
        let unreliables_ms = 1_500 + 4 * self.delay_ms + unreliable;
        let reliables_ms = unreliables_ms + 9_000 + 10 * self.delay_ms;
        // Whoever joins anew has a session before then.
        let ms = reliables_ms + 1_000 + 6 * self.delay_ms;
        Calm { ms, reliables_ms, unreliables_ms, farewell_ms: 5_500 + 2 * self.delay_ms }
    }

    /// When the run ends: the seconds include the shortest calm, and a longer one comes on top.
    pub(crate) fn end(&self) -> Time {
        Time::from_seconds(self.seconds) + Span::millis(self.calm.ms - CALM_MS)
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

    /// What an end sends in a true second at most, up and down: a client's own second may be shorter.
    pub(crate) fn ceilings_bytes_per_second(&self) -> [u32; 2] {
        let ceiling = u64::from(self.ceiling_bytes_per_second);
        let fastest = ceiling + ceiling * self.drift_ppm_max / 1_000_000;
        [fastest as u32, self.ceiling_bytes_per_second]
    }

    /// An end that has so much waiting sends no more reliables: the calm must be able to clear it.
    pub(crate) fn backlog_bytes_max(&self) -> usize {
        self.ceiling_bytes_per_second as usize / 20
    }

    /// How many messages an end sends in this tick.
    pub(crate) fn messages(&self, sends: Sends, dice: &mut Dice) -> u64 {
        let is_burst = sends.bursts && dice.chance(0.02);
        if is_burst { self.burst_messages } else { 1 }
    }

    /// A link while faults last.
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
            queue_bytes_max: self.queue_bytes_max,
            overhead_bytes: 28,
            ..Conditions::PERFECT
        }
    }

    /// The same link without faults. Nothing waits for what still stands in a queue of before.
    pub(crate) fn clean(&self) -> Conditions {
        let delay = Span::millis(self.delay_ms);
        Conditions { delay, keep_order: false, ..Conditions::PERFECT }
    }
}

/// Up to `max` itself: half of the time at most an eighth of it.
fn skewed(dice: &mut Dice, max: u64) -> u64 {
    let reach = if dice.chance(0.5) { max / 8 } else { max };
    dice.below(reach + 1)
}
