//! What a server does for all of its players: how often it steps and tells, how it judges, whom it
//! believes.

use crate::authority::Trust;
use crate::rewind::Rewinding;
use crate::snapshot::Base;
use crate::time::Span;

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
