//! Orders of conditions: as they are written, shuffled, or in Latin and Williams squares.

use sametick::Dice;

/// In which order each participant meets the conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they stand in the file.
    #[default]
    AsWritten,
    /// By chance, another for each participant.
    Shuffled,
    /// Each condition stands in each place equally often.
    Latin,
    /// That, and each condition follows each other one equally often.
    Williams,
}

impl Order {
    /// By the names that a file has.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("as_written", Self::AsWritten),
        ("shuffled", Self::Shuffled),
        ("latin", Self::Latin),
        ("williams", Self::Williams),
    ];

    /// How many participants, or a multiple of it, see everything balanced.
    ///
    /// ```
    /// use sametick_lab::Order;
    /// assert_eq!(Order::Williams.rows(4), 4);
    /// assert_eq!(Order::Williams.rows(5), 10);
    /// assert_eq!(Order::AsWritten.rows(5), 1);
    /// ```
    pub fn rows(self, conditions: usize) -> usize {
        match self {
            Self::AsWritten | Self::Shuffled => 1,
            Self::Latin => conditions,
            Self::Williams => conditions * (1 + conditions % 2),
        }
    }

    /// The order of one participant, counted from 0.
    pub fn of(self, participant: usize, conditions: usize, seed: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..conditions).collect();
        if conditions == 0 {
            return order;
        }
        match self {
            Self::AsWritten => {}
            Self::Shuffled => {
                let mut dice = Dice::new(seed, 0x0e5 ^ (participant as u64) << 16);
                for place in (1..conditions).rev() {
                    order.swap(place, dice.below(place as u64 + 1) as usize);
                }
            }
            Self::Latin => order.rotate_left(participant % conditions),
            Self::Williams => {
                // Zigzag from both ends, then each row one on; an odd square needs its mirror image too.
                let row = participant % self.rows(conditions);
                let zigzag = |place: usize| match place % 2 {
                    1 => place.div_ceil(2),
                    _ => (conditions - place / 2) % conditions,
                };
                order = (0..conditions).map(|place| (zigzag(place) + row) % conditions).collect();
                if row >= conditions {
                    order.reverse();
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn squares_are_balanced_by_place_and_williams_by_what_went_before() {
        for conditions in 1..=9 {
            for order in [Order::Latin, Order::Williams] {
                let rows = order.rows(conditions);
                let (mut places, mut pairs) = (BTreeMap::new(), BTreeMap::new());
                for participant in 0..rows {
                    let row = order.of(participant, conditions, 1);
                    let mut sorted = row.clone();
                    sorted.sort_unstable();
                    assert_eq!(sorted, (0..conditions).collect::<Vec<_>>());
                    for (place, condition) in row.iter().enumerate() {
                        *places.entry((place, *condition)).or_insert(0) += 1;
                    }
                    for pair in row.windows(2) {
                        *pairs.entry((pair[0], pair[1])).or_insert(0) += 1;
                    }
                }
                let even = |counts: &BTreeMap<(usize, usize), usize>| {
                    counts.values().all(|count| Some(count) == counts.values().next())
                };
                assert_eq!(places.len(), conditions * conditions);
                assert!(even(&places), "{order:?} of {conditions}");
                if order == Order::Williams && conditions > 1 {
                    assert_eq!(pairs.len(), conditions * (conditions - 1), "of {conditions}");
                    assert!(even(&pairs), "{order:?} of {conditions}: {pairs:?}");
                }
            }
        }
    }

    #[test]
    fn shuffled_orders_come_from_the_seed() {
        let order = |seed| Order::Shuffled.of(3, 12, seed);
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
