//! A client that hears a server's messages, damaged, lost, doubled and made up: no panic, and its
//! worlds stay such that they can be kept.
#![no_main]

mod fair;
mod script;

use fair::{Changed, Entity, Middle};
use libfuzzer_sys::fuzz_target;
use sametick::{Layouts, World};
use script::Script;

const OPERATIONS_MAX: usize = 50;

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut middle = Middle::new(script.byte());
    assert!(middle.tap.client.me().is_some(), "the session has begun");
    for _ in 0..OPERATIONS_MAX {
        if script.is_over() {
            break;
        }
        middle.operate(Changed::Down, &mut script);
    }
    let layouts = Layouts::of::<Entity>();
    for world in [middle.tap.client.predicted(), middle.tap.client.snapshot()].into_iter().flatten()
    {
        let loaded = World::<Entity>::load(&world.save(&layouts), &layouts)
            .expect("what was saved is loaded");
        assert_eq!(loaded.hash(&layouts), world.hash(&layouts));
    }
    assert_eq!(middle.tap.server.malformed(), 0, "whatever a client hears, it speaks properly");
});
