//! Any bytes as zero runs: no panic, never longer than allowed, and one encoding for each message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::bits::BitWriter;
use sametick::codec::zero_runs;

const MESSAGE_BYTES_MAX: usize = 1200;

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (word_bits, bytes) = (2 + u32::from(input.0 % 7), input.1);
    let mut message = BitWriter::growing(MESSAGE_BYTES_MAX);
    if zero_runs::expand(&bytes, word_bits, &mut message).is_ok() {
        let mut again = BitWriter::growing(bytes.len());
        zero_runs::compress(message.finish().expect("within the limit"), word_bits, &mut again);
        assert_eq!(again.finish(), Ok(&bytes[..]));
    }
    let mut compressed = BitWriter::growing(2 * bytes.len() + 1);
    zero_runs::compress(&bytes, word_bits, &mut compressed);
    let mut back = BitWriter::growing(bytes.len());
    zero_runs::expand(compressed.finish().expect("at most twice"), word_bits, &mut back)
        .expect("our own runs are read");
    assert_eq!(back.finish(), Ok(&bytes[..]));
});
