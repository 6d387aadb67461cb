//! A server that hears a client's messages, damaged, lost, doubled and made up: no panic, and its world
//! goes on.
#![no_main]

mod fair;
mod script;

use fair::{Changed, Entity, Middle};
use libfuzzer_sys::fuzz_target;
use sametick::{Layouts, PlayerId, World};
use script::Script;

const OPERATIONS_MAX: usize = 50;
/// What is kept of one player, whatever it says.
const MEMORY_BYTES_MAX: usize = 256 * 1024;

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut middle = Middle::new(script.byte());
    for _ in 0..OPERATIONS_MAX {
        if script.is_over() {
            break;
        }
        middle.operate(Changed::Up, &mut script);
        assert!(middle.tap.server.memory_bytes(PlayerId(0)) <= MEMORY_BYTES_MAX);
    }
    let (layouts, world) = (Layouts::of::<Entity>(), middle.tap.server.world());
    let loaded =
        World::<Entity>::load(&world.save(&layouts), &layouts).expect("what was saved is loaded");
    assert_eq!(loaded.hash(&layouts), world.hash(&layouts));
    assert_eq!(middle.tap.client.malformed(), 0, "whatever a server hears, it speaks properly");
});
