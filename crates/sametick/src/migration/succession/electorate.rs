//! Whose word decides who may be the server. Knows identities, no messages and no time.

use super::ELECTORS_MAX;
use crate::core::bits::{BitReader, BitWriter};

/// The players of one order. More than half of them decide, or exactly half with the first successor
/// among them: two groups that both decide always share a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Electorate {
    first: u64,
    /// Ascending.
    members: Vec<u64>,
}

impl Electorate {
    /// Those who matter most come first: of too many, the last do not decide.
    pub(crate) fn new(first: u64, by_weight: impl IntoIterator<Item = u64>) -> Self {
        let mut members = Vec::new();
        for member in by_weight {
            if members.len() < ELECTORS_MAX && !members.contains(&member) {
                members.push(member);
            }
        }
        members.sort_unstable();
        Self { first, members }
    }

    pub(crate) fn is_quorum(&self, is_with: impl Fn(u64) -> bool) -> bool {
        let with = self.members.iter().filter(|member| is_with(**member)).count();
        2 * with > self.members.len() || 2 * with == self.members.len() && is_with(self.first)
    }

    pub(crate) fn contains(&self, member: u64) -> bool {
        self.members.binary_search(&member).is_ok()
    }

    pub(super) fn write(&self, bits: &mut BitWriter) {
        bits.write(self.first, 64);
        bits.write(self.members.len() as u64, 8);
        self.members.iter().for_each(|member| bits.write(*member, 64));
    }

    pub(super) fn read(bits: &mut BitReader<'_>) -> Option<Self> {
        let first = bits.read(64);
        let count = bits.read(8) as usize;
        if !(1..=ELECTORS_MAX).contains(&count) {
            return None;
        }
        let members: Vec<u64> = (0..count).map(|_| bits.read(64)).collect();
        let is_ascending = members.is_sorted_by(|one, next| one < next);
        (is_ascending && members.contains(&first) && !bits.failed())
            .then_some(Self { first, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The electorates of one to eight, with each of them as the first successor.
    fn electorates() -> impl Iterator<Item = (Electorate, u64)> {
        (1..=8_u64).flat_map(|count| {
            (0..count).map(move |first| (Electorate::new(first, 0..count), (1 << count) - 1))
        })
    }

    fn decides(electorate: &Electorate, group: u64) -> bool {
        electorate.is_quorum(|member| group >> member & 1 == 1)
    }

    #[test]
    fn however_players_are_parted_in_two_exactly_one_part_decides() {
        for (electorate, all) in electorates() {
            for group in 0..=all {
                let sides = [group, all & !group].map(|side| decides(&electorate, side));
                assert!(sides[0] != sides[1], "{electorate:?} parted {group:b}");
            }
        }
    }

    #[test]
    fn who_decides_still_does_with_more() {
        for (electorate, all) in electorates() {
            for group in (0..=all).filter(|group| decides(&electorate, *group)) {
                for more in 0..=all {
                    assert!(decides(&electorate, group | more));
                }
            }
        }
    }

    #[test]
    fn of_two_the_successor_decides_alone() {
        let pair = Electorate::new(9, [4, 9]);
        assert!(pair.is_quorum(|member| member == 9));
        assert!(!pair.is_quorum(|member| member == 4));
    }

    #[test]
    fn no_more_decide_than_may() {
        let crowd = Electorate::new(500, (400..600).rev());
        assert_eq!(crowd.members.len(), ELECTORS_MAX);
        assert_eq!(crowd.members.last(), Some(&599), "the first who were named");
    }
}
