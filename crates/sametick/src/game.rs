//! All that a game implements, and all that a step of it is given.

use crate::dice::Dice;
use crate::entities::Entities;
use crate::entity::EntityId;
use crate::fields::{Fields, Networked};
use crate::record::mix;
use crate::slots::Slots;
use crate::time::Span;
use crate::world::{PlayerId, Tick, World};
use std::cell::RefCell;

/// How many events a tick can have; more are not told.
pub const EVENTS_PER_TICK_MAX: usize = 1024;

/// The rules of a game: what its world holds, what players can ask for, and how one tick leads to the
/// next. No clock, no socket, no network model.
pub trait Game: Sized {
    /// Everything there is, made by [`entities!`](crate::entities).
    type Entity: Entities;
    /// What a player asks for in one tick.
    type Command: Networked + PartialEq;
    /// What happens at one moment and is not a state: a shot, a word. [`NoEvent`] if there is none.
    type Event: Networked;
    /// Map and tuning: the same for everyone, and never changed while a game runs.
    type Content;

    /// Leads the world from one tick to the next. A pure function: the same world and the same turn
    /// give the same world, on every machine.
    fn step(world: &mut World<Self::Entity>, turn: &Turn<'_, Self>);

    /// What a player is taken to ask for when nothing has come for a tick: the last command, the
    /// `times`-th time running. By default it is repeated as it was for a while, then nothing is asked.
    /// A game with buttons that act when pressed takes them out here.
    fn repeat(last: &Self::Command, times: u32) -> Self::Command {
        if times <= REPEATS_MAX { last.clone() } else { Self::Command::default() }
    }

    /// The world as the map has it, before the first tick. Both ends make it from the content, so that
    /// what never changes is never sent.
    fn populate(_content: &Self::Content, _world: &mut World<Self::Entity>) {}

    /// A name for the content, by which both ends know that they hold the same: a hash, or a number
    /// of the game's own. A client whose content has another name is told to load this one.
    fn content_name(_content: &Self::Content) -> u64 {
        0
    }

    /// In every which snapshot a player is told of an entity's changes: 1 is each, 3 each third. Far ones
    /// need less; with [`u32::MAX`] it is told of no more until it comes into sight again.
    fn update_every(_world: &World<Self::Entity>, _viewer: PlayerId, _entity: EntityId) -> u32 {
        1
    }

    /// For how many ticks an event is worth showing; by default for ever.
    fn event_lasts(_event: &Self::Event) -> u32 {
        u32::MAX
    }

    /// Which entities a player may know of. By default all of them; [`relevance`](crate::relevance) helps
    /// with less.
    fn relevant(
        world: &World<Self::Entity>,
        _content: &Self::Content,
        _viewer: PlayerId,
        visible: &mut Slots,
    ) {
        crate::relevance::everything(world, visible);
    }
}

/// How often a command is repeated for want of a newer one, unless the game says otherwise.
pub const REPEATS_MAX: u32 = 25;

/// What one step is given besides the world.
#[derive(Debug)]
pub struct Turn<'a, G: Game> {
    pub(crate) tick: Tick,
    pub(crate) tick_length: Span,
    pub(crate) seed: u64,
    pub(crate) content: &'a G::Content,
    pub(crate) joined: &'a [PlayerId],
    pub(crate) left: &'a [PlayerId],
    /// By player; one whose command is not known has none.
    pub(crate) commands: &'a [(PlayerId, Option<G::Command>)],
    pub(crate) events: RefCell<Vec<Emitted<G::Event>>>,
}

/// A game without events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoEvent;

impl Networked for NoEvent {
    fn fields<F: Fields>(&mut self, _f: &mut F) {}
}

/// How an event travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Who is told.
    pub to: Audience,
    /// Whether it is sent until it has arrived; otherwise once.
    pub is_reliable: bool,
    /// Whether those who join later are told too, as long as its entity is there. It is then reliable.
    pub is_saved: bool,
}

/// Who is told of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Whoever sees the entity it is about.
    #[default]
    Seeing,
    /// Everyone.
    All,
    /// One player.
    One(PlayerId),
}

/// An event as the rules gave it.
#[derive(Clone, Debug)]
pub(crate) struct Emitted<E> {
    pub(crate) key: EventKey,
    pub(crate) delivery: Delivery,
    pub(crate) event: E,
}

/// Names an event: the same on the server and on a client that predicted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// When it happened.
    pub tick: Tick,
    /// The entity it is about.
    pub entity: EntityId,
    /// Which of that entity's events of that tick it is.
    pub ordinal: u8,
}

impl<'a, G: Game> Turn<'a, G> {
    /// The tick that the step leads to.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// How long a tick takes, in seconds.
    pub fn dt(&self) -> f32 {
        self.tick_length.as_seconds_f64() as f32
    }

    /// Map and tuning.
    pub fn content(&self) -> &'a G::Content {
        self.content
    }

    /// Who is new in this tick.
    pub fn joined(&self) -> impl Iterator<Item = PlayerId> {
        self.joined.iter().copied()
    }

    /// Who is gone from this tick on.
    pub fn left(&self) -> impl Iterator<Item = PlayerId> {
        self.left.iter().copied()
    }

    /// What players ask for in this tick, as far as that is known here.
    pub fn commands(&self) -> impl Iterator<Item = (PlayerId, &'a G::Command)> {
        self.commands.iter().filter_map(|(player, command)| Some((*player, command.as_ref()?)))
    }

    /// What one player asks for, if that is known here.
    pub fn command(&self, player: PlayerId) -> Option<&'a G::Command> {
        self.commands().find(|(asking, _)| *asking == player).map(|(_, command)| command)
    }

    /// The world as a player's own screen showed it when it gave its command: what a shot is judged by.
    /// It is the present for those who predict the others, and where nobody was rewound.
    pub fn seen_by<'w>(
        &'w self,
        _player: PlayerId,
        present: &'w World<G::Entity>,
    ) -> &'w World<G::Entity> {
        present
    }

    /// Tells of something that happens now to an entity. At most 255 a tick for each.
    pub fn emit(&self, entity: EntityId, delivery: Delivery, event: G::Event) {
        let mut events = self.events.borrow_mut();
        let before = events.iter().filter(|emitted| emitted.key.entity == entity).count();
        if let (Ok(ordinal), true) = (u8::try_from(before), events.len() < EVENTS_PER_TICK_MAX) {
            let key = EventKey { tick: self.tick, entity, ordinal };
            events.push(Emitted { key, delivery, event });
        }
    }

    /// Chance for one entity, this tick and one purpose. Whoever asks for the same gets the same, so a
    /// client that sees only a part of the world rolls what the server rolls.
    pub fn dice(&self, entity: EntityId, purpose: u32) -> Dice {
        let key = [self.tick.0, entity.slot() as u32, entity.generation()];
        Dice::new(key.into_iter().fold(self.seed, mix), u64::from(purpose))
    }
}
