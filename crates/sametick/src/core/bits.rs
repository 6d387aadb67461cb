//! Packs integers of 1 to 64 bits into bytes and reads them back. Knows nothing of values.
//!
//! Bits fill each byte from its lowest bit upwards, an integer's lowest bit first. The writer trusts
//! its caller and asserts; the reader trusts nobody. Neither returns a result for each field: an
//! overflow or an over-read is remembered, and asked for once, when the message is whole.
//!
//! ```
//! use sametick::bits::{BitReader, BitWriter};
//!
//! let mut writer = BitWriter::fixed(16);
//! writer.write(5, 3);
//! writer.write_bool(true);
//! let message = writer.finish().unwrap();
//!
//! let mut reader = BitReader::new(message);
//! assert_eq!((reader.read(3), reader.read_bool()), (5, true));
//! assert!(reader.finish().is_ok());
//! ```

use std::fmt;

/// Packs integers into a buffer that has a limit; what no longer fits is dropped and remembered.
#[derive(Clone, Debug)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// The bits not yet in `bytes`, fewer than 64.
    pending: u64,
    pending_bits: u32,
    overflowed: bool,
}

/// The message grew past its writer's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The limit that was passed.
    pub bytes_max: usize,
}

/// The message is damaged: it ended early, went on too long, or held what no writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl BitWriter {
    /// A buffer allocated once, now: for messages that must fit a datagram.
    pub fn fixed(bytes_max: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes_max), ..Self::growing(bytes_max) }
    }

    /// A buffer that grows as needed, up to `bytes_max`.
    pub fn growing(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max, pending: 0, pending_bits: 0, overflowed: false }
    }

    /// Writes the low `bits` (1 to 64) of `value`, which must have no others.
    #[inline]
    pub fn write(&mut self, value: u64, bits: u32) {
        assert!(
            bits.wrapping_sub(1) < 64 && value >> (bits - 1) <= 1,
            "a value is wider than its bits"
        );
        self.pending |= value << self.pending_bits;
        let filled = self.pending_bits + bits;
        if filled < 64 {
            self.pending_bits = filled;
        } else {
            self.flush();
            // Shifted in two steps: with nothing pending before, all 64 bits went out.
            self.pending = value >> (63 - self.pending_bits) >> 1;
            self.pending_bits = filled - 64;
        }
    }

    /// Writes the words that `mask` picks, each as wide as its place in `widths` says (1 to 32).
    #[inline]
    pub(crate) fn write_picked(&mut self, mut mask: u64, words: &[u32], widths: &[u8; 64]) {
        let mut wider = 0;
        let (mut pending, mut filled) = (self.pending, self.pending_bits);
        while mask != 0 {
            let index = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let (word, width) = (u64::from(words[index]), u32::from(widths[index]));
            wider |= word >> width;
            pending |= word << filled;
            filled += width;
            if filled >= 64 {
                self.pending = pending;
                self.flush();
                filled -= 64;
                pending = word >> (width - filled);
            }
        }
        (self.pending, self.pending_bits) = (pending, filled);
        assert!(wider == 0, "a word is wider than its bits");
    }

    /// Writes one bit.
    #[inline]
    pub fn write_bool(&mut self, value: bool) {
        self.write(u64::from(value), 1);
    }

    /// Writes whole bytes, at whatever bit the message stands.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let whole = self.pending_bits as usize / 8;
        let fits = self.bytes.len() + whole + bytes.len() <= self.bytes_max;
        if fits && self.pending_bits.is_multiple_of(8) {
            // On a byte already: one copy.
            self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..whole]);
            (self.pending, self.pending_bits) = (0, 0);
            return self.bytes.extend_from_slice(bytes);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write(u64::from_le_bytes(*word), 64);
        }
        for byte in rest {
            self.write(u64::from(*byte), 8);
        }
    }

    /// Writes the `bits` that begin at the bit `start` of `words`. There must be a word before the one they
    /// begin in, and one after the last that they fill.
    #[inline]
    pub(crate) fn write_range(&mut self, words: &[u64], start: usize, bits: usize) {
        // Those pending come first: as if the range began that much earlier, all of it is moved by one
        // distance, which the compiler does for several words at once.
        let before = self.pending_bits as usize;
        let (from, length) = (start - before, before + bits);
        let (at, shift, whole) = (from / 64, from % 64, length / 64);
        // Shifted in two steps: on a word already, nothing of the next is needed.
        let moved = |low: u64, high: u64| low >> shift | high << 1 << (63 - shift);
        let end = self.bytes.len();
        if end + 8 * whole > self.bytes_max {
            self.overflowed = true;
            return;
        }
        self.bytes.resize(end + 8 * whole, 0);
        let places = self.bytes[end..].as_chunks_mut::<8>().0;
        let pairs = words[at..][..whole].iter().zip(&words[at + 1..][..whole]);
        for (place, (low, high)) in places.iter_mut().zip(pairs) {
            *place = moved(*low, *high).to_le_bytes();
        }
        let is_pending = (1 << before) - 1;
        let last = match words[at + whole..] {
            [low, high, ..] => moved(low, high),
            [low] => moved(low, 0),
            [] => 0,
        };
        let last = last & ((1 << (length % 64)) - 1);
        match places.first_mut() {
            Some(first) => {
                let moved = u64::from_le_bytes(*first);
                *first = (moved & !is_pending | self.pending).to_le_bytes();
                self.pending = last;
            }
            None => self.pending |= last & !is_pending,
        }
        self.pending_bits = (length % 64) as u32;
    }

    /// Fills the current byte with zero bits, so that what follows starts on a byte.
    pub fn align(&mut self) {
        let padding = self.pending_bits.wrapping_neg() % 8;
        if padding > 0 {
            self.write(0, padding);
        }
    }

    /// How many bits were asked for so far, those that no longer fitted not counted.
    pub fn bits_written(&self) -> usize {
        self.bytes.len() * 8 + self.pending_bits as usize
    }

    /// Whether the limit was passed: the message is then not whole, and must not be sent.
    pub fn overflowed(&self) -> bool {
        self.overflowed || self.bits_written().div_ceil(8) > self.bytes_max
    }

    /// Aligns and lends the message. More may be written after it.
    pub fn finish(&mut self) -> Result<&[u8], Overflow> {
        self.align();
        if self.overflowed() {
            return Err(Overflow { bytes_max: self.bytes_max });
        }
        let whole = self.pending_bits as usize / 8;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..whole]);
        (self.pending, self.pending_bits) = (0, 0);
        Ok(&self.bytes)
    }

    /// What was written as words of 64 bits, the whole ones and the last. Only of a writer that was never
    /// asked to stand on a byte.
    #[inline]
    pub(crate) fn words(&self) -> (&[[u8; 8]], u64) {
        let (words, rest) = self.bytes.as_chunks();
        assert!(rest.is_empty() && !self.overflowed, "whole words and no more than fit");
        (words, self.pending)
    }

    /// Forgets the message and keeps the buffer, so that a steady stream allocates nothing.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.pending, self.pending_bits, self.overflowed) = (0, 0, false);
    }

    /// The heap it holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    #[inline]
    fn flush(&mut self) {
        if self.bytes.len() + 8 <= self.bytes_max {
            self.bytes.extend_from_slice(&self.pending.to_le_bytes());
        } else {
            self.overflowed = true;
        }
    }
}

