//! Sets of targets: where they appear, how they move, how often they come back, and what they say of themselves.

use super::play::{FIRST, Play, hall};
use sametick::{Dice, Layout, Precision};
use sametick_arena::vector::{Bounds, Vector, length, subtract};
use sametick_arena::{
    Content, Jumping, Map, Mode, Seat, Space, TARGETS_MAX, Target, TargetKind, TargetSet, Tuning,
    map, trace,
};

fn set(kinds: Vec<TargetKind>) -> TargetSet {
    TargetSet { kinds, ..TargetSet::default() }
}

/// In the hall, half a second after the round began; the first player looks along +x from (-10, 0) or (10, 0).
fn play(targets: TargetSet) -> Play {
    targets.check().expect("it can be played");
    let tuning = Tuning { pause_seconds: 0.5, ..Tuning::default() };
    let map = Map::read(&hall("", "")).expect("the map is sound");
    Play::on(Content { map, tuning, mode: Mode::Practice, targets, held_for: 0 }, 60, 1)
}

fn targets(play: &Play) -> Vec<Target> {
    play.world().all::<Target>().map(|(_, target)| target.clone()).collect()
}

/// Left and up, in degrees, and metres.
fn seen(eye: Vector, place: Vector) -> [f32; 3] {
    let [x, y, z] = subtract(place, eye);
    let flat = (x * x + y * y).sqrt();
    [y.atan2(x).to_degrees(), z.atan2(flat).to_degrees(), length([x, y, z])]
}

#[test]
fn targets_appear_as_far_beside_the_view_and_away_as_said_and_as_large() {
    let kind = TargetKind {
        size: [0.2, 0.6],
        distance: [8.0, 12.0],
        beside: [5.0, 15.0],
        above: [1.0, 4.0],
        is_symmetric: [true, false],
        speed: [0.0; 2],
        ..TargetKind::default()
    };
    let play = play(set(vec![kind; TARGETS_MAX]));
    let (mut left, mut large) = (0, 0);
    for target in targets(&play) {
        let [beside, above, metres] = seen(target.eye, target.position);
        assert!((4.9..=15.1).contains(&beside.abs()), "{beside} degrees beside: {target:?}");
        assert!((0.99..=4.01).contains(&above), "{above} degrees above: {target:?}");
        assert!((7.99..=12.01).contains(&metres), "{metres} m away: {target:?}");
        assert!((0.0999..=0.3001).contains(&target.half), "{target:?}");
        left += usize::from(beside > 0.0);
        large += usize::from(target.half > 0.2);
    }
    assert!((16..=48).contains(&left), "{left} of {TARGETS_MAX} to the left");
    assert!((16..=48).contains(&large), "{large} of {TARGETS_MAX} are large");
}

#[test]
fn behind_a_wall_a_target_hangs_before_it_and_fills_as_much_of_the_view() {
    let kind = TargetKind {
        size: [2.0; 2],
        distance: [100.0; 2],
        beside: [0.0; 2],
        above: [2.0; 2],
        speed: [0.0; 2],
        is_symmetric: [false; 2],
        ..TargetKind::default()
    };
    let play = play(set(vec![kind]));
    let (eye, target) = (play.fighter(FIRST).eye(), targets(&play).remove(0));
    let [beside, above, metres] = seen(eye, target.position);
    assert!(beside.abs() < 0.1 && (above - 2.0).abs() < 0.1 && metres < 60.0, "{target:?}");
    let share = target.half / metres;
    assert!((share - 0.01).abs() < 0.0005, "{share} of its distance");
    assert!(play.game.world().all::<Target>().all(|(_, target)| target.bounds().is_some()));
}

#[test]
fn a_target_takes_its_hits_and_comes_back_as_often_as_said() {
    let kind = TargetKind {
        size: [1.0; 2],
        distance: [6.0; 2],
        beside: [0.0; 2],
        above: [0.0; 2],
        speed: [0.0; 2],
        hits: Some(3),
        respawns: Some(2),
        away_seconds: 0.25,
        ..TargetKind::default()
    };
    let mut play = play(set(vec![kind]));
    let (mut wounds, mut deaths, mut before) = (0, 0, targets(&play)[0].health);
    assert_eq!(before, 3);
    play.hold(FIRST, |command| command.fire = true);
    for _ in 0..600 {
        play.tick();
        let now = targets(&play)[0].health;
        if now < before {
            (wounds, deaths) = (wounds + u32::from(before - now), deaths + u32::from(now == 0));
        }
        before = now;
    }
    assert_eq!((wounds, deaths, before), (9, 3, 0));
    assert_eq!(play.world().all::<Seat>().next().unwrap().1.score, 3);
}

