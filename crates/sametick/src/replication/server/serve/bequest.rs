//! A game handed from one server to the next: all that it takes to go on, and going on with it.

use super::SnapshotServer;
use crate::core::tick::PlayerId;
use crate::core::time::Time;
use crate::replication::server::serve::estate::Estate;
use crate::sim::game::Game;

impl<G: Game> SnapshotServer<G> {
    /// All that another server needs to go on from here; none if that is too much.
    pub(crate) fn bequeath(&self, seats: Vec<(PlayerId, u64)>) -> Option<Vec<u8>> {
        let estate = Estate {
            game_id: self.game_id,
            rates: self.rates,
            seed: self.seed,
            content: G::content_name(&self.content),
            saved: self.saved.clone(),
            seats,
            joined: self.joined.clone(),
            left: self.left.clone(),
            world: self.world.clone(),
        };
        estate.write(&self.layouts)
    }

    /// Goes on where another server stopped. Its players have places and nothing else.
    pub(crate) fn inherit(content: G::Content, estate: Estate<G::Entity>, now: Time) -> Self {
        let Estate { game_id, rates, seed, saved, joined, left, world, .. } = estate;
        // The map as loaded is what clients have from the start.
        let fresh = Self::new(content, seed, rates, now);
        let mut half = Self { game_id, saved, joined, left, world, ..fresh };
        half.update_versions();
        half
    }

    /// Steps from now on, and makes up for nothing.
    pub(crate) fn begin(&mut self, now: Time) {
        self.next_tick_at = now;
    }
}
