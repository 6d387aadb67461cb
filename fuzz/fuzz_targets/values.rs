//! A value of every kind for the decoders to be fuzzed with.

use sametick::kinds::{Angle, Octahedral};
use sametick::{EntityId, Fields, List, Networked, Text};

#[derive(Clone, Default)]
pub struct Everything {
    flags: u32,
    health: i32,
    alive: bool,
    position: [f32; 3],
    speed: f32,
    yaw: f32,
    view: [f32; 3],
    rotation: [f32; 4],
    target: Option<EntityId>,
    name: Text<13>,
    items: List<u8, 4>,
}

impl Networked for Everything {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("flags", &mut self.flags, 19);
        f.int("health", &mut self.health, -10..=100);
        f.bool("alive", &mut self.alive);
        f.exacts("position", &mut self.position);
        f.float("speed", &mut self.speed, 5, 10);
        f.exact("yaw", &mut self.yaw).shown_as(Angle::new(9));
        f.direction("view", &mut self.view, 12).shown_as(Octahedral::new(8));
        f.quaternion("rotation", &mut self.rotation, 9);
        f.entity("target", &mut self.target);
        f.text("name", &mut self.name);
        f.list("items", &mut self.items, |f, item| {
            f.int("item", item, 0..=12);
        });
    }
}
