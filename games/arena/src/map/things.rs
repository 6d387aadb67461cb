//! What the entities of a `.map` file mean to the game.
//!
//! | class | keys | becomes |
//! |---|---|---|
//! | `worldspawn` | `message`, `sight`, brushes | the map: its title, how far one sees in it, what is solid |
//! | `info_player_start`, `info_player_deathmatch` | `origin`, `angle`, `team` | a spawn, feet 24 units lower |
//! | `item_health`, `item_armor`, `item_bullets`, `item_shells`, `item_rockets` | `origin` | an item |
//! | `func_door` | `angle` (-1 up, -2 down), `speed`, `lip`, brushes | a door |
//! | `func_plat` | `height` to rise, `speed`, `wait`, brushes as they are below | a lift |
//! | `trigger_teleport` | `target`, a brush | a teleporter to the `info_teleport_destination` of that `targetname` |
//! | `misc_crate` | `origin` of its lower side | a prop |
//! | `info_target` | `origin`, `motion`: `still`, `moving` or `jumping` | a target for practice |
//! | `light` | `origin`, `light` | a light |
//!
//! Anything else is left to the editor.

use super::text::{Block, BrushText};
use super::{Brush, Map, MapError, Plane, UNITS_PER_METRE};
use crate::vector::{Bounds, Vector, add, scale};

/// The most of each kind: their numbers are eight bits on the wire.
const THINGS_MAX: usize = 255;
/// A spawn's origin is 24 units above the feet in Quake's files.
const ORIGIN_ABOVE_FEET_METRES: f32 = 24.0 / UNITS_PER_METRE;
/// How near one must come for a door to open: half a second of running, so that a player hears of it before it
/// is reached, even over a slow line.
const DOOR_REACH_METRES: f32 = 4.0;

/// Where fighters begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spawn {
    /// Where the feet are.
    pub place: Vector,
    /// Where one looks, in radians.
    pub yaw: f32,
    /// For which team it is; 0 is any.
    pub team: u8,
}

/// What an item gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ItemKind {
    /// Life.
    #[default]
    Health,
    /// Protection.
    Armour,
    /// For the rifle.
    Bullets,
    /// For the shotgun.
    Shells,
    /// For the launcher.
    Rockets,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemPlace {
    /// What it gives.
    pub kind: ItemKind,
    /// Its middle.
    pub place: Vector,
}

/// What opens for whoever comes near.
#[derive(Clone, Debug, PartialEq)]
pub struct DoorPlan {
    /// As they are when it is closed.
    pub brushes: Vec<Brush>,
    /// How far it moves to be open.
    pub slide: Vector,
    /// How long that takes.
    pub seconds: f32,
    /// Where one has to be for it to open.
    pub reach: Bounds,
}

/// What goes up and down by its timetable.
#[derive(Clone, Debug, PartialEq)]
pub struct LiftPlan {
    /// As they are below.
    pub brushes: Vec<Brush>,
    /// What holds it, below.
    pub bounds: Bounds,
    /// How far it rises.
    pub rise_metres: f32,
    /// How long it takes up, and as long down.
    pub seconds: f32,
    /// How long it waits at either end.
    pub wait_seconds: f32,
}

/// What takes fighters elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Teleporter {
    /// What one has to touch.
    pub from: Bounds,
    /// Where the feet come to be.
    pub to: Vector,
}

/// Where something stands that can be pushed and broken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropPlace {
    /// The middle of its lower side.
    pub place: Vector,
}

/// How a target moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// Not at all.
    #[default]
    Still,
    /// About its place.
    Moving,
    /// About its place, and up now and then.
    Jumping,
}

/// Where a target for practice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetPlace {
    /// Its middle.
    pub place: Vector,
    /// How it moves.
    pub motion: Motion,
}

/// What shines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Where.
    pub place: Vector,
    /// How brightly, as the file has it; 300 is usual.
    pub brightness: f32,
}

