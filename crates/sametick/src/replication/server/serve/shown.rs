//! What players' screens showed, by their own word, and how far ahead of the server their own time runs. For whoever
//! looks into a match; no rule reads it.

use super::{Player, SnapshotServer};
use crate::core::tick::{PlayerId, Tick};
use crate::sim::game::Game;
use crate::sim::sight::Past;
use crate::sim::view::Others;
use crate::sim::world::World;

impl<G: Game> SnapshotServer<G> {
    /// Players who come from now on tell what their screens show, whether or not shots are judged by it.
    pub(crate) fn ask_what_is_shown(&mut self) {
        self.asks_what_is_shown = true;
    }

    /// The world as a player's screen showed it when it gave its command of a tick, or the last before it.
    pub(crate) fn shown_to(
        &self,
        viewer: PlayerId,
        at: Tick,
        predicts: bool,
    ) -> Option<World<G::Entity>> {
        let player = self.player(viewer)?;
        // Only its own computer knows how it went on with what others asked for last.
        let others = player.others.filter(|others| *others != Others::Predicted)?;
        let after = player.moments.partition_point(|told| told.tick <= at);
        let told = player.moments.get(after.checked_sub(1)?)?;
        let past: Past<'_, G> = Past {
            history: &self.history,
            layouts: &self.layouts.state,
            content: &self.content,
            tick_length: self.rates.tick_length,
        };
        let viewer = predicts.then_some(viewer);
        Some(past.seen(&self.world, viewer, others, told.moment))
    }

    /// By how many microseconds a player's commands come early, half of the time; below zero they come late.
    pub(crate) fn early_micros(&self, of: PlayerId) -> Option<i64> {
        let told = self.player(of)?.moments.iter();
        let mut early: Vec<i64> = told.map(|told| told.margin_micros).collect();
        early.sort_unstable();
        early.get(early.len() / 2).copied()
    }

    /// What a player asked for in the last tick, as far as anyone knew.
    pub(crate) fn asked_by(&self, player: PlayerId) -> Option<&G::Command> {
        self.player(player)?.last_command.as_ref()
    }

    fn player(&self, id: PlayerId) -> Option<&Player<G>> {
        let index = self.players.binary_search_by_key(&id, |player| player.id).ok()?;
        self.players.get(index)
    }
}
