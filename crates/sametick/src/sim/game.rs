//! All that a game implements, and all that a step of it is given.

use crate::core::dice::Dice;
use crate::core::entity::EntityId;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::schema::entities::Entities;
use crate::schema::fields::{Fields, Networked};
use crate::schema::record::mix;
use crate::sim::relevance::Places;
use crate::sim::sight::{Moment, Past};
use crate::sim::view::Others;
use crate::sim::world::World;
use std::cell::{Cell, OnceCell, RefCell};

/// How many events a tick can have; more are not told.
pub const EVENTS_PER_TICK_MAX: usize = 1024;

/// The rules of a game: what its world holds, what players can ask for, and how one tick leads to the
/// next. No clock, no socket, no network model.
///
/// Four types and [`step`](Game::step) make a game; all else has a default. The same rules run on the
/// server, on clients that predict, and [alone](crate::Alone).
///
/// ```
/// use sametick::{Alone, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
///
/// #[derive(Clone, Debug, Default)]
/// pub struct Lamp { pub is_lit: bool }
/// impl Networked for Lamp {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("is_lit", &mut self.is_lit); }
/// }
/// sametick::entities! { pub enum Entity { Lamp } }
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Wish { pub press: bool }
/// impl Networked for Wish {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("press", &mut self.press); }
/// }
///
/// struct Room;
/// impl Game for Room {
///     type Entity = Entity;
///     type Command = Wish;
///     type Event = NoEvent;
///     type Content = ();
///
///     fn populate((): &(), world: &mut World<Entity>) {
///         world.spawn(Lamp::default());
///     }
///
///     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
///         let presses = turn.commands().filter(|(_, wish)| wish.press).count();
///         for (_, lamp) in world.all_mut::<Lamp>() {
///             lamp.is_lit ^= presses % 2 == 1;
///         }
///     }
///
///     // What acts when it is pressed is not pressed again for want of a newer command.
///     fn repeat(_last: &Wish, _times: u32) -> Wish {
///         Wish { press: false }
///     }
/// }
///
/// let mut room = Alone::<Room>::new((), 1, Span::millis(20));
/// room.join(PlayerId(0));
/// room.step([(PlayerId(0), Wish { press: true })]).unwrap();
/// assert!(room.world().all::<Lamp>().all(|(_, lamp)| lamp.is_lit));
/// ```
pub trait Game: Sized {
    /// Everything there is, made by [`entities!`](crate::entities!).
    type Entity: Entities;
    /// What a player asks for in one tick.
    type Command: Networked + PartialEq;
    /// What happens at one moment and is not a state: a shot, a word. [`NoEvent`] if there is none.
    type Event: Networked;
    /// Map and tuning: the same for everyone, and never changed while a game runs.
    type Content;

