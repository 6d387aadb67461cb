//! Numbers with a fraction: exact, of fewer bits, in steps, and round the circle.

use super::Kind;
use crate::schema::word::{Blend, Meaning, Word};
use std::ops::RangeInclusive;

/// Every bit of an `f32`, minus zero included.
#[derive(Clone, Copy, Debug)]
pub struct Exact;

impl Kind for Exact {
    type Value = f32;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &f32, words: &mut [u32]) {
        words[0] = value.to_bits();
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> f32 {
        let value = f32::from_bits(words[0]);
        if value.is_finite() { value } else { 0.0 }
    }
    fn describe(&self) -> Vec<Word> {
        vec![Word::new("", u32::MAX, Meaning::Exact, Blend::Slide)]
    }
    #[inline]
    fn fault(&self, value: &f32) -> u32 {
        fault(*value)
    }
}

/// Every bit of `N` floats that belong together, such as a rotation's; at most four.
#[derive(Clone, Copy, Debug)]
pub struct Exacts<const N: usize>;

impl<const N: usize> Kind for Exacts<N> {
    type Value = [f32; N];
    const WORDS: usize = N;
    #[inline]
    fn gather(&self, value: &[f32; N], words: &mut [u32]) {
        for (word, part) in words.iter_mut().zip(value) {
            *word = part.to_bits();
        }
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> [f32; N] {
        std::array::from_fn(|part| Exact.scatter(&words[part..]))
    }
    fn describe(&self) -> Vec<Word> {
        const { assert!(N <= 4, "at most four floats belong together") };
        let names = ["x", "y", "z", "w"].into_iter().take(N);
        names.map(|name| Word::new(name, u32::MAX, Meaning::Exact, Blend::Slide)).collect()
    }
    #[inline]
    fn fault(&self, value: &[f32; N]) -> u32 {
        value.iter().fold(0, |faults, part| faults | fault(*part))
    }
}

/// A float with a sign, chosen exponent bits and chosen mantissa bits. Zero is exact, rounding is
/// to the nearest (ties to even), what is too large becomes the largest, what is tiny is gradual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat {
    exponent_bits: u32,
    mantissa_bits: u32,
}

impl SmallFloat {
    /// 2 to 8 bits of exponent, 1 to 23 of mantissa.
    #[inline]
    pub fn new(exponent_bits: u32, mantissa_bits: u32) -> Self {
        assert!((2..=8).contains(&exponent_bits), "a float has 2 to 8 exponent bits");
        assert!((1..=23).contains(&mantissa_bits), "a float has 1 to 23 mantissa bits");
        Self { exponent_bits, mantissa_bits }
    }

    pub(crate) fn numbers(self) -> [u32; 2] {
        [self.exponent_bits, self.mantissa_bits]
    }

    /// What to add to one of our exponents to get an `f32`'s.
    #[inline]
    fn rebias(self) -> u32 {
        127 - ((1 << (self.exponent_bits - 1)) - 1)
    }

    /// The largest lawful magnitude. All ones is an ordinary number, except where `f32` ends.
    #[inline]
    fn magnitude_max(self) -> u32 {
        let all = (1 << (self.exponent_bits + self.mantissa_bits)) - 1;
        if self.exponent_bits == 8 { all - (1 << self.mantissa_bits) } else { all }
    }

    /// The size of one step below the smallest ordinary number.
    #[inline]
    fn tiny_step(self) -> f64 {
        let exponent = 1 + self.rebias() as i32 - 127 - self.mantissa_bits as i32;
        f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
    }

    pub(crate) fn to_word(self, value: f32) -> u32 {
        if value.is_nan() {
            return 0;
        }
        let bits = value.to_bits() & (u32::MAX >> 1);
        let shift = 23 - self.mantissa_bits;
        let magnitude = if bits >> 23 <= self.rebias() {
            round(f64::from(value.abs()) / self.tiny_step()) as u32
        } else {
            let half =
                (1u32 << shift >> 1).saturating_sub(1) + (bits >> shift & u32::from(shift > 0));
            ((bits + half) >> shift) - (self.rebias() << self.mantissa_bits)
        };
        let magnitude = magnitude.min(self.magnitude_max());
        let negative = u32::from(value < 0.0 && magnitude > 0);
        negative << (self.exponent_bits + self.mantissa_bits) | magnitude
    }

