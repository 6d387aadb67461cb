//! Whole contests by seed, under event locking, in lockstep and over snapshots: bots play over lines that lose, delay,
//! double and reorder; lines fail, clients stand still, leave and come back. What is official agrees at every tick that
//! is compared, a client knows what it may know and nothing else, nobody halts, and after the calm everyone plays one
//! game. The environment says how much is run ([`sametick_seeds`]); a failure prints the command that repeats it. Seeds
//! from [`WIDE_FROM`](sametick_seeds::WIDE_FROM) on draw from wide ranges: see `wide`.

mod lines;
mod locked;
mod snapshots;
mod stepped;
mod wide;

use crate::gated::gated;
use lines::{Fault, FaultKind};
use sametick::lockstep::Setup;
use sametick::network::{Conditions, Jitter, Loss};
use sametick::record::mix;
use sametick::{Dice, Model, Span, Time};
use sametick_islands::{Content, Opening};
use sametick_seeds::{Script, Simulation, is_wide};
use std::ops::Range;

const SIMULATION: Simulation<Options, Tally> = Simulation {
    name: "islands",
    program: "-p sametick-islands --test all",
    test: "seeds::every_seed_of_a_contest_holds",
    seeds: 20,
    seconds: None,
    expand: |seed, _| Options::expand(seed),
    run,
};

/// What of a seed is drawn from which dice. What is drawn more of one never changes another.
const OPTIONS: u64 = 201;
const LINES: u64 = 202;
const FAULTS: u64 = 203;

const PLAYERS_MAX: u64 = 8;
const FAULTS_MAX: u64 = 8;
const DELAY_MILLIS_MAX: u64 = 250;
const LOSS_MAX: f64 = 0.15;
const DRIFT_PPM_MAX: u64 = 500;
/// After this much calm all players play one game. In lockstep a lease ends, the electors choose a leader, and a
/// machine that was left behind receives the world.
const CALM: Span = Span::seconds(5);
const LOCKSTEP_CALM: Span = Span::seconds(11);
/// What time passes in.
const STEP: Span = Span::millis(10);

/// How a contest is played over the network.
#[derive(Clone, Copy, Debug)]
enum Netcode {
    EventLocked { tell_every: Span, bytes_per_second: Option<u32> },
    Lockstep { name: &'static str, setup: Setup },
    Snapshots { model: Model, ticks_per_snapshot: u32 },
}

/// All that a seed decides.
#[derive(Clone, Debug)]
struct Options {
    seed: u64,
    netcode: Netcode,
    map: u64,
    opening: Opening,
    seconds: u32,
    players: Vec<Player>,
    /// When everything is calm.
    calm: Time,
    faults: Vec<Fault>,
}

/// One of the machines that play.
#[derive(Clone, Debug)]
struct Player {
    line: Conditions,
    drift_ppm: i32,
    bot: u64,
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    ticks: u64,
    /// Worlds, or entities, that were compared with what they should be.
    compared: u64,
    /// Entities that a client did not know of.
    hidden: u64,
    returns: u64,
    requests: u64,
}

impl Options {
    fn expand(seed: u64) -> Self {
        if is_wide(seed) {
            return wide::expand(seed);
        }
        let mut dice = Dice::new(seed, OPTIONS);
        // Large contests are dear: most are small.
        let count = 2 + dice.below(PLAYERS_MAX - 1).min(dice.below(PLAYERS_MAX - 1)) as usize;
        let netcode = netcode(&mut dice, count);
        let opening = if dice.below(3) == 0 { Opening::Settlers } else { Opening::War };
        let (map, calm_millis) = (dice.below(1 << 20), 3_000 + 10 * dice.below(500));
        // Some contests are over while lines are bad, some in the calm, most not at all.
        let seconds = 3 + dice.below(40) as u32;
        let mut options = Self {
            seed,
            netcode,
            map,
            opening,
            seconds,
            players: (0..count).map(|player| player_of(seed, player)).collect(),
            calm: Time::from_millis(calm_millis),
            faults: Vec::new(),
        };
        let faults = dice.below(FAULTS_MAX + 1);
        options.faults = (0..faults).map(|index| fault(&options, index)).collect();
        options
    }

    /// Without the faults that the script does not allow.
    fn gated(&self, script: &Script) -> Self {
        let mut options = self.clone();
        for player in &mut options.players {
            player.line = gated(script, player.line.clone());
            player.drift_ppm = script.habit("drift", player.drift_ppm, 0);
        }
        options
            .faults
            .retain(|fault| script.allows(fault.kind.name(), fault.from, || format!("{fault:?}")));
        options
    }

    /// For how long is seen that everyone plays one game after everything is calm.
    fn end(&self) -> Time {
        match self.netcode {
            Netcode::EventLocked { .. } | Netcode::Snapshots { .. } => self.calm + CALM,
            Netcode::Lockstep { .. } => self.calm + LOCKSTEP_CALM,
        }
    }

