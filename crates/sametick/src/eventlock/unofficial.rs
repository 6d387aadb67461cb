//! What a client hopes for: the effect of its own requests that are not answered yet, kept beside the official world
//! and laid over it for the eye. Never sent, never hashed.

use super::{RequestNumber, Requests};
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::ROW_WORDS;
use crate::sim::game::Turn;
use crate::sim::world::World;
use std::collections::VecDeque;

/// How many requests can wait for their answer; with more, none is sent.
pub const OVERLAYS_MAX: usize = 64;

/// How a client goes from the unofficial to the official.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blending {
    /// For how long an entity is on its way.
    pub lasts: Span,
    /// If they are further apart, in the measure of [`Requests::apart`], it jumps.
    pub smooth_within: f32,
}

impl Default for Blending {
    fn default() -> Self {
        Self { lasts: Span::millis(400), smooth_within: f32::INFINITY }
    }
}

/// What one request is hoped to do.
#[derive(Debug)]
struct Overlay<E> {
    number: RequestNumber,
    changes: Vec<Change>,
    spawned: Vec<(EntityId, E)>,
}

/// The words of an own entity that a request changes; the others stay official.
#[derive(Debug)]
struct Change {
    id: EntityId,
    kind: u8,
    words: Vec<(usize, u32)>,
}

/// An entity on its way from where it unofficially was.
#[derive(Debug)]
struct Leaving<E> {
    id: EntityId,
    from: E,
    since: Time,
}

/// All that is unofficial on a client.
#[derive(Debug)]
pub(super) struct Unofficial<E> {
    overlays: VecDeque<Overlay<E>>,
    leaving: Vec<Leaving<E>>,
    /// Requests of one tick would give their spawns the same names.
    asked: Tick,
    pub(super) blending: Blending,
    /// How often an entity jumped, or went smoothly.
    pub(super) jumps: u64,
    pub(super) slides: u64,
}

impl<E: Entities> Default for Unofficial<E> {
    fn default() -> Self {
        Self {
            overlays: VecDeque::new(),
            leaving: Vec::new(),
            asked: Tick::default(),
            blending: Blending::default(),
            jumps: 0,
            slides: 0,
        }
    }
}

/// What a step needs besides the world.
pub(super) struct Setting<'a, G: Requests> {
    pub(super) content: &'a G::Content,
    pub(super) layouts: &'a Layouts,
    pub(super) me: PlayerId,
    pub(super) tick_length: Span,
}

impl<E: Entities> Unofficial<E> {
    pub(super) fn len(&self) -> usize {
        self.overlays.len()
    }

    /// Takes in a request: what it alone changes, in one step of the world as it is shown.
    pub(super) fn add<G: Requests<Entity = E>>(
        &mut self,
        shown: &World<E>,
        tick: Tick,
        setting: &Setting<'_, G>,
        number: RequestNumber,
        request: &G::Command,
    ) {
        // Two of one tick must not give their spawns the same names.
        let tick = tick.max(Tick(self.asked.0.saturating_add(1)));
        self.asked = tick;
        let request = [(setting.me, Some(request.clone()))];
        // Much may be due in this step anyway: what differs is the request's doing.
        let without = step(shown, tick, setting, &[]);
        let with = step(shown, tick, setting, &request);
        let layouts = &setting.layouts.state;
        let mut changes = Vec::new();
        for (id, entity) in with.all_owned(setting.me) {
            let Some(other) = without.entity(id).filter(|other| other.kind() == entity.kind())
            else {
                continue;
            };
            let [mut row, mut base] = [[0; ROW_WORDS]; 2];
            entity.clone().record(layouts, &mut row);
            other.clone().record(layouts, &mut base);
            let length = layouts[usize::from(entity.kind())].len();
            let differs = |index: &usize| row[*index] != base[*index];
            let words: Vec<_> =
                (0..length).filter(differs).map(|index| (index, row[index])).collect();
            if !words.is_empty() {
                changes.push(Change { id, kind: entity.kind(), words });
            }
        }
        let is_new = |id: &EntityId| id.is_provisional() && !without.contains(*id);
        let spawned = with.all_owned(setting.me).filter(|(id, _)| is_new(id));
        let spawned = spawned.map(|(id, entity)| (id, entity.clone())).collect();
        self.overlays.push_back(Overlay { number, changes, spawned });
    }

