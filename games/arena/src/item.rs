//! An item of the map: there, or taken and back at a known tick. Where it lies and what it gives is content.

use sametick::{Fields, Networked, Tick};

/// Something to be taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// Its number in the map.
    pub index: u8,
    /// When it is back, if it is away.
    pub back_at: u32,
}

impl Networked for Item {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("index", &mut self.index, 8);
        f.bits("back_at", &mut self.back_at, 32);
    }
}

impl Item {
    /// Whether it is there in a tick.
    pub fn is_there(&self, tick: Tick) -> bool {
        tick.0 >= self.back_at
    }
}
