//! The compact codec's promises: what is written comes back, damage is noticed or harmless, tables are
//! refused when they are not whole, and all of it is worth its trouble.

#[path = "common/herd.rs"]
mod herd;

use herd::{layouts, play};
use sametick::bits::BitWriter;
use sametick::codec::compact::{Compact, Costs, Lineage, Tables, TablesError, train};
use sametick::codec::plain;
use sametick::record::mix;
use sametick::word::{Blend, Meaning, Word};
use sametick::{Dice, EntityId, Fields, Head, Layout, Networked, Precision, Table};

/// Trained once on seed 1; made by `trained_tables_are_written_to_the_tree`.
const GOLDEN: &[u8] = include_bytes!("golden/herd.tables");
/// A hash of all messages of a run with them, the same on every machine; `examples/compact_trace.rs` compares wasm.
const GOLDEN_MESSAGES: u64 = 0xfa47_859e_32e8_1ddd;

fn golden() -> Tables {
    Tables::from_bytes(GOLDEN).expect("the tables in the tree are whole")
}

fn trained(seeds: &[u64]) -> Tables {
    train::train(&layouts(), &mut |learn| {
        for seed in seeds {
            for age in 1..=2 {
                play(*seed, 300, age, &mut *learn);
            }
        }
    })
}

#[test]
fn where_questions_are_dear_fewer_are_asked_and_messages_are_a_little_longer() {
    let at = |price: f64| {
        train::train_at_price(price, &layouts(), &mut |learn| play(1, 300, 1, &mut *learn))
    };
    let (usual, dear) = (at(1.0), at(8.0));
    let sizes = [&dear, &usual].map(|tables| tables.to_bytes().len());
    assert!(sizes[0] * 10 < sizes[1] * 9, "{sizes:?} bytes of tables");
    let [longer, shorter] = [&dear, &usual].map(|tables| bytes(tables, 2, 1));
    assert!(longer > shorter, "{longer} and {shorter} bytes a snapshot");
    assert!(longer < 1.3 * shorter, "{longer} and {shorter} bytes a snapshot");
}

/// The mean bytes of a run.
fn bytes(tables: &Tables, seed: u64, age: usize) -> f64 {
    let (layouts, mut codec, mut sum) = (layouts(), Compact::new(tables.clone()), 0);
    play(seed, 300, age, |lineage, now| sum += codec.write(&layouts, lineage, now).len());
    sum as f64 / 300.0
}

fn plain_bytes(seed: u64, age: usize) -> f64 {
    let (layouts, mut sum) = (layouts(), 0);
    play(seed, 300, age, |lineage, now| {
        let mut bits = BitWriter::growing(1 << 16);
        plain::write(&mut bits, &layouts, lineage.base, now);
        sum += bits.bits_written().div_ceil(8);
    });
    sum as f64 / 300.0
}

#[test]
fn every_snapshot_comes_back_as_it_was_with_any_tables_and_any_lineage() {
    let layouts = layouts();
    for (name, tables) in [("built in", Tables::built_in(&layouts)), ("trained", golden())] {
        tables.check(&layouts).expect("they are for the herd");
        let mut codec = Compact::new(tables);
        let mut back = Table::default();
        for seed in 0..12 {
            play(seed, 120, 1 + seed as usize % 4, |whole, now| {
                for lineage in
                    [*whole, Lineage::of(whole.base), Lineage { earlier: None, ..*whole }]
                {
                    let message = codec.write(&layouts, &lineage, now).to_vec();
                    let read = codec.read(&layouts, &lineage, &message, &mut back);
                    assert_eq!(read, Ok(()), "{name}, seed {seed}");
                    assert!(back.looks_like(now, &layouts), "{name}, seed {seed}");
                }
            });
        }
    }
}

