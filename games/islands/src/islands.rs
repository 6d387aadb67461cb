//! The game: who comes and goes, what is asked for, and a beat of work and war every few ticks.

use crate::building::Building;
use crate::census::{Census, clock_at, contest, seat_of};
use crate::content::{Content, Home, Opening};
use crate::contest::{Contest, SEATS_MAX, TICKS_PER_SECOND};
use crate::errand::{Errand, Job};
use crate::health::{BEAT_TICKS, Health};
use crate::orders::Field;
use crate::place::{Cell, Link};
use crate::realm::{GRAINS, Realm};
use crate::request::Request;
use crate::squad::{Squad, moment};
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::Unit;
use crate::ways::Ground;
use crate::works::{muster, seat_of_entity};
use sametick::{EntityId, Game, NoEvent, Others, PlayerId, Slots, Span, Turn, World};

sametick::entities! {
    /// All that there is on the islands.
    pub enum Entity { Contest, Realm, Unit, Squad, Building, Errand }
}

/// How long a tick lasts: the rules count in ticks.
pub const TICK: Span = Span::micros(1_000_000 / TICKS_PER_SECOND as u64);
/// Whoever comes later than this finds the contest without a last one to win it.
const GATHERING_TICKS: u32 = 30 * TICKS_PER_SECOND;
/// With how many crystals everyone begins.
const CRYSTALS: u32 = 120;
/// The army of a contest that begins with war.
const ARMY: [(UnitKind, u8); 4] =
    [(UnitKind::Raider, 18), (UnitKind::Archer, 14), (UnitKind::Ballista, 4), (UnitKind::Kite, 4)];

/// The strategy game.
#[derive(Clone, Copy, Debug, Default)]
pub struct Islands;

impl Game for Islands {
    type Entity = Entity;
    type Command = Request;
    type Event = NoEvent;
    type Content = Content;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        let content = turn.content();
        turn.left().for_each(|player| leave(world, turn, player));
        turn.joined().for_each(|player| join(world, turn, player));
        let clock = clock_at(world, turn.tick());
        if contest(world).is_over || contest(world).began == 0 {
            return;
        }
        let is_beat = clock.is_multiple_of(BEAT_TICKS) && !turn.is_predicted();
        if !is_beat && turn.commands().all(|(_, request)| request.is_nothing()) {
            return;
        }
        let mut field = Field::new(world, content, clock);
        for (player, request) in turn.commands() {
            field.obey(player, request);
        }
        // A client guesses what becomes of its own requests; the rest it is told.
        if is_beat {
            beat(field);
        }
    }

    /// A request is heard once.
    fn repeat(_last: &Request, _times: u32) -> Request {
        Request::default()
    }

    fn populate(_content: &Content, world: &mut World<Entity>) {
        world.spawn(Contest::default());
    }

    fn content_name(content: &Content) -> u64 {
        content.name()
    }

    /// What is decided is shown as it is told; where things are between decisions follows from it.
    fn shown(_entity: &Entity, _wish: Others) -> Others {
        Others::Latest
    }

    fn relevant(world: &World<Entity>, _content: &Content, viewer: PlayerId, visible: &mut Slots) {
        crate::sight::relevant(world, viewer, visible);
    }
}

fn beat(mut field: Field<'_>) {
    field.begin_beat();
    let dead = field.dead();
    let altars: Vec<u8> = dead
        .iter()
        .filter_map(|id| field.world.get::<Building>(*id))
        .filter(|building| building.kind == BuildingKind::Altar)
        .map(|altar| altar.seat)
        .collect();
    if !dead.is_empty() {
        field.bury(&dead);
    }
    altars.into_iter().for_each(|seat| fall(&mut field, seat));
    let ground = Ground::new(field.content, field.world, field.clock);
    field.work(&ground);
    field.fight(&ground);
    end(field.world, field.content, field.clock);
}

/// A player is out, and all it had is gone; it may watch.
fn fall(field: &mut Field<'_>, seat: u8) {
    let theirs = field.world.entities().filter(|(_, entity)| seat_of_entity(entity) == Some(seat));
    let theirs: Vec<EntityId> = theirs.map(|(id, _)| id).collect();
    field.bury(&theirs);
    let clock = field.clock;
    if let Some(realm) = field.realm(seat) {
        realm.set_rate(0, clock);
    }
    for (_, contest) in field.world.all_mut::<Contest>() {
        contest.out |= 1 << seat;
    }
}

fn leave(world: &mut World<Entity>, turn: &Turn<'_, Islands>, player: PlayerId) {
    let Some(seat) = seat_of(world, player) else { return };
    let clock = clock_at(world, turn.tick());
    fall(&mut Field::new(world, turn.content(), clock), seat);
    let theirs: Vec<EntityId> = world.all_owned(player).map(|(id, _)| id).collect();
    theirs.into_iter().for_each(|id| _ = world.despawn(id));
}

