//! Events on their way: written once, kept for late joiners, and handed out when their time and their
//! entity are known.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::EntityId;
use crate::core::tick::Tick;
use crate::schema::delta;
use crate::schema::fields::Networked;
use crate::schema::record::Layout;
use crate::sim::game::{Emitted, EventKey};
use std::collections::BTreeMap;

/// How many events are saved for those who join later; one more, and the oldest is forgotten.
pub const SAVED_EVENTS_MAX: usize = 1024;

/// How many events a client holds until it knows of their entity; one more, and the oldest is dropped.
pub const HELD_EVENTS_MAX: usize = 256;

/// How many effects wait to be asked for; more are not told.
pub const FRESH_EFFECTS_MAX: usize = 4096;

/// How long a client remembers what it has predicted or played.
const PLAYED_TICKS: u32 = 256;

pub(crate) fn write<E: Networked>(bits: &mut BitWriter, layout: &Layout, emitted: &Emitted<E>) {
    bits.write(u64::from(emitted.key.tick.0), 32);
    bits.write(u64::from(EntityId::to_word(Some(emitted.key.entity))), 32);
    bits.write(u64::from(emitted.key.ordinal), 8);
    bits.write_bool(emitted.delivery.is_saved);
    let record = layout.record(&emitted.event);
    delta::write(bits, layout, layout.initial(), &record);
}

/// An event that came: its name, whether it was saved, and what it is.
pub(crate) fn read<E: Networked>(
    bits: &mut BitReader<'_>,
    layout: &Layout,
    kind: impl Fn(&E) -> u8,
) -> Option<(EventKey, bool, E)> {
    let tick = Tick(bits.read(32) as u32);
    let entity = EntityId::from_word(bits.read(32) as u32);
    let ordinal = bits.read(8) as u8;
    let is_saved = bits.read_bool();
    let mut words = vec![0; layout.len()];
    delta::read(bits, layout, layout.initial(), &mut words);
    let entity = entity.filter(|_| !bits.failed())?;
    let event = layout.value(&words);
    let key = EventKey { tick, entity, kind: kind(&event), ordinal };
    Some((key, is_saved, event))
}

/// What a client shows of an event. Whoever predicted it hears it at once and not again when the server
/// says so: an event is known by its [`EventKey`], whatever its values.
///
/// ```
/// use sametick::{Alone, Delivery, Effect, Fields, Game, Networked, PlayerId, Span, Turn, World};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Bell;
/// # impl Networked for Bell {
/// #     fn fields<F: Fields>(&mut self, _f: &mut F) {}
/// # }
/// # sametick::entities! { pub enum Entity { Bell } }
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Rung { pub loudness: u8 }
/// impl Networked for Rung {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.int("loudness", &mut self.loudness, 0..=10); }
/// }
///
/// struct Tower;
/// impl Game for Tower {
///     type Entity = Entity;
///     type Command = Bell;
///     type Event = Rung;
///     type Content = ();
///     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
/// #       turn.joined().for_each(|player| _ = world.spawn_owned(player, Bell));
///         for (id, _) in world.all::<Bell>() {
///             turn.emit(id, Delivery::default(), Rung { loudness: 7 });
///         }
///     }
/// }
///
/// let mut tower = Alone::<Tower>::new((), 1, Span::millis(20));
/// tower.join(PlayerId(0));
/// tower.step([]).unwrap();
/// for effect in tower.take_effects() {
///     match effect {
///         Effect::Started { event, .. } => assert_eq!(event, Rung { loudness: 7 }),
///         // Only clients predict, and only a prediction can be wrong.
///         Effect::Cancelled { .. } => unreachable!(),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<E> {
    /// It happens now, for the first time: predicted, or told by the server.
    Started {
        /// Which event.
        key: EventKey,
        /// What it is.
        event: E,
        /// Whether the server has not said so yet.
        is_predicted: bool,
    },
    /// It was predicted, and the server knows nothing of it.
    Cancelled {
        /// Which event.
        key: EventKey,
    },
}

/// A client's events: each is played once, whether it was predicted first or told first.
#[derive(Debug)]
pub(crate) struct Effects<E> {
    /// What was played, and whether the server has said so.
    played: BTreeMap<EventKey, bool>,
    /// What waits for its tick or its entity, and whether it was saved.
    held: Vec<(EventKey, bool, E)>,
    pub(crate) fresh: Vec<Effect<E>>,
}

impl<E> Default for Effects<E> {
    fn default() -> Self {
        Self { played: BTreeMap::new(), held: Vec::new(), fresh: Vec::new() }
    }
}

impl<E: Networked> Effects<E> {
    /// A prediction made this happen.
    pub(crate) fn predict(&mut self, emitted: Emitted<E>) {
        let Emitted { key, event, .. } = emitted;
        if let std::collections::btree_map::Entry::Vacant(place) = self.played.entry(key) {
            place.insert(false);
            self.show(Effect::Started { key, event, is_predicted: true });
        }
    }

