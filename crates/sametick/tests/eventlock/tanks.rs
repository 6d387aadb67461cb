//! A small game structured by time: tanks have a way with a departure and an arrival, and lose health when they meet.

use sametick::eventlock::{Denial, Requests};
use sametick::{EntityId, Fields, Game, Networked, NoEvent, PlayerId, Slots, Tick, Turn, World};

pub(crate) const NO_UNIT: Denial = Denial(1);
pub(crate) const NOT_YOURS: Denial = Denial(2);
pub(crate) const TOO_MANY: Denial = Denial(3);
pub(crate) const FAR: i32 = 4095;
/// How far a tank goes in a tick.
pub(crate) const SPEED: i32 = 4;
const RANGE: i32 = 60;
const TANKS_MAX: usize = 8;

/// How far players see from their tanks, and how many tanks each begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) sight: i32,
    pub(crate) tanks: i32,
}

pub(crate) const OPEN_FIELD: Field = Field { sight: 2 * FAR, tanks: 3 };

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tank {
    pub(crate) from: [i32; 2],
    pub(crate) to: [i32; 2],
    pub(crate) departs: u32,
    pub(crate) arrives: u32,
    pub(crate) health: u8,
}

impl Networked for Tank {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("from_x", &mut self.from[0], 0..=FAR);
        f.int("from_y", &mut self.from[1], 0..=FAR);
        f.int("to_x", &mut self.to[0], 0..=FAR);
        f.int("to_y", &mut self.to[1], 0..=FAR);
        f.bits("departs", &mut self.departs, 24);
        f.bits("arrives", &mut self.arrives, 24);
        f.int("health", &mut self.health, 0..=100);
    }
}

impl Tank {
    pub(crate) fn at(&self, tick: f64) -> [f64; 2] {
        let [departs, arrives] = [self.departs, self.arrives].map(f64::from);
        let share = ((tick - departs) / (arrives - departs).max(1.0)).clamp(0.0, 1.0);
        [0, 1].map(|axis| {
            let [from, to] = [self.from, self.to].map(|place| f64::from(place[axis]));
            from + (to - from) * share
        })
    }

    fn place(&self, tick: Tick) -> [i32; 2] {
        self.at(f64::from(tick.0)).map(|axis| axis as i32)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Rock {
    pub(crate) x: i32,
}

impl Networked for Rock {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("x", &mut self.x, 0..=FAR);
    }
}

sametick::entities! { pub(crate) enum Entity { Tank, Rock } }

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Order {
    pub(crate) builds: bool,
    pub(crate) unit: Option<EntityId>,
    pub(crate) to: [i32; 2],
}

impl Networked for Order {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bool("builds", &mut self.builds);
        f.entity("unit", &mut self.unit);
        f.int("x", &mut self.to[0], 0..=FAR);
        f.int("y", &mut self.to[1], 0..=FAR);
    }
}

pub(crate) struct Tanks;

impl Game for Tanks {
    type Entity = Entity;
    type Command = Order;
    type Event = NoEvent;
    type Content = Field;

    fn populate(_content: &Field, world: &mut World<Entity>) {
        (1..4).for_each(|x| _ = world.spawn(Rock { x: 1000 * x }));
    }

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            let x = 200 + 400 * i32::from(player.0);
            (0..turn.content().tanks).for_each(|row| _ = spawn(world, player, [x, 200 + 30 * row]));
        }
        for player in turn.left() {
            let gone: Vec<_> = world.all_owned(player).map(|(id, _)| id).collect();
            gone.into_iter().for_each(|id| _ = world.despawn(id));
        }
        for (player, order) in turn.commands() {
            obey(world, turn.tick(), player, order);
        }
        if turn.tick().0.is_multiple_of(10) && !turn.is_predicted() {
            fight(world, turn.tick());
        }
    }

    fn relevant(world: &World<Entity>, content: &Field, viewer: PlayerId, visible: &mut Slots) {
        let tick = world.tick();
        let eyes: Vec<_> =
            world.all_owned(viewer).filter_map(|(_, entity)| place(entity, tick)).collect();
        for (id, entity) in world.entities() {
            let place = place(entity, tick);
            let is_near = |at: [i32; 2]| eyes.iter().any(|eye| distance(*eye, at) <= content.sight);
            if place.is_none_or(is_near) {
                visible.insert(id.slot());
            }
        }
    }
}

impl Requests for Tanks {
    fn judge(
        world: &World<Entity>,
        _: &Field,
        player: PlayerId,
        order: &Order,
    ) -> Result<(), Denial> {
        if order.builds {
            let is_full = world.all_owned(player).count() >= TANKS_MAX;
            return if is_full { Err(TOO_MANY) } else { Ok(()) };
        }
        let unit = order.unit.filter(|unit| world.get::<Tank>(*unit).is_some()).ok_or(NO_UNIT)?;
        if world.owner(unit) == Some(player) { Ok(()) } else { Err(NOT_YOURS) }
    }

    fn apart(unofficial: &Entity, official: &Entity, _: &World<Entity>, tick: Tick) -> f32 {
        match (unofficial, official) {
            (Entity::Tank(a), Entity::Tank(b)) => distance(a.place(tick), b.place(tick)) as f32,
            _ => 0.0,
        }
    }
}

fn spawn(world: &mut World<Entity>, player: PlayerId, at: [i32; 2]) -> Option<EntityId> {
    world.spawn_owned(player, Tank { from: at, to: at, departs: 0, arrives: 0, health: 100 })
}

fn obey(world: &mut World<Entity>, tick: Tick, player: PlayerId, order: &Order) {
    if order.builds {
        spawn(world, player, order.to);
    } else if let Some(unit) = order.unit.filter(|unit| world.owner(*unit) == Some(player))
        && let Some(tank) = world.get_mut::<Tank>(unit)
    {
        let from = tank.place(tick);
        let takes = distance(from, order.to) / SPEED + 1;
        let (departs, arrives) = (tick.0, tick.0 + takes.cast_unsigned());
        *tank = Tank { from, to: order.to, departs, arrives, ..tank.clone() };
    }
}

/// Whoever stands next to an enemy is hit.
fn fight(world: &mut World<Entity>, tick: Tick) {
    let places: Vec<_> =
        world.all::<Tank>().map(|(id, tank)| (id, world.owner(id), tank.place(tick))).collect();
    for (id, owner, at) in &places {
        let is_foe = |other: &&(EntityId, Option<PlayerId>, [i32; 2])| {
            other.1 != *owner && distance(other.2, *at) <= RANGE
        };
        if !places.iter().any(|other| is_foe(&other)) {
            continue;
        }
        let Some(tank) = world.get_mut::<Tank>(*id) else { continue };
        tank.health = tank.health.saturating_sub(20);
        if tank.health == 0 {
            world.despawn(*id);
        }
    }
}

fn place(entity: &Entity, tick: Tick) -> Option<[i32; 2]> {
    match entity {
        Entity::Tank(tank) => Some(tank.place(tick)),
        Entity::Rock(_) => None,
    }
}

pub(crate) fn distance(a: [i32; 2], b: [i32; 2]) -> i32 {
    (a[0] - b[0]).abs().max((a[1] - b[1]).abs())
}
