//! Foreseeable bytes, so that a test fails every time or never. Compiled for tests only.

use super::random::Random;
use super::secret::Secret;

/// The same bytes for the same seed.
pub(super) struct Seeded {
    seed: Secret,
    drawn: u32,
}

impl Seeded {
    pub(super) fn new(seed: u8) -> Self {
        Self { seed: Secret::from_bytes([seed; 32]), drawn: 0 }
    }
}

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            self.drawn += 1;
            chunk.copy_from_slice(&self.seed.child(self.drawn).as_bytes()[..chunk.len()]);
        }
    }
}
