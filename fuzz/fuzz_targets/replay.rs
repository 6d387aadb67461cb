//! Any bytes as a recording, and a recorded match whose blocks are damaged, left out or doubled, with sums that are
//! right: no panic, and what is played ends.
#![no_main]

#[path = "../../crates/sametick/tests/common/damage.rs"]
mod damage;
#[path = "../../crates/sametick/tests/common/shots.rs"]
mod shots;

use damage::damage;
use libfuzzer_sys::fuzz_target;
use sametick::replay::Replay;
use sametick::{Model, Tick};
use shots::{START_BYTES, Shots, blocks, join, record};
use std::sync::LazyLock;

static FILES: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [record(1, Model::HALF_LIFE, false), record(2, Model::FPSCI, true)]);

fuzz_target!(|input: &[u8]| {
    let Some(([deed, which], rest)) = input.split_first_chunk::<2>() else { return };
    let file = &FILES[usize::from(deed >> 7)];
    let (start, mut all) = (&file[..START_BYTES], blocks(file));
    let index = usize::from(*which) % all.len();
    match deed % 8 {
        0 => return play(rest.to_vec()),
        1 => return play([start, rest].concat()),
        2 => _ = all.remove(index),
        3 => all.insert(index, all[index].clone()),
        // A payload of the fuzzer's own.
        4 => all[index].1 = rest.to_vec(),
        _ => damage(&mut all[index].1, rest),
    }
    play(join(start, &all));
});

fn play(file: Vec<u8>) {
    let Ok(mut replay) = Replay::<Shots>::open(file, 1) else { return };
    let _ = replay.summary();
    let _ = replay.verify();
    let (first, last) = (replay.ticks().start().0, replay.ticks().end().0);
    let _ = replay.seek(Tick(first + (last - first) / 2));
    replay.sent().for_each(drop);
}
