//! What the player sees: its own entities at its own time, the others as it wishes, smoothed. All of it
//! is for the eye; nothing here is read by the rules, except where a player says what it aimed at.

use crate::blend;
use crate::entity::EntityId;
use crate::follow::SnapshotClient;
use crate::game::Game;
use crate::interpolate::DisplayClock;
use crate::predict::is_predicted;
use crate::sight::{Moment, Past};
use crate::smooth::Errors;
use crate::time::{Span, Time};
use crate::view::{Interpolation, Others, Path};
use crate::world::{PlayerId, World};

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
    /// Whether something was corrected since.
    pub(crate) has_news: bool,
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
            has_news: false,
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
        self.take_errors();
        self.eye.own_ticks = self.clock.ticks(now);
        self.eye.moment = self.moment(now);
        let mut target = std::mem::take(&mut self.eye.target);
        self.compose(&mut target, now, self.eye.moment);
        self.eye.target = target;
        let over = self.view.smooths_over;
        self.eye.errors.pass(now, over);
        self.eye.shown.clone_from(&self.eye.target);
        for (id, _, entity) in self.eye.shown.owned_entities_mut() {
            let layouts = &self.layouts.state;
            if let Some(smoothed) = self.eye.errors.show(layouts, id, entity, now, over) {
                *entity = smoothed;
            }
        }
        self.eye.shown_at = Some(now);
        &self.eye.shown
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
    pub(crate) fn eye_before(&mut self, now: Time, tick: crate::Tick) {
        if tick <= self.snapshot.tick() {
            return;
        }
        self.eye.display.observe(now, tick);
        if let Others::Interpolated(Interpolation { path: Path::Newest, .. }) = self.view.others {
            let mut shown = std::mem::take(&mut self.eye.target);
            self.compose(&mut shown, now, self.eye.moment);
            std::mem::swap(&mut self.eye.start, &mut shown);
            (self.eye.target, self.eye.started) = (shown, now);
        }
    }

    /// What was corrected since the player looked is an error that it saw: it is shown less and less.
    pub(crate) fn take_errors(&mut self) {
        let Some(at) = self.eye.shown_at.filter(|_| std::mem::take(&mut self.eye.has_news)) else {
            return;
        };
        if self.view.smooths_over == Span::ZERO {
            return;
        }
        let newest = self.snapshot.tick();
        let moment = self.with_newest(self.eye.moment, newest);
        let mut right = std::mem::take(&mut self.eye.target);
        self.compose(&mut right, at, moment);
        for (id, owner, entity) in right.owned_entities() {
            let Some(shown) = self.eye.shown.entity(id) else { continue };
            let is_guess = match G::shown(entity, self.view.others) {
                _ if is_own(self.me, &self.view, owner) => true,
                Others::Predicted | Others::Extrapolated { .. } => true,
                Others::Latest | Others::Interpolated(_) => false,
            };
            let is_off = || blend::differ(&self.layouts.state, shown, entity);
            if is_guess && !G::jumps(shown, entity) && is_off() {
                self.eye.errors.add(id, shown.clone(), entity.clone(), at);
            } else {
                self.eye.errors.forget(id);
            }
        }
        self.eye.target = right;
    }

    /// Where the screen stands among the snapshots.
    fn moment(&mut self, now: Time) -> Moment {
        let newest = self.snapshot.tick();
        let Others::Interpolated(how) = self.view.others else {
            let here = Moment::new(newest, (newest, newest), 1.0, 0.0);
            self.eye.own_ticks = self.clock.ticks(now);
            return self.with_newest(here, newest);
        };
        if how.path == Path::Newest {
            let from = self.history.before(newest).map_or(newest, World::tick);
            return Moment::new(newest, (from, newest), self.part_of_newest(now), 0.0);
        }
        let tick = self.eye.display.tick(now, how.behind);
        let Some((from, to)) = self.history.around(tick) else { return Moment::default() };
        if from < to {
            let span = f64::from(to.0 - from.0);
            return Moment::new(newest, (from, to), (tick - f64::from(from.0)) / span, 0.0);
        }
        // The next one is missing.
        let Some(before) = self.history.before(to).map(World::tick) else {
            return Moment::new(newest, (to, to), 1.0, 0.0);
        };
        let ticks = how.goes_on.as_micros() as f64 / self.tick_length.as_micros() as f64;
        let beyond = (tick - f64::from(to.0)).clamp(0.0, ticks);
        Moment::new(newest, (before, to), 1.0 + beyond / f64::from(to.0 - before.0), 0.0)
    }

    /// The same moment, with others moved on from this snapshot.
    fn with_newest(&self, moment: Moment, newest: crate::Tick) -> Moment {
        let Others::Extrapolated { at_most } = self.view.others else {
            return Moment { newest, ..moment };
        };
        let most = at_most.as_micros() as f64 / self.tick_length.as_micros() as f64;
        let ahead = (self.eye.own_ticks - f64::from(newest.0)).clamp(0.0, most);
        Moment::new(newest, (moment.from, moment.to), moment.part(), ahead)
    }

    fn part_of_newest(&self, now: Time) -> f64 {
        let interval = u64::from(self.eye.display.interval_ticks()) * self.tick_length.as_micros();
        ((now - self.eye.started).as_micros() as f64 / interval as f64).min(1.0)
    }

    /// Makes a world of what should be shown at a moment.
    fn compose(&self, target: &mut World<G::Entity>, now: Time, moment: Moment) {
        let others = self.view.others;
        let past = Past::<G> {
            history: &self.history,
            layouts: &self.layouts.state,
            content: &self.content,
            tick_length: self.tick_length,
        };
        target.clear();
        target.set_tick(self.predicted.tick());
        let own_part = (self.eye.own_ticks - f64::from(self.predicted.tick().0)).clamp(0.0, 1.0);
        for (id, owner, entity) in self.predicted().owned_entities() {
            let how = G::shown(entity, others);
            let shown = if self.view.predicts && is_predicted::<G>(self.me, others, owner, entity) {
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
            let is_ours = self.view.predicts && is_own(self.me, &self.view, owner);
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

fn is_own(me: PlayerId, view: &crate::View, owner: Option<PlayerId>) -> bool {
    view.predicts && owner == Some(me)
}
