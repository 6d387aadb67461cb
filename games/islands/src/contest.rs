//! The contest: when it began, who is in it, and who has won.

use crate::realm::{UNITS_EACH_MAX, UNITS_MAX};
use sametick::{Fields, List, Networked, Tick};

/// How many can play.
pub const SEATS_MAX: usize = 8;
/// Ticks a second. The rules count in ticks: games are held at this rate.
pub const TICKS_PER_SECOND: u32 = 20;

/// What everyone knows of the contest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contest {
    /// The tick before its first; 0 before anyone came.
    pub began: u32,
    /// Which seats were ever taken, a bit each.
    pub came: u8,
    /// Which of them are out.
    pub out: u8,
    /// Whether it has ended.
    pub is_over: bool,
    /// Who has won, if it has ended and someone has: a seat's number.
    pub winner: Option<u8>,
    /// At its end, what each seat had: the cost of all that stood.
    pub scores: List<u16, SEATS_MAX>,
}

impl Networked for Contest {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("began", &mut self.began, 32);
        f.bits("came", &mut self.came, 8);
        f.bits("out", &mut self.out, 8);
        f.bool("is_over", &mut self.is_over);
        let mut winner = self.winner.map_or(0, |seat| seat + 1);
        f.int("winner", &mut winner, 0..=SEATS_MAX as u8);
        if F::WRITES {
            self.winner = winner.checked_sub(1);
        }
        f.list("scores", &mut self.scores, |f, score| {
            f.bits("points", score, 16);
        });
    }
}

impl Contest {
    /// The contest's own clock: ticks since it began.
    pub fn clock(&self, tick: Tick) -> u32 {
        if self.began == 0 { 0 } else { tick.0.saturating_sub(self.began) }
    }

    /// Whether a seat is in it.
    pub fn plays(&self, seat: u8) -> bool {
        let bit = 1_u8.checked_shl(u32::from(seat)).unwrap_or(0);
        self.came & bit != 0 && self.out & bit == 0
    }

    /// How many units each can have: whoever is out leaves its room to the others, so that the war does not thin out.
    pub fn units_max(&self) -> usize {
        let room = UNITS_MAX * self.came.count_ones().max(1) as usize;
        (room / self.playing().max(1) as usize).min(UNITS_EACH_MAX)
    }

    /// How many are in it.
    pub fn playing(&self) -> u32 {
        (self.came & !self.out).count_ones()
    }
}
