//! The worlds of one machine: the newest of which everything is known, the guesses ahead of it, and those just
//! before, for comparing. Knows no messages.

use super::{HASH_EVERY_TICKS, HASHES_MAX};
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::schema::entities::Layouts;
use crate::schema::fields::Networked;
use crate::schema::record::{Layout, ROW_WORDS};
use crate::schema::table::Table;
use crate::sim::events::{Effect, Effects};
use crate::sim::game::{Emitted, Game, Turn};
use crate::sim::world::World;
use std::collections::VecDeque;

/// How many worlds are kept: those of a while that is enough for hashes to come and go, and no more than a message
/// has hashes.
fn worlds_kept(tick_length: Span) -> usize {
    let ticks = KEPT_FOR.as_micros() / tick_length.as_micros().max(1);
    (ticks as usize).clamp(1, HASHES_MAX)
}

const KEPT_FOR: Span = Span::seconds(2);

/// All that one step is given.
#[derive(Clone, Debug)]
pub(super) struct Inputs<C> {
    pub(super) joined: Vec<PlayerId>,
    pub(super) left: Vec<PlayerId>,
    /// By player.
    pub(super) commands: Vec<(PlayerId, Option<C>)>,
}

impl<C: Networked> Inputs<C> {
    /// Whether the same is asked, bit by bit: rules may tell values apart that compare as equal, as 0.0 and -0.0.
    fn is_same(&self, other: &Self, layout: &Layout) -> bool {
        let row = |command: &C| {
            let mut row = [0; ROW_WORDS];
            layout.gather(&mut command.clone(), &mut row);
            row
        };
        let is_asked = |asked: &Option<C>, wanted: &Option<C>| match (asked, wanted) {
            (Some(asked), Some(wanted)) => {
                row(asked)[..layout.len()] == row(wanted)[..layout.len()]
            }
            (asked, wanted) => asked.is_none() && wanted.is_none(),
        };
        let commands = self.commands.iter().zip(&other.commands);
        let are_same = |((one, asked), (other, wanted)): (&(PlayerId, _), &(PlayerId, _))| {
            one == other && is_asked(asked, wanted)
        };
        self.joined == other.joined
            && self.left == other.left
            && self.commands.len() == other.commands.len()
            && commands.into_iter().all(are_same)
    }
}

/// A world that was known for good, its hash if others are told of it, and what led to it.
pub(super) struct Past<G: Game> {
    pub(super) world: World<G::Entity>,
    told_hash: Option<u32>,
    /// None of the first.
    pub(super) inputs: Option<Inputs<G::Command>>,
}

impl<G: Game> Past<G> {
    /// Its hash, as it was when it was new if it was taken then.
    pub(super) fn hash(&self, layouts: &Layouts) -> u32 {
        self.told_hash.unwrap_or_else(|| self.world.hash(layouts) as u32)
    }
}

/// A guess: what was taken to be asked, and what came of it.
struct Guess<G: Game> {
    inputs: Inputs<G::Command>,
    world: World<G::Entity>,
    events: Vec<Emitted<G::Event>>,
}

/// What does not change from step to step.
pub(super) struct Frame<'a, G: Game> {
    pub(super) content: &'a G::Content,
    pub(super) layouts: &'a Layouts,
    /// A command's.
    pub(super) command: &'a Layout,
    pub(super) tick_length: Span,
    pub(super) seed: u64,
}

impl<G: Game> Frame<'_, G> {
    fn step(
        &self,
        world: &mut World<G::Entity>,
        inputs: &Inputs<G::Command>,
    ) -> Vec<Emitted<G::Event>> {
        let tick = Tick(world.tick().0 + 1);
        let turn = Turn {
            joined: &inputs.joined,
            left: &inputs.left,
            commands: &inputs.commands,
            ..Turn::<G>::new(tick, self.tick_length, self.seed, self.content)
        };
        G::step(world, &turn);
        let events = turn.events.into_inner();
        world.set_tick(tick);
        // What is not finite was mended, in the same way everywhere.
        let _ = world.settle();
        events
    }
}

/// See the file.
pub(super) struct Worlds<G: Game> {
    /// The newest last; never empty.
    past: VecDeque<Past<G>>,
    guesses: VecDeque<Guess<G>>,
    effects: Effects<G::Event>,
    /// Room for hashing.
    table: Table,
    /// Ticks that were stepped again because a guess was wrong.
    pub(super) resimulated: u64,
}

