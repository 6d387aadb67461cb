//! The last few things of a kind, with when they were: never older than a span, never more than a number.

use crate::core::time::{Span, Time};
use std::collections::VecDeque;

/// What was lately, oldest first.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<(Time, T)>,
    items_max: usize,
    kept: Span,
}

impl<T> Ring<T> {
    pub(super) fn new(items_max: usize, kept: Span) -> Self {
        Self { items: VecDeque::new(), items_max, kept }
    }

    pub(super) fn push(&mut self, at: Time, item: T) {
        self.forget(at);
        if self.items.len() == self.items_max {
            self.items.pop_front();
        }
        self.items.push_back((at, item));
    }

    pub(super) fn forget(&mut self, now: Time) {
        while self.items.front().is_some_and(|(at, _)| now - *at > self.kept) {
            self.items.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
    }

    pub(super) fn find_last_mut(&mut self, is_it: impl Fn(Time, &T) -> bool) -> Option<&mut T> {
        self.items.iter_mut().rev().find(|(at, item)| is_it(*at, item)).map(|(_, item)| item)
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Time, &T)> {
        self.items.iter().map(|(at, item)| (*at, item))
    }

    /// Those of the last while.
    pub fn since(&self, from: Time) -> impl DoubleEndedIterator<Item = (Time, &T)> {
        let first = self.items.partition_point(|(at, _)| *at < from);
        self.items.range(first..).map(|(at, item)| (*at, item))
    }

    /// The newest.
    pub fn last(&self) -> Option<(Time, &T)> {
        self.items.back().map(|(at, item)| (*at, item))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
