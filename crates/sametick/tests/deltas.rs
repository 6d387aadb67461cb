//! Deltas, snapshots and zero runs: what is written against a base is read back against it.

use super::common::{Zoo, zoo};
use proptest::prelude::*;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::record::ROW_WORDS;
use sametick::word::{Blend, Meaning, Word};
use sametick::{EntityId, Head, Layout, Networked, Precision, Table, delta};

fn layout() -> Layout {
    Layout::of::<Zoo>(Precision::State)
}

fn gathered(layout: &Layout, value: &mut impl Networked) -> Vec<u32> {
    let mut row = [0; ROW_WORDS];
    layout.gather(value, &mut row);
    row[..layout.len()].to_vec()
}

fn written(layout: &Layout, base: &[u32], words: &[u32]) -> (Vec<u8>, usize) {
    let mut writer = BitWriter::growing(4096);
    delta::write(&mut writer, layout, base, words);
    let bits = writer.bits_written();
    (writer.finish().expect("it fits").to_vec(), bits)
}

fn read(layout: &Layout, base: &[u32], message: &[u8]) -> Option<Vec<u32>> {
    let mut reader = BitReader::new(message);
    let mut words = vec![0; layout.len()];
    delta::read(&mut reader, layout, base, &mut words);
    reader.finish().ok().map(|()| words)
}

/// A layout of `count` bytes.
fn bytes_layout(count: usize) -> Layout {
    let word = |i| Word::new(&format!("w{i}"), 255, Meaning::Integer { low: 0 }, Blend::Snap);
    Layout::new(Precision::State, (0..count).map(word).collect(), vec![0; count])
}

/// Eight words have a bit each, and those behind them one until any of them changes.
fn mask_bits(group: &[u32]) -> usize {
    match group.split_at_checked(8) {
        Some((lively, rest @ [_, ..])) if rest.iter().any(|word| *word != 0) => {
            lively.len() + 1 + rest.len()
        }
        Some((lively, [_, ..])) => lively.len() + 1,
        _ => group.len(),
    }
}

proptest! {
    #[test]
    fn a_record_comes_back_against_any_base(mut base in zoo(), mut now in zoo()) {
        let layout = layout();
        let (base, now) = (gathered(&layout, &mut base), gathered(&layout, &mut now));
        for base in [&base[..], layout.initial(), &now] {
            let (message, _) = written(&layout, base, &now);
            prop_assert_eq!(read(&layout, base, &message), Some(now.clone()));
        }
    }

    #[test]
    fn whatever_delta_is_read_would_be_written_so(mut base in zoo(), message: Vec<u8>) {
        let layout = layout();
        let base = gathered(&layout, &mut base);
        if let Some(words) = read(&layout, &base, &message) {
            prop_assert_eq!(written(&layout, &base, &words).0, message);
        }
    }

    #[test]
    fn long_records_have_several_masks(
        count in 0usize..=ROW_WORDS,
        changes in prop::collection::vec((0usize..ROW_WORDS, 1u32..256), 0..20),
    ) {
        let layout = bytes_layout(count);
        let mut now = layout.initial().to_vec();
        for (index, value) in changes.into_iter().filter(|(index, _)| *index < count) {
            now[index] = value;
        }
        let (message, bits) = written(&layout, layout.initial(), &now);
        prop_assert_eq!(read(&layout, layout.initial(), &message), Some(now.clone()));
        let masked: usize = if count <= 64 { mask_bits(&now) } else {
            let changed = |group: &[u32]| group.iter().any(|word| *word != 0);
            now.chunks(64).map(|group| 1 + if changed(group) { mask_bits(group) } else { 0 }).sum()
        };
        let changed = now.iter().filter(|word| **word != 0).count();
        prop_assert_eq!(bits, masked + 8 * changed);
    }

    #[test]
    fn commands_come_back_in_sequence(zoos in prop::collection::vec(zoo(), 0..6), twice: bool) {
        let layout = layout();
        let mut records: Vec<Vec<u32>> =
            zoos.into_iter().map(|mut zoo| gathered(&layout, &mut zoo)).collect();
        if twice {
            records = records.into_iter().flat_map(|record| [record.clone(), record]).collect();
        }
        let mut writer = BitWriter::growing(65536);
        delta::write_sequence(&mut writer, &layout, records.iter().map(Vec::as_slice));
        let mut reader = BitReader::new(writer.finish().unwrap());
        let mut back = Vec::new();
        delta::read_sequence(&mut reader, &layout, |words| back.push(words.to_vec()));
        prop_assert!(reader.finish().is_ok());
        prop_assert_eq!(back, records);
    }

    #[test]
    fn zero_runs_of_every_word_length_come_back(
        sparse in prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 0..400),
        word_bits in 2u32..=8,
    ) {
        let mut compressed = BitWriter::growing(4096);
        zero_runs::compress(&sparse, word_bits, &mut compressed);
        let mut message = BitWriter::growing(400);
        zero_runs::expand(compressed.finish().unwrap(), word_bits, &mut message).unwrap();
        prop_assert_eq!(message.finish().unwrap(), &sparse[..]);
    }

    #[test]
    fn whatever_zero_runs_are_read_would_be_written_so(bytes: Vec<u8>, word_bits in 2u32..=8) {
        let mut message = BitWriter::growing(4096);
        if zero_runs::expand(&bytes, word_bits, &mut message).is_ok() {
            let mut again = BitWriter::growing(4096);
            zero_runs::compress(message.finish().unwrap(), word_bits, &mut again);
            prop_assert_eq!(again.finish().unwrap(), &bytes[..]);
        }
    }
}

