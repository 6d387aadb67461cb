//! Players without hands: a [`Bot`] gathers, builds bridges towards its neighbours, makes units and attacks in groups.
//!
//! It knows what its player's client would show and nothing else; no clock, no chance but a seed of its own: the same
//! views give the same requests, on every machine.
//!
//! ```
//! use sametick::{Alone, PlayerId};
//! use sametick_islands::bot::Bot;
//! use sametick_islands::{Content, Islands, Opening, TICK};
//!
//! let content = Content::new(3, 2, Opening::Settlers);
//! let mut game = Alone::<Islands>::new(content.clone(), 1, TICK);
//! let mut bot = Bot::new(5);
//! game.join(PlayerId(0));
//! for _ in 0..200 {
//!     let request = bot.think(game.world(), PlayerId(0), &content);
//!     game.step([(PlayerId(0), request)])?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bridges;
mod view;

use crate::census::{clock, contest};
use crate::content::Content;
use crate::contest::TICKS_PER_SECOND;
use crate::islands::Entity;
use crate::judge::judge;
use crate::place::{Cell, Link, Mark};
use crate::request::{GROUP_MAX, Request, Verb};
use crate::tables::{BuildingKind, UnitKind};
use bridges::next_run;
use sametick::{Dice, EntityId, PlayerId, Slots, World};
use view::{Troop, View};

/// It asks for something at most this often.
const THINK_TICKS: u32 = 12;
/// An army is sent again at most this often, and the altar's defence called.
const ATTACK_TICKS: u32 = 8 * TICKS_PER_SECOND;
const DEFEND_TICKS: u32 = 5 * TICKS_PER_SECOND;
/// It thinks anew about whom to attack.
const RETARGET_TICKS: u32 = 100 * TICKS_PER_SECOND;
/// A way for a bridge is looked for at most this often: it is the dearest thought.
const BRIDGE_TICKS: u32 = 3 * TICKS_PER_SECOND;
/// A spring that workers were sent to is left alone for so long.
const SHUN_TICKS: u32 = 15 * TICKS_PER_SECOND;
/// Enemies so near the altar, in cells, are met by all.
const HOME_CELLS: i32 = 11;
const WORKERS: usize = 14;
/// With so many crystals it builds a fourth workshop.
const RICH: u32 = 300;

/// A player that the machine plays.
#[derive(Clone, Debug)]
pub struct Bot {
    dice: Dice,
    /// When it last asked for something of each sort.
    thought_at: u32,
    attacked_at: u32,
    defended_at: u32,
    bridged_at: u32,
    /// Whom it is after, since when, and how large its next army shall be.
    rival: Option<u8>,
    rival_since: u32,
    army: usize,
    /// What its workshops make next.
    next: UnitKind,
    /// What it asked for last.
    last: Request,
    /// Springs that it has sent workers to, and until when it sends no more: there may be others whom it does not see.
    shunned: Vec<(Cell, u32)>,
}

