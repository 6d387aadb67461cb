//! What peace does: gathering, building, making units, and going on with ways longer than can be written at once.

use crate::building::Building;
use crate::content::SPRING_WORKERS_MAX;
use crate::contest::SEATS_MAX;
use crate::health::Health;
use crate::islands::Entity;
use crate::judge::workers_at;
use crate::orders::Field;
use crate::place::{Cell, Link, SUB};
use crate::squad::{Job, Squad};
use crate::tables::UnitKind;
use crate::unit::Unit;
use crate::ways::Ground;
use sametick::{EntityId, PlayerId};

/// How near a builder must be, in spots.
const BUILD_REACH: i32 = SUB * 3;
/// How near two squads at rest must be to become one, in spots.
const JOIN_REACH: i32 = SUB * 2;

impl Field<'_> {
    /// One beat of work.
    pub(crate) fn work(&mut self, ground: &Ground) {
        self.go_on(ground);
        self.gather();
        self.build();
        self.make(ground);
        self.join_squads();
    }

    fn gather(&mut self) {
        let mut rates = [0_u8; SEATS_MAX];
        for (id, squad) in self.world.all::<Squad>() {
            if squad.job == Job::Gather && squad.is_there(self.clock) {
                rates[usize::from(squad.seat) % SEATS_MAX] +=
                    self.census.members(Link::to(id)).len() as u8;
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
        let builders = self.world.all::<Squad>().filter(|(_, squad)| squad.job == Job::Build);
        let there = builders.filter(|(_, squad)| squad.is_there(self.clock));
        let sites: Vec<(Link, Cell)> =
            there.map(|(_, squad)| (squad.aim, squad.spot(self.clock).cell())).collect();
        for (site, builder) in sites {
            let Some(id) = self.census.name(site) else { continue };
            let Some(building) = self.world.get_mut::<Building>(id) else { continue };
            let is_near = building.cell.centre().is_within(builder.centre(), BUILD_REACH);
            if building.ready == 0 && is_near {
                building.ready = (self.clock + building.build_ticks()) as u16;
            }
        }
    }

    fn make(&mut self, ground: &Ground) {
        let is_made =
            |building: &Building| building.left > 0 && u32::from(building.done) <= self.clock;
        let makers = self.world.all::<Building>().filter(|(_, building)| is_made(building));
        let makers: Vec<(EntityId, Building)> =
            makers.map(|(id, building)| (id, *building)).collect();
        for (id, maker) in makers {
            let Some(owner) = self.world.owner(id) else { continue };
            if !self.spawn_unit(ground, owner, &maker) {
                continue;
            }
            if let Some(building) = self.world.get_mut::<Building>(id) {
                building.left -= 1;
                let next = self.clock + building.product.table().ticks;
                building.done = if building.left > 0 { next as u16 } else { 0 };
            }
        }
    }

    /// A new unit beside the building that made it, with those who wait there.
    fn spawn_unit(&mut self, ground: &Ground, owner: PlayerId, maker: &Building) -> bool {
        let muster = muster(ground, maker.cell);
        let table = maker.product.table();
        let waiting = self.world.all::<Squad>().find(|(id, squad)| {
            squad.seat == maker.seat
                && squad.is_there(self.clock)
                && matches!(squad.job, Job::Stand | Job::Go | Job::Assault)
                && squad.end().is_within(muster.centre(), JOIN_REACH)
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
        let unit = Unit {
            health,
            squad: link,
            place,
            kind: maker.product,
            seat: maker.seat,
            ..Unit::default()
        };
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
            goal: at,
            pace: table.pace,
            flies: table.flies,
            seat,
            ..Squad::default()
        };
        let id = self.world.spawn_owned(owner, squad)?;
        self.census.add(id, &squad.into(), self.clock);
        Some(id)
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

    /// Ways that were too long to be written at once are gone on with.
    fn go_on(&mut self, ground: &Ground) {
        let waits = |squad: &Squad| {
            !squad.points.is_empty()
                && squad.is_there(self.clock)
                && squad.points.last() != Some(&squad.goal)
        };
        let waiting = self.world.all::<Squad>().filter(|(_, squad)| waits(squad));
        let waiting: Vec<(Link, Squad)> =
            waiting.map(|(id, squad)| (Link::to(id), *squad)).collect();
        for (link, squad) in waiting {
            let end = squad.end().cell();
            let is_as_near = ground.nearest(squad.goal, crate::ways::GOAL_REACH) == Some(end);
            let goes_on = is_as_near
                || squad.flies
                || self.order(ground, link, (squad.job, squad.aim), squad.goal);
            if !goes_on
                && let Some(squad) =
                    self.census.name(link).and_then(|id| self.world.get_mut::<Squad>(id))
            {
                squad.goal = end;
            }
        }
    }

    /// Squads at rest that stand together and are alike become one: fewer to lead, fewer to tell of.
    fn join_squads(&mut self) {
        let rests = |squad: &Squad| {
            squad.is_there(self.clock) && squad.job != Job::Build && squad.job != Job::Attack
        };
        let squads = self.world.all::<Squad>().filter(|(_, squad)| rests(squad));
        let mut squads: Vec<(Link, Squad)> =
            squads.map(|(id, squad)| (Link::to(id), *squad)).collect();
        // Whoever has a target does not move.
        squads.retain(|(link, _)| {
            let mut members =
                self.census.members(*link).iter().filter_map(|id| self.world.get::<Unit>(*id));
            members.all(|unit| !unit.target.is_some())
        });
        for index in 0..squads.len() {
            let (into, host) = squads[index];
            for other in index + 1..squads.len() {
                let (from, guest) = squads[other];
                if self.can_join((into, &host), (from, &guest)) {
                    self.join(from, into);
                }
            }
        }
    }

    fn can_join(&self, (into, host): (Link, &Squad), (from, guest): (Link, &Squad)) -> bool {
        let is_work = |squad: &Squad| squad.job == Job::Gather;
        let sum = self.census.members(into).len() + self.census.members(from).len();
        let kind = self.census.members(from).first().and_then(|id| self.world.get::<Unit>(*id));
        host.seat == guest.seat
            && is_work(host) == is_work(guest)
            && (!is_work(host) || host.goal == guest.goal)
            && host.end().is_within(guest.end(), JOIN_REACH)
            && sum <= usize::from(crate::unit::SQUAD_PLACES)
            && !self.census.members(into).is_empty()
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
        if let Some(id) = self.census.name(from) {
            self.world.despawn(id);
            self.census.forget(from);
        }
    }
}

/// Where units wait beside the building that made them.
pub(crate) fn muster(ground: &Ground, cell: Cell) -> Cell {
    let around = cell.around(3).filter(|place| place.apart(cell) >= 2);
    let mut open = around.filter(|place| ground.is_open(*place));
    open.next().unwrap_or(cell)
}

/// All that belongs to a seat.
pub(crate) fn seat_of_entity(entity: &Entity) -> Option<u8> {
    match entity {
        Entity::Unit(unit) => Some(unit.seat),
        Entity::Squad(squad) => Some(squad.seat),
        Entity::Building(building) => Some(building.seat),
        Entity::Realm(_) | Entity::Contest(_) => None,
    }
}
