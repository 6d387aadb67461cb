//! How a client wants to see the world: its own player, the others, and what is left of an error.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::time::Span;
use std::fmt;
use std::str::FromStr;

/// How a client wants to see the world. Each client of a server may want something else.
///
/// ```
/// use sametick::{Others, Span, View};
///
/// // Everyone in the present, errors shown at once.
/// let view = View { others: Others::Predicted, smooths_over: Span::ZERO, ..View::USUAL };
/// assert!(view.predicts);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Whether its own player is predicted: it moves at once, not a round trip later.
    pub predicts: bool,
    /// How far ahead of the newest snapshot anything is predicted at most; beyond that it waits.
    pub predicts_at_most: Span,
    /// How the others are shown, unless the game says otherwise of an entity.
    pub others: Others,
    /// For how long what is left of an error is shown, less and less of it. Zero shows what is right
    /// at once.
    pub smooths_over: Span,
    /// How many ticks are taken in one when others are predicted anew, where the rules allow it: see
    /// [`Turn::dt_of`](crate::Turn::dt_of).
    pub stride: u32,
    /// In every which tick it wants a snapshot, at most 255; 0 is as often as the server offers.
    pub snapshot_every: u32,
    /// Whether it wants to know what the others in sight ask for. Those who predict them always do.
    pub others_commands: bool,
}

/// How others are shown. [`Game::shown`](crate::Game::shown) may say otherwise of an entity.
///
/// ```
/// use sametick::{Interpolation, Others, Path, Span};
///
/// // Between snapshots of the past, and straight on for 50 ms when the next one does not come.
/// let others = Others::Interpolated(Interpolation {
///     goes_on: Span::millis(50),
///     ..Interpolation::HISTORY
/// });
/// # assert!(matches!(others, Others::Interpolated(Interpolation { path: Path::History, .. })));
/// // The usual ones have names, for command lines.
/// assert_eq!("latest".parse(), Ok(Others::Latest));
/// assert!("newest".parse::<Others>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// As the newest snapshot has them.
    Latest,
    /// Moved on from there to our own time, but not for longer than this: by the rules of the game if
    /// it says how ([`Game::drift`](crate::Game::drift)), otherwise straight on.
    Extrapolated {
        /// For how long at most.
        at_most: Span,
    },
    /// Between two snapshots, a little in the past.
    Interpolated(Interpolation),
    /// Stepped to our own time by the rules, with the last commands that are known of them.
    Predicted,
}

/// How a client shows what lies between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolation {
    /// Between what.
    pub path: Path,
    /// How many snapshots behind the newest it stays, besides what jitter asks for: with two, one may be
    /// lost. Only over the history; towards the newest it is always one.
    pub behind: u8,
    /// For how long it goes straight on when the next snapshot does not come; with zero it rests.
    pub goes_on: Span,
}

/// Where an interpolated entity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Every snapshot is passed through: shown time is some way behind, and stands between two of them.
    History,
    /// From wherever it is shown when a snapshot comes, to what that snapshot says, for the time between
    /// two. A newer one that comes earlier bends the way: a ball may turn without touching the ground.
    Newest,
}

/// The names of the usual ways: `latest`, `extrapolate` (at most 100 ms), `interpolate` (over the
/// history), `predict`.
impl FromStr for Others {
    type Err = UnknownView;

    fn from_str(name: &str) -> Result<Self, UnknownView> {
        match name {
            "latest" => Ok(Self::Latest),
            "extrapolate" => Ok(Self::Extrapolated { at_most: Span::millis(100) }),
            "interpolate" => Ok(Self::Interpolated(Interpolation::HISTORY)),
            "predict" => Ok(Self::Predicted),
            _ => Err(UnknownView(name.to_string())),
        }
    }
}

/// A name that no way of showing others has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownView(pub String);

impl fmt::Display for UnknownView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no view is called {:?}: latest, extrapolate, interpolate or predict", self.0)
    }
}

impl std::error::Error for UnknownView {}

impl Interpolation {
    /// Over the history, two snapshots behind, at rest when they stop.
    pub const HISTORY: Self = Self { path: Path::History, behind: 2, goes_on: Span::ZERO };
    /// Towards the newest snapshot.
    pub const NEWEST: Self = Self { path: Path::Newest, behind: 1, goes_on: Span::ZERO };
}

impl View {
    /// Predicts its own player, and shows the others between snapshots.
    pub const USUAL: Self = Self {
        predicts: true,
        predicts_at_most: Span::seconds(1),
        others: Others::Interpolated(Interpolation::HISTORY),
        smooths_over: Span::millis(100),
        stride: 1,
        snapshot_every: 0,
        others_commands: false,
    };

    /// Whether the server must tell what others ask for.
    pub(crate) fn wants_commands(&self) -> bool {
        self.others_commands || self.others == Others::Predicted
    }
}

impl Default for View {
    fn default() -> Self {
        Self::USUAL
    }
}

/// How the others are shown, as far as the server must know: a number, and the most milliseconds they are moved on.
pub(crate) fn others_number(others: Others) -> (u32, u32) {
    let (kind, millis) = match others {
        Others::Latest => (0, 0),
        Others::Extrapolated { at_most } => (1, at_most.as_micros() / 1000),
        Others::Interpolated(_) => (2, 0),
        Others::Predicted => (3, 0),
    };
    (kind, millis.min(1023) as u32)
}

/// What [`others_number`] made a number of.
pub(crate) fn others_of(kind: u32, millis: u32) -> Others {
    match kind {
        0 => Others::Latest,
        1 => Others::Extrapolated { at_most: Span::millis(u64::from(millis)) },
        2 => Others::Interpolated(Interpolation::HISTORY),
        _ => Others::Predicted,
    }
}

pub(crate) fn read_others(bits: &mut BitReader<'_>) -> Others {
    let (kind, millis) = (bits.read(2) as u32, bits.read(10) as u32);
    others_of(kind, millis)
}

pub(crate) fn write_others(bits: &mut BitWriter, others: Others) {
    let (kind, millis) = others_number(others);
    bits.write(u64::from(kind), 2);
    bits.write(u64::from(millis), 10);
}
