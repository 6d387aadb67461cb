//! Cheating with time: more commands, stored commands, faster triggers, and a line that is cut when it suits.

use super::{AHEAD, BEGUN, Bout, CONTENT, TICK_SECONDS, honest, play, run};
use crate::harness::rogue::Message;
use crate::harness::{Match, STEP, Setup, angles, line};
use sametick::{Model, REPEATED_COMMANDS_MAX, Tick, Time};
use sametick_arena::scenes::{RUNNER, SHOOTER, Scene, fighter};
use sametick_arena::vector::subtract;
use sametick_arena::{Command, Weapon};

/// As far as feet carry in a tick, and a hair more.
fn tick_metres() -> f32 {
    CONTENT.tuning.run_speed * TICK_SECONDS * 1.001
}

#[test]
fn more_commands_than_time_lead_no_further() {
    let bout = Bout::new(Model::HALF_LIFE);
    let (fair, _) = play(&bout, honest).metres();
    assert!(fair > 30.0, "{fair} m");
    for speed in [1.01, 1.5, 2.0, 10.0] {
        let (mut begun, mut stamped) = (None, 0);
        let outcome = play(&bout, |play, rogue, tick| {
            let Some(tick) = tick.filter(|tick| tick.0 >= BEGUN) else {
                return honest(play, rogue, tick);
            };
            let begun = *begun.get_or_insert(tick.0);
            let newest = begun + AHEAD + (f64::from(tick.0 - begun) * speed) as u32;
            let count = (newest - stamped.max(begun)).clamp(1, REPEATED_COMMANDS_MAX as u32);
            stamped = newest;
            // All that its clock says have passed, for the same way.
            let commands = vec![run(tick.0 + AHEAD); count as usize];
            rogue.say(play, &Message::new(Tick(newest), &commands));
        });
        let (metres, most) = outcome.metres();
        assert!(metres <= fair * 1.001, "{speed} times as fast: {metres} m, {fair} m are fair");
        assert!(most <= tick_metres(), "{most} m in one tick");
    }
}

#[test]
fn silence_and_a_burst_lead_no_further() {
    let bout = Bout::new(Model::HALF_LIFE);
    let (fair, _) = play(&bout, honest).metres();
    for (silent, ahead) in [(30, 0), (30, AHEAD), (30, 40), (60, 32)] {
        let outcome = play(&bout, |play, rogue, tick| {
            let Some(tick) = tick.filter(|tick| tick.0 >= BEGUN) else {
                return honest(play, rogue, tick);
            };
            if tick.0 % 120 < silent {
                return;
            }
            let is_burst = tick.0 % 120 == silent;
            let (newest, count) = if is_burst { (tick.0 + ahead, 32) } else { (tick.0 + AHEAD, 1) };
            let commands: Vec<Command> =
                (0..count).map(|back| Command { fire: true, ..run(newest - back) }).collect();
            rogue.say(play, &Message::new(Tick(newest), &commands));
        });
        let (metres, most) = outcome.metres();
        let case = format!("{silent} ticks of silence, {ahead} ahead");
        assert!(metres <= fair * 1.001, "{case}: {metres} m, {fair} m are fair");
        assert!(most <= tick_metres(), "{case}: {most} m in one tick");
        // One command a tick: a trigger pulled for 32 stored ticks fires once.
        let shots = |tick: Tick| outcome.verdicts.iter().filter(|shot| shot.tick == tick).count();
        assert!(outcome.verdicts.iter().all(|shot| shots(shot.tick) == 1), "{case}");
        assert!(!outcome.verdicts.is_empty(), "{case}");
    }
}

#[test]
fn a_tick_cannot_be_played_twice_nor_changed() {
    let bout = Bout::new(Model::HALF_LIFE);
    let fair = play(&bout, honest);
    let outcome = play(&bout, |play, rogue, tick| {
        honest(play, rogue, tick);
        let Some(tick) = tick.filter(|tick| tick.0 >= BEGUN) else { return };
        let stamped = tick.0 + AHEAD;
        let back = Command { forward: -7, fire: true, jump: true, ..run(stamped) };
        // Again, otherwise, with a past that never was, and with ticks that are over or far off.
        for newest in [stamped, stamped - 1, tick.0, tick.0.saturating_sub(20), tick.0 + 5000] {
            rogue.say(play, &Message::new(Tick(newest), &[back; 3]));
        }
        rogue.say(play, &Message::new(Tick(u32::MAX), &[back]));
        rogue.say(play, &Message::new(Tick(stamped), &vec![run(stamped); 32]));
    });
    // What came first counts, so nobody can tell the two games apart.
    assert_eq!(outcome.rogue, fair.rogue);
    assert!(outcome.bytes == fair.bytes, "the others were told something else");
    assert_eq!((outcome.repeated, outcome.world_hash), (fair.repeated, fair.world_hash));
}