#[test]
fn all_pellets_of_a_shot_are_one_hit() {
    let kind = TargetKind {
        size: [4.0; 2],
        distance: [6.0; 2],
        beside: [0.0; 2],
        above: [0.0; 2],
        speed: [0.0; 2],
        hits: Some(200),
        ..TargetKind::default()
    };
    let mut play = play(set(vec![kind]));
    play.hold(FIRST, |command| command.weapon = sametick_arena::Weapon::Shotgun);
    play.run(2.0);
    play.hold(FIRST, |command| command.fire = true);
    let mut before = targets(&play)[0].health;
    let start = before;
    for _ in 0..300 {
        play.tick();
        let now = targets(&play)[0].health;
        assert!(before - now <= 1, "{before} to {now} in a tick");
        before = now;
    }
    assert!(before < start, "it is hit");
}

#[test]
fn in_the_players_space_a_target_goes_along_with_the_player() {
    let kind = TargetKind {
        distance: [5.0; 2],
        beside: [0.0, 5.0],
        above: [5.0, 20.0],
        is_symmetric: [true, false],
        speed: [5.0, 10.0],
        respawns: None,
        ..TargetKind::default()
    };
    let mut play = play(set(vec![kind; 4]));
    let begin = play.fighter(FIRST).eye();
    play.hold(FIRST, |command| command.right = sametick_arena::AXIS_MAX);
    for _ in 0..60 {
        play.tick();
        for target in targets(&play) {
            let metres = length(subtract(target.position, target.eye));
            assert!((metres - 5.0).abs() < 0.1, "{metres} m away: {target:?}");
            let behind = length(subtract(play.fighter(FIRST).eye(), target.eye));
            assert!(behind < 0.5, "{behind} m from the eye: {target:?}");
        }
    }
    for target in targets(&play) {
        let own = subtract(target.velocity, play.fighter(FIRST).velocity);
        let speed = (length(own) / 5.0).to_degrees();
        assert!(
            (3.0..12.0).contains(&speed),
            "{speed} degrees a second round the player: {target:?}"
        );
    }
    let walked = length(subtract(play.fighter(FIRST).eye(), begin));
    assert!(walked > 2.0, "{walked} m");
}

#[test]
fn what_is_faster_or_smaller_than_can_be_played_is_refused() {
    let of = |space, speed, distance, size| TargetKind {
        space,
        speed: [0.0, speed],
        distance: [distance; 2],
        size: [size; 2],
        ..TargetKind::default()
    };
    for (kind, is_right) in [
        (of(Space::World, 31.0, 40.0, 0.2), true),
        (of(Space::World, 31.5, 40.0, 0.2), false),
        (of(Space::Player, 44.0, 40.0, 0.2), true),
        (of(Space::Player, 45.0, 40.0, 0.2), false),
        (of(Space::Player, 170.0, 10.0, 0.2), true),
        (of(Space::World, 1.0, 10.0, 0.009), false),
        (TargetKind { respawns: Some(u16::MAX - 1), ..TargetKind::default() }, false),
    ] {
        assert_eq!(set(vec![kind.clone()]).check().is_ok(), is_right, "{kind:?}");
    }
    let small = TargetKind { distance: [8.0; 2], ..of(Space::Player, 0.0, 8.0, 0.013) };
    let play = play(set(vec![small]));
    let half = targets(&play)[0].half;
    assert!((half - 0.0065).abs() < 1e-5, "{half}: a millimetre counts");
}

#[test]
fn in_the_players_space_a_target_stays_as_far_away_and_above_if_it_must() {
    let kind = TargetKind {
        distance: [8.0; 2],
        above: [1.0, 10.0],
        is_symmetric: [true, false],
        speed: [20.0, 40.0],
        turn_seconds: [0.2, 0.6],
        respawns: None,
        is_upper_only: true,
        ..TargetKind::default()
    };
    let mut play = play(set(vec![kind; 8]));
    let eye = play.fighter(FIRST).eye();
    let mut places: Vec<[f32; 3]> = Vec::new();
    for _ in 0..600 {
        play.tick();
        for target in targets(&play) {
            let metres = length(subtract(target.position, eye));
            assert!((metres - 8.0).abs() < 0.05, "{metres} m away: {target:?}");
            assert!(target.position[2] > eye[2] - 0.01, "{target:?}");
            let speed = length(target.velocity) / metres;
            assert!((19.9..=40.1).contains(&speed.to_degrees()), "{target:?}");
            places.push(target.position);
        }
    }
    let bounds = Bounds::around(places);
    assert!(bounds.half().iter().all(|half| *half > 1.0), "they went about: {bounds:?}");
}

