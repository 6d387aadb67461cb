//! Arbitrary values with a field of every kind.

mod zoo;

use proptest::prelude::*;
use sametick::{EntityId, List, Text};
pub(crate) use zoo::{Item, Zoo};
use zoo::{Joint, MOODS};

/// Any zoo, settled or not.
pub(crate) fn zoo() -> impl Strategy<Value = Zoo> {
    let finite = || prop_oneof![Just(0.0), Just(-0.0), -200f32..200.0, -1e30f32..1e30];
    let three = || prop::array::uniform3(-1f32..1.0);
    let numbers = (any::<u32>(), any::<i32>(), any::<bool>(), 0usize..3);
    let floats = (prop::array::uniform3(finite()), finite(), finite(), finite(), finite());
    let turns = (three(), three(), three(), prop::array::uniform4(-1f32..1.0));
    let rest = (any::<(u16, u16)>(), any::<String>(), items(), joints());
    (numbers, floats, turns, rest).prop_map(|(numbers, floats, turns, rest)| Zoo {
        flags: numbers.0,
        health: numbers.1,
        edition: 3,
        alive: numbers.2,
        mood: MOODS[numbers.3],
        position: floats.0,
        velocity: floats.0.map(|axis| axis / 4.0),
        speed: floats.1,
        charge: floats.2,
        yaw: floats.3,
        heading: floats.4,
        normal: turns.0,
        view: turns.1,
        gaze: turns.2,
        rotation: turns.3,
        target: EntityId::new(usize::from(rest.0.0), u32::from(rest.0.1)),
        name: Text::cut(&rest.1),
        items: rest.2,
        joints: rest.3,
    })
}

fn items() -> impl Strategy<Value = List<Item, 3>> {
    let item = (any::<u8>(), 0f32..1.0).prop_map(|(kind, charge)| Item { kind, charge });
    prop::collection::vec(item, 0..4).prop_map(List::from_iter)
}

fn joints() -> impl Strategy<Value = List<Joint, 2>> {
    let marks = prop::collection::vec(any::<u8>(), 0..3).prop_map(List::from_iter);
    let joint = (marks, prop::array::uniform4(-1f32..1.0));
    let joint = joint.prop_map(|(marks, turn)| Joint { marks, turn });
    prop::collection::vec(joint, 0..3).prop_map(List::from_iter)
}
