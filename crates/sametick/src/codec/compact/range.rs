//! A binary range coder: decisions with given chances become bytes. Knows nothing of what they mean.
//!
//! It keeps an interval of 64 bits, gives out its first byte as soon as both ends agree on it, and ends
//! with that value of the interval which leaves most zero bytes behind: those are not sent, and the
//! reader reads zeros past the end. Every run of decisions has exactly one encoding.

use crate::core::bits::Malformed;

/// The chance of a decision is given in so many bits.
pub const CHANCE_BITS: u32 = 16;

/// The least and the greatest chance: no decision is ever impossible.
pub const CHANCE_MIN: u16 = 24;
/// See [`CHANCE_MIN`].
pub const CHANCE_MAX: u16 = u16::MAX - CHANCE_MIN;

/// The most bits that [`Encoder::raw`] takes at once.
pub const RAW_BITS_MAX: u32 = 16;

/// So many bytes can be read past the end before the message is surely damaged.
const PAST_END_MAX: usize = 16;

/// Shares are counted in units of so many bits, and are not narrower than this: what is left over is next to nothing.
const UNIT_BITS: u32 = 32;
const SHARE_MIN: u32 = 1 << 6;

/// The interval that both ends narrow in the same way.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: u64,
    high: u64,
}

impl Interval {
    const WHOLE: Self = Self { low: 0, high: u64::MAX };

    /// The last value that stands for true.
    #[inline(always)]
    fn middle(self, chance: u16) -> u64 {
        self.low + ((self.high - self.low) >> CHANCE_BITS) * u64::from(chance)
    }

    /// How wide a share of 2 to the power of `bits` equal ones is, in units of 2 to the power of [`UNIT_BITS`]; none if
    /// it is too narrow for that. So coarse, a reader finds its share with a short division.
    #[inline(always)]
    fn share(self, bits: u32) -> Option<u32> {
        let share = ((self.high - self.low) >> UNIT_BITS) as u32 >> bits;
        (share >= SHARE_MIN).then_some(share)
    }

    #[inline(always)]
    fn take_share(&mut self, share: u32, index: u32) {
        self.low += (u64::from(share) * u64::from(index)) << UNIT_BITS;
        self.high = self.low + ((u64::from(share) << UNIT_BITS) - 1);
    }

    /// The value in it that ends with most zero bytes.
    fn shortest(self) -> u64 {
        let cut = |bytes: u32| {
            let mask = u64::MAX.checked_shr(64 - 8 * bytes).unwrap_or(0);
            let value = self.low.checked_add(mask).map(|sum| sum & !mask);
            value.filter(|value| *value <= self.high)
        };
        if self.low == 0 { 0 } else { (0..8).rev().find_map(cut).unwrap_or(self.low) }
    }
}

/// Writes decisions.
///
/// ```
/// use sametick::codec::compact::range::{Decoder, Encoder};
///
/// let mut encoder = Encoder::default();
/// for decision in [true, true, false, true] {
///     encoder.bit(60_000, decision);
/// }
/// encoder.raw(9, 300);
/// let bytes = encoder.finish();
/// let mut decoder = Decoder::new(&bytes);
/// assert_eq!([(); 4].map(|()| decoder.bit(60_000)), [true, true, false, true]);
/// assert_eq!(decoder.raw(9), 300);
/// assert!(decoder.finish().is_ok());
/// ```
#[derive(Debug)]
pub struct Encoder {
    interval: Interval,
    bytes: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { interval: Interval::WHOLE, bytes: Vec::new() }
    }
}

impl Encoder {
    /// Begins a message in the memory of another, whose bytes are forgotten.
    pub fn reusing(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { interval: Interval::WHOLE, bytes }
    }

    /// Writes a decision that is true with `chance` of 65536.
    #[inline(always)]
    pub fn bit(&mut self, chance: u16, decision: bool) {
        let middle = self.interval.middle(chance);
        if decision {
            self.interval.high = middle;
        } else {
            self.interval.low = middle + 1;
        }
        self.give_out();
    }

