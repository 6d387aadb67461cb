//! A crate: stands in the way, is thrown about by blasts, comes to rest, and breaks. At rest it costs nothing.

use crate::arena::{Arena, Entity};
use crate::map::{SHOWN_METRES, SHOWN_RANGE, SKIN_METRES};
use crate::movement::{self, SPEED_MAX};
use crate::solids::Solids;
use crate::vector::{Bounds, Vector, length};
use sametick::{EntityId, Fields, Networked, Turn, World};

/// Half the side of a crate.
pub const PROP_HALF_METRES: f32 = 0.45;
/// What a whole crate can take.
pub const PROP_HEALTH: u8 = 80;
/// Slower than this it comes to rest.
const REST_SPEED: f32 = 0.1;

/// Something that can be pushed and broken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prop {
    /// Its number in the map.
    pub index: u8,
    /// The middle of its lower side.
    pub position: Vector,
    /// Metres a second.
    pub velocity: Vector,
    /// None left: broken.
    pub health: u8,
    /// Lies still until something moves it.
    pub is_resting: bool,
    /// When a broken one is whole again.
    pub back_at: u32,
}

impl Networked for Prop {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("index", &mut self.index, 8);
        f.exacts("position", &mut self.position).shown_each(SHOWN_RANGE, SHOWN_METRES);
        f.exacts("velocity", &mut self.velocity).shown_each(-SPEED_MAX..=SPEED_MAX, 1.0 / 32.0);
        f.int("health", &mut self.health, 0..=PROP_HEALTH);
        f.bool("is_resting", &mut self.is_resting);
        f.bits("back_at", &mut self.back_at, 32);
        f.rate_of("velocity", "position");
    }
}

impl Prop {
    /// A whole one where the map has it.
    pub(crate) fn whole(index: u8, place: Vector) -> Self {
        Self { index, position: place, health: PROP_HEALTH, ..Self::default() }
    }

    /// Where it stands in the way, if it is whole.
    pub fn bounds(&self) -> Option<Bounds> {
        let [x, y, z] = self.position;
        let half = PROP_HALF_METRES;
        let bounds =
            Bounds { low: [x - half, y - half, z], high: [x + half, y + half, z + 2.0 * half] };
        (self.health > 0).then_some(bounds)
    }
}

/// Moves what is not at rest and mends what has been broken long enough.
pub(crate) fn step(world: &mut World<Entity>, solids: &Solids<'_>, turn: &Turn<'_, Arena>) {
    let content = turn.content();
    for (id, prop) in world.all_mut::<Prop>() {
        if prop.health > 0 && !prop.is_resting {
            fall(id, prop, solids, turn);
        } else if prop.health == 0 && turn.tick().0 >= prop.back_at {
            let place = content.map.props.get(usize::from(prop.index));
            *prop = Prop::whole(prop.index, place.map_or(prop.position, |place| place.place));
        }
    }
}

fn fall(id: EntityId, prop: &mut Prop, solids: &Solids<'_>, turn: &Turn<'_, Arena>) {
    let half = [PROP_HALF_METRES - SKIN_METRES; 3];
    let mut centre = prop.position;
    centre[2] += PROP_HALF_METRES;
    let moved = (&mut centre, &mut prop.velocity);
    let is_down = movement::tumble(moved, (id, half), solids, &turn.content().tuning, turn.dt());
    prop.position = [centre[0], centre[1], centre[2] - PROP_HALF_METRES];
    if is_down && length(prop.velocity) < REST_SPEED {
        (prop.velocity, prop.is_resting) = ([0.0; 3], true);
        prop.position = prop.position.map(shown);
    }
}

/// Quantizes a coordinate to the precision of the wire. A resting crate then has the same position on the server and on
/// each client, and a client mispredicts no player on it. The crate does not sink into the ground: the skin is thicker
/// than half a step.
fn shown(metres: f32) -> f32 {
    let (low, high) = SHOWN_RANGE.into_inner();
    ((metres / SHOWN_METRES).round_ties_even() * SHOWN_METRES).clamp(low, high)
}
