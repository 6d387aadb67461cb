//! A record against a base record: a mask of the words that changed, then those words.
//!
//! Both ends must hold the same base. Every difference has exactly one encoding; the reader refuses
//! the others, so a damaged message cannot pass as an unusual one.

use crate::core::bits::{BitReader, BitWriter};
use crate::schema::record::{Layout, ROW_WORDS, Row};
use crate::schema::word::{MASK_WORDS, Word};

/// Writes what differs between `base` and `words`, two records of `layout`.
#[inline]
pub fn write(bits: &mut BitWriter, layout: &Layout, base: &[u32], words: &[u32]) {
    let length = layout.len();
    assert!(base.len() == length && words.len() == length, "a record of another layout");
    if let [widths] = layout.widths() {
        // Nearly all records have one mask, which is then always there.
        let mask = changed(base, words);
        write_mask(bits, mask, length);
        return bits.write_picked(mask, words, widths);
    }
    let groups = base.chunks(MASK_WORDS).zip(words.chunks(MASK_WORDS));
    for ((base, words), widths) in groups.zip(layout.widths()) {
        let mask = changed(base, words);
        bits.write_bool(mask != 0);
        if mask != 0 {
            write_mask(bits, mask, words.len());
            bits.write_picked(mask, words, widths);
        }
    }
}

/// The first words of a mask have a bit each. Those behind them share one if none of them changed: a
/// value's first fields are its liveliest, as a rule.
const LIVELY_WORDS: usize = 8;

#[inline]
fn write_mask(bits: &mut BitWriter, mask: u64, words: usize) {
    if mask >> LIVELY_WORDS == 0 {
        // The bit for those behind is the next of the mask, and zero.
        return bits.write(mask, words.min(LIVELY_WORDS + 1) as u32);
    }
    write_long_mask(bits, mask, words);
}

/// Apart, so that the usual way stays short.
#[inline(never)]
fn write_long_mask(bits: &mut BitWriter, mask: u64, words: usize) {
    let lively = mask & ((1 << LIVELY_WORDS) - 1);
    bits.write(lively | 1 << LIVELY_WORDS, LIVELY_WORDS as u32 + 1);
    bits.write(mask >> LIVELY_WORDS, (words - LIVELY_WORDS) as u32);
}

#[inline]
fn read_mask(bits: &mut BitReader<'_>, words: usize) -> u64 {
    let lively = bits.read(words.min(LIVELY_WORDS) as u32);
    if words <= LIVELY_WORDS || !bits.read_bool() {
        return lively;
    }
    let rest = bits.read((words - LIVELY_WORDS) as u32);
    if rest == 0 {
        bits.fail();
    }
    lively | rest << LIVELY_WORDS
}

/// A bit for each word that differs, the first word's lowest.
///
/// Four words are compared at once: those that change together tend to stand together.
#[inline]
fn changed(base: &[u32], words: &[u32]) -> u64 {
    let (base_fours, base_rest) = base.as_chunks::<4>();
    let (word_fours, word_rest) = words.as_chunks::<4>();
    let (mut mask, mut place) = (0, 0);
    for (base, words) in base_fours.iter().zip(word_fours) {
        if base != words {
            let differs = |i: usize| u64::from(base[i] != words[i]) << i;
            mask |= (differs(0) | differs(1) | differs(2) | differs(3)) << place;
        }
        place += 4;
    }
    for (base, word) in base_rest.iter().zip(word_rest) {
        mask |= u64::from(base != word) << place;
        place += 1;
    }
    mask
}

/// Reads into `words` the record that was written against `base`. On a message that no writer makes
/// the reader fails and `words` are of no use.
pub fn read(bits: &mut BitReader<'_>, layout: &Layout, base: &[u32], words: &mut [u32]) {
    words.copy_from_slice(base);
    read_over(bits, layout, words);
}

