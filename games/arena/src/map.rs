//! A map: solid brushes, the things that stand in it, and what can be asked of both. Made from the text of a
//! Quake `.map` file; 32 units of the file are a metre.

mod brush;
mod cubes;
mod text;
mod things;
mod tree;
mod visibility;

pub use brush::{Brush, Plane, SKIN_METRES, Trace};
pub(crate) use brush::{Passage, pass};
pub use text::MapError;
pub use things::{
    DoorPlan, ItemKind, ItemPlace, LiftPlan, Light, Motion, PropPlace, Spawn, TargetPlace,
    Teleporter,
};
pub use visibility::Visibility;

use crate::body;
use crate::vector::{Bounds, Vector, add, along, dot, scale};
use sametick::record::mix;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use tree::Tree;

/// How many units of a `.map` file make a metre: a fighter of 56 units is 1.75 m tall.
pub const UNITS_PER_METRE: f32 = 32.0;

/// How far from the origin a map may reach on any axis.
pub const REACH_METRES: f32 = 128.0;

/// Places are shown to others to the nearest multiple of this.
pub const SHOWN_METRES: f32 = 1.0 / 128.0;

/// Where places can be shown: with that step, 15 bits an axis.
pub const SHOWN_RANGE: RangeInclusive<f32> = -REACH_METRES..=REACH_METRES - SHOWN_METRES;
const _: () = assert!(SKIN_METRES > SHOWN_METRES / 2.0);

/// Two places around a corner each: for duels, and for peeking.
pub const CORNERS: &str = include_str!("../maps/corners.map");
/// Rooms and corridors on two storeys, with a lift, a door and a teleporter.
pub const HALLS: &str = include_str!("../maps/halls.map");
/// An open field with cover, for a hundred players and more.
pub const FIELD: &str = include_str!("../maps/field.map");

/// The maps that come with the game, by name.
pub const MAPS: [(&str, &str); 3] = [("corners", CORNERS), ("halls", HALLS), ("field", FIELD)];

/// Everything of a level that never changes.
///
/// ```
/// use sametick_arena::{Map, map};
///
/// let map = Map::read(map::CORNERS)?;
/// let spawn = &map.spawns[0];
/// // Straight down from a spawn there is ground.
/// let [x, y, z] = spawn.place;
/// assert!(map.ray(spawn.place, [x, y, z - 5.0]).is_hit());
/// assert!(map.visible(spawn.place, [x, y, z + 1.0]));
/// # Ok::<(), map::MapError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Map {
    /// What it is called.
    pub title: String,
    /// Where fighters begin.
    pub spawns: Vec<Spawn>,
    /// What lies about to be taken.
    pub items: Vec<ItemPlace>,
    /// What opens for whoever comes near.
    pub doors: Vec<DoorPlan>,
    /// What goes up and down by its timetable.
    pub lifts: Vec<LiftPlan>,
    /// What takes fighters elsewhere.
    pub teleporters: Vec<Teleporter>,
    /// What can be pushed and broken.
    pub props: Vec<PropPlace>,
    /// What is shot at for practice.
    pub targets: Vec<TargetPlace>,
    /// What shines; of no meaning to the rules.
    pub lights: Vec<Light>,
    /// How far one sees: behind that all is mist, and nobody is told of it. None is as far as there is nothing solid.
    pub sight_metres: Option<f32>,
    brushes: Vec<Brush>,
    tree: Tree,
    bounds: Bounds,
    text_hash: u64,
    visibility: OnceLock<Visibility>,
}

impl Map {
    /// The map that a file describes.
    pub fn read(text: &str) -> Result<Self, MapError> {
        let blocks = text::read(text)?;
        let Some(world) =
            blocks.iter().find(|block| block.value("classname") == Some("worldspawn"))
        else {
            return Err(MapError { line: 1, column: 1, message: "there is no worldspawn".into() });
        };
        let brushes = things::brushes(world)?;
        let boxes: Vec<Bounds> = brushes.iter().map(Brush::bounds).collect();
        let Some(bounds) = boxes.iter().copied().reduce(Bounds::joined) else {
            return Err(things::error(world.line, "the worldspawn has no brushes"));
        };
        let mut map = Self {
            title: world.value("message").unwrap_or("untitled").to_owned(),
            spawns: Vec::new(),
            items: Vec::new(),
            doors: Vec::new(),
            lifts: Vec::new(),
            teleporters: Vec::new(),
            props: Vec::new(),
            targets: Vec::new(),
            lights: Vec::new(),
            sight_metres: things::sight(world)?,
            tree: Tree::new(&boxes),
            brushes,
            bounds,
            text_hash: text.bytes().fold(0, |hash, byte| mix(hash, u32::from(byte))),
            visibility: OnceLock::new(),
        };
        things::place(&mut map, &blocks)?;
        if bounds.low.iter().chain(&bounds.high).any(|end| end.abs() > REACH_METRES) {
            let wrong = format!("the map reaches further than {REACH_METRES} m from its origin");
            return Err(things::error(world.line, &wrong));
        }
        if map.spawns.is_empty() {
            return Err(things::error(
                world.line,
                "there is no info_player_deathmatch to begin at",
            ));
        }
        Ok(map)
    }

