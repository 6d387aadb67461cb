//! What a field can be: how each kind of value becomes small integers and comes back.
//!
//! Every kind keeps one promise: gathering what was scattered from gathered words gives those words
//! again. So a settled value, its record and the copy at the other end are the same thing.

use crate::entity::EntityId;
use crate::list::Text;
use crate::record::{Blend, Meaning, Word};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// One kind of field. Games use the methods of [`Fields`](crate::Fields), which make these.
pub trait Kind {
    /// What the game holds.
    type Value: PartialEq;
    /// How many words of a record it takes.
    const WORDS: usize;
    /// Fills `words`, each within what [`describe`](Kind::describe) says of it. Never fails.
    fn gather(&self, value: &Self::Value, words: &mut [u32]);
    /// The value of `words`. Total: any words give a value.
    fn scatter(&self, words: &[u32]) -> Self::Value;
    /// Names, widths and meanings of the words; a single word's name stays empty.
    fn describe(&self) -> Vec<Word>;
    /// The top bit is set when the value holds a number that is not finite.
    #[inline]
    fn fault(&self, _value: &Self::Value) -> u32 {
        0
    }
}

/// An integer type that a field can hold.
pub trait Integer: Copy + PartialEq {
    /// As a wider integer.
    fn widen(self) -> i64;
    /// From a wider integer that is in range; others are cut.
    fn narrow(wide: i64) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            #[inline]
            fn widen(self) -> i64 {
                i64::from(self)
            }
            #[inline]
            fn narrow(wide: i64) -> Self {
                wide as $integer
            }
        }
    )*};
}
integers!(u8 u16 u32 i8 i16 i32);

/// The low `bits` of an integer: flags, counters that wrap.
#[derive(Clone, Copy, Debug)]
pub struct Bits<I> {
    mask: u32,
    integer: PhantomData<I>,
}

impl<I> Bits<I> {
    /// The low `bits`, 1 to 32.
    #[inline]
    pub fn new(bits: u32) -> Self {
        assert!((1..=32).contains(&bits), "a bits field is 1 to 32 bits wide");
        Self { mask: u32::MAX >> (32 - bits), integer: PhantomData }
    }
}

impl<I: Integer> Kind for Bits<I> {
    type Value = I;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &I, words: &mut [u32]) {
        words[0] = value.widen() as u32 & self.mask;
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> I {
        I::narrow(i64::from(words[0] & self.mask))
    }
    fn describe(&self) -> Vec<Word> {
        vec![Word::new("", self.mask, Meaning::Integer { low: 0 }, Blend::Snap)]
    }
}

/// An integer within a range; beyond it, the nearest end.
#[derive(Clone, Copy, Debug)]
pub struct Int<I> {
    low: i64,
    high: i64,
    integer: PhantomData<I>,
}

impl<I: Integer> Int<I> {
    /// The integers of `range`.
    #[inline]
    pub fn new(range: RangeInclusive<I>) -> Self {
        let (low, high) = (range.start().widen(), range.end().widen());
        assert!(low <= high, "an integer field's range is empty");
        Self { low, high, integer: PhantomData }
    }
}

impl<I: Integer> Kind for Int<I> {
    type Value = I;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &I, words: &mut [u32]) {
        words[0] = (value.widen().clamp(self.low, self.high) - self.low) as u32;
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> I {
        I::narrow((self.low + i64::from(words[0])).min(self.high))
    }
    fn describe(&self) -> Vec<Word> {
        let meaning = Meaning::Integer { low: self.low };
        vec![Word::new("", (self.high - self.low) as u32, meaning, Blend::Slide)]
    }
}

/// True or false.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Kind for Flag {
    type Value = bool;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &bool, words: &mut [u32]) {
        words[0] = u32::from(*value);
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> bool {
        words[0] != 0
    }
    fn describe(&self) -> Vec<Word> {
        vec![Word::new("", 1, Meaning::Flag, Blend::Snap)]
    }
}