#[test]
fn what_is_read_from_damage_is_refused_or_is_exactly_what_it_says() {
    let layouts = layouts();
    for tables in [Tables::built_in(&layouts), golden()] {
        let mut codec = Compact::new(tables);
        let (mut back, mut refused, mut read) = (Table::default(), 0, 0);
        play(5, 12, 2, |lineage, now| {
            let message = codec.write(&layouts, lineage, now).to_vec();
            for index in 0..message.len() {
                for change in [0x01, 0x10, 0x80, 0xff] {
                    let mut damaged = message.clone();
                    damaged[index] ^= change;
                    if codec.read(&layouts, lineage, &damaged, &mut back).is_err() {
                        refused += 1;
                        continue;
                    }
                    read += 1;
                    assert!(!back.looks_like(now, &layouts), "damage at {index} changed nothing");
                    let mut seen = lineage.base.clone();
                    seen.copy_from(&back);
                    assert_eq!(
                        codec.write(&layouts, lineage, &seen),
                        damaged,
                        "two messages mean the same"
                    );
                }
                let cut = &message[..index];
                if codec.read(&layouts, lineage, cut, &mut back).is_ok() {
                    assert!(!back.looks_like(now, &layouts), "a cut message is the whole one");
                }
            }
        });
        assert!(refused > 0, "nothing was refused, and {read} were read");
    }
}

#[test]
fn tables_come_back_from_their_file_and_damage_is_refused() {
    let tables = golden();
    assert_eq!(tables.to_bytes(), GOLDEN);
    assert_eq!(Tables::from_bytes(b"no tables"), Err(TablesError::Foreign));
    let mut newer = GOLDEN.to_vec();
    newer[4] = 99;
    assert_eq!(Tables::from_bytes(&newer), Err(TablesError::Version(99)));
    for length in (6..GOLDEN.len()).step_by(397) {
        assert_eq!(
            Tables::from_bytes(&GOLDEN[..length]),
            Err(TablesError::Damaged),
            "cut at {length}"
        );
    }
    for index in (6..GOLDEN.len()).step_by(211) {
        let mut damaged = GOLDEN.to_vec();
        damaged[index] ^= 0x20;
        assert_eq!(Tables::from_bytes(&damaged), Err(TablesError::Damaged), "byte {index}");
        // Whoever makes the sum right must still not get anything unsafe past.
        let sum_at = damaged.len() - 8;
        let words = damaged[..sum_at].chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        });
        let sum = words.fold(sum_at as u64, mix);
        damaged.truncate(sum_at);
        damaged.extend(sum.to_le_bytes());
        if let Ok(tables) = Tables::from_bytes(&damaged)
            && tables.check(&layouts()).is_ok()
        {
            bytes(&tables, 3, 2);
        }
    }
}

#[test]
fn tables_of_another_game_are_refused() {
    let others = [Layout::of::<herd::Body>(Precision::State)];
    assert_eq!(golden().check(&others), Err(TablesError::OtherGame));
    let swapped = [&layouts()[1], &layouts()[0]].map(Clone::clone);
    // The leader's fields are the body's: only the hints differ, and those travel in the tables.
    assert_eq!(golden().check(&swapped), Ok(()));
    assert_eq!(
        TablesError::OtherGame.to_string(),
        "the tables were trained for other fields than this game has"
    );
}

#[test]
fn untrained_it_beats_plain_and_trained_it_beats_that_on_seeds_it_never_saw() {
    let (built_in, tables) = (Tables::built_in(&layouts()), trained(&[1, 2, 3]));
    for seed in [11, 12] {
        let plain = plain_bytes(seed, 2);
        let (untrained, unseen) = (bytes(&built_in, seed, 2), bytes(&tables, seed, 2));
        assert!(untrained < 0.95 * plain, "seed {seed}: {untrained} of {plain}");
        assert!(unseen < 0.6 * plain, "seed {seed}: {unseen} of {plain}");
        // Trained on the very run, it could not be much better.
        let itself = bytes(&trained(&[seed]), seed, 2);
        assert!(unseen < 1.15 * itself, "seed {seed}: {unseen} unseen, {itself} seen");
    }
}

#[test]
fn the_bytes_are_the_same_on_every_machine() {
    let (layouts, mut codec, mut hash) = (layouts(), Compact::new(golden()), 0);
    play(9, 200, 2, |lineage, now| {
        let message = codec.write(&layouts, lineage, now);
        hash = message.iter().fold(hash, |hash, byte| mix(hash, u32::from(*byte)));
    });
    assert_eq!(hash, GOLDEN_MESSAGES, "{hash:#018x}");
}

