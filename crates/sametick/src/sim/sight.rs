//! What a screen shows of the others at one moment, said by the snapshots it is made of. The client
//! draws it; the server makes the same again when that player shoots.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::schema::blend;
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::Layout;
use crate::sim::game::Game;
use crate::sim::view::Others;
use crate::sim::world::World;
use std::borrow::Cow;
use std::collections::VecDeque;

/// How many snapshots are remembered, to show what lies between two of them.
pub const HISTORY_MAX: usize = 64;

/// How finely a moment between two snapshots is told.
pub(crate) const PARTS: f64 = 256.0;
/// How finely the way ahead is told, in parts of a tick.
const AHEAD_PARTS: f64 = 16.0;
const AGE_BITS: u32 = 10;
const SPAN_BITS: u32 = 8;
const PART_BITS: u32 = 12;
const AHEAD_BITS: u32 = 12;
/// The most that is told of each.
pub(crate) const AGE_MAX: u32 = (1 << AGE_BITS) - 1;
pub(crate) const SPAN_MAX: u32 = (1 << SPAN_BITS) - 1;
pub(crate) const PART_MAX: u32 = (1 << PART_BITS) - 1;
pub(crate) const AHEAD_MAX: u32 = (1 << AHEAD_BITS) - 1;

/// Where a screen stands among the snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The newest snapshot that had come.
    pub(crate) newest: Tick,
    /// The snapshot before it, from which others are moved on; zero if that is for the server to find.
    pub(crate) before: Tick,
    /// Interpolated entities stand between these two.
    pub(crate) from: Tick,
    pub(crate) to: Tick,
    /// How far from one to the other; past the end they go on.
    pub(crate) part: u16,
    /// How far extrapolated entities are moved on from the newest.
    pub(crate) ahead: u16,
}

impl Moment {
    /// Between two snapshots; from past the second on, `part` is above 1.
    pub(crate) fn new(newest: Tick, between: (Tick, Tick), part: f64, ahead_ticks: f64) -> Self {
        let whole = |value: f64, bits: u32| {
            value.round_ties_even().clamp(0.0, f64::from((1u32 << bits) - 1)) as u16
        };
        Self {
            newest,
            before: Tick(0),
            from: between.0,
            to: between.1,
            part: whole(part * PARTS, PART_BITS),
            ahead: whole(ahead_ticks * AHEAD_PARTS, AHEAD_BITS),
        }
    }

    /// As it is told of a screen that shows others in this way: what the server knows from the two ticks is left out.
    pub(crate) fn told(&self, others: Others) -> Self {
        let ahead = if matches!(others, Others::Extrapolated { .. }) { self.ahead } else { 0 };
        Self { ahead, ..*self }
    }

    pub(crate) fn part(&self) -> f64 {
        f64::from(self.part) / PARTS
    }

    pub(crate) fn ahead_ticks(&self) -> f64 {
        f64::from(self.ahead) / AHEAD_PARTS
    }

    /// The tick that the screen shows, with its fraction, of entities shown in this way.
    pub(crate) fn shown_tick(&self, others: Others) -> f64 {
        match others {
            Others::Interpolated(_) => {
                let span = f64::from(self.to.0.saturating_sub(self.from.0));
                f64::from(self.from.0) + span * self.part()
            }
            _ => f64::from(self.newest.0),
        }
    }

    /// Whether [`Moment::write`] with the command of that tick tells all of it.
    pub(crate) fn is_tellable(&self, command: Tick) -> bool {
        let fits = |to: Tick, from: Tick, bits: u32| {
            to.0.checked_sub(from.0).is_some_and(|span| span < 1 << bits)
        };
        let is_before_told = match self.ahead {
            0 => self.before == Tick(0),
            _ => fits(self.newest, self.before, SPAN_BITS),
        };
        fits(command, self.newest, AGE_BITS)
            && fits(command, self.from, AGE_BITS)
            && fits(self.to, self.from, SPAN_BITS)
            && is_before_told
    }

    /// Writes it as seen from the tick of its command. `newer` was written before: most often both stand
    /// between the same snapshots.
    pub(crate) fn write(&self, bits: &mut BitWriter, command: Tick, newer: Option<Self>) {
        let is_same = newer.is_some_and(|newer| newer.snapshots() == self.snapshots());
        if newer.is_some() {
            bits.write_bool(is_same);
        }
        if !is_same {
            let age =
                |tick: Tick| u64::from(command.0.saturating_sub(tick.0).min((1 << AGE_BITS) - 1));
            bits.write(age(self.newest), AGE_BITS);
            bits.write(age(self.from), AGE_BITS);
            let span = self.to.0.saturating_sub(self.from.0).min((1 << SPAN_BITS) - 1);
            bits.write(u64::from(span), SPAN_BITS);
        }
        bits.write(u64::from(self.part), PART_BITS);
        bits.write_bool(self.ahead > 0);
        if self.ahead > 0 {
            bits.write(u64::from(self.ahead), AHEAD_BITS);
            let span = self.newest.0.saturating_sub(self.before.0).min((1 << SPAN_BITS) - 1);
            bits.write(u64::from(span), SPAN_BITS);
        }
    }

