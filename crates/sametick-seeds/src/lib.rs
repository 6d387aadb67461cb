//! Runs a simulation over many seeds on all cores, collects the seeds that fail, and shrinks each to the fewest faults
//! that still make it fail. Knows nothing of networks and games: a simulation is two functions and a name.
//!
//! A test declares its [`Simulation`] and calls [`Simulation::sweep`]. The environment says how much is run:
//!
//! | variable | meaning | otherwise |
//! |---|---|---|
//! | `SAMETICK_FIRST_SEED` | the first seed | 0 |
//! | `SAMETICK_SEEDS` | how many seeds | what the simulation says |
//! | `SAMETICK_SECONDS` | virtual seconds of each run, where the simulation takes them | what the simulation says |
//! | `SAMETICK_THREADS` | threads | all cores |
//! | `SAMETICK_SCRIPT` | the faults that are kept, such as `3,7-9`, or `none` | all |
//! | `SAMETICK_SHRINK_RUNS` | the most runs that shrinking one failure takes; 0 shrinks nothing | 200 |
//! | `SAMETICK_SOAK_DIR` | a folder for failures; with it a sweep goes on after failures | none |
//!
//! ```
//! use sametick_seeds::{Script, Settings, Simulation};
//!
//! /// A counter that a fault sometimes sets back.
//! fn run(seed: &u64, script: &Script) -> u64 {
//!     let mut count = 0;
//!     for step in 0..10 {
//!         let is_reset = (seed + step) % 4 == 0;
//!         if is_reset && script.allows("reset", step, || format!("back from {count}")) {
//!             count = 0;
//!         }
//!         count += 1;
//!     }
//!     assert!(count <= 10, "{count} steps of 10");
//!     count
//! }
//!
//! let counters = Simulation {
//!     name: "counters",
//!     program: "-p counters --test all",
//!     test: "every_counter_holds",
//!     seeds: 20,
//!     seconds: None,
//!     expand: |seed, _| seed,
//!     run,
//! };
//! // A test calls `sweep`, which reads the environment.
//! let sweep = counters.sweep_with(&Settings::default()).unwrap();
//! assert_eq!(sweep.tallies.len(), 20);
//! ```

mod panics;
mod report;
mod script;
mod settings;
mod shrink;
mod sweep;

pub use script::{Fault, Script};
pub use settings::Settings;
pub use sweep::{Seconds, Simulation, Sweep};

/// Seeds from here on are *wide*: simulations draw from wider ranges for them, up to the stated limits. The smaller
/// seeds draw what they always drew, so that a seed that is written down keeps its meaning.
pub const WIDE_FROM: u64 = 1 << 32;

/// Whether a simulation draws from its wide ranges for a seed.
pub const fn is_wide(seed: u64) -> bool {
    seed >= WIDE_FROM
}
