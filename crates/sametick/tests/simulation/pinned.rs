//! Seeds keep their meaning: what those below the wide ones draw never changes.

use super::harness::{Options, run};
use sametick_seeds::{Script, WIDE_FROM};

/// Three seeds of 20 s: up to what all seeds below the wide ones have in common.
const DRAWN: [&str; 3] = [
    "Options { seed: 5, seconds: 20, clients: 3, delay_ms: 57, loss_percent: 20, \
     losses_in_bursts: true, duplicate_percent: 10, reorder_by_ms: 250, bit_flip_percent: 1, \
     truncate_percent: 1, bandwidth_bytes_per_second: None, rebinds: false, one_way_cuts: true, \
     clients_leave: false, server_restarts: false, adversary: true, liar: false, \
     asks_budget: true, first_number: 65360, ceiling_bytes_per_second: 60000, \
     floor_bytes_per_second: 30000, zero_runs: true, reliable_bytes_max: 10000, ",
    "Options { seed: 1002, seconds: 20, clients: 5, delay_ms: 12, loss_percent: 20, \
     losses_in_bursts: false, duplicate_percent: 10, reorder_by_ms: 250, bit_flip_percent: 1, \
     truncate_percent: 1, bandwidth_bytes_per_second: None, rebinds: true, one_way_cuts: true, \
     clients_leave: false, server_restarts: false, adversary: false, liar: false, \
     asks_budget: true, first_number: 4294967104, ceiling_bytes_per_second: 250000, \
     floor_bytes_per_second: 12000, zero_runs: false, reliable_bytes_max: 40000, ",
    "Options { seed: 3000089, seconds: 20, clients: 5, delay_ms: 47, loss_percent: 20, \
     losses_in_bursts: false, duplicate_percent: 10, reorder_by_ms: 250, bit_flip_percent: 1, \
     truncate_percent: 1, bandwidth_bytes_per_second: None, rebinds: false, one_way_cuts: false, \
     clients_leave: true, server_restarts: false, adversary: true, liar: false, \
     asks_budget: true, first_number: 65286, ceiling_bytes_per_second: 250000, \
     floor_bytes_per_second: 12000, zero_runs: false, reliable_bytes_max: 40000, ",
];

const COMMON: &str = "unreliable_bytes_max: 9490, connections_max: 16, queue_bytes_max: 32768, \
     rebind_interval_ms: 5000, cut_ms: 2500, delay_change_ms_max: None, first_restart_ms: 6000, \
     restart_interval_ms: 4000, burst_messages: 1, drift_ppm_max: 0, calm: Calm { ms: 5000, \
     reliables_ms: 4000, unreliables_ms: 1500, farewell_ms: 5500 } }";

#[test]
fn seeds_below_the_wide_ones_draw_what_they_always_drew() {
    for (seed, drawn) in [5, 1_002, 3_000_089].into_iter().zip(DRAWN) {
        let options = format!("{:?}", Options::expand(seed, 20));
        assert_eq!(options, format!("{drawn}{COMMON}"));
    }
}

/// Whoever changes what the library sends changes this run, and pins it anew; a change of the
/// simulation alone does not.
#[test]
fn a_seed_below_the_wide_ones_gives_the_run_that_it_always_gave() {
    let outcome = format!("{:?}", run(&Options::expand(1_000, 15), &Script::all()));
    let pinned = "Outcome { trace: Trace(3022653323219038481), counts: Counts { datagrams: 6635, \
         joins: 10, reliables: 1536, unreliables: 3514, delivered: 4297, forgeries: 18 } }";
    assert_eq!(outcome, pinned);
}

#[test]
fn a_wide_seed_gives_the_same_world_each_time() {
    for seed in WIDE_FROM..WIDE_FROM + 6 {
        let options = Options::expand(seed, 15);
        let [one, other] = [(), ()].map(|()| run(&options, &Script::all()));
        assert_eq!(one, other, "seed {seed}");
    }
}
