//! Any bytes as a compact snapshot: no panic, and whatever is read is written again as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::Table;
use sametick::codec::compact::{Compact, Lineage, Tables};
use std::cell::RefCell;

#[allow(dead_code)]
#[path = "../../crates/sametick/tests/common/herd.rs"]
mod herd;

const TABLES: &[u8] = include_bytes!("../../crates/sametick/tests/golden/herd.tables");

/// The codecs, and three snapshots that follow each other.
struct Known {
    codecs: [Compact; 2],
    past: Vec<Table>,
}

impl Known {
    fn new() -> Self {
        let mut past = Vec::new();
        herd::play(1, 3, 1, |_, now| past.push(now.clone()));
        let trained = Tables::from_bytes(TABLES).expect("the tables in the tree are whole");
        let codecs = [trained, Tables::built_in(&herd::layouts())].map(Compact::new);
        Self { codecs, past }
    }
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::new(Known::new());
}

fuzz_target!(|bytes: &[u8]| {
    KNOWN.with_borrow_mut(|Known { codecs, past }| {
        let layouts = herd::layouts();
        let lineage =
            Lineage { base: &past[2], before: Some(&past[1]), earlier: Some(&past[0]), spans: [1, 2, 3] };
        for codec in codecs {
            let mut now = Table::default();
            if codec.read(&layouts, &lineage, bytes, &mut now).is_ok() {
                assert_eq!(codec.write(&layouts, &lineage, &now), bytes);
            }
        }
    });
});
