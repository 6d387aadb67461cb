//! Cheating with what is asked for or claimed: values out of range, numbers that are none, places that nobody went to.

use super::{AHEAD, Bout, CONTENT, honest, play, run};
use crate::harness::rogue::{Claimed, INTERPOLATED, Message};
use crate::harness::{angles, line};
use sametick::{Dice, Layout, Model, Precision, REPEATED_COMMANDS_MAX, Tick, World};
use sametick_arena::scenes::{RUNNER, Scene};
use sametick_arena::vector::subtract;
use sametick_arena::{Command, Entity, Fighter};

/// Nothing in the world is anything but finite, or outside of the map.
fn assert_sound(world: &World<Entity>) {
    let bounds = CONTENT.map.bounds();
    for (id, entity) in world.entities() {
        if let Entity::Fighter(Fighter { position, velocity, yaw, pitch, .. }) = entity {
            let numbers = position.iter().chain(velocity).chain([yaw, pitch]);
            assert!(numbers.copied().all(f32::is_finite), "{id:?}: {entity:?}");
            assert!(bounds.contains(*position), "{id:?} is outside: {entity:?}");
        }
    }
}

#[test]
fn what_no_client_writes_changes_nothing() {
    nothing_is_changed(false);
}

#[test]
fn what_no_client_writes_changes_nothing_of_compact_snapshots() {
    nothing_is_changed(true);
}

fn nothing_is_changed(is_compact: bool) {
    let bout = Bout { is_compact, ..Bout::new(Model::HALF_LIFE) };
    let fair = play(&bout, honest);
    let layout = Layout::of::<Command>(Precision::State);
    let mut sent = 0;
    let outcome = play(&bout, |play, rogue, tick| {
        // Before what is honest: it would count if it were taken.
        if let Some(tick) = tick {
            let stamped = Tick(tick.0 + AHEAD);
            for (index, word) in layout.words().iter().enumerate() {
                let beyond = u64::from(word.max) + 1;
                if word.bits > 0 && beyond < 1 << word.bits {
                    let mut message = Message::new(stamped, &[run(stamped.0)]);
                    message.commands[0][index] = beyond as u32;
                    rogue.say(play, &message);
                    sent += 1;
                }
            }
            // A message that ends too soon, and one that does not end.
            let whole = Message::new(stamped, &[run(stamped.0)]);
            for length in [0, 1, 5, 12] {
                rogue.dialer.send_unreliable(1, &whole.write(1)[..length]);
                sent += 1;
            }
            rogue.dialer.send_unreliable(1, &[&whole.write(1)[..], &[0; 40]].concat());
            sent += 1;
            rogue.flush(play);
        }
        honest(play, rogue, tick);
    });
    // Those of the last ticks are still under way.
    assert!(
        outcome.malformed > 1000 && sent - outcome.malformed < 60,
        "{} {sent}",
        outcome.malformed
    );
    assert_eq!(outcome.rogue, fair.rogue);
    assert!(outcome.bytes == fair.bytes, "the others were told something else");
}

#[test]
fn a_million_commands_of_any_kind_harm_nothing() {
    let bout = Bout { rogue_line: line(0, 0, 0.0), ..Bout::new(Model::HALF_LIFE) };
    let layout = Layout::of::<Command>(Precision::State);
    let mut dice = Dice::new(1, 1);
    let mut sent = 0;
    let outcome = play(&bout, |play, rogue, tick| {
        assert_sound(play.server.world());
        let Some(tick) = tick else { return };
        for _ in 0..110 {
            let mut command = || {
                let words = layout.words().iter();
                words.map(|word| dice.below(u64::from(word.max) + 1) as u32).collect::<Vec<_>>()
            };
            let commands: Vec<Vec<u32>> = (0..REPEATED_COMMANDS_MAX)
                .map(|_| {
                    let mut words = command();
                    // A text of any words is refused whole: nothing is said.
                    words[SAY_FIRST..].copy_from_slice(&layout.initial()[SAY_FIRST..]);
                    words
                })
                .collect();
            sent += commands.len();
            let newest = Tick(tick.0 + dice.below(70) as u32);
            rogue.say(play, &Message { commands, ..Message::new(newest, &[]) });
        }
    });
    assert!(sent > 1_000_000, "{sent}");
    // Somebody did something.
    assert!(outcome.rogue.windows(2).any(|pair| pair[0].position != pair[1].position));
}

/// The first word of what is said: those before it are yaw to the letter's place.
const SAY_FIRST: usize = 13;

