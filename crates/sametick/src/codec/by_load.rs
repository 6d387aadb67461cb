//! Which codec a server uses that chooses by its load. Knows figures, no clock.

use crate::core::time::Span;

/// Above this share of its length, ticks leave too little room for the compact codec, in per cent.
const BUSY_PERCENT: u64 = 60;
/// Below this one they have room again, after so many quiet seconds in a row: changing back and forth would help
/// nobody.
const CALM_PERCENT: u64 = 30;
const CALM_SECONDS: u8 = 5;

/// A choice between compact and plain snapshots, made anew whenever the load was measured. Plain costs a server next to
/// no time, compact half the bytes or less; it starts with compact.
///
/// ```
/// use sametick::Span;
/// use sametick::codec::ByLoad;
///
/// let tick_length = Span::millis(16);
/// let calm = ByLoad::default().after(Span::millis(2), tick_length);
/// assert!(calm.is_compact());
/// let busy = calm.after(Span::millis(12), tick_length);
/// assert!(!busy.is_compact());
/// // A quiet second is not enough.
/// assert!(!busy.after(Span::millis(2), tick_length).is_compact());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByLoad {
    is_plain: bool,
    calm_seconds: u8,
}

impl ByLoad {
    /// The choice after a second in which a tick took so long on average.
    pub fn after(self, tick_mean: Span, tick_length: Span) -> Self {
        let percent = 100 * tick_mean.as_micros() / tick_length.as_micros().max(1);
        if percent > BUSY_PERCENT {
            return Self { is_plain: true, calm_seconds: 0 };
        }
        let is_calm = percent < CALM_PERCENT;
        let calm_seconds = if is_calm { (self.calm_seconds + 1).min(CALM_SECONDS) } else { 0 };
        Self { is_plain: self.is_plain && calm_seconds < CALM_SECONDS, calm_seconds }
    }

    /// Whether snapshots are compact, for those who can read that.
    pub fn is_compact(self) -> bool {
        !self.is_plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Span = Span::micros(16_667);

    /// What is chosen after each of these seconds, given in per cent of a tick.
    fn chosen(percents: &[u64]) -> String {
        let mut choice = ByLoad::default();
        let one = |percent: &u64| {
            choice = choice.after(LENGTH * *percent / 100, LENGTH);
            if choice.is_compact() { 'c' } else { 'p' }
        };
        percents.iter().map(one).collect()
    }

    #[test]
    fn a_busy_server_goes_plain_at_once_and_comes_back_after_five_quiet_seconds() {
        assert_eq!(chosen(&[10, 59, 65, 20, 20, 20, 20, 20, 20]), "ccpppppcc");
    }

    #[test]
    fn a_load_between_the_two_bounds_changes_nothing() {
        assert_eq!(chosen(&[45; 12]), "c".repeat(12));
        assert_eq!(chosen(&[[70].as_slice(), &[45; 12]].concat()), "p".repeat(13));
        // One second in between starts the count anew.
        assert_eq!(chosen(&[70, 10, 10, 10, 10, 45, 10, 10, 10, 10, 10]), "ppppppppppc");
    }

    #[test]
    fn an_absurd_tick_length_is_no_reason_to_panic() {
        assert!(!ByLoad::default().after(Span::seconds(1), Span::ZERO).is_compact());
    }
}
