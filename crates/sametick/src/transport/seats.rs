//! The seats of players on a server: how long each is kept, and what its owner learns of them. Knows nothing of rules.

use crate::core::tick::PlayerId;
use crate::core::time::Span;
use crate::transport::channel::CloseReason;

/// A player who drops out keeps its place for so long.
pub const PLACE_KEPT: Span = Span::seconds(60);

/// For so long it may be on its way back, as when a page is loaded again, and its body is left alone; then the game
/// is told that it is absent. Who was not heard for so long that the connection timed out is absent at once.
pub const BODY_KEPT: Span = Span::seconds(3);

/// What a server tells its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A player is here, for the first time or again.
    Joined {
        /// Its number in the game.
        player: PlayerId,
        /// The identity that the backend gave it.
        client_id: u64,
    },
    /// A player is not here any more; its place is kept for [`PLACE_KEPT`].
    Left {
        /// Its number in the game.
        player: PlayerId,
        /// Why.
        reason: CloseReason,
    },
}
