//! Any bytes as records in sequence, and any sequence damaged: no panic, and one encoding for each.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};
use sametick::delta::{self, SEQUENCE_RECORDS_MAX};
use values::{LAYOUTS, Purse, any_record, damage, through_value};

fuzz_target!(|input: &[u8]| {
    let mut purse = Purse(input);
    let kind = usize::from(purse.byte() % 3);
    let mut records: Vec<Vec<u32>> = Vec::new();
    for _ in 0..purse.byte() % 6 {
        let times = 1 + usize::from(purse.byte() % 16);
        records.extend(vec![any_record(kind, &mut purse); times]);
    }
    records.truncate(SEQUENCE_RECORDS_MAX);
    let mut message = written(kind, &records);
    assert_eq!(read(kind, &message), Some(records));
    damage(&mut message, purse.bytes());
    check(kind, &message);
    check(kind, purse.rest());
});

fn check(kind: usize, message: &[u8]) {
    let Some(mut records) = read(kind, message) else { return };
    assert_eq!(written(kind, &records), message);
    records.dedup();
    for words in records {
        assert_eq!(through_value(kind, &words), words);
    }
}

fn written(kind: usize, records: &[Vec<u32>]) -> Vec<u8> {
    let mut writer = BitWriter::growing(1 << 20);
    delta::write_sequence(&mut writer, &LAYOUTS[kind], records.iter().map(Vec::as_slice));
    writer.finish().expect("it fits").to_vec()
}

fn read(kind: usize, message: &[u8]) -> Option<Vec<Vec<u32>>> {
    let mut reader = BitReader::new(message);
    let mut records = Vec::new();
    let keep = |words: &[u32]| records.push(words.to_vec());
    delta::read_sequence(&mut reader, &LAYOUTS[kind], keep);
    reader.finish().ok().map(|()| records)
}
