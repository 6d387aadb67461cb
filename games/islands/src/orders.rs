//! Obeys requests that were found lawful.

use crate::building::Building;
use crate::census::{Census, building};
use crate::content::Content;
use crate::contest::SEATS_MAX;
use crate::errand::{Errand, Job};
use crate::islands::Entity;
use crate::judge::{Court, planned};
use crate::place::{Cell, DIRECTIONS, Link};
use crate::realm::Realm;
use crate::request::{Request, Verb};
use crate::squad::{Squad, moment};
use crate::tables::BuildingKind;
use crate::unit::Unit;
use crate::ways::{Ground, Way};
use sametick::{EntityId, List, PlayerId, World};
use std::collections::BTreeMap;

/// Squads that are sent to one place together stand so many cells apart there.
const SQUADS_APART: i32 = 3;

/// A world that is being changed, and who is in it.
pub(crate) struct Field<'a> {
    pub(crate) world: &'a mut World<Entity>,
    pub(crate) content: &'a Content,
    pub(crate) census: Census,
    pub(crate) clock: u32,
    /// How many ways may still be looked for, by seat.
    ways_left: [u32; SEATS_MAX],
}

/// How many ways are looked for in one tick for what a player asks. Squads beyond that wait where they are, and are led
/// on with the next beats: one who asks for much takes nothing from others.
pub const WAYS_PER_PLAYER_MAX: u32 = 8;
/// How many are looked for in a beat for a player's squads that wait, have come to the end of what was written, whose
/// bridge fell, or who meet an enemy.
pub const BEAT_WAYS_PER_PLAYER_MAX: u32 = 8;

impl<'a> Field<'a> {
    pub(crate) fn new(world: &'a mut World<Entity>, content: &'a Content, clock: u32) -> Self {
        let census = Census::new(world, clock);
        Self { world, content, census, clock, ways_left: [WAYS_PER_PLAYER_MAX; SEATS_MAX] }
    }
}

