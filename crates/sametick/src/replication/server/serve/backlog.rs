//! Worlds that do not fit one datagram: how they are written, and what a player may see and does not have yet.

use super::head::SnapshotHead;
use super::{SnapshotServer, find};
use crate::core::entity::EntityId;
use crate::core::tick::PlayerId;
use crate::core::time::Span;
use crate::replication::server::snapshot::Frame;
use crate::sim::game::Game;

/// What a player may see and is not known to have, of a world that does not fit one datagram. A client that joins has
/// such a backlog for some round trips. One that lasts says that the player's rate is too low for the world: see
/// [`Server::backlog`](crate::Server::backlog).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// How many entities.
    pub entities: usize,
    /// For how long there have been any.
    pub since: Span,
}

impl<G: Game> SnapshotServer<G> {
    /// Writes the snapshot that [`write`](SnapshotServer::write) found to be large.
    #[cold]
    pub(super) fn write_much(
        &mut self,
        (to, wants_commands): (PlayerId, bool),
        limits: (usize, usize),
        (margin, received): (i64, u32),
        mut part: impl FnMut(u64, &[u8]),
    ) {
        let tick = self.world.tick();
        let Some(player) = find(&mut self.players, to) else { return };
        let repeated = player.commands.repeated;
        let births = &player.births;
        let head = SnapshotHead { game_id: self.game_id, tick, repeated, margin, received, births };
        let update_every = G::update_every(&self.world, to);
        let mut frame = Frame {
            layouts: self.wire.all(),
            versions: &self.versions,
            changes: &mut self.changes,
            candidates: &mut self.candidates,
            holds_back: false,
            resting: &mut self.resting,
            turn: u64::from(tick.0 / player.snapshot_every.max(1)),
            // The same type for every game: this is compiled once.
            update_every: &update_every as &dyn Fn(EntityId) -> u32,
        };
        let recorder = &mut self.recorder;
        let mut send = |number: u64, message: &[u8]| {
            if let Some(recorder) = recorder {
                recorder.sent(tick, to, message);
            }
            part(number, message);
        };
        let viewer = (to, &self.visible, wants_commands.then_some(&self.others));
        let bits = &mut self.bits;
        head.tell_of_much(&mut player.base, &mut frame, viewer, limits, bits, &mut send);
    }

    /// A player's backlog, as of its last snapshot.
    pub(crate) fn backlog(&self, of: PlayerId) -> Option<Backlog> {
        let player = self.players.iter().find(|player| player.id == of)?;
        let (entities, since) = player.base.missing()?;
        let ticks = self.world.tick().0.saturating_sub(since.0);
        Some(Backlog { entities, since: self.rates.tick_length * u64::from(ticks) })
    }
}
