//! Recordings of matches: all that the rules were given, so that the same match can be stepped again, bit for
//! bit; looked at, at any tick; and compared with what it was. Knows bytes, no files.
//!
//! A `Server` makes one (`Server::record`, feature `secure`); [`Replay`] plays it. The bytes are described in
//! `docs/replays.md`.
//!
//! | file | what it holds |
//! |---|---|
//! | `block` | the frame of a block, and where the whole ones end |
//! | `header` | what a recording is of |
//! | `ticks` | what one step was given, as bits |
//! | `checkpoint` | a world and what is remembered of those before it |
//! | `recorder` | the server's side |
//! | `playback` | [`Replay`]: stepping, seeking |
//! | `verify` | comparing and counting |

mod block;
mod checkpoint;
mod header;
mod playback;
mod recorder;
mod ticks;
mod verify;

pub use block::BLOCK_BYTES_MAX;
pub use header::{BUILD_BYTES_MAX, CONFIGURATION_BYTES_MAX, Header};
pub use playback::{Replay, Stepped};
pub(crate) use recorder::Recorder;
pub use recorder::{RECORDING_WAITING_BYTES_MAX, Recording};
pub use ticks::PLAYERS_MAX;
pub use verify::{Divergence, Summary, Verification};

use crate::core::bits::Malformed;
use crate::core::tick::Tick;
use crate::core::time::Span;
use std::fmt;

/// Which format this is; a recording of another is refused.
pub const FORMAT_VERSION: u16 = 1;

/// A block of ticks is closed after so long: no more than this is lost when a server is killed.
pub const BLOCK_SPAN: Span = Span::seconds(1);

/// Why a recording cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It does not begin as recordings do.
    NotARecording,
    /// It is of a format that this build does not know.
    Version(u16),
    /// It ends before its first world: there is nothing to play.
    Empty,
    /// It was played with other content.
    Content {
        /// The name of the recording's content.
        recorded: u64,
        /// The name of what was handed in.
        given: u64,
    },
    /// Its game has other fields than this build's.
    Layouts {
        /// The build that recorded it.
        build: String,
    },
    /// It does not reach this tick.
    OutOfRange {
        /// The tick that was asked for.
        tick: Tick,
        /// The first there is.
        first: Tick,
        /// The last there is.
        last: Tick,
    },
    /// A block whose sum is right holds what no recorder writes.
    Malformed {
        /// The tick after which.
        after: Tick,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecording => f.write_str("this is not a recording of a match"),
            Self::Version(version) => {
                write!(f, "the recording has format {version}, this build plays {FORMAT_VERSION}")
            }
            Self::Empty => f.write_str("the recording ends before its first world"),
            Self::Content { recorded, given } => write!(
                f,
                "the recording was played with the content {recorded:016x}, not with {given:016x}"
            ),
            Self::Layouts { build } => {
                write!(f, "the recording was made by build {build:?}, whose game has other fields")
            }
            Self::OutOfRange { tick, first, last } => {
                write!(f, "there is no tick {} in {} to {}", tick.0, first.0, last.0)
            }
            Self::Malformed { after } => {
                write!(f, "what follows tick {} was written by no recorder", after.0)
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// What is damaged is damaged after some tick.
fn after(tick: Tick) -> impl Fn(Malformed) -> ReplayError {
    move |Malformed| ReplayError::Malformed { after: tick }
}
