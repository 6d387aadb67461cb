//! The stages of the paper's codec, each a whole encoder with its decoder, so that each can be
//! measured and checked on its own.

pub mod paper;

use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::{Head, Layout, Slots, Table, delta};

/// More than any scene's snapshot with every field whole.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// How an entity's record is written. Later stages contain the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Every field as 32 bits.
    Full,
    /// Every field as many bits as it needs.
    Packed,
    /// A mask and the changed fields, for every entity in sight.
    Delta,
    /// The same for those entities only that changed.
    LeftOut,
}

impl Stage {
    /// In order.
    pub const ALL: [Stage; 4] = [Stage::Full, Stage::Packed, Stage::Delta, Stage::LeftOut];

    /// Writes what is in sight of `now` against what the receiver has.
    pub fn write(self, bits: &mut BitWriter, layouts: &[Layout], base: &Table, now: &Table) {
        if self == Stage::LeftOut {
            return plain::write(bits, layouts, base, now);
        }
        now.visible.write(bits, &base.visible);
        for slot in now.visible.iter() {
            let head = now.head(slot).expect("who is in sight stands somewhere");
            let layout = &layouts[usize::from(head.kind)];
            let known = base.head(slot) == Some(head);
            bits.write_bool(known);
            if !known {
                bits.write(u64::from(head.id.generation()), 20);
                bits.write(u64::from(head.kind), 8);
            }
            let words = now.record(slot, layout);
            match self {
                Stage::Full => words.iter().for_each(|word| bits.write(u64::from(*word), 32)),
                Stage::Packed => write_packed(bits, layout, words),
                _ => delta::write(bits, layout, base_words(base, slot, layout, known), words),
            }
        }
    }

    /// Reads that back into `now`.
    pub fn read(self, bits: &mut BitReader<'_>, layouts: &[Layout], base: &Table, now: &mut Table) {
        if self == Stage::LeftOut {
            return plain::read(bits, layouts, base, now);
        }
        now.copy_from(base);
        let mut visible = Slots::default();
        visible.read(bits, &base.visible);
        for slot in visible.iter() {
            let known = bits.read_bool();
            let Some(head) = (if known { base.head(slot) } else { read_head(bits, slot) }) else {
                return bits.fail();
            };
            let layout = &layouts[usize::from(head.kind)];
            now.place(head, layout);
            let words = now.record_mut(slot, layout);
            match self {
                Stage::Full => words.iter_mut().for_each(|word| *word = bits.read(32) as u32),
                Stage::Packed => read_packed(bits, layout, words),
                _ => delta::read(bits, layout, base_words(base, slot, layout, known), words),
            }
        }
        now.visible = visible;
    }
}

fn read_head(bits: &mut BitReader<'_>, slot: usize) -> Option<Head> {
    let id = sametick::EntityId::new(slot, bits.read(20) as u32)?;
    Some(Head { id, kind: bits.read(8) as u8 })
}

fn base_words<'a>(base: &'a Table, slot: usize, layout: &'a Layout, known: bool) -> &'a [u32] {
    if known { base.record(slot, layout) } else { layout.initial() }
}

fn write_packed(bits: &mut BitWriter, layout: &Layout, words: &[u32]) {
    for (word, description) in words.iter().zip(layout.words()).filter(|(_, word)| word.bits > 0) {
        bits.write(u64::from(*word), description.bits);
    }
}

fn read_packed(bits: &mut BitReader<'_>, layout: &Layout, words: &mut [u32]) {
    for (word, description) in words.iter_mut().zip(layout.words()) {
        *word = if description.bits > 0 { bits.read(description.bits) as u32 } else { 0 };
    }
}

/// The bytes of `message` with its zero runs shortened and the one bit that says so; none if they
/// did not come back as they were.
pub fn zero_run_bytes(message: &[u8], word_bits: u32) -> Option<usize> {
    let mut runs = BitWriter::growing(MESSAGE_BYTES_MAX);
    zero_runs::compress(message, word_bits, &mut runs);
    let bytes = (runs.bits_written() + 1).div_ceil(8);
    let mut expanded = BitWriter::growing(message.len());
    zero_runs::expand(runs.finish().ok()?, word_bits, &mut expanded).ok()?;
    (expanded.finish() == Ok(message)).then_some(bytes)
}

/// The bytes of `message` as it would be sent with zero runs allowed: shortened where that helps.
pub fn chosen_bytes(message: &[u8]) -> Option<usize> {
    let mut scratch = BitWriter::growing(MESSAGE_BYTES_MAX);
    let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
    zero_runs::write_message(&mut bits, message, Some(&mut scratch));
    let sent = bits.finish().ok()?;
    let back = zero_runs::read_message(&mut BitReader::new(sent), &mut scratch).ok()?;
    (back == message).then_some(sent.len())
}