    pub(crate) fn to_value(self, word: u32) -> f32 {
        let sign = word >> (self.exponent_bits + self.mantissa_bits) & 1;
        let magnitude = word & ((1 << (self.exponent_bits + self.mantissa_bits)) - 1);
        let magnitude = magnitude.min(self.magnitude_max());
        let value = if magnitude >> self.mantissa_bits == 0 {
            (f64::from(magnitude) * self.tiny_step()) as f32
        } else {
            f32::from_bits(
                (magnitude + (self.rebias() << self.mantissa_bits)) << (23 - self.mantissa_bits),
            )
        };
        if sign == 1 && magnitude > 0 { -value } else { value }
    }
}

impl Kind for SmallFloat {
    type Value = f32;
    const WORDS: usize = 1;
    fn gather(&self, value: &f32, words: &mut [u32]) {
        words[0] = self.to_word(*value);
    }
    fn scatter(&self, words: &[u32]) -> f32 {
        self.to_value(words[0])
    }
    fn describe(&self) -> Vec<Word> {
        let word_max = self.magnitude_max() | 1 << (self.exponent_bits + self.mantissa_bits);
        vec![Word::new("", word_max, Meaning::SmallFloat(*self), Blend::Slide)]
    }
    #[inline]
    fn fault(&self, value: &f32) -> u32 {
        fault(*value)
    }
}

/// Multiples of a step within a range; beyond it, the nearest end. Zero, if in range, is exact.
#[derive(Clone, Copy, Debug)]
pub struct Ranged {
    low: i32,
    high: i32,
    per_unit: f64,
}

impl Ranged {
    /// The multiples of `step` within `range`, at most 2²³ on either side of zero.
    #[inline]
    pub fn new(range: RangeInclusive<f32>, step: f32) -> Self {
        assert!(step > 0.0, "a ranged field's step must be more than zero");
        // 0.01 is no binary number, but a hundred to the unit is: then 50.0 stays 50.0.
        let per_unit = 1.0 / f64::from(step);
        let whole = round(per_unit);
        let near = whole > 0.0 && (per_unit - whole).abs() < 1e-6 * whole;
        let per_unit = if near { whole } else { per_unit };
        let (low, high) =
            (f64::from(*range.start()) * per_unit, f64::from(*range.end()) * per_unit);
        // Range and step are rounded: an end that is off by no more than that is meant to be in.
        let slack = |end: f64| (end.abs() * f64::from(2.0 * f32::EPSILON)).min(1e-3);
        let (low, high) = ((low - slack(low)).ceil(), (high + slack(high)).floor());
        assert!(low <= high, "a ranged field's range is empty");
        assert!(low >= -INDEX_MAX && high <= INDEX_MAX, "a ranged field's step is too fine");
        Self { low: low as i32, high: high as i32, per_unit }
    }
}

/// Multiples of a step within a range, for `N` floats that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Rangeds<const N: usize> {
    each: Ranged,
}

impl<const N: usize> Rangeds<N> {
    /// For each the multiples of `step` within `range`.
    #[inline]
    pub fn new(range: RangeInclusive<f32>, step: f32) -> Self {
        Self { each: Ranged::new(range, step) }
    }
}