#[test]
fn triggers_and_jumps_count_in_ticks_of_the_server() {
    let bout = Bout::new(Model::HALF_LIFE);
    let held =
        |stamped: u32, weapon: Weapon| Command { fire: true, jump: true, weapon, ..run(stamped) };
    let fair = play(&bout, |play, rogue, tick| {
        let Some(stamped) = tick.map(|tick| tick.0 + AHEAD) else { return };
        rogue.say(play, &Message::new(Tick(stamped), &[held(stamped, Weapon::Rifle)]));
    });
    let interval = CONTENT.tuning.weapons[0].interval;
    let most = fair.rogue.len() as f32 * TICK_SECONDS / interval + 1.0;
    assert!((20..=most as usize).contains(&fair.verdicts.len()), "{}", fair.verdicts.len());
    // The trigger pulled and let go in copies of the same ticks, ten times as often.
    let tapped = play(&bout, |play, rogue, tick| {
        let Some(stamped) = tick.map(|tick| tick.0 + AHEAD) else { return };
        for copy in 0..10 {
            let fire = copy % 2 == 0;
            let command = Command { fire, jump: fire, ..held(stamped, Weapon::Rifle) };
            rogue.say(play, &Message::new(Tick(stamped), &vec![command; 1 + copy]));
        }
    });
    assert_eq!(tapped.rogue, fair.rogue);
    assert_eq!(tapped.verdicts.len(), fair.verdicts.len());
    // Another weapon in hand for a tick does not make the first one cool sooner.
    for every in [1, 3, 7] {
        let switched = play(&bout, |play, rogue, tick| {
            let Some(stamped) = tick.map(|tick| tick.0 + AHEAD) else { return };
            let is_other = (stamped / every).is_multiple_of(2);
            let weapon = if is_other { Weapon::Shotgun } else { Weapon::Rifle };
            rogue.say(play, &Message::new(Tick(stamped), &[held(stamped, weapon)]));
        });
        let shots = switched.verdicts.len();
        assert!(shots <= fair.verdicts.len(), "every {every} ticks: {shots}");
    }
}

/// The share of an honest shooter's shots that hit a runner, whose line is cut up and down if it is switched.
fn hits_on(is_switched: bool) -> (usize, usize) {
    let scene = Scene::dash_across();
    scene.content.map.visibility();
    let mut play = Match::new(&Setup {
        content: &scene.content,
        rates: Model::HALF_LIFE.rates,
        views: &[Model::HALF_LIFE.view; 2],
        lines: &[line(50, 0, 0.0), line(30, 0, 0.0)],
        seed: 5,
    });
    let (mut shots, mut hits) = (0, 0);
    while play.now < Time::from_seconds(11) {
        if is_switched && play.now > Time::from_seconds(4) {
            let (runner, server) = (play.guests[1].host, play.server_host);
            match play.millis() % 2000 {
                0 => play.network.cut_both(runner, server),
                500 => play.network.heal_both(runner, server),
                _ => {}
            }
        }
        play.step_server(|_, _| {});
        for verdict in play.server.take_verdicts() {
            shots += 1;
            hits += usize::from(verdict.hit.is_some());
        }
        let is_time = play.now > Time::from_millis(4_500);
        play.frame(0, |_, view| {
            let (own, runner) = (fighter(view, SHOOTER), fighter(view, RUNNER));
            let body = runner.and_then(|runner| runner.bounds());
            let (Some(own), Some(body)) = (own, body) else { return Command::default() };
            let (yaw, pitch) = angles(subtract(body.centre(), own.eye()));
            Command { yaw, pitch, fire: is_time, ..Command::default() }
        });
        if play.guests[0].client.me().is_some() {
            play.frame(1, |me, view| scene.think(me, view, TICK_SECONDS));
        }
        play.now += STEP;
    }
    (hits, shots)
}

#[test]
fn a_lag_switch_makes_nobody_harder_to_hit() {
    let (fair_hits, fair_shots) = hits_on(false);
    let (hits, shots) = hits_on(true);
    assert!(fair_shots > 60 && shots > 60, "{shots} and {fair_shots} shots");
    assert!(hits * fair_shots * 100 >= fair_hits * shots * 95, "{hits} hits, {fair_hits} are fair");
}
