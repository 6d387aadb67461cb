//! Those who may matter to one shot, as its shooter saw them and as they are: of a crowd, few need be put back.

use crate::core::entity::EntityId;
use crate::core::tick::PlayerId;
use crate::schema::entities::Entities;
use crate::sim::game::{Game, Turn};
use crate::sim::world::World;
use std::borrow::Cow;

/// What [`Turn::near`] found: who may matter to a shot.
#[derive(Clone, Debug)]
pub struct Near<'w, E: Entities> {
    player: PlayerId,
    seen: Vec<(EntityId, Cow<'w, E>)>,
    present: Vec<(EntityId, &'w E)>,
}

impl<E: Entities> Near<'_, E> {
    /// As the shooter saw them, in the order of the world.
    pub fn seen(&self) -> impl Iterator<Item = (EntityId, &E)> {
        self.seen.iter().map(|(id, entity)| (*id, &**entity))
    }
}

impl<G: Game> Turn<'_, G> {
    /// What [`seen_by`](Turn::seen_by) has of those who may matter to a shot. To make a whole world for each shot takes
    /// long when a thousand shoot at each other; this makes what is near.
    ///
    /// `is_near` is asked of the two states between which an entity was shown, or of the same one twice: it must say
    /// yes if the shot could meet anything between the two. [`judge_near`](Turn::judge_near) then says what it hits.
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
    ///     let Some((me, &Runner { x, .. })) = world.owned::<Runner>(player) else { continue };
    ///     // Whoever was or is right of the shooter, between any two snapshots.
    ///     let near = turn.near(player, world, |Entity::Runner(one), Entity::Runner(other)| {
    ///         one.x.max(other.x) > x
    ///     });
    ///     let hit = turn.judge_near(
    ///         &near,
    ///         |near| near.filter(|(id, _)| *id != me).map(|(id, Entity::Runner(of))| (id, of.x)).next(),
    ///         |_target| true,
    ///     );
    ///     if let Some(target) = hit.and_then(|(id, _at)| world.get_mut::<Runner>(id)) {
    ///         target.health -= 20;
    ///     }
    /// }
    /// # }}
    /// # let mut duel = Alone::<Duel>::new((), 1, Span::millis(20));
    /// # [PlayerId(0), PlayerId(1)].into_iter().for_each(|player| duel.join(player));
    /// # duel.step([(PlayerId(0), Wish { fire: true })]).unwrap();
    /// # assert_eq!(duel.world().owned::<Runner>(PlayerId(1)).unwrap().1.health, 80);
    /// ```
    pub fn near<'w>(
        &'w self,
        player: PlayerId,
        present: &'w World<G::Entity>,
        is_near: impl Fn(&G::Entity, &G::Entity) -> bool,
    ) -> Near<'w, G::Entity> {
        let here = present.entities().filter(|(_, entity)| is_near(entity, entity));
        let here: Vec<(EntityId, &'w G::Entity)> = here.collect();
        let seen = match self.sight(player) {
            Some((past, sight)) => {
                sight.is_asked.set(true);
                past.near(present, player, (sight.others, sight.moment), is_near)
            }
            None => here.iter().map(|(id, entity)| (*id, Cow::Borrowed(*entity))).collect(),
        };
        Near { player, seen, present: here }
    }

    /// What a shot hits of those who are near: [`judge`](Turn::judge), with both verdicts logged, and with what
    /// `hit` found out besides.
    pub fn judge_near<T>(
        &self,
        near: &Near<'_, G::Entity>,
        hit: impl Fn(&mut dyn Iterator<Item = (EntityId, &G::Entity)>) -> Option<(EntityId, T)>,
        in_sight: impl Fn(EntityId) -> bool,
    ) -> Option<(EntityId, T)> {
        let seen = hit(&mut near.seen());
        let name = seen.as_ref().map(|(id, _)| *id);
        let verdict = seen.filter(|(id, _)| !self.needs_sight || in_sight(*id));
        let is_hit = verdict.as_ref().map(|(id, _)| *id);
        self.log_verdict(near.player, name, is_hit, || {
            hit(&mut near.present.iter().copied()).map(|(id, _)| id)
        });
        verdict
    }
}
