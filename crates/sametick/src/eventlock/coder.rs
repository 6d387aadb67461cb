//! Bits that cost as much as they surprise: a range coder whose chances are learned from what went before. Knows
//! nothing of what the bits mean.
//!
//! Both ends learn from the same bits in the same order, which only a reliable, ordered stream can promise. A message
//! is coded by itself, so that it can be read as soon as it is there; what was learned stays.

/// How likely a bit is to be zero, and how sure that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    zero: u16,
    seen: u8,
}

impl Default for Chance {
    fn default() -> Self {
        Self { zero: 1 << 15, seen: 0 }
    }
}

/// After so many bits the last ones count for more than those long ago.
const SEEN_MAX: u8 = 48;
/// No bit is ever certain.
const ZERO_MIN: u32 = 64;
/// By how much of the way a chance moves towards the bit that was seen, of 2^16.
const RATES: [u32; SEEN_MAX as usize + 1] = {
    let mut rates = [0; SEEN_MAX as usize + 1];
    let mut seen = 0;
    while seen < rates.len() {
        rates[seen] = (1 << 16) * 10 / (10 * seen as u32 + 16);
        seen += 1;
    }
    rates
};

impl Chance {
    fn learn(&mut self, bit: bool) {
        let (zero, rate) = (u32::from(self.zero), RATES[usize::from(self.seen)]);
        let zero = match bit {
            true => zero - ((zero * rate) >> 16),
            false => zero + ((((1 << 16) - zero) * rate) >> 16),
        };
        self.zero = zero.clamp(ZERO_MIN, (1 << 16) - ZERO_MIN) as u16;
        self.seen = (self.seen + 1).min(SEEN_MAX);
    }
}

/// One walk for both directions: an encoder takes the bit it is given and gives it back, a decoder gives the one that
/// was written.
pub(crate) trait Coder {
    /// A bit whose chance is learned.
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool;
    /// A bit of which nothing is known.
    fn even(&mut self, bit: bool) -> bool;
    /// Marks the message as damaged.
    fn fail(&mut self);
    /// Whether it is.
    fn failed(&self) -> bool;

    /// Some bits of which nothing is known, the highest first.
    fn evens(&mut self, value: u64, bits: u32) -> u64 {
        (0..bits)
            .rev()
            .fold(0, |sum, place| sum << 1 | u64::from(self.even(value >> place & 1 != 0)))
    }

    /// An integer of a few bits, the highest first; `chances` has 2^bits places.
    fn tree(&mut self, chances: &mut [Chance], value: u32, bits: u32) -> u32 {
        let mut node = 1;
        for place in (0..bits).rev() {
            let bit = self.bit(&mut chances[node as usize], value >> place & 1 != 0);
            node = node << 1 | u32::from(bit);
        }
        node - (1 << bits)
    }
}

/// Writes a message.
#[derive(Debug)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
    low: u32,
    range: u32,
}

const RANGE_MIN: u32 = 1 << 24;

impl Encoder {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), low: 0, range: u32::MAX }
    }

    /// The message, in as few bytes as tell it: behind them the decoder reads zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let end = u64::from(self.low) + u64::from(self.range);
        for kept in 1..=4 {
            let step = 1u64 << (32 - 8 * kept);
            let value = u64::from(self.low).next_multiple_of(step);
            if value < end {
                if value > u64::from(u32::MAX) {
                    self.carry();
                }
                self.bytes.extend_from_slice(&(value as u32).to_be_bytes()[..kept]);
                break;
            }
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }

    fn add(&mut self, bound: u32) {
        let (low, is_carried) = self.low.overflowing_add(bound);
        self.low = low;
        if is_carried {
            self.carry();
        }
    }

    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }

    fn shift(&mut self) {
        while self.range < RANGE_MIN {
            self.bytes.push((self.low >> 24) as u8);
            self.low <<= 8;
            self.range <<= 8;
        }
    }
}

