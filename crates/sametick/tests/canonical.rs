//! One encoding for each thing: whatever is read, however damaged, would be written so.
//!
//! Random bytes are nearly always refused, which proves little. So each test starts from a message
//! that was written, damages it, and counts how often it is still read.

use super::common::{Item, Zoo, zoo};
use super::damage::damage;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::word::{Blend, Meaning, Word};
use sametick::{ENTITY_SLOTS_MAX, EntityId, Head, Layout, List, Precision, Table, delta};
use std::cell::Cell;
use std::sync::LazyLock;

const CASES: u32 = 2000;

/// The zoo as it is, the zoo as it is shown, and a long record.
static LAYOUTS: LazyLock<[Layout; 3]> = LazyLock::new(|| {
    let word = |i| Word::new(&format!("w{i}"), 200, Meaning::Integer { low: 0 }, Blend::Snap);
    let long = Layout::new(Precision::State, (0..130).map(word).collect(), vec![7; 130]);
    [Layout::of::<Zoo>(Precision::State), Layout::of::<Zoo>(Precision::Shown), long]
});

/// Checks many cases and demands that of a hundred so many at least were read, damaged as they were.
fn check<S: Strategy>(
    percent_read_min: u32,
    cases: S,
    is_read: impl Fn(S::Value) -> Result<bool, TestCaseError>,
) {
    let read = Cell::new(0);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&cases, |case| {
        read.set(read.get() + u32::from(is_read(case)?));
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    let percent = read.get() * 100 / CASES;
    assert!(percent >= percent_read_min, "{percent} of a hundred were read");
}

/// From one deed to four.
fn orders() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 3..13)
}

fn damaged(message: &[u8], orders: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    damage(&mut message, orders);
    message
}

fn record(layout: &Layout, base: &[u32], words: &[u32]) -> Vec<u8> {
    let mut writer = BitWriter::growing(4096);
    delta::write(&mut writer, layout, base, words);
    writer.finish().expect("it fits").to_vec()
}

fn read_record(layout: &Layout, base: &[u32], message: &[u8]) -> Option<Vec<u32>> {
    let mut reader = BitReader::new(message);
    let mut words = vec![0; layout.len()];
    delta::read(&mut reader, layout, base, &mut words);
    reader.finish().ok().map(|()| words)
}

#[test]
fn a_damaged_record_is_refused_or_another_values() {
    check(25, (0usize..2, zoo(), zoo(), orders()), |(kind, base, now, orders)| {
        let layout = &LAYOUTS[kind];
        let base = layout.record(&base);
        let written = record(layout, &base, &layout.record(&now));
        let message = damaged(&written, &orders);
        let Some(words) = read_record(layout, &base, &message) else { return Ok(false) };
        prop_assert_eq!(&record(layout, &base, &words), &message);
        let value = layout.value::<Zoo>(&words);
        prop_assert_eq!(layout.record(&value), words, "what was read is what a value has");
        Ok(message != written)
    });
}

#[test]
fn any_bytes_as_a_record_are_refused_or_written_so() {
    check(0, (zoo(), any::<Vec<u8>>()), |(base, message)| {
        let base = LAYOUTS[0].record(&base);
        let Some(words) = read_record(&LAYOUTS[0], &base, &message) else { return Ok(false) };
        prop_assert_eq!(record(&LAYOUTS[0], &base, &words), message);
        Ok(true)
    });
}

fn sequence(layout: &Layout, records: &[Vec<u32>]) -> Vec<u8> {
    let mut writer = BitWriter::growing(1 << 16);
    delta::write_sequence(&mut writer, layout, records.iter().map(Vec::as_slice));
    writer.finish().expect("it fits").to_vec()
}

fn read_sequence(layout: &Layout, message: &[u8]) -> Option<Vec<Vec<u32>>> {
    let mut reader = BitReader::new(message);
    let mut records = Vec::new();
    delta::read_sequence(&mut reader, layout, |words| records.push(words.to_vec()));
    reader.finish().ok().map(|()| records)
}

#[test]
fn a_damaged_sequence_is_refused_or_another() {
    let commands = prop::collection::vec((zoo(), 1usize..4), 0..4);
    check(15, (0usize..2, commands, orders()), |(kind, commands, orders)| {
        let layout = &LAYOUTS[kind];
        let repeated = commands.iter().flat_map(|(zoo, times)| vec![layout.record(zoo); *times]);
        let written = sequence(layout, &repeated.collect::<Vec<_>>());
        let message = damaged(&written, &orders);
        let Some(records) = read_sequence(layout, &message) else { return Ok(false) };
        prop_assert_eq!(&sequence(layout, &records), &message);
        Ok(message != written)
    });
}