/// Reads integers back; after the first error every read gives zero.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
    failed: bool,
}

impl<'a> BitReader<'a> {
    /// Starts at the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, failed: false }
    }

    /// Reads `bits` (1 to 64) as an integer, or zero once anything has failed.
    #[inline]
    pub fn read(&mut self, bits: u32) -> u64 {
        assert!(bits.wrapping_sub(1) < 64, "a read is 1 to 64 bits wide");
        let (byte, shift) = (self.position / 8, self.position as u32 % 8);
        // Asked for as a range of eight, its end is all that is compared.
        let value = match self.bytes.get(byte..byte + 8).and_then(|eight| eight.first_chunk::<8>())
        {
            Some(chunk) if shift + bits <= 64 => u64::from_le_bytes(*chunk) >> shift,
            _ => return self.read_near_end(bits),
        };
        self.position += bits as usize;
        value & (u64::MAX >> (64 - bits))
    }

    /// Reads one bit.
    #[inline]
    pub fn read_bool(&mut self) -> bool {
        self.read(1) != 0
    }

    /// Fills `bytes`, from whatever bit the message stands at.
    pub fn read_bytes(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = self.read(64).to_le_bytes();
        }
        for byte in rest {
            *byte = self.read(8) as u8;
        }
    }

    /// Passes over so many bits.
    pub fn skip(&mut self, bits: usize) {
        if bits <= self.bits_left() {
            self.position += bits;
        } else {
            self.fail();
        }
    }

    /// Lends all that is left, which must start on a byte.
    pub fn rest(&mut self) -> &'a [u8] {
        assert!(self.position.is_multiple_of(8), "what is left starts within a byte");
        let rest = &self.bytes[self.position / 8..];
        self.position = self.bytes.len() * 8;
        rest
    }

    /// Skips to the next byte. The bits between must be zero, as the writer left them.
    pub fn align(&mut self) {
        let padding = self.position.wrapping_neg() as u32 % 8;
        if padding > 0 && self.read(padding) != 0 {
            self.fail();
        }
    }

    /// How many bits are left to read: none after an error.
    pub fn bits_left(&self) -> usize {
        self.bytes.len() * 8 - self.position
    }

    /// Marks the message as damaged; for callers that read a value nobody writes.
    #[cold]
    pub fn fail(&mut self) {
        self.failed = true;
        self.position = self.bytes.len() * 8;
    }

    /// Whether any read so far went wrong.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Says whether all went well and nothing but the padding of the last byte is left.
    pub fn finish(mut self) -> Result<(), Malformed> {
        self.align();
        if self.failed || self.bits_left() > 0 { Err(Malformed) } else { Ok(()) }
    }

    /// The last bytes, and integers that straddle nine.
    #[cold]
    #[inline(never)]
    fn read_near_end(&mut self, bits: u32) -> u64 {
        if self.bits_left() < bits as usize {
            self.fail();
            return 0;
        }
        let (byte, shift) = (self.position / 8, self.position % 8);
        let mut chunk = [0; 16];
        let rest = &self.bytes[byte..];
        let length = rest.len().min(chunk.len());
        chunk[..length].copy_from_slice(&rest[..length]);
        self.position += bits as usize;
        (u128::from_le_bytes(chunk) >> shift) as u64 & (u64::MAX >> (64 - bits))
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the message is longer than its limit of {} bytes", self.bytes_max)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message is damaged")
    }
}