    fn content(&self) -> Content {
        Content::new(self.map, self.players.len() as u8, self.opening).lasting(self.seconds)
    }
}

fn netcode(dice: &mut Dice, players: usize) -> Netcode {
    match dice.below(4) {
        0 => Netcode::EventLocked {
            tell_every: Span::millis(50 + dice.below(400)),
            bytes_per_second: (dice.below(3) == 0).then(|| 400 + dice.below(2_000) as u32),
        },
        1 | 2 => {
            let (name, setup) = Setup::ALL[dice.below(Setup::ALL.len() as u64) as usize];
            let patience = Span::millis(2_000 + dice.below(2_000));
            let (players, seed) = (players as u8, dice.roll_u64());
            let tick_length = sametick_islands::TICK;
            let setup = Setup { players, seed, tick_length, patience, ..setup };
            Netcode::Lockstep { name, setup }
        }
        _ => Netcode::Snapshots {
            model: Model::ALL[dice.below(Model::ALL.len() as u64) as usize],
            ticks_per_snapshot: 1 + dice.below(4) as u32,
        },
    }
}

/// A machine and its line, drawn from dice of its own.
fn player_of(seed: u64, player: usize) -> Player {
    let mut dice = Dice::new(seed ^ LINES, 1 + player as u64);
    let width = Span::millis(dice.below(100));
    let jitter = match dice.below(3) {
        0 => Jitter::None,
        1 => Jitter::Uniform { width },
        _ => Jitter::Pareto { scale: width / 4, shape: 1.5, cap: width * 4 },
    };
    let loss = match dice.below(3) {
        0 => Loss::None,
        1 => Loss::Random { probability: dice.unit() * LOSS_MAX },
        _ => Loss::Burst { enter: 0.02, leave: 0.2, loss_good: 0.0, loss_bad: 0.8 },
    };
    let line = Conditions {
        delay: Span::millis(dice.below(DELAY_MILLIS_MAX + 1)),
        jitter,
        keep_order: dice.below(2) == 0,
        loss,
        duplicate: dice.unit() * 0.1,
        reorder: dice.unit() * 0.1,
        reorder_by: Span::millis(1 + dice.below(200)),
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
    let from_millis = 500 + dice.below(end_millis - 600);
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
    let millis = 10 + dice.below(longest.min(3_000));
    let [from, until] =
        [from_millis, from_millis + millis].map(|at| Time::from_millis(at / 10 * 10));
    Fault { player, from, until, kind }
}

fn run(options: &Options, script: &Script) -> Tally {
    let options = &options.gated(script);
    script.lasted(options.end().as_seconds_f64());
    match options.netcode {
        Netcode::EventLocked { .. } => locked::run(options),
        Netcode::Lockstep { .. } => stepped::run(options),
        Netcode::Snapshots { .. } => snapshots::run(options),
    }
}

#[test]
fn every_seed_of_a_contest_holds() {
    let sweep = SIMULATION.sweep();
    let mut total = Tally::default();
    sweep.tallies.iter().for_each(|tally| total.add(*tally));
    println!("{total:?}");
    if sweep.is_whole(20) {
        let seeds = sweep.tallies.len() as u64;
        assert!(total.compared > 500 * seeds && total.ticks > 100 * seeds, "{total:?}");
        assert!(total.hidden > 0 && total.returns > 0 && total.requests > 0, "{total:?}");
    }
}

/// A failure of a seed is repeated by its number: what a number means never changes.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let hash = |seeds: Range<u64>| {
        let text: String = seeds.map(|seed| format!("{:?}", Options::expand(seed))).collect();
        text.bytes().fold(0, |hash, byte| mix(hash, u32::from(byte)))
    };
    let drawn = [hash(0..200), hash(8_000_000..8_000_200)];
    assert_eq!(drawn, [0x044f_9f41_0d08_44b6, 0x0bc4_6346_e285_ef82]);
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.ticks += other.ticks;
        self.compared += other.compared;
        self.hidden += other.hidden;
        self.returns += other.returns;
        self.requests += other.requests;
    }
}

#[test]
fn the_same_seed_gives_the_same_contest() {
    let of = |is_so: fn(&Netcode) -> bool| {
        let options = (0..).map(Options::expand).find(|options| is_so(&options.netcode));
        options.expect("every netcode is drawn sooner or later")
    };
    for options in [
        of(|netcode| matches!(netcode, Netcode::EventLocked { .. })),
        of(|netcode| matches!(netcode, Netcode::Lockstep { .. })),
        of(|netcode| matches!(netcode, Netcode::Snapshots { .. })),
    ] {
        let [one, other] = [(); 2].map(|()| run(&options, &Script::all()));
        assert_eq!(format!("{one:?}"), format!("{other:?}"), "{options:?}");
    }
}
