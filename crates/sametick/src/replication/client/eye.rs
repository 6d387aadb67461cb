//! What the player sees: its own entities at its own time, the others as it wishes, smoothed. All of it
//! is for the eye; nothing here is read by the rules, except where a player says what it aimed at.

use crate::core::entity::EntityId;
use crate::core::order::sort_nearly_sorted;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::diagnostics::health::Screen;
use crate::replication::client::follow::SnapshotClient;
use crate::replication::client::interpolate::DisplayClock;
use crate::replication::client::predict::is_predicted;
use crate::replication::client::smooth::Errors;
use crate::schema::blend;
use crate::sim::game::Game;
use crate::sim::sight::{Moment, Past};
use crate::sim::view::{Interpolation, Others, Path};
use crate::sim::world::World;

/// So long after it looked, what a player saw is taken for what it acts on.
const LOOK_LASTS: Span = Span::millis(50);

/// What was shown last, and how it came about.
pub(crate) struct Eye<E> {
    display: DisplayClock,
    /// What is shown, and when, of our own time and of the others'.
    shown: World<E>,
    shown_at: Option<Time>,
    own_ticks: f64,
    moment: Moment,
    /// What should be shown, without errors.
    target: World<E>,
    errors: Errors<E>,
    /// Where entities stood that are on their way to the newest snapshot, and since when.
    start: World<E>,
    started: Time,
    /// Where the screen stood when it was last looked at.
    pub(crate) screen: Option<Screen>,
}

impl<E: crate::Entities> Eye<E> {
    pub(crate) fn new(tick_length: Span) -> Self {
        Self {
            display: DisplayClock::new(tick_length),
            shown: World::default(),
            shown_at: None,
            own_ticks: 0.0,
            moment: Moment::default(),
            target: World::default(),
            errors: Errors::default(),
            start: World::default(),
            started: Time::ZERO,
            screen: None,
        }
    }

    pub(crate) fn rename(&mut self, made: EntityId, named: EntityId) {
        self.errors.rename(made, named);
        if let Some(entity) = self.shown.despawn(made) {
            self.shown.put(named, None, entity);
        }
    }
}

impl<G: Game> SnapshotClient<G> {
    /// The world as this player should see it now.
    pub(crate) fn look(&mut self, now: Time) -> &World<G::Entity> {
        self.eye.moment = self.moment(now);
        let mut target = std::mem::take(&mut self.eye.target);
        self.compose(&mut target, now, self.eye.moment);
        self.eye.target = target;
        let over = self.view.smooths_over;
        self.eye.errors.pass(now, over);
        self.eye.shown.clone_from(&self.eye.target);
        for (id, _, entity) in self.eye.shown.owned_entities_mut() {
            let layouts = &self.layouts.state;
            let smoothed = self.eye.errors.show(layouts, (id, entity), (now, over), G::jumps);
            if let Some(smoothed) = smoothed {
                *entity = smoothed;
            }
        }
        self.eye.shown_at = Some(now);
        self.eye.screen = Some(self.screen(now));
        &self.eye.shown
    }

    /// Where the screen stands among the snapshots, for whoever watches the line.
    fn screen(&self, now: Time) -> Screen {
        let millis = |ticks: f64| ticks * self.tick_length.as_millis_f64();
        let (own, newest, others) = (self.eye.own_ticks, self.snapshot.tick(), self.view.others);
        let past_newest_ms = match self.eye.display.shown().filter(|_| self.is_past_shown()) {
            Some(shown) => millis(shown - f64::from(newest.0)),
            None => {
                let interval = millis(f64::from(self.eye.display.interval_ticks()));
                (now - self.eye.started).as_millis_f64() - interval
            }
        };
        let behind_own_ms = millis((own - self.eye.moment.shown_tick(others)).max(0.0));
        let guessed_ms = match others {
            Others::Extrapolated { at_most } => behind_own_ms.min(at_most.as_millis_f64()),
            Others::Predicted => behind_own_ms,
            Others::Latest | Others::Interpolated(_) => 0.0,
        };
        Screen { past_newest_ms, behind_own_ms, guessed_ms }
    }

    /// Whether others are shown between snapshots of the past.
    fn is_past_shown(&self) -> bool {
        matches!(self.view.others, Others::Interpolated(how) if how.path == Path::History)
    }