    /// Writes the low `bits` of `value`, all values being as likely.
    #[inline(always)]
    pub fn raw(&mut self, bits: u32, value: u32) {
        debug_assert!(bits <= RAW_BITS_MAX && u64::from(value) >> bits == 0);
        if let Some(share) = self.interval.share(bits) {
            self.interval.take_share(share, value);
            self.give_out();
        } else {
            self.raw_singly(bits, value);
        }
    }

    /// The same where the interval is too narrow for all at once, which is rare.
    #[cold]
    fn raw_singly(&mut self, bits: u32, value: u32) {
        (0..bits).rev().for_each(|bit| self.bit(1 << 15, value >> bit & 1 != 0));
    }

    #[inline(always)]
    fn give_out(&mut self) {
        while (self.interval.low ^ self.interval.high) >> 56 == 0 {
            self.bytes.push((self.interval.high >> 56) as u8);
            self.interval.low <<= 8;
            self.interval.high = self.interval.high << 8 | 0xff;
        }
    }

    /// Puts a byte before the message, which is not zero; only at its start.
    pub(crate) fn prefix(&mut self, byte: u8) {
        debug_assert!(self.bytes.is_empty() && byte != 0);
        self.bytes.push(byte);
    }

    /// How many bytes were given out.
    #[inline(always)]
    pub(crate) fn bytes_written(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes the message has at most if it ends here.
    pub fn bytes_max(&self) -> usize {
        self.bytes.len() + size_of::<u64>()
    }

    /// The message.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(self.interval.shortest().to_be_bytes());
        let used = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.bytes.truncate(used);
        self.bytes
    }
}

/// Reads decisions. Past the end it reads zeros; [`finish`](Decoder::finish) tells whether the message
/// was one that an [`Encoder`] wrote.
#[derive(Debug)]
pub struct Decoder<'a> {
    interval: Interval,
    value: u64,
    bytes: &'a [u8],
    next: usize,
    is_damaged: bool,
}

