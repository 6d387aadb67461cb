//! What war does: who shoots at whom, what that takes from whom each second, who dies, and when squads stop to fight.
//!
//! Targets are kept until they die or leave: a fight is told of in changes of targets and losses, not in shots.

use crate::building::{self, Building};
use crate::health::BEAT_TICKS;
use crate::islands::Entity;
use crate::orders::Field;
use crate::place::{Link, SIDE_MAX, SUB, Spot};
use crate::squad::{Job, Squad};
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::{self, Unit};
use crate::ways::Ground;
use crate::works::seat_of_entity;
use sametick::{EntityId, World};
use std::collections::BTreeMap;

/// A target is kept until it is so much farther than it could be chosen, in spots.
const KEPT_RANGE: i32 = SUB;
/// Who has no target looks for one in every third beat, not all in the same.
const LOOK_BEATS: u32 = 3;
/// How far an idle squad goes to meet an enemy, in spots, and how long after its last order.
const CHASE_REACH: i32 = SUB * 7;
const CHASE_TICKS: u32 = 60;
/// A halted squad without targets waits so long before it goes on.
const HALT_TICKS: u32 = 20;
/// A building is taken for so much farther than a unit, in spots.
const BUILDING_LESS: i32 = SUB * 4;
/// Cells along the side of a bucket in which bodies are looked for.
const BUCKET_CELLS: i32 = 8;
const BUCKETS: i32 = SIDE_MAX / BUCKET_CELLS;

/// What can be shot at.
#[derive(Clone, Copy, Debug)]
struct Body {
    link: Link,
    seat: u8,
    spot: Spot,
    is_building: bool,
}

/// All that can be shot at, by where it is.
struct Bodies {
    all: BTreeMap<Link, Body>,
    buckets: Vec<Vec<Body>>,
}

/// Who shoots.
#[derive(Clone, Copy, Debug)]
struct Gun {
    id: EntityId,
    seat: u8,
    spot: Spot,
    range: i32,
    target: Link,
    /// What it was told to shoot at.
    aim: Link,
    prefers_buildings: bool,
}