    /// Leads the world from one tick to the next. A pure function: the same world and the same turn
    /// give the same world, on every machine. So no clock, no random numbers but [`Turn::dice`], no
    /// `f32::sin` but `libm`, and nothing that is kept outside of the world.
    ///
    /// On a client the world is a part of the server's: anything may be missing, and whatever the client
    /// does not predict is put back after each tick to what the newest snapshot says.
    fn step(world: &mut World<Self::Entity>, turn: &Turn<'_, Self>);

    /// What a player is taken to ask for when nothing has come for a tick: the last command, the
    /// `times`-th time running. By default it is repeated as it was for a while, then nothing is asked.
    /// A game with buttons that act when pressed takes them out here.
    fn repeat(last: &Self::Command, times: u32) -> Self::Command {
        if times <= REPEATS_MAX { last.clone() } else { Self::Command::default() }
    }

    /// What is asked for in the name of a player who dropped out and whose place is kept
    /// ([`PLACE_KEPT`](crate::PLACE_KEPT)): by default nothing, so that its body stands as it stood. A game
    /// that has spectators makes one of it, lest others meet somebody who is not there.
    fn absent() -> Option<Self::Command> {
        None
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
    /// need less; with [`u32::MAX`] it is told of no more until it comes into sight again. Entities have their
    /// turns in different snapshots, so that many that change at once are not told of at once. What depends on the
    /// player alone is found once, before the answer, which is asked for each entity that changed.
    fn update_every(_world: &World<Self::Entity>, _viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        |_| 1
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

    /// How far apart two states of an entity are to the eye, in the game's own measure of length: by how much a
    /// prediction was wrong, for the net graph. By default nothing is known of it.
    fn distance(_from: &Self::Entity, _to: &Self::Entity) -> f32 {
        0.0
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

    /// Whether these rules can foresee for the compact codec what becomes of a player's own entities, from no more than
    /// that player has in sight; see [`Server::foresee`](crate::Server::foresee). They can if they can predict: if they
    /// make the same of the same on every machine, and nothing that is not finite.
    fn foresees() -> bool {
        false
    }

    /// Which kind of event it is. What a client predicted is matched with what the server tells by tick,
    /// entity, kind and ordinal: kinds that only the server knows of do not shift the others.
    fn event_kind(_event: &Self::Event) -> u8 {
        0
    }

    /// For how many ticks an event is worth showing; by default for ever.
    fn event_lasts(_event: &Self::Event) -> u32 {
        u32::MAX
    }

    /// Which entities a player may know of: adds their slots to `visible`, which is empty at first. By
    /// default all of them; [`relevance`](crate::sim::relevance) helps with less. What is left out is never
    /// sent, except a player's own entities, of which it is always told.
    fn relevant(
        world: &World<Self::Entity>,
        _content: &Self::Content,
        _viewer: PlayerId,
        visible: &mut Slots,
    ) {
        crate::sim::relevance::everything(world, visible);
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

/// What one step is given besides the world: who came and went, what is asked for, chance, and how each
/// player saw the others.
///
/// On a client that predicts, a turn has what that client knows: nobody joins or leaves, and only its own
/// commands are there, with the last ones of others if it predicts those too.
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
    world: OnceCell<World<G::Entity>>,
    /// Whether the rules asked for it, or for a part of it.
    pub(crate) is_asked: Cell<bool>,
}

impl<G: Game> Sight<G> {
    pub(crate) fn new(player: PlayerId, others: Others, moment: Moment) -> Self {
        Self { player, others, moment, world: OnceCell::new(), is_asked: Cell::new(false) }
    }
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

/// How an event travels: by default once, to those who see the entity it is about.
///
/// ```
/// use sametick::{Audience, Delivery, PlayerId};
///
/// // A shot: who sees the shooter hears it, and if it is lost nobody minds.
/// let shot = Delivery::default();
/// assert!(shot.to == Audience::Seeing && !shot.is_reliable);
/// // A word to one player must arrive; a hole in a wall is there for those who come later too.
/// let word = Delivery { to: Audience::One(PlayerId(3)), is_reliable: true, is_saved: false };
/// let hole = Delivery { is_saved: true, ..Delivery::default() };
/// # let _ = (word, hole);
/// ```
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
    /// What [`Game::event_kind`] says of it.
    pub kind: u8,
    /// Which of that entity's events of that kind and tick it is.
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

    /// Who is new in this tick. In a client's guess nobody is.
    pub fn joined(&self) -> impl Iterator<Item = PlayerId> {
        self.joined.iter().copied()
    }

    /// Who is gone from this tick on. A player who drops out keeps its place for a minute and is gone
    /// after that. In a client's guess nobody is.
    pub fn left(&self) -> impl Iterator<Item = PlayerId> {
        self.left.iter().copied()
    }

    /// What players ask for in this tick, as far as that is known here, by player. A server has none of a
    /// player who has just come, or who is away; a client has its own and, if it predicts others, the last
    /// that it was told of theirs.
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
    ///
    /// The shooter's own entities in it are those of the present, and so is what
    /// [`Game::is_rewound`] leaves out. Whoever was not on that screen is not there. Find the target in
    /// it, and change that target in the world:
    ///
    /// ```
    /// # use sametick::{Alone, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
    /// # #[derive(Clone, Debug, Default)]
    /// # pub struct Runner { pub x: f32, pub health: u8 }
    /// # impl Networked for Runner {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) {
    /// #         f.exact("x", &mut self.x);
    /// #         f.int("health", &mut self.health, 0..=100);
    /// #     }
    /// # }
    /// # sametick::entities! { pub enum Entity { Runner } }
    /// # #[derive(Clone, Debug, Default, PartialEq)]
    /// # pub struct Wish { pub fire: bool }
    /// # impl Networked for Wish {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("fire", &mut self.fire); }
    /// # }
    /// # struct Duel;
    /// # impl Game for Duel {
    /// #     type Entity = Entity;
    /// #     type Command = Wish;
    /// #     type Event = NoEvent;
    /// #     type Content = ();
    /// # fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
    /// #     for player in turn.joined() {
    /// #         world.spawn_owned(player, Runner { x: f32::from(player.0), health: 100 });
    /// #     }
    /// for (player, _) in turn.commands().filter(|(_, wish)| wish.fire) {
    ///     let Some((me, runner)) = world.owned::<Runner>(player) else { continue };
    ///     let (from, seen) = (runner.x, turn.seen_by(player, world));
    ///     let near = |(id, other): &(_, &Runner)| *id != me && (other.x - from).abs() < 2.0;
    ///     let target = seen.all::<Runner>().find(near).map(|(id, _)| id);
    ///     if let Some(target) = target.and_then(|id| world.get_mut::<Runner>(id)) {
    ///         target.health -= 20;
    ///     }
    /// }
    /// # }}
    /// # let mut duel = Alone::<Duel>::new((), 1, Span::millis(20));
    /// # [PlayerId(0), PlayerId(1)].into_iter().for_each(|player| duel.join(player));
    /// # duel.step([(PlayerId(0), Wish { fire: true })]).unwrap();
    /// # assert_eq!(duel.world().owned::<Runner>(PlayerId(1)).unwrap().1.health, 80);
    /// ```
    pub fn seen_by<'w>(
        &'w self,
        player: PlayerId,
        present: &'w World<G::Entity>,
    ) -> &'w World<G::Entity> {
        let Some((past, sight)) = self.sight(player) else { return present };
        let Sight { others, moment, world, is_asked, .. } = sight;
        is_asked.set(true);
        world.get_or_init(|| past.seen(present, player, *others, *moment))
    }

    pub(crate) fn sight(&self, player: PlayerId) -> Option<(&Past<'a, G>, &Sight<G>)> {
        let sights = self.sights.as_ref()?;
        let index = sights.players.binary_search_by_key(&player, |sight| sight.player).ok()?;
        Some((&sights.past, &sights.players[index]))
    }

    /// What a player's shot hits: what `hit` finds in the world as that player saw it. It is also judged
    /// by the present, and both verdicts are logged. Where the server asks for it, the target must be in
    /// sight of the shooter in the present too, which `in_sight` tells.
    ///
    /// ```
    /// # use sametick::{Alone, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
    /// # #[derive(Clone, Debug, Default)]
    /// # pub struct Runner { pub x: f32, pub health: u8 }
    /// # impl Networked for Runner {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) {
    /// #         f.exact("x", &mut self.x);
    /// #         f.int("health", &mut self.health, 0..=100);
    /// #     }
    /// # }
    /// # sametick::entities! { pub enum Entity { Runner } }
    /// # #[derive(Clone, Debug, Default, PartialEq)]
    /// # pub struct Wish { pub fire: bool }
    /// # impl Networked for Wish {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("fire", &mut self.fire); }
    /// # }
    /// # struct Duel;
    /// # impl Game for Duel {
    /// #     type Entity = Entity;
    /// #     type Command = Wish;
    /// #     type Event = NoEvent;
    /// #     type Content = ();
    /// # fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
    /// #     for player in turn.joined() {
    /// #         world.spawn_owned(player, Runner { x: f32::from(player.0), health: 100 });
    /// #     }
    /// # for (player, _) in turn.commands() {
    /// # let Some((me, runner)) = world.owned::<Runner>(player) else { continue };
    /// # let from = runner.x;
    /// let nearest = |seen: &World<Entity>| {
    ///     let others = seen.all::<Runner>().filter(|(id, _)| *id != me);
    ///     let distance = |runner: &Runner| (runner.x - from).abs();
    ///     others.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(id, _)| id)
    /// };
    /// let has_no_wall_between = |_: &World<Entity>, _| true;
    /// if let Some(hit) = turn.judge(player, world, nearest, has_no_wall_between)
    ///     && let Some(victim) = world.get_mut::<Runner>(hit)
    /// {
    ///     victim.health -= 20;
    /// }
    /// # }}}
    /// # let mut duel = Alone::<Duel>::new((), 1, Span::millis(20));
    /// # [PlayerId(0), PlayerId(1)].into_iter().for_each(|player| duel.join(player));
    /// # duel.step([(PlayerId(0), Wish { fire: true })]).unwrap();
    /// # assert_eq!(duel.world().owned::<Runner>(PlayerId(1)).unwrap().1.health, 80);
    /// ```
    ///
    /// `Server::take_verdicts` tells both verdicts of each shot.
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
        self.log_verdict(player, seen, verdict, || hit(present));
        verdict
    }

    pub(crate) fn log_verdict(
        &self,
        player: PlayerId,
        seen: Option<EntityId>,
        hit: Option<EntityId>,
        present: impl FnOnce() -> Option<EntityId>,
    ) {
        if self.verdicts.borrow().len() < VERDICTS_PER_TICK_MAX {
            let (tick, rewound, present) = (self.tick, self.rewound(player), present());
            let logged = Verdict { tick, player, seen, rewound, present, hit };
            self.verdicts.borrow_mut().push(logged);
        }
    }

    /// How far back the world lies by which a player's shots are judged; nothing where nobody is rewound.
    pub fn rewound(&self, player: PlayerId) -> Span {
        let shown = self.sight(player).map(|(_, sight)| sight.moment.shown_tick(sight.others));
        let tick = f64::from(self.tick.0);
        let micros = (tick - shown.unwrap_or(tick)) * self.tick_length.as_micros() as f64;
        Span::from_micros_f64(micros.max(0.0))
    }

    /// Tells of something that happens now to an entity. At most 256 of a kind a tick for each. A client
    /// predicts the events of its own entities; each is played once, see [`Effect`](crate::Effect).
    pub fn emit(&self, entity: EntityId, delivery: Delivery, event: G::Event) {
        let mut events = self.events.borrow_mut();
        let kind = G::event_kind(&event);
        let is_alike = |key: &EventKey| key.entity == entity && key.kind == kind;
        let before = events.iter().filter(|emitted| is_alike(&emitted.key)).count();
        if let (Ok(ordinal), true) = (u8::try_from(before), events.len() < EVENTS_PER_TICK_MAX) {
            let key = EventKey { tick: self.tick, entity, kind, ordinal };
            events.push(Emitted { key, delivery, event });
        }
    }

    /// Chance for one entity, this tick and one purpose. Whoever asks for the same gets the same, so a
    /// client that sees only a part of the world rolls what the server rolls. Ask for an entity that both
    /// know by the same name: not for one that was made in this tick.
    ///
    /// ```
    /// # use sametick::{Alone, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
    /// # #[derive(Clone, Debug, Default)]
    /// # pub struct Runner { pub x: f32, pub health: u8 }
    /// # impl Networked for Runner {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) {
    /// #         f.exact("x", &mut self.x);
    /// #         f.int("health", &mut self.health, 0..=100);
    /// #     }
    /// # }
    /// # sametick::entities! { pub enum Entity { Runner } }
    /// # #[derive(Clone, Debug, Default, PartialEq)]
    /// # pub struct Wish { pub fire: bool }
    /// # impl Networked for Wish {
    /// #     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("fire", &mut self.fire); }
    /// # }
    /// # struct Duel;
    /// # impl Game for Duel {
    /// #     type Entity = Entity;
    /// #     type Command = Wish;
    /// #     type Event = NoEvent;
    /// #     type Content = ();
    /// # fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
    /// const WOUND: u32 = 1; // A number for each purpose.
    ///
    /// #     for player in turn.joined() {
    /// #         world.spawn_owned(player, Runner { x: f32::from(player.0), health: 100 });
    /// #     }
    /// for (player, _) in turn.commands() {
    ///     let Some((me, runner)) = world.owned_mut::<Runner>(player) else { continue };
    ///     runner.health -= turn.dice(me, WOUND).below(6) as u8 + 1;
    /// }
    /// # }}
    /// # let mut duel = Alone::<Duel>::new((), 1, Span::millis(20));
    /// # [PlayerId(0), PlayerId(1)].into_iter().for_each(|player| duel.join(player));
    /// # duel.step([(PlayerId(0), Wish { fire: true })]).unwrap();
    /// # let (_, runner) = duel.world().owned::<Runner>(PlayerId(0)).unwrap();
    /// # assert!((94..=99).contains(&runner.health));
    /// ```
    pub fn dice(&self, entity: EntityId, purpose: u32) -> Dice {
        dice_of(self.seed, self.tick, entity, purpose)
    }
}

/// The dice that [`Turn::dice`] gives in a tick of a game with this seed: with them a screen shows what the rules will
/// do.
pub fn dice_of(seed: u64, tick: Tick, entity: EntityId, purpose: u32) -> Dice {
    let key = [tick.0, entity.slot() as u32, entity.generation()];
    Dice::new(key.into_iter().fold(seed, mix), u64::from(purpose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Sound {
        kind: u8,
    }

    impl Networked for Sound {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.bits("kind", &mut self.kind, 8);
        }
    }

    crate::entities! { enum Entity { Sound } }

    struct Noise;

    impl Game for Noise {
        type Entity = Entity;
        type Command = Sound;
        type Event = Sound;
        type Content = ();
        fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
        fn event_kind(event: &Sound) -> u8 {
            event.kind
        }
    }

    #[test]
    fn an_event_that_only_the_server_knows_of_does_not_shift_the_names_of_others() {
        let entity = EntityId::new(3, 1).unwrap();
        let keys = |kinds: &[u8]| {
            let turn = Turn::<Noise>::new(Tick(9), Span::millis(20), 1, &());
            for kind in kinds {
                turn.emit(entity, Delivery::default(), Sound { kind: *kind });
            }
            let events = turn.events.into_inner().into_iter();
            events.map(|emitted| emitted.key).collect::<Vec<_>>()
        };
        let (predicted, told) = (keys(&[1, 2, 2]), keys(&[7, 1, 2, 7, 2]));
        assert!(predicted.iter().all(|key| told.contains(key)));
        assert_eq!(told.iter().map(|key| key.ordinal).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
    }
}
