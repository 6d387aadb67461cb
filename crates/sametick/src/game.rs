//! All that a game implements, and all that a step of it is given.

use crate::dice::Dice;
use crate::entities::Entities;
use crate::entity::EntityId;
use crate::fields::{Fields, Networked};
use crate::record::mix;
use crate::relevance::Places;
use crate::sight::{Moment, Past};
use crate::slots::Slots;
use crate::time::Span;
use crate::view::Others;
use crate::world::{PlayerId, Tick, World};
use std::cell::{OnceCell, RefCell};

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

    /// How an entity of the others is shown to a client that wishes to see others in this way. A game may
    /// have its doors and lifts predicted, and its score board shown as it is told.
    fn shown(_entity: &Self::Entity, wish: Others) -> Others {
        wish
    }

    /// Whether an entity jumped from one state to the other, so that nothing between them is shown: by a
    /// counter of its jumps, or by the distance.
    fn jumps(_from: &Self::Entity, _to: &Self::Entity) -> bool {
        false
    }

    /// Moves an entity on by itself, to show where it may be by now; false if the game knows no better
    /// than straight on.
    fn drift(_entity: &mut Self::Entity, _content: &Self::Content, _seconds: f32) -> bool {
        false
    }

    /// Whether an entity is put back to where a player saw it, for that player's shots. What flies lives
    /// in the present, if the game says so here.
    fn is_rewound(_entity: &Self::Entity) -> bool {
        true
    }

    /// What counts of a state that a player claims for an entity of its own, where the server trusts
    /// its clients; by default all of it. Whatever others decide too, such as health or what was picked
    /// up, is left out here: the server's order decides.
    fn trust(decided: &mut Self::Entity, claimed: &Self::Entity) {
        *decided = claimed.clone();
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

    /// Where everyone stands, found once a tick for all who look: a game that divides its map into cells
    /// fills it in, and asks it in [`relevant_among`](Game::relevant_among).
    fn places(_world: &World<Self::Entity>, _content: &Self::Content, _places: &mut Places) {}

    /// The same as [`relevant`](Game::relevant), which it is by default, for one viewer of many: `places` is
    /// what [`places`](Game::places) made of this world. The answer must be the same.
    fn relevant_among(
        world: &World<Self::Entity>,
        content: &Self::Content,
        _places: &Places,
        viewer: PlayerId,
        visible: &mut Slots,
    ) {
        Self::relevant(world, content, viewer, visible);
    }
}

/// How often a command is repeated for want of a newer one, unless the game says otherwise.
pub const REPEATS_MAX: u32 = 25;

/// What one step is given besides the world.
pub struct Turn<'a, G: Game> {
    pub(crate) tick: Tick,
    pub(crate) tick_length: Span,
    pub(crate) seed: u64,
    pub(crate) content: &'a G::Content,
    pub(crate) joined: &'a [PlayerId],
    pub(crate) left: &'a [PlayerId],
    /// By player; one whose command is not known has none.
    pub(crate) commands: &'a [(PlayerId, Option<G::Command>)],
    /// How players saw the others when they gave their commands; none where all see the present.
    pub(crate) sights: Option<Sights<'a, G>>,
    /// Whether a target must be in sight in the present too.
    pub(crate) needs_sight: bool,
    pub(crate) stride: Stride,
    pub(crate) is_predicted: bool,
    pub(crate) events: RefCell<Vec<Emitted<G::Event>>>,
    pub(crate) verdicts: RefCell<Vec<Verdict>>,
}

/// How players see the others.
pub(crate) struct Sights<'a, G: Game> {
    pub(crate) past: Past<'a, G>,
    /// By player.
    pub(crate) players: Vec<Sight<G>>,
}

/// How one player sees the others; the world is made when it is asked for.
pub(crate) struct Sight<G: Game> {
    pub(crate) player: PlayerId,
    pub(crate) others: Others,
    pub(crate) moment: Moment,
    pub(crate) world: OnceCell<World<G::Entity>>,
}

/// When several ticks of others are taken in one: whose are not, and how many have passed and are to
/// come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stride {
    pub(crate) ticks: u32,
    pub(crate) me: Option<PlayerId>,
    pub(crate) done: u32,
    pub(crate) is_last: bool,
}

