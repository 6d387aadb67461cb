//! One small integer of a record: its width, its range, and what it stands for.

use crate::core::entity::EntityId;
use crate::schema::kinds::{Angle, Kind, Quaternion, SmallFloat};

/// The longest record, in words.
pub const ROW_WORDS: usize = 256;

/// How many words one mask covers. Longer records have several, each behind a bit of its own.
pub const MASK_WORDS: usize = 64;

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
    /// Which of a rotation's components is largest; the other three follow.
    Rotation(Quaternion),
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

impl Word {
    /// A word of as many bits as `max` needs.
    pub fn new(name: &str, max: u32, meaning: Meaning, blend: Blend) -> Self {
        Self { name: name.to_string(), bits: u32::BITS - max.leading_zeros(), max, meaning, blend }
    }

    /// Whether this word and those behind it are what a value can have, each being lawful by itself:
    /// past a length all is zero, a text is one, and of a rotation the largest component is.
    pub(crate) fn admits_group(&self, words: &[u32]) -> bool {
        let (length, rest) = (words[0] as usize, &words[1..]);
        match self.meaning {
            Meaning::ListLength { item_words } => {
                let room = self.max as usize * item_words;
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
            Meaning::Rotation(rotation) => rotation.is_written(&words[..Quaternion::WORDS]),
            _ => true,
        }
    }

    /// Whether [`admits_group`](Word::admits_group) says anything that [`admits`](Word::admits) does
    /// not.
    pub(crate) fn heads_group(&self) -> bool {
        use Meaning::{ListLength, Rotation, TextLength};
        matches!(self.meaning, ListLength { .. } | TextLength { .. } | Rotation(_))
    }

    /// How many words its group has besides it.
    pub(crate) fn words_behind(&self) -> usize {
        match self.meaning {
            Meaning::ListLength { item_words } => self.max as usize * item_words,
            Meaning::TextLength { words } => words,
            Meaning::Rotation(_) => Quaternion::WORDS - 1,
            _ => 0,
        }
    }

    /// Everything about it as numbers, for a fingerprint.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let (tag, numbers): (u32, Vec<u32>) = match &self.meaning {
            Meaning::Unused => (0, vec![]),
            Meaning::Integer { low } => (1, vec![*low as u32, (*low >> 32) as u32]),
            Meaning::Flag => (2, vec![]),
            Meaning::Choice(names) => {
                (3, names.iter().flat_map(|name| text_numbers(name)).collect())
            }
            Meaning::Exact => (4, vec![]),
            Meaning::SmallFloat(float) => (5, float.numbers().to_vec()),
            Meaning::Ranged { low, per_unit } => {
                let per_unit = per_unit.to_bits();
                (6, vec![*low as u32, per_unit as u32, (per_unit >> 32) as u32])
            }
            Meaning::Angle { bits } => (7, vec![*bits]),
            Meaning::Rotation(_) => (8, vec![]),
            Meaning::Reference => (9, vec![]),
            Meaning::ListLength { item_words } => (10, vec![*item_words as u32]),
            Meaning::TextLength { words } => (11, vec![*words as u32]),
            Meaning::TextBytes => (12, vec![]),
        };
        let mut all = text_numbers(&self.name);
        all.extend([self.bits, self.max, tag, self.blend as u32]);
        all.extend(numbers);
        all
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
    #[inline(always)]
    pub fn admits(&self, word: u32) -> bool {
        word <= self.max && (!self.is_particular() || self.admits_particular(word))
    }

    /// Whether not every word within its range is lawful.
    #[inline(always)]
    pub(crate) fn is_particular(&self) -> bool {
        use Meaning::{Exact, Reference, SmallFloat};
        matches!(self.meaning, Exact | SmallFloat(_) | Reference)
    }

    /// Whether a word within its range is one that is written.
    #[inline(never)]
    fn admits_particular(&self, word: u32) -> bool {
        match self.meaning {
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
            Meaning::Rotation(_) => ["x", "y", "z", "w"][word as usize % 4].to_string(),
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

fn text_numbers(text: &str) -> Vec<u32> {
    std::iter::once(text.len() as u32).chain(text.bytes().map(u32::from)).collect()
}