impl Field<'_> {
    /// One beat of war, after the dead are buried.
    pub(crate) fn fight(&mut self, ground: &Ground) {
        let bodies = self.bodies();
        self.choose_targets(&bodies);
        self.set_losses();
        self.lead_squads(ground, &bodies);
    }

    /// Who has nothing left.
    pub(crate) fn dead(&self) -> Vec<EntityId> {
        let is_dead = |entity: &Entity| match entity {
            Entity::Unit(unit) => unit.health.left(self.clock) == 0,
            Entity::Building(building) => building.health.left(self.clock) == 0,
            _ => false,
        };
        self.world.entities().filter(|(_, entity)| is_dead(entity)).map(|(id, _)| id).collect()
    }

    /// Takes the dead away, and every link to them; those who stood on a bridge that falls go with it.
    pub(crate) fn bury(&mut self, dead: &[EntityId]) {
        let mut dead = dead.to_vec();
        let mut fallen = Vec::new();
        for id in &dead {
            match self.world.entity(*id) {
                Some(Entity::Building(bridge)) if bridge.kind == BuildingKind::Bridge => {
                    fallen.extend(bridge.cells())
                }
                _ => {}
            }
        }
        if !fallen.is_empty() {
            for (id, squad) in self.world.all::<Squad>() {
                if !squad.flies && fallen.contains(&squad.spot(self.clock).cell()) {
                    dead.extend_from_slice(self.census.members(Link::to(id)));
                }
            }
        }
        dead.sort_unstable();
        dead.dedup();
        for id in &dead {
            self.world.despawn(*id);
        }
        let links: Vec<Link> = dead.iter().map(|id| Link::to(*id)).collect();
        unlink(self.world, &links);
        let squads: Vec<EntityId> = self.world.all::<Squad>().map(|(id, _)| id).collect();
        links.iter().for_each(|link| self.census.forget(*link));
        for (_, members) in self.census.all_members_mut() {
            members.retain(|id| dead.binary_search(id).is_err());
        }
        for id in squads {
            if !self.census.members(Link::to(id)).is_empty() {
                continue;
            }
            self.world.despawn(id);
            self.census.forget(Link::to(id));
        }
        if !fallen.is_empty() {
            self.turn_back(&fallen);
        }
    }

    /// Squads whose way led over a bridge that fell look for another, or stop.
    fn turn_back(&mut self, fallen: &[crate::Cell]) {
        let ground = Ground::new(self.content, self.world, self.clock);
        let crosses = |squad: &Squad| {
            let mut legs = squad.legs_ahead(self.clock);
            !squad.flies && legs.any(|(from, to)| !ground.is_clear(from, to)) && !fallen.is_empty()
        };
        let turned = self
            .world
            .all::<Squad>()
            .filter(|(_, squad)| squad.is_moving(self.clock) && crosses(squad));
        let turned: Vec<(EntityId, Squad)> = turned.map(|(id, squad)| (id, *squad)).collect();
        for (id, squad) in turned {
            let found = self.order(&ground, Link::to(id), (squad.job, squad.aim), squad.goal);
            if !found && let Some(squad) = self.world.get_mut::<Squad>(id) {
                squad.rest(self.clock);
            }
        }
    }

    fn bodies(&self) -> Bodies {
        let mut bodies = Bodies {
            all: BTreeMap::new(),
            buckets: vec![Vec::new(); (BUCKETS * BUCKETS) as usize],
        };
        for (id, entity) in self.world.entities() {
            let is_building = match entity {
                Entity::Unit(_) => false,
                // A plan on paper cannot be hit.
                Entity::Building(building) if building.ready > 0 => true,
                _ => continue,
            };
            let is_bridge = matches!(entity, Entity::Building(building) if building.kind == BuildingKind::Bridge);
            let (Some(spot), Some(seat)) = (self.census.spot(entity), seat_of_entity(entity))
            else {
                continue;
            };
            let body = Body { link: Link::to(id), seat, spot, is_building };
            bodies.all.insert(body.link, body);
            // Bridges are hit only by those who were told to.
            if !is_bridge {
                bodies.buckets[bucket(spot)].push(body);
            }
        }
        bodies
    }

    fn guns(&self) -> Vec<Gun> {
        let mut guns = Vec::new();
        for (id, entity) in self.world.entities() {
            match entity {
                Entity::Unit(unit) if unit.kind.table().harm > 0 => {
                    let squad = self.census.squad(self.world, unit.squad);
                    let (Some(squad), Some(spot)) = (squad, self.census.unit_spot(unit)) else {
                        continue;
                    };
                    let is_ready = !squad.is_moving(self.clock);
                    let table = unit.kind.table();
                    guns.push(Gun {
                        id,
                        seat: unit.seat,
                        spot,
                        range: if is_ready { table.range } else { 0 },
                        target: unit.target,
                        aim: if squad.job == Job::Attack { squad.aim } else { Link::NOBODY },
                        prefers_buildings: unit.kind == UnitKind::Ballista,
                    });
                }
                Entity::Building(building) if building.kind.table().harm > 0 => guns.push(Gun {
                    id,
                    seat: building.seat,
                    spot: building.spot(),
                    range: if building.is_ready(self.clock) {
                        building.kind.table().range
                    } else {
                        0
                    },
                    target: building.target,
                    aim: Link::NOBODY,
                    prefers_buildings: false,
                }),
                _ => {}
            }
        }
        guns
    }

    fn choose_targets(&mut self, bodies: &Bodies) {
        let beat = self.clock / BEAT_TICKS;
        for gun in self.guns() {
            let target = gun.choose(bodies, beat);
            if target == gun.target {
                continue;
            }
            match self.world.entity_mut(gun.id) {
                Some(Entity::Unit(unit)) => unit.target = target,
                Some(Entity::Building(building)) => building.target = target,
                _ => {}
            }
        }
    }

    /// What everyone loses each second follows from who shoots at it.
    fn set_losses(&mut self) {
        let mut losses: BTreeMap<Link, u16> = BTreeMap::new();
        for (_, entity) in self.world.entities() {
            let (target, harm, siege) = match entity {
                Entity::Unit(unit) => {
                    (unit.target, unit.kind.table().harm, unit.kind.table().siege)
                }
                Entity::Building(building) => (building.target, building.kind.table().harm, 0),
                _ => continue,
            };
            if target.is_some() {
                let id = self.census.name(target);
                let is_building = id.is_some_and(|id| self.world.get::<Building>(id).is_some());
                *losses.entry(target).or_default() += if is_building { siege } else { harm };
            }
        }
        let clock = self.clock;
        for (id, unit) in self.world.all_mut::<Unit>() {
            let loss = losses.get(&Link::to(id)).copied().unwrap_or(0);
            unit.health.set_loss(loss.min(unit::LOSS_MAX), clock);
        }
        for (id, building) in self.world.all_mut::<Building>() {
            let loss = losses.get(&Link::to(id)).copied().unwrap_or(0);
            building.health.set_loss(loss.min(building::LOSS_MAX), clock);
            building.health.settle(clock);
        }
    }

    /// Squads stop where they can fight, go on when they are done, and meet who comes near.
    fn lead_squads(&mut self, ground: &Ground, bodies: &Bodies) {
        let beat = self.clock / BEAT_TICKS;
        let squads: Vec<(EntityId, Squad)> =
            self.world.all::<Squad>().map(|(id, squad)| (id, *squad)).collect();
        for (id, squad) in squads {
            let link = Link::to(id);
            if !(beat + u32::from(link.0)).is_multiple_of(2) || !self.is_armed(link) {
                continue;
            }
            let fights = matches!(squad.job, Job::Assault | Job::Attack);
            if squad.halt > 0 {
                let rested = self.clock.saturating_sub(u32::from(squad.halt)) >= HALT_TICKS;
                if rested && !self.has_targets(link) {
                    self.change(id, |squad, clock| squad.resume(clock));
                }
            } else if squad.is_moving(self.clock) {
                if fights && self.can_fight(link, &squad, bodies) {
                    self.change(id, |squad, clock| squad.halt = clock as u16);
                }
            } else if squad.job != Job::Build
                && self.clock.saturating_sub(u32::from(squad.since)) >= CHASE_TICKS
                && !self.has_targets(link)
            {
                self.chase(ground, link, &squad, bodies);
            }
        }
    }

    fn change(&mut self, id: EntityId, change: impl FnOnce(&mut Squad, u32)) {
        if let Some(squad) = self.world.get_mut::<Squad>(id) {
            change(squad, self.clock);
        }
    }

    fn is_armed(&self, squad: Link) -> bool {
        let mut members =
            self.census.members(squad).iter().filter_map(|id| self.world.get::<Unit>(*id));
        members.any(|unit| unit.kind.table().harm > 0)
    }

    fn has_targets(&self, squad: Link) -> bool {
        let mut members =
            self.census.members(squad).iter().filter_map(|id| self.world.get::<Unit>(*id));
        members.any(|unit| unit.target.is_some())
    }

    /// Whether half of a squad have someone within range.
    fn can_fight(&self, link: Link, squad: &Squad, bodies: &Bodies) -> bool {
        let members = self.census.members(link);
        let aim = if squad.job == Job::Attack { bodies.all.get(&squad.aim) } else { None };
        let in_range = |id: &&EntityId| {
            let Some(unit) = self.world.get::<Unit>(**id) else { return false };
            let Some(spot) = self.census.unit_spot(unit) else { return false };
            let range = unit.kind.table().range;
            match aim {
                Some(aim) => spot.is_within(aim.spot, range),
                None => bodies.nearest(spot, unit.seat, range, false).is_some(),
            }
        };
        members.iter().filter(in_range).count() * 2 >= members.len()
    }

    /// Goes for what it was told to, or to meet an enemy who is near.
    fn chase(&mut self, ground: &Ground, link: Link, squad: &Squad, bodies: &Bodies) {
        let aim = bodies.all.get(&squad.aim).filter(|_| squad.job == Job::Attack);
        let near = || bodies.nearest(squad.spot(self.clock), squad.seat, CHASE_REACH, false);
        let Some(enemy) = aim.copied().or_else(near) else { return };
        let order =
            if aim.is_some() { (Job::Attack, squad.aim) } else { (Job::Assault, Link::NOBODY) };
        let (here, there) = (squad.end().cell(), enemy.spot.cell());
        if here != there && ground.nearest(there, crate::ways::GOAL_REACH) != Some(here) {
            self.order(ground, link, order, there);
        }
    }
}

