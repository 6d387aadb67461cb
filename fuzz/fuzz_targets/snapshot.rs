//! Any bytes as a snapshot against any base, and any snapshot damaged: no panic, the base is left
//! alone, and one encoding for each snapshot.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::Table;
use sametick::bits::BitReader;
use sametick::codec::plain;
use values::{LAYOUTS, Purse, change_table, damage, snapshot};

fuzz_target!(|input: &[u8]| {
    let mut purse = Purse(input);
    // Against nothing, against what some still know, against others in the same slots.
    let mut base = Table::default();
    change_table(&mut base, &mut purse);
    let mut now = if purse.byte() % 4 == 0 { Table::default() } else { base.clone() };
    change_table(&mut now, &mut purse);
    let mut message = snapshot(&base, &now);
    let back = read(&base, &message).expect("our own snapshot is read");
    assert!(back.looks_like(&now, &*LAYOUTS));
    damage(&mut message, purse.bytes());
    check(&base, &message);
    check(&base, purse.rest());
});

fn check(base: &Table, message: &[u8]) {
    let before = base.hash(&*LAYOUTS);
    let now = read(base, message);
    assert_eq!(base.hash(&*LAYOUTS), before);
    if let Some(now) = now {
        assert_eq!(snapshot(base, &now), message);
    }
}

fn read(base: &Table, message: &[u8]) -> Option<Table> {
    let (mut reader, mut now) = (BitReader::new(message), Table::default());
    plain::read(&mut reader, &*LAYOUTS, base, &mut now);
    reader.finish().ok().map(|()| now)
}
