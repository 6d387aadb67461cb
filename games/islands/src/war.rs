//! What war does: who shoots at whom, what that takes from whom each second, who dies, and when squads stop to fight.
//!
//! Who shoots at whom follows from where everyone stands and is written nowhere: a fight is told of in changes of what
//! is lost each second, once a second at most, not in shots.

use crate::building::{self, Building};
use crate::census::Census;
use crate::errand::{Errand, Job};
use crate::health::BEAT_TICKS;
use crate::islands::Entity;
use crate::orders::Field;
use crate::place::{Link, SIDE_MAX, SUB, Spot};
use crate::sight::Sight;
use crate::squad::{Squad, moment};
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::{self, Unit};
use crate::ways::Ground;
use crate::works::seat_of_entity;
use sametick::record::mix;
use sametick::{EntityId, World};
use std::collections::BTreeMap;

/// Targets are chosen once in so many beats, by all at the same moment: who is shot at by three learns of it once.
const VOLLEY_BEATS: u32 = 8;
/// How far an idle squad goes to meet an enemy, in spots, and how long after its last order.
const CHASE_REACH: i32 = SUB * 7;
const CHASE_TICKS: u32 = 100;
/// A halted squad without targets waits so long before it goes on.
const HALT_TICKS: u32 = 50;
/// A building is taken for so much farther than a unit, in spots.
const BUILDING_LESS: i32 = SUB * 4;
/// Targets that differ by less, in spots, are as near: fire is spread over them.
const TARGETS_APART: i32 = SUB * 2;
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
    link: Link,
    seat: u8,
    spot: Spot,
    range: i32,
    /// What it was told to shoot at.
    aim: Link,
    prefers_buildings: bool,
}

