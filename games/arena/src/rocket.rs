//! A rocket: flies straight in the present, bursts on what it meets, and hurts and throws whoever is near with
//! nothing solid between. It belongs to its shooter and flies where its shooter's commands are known.

use crate::arena::{Arena, Entity};
use crate::content::Mode;
use crate::damage::Hurt;
use crate::event::{Event, SEEN, What};
use crate::map::{SHOWN_METRES, SHOWN_RANGE};
use crate::movement::SPEED_MAX;
use crate::solids::Solids;
use crate::target::Target;
use crate::vector::{Bounds, Vector, add, along, greatest, least, length, scale, subtract, unit};
use crate::weapon::Weapon;
use sametick::{EntityId, Fields, Networked, Turn, World};

/// How fast it flies: as fast as can be shown.
pub const ROCKET_SPEED: f32 = 30.0;
/// How far its blast reaches.
pub const BLAST_METRES: f32 = 4.0;
/// How long it flies at most.
const FLIGHT_SECONDS: f32 = 8.0;
/// How long a burst one stays: some snapshots, or else nobody could be told of the burst of what is not there.
const BURST_SECONDS: f32 = 0.15;
/// Half its sides.
const HALF: Vector = [0.08; 3];
/// From the eyes to where it starts.
const MUZZLE_METRES: f32 = 0.3;

/// A rocket in flight, or one that has just burst.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rocket {
    /// Its middle.
    pub position: Vector,
    /// Metres a second.
    pub velocity: Vector,
    /// Whose it is.
    pub by: Option<EntityId>,
    /// How long it has flown; how long ago it burst, if it has.
    pub age: f32,
    /// It has burst, and is only there to be told of.
    pub is_burst: bool,
}

impl Networked for Rocket {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("position", &mut self.position).shown_each(SHOWN_RANGE, SHOWN_METRES);
        f.exacts("velocity", &mut self.velocity).shown_each(-SPEED_MAX..=SPEED_MAX, 1.0 / 32.0);
        f.entity("by", &mut self.by);
        f.exact("age", &mut self.age).shown(0.0..=0.0, 1.0);
        f.bool("is_burst", &mut self.is_burst);
        f.rate_of("velocity", "position");
    }
}

impl Rocket {
    /// One that leaves its shooter now.
    pub(crate) fn fired(by: EntityId, eye: Vector, aim: Vector) -> Self {
        Self { position: eye, velocity: scale(aim, ROCKET_SPEED), by: Some(by), ..Self::default() }
    }

    /// One tick of flight; whether it is gone.
    pub(crate) fn step(
        &mut self,
        id: EntityId,
        (world, solids): (&World<Entity>, &Solids<'_>),
        turn: &Turn<'_, Arena>,
        hurts: &mut Vec<Hurt>,
    ) -> bool {
        if self.is_burst {
            self.age += turn.dt();
            return self.age > BURST_SECONDS;
        }
        // Out of the barrel, which may not stick through a wall.
        let muzzle = if self.age == 0.0 { MUZZLE_METRES } else { 0.0 };
        let way = along(scale(self.velocity, turn.dt()), unit(self.velocity), muzzle);
        let contact = solids
            .sweep(HALF, self.position, add(self.position, way), |body| Some(body.id) == self.by);
        self.position = contact.trace.end;
        self.age += turn.dt();
        let is_practice = turn.content().mode == Mode::Practice;
        let before = subtract(self.position, way);
        let target = if is_practice { self.target(world, before) } else { None };
        if contact.trace.is_hit() || target.is_some() || self.age > FLIGHT_SECONDS {
            (self.is_burst, self.age, self.velocity) = (true, 0.0, [0.0; 3]);
            let event = Event {
                what: What::Explosion,
                weapon: Weapon::Launcher,
                at: self.position,
                by: self.by,
                ..Event::default()
            };
            turn.emit(id, SEEN, event);
            self.blast(contact.body.or(target), (world, solids), turn, hurts);
        }
        false
    }

    /// A target for practice on its way: those stand in nobody's way but a rocket's.
    fn target(&self, world: &World<Entity>, from: Vector) -> Option<EntityId> {
        let way = Bounds { low: least(from, self.position), high: greatest(from, self.position) };
        let mut targets = world.all::<Target>();
        targets.find_map(|(id, target)| target.bounds()?.touches(way).then_some(id))
    }

    fn blast(
        &self,
        struck: Option<EntityId>,
        (world, solids): (&World<Entity>, &Solids<'_>),
        turn: &Turn<'_, Arena>,
        hurts: &mut Vec<Hurt>,
    ) {
        let tuning = &turn.content().tuning.weapons[Weapon::Launcher.index()];
        for (victim, entity) in world.entities() {
            let Some(bounds) = entity.bounds() else { continue };
            let nearest = greatest(bounds.low, least(bounds.high, self.position));
            let distance = length(subtract(nearest, self.position));
            let share = if struck == Some(victim) { 1.0 } else { 1.0 - distance / BLAST_METRES };
            let middle = bounds.centre();
            // From a little off the wall it burst on, lest that wall shield everyone.
            let from = along(self.position, unit(subtract(middle, self.position)), 0.01);
            if share <= 0.0 || struck != Some(victim) && solids.ray(from, middle).is_hit() {
                continue;
            }
            let is_self = self.by == Some(victim);
            let damage = tuning.damage * share * if is_self { 0.4 } else { 1.0 };
            // A little upwards, so that feet leave the ground.
            let away = unit(add(subtract(middle, self.position), [0.0, 0.0, 0.3]));
            let knock = scale(away, tuning.knock * tuning.damage * share);
            let weapon = Weapon::Launcher;
            hurts.push(Hurt {
                victim,
                by: self.by,
                weapon,
                damage,
                knock,
                is_head: false,
                at: self.position,
                rewound_ms: 0,
            });
        }
    }
}
