//! Any bytes as zero runs: no panic, never longer than allowed, and one encoding for each message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::zero_runs;

const MESSAGE_BYTES_MAX: usize = 1200;

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    let word_bits = 2 + u32::from(first % 7);
    expand_and_compress(bytes, word_bits);
    compress_and_expand(bytes, word_bits);
    carry(bytes);
});

fn expand_and_compress(bytes: &[u8], word_bits: u32) {
    let mut message = BitWriter::growing(MESSAGE_BYTES_MAX);
    if zero_runs::expand(bytes, word_bits, &mut message).is_ok() {
        let mut again = BitWriter::growing(bytes.len());
        zero_runs::compress(message.finish().expect("within the limit"), word_bits, &mut again);
        assert_eq!(again.finish(), Ok(bytes));
    }
}

fn compress_and_expand(bytes: &[u8], word_bits: u32) {
    let mut compressed = BitWriter::growing(2 * bytes.len() + 1);
    zero_runs::compress(bytes, word_bits, &mut compressed);
    let mut back = BitWriter::growing(bytes.len());
    zero_runs::expand(compressed.finish().expect("at most twice"), word_bits, &mut back)
        .expect("our own runs are read");
    assert_eq!(back.finish(), Ok(bytes));
}

/// As a message that is carried with its flag, and as one that is to be carried so.
fn carry(bytes: &[u8]) {
    let [mut scratch, mut bits] = [2, 3].map(|times| BitWriter::growing(times * bytes.len() + 1));
    zero_runs::write_message(&mut bits, bytes, Some(&mut scratch));
    let sent = bits.finish().expect("never longer than it was");
    assert!(sent.len() <= bytes.len() + 1);
    let back = zero_runs::read_message(&mut BitReader::new(sent), &mut scratch);
    assert_eq!(back, Ok(bytes));
    let mut scratch = BitWriter::growing(MESSAGE_BYTES_MAX);
    if let Ok(message) = zero_runs::read_message(&mut BitReader::new(bytes), &mut scratch) {
        let (mut tried, mut again) =
            (BitWriter::growing(MESSAGE_BYTES_MAX), BitWriter::growing(bytes.len()));
        let is_shortened = bytes[0] == 1;
        zero_runs::write_message(&mut again, message, is_shortened.then_some(&mut tried));
        assert_eq!(again.finish(), Ok(bytes));
    }
}
