//! Any bytes as codec tables, their sum made right: no panic, one file for each, and whatever is taken
//! for tables of a game codes its snapshots and reads them back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::Table;
use sametick::codec::compact::{Compact, Tables};
use sametick::record::mix;

#[allow(dead_code)]
#[path = "../../crates/sametick/tests/common/herd.rs"]
mod herd;

fuzz_target!(|bytes: &[u8]| {
    let _ = Tables::from_bytes(bytes);
    let mut file = bytes.to_vec();
    let words = bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    });
    let sum = words.fold(bytes.len() as u64, mix);
    file.extend(sum.to_le_bytes());
    let Ok(tables) = Tables::from_bytes(&file) else { return };
    assert_eq!(tables.to_bytes(), file);
    let layouts = herd::layouts();
    if tables.check(&layouts).is_err() {
        return;
    }
    let (mut codec, mut back) = (Compact::new(tables), Table::default());
    herd::play(2, 3, 1, |lineage, now| {
        let message = codec.write(&layouts, lineage, now).to_vec();
        codec.read(&layouts, lineage, &message, &mut back).expect("it was written so");
        assert!(back.looks_like(now, &layouts));
    });
});
