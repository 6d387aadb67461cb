//! Writes the inputs that the fuzzer starts from: `cargo run --manifest-path fuzz/Cargo.toml --example
//! seeds`. Each file is named for what is in it.

#[path = "../fuzz_targets/values.rs"]
mod values;

use sametick::bits::BitWriter;
use sametick::codec::zero_runs;
use sametick::{Table, delta};
use std::path::Path;
use values::{LAYOUTS, Purse, any_record, change_table, snapshot};

/// Kinds, as the targets number them.
const ZOO: u8 = 0;
const SHOWN: u8 = 1;
const CROWD: u8 = 2;
const KEEP: u8 = 1;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let targets = [
        ("bits", bits()),
        ("client_messages", sessions()),
        ("eventlock", event_locked()),
        ("lockstep", lockstep()),
        ("record", records()),
        ("replay", replays()),
        ("sequence", sequences()),
        ("server_messages", sessions()),
        ("snapshot", snapshots()),
        ("world_load", worlds()),
        ("zero_runs", runs()),
    ];
    for (target, seeds) in targets {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

type Seeds = Vec<(&'static str, Vec<u8>)>;

fn bits() -> Seeds {
    vec![
        ("one-bit-each", [&[8, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0xa5]].concat()),
        ("every-width", [&[64][..], &Vec::from_iter(0..64), &[0x5a; 260]].concat()),
        ("too-short", vec![2, 63, 63, 1, 2, 3]),
    ]
}

/// A record as the targets take it: how many words are set, then which and to what.
fn record(kind: u8, changes: &[(&str, u32)]) -> Vec<u8> {
    let words = LAYOUTS[usize::from(kind)].words();
    let mut bytes = vec![changes.len() as u8];
    for (name, word) in changes {
        let index = words.iter().position(|word| word.name == *name).expect("a word of this name");
        bytes.push(index as u8);
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn busy(kind: u8) -> Vec<u8> {
    match kind {
        CROWD => record(kind, &[("ages.length", 130), ("ages.0.age", 9), ("ages.129.age", 99)]),
        _ => record(
            kind,
            &[
                ("flags", 0x5a5a5),
                ("health", 60),
                ("mood", 2),
                ("position.x", if kind == ZOO { 0x3fc0_0000 } else { 12_345 }),
                ("speed", 0x3e00),
                ("rotation.largest", 2),
                ("target", 2 << 12 | 7),
                ("name.length", 3),
                ("name.0", u32::from_le_bytes(*b"Ada\0")),
                ("items.length", 2),
                ("items.1.kind", 5),
                ("joints.length", 1),
                ("joints.0.marks.length", 1),
                ("joints.0.turn.largest", 1),
            ],
        ),
    }
}

fn quiet(kind: u8) -> Vec<u8> {
    match kind {
        CROWD => record(kind, &[("ages.length", 3)]),
        _ => record(kind, &[("alive", 1)]),
    }
}

fn none() -> Vec<u8> {
    vec![0]
}

/// No damage, or these deeds.
fn damage(orders: &[u8]) -> Vec<u8> {
    [&[orders.len() as u8], orders].concat()
}

/// Options, then steps: a deed, a wish if it is one, and what becomes of each message that is on its way. With 8
/// among the options, what becomes of the first messages goes before the steps.
fn event_locked() -> Seeds {
    let seed = |options: u8, step: &[u8]| [&[options], &step.repeat(20)[..]].concat();
    // The upper bytes of a welcome's tick, or of its time, are turned over; then everything is planted.
    let late = |from: u8| {
        let bytes = [from, 0, 0xff, from + 1, 0, 0xff, from + 2, 0, 0xff];
        let welcome = [&[0x48, 6, 3][..], &bytes, &[0]].concat();
        [&welcome, &[0; 5][..], &[0xe1, 90, 0, 0].repeat(20)].concat()
    };
    vec![
        ("quiet", seed(0x41, &[0xff, 0, 0])),
        ("busy", seed(0x71, &[0x52, 200, 0, 0])),
        ("plants", seed(0xf0, &[0xe1, 90, 0, 0])),
        ("denied", seed(0x40, &[0xf2, 10, 0, 0])),
        ("lost", seed(0x42, &[0x52, 200, 3, 0, 3])),
        ("doubled", seed(0x42, &[0x52, 200, 4, 4])),
        ("damaged", seed(0x72, &[0x52, 200, 6, 1, 3, 0, 0x55, 0, 0])),
        ("made-up", seed(0x40, &[0x52, 200, 5, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0])),
        ("late-tick", late(19)),
        ("late-time", late(28)),
    ]
}

/// The options of a session, then steps: a deed (its upper half is the time, its lower the player's
/// wish or another map), the aim of a wish, and what becomes of the messages under way.
fn sessions() -> Seeds {
    const MANY_AND_RARE: u8 = 0xf9;
    const PASS: [u8; 4] = [0x45, 0, 0, 0];
    let repeated = |step: &[u8]| step.repeat(20);
    let seed = |options: u8, steps: &[&[u8]]| [&[options], &steps.concat()[..]].concat();
    let play = repeated(&[0x72, 200, 0, 0, 0]);
    vec![
        ("quiet", seed(0x40, &[&repeated(&PASS)])),
        ("busy", seed(0x40, &[&play])),
        ("without-prediction", seed(MANY_AND_RARE | 2, &[&play])),
        ("another-map", seed(0x55, &[&play, &[0x40, 0, 0, 0], &play])),
        ("lost", seed(0x44, &[&repeated(&[0x72, 200, 3, 0, 3])])),
        ("doubled", seed(0x44, &[&repeated(&[0x72, 200, 4, 4])])),
        ("damaged", seed(0x44, &[&repeated(&[0x72, 200, 6, 2, 3, 70, 0, 3, 200, 0, 0])])),
        ("made-up", seed(0x40, &[&play, &[0x55, 5, 9, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], &play])),
    ]
}

/// How many come; for each a deed (its kind, whether it is somebody's, who goes) and its record; then
/// damage.
fn worlds() -> Seeds {
    let seed = |comings: &[Vec<u8>], orders: &[u8]| {
        [&[comings.len() as u8], &comings.concat()[..], &damage(orders)].concat()
    };
    let zoo = |deed: u8| [&[deed], &busy(ZOO)[..]].concat();
    let crowd = |deed: u8| [&[deed | 1], &busy(CROWD)[..]].concat();
    vec![
        ("empty", seed(&[], &[])),
        ("one-of-each", seed(&[zoo(0), crowd(2)], &[])),
        ("some-gone", seed(&[zoo(0), zoo(2), crowd(12), zoo(28), zoo(0)], &[])),
        ("flipped", seed(&[zoo(0), crowd(2)], &[3, 50, 0, 3, 200, 1])),
        ("cut", seed(&[zoo(0), crowd(2)], &[0, 30, 0])),
    ]
}

/// Orders: how long to play, to whom something is said, and what is done to it.
fn lockstep() -> Seeds {
    vec![
        ("played", vec![0, 40, 0, 40, 0, 40]),
        ("damaged", vec![0, 40, 1, 3, 9, 200, 1, 7, 2, 0, 40]),
        ("made-up", vec![0, 40, 2, 8, 3, 0, 0, 0, 0, 0, 0, 255, 0, 40]),
        ("doubled", vec![0, 40, 3, 0, 40, 3, 1, 0, 40]),
        ("a-roster", told(0x82, &roster(3, 0, 2, 1))),
        ("a-stranger-s-roster", told(0xc2, &roster(3, 0, 2, 1))),
        ("a-far-tick", told(0x82, &roster(3, 0, 2, u32::MAX / 2))),
        ("a-far-epoch", told(0x82, &roster(3, 32_000, 2, 1))),
        ("a-far-version", told(0x82, &roster(3, 0, 32_000, 1))),
        ("called-for-a-far-epoch", told(0x82, &roster(6, 65_520, 32_000, 1))),
    ]
}

/// The first model, a while of play, a message to the second machine, and play again.
fn told(deed: u8, message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).expect("a short message");
    [&[0, 0, 60, deed, length], message, &[0, 250]].concat()
}

/// A word that has a roster of both machines, as PROTOCOL.md has it: of this kind, epoch and version, and from which
/// tick on they play.
fn roster(kind: u64, epoch: u64, version: u64, plays_from: u32) -> Vec<u8> {
    let mut bits = BitWriter::growing(1 << 12);
    bits.write(kind, 3);
    if kind == 6 {
        bits.write(0, 2);
    }
    bits.write(epoch, 16);
    bits.write(version & 0xff, 8);
    // It has a world and a roster, and nothing else to tell.
    bits.write(0b0_0000_1001, 9);
    bits.write(20, 16);
    bits.write(20, 16);
    bits.write(0, 4);
    bits.write(epoch, 16);
    bits.write(version, 16);
    let setup =
        [(0, 2), (1, 2), (0, 8), (0, 8), (16_667, 16), (2, 4), (0, 64), (1_800, 16), (1, 1)];
    let state = [(0, 16), (1, 1), (0, 1), (0, 5)];
    let paces = [(1, 2), (0, 32), (1, 6), (16_667, 20), (2, 5)];
    let parts = setup.into_iter().chain(state).chain(paces);
    parts.for_each(|(value, width)| bits.write(value, width));
    for seat in 0..2 {
        bits.write(seat, 16);
        [seat + 1, seat + 1].iter().for_each(|number| bits.write(*number, 64));
        bits.write_bytes(&[1; 16]);
        let rest =
            [(1, 16), (seat, 16), (1, 1), (0, 32), (1, 1), (u64::from(plays_from), 32), (0, 1)];
        rest.into_iter().for_each(|(value, width)| bits.write(value, width));
    }
    bits.finish().expect("it fits").to_vec()
}

/// A deed (its upper bit chooses the match), which block it is done to, and damage or bytes.
fn replays() -> Seeds {
    vec![
        ("whole", vec![5, 0]),
        ("trusted-and-sent", vec![0x85, 0]),
        ("without-a-checkpoint", vec![2, 1]),
        ("a-block-twice", vec![3, 3]),
        ("header-flipped", vec![5, 0, 3, 70, 0]),
        ("world-flipped", vec![5, 1, 3, 200, 0]),
        ("ticks-flipped", vec![5, 2, 3, 200, 1]),
        ("claims-flipped", vec![0x85, 2, 3, 200, 1, 3, 90, 2]),
        ("ticks-cut", vec![5, 2, 0, 40, 0]),
        ("made-up-ticks", vec![4, 2, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]),
        ("only-the-start", vec![1, 0, 0, 0, 0, 0, 0]),
        ("nothing-of-ours", vec![0, 0, 1, 2, 3]),
    ]
}

/// A kind, a base, a record, damage, and the record's message once more as bare bytes.
fn records() -> Seeds {
    let seed = |kind: u8, base: Vec<u8>, now: Vec<u8>, orders: &[u8]| {
        let index = usize::from(kind);
        let [first, second] =
            [&base, &now].map(|bytes| any_record(index, &mut Purse(bytes.as_slice())));
        let mut bits = BitWriter::growing(1 << 16);
        delta::write(&mut bits, &LAYOUTS[index], &first, &second);
        let message = bits.finish().expect("it fits");
        [&[kind], &base[..], &now, &damage(orders), message].concat()
    };
    vec![
        ("every-kind", seed(ZOO, none(), busy(ZOO), &[])),
        ("every-kind-as-shown", seed(SHOWN, none(), busy(SHOWN), &[])),
        ("back-to-quiet", seed(ZOO, busy(ZOO), quiet(ZOO), &[])),
        ("unchanged", seed(ZOO, busy(ZOO), busy(ZOO), &[])),
        ("three-masks", seed(CROWD, quiet(CROWD), busy(CROWD), &[])),
        ("flipped", seed(ZOO, quiet(ZOO), busy(ZOO), &[3, 70, 0, 3, 200, 0])),
        ("cut", seed(SHOWN, none(), busy(SHOWN), &[0, 9, 0])),
    ]
}

/// A kind, how many records, each with how often it is repeated, damage, and the message again.
fn sequences() -> Seeds {
    let seed = |kind: u8, records: &[(u8, Vec<u8>)], orders: &[u8]| {
        let mut bytes = vec![kind, records.len() as u8];
        let mut all = Vec::new();
        for (times, record) in records {
            bytes.push(times - 1);
            bytes.extend(record);
            let words = any_record(usize::from(kind), &mut Purse(record));
            all.extend(vec![words; usize::from(*times)]);
        }
        let mut bits = BitWriter::growing(1 << 16);
        let layout = &LAYOUTS[usize::from(kind)];
        delta::write_sequence(&mut bits, layout, all.iter().map(Vec::as_slice));
        [&bytes, &damage(orders)[..], bits.finish().expect("it fits")].concat()
    };
    vec![
        ("none", seed(ZOO, &[], &[])),
        ("initial-values", seed(ZOO, &[(3, none())], &[])),
        ("repeated", seed(ZOO, &[(16, busy(ZOO)), (16, quiet(ZOO)), (16, busy(ZOO))], &[])),
        ("as-shown", seed(SHOWN, &[(1, busy(SHOWN)), (2, quiet(SHOWN))], &[])),
        ("three-masks", seed(CROWD, &[(1, busy(CROWD)), (1, none())], &[])),
        ("flipped", seed(ZOO, &[(2, busy(ZOO)), (1, quiet(ZOO))], &[3, 90, 0])),
    ]
}

/// One who comes to a slot, in the way the targets take it.
fn comes(slot: u8, generation: u8, kind: u8, record: Vec<u8>) -> Vec<u8> {
    // Of the first byte, bits 2 to 5 are the deed and the generation; what is left of division by
    // three is the kind. The two bits below and the two above are free to make it so.
    let free =
        |deed: &u8| deed >> 2 & 3 == 2 && deed >> 4 & 3 == generation - 1 && deed % 3 == kind;
    let deed = (0..128).find(free).expect("some byte means this");
    [&[deed, slot], &record[..]].concat()
}

fn leaves(slot: u8) -> Vec<u8> {
    vec![0, slot]
}

fn in_the_last_slot(mut coming: Vec<u8>) -> Vec<u8> {
    let [meaning, kind] = [coming[0] & 0b11_1100, coming[0] % 3];
    let same = |deed: &u8| deed & 0b11_1100 == meaning && deed % 3 == kind;
    coming[0] = (128..=255).find(same).expect("some byte means this");
    coming
}

fn deeds(deeds: &[Vec<u8>]) -> Vec<u8> {
    [&[deeds.len() as u8], &deeds.concat()[..]].concat()
}

/// What happened before, whether it is kept, what happens now, damage, and the message again.
fn snapshots() -> Seeds {
    let seed = |before: &[Vec<u8>], keep: u8, now: &[Vec<u8>], orders: &[u8]| {
        let (before, after) = (deeds(before), deeds(now));
        let mut base = Table::default();
        change_table(&mut base, &mut Purse(&before));
        let mut now = if keep == 0 { Table::default() } else { base.clone() };
        change_table(&mut now, &mut Purse(&after));
        let message = snapshot(&base, &now);
        [&before[..], &[keep], &after, &damage(orders), &message].concat()
    };
    let three = [
        comes(0, 1, ZOO, busy(ZOO)),
        comes(1, 1, SHOWN, quiet(SHOWN)),
        comes(40, 1, CROWD, busy(CROWD)),
    ];
    vec![
        ("nobody", seed(&[], KEEP, &[], &[])),
        ("against-nothing", seed(&[], KEEP, &three, &[])),
        ("unchanged", seed(&three, KEEP, &[], &[])),
        ("one-changed", seed(&three, KEEP, &[comes(0, 1, ZOO, quiet(ZOO))], &[])),
        ("one-left", seed(&three, KEEP, &[leaves(40)], &[])),
        ("another-tenant", seed(&three, KEEP, &[comes(0, 2, ZOO, busy(ZOO))], &[])),
        ("another-kind", seed(&three, KEEP, &[comes(0, 1, CROWD, quiet(CROWD))], &[])),
        ("half-known", seed(&three[..1], KEEP, &three, &[])),
        ("all-forgotten", seed(&three, 0, &three[1..], &[])),
        ("last-slot", seed(&[], KEEP, &[in_the_last_slot(comes(0, 1, ZOO, busy(ZOO)))], &[])),
        ("flipped", seed(&three[..1], KEEP, &three, &[3, 120, 0, 3, 250, 1])),
    ]
}

/// The word length less two, then bytes: a message, shortened or not.
fn runs() -> Seeds {
    let sparse = [0, 0, 0, 0x2a, 0, 0, 0, 0, 7, 0];
    let seed = |word_bits: u32, message: &[u8]| {
        let mut bits = BitWriter::growing(4096);
        zero_runs::compress(message, word_bits, &mut bits);
        [&[word_bits as u8 - 2], bits.finish().expect("it fits")].concat()
    };
    let carried = |message: &[u8]| {
        let [mut bits, mut scratch] = [4096; 2].map(BitWriter::growing);
        zero_runs::write_message(&mut bits, message, Some(&mut scratch));
        [&[1], bits.finish().expect("it fits")].concat()
    };
    vec![
        ("all-zero", seed(3, &[0; 100])),
        ("sparse-by-two", seed(2, &sparse)),
        ("sparse-by-three", seed(3, &sparse)),
        ("sparse-by-eight", seed(8, &sparse)),
        ("no-zeros", seed(3, &[0x49, 0x92, 0x24])),
        ("carried-shortened", carried(&[0; 100])),
        ("carried-as-it-is", carried(&[0xff; 20])),
    ]
}