#[test]
fn in_the_world_a_target_keeps_to_its_bounds_and_axes() {
    let bounds = Bounds { low: [-5.0, 2.0, 1.0], high: [5.0, 6.0, 3.0] };
    let kind = TargetKind {
        space: Space::World,
        speed: [3.0; 2],
        turn_seconds: [0.5, 1.0],
        spawn_bounds: Some(bounds),
        move_bounds: Some(bounds),
        is_locked: [false, true, false],
        ..TargetKind::default()
    };
    let mut play = play(set(vec![kind; 8]));
    let begun: Vec<f32> = targets(&play).iter().map(|target| target.position[1]).collect();
    let mut places: Vec<Vector> = Vec::new();
    for _ in 0..600 {
        play.tick();
        for (target, y) in targets(&play).into_iter().zip(&begun) {
            assert!(bounds.grown([0.06; 3]).contains(target.position), "{target:?}");
            assert_eq!(target.position[1], *y, "the axis is locked");
            places.push(target.position);
        }
    }
    let half = Bounds::around(places).half();
    assert!(half[0] > 3.0 && half[2] > 0.8, "{half:?}");
}

#[test]
fn a_target_on_a_set_way_is_where_it_should_be_when_it_should_and_begins_again() {
    let way = vec![(0.0, [0.0, 0.0, 2.0]), (1.0, [4.0, 0.0, 2.0]), (1.5, [4.0, 2.0, 3.0])];
    let kind = |space| TargetKind { space, way: way.clone(), ..TargetKind::default() };
    let mut play = play(set(vec![kind(Space::World), kind(Space::Player)]));
    let (eye, born) = (targets(&play)[1].eye, targets(&play)[0].turns_at);
    for _ in 0..240 {
        play.tick();
        let seconds = (play.world().tick().0 - born) as f32 / 60.0 % 1.5;
        let wanted = match seconds < 1.0 {
            true => [4.0 * seconds, 0.0, 2.0],
            false => [4.0, 4.0 * (seconds - 1.0), 2.0 + 2.0 * (seconds - 1.0)],
        };
        if !(0.05..=1.45).contains(&seconds) {
            continue;
        }
        let both = targets(&play);
        let off = |at: Vector| length(subtract(at, wanted));
        assert!(off(both[0].position) < 0.02, "{seconds} s: {wanted:?} {:?}", both[0].position);
        // The player looks along +x, or was put at the hall's other end and looks so there.
        let relative = subtract(both[1].position, eye);
        assert!(off(relative) < 0.02, "{seconds} s: {wanted:?} {relative:?}");
    }
}

#[test]
fn targets_jump_and_come_down_to_their_height() {
    let jumping = Jumping { seconds: [0.2, 0.4], speed: [4.0, 5.0], gravity: [9.0, 11.0] };
    let bounds = Bounds { low: [-5.0, 2.0, 1.0], high: [5.0, 6.0, 1.0] };
    let world = TargetKind {
        space: Space::World,
        speed: [1.0; 2],
        spawn_bounds: Some(bounds),
        jumping: Some(jumping),
        ..TargetKind::default()
    };
    let player = TargetKind {
        distance: [8.0; 2],
        above: [0.0; 2],
        jumping: Some(Jumping { speed: [30.0; 2], ..jumping }),
        ..TargetKind::default()
    };
    let mut play = play(set(vec![world, player]));
    let ground: Vec<f32> = targets(&play).iter().map(|target| target.ground).collect();
    let (mut ups, mut downs, mut highest) = ([0; 2], [0; 2], [0.0_f32; 2]);
    for _ in 0..1200 {
        play.tick();
        for (index, target) in targets(&play).into_iter().enumerate() {
            let up = target.position[2] - ground[index];
            assert!(up > -0.15, "below its height: {target:?}");
            highest[index] = highest[index].max(up);
            ups[index] += u32::from(up > 0.2);
            downs[index] += u32::from(up == 0.0);
        }
    }
    assert!(ups.iter().all(|ups| *ups > 100) && downs.iter().all(|downs| *downs > 50));
    assert!((0.7..1.5).contains(&highest[0]), "a jump of 4 to 5 m/s under 9 to 11: {highest:?}");
    assert!((0.7..1.2).contains(&highest[1]), "30 degrees a second at 8 m: {highest:?}");
}