impl<G: Game> Worlds<G> {
    pub(super) fn new(world: World<G::Entity>) -> Self {
        let past = VecDeque::from([Past { world, told_hash: None, inputs: None }]);
        let (guesses, effects) = (VecDeque::new(), Effects::default());
        Self { past, guesses, effects, table: Table::default(), resimulated: 0 }
    }

    /// The newest tick of which everything is known.
    pub(super) fn executed(&self) -> Tick {
        self.known().tick()
    }

    /// The world of that tick.
    pub(super) fn known(&self) -> &World<G::Entity> {
        &self.newest().world
    }

    pub(super) fn newest(&self) -> &Past<G> {
        self.past.back().expect("never empty")
    }

    /// For tests of comparing: the newest world, to be spoiled.
    pub(super) fn known_mut(&mut self) -> &mut World<G::Entity> {
        self.guesses.clear();
        &mut self.past.back_mut().expect("never empty").world
    }

    /// The newest world there is, guessed or not.
    pub(super) fn shown(&self) -> &World<G::Entity> {
        self.guesses.back().map_or(self.known(), |guess| &guess.world)
    }

    /// A world that was known, and its hash.
    pub(super) fn at(&self, tick: Tick) -> Option<&Past<G>> {
        let first = self.past.front()?.world.tick();
        self.past.get(tick.0.checked_sub(first.0)? as usize)
    }

    pub(super) fn past(&self) -> impl ExactSizeIterator<Item = &Past<G>> {
        self.past.iter()
    }

    /// Takes the next step for good. A guess that was right is that step already.
    pub(super) fn execute(&mut self, frame: &Frame<'_, G>, inputs: Inputs<G::Command>) {
        let (world, events) = match self.guesses.pop_front() {
            Some(guess) if guess.inputs.is_same(&inputs, frame.command) => {
                (guess.world, guess.events)
            }
            guess => {
                // What was guessed on top of it was wrong too.
                self.resimulated += u64::from(guess.is_some()) + self.guesses.len() as u64;
                self.guesses.clear();
                let mut world = self.known().clone();
                let events = frame.step(&mut world, &inputs);
                (world, events)
            }
        };
        let tick = world.tick();
        for chunk in events.chunks(TOLD_AT_ONCE) {
            for Emitted { key, event, .. } in chunk {
                self.effects.tell(*key, false, event.clone());
            }
            self.effects.settle(tick, 0, G::event_lasts, |_| true);
        }
        self.effects.settle(tick, 0, G::event_lasts, |_| true);
        let is_told = tick.0.is_multiple_of(HASH_EVERY_TICKS);
        let told_hash = is_told.then(|| world.hash_in(frame.layouts, &mut self.table) as u32);
        while self.past.len() >= worlds_kept(frame.tick_length) {
            self.past.pop_front();
        }
        self.past.push_back(Past { world, told_hash, inputs: Some(inputs) });
    }

    /// Guesses up to a tick; `inputs` says what is likely asked in each. What was guessed from other
    /// inputs is stepped again.
    pub(super) fn guess(
        &mut self,
        frame: &Frame<'_, G>,
        until: Tick,
        inputs: impl Fn(Tick) -> Inputs<G::Command>,
    ) {
        let first = self.executed().0 + 1;
        let had = self.guesses.len();
        let is_wrong = |(tick, guess): (u32, &Guess<G>)| {
            !guess.inputs.is_same(&inputs(Tick(tick)), frame.command)
        };
        let wrong = (first..).zip(&self.guesses).position(is_wrong);
        if let Some(wrong) = wrong {
            self.guesses.truncate(wrong);
            self.resimulated += (had - wrong) as u64;
        }
        while first + (self.guesses.len() as u32) <= until.0 {
            let tick = Tick(first + self.guesses.len() as u32);
            let (mut world, inputs) = (self.shown().clone(), inputs(tick));
            let events = frame.step(&mut world, &inputs);
            for emitted in &events {
                self.effects.predict(emitted.clone());
            }
            self.guesses.push_back(Guess { inputs, world, events });
        }
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect<G::Event>> {
        std::mem::take(&mut self.effects.fresh)
    }
}

/// Fewer than wait for their turn.
const TOLD_AT_ONCE: usize = 128;
const _: () = assert!(TOLD_AT_ONCE < crate::sim::events::HELD_EVENTS_MAX);
