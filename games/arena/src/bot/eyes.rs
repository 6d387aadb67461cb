//! Whom a bot sees and remembers. Only what is in sight counts, and only after the time it takes to notice.

use super::sense::Sense;
use super::skill::Skill;
use crate::arena::Entity;
use crate::content::Mode;
use crate::seat::Seat;
use crate::vector::{Bounds, Vector, along, direction, dot, length, subtract};
use sametick::EntityId;

/// How often a bot looks round.
const LOOK_SECONDS: f64 = 0.05;
/// How many of the nearest are looked at.
const LOOKED_AT_MAX: usize = 6;
/// How far a bot sees.
const SIGHT_METRES: f32 = 110.0;
/// How long someone out of sight is remembered.
const MEMORY_SECONDS: f64 = 8.0;
/// Out of sight for longer, someone has to be noticed again.
const LOST_SECONDS: f64 = 0.7;
/// For how long a bot that was hurt looks to all sides.
const ALARM_SECONDS: f64 = 0.8;
/// How much nearer another enemy must be to be preferred.
const LOYALTY: f32 = 1.6;

/// An enemy who was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) id: EntityId,
    /// When it came into sight.
    pub(super) first: f64,
    /// When it was last in sight.
    pub(super) last: f64,
    /// Where it was then.
    pub(super) bounds: Bounds,
}

/// What was seen, and when to look again.
#[derive(Clone, Debug, Default)]
pub(super) struct Eyes {
    seen: Vec<Sighting>,
    look_at: f64,
    alarmed_until: f64,
    health: u8,
    target: Option<EntityId>,
    /// Kept to be used again.
    candidates: Vec<(f32, EntityId, Bounds)>,
    friends: Vec<u16>,
}

impl Eyes {
    /// Looks round, if it is time, from a head that is turned this way.
    pub(super) fn look(&mut self, sense: &Sense<'_>, skill: &Skill, (yaw, pitch): (f32, f32)) {
        let (now, own) = (sense.now, sense.own);
        if own.health < self.health {
            self.alarmed_until = now + ALARM_SECONDS;
        }
        self.health = own.health;
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_SECONDS;
        let eye = own.eye();
        let cosine = if now < self.alarmed_until { -1.0 } else { libm::cosf(skill.sight_angle) };
        self.gather(sense, eye, direction(yaw, pitch), cosine);
        for index in 0..self.candidates.len() {
            let (_, id, bounds) = self.candidates[index];
            let middle = bounds.centre();
            let crown = along(middle, [0.0, 0.0, 1.0], bounds.half()[2] * 0.8);
            if sense.sees(eye, middle) || sense.sees(eye, crown) {
                self.note(id, bounds, now);
            }
        }
        self.seen.retain(|sighting| now - sighting.last < MEMORY_SECONDS);
        self.choose(sense);
    }

    /// The enemy that is fought: in sight and noticed.
    pub(super) fn target(&self, now: f64, skill: &Skill) -> Option<&Sighting> {
        let target = self.remembered()?;
        (is_in_sight(target, now) && now - target.first >= f64::from(skill.reaction_seconds))
            .then_some(target)
    }

    /// The enemy that was fought last, as long as it is remembered.
    pub(super) fn remembered(&self) -> Option<&Sighting> {
        self.seen.iter().find(|sighting| Some(sighting.id) == self.target)
    }

    /// Forgets the enemy that was fought last: it is not where it was.
    pub(super) fn forget(&mut self) {
        let target = self.target.take();
        self.seen.retain(|sighting| Some(sighting.id) != target);
    }

    /// The nearest enemies before the bot's eyes, whether or not something is between.
    fn gather(&mut self, sense: &Sense<'_>, eye: Vector, ahead: Vector, cosine: f32) {
        self.candidates.clear();
        let is_practice = sense.content.mode == Mode::Practice;
        if sense.content.mode == Mode::Teams {
            self.find_friends(sense);
        }
        for (id, entity) in sense.world.entities() {
            let bounds = match entity {
                Entity::Fighter(fighter) if !is_practice && fighter.player != sense.own.player => {
                    fighter.bounds().filter(|_| !self.friends.contains(&fighter.player))
                }
                Entity::Target(target) if is_practice => target.bounds(),
                _ => None,
            };
            let Some(bounds) = bounds else { continue };
            let off = subtract(bounds.centre(), eye);
            let metres = length(off);
            if metres < SIGHT_METRES && dot(off, ahead) >= cosine * metres {
                self.candidates.push((metres, id, bounds));
            }
        }
        self.candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.candidates.truncate(LOOKED_AT_MAX);
    }

    fn find_friends(&mut self, sense: &Sense<'_>) {
        let seats = || sense.world.all::<Seat>().map(|(_, seat)| seat);
        let mine = seats().find(|seat| seat.player == sense.own.player).map_or(0, |seat| seat.team);
        self.friends.clear();
        self.friends.extend(seats().filter(|seat| seat.team == mine).map(|seat| seat.player));
    }

    fn note(&mut self, id: EntityId, bounds: Bounds, now: f64) {
        let fresh = Sighting { id, first: now, last: now, bounds };
        let Some(known) = self.seen.iter_mut().find(|sighting| sighting.id == id) else {
            self.seen.push(fresh);
            return;
        };
        let first = if now - known.last > LOST_SECONDS { now } else { known.first };
        *known = Sighting { first, ..fresh };
    }

    /// Fights the nearest in sight, and rather goes on with the last one.
    fn choose(&mut self, sense: &Sense<'_>) {
        let far = |sighting: &Sighting| {
            let metres = length(subtract(sighting.bounds.centre(), sense.own.position));
            if Some(sighting.id) == self.target { metres / LOYALTY } else { metres }
        };
        let in_sight = self.seen.iter().filter(|sighting| is_in_sight(sighting, sense.now));
        let nearest = in_sight.min_by(|a, b| far(a).total_cmp(&far(b))).map(|near| near.id);
        let latest = || self.seen.iter().max_by(|a, b| a.last.total_cmp(&b.last)).map(|s| s.id);
        self.target = nearest.or_else(latest);
    }
}

fn is_in_sight(sighting: &Sighting, now: f64) -> bool {
    now - sighting.last < 2.5 * LOOK_SECONDS
}
