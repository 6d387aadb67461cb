//! Whether a request is lawful: the one rule that clients ask before they send, and the step before it obeys.

use crate::building::{BATCH_MAX, Building, SPAN_MAX, run};
use crate::census::{Census, building, clock_at, contest, seat_of};
use crate::content::{Content, SPRING_WORKERS_MAX};
use crate::errand::{Errand, Job};
use crate::islands::Entity;
use crate::place::{Cell, DIRECTIONS, Mark};
use crate::realm::{BUILDINGS_MAX, Realm};
use crate::request::{Denial, Request, Verb};
use crate::sight::Sight;
use crate::squad::Squad;
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::Unit;
use crate::ways::{GOAL_REACH, Ground};
use sametick::{EntityId, PlayerId, Slots, Tick, World};

/// Whether a player may have this in the step that follows the world. Changes nothing; illegal requests change nothing
/// either.
///
/// ```
/// use sametick::{Alone, PlayerId};
/// use sametick_islands::{Content, Denial, Islands, Opening, Request, TICK, judge};
///
/// let content = Content::new(1, 2, Opening::Settlers);
/// let mut game = Alone::<Islands>::new(content.clone(), 1, TICK);
/// game.join(PlayerId(0));
/// game.step([])?;
/// let nobody = Request::march([], content.homes()[1].altar, true);
/// assert_eq!(judge(game.world(), &content, PlayerId(0), &nobody), Err(Denial::Nobody));
/// assert_eq!(judge(game.world(), &content, PlayerId(5), &nobody), Err(Denial::NotPlaying));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn judge(
    world: &World<Entity>,
    content: &Content,
    player: PlayerId,
    request: &Request,
) -> Result<(), Denial> {
    judge_by(world, content, player, request, None)
}

/// What a client makes of a request before it asks for it. It denies what is plainly unlawful by what its player knows;
/// where nothing is seen there may be a bridge, and the server has to say.
pub fn foresee(
    world: &World<Entity>,
    content: &Content,
    player: PlayerId,
    request: &Request,
) -> Result<(), Denial> {
    judge_by(world, content, player, request, Some(Sight::of(world, player)))
}

/// Judges by all that there is, or by what is seen.
fn judge_by(
    world: &World<Entity>,
    content: &Content,
    player: PlayerId,
    request: &Request,
    seen: Option<Sight>,
) -> Result<(), Denial> {
    if request.is_nothing() {
        return Ok(());
    }
    let clock = clock_at(world, Tick(world.tick().0.saturating_add(1)));
    let census = Census::new(world, clock);
    Court { world, content, census: &census, clock, seen }.judge(player, request)
}

/// Everything that is asked to judge.
pub(crate) struct Court<'a> {
    pub(crate) world: &'a World<Entity>,
    pub(crate) content: &'a Content,
    pub(crate) census: &'a Census,
    pub(crate) clock: u32,
    /// Of someone who does not know what is elsewhere; none for who knows all.
    pub(crate) seen: Option<Sight>,
}