/// One of a closed set; a value that is not in the set counts as its first.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: 'static> {
    choices: &'static [T],
}

impl<T> Choice<T> {
    /// One of `choices`.
    #[inline]
    pub fn new(choices: &'static [T]) -> Self {
        assert!(!choices.is_empty(), "a choice field has nothing to choose from");
        Self { choices }
    }
}

impl<T: Copy + PartialEq + Debug> Kind for Choice<T> {
    type Value = T;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &T, words: &mut [u32]) {
        words[0] = self.choices.iter().position(|choice| choice == value).unwrap_or(0) as u32;
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> T {
        *self.choices.get(words[0] as usize).unwrap_or(&self.choices[0])
    }
    fn describe(&self) -> Vec<Word> {
        let names = self.choices.iter().map(|choice| format!("{choice:?}")).collect();
        vec![Word::new("", self.choices.len() as u32 - 1, Meaning::Choice(names), Blend::Snap)]
    }
}

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
            let half = (1u32 << shift >> 1).saturating_sub(1) + (bits >> shift & u32::from(shift > 0));
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
        let (low, high) = (f64::from(*range.start()) * per_unit, f64::from(*range.end()) * per_unit);
        let (low, high) = ((low - 1e-3).ceil(), (high + 1e-3).floor());
        assert!(low <= high, "a ranged field's range is empty");
        assert!(low >= -INDEX_MAX && high <= INDEX_MAX, "a ranged field's step is too fine");
        Self { low: low as i32, high: high as i32, per_unit }
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

/// A direction, each axis of 2 to 16 bits on its own (the paper's way). What comes back is only
/// nearly of length one.
#[derive(Clone, Copy, Debug)]
pub struct Direction {
    steps: u32,
}

impl Direction {
    /// Three axes of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        Self { steps: steps_to_one(bits) }
    }
}

impl Kind for Direction {
    type Value = [f32; 3];
    const WORDS: usize = 3;
    #[inline]
    fn gather(&self, value: &[f32; 3], words: &mut [u32]) {
        for (word, axis) in words.iter_mut().zip(value) {
            *word = unit_to_word(*axis, self.steps);
        }
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> [f32; 3] {
        [0, 1, 2].map(|axis| word_to_unit(words[axis], self.steps))
    }
    fn describe(&self) -> Vec<Word> {
        ["x", "y", "z"].map(|name| unit_word(name, self.steps, 1.0, Blend::Slide)).to_vec()
    }
    #[inline]
    fn fault(&self, value: &[f32; 3]) -> u32 {
        value.iter().fold(0, |faults, axis| faults | fault(*axis))
    }
}

/// A unit direction folded onto an octahedron: two coordinates of 2 to 16 bits, far finer for the
/// same bits than an axis each. What comes back has length one; no direction counts as up (z).
#[derive(Clone, Copy, Debug)]
pub struct Octahedral {
    steps: u32,
}

impl Octahedral {
    /// Two coordinates of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        Self { steps: steps_to_one(bits) }
    }
}

impl Kind for Octahedral {
    type Value = [f32; 3];
    const WORDS: usize = 2;
    fn gather(&self, value: &[f32; 3], words: &mut [u32]) {
        let [x, y, z] = value.map(f64::from);
        let size = x.abs() + y.abs() + z.abs();
        let lawful = size > 0.0 && size.is_finite();
        let [x, y, z] = if lawful { [x / size, y / size, z / size] } else { [0.0, 0.0, 1.0] };
        let (u, v) = if z < 0.0 { fold(x, y) } else { (x, y) };
        words[0] = unit_to_word(u as f32, self.steps);
        words[1] = unit_to_word(v as f32, self.steps);
    }
    fn scatter(&self, words: &[u32]) -> [f32; 3] {
        let [u, v] = [0, 1].map(|i| f64::from(word_to_unit(words[i], self.steps)));
        let z = 1.0 - u.abs() - v.abs();
        let (x, y) = if z < 0.0 { fold(u, v) } else { (u, v) };
        let length = (x * x + y * y + z * z).sqrt();
        [x, y, z].map(|axis| (axis / length) as f32)
    }
    fn describe(&self) -> Vec<Word> {
        ["u", "v"].map(|name| unit_word(name, self.steps, 1.0, Blend::Arc)).to_vec()
    }
    #[inline]
    fn fault(&self, value: &[f32; 3]) -> u32 {
        value.iter().fold(0, |faults, axis| faults | fault(*axis))
    }
}

