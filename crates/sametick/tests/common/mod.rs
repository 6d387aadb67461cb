//! A value with a field of every kind, and arbitrary ones of it.

use proptest::prelude::*;
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

/// One field of every kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Zoo {
    pub(crate) flags: u32,
    pub(crate) health: i32,
    pub(crate) alive: bool,
    pub(crate) mood: Mood,
    pub(crate) position: [f32; 3],
    pub(crate) speed: f32,
    pub(crate) charge: f32,
    pub(crate) yaw: f32,
    pub(crate) normal: [f32; 3],
    pub(crate) view: [f32; 3],
    pub(crate) rotation: [f32; 4],
    pub(crate) target: Option<EntityId>,
    pub(crate) name: Text<10>,
    pub(crate) items: List<Item, 3>,
}

impl Networked for Zoo {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("flags", &mut self.flags, 19);
        f.int("health", &mut self.health, -10..=100);
        f.bool("alive", &mut self.alive);
        f.choice("mood", &mut self.mood, MOODS);
        f.group("position", |f| {
            for (axis, value) in ["x", "y", "z"].into_iter().zip(&mut self.position) {
                f.exact(axis, value).shown(-100.0..=100.0, 0.01);
            }
        });
        f.float("speed", &mut self.speed, 5, 10);
        f.ranged("charge", &mut self.charge, 0.0..=1.0, 0.125);
        f.exact("yaw", &mut self.yaw).shown_as(Angle::new(9));
        f.direction("normal", &mut self.normal, 5);
        f.direction("view", &mut self.view, 12).shown_as(Octahedral::new(8));
        f.quaternion("rotation", &mut self.rotation, 9);
        f.entity("target", &mut self.target);
        f.text("name", &mut self.name);
        f.list("items", &mut self.items, |f, item| {
            f.int("kind", &mut item.kind, 0..=12);
            f.ranged("charge", &mut item.charge, 0.0..=1.0, 0.125);
        });
    }
}

/// Any zoo, settled or not.
pub(crate) fn zoo() -> impl Strategy<Value = Zoo> {
    let finite = || prop_oneof![Just(0.0), Just(-0.0), -200f32..200.0, -1e30f32..1e30];
    let numbers = (any::<u32>(), any::<i32>(), any::<bool>(), 0usize..3);
    let floats = (prop::array::uniform3(finite()), finite(), finite(), finite());
    let turns = (
        prop::array::uniform3(-1f32..1.0),
        prop::array::uniform3(-1f32..1.0),
        prop::array::uniform4(-1f32..1.0),
    );
    let items = prop::collection::vec((any::<u8>(), 0f32..1.0), 0..4);
    let rest = (any::<(u16, u16)>(), any::<String>(), items);
    (numbers, floats, turns, rest).prop_map(|(numbers, floats, turns, rest)| {
        let mut list = List::default();
        for (kind, charge) in rest.2 {
            list.push(Item { kind, charge });
        }
        Zoo {
            flags: numbers.0,
            health: numbers.1,
            alive: numbers.2,
            mood: MOODS[numbers.3],
            position: floats.0,
            speed: floats.1,
            charge: floats.2,
            yaw: floats.3,
            normal: turns.0,
            view: turns.1,
            rotation: turns.2,
            target: EntityId::new(usize::from(rest.0.0), u32::from(rest.0.1)),
            name: Text::cut(&rest.1),
            items: list,
        }
    })
}