impl LiftPlan {
    /// How high it is above its lower end, so long after the beginning of the game.
    pub fn height(&self, seconds: f64) -> f32 {
        let (travel, wait) = (f64::from(self.seconds), f64::from(self.wait_seconds));
        let phase = seconds % (2.0 * (travel + wait));
        let share = if phase < wait + travel {
            (phase - wait) / travel
        } else {
            1.0 - (phase - 2.0 * wait - travel) / travel
        };
        share.clamp(0.0, 1.0) as f32 * self.rise_metres
    }
}

/// The brushes of an entity, in metres.
pub(super) fn brushes(block: &Block) -> Result<Vec<Brush>, MapError> {
    block.brushes.iter().map(brush).collect()
}

fn brush(text: &BrushText) -> Result<Brush, MapError> {
    let mut faces = Vec::with_capacity(text.faces.len());
    for face in &text.faces {
        let [a, b, c] = face.points;
        let off = |point: [f64; 3]| [0, 1, 2].map(|axis| point[axis] - b[axis]);
        let (u, v) = (off(a), off(c));
        let normal =
            [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        let length = normal.iter().map(|part| part * part).sum::<f64>().sqrt();
        if length < 1e-9 {
            return Err(error(text.line, "the three points of a face lie on a line"));
        }
        let normal = normal.map(|part| part / length);
        let distance = (0..3).map(|axis| normal[axis] * b[axis]).sum::<f64>();
        let distance = (distance / f64::from(UNITS_PER_METRE)) as f32;
        faces.push((
            Plane { normal: normal.map(|part| part as f32), distance },
            face.texture.clone(),
        ));
    }
    Brush::new(faces).ok_or_else(|| error(text.line, "the faces of the brush enclose nothing"))
}

/// How far one sees in a map, if it says so.
pub(super) fn sight(world: &Block) -> Result<Option<f32>, MapError> {
    let metres = number(world, "sight", 0.0)? / UNITS_PER_METRE;
    if metres < 0.0 {
        return Err(error(world.line, "one sees no less far than nothing"));
    }
    Ok((metres > 0.0).then_some(metres))
}

/// Fills the lists of a map.
pub(super) fn place(map: &mut Map, blocks: &[Block]) -> Result<(), MapError> {
    for block in blocks {
        match block.value("classname").unwrap_or_default() {
            "info_player_start" | "info_player_deathmatch" => map.spawns.push(Spawn {
                place: add(origin(block)?, [0.0, 0.0, -ORIGIN_ABOVE_FEET_METRES]),
                yaw: number(block, "angle", 0.0)?.to_radians(),
                team: number(block, "team", 0.0)? as u8,
            }),
            "item_health" => item(map, block, ItemKind::Health)?,
            "item_armor" => item(map, block, ItemKind::Armour)?,
            "item_bullets" => item(map, block, ItemKind::Bullets)?,
            "item_shells" => item(map, block, ItemKind::Shells)?,
            "item_rockets" => item(map, block, ItemKind::Rockets)?,
            "func_door" => map.doors.push(door(block)?),
            "func_plat" => map.lifts.push(lift(block)?),
            "trigger_teleport" => map.teleporters.push(teleporter(block, blocks)?),
            "misc_crate" => map.props.push(PropPlace { place: origin(block)? }),
            "info_target" => map.targets.push(target(block)?),
            "light" => {
                let brightness = number(block, "light", 300.0)?;
                map.lights.push(Light { place: origin(block)?, brightness });
            }
            _ => {}
        }
        let counts =
            [map.items.len(), map.doors.len(), map.lifts.len(), map.props.len(), map.targets.len()];
        if counts.into_iter().any(|count| count > THINGS_MAX) {
            return Err(error(block.line, &format!("there are at most {THINGS_MAX} of a kind")));
        }
    }
    Ok(())
}

fn item(map: &mut Map, block: &Block, kind: ItemKind) -> Result<(), MapError> {
    map.items.push(ItemPlace { kind, place: origin(block)? });
    Ok(())
}

fn door(block: &Block) -> Result<DoorPlan, MapError> {
    let brushes = brushes(block)?;
    let bounds = bounds(block, &brushes)?;
    let way = match number(block, "angle", 0.0)? {
        -1.0 => [0.0, 0.0, 1.0],
        -2.0 => [0.0, 0.0, -1.0],
        angle => crate::vector::direction(angle.to_radians(), 0.0),
    };
    let half = bounds.half();
    let width: f32 = (0..3).map(|axis| way[axis].abs() * half[axis] * 2.0).sum();
    let metres = (width - number(block, "lip", 8.0)? / UNITS_PER_METRE).max(0.1);
    let speed = (number(block, "speed", 100.0)? / UNITS_PER_METRE).max(0.1);
    let reach = bounds.grown([DOOR_REACH_METRES, DOOR_REACH_METRES, 1.0]);
    Ok(DoorPlan { brushes, slide: scale(way, metres), seconds: metres / speed, reach })
}

fn lift(block: &Block) -> Result<LiftPlan, MapError> {
    let brushes = brushes(block)?;
    let bounds = bounds(block, &brushes)?;
    let rise_metres = (number(block, "height", 128.0)? / UNITS_PER_METRE).max(0.1);
    let speed = (number(block, "speed", 100.0)? / UNITS_PER_METRE).max(0.1);
    let wait_seconds = number(block, "wait", 3.0)?.max(0.0);
    Ok(LiftPlan { brushes, bounds, rise_metres, seconds: rise_metres / speed, wait_seconds })
}

fn teleporter(block: &Block, blocks: &[Block]) -> Result<Teleporter, MapError> {
    let brushes = brushes(block)?;
    let target =
        block.value("target").ok_or_else(|| error(block.line, "the teleporter has no target"))?;
    let is_target = |block: &&Block| {
        block.value("classname") == Some("info_teleport_destination")
            && block.value("targetname") == Some(target)
    };
    let Some(to) = blocks.iter().find(is_target) else {
        return Err(error(block.line, &format!("no info_teleport_destination is named {target}")));
    };
    let to = add(origin(to)?, [0.0, 0.0, -ORIGIN_ABOVE_FEET_METRES]);
    Ok(Teleporter { from: bounds(block, &brushes)?, to })
}

fn target(block: &Block) -> Result<TargetPlace, MapError> {
    let motion = match block.value("motion").unwrap_or("still") {
        "still" => Motion::Still,
        "moving" => Motion::Moving,
        "jumping" => Motion::Jumping,
        other => {
            let wrong = format!("a target is still, moving or jumping, not {other}");
            return Err(error(block.line, &wrong));
        }
    };
    Ok(TargetPlace { place: origin(block)?, motion })
}

fn bounds(block: &Block, brushes: &[Brush]) -> Result<Bounds, MapError> {
    let bounds = brushes.iter().map(Brush::bounds).reduce(Bounds::joined);
    bounds.ok_or_else(|| error(block.line, "this entity needs a brush"))
}

fn origin(block: &Block) -> Result<Vector, MapError> {
    let parts = block.value("origin").unwrap_or_default().split_whitespace();
    let parts: Vec<f32> = parts.filter_map(|part| part.parse().ok()).collect();
    let [x, y, z] = parts[..] else {
        return Err(error(block.line, "this entity needs an origin of three numbers"));
    };
    Ok([x, y, z].map(|part: f32| part / UNITS_PER_METRE))
}

fn number(block: &Block, key: &str, otherwise: f32) -> Result<f32, MapError> {
    let Some(value) = block.value(key) else { return Ok(otherwise) };
    let number = value.trim().parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| {
        error(block.line, &format!("the value of {key} should be a number, not `{value}`"))
    })
}

pub(super) fn error(line: usize, message: &str) -> MapError {
    MapError { line, column: 1, message: message.to_owned() }
}
