//! What is left of an error, for the eye only: shown less and less for a while, the short way, and never
//! across a jump. The rules never see it.

use crate::core::entity::EntityId;
use crate::core::time::{Span, Time};
use crate::schema::blend;
use crate::schema::entities::Entities;
use crate::schema::record::Layout;

/// How many entities are smoothed at once; others show what is right at once.
const SMOOTHED_MAX: usize = 512;

/// Entities that were shown where they should not have been.
#[derive(Clone, Debug)]
pub(crate) struct Errors<E> {
    /// By name.
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
        match self.find(id) {
            Ok(index) => self.errors[index] = Error { id, shown, right, since },
            Err(index) if self.errors.len() < SMOOTHED_MAX => {
                self.errors.insert(index, Error { id, shown, right, since });
            }
            Err(_) => {}
        }
    }

    /// Nothing is left of an entity's error.
    pub(crate) fn forget(&mut self, id: EntityId) {
        if let Ok(index) = self.find(id) {
            self.errors.remove(index);
        }
    }

    fn find(&self, id: EntityId) -> Result<usize, usize> {
        self.errors.binary_search_by_key(&id, |error| error.id)
    }

    /// Forgets the errors that are over.
    pub(crate) fn pass(&mut self, now: Time, over: Span) {
        self.errors.retain(|error| now - error.since < over);
    }

    /// An entity that should be shown as `target`, with what is left of its error; none if nothing is,
    /// or if it jumped since.
    pub(crate) fn show(
        &self,
        layouts: &[Layout],
        (id, target): (EntityId, &E),
        (now, over): (Time, Span),
        jumps: impl Fn(&E, &E) -> bool,
    ) -> Option<E> {
        let error = self.find(id).ok().map(|index| &self.errors[index])?;
        if jumps(&error.right, target) {
            return None;
        }
        let passed = (now - error.since).as_micros() as f64 / over.as_micros().max(1) as f64;
        let share = (1.0 - passed).clamp(0.0, 1.0);
        Some(blend::moved(layouts, target, &error.right, &error.shown, share))
    }

    pub(crate) fn rename(&mut self, from: EntityId, to: EntityId) {
        if let Ok(index) = self.find(from) {
            let Error { shown, right, since, .. } = self.errors.remove(index);
            self.add(to, shown, right, since);
        }
    }
}
