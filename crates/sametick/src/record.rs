//! A value as a flat list of small integers, its record, and the layout that says what they mean.
//!
//! Delta, hashing, inspection and logging work on records and layouts alone; none of them ever sees
//! an entity.

use crate::delta::MASK_WORDS;
use crate::entity::EntityId;
use crate::fields::Networked;
use crate::kinds::{Angle, Kind, SmallFloat};
use crate::walks::{Describe, Gather, Scatter, Settle};
use std::fmt;

/// The longest record, in words.
pub const ROW_WORDS: usize = 256;

/// Room for any record. Gathering into a row of fixed length needs no check for each field.
pub type Row = [u32; ROW_WORDS];

/// How finely a record holds its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As the rules need it: own entity, lockstep, rollback, replays.
    State,
    /// As others see it.
    Shown,
}

/// What the words of a kind of record mean; made once from the kind's default value.
#[derive(Clone, Debug)]
pub struct Layout {
    precision: Precision,
    words: Vec<Word>,
    initial: Vec<u32>,
    /// The width of each word, by the masks that pick them.
    widths: Vec<[u8; MASK_WORDS]>,
    /// The bare name each word's field is met with; none for a layout made by hand.
    fields: Vec<&'static str>,
    /// Whether any word is a length, so that a decoded record needs its unused words checked.
    has_lengths: bool,
}

/// One small integer of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The path to its field, such as `gun.ammo` or `rotation.largest`.
    pub name: String,
    /// Its width on the wire.
    pub bits: u32,
    /// The largest value it may have.
    pub max: u32,
    /// What it stands for.
    pub meaning: Meaning,
    /// How it goes from one value to the next.
    pub blend: Blend,
}

/// What a word stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Always zero: the shown field needs fewer words than the state.
    Unused,
    /// An integer, counted from `low`.
    Integer {
        /// What the word zero stands for.
        low: i64,
    },
    /// True or false.
    Flag,
    /// One of these names.
    Choice(Vec<String>),
    /// The bits of an `f32` that is finite.
    Exact,
    /// A float of fewer bits.
    SmallFloat(SmallFloat),
    /// A multiple of a step.
    Ranged {
        /// The multiple that the word zero stands for.
        low: i32,
        /// How many steps there are to the unit.
        per_unit: f64,
    },
    /// A fraction of a turn.
    Angle {
        /// Two to this power make a turn.
        bits: u32,
    },
    /// Another entity, or nobody.
    Reference,
    /// How many of the items that follow are used.
    ListLength {
        /// How many words an item has.
        item_words: usize,
    },
    /// How many of the bytes that follow are used.
    TextLength {
        /// How many words of bytes follow.
        words: usize,
    },
    /// Four bytes of a text.
    TextBytes,
}

/// How a field goes from one value to the next when something between them is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blend {
    /// It changes at once.
    Snap,
    /// It passes through all values between.
    Slide,
    /// It turns the short way round; the words of a direction or rotation turn together.
    Arc,
}

/// A field held a number that is not finite; settling put a finite one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// The first such field.
    pub field: &'static str,
}

/// Rounds `value` to its state precision: what the rules leave behind, made what the wire can carry.
pub fn settle<T: Networked>(value: &mut T) -> Result<(), NotFinite> {
    let mut walk = Settle::default();
    value.fields(&mut walk);
    walk.not_finite.map_or(Ok(()), |field| Err(NotFinite { field }))
}

impl Layout {
    /// The layout of all values of a type.
    pub fn of<T: Networked>(precision: Precision) -> Self {
        let mut walk = Describe::new(precision);
        T::default().fields(&mut walk);
        let initial = vec![0; walk.words.len()];
        let mut layout = Self::new(precision, walk.words, initial);
        layout.fields = walk.fields;
        let mut row = [0; ROW_WORDS];
        layout.gather(&mut T::default(), &mut row);
        layout.initial = row[..layout.len()].to_vec();
        layout
    }

    /// A layout made by hand, for records that no value of ours stands behind.
    pub fn new(precision: Precision, words: Vec<Word>, initial: Vec<u32>) -> Self {
        assert!(words.len() == initial.len(), "every word has an initial value");
        assert!(
            words.len() <= ROW_WORDS,
            "a value has {} words, but a record at most {ROW_WORDS}; the first too many is {}",
            words.len(),
            words[ROW_WORDS].name,
        );
        let is_length = |word: &Word| {
            matches!(word.meaning, Meaning::ListLength { .. } | Meaning::TextLength { .. })
        };
        Self {
            precision,
            initial,
            widths: words.chunks(MASK_WORDS).map(widths).collect(),
            fields: Vec::new(),
            has_lengths: words.iter().any(is_length),
            words,
        }
    }

