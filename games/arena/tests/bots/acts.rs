//! Scripts: everyone is where the script has them, at every tick rate.

use super::party::{Party, hall, place_spawns};
use sametick::PlayerId;
use sametick_arena::bot::{Act, Look, Script, Ways};
use sametick_arena::vector::{Vector, length, subtract};
use sametick_arena::{Command, Content, Weapon};
use std::f32::consts::PI;
use std::sync::{Arc, LazyLock};

const RATES: [u64; 5] = [20, 60, 128, 400, 1000];
const FLOOR: f32 = 0.005;

/// A hall with a pillar in the middle and a wall to hide behind.
static HALL: LazyLock<(Content, Arc<Ways>)> = LazyLock::new(|| {
    let mut content = hall(&[[[-1, -1, 0], [1, 1, 8]], [[10, -6, 0], [11, 0, 4]]]);
    content.tuning.fighters_collide = true;
    let ways = Arc::new(Ways::new(&content));
    (content, ways)
});

fn scripts() -> Vec<(&'static str, Script)> {
    let at = |x: f32, y: f32| [x, y, FLOOR];
    let path =
        vec![(0.0, at(-8.0, 5.0)), (1.0, at(-4.0, 8.0)), (2.5, at(4.0, 8.0)), (4.0, at(8.0, 4.0))];
    vec![
        ("stand", Script::Stand { at: at(-10.0, 3.0) }),
        ("strafe", Script::Strafe { from: at(-10.0, -4.0), to: at(-10.0, 4.0), speed: 6.0 }),
        (
            "cross",
            Script::Cross {
                from: at(-8.0, 10.0),
                to: at(8.0, 10.0),
                speed: 6.0,
                wait_seconds: 1.0,
            },
        ),
        (
            "dash",
            Script::Cross {
                from: at(-8.0, 12.0),
                to: at(8.0, 12.0),
                speed: 7.2,
                wait_seconds: 0.5,
            },
        ),
        (
            "cover",
            Script::Cross {
                from: at(12.0, 6.0),
                to: at(12.0, -3.0),
                speed: 6.0,
                wait_seconds: 1.0,
            },
        ),
        (
            "peek",
            Script::Peek {
                cover: at(12.0, -2.0),
                out: at(12.0, 2.0),
                speed: 6.0,
                hidden_seconds: 1.0,
                out_seconds: 0.5,
            },
        ),
        ("circle", Script::Circle { centre: at(0.0, 0.0), radius: 3.0, angle: 0.0, speed: 5.0 }),
        ("round", Script::Circle { centre: at(0.0, 0.0), radius: 3.0, angle: 0.0, speed: -5.0 }),
        ("path", Script::Path(path)),
    ]
}

/// Where an act is at each tenth of a second, at a tick rate, and how far from its script at most. It begins after a
/// second, when the round has.
fn play(act: &Act, rate: u64, seconds: f32) -> (Vec<Vector>, f32) {
    let (content, ways) = &*HALL;
    let mut content = content.clone();
    let begin = act.script.place(0.0).unwrap_or([-10.0, 0.0, FLOOR]);
    place_spawns(&mut content, &[(begin, 0.0), ([-30.0, -30.0, FLOOR], 0.0)]);
    let act = Act { begins_at: 1.0, ..act.clone() };
    let mut party = Party::at(rate, &content, ways, &[], 1, vec![act.clone()]);
    let (mut places, mut worst) = (Vec::new(), 0.0_f32);
    for tenth in 1..=(seconds * 10.0) as u32 {
        while (party.world().tick().0 as f32 + 0.5) * party.dt < 1.0 + tenth as f32 / 10.0 {
            party.step();
        }
        let place = party.fighter(0).position;
        let now = party.world().tick().0 as f32 * party.dt - 1.0;
        let wanted = act.place(now).unwrap_or(place);
        worst = worst.max(length(subtract(place, wanted)));
        places.push(place);
    }
    (places, worst)
}

#[test]
fn everyone_is_where_the_script_has_them() {
    for (name, script) in scripts() {
        let mut act = Act::new(script);
        for look in [Look::Ahead, Look::To([3.0, -17.0, 1.0])] {
            act.look = look;
            let errors = RATES.map(|rate| play(&act, rate, 6.0).1);
            println!("{name} {look:?}: off by at most {errors:.2?} m at {RATES:?} ticks a second");
            assert!(errors.iter().all(|metres| *metres < 0.35), "{name}: {errors:?}");
        }
    }
}

#[test]
fn tick_rates_agree() {
    for (name, script) in scripts() {
        let act = Act::new(script);
        let (exact, _) = play(&act, 1000, 6.0);
        for rate in [20, 60, 128] {
            let (places, _) = play(&act, rate, 6.0);
            let apart = exact.iter().zip(&places).map(|(a, b)| length(subtract(*a, *b)));
            let apart = apart.fold(0.0, f32::max);
            assert!(apart < 0.3, "{name} at {rate}: {apart} m from the same at 1000");
        }
    }
}