/// Nobody shoots at, goes for or builds what is gone.
pub(crate) fn unlink(world: &mut World<Entity>, gone: &[Link]) {
    let is_gone = |link: Link| link.is_some() && gone.contains(&link);
    for (_, unit) in world.all_mut::<Unit>() {
        if is_gone(unit.target) {
            unit.target = Link::NOBODY;
        }
    }
    for (_, building) in world.all_mut::<Building>() {
        if is_gone(building.target) {
            building.target = Link::NOBODY;
        }
    }
    for (_, squad) in world.all_mut::<Squad>() {
        if is_gone(squad.aim) {
            squad.aim = Link::NOBODY;
            squad.job = if squad.job == Job::Attack { Job::Assault } else { Job::Stand };
        }
    }
}

impl Gun {
    /// What it shoots at from this beat on.
    fn choose(&self, bodies: &Bodies, beat: u32) -> Link {
        if self.range == 0 {
            return Link::NOBODY;
        }
        let is_near = |link: Link, range: i32| {
            bodies
                .all
                .get(&link)
                .is_some_and(|body| body.seat != self.seat && self.spot.is_within(body.spot, range))
        };
        if self.aim.is_some() && is_near(self.aim, self.range) {
            return self.aim;
        }
        if self.target.is_some() && is_near(self.target, self.range + KEPT_RANGE) {
            return self.target;
        }
        // Who has lost its target looks at once.
        if !self.target.is_some() && !(beat + self.id.slot() as u32).is_multiple_of(LOOK_BEATS) {
            return Link::NOBODY;
        }
        bodies
            .nearest(self.spot, self.seat, self.range, self.prefers_buildings)
            .map_or(Link::NOBODY, |body| body.link)
    }
}

