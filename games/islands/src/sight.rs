//! What a player sees: blocks of cells around its squads and buildings. Units are seen where their squad is.

use crate::building::Building;
use crate::census::{clock, contest, seat_of};
use crate::contest::SEATS_MAX;
use crate::islands::Entity;
use crate::place::{Link, SIDE_MAX, SUB, Spot};
use crate::squad::Squad;
use crate::tables::BuildingKind;
use crate::works::seat_of_entity;
use sametick::{EntityId, PlayerId, Slots, World};

/// Cells along the side of a block.
pub const BLOCK_CELLS: i32 = 4;
const BLOCKS: i32 = SIDE_MAX / BLOCK_CELLS;
const _: () = assert!(BLOCKS == 32);
/// How many blocks far one sees.
const SQUAD_BLOCKS: i32 = 2;
const FLYING_BLOCKS: i32 = 3;
const BUILDING_BLOCKS: i32 = 2;
const TOWER_BLOCKS: i32 = 3;
const BRIDGE_BLOCKS: i32 = 1;

/// The blocks a player sees, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    rows: [u32; BLOCKS as usize],
}

impl Sight {
    /// Nothing.
    pub const NONE: Self = Self { rows: [0; BLOCKS as usize] };
    /// Everything.
    pub const ALL: Self = Self { rows: [u32::MAX; BLOCKS as usize] };

    /// What a player sees: nothing without a seat, everything once the contest is over. Whoever is out looks over the
    /// shoulder of the next who is in.
    pub fn of(world: &World<Entity>, player: PlayerId) -> Self {
        let (contest, clock) = (contest(world), clock(world));
        let Some(seat) = seat_of(world, player) else { return Self::NONE };
        if contest.is_over {
            return Self::ALL;
        }
        let seats = SEATS_MAX as u8;
        let seen_with = (0..seats).map(|ahead| (seat + ahead) % seats);
        let Some(seat) = seen_with.into_iter().find(|seat| contest.plays(*seat)) else {
            return Self::ALL;
        };
        let mut sight = Self::NONE;
        for (_, entity) in world.entities().filter(|(_, one)| seat_of_entity(one) == Some(seat)) {
            match entity {
                Entity::Squad(squad) => {
                    sight.see(
                        squad.spot(clock),
                        if squad.flies { FLYING_BLOCKS } else { SQUAD_BLOCKS },
                    );
                }
                Entity::Building(building) => sight.see(building.spot(), reach(building, clock)),
                Entity::Unit(_) | Entity::Realm(_) | Entity::Errand(_) | Entity::Contest(_) => {}
            }
        }
        sight
    }

    /// Whether a spot is seen.
    pub fn sees(&self, spot: Spot) -> bool {
        let (column, row) = block(spot);
        self.rows[row as usize] >> column & 1 != 0
    }

    fn see(&mut self, spot: Spot, reach: i32) {
        let (column, row) = block(spot);
        for down in -reach..=reach {
            // Corners are not seen: a square without them is nearly round.
            let aside = if down.abs() == reach && reach > 1 { reach - 1 } else { reach };
            let Some(bits) =
                usize::try_from(row + down).ok().and_then(|row| self.rows.get_mut(row))
            else {
                continue;
            };
            for column in (column - aside).max(0)..=(column + aside).min(BLOCKS - 1) {
                *bits |= 1 << column;
            }
        }
    }
}

fn reach(building: &Building, clock: u32) -> i32 {
    match building.kind {
        _ if !building.is_ready(clock) => BRIDGE_BLOCKS,
        BuildingKind::Tower => TOWER_BLOCKS,
        BuildingKind::Bridge => BRIDGE_BLOCKS,
        BuildingKind::Altar | BuildingKind::Workshop => BUILDING_BLOCKS,
    }
}

fn block(spot: Spot) -> (i32, i32) {
    let index = |at: i32| at.div_euclid(SUB * BLOCK_CELLS).clamp(0, BLOCKS - 1);
    (index(spot.x), index(spot.y))
}

/// Adds the slots of all that a player may know of: its own, what it sees, and the contest.
pub(crate) fn relevant(world: &World<Entity>, player: PlayerId, visible: &mut Slots) {
    let (sight, clock) = (Sight::of(world, player), clock(world));
    let mut squads = [false; 2 * sametick::ENTITY_SLOTS_MAX];
    for (id, squad) in world.all::<Squad>() {
        squads[usize::from(Link::to(id).0)] = sight.sees(squad.spot(clock));
    }
    let is_seen = |id: EntityId, entity: &Entity| match entity {
        Entity::Contest(_) => true,
        Entity::Realm(_) | Entity::Errand(_) => world.owner(id) == Some(player),
        Entity::Squad(_) => squads[usize::from(Link::to(id).0)],
        Entity::Unit(unit) => squads[usize::from(unit.squad.0)],
        Entity::Building(building) => {
            let last = building.cells().last().unwrap_or(building.cell);
            sight.sees(building.cell.centre()) || sight.sees(last.centre())
        }
    };
    for (id, entity) in world.entities() {
        if !id.is_provisional() && (is_seen(id, entity) || world.owner(id) == Some(player)) {
            visible.insert(id.slot());
        }
    }
}
