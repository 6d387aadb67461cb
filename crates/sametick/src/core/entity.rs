//! Names one entity for good: a slot, and which of the slot's many tenants it is.

use std::fmt;
use std::num::NonZeroU32;

/// How many entities a world can hold at once.
pub const ENTITY_SLOTS_MAX: usize = 1 << SLOT_BITS;

/// How many tenants a slot can have, one after the other, before it is retired.
pub const GENERATIONS_MAX: u32 = PROVISIONAL - 1;

pub(crate) const SLOT_BITS: u32 = 12;
pub(crate) const GENERATION_BITS: u32 = 20;
const _: () = assert!(SLOT_BITS + GENERATION_BITS == u32::BITS);

/// Marks the generation of a name that a client gave, until the server's is known.
const PROVISIONAL: u32 = 1 << (GENERATION_BITS - 1);

/// A slot and its generation. No two entities of a game ever have the same name.
///
/// ```
/// use sametick::EntityId;
/// let id = EntityId::new(7, 1).unwrap();
/// assert_eq!((id.slot(), id.generation()), (7, 1));
/// assert_eq!(EntityId::new(4096, 1), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityId(NonZeroU32);

impl EntityId {
    /// The name of the `generation`-th tenant (from 1) of `slot`, if there can be one.
    #[inline]
    pub fn new(slot: usize, generation: u32) -> Option<Self> {
        let lawful = slot < ENTITY_SLOTS_MAX && (1..=GENERATIONS_MAX).contains(&generation);
        if !lawful {
            return None;
        }
        Self::from_word(generation << SLOT_BITS | slot as u32)
    }

    /// What a client calls an entity that its prediction made in `tick` as the `ordinal`-th, until the
    /// server's arrives. It names no slot of the server's.
    pub(crate) fn provisional(tick: u32, ordinal: usize) -> Option<Self> {
        let is_lawful = ordinal < ENTITY_SLOTS_MAX;
        let generation = PROVISIONAL | (tick % PROVISIONAL);
        is_lawful.then(|| Self::from_word(generation << SLOT_BITS | ordinal as u32)).flatten()
    }

    /// Whether a client gave this name, to what the server has not told of yet.
    #[inline]
    pub fn is_provisional(self) -> bool {
        self.generation() & PROVISIONAL != 0
    }

    /// Where the entity stands.
    #[inline]
    pub fn slot(self) -> usize {
        self.0.get() as usize % ENTITY_SLOTS_MAX
    }

    /// Which tenant of its slot it is, counted from 1.
    #[inline]
    pub fn generation(self) -> u32 {
        self.0.get() >> SLOT_BITS
    }

    /// The word a record holds: zero for nobody. A word without a generation names nobody too.
    #[inline]
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        if word >> SLOT_BITS == 0 { None } else { NonZeroU32::new(word).map(Self) }
    }

    #[inline]
    pub(crate) fn to_word(id: Option<Self>) -> u32 {
        id.map_or(0, |id| id.0.get())
    }
}

/// Ordered by slot, as worlds are walked.
impl Ord for EntityId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.slot(), self.generation()).cmp(&(other.slot(), other.generation()))
    }
}

impl PartialOrd for EntityId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.slot(), self.generation())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_slot_gives_another_name() {
        let first = EntityId::new(9, 1).unwrap();
        let second = EntityId::new(9, 2).unwrap();
        assert_ne!(first, second);
        assert_eq!(first.slot(), second.slot());
    }

    #[test]
    fn words_without_a_generation_name_nobody() {
        for slot in 0..ENTITY_SLOTS_MAX as u32 {
            assert_eq!(EntityId::from_word(slot), None);
        }
        let last = EntityId::new(ENTITY_SLOTS_MAX - 1, GENERATIONS_MAX);
        assert_eq!(EntityId::from_word(EntityId::to_word(last)), last);
        assert_eq!(EntityId::new(0, 0), None);
        assert_eq!(EntityId::new(0, GENERATIONS_MAX + 1), None);
    }
}
