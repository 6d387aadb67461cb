//! How a kind's words are looked at: as which numbers, in which order, and which of them belong
//! together. A plan is made from a layout and its hints, and travels in the tables.

use crate::schema::hint::Hint;
use crate::schema::record::Layout;
use crate::schema::word::{Blend, Meaning, Word};

/// As what number a word is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// An integer counted from `low`.
    Integer { low: i32 },
    /// An integer that wraps around at 2 to the power of `bits`.
    Wraps { bits: u8 },
    /// A float in steps of `times` / 2 to the power of `shift`, and what that leaves open.
    Float { shift: u8, times: u8 },
}

impl Default for Mode {
    fn default() -> Self {
        Self::Integer { low: 0 }
    }
}

/// No word.
pub(crate) const NONE: u8 = u8::MAX;

/// How a kind is coded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Of the layout that it is for.
    pub(crate) fingerprint: u64,
    /// By word.
    pub(crate) modes: Vec<Mode>,
    /// By word, the word that is its rate.
    pub(crate) rates: Vec<u8>,
    /// The words in the order in which they are coded.
    pub(crate) order: Vec<u8>,
    /// How many of them are lively. Behind those stand the ones that rarely change, which share a flag.
    pub(crate) lively: u16,
    /// The first word of a place, and the radius.
    pub(crate) place: u8,
    pub(crate) radius: u32,
    /// The first word of a rotation.
    pub(crate) rotation: u8,
    pub(crate) tags: [u8; 2],
    pub(crate) leads: bool,
    /// The word that names whom it is attached to.
    pub(crate) anchor: u8,
}

/// A radius is at least this, or a cell would be less than a step.
const RADIUS_MIN: u32 = 4;

impl Plan {
    pub(crate) fn new(layout: &Layout) -> Self {
        let mut plan = Self {
            fingerprint: layout.fingerprint(),
            modes: layout.words().iter().map(mode).collect(),
            rates: vec![NONE; layout.len()],
            order: Vec::new(),
            lively: layout.len() as u16,
            place: NONE,
            radius: 0,
            rotation: NONE,
            tags: [NONE; 2],
            leads: false,
            anchor: NONE,
        };
        let rotation = |word: &Word| matches!(word.meaning, Meaning::Rotation(_));
        if let Some(first) = layout.words().iter().position(rotation) {
            plan.rotation = first as u8;
        }
        for hint in layout.hints() {
            match *hint {
                Hint::RateOf { rate, of } => plan.rates[of] = rate as u8,
                Hint::Near { first, radius } => {
                    (plan.place, plan.radius) = (first as u8, radius.max(RADIUS_MIN));
                }
                Hint::Rotation { first } => plan.rotation = first as u8,
                Hint::Leads => plan.leads = true,
                Hint::AttachedTo { word } => plan.anchor = word as u8,
                Hint::Tag { word } => {
                    if let Some(tag) = plan.tags.iter_mut().find(|tag| **tag == NONE) {
                        *tag = word as u8;
                    }
                }
            }
        }
        plan.order = plan.ordered(layout.len());
        plan
    }

    /// The words that rarely change.
    pub(crate) fn rare(&self) -> &[u8] {
        &self.order[usize::from(self.lively)..]
    }

    /// Puts the words that rarely change behind the others, the rarest last. A word that is not rare has no rank.
    pub(crate) fn set_rare(&mut self, rank: impl Fn(usize) -> Option<u64>) {
        let group = |first: u8, count: u8, word: u8| {
            first != NONE && (first..first + count).contains(&word)
        };
        let (place, rotation) = (self.place, self.rotation);
        let moves = |word: u8| group(place, 3, word) || group(rotation, 4, word);
        let tags = self.tags;
        let rank =
            |word: &u8| rank(usize::from(*word)).filter(|_| !moves(*word) && !tags.contains(word));
        self.order.sort_by_key(rank);
        self.lively = self.order.iter().filter(|word| rank(word).is_none()).count() as u16;
    }

    /// Whether the words it takes for a rotation can be one.
    pub(crate) fn has_rotation(&self, layout: &Layout) -> bool {
        let first = usize::from(self.rotation);
        let Some([largest, rest @ ..]) = layout.words().get(first..first + 4) else {
            return self.rotation == NONE;
        };
        let max = rest[0].max;
        largest.max == 3 && (1..1 << 16).contains(&max) && rest.iter().all(|word| word.max == max)
    }

    /// Tags first, then rates, then the place, then the rotation, then the rest as declared.
    fn ordered(&self, words: usize) -> Vec<u8> {
        let rank = |word: usize| {
            let word = word as u8;
            if self.tags.contains(&word) {
                0
            } else if self.rates.contains(&word) {
                1
            } else if self.place != NONE && (self.place..self.place + 3).contains(&word) {
                2
            } else if self.rotation != NONE && (self.rotation..self.rotation + 4).contains(&word) {
                3
            } else {
                4
            }
        };
        let mut order: Vec<u8> = (0..words).map(|word| word as u8).collect();
        order.sort_by_key(|word| rank(usize::from(*word)));
        order
    }
}

/// How floats are looked at before anything was learned about them.
const SHIFT: u8 = 8;

fn mode(word: &Word) -> Mode {
    match word.meaning {
        Meaning::Exact => Mode::Float { shift: SHIFT, times: 1 },
        Meaning::Angle { bits } => Mode::Wraps { bits: bits as u8 },
        Meaning::Integer { low } => Mode::Integer { low: low as i32 },
        Meaning::Ranged { low, .. } if word.blend == Blend::Slide => Mode::Integer { low },
        _ => Mode::Integer { low: 0 },
    }
}

