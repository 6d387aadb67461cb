//! Games from wide ranges that their players host: up to sixteen of them, any tick and snapshot rate, lines of their
//! own of up to 400 ms round-trip time, and up to three hosts that die one after the other.
//!
//! What always holds must hold at every step. The gap of three seconds is promised for 100 ms and 2 % loss; here the
//! longest follows from the lines: see [`Options::gap_max`].

use super::lose_the_host;
use super::party::Party;
use crate::gated::gated;
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Dice, Rates, Span};
use sametick_seeds::Script;

const PLAYERS_MAX: u64 = 16;
const DEATHS_MAX: u64 = 3;
/// From a player to the middle of the network: two of them are twice as far apart.
const DELAY_MILLIS_MAX: u64 = 100;
const JITTER_MILLIS_MAX: u64 = 50;
const LOSS_MAX: f64 = 0.1;
/// Until everyone is there and the successors have the state.
const WARM_UP: Span = Span::millis(5_000);

/// All that a seed decides.
#[derive(Debug)]
struct Options {
    rates: Rates,
    deaths: u64,
    /// One for each player, to the middle of the network.
    lines: Vec<Conditions>,
    warm_up: Span,
}

fn expand(seed: u64) -> Options {
    let dice = &mut Dice::new(seed, 501);
    let count = 2 + dice.below(PLAYERS_MAX - 1);
    let rate = (20.0 * libm::pow(12.5, dice.unit())) as u32;
    let rates = Rates {
        tick_length: Span::micros(u64::from(1_000_000 / rate)),
        ticks_per_snapshot: (rate / (10 + dice.below(51) as u32)).max(1),
        ..Rates::default()
    };
    let deaths = 1 + dice.below(DEATHS_MAX.min(count - 1));
    // Some games are of neighbours, some of players from all over the world.
    let far = 1 + dice.below(DELAY_MILLIS_MAX);
    let lines = (0..count).map(|_| trouble(far, dice)).collect();
    Options { rates, deaths, lines, warm_up: WARM_UP + Span::millis(dice.below(1_000)) }
}

fn trouble(far: u64, dice: &mut Dice) -> Conditions {
    let width = Span::millis(dice.below(JITTER_MILLIS_MAX + 1));
    let jitter = match dice.below(3) {
        0 => Jitter::None,
        1 => Jitter::Uniform { width },
        _ => Jitter::Normal { deviation: width / 4 },
    };
    let mut seldom = |most: f64| if dice.below(2) == 0 { 0.0 } else { dice.unit() * most };
    let (loss, duplicate, reorder) = (seldom(LOSS_MAX), seldom(0.1), seldom(0.1));
    Conditions {
        delay: Span::millis(dice.below(far + 1)),
        jitter,
        keep_order: dice.below(2) == 0,
        loss: Loss::Random { probability: loss },
        duplicate,
        reorder,
        reorder_by: Span::millis(1 + dice.below(100)),
        ..Conditions::PERFECT
    }
}

impl Options {
    /// Both ways between two players, at the most.
    fn round_trip(&self) -> Span {
        let delays = self.lines.iter().map(|line| line.delay).max().unwrap_or_default();
        (delays + Span::millis(JITTER_MILLIS_MAX)) * 4
    }

    /// Three seconds, and what the handshake and the first snapshot take longer than on a line of 100 ms.
    fn gap_max(&self) -> Span {
        super::GAP_MAX + self.round_trip() * 4
    }

    /// How many ticks may be lost: those since the last state, which are a second, its way, and a piece.
    fn ticks_lost_max(&self) -> u32 {
        let lost = Span::millis(1_500) + self.round_trip() * 2;
        (lost.as_micros() / self.rates.tick_length.as_micros()) as u32
    }
}

/// One game whose hosts die; gives the gaps of the others.
pub(super) fn run(seed: u64, script: &Script) -> Vec<Span> {
    let mut options = expand(seed);
    for line in &mut options.lines {
        *line = gated(script, line.clone());
    }
    let mut party = Party::with(seed, options.lines.len(), options.rates, Conditions::PERFECT);
    lay_lines(&mut party, &options.lines);
    party.run(options.warm_up);
    let mut gaps = Vec::new();
    for death in 1..=options.deaths {
        let found = lose_the_host(&mut party, options.gap_max() * 2, options.ticks_lost_max());
        assert_eq!(party.epochs.len() as u64, 1 + death, "one change of host for each");
        let longest = found.iter().max().copied().unwrap_or_default();
        assert!(longest <= options.gap_max(), "{longest} is too long: {}", options.gap_max());
        gaps.extend(found);
    }
    script.lasted(party.now.as_seconds_f64());
    gaps
}

/// Between two players are both of their lines.
fn lay_lines(party: &mut Party, lines: &[Conditions]) {
    for (from, one) in lines.iter().enumerate() {
        for (to, other) in lines.iter().enumerate().filter(|(to, _)| *to != from) {
            let [here, there] = [from, to].map(|member| party.members[member].host);
            let line = Conditions { delay: one.delay + other.delay, ..one.clone() };
            party.network.set_conditions(here, there, line);
        }
    }
}

#[test]
fn a_wide_seed_draws_every_choice_sooner_or_later() {
    let drawn: Vec<Options> =
        (0..300).map(|seed| expand(sametick_seeds::WIDE_FROM + seed)).collect();
    let any = |is_so: fn(&Options) -> bool| drawn.iter().any(is_so);
    assert!(any(|one| one.lines.len() == 2) && any(|one| one.lines.len() == 16));
    assert!(any(|one| one.lines.iter().any(|line| line.delay > Span::millis(90))));
    assert!(any(|one| one.rates.tick_length > Span::millis(45)));
    assert!(any(|one| one.rates.tick_length < Span::millis(5)));
    assert!(any(|one| one.deaths == 3));
}
