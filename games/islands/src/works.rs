//! What peace does: gathering, building, making units, and going on with ways longer than can be written at once.

use crate::building::Building;
use crate::content::SPRING_WORKERS_MAX;
use crate::contest::SEATS_MAX;
use crate::errand::{Errand, Job};
use crate::health::Health;
use crate::islands::Entity;
use crate::judge::workers_at;
use crate::orders::Field;
use crate::place::{Cell, Link, SUB};
use crate::realm::{RATE_MAX, UNITS_EACH_MAX};
use crate::squad::{Squad, moment};
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::{SQUAD_PLACES, Unit};
use crate::ways::{GOAL_REACH, Ground};
use sametick::{EntityId, PlayerId};

/// How near a builder must be, in spots.
const BUILD_REACH: i32 = SUB * 3;
/// How near two squads at rest must be to become one, in spots.
const JOIN_REACH: i32 = SUB * 3;
/// Squads that stopped on their way become one if their ways end so near each other, in cells, and one has lost most.
const GOALS_APART: i32 = 8;
const REMNANT: usize = 5;
/// Workshops so near the altar, in cells, send what they make to the ground beside it.
const MUSTER_CELLS: i32 = 12;
/// An altar draws crystals as so many workers do.
const ALTAR_RATE: u8 = 3;
const _: () = assert!(UNITS_EACH_MAX + ALTAR_RATE as usize <= RATE_MAX as usize);
/// Where the kinds of units wait.
const MUSTERS: [(i32, i32); 5] = [(2, 0), (0, 3), (0, -3), (-3, 0), (3, 0)];