    /// The solid parts that never move.
    pub fn brushes(&self) -> &[Brush] {
        &self.brushes
    }

    /// What holds all of it.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// A number for the text it was made from.
    pub fn text_hash(&self) -> u64 {
        self.text_hash
    }

    /// Which places can be seen from which; found out when first asked for, which takes a moment.
    pub fn visibility(&self) -> &Visibility {
        self.visibility.get_or_init(|| Visibility::new(self))
    }

    /// Sweeps a box of these half sizes between two places of its middle, past all that never moves.
    pub fn trace(&self, half: Vector, from: Vector, to: Vector) -> Trace {
        let mut trace = Trace::free(to);
        self.tree.sweep(half, from, to, |brush| {
            self.brushes[brush].sweep(half, from, to, &mut trace);
            trace.fraction
        });
        trace
    }

    /// A straight line between two places, past all that never moves.
    pub fn ray(&self, from: Vector, to: Vector) -> Trace {
        self.trace([0.0; 3], from, to)
    }

    /// Whether a straight line joins two places.
    pub fn visible(&self, from: Vector, to: Vector) -> bool {
        let mut is_free = true;
        self.tree.sweep([0.0; 3], from, to, |brush| {
            is_free = is_free && !self.brushes[brush].blocks(from, to);
            if is_free { 1.0 } else { NOTHING_MORE }
        });
        is_free
    }

    /// Whether a box of these half sizes around a place is free of all that never moves.
    pub fn fits(&self, half: Vector, centre: Vector) -> bool {
        let mut fits = true;
        self.tree.sweep(half, centre, centre, |brush| {
            fits &= !self.brushes[brush].overlaps(half, centre);
            if fits { 1.0 } else { NOTHING_MORE }
        });
        fits
    }

    /// Where the feet of a fighter would come to rest that is let fall from a place, if it fits there and there
    /// is ground within `depth` that one can stand on.
    pub fn ground(&self, feet: Vector, depth: f32) -> Option<Vector> {
        let (half, centre) = (body::half(false), body::centre(feet, false));
        let trace = self.trace(half, centre, along(centre, [0.0, 0.0, -1.0], depth));
        let is_ground = trace.is_hit() && !trace.started_inside && trace.normal[2] >= STEEPEST_UP;
        is_ground.then(|| along(trace.end, [0.0, 0.0, -1.0], half[2]))
    }

    /// Places in which a fighter can stand, on every storey, on a grid of so many metres: where bots find their ways.
    pub fn standing_places(&self, spacing: f32) -> Vec<Vector> {
        let Bounds { low, high } = self.bounds;
        let steps = |axis: usize, metres: f32| ((high[axis] - low[axis]) / metres) as usize;
        let mut places: Vec<Vector> = Vec::new();
        for column in 0..=steps(0, spacing) {
            for row in 0..=steps(1, spacing) {
                let mut ground = f32::INFINITY;
                for storey in 0..=steps(2, STOREY_METRES) {
                    let (x, y) = (low[0] + column as f32 * spacing, low[1] + row as f32 * spacing);
                    let from = [x, y, high[2] - storey as f32 * STOREY_METRES];
                    let place =
                        self.ground(from, high[2] - low[2]).filter(|place| place[2] < ground - 0.1);
                    ground = place.map_or(ground, |place| place[2]);
                    places.extend(place);
                }
            }
        }
        places
    }
}

/// How far apart the storeys are that are looked for.
const STOREY_METRES: f32 = 1.0;

/// Told to the tree when there is nothing more to find.
const NOTHING_MORE: f32 = -1.0;

/// How much of the normal of the steepest slope that one can stand on points up: 45 degrees.
pub const STEEPEST_UP: f32 = 0.7;

/// Where a fighter that is pushed against a wall may still move.
pub(crate) fn slide(motion: Vector, normal: Vector) -> Vector {
    let into = dot(motion, normal);
    // A little more than flat, so that rounding does not press it against the wall for ever.
    if into < 0.0 { add(motion, scale(normal, -into * 1.001)) } else { motion }
}