impl Bot {
    /// A bot; the seed makes it different from others.
    pub fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed, 0x15b07),
            thought_at: 0,
            attacked_at: 0,
            defended_at: 0,
            bridged_at: 0,
            rival: None,
            rival_since: 0,
            army: 8,
            next: UnitKind::Raider,
            last: Request::default(),
            shunned: Vec::new(),
        }
    }

    /// What it asks for in the next tick, given a world of which it looks only at what its player sees.
    pub fn think(&mut self, world: &World<Entity>, me: PlayerId, content: &Content) -> Request {
        let clock = clock(world);
        let turn = THINK_TICKS + u32::from(me.0 % 5);
        if clock < self.thought_at.saturating_add(turn) {
            return Request::default();
        }
        self.thought_at = clock;
        let world = &seen(world, me);
        let Some(view) = View::new(world, me, content) else { return Request::default() };
        let wishes: [fn(&mut Self, &View<'_>) -> Option<Request>; 8] = [
            Self::defend,
            Self::employ,
            Self::raise_workers,
            Self::finish,
            Self::build,
            Self::bridge,
            Self::make,
            Self::attack,
        ];
        let last = std::mem::take(&mut self.last);
        let wishes = wishes.into_iter().filter_map(|wish| wish(self, &view));
        // What was asked for a moment ago and did not help must not keep it from all else.
        let fresh = wishes.filter(|request| *request != last);
        let mut lawful = fresh.filter(|request| judge(world, content, me, request).is_ok());
        let request = lawful.next().unwrap_or_default();
        self.last.clone_from(&request);
        request
    }

    /// Whoever is idle meets those who come near the altar.
    fn defend(&mut self, view: &View<'_>) -> Option<Request> {
        let home = view.home.altar;
        let intruders = view
            .enemies
            .iter()
            .filter(|enemy| !enemy.is_building && enemy.cell.apart(home) <= HOME_CELLS);
        let first = intruders.clone().min_by_key(|enemy| enemy.cell.apart(home))?;
        if intruders.count() < 2 || view.clock < self.defended_at.saturating_add(DEFEND_TICKS) {
            return None;
        }
        let near = |troop: &&Troop| troop.is_idle && troop.at.apart(home) <= 2 * HOME_CELLS;
        let far_enough = |troop: &&Troop| troop.at.apart(first.cell) > 6;
        let squads: Vec<Mark> =
            view.army().filter(near).filter(far_enough).map(|troop| troop.mark).collect();
        self.defended_at = view.clock;
        (!squads.is_empty())
            .then(|| Request::march(squads.into_iter().take(GROUP_MAX), first.cell, true))
    }

    /// Sends idle workers to a spring.
    fn employ(&mut self, view: &View<'_>) -> Option<Request> {
        let idle =
            view.troops.iter().find(|troop| troop.kind == UnitKind::Worker && troop.is_idle)?;
        self.shunned.retain(|(_, until)| view.clock < *until);
        let spring = view.free_spring(idle.at, |spring| {
            self.shunned.iter().all(|(shunned, _)| *shunned != spring)
        })?;
        self.shunned.push((spring.0, view.clock.saturating_add(SHUN_TICKS)));
        let count = idle.members.len().min(spring.1);
        Some(Request::gather(idle.members.iter().take(count).copied(), spring.0))
    }

    fn raise_workers(&mut self, view: &View<'_>) -> Option<Request> {
        let altar = view.own(BuildingKind::Altar).find(|(_, altar)| altar.left(view.clock) == 0)?;
        let wanted = WORKERS + usize::from(view.clock > 240 * TICKS_PER_SECOND) * 2;
        let has_room = view.springs_free() > 0;
        // Who has hardly any needs them for building, come what may.
        let is_bare = view.workers < 2;
        (view.workers < wanted && has_room || is_bare)
            .then(|| Request::produce(altar.0, UnitKind::Worker, 1))
    }

    /// Sends a worker to a plan that nobody builds, or gives up what nobody can come to.
    fn finish(&mut self, view: &View<'_>) -> Option<Request> {
        let is_left = |link: Link| !view.troops.iter().any(|troop| troop.builds == Some(link));
        let mut plans = view.buildings.iter().filter(|(_, plan)| plan.ready == 0);
        let (mark, plan) = plans.find(|(mark, _)| is_left(mark.link()))?;
        if view.reachable.nearest(plan.cell, 1).is_none() {
            return Some(Request { verb: Verb::Cancel, target: *mark, ..Request::default() });
        }
        let worker = view.worker_near(plan.cell)?;
        let bridge = Request::bridge(worker, plan.cell, plan.direction, plan.span);
        Some(Request { building: plan.kind, ..bridge })
    }

    fn build(&mut self, view: &View<'_>) -> Option<Request> {
        if view.buildings.iter().any(|(_, plan)| plan.ready == 0) {
            return None;
        }
        let minutes = view.clock / TICKS_PER_SECOND / 30;
        let workshops = view.own(BuildingKind::Workshop).count();
        let towers = view.own(BuildingKind::Tower).count();
        let (kind, cell) = if workshops < 3 && workshops <= minutes as usize / 2
            || workshops == 3 && view.crystals > RICH
        {
            let is_free =
                |cell: &&Cell| !view.own(BuildingKind::Workshop).any(|(_, one)| one.cell == **cell);
            (BuildingKind::Workshop, *view.home.workshops.iter().find(is_free)?)
        } else if towers < 4 && towers + 2 <= minutes as usize {
            let is_free =
                |cell: &Cell| !view.buildings.iter().any(|(_, one)| one.cell.apart(*cell) <= 1);
            let towers = view.home.towers.into_iter();
            let more = [(5, 0), (0, 5), (-5, 0), (0, -5)].into_iter();
            let more = more.filter_map(|(x, y)| view.home.altar.offset(x, y));
            (
                BuildingKind::Tower,
                towers.chain(more).filter(|cell| view.content.is_land(*cell)).find(is_free)?,
            )
        } else {
            return None;
        };
        Some(Request::build(view.worker_near(cell)?, kind, cell))
    }

    /// Brings the next run of a bridge nearer to the rival.
    fn bridge(&mut self, view: &View<'_>) -> Option<Request> {
        let is_begun = |kind: BuildingKind| {
            view.own(kind)
                .any(|(_, bridge)| bridge.ready == 0 || u32::from(bridge.ready) > view.clock)
        };
        if view.clock < self.bridged_at.saturating_add(BRIDGE_TICKS)
            || is_begun(BuildingKind::Bridge)
            || view.crystals < 16
        {
            return None;
        }
        self.bridged_at = view.clock;
        let rival = self.rival(view)?;
        let goal = view.content.homes().get(usize::from(rival))?.altar;
        if view.reachable.is_open(goal) {
            return None;
        }
        let run = next_run(view.content, &view.ground, view.home.altar, goal)?;
        Some(Request::bridge(view.worker_near(run.first)?, run.first, run.direction, run.span))
    }

    fn make(&mut self, view: &View<'_>) -> Option<Request> {
        let (mark, _) = view
            .own(BuildingKind::Workshop)
            .find(|(_, shop)| shop.left(view.clock) == 0 && shop.is_ready(view.clock))?;
        let cost = self.next.table().cost;
        let room = contest(view.world).units_max().saturating_sub(view.units_to_be);
        let saved = if view.own(BuildingKind::Workshop).count() < 3 { 30 } else { 0 };
        let count = (view.crystals.saturating_sub(saved) / cost).min(5).min(room as u32) as u8;
        if count == 0 {
            return None;
        }
        let kind = self.next;
        self.next = match self.dice.below(100) {
            0..45 => UnitKind::Raider,
            45..77 => UnitKind::Archer,
            77..88 => UnitKind::Ballista,
            _ => UnitKind::Kite,
        };
        Some(Request::produce(*mark, kind, count))
    }

    /// Sends all who are idle, once they are enough.
    fn attack(&mut self, view: &View<'_>) -> Option<Request> {
        let rival = self.rival(view)?;
        let goal = view.content.homes().get(usize::from(rival))?.altar;
        let can_go = view.reachable.is_open(goal);
        let ready =
            |troop: &&Troop| troop.is_idle && (can_go || troop.flies) && troop.at.apart(goal) > 4;
        let away = |troop: &&Troop| troop.at.apart(view.home.altar) > 2 * HOME_CELLS;
        let idle: usize = view.army().filter(ready).map(|troop| troop.members.len()).sum();
        let led_on = view.army().filter(ready).filter(away).any(|troop| troop.members.len() >= 3);
        let wanted = if can_go { self.army } else { 5 };
        let is_due = view.clock >= self.attacked_at.saturating_add(ATTACK_TICKS);
        if !is_due || (idle < wanted && !led_on) {
            return None;
        }
        self.attacked_at = view.clock;
        self.army = 8 + self.dice.below(10) as usize;
        let only_away = idle < wanted;
        let squads = view
            .army()
            .filter(ready)
            .filter(|troop| !only_away || away(troop))
            .map(|troop| troop.mark);
        let request = Request::march(squads.take(GROUP_MAX), goal, true);
        (request.verb == Verb::Assault && !request.group.is_empty()).then_some(request)
    }

    /// Whom it is after: a neighbour who is in the contest.
    fn rival(&mut self, view: &View<'_>) -> Option<u8> {
        let contest = contest(view.world);
        let is_due = view.clock >= self.rival_since.saturating_add(RETARGET_TICKS);
        if let Some(rival) = self.rival.filter(|rival| contest.plays(*rival) && !is_due) {
            return Some(rival);
        }
        let seats = view.content.players();
        let mut rivals: Vec<u8> =
            (0..seats).filter(|seat| *seat != view.seat && contest.plays(*seat)).collect();
        let around = |seat: &u8| {
            let ahead = (seat + seats - view.seat) % seats;
            (ahead.min(seats - ahead), *seat)
        };
        rivals.sort_by_key(around);
        rivals.truncate(2);
        self.rival =
            (!rivals.is_empty()).then(|| rivals[self.dice.below(rivals.len() as u64) as usize]);
        self.rival_since = view.clock;
        self.rival
    }
}

/// What a player sees of a world.
fn seen(world: &World<Entity>, me: PlayerId) -> World<Entity> {
    let (mut seen, mut visible) = (world.clone(), Slots::default());
    crate::sight::relevant(world, me, &mut visible);
    let is_hidden = |id: &EntityId| !id.is_provisional() && !visible.contains(id.slot());
    let hidden: Vec<EntityId> = world.entities().map(|(id, _)| id).filter(is_hidden).collect();
    hidden.into_iter().for_each(|id| _ = seen.despawn(id));
    seen
}
