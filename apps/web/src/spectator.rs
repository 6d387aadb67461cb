//! The camera of whoever has no body: it glides around one fighter, stays out of walls, and goes to another when that
//! one is gone for a while.

use crate::camera::Camera;
use sametick::{EntityId, World};
use sametick_arena::vector::{Vector, add, along, length, scale, subtract, unit};
use sametick_arena::{Entity, Fighter, Map};

/// How far behind and above it glides.
const DISTANCE_METRES: f32 = 6.5;
const HEIGHT_METRES: f32 = 2.6;
/// How quickly it turns around, in radians a second.
const TURN: f32 = 0.16;
/// How long it stays with one fighter.
const STAY_SECONDS: f32 = 12.0;
/// How much it follows a second.
const EASE: f32 = 3.0;
/// How much of the world it sees.
const WIDTH: f32 = 1.25;

/// A camera that glides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spectator {
    /// Whom it watches.
    pub(crate) watched: Option<EntityId>,
    /// It was asked for, and is stayed with.
    is_chosen: bool,
    stayed: f32,
    turn: f32,
    middle: Option<Vector>,
    eye: Option<Vector>,
}

impl Spectator {
    /// Lets time pass and looks.
    pub(crate) fn look(&mut self, world: &World<Entity>, map: &Map, seconds: f32) -> Camera {
        self.stayed += seconds;
        self.turn += TURN * seconds;
        let alive = |id: &EntityId| world.get::<Fighter>(*id).is_some_and(Fighter::is_alive);
        let is_alone = self.watched.is_none_or(|id| !alive(&id) && self.stayed > 2.0);
        if (self.stayed > STAY_SECONDS && !self.is_chosen) || is_alone {
            self.choose(world);
        }
        let followed =
            self.watched.and_then(|id| world.get::<Fighter>(id)).filter(|f| f.is_alive());
        let wanted = followed.map(|fighter| add(fighter.position, [0.0, 0.0, 1.3]));
        let wanted =
            wanted.or(self.middle).unwrap_or_else(|| add(map.bounds().centre(), [0.0, 0.0, 1.5]));
        let is_far = self.middle.is_some_and(|middle| length(subtract(middle, wanted)) > 12.0);
        let ease = 1.0 - (-EASE * seconds).exp();
        let middle = self.middle.filter(|_| !is_far).unwrap_or(wanted);
        let middle = along(middle, subtract(wanted, middle), ease);
        let (sine, cosine) = self.turn.sin_cos();
        let away = [cosine * DISTANCE_METRES, sine * DISTANCE_METRES, HEIGHT_METRES];
        let wished = free_place(map, middle, away);
        let eye = self.eye.filter(|_| !is_far).unwrap_or(wished);
        let eye = along(eye, subtract(wished, eye), ease);
        // On its way from one place to the next it does not go behind a wall either.
        let eye = free_place(map, middle, subtract(eye, middle));
        (self.middle, self.eye) = (Some(middle), Some(eye));
        Camera::towards(eye, middle, WIDTH)
    }

    /// The fighter that is most in the middle of things: it has the nearest enemy.
    fn choose(&mut self, world: &World<Entity>) {
        let alive: Vec<(EntityId, Vector)> = world
            .all::<Fighter>()
            .filter(|(_, fighter)| fighter.is_alive())
            .map(|(id, fighter)| (id, fighter.position))
            .collect();
        let nearest = |id: EntityId, place: Vector| {
            let others = alive.iter().filter(|(other, _)| *other != id);
            let distances = others.map(|(_, other)| length(subtract(*other, place)));
            distances.fold(f32::INFINITY, f32::min)
        };
        let others = alive.iter().filter(|(id, _)| Some(*id) != self.watched || alive.len() == 1);
        let best = others.min_by(|a, b| nearest(a.0, a.1).total_cmp(&nearest(b.0, b.1)));
        (self.watched, self.is_chosen) = (best.map(|(id, _)| *id), false);
        self.stayed = 0.0;
    }

    /// Goes on to the next of those who are alive, or to the one before, and stays until that one is gone.
    pub(crate) fn turn_to(&mut self, world: &World<Entity>, side: i32) {
        let alive = world.all::<Fighter>().filter(|(_, fighter)| fighter.is_alive());
        let alive: Vec<EntityId> = alive.map(|(id, _)| id).collect();
        let at = alive.iter().position(|id| Some(*id) == self.watched).unwrap_or(0);
        let next = (at as i32 + side).rem_euclid(alive.len().max(1) as i32);
        self.watched = alive.get(next as usize).copied().or(self.watched);
        (self.is_chosen, self.stayed) = (true, 0.0);
    }
}

/// As far as wished, unless there is a wall before.
fn free_place(map: &Map, middle: Vector, away: Vector) -> Vector {
    let trace = map.trace([0.25; 3], middle, add(middle, away));
    let metres =
        if trace.is_hit() { (length(away) * trace.fraction - 0.1).max(0.3) } else { length(away) };
    add(middle, scale(unit(away), metres))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick_arena::map::CORNERS;

    #[test]
    fn it_watches_whoever_is_alive_and_stays_out_of_walls() {
        let map = Map::read(CORNERS).unwrap();
        let mut world = World::default();
        let place = map.spawns[0].place;
        let id =
            world.spawn(Fighter { health: 100, position: place, ..Fighter::default() }).unwrap();
        let mut spectator = Spectator::default();
        for _ in 0..600 {
            let camera = spectator.look(&world, &map, 1.0 / 30.0);
            assert!(camera.eye.iter().all(|part| part.is_finite()));
        }
        assert_eq!(spectator.watched, Some(id));
        let camera = spectator.look(&world, &map, 1.0 / 30.0);
        assert!(map.fits([0.1; 3], camera.eye), "{:?}", camera.eye);
        assert!(length(subtract(camera.eye, place)) < 9.0);
    }

    #[test]
    fn whom_one_chose_is_watched_until_gone() {
        let map = Map::read(CORNERS).unwrap();
        let mut world = World::default();
        let fighters = [(); 3].map(|()| {
            let position = map.spawns[0].place;
            world.spawn(Fighter { health: 100, position, ..Fighter::default() }).unwrap()
        });
        let mut spectator = Spectator { watched: Some(fighters[2]), ..Spectator::default() };
        spectator.turn_to(&world, 1);
        assert_eq!(spectator.watched, Some(fighters[0]), "after the last comes the first");
        spectator.turn_to(&world, -1);
        spectator.turn_to(&world, -1);
        let stays = |spectator: &mut Spectator, world: &World<Entity>| {
            (0..900).for_each(|_| _ = spectator.look(world, &map, 1.0 / 30.0));
            spectator.watched
        };
        assert_eq!(stays(&mut spectator, &world), Some(fighters[1]));
        world.get_mut::<Fighter>(fighters[1]).unwrap().health = 0;
        assert_ne!(stays(&mut spectator, &world), Some(fighters[1]));
    }
}