    pub(crate) fn read(bits: &mut BitReader<'_>, command: Tick, newer: Option<Self>) -> Self {
        let same = newer.filter(|_| bits.read_bool());
        let [newest, from, to] = same.map_or_else(
            || {
                let mut aged = || Tick(command.0.saturating_sub(bits.read(AGE_BITS) as u32));
                let (newest, from) = (aged(), aged());
                [newest, from, Tick(from.0.saturating_add(bits.read(SPAN_BITS) as u32))]
            },
            |newer| newer.snapshots(),
        );
        let part = bits.read(PART_BITS) as u16;
        let (mut ahead, mut before) = (0, Tick(0));
        if bits.read_bool() {
            ahead = bits.read(AHEAD_BITS) as u16;
            before = Tick(newest.0.saturating_sub(bits.read(SPAN_BITS) as u32));
        }
        Self { newest, before, from, to, part, ahead }
    }

    fn snapshots(&self) -> [Tick; 3] {
        [self.newest, self.from, self.to]
    }
}

/// Where everything was in the ticks of recent snapshots.
#[derive(Clone, Debug)]
pub(crate) struct History<E> {
    /// By tick.
    worlds: VecDeque<World<E>>,
}

impl<E> Default for History<E> {
    fn default() -> Self {
        Self { worlds: VecDeque::new() }
    }
}

impl<E: Entities> History<E> {
    /// Remembers a world, in place of an earlier one of the same tick.
    pub(crate) fn push(&mut self, world: &World<E>) {
        self.push_with(world.tick(), |then| then.clone_from(world));
    }

    /// The same; `fill` makes the world, in the memory of one that is forgotten.
    pub(crate) fn push_with(&mut self, tick: Tick, fill: impl FnOnce(&mut World<E>)) {
        if let Some(newest) = self.worlds.back_mut().filter(|newest| newest.tick() == tick) {
            fill(newest);
            return;
        }
        let is_full = self.worlds.len() == HISTORY_MAX;
        let place = if is_full { self.worlds.pop_front() } else { None };
        let mut place = place.unwrap_or_default();
        fill(&mut place);
        self.worlds.push_back(place);
    }

    /// All that are remembered, the oldest first.
    pub(crate) fn worlds(&self) -> impl ExactSizeIterator<Item = &World<E>> {
        self.worlds.iter()
    }

    /// The tick of the newest.
    pub(crate) fn newest(&self) -> Option<Tick> {
        self.worlds.back().map(World::tick)
    }

    /// The world of a tick or, if none is remembered, of the last before it or, if there is none, of the
    /// first after it.
    pub(crate) fn at(&self, tick: Tick) -> Option<&World<E>> {
        let index = self.worlds.partition_point(|world| world.tick() <= tick);
        self.worlds.get(index.saturating_sub(1))
    }

    /// The last world before a tick.
    pub(crate) fn before(&self, tick: Tick) -> Option<&World<E>> {
        let index = self.worlds.partition_point(|world| world.tick() < tick);
        self.worlds.get(index.checked_sub(1)?)
    }

    /// The ticks of the two worlds that a moment lies between: the same twice before the first and from
    /// the last on.
    pub(crate) fn around(&self, tick: f64) -> Option<(Tick, Tick)> {
        let index = self.worlds.partition_point(|world| f64::from(world.tick().0) <= tick);
        let from = self.worlds.get(index.saturating_sub(1))?.tick();
        let to = self.worlds.get(if index == 0 { 0 } else { index });
        Some((from, to.map_or(from, World::tick)))
    }
}

/// All that it takes to show an entity at a moment.
pub(crate) struct Past<'a, G: Game> {
    pub(crate) history: &'a History<G::Entity>,
    pub(crate) layouts: &'a [Layout],
    pub(crate) content: &'a G::Content,
    pub(crate) tick_length: Span,
}

