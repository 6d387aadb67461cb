//! What is left of an error, for the eye only: shown less and less for a while, the short way, and never
//! across a jump. The rules never see it.

use crate::blend;
use crate::entities::Entities;
use crate::entity::EntityId;
use crate::record::Layout;
use crate::time::{Span, Time};

/// How many entities are smoothed at once; others show what is right at once.
const SMOOTHED_MAX: usize = 512;

/// Entities that were shown where they should not have been.
#[derive(Clone, Debug)]
pub(crate) struct Errors<E> {
    errors: Vec<Error<E>>,
}

#[derive(Clone, Debug)]
struct Error<E> {
    id: EntityId,
    shown: E,
    right: E,
    since: Time,
}

impl<E> Default for Errors<E> {
    fn default() -> Self {
        Self { errors: Vec::new() }
    }
}

impl<E: Entities> Errors<E> {
    /// An entity was shown at `since` otherwise than was right. This takes the place of an earlier error,
    /// of which the rest was in what was shown.
    pub(crate) fn add(&mut self, id: EntityId, shown: E, right: E, since: Time) {
        self.forget(id);
        if self.errors.len() < SMOOTHED_MAX {
            self.errors.push(Error { id, shown, right, since });
        }
    }

    /// Nothing is left of an entity's error.
    pub(crate) fn forget(&mut self, id: EntityId) {
        self.errors.retain(|error| error.id != id);
    }

    /// Forgets the errors that are over.
    pub(crate) fn pass(&mut self, now: Time, over: Span) {
        self.errors.retain(|error| now - error.since < over);
    }

    /// An entity that should be shown as `target`, with what is left of its error.
    pub(crate) fn show(
        &self,
        layouts: &[Layout],
        id: EntityId,
        target: &E,
        now: Time,
        over: Span,
    ) -> Option<E> {
        let error = self.errors.iter().find(|error| error.id == id)?;
        let passed = (now - error.since).as_micros() as f64 / over.as_micros().max(1) as f64;
        let share = (1.0 - passed).clamp(0.0, 1.0);
        Some(blend::moved(layouts, target, &error.right, &error.shown, share))
    }

    pub(crate) fn rename(&mut self, from: EntityId, to: EntityId) {
        if let Some(error) = self.errors.iter_mut().find(|error| error.id == from) {
            error.id = to;
        }
    }
}