#[test]
fn keys_are_held_from_their_second_on() {
    let run = Command { forward: 7, ..Command::default() };
    let act = Act::new(Script::Keys(vec![(1.0, run), (2.0, Command::default())]));
    for rate in RATES {
        let (places, _) = play(&act, rate, 4.0);
        let way = places[35][0] - places[5][0];
        assert!((way - 8.0).abs() < 0.5, "{rate}: {way} m in a second of running");
    }
}

#[test]
fn two_run_at_each_other_and_one_fires_exactly() {
    let (content, ways) = &*HALL;
    let mut content = content.clone();
    let (west, east) = ([-20.0, 14.0, FLOOR], [20.0, 14.0, FLOOR]);
    place_spawns(&mut content, &[(west, 0.0), (east, PI)]);
    let run = |from, to| Script::Cross { from, to, speed: 6.0, wait_seconds: 0.5 };
    let act = |script| Act { begins_at: 0.5, ..Act::new(script) };
    let look = Look::At(PlayerId(1));
    let first = Act { look, fires: vec![1.0..1.25], ..act(run(west, east)) };
    let acts = vec![first, act(run(east, west))];
    let mut party = Party::at(60, &content, ways, &[], 1, acts);
    party.run(2.1);
    let hits = (100 - party.fighter(1).health) / 18;
    assert_eq!(hits, 3, "three shots in a quarter of a second, all on target");
    let apart =
        |party: &Party| length(subtract(party.fighter(0).position, party.fighter(1).position));
    assert!(party.until(3.0, |party| apart(party) < 1.0), "they meet");
    let seconds = party.world().tick().0 as f32 * party.dt;
    assert!((seconds - 4.25).abs() < 0.2, "after {seconds} s");
}

/// What the scenes of the theatre rest on: two who act, and from when to when they see each other.
fn sights(first: Act, second: Act, seconds: f32) -> (Vec<bool>, Party) {
    let (content, ways) = &*HALL;
    let mut content = content.clone();
    let begins = [&first, &second].map(|act| act.script.place(0.0).expect("it knows places"));
    place_spawns(&mut content, &[(begins[0], 0.0), (begins[1], 0.0)]);
    let acts = [first, second].map(|act| Act { begins_at: 0.5, ..act });
    let mut party = Party::at(60, &content, ways, &[], 1, acts.to_vec());
    party.run(0.5);
    let sees = |party: &Party| {
        let (from, to) = (party.fighter(0).eye(), party.fighter(1).eye());
        party.content.map.visible(from, to)
    };
    let sight = (0..(seconds * 10.0) as u32).map(|_| {
        party.run(0.1 + 0.001);
        sees(&party)
    });
    (sight.collect(), party)
}

#[test]
fn a_tree_stays_between_two_who_circle_it() {
    let round =
        |angle| Script::Circle { centre: [0.0, 0.0, FLOOR], radius: 4.0, angle, speed: 5.0 };
    let (sight, _) = sights(Act::new(round(0.0)), Act::new(round(PI)), 8.0);
    assert!(sight.iter().all(|sees| !sees), "{sight:?}");
}

#[test]
fn who_runs_behind_cover_is_seen_before_and_not_after() {
    let run = Script::Cross {
        from: [14.0, 6.0, FLOOR],
        to: [14.0, -3.0, FLOOR],
        speed: 6.0,
        wait_seconds: 1.0,
    };
    let stand = Script::Stand { at: [4.0, -3.0, FLOOR] };
    let (sight, _) = sights(Act::new(stand), Act::new(run), 4.0);
    assert!(
        sight[..10].iter().all(|sees| *sees) && sight[26..].iter().all(|sees| !sees),
        "{sight:?}"
    );
}

#[test]
fn who_peeks_is_seen_for_as_long_each_time() {
    let peek = Script::Peek {
        cover: [14.0, -2.0, FLOOR],
        out: [14.0, 2.0, FLOOR],
        speed: 6.0,
        hidden_seconds: 1.0,
        out_seconds: 0.6,
    };
    let stand = Script::Stand { at: [4.0, -2.0, FLOOR] };
    let (sight, _) = sights(Act::new(stand), Act::new(peek), 8.8);
    let spells: Vec<usize> =
        sight.split(|sees| !sees).map(<[bool]>::len).filter(|tenths| *tenths > 0).collect();
    assert_eq!(spells.len(), 3, "{sight:?}");
    assert!(spells.iter().all(|tenths| tenths.abs_diff(spells[0]) <= 1), "{spells:?}");
}

#[test]
fn a_rocket_meets_who_crosses() {
    let run = Script::Cross {
        from: [20.0, -8.0, FLOOR],
        to: [20.0, 12.0, FLOOR],
        speed: 6.0,
        wait_seconds: 0.0,
    };
    let shooter = Act {
        look: Look::Lead(PlayerId(1)),
        fires: vec![1.0..1.1],
        weapon: Weapon::Launcher,
        ..Act::new(Script::Stand { at: [4.0, 10.0, FLOOR] })
    };
    let (_, party) = sights(shooter, Act::new(run), 2.0);
    assert_eq!(party.fighter(1).health, 0, "hit squarely");
}