    /// How far behind the newest snapshot they are shown on purpose.
    pub(crate) fn buffer(&self) -> Span {
        let Others::Interpolated(how) = self.view.others else { return Span::ZERO };
        let snapshots = if how.path == Path::History { u64::from(how.behind) } else { 1 };
        self.tick_length * u64::from(self.eye.display.interval_ticks()) * snapshots
    }

    /// How much later that is because they come unevenly.
    pub(crate) fn waits(&self) -> Option<Span> {
        self.is_past_shown().then(|| self.eye.display.waits())
    }

    /// What was shown last.
    pub(crate) fn shown(&self) -> &World<G::Entity> {
        &self.eye.shown
    }

    /// What the player looked at when it gave the command that it gives now.
    pub(crate) fn looked_at(&mut self, now: Time) -> Moment {
        let looked = self.eye.shown_at.filter(|at| now - *at <= LOOK_LASTS);
        if looked.is_some() { self.eye.moment } else { self.moment(now) }
    }

    /// Before a snapshot is taken in: what is on its way to the last one starts anew from where it is.
    pub(crate) fn eye_before(&mut self, now: Time, tick: Tick) {
        if tick <= self.snapshot.tick() {
            return;
        }
        self.eye.display.observe(now, tick);
        // Whether any entity is shown on its way there, only the game knows.
        if self.eye.shown_at.is_some() {
            let mut shown = std::mem::take(&mut self.eye.target);
            self.compose(&mut shown, now, self.eye.moment);
            std::mem::swap(&mut self.eye.start, &mut shown);
            (self.eye.target, self.eye.started) = (shown, now);
        }
    }

    /// What is guessed at present, if anyone looks and errors are smoothed: our own and all that is
    /// predicted at our own tick, and what is moved on from the newest snapshot.
    pub(crate) fn guesses(&mut self, now: Time) -> Vec<(EntityId, G::Entity)> {
        if self.eye.shown_at.is_none() || self.view.smooths_over == Span::ZERO {
            return Vec::new();
        }
        self.eye.own_ticks = self.clock.ticks(now);
        let (others, past) = (self.view.others, self.past());
        let ahead = self.ahead(self.snapshot.tick());
        let newest = self.snapshot.tick();
        let moment = Moment::new(newest, (newest, newest), 1.0, ahead);
        let guess = |(id, owner, entity): (EntityId, Option<PlayerId>, &G::Entity)| {
            if self.is_predicted(owner, entity) {
                return Some((id, entity.clone()));
            }
            let how = G::shown(entity, others);
            let is_moved = matches!(how, Others::Extrapolated { .. });
            let moved = is_moved.then(|| past.other(id, how, moment))?;
            Some((id, moved?))
        };
        self.predicted().owned_entities().filter_map(guess).collect()
    }

    /// What was guessed otherwise before a snapshot came is an error that is shown less and less.
    pub(crate) fn take_errors(&mut self, now: Time, before: Vec<(EntityId, G::Entity)>) {
        if before.is_empty() {
            return;
        }
        let over = self.view.smooths_over;
        let renamed = before.into_iter().map(|(was, entity)| (self.name_of(was), entity));
        let mut before: Vec<(EntityId, G::Entity)> = renamed.collect();
        // As a rule they are in order already. Looked for one by one, thousands took as long as all else together.
        sort_nearly_sorted(&mut before, |(was, _)| *was);
        for (id, right) in self.guesses(now) {
            let index = before.partition_point(|(was, _)| *was < id);
            let Some((_, was)) = before.get(index).filter(|(was, _)| *was == id) else { continue };
            if G::jumps(was, &right) {
                self.eye.errors.forget(id);
                continue;
            }
            let layouts = &self.layouts.state;
            let left = self.eye.errors.show(layouts, (id, was), (now, over), G::jumps);
            let shown = left.unwrap_or_else(|| was.clone());
            if blend::differ(layouts, &shown, &right) {
                self.eye.errors.add(id, shown, right, now);
            } else {
                self.eye.errors.forget(id);
            }
        }
    }

    /// Where the screen stands among the snapshots, for whatever way an entity is shown in.
    fn moment(&mut self, now: Time) -> Moment {
        let before = self.history.before(self.snapshot.tick()).map_or(Tick(0), World::tick);
        Moment { before, ..self.moment_between(now) }
    }

