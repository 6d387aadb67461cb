//! The theatre's scene "Bridge": one order to cross a bridge, under event locking and in lockstep, beside a player
//! whose line is bad.

use crate::building::Building;
use crate::census::{Census, clock, seat_of};
use crate::content::Content;
use crate::islands::{Entity, Islands, TICK};
use crate::place::{Cell, Mark, SUB, Spot};
use crate::request::Request;
use crate::squad::Squad;
use crate::tables::{BuildingKind, UnitKind};
use crate::unit::{Unit, place_offset};
use sametick::theatre::{Moment, Play, Poster, Recorded, Scene, Shape, ShapeKind};
use sametick::{Model, PlayerId, Rates, Span, World};

/// By then the bridge stands, and both squads wait where they are to.
const BEGINS: Span = Span::seconds(12);
/// When A gives its order by A's screen, and B by B's, in seconds of the scene.
const ORDERS: [f32; 2] = [2.0, 7.0];
const SECONDS: u64 = 10;
/// A cell on the stage.
const CELL_METRES: f32 = 2.0;
/// How high islands and the bridge rise from the sea, and what stands on them.
const LAND_METRES: f32 = 0.2;
const HOUSE_METRES: f32 = 0.45;
/// What is shown nearer than this stands still.
const STILL_METRES: f32 = 0.01;
/// The middle of the stage, in cells.
const MIDDLE: [i32; 2] = [18, 14];
/// Column and row of the bridge's first cell; how many there are.
const BRIDGE: [i32; 2] = [15, 12];
const SPAN: u8 = 4;
/// Where each player's squad waits, and where it is ordered to.
const WAITS: [[i32; 2]; 2] = [[12, 12], [23, 19]];
const GOES: [[i32; 2]; 2] = [[19, 12], [27, 19]];
/// A's pane and B's.
const A: usize = 1;
const B: usize = 2;

/// A sends its squad over the bridge while B looks on; later B sends its own out of the way.
#[derive(Clone, Debug)]
pub struct Bridge {
    content: Content,
}

impl Default for Bridge {
    fn default() -> Self {
        Self { content: Content::strait() }
    }
}

impl Play for Bridge {
    type Game = Islands;

    fn content(&self) -> Content {
        self.content.clone()
    }

    fn command(&self, me: PlayerId, view: &World<Entity>, dt: f32) -> Request {
        let index = usize::from(me.0 % 2);
        let Some(seat) = seat_of(view, me) else { return Request::default() };
        let has_bridge = view.all::<Building>().any(|(_, one)| one.kind == BuildingKind::Bridge);
        if index == 0 && !has_bridge {
            let workers = |unit: &Unit| unit.seat == seat && unit.kind == UnitKind::Worker;
            let worker = view.all::<Unit>().find(|(_, unit)| workers(unit));
            let bridge = |(id, _)| Request::bridge(Mark::to(id), cell(BRIDGE), 0, SPAN);
            return worker.map(bridge).unwrap_or_default();
        }
        let seconds = view.tick().0 as f32 * dt - BEGINS.as_seconds_f64() as f32;
        let place = cell(if seconds < ORDERS[index] { WAITS[index] } else { GOES[index] });
        let Some(leader) = view.all::<Unit>().map(|(_, unit)| unit).find(|unit| leads(unit, seat))
        else {
            return Request::default();
        };
        let census = Census::new(view, clock(view));
        let is_going = census.errand(view, leader.squad).goal == place;
        let squad = census.mark(leader.squad).filter(|_| !is_going);
        squad.map_or_else(Request::default, |squad| Request::march([squad], place, false))
    }

    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        let clock = clock(world);
        let census = Census::new(world, clock);
        for (id, unit) in world.all::<Unit>() {
            let Some(squad) = census.squad(world, unit.squad) else { continue };
            let [here, next] = [clock, clock.saturating_add(1)].map(|clock| squad.spot(clock));
            let (spot, place) = (here, place_offset(unit.place));
            let is_leader = leads(unit, unit.seat);
            into.push(Shape {
                id,
                kind: if is_leader { ShapeKind::Person } else { ShapeKind::Thing },
                owner: Some(PlayerId(unit.seat.into())),
                place: stage(Spot { x: spot.x + place.x, y: spot.y + place.y }),
                size: [0.8, 2.2],
                facing: facing(squad, here, next),
                pitch: 0.0,
                is_alive: true,
                is_unofficial: false,
            });
        }
    }
}

impl Scene for Bridge {
    fn poster(&self) -> Poster {
        Poster {
            key: "bridge",
            title: "Bridge",
            sentences: [
                "A orders its squad over a bridge: it goes at once on A's screen, dashed until the server agrees.",
                "It arrives on all at one time; under doom1993 it waits for B.",
            ],
            model: Model {
                name: "netstorm",
                rates: Rates { tick_length: TICK, ..Rates::USUAL },
                ..Model::HALF_LIFE
            },
            // With A at 30 ms what is unofficial would be so for a tick, and nobody could see it.
            pings: [200, 500],
            silent: None,
            begins: BEGINS,
            seconds: SECONDS,
            blocks: self.blocks(),
            focus: [0.0, 0.0, 46.0],
            has_fairness: false,
            lockstep: None,
            others: 0,
            bad: None,
        }
    }