/// What a shot hit: as its shooter saw it, and as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// When.
    pub tick: Tick,
    /// Who shot.
    pub player: PlayerId,
    /// What it hit on the shooter's screen.
    pub seen: Option<EntityId>,
    /// How far back what the shooter saw was.
    pub rewound: Span,
    /// What it would have hit in the present.
    pub present: Option<EntityId>,
    /// What it hit: what was seen, unless that must be in sight in the present too and is not.
    pub hit: Option<EntityId>,
}

/// How many verdicts of a tick are logged.
pub const VERDICTS_PER_TICK_MAX: usize = 1024;

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
    /// A turn in which nobody joins, leaves, asks for anything, or is seen other than present.
    pub(crate) fn new(tick: Tick, tick_length: Span, seed: u64, content: &'a G::Content) -> Self {
        Self {
            tick,
            tick_length,
            seed,
            content,
            joined: &[],
            left: &[],
            commands: &[],
            sights: None,
            needs_sight: false,
            stride: Stride::default(),
            is_predicted: false,
            events: RefCell::default(),
            verdicts: RefCell::default(),
        }
    }

    /// The tick that the step leads to.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// How long a tick takes, in seconds.
    pub fn dt(&self) -> f32 {
        self.tick_length.as_seconds_f64() as f32
    }

    /// Whether this is a client's guess, which the server may not confirm. Whatever needs all of the
    /// world, such as a place to be born far from everyone, is for the other steps.
    pub fn is_predicted(&self) -> bool {
        self.is_predicted
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
        // As a rule each stands at its own number.
        let likely =
            self.commands.get(usize::from(player.0)).filter(|(asking, _)| *asking == player);
        let known = likely.or_else(|| self.commands.iter().find(|(asking, _)| *asking == player));
        known?.1.as_ref()
    }

    /// How much time the entities of a player, or of nobody, live through in this step, in seconds; none
    /// if they wait, to make up for it in one later. That happens only where a client predicts others
    /// anew and its [`View::stride`] allows it: rules that never ask take every step as it is.
    ///
    /// [`View::stride`]: crate::View::stride
    pub fn dt_of(&self, owner: Option<PlayerId>) -> Option<f32> {
        let Stride { ticks, me, done, is_last } = self.stride;
        if ticks <= 1 || owner == me {
            return Some(self.dt());
        }
        let waited = (done - 1) % ticks + 1;
        (waited == ticks || is_last).then(|| self.dt() * waited as f32)
    }

    /// The world as a player's own screen showed it when it gave its command: what a shot is judged by.
    /// It is the present for those who predict the others, and where nobody is rewound.
    pub fn seen_by<'w>(
        &'w self,
        player: PlayerId,
        present: &'w World<G::Entity>,
    ) -> &'w World<G::Entity> {
        let Some((past, sight)) = self.sight(player) else { return present };
        let Sight { others, moment, world, .. } = sight;
        world.get_or_init(|| past.seen(present, player, *others, *moment))
    }

    fn sight(&self, player: PlayerId) -> Option<(&Past<'a, G>, &Sight<G>)> {
        let sights = self.sights.as_ref()?;
        let index = sights.players.binary_search_by_key(&player, |sight| sight.player).ok()?;
        Some((&sights.past, &sights.players[index]))
    }

    /// What a player's shot hits: what `hit` finds in the world as that player saw it. It is also judged
    /// by the present, and both verdicts are logged. Where the server asks for it, the target must be in
    /// sight of the shooter in the present too, which `in_sight` tells.
    pub fn judge(
        &self,
        player: PlayerId,
        present: &World<G::Entity>,
        hit: impl Fn(&World<G::Entity>) -> Option<EntityId>,
        in_sight: impl Fn(&World<G::Entity>, EntityId) -> bool,
    ) -> Option<EntityId> {
        let seen = hit(self.seen_by(player, present));
        let is_fair = |id: &EntityId| !self.needs_sight || in_sight(present, *id);
        let verdict = seen.filter(is_fair);
        let mut verdicts = self.verdicts.borrow_mut();
        if verdicts.len() < VERDICTS_PER_TICK_MAX {
            let shown = self.sight(player).map(|(_, sight)| sight.moment.shown_tick(sight.others));
            let tick = f64::from(self.tick.0);
            let micros = (tick - shown.unwrap_or(tick)) * self.tick_length.as_micros() as f64;
            verdicts.push(Verdict {
                tick: self.tick,
                player,
                seen,
                rewound: Span::from_micros_f64(micros.max(0.0)),
                present: hit(present),
                hit: verdict,
            });
        }
        verdict
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