impl Coder for Encoder {
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        let bound = (self.range >> 16) * u32::from(chance.zero);
        if bit {
            self.add(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.learn(bit);
        self.shift();
        bit
    }

    fn even(&mut self, bit: bool) -> bool {
        self.range >>= 1;
        if bit {
            self.add(self.range);
        }
        self.shift();
        bit
    }

    fn fail(&mut self) {
        unreachable!("what we write is lawful");
    }

    fn failed(&self) -> bool {
        false
    }
}

/// Reads a message. Any bytes are one; whether it makes sense is for the caller to say.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    bytes: std::slice::Iter<'a, u8>,
    code: u32,
    range: u32,
    has_failed: bool,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { bytes: bytes.iter(), code: 0, range: u32::MAX, has_failed: false };
        (0..4).for_each(|_| decoder.take());
        decoder
    }

    fn take(&mut self) {
        self.code = self.code << 8 | u32::from(self.bytes.next().copied().unwrap_or(0));
    }

    fn shift(&mut self) {
        while self.range < RANGE_MIN {
            self.take();
            self.range <<= 8;
        }
    }
}

impl Coder for Decoder<'_> {
    fn bit(&mut self, chance: &mut Chance, _bit: bool) -> bool {
        let bound = (self.range >> 16) * u32::from(chance.zero);
        let bit = self.code >= bound;
        if bit {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.learn(bit);
        self.shift();
        bit
    }

    fn even(&mut self, _bit: bool) -> bool {
        self.range >>= 1;
        let bit = self.code >= self.range;
        if bit {
            self.code -= self.range;
        }
        self.shift();
        bit
    }

    fn fail(&mut self) {
        self.has_failed = true;
    }

    fn failed(&self) -> bool {
        self.has_failed
    }
}

/// An integer of any size, small ones the shorter: how many bits it has, then those; the first two of them are learned.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    classes: [Chance; 64],
    heads: [[Chance; 4]; 33],
}

impl Default for Number {
    fn default() -> Self {
        Self { classes: [Chance::default(); 64], heads: [[Chance::default(); 4]; 33] }
    }
}

const CLASS_BITS: u32 = 6;

impl Number {
    pub(crate) fn code(&mut self, coder: &mut impl Coder, value: u32) -> u32 {
        let class = coder.tree(&mut self.classes, u32::BITS - value.leading_zeros(), CLASS_BITS);
        if class > u32::BITS {
            coder.fail();
            return 0;
        }
        // Its first bit is one; there is none of zero.
        let rest = class.saturating_sub(1);
        let head_bits = rest.min(2);
        let tail_bits = rest - head_bits;
        let head = value >> tail_bits & ((1 << head_bits) - 1);
        let head = coder.tree(&mut self.heads[class as usize], head, head_bits);
        let tail = coder.evens(u64::from(value), tail_bits) as u32;
        if class == 0 { 0 } else { (1 << head_bits | head) << tail_bits | tail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dice::Dice;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(seed: u64, count in 0usize..300) {
            let dice = &mut Dice::new(seed, 0);
            let values: Vec<(u32, u32)> = (0..count)
                .map(|_| (dice.roll_u64() as u32 >> dice.below(32), dice.below(1 << 7) as u32))
                .collect();
            let (mut here, mut there) = (Number::default(), Number::default());
            let [mut tree_here, mut tree_there] = [[Chance::default(); 128]; 2];
            for part in values.chunks(40) {
                let mut encoder = Encoder::new();
                for &(value, small) in part {
                    here.code(&mut encoder, value);
                    encoder.tree(&mut tree_here, small, 7);
                    encoder.evens(u64::from(value), 32);
                }
                let message = encoder.finish();
                let mut decoder = Decoder::new(&message);
                for &(value, small) in part {
                    prop_assert_eq!(there.code(&mut decoder, 0), value);
                    prop_assert_eq!(decoder.tree(&mut tree_there, 0, 7), small);
                    prop_assert_eq!(decoder.evens(0, 32), u64::from(value));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes: Vec<u8>) {
            let (mut decoder, mut number) = (Decoder::new(&bytes), Number::default());
            (0..100).for_each(|_| _ = number.code(&mut decoder, 0));
        }
    }

    #[test]
    fn what_is_always_the_same_soon_costs_nothing() {
        let mut chance = Chance::default();
        let mut encoder = Encoder::new();
        (0..10_000).for_each(|_| _ = encoder.bit(&mut chance, true));
        assert!(encoder.finish().len() < 10);
    }
}
