//! What the other end says of our packets, number by number: its own losses on the way to us change nothing.

use super::acknowledge::Acknowledgement;

/// An acknowledgement speaks of so many packets.
const SPOKEN_OF: u32 = 33;
/// Of a packet so far behind the newest nothing more is heard, except from acknowledgements that were overtaken.
const DECIDED_BEHIND: u32 = 40;
const OPEN: u64 = (1 << DECIDED_BEHIND) - 1;
/// Both together fit into a word.
const SHIFT_MAX: u64 = 24;
const _: () = assert!(DECIDED_BEHIND + SHIFT_MAX as u32 <= u64::BITS && SPOKEN_OF < DECIDED_BEHIND);

/// The packets that may still be heard of.
#[derive(Debug, Default)]
pub(super) struct Told {
    newest: u64,
    /// A bit for each, the newest lowest: whether it was spoken of, and whether it had arrived.
    spoken_of: u64,
    arrived: u64,
}

impl Told {
    /// Takes in an acknowledgement; `unused` is a number that was left out. Gives how many packets are known by
    /// now to have arrived, and not to have; of those never spoken of nothing is known.
    #[inline]
    pub(super) fn take(&mut self, told: Acknowledgement, first: u64, unused: u64) -> [u32; 2] {
        let mut ahead = told.newest.saturating_sub(self.newest);
        let [mut arrived, mut missing] = [0; 2];
        while ahead > 0 && self.spoken_of != 0 {
            let by = ahead.min(SHIFT_MAX);
            (self.spoken_of, self.arrived) = (self.spoken_of << by, self.arrived << by);
            let (gone, there) = (self.spoken_of >> DECIDED_BEHIND, self.arrived >> DECIDED_BEHIND);
            arrived += there.count_ones();
            missing += (gone & !there).count_ones();
            (self.spoken_of, self.arrived) = (self.spoken_of & OPEN, self.arrived & OPEN);
            ahead -= by;
        }
        self.newest = self.newest.max(told.newest);
        let back = self.newest - told.newest;
        if back < u64::from(DECIDED_BEHIND) {
            let count = (told.newest + 1).saturating_sub(first).min(u64::from(SPOKEN_OF));
            let mut spoken_of = (1 << count) - 1;
            if let Some(place @ 0..64) = told.newest.checked_sub(unused) {
                spoken_of &= !(1 << place);
            }
            self.spoken_of |= spoken_of << back & OPEN;
            self.arrived |= (1 | u64::from(told.before) << 1) << back & OPEN;
        }
        [arrived, missing]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dice::Dice;
    use crate::core::time::Span;

    /// Of 10,000 packets every `up`th is lost, and of their acknowledgements a share.
    fn count(up: u64, acknowledgements_lost: f64) -> [u32; 2] {
        let (mut told, mut dice) = (Told::default(), Dice::new(3, 1));
        let unused = 5_000;
        let came = |number: u64| number >= 1 && !number.is_multiple_of(up) && number != unused;
        let mut sums = [0; 2];
        for newest in (1..=10_000).filter(|number| came(*number)) {
            let before = (1..=32).filter(|back| newest > *back && came(newest - back));
            let before = before.fold(0, |bits, back| bits | 1 << (back - 1));
            if dice.unit() >= acknowledgements_lost {
                let told_now = Acknowledgement { newest, before, delay: Span::ZERO };
                let counted = told.take(told_now, 1, unused);
                sums = [sums[0] + counted[0], sums[1] + counted[1]];
            }
        }
        sums
    }

    #[test]
    fn what_the_other_end_misses_is_counted_whatever_we_miss_of_it() {
        let [arrived, missing] = count(10, 0.0);
        assert!((8_950..=8_970).contains(&arrived), "{arrived}");
        assert!((990..=1_000).contains(&missing), "{missing}");
        assert_eq!(count(10, 0.6), [arrived, missing]);
        let [_, none] = count(20_000, 0.6);
        assert_eq!(none, 0, "the number that was left out is not missed");
    }
}