    fn moment_between(&mut self, now: Time) -> Moment {
        self.eye.own_ticks = self.clock.ticks(now);
        let newest = self.snapshot.tick();
        let ahead = self.ahead(newest);
        let how = match self.view.others {
            Others::Interpolated(how) => how,
            _ => Interpolation::HISTORY,
        };
        if how.path == Path::Newest {
            let from = self.history.before(newest).map_or(newest, World::tick);
            return Moment::new(newest, (from, newest), self.part_of_newest(now), ahead);
        }
        let tick = self.eye.display.tick(now, how.behind);
        let Some((from, to)) = self.history.around(tick) else { return Moment::default() };
        if from < to {
            let span = f64::from(to.0 - from.0);
            return Moment::new(newest, (from, to), (tick - f64::from(from.0)) / span, ahead);
        }
        // The next one is missing.
        let Some(before) = self.history.before(to).map(World::tick) else {
            return Moment::new(newest, (to, to), 1.0, ahead);
        };
        let ticks = how.goes_on.as_micros() as f64 / self.tick_length.as_micros() as f64;
        let beyond = (tick - f64::from(to.0)).clamp(0.0, ticks);
        Moment::new(newest, (before, to), 1.0 + beyond / f64::from(to.0 - before.0), ahead)
    }

    /// How far our own time is ahead of a snapshot, in ticks.
    fn ahead(&self, newest: Tick) -> f64 {
        (self.eye.own_ticks - f64::from(newest.0)).max(0.0)
    }

    fn past(&self) -> Past<'_, G> {
        Past {
            history: &self.history,
            layouts: &self.layouts.state,
            content: &self.content,
            tick_length: self.tick_length,
        }
    }

    /// Whether we step an entity on by ourselves.
    fn is_predicted(&self, owner: Option<PlayerId>, entity: &G::Entity) -> bool {
        self.view.predicts && is_predicted::<G>(self.me, self.view.others, owner, entity)
    }

    fn part_of_newest(&self, now: Time) -> f64 {
        let interval = u64::from(self.eye.display.interval_ticks()) * self.tick_length.as_micros();
        ((now - self.eye.started).as_micros() as f64 / interval as f64).min(1.0)
    }

    /// Makes a world of what should be shown at a moment.
    fn compose(&self, target: &mut World<G::Entity>, now: Time, moment: Moment) {
        let (others, past) = (self.view.others, self.past());
        target.clear();
        target.set_tick(self.predicted.tick());
        let own_part = (self.eye.own_ticks - f64::from(self.predicted.tick().0)).clamp(0.0, 1.0);
        for (id, owner, entity) in self.predicted().owned_entities() {
            let how = G::shown(entity, others);
            let shown = if self.is_predicted(owner, entity) {
                match self.previous.entity(id) {
                    Some(before) if !G::jumps(before, entity) => {
                        Some(blend::between(&self.layouts.state, before, entity, own_part))
                    }
                    _ => Some(entity.clone()),
                }
            } else {
                match how {
                    // These are shown as long as the screen is in their past.
                    Others::Interpolated(Interpolation { path: Path::History, .. }) => None,
                    Others::Interpolated(_) => Some(self.on_the_way(id, entity, now)),
                    _ => past.other(id, how, moment),
                }
            };
            if let Some(shown) = shown {
                target.put(id, owner, shown);
            }
        }
        let Some(then) = self.history.at(moment.from) else { return };
        let after = self.history.at(moment.to).filter(|_| moment.part() >= 1.0).unwrap_or(then);
        for (id, owner, entity) in after.owned_entities() {
            let is_ours = self.view.predicts && owner == Some(self.me);
            let how = G::shown(entity, others);
            let is_past =
                matches!(how, Others::Interpolated(Interpolation { path: Path::History, .. }));
            if !is_past || is_ours || target.is_taken(id) {
                continue;
            }
            if let Some(shown) = past.other(id, how, moment) {
                target.put(id, owner, shown);
            }
        }
    }

    /// An entity on its way to what the newest snapshot says.
    fn on_the_way(&self, id: EntityId, newest: &G::Entity, now: Time) -> G::Entity {
        match self.eye.start.entity(id) {
            Some(start) if !G::jumps(start, newest) => {
                let part = self.part_of_newest(now);
                blend::between(&self.layouts.state, start, newest, part)
            }
            _ => newest.clone(),
        }
    }
}
