//! Any bytes as a saved world, and any saved world damaged: no panic, and one encoding for each world.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::{Layouts, PlayerId, World};
use std::sync::LazyLock;
use values::{Crowd, LAYOUTS, Purse, Zoo, any_record, damage};

sametick::entities! { pub(crate) enum Entity { Zoo, Crowd } }

static ALL: LazyLock<Layouts> = LazyLock::new(Layouts::of::<Entity>);

fuzz_target!(|input: &[u8]| {
    let mut purse = Purse(input);
    let world = world(&mut purse);
    let mut saved = world.save(&ALL);
    let loaded = World::<Entity>::load(&saved, &ALL).expect("what was saved is loaded");
    assert_eq!(loaded.hash(&ALL), world.hash(&ALL));
    assert_eq!(loaded.differences(&world, &ALL), [""; 0]);
    damage(&mut saved, purse.bytes());
    check(&saved);
    check(purse.rest());
});

fn check(bytes: &[u8]) {
    if let Ok(mut world) = World::<Entity>::load(bytes, &ALL) {
        assert_eq!(world.save(&ALL), bytes);
        assert!(world.settle().is_ok(), "only what is finite is loaded");
        assert_eq!(world.save(&ALL), bytes, "and it is settled");
    }
}

/// Some come, some are somebody's, some go.
fn world(purse: &mut Purse<'_>) -> World<Entity> {
    let mut world = World::default();
    for _ in 0..purse.byte() % 16 {
        let deed = purse.byte();
        let kind = usize::from(deed & 1) * 2;
        let words = any_record(kind, purse);
        let entity = match kind {
            0 => Entity::from(LAYOUTS[0].value::<Zoo>(&words)),
            _ => Entity::from(LAYOUTS[2].value::<Crowd>(&words)),
        };
        if deed & 2 == 0 {
            world.spawn(entity);
        } else {
            world.spawn_owned(PlayerId(u16::from(deed)), entity);
        }
        let gone = world.entities().nth(usize::from(deed >> 4)).map(|(id, _)| id);
        if let Some(gone) = gone.filter(|_| deed & 12 == 12) {
            world.despawn(gone);
        }
    }
    world
}
