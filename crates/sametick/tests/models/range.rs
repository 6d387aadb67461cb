//! A shooting range: runners on a line, a ball that bounces, an item for one, and rockets. Every runner
//! carries the tick it was stepped in, so that whoever looks can tell how old what it sees is.

use sametick::{
    Audience, Delivery, EntityId, Fields, Game, Interpolation, Networked, Others, PlayerId, Turn,
    World,
};

pub(crate) const SPEED: f32 = 6.0;
/// How near an aim must be.
const REACH: f32 = 0.25;
const JUMP: f32 = 40.0;
const ROCKET_SPEED: f32 = 20.0;
const GRAVITY: f32 = 10.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) east: i8,
    /// Where on the line a shot goes, if one is fired.
    pub(crate) aim: f32,
    pub(crate) fire: bool,
    pub(crate) rocket: bool,
    pub(crate) jump: bool,
    pub(crate) stamp: u16,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("east", &mut self.east, -1..=1);
        f.exact("aim", &mut self.aim);
        f.bool("fire", &mut self.fire);
        f.bool("rocket", &mut self.rocket);
        f.bool("jump", &mut self.jump);
        f.bits("stamp", &mut self.stamp, 16);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    pub(crate) x: f32,
    pub(crate) east: i8,
    /// The tick it was stepped in; it slides like a place.
    pub(crate) when: f32,
    pub(crate) stamp: u16,
    pub(crate) jumps: u8,
    pub(crate) hits: u16,
    pub(crate) items: u8,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x).shown(-100.0..=100.0, 0.01);
        f.int("east", &mut self.east, -1..=1);
        f.exact("when", &mut self.when);
        f.bits("stamp", &mut self.stamp, 16);
        f.bits("jumps", &mut self.jumps, 8);
        f.bits("hits", &mut self.hits, 16);
        f.bits("items", &mut self.items, 8);
    }
}

/// It bounces on the ground, at height zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ball {
    pub(crate) height: f32,
    pub(crate) speed: f32,
}

impl Networked for Ball {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("height", &mut self.height);
        f.exact("speed", &mut self.speed);
    }
}

/// Whoever passes it first has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    pub(crate) x: f32,
}

impl Networked for Item {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rocket {
    pub(crate) x: f32,
}

impl Networked for Rocket {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x);
    }
}

/// Says how often others are told of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sign {
    told_every: u32,
}

impl Networked for Sign {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("told_every", &mut self.told_every, 8);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner, Ball, Item, Rocket, Sign } }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bang;

impl Networked for Bang {
    fn fields<F: Fields>(&mut self, _f: &mut F) {}
}

/// What there is on the range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) has_ball: bool,
    pub(crate) item: Option<f32>,
    /// In every which snapshot others are told of; 0 is each.
    pub(crate) told_every: u32,
    /// Everyone stands behind a wall at present: a shot needs sight that nobody has.
    pub(crate) is_walled: bool,
}

pub(crate) struct Range;

impl Game for Range {
    type Entity = Entity;
    type Command = Wish;
    type Event = Bang;
    type Content = Place;

