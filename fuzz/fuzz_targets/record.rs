//! Any bytes as a record against any other record: no panic, and one encoding for each record.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};
use sametick::record::ROW_WORDS;
use sametick::{Layout, Precision, delta};
use values::Everything;

fuzz_target!(|input: (bool, Vec<u8>, Vec<u8>)| {
    let (shown, first, second) = input;
    let layout = Layout::of::<Everything>(if shown { Precision::Shown } else { Precision::State });
    let mut base = layout.initial().to_vec();
    for bytes in [first, second] {
        let mut words = vec![0; layout.len()];
        let mut reader = BitReader::new(&bytes);
        delta::read(&mut reader, &layout, &base, &mut words);
        if reader.finish().is_err() {
            return;
        }
        let mut writer = BitWriter::growing(1 << 16);
        delta::write(&mut writer, &layout, &base, &words);
        assert_eq!(writer.finish(), Ok(&bytes[..]));
        // Whatever was admitted is a value, and can be gathered.
        let mut row = [0; ROW_WORDS];
        layout.gather(&mut layout.value::<Everything>(&words), &mut row);
        base = words;
    }
});