impl<'a> Decoder<'a> {
    /// Begins to read a message.
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut first = [0; 8];
        let count = bytes.len().min(8);
        first[..count].copy_from_slice(&bytes[..count]);
        let value = u64::from_be_bytes(first);
        Self { interval: Interval::WHOLE, value, bytes, next: 8, is_damaged: false }
    }

    /// Reads a decision that is true with `chance` of 65536.
    #[inline(always)]
    pub fn bit(&mut self, chance: u16) -> bool {
        let middle = self.interval.middle(chance);
        if self.value <= middle {
            self.interval.high = middle;
            self.take_in();
            true
        } else {
            self.interval.low = middle + 1;
            self.take_in();
            false
        }
    }

    /// Reads a number of `bits`.
    #[inline(always)]
    pub fn raw(&mut self, bits: u32) -> u32 {
        debug_assert!(bits <= RAW_BITS_MAX);
        let Some(share) = self.interval.share(bits) else {
            return self.raw_singly(bits);
        };
        let mut index = ((self.value - self.interval.low) >> UNIT_BITS) as u32 / share;
        if index >> bits != 0 {
            // What lies behind the last share nobody writes.
            index = (1 << bits) - 1;
            self.is_damaged = true;
        }
        self.interval.take_share(share, index);
        self.value = self.value.min(self.interval.high);
        self.take_in();
        index
    }

    #[cold]
    fn raw_singly(&mut self, bits: u32) -> u32 {
        (0..bits).fold(0, |value, _| value << 1 | u32::from(self.bit(1 << 15)))
    }

    #[inline(always)]
    fn take_in(&mut self) {
        while (self.interval.low ^ self.interval.high) >> 56 == 0 {
            self.interval.low <<= 8;
            self.interval.high = self.interval.high << 8 | 0xff;
            let byte = self.bytes.get(self.next).copied().unwrap_or(0);
            self.value = self.value << 8 | u64::from(byte);
            self.next += 1;
        }
    }

    /// Whether the message is surely damaged: so much was read past its end, or something nobody writes.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged || self.next > self.bytes.len() + PAST_END_MAX
    }

    /// Ends the message, which must be exactly what an encoder writes for the same decisions.
    pub fn finish(self) -> Result<(), Malformed> {
        let given_out = self.next - 8;
        let has_zero_tail = self.bytes.last() == Some(&0);
        let is_long = self.bytes.len() > given_out + 8;
        let shortest = self.interval.shortest();
        let is_other = has_zero_tail || is_long || self.value != shortest;
        if self.is_damaged || is_other { Err(Malformed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of decisions from a seed: chances, decisions and raw numbers in between.
    fn decisions(seed: u64, count: usize) -> Vec<(u16, u32, u32)> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let one = |_| {
            let chance = (next() as u16).clamp(CHANCE_MIN, CHANCE_MAX);
            match next() % 4 {
                0 => {
                    let bits = next() % (RAW_BITS_MAX + 1);
                    (0, bits, next() & ((1u32 << bits) - 1))
                }
                // As likely as told, so that both ends of the interval are met.
                _ => (chance, 1, u32::from((next() as u16) < chance)),
            }
        };
        (0..count).map(one).collect()
    }

    fn write(decisions: &[(u16, u32, u32)]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        for (chance, bits, value) in decisions {
            match chance {
                0 => encoder.raw(*bits, *value),
                _ => encoder.bit(*chance, *value != 0),
            }
        }
        encoder.finish()
    }

    fn read(bytes: &[u8], asked: &[(u16, u32, u32)]) -> (Vec<u32>, bool) {
        let mut decoder = Decoder::new(bytes);
        let one = |(chance, bits, _): &(u16, u32, u32)| match chance {
            0 => decoder.raw(*bits),
            _ => u32::from(decoder.bit(*chance)),
        };
        (asked.iter().map(one).collect(), decoder.finish().is_ok())
    }

    #[test]
    fn whatever_is_written_is_read_back_and_is_the_only_encoding() {
        for seed in 0..300 {
            let decisions = decisions(seed, seed as usize);
            let bytes = write(&decisions);
            let values: Vec<u32> = decisions.iter().map(|(.., value)| *value).collect();
            assert_eq!(read(&bytes, &decisions), (values.clone(), true), "seed {seed}");
            let longer = [&bytes[..], &[0]].concat();
            assert!(!read(&longer, &decisions).1, "seed {seed}: a zero more");
            for index in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[index] ^= 1 << (seed % 8);
                let (back, is_whole) = read(&damaged, &decisions);
                assert!(back != values || !is_whole, "seed {seed}: byte {index}");
            }
        }
    }

    #[test]
    fn a_message_is_hardly_longer_than_what_its_decisions_tell() {
        for seed in 0..50 {
            let decisions = decisions(seed, 2000);
            let cost = |(chance, bits, value): &(u16, u32, u32)| match (chance, value) {
                (0, _) => f64::from(*bits),
                (_, 0) => -libm::log2(1.0 - f64::from(*chance) / 65536.0),
                _ => -libm::log2(f64::from(*chance) / 65536.0),
            };
            let bits: f64 = decisions.iter().map(cost).sum();
            let bytes = write(&decisions).len() as f64;
            assert!(bytes < bits / 8.0 + 1.5, "seed {seed}: {bytes} bytes for {bits} bits");
        }
    }

    #[test]
    fn the_bytes_are_the_same_on_every_machine() {
        assert_eq!(write(&[]), [0u8; 0]);
        assert_eq!(write(&[(65_000, 1, 1)]), [0u8; 0]);
        let golden = [0xDA, 0xC6, 0x4F, 0x7B];
        assert_eq!(write(&decisions(7, 12))[..4], golden);
    }
}