    /// How many words its records have.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether its records have no words: a kind that is only there or not.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Its words, in order.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The record of the default value.
    #[inline]
    pub fn initial(&self) -> &[u32] {
        &self.initial
    }

    /// The precision of its records.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    #[inline]
    pub(crate) fn widths(&self) -> &[[u8; MASK_WORDS]] {
        &self.widths
    }

    /// Fills the first [`len`](Layout::len) words of `row` from `value`, which is left as it is.
    ///
    /// The value must be of the layout's type and hold finite numbers only: settle it first.
    #[inline]
    pub fn gather<T: Networked>(&self, value: &mut T, row: &mut Row) {
        match self.precision {
            Precision::State => self.gather_at::<T, false>(value, row),
            Precision::Shown => self.gather_at::<T, true>(value, row),
        }
    }

    #[inline]
    fn gather_at<T: Networked, const SHOWN: bool>(&self, value: &mut T, row: &mut Row) {
        let mut walk = Gather::<SHOWN> {
            row,
            length: 0,
            faults: 0,
            #[cfg(debug_assertions)]
            layout: self,
        };
        value.fields(&mut walk);
        if walk.length != self.len() || walk.faults >> 31 != 0 {
            self.refuse(value);
        }
    }

    /// Fills `value` from the first [`len`](Layout::len) words of `row`.
    #[inline]
    pub fn scatter<T: Networked>(&self, row: &Row, value: &mut T) {
        match self.precision {
            Precision::State => self.scatter_at::<T, false>(row, value),
            Precision::Shown => self.scatter_at::<T, true>(row, value),
        }
    }

    #[inline]
    fn scatter_at<T: Networked, const SHOWN: bool>(&self, row: &Row, value: &mut T) {
        let mut walk = Scatter::<SHOWN> {
            row,
            length: 0,
            #[cfg(debug_assertions)]
            layout: self,
        };
        value.fields(&mut walk);
        if walk.length != self.len() {
            self.refuse(value);
        }
    }

    /// The value of a record: [`scatter`](Layout::scatter) for those who hold only its words.
    pub fn value<T: Networked>(&self, words: &[u32]) -> T {
        let mut row = [0; ROW_WORDS];
        row[..self.len()].copy_from_slice(words);
        let mut value = T::default();
        self.scatter(&row, &mut value);
        value
    }

    /// Says why a value cannot be walked with this layout.
    #[cold]
    fn refuse<T: Networked>(&self, value: &mut T) -> ! {
        let mut copy = value.clone();
        if let Err(NotFinite { field }) = settle(&mut copy) {
            panic!("the field {field} holds a number that is not finite; settle the value first");
        }
        let mut walk = Describe::new(self.precision);
        copy.fields(&mut walk);
        let same = walk.words.iter().zip(&self.words).take_while(|(a, b)| a.name == b.name).count();
        let met = walk.words.get(same).map_or("nothing more", |word| &word.name);
        let expected = self.words.get(same).map_or("nothing more", |word| &word.name);
        panic!("a value's walk met {met} where its layout has {expected}");
    }

    /// In debug builds, each field met is compared with the layout.
    #[cfg(debug_assertions)]
    pub(crate) fn expect(&self, index: usize, name: &'static str) {
        let expected = self.fields.get(index).copied();
        assert!(
            expected == Some(name),
            "a value's walk met {name} where its layout has {}",
            expected.unwrap_or("nothing more"),
        );
    }

    /// Whether a record read from outside is one that a value can have, beyond each word's own range.
    pub(crate) fn admits(&self, words: &[u32]) -> bool {
        !self.has_lengths || (0..self.len()).all(|index| self.unused_are_zero(words, index))
    }

    /// Behind a length, what is past it must be zero, and a text must be one.
    fn unused_are_zero(&self, words: &[u32], index: usize) -> bool {
        let length = words[index] as usize;
        let rest = &words[index + 1..];
        match self.words[index].meaning {
            Meaning::ListLength { item_words } => {
                let room = self.words[index].max as usize * item_words;
                rest[length * item_words..room].iter().all(|word| *word == 0)
            }
            Meaning::TextLength { words } => {
                let mut bytes = [0; 4 * ROW_WORDS];
                for (four, word) in bytes.chunks_mut(4).zip(&rest[..words]) {
                    four.copy_from_slice(&word.to_le_bytes());
                }
                let (text, unused) = bytes.split_at(length);
                str::from_utf8(text).is_ok() && unused.iter().all(|byte| *byte == 0)
            }
            _ => true,
        }
    }