    fn populate(content: &Place, world: &mut World<Entity>) {
        if content.has_ball {
            world.spawn(Ball { height: 2.0, speed: 0.0 });
        }
        if content.told_every > 1 {
            world.spawn(Sign { told_every: content.told_every });
        }
        if let Some(x) = content.item {
            world.spawn(Item { x });
        }
    }

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Runner::default());
        }
        let rockets: Vec<EntityId> = world.all::<Rocket>().map(|(id, _)| id).collect();
        for id in rockets {
            let is_over = world.get_mut::<Rocket>(id).is_none_or(|rocket| {
                rocket.x += ROCKET_SPEED * turn.dt();
                rocket.x > 60.0
            });
            if is_over {
                world.despawn(id);
            }
        }
        for (_, ball) in world.all_mut::<Ball>() {
            bounce(ball, turn.dt());
        }
        let runners: Vec<(EntityId, PlayerId)> =
            world.all::<Runner>().filter_map(|(id, _)| Some((id, world.owner(id)?))).collect();
        for (id, player) in runners {
            if let (Some(wish), Some(dt)) = (turn.command(player), turn.dt_of(Some(player))) {
                act(world, turn, (id, player), wish, dt);
            }
        }
    }

    fn repeat(last: &Wish, _times: u32) -> Wish {
        Wish { fire: false, rocket: false, jump: false, ..*last }
    }

    fn update_every(world: &World<Entity>, viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        let every = world.all::<Sign>().next().map_or(1, |(_, sign)| sign.told_every);
        move |entity| if world.owner(entity) == Some(viewer) { 1 } else { every.max(1) }
    }

    fn shown(entity: &Entity, wish: Others) -> Others {
        match entity {
            // A ball is always shown between two snapshots, whatever its viewer wishes for runners.
            Entity::Ball(_) if !matches!(wish, Others::Interpolated(_)) => {
                Others::Interpolated(Interpolation::HISTORY)
            }
            // What was taken stays taken until the server says otherwise.
            Entity::Item(_) => Others::Predicted,
            _ => wish,
        }
    }

    fn jumps(from: &Entity, to: &Entity) -> bool {
        match (from, to) {
            (Entity::Runner(from), Entity::Runner(to)) => from.jumps != to.jumps,
            _ => false,
        }
    }

    fn is_rewound(entity: &Entity) -> bool {
        !matches!(entity, Entity::Rocket(_))
    }

    fn trust(decided: &mut Entity, claimed: &Entity) {
        if let (Entity::Runner(decided), Entity::Runner(claimed)) = (decided, claimed) {
            let (hits, items) = (decided.hits, decided.items);
            *decided = Runner { hits, items, ..claimed.clone() };
        }
    }
}

fn bounce(ball: &mut Ball, dt: f32) {
    ball.speed -= GRAVITY * dt;
    ball.height += ball.speed * dt;
    if ball.height < 0.0 {
        (ball.height, ball.speed) = (0.0, 6.0);
    }
}

fn act(
    world: &mut World<Entity>,
    turn: &Turn<'_, Range>,
    (id, player): (EntityId, PlayerId),
    wish: &Wish,
    dt: f32,
) {
    let Some(runner) = world.get_mut::<Runner>(id) else { return };
    runner.x = (runner.x + f32::from(wish.east) * SPEED * dt).clamp(-99.0, 99.0);
    (runner.east, runner.stamp, runner.when) = (wish.east, wish.stamp, turn.tick().0 as f32);
    if wish.jump {
        runner.x = if runner.x > 0.0 { runner.x - JUMP } else { runner.x + JUMP };
        runner.jumps = runner.jumps.wrapping_add(1);
    }
    let x = runner.x;
    let item = world.all::<Item>().find(|(_, item)| (item.x - x).abs() < 0.5).map(|(item, _)| item);
    if let Some(item) = item {
        world.despawn(item);
        world.get_mut::<Runner>(id).into_iter().for_each(|runner| runner.items += 1);
    }
    if wish.rocket {
        world.spawn_owned(player, Rocket { x });
        turn.emit(id, Delivery { to: Audience::All, ..Delivery::default() }, Bang);
    }
    if wish.fire {
        let hit = |world: &World<Entity>| {
            let mut others = world.all::<Runner>().filter(|(other, _)| *other != id);
            others.find(|(_, other)| (other.x - wish.aim).abs() < REACH).map(|(id, _)| id)
        };
        let in_sight = |_: &World<Entity>, _: EntityId| !turn.content().is_walled;
        if let Some(victim) = turn.judge(player, world, hit, in_sight) {
            world.get_mut::<Runner>(victim).into_iter().for_each(|victim| victim.hits += 1);
        }
    }
}
