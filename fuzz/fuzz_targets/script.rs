//! The input of a fuzz target as a script: numbers and byte strings, one after the other.
#![allow(dead_code, reason = "no target uses all of it")]

use sametick::Dice;
use sametick::secure::Random;

/// Reads a script; at its end every number is zero and every string empty.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub fn short(&mut self) -> u16 {
        u16::from(self.byte()) | u16::from(self.byte()) << 8
    }

    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// As many bytes as the two before them say.
    pub fn string(&mut self) -> &'a [u8] {
        let length = self.short();
        self.bytes(length.into())
    }

    /// Changes a few bytes of a datagram, or cuts it; says whether it is another then.
    pub fn damage(&mut self, datagram: &mut Vec<u8>) -> bool {
        let before = datagram.clone();
        for _ in 0..self.byte() % 4 {
            let (at, with) = (usize::from(self.short()), self.byte());
            if let Some(byte) = datagram.get_mut(at) {
                *byte ^= with;
            }
        }
        if self.byte() % 8 == 7 {
            datagram.truncate(self.short().into());
        }
        *datagram != before
    }
}

/// Random bytes that are the same every time.
pub struct Seeded(Dice);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(Dice::new(seed, 0))
    }
}

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}
