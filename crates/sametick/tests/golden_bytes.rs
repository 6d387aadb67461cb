//! The bytes themselves: what PROTOCOL.md shows is what is written, here and on every platform.

use sametick::bits::{BitReader, BitWriter};
use sametick::codec::{plain, zero_runs};
use sametick::kinds::*;
use sametick::{
    EntityId, Fields, Head, Layout, List, Networked, Precision, Table, Text, delta, record,
};
use std::f32::consts::FRAC_PI_2;

const PROTOCOL: &str = include_str!("../../../PROTOCOL.md");

/// The runner of PROTOCOL.md.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Runner {
    x: f32,
    facing: f32,
    health: u8,
    armed: bool,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.ranged("x", &mut self.x, -50.0..=50.0, 0.01);
        f.angle("facing", &mut self.facing, 12);
        f.int("health", &mut self.health, 0..=100);
        f.bool("armed", &mut self.armed);
    }
}

/// The rocket of PROTOCOL.md.
#[derive(Clone, Debug, Default)]
struct Rocket {
    speed: f32,
    owner: Option<EntityId>,
}

impl Networked for Rocket {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.float("speed", &mut self.speed, 5, 10);
        f.entity("owner", &mut self.owner);
    }
}

const HURT: Runner = Runner { x: 1.23, facing: FRAC_PI_2, health: 60, armed: false };

/// The bytes are these, and the protocol shows them.
fn check(golden: &str, bytes: &[u8]) {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex.join(" "), golden);
    assert!(PROTOCOL.contains(&format!("`{golden}`")), "PROTOCOL.md does not show {golden}");
}

fn written(write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut bits = BitWriter::growing(1200);
    write(&mut bits);
    bits.finish().expect("it fits").to_vec()
}

#[test]
fn a_record() {
    let layout = Layout::of::<Runner>(Precision::State);
    let words = layout.record(&HURT);
    assert_eq!(words, [5123, 1024, 60, 0]);
    let bytes = written(|bits| delta::write(bits, &layout, layout.initial(), &words));
    check("37 40 01 10 0f", &bytes);
}

#[test]
fn a_sequence() {
    let layout = Layout::of::<Runner>(Precision::State);
    let [first, third] = [HURT, Runner { armed: true, ..HURT }].map(|wish| layout.record(&wish));
    let records = [&first[..], &first, &third];
    let bytes = written(|bits| delta::write_sequence(bits, &layout, records.into_iter()));
    check("c3 1b a0 00 88 27 06", &bytes);
    let mut back = Vec::new();
    delta::read_sequence(&mut BitReader::new(&bytes), &layout, |words| back.push(words.to_vec()));
    assert_eq!(back, records);
}

#[test]
fn a_snapshot() {
    let layouts = [Layout::of::<Runner>(Precision::State), Layout::of::<Rocket>(Precision::State)];
    let head = |slot, generation, kind| {
        let id = EntityId::new(slot, generation).expect("a lawful name");
        Head { id, kind }
    };
    let mut base = Table::default();
    base.gather(head(0, 1, 0), &layouts[0], &mut HURT.clone());
    base.gather(head(1, 1, 0), &layouts[0], &mut HURT.clone());
    let mut now = base.clone();
    now.gather(head(1, 1, 0), &layouts[0], &mut Runner { health: 59, ..HURT });
    let mut rocket = Rocket { speed: 1.5, owner: Some(head(1, 1, 0).id) };
    now.gather(head(33, 2, 1), &layouts[1], &mut rocket);
    let bytes = written(|bits| plain::write(bits, &layouts, &base, &now));
    check("02 0a 00 00 00 14 ed 2e 00 00 07 f0 09 80 00 00 00", &bytes);
    let (mut reader, mut back) = (BitReader::new(&bytes), Table::default());
    plain::read(&mut reader, &layouts, &base, &mut back);
    assert!(reader.finish().is_ok() && back.looks_like(&now, &layouts));
    assert_eq!(now.hash(&layouts), 0xfc88_733c_b5f0_f779);
}

#[test]
fn messages_with_and_without_zero_runs() {
    let message = [0, 0, 0, 0x2a, 0, 0, 0, 0];
    let mut scratch = BitWriter::growing(1200);
    check(
        "01 b8 8a 63",
        &written(|bits| zero_runs::write_message(bits, &message, Some(&mut scratch))),
    );
    check(
        "00 00 00 00 2a 00 00 00 00",
        &written(|bits| zero_runs::write_message(bits, &message, None)),
    );
    // What would become longer is sent as it is.
    let busy = [0x49, 0x92];
    check("00 49 92", &written(|bits| zero_runs::write_message(bits, &busy, Some(&mut scratch))));
}

#[test]
fn a_layouts_fingerprint_and_a_records_hash() {
    let [state, shown] = [Precision::State, Precision::Shown].map(Layout::of::<Runner>);
    let rocket = Layout::of::<Rocket>(Precision::State);
    let fingerprints = [state.fingerprint(), shown.fingerprint(), rocket.fingerprint()];
    assert_eq!(
        fingerprints.map(|number| format!("{number:016x}")),
        ["411420994ac94ded", "284b1aacafc9e18c", "7341f6e2b0a72abe"]
    );
    assert_eq!(record::hash(&state.record(&HURT)), 0xf07f_e62a_1465_c29c);
}

