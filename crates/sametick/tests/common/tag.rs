//! The smallest game worth playing: walk, and shout.

use sametick::{Audience, Delivery, Fields, Game, Networked, Turn, World};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) aim: f32,
    pub(crate) walk: bool,
    pub(crate) shout: bool,
    /// Counts what was asked for, to see when it is on the screen.
    pub(crate) stamp: u16,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.bool("walk", &mut self.walk);
        f.bool("shout", &mut self.shout);
        f.bits("stamp", &mut self.stamp, 16);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) shouts: u16,
    pub(crate) stamp: u16,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x).shown(-500.0..=500.0, 0.01);
        f.exact("y", &mut self.y).shown(-500.0..=500.0, 0.01);
        f.bits("shouts", &mut self.shouts, 16);
        f.bits("stamp", &mut self.stamp, 16);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner } }

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shout {
    pub(crate) loud: bool,
}

impl Networked for Shout {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bool("loud", &mut self.loud);
    }
}

pub(crate) struct Tag;

const RELIABLY: Delivery = Delivery { to: Audience::All, is_reliable: true, is_saved: false };

impl Game for Tag {
    type Entity = Entity;
    type Command = Wish;
    type Event = Shout;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            if let Some(id) = world.spawn_owned(player, Runner::default()) {
                turn.emit(id, Delivery { is_saved: true, ..RELIABLY }, Shout { loud: true });
            }
        }
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Runner>(player) {
                world.despawn(id);
            }
        }
        for (player, wish) in turn.commands() {
            let Some((id, runner)) = world.owned_mut::<Runner>(player) else { continue };
            let (north, east) = libm::sincosf(wish.aim);
            let stride = if wish.walk { 5.0 * turn.dt() } else { 0.0 };
            (runner.x, runner.y) = (runner.x + east * stride, runner.y + north * stride);
            runner.stamp = wish.stamp;
            if wish.shout {
                runner.shouts += 1;
                turn.emit(id, RELIABLY, Shout { loud: false });
            }
        }
    }
}
