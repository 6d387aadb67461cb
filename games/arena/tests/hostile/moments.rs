//! Cheating with what the screen showed: older moments than were seen, moments of the future, and a line that seems
//! longer than it is.

use super::{AHEAD, Bout, Outcome, TICK_SECONDS, play, run, seconds};
use crate::harness::rogue::{Claimed, EXTRAPOLATED, INTERPOLATED, LATEST, Message};
use sametick::{Dice, Model, Tick};
use sametick_arena::Command;

/// What an honest one shows that is 10 ms from the server either way, whose commands wait 40 ms, and that is two
/// snapshots behind.
const HONEST_TICKS: f64 = 3.6 + 6.0;
/// What the table allows.
const TOLERANCE_TICKS: f64 = 2.0;
/// How many ticks back it claims to see, by how many ticks it has played.
type Lie = Box<dyn FnMut(u32) -> f64>;

/// After so many ticks the server knows a player.
const KNOWN_TICKS: u32 = 180;

/// Shoots all the time and claims to see so many ticks back, by how many ticks it has played.
fn claiming(mut back: impl FnMut(u32) -> f64, mut dozes: impl FnMut(u32) -> u64) -> Outcome {
    let bout = Bout { seconds: 9, ..Bout::new(Model::HALF_LIFE) };
    let mut begun = None;
    play(&bout, |play, rogue, tick| {
        let Some(tick) = tick else { return };
        let played = tick.0 - *begun.get_or_insert(tick.0);
        rogue.dozes_millis = dozes(played);
        let stamped = Tick(tick.0 + AHEAD);
        let command = Command { fire: true, ..run(stamped.0) };
        let moment = Claimed::back(stamped, back(played));
        let moments = Some((INTERPOLATED, vec![moment]));
        rogue.say(play, &Message { moments, ..Message::new(stamped, &[command]) });
    })
}

/// How far back shots were judged, in ticks, once the server knew the player: the mean, and the most.
fn rewound(outcome: &Outcome) -> (f64, f64) {
    let after = outcome.verdicts.first().expect("it shot").tick.0 + KNOWN_TICKS;
    let ticks = outcome.verdicts.iter().filter(|shot| shot.tick.0 > after);
    let ticks: Vec<f64> =
        ticks.map(|shot| f64::from(seconds(shot.rewound) / TICK_SECONDS)).collect();
    assert!(ticks.len() > 20, "{} shots", ticks.len());
    let most = ticks.iter().copied().fold(0.0, f64::max);
    (ticks.iter().sum::<f64>() / ticks.len() as f64, most)
}

fn cap_ticks() -> f64 {
    let cap = Model::HALF_LIFE.rates.rewinding.at_most;
    f64::from(seconds(cap) / TICK_SECONDS)
}

#[test]
fn an_older_moment_gains_two_ticks_at_most() {
    let (fair, _) = rewound(&claiming(|_| HONEST_TICKS, |_| 0));
    assert!((fair - HONEST_TICKS).abs() < 0.1, "{fair} ticks back");
    let mut dice = Dice::new(4, 4);
    let mut roll = move || dice.unit() * 60.0;
    let lies: [(&str, Lie); 6] = [
        ("a little, always", Box::new(|_| HONEST_TICKS + 3.0)),
        ("much, always", Box::new(|_| 40.0)),
        ("once known", Box::new(|n| if n < KNOWN_TICKS { HONEST_TICKS } else { 14.0 })),
        ("more and more", Box::new(|n| HONEST_TICKS + f64::from(n) * 0.05)),
        ("every other shot", Box::new(|n| HONEST_TICKS + if n / 6 % 2 == 0 { 0.0 } else { 9.0 })),
        ("anything", Box::new(move |_| roll())),
    ];
    for (name, lie) in lies {
        let outcome = claiming(lie, |_| 0);
        let (_, most) = rewound(&outcome);
        assert!(most <= fair + TOLERANCE_TICKS + 0.05, "{name}: {most}, {fair} are fair");
        let is_within = |ticks: f64| ticks <= cap_ticks() + 0.01;
        assert!(is_within(most) && outcome.malformed == 0, "{name}");
    }
}

#[test]
fn no_moment_is_judged_beyond_its_bounds() {
    let bout = Bout::new(Model::HALF_LIFE);
    for (others, seed) in [(LATEST, 1), (EXTRAPOLATED, 2), (INTERPOLATED, 3)] {
        let mut dice = Dice::new(seed, 9);
        let outcome = play(&bout, |play, rogue, tick| {
            let Some(tick) = tick else { return };
            let stamped = Tick(tick.0 + AHEAD);
            let mut roll = |most: u64| dice.below(most + 1);
            let moment = match roll(2) {
                // All of the range, and its far end.
                0 => Claimed { newest_age: 0, from_age: 0, span: 255, part: 4095, ahead: 4095 },
                1 => Claimed { newest_age: 1023, from_age: 1023, span: 0, part: 0, ahead: 1 },
                _ => Claimed {
                    newest_age: roll(1023),
                    from_age: roll(1023),
                    span: roll(255),
                    part: roll(4095),
                    ahead: roll(4095),
                },
            };
            let command = Command { fire: true, ..run(stamped.0) };
            let moments = Some((others, vec![moment]));
            rogue.say(play, &Message { moments, ..Message::new(stamped, &[command]) });
        });
        assert!(outcome.verdicts.len() > 20 && outcome.malformed == 0);
        for verdict in &outcome.verdicts {
            let ticks = f64::from(seconds(verdict.rewound) / TICK_SECONDS);
            assert!(ticks <= cap_ticks() + 0.01, "{others}: {ticks} ticks back");
        }
        // What shows the newest is a snapshot older at most than the line makes likely.
        let (_, most) = rewound(&outcome);
        let likely = if others == INTERPOLATED { HONEST_TICKS } else { 3.6 + 3.0 };
        assert!(most <= likely + TOLERANCE_TICKS + 0.05, "{others}: {most} ticks back");
    }
}

#[test]
fn delayed_acknowledgements_gain_two_ticks_at_most() {
    let (fair, _) = rewound(&claiming(|_| HONEST_TICKS, |_| 0));
    for millis in [20, 50, 200, 500] {
        let is_lying = |played: u32| played >= KNOWN_TICKS;
        let more = millis as f64 / 16.667;
        let outcome = claiming(
            |played| HONEST_TICKS + if is_lying(played) { more } else { 0.0 },
            |played| if is_lying(played) { millis } else { 0 },
        );
        let (_, most) = rewound(&outcome);
        let gain = most - fair;
        assert!(gain <= TOLERANCE_TICKS + 0.05, "{millis} ms late: {gain} ticks");
    }
}

#[test]
fn a_line_that_is_always_slow_is_rewound_up_to_the_cap() {
    // From the first packet on: to the server that is a longer line, and no more is given than to one.
    for millis in [50, 100, 200] {
        let more = millis as f64 / 16.667;
        let outcome = claiming(|_| HONEST_TICKS + more, |_| millis);
        let (_, most) = rewound(&outcome);
        let long = (HONEST_TICKS + more).min(cap_ticks());
        assert!(most <= long + 0.5 && most <= cap_ticks() + 0.01, "{millis} ms: {most} ticks");
    }
}