    /// Who never asks is not told of more.
    fn show(&mut self, effect: Effect<E>) {
        if self.fresh.len() < FRESH_EFFECTS_MAX {
            self.fresh.push(effect);
        }
    }

    /// An entity that was predicted has the server's name: what happened to it happened to that one.
    pub(crate) fn rename(&mut self, made: EntityId, named: EntityId) {
        let played = std::mem::take(&mut self.played).into_iter();
        self.played = played
            .map(|(key, told)| {
                let entity = if key.entity == made { named } else { key.entity };
                (EventKey { entity, ..key }, told)
            })
            .collect();
    }

    /// The server says so.
    pub(crate) fn tell(&mut self, key: EventKey, is_saved: bool, event: E) {
        if self.played.get(&key) == Some(&true) {
            return;
        }
        if self.held.len() == HELD_EVENTS_MAX {
            self.held.remove(0);
        }
        self.held.push((key, is_saved, event));
    }

    /// Hands out what a snapshot of this tick makes known; `knows` tells of entities. What was predicted
    /// for long enough ago without the server's word is taken back.
    pub(crate) fn settle(
        &mut self,
        tick: Tick,
        patience_ticks: u32,
        lasts: impl Fn(&E) -> u32,
        knows: impl Fn(EntityId) -> bool,
    ) {
        let (ready, held): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(key, _, _)| key.tick <= tick && knows(key.entity));
        self.held = held;
        for (key, _, event) in ready {
            match self.played.insert(key, true) {
                None if tick.0 - key.tick.0 <= lasts(&event) => {
                    self.show(Effect::Started { key, event, is_predicted: false });
                }
                _ => {}
            }
        }
        let late = |key: &EventKey, told: &bool| {
            !told && key.tick.0.saturating_add(patience_ticks) < tick.0
        };
        let cancelled: Vec<EventKey> =
            self.played.iter().filter(|(key, told)| late(key, told)).map(|(key, _)| *key).collect();
        for key in cancelled {
            // Should the server say so after all, it is played then.
            self.played.remove(&key);
            self.show(Effect::Cancelled { key });
        }
        self.played.retain(|key, _| key.tick.0.saturating_add(PLAYED_TICKS) >= tick.0);
        // What was saved matters for as long as its entity may come into sight.
        let is_recent = |key: &EventKey| key.tick.0.saturating_add(PLAYED_TICKS) >= tick.0;
        self.held.retain(|(key, is_saved, _)| *is_saved || is_recent(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::game::{Delivery, NoEvent};

    fn key(tick: u32) -> EventKey {
        EventKey { tick: Tick(tick), entity: EntityId::new(3, 1).unwrap(), kind: 0, ordinal: 0 }
    }

    fn started(effects: &mut Effects<NoEvent>) -> Vec<(u32, bool)> {
        let effects = std::mem::take(&mut effects.fresh).into_iter();
        effects
            .map(|effect| match effect {
                Effect::Started { key, .. } => (key.tick.0, true),
                Effect::Cancelled { key } => (key.tick.0, false),
            })
            .collect()
    }

    fn settle(effects: &mut Effects<NoEvent>, tick: u32, knows: bool) -> Vec<(u32, bool)> {
        effects.settle(Tick(tick), 30, |_| u32::MAX, |_| knows);
        started(effects)
    }

    #[test]
    fn an_event_waits_for_its_tick_and_its_entity() {
        let mut effects = Effects::default();
        effects.tell(key(10), false, NoEvent);
        assert_eq!(settle(&mut effects, 9, true), []);
        assert_eq!(settle(&mut effects, 10, false), []);
        assert_eq!(settle(&mut effects, 11, true), [(10, true)]);
        effects.tell(key(10), false, NoEvent);
        assert_eq!(settle(&mut effects, 12, true), [], "once");
    }

    #[test]
    fn what_was_saved_waits_for_as_long_as_it_takes() {
        let mut effects = Effects::default();
        effects.tell(key(10), true, NoEvent);
        effects.tell(key(11), false, NoEvent);
        assert_eq!(settle(&mut effects, 10_000, false), []);
        assert_eq!(settle(&mut effects, 10_001, true), [(10, true)]);
    }

    #[test]
    fn what_was_taken_back_too_soon_is_played_when_the_server_says_so() {
        let mut effects = Effects::default();
        let delivery = Delivery::default();
        effects.predict(Emitted { key: key(10), delivery, event: NoEvent });
        assert_eq!(settle(&mut effects, 41, true), [(10, true), (10, false)]);
        effects.tell(key(10), false, NoEvent);
        assert_eq!(settle(&mut effects, 42, true), [(10, true)]);
    }

    #[test]
    fn a_tick_at_the_end_of_its_range_is_just_far_off() {
        let mut effects = Effects::default();
        effects.tell(key(u32::MAX), false, NoEvent);
        assert_eq!(settle(&mut effects, 10, true), []);
    }
}
