//! Any bytes as a record against any other, and any record damaged: no panic, one encoding for each
//! record, and each that is read is what a value has.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};
use sametick::delta;
use values::{LAYOUTS, Purse, any_record, damage, through_value};

fuzz_target!(|input: &[u8]| {
    let mut purse = Purse(input);
    let kind = usize::from(purse.byte() % 3);
    let base = any_record(kind, &mut purse);
    let now = any_record(kind, &mut purse);
    let mut message = written(kind, &base, &now);
    assert_eq!(read(kind, &base, &message), Some(now));
    damage(&mut message, purse.bytes());
    check(kind, &base, &message);
    check(kind, &base, purse.rest());
});

fn check(kind: usize, base: &[u32], message: &[u8]) {
    let Some(words) = read(kind, base, message) else { return };
    assert_eq!(written(kind, base, &words), message);
    assert_eq!(through_value(kind, &words), words);
}

fn written(kind: usize, base: &[u32], words: &[u32]) -> Vec<u8> {
    let mut writer = BitWriter::growing(1 << 16);
    delta::write(&mut writer, &LAYOUTS[kind], base, words);
    writer.finish().expect("it fits").to_vec()
}

fn read(kind: usize, base: &[u32], message: &[u8]) -> Option<Vec<u32>> {
    let mut words = vec![0; base.len()];
    let mut reader = BitReader::new(message);
    delta::read(&mut reader, &LAYOUTS[kind], base, &mut words);
    reader.finish().ok().map(|()| words)
}
