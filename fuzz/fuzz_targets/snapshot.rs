//! Any bytes as a snapshot: no panic, the base is left alone, and one encoding for each snapshot.
#![no_main]

mod values;

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::plain;
use sametick::{Layout, Precision, Table};
use values::Everything;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (first, second) = input;
    let layouts =
        [Precision::State, Precision::Shown, Precision::State].map(Layout::of::<Everything>);
    let mut base = Table::default();
    for bytes in [first, second] {
        let before = base.hash(&layouts);
        let mut now = Table::default();
        let mut reader = BitReader::new(&bytes);
        plain::read(&mut reader, &layouts, &base, &mut now);
        assert_eq!(base.hash(&layouts), before);
        if reader.finish().is_err() {
            return;
        }
        let mut writer = BitWriter::growing(1 << 20);
        plain::write(&mut writer, &layouts, &base, &now);
        assert_eq!(writer.finish(), Ok(&bytes[..]));
        base = now;
    }
});
