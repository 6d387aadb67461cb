//! The islands page's own half: a contest in the page or on a server, what its player sees as numbers and words for
//! whoever draws, and what a hand asks for as requests. Knows no browser.

mod locked;
#[cfg(target_arch = "wasm32")]
mod outside;
#[cfg(target_arch = "wasm32")]
mod stage;
mod words;

#[cfg(target_arch = "wasm32")]
pub use outside::Guest;
#[cfg(target_arch = "wasm32")]
pub use stage::Skirmish;

use locked::Locked;
use sametick::eventlock::{Blending, Denial as Refusal};
use sametick::{EntityId, Game, PlayerId, Slots, Span, World};
use sametick_islands::{
    Building, BuildingKind, Cell, Census, Content, Denial, Entity, Errand, GRAINS, GROUP_MAX,
    Islands, Job, Link, Mark, Opening, Realm, Request, SPRING_WORKERS_MAX, SUB, Sight, Squad, TICK,
    Unit, UnitKind, Verb, clock, contest, place_offset, seat_of, shots,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page that was away for longer goes on from where it was.
const STALL_MAX: Span = Span::millis(250);
/// Numbers of a unit in what is handed over.
const UNIT_NUMBERS: usize = 10;
/// Of a building.
#[cfg(test)]
const BUILDING_NUMBERS: usize = 14;

/// How far, in cells, what was hoped for may be from what is official to go there smoothly; from farther it jumps.
const SMOOTH_CELLS: f32 = 4.0;
/// How a hand's screen goes from the one to the other.
const BLENDING: Blending = Blending { lasts: Span::millis(400), smooth_within: SMOOTH_CELLS };

/// How a hand's requests reach the server of its contest, and what is told of it comes back. Whether that is in the
/// page or elsewhere the contest cannot tell.
pub(crate) trait Road {
    /// Lets time pass; what passes elsewhere passes by itself.
    fn advance(&mut self, span: Span);
    /// The hand asks for something.
    fn request(&mut self, request: Request) -> Result<(), Refusal>;
    /// What the server has denied since this was last asked, though it looked lawful here.
    fn take_denial(&mut self) -> Option<Refusal>;
    /// What the hand's screen shows, with what part of the next tick has passed.
    fn shown(&mut self) -> Option<(&World<Entity>, f64)>;
    /// Whether something that is shown is not official yet.
    fn is_unofficial(&self, id: EntityId) -> bool;
    /// What something was hoped to be, and how far it is from there to what it is, from 0 to 1.
    fn leaving(&self, id: EntityId) -> Option<(&Entity, f32)>;
    /// Whose hand it is.
    fn me(&self) -> PlayerId;
    /// Has a bot play for the hand, where that can be.
    fn watch(&mut self, _is_watched: bool) {}
    /// What it is called, if it leads elsewhere.
    fn name(&self) -> &'static str {
        ""
    }
    /// How long an answer takes, once it was measured.
    fn ping(&self) -> Option<Span> {
        None
    }
    /// Why it is over, once it is.
    fn end(&self) -> Option<&str> {
        None
    }
    /// What leads back to the same seat.
    fn ticket(&self) -> Option<String> {
        None
    }
    /// The line gets longer by so much.
    fn set_delay(&mut self, _ping: Span) {}
    /// The contest as a file has it, where it is held.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }
    /// Says goodbye.
    fn leave(&mut self) {}
}

/// A contest of one hand against others, under event locking.
pub(crate) struct Contest {
    road: Box<dyn Road>,
    content: Content,
    /// What the hand's screen shows: official, and over it what it hopes for.
    shown: World<Entity>,
    /// What of the next tick has passed.
    part: f64,
    /// Squads whose way is not official yet.
    hoped: Vec<Link>,
    /// Squads that were hoped for: who was in them may still be on the way from there.
    ghosts: BTreeMap<Link, Squad>,
    /// Own units on their way from where they were hoped to be: with which squad, and how far they are.
    sliding: BTreeMap<EntityId, (Squad, f32)>,
    /// Time that was too short to pass.
    rest: Span,
}

