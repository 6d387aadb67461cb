//! A value as a flat list of small integers, its record, and the layout that says what they mean.
//!
//! Delta, hashing, inspection and logging work on records and layouts alone; none of them ever sees
//! an entity.

use crate::schema::fields::Networked;
use crate::schema::hint::Hint;
use crate::schema::walks::{Describe, Gather, Locate, Scatter, Settle};
pub use crate::schema::word::ROW_WORDS;
use crate::schema::word::{MASK_WORDS, Meaning, Word};
use std::fmt;

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
    /// The words that head a group, so that a decoded record needs the group checked.
    groups: Vec<u8>,
    /// Of which words not all within their range are lawful.
    particular: Vec<u8>,
    /// The words that stand in a group, by the masks that pick them.
    grouped: Vec<u64>,
    /// What predicts what, for codecs that ask.
    hints: Vec<Hint>,
}

/// A field held a number that is not finite; settling put a finite one in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// The path to the first such field.
    pub field: String,
}

/// Rounds `value` to its state precision: what the rules leave behind, made what the wire can carry.
pub fn settle<T: Networked>(value: &mut T) -> Result<(), NotFinite> {
    let mut walk = Settle::default();
    value.fields(&mut walk);
    walk.not_finite.map_or(Ok(()), |index| Err(not_finite(value, index)))
}

#[cold]
fn not_finite<T: Networked>(value: &mut T, index: usize) -> NotFinite {
    let mut walk = Locate::new(index);
    value.fields(&mut walk);
    NotFinite { field: walk.name.unwrap_or_default() }
}

impl Layout {
    /// The layout of all values of a type.
    pub fn of<T: Networked>(precision: Precision) -> Self {
        let mut walk = Describe::new(precision);
        T::default().fields(&mut walk);
        for (index, word) in walk.words.iter().enumerate() {
            let met_before = walk.words[..index].iter().any(|other| other.name == word.name);
            assert!(!met_before, "a value has two fields with the name {}", word.name);
        }
        let initial = vec![0; walk.words.len()];
        let mut layout = Self::new(precision, walk.words, initial);
        layout.fields = walk.fields;
        layout.hints = walk.hints;
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
        for (index, (word, initial)) in words.iter().zip(&initial).enumerate() {
            let name = &word.name;
            assert!(word.bits == u32::BITS - word.max.leading_zeros(), "{name} has a wrong width");
            assert!(word.admits(*initial), "the initial value of {name} cannot be written");
            let end = index + word.words_behind();
            assert!(end < words.len(), "the words behind {name} are missing");
        }
        let groups = (0..=u8::MAX).zip(&words).filter(|(_, word)| word.heads_group());
        let particular = (0..=u8::MAX).zip(&words).filter(|(_, word)| word.is_particular());
        let mut grouped = vec![0; words.len().div_ceil(MASK_WORDS)];
        for (head, word) in words.iter().enumerate().filter(|(_, word)| word.heads_group()) {
            for index in head..=head + word.words_behind() {
                grouped[index / MASK_WORDS] |= 1 << (index % MASK_WORDS);
            }
        }
        Self {
            precision,
            initial,
            widths: words.chunks(MASK_WORDS).map(widths).collect(),
            fields: Vec::new(),
            groups: groups.map(|(index, _)| index).collect(),
            particular: particular.map(|(index, _)| index).collect(),
            grouped,
            hints: Vec::new(),
            words,
        }
    }

    /// The same layout with hints for codecs that predict. They change nothing that a record means.
    pub fn with_hints(mut self, hints: Vec<Hint>) -> Self {
        self.hints = hints;
        self
    }

    /// What it tells codecs that predict.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
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
    /// The value must be of the layout's type and hold finite numbers only: settle it first. It is
    /// borrowed mutably because a walk that reads and one that writes are the same function.
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

