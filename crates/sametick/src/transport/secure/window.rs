//! Which packet numbers have been seen, and what a short number means. Knows nothing of keys: the
//! opener asks before it decrypts and tells after.

use crate::core::mutant::{self, Mutant};

/// How far behind the newest packet another may arrive.
pub const REPLAY_WINDOW_PACKETS: u64 = 1024;
/// No packet has this number or a higher one: the connection closes before.
pub const PACKET_NUMBERS: u64 = 1 << 48;

const WORDS: usize = REPLAY_WINDOW_PACKETS as usize / 64;
/// Numbers that share their low 16 bits lie this far apart.
const LAP: u64 = 1 << 16;

/// The numbers seen, by their low bits, and the highest of them.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// One more than the highest number seen.
    next: u64,
    seen: [u64; WORDS],
}

/// Why a number is not welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwelcome {
    Replayed,
    TooOld,
    Exhausted,
}

impl Window {
    /// Nothing was seen; the first number will be around `first`.
    pub(super) fn new(first: u64) -> Self {
        // Numbers before the first do not exist, so they count as seen.
        Self { next: first, seen: [u64::MAX; WORDS] }
    }

    /// The number that ends in `low` and is nearest to the next one.
    #[inline]
    pub(super) fn reconstruct(&self, low: u16) -> u64 {
        let candidate = (self.next & !(LAP - 1)) | u64::from(low);
        if candidate + LAP / 2 <= self.next {
            candidate + LAP
        } else if candidate > self.next + LAP / 2 && candidate >= LAP {
            candidate - LAP
        } else {
            candidate
        }
    }

    /// Whether a packet of this number may still come. Changes nothing.
    #[inline]
    pub(super) fn check(&self, number: u64) -> Result<(), Unwelcome> {
        if number >= PACKET_NUMBERS {
            return Err(Unwelcome::Exhausted);
        }
        if number >= self.next {
            return Ok(());
        }
        // By subtraction, which cannot overflow: the number is below the next.
        let sum = (number as u32).wrapping_add(REPLAY_WINDOW_PACKETS as u32);
        let overflows = mutant::is(Mutant::AdditiveOverflow) && sum <= self.next as u32;
        let longer = if mutant::is(Mutant::WindowAWordTooLong) { 64 } else { 0 };
        if self.next - number > REPLAY_WINDOW_PACKETS + longer || overflows {
            return Err(Unwelcome::TooOld);
        }
        let (word, mask) = place(number);
        if self.seen[word] & mask == 0 { Ok(()) } else { Err(Unwelcome::Replayed) }
    }

    /// Marks a number that was checked and whose packet proved authentic.
    #[inline]
    pub(super) fn advance(&mut self, number: u64) {
        debug_assert!(self.check(number).is_ok(), "a number is marked once");
        if number >= self.next {
            if number - self.next >= REPLAY_WINDOW_PACKETS {
                self.seen = [0; WORDS];
            } else {
                for skipped in self.next..number {
                    let (word, mask) = place(skipped);
                    self.seen[word] &= !mask;
                }
            }
            self.next = number + 1;
        }
        let (word, mask) = place(number);
        self.seen[word] |= mask;
    }
}

fn place(number: u64) -> (usize, u64) {
    let bit = number % REPLAY_WINDOW_PACKETS;
    (bit as usize / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn short_numbers_mean_the_nearest_long_one() {
        for next in [0, 5, 32_768, 65_535, 65_536, (1 << 32) - 1, 1 << 32, PACKET_NUMBERS - 1] {
            let window = Window::new(next);
            let low = next.saturating_sub(32_767);
            for number in [low, low + 1, next.saturating_sub(1), next, next + 1, next + 32_768] {
                assert_eq!(window.reconstruct(number as u16), number, "around {next}");
            }
        }
    }

    #[test]
    fn every_number_passes_once() {
        let mut window = Window::new(0);
        window.advance(2000);
        assert_eq!(window.check(2000), Err(Unwelcome::Replayed));
        assert_eq!(window.check(2001 - REPLAY_WINDOW_PACKETS), Ok(()));
        assert_eq!(window.check(2000 - REPLAY_WINDOW_PACKETS), Err(Unwelcome::TooOld));
        window.advance(1999);
        assert_eq!(window.check(1999), Err(Unwelcome::Replayed));
        assert_eq!(window.check(PACKET_NUMBERS), Err(Unwelcome::Exhausted));
        assert_eq!(window.check(u64::MAX), Err(Unwelcome::Exhausted));
    }

    #[test]
    fn numbers_before_the_first_do_not_exist() {
        let window = Window::new(5000);
        assert_eq!(window.check(4999), Err(Unwelcome::Replayed));
        assert_eq!(window.check(3000), Err(Unwelcome::TooOld));
        assert_eq!(window.check(5000), Ok(()));
    }

    proptest! {
        /// A window agrees with a list of all numbers ever seen.
        #[test]
        fn the_window_is_a_set(
            first in prop_oneof![Just(0), Just(65_536 - 1000), Just((1u64 << 32) - 1000)],
            steps in proptest::collection::vec((0..2100u64, any::<bool>()), 1..300),
        ) {
            let (mut window, mut seen, mut next) = (Window::new(first), BTreeSet::new(), first);
            for (distance, forward) in steps {
                let ahead = if distance % 7 == 0 { distance } else { distance % 3 };
                let number = if forward { next + ahead } else { next.saturating_sub(distance) };
                let may = number >= first
                    && number + REPLAY_WINDOW_PACKETS >= next
                    && !seen.contains(&number);
                prop_assert_eq!(window.check(number).is_ok(), may, "{} of {}", number, next);
                prop_assert_eq!(window.reconstruct(number as u16), number);
                if may {
                    window.advance(number);
                    seen.insert(number);
                    next = next.max(number + 1);
                }
            }
        }
    }
}