#[test]
fn an_unchanged_record_is_an_empty_mask_and_a_repeated_command_a_bit() {
    let layout = bytes_layout(13);
    let (_, bits) = written(&layout, layout.initial(), layout.initial());
    assert_eq!(bits, 9);
    let mut writer = BitWriter::fixed(8);
    delta::write_sequence(&mut writer, &layout, [layout.initial(); 10].into_iter());
    assert_eq!(writer.bits_written(), 6 + 10);
}

/// Counters, zeros and signs that tripped older systems: each value differs from the one before.
#[test]
fn every_change_is_seen() {
    let int = |low, max| Word::new("n", max, Meaning::Integer { low }, Blend::Snap);
    let exact = || Word::new("x", u32::MAX, Meaning::Exact, Blend::Slide);
    let check = |word: Word, values: &[u32]| {
        let layout = Layout::new(Precision::State, vec![word], vec![0]);
        for pair in values.windows(2) {
            let (message, _) = written(&layout, &pair[..1], &pair[1..]);
            assert_eq!(read(&layout, &pair[..1], &message), Some(pair[1..].to_vec()), "{pair:?}");
        }
    };
    check(int(0, 255), &[4, 5, 4, 127, 128, 255, 0, 255]);
    check(int(0, u32::MAX), &[0, 1, u32::MAX, 0, 1 << 31, (1 << 31) - 1, u32::MAX]);
    check(int(-128, 255), &[0, 127, 128, 255, 0]);
    let floats = [0.0f32, -0.0, 0.0, 1.0, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, f32::MAX];
    check(exact(), &floats.map(f32::to_bits));
}

#[test]
fn an_angle_that_wraps_is_no_change() {
    #[derive(Clone, Default)]
    struct Turn(f32);
    impl Networked for Turn {
        fn fields<F: sametick::Fields>(&mut self, f: &mut F) {
            f.angle("turn", &mut self.0, 8);
        }
    }
    let layout = Layout::of::<Turn>(Precision::State);
    let turn = |angle| gathered(&layout, &mut Turn(angle));
    assert_eq!(turn(0.001), turn(std::f32::consts::TAU - 0.001));
    assert_eq!(turn(std::f32::consts::PI), turn(-std::f32::consts::PI));
    assert_ne!(turn(0.0), turn(0.1));
}

#[test]
fn zero_runs_are_the_papers() {
    // 24 zero bits are eight words of three: a zero word and the count less one.
    let mut compressed = BitWriter::fixed(8);
    zero_runs::compress(&[0, 0, 0], zero_runs::PAPER_WORD_BITS, &mut compressed);
    assert_eq!(compressed.bits_written(), 6, "at best four to one");
    assert_eq!(compressed.finish(), Ok(&[0b111_000][..]));
    // Words that are not zero stay as they are.
    compressed.clear();
    zero_runs::compress(&[0xff; 3], zero_runs::PAPER_WORD_BITS, &mut compressed);
    assert_eq!(compressed.finish(), Ok(&[0xff; 3][..]));
}

#[test]
fn zero_runs_never_outgrow_their_limit() {
    let bomb = [0b1100_0111, 0b0111_0001, 0b0001_1100].repeat(400);
    let mut message = BitWriter::growing(100);
    assert!(zero_runs::expand(&bomb, 3, &mut message).is_err());
    assert!(message.bits_written() <= 800 + 64);
}

fn head(slot: usize, generation: u32, kind: u8) -> Head {
    Head { id: EntityId::new(slot, generation).expect("a lawful name"), kind }
}

fn snapshot(layouts: &[Layout], base: &Table, now: &Table) -> (Vec<u8>, usize) {
    let mut writer = BitWriter::growing(1 << 20);
    plain::write(&mut writer, layouts, base, now);
    let bits = writer.bits_written();
    (writer.finish().expect("it fits").to_vec(), bits)
}