    fn moment(&self, recorded: &Recorded) -> Option<Moment> {
        let ordered = ordered(recorded)?;
        let millis = |frame: usize| {
            (recorded.frames[frame].at - recorded.frames[ordered].at).as_millis_f64()
        };
        let [own, other] = [A, B].map(|pane| sets_out(recorded, pane));
        let (own, other) = (own?, other?);
        let seconds = millis(own) / 1000.0;
        let hoped = (own..recorded.frames.len()).rev().find(|frame| {
            recorded.person(*frame, A, PlayerId(0)).is_some_and(|shape| shape.is_unofficial)
        });
        let Some(hoped) = hoped else {
            let caption = format!(
                "A's squad set out on A's own screen **{:.0} ms** after the order: B's line came first.",
                millis(own)
            );
            // The last at which nothing moves yet.
            return Some(Moment { frame: own - 1, caption, seconds, metres: 0.0 });
        };
        let arrives = [A, B].map(|pane| arrives(recorded, pane).map(millis));
        let apart = arrives[0].zip(arrives[1]).map(|(one, other)| (one - other).abs());
        let caption = format!(
            "A's squad set out **{:.0} ms** after the order on A's screen, **{:.0} ms** on B's. It arrived \
             **{:.0} ms** apart.",
            millis(own),
            millis(other),
            apart?
        );
        Some(Moment { frame: hoped, caption, seconds, metres: 0.0 })
    }
}

impl Bridge {
    /// The sea has islands, a bridge and houses.
    fn blocks(&self) -> Vec<[[f32; 3]; 2]> {
        let block = |[x, y]: [i32; 2], [wide, high]: [i32; 2], top: f32| {
            let corner = |x: i32, y: i32, z: f32| {
                let [x, y, _] = stage(Spot { x: x * SUB, y: y * SUB });
                [x, y, z]
            };
            [corner(x, y + high, 0.0), corner(x + wide, y, top)]
        };
        let (homes, lands) = (self.content.homes(), Content::STRAIT);
        let lands = lands.map(|[from, to]| {
            block(from, [0, 1].map(|axis| to[axis] - from[axis] + 1), LAND_METRES)
        });
        let bridge = block(BRIDGE, [SPAN.into(), 1], LAND_METRES);
        let houses = homes.iter().flat_map(|home| [home.altar, home.workshops[0]]);
        let houses = houses.map(|cell| block([cell.x(), cell.y()], [1, 1], HOUSE_METRES));
        lands.into_iter().chain([bridge]).chain(houses).collect()
    }
}

/// The frame in which A gives its order, by what A's screen shows.
pub fn ordered(recorded: &Recorded) -> Option<usize> {
    let tick = (BEGINS.as_seconds_f64() as f32 + ORDERS[0]) / TICK.as_seconds_f64() as f32;
    let is_then = |frame: &sametick::theatre::Frame| frame.panes[A].tick.0 >= tick as u32;
    recorded.frames.iter().position(is_then)
}

/// The frame in which a pane shows A's squad move for the first time after the order.
pub fn sets_out(recorded: &Recorded, pane: usize) -> Option<usize> {
    let place = |frame: usize| Some(recorded.person(frame, pane, PlayerId(0))?.place);
    let ordered = ordered(recorded)?;
    let before = place(ordered.checked_sub(1)?)?;
    (ordered..recorded.frames.len())
        .find(|frame| place(*frame).is_some_and(|place| far(place, before) > STILL_METRES))
}

/// The frame in which a pane shows A's squad at its goal for the first time.
pub fn arrives(recorded: &Recorded, pane: usize) -> Option<usize> {
    let goal = stage(cell(GOES[0]).centre());
    let is_there = |shape: &Shape| far(shape.place, goal) <= STILL_METRES;
    let frames = 0..recorded.frames.len();
    frames
        .into_iter()
        .find(|frame| recorded.person(*frame, pane, PlayerId(0)).is_some_and(is_there))
}

/// Whether a unit goes first in the squad that a seat orders about.
fn leads(unit: &Unit, seat: u8) -> bool {
    unit.seat == seat && unit.kind == UnitKind::Raider && unit.place == 0
}

fn cell([x, y]: [i32; 2]) -> Cell {
    Cell::new(x, y).unwrap_or_default()
}

/// Where a spot is on the stage, whose north is up.
fn stage(spot: Spot) -> [f32; 3] {
    let metres = |at: i32, middle: i32| (at - middle * SUB) as f32 / SUB as f32 * CELL_METRES;
    [metres(spot.x, MIDDLE[0]), -metres(spot.y, MIDDLE[1]), LAND_METRES]
}

/// Which way a squad goes, in eighths of a turn; towards the strait if it stands.
fn facing(squad: &Squad, here: Spot, next: Spot) -> f32 {
    let eighths = match ((next.x - here.x).signum(), (here.y - next.y).signum()) {
        (0, 0) => u8::from(squad.seat != 0) * 4,
        (1, 0) => 0,
        (1, 1) => 1,
        (0, 1) => 2,
        (-1, 1) => 3,
        (-1, 0) => 4,
        (-1, -1) => 5,
        (0, _) => 6,
        _ => 7,
    };
    f32::from(eighths) * std::f32::consts::FRAC_PI_4
}

fn far(one: [f32; 3], other: [f32; 3]) -> f32 {
    let square = |axis: usize| (one[axis] - other[axis]) * (one[axis] - other[axis]);
    (square(0) + square(1) + square(2)).sqrt()
}