/// Turns the octahedron's lower half outwards, and back: its own inverse. A zero keeps its sign,
/// so that the rim, where both signs mean the same direction, comes back as it was.
fn fold(u: f64, v: f64) -> (f64, f64) {
    ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v))
}

/// A rotation as a unit quaternion (x, y, z, w): which component is largest, and the other three
/// of 3 to 15 bits each. A quaternion and its negative are the same rotation.
#[derive(Clone, Copy, Debug)]
pub struct Quaternion {
    steps: u32,
}

impl Quaternion {
    /// Three components of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        assert!((3..=15).contains(&bits), "a quaternion has 3 to 15 bits a component");
        Self { steps: steps_to_one(bits) }
    }

    /// Twice the square of a component's largest step count: what all four squares sum up to.
    fn whole(self) -> i64 {
        2 * i64::from(self.steps).pow(2)
    }

    /// Moves the three towards zero until the fourth is plainly the largest, so that rounding can
    /// never change which one that is.
    fn keep_largest(self, three: &mut [i64; 3]) {
        let margin = 2 + self.whole() / 100_000;
        loop {
            let rest = self.whole() - three.iter().map(|step| step * step).sum::<i64>();
            let Some(rival) = three.iter_mut().max_by_key(|step| step.abs()) else { return };
            if rest - *rival * *rival > margin {
                return;
            }
            *rival -= rival.signum();
        }
    }
}

impl Kind for Quaternion {
    type Value = [f32; 4];
    const WORDS: usize = 4;
    fn gather(&self, value: &[f32; 4], words: &mut [u32]) {
        let value = value.map(f64::from);
        let length = value.iter().map(|part| part * part).sum::<f64>().sqrt();
        let lawful = length > 0.0 && length.is_finite();
        let value = if lawful { value.map(|part| part / length) } else { [0.0, 0.0, 0.0, 1.0] };
        let mut largest = 0;
        for part in 1..4 {
            if value[part].abs() > value[largest].abs() {
                largest = part;
            }
        }
        let sign = 1f64.copysign(value[largest]) * std::f64::consts::SQRT_2 * f64::from(self.steps);
        let limit = i64::from(self.steps);
        let mut three = others(largest).map(|part| round(value[part] * sign) as i64);
        for step in &mut three {
            *step = (*step).clamp(-limit, limit);
        }
        self.keep_largest(&mut three);
        words[0] = largest as u32;
        for (word, step) in words[1..].iter_mut().zip(three) {
            *word = (step + limit) as u32;
        }
    }
    fn scatter(&self, words: &[u32]) -> [f32; 4] {
        let largest = words[0] as usize % 4;
        let limit = i64::from(self.steps);
        let scale = f64::from(self.steps) * std::f64::consts::SQRT_2;
        let mut value = [0.0; 4];
        let mut rest = self.whole();
        for (part, word) in others(largest).into_iter().zip(&words[1..]) {
            let step = i64::from(*word).min(2 * limit) - limit;
            rest -= step * step;
            value[part] = (step as f64 / scale) as f32;
        }
        value[largest] = ((rest.max(0) as f64).sqrt() / scale) as f32;
        value
    }
    fn describe(&self) -> Vec<Word> {
        let largest = Word::new("largest", 3, Meaning::Integer { low: 0 }, Blend::Arc);
        let part = |name| unit_word(name, self.steps, std::f64::consts::SQRT_2, Blend::Arc);
        vec![largest, part("a"), part("b"), part("c")]
    }
    #[inline]
    fn fault(&self, value: &[f32; 4]) -> u32 {
        value.iter().fold(0, |faults, part| faults | fault(*part))
    }
}

