//! Decoders allocate nothing by the word of what they read, and writers nothing once they are warm.

use allocation_counter::{AllocationInfo, measure};
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::record::ROW_WORDS;
use sametick::word::{Blend, Meaning, Word};
use sametick::{CHUNK_SLOTS, ENTITY_SLOTS_MAX, EntityId, Head, Layout, Precision, Table, delta};

const MESSAGE_BYTES_MAX: usize = 1200;

/// What an entity nobody knew takes at least: it changed, it is a stranger, its generation, and a bit
/// for each of the three masks of the shortest record that takes a whole row.
const STRANGER_BITS_MIN: usize = 1 + 1 + 20 + 3;
const STRANGERS_MAX: usize = 8 * MESSAGE_BYTES_MAX / STRANGER_BITS_MIN;

/// A slot's tenant, and where in the table its record stands.
const SLOT_BYTES: usize = 24;

/// What a table can hold that was read against an empty base.
const TABLE_BYTES_MAX: usize = ENTITY_SLOTS_MAX * SLOT_BYTES
    + (1 + STRANGERS_MAX) * ROW_WORDS * size_of::<u32>()
    + 2 * ENTITY_SLOTS_MAX / CHUNK_SLOTS * size_of::<u32>();

/// A list that grows is at most twice as long as it must be, and its old half is still there while
/// it moves.
const GROWTH: usize = 3;

fn layout_of(count: usize) -> Layout {
    let word = |i| Word::new(&format!("w{i}"), 255, Meaning::Integer { low: 0 }, Blend::Snap);
    Layout::new(Precision::State, (0..count).map(word).collect(), vec![0; count])
}

/// Entities nobody knew, in the first slots and in the last, none different from its initial values.
fn strangers(layouts: &[Layout], first: usize) -> Vec<u8> {
    let mut now = Table::default();
    for slot in (0..first).chain([ENTITY_SLOTS_MAX - 1]) {
        now.place(Head { id: EntityId::new(slot, 1).expect("a slot"), kind: 0 }, &layouts[0]);
    }
    let mut bits = BitWriter::growing(1 << 16);
    plain::write(&mut bits, layouts, &Table::default(), &now);
    bits.finish().expect("it fits").to_vec()
}

fn read_table(layouts: &[Layout], message: &[u8]) -> (bool, AllocationInfo) {
    let (base, mut is_read) = (Table::default(), false);
    let info = measure(|| {
        let mut now = Table::default();
        let mut reader = BitReader::new(message);
        plain::read(&mut reader, layouts, &base, &mut now);
        is_read = reader.finish().is_ok();
    });
    (is_read, info)
}

#[test]
fn the_worst_snapshot_takes_no_more_than_its_bound() {
    // From 129 words on a record takes a row of 256.
    for words in [ROW_WORDS, ROW_WORDS / 2 + 1] {
        let layouts = [layout_of(words)];
        let fits = |first: &usize| strangers(&layouts, *first).len() <= MESSAGE_BYTES_MAX;
        let most = (0..ENTITY_SLOTS_MAX).take_while(fits).last().expect("one fits");
        assert!(most < STRANGERS_MAX && most > STRANGERS_MAX * 9 / 10, "{most} strangers");
        let (is_read, info) = read_table(&layouts, &strangers(&layouts, most));
        assert!(is_read);
        let held = ENTITY_SLOTS_MAX * SLOT_BYTES + most * ROW_WORDS * size_of::<u32>();
        assert!(info.bytes_max >= held as u64, "{info:?} is less than what must be held");
        let bound = (GROWTH * TABLE_BYTES_MAX) as u64;
        assert!((bound / 2..=bound).contains(&info.bytes_max), "{info:?} within {bound}");
        assert!(info.count_total <= 32, "growing takes few steps: {info:?}");
    }
}

#[test]
fn one_entity_in_the_last_slot_takes_the_slots_and_a_row() {
    let layouts = [layout_of(ROW_WORDS)];
    let message = strangers(&layouts, 0);
    assert!(message.len() < 32, "{} bytes", message.len());
    let (is_read, info) = read_table(&layouts, &message);
    assert!(is_read);
    let held = ENTITY_SLOTS_MAX * SLOT_BYTES + 2 * ROW_WORDS * size_of::<u32>();
    assert!((held as u64..held as u64 * 11 / 10).contains(&info.bytes_max), "{info:?}");
}

