//! Hints for codecs: how the words of a record relate to each other. Knows no codec.

/// What a game tells of its fields besides their ranges, so that some predict others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The word `rate` says how fast the word `of` changes.
    RateOf {
        /// The velocity.
        rate: usize,
        /// What it moves.
        of: usize,
    },
    /// Three words from `first` on are a place; those within `radius` of each other move alike.
    Near {
        /// The first of x, y and z.
        first: usize,
        /// In steps of these words.
        radius: u32,
    },
    /// Four words from `first` on are a rotation: which component is largest, then the others.
    Rotation {
        /// The word that tells which is largest.
        first: usize,
    },
    /// Entities of this kind are coded first, and others may be attached to the first of them.
    Leads,
    /// The word names an entity that this one is attached to.
    AttachedTo {
        /// Which word.
        word: usize,
    },
    /// The word tells what sort of entity this is: it is coded first, and others depend on it.
    Tag {
        /// Which word.
        word: usize,
    },
}
