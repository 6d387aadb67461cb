//! A street with one runner a player and lamps that flicker: as many as a test needs bytes.

use sametick::{Fields, Game, Networked, NoEvent, Turn, World};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) east: i8,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("east", &mut self.east, -1..=1);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    pub(crate) x: f32,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lamp {
    light: u32,
}

impl Networked for Lamp {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("light", &mut self.light, 32);
    }
}

sametick::entities! { pub(crate) enum Entity { Runner, Lamp } }

pub(crate) struct Street;

impl Game for Street {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    /// How many lamps there are.
    type Content = u32;

    fn populate(lamps: &u32, world: &mut World<Entity>) {
        (0..*lamps).for_each(|_| _ = world.spawn(Lamp::default()));
    }

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Runner::default()));
        for (player, wish) in turn.commands() {
            if let Some((_, runner)) = world.owned_mut::<Runner>(player) {
                runner.x += f32::from(wish.east) * 6.0 * turn.dt();
            }
        }
        if !turn.is_predicted() {
            let light = turn.tick().0.wrapping_mul(2_654_435_761);
            world.all_mut::<Lamp>().for_each(|(_, lamp)| lamp.light = light);
        }
    }

    fn repeat(_last: &Wish, _times: u32) -> Wish {
        Wish::default()
    }

    fn distance(from: &Entity, to: &Entity) -> f32 {
        match (from, to) {
            (Entity::Runner(from), Entity::Runner(to)) => (from.x - to.x).abs(),
            _ => 0.0,
        }
    }
}
