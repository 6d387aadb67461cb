//! What a reader who takes a player's keys asks for, and when: part of what a run follows from, so that it can be
//! played again.

use crate::core::time::Span;
use std::fmt;

/// The most changes that a hand has: what a link can hold.
pub const HAND_CHANGES_MAX: usize = 256;
/// The latest moment that is read.
const AT_MILLIS_MAX: u64 = 600_000;

/// The keys that are down: where to, as seen on a map, and whether to fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// 1 is towards +x, -1 towards -x.
    pub east: i8,
    /// 1 is towards +y, -1 towards -y.
    pub north: i8,
    /// Whether to fire, or whatever a game has in its place.
    pub fire: bool,
}

/// All keys that a reader has pressed, in order. From the first of them on the player is the reader's.
///
/// ```
/// use sametick::Span;
/// use sametick::theatre::{Hand, Keys};
///
/// let mut hand = Hand::default();
/// hand.press(Span::millis(1200), Keys { east: 1, ..Keys::default() });
/// hand.press(Span::millis(1500), Keys { east: 1, north: -1, fire: true });
/// assert_eq!(hand.to_string(), "1200-6_1500-3f");
/// assert_eq!(Hand::read("1200-6_1500-3f"), Some(hand.clone()));
/// assert_eq!(hand.at(Span::millis(1199)), None);
/// assert_eq!(hand.at(Span::millis(1300)), Some(Keys { east: 1, north: 0, fire: false }));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hand {
    changes: Vec<(u64, Keys)>,
}

impl Hand {
    /// From this moment on these are down. What comes too late, or too often, is not taken.
    pub fn press(&mut self, at: Span, keys: Keys) {
        let millis = at.as_micros() / 1000;
        let is_later = self.changes.last().is_none_or(|(last, _)| *last <= millis);
        if is_later && self.changes.len() < HAND_CHANGES_MAX && millis <= AT_MILLIS_MAX {
            self.changes.retain(|(at, _)| *at < millis);
            self.changes.push((millis, keys));
        }
    }

    /// What is down so long after the scene began; none while the player is not the reader's.
    pub fn at(&self, at: Span) -> Option<Keys> {
        let known = self.changes.partition_point(|(from, _)| from * 1000 <= at.as_micros());
        known.checked_sub(1).map(|index| self.changes[index].1)
    }

    /// What was pressed before a moment, as if nothing had been after it.
    pub fn before(mut self, at: Span) -> Self {
        self.changes.retain(|(from, _)| from * 1000 < at.as_micros());
        self
    }

    /// Whether nobody has taken the keys.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Reads what [`to_string`](ToString::to_string) has written.
    pub fn read(text: &str) -> Option<Self> {
        let mut hand = Self::default();
        for word in text.split('_').filter(|word| !word.is_empty()) {
            let (at, keys) = word.split_once('-')?;
            let (digit, fire) = keys.strip_suffix('f').map_or((keys, false), |digit| (digit, true));
            let digit: i8 = digit.parse().ok().filter(|digit| (1..=9).contains(digit))?;
            let (east, north) = ((digit - 1) % 3 - 1, (digit - 1) / 3 - 1);
            let at: u64 = at.parse().ok().filter(|at| *at <= AT_MILLIS_MAX)?;
            hand.press(Span::millis(at), Keys { east, north, fire });
        }
        Some(hand)
    }
}

/// Milliseconds, and where to as on a keyboard's block of digits: 6 is east, 8 is north, 5 is nowhere.
impl fmt::Display for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (at, keys)) in self.changes.iter().enumerate() {
            let digit = 5 + keys.east.signum() + 3 * keys.north.signum();
            let (gap, fire) = (if index > 0 { "_" } else { "" }, if keys.fire { "f" } else { "" });
            write!(f, "{gap}{at}-{digit}{fire}")?;
        }
        Ok(())
    }
}
