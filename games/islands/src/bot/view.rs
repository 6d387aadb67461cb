//! What a bot makes of what its player sees.

use crate::building::Building;
use crate::census::{Census, clock, contest, seat_of};
use crate::content::{Content, Home, SPRING_WORKERS_MAX};
use crate::errand::Job;
use crate::islands::Entity;
use crate::place::{Cell, Link, Mark};
use crate::realm::Realm;
use crate::squad::Squad;
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::Unit;
use crate::ways::Ground;
use sametick::{EntityId, PlayerId, World};

/// A squad of one's own.
#[derive(Clone, Debug)]
pub(super) struct Troop {
    pub(super) mark: Mark,
    pub(super) members: Vec<Mark>,
    /// Of the first of them.
    pub(super) kind: UnitKind,
    pub(super) flies: bool,
    pub(super) at: Cell,
    /// Neither on its way nor busy.
    pub(super) is_idle: bool,
    pub(super) gathers: Option<Cell>,
    pub(super) builds: Option<Link>,
}

/// Something of others that is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enemy {
    pub(super) cell: Cell,
    pub(super) is_building: bool,
}

pub(super) struct View<'a> {
    pub(super) world: &'a World<Entity>,
    pub(super) content: &'a Content,
    pub(super) clock: u32,
    pub(super) seat: u8,
    pub(super) home: Home,
    pub(super) crystals: u32,
    pub(super) troops: Vec<Troop>,
    pub(super) buildings: Vec<(Mark, Building)>,
    pub(super) enemies: Vec<Enemy>,
    pub(super) workers: usize,
    pub(super) units_to_be: usize,
    pub(super) ground: Ground,
    /// From home.
    pub(super) reachable: Ground,
}

impl<'a> View<'a> {
    /// None for who is not in the contest.
    pub(super) fn new(
        world: &'a World<Entity>,
        me: PlayerId,
        content: &'a Content,
    ) -> Option<Self> {
        let (clock, contest) = (clock(world), contest(world));
        let seat = seat_of(world, me).filter(|seat| contest.plays(*seat) && !contest.is_over)?;
        let (_, realm) = world.owned::<Realm>(me)?;
        let census = Census::new(world, clock);
        let home = *content.homes().get(usize::from(seat))?;
        let mut ground = Ground::of_land(content);
        let mut buildings = Vec::new();
        let mut enemies = Vec::new();
        for (id, entity) in world.entities() {
            match entity {
                Entity::Building(building) => {
                    if building.kind == BuildingKind::Bridge && building.is_ready(clock) {
                        building.cells().for_each(|cell| ground.open(cell));
                    }
                    if building.seat == seat {
                        buildings.push((Mark::to(id), *building));
                    } else {
                        enemies.push(Enemy { cell: building.cell, is_building: true });
                    }
                }
                Entity::Squad(squad) if squad.seat != seat => {
                    let members = census.members(Link::to(id)).len();
                    let enemy = Enemy { cell: squad.spot(clock).cell(), is_building: false };
                    enemies.extend(std::iter::repeat_n(enemy, members));
                }
                _ => {}
            }
        }
        let own = world.all_owned(me).filter_map(|(id, entity)| match entity {
            Entity::Squad(squad) => Some((id, squad)),
            _ => None,
        });
        let troops: Vec<Troop> =
            own.filter_map(|(id, squad)| troop(world, &census, clock, id, squad)).collect();
        let altar = buildings.iter().find(|(_, building)| building.kind == BuildingKind::Altar);
        let making = altar.map_or(0, |(_, altar)| usize::from(altar.left(clock)));
        let workers = troops.iter().filter(|troop| troop.kind == UnitKind::Worker);
        let workers = workers.map(|troop| troop.members.len()).sum::<usize>() + making;
        let reachable = ground.reachable(home.altar);
        Some(Self {
            world,
            content,
            clock,
            seat,
            home,
            crystals: realm.crystals(clock),
            troops,
            buildings,
            enemies,
            workers,
            units_to_be: census.units_to_be(seat),
            ground,
            reachable,
        })
    }

    /// Squads that fight.
    pub(super) fn army(&self) -> impl Iterator<Item = &Troop> {
        self.troops.iter().filter(|troop| troop.kind != UnitKind::Worker)
    }

    pub(super) fn own(&self, kind: BuildingKind) -> impl Iterator<Item = &(Mark, Building)> {
        self.buildings.iter().filter(move |(_, building)| building.kind == kind)
    }

    /// A worker that can be spared, as near as there is.
    pub(super) fn worker_near(&self, cell: Cell) -> Option<Mark> {
        let workers = self
            .troops
            .iter()
            .filter(|troop| troop.kind == UnitKind::Worker && troop.builds.is_none());
        workers.min_by_key(|troop| (troop.at.apart(cell), troop.mark))?.members.last().copied()
    }

    /// How many workers a spring still feeds, as far as is seen.
    fn room(&self, spring: Cell) -> usize {
        let there = self.troops.iter().filter(|troop| troop.gathers == Some(spring));
        SPRING_WORKERS_MAX.saturating_sub(there.map(|troop| troop.members.len()).sum())
    }

    fn springs(&self) -> impl Iterator<Item = (Cell, usize)> {
        let springs =
            self.content.springs().iter().copied().filter(|cell| self.reachable.is_open(*cell));
        let safe =
            springs.filter(|cell| !self.enemies.iter().any(|enemy| enemy.cell.apart(*cell) < 8));
        safe.map(|cell| (cell, self.room(cell))).filter(|(_, room)| *room > 0)
    }

    pub(super) fn springs_free(&self) -> usize {
        self.springs().map(|(_, room)| room).sum()
    }

    /// The nearest of the springs wanted that feeds more workers, and how many.
    pub(super) fn free_spring(
        &self,
        from: Cell,
        is_wanted: impl Fn(Cell) -> bool,
    ) -> Option<(Cell, usize)> {
        self.springs()
            .filter(|(cell, _)| is_wanted(*cell))
            .min_by_key(|(cell, _)| (cell.apart(from), *cell))
    }
}

fn troop(
    world: &World<Entity>,
    census: &Census,
    clock: u32,
    id: EntityId,
    squad: &Squad,
) -> Option<Troop> {
    let members = census.members(Link::to(id));
    let first = world.get::<Unit>(*members.first()?)?;
    let mut units = members.iter().filter_map(|id| world.get::<Unit>(*id));
    let suffers = units.any(|unit| unit.health.loss() > 0);
    let errand = census.errand(world, Link::to(id));
    let site = census.name(errand.aim).and_then(|id| world.get::<Building>(id));
    let builds =
        site.filter(|site| errand.job == Job::Build && !site.is_ready(clock)).map(|_| errand.aim);
    let gathers = (errand.job == Job::Gather).then_some(errand.goal);
    Some(Troop {
        mark: Mark::to(id),
        members: members.iter().map(|id| Mark::to(*id)).collect(),
        kind: first.kind,
        flies: squad.flies,
        at: squad.spot(clock).cell(),
        is_idle: squad.is_there(clock) && !suffers && builds.is_none() && gathers.is_none(),
        gathers,
        builds,
    })
}
