//! The simulated game: runners who see a stone's throw, stones that come and go, crates of the map,
//! and events of every delivery. What it counts, the checks compare.

use sametick::{
    Audience, Delivery, EntityId, Fields, Game, Networked, PlayerId, Slots, Turn, World,
};

pub(crate) const SIGHT_METRES: f32 = 40.0;
/// Who is further away is told of less often.
const NEAR_METRES: f32 = 20.0;
const SPEED_METRES_PER_SECOND: f32 = 30.0;
const STONE_TICKS: u32 = 40;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) aim: f32,
    pub(crate) walk: bool,
    pub(crate) throw: bool,
    /// Names the command.
    pub(crate) stamp: u32,
    /// The server's guess, and no player's word.
    pub(crate) is_guess: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.bool("walk", &mut self.walk);
        f.bool("throw", &mut self.throw);
        f.bits("stamp", &mut self.stamp, 24);
        f.bool("is_guess", &mut self.is_guess);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    pub(crate) born: u32,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) facing: f32,
    /// The last command that was executed, how many were, and how many were guessed.
    pub(crate) stamp: u32,
    pub(crate) executed: u32,
    pub(crate) guessed: u32,
    pub(crate) whispers: u32,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("born", &mut self.born, 16);
        f.exact("x", &mut self.x).shown(-100.0..=100.0, 0.01);
        f.exact("y", &mut self.y).shown(-100.0..=100.0, 0.01);
        f.angle("facing", &mut self.facing, 12);
        f.bits("stamp", &mut self.stamp, 24);
        f.bits("executed", &mut self.executed, 16);
        f.bits("guessed", &mut self.guessed, 16);
        f.bits("whispers", &mut self.whispers, 16);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stone {
    pub(crate) born: u32,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) thrown_by: Option<EntityId>,
}

impl Networked for Stone {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("born", &mut self.born, 16);
        f.ranged("x", &mut self.x, -200.0..=200.0, 0.001);
        f.ranged("y", &mut self.y, -200.0..=200.0, 0.001);
        f.entity("thrown_by", &mut self.thrown_by);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Crate {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) colour: u8,
}

impl Networked for Crate {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.ranged("x", &mut self.x, -100.0..=100.0, 0.01);
        f.ranged("y", &mut self.y, -100.0..=100.0, 0.01);
        f.int("colour", &mut self.colour, 0..=255);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner, Stone, Crate } }

/// Says of itself what the key of it should say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Word {
    pub(crate) kind: u8,
    pub(crate) tick: u32,
    pub(crate) about: Option<EntityId>,
    pub(crate) to: u16,
}

pub(crate) const BANNER: u8 = 0;
pub(crate) const THROW: u8 = 1;
pub(crate) const SPLASH: u8 = 2;
pub(crate) const WHISPER: u8 = 3;

impl Networked for Word {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("kind", &mut self.kind, 0..=3);
        f.bits("tick", &mut self.tick, 32);
        f.entity("about", &mut self.about);
        f.bits("to", &mut self.to, 16);
    }
}

/// A map: its number says where the crates stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) number: u64,
    pub(crate) goods: Goods,
}

/// Crates that come while a game goes on, around the middle of the map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goods {
    pub(crate) count: u32,
    /// How many come in a tick, until all are there.
    pub(crate) per_tick: u32,
    /// How many of them go in a tick and are followed by others.
    pub(crate) replaced_per_tick: u32,
}

/// Slots below this may be a map's own crates.
const GOODS_SLOT_MIN: usize = 17;

impl Goods {
    fn step(&self, world: &mut World<Entity>, tick: u32) {
        let there = |tick: u32| tick.saturating_mul(self.per_tick).min(self.count);
        for number in there(tick.saturating_sub(1))..there(tick) {
            place(world, number);
        }
        if self.replaced_per_tick == 0 || there(tick) < self.count {
            return;
        }
        let turns = (self.count / self.replaced_per_tick).max(1);
        let is_old =
            |id: &EntityId| id.slot() >= GOODS_SLOT_MIN && id.slot() as u32 % turns == tick % turns;
        let old: Vec<EntityId> = world.all::<Crate>().map(|(id, _)| id).filter(is_old).collect();
        for id in old {
            world.despawn(id);
            place(world, tick.wrapping_mul(97) + id.slot() as u32);
        }
    }
}

fn place(world: &mut World<Entity>, number: u32) {
    let [x, y] = [37, 53].map(|step| (number.wrapping_mul(step) % 560) as f32 / 10.0 - 28.0);
    world.spawn(Crate { x, y, colour: number as u8 });
}

pub(crate) struct Arena;

