//! What events look and sound like: flashes, tracers, marks, blasts, cubes, news and tones. Each is shown once;
//! what was predicted wrongly is over before it could be taken back.

use crate::colours;
use crate::figure::{Figures, muzzle};
use crate::hitmarks::{HitMarks, aimed_at};
use crate::hud::{self, Feed, Whose};
use crate::particles::{Particles, struck};
use crate::scene::Side;
use sametick::{Effect, EntityId, EventKey, World};
use sametick_arena::vector::{Vector, subtract, unit};
use sametick_arena::{
    BLAST_METRES, Content, Entity, Event, Fighter, Weapon, What, body, pellets_of,
};
use std::collections::BTreeSet;

/// What can be heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    Shot(Weapon),
    Blast,
    Step,
    Jump,
    Land,
    Hurt,
    Death,
    Pickup,
    Reload,
    Door,
    Teleport,
    Break,
    /// One's own screen says hit.
    Hit,
    /// The server agrees.
    Confirmed,
}

/// What effects are shown in, and from whose eyes.
pub(crate) struct Stage<'a> {
    pub(crate) world: &'a World<Entity>,
    pub(crate) content: &'a Content,
    pub(crate) side: Side,
    /// The seed of all chances, by which pellets spread.
    pub(crate) seed: Option<u64>,
    /// Our own body, and where we look.
    pub(crate) own: Option<EntityId>,
    /// Where our own gun's muzzle is on the screen.
    pub(crate) own_muzzle: Option<Vector>,
    pub(crate) figures: &'a mut Figures,
    pub(crate) particles: &'a mut Particles,
    pub(crate) marks: &'a mut HitMarks,
    pub(crate) feed: &'a mut Feed,
    /// What is to be heard, and where; in one's own head if nowhere.
    pub(crate) noises: Vec<(Noise, Option<Vector>)>,
    /// From where we were hurt, and by how much.
    pub(crate) hurts: Vec<(Vector, u8)>,
    /// Our own death, if it came.
    pub(crate) death: Option<(EventKey, Event)>,
    /// Where we begin again, if we do.
    pub(crate) spawned: Option<Vector>,
}

impl Stage<'_> {
    /// Shows all of them.
    pub(crate) fn show(&mut self, effects: Vec<Effect<Event>>) {
        for effect in effects {
            if let Effect::Started { key, event, .. } = effect {
                self.show_one(key, &event);
            }
        }
    }

    fn is_own(&self, id: EntityId) -> bool {
        self.own == Some(id)
    }

    fn show_one(&mut self, key: EventKey, event: &Event) {
        let fighter = self.world.get::<Fighter>(key.entity).cloned();
        let place =
            fighter.as_ref().map(|fighter| body::centre(fighter.position, fighter.is_crouched));
        let heard_at = if self.is_own(key.entity) { None } else { place };
        let mut hear = |noise: Noise| self.noises.push((noise, heard_at));
        match event.what {
            What::Shot => self.show_shot(key, event, fighter),
            What::Explosion => {
                self.particles.blast(event.at, BLAST_METRES);
                self.noises.push((Noise::Blast, Some(event.at)));
            }
            What::Hurt => self.show_hurt(key, event, fighter.as_ref()),
            What::Death => self.show_death(key, event, fighter.as_ref()),
            What::Pickup => hear(Noise::Pickup),
            What::Jump => hear(Noise::Jump),
            What::Land => hear(Noise::Land),
            What::Teleport => hear(Noise::Teleport),
            What::Reload => hear(Noise::Reload),
            What::Door => self.noises.push((Noise::Door, heard_at)),
            What::Break => {
                let at = self
                    .world
                    .entity(key.entity)
                    .and_then(|entity| entity.place(self.content))
                    .unwrap_or(event.at);
                self.particles.debris(at);
                self.noises.push((Noise::Break, Some(at)));
                self.confirm(key, event);
            }
            What::Spawn if self.is_own(key.entity) => self.spawned = Some(event.at),
            What::Say => self.tell(key, event),
            What::Spawn | What::Phase => {}
        }
    }

    fn show_shot(&mut self, key: EventKey, event: &Event, fighter: Option<Fighter>) {
        let Some(fighter) = fighter else { return };
        self.figures.kick(key.entity);
        let is_own = self.is_own(key.entity);
        let from = self.own_muzzle.filter(|_| is_own).unwrap_or_else(|| muzzle(&fighter));
        self.particles.flash(from, is_own);
        let heard_at = if is_own { None } else { Some(from) };
        self.noises.push((Noise::Shot(event.weapon), heard_at));
        if event.weapon == Weapon::Launcher {
            return;
        }
        let colour = self.side.colour(self.world, fighter.player);
        self.particles.tracer(from, event.at, colour, is_own);
        if let Some(normal) = struck(&self.content.map, event.at, event.direction) {
            self.particles.impact(event.at, normal);
        }
        if is_own {
            // As the shot was aimed, whatever the hands have done since.
            let tuning = &self.content.tuning.weapons[event.weapon.index()];
            let spread = |seed| pellets_of(tuning, event.direction, seed, (key.tick, key.entity));
            let ways = self.seed.map_or_else(|| vec![event.direction], spread);
            let map = &self.content.map;
            let meets = |way| aimed_at(self.world, map, key.entity, &fighter, way);
            let victims: BTreeSet<EntityId> = ways.into_iter().filter_map(meets).collect();
            if !victims.is_empty() {
                self.noises.push((Noise::Hit, None));
            }
            victims.into_iter().for_each(|victim| self.marks.fired(key.tick, victim));
        }
    }

    fn show_hurt(&mut self, key: EventKey, event: &Event, fighter: Option<&Fighter>) {
        if self.is_own(key.entity) {
            self.hurts.push((event.at, event.amount));
            self.noises.push((Noise::Hurt, None));
        } else if let Some(fighter) = fighter {
            let colour = self.side.colour(self.world, fighter.player);
            self.particles.wound(event.at, unit(subtract(fighter.eye(), event.at)), colour);
        }
        self.confirm(key, event);
    }

    /// The server says that we hit something.
    fn confirm(&mut self, key: EventKey, event: &Event) {
        let is_ours = event.by.is_some_and(|by| self.is_own(by)) && !self.is_own(key.entity);
        if is_ours && self.marks.told(key.tick, key.entity) {
            self.noises.push((Noise::Confirmed, None));
        }
    }

    fn show_death(&mut self, key: EventKey, event: &Event, fighter: Option<&Fighter>) {
        if let Some(fighter) = fighter {
            let colour = self.side.colour(self.world, fighter.player);
            let push = event.direction.map(|part| -part);
            let height = body::height(fighter.is_crouched);
            self.particles.cubes(fighter.position, height, push, colour);
            self.noises.push((Noise::Death, Some(fighter.position)));
        }
        if self.is_own(key.entity) {
            self.death = Some((key, *event));
        }
        self.confirm(key, event);
        self.tell(key, event);
    }

    fn tell(&mut self, key: EventKey, event: &Event) {
        let (side, world) = (self.side, self.world);
        let whose = |player: u16| {
            if side.colour(world, player) == colours::OWN { Whose::Own } else { Whose::Enemy }
        };
        if let Some(news) = hud::news(world, event, key.entity, whose) {
            self.feed.add(news);
        }
    }
}
