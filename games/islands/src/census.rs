//! Who is there, found once and asked often: names by link, members by squad, and how many each player has.

use crate::building::Building;
use crate::contest::{Contest, SEATS_MAX};
use crate::errand::Errand;
use crate::islands::Entity;
use crate::place::{Link, Mark, Spot};
use crate::realm::Realm;
use crate::squad::Squad;
use crate::unit::{Unit, place_offset};
use sametick::{EntityId, PlayerId, Tick, World};
use std::collections::BTreeMap;

/// Everyone in a world, at one moment of it.
#[derive(Clone, Debug, Default)]
pub struct Census {
    names: BTreeMap<Link, EntityId>,
    members: BTreeMap<Link, Vec<EntityId>>,
    spots: BTreeMap<Link, Spot>,
    /// By squad.
    errands: BTreeMap<Link, EntityId>,
    units: [usize; SEATS_MAX],
    buildings: [usize; SEATS_MAX],
    realms: [Option<EntityId>; SEATS_MAX],
    contest: Option<EntityId>,
    /// What is being made and will need room.
    making: [usize; SEATS_MAX],
}

impl Census {
    /// Counts everyone; squads are where they are at a moment of the contest's clock.
    pub fn new(world: &World<Entity>, clock: u32) -> Self {
        let mut census = Self::default();
        for (id, entity) in world.entities() {
            census.names.insert(Link::to(id), id);
            match entity {
                Entity::Unit(unit) => {
                    census.members.entry(unit.squad).or_default().push(id);
                    census.units[usize::from(unit.seat) % SEATS_MAX] += 1;
                }
                Entity::Squad(squad) => {
                    census.spots.insert(Link::to(id), squad.spot(clock));
                }
                Entity::Building(building) => {
                    census.buildings[usize::from(building.seat) % SEATS_MAX] += 1;
                    census.making[usize::from(building.seat) % SEATS_MAX] +=
                        usize::from(building.owed(clock));
                }
                Entity::Realm(realm) => {
                    census.realms[usize::from(realm.seat) % SEATS_MAX] = Some(id)
                }
                Entity::Errand(errand) => _ = census.errands.insert(errand.squad, id),
                Entity::Contest(_) => census.contest = Some(id),
            }
        }
        census
    }

    /// The name that a link leads to.
    pub fn name(&self, link: Link) -> Option<EntityId> {
        self.names.get(&link).copied().filter(|_| link.is_some())
    }

    /// The name that a request means, if it is still there.
    pub fn marked(&self, mark: Mark) -> Option<EntityId> {
        self.name(mark.link()).filter(|id| Mark::to(*id) == mark)
    }

    /// What a request calls whoever a link leads to.
    pub fn mark(&self, link: Link) -> Option<Mark> {
        self.name(link).map(Mark::to)
    }

