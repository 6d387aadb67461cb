//! What the decoders are fuzzed with: layouts made once, values from bytes, and damage to messages.
#![allow(dead_code, unused_imports, reason = "each target uses a part of it")]

#[path = "../../crates/sametick/tests/common/damage.rs"]
mod damage;
#[path = "../../crates/sametick/tests/common/zoo.rs"]
mod zoo;

pub(crate) use damage::damage;
use sametick::bits::BitWriter;
use sametick::codec::plain;
use sametick::{EntityId, Fields, Head, Layout, List, Networked, Precision, Table};
use std::sync::LazyLock;
pub(crate) use zoo::Zoo;

/// More than 64 words, so that there are several masks.
#[derive(Clone, Debug, Default)]
pub struct Crowd {
    ages: List<u8, 140>,
}

impl Networked for Crowd {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.list("ages", &mut self.ages, |f, age| {
            f.int("age", age, 0..=99);
        });
    }
}

/// A field of every kind as it is, the same as it is shown, and a long record.
pub static LAYOUTS: LazyLock<[Layout; 3]> = LazyLock::new(|| {
    let [state, shown] = [Precision::State, Precision::Shown].map(Layout::of::<Zoo>);
    [state, shown, Layout::of::<Crowd>(Precision::State)]
});

/// The record again, by way of its value.
pub fn through_value(kind: usize, words: &[u32]) -> Vec<u32> {
    let layout = &LAYOUTS[kind];
    match kind {
        0 | 1 => layout.record(&layout.value::<Zoo>(words)),
        _ => layout.record(&layout.value::<Crowd>(words)),
    }
}

/// Bytes to be spent; there are always more, of zero.
pub struct Purse<'a>(pub &'a [u8]);

impl<'a> Purse<'a> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A byte says how many bytes follow.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Any record of a kind that a value can have: the initial one with some words set to anything.
pub fn any_record(kind: usize, purse: &mut Purse<'_>) -> Vec<u32> {
    let layout = &LAYOUTS[kind];
    let mut words = layout.initial().to_vec();
    for _ in 0..purse.byte() % 16 {
        let index = usize::from(purse.byte()) % words.len();
        let word = u32::from_le_bytes(std::array::from_fn(|_| purse.byte()));
        let values = u64::from(layout.words()[index].max) + 1;
        words[index] = (u64::from(word) % values) as u32;
    }
    through_value(kind, &words)
}

/// Changes a table: some come, some change, some leave sight, some are followed by others.
pub fn change_table(table: &mut Table, purse: &mut Purse<'_>) {
    for _ in 0..purse.byte() % 8 {
        let [deed, place] = [purse.byte(), purse.byte()];
        let slot = if deed & 128 == 0 { usize::from(place) } else { 4095 - usize::from(place) };
        let kind = usize::from(deed % 3);
        match deed >> 2 & 3 {
            0 => table.visible.remove(slot),
            1 if table.head(slot).is_some() => table.visible.insert(slot),
            _ => {
                let generation = 1 + u32::from(deed >> 4 & 3);
                let id = EntityId::new(slot, generation).expect("a lawful name");
                let head = Head { id, kind: kind as u8 };
                let words = any_record(kind, purse);
                table.place(head, &LAYOUTS[kind]).copy_from_slice(&words);
            }
        }
    }
}

pub fn snapshot(base: &Table, now: &Table) -> Vec<u8> {
    let mut writer = BitWriter::growing(1 << 20);
    plain::write(&mut writer, &*LAYOUTS, base, now);
    writer.finish().expect("it fits").to_vec()
}
