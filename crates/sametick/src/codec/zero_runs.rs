//! The paper's last stage: runs of zero words become a zero word and a count.
//!
//! A message is taken a few bits at a time. A word that is not zero stays; a run of up to 2ⁿ zero
//! words of n bits becomes one zero word and the run's length less one. A measured choice: it pays
//! only where deltas leave long zeros, so it is sent only where it made the message shorter.

use crate::core::bits::{BitReader, BitWriter, Malformed};
use std::ops::RangeInclusive;

/// The paper's word length, which it found best.
pub const PAPER_WORD_BITS: u32 = 3;

/// The word lengths that can be chosen.
pub const WORD_BITS: RangeInclusive<u32> = 2..=8;

/// Writes `message` with its zero runs shortened, in words of `word_bits`.
pub fn compress(message: &[u8], word_bits: u32, compressed: &mut BitWriter) {
    assert!(WORD_BITS.contains(&word_bits), "zero runs have words of 2 to 8 bits");
    let mut reader = BitReader::new(message);
    let run_max = 1 << word_bits;
    let mut run = 0;
    while reader.bits_left() > 0 {
        // The last word may hang over the end; there it is filled with zeros.
        let width = reader.bits_left().min(word_bits as usize) as u32;
        let word = reader.read(width);
        if run > 0 && (word != 0 || run == run_max) {
            write_run(compressed, run, word_bits);
            run = 0;
        }
        if word == 0 {
            run += 1;
        } else {
            compressed.write(word, word_bits);
        }
    }
    if run > 0 {
        write_run(compressed, run, word_bits);
    }
}

fn write_run(compressed: &mut BitWriter, run: u64, word_bits: u32) {
    compressed.write(0, word_bits);
    compressed.write(run - 1, word_bits);
}

/// Reads back a message, at most as long as the limit of `message`, which starts empty.
///
/// The padding of the last compressed byte may read as one more run of zeros, but never as a whole
/// byte of them: the message is what whole bytes there are.
pub fn expand(compressed: &[u8], word_bits: u32, message: &mut BitWriter) -> Result<(), Malformed> {
    assert!(WORD_BITS.contains(&word_bits), "zero runs have words of 2 to 8 bits");
    assert!(message.bits_written() == 0, "zero runs expand into an empty message");
    let mut reader = BitReader::new(compressed);
    let mut whole = Whole { message, pending: 0, pending_bits: 0 };
    while reader.bits_left() >= word_bits as usize {
        let word = reader.read(word_bits);
        let is_run = word == 0 && reader.bits_left() >= word_bits as usize;
        let run = if is_run { reader.read(word_bits) + 1 } else { u64::from(word != 0) };
        for _ in 0..run {
            whole.push(word, word_bits);
        }
        if whole.message.overflowed() {
            return Err(Malformed);
        }
    }
    // One message has one encoding: what we would not have written we do not take.
    let mut again = BitWriter::fixed(compressed.len());
    compress(message.finish().map_err(|_| Malformed)?, word_bits, &mut again);
    if again.finish() == Ok(compressed) { Ok(()) } else { Err(Malformed) }
}

/// Writes a whole message behind the bit that says whether its zero runs are shortened: they are, with
/// the paper's word length, if there is a `scratch` to try it in and that made the message shorter.
///
/// ```
/// use sametick::bits::{BitReader, BitWriter};
/// use sametick::codec::zero_runs;
///
/// let mut scratch = BitWriter::growing(1200);
/// let mut bits = BitWriter::fixed(1200);
/// zero_runs::write_message(&mut bits, &[0; 100], Some(&mut scratch));
/// let sent = bits.finish()?;
/// assert_eq!(sent.len(), 27);
/// assert_eq!(zero_runs::read_message(&mut BitReader::new(sent), &mut scratch)?, [0; 100]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_message(bits: &mut BitWriter, message: &[u8], scratch: Option<&mut BitWriter>) {
    let shorter = scratch.and_then(|scratch| {
        scratch.clear();
        compress(message, PAPER_WORD_BITS, scratch);
        scratch.finish().ok().filter(|shorter| shorter.len() < message.len())
    });
    bits.write_bool(shorter.is_some());
    bits.align();
    bits.write_bytes(shorter.unwrap_or(message));
}

/// Reads the rest of the bits as a message that [`write_message`] wrote, at most as long as the limit
/// of `scratch`, which may be lent back with it.
pub fn read_message<'a, 'b: 'a>(
    bits: &mut BitReader<'b>,
    scratch: &'a mut BitWriter,
) -> Result<&'a [u8], Malformed> {
    let is_shortened = bits.read_bool();
    bits.align();
    let sent = bits.rest();
    if bits.failed() {
        return Err(Malformed);
    }
    if !is_shortened {
        return Ok(sent);
    }
    scratch.clear();
    expand(sent, PAPER_WORD_BITS, scratch)?;
    let message = scratch.finish().map_err(|_| Malformed)?;
    // What did not become shorter is not sent so.
    if sent.len() < message.len() { Ok(message) } else { Err(Malformed) }
}

/// Passes on whole bytes and holds back what is left of the last.
struct Whole<'a> {
    message: &'a mut BitWriter,
    pending: u64,
    pending_bits: u32,
}

impl Whole<'_> {
    fn push(&mut self, word: u64, word_bits: u32) {
        self.pending |= word << self.pending_bits;
        self.pending_bits += word_bits;
        if self.pending_bits >= 8 {
            self.message.write(self.pending & 0xff, 8);
            self.pending >>= 8;
            self.pending_bits -= 8;
        }
    }
}
