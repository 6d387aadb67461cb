//! Worlds by seed: of any size, over any link, at any rate. What is sent is measured against the world.
//!
//! Seeds from [`WIDE_FROM`](sametick_seeds::WIDE_FROM) on draw worlds up to the limits; those below are small.

use super::depot::{Goods, Stock};
use super::loads::bytes_max;
use super::{Options, Party};
use sametick::channel::RateLimits;
use sametick::{Dice, Rates, Span};
use sametick_seeds::{Script, Simulation, is_wide};

const SIMULATION: Simulation<Options, f64> = Simulation {
    name: "worlds",
    program: "-p sametick --features secure --test all",
    test: "large::seeds::every_world_arrives_and_little_more_than_it_is_sent",
    seeds: 40,
    seconds: None,
    expand: |seed, _| expand(seed),
    run,
};

/// With loss, what is sent is at most so many times the world, besides what snapshots take anyway.
const TIMES_WITH_LOSS_MAX: f64 = 2.5;
/// The longest entities there are in a depot, and how many a world has room for besides a keeper.
const COUNT_MAX: u64 = 4_095;

fn expand(seed: u64) -> Options {
    let mut dice = Dice::new(seed, 1);
    let kinds = [
        (Goods::Bytes8, 12),
        (Goods::Bytes64, 70),
        (Goods::Bytes256, 270),
        (Goods::Bytes1000, 1_040),
    ];
    let (goods, bytes) = kinds[dice.below(4) as usize];
    let bytes_max = if is_wide(seed) { 4 << 20 } else { 150_000 };
    // As many small worlds as large ones.
    let most = (bytes_max >> dice.below(8)) / bytes;
    let count = 1 + dice.below(most.clamp(1, COUNT_MAX)) as usize;
    let mut options = Options::new(count, goods, [0, 20, 80, 200, 500][dice.below(5) as usize]);
    options.seed = seed;
    options.is_compact = dice.chance(0.4);
    options.loss = [0.0, 0.0, 0.02, 0.1, 0.2][dice.below(5) as usize];
    options.jitter = Span::millis([0, 0, 20][dice.below(3) as usize]);
    options.reorder = [0.0, 0.0, 0.02][dice.below(3) as usize];
    let ticks_per_snapshot = [1, 2, 3, 3][dice.below(4) as usize];
    options.rates = Rates { ticks_per_snapshot, ..Rates::default() };
    let ceiling = [30_000, 100_000, 250_000, 250_000, 2_000_000][dice.below(5) as usize];
    // What is lost here is not lost for want of room: the rate stays.
    options.rate =
        RateLimits { ceiling_bytes_per_second: ceiling, floor_bytes_per_second: ceiling };
    let per_tick = [1 + count / 60, 4_096, 4_096][dice.below(3) as usize];
    let from_tick = [1, 1, 120][dice.below(3) as usize];
    options.stock = Stock { from_tick, per_tick, ..options.stock };
    // A window of parts for each round trip, or the rate; twice that, and some seconds to join.
    let window = 96.0 * 1_100.0 / (options.ping.as_seconds_f64() + 0.2);
    let rate = window.min(0.8 * f64::from(ceiling));
    let seconds = 10.0 + 2.0 * (count as u64 * bytes) as f64 / rate / (1.0 - options.loss);
    options.within = Span::from_millis_f64(1_000.0 * seconds);
    options
}

fn run(options: &Options, script: &Script) -> f64 {
    let mut party = Party::with(options, script);
    let arrived = party.arrive(options).unwrap_or_else(|| panic!("it never arrives"));
    assert_eq!(arrived.vanished, 0, "some that were there vanished");
    let is_clean = options.loss + options.reorder == 0.0 && options.jitter == Span::ZERO;
    let every = options.rates.tick_length * u64::from(options.rates.ticks_per_snapshot);
    let most = if is_clean && options.stock.per_tick >= options.stock.count {
        bytes_max(options, &arrived)
    } else {
        let snapshots = arrived.after.as_micros() / every.as_micros();
        (TIMES_WITH_LOSS_MAX * arrived.world_bytes as f64) as u64 + 600 * snapshots
    };
    assert!(arrived.bytes <= most, "{arrived:?}, more than {most} bytes");
    script.lasted(arrived.after.as_seconds_f64());
    arrived.bytes as f64 / arrived.world_bytes as f64
}

#[test]
fn every_world_arrives_and_little_more_than_it_is_sent() {
    let sweep = SIMULATION.sweep();
    let mut times = sweep.tallies.clone();
    times.sort_by(f64::total_cmp);
    println!("times the world, from the least to the most: {times:.2?}");
}