#[test]
fn no_damage_makes_the_worst_snapshot_worse() {
    let layouts = [layout_of(ROW_WORDS / 2 + 1)];
    let worst = strangers(&layouts, STRANGERS_MAX * 9 / 10);
    let mut chance = noise(1);
    for round in 0..300 {
        let mut message = worst.clone();
        for _ in 0..round % 5 {
            let at = usize::from(chance()) << 8 | usize::from(chance());
            message[at % worst.len()] ^= 1 << (at % 8);
        }
        let (_, info) = read_table(&layouts, &message);
        assert!(info.bytes_max <= (GROWTH * TABLE_BYTES_MAX) as u64, "round {round}: {info:?}");
    }
}

#[test]
fn what_a_message_claims_takes_nothing() {
    let layouts = [layout_of(13)];
    let most = (GROWTH * 2 * ENTITY_SLOTS_MAX / CHUNK_SLOTS * size_of::<u32>()) as u64;
    let row = (ROW_WORDS * size_of::<u32>()) as u64;
    for chunks in [128, 129, 255] {
        // So many chunks are announced, and nothing follows.
        let (is_read, info) = read_table(&layouts, &[chunks]);
        assert!(!is_read && info.bytes_max <= row, "{chunks} chunks: {info:?}");
        // All their slots are in sight, and nobody comes.
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        bits.write(u64::from(chunks), 8);
        (0..chunks).for_each(|_| bits.write(u64::MAX >> 31, 33));
        let (is_read, info) = read_table(&layouts, bits.finish().expect("it fits"));
        assert!(!is_read && info.bytes_max <= row + most, "{chunks} chunks: {info:?}");
    }
}

#[test]
fn zero_runs_take_no_more_than_what_they_may_become() {
    // Nothing but the longest runs, four to one at best.
    let bomb = [0b0011_1000, 0b1000_1110, 0b1110_0011].repeat(MESSAGE_BYTES_MAX / 3);
    let becomes = bomb.len() * 4;
    for bytes_max in [0, 100, MESSAGE_BYTES_MAX, becomes - 1, becomes, 1 << 20] {
        let mut is_read = false;
        let info = measure(|| {
            let mut message = BitWriter::growing(bytes_max);
            is_read = zero_runs::expand(&bomb, 3, &mut message).is_ok();
        });
        assert_eq!(is_read, bytes_max >= becomes, "within {bytes_max}");
        let most = GROWTH * bytes_max.min(becomes) + bomb.len();
        assert!(info.bytes_max <= most as u64, "within {bytes_max}: {info:?}");
        assert!(!is_read || info.bytes_max >= becomes as u64, "the bound is near: {info:?}");
    }
}

#[test]
fn records_and_sequences_need_no_memory() {
    let layout = layout_of(ROW_WORDS);
    let mut chance = noise(2);
    for round in 0..2000 {
        let mut message: Vec<u8> = (0..round % 100).map(|_| chance()).collect();
        // Every other message claims as much as it can.
        if round % 2 == 0 {
            message.iter_mut().take(20).for_each(|byte| *byte = 0xff);
        }
        let info = measure(|| {
            let mut words = [0; ROW_WORDS];
            delta::read(&mut BitReader::new(&message), &layout, layout.initial(), &mut words);
            delta::read_sequence(&mut BitReader::new(&message), &layout, |_| {});
        });
        assert_eq!(info.count_total, 0, "round {round}: {info:?}");
    }
}

#[test]
fn a_warm_writer_allocates_nothing() {
    let layouts = [layout_of(13)];
    let mut base = Table::default();
    for slot in 0..280 {
        base.place(Head { id: EntityId::new(slot, 1).expect("a slot"), kind: 0 }, &layouts[0]);
    }
    let mut now = base.clone();
    for slot in (0..280).step_by(3) {
        now.record_mut(slot, &layouts[0])[slot % 13] = 1;
    }
    let mut bits = BitWriter::fixed(4096);
    let mut back = base.clone();
    let written = measure(|| {
        for _ in 0..10 {
            bits.clear();
            plain::write(&mut bits, &layouts, &base, &now);
        }
    });
    assert_eq!(written.count_total, 0, "{written:?}");
    let message = bits.finish().expect("it fits").to_vec();
    let read = measure(|| plain::read(&mut BitReader::new(&message), &layouts, &base, &mut back));
    assert!(read.count_total <= 8, "reading keeps one set of slots: {read:?}");
}

/// A cheap stream of different bytes.
fn noise(seed: u32) -> impl FnMut() -> u8 {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 11) as u8
    }
}
