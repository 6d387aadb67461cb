//! Worlds and rules without a network: slots, owners, saving, hashing, and steps that repeat.

use proptest::prelude::*;
use sametick::{
    Alone, EntityId, Fields, Game, Layouts, Networked, NoEvent, PlayerId, Span, Turn, World,
};

/// What a player asks for in one tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    aim: f32,
    walk: bool,
    hit: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.bool("walk", &mut self.walk);
        f.bool("hit", &mut self.hit);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    position: [f32; 2],
    health: i32,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("position", &mut self.position).shown_each(-50.0..=50.0, 0.01);
        f.int("health", &mut self.health, 0..=100);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mine {
    owner: Option<EntityId>,
    fuse: f32,
}

impl Networked for Mine {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.entity("owner", &mut self.owner);
        f.ranged("fuse", &mut self.fuse, 0.0..=10.0, 0.01);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner, Mine } }

const REACH_METRES: f32 = 1.5;
const SPREAD: u32 = 1;

/// Walk, hit whoever is near, and leave a mine now and then.
struct Tag;

impl Game for Tag {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = f32;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Runner { health: 100, ..Runner::default() });
        }
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Runner>(player) {
                world.despawn(id);
            }
        }
        for (player, wish) in turn.commands() {
            let Some((me, runner)) = world.owned_mut::<Runner>(player) else { continue };
            let (north, east) = libm::sincosf(wish.aim);
            let stride = if wish.walk { turn.content() * turn.dt() } else { 0.0 };
            runner.position[0] += east * stride;
            runner.position[1] += north * stride;
            let here = runner.position;
            if wish.hit {
                hit(world, me, here);
            }
            if turn.dice(me, SPREAD).chance(0.05) {
                world.spawn_owned(player, Mine { owner: Some(me), fuse: 1.0 });
            }
        }
        for (_, mine) in world.all_mut::<Mine>() {
            mine.fuse -= turn.dt();
        }
        let spent: Vec<EntityId> =
            world.all::<Mine>().filter(|(_, mine)| mine.fuse <= 0.0).map(|(id, _)| id).collect();
        for id in spent {
            world.despawn(id);
        }
    }
}

fn hit(world: &mut World<Entity>, me: EntityId, here: [f32; 2]) {
    for (id, other) in world.all_mut::<Runner>() {
        let off = [other.position[0] - here[0], other.position[1] - here[1]];
        if id != me && off[0] * off[0] + off[1] * off[1] < REACH_METRES * REACH_METRES {
            other.health -= 20;
        }
    }
}

/// What each of three players asks for, from a number.
fn wishes(number: u64) -> [(PlayerId, Wish); 3] {
    [0u16, 1, 2].map(|player| {
        let roll = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(u32::from(player) * 13);
        let aim = (roll % 629) as f32 / 100.0;
        (PlayerId(player), Wish { aim, walk: roll & 64 != 0, hit: roll & 128 != 0 })
    })
}

fn game(seed: u64, ticks: u64) -> Alone<Tag> {
    let mut game = Alone::<Tag>::new(5.0, seed, Span::micros(16_667));
    (0..3).for_each(|player| game.join(PlayerId(player)));
    for tick in 0..ticks {
        game.step(wishes(tick + seed)).expect("the rules keep to finite numbers");
    }
    game
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let layouts = Layouts::of::<Entity>();
    assert_eq!(game(1, 600).world().hash(&layouts), game(1, 600).world().hash(&layouts));
    assert_ne!(game(1, 600).world().hash(&layouts), game(2, 600).world().hash(&layouts));
}

#[test]
fn a_saved_world_loads_as_it_was() {
    let layouts = Layouts::of::<Entity>();
    let world = game(3, 400);
    let bytes = world.world().save(&layouts);
    let loaded = World::<Entity>::load(&bytes, &layouts).unwrap();
    assert_eq!(loaded.hash(&layouts), world.world().hash(&layouts));
    assert_eq!(loaded.differences(world.world(), &layouts), Vec::<String>::new());
    assert_eq!(loaded.save(&layouts), bytes);
    for length in 0..bytes.len() {
        assert!(World::<Entity>::load(&bytes[..length], &layouts).is_err(), "cut at {length}");
    }
}

#[test]
fn differences_between_worlds_are_named() {
    let layouts = Layouts::of::<Entity>();
    let (left, mut right) = (game(4, 100).world().clone(), game(4, 100).world().clone());
    let (id, runner) = right.owned_mut::<Runner>(PlayerId(1)).unwrap();
    let before = std::mem::replace(&mut runner.health, 77);
    assert_eq!(
        left.differences(&right, &layouts),
        [format!("{id:?}: health: {before} on the left, 77 on the right")]
    );
    right.despawn(id);
    assert!(left.differences(&right, &layouts)[0].contains("nobody on the right"));
}

#[test]
fn a_name_is_never_given_twice_and_the_lowest_slot_is_used_first() {
    let mut world = World::<Entity>::default();
    let [first, second] = [(); 2].map(|()| world.spawn(Runner::default()).unwrap());
    world.despawn(first);
    let third = world.spawn(Mine::default()).unwrap();
    assert_eq!((third.slot(), third.generation()), (0, 2));
    assert!(world.get::<Runner>(first).is_none() && world.get::<Mine>(first).is_none());
    assert!(world.get::<Mine>(third).is_some() && world.get::<Runner>(second).is_some());
    assert_eq!(world.len(), 2);
}

#[test]
fn a_full_world_takes_no_more() {
    let mut world = World::<Entity>::default();
    while world.spawn(Mine::default()).is_some() {}
    assert_eq!(world.len(), sametick::ENTITY_SLOTS_MAX);
}

#[test]
fn what_is_not_finite_is_named_and_mended() {
    let mut world = World::<Entity>::default();
    world.spawn(Runner::default());
    let id = world.spawn(Runner { position: [1.0, f32::NAN], health: 300 }).unwrap();
    let unsettled = world.settle().unwrap_err();
    assert_eq!((unsettled.entity, unsettled.field.as_str()), (id, "position"));
    assert_eq!(world.get::<Runner>(id).unwrap().health, 100);
    assert_eq!(world.settle(), Ok(()));
}

#[test]
fn players_come_and_go_between_ticks() {
    let mut game = game(5, 10);
    assert_eq!(game.world().all::<Runner>().count(), 3);
    game.leave(PlayerId(1));
    game.step([]).unwrap();
    assert!(game.world().owned::<Runner>(PlayerId(1)).is_none());
    assert_eq!(game.world().all::<Runner>().count(), 2);
}

proptest! {
    #[test]
    fn any_bytes_are_a_world_or_none(bytes: Vec<u8>) {
        let layouts = Layouts::of::<Entity>();
        if let Ok(world) = World::<Entity>::load(&bytes, &layouts) {
            prop_assert_eq!(world.save(&layouts), bytes);
        }
    }

    #[test]
    fn stepping_a_copy_gives_the_same(seed in 0u64..50, ticks in 1u64..60) {
        let layouts = Layouts::of::<Entity>();
        prop_assert_eq!(game(seed, ticks).world().hash(&layouts), game(seed, ticks).world().hash(&layouts));
    }
}