#[test]
fn the_wait_lies_between_its_least_and_most_and_short_waits_are_the_commoner() {
    let kind = TargetKind { respawns: None, ..TargetKind::default() };
    let targets =
        TargetSet { kinds: vec![kind; 2], wait_seconds: [0.5, 1.5], wait_mean_seconds: 0.9 };
    let tuning = Tuning { pause_seconds: 0.1, ..Tuning::default() };
    let content = Content { tuning, targets, ..Content::new(map::FIELD, Mode::Practice).unwrap() };
    let length = sametick::Span::micros(16_667);
    let mut waits = Vec::new();
    for seed in 0..120 {
        let mut game = sametick::Alone::<sametick_arena::Arena>::new(content.clone(), seed, length);
        game.join(FIRST);
        let (mut began, mut appeared) = (None, None);
        for tick in 0..140 {
            game.step([(FIRST, sametick_arena::Command::default())]).unwrap();
            let playing = game.world().all::<sametick_arena::Contest>().next().unwrap().1.phase;
            if playing == sametick_arena::Phase::Playing {
                began.get_or_insert(tick);
            }
            let there: Vec<bool> =
                game.world().all::<Target>().map(|(_, target)| target.health > 0).collect();
            assert_eq!(there[0], there[1], "they wait alike");
            if there[0] {
                appeared.get_or_insert(tick);
            }
        }
        let (began, appeared) = (began.unwrap(), appeared.expect("it appears"));
        waits.push(f64::from(appeared - began) / 60.0);
    }
    assert!(waits.iter().all(|wait| (0.48..=1.52).contains(wait)), "{waits:?}");
    let short = waits.iter().filter(|wait| **wait < 1.0).count();
    // 0.71 / 0.92 of them, by the formula.
    assert!((75..=108).contains(&short), "{short} of 120 are short");
}

#[test]
fn a_set_is_written_and_read_and_damaged_ones_are_refused_without_panic() {
    let mut dice = Dice::new(3, 1);
    let bounds = Bounds { low: [-1.5, 0.1, 0.0], high: [1.0, 2.0, 3.0] };
    let kinds = vec![
        TargetKind::default(),
        TargetKind {
            space: Space::World,
            jumping: Some(Jumping { seconds: [0.1, 0.2], speed: [1.0, 2.5], gravity: [9.8; 2] }),
            respawns: None,
            spawn_bounds: Some(bounds),
            move_bounds: Some(bounds),
            is_locked: [true, false, true],
            way: vec![(0.0, [1.0, 2.0, 3.0]), (0.1, [0.3, -2.0, 3.5])],
            ..TargetKind::default()
        },
    ];
    let all = TargetSet { kinds, wait_seconds: [0.1, 0.7], wait_mean_seconds: 0.3 };
    let text = all.text();
    assert_eq!(TargetSet::read(&text), Ok(all));
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut letters: Vec<u8> = text.bytes().collect();
        let at = dice.below(letters.len() as u64) as usize;
        match dice.below(3) {
            0 => letters.truncate(at),
            1 => letters[at] = b" \n.-0123456789einfa"[dice.below(19) as usize],
            _ => _ = letters.remove(at),
        }
        let read = TargetSet::read(std::str::from_utf8(&letters).unwrap());
        refused += u32::from(read.is_err());
    }
    assert!((1_000..19_000).contains(&refused), "{refused} were refused");
}

#[test]
fn the_same_seed_gives_the_same_targets() {
    let kind = TargetKind { respawns: None, speed: [5.0, 20.0], ..TargetKind::default() };
    let tuning = Tuning { pause_seconds: 0.1, ..Tuning::default() };
    let base = Content { tuning, ..Content::new(map::FIELD, Mode::Practice).unwrap() };
    let content = Content { targets: set(vec![kind; 4]), ..base.clone() };
    assert_ne!(content.name(), base.name());
    let hash = |content: &Content, seed| trace(content.clone(), seed, 2, 300).unwrap();
    assert_eq!(hash(&content, 1), hash(&content, 1));
    assert_ne!(hash(&content, 1), hash(&content, 2));
}

#[test]
fn a_target_is_shown_in_fifteen_bytes_and_not_when_it_is_back() {
    let layout = Layout::of::<Target>(Precision::Shown);
    let bits: u32 = layout.words().iter().map(|word| word.bits).sum();
    assert!(bits <= 120, "{bits}");
    let hidden = layout.words().iter().filter(|word| word.name == "back_at");
    assert!(hidden.map(|word| word.bits).sum::<u32>() == 0, "who knew would not wait");
}