/// Words as numbers, in one way or another.
pub(crate) trait Numbers: Copy {
    /// Whether a number may stand for several words.
    const IS_FLOAT: bool = false;
    /// Whether a word is within its range when its number is.
    const IS_RANGED: bool = false;
    /// Whether every word of a number can stand where it is.
    const IS_ADMITTED: bool = false;
    /// The number of a word.
    fn number(self, word: u32) -> i32;
    /// The word of a number; a float's nearest.
    fn word(self, number: i32) -> u32;
    /// Whether a number that is `missed` beside another and has this word is not another in disguise.
    fn is_itself(self, missed: i32, number: i32, word: u32) -> bool;
    /// How far it is from one number to another.
    #[inline(always)]
    fn distance(self, from: i32, to: i32) -> i32 {
        to.wrapping_sub(from)
    }
    /// The number that is so far from another.
    #[inline(always)]
    fn beside(self, number: i32, distance: i32) -> i32 {
        number.wrapping_add(distance)
    }
}

/// See [`Mode::Integer`].
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    pub(crate) low: i32,
}

impl Numbers for Integer {
    const IS_RANGED: bool = true;
    #[inline(always)]
    fn number(self, word: u32) -> i32 {
        word.cast_signed().wrapping_add(self.low)
    }
    #[inline(always)]
    fn word(self, number: i32) -> u32 {
        number.wrapping_sub(self.low).cast_unsigned()
    }
    #[inline(always)]
    fn is_itself(self, _: i32, _: i32, _: u32) -> bool {
        true
    }
}

/// See [`Mode::Wraps`].
#[derive(Clone, Copy)]
pub(crate) struct Wraps {
    pub(crate) bits: u8,
}

impl Numbers for Wraps {
    const IS_ADMITTED: bool = true;
    #[inline(always)]
    fn number(self, word: u32) -> i32 {
        wrap(word.cast_signed(), self.bits)
    }
    #[inline(always)]
    fn word(self, number: i32) -> u32 {
        number.cast_unsigned() & (u32::MAX >> (32 - u32::from(self.bits)))
    }
    #[inline(always)]
    fn is_itself(self, missed: i32, _: i32, _: u32) -> bool {
        wrap(missed, self.bits) == missed
    }
    #[inline(always)]
    fn distance(self, from: i32, to: i32) -> i32 {
        wrap(to.wrapping_sub(from), self.bits)
    }
    #[inline(always)]
    fn beside(self, number: i32, distance: i32) -> i32 {
        wrap(number.wrapping_add(distance), self.bits)
    }
}

/// See [`Mode::Float`].
#[derive(Clone, Copy)]
pub(crate) struct Float {
    pub(crate) shift: u8,
    pub(crate) times: u8,
}

impl Numbers for Float {
    const IS_FLOAT: bool = true;
    #[inline(always)]
    fn number(self, word: u32) -> i32 {
        float_number(word, self.shift, self.times)
    }
    #[inline(always)]
    fn word(self, number: i32) -> u32 {
        let value = f64::from(number) * f64::from(self.times) / power(self.shift);
        (value as f32).to_bits()
    }
    #[inline(always)]
    fn is_itself(self, _: i32, number: i32, word: u32) -> bool {
        self.number(word) == number
    }
}

impl Mode {
    /// The number of a word.
    #[inline(always)]
    pub(crate) fn number(self, word: u32) -> i32 {
        match self {
            Mode::Integer { low } => Integer { low }.number(word),
            Mode::Wraps { bits } => Wraps { bits }.number(word),
            Mode::Float { shift, times } => Float { shift, times }.number(word),
        }
    }

    /// The word of a number; a float's nearest.
    #[inline(always)]
    pub(crate) fn word(self, number: i32) -> u32 {
        match self {
            Mode::Integer { low } => Integer { low }.word(number),
            Mode::Wraps { bits } => Wraps { bits }.word(number),
            Mode::Float { shift, times } => Float { shift, times }.word(number),
        }
    }
}

#[inline(always)]
fn wrap(number: i32, bits: u8) -> i32 {
    let unused = 32 - u32::from(bits);
    number << unused >> unused
}

/// Floats beyond so many steps are all one number.
const NUMBER_MAX: f64 = (1 << 30) as f64;

fn power(shift: u8) -> f64 {
    f64::from(1u32 << (shift % 32))
}

fn float_number(word: u32, shift: u8, times: u8) -> i32 {
    let steps = f64::from(f32::from_bits(word)) * power(shift) / f64::from(times);
    (steps + 0.5).floor().clamp(-NUMBER_MAX, NUMBER_MAX) as i32
}

/// The floats that have a number: the first in order, and how many follow it. None if there is none.
pub(crate) fn float_range(number: i32, shift: u8, times: u8) -> Option<(u32, u32)> {
    let at = |order: u32| float_number(from_order(order), shift, times);
    let (low_end, high_end) = (to_order(f32::MIN.to_bits()), to_order(f32::MAX.to_bits()));
    // The first float of which something holds that holds of all behind it.
    let first = |holds: &dyn Fn(i32) -> bool| {
        let (mut low, mut high) = (low_end, high_end + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(at(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let (start, end) = (first(&|found| found >= number), first(&|found| found > number));
    (start < end).then(|| (start, end - start - 1))
}

/// Floats in their order.
pub(crate) fn to_order(word: u32) -> u32 {
    if word >> 31 == 1 { !word } else { word | 1 << 31 }
}

pub(crate) fn from_order(order: u32) -> u32 {
    if order >> 31 == 1 { order & !(1 << 31) } else { !order }
}