    /// A number for this layout: two programs with the same number mean the same by their words.
    pub fn fingerprint(&self) -> u64 {
        self.words.iter().fold(0, |hash, word| {
            let description = format!("{word:?}");
            description.bytes().fold(hash, |hash, byte| mix(hash, u32::from(byte)))
        })
    }

    /// Every word in which two records of this layout differ.
    pub fn differences<'a>(
        &'a self,
        left: &'a [u32],
        right: &'a [u32],
    ) -> impl Iterator<Item = Difference<'a>> {
        let pairs = left.iter().zip(right).zip(&self.words);
        pairs.filter(|((left, right), _)| left != right).map(|((left, right), word)| Difference {
            word,
            left: *left,
            right: *right,
        })
    }
}

fn widths(words: &[Word]) -> [u8; MASK_WORDS] {
    std::array::from_fn(|index| words.get(index).map_or(0, |word| word.bits as u8))
}

impl Word {
    /// A word of as many bits as `max` needs.
    pub fn new(name: &str, max: u32, meaning: Meaning, blend: Blend) -> Self {
        Self { name: name.to_string(), bits: u32::BITS - max.leading_zeros(), max, meaning, blend }
    }

    pub(crate) fn unused() -> Self {
        Self::new("unused", 0, Meaning::Unused, Blend::Snap)
    }

    pub(crate) fn list_length(items_max: usize) -> Self {
        let meaning = Meaning::ListLength { item_words: 0 };
        Self::new("length", items_max as u32, meaning, Blend::Snap)
    }

    pub(crate) fn set_list_words(&mut self, item_words: usize) {
        self.meaning = Meaning::ListLength { item_words };
    }

    /// Whether `word` can stand here: nothing else is ever written, so nothing else is read.
    #[inline]
    pub fn admits(&self, word: u32) -> bool {
        word <= self.max
            && match self.meaning {
                Meaning::Exact => f32::from_bits(word).is_finite(),
                Meaning::SmallFloat(float) => float.to_word(float.to_value(word)) == word,
                Meaning::Reference => EntityId::to_word(EntityId::from_word(word)) == word,
                _ => true,
            }
    }

    /// The word as a person would write it.
    pub fn show(&self, word: u32) -> String {
        match &self.meaning {
            Meaning::Unused => String::new(),
            Meaning::Integer { low } => (low + i64::from(word)).to_string(),
            Meaning::Flag => (word != 0).to_string(),
            Meaning::Choice(names) => names.get(word as usize).cloned().unwrap_or_default(),
            Meaning::Exact => format!("{:?}", f32::from_bits(word)),
            Meaning::SmallFloat(float) => format!("{:?}", float.to_value(word)),
            Meaning::Ranged { low, per_unit } => {
                format!("{:?}", ((i64::from(*low) + i64::from(word)) as f64 / per_unit) as f32)
            }
            Meaning::Angle { bits } => format!("{:?}", Angle::new(*bits).scatter(&[word])),
            Meaning::Reference => {
                EntityId::from_word(word).map_or("nobody".into(), |id| format!("{id:?}"))
            }
            Meaning::ListLength { .. } | Meaning::TextLength { .. } => word.to_string(),
            Meaning::TextBytes => format!("{:?}", String::from_utf8_lossy(&word.to_le_bytes())),
        }
    }
}

/// One word in which two records differ; printed, it is a line of a desync report.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// The word and its name.
    pub word: &'a Word,
    /// The word on the left side.
    pub left: u32,
    /// The word on the right side.
    pub right: u32,
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, left, right } = self;
        let (mut left_shown, mut right_shown) = (word.show(*left), word.show(*right));
        if left_shown == right_shown {
            (left_shown, right_shown) = (format!("{left:#x}"), format!("{right:#x}"));
        }
        write!(f, "{}: {left_shown} on the left, {right_shown} on the right", word.name)
    }
}

/// A number for a record: equal records have equal numbers, others hardly ever. Not a secret.
pub fn hash(words: &[u32]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, word| mix(hash, *word))
}

/// Takes one more word into a hash; the order counts.
#[inline]
pub fn mix(hash: u64, word: u32) -> u64 {
    let mixed = (hash ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the field {} held a number that is not finite", self.field)
    }
}

impl std::error::Error for NotFinite {}
