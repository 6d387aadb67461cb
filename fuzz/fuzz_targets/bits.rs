//! Any bytes, read in any widths: no panic, and what was read would be written so.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};

fuzz_target!(|input: &[u8]| {
    // The first byte says how many widths there are; they come next.
    let Some((count, rest)) = input.split_first() else { return };
    let (widths, bytes) = rest.split_at(usize::from(*count).min(rest.len()));
    let mut reader = BitReader::new(bytes);
    let mut writer = BitWriter::growing(bytes.len());
    for width in widths {
        let bits = u32::from(width % 64) + 1;
        let value = reader.read(bits);
        if reader.failed() {
            return;
        }
        writer.write(value, bits);
    }
    if reader.finish().is_ok() {
        assert_eq!(writer.finish(), Ok(bytes));
    }
});
