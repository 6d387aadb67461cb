//! Whatever one does out of sight changes no byte of what another is sent.

use crate::harness::rogue::{Message, Rogue};
use crate::harness::{Match, STEP, Setup, line};
use sametick::{Model, Tick, Time};
use sametick_arena::map::UNITS_PER_METRE;
use sametick_arena::{Command, Content, Fighter, Map, Mode, TargetSet, Tuning, Weapon};
use std::fmt::Write;

/// Two rooms of 20 by 20 metres with 12 metres of rock between them, a teleporter in the second,
/// and a place to begin in each.
fn two_rooms() -> Content {
    let mut text = String::from("{\n\"classname\" \"worldspawn\"\n");
    let blocks = [
        [[-40, -12, -1], [40, 12, 0]],
        [[-40, -12, 6], [40, 12, 7]],
        [[-40, -12, 0], [-28, 12, 6]],
        [[-6, -12, 0], [6, 12, 6]],
        [[28, -12, 0], [40, 12, 6]],
        [[-28, -12, 0], [-6, -10, 6]],
        [[6, -12, 0], [28, -10, 6]],
        [[-28, 10, 0], [-6, 12, 6]],
        [[6, 10, 0], [28, 12, 6]],
    ];
    blocks.into_iter().for_each(|corners| block(&mut text, corners));
    text.push_str("}\n{\n\"classname\" \"trigger_teleport\"\n\"target\" \"there\"\n");
    block(&mut text, [[26, -9, 0], [27, -8, 2]]);
    text.push_str("}\n");
    let there = "\"classname\" \"info_teleport_destination\"\n\"targetname\" \"there\"";
    _ = writeln!(text, "{{\n{there}\n\"origin\" \"{} 0 40\"\n}}", 8 * UNITS_PER_METRE as i32);
    for (x, team) in [(-16, 1), (16, 2)] {
        let x = x * UNITS_PER_METRE as i32;
        let keys = "\"classname\" \"info_player_deathmatch\"";
        _ = writeln!(text, "{{\n{keys}\n\"origin\" \"{x} 0 25\"\n\"team\" \"{team}\"\n}}");
    }
    let map = Map::read(&text).expect("the map is sound");
    map.visibility();
    let tuning = Tuning {
        score_limit: 0,
        round_seconds: 0.0,
        pause_seconds: 0.1,
        fighters_collide: false,
        ..Tuning::default()
    };
    Content { map, tuning, mode: Mode::Teams, targets: TargetSet::default(), held_for: 0 }
}

fn block(text: &mut String, corners: [[i32; 3]; 2]) {
    let [[a, b, c], [x, y, z]] =
        corners.map(|corner| corner.map(|metres| metres * UNITS_PER_METRE as i32));
    text.push_str("{\n");
    for face in [
        [[a, b, c], [a, b + 1, c], [a, b, c + 1]],
        [[x, y, z], [x, y, z + 1], [x, y + 1, z]],
        [[a, b, c], [a, b, c + 1], [a + 1, b, c]],
        [[x, y, z], [x + 1, y, z], [x, y, z + 1]],
        [[a, b, c], [a + 1, b, c], [a, b + 1, c]],
        [[x, y, z], [x, y + 1, z], [x + 1, y, z]],
    ] {
        for [x, y, z] in face {
            _ = write!(text, "( {x} {y} {z} ) ");
        }
        text.push_str("wall 0 0 0 1 1\n");
    }
    text.push_str("}\n");
}

