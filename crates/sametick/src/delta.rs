//! A record against a base record: a mask of the words that changed, then those words.
//!
//! Both ends must hold the same base. Every difference has exactly one encoding; the reader refuses
//! the others, so a damaged message cannot pass as an unusual one.

use crate::bits::{BitReader, BitWriter};
use crate::record::Layout;
use crate::word::MASK_WORDS;

/// Writes what differs between `base` and `words`, two records of `layout`.
#[inline]
pub fn write(bits: &mut BitWriter, layout: &Layout, base: &[u32], words: &[u32]) {
    let length = layout.len();
    assert!(base.len() == length && words.len() == length, "a record of another layout");
    if let [widths] = layout.widths() {
        // Nearly all records have one mask, which is then always there.
        let mask = changed(base, words);
        bits.write(mask, length as u32);
        return bits.write_picked(mask, words, widths);
    }
    let groups = base.chunks(MASK_WORDS).zip(words.chunks(MASK_WORDS));
    for ((base, words), widths) in groups.zip(layout.widths()) {
        let mask = changed(base, words);
        bits.write_bool(mask != 0);
        if mask != 0 {
            bits.write(mask, words.len() as u32);
            bits.write_picked(mask, words, widths);
        }
    }
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
    let several = layout.len() > MASK_WORDS;
    for start in (0..layout.len()).step_by(MASK_WORDS) {
        let count = (layout.len() - start).min(MASK_WORDS);
        let present = !several || bits.read_bool();
        let mut mask = if present { bits.read(count as u32) } else { 0 };
        if several && present && mask == 0 {
            bits.fail();
        }
        while mask != 0 {
            let index = start + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let description = &layout.words()[index];
            // A word without width is always zero; a mask that says otherwise is damaged.
            let word = if description.bits > 0 { bits.read(description.bits) as u32 } else { 0 };
            if word == base[index] || !description.admits(word) {
                bits.fail();
                return;
            }
            words[index] = word;
        }
    }
    if !layout.admits(words) {
        bits.fail();
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
    read_some(bits, layout, SEQUENCE_RECORDS_MAX, &mut record);
}

/// The same for the first few: whatever follows them in the message is passed over. Gives how many
/// there were in all.
pub(crate) fn read_some(
    bits: &mut BitReader<'_>,
    layout: &Layout,
    records_max: usize,
    record: &mut impl FnMut(&[u32]),
) -> usize {
    // Most have few words, and clearing room for many would cost more than reading them.
    if layout.len() <= SHORT_WORDS {
        read_within::<SHORT_WORDS>(bits, layout, records_max, record)
    } else {
        read_within::<{ crate::record::ROW_WORDS }>(bits, layout, records_max, record)
    }
}

const SHORT_WORDS: usize = 16;

fn read_within<const WORDS: usize>(
    bits: &mut BitReader<'_>,
    layout: &Layout,
    records_max: usize,
    record: &mut impl FnMut(&[u32]),
) -> usize {
    let mut base = [0; WORDS];
    let mut words = base;
    let length = layout.len();
    base[..length].copy_from_slice(layout.initial());
    let count = bits.read(SEQUENCE_COUNT_BITS) as usize;
    for _ in 0..count.min(records_max) {
        if bits.read_bool() {
            read(bits, layout, &base[..length], &mut words[..length]);
            if words[..length] == base[..length] {
                bits.fail();
            }
            base[..length].copy_from_slice(&words[..length]);
        }
        if bits.failed() {
            return 0;
        }
        record(&base[..length]);
    }
    if count > records_max {
        bits.skip(bits.bits_left());
    }
    count
}