impl Court<'_> {
    pub(crate) fn judge(&self, player: PlayerId, request: &Request) -> Result<(), Denial> {
        let seat = seat_of(self.world, player).ok_or(Denial::NotPlaying)?;
        let contest = contest(self.world);
        if contest.is_over {
            return Err(Denial::Over);
        }
        if !contest.plays(seat) {
            return Err(Denial::NotPlaying);
        }
        match request.verb {
            Verb::Nothing => Ok(()),
            Verb::Go | Verb::Assault => self.march(player, seat, request),
            Verb::Attack => self.attack(player, seat, request),
            Verb::Stop => self.group(player, seat, request).map(|_| ()),
            Verb::Gather => self.gather(player, seat, request),
            Verb::Build => self.build(player, seat, request),
            Verb::Produce => self.produce(player, seat, request),
            Verb::Cancel => self.cancel(player, seat, request),
        }
    }

    /// The units that a request names.
    pub(crate) fn group(
        &self,
        player: PlayerId,
        seat: u8,
        request: &Request,
    ) -> Result<Vec<EntityId>, Denial> {
        let mut units = Vec::new();
        for mark in &request.group {
            let id = self.census.marked(*mark).ok_or(Denial::Gone)?;
            let owner = if request.whole {
                units.extend_from_slice(self.census.members(mark.link()));
                self.world.get::<Squad>(id).map(|squad| squad.seat)
            } else {
                units.push(id);
                self.world.get::<Unit>(id).map(|unit| unit.seat)
            };
            if owner.ok_or(Denial::Gone)? != seat {
                return Err(self.foreign(player, id));
            }
        }
        units.sort_unstable();
        units.dedup();
        if units.is_empty() { Err(Denial::Nobody) } else { Ok(units) }
    }

    /// Why nobody leads what belongs to others. What one does not see is not there: guessing at names tells nothing.
    fn foreign(&self, player: PlayerId, id: EntityId) -> Denial {
        if self.is_known(player, id) { Denial::NotYours } else { Denial::Gone }
    }

    /// Whether a player is told of something.
    fn is_known(&self, player: PlayerId, id: EntityId) -> bool {
        let mut visible = Slots::default();
        crate::sight::relevant(self.world, player, &mut visible);
        visible.contains(id.slot())
    }

    /// Where one can walk, or could for all that is known.
    fn ground(&self) -> Ground {
        let mut ground = Ground::new(self.content, self.world, self.clock);
        if let Some(seen) = &self.seen {
            let side = self.content.side();
            let cells = (0..side).flat_map(|y| (0..side).filter_map(move |x| Cell::new(x, y)));
            cells.filter(|cell| !seen.sees(cell.centre())).for_each(|cell| ground.open(cell));
        }
        ground
    }

    fn units<'a>(&'a self, group: &'a [EntityId]) -> impl Iterator<Item = &'a Unit> {
        group.iter().filter_map(|id| self.world.get::<Unit>(*id))
    }

    fn march(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let group = self.group(player, seat, request)?;
        if !self.content.is_inside(request.place) {
            return Err(Denial::Unreachable);
        }
        if self.can_reach(&group, request.place) { Ok(()) } else { Err(Denial::Unreachable) }
    }

    /// Whether any of a group can come to a place, or next to it.
    fn can_reach(&self, group: &[EntityId], place: Cell) -> bool {
        if self.units(group).any(|unit| unit.kind.table().flies) {
            return true;
        }
        let ground = self.ground();
        let Some(goal) = ground.nearest(place, GOAL_REACH) else { return false };
        let reachable = ground.reachable(goal);
        let spots = self.units(group).filter_map(|unit| self.census.squad_spot(unit.squad));
        spots
            .map(|spot| spot.cell())
            .any(|cell| ground.nearest(cell, 2).is_some_and(|cell| reachable.is_open(cell)))
    }

    fn attack(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let group = self.group(player, seat, request)?;
        if !self.units(&group).any(|unit| unit.kind != UnitKind::Worker) {
            return Err(Denial::Unarmed);
        }
        let id = self.census.marked(request.target).filter(|id| self.is_known(player, *id));
        let entity = id.and_then(|id| self.world.entity(id)).ok_or(Denial::Gone)?;
        let owner = match entity {
            Entity::Unit(unit) => unit.seat,
            Entity::Building(building) => building.seat,
            _ => return Err(Denial::NoEnemy),
        };
        if owner == seat {
            return Err(Denial::NoEnemy);
        }
        let place = match entity {
            Entity::Unit(unit) => self.census.squad_spot(unit.squad),
            _ => self.census.spot(entity),
        };
        let place = place.ok_or(Denial::Gone)?;
        if self.can_reach(&group, place.cell()) { Ok(()) } else { Err(Denial::Unreachable) }
    }

    fn workers(
        &self,
        player: PlayerId,
        seat: u8,
        request: &Request,
    ) -> Result<Vec<EntityId>, Denial> {
        let group = self.group(player, seat, request)?;
        let are_workers = self.units(&group).all(|unit| unit.kind == UnitKind::Worker);
        if are_workers { Ok(group) } else { Err(Denial::NoWorker) }
    }

    fn gather(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let group = self.workers(player, seat, request)?;
        if !self.content.springs().contains(&request.place) {
            return Err(Denial::NoSpring);
        }
        // First, so that nothing is told of springs where nobody can go.
        if !self.can_reach(&group, request.place) {
            return Err(Denial::Unreachable);
        }
        let there = workers_at(self.world, self.census, request.place);
        let others = there.iter().filter(|id| !group.contains(id)).count();
        if others + group.len() > SPRING_WORKERS_MAX { Err(Denial::SpringIsFull) } else { Ok(()) }
    }

    fn build(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let group = self.workers(player, seat, request)?;
        if self.plan_at(seat, request).is_some() {
            return if self.can_reach(&group, request.place) {
                Ok(())
            } else {
                Err(Denial::Unreachable)
            };
        }
        if request.building == BuildingKind::Altar {
            return Err(Denial::CannotMake);
        }
        if self.census.buildings(seat) >= BUILDINGS_MAX {
            return Err(Denial::TooMany);
        }
        if request.building == BuildingKind::Bridge {
            let shore = self.bridge_site(request)?;
            if !self.can_reach(&group, shore) {
                return Err(Denial::Unreachable);
            }
        } else {
            self.building_site(&group, request.place)?;
        }
        self.afford(seat, planned(seat, request).cost())
    }

    /// A plan of one's own that nobody has begun to build.
    pub(crate) fn plan_at(&self, seat: u8, request: &Request) -> Option<EntityId> {
        let is_it = |plan: &Building| {
            plan.seat == seat
                && plan.cell == request.place
                && plan.kind == request.building
                && plan.ready == 0
        };
        self.world.all::<Building>().find(|(_, plan)| is_it(plan)).map(|(id, _)| id)
    }

    fn building_site(&self, group: &[EntityId], place: Cell) -> Result<(), Denial> {
        if !self.content.is_inside(place) || !self.content.is_land(place) {
            return Err(Denial::NotOnLand);
        }
        // Before it is told what stands there.
        if !self.can_reach(group, place) {
            return Err(Denial::Unreachable);
        }
        let mut buildings =
            self.world.all::<Building>().filter(|(_, one)| one.kind != BuildingKind::Bridge);
        let is_taken = buildings.any(|(_, one)| one.cell.apart(place) <= 1)
            || self.content.springs().iter().any(|spring| spring.apart(place) <= 1);
        if is_taken { Err(Denial::Occupied) } else { Ok(()) }
    }

    /// Where the bridge begins: the worker stands there.
    fn bridge_site(&self, request: &Request) -> Result<Cell, Denial> {
        let (x, y) = DIRECTIONS[usize::from(request.direction) % DIRECTIONS.len()];
        let shore = request.place.offset(-x, -y).ok_or(Denial::NotABridge)?;
        let cells: Vec<Cell> = run(request.place, request.direction, request.span).collect();
        let is_water = |cell: &Cell| self.content.is_inside(*cell) && !self.content.is_land(*cell);
        let is_lawful = (1..=SPAN_MAX).contains(&request.span)
            && cells.len() == usize::from(request.span)
            && cells.iter().all(is_water);
        if !is_lawful || !self.ground().is_open(shore) {
            return Err(Denial::NotABridge);
        }
        let mut bridges =
            self.world.all::<Building>().filter(|(_, one)| one.kind == BuildingKind::Bridge);
        let is_taken = bridges.any(|(_, bridge)| bridge.cells().any(|cell| cells.contains(&cell)));
        if is_taken { Err(Denial::Occupied) } else { Ok(shore) }
    }

    fn produce(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let building = self.own_building(player, seat, request.target)?;
        if !building.kind.makes(request.unit) || request.count == 0 {
            return Err(Denial::CannotMake);
        }
        let left = building.owed(self.clock);
        let adds = left == 0 || building.product == request.unit;
        if !building.is_ready(self.clock) || !adds || left + request.count > BATCH_MAX {
            return Err(Denial::Busy);
        }
        let units_max = contest(self.world).units_max();
        if self.census.units_to_be(seat) + usize::from(request.count) > units_max {
            return Err(Denial::TooMany);
        }
        self.afford(seat, request.unit.table().cost * u32::from(request.count))
    }

    fn cancel(&self, player: PlayerId, seat: u8, request: &Request) -> Result<(), Denial> {
        let building = self.own_building(player, seat, request.target)?;
        let has_something = building.owed(self.clock) > 0 || !building.is_ready(self.clock);
        if has_something { Ok(()) } else { Err(Denial::CannotMake) }
    }

    fn own_building(&self, player: PlayerId, seat: u8, mark: Mark) -> Result<Building, Denial> {
        let (id, building) = building(self.world, self.census, mark).ok_or(Denial::Gone)?;
        if building.seat == seat { Ok(building) } else { Err(self.foreign(player, id)) }
    }

    fn afford(&self, seat: u8, crystals: u32) -> Result<(), Denial> {
        let realm = self.census.realm(seat).and_then(|id| self.world.get::<Realm>(id));
        let has = realm.map_or(0, |realm| realm.crystals(self.clock));
        if has < crystals { Err(Denial::TooPoor) } else { Ok(()) }
    }
}

/// Who gathers at a spring, or is on the way to.
pub(crate) fn workers_at(world: &World<Entity>, census: &Census, spring: Cell) -> Vec<EntityId> {
    let is_there = |errand: &Errand| errand.job == Job::Gather && errand.goal == spring;
    let errands = world.all::<Errand>().filter(|(_, errand)| is_there(errand));
    errands.flat_map(|(_, errand)| census.members(errand.squad).iter().copied()).collect()
}

/// What a request to build would plan.
pub(crate) fn planned(seat: u8, request: &Request) -> Building {
    let is_bridge = request.building == BuildingKind::Bridge;
    Building {
        health: crate::Health::full(request.building.table().health),
        kind: request.building,
        cell: request.place,
        seat,
        direction: if is_bridge { request.direction } else { 0 },
        span: if is_bridge { request.span } else { 0 },
        ..Building::default()
    }
}