/// The same where `words` are the base already; says whether anything changed.
#[inline]
fn read_over(bits: &mut BitReader<'_>, layout: &Layout, words: &mut [u32]) -> bool {
    let (mut has_changed, mut is_group_changed) = (false, false);
    if let [grouped] = layout.grouped() {
        let mask = read_mask(bits, layout.len());
        has_changed = mask != 0;
        is_group_changed = mask & grouped != 0;
        read_picked(bits, mask, layout.words(), words);
    } else {
        let groups = words.chunks_mut(MASK_WORDS).zip(layout.words().chunks(MASK_WORDS));
        for ((words, descriptions), grouped) in groups.zip(layout.grouped()) {
            if bits.read_bool() {
                let mask = read_mask(bits, words.len());
                if mask == 0 {
                    bits.fail();
                }
                has_changed = true;
                is_group_changed |= mask & grouped != 0;
                read_picked(bits, mask, descriptions, words);
            }
        }
    }
    // The base was a record that a value can have.
    if is_group_changed && !layout.admits(words) {
        bits.fail();
    }
    has_changed
}

#[inline]
fn read_picked(bits: &mut BitReader<'_>, mut mask: u64, descriptions: &[Word], words: &mut [u32]) {
    while mask != 0 {
        let index = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        let description = &descriptions[index];
        // A word without width is always zero; a mask that says otherwise is damaged.
        let word = if description.bits > 0 { bits.read(description.bits) as u32 } else { 0 };
        if word == words[index] || !description.admits(word) {
            return bits.fail();
        }
        words[index] = word;
    }
}

/// How many records can follow each other in one message.
pub const SEQUENCE_RECORDS_MAX: usize = (1 << SEQUENCE_COUNT_BITS) - 1;

const SEQUENCE_COUNT_BITS: u32 = 6;

/// Writes records that follow each other, such as a player's commands: the first against the
/// initial values, each other against the one before. One that repeats it costs a bit.
///
/// ```
/// use sametick::bits::{BitReader, BitWriter};
/// use sametick::{Fields, Layout, Networked, Precision, delta};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Wish { walk: bool, aim: f32 }
///
/// impl Networked for Wish {
///     fn fields<F: Fields>(&mut self, f: &mut F) {
///         f.bool("walk", &mut self.walk);
///         f.angle("aim", &mut self.aim, 12);
///     }
/// }
///
/// let layout = Layout::of::<Wish>(Precision::State);
/// let wishes = [Wish { walk: true, aim: 0.0 }, Wish { walk: true, aim: 0.0 }, Wish::default()];
/// let records = wishes.each_ref().map(|wish| layout.record(wish));
/// let mut bits = BitWriter::fixed(64);
/// delta::write_sequence(&mut bits, &layout, records.iter().map(Vec::as_slice));
///
/// let mut reader = BitReader::new(bits.finish()?);
/// let mut back = Vec::new();
/// delta::read_sequence(&mut reader, &layout, |words| back.push(layout.value::<Wish>(words)));
/// reader.finish()?;
/// assert_eq!(back, wishes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_sequence<'a>(
    bits: &mut BitWriter,
    layout: &Layout,
    records: impl ExactSizeIterator<Item = &'a [u32]>,
) {
    assert!(records.len() <= SEQUENCE_RECORDS_MAX, "too many records follow each other");
    bits.write(records.len() as u64, SEQUENCE_COUNT_BITS);
    let mut base = layout.initial();
    for words in records {
        bits.write_bool(words != base);
        if words != base {
            write(bits, layout, base, words);
        }
        base = words;
    }
}

/// Reads records that follow each other and hands out each. Stops at the first damage.
pub fn read_sequence(bits: &mut BitReader<'_>, layout: &Layout, mut record: impl FnMut(&[u32])) {
    let mut row = [0; ROW_WORDS];
    let mut record = |row: &Row| record(&row[..layout.len()]);
    read_some(bits, layout, SEQUENCE_RECORDS_MAX, &mut row, &mut record);
}

/// The same for the first few: whatever follows them in the message is passed over. Gives how many
/// there were in all. Each stands in `row`, lent so that nobody need clear it.
pub(crate) fn read_some(
    bits: &mut BitReader<'_>,
    layout: &Layout,
    records_max: usize,
    row: &mut Row,
    record: &mut impl FnMut(&Row),
) -> usize {
    row[..layout.len()].copy_from_slice(layout.initial());
    let count = bits.read(SEQUENCE_COUNT_BITS) as usize;
    for _ in 0..count.min(records_max) {
        if bits.read_bool() && !read_over(bits, layout, &mut row[..layout.len()]) {
            bits.fail();
        }
        if bits.failed() {
            return 0;
        }
        record(row);
    }
    if count > records_max {
        bits.skip(bits.bits_left());
    }
    count
}