impl Contest {
    pub(crate) fn new(seed: u64, players: u8, opening: Opening, ping: Span) -> Self {
        let content = Content::new(seed, players, opening);
        let locked = Locked::new(&content, seed, None, ping);
        Self::over(Box::new(locked), content)
    }

    /// A contest that was saved.
    pub(crate) fn load(file: &[u8], ping: Span) -> Option<Self> {
        let (content, seed, world) = sametick_islands::load_contest(file).ok()?;
        let locked = Locked::new(&content, seed, Some(world), ping);
        Some(Self::over(Box::new(locked), content))
    }

    /// The contest at the end of a road.
    pub(crate) fn over(road: Box<dyn Road>, content: Content) -> Self {
        let mut contest = Self {
            road,
            content,
            shown: World::default(),
            part: 0.0,
            hoped: Vec::new(),
            ghosts: BTreeMap::new(),
            sliding: BTreeMap::new(),
            rest: Span::ZERO,
        };
        contest.look();
        contest
    }

    pub(crate) fn road(&self) -> &dyn Road {
        &*self.road
    }

    pub(crate) fn road_mut(&mut self) -> &mut dyn Road {
        &mut *self.road
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    pub(crate) fn world(&self) -> &World<Entity> {
        &self.shown
    }

    /// Lets time pass; who was away for long goes on from where it was.
    pub(crate) fn advance(&mut self, span: Span) {
        self.rest += span.min(STALL_MAX);
        let whole = Span::millis(self.rest.as_micros() / 10_000 * 10);
        self.rest -= whole;
        self.road.advance(whole);
        self.look();
    }

    /// Lets ticks pass at once.
    pub(crate) fn skip(&mut self, ticks: u32) {
        self.road.advance(TICK * u64::from(ticks));
        self.look();
    }

    fn look(&mut self) {
        let hoped = self.shown.all::<Squad>().filter(|(id, _)| id.is_provisional());
        self.ghosts.extend(hoped.map(|(id, squad)| (Link::to(id), *squad)));
        if let Some((world, part)) = self.road.shown() {
            (self.shown, self.part) = (world.clone(), part);
        }
        let squads = self.shown.all::<Squad>().map(|(id, _)| id);
        let hoped = squads.filter(|id| id.is_provisional() || self.road.is_unofficial(*id));
        self.hoped = hoped.map(Link::to).collect();
        self.slide();
    }

    /// Finds out who is on the way from where it was hoped to be.
    fn slide(&mut self) {
        let (world, me) = (&self.shown, self.road.me());
        let census = Census::new(world, clock(world));
        let mut sliding = BTreeMap::new();
        for (id, entity) in world.all_owned(me) {
            let Entity::Unit(unit) = entity else { continue };
            // Who was to leave its squad has left it by now, with another squad than was hoped for.
            let left = self.road.leaving(id).and_then(|(from, weight)| match from {
                Entity::Unit(from) if from.squad != unit.squad => {
                    let squad = census.squad(world, from.squad);
                    Some((*squad.or_else(|| self.ghosts.get(&from.squad))?, weight))
                }
                _ => None,
            });
            let turned = || {
                let (from, weight) = self.road.leaving(census.name(unit.squad)?)?;
                let Entity::Squad(squad) = from else { return None };
                Some((*squad, weight))
            };
            sliding.extend(left.or_else(turned).map(|from| (id, from)));
        }
        self.sliding = sliding;
        if self.sliding.is_empty() && self.hoped.is_empty() {
            self.ghosts.clear();
        }
    }

    /// The contest's clock, with the part of a tick that has passed.
    pub(crate) fn clock(&self) -> f64 {
        f64::from(clock(self.world())) + self.part
    }

    /// Asks for something, or says why not.
    pub(crate) fn ask(&mut self, request: Request) -> Result<(), Refusal> {
        self.road.request(request)?;
        self.look();
        Ok(())
    }

    /// What the server has denied since this was last asked, though it looked lawful here.
    pub(crate) fn take_denial(&mut self) -> Option<Refusal> {
        self.road.take_denial()
    }

    /// Asks for the same for many units: whole squads by their names, others by their own.
    pub(crate) fn ask_for(&mut self, units: &[u16], request: &Request) -> Result<(), Refusal> {
        let census = Census::new(self.world(), clock(self.world()));
        let mut by_squad: BTreeMap<Link, Vec<Mark>> = BTreeMap::new();
        for mark in units.iter().map(|unit| Mark(*unit)) {
            let unit = census.marked(mark).and_then(|id| self.world().get::<Unit>(id));
            if let Some(unit) = unit {
                by_squad.entry(unit.squad).or_default().push(mark);
            }
        }
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for (squad, members) in by_squad {
            // Building and gathering are for single workers. And of a squad that is only hoped for the server knows
            // nothing: by then its units are in one that has another name.
            let takes_squads = !matches!(request.verb, Verb::Build | Verb::Gather);
            let is_whole = members.len() == census.members(squad).len();
            match census.mark(squad).filter(|_| takes_squads && is_whole) {
                Some(mark) if !squad.is_provisional() => whole.push(mark),
                _ => parts.extend(members),
            }
        }
        if whole.is_empty() && parts.is_empty() {
            return Err(NOBODY);
        }
        let groups = whole.chunks(GROUP_MAX).map(|group| (true, group));
        let groups = groups.chain(parts.chunks(GROUP_MAX).map(|group| (false, group)));
        let mut verdict = Err(NOBODY);
        for (is_whole, group) in groups.collect::<Vec<_>>() {
            let group = group.iter().copied().collect();
            let answer = self.ask(Request { whole: is_whole, group, ..request.clone() });
            verdict = if verdict.is_ok() { verdict } else { answer };
        }
        verdict
    }

    /// The nearest springs with room for the workers.
    pub(crate) fn gather(&mut self, workers: &[u16], near: Cell) -> Result<(), Refusal> {
        let census = Census::new(self.world(), clock(self.world()));
        let mut rooms: Vec<(Cell, usize)> =
            self.content.springs().iter().map(|spring| (*spring, SPRING_WORKERS_MAX)).collect();
        rooms.sort_by_key(|(spring, _)| (spring.apart(near), *spring));
        let errands = self.world().all::<Errand>().map(|(_, errand)| errand);
        for errand in errands.filter(|errand| errand.job == Job::Gather) {
            let others = census
                .members(errand.squad)
                .iter()
                .filter(|id| !workers.contains(&Mark::to(**id).0));
            let room = rooms.iter_mut().find(|(spring, _)| *spring == errand.goal);
            room.into_iter()
                .for_each(|(_, room)| *room = room.saturating_sub(others.clone().count()));
        }
        let mut verdict = Err(NOBODY);
        for worker in workers {
            let Some((spring, room)) = rooms.iter_mut().find(|(_, room)| *room > 0) else { break };
            *room -= 1;
            let request = Request::gather([Mark(*worker)], *spring);
            let answer = self.ask(request);
            verdict = if verdict.is_ok() { verdict } else { answer };
        }
        verdict
    }

    /// All that the player sees of units: mark, seat, kind, place, health, squad, whether it moves and its job.
    pub(crate) fn units(&self) -> Vec<f32> {
        let (world, now, tick) = (self.world(), self.clock(), clock(self.world()));
        let visible = self.visible();
        let census = Census::new(world, tick);
        let ground = sametick_islands::Ground::new(&self.content, world, tick);
        let mut numbers = Vec::with_capacity(world.len() * UNIT_NUMBERS);
        for (id, unit) in world.all::<Unit>().filter(|(id, _)| visible.contains(id.slot())) {
            let Some(squad) = census.squad(world, unit.squad) else { continue };
            let at = |squad: &Squad| {
                placed(squad, unit, now, |cell| squad.flies || ground.is_open(cell))
            };
            let to = at(squad);
            let from = self.sliding.get(&id).map(|(squad, weight)| (at(squad), *weight));
            let [x, y] = from.map_or(to, |(from, weight)| between(from, to, weight));
            numbers.extend([
                f32::from(Mark::to(id).0),
                f32::from(unit.seat),
                unit.kind as u8 as f32,
                x,
                y,
                f32::from(unit.health.left(tick)) / f32::from(unit.kind.table().health),
                f32::from(unit.squad.0),
                f32::from(u8::from(squad.is_moving(tick))),
                census.errand(world, unit.squad).job as u8 as f32,
                f32::from(unit.health.loss()),
            ]);
        }
        numbers
    }

    /// All that the player sees of buildings.
    pub(crate) fn buildings(&self) -> Vec<f32> {
        let (world, tick) = (self.world(), clock(self.world()));
        let visible = self.visible();
        let mut numbers = Vec::new();
        let is_shown = |id: EntityId| id.is_provisional() || visible.contains(id.slot());
        for (id, building) in world.all::<Building>().filter(|(id, _)| is_shown(*id)) {
            let spot = building.spot();
            let built = if building.is_ready(tick) {
                1.0
            } else if building.ready == 0 {
                0.0
            } else {
                1.0 - (f32::from(building.ready) - tick as f32) / building.build_ticks() as f32
            };
            numbers.extend([
                f32::from(Mark::to(id).0),
                f32::from(building.seat),
                building.kind as u8 as f32,
                spot.x as f32 / SUB as f32,
                spot.y as f32 / SUB as f32,
                f32::from(building.health.left(tick)) / f32::from(building.kind.table().health),
                built,
                f32::from(building.direction),
                f32::from(building.span),
                f32::from(building.left(tick)),
                building.product as u8 as f32,
                building.progress(tick).map_or(0.0, |part| part as f32 / 100.0),
                building.cell.x() as f32,
                building.cell.y() as f32,
            ]);
        }
        numbers
    }

    /// Who shoots at whom, as far as is seen: from, to, and whose shot it is.
    pub(crate) fn shots(&self) -> Vec<f32> {
        let (world, tick) = (self.world(), clock(self.world()));
        let (visible, census) = (self.visible(), Census::new(world, tick));
        let mut numbers = Vec::new();
        let spot = |id: EntityId| census.spot(world.entity(id)?);
        for (gun, target) in shots(world) {
            let both = visible.contains(gun.slot()) && visible.contains(target.slot());
            let (Some(from), Some(to), true) = (spot(gun), spot(target), both) else { continue };
            let seat = match world.entity(gun) {
                Some(Entity::Unit(unit)) => unit.seat,
                Some(Entity::Building(building)) => building.seat,
                _ => continue,
            };
            numbers.extend([from.x, from.y, to.x, to.y].map(|at| at as f32 / SUB as f32));
            numbers.extend([f32::from(seat), gun.slot() as f32]);
        }
        numbers
    }

    /// The way a squad of the player's has before it: places in cells.
    pub(crate) fn way(&self, squad: u16) -> Vec<f32> {
        let (world, tick) = (self.world(), clock(self.world()));
        let census = Census::new(world, tick);
        let squad = census
            .squad(world, Link(squad))
            .filter(|squad| Some(squad.seat) == seat_of(world, self.road.me()));
        let Some(squad) = squad.filter(|squad| !squad.is_there(tick)) else { return Vec::new() };
        let mut way = squad.shown_at(self.clock()).to_vec();
        for (_, to) in squad.legs_ahead(tick) {
            way.extend([to.x as f32 / SUB as f32, to.y as f32 / SUB as f32]);
        }
        way
    }

    /// Ways that were asked for and are not official yet, each after its count of numbers: the page draws them dashed.
    pub(crate) fn unofficial(&self) -> Vec<f32> {
        let ways = self.hoped.iter().map(|link| self.way(link.0));
        ways.flat_map(|way| std::iter::once(way.len() as f32).chain(way)).collect()
    }

    /// Which blocks of cells the player sees, row by row.
    pub(crate) fn sight(&self) -> Vec<u8> {
        let sight = Sight::of(self.world(), self.road.me());
        let blocks = sametick_islands::SIDE_MAX / sametick_islands::BLOCK_CELLS;
        let middle = |block: i32| block * sametick_islands::BLOCK_CELLS * SUB + SUB;
        let spots = (0..blocks).flat_map(|y| (0..blocks).map(move |x| (x, y)));
        spots
            .map(|(x, y)| {
                u8::from(sight.sees(sametick_islands::Spot { x: middle(x), y: middle(y) }))
            })
            .collect()
    }

    /// All else, as JSON.
    pub(crate) fn words(&self) -> String {
        let (world, tick) = (self.world(), clock(self.world()));
        let contest = contest(world);
        let seat = seat_of(world, self.road.me());
        let realm =
            world.owned::<Realm>(self.road.me()).map(|(_, realm)| *realm).unwrap_or_default();
        let census = Census::new(world, tick);
        let idle = world
            .all::<Unit>()
            .filter(|(_, unit)| Some(unit.seat) == seat && unit.kind == UnitKind::Worker);
        let rests = |unit: &Unit| {
            let squad = census.squad(world, unit.squad);
            let errand = census.errand(world, unit.squad);
            let is_free = errand.job != Job::Gather && !self.builds(&census, &errand);
            is_free && squad.is_some_and(|squad| squad.is_there(tick))
        };
        let idle = idle.filter(|(_, unit)| rests(unit)).count();
        let scores: Vec<String> = contest.scores.iter().map(ToString::to_string).collect();
        let numbers = [
            ("crystals", i64::from(realm.crystals(tick))),
            ("rate", i64::from(realm.rate)),
            ("units", census.units(realm.seat) as i64),
            ("units_max", contest.units_max() as i64),
            ("idle", idle as i64),
            ("seat", seat.map_or(-1, i64::from)),
            ("seconds", i64::from(tick / sametick_islands::TICKS_PER_SECOND)),
            ("length", i64::from(self.content.ticks() / sametick_islands::TICKS_PER_SECOND)),
            ("winner", contest.winner.map_or(-1, i64::from)),
            ("came", i64::from(contest.came)),
            ("out", i64::from(contest.out)),
        ];
        let mut text = format!(r#"{{"over":{},"scores":[{}]"#, contest.is_over, scores.join(","));
        for (name, number) in numbers {
            // Writing to a string cannot fail.
            let _ = write!(text, r#","{name}":{number}"#);
        }
        text.push('}');
        text
    }

    fn builds(&self, census: &Census, errand: &Errand) -> bool {
        let site = census.name(errand.aim).and_then(|id| self.world().get::<Building>(id));
        errand.job == Job::Build && site.is_some_and(|site| !site.is_ready(clock(self.world())))
    }

    fn visible(&self) -> Slots {
        let mut visible = Slots::default();
        Islands::relevant(self.world(), &self.content, self.road.me(), &mut visible);
        visible
    }
}

/// Nobody was named.
const NOBODY: Refusal = Refusal(Denial::Nobody as u8);

/// Where somebody is on the way from where it was hoped to be to where it is; from too far it is there at once.
fn between(from: [f32; 2], to: [f32; 2], weight: f32) -> [f32; 2] {
    let way = [to[0] - from[0], to[1] - from[1]];
    let is_far = way[0] * way[0] + way[1] * way[1] > SMOOTH_CELLS * SMOOTH_CELLS;
    if is_far { to } else { [from[0] + way[0] * weight, from[1] + way[1] * weight] }
}

/// Where a unit is shown: at its place in the squad, closer together where that would be over water.
fn placed(squad: &Squad, unit: &Unit, now: f64, is_open: impl Fn(Cell) -> bool) -> [f32; 2] {
    let ([x, y], place) = (squad.shown_at(now), place_offset(unit.place));
    let away = [place.x as f32 / SUB as f32, place.y as f32 / SUB as f32];
    let at = |part: f32| [x + away[0] * part, y + away[1] * part];
    let is_dry = |[x, y]: [f32; 2]| Cell::new(x as i32, y as i32).is_some_and(&is_open);
    let parts = [1.0, 0.6, 0.3];
    parts.into_iter().map(at).find(|place| is_dry(*place)).unwrap_or(at(0.15))
}

/// What everything costs and is called, as JSON.
pub(crate) fn tables() -> String {
    let units = UnitKind::ALL.iter().map(|kind| {
        let table = kind.table();
        let range = table.range as f32 / SUB as f32;
        let (name, cost, ticks) = (table.name, table.cost, table.ticks);
        format!(
            r#"{{"name":"{name}","cost":{cost},"ticks":{ticks},"range":{range},"flies":{}}}"#,
            table.flies
        )
    });
    let units: Vec<String> = units.collect();
    let buildings = BuildingKind::ALL.iter().map(|kind| {
        let table = kind.table();
        let range = table.range as f32 / SUB as f32;
        format!(r#"{{"name":"{}","cost":{},"range":{range}}}"#, table.name, table.cost)
    });
    let buildings: Vec<String> = buildings.collect();
    let (units, buildings) = (units.join(","), buildings.join(","));
    format!(r#"{{"units":[{units}],"buildings":[{buildings}],"grains":{GRAINS}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contest_is_seen_as_numbers_and_words_and_goes_on() {
        let mut contest = Contest::new(3, 4, Opening::Settlers, Span::ZERO);
        assert_eq!(contest.units().len(), 8 * UNIT_NUMBERS, "one's own, and nobody else's");
        assert_eq!(contest.buildings().len(), 2 * BUILDING_NUMBERS);
        contest.advance(Span::millis(200));
        assert!(contest.clock() >= 4.0);
        assert!(contest.words().contains(r#""seat":0"#), "{}", contest.words());
        assert!(tables().contains("Ballista"));
    }

    #[test]
    fn who_is_sent_goes_and_what_is_refused_is_said() {
        let mut contest = Contest::new(3, 2, Opening::War, Span::millis(300));
        let units = contest.units();
        let raiders = units.chunks(UNIT_NUMBERS).filter(|unit| unit[1] == 0.0 && unit[2] == 1.0);
        let raiders: Vec<u16> = raiders.map(|unit| unit[0] as u16).collect();
        let goal = contest.content().homes()[0].workshops[0];
        let march = Request { verb: Verb::Go, place: goal, ..Request::default() };
        assert_eq!(contest.ask_for(&raiders, &march), Ok(()));
        let moving = |contest: &Contest| {
            contest.units().chunks(UNIT_NUMBERS).filter(|unit| unit[7] == 1.0).count()
        };
        assert_eq!(
            moving(&contest),
            raiders.len(),
            "at once, before the server can have heard of it"
        );
        assert!(!contest.unofficial().is_empty());
        contest.advance(Span::millis(250));
        assert!(!contest.unofficial().is_empty(), "the answer is still on its way");
        (0..3).for_each(|_| contest.advance(Span::millis(250)));
        assert!(contest.unofficial().is_empty(), "the server has said so");
        assert_eq!(moving(&contest), raiders.len());
        let home = Request { place: contest.content().homes()[0].altar, ..march };
        assert_eq!(contest.ask_for(&[], &home), Err(NOBODY));
        assert_eq!(words::of(NOBODY), Denial::Nobody.words());
    }

    /// Own units of a kind: mark, and where each is shown.
    fn own(contest: &Contest, kind: UnitKind) -> Vec<(u16, [f32; 2])> {
        let units = contest.units();
        let units = units.chunks(UNIT_NUMBERS);
        let units = units.filter(|unit| unit[1] == 0.0 && unit[2] == kind as u8 as f32);
        units.map(|unit| (unit[0] as u16, [unit[3], unit[4]])).collect()
    }

    fn far([x, y]: [f32; 2], [to_x, to_y]: [f32; 2]) -> f32 {
        (x - to_x).hypot(y - to_y)
    }

    fn go(place: Cell) -> Request {
        Request { verb: Verb::Go, place, ..Request::default() }
    }

    #[test]
    fn two_orders_of_one_round_trip_that_split_squads_are_shown_and_obeyed_apart() {
        let mut contest = Contest::new(3, 2, Opening::War, Span::millis(600));
        let raiders: Vec<u16> = own(&contest, UnitKind::Raider).iter().map(|one| one.0).collect();
        let goals = contest.content().homes()[0].workshops;
        let (first, second) = (&raiders[..4], &raiders[4..8]);
        assert_eq!(contest.ask_for(first, &go(goals[1])), Ok(()));
        contest.advance(Span::millis(50));
        assert_eq!(contest.ask_for(second, &go(goals[2])), Ok(()));
        let goal_of = |contest: &Contest, unit: u16| {
            let world = contest.world();
            let census = Census::new(world, clock(world));
            let unit = world.get::<Unit>(census.marked(Mark(unit)).unwrap()).unwrap();
            census.squad(world, unit.squad).unwrap().end().cell()
        };
        let check = |contest: &Contest, goals: [Cell; 2]| {
            let shown = [first, second].map(|units| {
                units.iter().map(|unit| goal_of(contest, *unit)).collect::<Vec<Cell>>()
            });
            assert_eq!(shown, goals.map(|goal| vec![goal; 4]));
        };
        check(&contest, [goals[1], goals[2]]);
        // Once more, before the server can have heard of either: their squads have no names there yet.
        assert_eq!(contest.ask_for(first, &go(goals[3])), Ok(()));
        check(&contest, [goals[3], goals[2]]);
        (0..4).for_each(|_| contest.advance(Span::millis(250)));
        assert_eq!(contest.take_denial(), None);
        assert!(contest.unofficial().is_empty(), "the server has said so");
        check(&contest, [goals[3], goals[2]]);
    }

    #[test]
    fn what_was_hoped_for_goes_smoothly_to_what_is_official() {
        for part in [18, 5] {
            let mut contest = Contest::new(3, 2, Opening::War, Span::millis(400));
            // By then it knows the server's time.
            contest.skip(100);
            let raiders = own(&contest, UnitKind::Raider);
            let sent: Vec<u16> = raiders.iter().take(part).map(|one| one.0).collect();
            let goal = contest.content().homes()[0].workshops[3];
            assert_eq!(contest.ask_for(&sent, &go(goal)), Ok(()));
            let mut before = own(&contest, UnitKind::Raider);
            let (mut slid, mut ways) = (0, 0.0_f32);
            for _ in 0..150 {
                contest.advance(Span::millis(10));
                let now = own(&contest, UnitKind::Raider);
                // The one in the middle: others close ranks beside water. It walks 0.025 cells in this time.
                let ((one, from), (other, to)) = (before[0], now[0]);
                assert!(one == other && far(from, to) < 0.06, "{from:?} to {to:?}");
                ways += far(from, to);
                slid += contest.sliding.len();
                before = now;
            }
            assert!(slid > 0 && ways > 2.0, "{slid} slid, {ways} cells gone");
        }
    }

    #[test]
    fn what_was_hoped_for_and_is_far_from_the_official_jumps_there() {
        let mut contest = Contest::new(3, 2, Opening::War, Span::millis(2000));
        contest.skip(200);
        let kites = own(&contest, UnitKind::Kite);
        let marks: Vec<u16> = kites.iter().map(|one| one.0).collect();
        let stop = Request { verb: Verb::Stop, ..Request::default() };
        // More than the server takes at once: what comes last is denied.
        (0..40).for_each(|_| assert_eq!(contest.ask_for(&marks, &stop), Ok(())));
        let goal = contest.content().homes()[1].altar;
        assert_eq!(contest.ask_for(&marks, &go(goal)), Ok(()));
        let (mut farthest, mut jump, mut before) = (0.0_f32, 0.0_f32, kites.clone());
        for _ in 0..600 {
            contest.advance(Span::millis(10));
            let now = own(&contest, UnitKind::Kite);
            farthest = farthest.max(far(now[0].1, kites[0].1));
            jump = jump.max(far(now[0].1, before[0].1));
            before = now;
        }
        assert!(farthest > SMOOTH_CELLS, "it went {farthest} cells");
        assert!(jump > SMOOTH_CELLS, "at once, not bit by bit: {jump}");
        assert!(far(before[0].1, kites[0].1) < 0.1, "it is where it was");
        assert_eq!(contest.take_denial(), Some(Refusal::FLOOD));
    }

    #[test]
    fn a_saved_contest_goes_on_where_it_was() {
        let mut contest = Contest::new(5, 3, Opening::War, Span::ZERO);
        contest.skip(200);
        let file = contest.road().save().expect("it is held here");
        let again = Contest::load(&file, Span::millis(100)).expect("it was just saved");
        assert_eq!(again.content(), contest.content());
        let places = |contest: &Contest| own(contest, UnitKind::Worker);
        assert_eq!(places(&again).len(), places(&contest).len());
        assert!(again.clock() >= contest.clock() && again.clock() < contest.clock() + 60.0);
        assert!(Contest::load(&file[..file.len() - 9], Span::ZERO).is_none(), "cut short");
        assert!(Contest::load(b"{}", Span::ZERO).is_none());
    }
}