impl std::error::Error for Overflow {}
impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any run of integers, each with a width that holds it.
    fn integers() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let integer = (any::<u64>(), 1u32..=64).prop_map(|(v, bits)| (v >> (64 - bits), bits));
        prop::collection::vec(integer, 0..200)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(integers in integers()) {
            let mut writer = BitWriter::growing(4096);
            for &(value, bits) in &integers {
                writer.write(value, bits);
            }
            let bits_written: usize = integers.iter().map(|&(_, bits)| bits as usize).sum();
            prop_assert_eq!(writer.bits_written(), bits_written);
            let message = writer.finish().unwrap();
            prop_assert_eq!(message.len(), bits_written.div_ceil(8));
            let mut reader = BitReader::new(message);
            for &(value, bits) in &integers {
                prop_assert_eq!(reader.read(bits), value);
            }
            prop_assert!(reader.finish().is_ok());
        }

        #[test]
        fn bytes_are_written_at_any_bit(lead in 0u32..64, bytes: Vec<u8>) {
            let mut writer = BitWriter::growing(4096);
            if lead > 0 {
                writer.write(0, lead);
            }
            writer.write_bytes(&bytes);
            writer.align();
            writer.write_bytes(&bytes);
            let message = writer.finish().unwrap().to_vec();
            let mut reader = BitReader::new(&message);
            if lead > 0 {
                reader.read(lead);
            }
            let mut skipping = reader.clone();
            skipping.skip(8 * bytes.len());
            skipping.align();
            prop_assert_eq!(skipping.rest(), &bytes[..]);
            prop_assert!(skipping.finish().is_ok());
            let mut back = vec![0; bytes.len()];
            reader.read_bytes(&mut back);
            prop_assert_eq!(&back, &bytes);
            reader.align();
            reader.read_bytes(&mut back);
            prop_assert_eq!(&back, &bytes);
            prop_assert!(reader.finish().is_ok());
        }

        #[test]
        fn the_limit_is_exact_and_sticky(bytes_max in 0usize..40, integers in integers()) {
            let mut fixed = BitWriter::fixed(bytes_max);
            let mut growing = BitWriter::growing(bytes_max);
            for &(value, bits) in &integers {
                fixed.write(value, bits);
                growing.write(value, bits);
            }
            let bits: usize = integers.iter().map(|&(_, bits)| bits as usize).sum();
            let fits = bits.div_ceil(8) <= bytes_max;
            prop_assert_eq!(fixed.overflowed(), !fits);
            prop_assert_eq!(fixed.finish().is_ok(), fits);
            prop_assert_eq!(fixed.finish(), growing.finish());
        }

        #[test]
        fn reading_anything_never_panics_and_errors_stick(
            bytes: Vec<u8>,
            widths in prop::collection::vec(1u32..=64, 0..100),
        ) {
            let mut reader = BitReader::new(&bytes);
            let mut left = bytes.len() * 8;
            let mut failed = false;
            for bits in widths {
                let value = reader.read(bits);
                failed |= bits as usize > left;
                left = if failed { 0 } else { left - bits as usize };
                prop_assert_eq!(reader.failed(), failed);
                prop_assert_eq!(reader.bits_left(), left);
                prop_assert!(!failed || value == 0);
            }
        }
    }

    #[test]
    fn every_message_of_three_bytes_has_one_encoding() {
        for message in 0..1u32 << 24 {
            let bytes = &message.to_le_bytes()[..3];
            let mut reader = BitReader::new(bytes);
            let values = [reader.read(5), reader.read(9), reader.read(7)];
            let mut writer = BitWriter::fixed(3);
            for (value, bits) in values.into_iter().zip([5, 9, 7]) {
                writer.write(value, bits);
            }
            assert_eq!(reader.finish().is_ok(), writer.finish() == Ok(bytes));
        }
    }

    #[test]
    fn a_cleared_writer_starts_afresh() {
        let mut writer = BitWriter::fixed(1);
        writer.write(u64::MAX, 64);
        assert_eq!(writer.finish(), Err(Overflow { bytes_max: 1 }));
        writer.clear();
        writer.write(3, 2);
        assert_eq!(writer.finish(), Ok(&[3][..]));
    }

    #[test]
    #[should_panic(expected = "wider than its bits")]
    fn a_value_wider_than_its_bits_is_an_assertion() {
        BitWriter::fixed(8).write(4, 2);
    }
}