#[test]
fn what_is_explained_is_what_is_written() {
    let (layouts, mut codec, mut costs) = (layouts(), Compact::new(golden()), Costs::default());
    let mut bytes = 0;
    play(4, 100, 2, |lineage, now| {
        bytes += codec.write(&layouts, lineage, now).len();
        codec.explain(&layouts, lineage, now, &mut costs);
    });
    let rows = costs.rows(&layouts, &["Leader".into(), "Body".into()]);
    let explained = rows.iter().map(|row| row.bits).sum::<f64>() / 8.0;
    let written = bytes as f64;
    assert!((explained - written).abs() < 100.0 + 0.01 * written, "{explained} of {written} bytes");
    assert!(rows.iter().any(|row| row.name == "Body: place.x" && row.bits > 0.0));
}

#[test]
fn what_turns_past_half_a_turn_comes_back() {
    let word = Word::new("yaw", 4095, Meaning::Angle { bits: 12 }, Blend::Arc);
    let layouts = [Layout::new(Precision::State, vec![word], vec![0])];
    let head = Head { id: EntityId::new(0, 1).expect("the first name there is"), kind: 0 };
    let at = |yaw: u32| {
        let mut table = Table::default();
        table.place(head, &layouts[0])[0] = yaw;
        table
    };
    let (mut codec, mut back) = (Compact::new(Tables::built_in(&layouts)), Table::default());
    let yaws = [0, 1, 2046, 2047, 2048, 2049, 4094, 4095];
    for before in yaws.map(at) {
        for base in yaws.map(at) {
            for now in yaws.map(at) {
                let lineage = Lineage { before: Some(&before), ..Lineage::of(&base) };
                let message = codec.write(&layouts, &lineage, &now).to_vec();
                assert_eq!(codec.read(&layouts, &lineage, &message, &mut back), Ok(()));
                assert!(back.looks_like(&now, &layouts));
            }
        }
    }
}

/// Writes the tables in the tree anew: `cargo test -p sametick --test all compact -- --ignored`.
#[test]
#[ignore = "makes tests/golden/herd.tables"]
fn trained_tables_are_written_to_the_tree() {
    let tables = trained(&[1]).named("herd, seed 1");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/herd.tables");
    std::fs::write(path, tables.to_bytes()).expect("the tree can be written");
}

/// Rolls on evenly; how fast rarely changes, so that it is coded after where it is.
#[derive(Clone, Debug, Default)]
struct Cart {
    place: i32,
    speed: i32,
}

impl Networked for Cart {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("place", &mut self.place, 0..=1 << 20);
        f.int("speed", &mut self.speed, -2_000..=2_000);
        f.rate_of("speed", "place");
    }
}

/// Hands out what a run of carts looks like, each snapshot with the two before it.
fn roll(seed: u64, mut look: impl FnMut(&Lineage<'_>, &Table)) {
    let layout = Layout::of::<Cart>(Precision::State);
    let mut dice = Dice::new(seed, 0);
    let cart = |dice: &mut Dice| Cart { place: 1 << 19, speed: dice.below(2_000) as i32 - 1_000 };
    let mut carts: Vec<Cart> = (0..20).map(|_| cart(&mut dice)).collect();
    let mut tables: Vec<Table> = Vec::new();
    for _ in 0..200 {
        let mut table = Table::default();
        for (slot, cart) in carts.iter_mut().enumerate() {
            if dice.below(20) == 0 {
                cart.speed = dice.below(2_000) as i32 - 1_000;
            }
            cart.place = (cart.place + cart.speed).rem_euclid(1 << 20);
            let id = EntityId::new(slot, 1).expect("a slot");
            table.gather(Head { id, kind: 0 }, &layout, cart);
        }
        if let [.., before, base] = &tables[..] {
            look(&Lineage { before: Some(before), ..Lineage::of(base) }, &table);
        }
        tables.push(table);
    }
}

#[test]
fn what_was_coded_before_changes_nothing() {
    let layouts = [Layout::of::<Cart>(Precision::State)];
    let tables = train::train(&layouts, &mut |learn| roll(1, &mut *learn));
    let mut used = Compact::new(tables.clone());
    roll(2, |lineage, now| _ = used.write(&layouts, lineage, now));
    let mut back = Table::default();
    roll(3, |lineage, now| {
        let mut fresh = Compact::new(tables.clone());
        let message = used.write(&layouts, lineage, now).to_vec();
        assert_eq!(fresh.write(&layouts, lineage, now), message);
        let mut reader = Compact::new(tables.clone());
        assert_eq!(reader.read(&layouts, lineage, &message, &mut back), Ok(()));
        assert!(back.looks_like(now, &layouts));
    });
}