impl Game for Arena {
    type Entity = Entity;
    type Command = Wish;
    type Event = Word;
    type Content = Map;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Runner>(player) {
                world.despawn(id);
            }
        }
        for player in turn.joined() {
            let (x, born) = (f32::from(player.0) * 12.0 - 20.0, turn.tick().0);
            if let Some(id) = world.spawn_owned(player, Runner { x, born, ..Runner::default() }) {
                say(turn, id, BANNER, Audience::All, true);
            }
        }
        for (player, wish) in turn.commands() {
            run(world, turn, player, wish);
        }
        fly(world, turn);
        turn.content().goods.step(world, turn.tick().0);
        for (id, painted) in world.all_mut::<Crate>() {
            if turn.dice(id, 1).chance(0.005) {
                painted.colour = painted.colour.wrapping_add(1);
            }
        }
    }

    fn repeat(last: &Wish, times: u32) -> Wish {
        Wish { walk: last.walk && times < 10, throw: false, is_guess: true, ..last.clone() }
    }

    fn populate(map: &Map, world: &mut World<Entity>) {
        for place in 0..12 + map.number % 5 {
            let x = (place * 17 + map.number * 31) % 160;
            world.spawn(Crate { x: x as f32 - 80.0, y: place as f32, colour: place as u8 });
        }
    }

    fn content_name(map: &Map) -> u64 {
        map.number
    }

    fn foresees() -> bool {
        true
    }

    /// Far ones are told of less often, and of far crates some no more.
    fn update_every(world: &World<Entity>, viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        move |entity| match world.entity(entity) {
            None => 1,
            Some(there) if is_near(world, viewer, there) => 1,
            Some(Entity::Runner(_)) => 2,
            Some(Entity::Stone(_)) => 3,
            Some(Entity::Crate(_)) if entity.slot().is_multiple_of(3) => u32::MAX,
            Some(Entity::Crate(_)) => 3,
        }
    }

    fn relevant(world: &World<Entity>, _map: &Map, viewer: PlayerId, visible: &mut Slots) {
        let Some((_, me)) = world.owned::<Runner>(viewer) else { return };
        for (id, entity) in world.entities() {
            let (x, y) = place_of(entity);
            if (x - me.x).powi(2) + (y - me.y).powi(2) <= SIGHT_METRES.powi(2) {
                visible.insert(id.slot());
            }
        }
    }
}

/// Whether a player is told of it each time.
fn is_near(world: &World<Entity>, viewer: PlayerId, entity: &Entity) -> bool {
    let (x, y) = place_of(entity);
    world
        .owned::<Runner>(viewer)
        .is_none_or(|(_, me)| (x - me.x).powi(2) + (y - me.y).powi(2) <= NEAR_METRES.powi(2))
}

fn place_of(entity: &Entity) -> (f32, f32) {
    match entity {
        Entity::Runner(runner) => (runner.x, runner.y),
        Entity::Stone(stone) => (stone.x, stone.y),
        Entity::Crate(painted) => (painted.x, painted.y),
    }
}

fn run(world: &mut World<Entity>, turn: &Turn<'_, Arena>, player: PlayerId, wish: &Wish) {
    let Some((id, runner)) = world.owned_mut::<Runner>(player) else { return };
    let (north, east) = libm::sincosf(wish.aim);
    let stride = if wish.walk { SPEED_METRES_PER_SECOND * turn.dt() } else { 0.0 };
    runner.x = (runner.x + east * stride).clamp(-100.0, 100.0);
    runner.y = (runner.y + north * stride).clamp(-100.0, 100.0);
    runner.facing = wish.aim;
    if wish.is_guess {
        runner.guessed += 1;
    } else {
        (runner.stamp, runner.executed) = (wish.stamp, runner.executed + 1);
        if wish.stamp.is_multiple_of(50) {
            runner.whispers += 1;
            say(turn, id, WHISPER, Audience::One(player), false);
        }
    }
    let (x, y) = (runner.x, runner.y);
    if wish.throw {
        let near = |seen: &World<Entity>| {
            let mut others = seen.all::<Runner>().filter(|(other, _)| *other != id);
            others.find(|(_, other)| (other.x - x).abs() < 10.0).map(|(id, _)| id)
        };
        turn.judge(player, world, near, |_, _| true);
        say(turn, id, THROW, Audience::Seeing, false);
        world.spawn(Stone { born: turn.tick().0, x, y, thrown_by: Some(id) });
    }
}

fn fly(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    let mut fallen = Vec::new();
    for (id, stone) in world.all_mut::<Stone>() {
        stone.x += turn.dice(id, 2).unit() as f32;
        stone.y += 0.3;
        if turn.tick().0 >= stone.born + STONE_TICKS {
            fallen.push(id);
        }
    }
    for id in fallen {
        say(turn, id, SPLASH, Audience::Seeing, false);
        world.despawn(id);
    }
}

fn say(turn: &Turn<'_, Arena>, about: EntityId, kind: u8, to: Audience, is_saved: bool) {
    let reader = if let Audience::One(player) = to { player.0 } else { 0 };
    let word = Word { kind, tick: turn.tick().0, about: Some(about), to: reader };
    turn.emit(about, Delivery { to, is_reliable: kind == WHISPER, is_saved }, word);
}