impl Field<'_> {
    /// What a beat looks for is not taken from what players ask for, nor the other way round.
    pub(crate) fn begin_beat(&mut self) {
        self.ways_left = [BEAT_WAYS_PER_PLAYER_MAX; SEATS_MAX];
    }

    /// Does what a player asks for, if that is lawful.
    pub(crate) fn obey(&mut self, player: PlayerId, request: &Request) {
        if request.is_nothing() {
            return;
        }
        let court = Court {
            world: self.world,
            content: self.content,
            census: &self.census,
            clock: self.clock,
            seen: None,
        };
        let Some(seat) = crate::census::seat_of(court.world, player)
            .filter(|_| court.judge(player, request).is_ok())
        else {
            return;
        };
        let plan = court.plan_at(seat, request);
        match request.verb {
            Verb::Nothing => {}
            Verb::Produce => self.produce(seat, request),
            Verb::Cancel => self.cancel(seat, request),
            _ => {
                let group = court.group(player, seat, request).unwrap_or_default();
                let squads = self.gathered(player, &group);
                self.send(player, seat, request, plan, &squads);
            }
        }
    }

    /// Makes whole squads of a group: who is not ordered along stays behind.
    fn gathered(&mut self, player: PlayerId, group: &[EntityId]) -> Vec<Link> {
        let mut by_squad: BTreeMap<Link, Vec<EntityId>> = BTreeMap::new();
        for id in group {
            if let Some(unit) = self.world.get::<Unit>(*id) {
                by_squad.entry(unit.squad).or_default().push(*id);
            }
        }
        let squads: Vec<(Link, Vec<EntityId>)> = by_squad.into_iter().collect();
        squads.into_iter().filter_map(|(squad, units)| self.split(player, squad, &units)).collect()
    }

    /// A squad of these units alone, where they are.
    pub(crate) fn split(
        &mut self,
        player: PlayerId,
        from: Link,
        units: &[EntityId],
    ) -> Option<Link> {
        if units.len() >= self.census.members(from).len() {
            return Some(from);
        }
        let mut squad = *self.census.squad(self.world, from)?;
        squad.rest(self.clock);
        let id = self.add_squad(player, squad)?;
        for unit in units {
            if let Some(unit) = self.world.get_mut::<Unit>(*unit) {
                unit.squad = Link::to(id);
            }
            self.census.moved(*unit, from, Link::to(id));
        }
        Some(Link::to(id))
    }

    /// A squad that stands, and its errand.
    pub(crate) fn add_squad(&mut self, player: PlayerId, squad: Squad) -> Option<EntityId> {
        let id = self.world.spawn_owned(player, squad)?;
        let (link, goal) = (Link::to(id), squad.from.cell());
        let errand = Errand { squad: link, goal, ..Errand::default() };
        let Some(errand_id) = self.world.spawn_owned(player, errand) else {
            self.world.despawn(id);
            return None;
        };
        self.census.add(id, &squad.into(), self.clock);
        self.census.add(errand_id, &errand.into(), self.clock);
        Some(id)
    }

    /// What a squad is about.
    pub(crate) fn errand(&self, squad: Link) -> Errand {
        self.census.errand(self.world, squad)
    }

    /// Gives a squad another errand.
    pub(crate) fn set_errand(&mut self, squad: Link, (job, aim): (Job, Link), goal: Cell) {
        let id = self.census.errand_name(squad);
        if let Some(errand) = id.and_then(|id| self.world.get_mut::<Errand>(id)) {
            *errand = Errand { job, aim, goal, squad };
        }
    }

    fn send(
        &mut self,
        player: PlayerId,
        seat: u8,
        request: &Request,
        plan: Option<EntityId>,
        squads: &[Link],
    ) {
        let ground = Ground::new(self.content, self.world, self.clock);
        match request.verb {
            Verb::Stop => squads.iter().for_each(|squad| self.stop(*squad)),
            Verb::Attack => {
                let place = self.census.marked(request.target).and_then(|id| self.world.entity(id));
                let place =
                    place.and_then(|entity| self.census.spot(entity)).map(|spot| spot.cell());
                for squad in squads {
                    self.order(
                        &ground,
                        *squad,
                        (Job::Attack, request.target.link()),
                        place.unwrap_or_default(),
                    );
                }
            }
            Verb::Build => {
                let plan = plan.or_else(|| self.plan(player, seat, request));
                let shore = DIRECTIONS[usize::from(request.direction) % DIRECTIONS.len()];
                let place = match request.building {
                    BuildingKind::Bridge => request.place.offset(-shore.0, -shore.1),
                    _ => Some(request.place),
                };
                for squad in squads {
                    let aim = plan.map_or(Link::NOBODY, Link::to);
                    self.order(&ground, *squad, (Job::Build, aim), place.unwrap_or(request.place));
                }
            }
            Verb::Gather => {
                for squad in squads {
                    self.order(&ground, *squad, (Job::Gather, Link::NOBODY), request.place);
                }
            }
            _ => {
                let job = if request.verb == Verb::Go { Job::Go } else { Job::Assault };
                for (index, squad) in squads.iter().enumerate() {
                    let place = beside(&ground, request.place, index);
                    self.order(&ground, *squad, (job, Link::NOBODY), place);
                }
            }
        }
    }

    /// Sends a squad somewhere, if there is a way; says whether there is, or may be: without a turn it waits for one.
    pub(crate) fn order(
        &mut self,
        ground: &Ground,
        link: Link,
        (job, aim): (Job, Link),
        place: Cell,
    ) -> bool {
        let Some(id) = self.census.name(link) else { return false };
        let Some(squad) = self.world.get_mut::<Squad>(id) else { return false };
        let here = squad.spot(self.clock);
        let ways_left = &mut self.ways_left[usize::from(squad.seat) % SEATS_MAX];
        let way = if squad.flies {
            Some(Way { points: [place].into_iter().collect(), goal: place })
        } else if *ways_left == 0 {
            squad.rest(self.clock);
            self.set_errand(link, (job, aim), place);
            self.census.placed(link, here);
            return true;
        } else {
            *ways_left -= 1;
            ground.way(here, place)
        };
        let Some(way) = way else { return false };
        squad.from = here;
        squad.points = way.points;
        (squad.since, squad.halt) = (moment(self.clock), 0);
        if squad.points.last() == Some(&here.cell()) && squad.points.len() == 1 {
            (squad.points, squad.since) = (List::default(), 0);
        }
        let goal = if job == Job::Gather { place } else { way.goal };
        self.set_errand(link, (job, aim), goal);
        self.census.placed(link, here);
        true
    }

    fn stop(&mut self, link: Link) {
        self.rest(link, (Job::Stand, Link::NOBODY));
    }

    /// Lets a squad stand where it is.
    pub(crate) fn rest(&mut self, link: Link, errand: (Job, Link)) {
        let Some(id) = self.census.name(link) else { return };
        let Some(squad) = self.world.get_mut::<Squad>(id) else { return };
        squad.rest(self.clock);
        let here = squad.from.cell();
        self.set_errand(link, errand, here);
    }

    fn plan(&mut self, player: PlayerId, seat: u8, request: &Request) -> Option<EntityId> {
        let plan = planned(seat, request);
        self.pay(seat, plan.cost());
        let id = self.world.spawn_owned(player, plan)?;
        self.census.add(id, &plan.into(), self.clock);
        Some(id)
    }

    fn produce(&mut self, seat: u8, request: &Request) {
        let Some((id, _)) = building(self.world, &self.census, request.target) else { return };
        self.pay(seat, request.unit.table().cost * u32::from(request.count));
        if let Some(building) = self.world.get_mut::<Building>(id) {
            building.make(request.unit, request.count, self.clock);
        }
        // What is ordered needs room: the next request of this tick must know of it.
        self.census = Census::new(self.world, self.clock);
    }

    fn cancel(&mut self, seat: u8, request: &Request) {
        let Some((id, building)) = building(self.world, &self.census, request.target) else {
            return;
        };
        let left = building.owed(self.clock);
        if left > 0 {
            self.earn(seat, building.product.table().cost * u32::from(left));
            if let Some(building) = self.world.get_mut::<Building>(id) {
                (building.count, building.begun) = (0, 0);
            }
        } else {
            self.earn(seat, building.cost());
            self.bury(&[id]);
        }
    }

    pub(crate) fn pay(&mut self, seat: u8, crystals: u32) {
        let clock = self.clock;
        if let Some(realm) = self.realm(seat) {
            realm.pay(crystals, clock);
        }
    }

    pub(crate) fn earn(&mut self, seat: u8, crystals: u32) {
        let clock = self.clock;
        if let Some(realm) = self.realm(seat) {
            realm.earn(crystals, clock);
        }
    }

    pub(crate) fn realm(&mut self, seat: u8) -> Option<&mut Realm> {
        self.world.get_mut(self.census.realm(seat)?)
    }
}

/// The place of one of many squads around where all are sent.
fn beside(ground: &Ground, place: Cell, index: usize) -> Cell {
    let rings = place.around(2).nth(index).unwrap_or(place);
    let (x, y) = (rings.x() - place.x(), rings.y() - place.y());
    let wanted = place.offset(x * SQUADS_APART, y * SQUADS_APART);
    wanted.and_then(|cell| ground.nearest(cell, 1)).unwrap_or(place)
}