fn join(world: &mut World<Entity>, turn: &Turn<'_, Islands>, player: PlayerId) {
    let content = turn.content();
    let before = contest(world);
    let free = (0..content.players()).find(|seat| before.came >> seat & 1 == 0);
    let Some(seat) = free.filter(|_| !before.is_over) else { return };
    for (_, contest) in world.all_mut::<Contest>() {
        contest.came |= 1 << seat;
        if contest.began == 0 {
            contest.began = turn.tick().0;
        }
    }
    let clock = clock_at(world, turn.tick());
    let realm = Realm { grains: CRYSTALS * GRAINS, since: moment(clock), seat, ..Realm::default() };
    world.spawn_owned(player, realm);
    let ground = Ground::new(content, world, clock);
    let mut field = Field::new(world, content, clock);
    settle(&mut field, &ground, player, seat, &content.homes()[usize::from(seat)]);
}

/// Gives a player what it begins with.
fn settle(field: &mut Field<'_>, ground: &Ground, player: PlayerId, seat: u8, home: &Home) {
    let is_war = field.content.opening() == Opening::War;
    let mut stands = |kind: BuildingKind, cell: Cell| {
        let health = Health::full(kind.table().health);
        field.world.spawn_owned(
            player,
            Building { health, kind, cell, seat, ready: 1, ..Building::default() },
        );
    };
    stands(BuildingKind::Altar, home.altar);
    let workshops = if is_war { 3 } else { 1 };
    home.workshops[..workshops].iter().for_each(|cell| stands(BuildingKind::Workshop, *cell));
    if is_war {
        home.towers.iter().for_each(|cell| stands(BuildingKind::Tower, *cell));
    }
    field.census = Census::new(field.world, field.clock);
    let workers = if is_war { 3 } else { 1 };
    for spring in home.springs {
        let Some(&cell) = field.content.springs().get(usize::from(spring)) else { continue };
        let squad = enlist(field, player, seat, (UnitKind::Worker, workers), cell);
        let errand = squad.and_then(|squad| field.census.errand_name(Link::to(squad)));
        if let Some(errand) = errand.and_then(|id| field.world.get_mut::<Errand>(id)) {
            errand.job = Job::Gather;
        }
    }
    if !is_war {
        let at = muster(ground, home.altar, UnitKind::Raider);
        enlist(field, player, seat, (UnitKind::Raider, 4), at);
        return;
    }
    for group in ARMY {
        enlist(field, player, seat, group, muster(ground, home.altar, group.0));
    }
}

/// A squad of new units.
fn enlist(
    field: &mut Field<'_>,
    player: PlayerId,
    seat: u8,
    (kind, count): (UnitKind, u8),
    at: Cell,
) -> Option<EntityId> {
    let squad = field.new_squad(player, seat, kind, at)?;
    for place in 0..count {
        let health = Health::full(kind.table().health);
        let unit = Unit { health, squad: Link::to(squad), place, kind, seat };
        let id = field.world.spawn_owned(player, unit)?;
        field.census.add(id, &unit.into(), field.clock);
    }
    Some(squad)
}

/// Ends the contest when one is left, or when its time is up.
fn end(world: &mut World<Entity>, content: &Content, clock: u32) {
    let now = contest(world);
    let all_came =
        now.came.count_ones() >= u32::from(content.players()) || clock >= GATHERING_TICKS;
    let is_last = now.came.count_ones() > 1 && all_came && now.playing() <= 1;
    if !is_last && clock < content.ticks() {
        return;
    }
    let scores = scores(world, clock);
    let best = (0..SEATS_MAX as u8)
        .filter(|seat| now.plays(*seat))
        .max_by_key(|seat| scores[usize::from(*seat)]);
    let is_best = |seat: &u8| {
        let same = |other: &u8| {
            now.plays(*other) && scores[usize::from(*other)] == scores[usize::from(*seat)]
        };
        (0..SEATS_MAX as u8).filter(same).count() == 1
    };
    for (_, contest) in world.all_mut::<Contest>() {
        contest.is_over = true;
        contest.winner = best.filter(is_best);
        contest.scores = scores.into_iter().collect();
    }
}

/// What each seat has: the cost of all that stands, and of the altar as much as is left of it.
pub fn scores(world: &World<Entity>, clock: u32) -> [u16; SEATS_MAX] {
    let mut scores = [0_u32; SEATS_MAX];
    for (_, entity) in world.entities() {
        let (seat, worth) = match entity {
            Entity::Unit(unit) => (unit.seat, unit.kind.table().cost),
            Entity::Building(building) if building.kind == BuildingKind::Altar => {
                (building.seat, u32::from(building.health.left(clock)))
            }
            Entity::Building(building) if building.is_ready(clock) => {
                (building.seat, building.cost())
            }
            Entity::Realm(realm) => (realm.seat, realm.crystals(clock) / 4),
            _ => continue,
        };
        scores[usize::from(seat) % SEATS_MAX] += worth;
    }
    scores.map(|score| score.min(u32::from(u16::MAX)) as u16)
}
