//! Marks that tell the truth: hollow when one's own screen says hit, filled when the server agrees, struck through when
//! it does not. Knows no browser and no drawing.

use sametick::{EntityId, Tick, World};
use sametick_arena::vector::{Vector, along, subtract};
use sametick_arena::{Entity, Fighter, Map};
use std::collections::VecDeque;

/// The most that are remembered; one more, and the oldest is forgotten.
const MARKS_MAX: usize = 64;
/// How long a mark is shown after it last changed.
const SHOWN_SECONDS: f32 = 0.45;
/// For so long the server's word is shown, whatever is fired meanwhile.
const WORD_SECONDS: f32 = 0.15;
/// How many ticks past the shot the server's word may come before it counts as a no.
const PATIENCE_TICKS: u32 = 12;
/// How far bullets fly.
const RANGE_METRES: f32 = 250.0;

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// One's own screen says hit.
    Hollow,
    /// The server agrees.
    Filled,
    /// It does not.
    Struck,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    tick: Tick,
    victim: EntityId,
    state: State,
    age: f32,
}

/// All marks of late, and how many there were of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct HitMarks {
    marks: VecDeque<Mark>,
    /// Hits that the server agreed to.
    pub(crate) confirmed: u32,
    /// Hits on one's own screen that it did not agree to.
    pub(crate) refused: u32,
}

impl HitMarks {
    /// One's own shot, and whom it hits on one's own screen.
    pub(crate) fn fired(&mut self, tick: Tick, victim: EntityId) {
        self.add(Mark { tick, victim, state: State::Hollow, age: 0.0 });
    }

    /// The server says that one hurt someone; whether that is news.
    pub(crate) fn told(&mut self, tick: Tick, victim: EntityId) -> bool {
        let known = self.marks.iter_mut().find(|mark| mark.tick == tick && mark.victim == victim);
        match known {
            Some(mark) if mark.state == State::Filled => return false,
            Some(mark) => (mark.state, mark.age) = (State::Filled, 0.0),
            None => self.add(Mark { tick, victim, state: State::Filled, age: 0.0 }),
        }
        self.confirmed += 1;
        true
    }

    /// The server's word is known up to a tick: whoever was hit before that would have been told by now.
    pub(crate) fn settle(&mut self, snapshot: Tick) {
        for mark in &mut self.marks {
            let is_late = mark.tick.0.saturating_add(PATIENCE_TICKS) < snapshot.0;
            if mark.state == State::Hollow && is_late {
                (mark.state, mark.age) = (State::Struck, 0.0);
                self.refused += 1;
            }
        }
    }

    /// Lets time pass. Hollow marks wait for the server's word.
    pub(crate) fn pass(&mut self, seconds: f32) {
        self.marks.iter_mut().for_each(|mark| mark.age += seconds);
        self.marks.retain(|mark| mark.state == State::Hollow || mark.age < SHOWN_SECONDS * 2.0);
    }

    /// What to show: the state that changed last. The server's word is not hidden at once by the next shot.
    pub(crate) fn shown(&self) -> Option<State> {
        let youngest = |seconds: f32, is_word: bool| {
            let fresh = self.marks.iter().filter(|mark| mark.age < seconds);
            let wanted = fresh.filter(|mark| !is_word || mark.state != State::Hollow);
            wanted.min_by(|a, b| a.age.total_cmp(&b.age)).map(|mark| mark.state)
        };
        youngest(WORD_SECONDS, true).or_else(|| youngest(SHOWN_SECONDS, false))
    }

    fn add(&mut self, mark: Mark) {
        if self.marks.len() == MARKS_MAX {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
    }
}

/// Whom a bullet in that direction meets in the world that is on one's own screen.
pub(crate) fn aimed_at(
    world: &World<Entity>,
    map: &Map,
    own: EntityId,
    fighter: &Fighter,
    aim: Vector,
) -> Option<EntityId> {
    let eye = fighter.eye();
    let wall = map.ray(eye, along(eye, aim, RANGE_METRES)).end;
    let others = world.entities().filter(|(id, entity)| {
        *id != own && matches!(entity, Entity::Fighter(_) | Entity::Target(_) | Entity::Prop(_))
    });
    let met =
        others.filter_map(|(id, entity)| Some((id, entity.bounds()?.crossed(eye, wall)?, entity)));
    let (id, _, entity) = met.min_by(|a, b| a.1.total_cmp(&b.1))?;
    // A crate in the way is no hit.
    (!matches!(entity, Entity::Prop(_))).then_some(id)
}

/// How far to the right of where one looks something came from, in radians: for the arc around the crosshair.
pub(crate) fn bearing(fighter: &Fighter, yaw: f32, from: [f32; 3]) -> f32 {
    let [x, y, _] = subtract(from, fighter.eye());
    let (sine, cosine) = yaw.sin_cos();
    (x * sine - y * cosine).atan2(x * cosine + y * sine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victim(slot: usize) -> EntityId {
        EntityId::new(slot, 1).unwrap()
    }

    #[test]
    fn a_hit_that_the_server_agrees_to_is_hollow_and_then_filled() {
        let mut marks = HitMarks::default();
        marks.fired(Tick(100), victim(3));
        assert_eq!(marks.shown(), Some(State::Hollow));
        assert!(marks.told(Tick(100), victim(3)));
        assert_eq!(marks.shown(), Some(State::Filled));
        assert!(!marks.told(Tick(100), victim(3)), "once");
        marks.settle(Tick(1000));
        assert_eq!((marks.confirmed, marks.refused), (1, 0));
    }

    #[test]
    fn a_hit_that_the_server_refuses_is_struck_through() {
        let mut marks = HitMarks::default();
        marks.fired(Tick(100), victim(3));
        marks.settle(Tick(100 + PATIENCE_TICKS));
        assert_eq!(marks.shown(), Some(State::Hollow));
        marks.pass(2.0);
        marks.settle(Tick(101 + PATIENCE_TICKS));
        assert_eq!((marks.shown(), marks.refused), (Some(State::Struck), 1));
        marks.pass(2.0);
        assert_eq!(marks.shown(), None);
    }

    #[test]
    fn the_servers_word_is_not_hidden_by_the_next_shot() {
        let mut marks = HitMarks::default();
        marks.fired(Tick(100), victim(3));
        assert!(marks.told(Tick(100), victim(3)));
        marks.pass(0.05);
        marks.fired(Tick(106), victim(3));
        assert_eq!(marks.shown(), Some(State::Filled));
        marks.pass(0.15);
        assert_eq!(marks.shown(), Some(State::Hollow));
    }

    #[test]
    fn a_shot_past_everyone_leaves_no_mark_and_a_rocket_needs_no_shot() {
        let mut marks = HitMarks::default();
        assert_eq!(marks.shown(), None);
        assert!(marks.told(Tick(9), victim(1)));
        assert_eq!(marks.shown(), Some(State::Filled));
    }

    #[test]
    fn marks_are_bounded() {
        let mut marks = HitMarks::default();
        (0..1000).for_each(|tick| marks.fired(Tick(tick), victim(1)));
        assert_eq!(marks.marks.len(), MARKS_MAX);
    }

    #[test]
    fn what_comes_from_the_right_is_to_the_right() {
        let fighter = Fighter::default();
        let eye = fighter.eye();
        // Looking along +x, the right hand is at -y.
        let right = bearing(&fighter, 0.0, [0.0, -5.0, eye[2]]);
        assert!((right - std::f32::consts::FRAC_PI_2).abs() < 1e-5);
        assert!(bearing(&fighter, 0.0, [5.0, 0.0, eye[2]]).abs() < 1e-5);
    }
}
