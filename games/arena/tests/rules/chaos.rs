//! Players who press anything: nobody leaves the map, and the same seed gives the same match.

use sametick::{Alone, Dice, Layouts, PlayerId, Span};
use sametick_arena::{AXIS_MAX, Arena, Command, Content, Entity, Fighter, Mode, Weapon, body, map};

/// What a player without a mind asks for.
fn anything(seed: u64, tick: u32, player: u16) -> Command {
    let mut dice = Dice::new(seed, u64::from(tick / 15) << 16 | u64::from(player));
    let mut axis = || dice.below(2 * AXIS_MAX as u64 + 1) as i8 - AXIS_MAX;
    let (forward, right) = (axis(), axis());
    Command {
        yaw: (dice.unit() * 6.28 - 3.14) as f32,
        pitch: (dice.normal() * 0.3) as f32,
        forward,
        right,
        jump: dice.chance(0.3),
        crouch: dice.chance(0.2),
        fire: dice.chance(0.5),
        reload: dice.chance(0.1),
        weapon: Weapon::ALL[dice.below(3) as usize],
        ..Command::default()
    }
}

fn play(
    map: &str,
    mode: Mode,
    seed: u64,
    ticks: u32,
    rate: u64,
    mut each: impl FnMut(&Alone<Arena>),
) {
    let content = Content::new(map, mode).unwrap();
    let mut game = Alone::<Arena>::new(content, seed, Span::micros(1_000_000 / rate));
    (0..16).for_each(|player| game.join(PlayerId(player)));
    for tick in 0..ticks {
        game.step((0..16).map(|player| (PlayerId(player), anything(seed, tick, player)))).unwrap();
        each(&game);
    }
}

#[test]
fn nobody_leaves_the_map_or_enters_a_wall() {
    for (name, text) in map::MAPS {
        let map = sametick_arena::Map::read(text).unwrap();
        for (rate, mode) in [(20, Mode::Practice), (60, Mode::FreeForAll), (128, Mode::Teams)] {
            play(text, mode, 3, 1000, rate, |game| {
                for (_, fighter) in
                    game.world().all::<Fighter>().filter(|(_, fighter)| fighter.is_alive())
                {
                    let centre = body::centre(fighter.position, fighter.is_crouched);
                    assert!(
                        fighter
                            .position
                            .iter()
                            .chain(&fighter.velocity)
                            .all(|part| part.is_finite())
                    );
                    assert!(
                        map.fits(body::half(fighter.is_crouched), centre)
                            && map.bounds().contains(centre),
                        "{name} at {rate} Hz, tick {:?}: {fighter:?}",
                        game.world().tick()
                    );
                }
            });
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_match() {
    let layouts = Layouts::of::<Entity>();
    let hash = |seed| {
        let mut last = 0;
        play(map::HALLS, Mode::Teams, seed, 900, 60, |game| last = game.world().hash(&layouts));
        last
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
