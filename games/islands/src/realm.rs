//! What a player has: crystals, and how they come in. Nobody else is told.

use crate::squad::{CLOCK_BITS, moment};
use sametick::{Fields, Networked};

/// Of a crystal: what one worker gathers in a tick. Twelve ticks are a crystal.
pub const GRAINS: u32 = 12;
/// More crystals than this cannot be kept.
pub const CRYSTALS_MAX: u32 = 6000;
/// How many units a player can have while all who came are in the contest.
pub const UNITS_MAX: usize = 72;
/// How many at most, when others are out and have left their room ([`Contest::units_max`](crate::Contest::units_max)).
pub const UNITS_EACH_MAX: usize = 144;
/// The most that can come in, in grains a tick.
pub(crate) const RATE_MAX: u8 = 150;
/// How many buildings, bridges among them.
pub const BUILDINGS_MAX: usize = 96;

/// A player's crystals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realm {
    /// What there was when this was written.
    pub grains: u32,
    /// How many grains come in each tick: one from each worker who gathers, and some from the altar.
    pub rate: u8,
    /// When this was written.
    pub since: u16,
    /// Whose it is.
    pub seat: u8,
}

impl Networked for Realm {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("grains", &mut self.grains, 0..=CRYSTALS_MAX * GRAINS);
        f.int("rate", &mut self.rate, 0..=RATE_MAX);
        f.bits("since", &mut self.since, CLOCK_BITS);
        f.int("seat", &mut self.seat, 0..=7);
    }
}

impl Realm {
    /// What there is at a moment, in grains.
    pub fn grains(&self, clock: u32) -> u32 {
        let ticks = clock.saturating_sub(u32::from(self.since));
        self.grains
            .saturating_add(ticks.saturating_mul(self.rate.into()))
            .min(CRYSTALS_MAX * GRAINS)
    }

    /// What there is at a moment.
    pub fn crystals(&self, clock: u32) -> u32 {
        self.grains(clock) / GRAINS
    }

    pub(crate) fn settle(&mut self, clock: u32) {
        (self.grains, self.since) = (self.grains(clock), moment(clock));
    }

    pub(crate) fn pay(&mut self, crystals: u32, clock: u32) {
        self.settle(clock);
        self.grains = self.grains.saturating_sub(crystals * GRAINS);
    }

    pub(crate) fn earn(&mut self, crystals: u32, clock: u32) {
        self.settle(clock);
        self.grains = (self.grains + crystals * GRAINS).min(CRYSTALS_MAX * GRAINS);
    }

    pub(crate) fn set_rate(&mut self, rate: u8, clock: u32) {
        if rate != self.rate {
            self.settle(clock);
            self.rate = rate;
        }
    }
}