#[test]
fn any_bytes_as_a_sequence_are_refused_or_written_so() {
    check(0, any::<Vec<u8>>(), |message| {
        let Some(records) = read_sequence(&LAYOUTS[0], &message) else { return Ok(false) };
        prop_assert_eq!(sequence(&LAYOUTS[0], &records), message);
        Ok(true)
    });
}

#[test]
fn a_command_that_is_said_to_differ_and_does_not_is_refused() {
    let word = Word::new("w", 1, Meaning::Flag, Blend::Snap);
    let layout = Layout::new(Precision::State, vec![word], vec![0]);
    // One record; it differs; a mask without a change.
    assert_eq!(read_sequence(&layout, &[0b0100_0001]), None);
    assert_eq!(read_sequence(&layout, &[0b0000_0001]), Some(vec![vec![0]]));
    assert_eq!(read_sequence(&layout, &[0b1100_0001, 1]), Some(vec![vec![1]]));
}

/// Who stands in a slot, and who stood there in the base.
#[derive(Clone, Debug)]
struct Tenancy {
    slot: usize,
    before: Option<Tenant>,
    now: Option<Tenant>,
    is_known_unchanged: bool,
    was_in_sight: bool,
}

#[derive(Clone, Debug)]
struct Tenant {
    generation: u32,
    kind: u8,
    zoo: Zoo,
}

fn tenant() -> impl Strategy<Value = Tenant> {
    let tenant = (1u32..3, 0u8..3, zoo());
    tenant.prop_map(|(generation, kind, zoo)| Tenant { generation, kind, zoo })
}

/// Few slots, some of them far off; with any base, with an empty one, with all in it.
fn tenancies() -> impl Strategy<Value = Vec<Tenancy>> {
    let slot = prop_oneof![9 => 0usize..70, 1 => ENTITY_SLOTS_MAX - 3..ENTITY_SLOTS_MAX];
    let tenancy =
        (slot, prop::option::of(tenant()), prop::option::of(tenant()), any::<[bool; 2]>());
    let tenancy = tenancy.prop_map(|(slot, before, now, [is_known_unchanged, was_in_sight])| {
        Tenancy { slot, before, now, is_known_unchanged, was_in_sight }
    });
    (prop::collection::vec(tenancy, 0..10), 0..3).prop_map(|(mut tenancies, base)| {
        for tenancy in &mut tenancies {
            match base {
                0 => tenancy.before = None,
                1 => tenancy.before = tenancy.before.take().or_else(|| tenancy.now.clone()),
                _ => {}
            }
        }
        tenancies
    })
}

fn tables(tenancies: &[Tenancy]) -> (Table, Table) {
    let mut base = Table::default();
    for Tenancy { slot, before, was_in_sight, .. } in tenancies {
        if let Some(tenant) = before {
            settle_in(&mut base, *slot, tenant);
        }
        if !was_in_sight {
            base.visible.remove(*slot);
        }
    }
    let mut now = base.clone();
    for Tenancy { slot, now: tenant, is_known_unchanged, .. } in tenancies {
        let stays = *is_known_unchanged && base.head(*slot).is_some();
        match tenant {
            _ if stays => now.visible.insert(*slot),
            Some(tenant) => settle_in(&mut now, *slot, tenant),
            None => now.visible.remove(*slot),
        }
    }
    (base, now)
}

fn settle_in(table: &mut Table, slot: usize, tenant: &Tenant) {
    let id = EntityId::new(slot, tenant.generation).expect("a lawful name");
    let head = Head { id, kind: tenant.kind };
    let layout = &LAYOUTS[usize::from(tenant.kind)];
    match tenant.kind {
        2 => table.place(head, layout)[slot % 130] = tenant.zoo.flags % 200,
        _ => table.gather(head, layout, &mut tenant.zoo.clone()),
    }
}

fn snapshot(base: &Table, now: &Table) -> Vec<u8> {
    let mut writer = BitWriter::growing(1 << 20);
    plain::write(&mut writer, &*LAYOUTS, base, now);
    writer.finish().expect("it fits").to_vec()
}

fn read_snapshot(base: &Table, message: &[u8]) -> Option<Table> {
    let mut reader = BitReader::new(message);
    let mut now = Table::default();
    plain::read(&mut reader, &*LAYOUTS, base, &mut now);
    reader.finish().ok().map(|()| now)
}