fn others(largest: usize) -> [usize; 3] {
    [0, 1, 2].map(|i| if i < largest { i } else { i + 1 })
}

/// Another entity, or nobody.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

impl Kind for Reference {
    type Value = Option<EntityId>;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &Option<EntityId>, words: &mut [u32]) {
        words[0] = EntityId::to_word(*value);
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> Option<EntityId> {
        EntityId::from_word(words[0])
    }
    fn describe(&self) -> Vec<Word> {
        vec![Word::new("", u32::MAX, Meaning::Reference, Blend::Snap)]
    }
}

/// A short text: its length in bytes, then four bytes a word.
#[derive(Clone, Copy, Debug)]
pub struct Characters<const N: usize>;

impl<const N: usize> Kind for Characters<N> {
    type Value = Text<N>;
    const WORDS: usize = 1 + N.div_ceil(4);
    fn gather(&self, value: &Text<N>, words: &mut [u32]) {
        words[0] = value.len() as u32;
        for (word, bytes) in words[1..].iter_mut().zip(value.padded_bytes().chunks(4)) {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_le_bytes(four);
        }
    }
    fn scatter(&self, words: &[u32]) -> Text<N> {
        let mut bytes = [0; N];
        for (four, word) in bytes.chunks_mut(4).zip(&words[1..]) {
            four.copy_from_slice(&word.to_le_bytes()[..four.len()]);
        }
        Text::from_bytes(&bytes, words[0] as usize)
    }
    fn describe(&self) -> Vec<Word> {
        let words = Self::WORDS - 1;
        let length = Meaning::TextLength { words };
        let mut described = vec![Word::new("length", N as u32, length, Blend::Snap)];
        for (index, bytes) in [0; N].chunks(4).enumerate() {
            let word_max = u32::MAX >> (32 - 8 * bytes.len());
            let name = format!("{}", index * 4);
            described.push(Word::new(&name, word_max, Meaning::TextBytes, Blend::Snap));
        }
        described
    }
}

/// Top bit set for infinities and what is not a number.
#[inline]
fn fault(value: f32) -> u32 {
    (value.to_bits() & (u32::MAX >> 1)).wrapping_add(1 << 23)
}

/// Whole numbers of this size push the fraction out of an `f64`: adding it rounds to the nearest,
/// ties to even, and leaves the integer in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

#[inline]
fn round(value: f64) -> f64 {
    if value.abs() < STEPS_MAX { value + ROUNDER - ROUNDER } else { value }
}

#[inline]
fn round_to_bits(value: f64) -> u32 {
    (value + ROUNDER).to_bits() as u32
}

/// How many steps lead from zero to one with `bits`: an odd count of values, so zero is exact.
#[inline]
fn steps_to_one(bits: u32) -> u32 {
    assert!((2..=16).contains(&bits), "a direction has 2 to 16 bits an axis");
    (1 << (bits - 1)) - 1
}

#[inline]
fn unit_to_word(value: f32, steps: u32) -> u32 {
    let limit = f64::from(steps);
    let step = f64::from(value) * limit;
    let step = if step > -limit { step } else { -limit };
    let step = if step < limit { step } else { limit };
    round_to_bits(step).wrapping_add(steps)
}

#[inline]
fn word_to_unit(word: u32, steps: u32) -> f32 {
    let step = i64::from(word.min(2 * steps)) - i64::from(steps);
    (step as f64 / f64::from(steps)) as f32
}

fn unit_word(name: &str, steps: u32, scale: f64, blend: Blend) -> Word {
    let meaning = Meaning::Ranged { low: -(steps as i32), per_unit: f64::from(steps) * scale };
    Word::new(name, 2 * steps, meaning, blend)
}