#[test]
fn nobody_is_hit_through_a_wall() {
    let mut scene = Scene::corner();
    scene.content.tuning.fighters_collide = false;
    // The honest stand behind the wall, on the far side of its edge.
    for spawn in &mut scene.content.map.spawns {
        spawn.place = match spawn.team {
            2 => [9.0, 3.0, 0.8],
            _ => [9.0, -14.0, 0.8],
        };
    }
    scene.content.map.visibility();
    let bout = Bout { content: &scene.content, stands: true, ..Bout::new(Model::HALF_LIFE) };
    let mut dice = Dice::new(2, 2);
    let outcome = play(&bout, |play, rogue, tick| {
        let Some(tick) = tick else { return };
        let stamped = Tick(tick.0 + AHEAD);
        let own = rogue.me.and_then(|me| play.fighter(me));
        let runner = play.fighter(RUNNER).and_then(|(_, runner)| runner.bounds());
        let (Some((_, own)), Some(runner)) = (own, runner) else { return };
        // It knows exactly where the other is, and says that it saw it any time ago.
        let (yaw, pitch) = angles(subtract(runner.centre(), own.eye()));
        let shoots = own.position[0] < 6.0;
        let command = match shoots {
            true => Command { yaw, pitch, fire: true, ..Command::default() },
            // Away from its friend, who would stop the bullets.
            false => Command { forward: 7, yaw: std::f32::consts::PI, ..Command::default() },
        };
        let moment = Claimed::back(stamped, dice.unit() * 30.0);
        let moments = Some((INTERPOLATED, vec![moment]));
        rogue.say(play, &Message { moments, ..Message::new(stamped, &[command]) });
    });
    let is_hidden = |runner: &Fighter| runner.position[0] > 4.0 && runner.position[1] > 0.4;
    assert!(outcome.runner.iter().all(is_hidden), "it stays behind the wall");
    assert!(outcome.runner.len() > 200 && outcome.verdicts.len() > 30);
    let hits = outcome.verdicts.iter().filter(|shot| shot.hit.is_some()).count();
    assert_eq!(hits, 0, "of {} shots", outcome.verdicts.len());
    assert!(outcome.runner.iter().all(|runner| runner.health == 100));
}

#[test]
fn claims_count_for_nothing_where_nobody_is_trusted() {
    let bout = Bout::new(Model::HALF_LIFE);
    let fair = play(&bout, honest);
    let outcome = play(&bout, |play, rogue, tick| {
        if let Some(tick) = tick
            && let Some((id, own)) = rogue.me.and_then(|me| play.fighter(me))
        {
            let claim = Fighter { position: [0.0, 20.0, 0.0], health: 100, ..own.clone() };
            let stamped = Tick(tick.0 + AHEAD);
            let message = Message::new(stamped, &[run(stamped.0)]);
            rogue.say(play, &Message { claims: Some(vec![(id, claim)]), ..message });
        }
        honest(play, rogue, tick);
    });
    assert_eq!(outcome.rogue, fair.rogue);
    assert!(outcome.malformed > 200, "{}", outcome.malformed);
    assert!(outcome.bytes == fair.bytes, "the others were told something else");
}

#[test]
fn a_trusted_client_claims_its_own_place_and_no_more() {
    let bout = Bout::new(Model::FPSCI);
    for lie in 0..4 {
        let outcome = play(&bout, |play, rogue, tick| {
            assert_sound(play.server.world());
            let Some(tick) = tick else { return };
            let Some((id, own)) = rogue.me.and_then(|me| play.fighter(me)) else { return };
            let Some((other, runner)) = play.fighter(RUNNER) else { return };
            let claim = match lie {
                // To be elsewhere, and all that goes with it.
                0 => Fighter {
                    position: [10.0, 10.0, 1.0],
                    health: 7,
                    armour: 100,
                    loaded: [200; 3],
                    ..own.clone()
                },
                // To move somebody else.
                1 => Fighter { position: [-20.0, -20.0, 1.0], ..runner.clone() },
                // To be nowhere.
                2 => Fighter { position: [f32::NAN, 0.0, 0.0], ..own.clone() },
                _ => Fighter { position: [f32::INFINITY, 0.0, 0.0], ..own.clone() },
            };
            let stamped = Tick(tick.0 + AHEAD);
            let name = if lie == 1 { other } else { id };
            let claims = Some(vec![(name, claim)]);
            let message = Message::new(stamped, &[Command::default()]);
            rogue.say(play, &Message { claims, ..message });
        });
        let last = outcome.rogue.last().expect("it is there");
        let runner = outcome.runner.last().expect("it is there");
        if lie == 0 {
            // This is what trusting clients means; it is the model's price, and no more is paid.
            assert!((last.position[0] - 10.0).abs() < 0.5, "{last:?}");
        }
        assert_eq!((last.health, last.armour, last.loaded[0]), (100, 0, 255), "lie {lie}");
        assert!(runner.position[1] > -18.0, "lie {lie}: {runner:?}");
    }
}

#[test]
fn to_watch_for_a_moment_is_no_way_out() {
    let bout = Bout::new(Model::HALF_LIFE);
    let outcome = play(&bout, |play, rogue, tick| {
        let Some(tick) = tick else { return };
        let stamped = tick.0 + AHEAD;
        let watch = (200..205).contains(&stamped);
        rogue.say(play, &Message::new(Tick(stamped), &[Command { watch, ..run(stamped) }]));
    });
    let away = outcome.rogue.iter().filter(|own| own.is_away).count() as f32;
    let dead = CONTENT.tuning.respawn_seconds / super::TICK_SECONDS;
    assert!((away - dead).abs() < 3.0, "{away} ticks away, {dead} when dead");
}
