//! What everyone asked for, tick by tick: the commands of each seat, without gaps. Knows no lines.

use crate::core::tick::Tick;
use std::collections::{BTreeMap, VecDeque};

/// One seat's commands, from some tick on, without gaps.
#[derive(Clone, Debug)]
pub(super) struct Stream<C> {
    first: Tick,
    commands: VecDeque<C>,
}

impl<C: Clone> Stream<C> {
    pub(super) fn new(first: Tick) -> Self {
        Self { first, commands: VecDeque::new() }
    }

    /// The last tick that is known; the one before the first if none is.
    pub(super) fn newest(&self) -> Tick {
        Tick((self.first.0 + self.commands.len() as u32).saturating_sub(1))
    }

    pub(super) fn first(&self) -> Tick {
        self.first
    }

    pub(super) fn get(&self, tick: Tick) -> Option<&C> {
        self.commands.get(tick.0.checked_sub(self.first.0)? as usize)
    }

    /// Takes the command of the next tick.
    pub(super) fn push(&mut self, command: C) {
        self.commands.push_back(command);
    }

    /// Takes a command if it is that of the next tick; says whether it is known now.
    pub(super) fn take(&mut self, tick: Tick, command: C) -> bool {
        if tick.0 == self.first.0 + self.commands.len() as u32 {
            self.push(command);
        }
        self.get(tick).is_some()
    }

    pub(super) fn forget_before(&mut self, tick: Tick) {
        while self.first < tick && self.commands.pop_front().is_some() {
            self.first.0 += 1;
        }
    }
}

/// The commands of all seats that count.
#[derive(Clone, Debug)]
pub(super) struct Streams<C> {
    seats: BTreeMap<u16, Stream<C>>,
}

impl<C> Default for Streams<C> {
    fn default() -> Self {
        Self { seats: BTreeMap::new() }
    }
}

impl<C: Clone> Streams<C> {
    pub(super) fn get(&self, seat: u16, tick: Tick) -> Option<&C> {
        self.seats.get(&seat)?.get(tick)
    }

    pub(super) fn stream(&self, seat: u16) -> Option<&Stream<C>> {
        self.seats.get(&seat)
    }

    /// The stream of a seat, which begins at this tick if there is none yet.
    pub(super) fn open(&mut self, seat: u16, first: Tick) -> &mut Stream<C> {
        self.seats.entry(seat).or_insert_with(|| Stream::new(first))
    }

    pub(super) fn newest(&self, seat: u16) -> Option<Tick> {
        self.seats.get(&seat).map(Stream::newest)
    }

    /// Forgets what nobody can need any more: all before a tick, and all of seats that are not known.
    pub(super) fn forget(&mut self, before: Tick, is_known: impl Fn(u16) -> bool) {
        self.seats.retain(|seat, _| is_known(*seat));
        self.seats.values_mut().for_each(|stream| stream.forget_before(before));
    }
}
