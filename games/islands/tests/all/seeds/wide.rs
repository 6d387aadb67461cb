//! Contests from wide ranges: any number of players up to the limit, farther and worse lines, more and longer faults,
//! and models of lockstep with other delays. What must hold after the calm is the same.

use super::lines::{Fault, FaultKind};
use super::{Netcode, Options, PLAYERS_MAX, Player};
use sametick::lockstep::{Setup, Turns};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Dice, Model, Span, Time};
use sametick_islands::Opening;

/// What of a seed is drawn from which dice. What is drawn more of one never changes another.
const OPTIONS: u64 = 301;
const LINES: u64 = 302;
const FAULTS: u64 = 303;

const FAULTS_MAX: u64 = 16;
const FAULT_MILLIS_MAX: u64 = 6_000;
const DELAY_MILLIS_MAX: u64 = 300;
const JITTER_MILLIS_MAX: u64 = 150;
const LOSS_MAX: f64 = 0.25;
const DRIFT_PPM_MAX: u64 = 1_000;
/// When everything is calm at the latest.
const CALM_MILLIS: (u64, u64) = (2_000, 14_000);

pub(super) fn expand(seed: u64) -> Options {
    let mut dice = Dice::new(seed, OPTIONS);
    let count = 2 + dice.below(PLAYERS_MAX - 1) as usize;
    let netcode = netcode(&mut dice, count);
    let opening = if dice.below(3) == 0 { Opening::Settlers } else { Opening::War };
    let (earliest, latest) = CALM_MILLIS;
    let calm = Time::from_millis(earliest + 10 * dice.below((latest - earliest) / 10));
    let (map, seconds) = (dice.roll_u64(), 1 + dice.below(60) as u32);
    // Some contests are of neighbours, some of players from all over the world.
    let far = 1 + dice.below(DELAY_MILLIS_MAX);
    let players = (0..count).map(|player| player_of(seed, player, far)).collect();
    let mut options =
        Options { seed, netcode, map, opening, seconds, players, calm, faults: Vec::new() };
    let faults = dice.below(FAULTS_MAX + 1);
    options.faults = (0..faults).map(|index| fault(&options, index)).collect();
    options
}

fn netcode(dice: &mut Dice, players: usize) -> Netcode {
    match dice.below(3) {
        0 => Netcode::EventLocked {
            tell_every: Span::millis(10 + dice.below(1_000)),
            bytes_per_second: (dice.below(3) == 0).then(|| 200 + dice.below(8_000) as u32),
        },
        1 => {
            let (name, model) = Setup::ALL[dice.below(Setup::ALL.len() as u64) as usize];
            let mut setup = Setup {
                players: players as u8,
                seed: dice.roll_u64(),
                tick_length: sametick_islands::TICK,
                patience: Span::millis(1_800 + dice.below(2_200)),
                ..model
            };
            // The shorter ones stall on the farthest lines, and nobody promises the game's speed then.
            match setup.turns {
                Turns::Fixed { delay_ticks } if setup.rollback_ticks == 0 => {
                    let delay_ticks = delay_ticks + dice.below(17) as u8;
                    setup.turns = Turns::Fixed { delay_ticks };
                }
                Turns::Fixed { delay_ticks } => {
                    let delay_ticks = delay_ticks + dice.below(4) as u8;
                    setup.turns = Turns::Fixed { delay_ticks };
                    setup.rollback_ticks = 8 + dice.below(23) as u8;
                }
                Turns::Ahead | Turns::Adaptive => {}
            }
            Netcode::Lockstep { name, setup }
        }
        _ => Netcode::Snapshots {
            model: Model::ALL[dice.below(Model::ALL.len() as u64) as usize],
            ticks_per_snapshot: 1 + dice.below(20) as u32,
        },
    }
}

