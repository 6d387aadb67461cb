//! What a field can be: how each kind of value becomes small integers and comes back.
//!
//! Every kind keeps one promise: gathering what was scattered from gathered words gives those words
//! again. So a settled value, its record and the copy at the other end are the same thing.

use crate::core::entity::EntityId;
use crate::core::list::Text;
use crate::schema::word::{Blend, Meaning, Word};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

mod directions;
mod floats;

pub use directions::{Direction, Octahedral, Quaternion};
pub use floats::{Angle, Exact, Exacts, Ranged, Rangeds, SmallFloat};

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
    /// Whether the value is past the ends of what the kind holds, where settling takes it back.
    fn is_beyond(&self, _value: &Self::Value) -> bool {
        false
    }
    /// The top bit is set when the value holds a number that is not finite.
    #[inline]
    fn fault(&self, _value: &Self::Value) -> u32 {
        0
    }
}

/// An integer type that a field can hold.
pub trait Integer: Copy + PartialEq {
    /// How many bits it has.
    const BITS: u32;
    /// Its low bits, as many as a word has.
    fn low(self) -> u32;
    /// As a wider integer; what is beyond that, the largest.
    fn widen(self) -> i64;
    /// From a wider integer that is in range; others are cut.
    fn narrow(wide: i64) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            const BITS: u32 = <$integer>::BITS;
            #[inline]
            fn low(self) -> u32 {
                self as u32
            }
            #[inline]
            fn widen(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
            #[inline]
            fn narrow(wide: i64) -> Self {
                wide as $integer
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// The low `bits` of an integer: flags, counters that wrap.
#[derive(Clone, Copy, Debug)]
pub struct Bits<I> {
    mask: u32,
    integer: PhantomData<I>,
}

impl<I: Integer> Bits<I> {
    /// The low `bits`, 1 to 32 and no more than the integer has.
    #[inline]
    pub fn new(bits: u32) -> Self {
        assert!((1..=32).contains(&bits), "a bits field is 1 to 32 bits wide");
        assert!(bits <= I::BITS, "a bits field is wider than its integer");
        Self { mask: u32::MAX >> (32 - bits), integer: PhantomData }
    }
}

impl<I: Integer> Kind for Bits<I> {
    type Value = I;
    const WORDS: usize = 1;
    #[inline]
    fn gather(&self, value: &I, words: &mut [u32]) {
        words[0] = value.low() & self.mask;
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
        assert!(high.abs_diff(low) <= u64::from(u32::MAX), "an integer field's range is too wide");
        let is_held = I::narrow(high) == *range.end();
        assert!(is_held, "an integer field's range ends beyond an i64");
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
        I::narrow(self.low.saturating_add(i64::from(words[0])).min(self.high))
    }
    fn is_beyond(&self, value: &I) -> bool {
        !(self.low..=self.high).contains(&value.widen())
    }
    fn describe(&self) -> Vec<Word> {
        let meaning = Meaning::Integer { low: self.low };
        vec![Word::new("", (self.high - self.low) as u32, meaning, Blend::Snap)]
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