    /// Lays everything over a copy of the official world.
    pub(super) fn apply(&self, shown: &mut World<E>, layouts: &Layouts, me: PlayerId) {
        for overlay in &self.overlays {
            for change in &overlay.changes {
                let Some(entity) = shown.entity_mut(change.id) else { continue };
                if entity.kind() == change.kind {
                    change.apply(entity, layouts);
                }
            }
            for (id, entity) in &overlay.spawned {
                shown.put(*id, Some(me), entity.clone());
            }
        }
    }

    /// An answer has come: what the request changed is official from now on. `shown` is what was last drawn,
    /// `official` what is true.
    pub(super) fn answer<G: Requests<Entity = E>>(
        &mut self,
        (now, tick): (Time, Tick),
        number: RequestNumber,
        shown: &World<E>,
        official: &World<E>,
    ) {
        while self.overlays.front().is_some_and(|overlay| overlay.number <= number) {
            let Some(overlay) = self.overlays.pop_front() else { break };
            for change in overlay.changes {
                let is_pending =
                    |overlay: &Overlay<E>| overlay.changes.iter().any(|c| c.id == change.id);
                let states = shown.entity(change.id).zip(official.entity(change.id));
                let Some((from, to)) = states.filter(|_| !self.overlays.iter().any(is_pending))
                else {
                    continue;
                };
                self.leaving.retain(|leaving| leaving.id != change.id);
                let apart = G::apart(from, to, official, tick);
                if apart <= self.blending.smooth_within {
                    self.slides += u64::from(apart > 0.0);
                    self.leaving.push(Leaving { id: change.id, from: from.clone(), since: now });
                } else {
                    self.jumps += 1;
                }
            }
        }
        let lasts = self.blending.lasts;
        self.leaving.retain(|leaving| now - leaving.since < lasts);
    }

    pub(super) fn contains(&self, id: EntityId) -> bool {
        let mut overlays = self.overlays.iter();
        overlays.any(|overlay| {
            overlay.changes.iter().any(|change| change.id == id)
                || overlay.spawned.iter().any(|(spawned, _)| *spawned == id)
        })
    }

    /// The entity's last unofficial state, and how far it is on its way to the official one.
    pub(super) fn leaving(&self, now: Time, id: EntityId) -> Option<(&E, f32)> {
        let leaving = self.leaving.iter().find(|leaving| leaving.id == id)?;
        let lasts = self.blending.lasts.as_seconds_f64();
        let weight = (now - leaving.since).as_seconds_f64() / lasts.max(f64::EPSILON);
        (weight < 1.0).then_some((&leaving.from, weight as f32))
    }
}

impl Change {
    fn apply<E: Entities>(&self, entity: &mut E, layouts: &Layouts) {
        let layout = &layouts.state[usize::from(self.kind)];
        let mut row = [0; ROW_WORDS];
        entity.record(&layouts.state, &mut row);
        self.words.iter().for_each(|(index, word)| row[*index] = *word);
        // With what has become official since, it may be no record of any entity.
        if layout.admits(&row[..layout.len()]) {
            entity.scatter(&layouts.state, &row);
        }
    }
}

fn step<G: Requests>(
    shown: &World<G::Entity>,
    tick: Tick,
    setting: &Setting<'_, G>,
    commands: &[(PlayerId, Option<G::Command>)],
) -> World<G::Entity> {
    let mut world = shown.clone();
    world.set_tick(tick);
    world.set_hopes(setting.me);
    let next = Tick(tick.0.saturating_add(1));
    // Chance is the server's: a request must not depend on it here.
    let turn = Turn {
        commands,
        is_predicted: true,
        ..Turn::<G>::new(next, setting.tick_length, 0, setting.content)
    };
    G::step(&mut world, &turn);
    world.set_tick(next);
    // What is not finite was mended.
    let _ = world.settle();
    world
}
