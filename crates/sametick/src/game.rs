//! All that a game implements, and all that a step of it is given.

use crate::dice::Dice;
use crate::entities::Entities;
use crate::entity::EntityId;
use crate::fields::Networked;
use crate::record::mix;
use crate::slots::Slots;
use crate::time::Span;
use crate::world::{PlayerId, Tick, World};

/// The rules of a game: what its world holds, what players can ask for, and how one tick leads to the
/// next. No clock, no socket, no network model.
pub trait Game: Sized {
    /// Everything there is, made by [`entities!`](crate::entities).
    type Entity: Entities;
    /// What a player asks for in one tick.
    type Command: Networked + PartialEq;
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

    /// Which entities a player may know of. By default all of them.
    fn relevant(
        world: &World<Self::Entity>,
        _content: &Self::Content,
        _viewer: PlayerId,
        visible: &mut Slots,
    ) {
        world.entities().for_each(|(id, _)| visible.insert(id.slot()));
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

    /// Chance for one entity, this tick and one purpose. Whoever asks for the same gets the same, so a
    /// client that sees only a part of the world rolls what the server rolls.
    pub fn dice(&self, entity: EntityId, purpose: u32) -> Dice {
        let key = [self.tick.0, entity.slot() as u32, entity.generation()];
        Dice::new(key.into_iter().fold(self.seed, mix), u64::from(purpose))
    }
}
