//! Who is told of what happens: each event is written once, and all who are meant share it.

use super::{CODED_EVENT, EVENT, EVENTS_WAITING_MAX, MESSAGE_BYTES_MAX, SnapshotServer, find};
use crate::bits::BitWriter;
use crate::codec::compact::stream::Named;
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
            let coded = self.streams.last_mut().filter(|_| self.teller.is_some());
            let coded = coded.map(|(_, streams)| {
                let named = Named {
                    tick: emitted.key.tick,
                    entity: emitted.key.entity,
                    ordinal: emitted.key.ordinal,
                    is_saved: emitted.delivery.is_saved,
                };
                let record = self.event_layout.record(&emitted.event);
                let coded = streams.write_event(named, record);
                Arc::from([&[CODED_EVENT, self.game_id], &coded[..]].concat())
            });
            let Emitted { key, delivery, .. } = emitted;
            let plain = as_event(message);
            messages.push((key, delivery, coded.unwrap_or_else(|| plain.clone()), plain));
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
            for (key, delivery, coded, plain) in &messages {
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
                    let message = if player.reads_compact { coded } else { plain };
                    player.events.push((is_reliable, message.clone()));
                }
            }
        }
    }

    /// Hands out what a player is to be told of events: whether reliably, and the message. The memory of what was
    /// handed out before is used again.
    pub(crate) fn take_events(&mut self, to: PlayerId, taken: &mut Vec<(bool, Arc<[u8]>)>) {
        taken.clear();
        if let Some(player) = find(&mut self.players, to) {
            std::mem::swap(&mut player.events, taken);
        }
        self.record_sent(to, taken);
    }
}

/// An event as it goes to a client.
pub(super) fn as_event(message: &[u8]) -> Arc<[u8]> {
    [&[EVENT], message].concat().into()
}
