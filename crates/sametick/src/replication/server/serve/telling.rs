//! Who is told of what happens: each event is written once, and all who are meant share it. Those that may be lost
//! are coded together, for who has the tables, when they go.

use super::{EVENTS_WAITING_MAX, MESSAGE_BYTES_MAX, SnapshotServer, find};
use crate::codec::compact::HAS_CODER;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::tick::PlayerId;
use crate::replication::messages::coded::stream::{Named, Streams};
use crate::replication::messages::{CODED_EVENT, CODED_EVENTS, EVENT};
use crate::sim::events::{self, SAVED_EVENTS_MAX};
use crate::sim::game::{Audience, Emitted, Game};
use crate::transport::channel::PAYLOAD_BYTES_MAX;
use std::sync::Arc;

/// An event that players are told of.
pub(super) struct Happening {
    pub(super) is_reliable: bool,
    /// As it goes to whoever has no tables, and as to the others, if there are tables.
    pub(super) plain: Arc<[u8]>,
    pub(super) coded: Option<Coded>,
}

/// An event as it goes through the coder.
pub(super) struct Coded {
    /// What names the tables it is coded with.
    tables_hash: u64,
    /// The message, if it goes alone: it must not be lost.
    alone: Option<Arc<[u8]>>,
    named: Named,
    record: Vec<u32>,
}

/// Events that were coded together, and the messages.
#[derive(Default)]
pub(super) struct Together {
    events: Vec<Arc<Happening>>,
    messages: Vec<Arc<[u8]>>,
}

/// Room that is left in a packet for the last event that is coded together with others. If it takes more, the message
/// goes in two pieces.
const LAST_EVENT_BYTES: usize = 64;

impl Together {
    /// The events in as few messages as they fit into. As a rule those before were told the same.
    fn code(
        &mut self,
        events: &[Arc<Happening>],
        game_id: u8,
        streams: &mut Streams,
    ) -> &[Arc<[u8]>] {
        let is_same = |(left, right): (&Arc<Happening>, &Arc<Happening>)| Arc::ptr_eq(left, right);
        if self.events.len() != events.len() || !self.events.iter().zip(events).all(is_same) {
            self.messages.clear();
            let coded: Vec<&Coded> =
                events.iter().filter_map(|event| event.coded.as_ref()).collect();
            let mut rest = &coded[..];
            while !rest.is_empty() {
                let told = rest.iter().map(|coded| (coded.named, &coded.record[..]));
                let (coded, count) =
                    streams.write_events(told, PAYLOAD_BYTES_MAX - LAST_EVENT_BYTES);
                self.messages.push([&[CODED_EVENTS, game_id], &coded[..]].concat().into());
                rest = &rest[count..];
            }
            self.events = events.to_vec();
        }
        &self.messages
    }
}

impl<G: Game> SnapshotServer<G> {
    /// Queues events for those who are to be told.
    pub(super) fn distribute(&mut self, events: Vec<Emitted<G::Event>>) {
        self.saved.retain(|(key, _)| self.world.contains(key.entity));
        if events.is_empty() {
            return;
        }
        let mut messages = Vec::with_capacity(events.len());
        let is_read = self.players.iter().any(|player| player.reads_compact);
        for emitted in events {
            let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
            bits.write(u64::from(self.game_id), 8);
            events::write(&mut bits, &self.event_layout, &emitted);
            let Ok(message) = bits.finish() else { continue };
            let Emitted { key, delivery, .. } = emitted;
            let is_reliable = delivery.is_reliable || delivery.is_saved;
            let coded = self.streams.last_mut().filter(|_| is_read && HAS_CODER);
            let coded = coded.map(|(tables_hash, streams)| {
                let named = Named {
                    tick: key.tick,
                    entity: key.entity,
                    ordinal: key.ordinal,
                    is_saved: delivery.is_saved,
                };
                let record = self.event_layout.record(&emitted.event);
                let alone = is_reliable.then(|| {
                    let coded = streams.write_event(named, &record);
                    Arc::from([&[CODED_EVENT, self.game_id], &coded[..]].concat())
                });
                Coded { tables_hash: *tables_hash, alone, named, record }
            });
            let happening = Happening { is_reliable, plain: as_event(message), coded };
            messages.push((key, delivery.to, Arc::new(happening)));
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
            for (key, to, happening) in &messages {
                let has_seen = || {
                    player.seen.contains(key.entity.slot())
                        && versions.was_there(key.entity, player.seen_at)
                };
                let is_meant = match to {
                    Audience::All => true,
                    Audience::One(one) => *one == player.id,
                    Audience::Seeing => has_seen() || sees_now(key.entity),
                };
                if is_meant && player.events.len() < EVENTS_WAITING_MAX {
                    player.events.push(Arc::clone(happening));
                }
            }
        }
    }

    /// Hands out what a player is to be told of events: whether reliably, and the message.
    pub(crate) fn take_events(&mut self, to: PlayerId, taken: &mut Vec<(bool, Arc<[u8]>)>) {
        taken.clear();
        let Self { players, streams, together, game_id, .. } = self;
        let Some(player) = find(players, to) else { return };
        let mut streams = streams.last_mut().filter(|_| player.reads_compact && HAS_CODER);
        let tables_hash = streams.as_ref().map(|(tables_hash, _)| *tables_hash);
        let mut flush = |group: &mut Vec<Arc<Happening>>, taken: &mut Vec<(bool, Arc<[u8]>)>| {
            if let Some((_, streams)) = streams.as_mut().filter(|_| !group.is_empty()) {
                let messages = together.code(group, *game_id, streams);
                taken.extend(messages.iter().map(|message| (false, Arc::clone(message))));
            }
            group.clear();
        };
        // Those that may be lost and go together.
        let mut group = Vec::new();
        for event in player.events.drain(..) {
            // What was coded before the tables changed goes as it is.
            let coded = event.coded.as_ref().filter(|coded| Some(coded.tables_hash) == tables_hash);
            if coded.is_some() && !event.is_reliable {
                group.push(event);
                continue;
            }
            // Nothing overtakes what must arrive.
            flush(&mut group, taken);
            let message = coded.and_then(|coded| coded.alone.as_ref()).unwrap_or(&event.plain);
            taken.push((event.is_reliable, Arc::clone(message)));
        }
        flush(&mut group, taken);
        self.record_sent(to, taken);
    }
}

/// An event as it goes to a client.
pub(super) fn as_event(message: &[u8]) -> Arc<[u8]> {
    [&[EVENT], message].concat().into()
}
