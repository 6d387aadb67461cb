//! A herd's snapshots, written and read with the tables in the tree, and the hash of all messages: the
//! same natively, as released, and in wasm. `cargo xtask trace` compares them.

#[path = "../tests/common/herd.rs"]
mod herd;

use sametick::Table;
use sametick::codec::compact::{Compact, Tables};
use sametick::record::mix;

const TABLES: &[u8] = include_bytes!("../tests/golden/herd.tables");

fn main() {
    let layouts = herd::layouts();
    let tables = [Tables::from_bytes(TABLES).expect("they are whole"), Tables::built_in(&layouts)];
    let (mut hash, mut back) = (0, Table::default());
    for tables in tables {
        let mut codec = Compact::new(tables);
        herd::play(9, 400, 2, |lineage, now| {
            let message = codec.write(&layouts, lineage, now).to_vec();
            hash = message.iter().fold(hash, |hash, byte| mix(hash, u32::from(*byte)));
            codec.read(&layouts, lineage, &message, &mut back).expect("it was written so");
            assert!(back.looks_like(now, &layouts), "a snapshot came back as another");
        });
    }
    let text = format!("sametick trace {hash:016x}");
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}
