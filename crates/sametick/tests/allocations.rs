//! Decoders allocate nothing by the word of what they read, and writers nothing once they are warm.

use allocation_counter::measure;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::word::{Blend, Meaning, Word};
use sametick::{EntityId, Head, Layout, Precision, Table, delta};

/// More than the chunk list of all slots and a table of those that really came.
const BYTES_MAX: u64 = 256 * 1024;

fn layouts() -> Vec<Layout> {
    let word = |i| Word::new(&format!("w{i}"), 255, Meaning::Integer { low: 0 }, Blend::Snap);
    vec![Layout::new(Precision::State, (0..13).map(word).collect(), vec![0; 13])]
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

#[test]
fn no_message_makes_a_decoder_allocate_more_than_its_bound() {
    let layouts = layouts();
    let base = Table::default();
    for seed in 0..2000 {
        let mut next = noise(seed);
        let mut bytes: Vec<u8> = (0..seed % 100).map(|_| next()).collect();
        // Every other message claims as much as it can.
        if seed % 2 == 0 {
            bytes.iter_mut().take(20).for_each(|byte| *byte = 0xff);
        }
        let snapshot = measure(|| {
            let mut now = Table::default();
            plain::read(&mut BitReader::new(&bytes), &layouts, &base, &mut now);
        });
        assert!(snapshot.bytes_max <= BYTES_MAX, "seed {seed}: {snapshot:?}");
        let expanded = measure(|| {
            let mut message = BitWriter::growing(1200);
            let _ = zero_runs::expand(&bytes, 3, &mut message);
        });
        assert!(expanded.bytes_max <= 8 * 1200, "seed {seed}: {expanded:?}");
        let record = measure(|| {
            let mut words = [0; 13];
            let initial = layouts[0].initial();
            delta::read(&mut BitReader::new(&bytes), &layouts[0], initial, &mut words);
        });
        assert_eq!(record.count_total, 0, "seed {seed}: a record needs no memory");
    }
}

#[test]
fn a_warm_writer_allocates_nothing() {
    let layouts = layouts();
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
