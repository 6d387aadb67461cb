//! Who is told of what happens: each event is written once, and all who are meant share it.

use super::{EVENT, EVENTS_WAITING_MAX, MESSAGE_BYTES_MAX, SnapshotServer, find};
use crate::bits::BitWriter;
use crate::entity::EntityId;
use crate::events::{self, SAVED_EVENTS_MAX};
use crate::game::{Audience, Emitted, Game};
use crate::world::PlayerId;
use std::sync::Arc;

impl<G: Game> SnapshotServer<G> {
    /// Queues events for those who are to be told.
    pub(super) fn distribute(&mut self, events: Vec<Emitted<G::Event>>) {
        self.saved.retain(|(key, _)| self.world.contains(key.entity));
        if events.is_empty() {
            return;
        }
        let mut messages = Vec::with_capacity(events.len());
        for emitted in events {
            let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
            bits.write(u64::from(self.game_id), 8);
            events::write(&mut bits, &self.event_layout, &emitted);
            let Ok(message) = bits.finish() else { continue };
            let Emitted { key, delivery, .. } = emitted;
            messages.push((key, delivery, as_event(message)));
            if delivery.is_saved {
                if self.saved.len() == SAVED_EVENTS_MAX {
                    self.saved.remove(0);
                }
                self.saved.push((key, message.to_vec()));
            }
        }
        self.find_places();
        let Self { world, content, versions, places, visible, .. } = self;
        for player in &mut self.players {
            // Who is new since a player's last snapshot is looked for only if something happens to it.
            let mut is_looked_for = false;
            let mut sees_now = |entity: EntityId| {
                if world.contains(entity) && !std::mem::replace(&mut is_looked_for, true) {
                    visible.clear();
                    G::relevant_among(world, content, places, player.id, visible);
                }
                world.contains(entity) && visible.contains(entity.slot())
            };
            for (key, delivery, message) in &messages {
                let has_seen = || {
                    player.seen.contains(key.entity.slot())
                        && versions.was_there(key.entity, player.seen_at)
                };
                let is_meant = match delivery.to {
                    Audience::All => true,
                    Audience::One(one) => one == player.id,
                    Audience::Seeing => has_seen() || sees_now(key.entity),
                };
                if is_meant && player.events.len() < EVENTS_WAITING_MAX {
                    let is_reliable = delivery.is_reliable || delivery.is_saved;
                    player.events.push((is_reliable, message.clone()));
                }
            }
        }
    }

    /// Hands out what a player is to be told of events: whether reliably, and the message.
    pub(crate) fn take_events(&mut self, to: PlayerId) -> Vec<(bool, Arc<[u8]>)> {
        let player = find(&mut self.players, to);
        let events = player.map(|player| std::mem::take(&mut player.events)).unwrap_or_default();
        self.record_sent(to, &events);
        events
    }
}

/// An event as it goes to a client.
pub(super) fn as_event(message: &[u8]) -> Arc<[u8]> {
    [&[EVENT], message].concat().into()
}