impl Bodies {
    /// The nearest enemy within range; units before buildings, or the other way round.
    fn nearest(&self, spot: Spot, seat: u8, range: i32, prefers_buildings: bool) -> Option<Body> {
        let low = bucket_of(Spot { x: spot.x - range, y: spot.y - range });
        let high = bucket_of(Spot { x: spot.x + range, y: spot.y + range });
        let buckets = (low.1..=high.1)
            .flat_map(|row| (low.0..=high.0).map(move |column| row * BUCKETS + column));
        let bodies = buckets.flat_map(|bucket| &self.buckets[bucket as usize]);
        let enemies = bodies.filter(|body| body.seat != seat && spot.is_within(body.spot, range));
        let far = |body: &&Body| {
            let less = if body.is_building == prefers_buildings { 0 } else { BUILDING_LESS };
            (spot.distance(body.spot) + less, body.link)
        };
        enemies.min_by_key(far).copied()
    }
}

fn bucket_of(spot: Spot) -> (i32, i32) {
    let index = |at: i32| at.div_euclid(SUB * BUCKET_CELLS).clamp(0, BUCKETS - 1);
    (index(spot.x), index(spot.y))
}

fn bucket(spot: Spot) -> usize {
    let (column, row) = bucket_of(spot);
    (row * BUCKETS + column) as usize
}
