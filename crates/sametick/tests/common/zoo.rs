//! A value with a field of every kind. The fuzz targets walk the same one.

use sametick::kinds::{Angle, Octahedral};
use sametick::{EntityId, Fields, List, Networked, Text};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Mood {
    #[default]
    Calm,
    Wary,
    Angry,
}

pub(crate) const MOODS: &[Mood] = &[Mood::Calm, Mood::Wary, Mood::Angry];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Item {
    pub(crate) kind: u8,
    pub(crate) charge: f32,
}

/// A list within a list, and behind it a rotation, whose unused words are no rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Joint {
    pub(crate) marks: List<u8, 2>,
    pub(crate) turn: [f32; 4],
}

/// One field of every kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Zoo {
    pub(crate) flags: u32,
    pub(crate) health: i32,
    /// Its range has one value, so its word has no width.
    pub(crate) edition: u8,
    pub(crate) alive: bool,
    pub(crate) mood: Mood,
    pub(crate) position: [f32; 3],
    pub(crate) velocity: [f32; 3],
    pub(crate) speed: f32,
    pub(crate) charge: f32,
    pub(crate) yaw: f32,
    pub(crate) heading: f32,
    pub(crate) normal: [f32; 3],
    pub(crate) view: [f32; 3],
    pub(crate) gaze: [f32; 3],
    pub(crate) rotation: [f32; 4],
    pub(crate) target: Option<EntityId>,
    pub(crate) name: Text<10>,
    pub(crate) items: List<Item, 3>,
    pub(crate) joints: List<Joint, 2>,
}

impl Networked for Zoo {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("flags", &mut self.flags, 19);
        f.int("health", &mut self.health, -10..=100);
        f.int("edition", &mut self.edition, 3..=3);
        f.bool("alive", &mut self.alive);
        f.choice("mood", &mut self.mood, MOODS);
        f.group("position", |f| {
            for (axis, value) in ["x", "y", "z"].into_iter().zip(&mut self.position) {
                f.exact(axis, value).shown(-100.0..=100.0, 0.01);
            }
        });
        f.exacts("velocity", &mut self.velocity).shown_each(-20.0..=20.0, 0.25);
        f.float("speed", &mut self.speed, 5, 10);
        f.ranged("charge", &mut self.charge, 0.0..=1.0, 0.125);
        f.exact("yaw", &mut self.yaw).shown_as(Angle::new(9));
        f.angle("heading", &mut self.heading, 11);
        f.direction("normal", &mut self.normal, 5);
        f.direction("view", &mut self.view, 12).shown_as(Octahedral::new(8));
        f.octahedral("gaze", &mut self.gaze, 7);
        f.quaternion("rotation", &mut self.rotation, 9);
        f.entity("target", &mut self.target);
        f.text("name", &mut self.name);
        f.list("items", &mut self.items, |f, item| {
            f.int("kind", &mut item.kind, 0..=12);
            f.ranged("charge", &mut item.charge, 0.0..=1.0, 0.125);
        });
        f.list("joints", &mut self.joints, |f, joint| {
            f.list("marks", &mut joint.marks, |f, mark| {
                f.int("mark", mark, 0..=5);
            });
            f.quaternion("turn", &mut joint.turn, 4);
        });
    }
}