/// Plays for some seconds; gives all that the viewer was sent, and where the other was in each tick.
fn viewer_is_sent(
    (model, is_compact): (Model, bool),
    wish: impl Fn(u32, &Fighter) -> Command,
) -> (Vec<u8>, Vec<Fighter>) {
    let content = two_rooms();
    let mut play = Match::new(&Setup {
        content: &content,
        rates: model.rates,
        views: &[model.view],
        lines: &[line(30, 0, 0.0)],
        seed: 3,
    });
    if is_compact {
        play.offer_tables();
    }
    let (mut rogue, mut bytes, mut places) = (None, Vec::new(), Vec::new());
    while play.now < Time::from_seconds(7) {
        let viewer = play.guests[0].host;
        let is_tick = play.step_server(|host, datagram| {
            if host == viewer {
                bytes.extend_from_slice(datagram);
            }
        });
        play.frame(0, |_, view| Command {
            forward: 7,
            yaw: view.tick().0 as f32 * 0.1,
            ..Command::default()
        });
        if play.guests[0].client.me().is_some() && rogue.is_none() {
            rogue = Some(Rogue::new(&mut play, &line(10, 0, 0.0)));
        }
        if let Some(rogue) = &mut rogue {
            rogue.step(&mut play);
            let own = rogue.me.and_then(|me| play.fighter(me)).map(|(_, own)| own.clone());
            if let (true, Some(own)) = (is_tick, own) {
                let tick = play.server.world().tick().0 + 3;
                // Until all is settled, it does the same each time.
                let command = if tick < 90 { Command::default() } else { wish(tick, &own) };
                places.push(own);
                rogue.say(&mut play, &Message::new(Tick(tick), &[command]));
            }
        }
        play.now += STEP;
    }
    (bytes, places)
}

#[test]
fn whatever_is_done_out_of_sight_changes_no_byte() {
    let plain = [Model::HALF_LIFE, Model::DOOM3, Model::FPSCI].map(|model| (model, false));
    let compact = [Model::HALF_LIFE, Model::DOOM3].map(|model| (model, true));
    for (model, is_compact) in plain.into_iter().chain(compact) {
        let (still, _) = viewer_is_sent((model, is_compact), |_, _| Command::default());
        assert!(still.len() > 5_000, "{}: {} bytes", model.name, still.len());
        let (run, places) = viewer_is_sent((model, is_compact), |tick, _| Command {
            forward: 7,
            jump: tick % 40 < 20,
            yaw: tick as f32 * 0.05,
            fire: true,
            weapon: Weapon::Rifle,
            ..Command::default()
        });
        let metres = places.iter().map(|own| own.position[0]).fold(0.0, f32::max);
        assert!(metres > 16.5, "{}: nobody ran", model.name);
        assert!(still == run, "{}: what was done out of sight was sent", model.name);
        // Into the teleporter.
        let (gone, places) = viewer_is_sent((model, is_compact), |_, own| {
            let off = [26.5 - own.position[0], -8.5 - own.position[1]];
            Command { forward: 7, yaw: libm::atan2f(off[1], off[0]), ..Command::default() }
        });
        let jumps = |pair: &[Fighter]| pair[0].teleports != pair[1].teleports;
        assert!(places.windows(2).filter(|pair| jumps(pair)).count() >= 2, "it was not taken");
        assert!(still == gone, "{}: a teleport out of sight was sent", model.name);
    }
}

#[test]
fn a_death_and_a_new_life_out_of_sight_are_told_without_their_places() {
    // It kills itself with rockets; of that everyone hears, and of nothing else.
    let suicide = |yaw: f32| {
        move |_: u32, _: &Fighter| Command {
            fire: true,
            yaw,
            pitch: -1.5,
            weapon: Weapon::Launcher,
            ..Command::default()
        }
    };
    let (there, places) = viewer_is_sent((Model::HALF_LIFE, false), suicide(0.0));
    let died = places.windows(2).any(|pair| pair[0].health > 0 && pair[1].health == 0);
    let lived = places.windows(2).any(|pair| pair[0].health == 0 && pair[1].health > 0);
    assert!(died && lived, "it died and began again");
    // The same death, looked away from: nothing that is sent depends on where it was.
    let (elsewhere, others) = viewer_is_sent((Model::HALF_LIFE, false), |tick, own| {
        let walks = (90..110).contains(&tick);
        let forward = if walks { -7 } else { 0 };
        Command { forward, ..suicide(0.0)(tick, own) }
    });
    let at = |places: &[Fighter]| {
        places.iter().find(|own| own.health == 0).map(|own| own.position).expect("it died")
    };
    assert!((at(&places)[0] - at(&others)[0]).abs() > 0.5, "{:?}", (at(&places), at(&others)));
    assert_eq!(there.len(), elsewhere.len(), "as many bytes");
}