/// A machine and its line, drawn from dice of its own.
fn player_of(seed: u64, player: usize, far: u64) -> Player {
    let mut dice = Dice::new(seed ^ LINES, 1 + player as u64);
    let width = Span::millis(dice.below(JITTER_MILLIS_MAX + 1));
    let jitter = match dice.below(4) {
        0 => Jitter::None,
        1 => Jitter::Uniform { width },
        2 => Jitter::Normal { deviation: width / 4 },
        _ => Jitter::Pareto { scale: width / 4, shape: 1.5, cap: width * 4 },
    };
    let loss = match dice.below(3) {
        0 => Loss::None,
        1 => Loss::Random { probability: dice.unit() * LOSS_MAX },
        _ => Loss::Burst {
            enter: dice.unit() * 0.04,
            leave: 0.05 + dice.unit() * 0.3,
            loss_good: dice.unit() * 0.02,
            loss_bad: 0.5 + dice.unit() * 0.5,
        },
    };
    let line = Conditions {
        delay: Span::millis(dice.below(far + 1)),
        jitter,
        keep_order: dice.below(2) == 0,
        loss,
        duplicate: dice.unit() * 0.2,
        reorder: dice.unit() * 0.2,
        reorder_by: Span::millis(1 + dice.below(300)),
        bandwidth_bytes_per_second: (dice.below(5) == 0)
            .then(|| 30_000 + dice.below(100_000) as u32),
        ..Conditions::PERFECT
    };
    let drift_ppm = dice.below(2 * DRIFT_PPM_MAX + 1) as i32 - DRIFT_PPM_MAX as i32;
    Player { line, drift_ppm, bot: dice.roll_u64() }
}

/// One of a contest's faults, drawn from dice of its own: without it the others stay as they are.
fn fault(options: &Options, index: u64) -> Fault {
    let mut dice = Dice::new(options.seed ^ FAULTS, 1 + index);
    let player = dice.below(options.players.len() as u64) as usize;
    let end_millis = (options.calm - Time::ZERO).as_micros() / 1000;
    let from_millis = 200 + dice.below(end_millis - 300);
    let longest = end_millis - from_millis;
    let kind = match dice.below(6) {
        0 => FaultKind::Leaves,
        1 => FaultKind::Crashes,
        2 => FaultKind::Stalls,
        3 => FaultKind::Outage { up: true, down: true },
        4 => FaultKind::Outage { up: true, down: false },
        _ => FaultKind::Outage { up: false, down: true },
    };
    // In steps of time, so that a fault begins and ends in one.
    let millis = 10 + dice.below(longest.min(FAULT_MILLIS_MAX));
    let [from, until] =
        [from_millis, from_millis + millis].map(|at| Time::from_millis(at / 10 * 10));
    Fault { player, from, until, kind }
}

#[test]
fn a_wide_seed_draws_every_choice_sooner_or_later() {
    let drawn: Vec<Options> =
        (0..200).map(|seed| expand(sametick_seeds::WIDE_FROM + seed)).collect();
    let any = |is_so: fn(&Options) -> bool| drawn.iter().any(is_so);
    assert!(any(|one| one.players.len() == 2) && any(|one| one.players.len() == 8));
    assert!(any(|one| one.players.iter().any(|player| player.line.delay > Span::millis(280))));
    assert!(any(|one| matches!(one.netcode, Netcode::EventLocked { .. })));
    assert!(any(|one| matches!(one.netcode, Netcode::Snapshots { ticks_per_snapshot: 20, .. })));
    for (model, _) in Setup::ALL {
        let is_it = |netcode| matches!(netcode, Netcode::Lockstep { name, .. } if name == model);
        assert!(drawn.iter().any(|one| is_it(one.netcode)), "{model}");
    }
    for one in &drawn {
        assert!(one.faults.iter().all(|fault| fault.from < fault.until && fault.until <= one.calm));
        if let Netcode::Lockstep { setup, .. } = one.netcode {
            assert!(setup.is_lawful(), "{setup:?}");
        }
    }
}