impl<const N: usize> Kind for Rangeds<N> {
    type Value = [f32; N];
    const WORDS: usize = N;
    #[inline]
    fn gather(&self, value: &[f32; N], words: &mut [u32]) {
        for (word, part) in words.iter_mut().zip(value) {
            self.each.gather(part, std::slice::from_mut(word));
        }
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> [f32; N] {
        std::array::from_fn(|part| self.each.scatter(&words[part..]))
    }
    fn describe(&self) -> Vec<Word> {
        let each = |word: Word| Word { name: word.name, ..self.each.describe()[0].clone() };
        Exacts::<N>.describe().into_iter().map(each).collect()
    }
    #[inline]
    fn fault(&self, value: &[f32; N]) -> u32 {
        Exacts::<N>.fault(value)
    }
}

/// Beyond this an `f32` cannot tell one multiple from the next.
const INDEX_MAX: f64 = (1 << 23) as f64;

impl Kind for Ranged {
    type Value = f32;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &f32, words: &mut [u32]) {
        let index = f64::from(*value) * self.per_unit;
        let index = if index > f64::from(self.low) { index } else { f64::from(self.low) };
        let index = if index < f64::from(self.high) { index } else { f64::from(self.high) };
        words[0] = round_to_bits(index).wrapping_sub(self.low as u32);
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> f32 {
        let index = (i64::from(self.low) + i64::from(words[0])).min(i64::from(self.high));
        (index as f64 / self.per_unit) as f32
    }
    fn is_beyond(&self, value: &f32) -> bool {
        let index = f64::from(*value) * self.per_unit;
        !(f64::from(self.low)..=f64::from(self.high)).contains(&index)
    }
    fn describe(&self) -> Vec<Word> {
        let meaning = Meaning::Ranged { low: self.low, per_unit: self.per_unit };
        vec![Word::new("", self.high.abs_diff(self.low), meaning, Blend::Slide)]
    }
    #[inline]
    fn fault(&self, value: &f32) -> u32 {
        fault(*value)
    }
}

/// An angle in radians, of 2 to 20 bits. It comes back within -π (included) and π; a whole turn
/// is zero.
#[derive(Clone, Copy, Debug)]
pub struct Angle {
    bits: u32,
}

impl Angle {
    /// A circle of 2 to the power of `bits` directions.
    #[inline]
    pub fn new(bits: u32) -> Self {
        assert!((2..=20).contains(&bits), "an angle has 2 to 20 bits");
        Self { bits }
    }

    #[inline]
    fn per_radian(self) -> f64 {
        f64::from(1u32 << self.bits) / std::f64::consts::TAU
    }
}

impl Kind for Angle {
    type Value = f32;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &f32, words: &mut [u32]) {
        let steps = f64::from(*value) * self.per_radian();
        // So many turns, or no number at all, point nowhere.
        let steps = if steps.abs() < STEPS_MAX { steps } else { 0.0 };
        words[0] = round_to_bits(steps) & ((1 << self.bits) - 1);
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> f32 {
        let unused = 32 - self.bits;
        let steps = (words[0] << unused) as i32 >> unused;
        (f64::from(steps) / self.per_radian()) as f32
    }
    fn is_beyond(&self, value: &f32) -> bool {
        // What is more than half a turn is turned back, which loses nothing.
        value.abs() >= std::f32::consts::PI
    }
    fn describe(&self) -> Vec<Word> {
        let meaning = Meaning::Angle { bits: self.bits };
        vec![Word::new("", (1 << self.bits) - 1, meaning, Blend::Arc)]
    }
    #[inline]
    fn fault(&self, value: &f32) -> u32 {
        fault(*value)
    }
}

/// The most that [`round_to_bits`] takes.
const STEPS_MAX: f64 = (1u64 << 50) as f64;

/// Top bit set for infinities and what is not a number.
#[inline]
pub(super) fn fault(value: f32) -> u32 {
    (value.to_bits() & (u32::MAX >> 1)).wrapping_add(1 << 23)
}

/// Whole numbers of this size push the fraction out of an `f64`: adding it rounds to the nearest,
/// ties to even, and leaves the integer in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

#[inline]
pub(super) fn round(value: f64) -> f64 {
    if value.abs() < STEPS_MAX { value + ROUNDER - ROUNDER } else { value }
}

#[inline]
pub(super) fn round_to_bits(value: f64) -> u32 {
    (value + ROUNDER).to_bits() as u32
}