    /// A squad by its link.
    pub fn squad<'a>(&self, world: &'a World<Entity>, link: Link) -> Option<&'a Squad> {
        world.get(self.name(link)?)
    }

    /// The name of a squad's errand, where it is known.
    pub fn errand_name(&self, squad: Link) -> Option<EntityId> {
        self.errands.get(&squad).copied()
    }

    /// What a squad is about; one of which that is not known stands where its way ends.
    pub fn errand(&self, world: &World<Entity>, squad: Link) -> Errand {
        let known = self.errand_name(squad).and_then(|id| world.get::<Errand>(id).copied());
        known.unwrap_or_else(|| {
            let goal = self.squad(world, squad).map(|squad| squad.end().cell());
            Errand { squad, goal: goal.unwrap_or_default(), ..Errand::default() }
        })
    }

    /// The units of a squad.
    pub fn members(&self, squad: Link) -> &[EntityId] {
        self.members.get(&squad).map_or(&[], Vec::as_slice)
    }

    /// Where a squad is.
    pub fn squad_spot(&self, squad: Link) -> Option<Spot> {
        self.spots.get(&squad).copied()
    }

    /// Where a unit is.
    pub fn unit_spot(&self, unit: &Unit) -> Option<Spot> {
        let (squad, place) = (self.squad_spot(unit.squad)?, place_offset(unit.place));
        Some(Spot { x: squad.x + place.x, y: squad.y + place.y })
    }

    /// Where a unit or building is.
    pub fn spot(&self, entity: &Entity) -> Option<Spot> {
        match entity {
            Entity::Unit(unit) => self.unit_spot(unit),
            Entity::Building(building) => Some(building.spot()),
            _ => None,
        }
    }

    /// How many units a seat has.
    pub fn units(&self, seat: u8) -> usize {
        self.units[usize::from(seat) % SEATS_MAX]
    }

    /// How many units a seat has and has ordered.
    pub fn units_to_be(&self, seat: u8) -> usize {
        self.units(seat) + self.making[usize::from(seat) % SEATS_MAX]
    }

    /// How many buildings a seat has, planned ones among them.
    pub fn buildings(&self, seat: u8) -> usize {
        self.buildings[usize::from(seat) % SEATS_MAX]
    }

    /// The realm of a seat.
    pub fn realm(&self, seat: u8) -> Option<EntityId> {
        self.realms[usize::from(seat) % SEATS_MAX]
    }

    /// The first free place of a squad.
    pub(crate) fn free_place(&self, world: &World<Entity>, squad: Link) -> Option<u8> {
        let members = self.members(squad).iter().filter_map(|id| world.get::<Unit>(*id));
        let taken = members.fold(0_u32, |taken, unit| taken | 1 << (unit.place % 32));
        (taken != u32::MAX).then(|| taken.trailing_ones() as u8)
    }

    /// Takes note of a new entity.
    pub(crate) fn add(&mut self, id: EntityId, entity: &Entity, clock: u32) {
        self.names.insert(Link::to(id), id);
        match entity {
            Entity::Unit(unit) => {
                self.members.entry(unit.squad).or_default().push(id);
                self.units[usize::from(unit.seat) % SEATS_MAX] += 1;
            }
            Entity::Squad(squad) => _ = self.spots.insert(Link::to(id), squad.spot(clock)),
            Entity::Building(building) => {
                self.buildings[usize::from(building.seat) % SEATS_MAX] += 1
            }
            Entity::Errand(errand) => _ = self.errands.insert(errand.squad, id),
            Entity::Realm(_) | Entity::Contest(_) => {}
        }
    }

    /// Takes note of a unit that changed squads.
    pub(crate) fn moved(&mut self, id: EntityId, from: Link, to: Link) {
        if let Some(members) = self.members.get_mut(&from) {
            members.retain(|member| *member != id);
        }
        self.members.entry(to).or_default().push(id);
    }

    /// The units of every squad.
    pub(crate) fn all_members_mut(&mut self) -> impl Iterator<Item = (&Link, &mut Vec<EntityId>)> {
        self.members.iter_mut()
    }

    /// Takes note of someone who is gone.
    pub(crate) fn forget(&mut self, link: Link) {
        self.names.remove(&link);
        self.spots.remove(&link);
        self.members.remove(&link);
        self.errands.remove(&link);
    }

    /// Takes note of a squad that takes another way from here.
    pub(crate) fn placed(&mut self, squad: Link, spot: Spot) {
        self.spots.insert(squad, spot);
    }
}

/// The contest, as far as it is known here.
pub fn contest(world: &World<Entity>) -> Contest {
    world.all::<Contest>().next().map(|(_, contest)| *contest).unwrap_or_default()
}

/// The contest's clock in a world.
pub fn clock(world: &World<Entity>) -> u32 {
    contest(world).clock(world.tick())
}

/// The seat of a player, if it has one.
pub fn seat_of(world: &World<Entity>, player: PlayerId) -> Option<u8> {
    world.owned::<Realm>(player).map(|(_, realm)| realm.seat)
}

pub(crate) fn building(
    world: &World<Entity>,
    census: &Census,
    mark: Mark,
) -> Option<(EntityId, Building)> {
    let id = census.marked(mark)?;
    Some((id, *world.get::<Building>(id)?))
}

pub(crate) fn clock_at(world: &World<Entity>, tick: Tick) -> u32 {
    contest(world).clock(tick)
}