impl Field<'_> {
    /// One beat of war, after the dead are buried.
    pub(crate) fn fight(&mut self, ground: &Ground) {
        let beat = self.clock / BEAT_TICKS;
        let bodies = Bodies::new(self.world, &self.census);
        let is_volley = beat.is_multiple_of(VOLLEY_BEATS);
        if is_volley {
            let aims = aims(self.world, &self.census, &bodies, self.clock);
            self.set_losses(&aims);
            self.lead_resting(ground, &bodies, &aims);
        }
        self.stop_to_fight(&bodies);
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
            if let Some(Entity::Building(building)) = self.world.despawn(*id) {
                // What it was to make is paid back.
                let owed = u32::from(building.owed(self.clock));
                if owed > 0 {
                    self.earn(building.seat, building.product.table().cost * owed);
                }
            }
        }
        let links: Vec<Link> = dead.iter().map(|id| Link::to(*id)).collect();
        unlink(self.world, &links);
        let errands = self.world.all::<Errand>().map(|(id, errand)| (id, errand.squad));
        let errands: Vec<(EntityId, Link)> = errands.collect();
        links.iter().for_each(|link| self.census.forget(*link));
        for (_, members) in self.census.all_members_mut() {
            members.retain(|id| dead.binary_search(id).is_err());
        }
        for (errand, squad) in errands {
            if self.census.members(squad).is_empty() {
                // The squad may be among the dead itself.
                self.world.despawn(errand);
                self.disband(squad);
            }
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
        let turned: Vec<Link> = turned.map(|(id, _)| Link::to(id)).collect();
        for link in turned {
            let errand = self.errand(link);
            let what = (errand.job, errand.aim);
            if !self.order(&ground, link, what, errand.goal) {
                self.rest(link, what);
            }
        }
    }

    /// What everyone loses each second follows from who shoots at it.
    fn set_losses(&mut self, aims: &Aims) {
        let mut losses: BTreeMap<Link, u16> = BTreeMap::new();
        for (gun, target) in aims {
            let gun = self.census.name(*gun).and_then(|id| self.world.entity(id));
            let target_id = self.census.name(*target);
            let is_building = target_id.is_some_and(|id| self.world.get::<Building>(id).is_some());
            let (harm, siege) = match gun {
                Some(Entity::Unit(unit)) => (unit.kind.table().harm, unit.kind.table().siege),
                Some(Entity::Building(building)) => (building.kind.table().harm, 0),
                _ => (0, 0),
            };
            *losses.entry(*target).or_default() += if is_building { siege } else { harm };
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

    /// Squads on their way to a fight stop where half of them can.
    fn stop_to_fight(&mut self, bodies: &Bodies) {
        let beat = self.clock / BEAT_TICKS;
        let fights = |link: Link| matches!(self.errand(link).job, Job::Assault | Job::Attack);
        let squads = self.world.all::<Squad>().filter(|(_, squad)| squad.is_moving(self.clock));
        let squads = squads.map(|(id, _)| id).filter(|id| fights(Link::to(*id)));
        let squads: Vec<EntityId> = squads.collect();
        for id in squads {
            let link = Link::to(id);
            let is_due = (beat + u32::from(link.0)).is_multiple_of(2);
            if is_due && self.is_armed(link) && self.can_fight(link, bodies) {
                self.change(id, |squad, clock| squad.halt = moment(clock));
            }
        }
    }

    /// Squads that stopped go on when they are done; those at rest meet who comes near.
    fn lead_resting(&mut self, ground: &Ground, bodies: &Bodies, aims: &Aims) {
        let rests = self.world.all::<Squad>().filter(|(_, squad)| !squad.is_moving(self.clock));
        let squads: Vec<(EntityId, Squad)> = rests.map(|(id, squad)| (id, *squad)).collect();
        for (id, squad) in squads {
            let link = Link::to(id);
            let shoots =
                self.census.members(link).iter().any(|id| aims.contains_key(&Link::to(*id)));
            if shoots || !self.is_armed(link) {
                continue;
            }
            if squad.halt > 0 {
                if self.clock.saturating_sub(u32::from(squad.halt)) >= HALT_TICKS {
                    self.resume(ground, id, &squad);
                }
            } else if self.clock.saturating_sub(u32::from(squad.since)) >= CHASE_TICKS {
                self.chase(ground, id, &squad, bodies);
            }
        }
    }

    /// Lets a squad that stopped go on; if a bridge ahead fell meanwhile, by another way.
    fn resume(&mut self, ground: &Ground, id: EntityId, squad: &Squad) {
        let mut legs = squad.legs_ahead(self.clock);
        if squad.flies || legs.all(|(from, to)| ground.is_clear(from, to)) {
            return self.change(id, |squad, clock| squad.resume(clock));
        }
        let (link, errand) = (Link::to(id), self.errand(Link::to(id)));
        let what = (errand.job, errand.aim);
        if !self.order(ground, link, what, errand.goal) {
            self.rest(link, what);
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

    /// Whether half of a squad have someone within range.
    fn can_fight(&self, link: Link, bodies: &Bodies) -> bool {
        let (members, errand) = (self.census.members(link), self.errand(link));
        let aim = if errand.job == Job::Attack { bodies.all.get(&errand.aim) } else { None };
        let in_range = |id: &&EntityId| {
            let Some(unit) = self.world.get::<Unit>(**id) else { return false };
            let Some(spot) = self.census.unit_spot(unit) else { return false };
            let range = unit.kind.table().range;
            match aim {
                Some(aim) => spot.is_within(aim.spot, range),
                None => bodies.nearest(spot, unit.seat, range).is_some(),
            }
        };
        members.iter().filter(in_range).count() * 2 >= members.len()
    }

    /// Goes for what it was told to while its owner sees that, or to meet an enemy who is near.
    fn chase(&mut self, ground: &Ground, id: EntityId, squad: &Squad, bodies: &Bodies) {
        let link = Link::to(id);
        let errand = self.errand(link);
        let aim = bodies.all.get(&errand.aim).filter(|_| errand.job == Job::Attack);
        let aim = aim.filter(|aim| {
            let owner = self.world.owner(id);
            owner.is_some_and(|owner| Sight::of(self.world, owner).sees(aim.spot))
        });
        let near = || bodies.nearest(squad.spot(self.clock), squad.seat, CHASE_REACH);
        let Some(enemy) = aim.copied().or_else(near) else { return };
        let order =
            if aim.is_some() { (Job::Attack, errand.aim) } else { (Job::Assault, Link::NOBODY) };
        let (here, there) = (squad.end().cell(), enemy.spot.cell());
        if here != there && ground.nearest(there, crate::ways::GOAL_REACH) != Some(here) {
            self.order(ground, link, order, there);
        }
    }
}

/// Nobody goes for or builds what is gone.
fn unlink(world: &mut World<Entity>, gone: &[Link]) {
    for (_, errand) in world.all_mut::<Errand>() {
        if errand.aim.is_some() && gone.contains(&errand.aim) {
            errand.aim = Link::NOBODY;
            errand.job = if errand.job == Job::Attack { Job::Assault } else { Job::Stand };
        }
    }
}

/// Who shoots at whom.
type Aims = BTreeMap<Link, Link>;

/// Who shoots at whom in a world, as far as that is seen: for eyes, which are not told of it.
pub fn shots(world: &World<Entity>) -> Vec<(EntityId, EntityId)> {
    let clock = crate::census::clock(world);
    let census = Census::new(world, clock);
    let aims = aims(world, &census, &Bodies::new(world, &census), clock);
    aims.into_iter()
        .filter_map(|(gun, target)| Some((census.name(gun)?, census.name(target)?)))
        .collect()
}

fn aims(world: &World<Entity>, census: &Census, bodies: &Bodies, clock: u32) -> Aims {
    let aim = |(id, entity): (EntityId, &Entity)| {
        let gun = gun(world, census, clock, (id, entity))?;
        Some((Link::to(id), gun.choose(bodies)?))
    };
    world.entities().filter_map(aim).collect()
}

/// Someone who can shoot at this moment.
fn gun(
    world: &World<Entity>,
    census: &Census,
    clock: u32,
    (id, entity): (EntityId, &Entity),
) -> Option<Gun> {
    let link = Link::to(id);
    match entity {
        Entity::Unit(unit) if unit.kind.table().harm > 0 => {
            census.squad(world, unit.squad).filter(|squad| !squad.is_moving(clock))?;
            let errand = census.errand(world, unit.squad);
            Some(Gun {
                link,
                seat: unit.seat,
                spot: census.unit_spot(unit)?,
                range: unit.kind.table().range,
                aim: if errand.job == Job::Attack { errand.aim } else { Link::NOBODY },
                prefers_buildings: unit.kind == UnitKind::Ballista,
            })
        }
        Entity::Building(building)
            if building.kind.table().harm > 0 && building.is_ready(clock) =>
        {
            Some(Gun {
                link,
                seat: building.seat,
                spot: building.spot(),
                range: building.kind.table().range,
                aim: Link::NOBODY,
                prefers_buildings: false,
            })
        }
        _ => None,
    }
}

impl Gun {
    /// What it shoots at: what it was told to, or the nearest.
    fn choose(&self, bodies: &Bodies) -> Option<Link> {
        let told = bodies.all.get(&self.aim).filter(|body| body.seat != self.seat);
        let told = told.filter(|body| self.spot.is_within(body.spot, self.range));
        Some(told.copied().or_else(|| bodies.target(self))?.link)
    }
}

impl Bodies {
    fn new(world: &World<Entity>, census: &Census) -> Self {
        let mut bodies =
            Self { all: BTreeMap::new(), buckets: vec![Vec::new(); (BUCKETS * BUCKETS) as usize] };
        for (id, entity) in world.entities() {
            let is_building = match entity {
                Entity::Unit(_) => false,
                // A plan on paper cannot be hit.
                Entity::Building(building) if building.ready > 0 => true,
                _ => continue,
            };
            let is_bridge = matches!(entity, Entity::Building(building) if building.kind == BuildingKind::Bridge);
            let (Some(spot), Some(seat)) = (census.spot(entity), seat_of_entity(entity)) else {
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

    /// The nearest enemy within range; units before buildings.
    fn nearest(&self, spot: Spot, seat: u8, range: i32) -> Option<Body> {
        let far = |body: &&Body| (spot.distance(body.spot) + less(body, false), body.link);
        self.within(spot, seat, range).min_by_key(far).copied()
    }

    /// A target for one who shoots: of those about as near as the nearest, each gun has its own.
    fn target(&self, gun: &Gun) -> Option<Body> {
        let key = |body: &&Body| {
            let far = gun.spot.distance(body.spot) + less(body, gun.prefers_buildings);
            let [gun, body] = [gun.link, body.link].map(|link| u32::from(link.0));
            (far / TARGETS_APART, mix(u64::from(gun), body), body)
        };
        self.within(gun.spot, gun.seat, gun.range).min_by_key(key).copied()
    }

    fn within(&self, spot: Spot, seat: u8, range: i32) -> impl Iterator<Item = &Body> {
        let low = bucket_of(Spot { x: spot.x - range, y: spot.y - range });
        let high = bucket_of(Spot { x: spot.x + range, y: spot.y + range });
        let buckets = (low.1..=high.1)
            .flat_map(move |row| (low.0..=high.0).map(move |column| row * BUCKETS + column));
        let bodies = buckets.flat_map(|bucket| &self.buckets[bucket as usize]);
        bodies.filter(move |body| body.seat != seat && spot.is_within(body.spot, range))
    }
}

/// What is not of the preferred sort counts as farther.
fn less(body: &Body, prefers_buildings: bool) -> i32 {
    if body.is_building == prefers_buildings { 0 } else { BUILDING_LESS }
}

fn bucket_of(spot: Spot) -> (i32, i32) {
    let index = |at: i32| at.div_euclid(SUB * BUCKET_CELLS).clamp(0, BUCKETS - 1);
    (index(spot.x), index(spot.y))
}

fn bucket(spot: Spot) -> usize {
    let (column, row) = bucket_of(spot);
    (row * BUCKETS + column) as usize
}
