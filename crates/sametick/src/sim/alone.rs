//! A game without a network: the same rules, stepped by whoever holds it.

use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::sim::events::Effect;
use crate::sim::game::{Emitted, Game, Turn};
use crate::sim::world::{Unsettled, World};

/// The shortest and the longest tick a game can have: 1000 and 20 a second.
pub const TICK_LENGTHS: std::ops::RangeInclusive<Span> = Span::micros(1_000)..=Span::micros(50_000);

/// One world and the players in it, on one machine.
///
/// ```
/// use sametick::{Alone, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
///
/// #[derive(Clone, Debug, Default)]
/// pub struct Runner { pub x: f32 }
/// impl Networked for Runner {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.exact("x", &mut self.x); }
/// }
/// sametick::entities! { pub enum Entity { Runner } }
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Wish { pub run: bool }
/// impl Networked for Wish {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("run", &mut self.run); }
/// }
///
/// struct Race;
/// impl Game for Race {
///     type Entity = Entity;
///     type Command = Wish;
///     type Event = NoEvent;
///     type Content = ();
///     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
///         for player in turn.joined() {
///             world.spawn_owned(player, Runner::default());
///         }
///         for (player, wish) in turn.commands() {
///             if let Some((_, runner)) = world.owned_mut::<Runner>(player) {
///                 runner.x += if wish.run { 5.0 * turn.dt() } else { 0.0 };
///             }
///         }
///     }
/// }
///
/// let mut race = Alone::<Race>::new((), 1, Span::millis(20));
/// race.join(PlayerId(0));
/// for _ in 0..50 {
///     race.step([(PlayerId(0), Wish { run: true })]).unwrap();
/// }
/// let (_, runner) = race.world().owned::<Runner>(PlayerId(0)).unwrap();
/// assert!((runner.x - 5.0).abs() < 1e-4);
/// ```
#[derive(Debug)]
pub struct Alone<G: Game> {
    world: World<G::Entity>,
    content: G::Content,
    seed: u64,
    tick_length: Span,
    players: Vec<PlayerId>,
    joined: Vec<PlayerId>,
    left: Vec<PlayerId>,
    events: Vec<Effect<G::Event>>,
}

impl<G: Game> Alone<G> {
    /// The world as the map has it. The seed decides every chance; a tick lasts 1 to 50 ms.
    pub fn new(content: G::Content, seed: u64, tick_length: Span) -> Self {
        assert!(TICK_LENGTHS.contains(&tick_length), "a tick lasts 1 to 50 ms");
        let mut world = World::default();
        G::populate(&content, &mut world);
        // What is not finite was mended, as a server would.
        let _ = world.settle();
        Self {
            world,
            events: Vec::new(),
            content,
            seed,
            tick_length,
            players: Vec::new(),
            joined: Vec::new(),
            left: Vec::new(),
        }
    }

    /// The world as the last step left it.
    pub fn world(&self) -> &World<G::Entity> {
        &self.world
    }

    /// Goes on from another world, such as one that was saved: with the same players, from its tick.
    pub fn set_world(&mut self, world: World<G::Entity>) {
        self.world = world;
    }

    /// What happened in the last step.
    pub fn take_effects(&mut self) -> Vec<Effect<G::Event>> {
        std::mem::take(&mut self.events)
    }

    /// Lets a player in, from the next step on.
    pub fn join(&mut self, player: PlayerId) {
        if !self.players.contains(&player) {
            self.players.push(player);
            self.players.sort_unstable();
            self.joined.push(player);
        }
    }

    /// Takes a player out, from the next step on.
    pub fn leave(&mut self, player: PlayerId) {
        if self.players.contains(&player) {
            self.players.retain(|other| *other != player);
            self.left.push(player);
        }
    }

    /// One tick. Commands are rounded as they would be on the wire; players without one have none.
    pub fn step(
        &mut self,
        commands: impl IntoIterator<Item = (PlayerId, G::Command)>,
    ) -> Result<(), Unsettled> {
        let mut known: Vec<(PlayerId, Option<G::Command>)> =
            self.players.iter().map(|player| (*player, None)).collect();
        for (player, mut command) in commands {
            // A command that is not finite asks for nothing.
            let is_lawful = crate::settle(&mut command).is_ok();
            if let Ok(index) = known.binary_search_by_key(&player, |(player, _)| *player) {
                known[index].1 = is_lawful.then_some(command);
            }
        }
        let tick = Tick(self.world.tick().0 + 1);
        let turn = Turn {
            joined: &self.joined,
            left: &self.left,
            commands: &known,
            ..Turn::new(tick, self.tick_length, self.seed, &self.content)
        };
        G::step(&mut self.world, &turn);
        let events = turn.events.into_inner().into_iter();
        self.events = events
            .map(|Emitted { key, event, .. }| Effect::Started { key, event, is_predicted: false })
            .collect();
        self.world.set_tick(tick);
        self.joined.clear();
        self.left.clear();
        self.world.settle()
    }
}