    /// The record of a value: [`gather`](Layout::gather) for those who need no speed.
    pub fn record<T: Networked>(&self, value: &T) -> Vec<u32> {
        let mut row = [0; ROW_WORDS];
        self.gather(&mut value.clone(), &mut row);
        row[..self.len()].to_vec()
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

    /// In debug builds, each field met is compared with the layout, name and words.
    #[cfg(debug_assertions)]
    pub(crate) fn expect(&self, index: usize, name: &'static str, words: &[Word]) {
        let expected = self.fields.get(index).copied();
        assert!(
            expected == Some(name),
            "a value's walk met {name} where its layout has {}",
            expected.unwrap_or("nothing more"),
        );
        let same =
            |(met, known): (&Word, &Word)| met.max == known.max && met.meaning == known.meaning;
        let as_described = words.iter().zip(&self.words[index..]).all(same);
        assert!(as_described, "the field {name} has another range than in its layout");
    }

    /// Whether a record read from outside is one that a value can have, each word being lawful by
    /// itself.
    pub(crate) fn admits(&self, words: &[u32]) -> bool {
        self.groups.iter().map(|index| usize::from(*index)).all(|index| {
            self.words[index].admits_group(&words[index..]) || self.is_unused(words, index)
        })
    }

    /// Whether each word within its range is lawful by itself.
    #[inline]
    pub(crate) fn admits_particulars(&self, words: &[u32]) -> bool {
        let mut all = self.particular.iter().map(|index| usize::from(*index));
        all.all(|index| self.words[index].admits(words[index]))
    }

    /// The words that stand in a group, by the masks that pick them: while none of them changes, a record that was
    /// [admitted](Layout::admits) is one still.
    #[inline]
    pub(crate) fn grouped(&self) -> &[u64] {
        &self.grouped
    }

    /// Whether a group stands in an unused item of a list. All is zero there, which its list has
    /// checked, and which need not be a rotation.
    fn is_unused(&self, words: &[u32], index: usize) -> bool {
        let heads = self.groups.iter().map(|head| usize::from(*head));
        heads.take_while(|head| *head < index).any(|head| match self.words[head].meaning {
            Meaning::ListLength { item_words } => {
                let used = words[head] as usize * item_words;
                (head + 1 + used..=head + self.words[head].words_behind()).contains(&index)
            }
            _ => false,
        })
    }

    /// A number for this layout: two programs with the same number mean the same by their words.
    pub fn fingerprint(&self) -> u64 {
        let described = self.words.iter().flat_map(Word::numbers);
        let numbers = described.chain(self.initial.iter().copied());
        numbers.fold(mix(0, self.precision as u32), mix)
    }

    /// Everything in which two records of this layout differ: a word each, a text as a whole.
    pub fn differences(&self, left: &[u32], right: &[u32]) -> Vec<Difference> {
        let mut differences = Vec::new();
        let mut index = 0;
        while index < self.len() {
            let word = &self.words[index];
            let words = match word.meaning {
                Meaning::TextLength { words } => 1 + words,
                _ => 1,
            };
            let (left, right) = (&left[index..index + words], &right[index..index + words]);
            if left != right {
                differences.push(Difference::new(word, left, right));
            }
            index += words;
        }
        differences
    }
}

fn widths(words: &[Word]) -> [u8; MASK_WORDS] {
    std::array::from_fn(|index| words.get(index).map_or(0, |word| word.bits as u8))
}

/// One place in which two records differ; printed, it is a line of a desync report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path to the field.
    pub name: String,
    /// What stands on the left side.
    pub left: String,
    /// What stands on the right side.
    pub right: String,
}

impl Difference {
    fn new(word: &Word, left: &[u32], right: &[u32]) -> Self {
        let is_text = matches!(word.meaning, Meaning::TextLength { .. });
        let show = |words: &[u32]| if is_text { show_text(words) } else { word.show(words[0]) };
        let name = if is_text { word.name.trim_end_matches(".length") } else { &word.name };
        Self { name: name.to_string(), left: show(left), right: show(right) }
    }
}

/// A text from its length and its words.
fn show_text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
    let length = bytes.len().min(words[0] as usize);
    format!("{:?}", String::from_utf8_lossy(&bytes[..length]))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} on the left, {} on the right", self.name, self.left, self.right)
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