impl<G: Game> Past<'_, G> {
    /// An entity of the others as a screen shows it at a moment; none where it shows none.
    pub(crate) fn other(&self, id: EntityId, how: Others, moment: Moment) -> Option<G::Entity> {
        match how {
            Others::Latest | Others::Predicted => {
                self.history.at(moment.newest)?.entity(id).cloned()
            }
            Others::Extrapolated { at_most } => self.moved_on(id, moment, at_most),
            Others::Interpolated(_) => {
                let [from, to] =
                    [moment.from, moment.to].map(|tick| self.history.at(tick)?.entity(id));
                let (part, is_past) = (moment.part(), moment.part() >= 1.0);
                match (from, to) {
                    (Some(from), Some(to)) if G::jumps(from, to) => {
                        Some(if is_past { to } else { from }.clone())
                    }
                    (Some(from), Some(to)) => Some(blend::between(self.layouts, from, to, part)),
                    (from, to) => if is_past { to } else { from }.cloned(),
                }
            }
        }
    }

    fn moved_on(&self, id: EntityId, moment: Moment, at_most: Span) -> Option<G::Entity> {
        let newest = self.history.at(moment.newest)?;
        let mut entity = newest.entity(id)?.clone();
        let most = at_most.as_micros() as f64 / self.tick_length.as_micros() as f64;
        let ahead = moment.ahead_ticks().min(most);
        let seconds = ahead * self.tick_length.as_seconds_f64();
        if ahead == 0.0 || G::drift(&mut entity, self.content, seconds as f32) {
            return Some(entity);
        }
        let before = match moment.before {
            Tick(0) => self.history.before(newest.tick()),
            before => self.history.at(before),
        };
        let before = before.filter(|before| before.tick() < newest.tick());
        let Some((before, then)) = before.and_then(|world| Some((world, world.entity(id)?))) else {
            return Some(entity);
        };
        let span = f64::from(newest.tick().0 - before.tick().0);
        if G::jumps(then, &entity) {
            return Some(entity);
        }
        Some(blend::between(self.layouts, then, &entity, 1.0 + ahead / span))
    }

    /// The world as a player's screen showed it: others of the past, its own entities and those that are
    /// not rewound as they are. Without a player, everyone is of the past.
    pub(crate) fn seen(
        &self,
        present: &World<G::Entity>,
        viewer: impl Into<Option<PlayerId>>,
        others: Others,
        moment: Moment,
    ) -> World<G::Entity> {
        let (mut seen, viewer) = (present.clone(), viewer.into());
        for (id, owner, entity) in present.owned_entities() {
            let how = G::shown(entity, others);
            let is_own = viewer.is_some() && owner == viewer;
            if is_own || !G::is_rewound(entity) || how == Others::Predicted {
                continue;
            }
            match (self.other(id, how, moment), seen.entity_mut(id)) {
                (Some(then), Some(place)) => *place = then,
                _ => _ = seen.despawn(id),
            }
        }
        seen
    }
}

impl<G: Game> Past<'_, G> {
    /// What [`seen`](Past::seen) has of those who are near, given by the states between which they were shown.
    pub(crate) fn near<'w>(
        &self,
        present: &'w World<G::Entity>,
        viewer: PlayerId,
        (others, moment): (Others, Moment),
        is_near: impl Fn(&G::Entity, &G::Entity) -> bool,
    ) -> Vec<(EntityId, Cow<'w, G::Entity>)> {
        let ticks = [moment.from, moment.to, moment.newest];
        let [from, to, newest] = ticks.map(|tick| self.history.at(tick));
        let was_near = |id: EntityId, how: Others| {
            let states = match how {
                Others::Interpolated(_) => [from, to].map(|world| world?.entity(id)),
                Others::Latest | Others::Predicted => {
                    [newest.and_then(|world| world.entity(id)); 2]
                }
                // Where that leads is known when it was made.
                Others::Extrapolated { .. } => return true,
            };
            if moment.part() > 1.0 {
                return true;
            }
            let [one, other] = [states[0].or(states[1]), states[1].or(states[0])];
            one.zip(other).is_some_and(|(one, other)| is_near(one, other))
        };
        let seen = |id: EntityId, owner, entity: &'w G::Entity| {
            let how = G::shown(entity, others);
            if owner == Some(viewer) || !G::is_rewound(entity) || how == Others::Predicted {
                return is_near(entity, entity).then_some(Cow::Borrowed(entity));
            }
            let then = was_near(id, how).then(|| self.other(id, how, moment))?;
            then.filter(|then| is_near(then, then)).map(Cow::Owned)
        };
        let all = present.owned_entities();
        all.filter_map(|(id, owner, entity)| Some((id, seen(id, owner, entity)?))).collect()
    }
}

/// Makes a world what others are shown of it.
pub(crate) fn as_shown<E: Entities>(world: &mut World<E>, layouts: &Layouts) {
    let mut row = [0; crate::schema::record::ROW_WORDS];
    for (_, _, entity) in world.owned_entities_mut() {
        entity.record(&layouts.shown, &mut row);
        entity.scatter(&layouts.shown, &row);
    }
}
