//! Fast hashes of datagrams, the same in every run. Knows no secret: nobody attacks a test's maps.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys are hashes already.
pub(crate) type ByHash = BuildHasherDefault<Unchanged>;

#[derive(Default)]
pub(crate) struct Unchanged(u64);

impl Hasher for Unchanged {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are hashes of 64 bits");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The hash of all that happened, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace(u64);

impl Trace {
    pub(crate) fn add(&mut self, kind: u64, value: u64) {
        self.0 = fold(self.0 ^ kind.rotate_left(56), value);
    }
}

pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = fold(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(hash, u64::from_le_bytes(last))
}

fn fold(hash: u64, word: u64) -> u64 {
    let product =
        u128::from(hash ^ 0xa076_1d64_78bd_642f) * u128::from(word ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}