impl Field<'_> {
    /// One beat of work.
    pub(crate) fn work(&mut self, ground: &Ground) {
        self.go_on(ground);
        self.gather();
        self.build();
        self.make(ground);
        self.join_squads(ground);
    }

    fn gather(&mut self) {
        // Whoever has lost all workers is not lost yet.
        let altars = self.world.all::<Building>();
        let altars = altars.filter(|(_, building)| building.kind == BuildingKind::Altar);
        let mut rates = [0_u8; SEATS_MAX];
        altars.for_each(|(_, altar)| rates[usize::from(altar.seat) % SEATS_MAX] = ALTAR_RATE);
        for (_, errand) in self.world.all::<Errand>().filter(|(_, one)| one.job == Job::Gather) {
            let squad = self.census.squad(self.world, errand.squad);
            // Who stands elsewhere waits for a way, or has none.
            let is_at_work = |squad: &&Squad| {
                squad.is_there(self.clock)
                    && self.content.springs().contains(&errand.goal)
                    && squad.end().cell().apart(errand.goal) <= GOAL_REACH
            };
            if let Some(squad) = squad.filter(is_at_work) {
                rates[usize::from(squad.seat) % SEATS_MAX] +=
                    self.census.members(errand.squad).len() as u8;
            }
        }
        let clock = self.clock;
        for (seat, rate) in rates.into_iter().enumerate() {
            if let Some(realm) = self.realm(seat as u8) {
                realm.set_rate(rate, clock);
            }
        }
    }

    fn build(&mut self) {
        let errands = self.world.all::<Errand>().filter(|(_, errand)| errand.job == Job::Build);
        let builders = errands.filter_map(|(_, errand)| {
            let squad = self.census.squad(self.world, errand.squad)?;
            let spot = squad.spot(self.clock);
            squad.is_there(self.clock).then(|| (errand.aim, spot.cell()))
        });
        let sites: Vec<(Link, Cell)> = builders.collect();
        for (site, builder) in sites {
            let Some(id) = self.census.name(site) else { continue };
            let Some(building) = self.world.get_mut::<Building>(id) else { continue };
            let is_near = building.cell.centre().is_within(builder.centre(), BUILD_REACH);
            if building.ready == 0 && is_near {
                building.ready = moment(self.clock.saturating_add(building.build_ticks()));
            }
        }
    }

    fn make(&mut self, ground: &Ground) {
        let made = |maker: &Building| maker.owed(self.clock) - maker.left(self.clock);
        let makers = self
            .world
            .all::<Building>()
            .filter(|(_, building)| building.count > 0 && made(building) > 0);
        let makers: Vec<(EntityId, Building)> =
            makers.map(|(id, building)| (id, *building)).collect();
        for (id, maker) in makers {
            let Some(owner) = self.world.owner(id) else { continue };
            if !self.spawn_unit(ground, owner, &maker) {
                // There is no room in the world: what was paid is paid back.
                self.earn(maker.seat, maker.product.table().cost);
            }
        }
    }

    /// Beside the altar if that is near, beside the workshop if not.
    fn muster(&self, ground: &Ground, maker: &Building) -> Cell {
        let home = self.content.homes().get(usize::from(maker.seat)).map(|home| home.altar);
        let home = home.filter(|altar| altar.apart(maker.cell) <= MUSTER_CELLS);
        muster(ground, home.unwrap_or(maker.cell), maker.product)
    }

    /// A new unit beside the building that made it, with those who wait there.
    fn spawn_unit(&mut self, ground: &Ground, owner: PlayerId, maker: &Building) -> bool {
        let muster = self.muster(ground, maker);
        let table = maker.product.table();
        let waiting = self.world.all::<Squad>().find(|(id, squad)| {
            squad.seat == maker.seat
                && squad.is_there(self.clock)
                && squad.end().is_within(muster.centre(), JOIN_REACH)
                && matches!(self.errand(Link::to(*id)).job, Job::Stand | Job::Go | Job::Assault)
                && self.is_alike(Link::to(*id), squad, maker.product)
                && self.census.free_place(self.world, Link::to(*id)).is_some()
        });
        let joins = waiting.map(|(id, _)| id).filter(|_| maker.product != UnitKind::Worker);
        let Some(squad) =
            joins.or_else(|| self.new_squad(owner, maker.seat, maker.product, muster))
        else {
            return false;
        };
        let link = Link::to(squad);
        let place = self.census.free_place(self.world, link).unwrap_or(0);
        let health = Health::full(table.health);
        let unit = Unit { health, squad: link, place, kind: maker.product, seat: maker.seat };
        let Some(id) = self.world.spawn_owned(owner, unit) else { return false };
        self.census.add(id, &unit.into(), self.clock);
        if maker.product == UnitKind::Worker {
            self.send_to_spring(ground, link, maker.cell);
        }
        true
    }

    pub(crate) fn new_squad(
        &mut self,
        owner: PlayerId,
        seat: u8,
        kind: UnitKind,
        at: Cell,
    ) -> Option<EntityId> {
        let table = kind.table();
        let squad = Squad {
            from: at.centre(),
            pace: table.pace,
            flies: table.flies,
            seat,
            ..Squad::default()
        };
        self.add_squad(owner, squad)
    }

    /// A new worker begins by itself at the nearest spring of its island that feeds one more.
    fn send_to_spring(&mut self, ground: &Ground, squad: Link, from: Cell) {
        let reachable = ground.reachable(from);
        let mut springs: Vec<Cell> = self
            .content
            .springs()
            .iter()
            .copied()
            .filter(|cell| reachable.is_open(*cell))
            .collect();
        springs.sort_by_key(|cell| (cell.apart(from), *cell));
        let has_room =
            |cell: &Cell| workers_at(self.world, &self.census, *cell).len() < SPRING_WORKERS_MAX;
        if let Some(spring) = springs.into_iter().find(has_room) {
            self.order(ground, squad, (Job::Gather, Link::NOBODY), spring);
        }
    }

    /// Ways that were too long to be written at once are gone on with, and those begun that waited for a turn.
    fn go_on(&mut self, ground: &Ground) {
        let mut waiting: Vec<(Errand, Squad)> = Vec::new();
        for (_, errand) in self.world.all::<Errand>() {
            let squad = self.census.squad(self.world, errand.squad);
            let squad = squad.filter(|squad| squad.waits(self.clock, errand));
            waiting.extend(squad.map(|squad| (*errand, *squad)));
        }
        for (errand, squad) in waiting {
            let (link, end) = (errand.squad, squad.end().cell());
            let is_as_near = ground.nearest(errand.goal, crate::ways::GOAL_REACH) == Some(end);
            let what = (errand.job, errand.aim);
            if !is_as_near && !squad.flies && !self.order(ground, link, what, errand.goal) {
                self.set_errand(link, what, end);
            }
        }
    }

    /// Squads at rest that stand together and are alike become one: fewer to lead, fewer to tell of.
    fn join_squads(&mut self, ground: &Ground) {
        let stands = |squad: &Squad, errand: &Errand| {
            let is_led = squad.is_moving(self.clock) || squad.waits(self.clock, errand);
            !is_led && errand.job != Job::Build && errand.job != Job::Attack
        };
        let squads = self.world.all::<Squad>();
        let squads = squads.map(|(id, squad)| (self.errand(Link::to(id)), *squad));
        let squads: Vec<(Errand, Squad)> =
            squads.filter(|(errand, squad)| stands(squad, errand)).collect();
        for index in 0..squads.len() {
            let (into, host) = squads[index];
            for (from, guest) in &squads[index + 1..] {
                if self.can_join(ground, (&into, &host), (from, guest)) {
                    self.join(from.squad, into.squad);
                }
            }
        }
    }

    fn can_join(
        &self,
        ground: &Ground,
        (to, host): (&Errand, &Squad),
        (away, guest): (&Errand, &Squad),
    ) -> bool {
        if host.seat != guest.seat
            || host.pace != guest.pace
            || (to.job == Job::Gather) != (away.job == Job::Gather)
        {
            return false;
        }
        let (into, from) = (to.squad, away.squad);
        let (here, there) = (host.spot(self.clock), guest.spot(self.clock));
        let members = self.census.members(from);
        let sum = self.census.members(into).len() + members.len();
        let has_room = sum <= usize::from(SQUAD_PLACES) && sum > members.len();
        if !has_room || !here.is_within(there, JOIN_REACH) {
            return false;
        }
        // Squads that stopped on their way must have the same; what is left of one is not much.
        let goes_along = if host.halt > 0 || guest.halt > 0 {
            host.halt > 0 && to.goal.apart(away.goal) <= GOALS_APART && members.len() <= REMNANT
        } else {
            let mut units = members.iter().filter_map(|id| self.world.get::<Unit>(*id));
            let is_calm = units.all(|unit| unit.health.loss() == 0);
            is_calm && (to.job != Job::Gather || to.goal == away.goal)
        };
        let kind = members.first().and_then(|id| self.world.get::<Unit>(*id));
        goes_along
            && (host.flies || ground.is_clear(there, here))
            && kind.is_some_and(|unit| self.is_alike(into, host, unit.kind))
    }

    /// Whether a unit of a kind keeps step with a squad, and does the same.
    fn is_alike(&self, link: Link, squad: &Squad, kind: UnitKind) -> bool {
        let table = kind.table();
        let first = self.census.members(link).first().and_then(|id| self.world.get::<Unit>(*id));
        let works =
            first.is_none_or(|unit| (unit.kind == UnitKind::Worker) == (kind == UnitKind::Worker));
        squad.pace == table.pace && squad.flies == table.flies && works
    }

    fn join(&mut self, from: Link, into: Link) {
        for id in self.census.members(from).to_vec() {
            let place = self.census.free_place(self.world, into);
            if let (Some(unit), Some(place)) = (self.world.get_mut::<Unit>(id), place) {
                (unit.squad, unit.place) = (into, place);
                self.census.moved(id, from, into);
            }
        }
        self.disband(from);
    }

    /// Takes a squad without units away, and its errand.
    pub(crate) fn disband(&mut self, squad: Link) {
        let names = [self.census.name(squad), self.census.errand_name(squad)];
        for id in names.into_iter().flatten() {
            self.world.despawn(id);
            self.census.forget(Link::to(id));
        }
        self.census.forget(squad);
    }
}

/// Where units of a kind wait beside a building: each kind has its own side.
pub(crate) fn muster(ground: &Ground, beside: Cell, kind: UnitKind) -> Cell {
    let (x, y) = MUSTERS[kind as usize % MUSTERS.len()];
    let there = beside.offset(x, y).and_then(|cell| ground.nearest(cell, 1));
    there.or_else(|| ground.nearest(beside, 3)).unwrap_or(beside)
}

/// All that belongs to a seat.
pub(crate) fn seat_of_entity(entity: &Entity) -> Option<u8> {
    match entity {
        Entity::Unit(unit) => Some(unit.seat),
        Entity::Squad(squad) => Some(squad.seat),
        Entity::Building(building) => Some(building.seat),
        Entity::Realm(_) | Entity::Errand(_) | Entity::Contest(_) => None,
    }
}
