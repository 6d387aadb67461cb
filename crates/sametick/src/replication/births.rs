//! What was made for a player, told until it knows: a client that predicts has made the same under a
//! provisional name, and learns the server's.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::EntityId;
use crate::core::tick::Tick;
use crate::sim::world::{BIRTHS_MAX, Birth};
use std::collections::VecDeque;

/// So many ticks later, whoever predicted it has long been told otherwise.
const AGE_MAX: u32 = 255;

/// The births that one player is not known to know of.
#[derive(Debug, Default)]
pub(crate) struct Births {
    /// In which tick, what, and the first part of a snapshot that told so.
    made: VecDeque<(Tick, Birth, Option<u64>)>,
}

impl Births {
    /// Something was made for the player; the oldest is forgotten when there are too many.
    pub(crate) fn push(&mut self, tick: Tick, birth: Birth) {
        self.made.push_back((tick, birth, None));
        if self.made.len() > BIRTHS_MAX {
            self.made.pop_front();
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// The player has this part, by the low bits of its number: whatever told of a birth was told again
    /// with each part since.
    pub(crate) fn acknowledge(&mut self, newest: u32) {
        let is_news = |first: u64| newest.wrapping_sub(first as u32) > u32::MAX / 2;
        self.made.retain(|(_, _, told)| told.is_none_or(is_news));
    }

    /// From the part of this number on, they are told; those from too long ago no more.
    pub(crate) fn tell(&mut self, number: u64, tick: Tick) {
        self.made.retain(|(of, _, _)| tick.0.saturating_sub(of.0) <= AGE_MAX);
        self.made.iter_mut().for_each(|(_, _, told)| _ = told.get_or_insert(number));
    }

    /// Writes them as of a snapshot of a tick; that there are some has been said.
    pub(crate) fn write(&self, bits: &mut BitWriter, tick: Tick) {
        bits.write(self.made.len() as u64, 4);
        for (of, birth, _) in &self.made {
            bits.write(u64::from(tick.0.saturating_sub(of.0).min(AGE_MAX)), 8);
            bits.write(u64::from(birth.ordinal), 8);
            bits.write(u64::from(EntityId::to_word(Some(birth.id))), 32);
        }
    }
}

/// The names a prediction gave, and those the server gave.
pub(crate) fn read(bits: &mut BitReader<'_>, tick: Tick) -> Vec<(EntityId, EntityId)> {
    let count = if bits.read_bool() { bits.read(4) } else { 0 };
    let births = (0..count).map(|_| {
        let of = tick.0.saturating_sub(bits.read(8) as u32);
        let made = EntityId::provisional(of, bits.read(8) as usize);
        made.zip(EntityId::from_word(bits.read(32) as u32))
    });
    births.collect::<Vec<_>>().into_iter().flatten().collect()
}
