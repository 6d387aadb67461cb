//! A game whose past can be told from its present: points, a clock, and an event for each who joined.

use sametick::{Audience, Delivery, Fields, Game, Networked, Turn, World};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) works: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bool("works", &mut self.works);
    }
}

/// A player's own: a point for each tick of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Worker {
    pub(crate) born: u32,
    pub(crate) points: u32,
}

impl Networked for Worker {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("born", &mut self.born, 32);
        f.bits("points", &mut self.points, 32);
    }
}

/// Everyone's: how many ticks were stepped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hall {
    pub(crate) ticks: u32,
}

impl Networked for Hall {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("ticks", &mut self.ticks, 32);
    }
}

sametick::entities! { pub(crate) enum Entity { Hall, Worker } }

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrival {
    pub(crate) player: u16,
}

impl Networked for Arrival {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("player", &mut self.player, 16);
    }
}

pub(crate) struct Scores;

const SAVED: Delivery = Delivery { to: Audience::All, is_reliable: true, is_saved: true };

impl Game for Scores {
    type Entity = Entity;
    type Command = Wish;
    type Event = Arrival;
    type Content = ();

    fn populate(_: &(), world: &mut World<Entity>) {
        world.spawn(Hall::default());
    }

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for (_, hall) in world.all_mut::<Hall>() {
            hall.ticks += 1;
        }
        for player in turn.joined() {
            let born = turn.tick().0;
            if let Some(id) = world.spawn_owned(player, Worker { born, points: 0 }) {
                turn.emit(id, SAVED, Arrival { player: player.0 });
            }
        }
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Worker>(player) {
                world.despawn(id);
            }
        }
        for (player, wish) in turn.commands() {
            if let Some((_, worker)) = world.owned_mut::<Worker>(player) {
                worker.points += u32::from(wish.works);
            }
        }
    }
}
