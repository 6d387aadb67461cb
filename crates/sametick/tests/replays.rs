//! Recordings of a small game: the same match again, whatever is damaged, and bytes from anywhere.
#![cfg(feature = "secure")]

#[path = "common/shots.rs"]
mod shots;

use super::damage::damage;
use proptest::prelude::*;
use sametick::replay::{FORMAT_VERSION, Header, Replay, ReplayError};
use sametick::{Model, Tick, Trust};
use shots::{START_BYTES, Shots, blocks, join, record};
use std::sync::LazyLock;

static FILES: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [record(1, Model::HALF_LIFE, false), record(2, Model::FPSCI, true)]);

fn open(file: Vec<u8>) -> Result<Replay<Shots>, ReplayError> {
    Replay::open(file, 1)
}

#[test]
fn every_model_is_played_again_exactly() {
    for model in Model::ALL {
        let mut replay = open(record(3, model, false)).unwrap();
        let found = replay.verify().unwrap();
        assert_eq!(found.divergence, None, "{}", model.name);
        assert!(found.verdicts > 0 && found.checkpoints > 2, "{}: {found:?}", model.name);
        let summary = replay.summary().unwrap();
        assert_eq!(summary.claims > 0, model.rates.trust == Trust::Clients, "{}", model.name);
        assert_eq!(replay.world().tick(), summary.first, "it stands at the beginning again");
    }
}

#[test]
fn a_header_says_what_it_is_of() {
    let header = Header::read(&FILES[0]).unwrap();
    assert_eq!((header.build.as_str(), header.configuration.as_str()), ("test", "shots"));
    assert_eq!((header.seed, header.content_name), (1, 1));
    assert_eq!(header.rates.rewinding, Model::HALF_LIFE.rates.rewinding);
}

#[test]
fn what_cannot_be_played_is_refused_with_its_reason() {
    let file = &FILES[0];
    let refuse = |bytes: Vec<u8>| open(bytes).err().unwrap();
    assert_eq!(refuse(b"sametic".to_vec()), ReplayError::NotARecording);
    let mut newer = file.clone();
    newer[8] += 1;
    assert_eq!(refuse(newer), ReplayError::Version(FORMAT_VERSION + 1));
    assert_eq!(refuse(file[..START_BYTES + 20].to_vec()), ReplayError::Empty);
    let other = Replay::<Shots>::open(file.clone(), 2).err();
    assert_eq!(other, Some(ReplayError::Content { recorded: 1, given: 2 }));
    let mut others = blocks(file);
    others[0].1[16] ^= 1;
    let fields = refuse(join(&file[..START_BYTES], &others));
    assert_eq!(fields, ReplayError::Layouts { build: "test".into() });
}

#[test]
fn blocks_that_do_not_follow_end_the_match_there() {
    let file = &FILES[0];
    let all = blocks(file);
    let gone = all.iter().position(|(kind, _)| *kind == 2).unwrap();
    let mut fewer = all.clone();
    fewer.remove(gone);
    let replay = open(join(&file[..START_BYTES], &fewer)).unwrap();
    assert!(!replay.is_ended());
    assert_eq!(replay.ticks(), Tick(0)..=Tick(0));
}

/// Plays all that can be played.
fn try_all(file: Vec<u8>) {
    let Ok(mut replay) = open(file) else { return };
    let _ = replay.summary();
    let _ = replay.verify();
    let (first, last) = (replay.ticks().start().0, replay.ticks().end().0);
    let _ = replay.seek(Tick(first + (last - first) / 2));
    replay.sent().for_each(drop);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, begins in any::<bool>()) {
        let start: &[u8] = if begins { &FILES[0][..START_BYTES] } else { &[] };
        try_all([start, &bytes].concat());
    }

    #[test]
    fn damaged_blocks_with_right_sums_never_panic(
        file in 0usize..2,
        block: prop::sample::Index,
        orders in prop::collection::vec(any::<u8>(), 3..12),
    ) {
        let file = &FILES[file];
        let mut all = blocks(file);
        let index = block.index(all.len());
        damage(&mut all[index].1, &orders);
        try_all(join(&file[..START_BYTES], &all));
    }
}