fn restore(layouts: &[Layout], base: &Table, message: &[u8]) -> Option<Table> {
    let mut reader = BitReader::new(message);
    let mut now = Table::default();
    plain::read(&mut reader, layouts, base, &mut now);
    reader.finish().ok().map(|()| now)
}

fn check_snapshot(layouts: &[Layout], base: &Table, now: &Table) -> (Table, usize) {
    let (message, bits) = snapshot(layouts, base, now);
    let back = restore(layouts, base, &message).expect("our own snapshot is read");
    assert_eq!(back.visible, now.visible);
    assert_eq!(back.hash(layouts), now.hash(layouts));
    (back, bits)
}

#[test]
fn an_unchanged_entity_costs_its_bit_and_nothing_else() {
    let layouts = [bytes_layout(13)];
    let mut base = Table::default();
    for slot in 0..64 {
        base.place(head(slot, 1, 0), &layouts[0]);
    }
    let (_, idle) = check_snapshot(&layouts, &base, &base);
    assert_eq!(idle, 8 + 2 + 2, "chunk count, two unchanged in sight, two without changes");
    let mut now = base.clone();
    now.record_mut(3, &layouts[0])[0] = 9;
    let (_, one) = check_snapshot(&layouts, &base, &now);
    assert_eq!(one - idle, 32 + 1 + 9 + 8, "a bit each in its chunk, known, mask, value");
}

#[test]
fn a_new_tenant_of_a_slot_is_never_taken_for_the_old() {
    let layouts = [bytes_layout(4), bytes_layout(9)];
    let mut base = Table::default();
    base.place(head(5, 1, 0), &layouts[0])[..4].copy_from_slice(&[1, 2, 3, 4]);
    // The same words, another generation; another kind; both.
    for stranger in [head(5, 2, 0), head(5, 1, 1), head(5, 2, 1)] {
        let mut now = base.clone();
        now.place(stranger, &layouts[usize::from(stranger.kind)])[..4]
            .copy_from_slice(&[1, 2, 3, 4]);
        let (back, _) = check_snapshot(&layouts, &base, &now);
        assert_eq!(back.head(5), Some(stranger));
        let layout = &layouts[usize::from(stranger.kind)];
        assert_eq!(back.record(5, layout), now.record(5, layout));
    }
}

#[test]
#[should_panic(expected = "slot 3 is in sight, but nobody stands there")]
fn one_in_sight_who_stands_nowhere_is_an_assertion() {
    let mut now = Table::default();
    now.visible.insert(3);
    snapshot(&[bytes_layout(1)], &Table::default(), &now);
}

#[test]
fn who_leaves_sight_and_returns_is_told_only_what_changed() {
    let layouts = [bytes_layout(40)];
    let mut here = Table::default();
    here.place(head(0, 1, 0), &layouts[0]);
    here.place(head(1, 1, 0), &layouts[0]).iter_mut().take(40).for_each(|word| *word = 7);
    let mut gone = here.clone();
    gone.visible.remove(1);
    let (base, _) = check_snapshot(&layouts, &here, &gone);
    assert!(!base.visible.contains(1));
    let mut back = here.clone();
    back.record_mut(1, &layouts[0])[4] = 8;
    let (_, returning) = check_snapshot(&layouts, &base, &back);
    let (_, new) = check_snapshot(&layouts, &Table::default(), &back);
    assert!(
        returning < 110 && new > 360,
        "{returning} bits for one who returns, {new} for two new"
    );
}

#[test]
fn a_damaged_snapshot_is_refused_or_another_lawful_one_and_never_a_panic() {
    let layouts = [layout(), bytes_layout(9)];
    let mut base = Table::default();
    let mut now = Table::default();
    for slot in 0..40 {
        let kind = u8::from(slot % 3 == 0);
        let zoo = &mut Zoo { health: slot as i32, ..Zoo::default() };
        for (table, health) in [(&mut base, 0), (&mut now, slot as i32)] {
            zoo.health = health;
            let head = head(slot, 1 + slot as u32 % 2, kind);
            match kind {
                0 => table.gather(head, &layouts[0], zoo),
                _ => table.place(head, &layouts[1])[0] = health as u32,
            }
        }
    }
    let (message, _) = snapshot(&layouts, &base, &now);
    for length in 0..message.len() {
        assert!(restore(&layouts, &base, &message[..length]).is_none(), "cut at {length}");
    }
    for bit in 0..message.len() * 8 {
        let mut damaged = message.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Some(back) = restore(&layouts, &base, &damaged) {
            assert_eq!(snapshot(&layouts, &base, &back).0, damaged, "bit {bit}");
        }
    }
}