#[test]
fn a_damaged_snapshot_is_refused_or_another() {
    check(10, (tenancies(), orders()), |(tenancies, orders)| {
        let (base, now) = tables(&tenancies);
        let written = snapshot(&base, &now);
        let back = read_snapshot(&base, &written).expect("our own snapshot is read");
        prop_assert!(back.looks_like(&now, &*LAYOUTS));
        let message = damaged(&written, &orders);
        let Some(back) = read_snapshot(&base, &message) else { return Ok(false) };
        prop_assert_eq!(&snapshot(&base, &back), &message);
        Ok(message != written)
    });
}

#[test]
fn any_bytes_as_a_snapshot_are_refused_or_written_so() {
    check(0, (tenancies(), any::<Vec<u8>>()), |(tenancies, message)| {
        let (base, _) = tables(&tenancies);
        let Some(back) = read_snapshot(&base, &message) else { return Ok(false) };
        prop_assert_eq!(snapshot(&base, &back), message);
        Ok(true)
    });
}

#[test]
fn damaged_zero_runs_are_refused_or_another_messages() {
    let sparse = prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 0..100);
    check(35, (sparse, 2u32..=8, orders()), |(sparse, word_bits, orders)| {
        let compress = |message: &[u8]| {
            let mut compressed = BitWriter::growing(4096);
            zero_runs::compress(message, word_bits, &mut compressed);
            compressed.finish().expect("it fits").to_vec()
        };
        let written = compress(&sparse);
        let compressed = damaged(&written, &orders);
        let mut message = BitWriter::growing(4096);
        let is_read = zero_runs::expand(&compressed, word_bits, &mut message).is_ok();
        if is_read {
            prop_assert_eq!(&compress(message.finish().unwrap()), &compressed);
        }
        Ok(is_read && compressed != written)
    });
}

#[test]
fn one_who_is_said_to_be_known_over_an_empty_slot_is_refused() {
    let word = Word::new("w", 255, Meaning::Integer { low: 0 }, Blend::Snap);
    let layouts = [Layout::new(Precision::State, vec![word], vec![0])];
    let message = |known: bool| {
        let mut bits = BitWriter::fixed(32);
        bits.write(1, 8); // One chunk,
        bits.write(1 | 1 << 1, 1 + 32); // which differs: slot 0 is in sight,
        bits.write(0b11, 2); // and changed.
        bits.write_bool(!known);
        if !known {
            bits.write(1, 20);
        }
        bits.write(1 | 9 << 1, 1 + 8); // Its only word is 9.
        bits.finish().expect("it fits").to_vec()
    };
    let read = |known| {
        let (message, mut now) = (message(known), Table::default());
        let mut reader = BitReader::new(&message);
        plain::read(&mut reader, &layouts, &Table::default(), &mut now);
        reader.finish().is_ok()
    };
    assert!(read(false), "a stranger is welcome");
    assert!(!read(true), "nobody stood there");
}

#[test]
fn words_that_no_value_has_are_refused() {
    let layout = &LAYOUTS[0];
    let mut zoo = Zoo { items: List::from_iter([Item::default()]), ..Zoo::default() };
    zoo.name = sametick::Text::cut("Zoë");
    zoo.joints.push(Default::default());
    let words = layout.record(&zoo);
    let check = |wrong: &str, changes: &[(&str, u32)]| {
        let mut words = words.clone();
        for (name, word) in changes {
            let index = layout.words().iter().position(|word| word.name == *name);
            words[index.expect("a word of this name")] = *word;
        }
        let message = record(layout, layout.initial(), &words);
        let lawful = wrong.is_empty();
        assert_eq!(read_record(layout, layout.initial(), &message).is_some(), lawful, "{wrong}");
    };
    check("", &[]);
    check("", &[("items.0.kind", 3)]);
    check("an unused item is not zero", &[("items.1.kind", 3)]);
    check("a choice that is none", &[("mood", 3)]);
    check("minus zero", &[("speed", 1 << 15)]);
    check("not finite", &[("yaw", f32::INFINITY.to_bits())]);
    check("a name without a generation", &[("target", 5)]);
    check("half a character", &[("name.length", 3)]);
    check("bytes behind a text", &[("name.4", 1)]);
    check("a rotation whose fourth component is not the largest", &[("rotation.a", 510)]);
    let zeros = ["largest", "a", "b", "c"].map(|part| format!("joints.0.turn.{part}"));
    check("a used item without a rotation", &zeros.each_ref().map(|name| (name.as_str(), 0)));
    check("an unused item within a used one", &[("joints.0.marks.1.mark", 1)]);
}
