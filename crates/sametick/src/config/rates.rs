//! What a server does for all of its players: how often it steps and tells, how it judges, whom it
//! believes.

use crate::core::time::Span;
use crate::sim::authority::Trust;

/// How a game is served: what holds for all of its players, whatever each chooses to see.
///
/// ```
/// use sametick::{Base, Rates, Rewinding, Span};
///
/// // 30 ticks and 15 snapshots a second; shots are judged by the present.
/// let rates = Rates {
///     tick_length: Span::micros(33_333),
///     ticks_per_snapshot: 2,
///     rewinding: Rewinding::NONE,
///     ..Rates::USUAL
/// };
/// assert_eq!(rates.base, Base::Common);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// How long a tick takes.
    pub tick_length: Span,
    /// How many ticks there are to a snapshot.
    pub ticks_per_snapshot: u32,
    /// How far others are put back to where a shooter saw them.
    pub rewinding: Rewinding,
    /// Whom the server believes.
    pub trust: Trust,
    /// What snapshots are deltas against.
    pub base: Base,
}

impl Rates {
    /// 60 ticks and 20 snapshots a second, shots rewound by up to a quarter of a second.
    pub const USUAL: Self = Self {
        tick_length: Span::micros(16_667),
        ticks_per_snapshot: 3,
        rewinding: Rewinding::USUAL,
        trust: Trust::Server,
        base: Base::Common,
    };
}

impl Default for Rates {
    fn default() -> Self {
        Self::USUAL
    }
}

/// How a server puts others back to where a shooter saw them, for [`Turn::seen_by`] and
/// [`Turn::judge`]. A player's word for what it saw
/// counts within [`REWIND_TOLERANCE_TICKS`](crate::REWIND_TOLERANCE_TICKS) of what its
/// line makes likely.
///
/// ```
/// use sametick::{Rates, Rewinding, Span};
///
/// // Shots are rewound by 150 ms at most, and nobody is hit who is behind cover by now.
/// let rewinding = Rewinding { at_most: Span::millis(150), needs_sight: true };
/// let rates = Rates { rewinding, ..Rates::USUAL };
/// # assert!(rates.rewinding.at_most < Rewinding::USUAL.at_most);
/// ```
///
/// [`Turn::seen_by`]: crate::Turn::seen_by
/// [`Turn::judge`]: crate::Turn::judge
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewinding {
    /// How far back at most; with zero, shots are judged by the present.
    pub at_most: Span,
    /// Whether a target must be in the shooter's sight in the present too.
    pub needs_sight: bool,
}

impl Rewinding {
    /// Shots are judged by the present.
    pub const NONE: Self = Self { at_most: Span::ZERO, needs_sight: false };
    /// Up to a quarter of a second.
    pub const USUAL: Self = Self { at_most: Span::millis(250), needs_sight: false };
}

/// What a snapshot is a delta against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The last state of each entity known to be on both sides, also of those that left sight.
    #[default]
    Common,
    /// The last snapshot that was acknowledged: who was not in it is sent whole.
    LastAcknowledged,
    /// Nothing: everyone in sight is sent whole every time.
    None,
}