/// A row of the protocol's table: the kind, a value of it, and the words that it becomes.
fn check_kind<K: Kind>(name: &str, shown: &str, value: K::Value, kind: K, golden: &str) {
    let mut words = vec![0; K::WORDS];
    kind.gather(&value, &mut words);
    check_words(name, shown, &words, golden);
}

fn check_words(name: &str, shown: &str, words: &[u32], golden: &str) {
    let hex: Vec<String> = words.iter().map(|word| format!("{word:x}")).collect();
    assert_eq!(hex.join(" "), golden, "{name} of {shown}");
    let row = format!("| {name} | {shown} | `{golden}` |");
    assert!(PROTOCOL.contains(&row), "PROTOCOL.md does not have the row {row}");
}

#[test]
fn words_of_whole_numbers_and_names() {
    check_kind("bits, 5", "51", 51u8, Bits::new(5), "13");
    check_kind("integer, −10 to 100", "42", 42, Int::<i32>::new(-10..=100), "34");
    check_kind("integer, −10 to 100", "200", 200, Int::<i32>::new(-10..=100), "6e");
    check_kind("integer, 3 to 3", "3", 3, Int::<u8>::new(3..=3), "0");
    check_kind("flag", "true", true, Flag, "1");
    check_kind("choice of three", "the third", 'c', Choice::new(&['a', 'b', 'c']), "2");
    check_kind("reference", "slot 7, generation 2", EntityId::new(7, 2), Reference, "2007");
    check_kind("reference", "nobody", None, Reference, "0");
    check_kind("text of at most 6", "año", Text::cut("año"), Characters::<6>, "4 6fb1c361 0");
    let mut list = Short { digits: List::from_iter([4, 9]) };
    let layout = Layout::of::<Short>(Precision::State);
    check_words("list of at most 3, 0 to 12", "4, 9", &layout.record(&list), "2 4 9 0");
    list.digits.clear();
    check_words("list of at most 3, 0 to 12", "empty", &layout.record(&list), "0 0 0 0");
}

#[derive(Clone, Default)]
struct Short {
    digits: List<u8, 3>,
}

impl Networked for Short {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.list("digits", &mut self.digits, |f, digit| {
            f.int("digit", digit, 0..=12);
        });
    }
}

#[test]
fn words_of_numbers_with_a_fraction() {
    check_kind("exact float", "1.5", 1.5, Exact, "3fc00000");
    check_kind("exact float", "−0", -0.0, Exact, "80000000");
    let half = SmallFloat::new(5, 10);
    check_kind("small float, 5 and 10", "1.5", 1.5, half, "3e00");
    check_kind("small float, 5 and 10", "−0.000001", -0.000_001, half, "8011");
    check_kind("small float, 5 and 10", "2049", 2049.0, half, "6800");
    check_kind("small float, 5 and 10", "1,000,000", 1e6, half, "7fff");
    check_kind("small float, 5 and 10", "−0", -0.0, half, "0");
    check_kind("small float, 8 and 7", "the largest f32", f32::MAX, SmallFloat::new(8, 7), "7f7f");
    let metres = Ranged::new(-50.0..=50.0, 0.01);
    check_kind("ranged float, −50 to 50 by 0.01", "12.344", 12.344, metres, "185a");
    check_kind("ranged float, −50 to 50 by 0.01", "60", 60.0, metres, "2710");
    let halves = Ranged::new(-2.0..=2.0, 0.5);
    check_kind("ranged float, −2 to 2 by 0.5", "0.25", 0.25, halves, "4");
    check_kind("ranged float, −2 to 2 by 0.5", "0.75", 0.75, halves, "6");
    let angle = Angle::new(12);
    check_kind("angle, 12", "π / 2", FRAC_PI_2, angle, "400");
    check_kind("angle, 12", "−π / 2", -FRAC_PI_2, angle, "c00");
    check_kind("angle, 12", "7", 7.0, angle, "1d3");
}

#[test]
fn words_of_directions_and_rotations() {
    check_kind("direction, 5", "0.6, −0.8, 0", [0.6, -0.8, 0.0], Direction::new(5), "18 3 f");
    let folded = Octahedral::new(8);
    check_kind("octahedral, 8", "0.6, −0.8, 0", [0.6, -0.8, 0.0], folded, "b5 36");
    check_kind("octahedral, 8", "0, 0.6, −0.8", [0.0, 0.6, -0.8], folded, "c8 fe");
    check_kind("octahedral, 8", "−0, 0.6, −0.8", [-0.0, 0.6, -0.8], folded, "36 fe");
    check_kind("octahedral, 8", "0, 0, 0", [0.0; 3], folded, "7f 7f");
    let nine = Quaternion::new(9);
    check_kind("quaternion, 9", "0, 0, 0.6, 0.8", [0.0, 0.0, 0.6, 0.8], nine, "3 ff ff 1d7");
    check_kind("quaternion, 9", "0, 0, −0.8, −0.6", [0.0, 0.0, -0.8, -0.6], nine, "2 ff ff 1d7");
    check_kind(
        "quaternion, 9",
        "−0.5, 0.5, 0.5, −0.5",
        [-0.5, 0.5, 0.5, -0.5],
        nine,
        "0 4b 4b 1b3",
    );
    let turned = [0.0, std::f32::consts::FRAC_1_SQRT_2, 0.0, std::f32::consts::FRAC_1_SQRT_2];
    check_kind("quaternion, 9", "0, √½, 0, √½", turned, nine, "1 ff ff 1fd");
}
