//! The rules of hello: on a line of 40 metres one walks to and fro by itself, and players east, west or not at all.
use sametick::{Fields, Game, Networked, NoEvent, Turn, World};
/// East is 1, west is -1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish(pub i32);
impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("east", &mut self.0, -1..=1);
    }
}
/// Where it is, and in which tick it was there.
#[derive(Clone, Debug, Default)]
pub struct Walker(pub f32, pub f32);
impl Networked for Walker {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.0).shown(-20.0..=20.0, 0.01);
        f.exact("when", &mut self.1);
    }
}
sametick::entities! {
    /// All that there is.
    pub enum Entity { Walker }
}
/// The game.
pub struct Hello;
impl Game for Hello {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = ();
    fn populate((): &(), world: &mut World<Entity>) {
        world.spawn(Walker::default());
    }
    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Walker::default()));
        if let Some((_, other)) = world.all_mut::<Walker>().next() {
            let tick = turn.tick().0;
            *other = Walker((tick % 160).abs_diff(80) as f32 / 2.0 - 20.0, tick as f32);
        }
        for (player, Wish(east)) in turn.commands() {
            let Some((_, Walker(x, _))) = world.owned_mut(player) else { continue };
            *x = (*x + *east as f32 * 15.0 * turn.dt()).clamp(-20.0, 20.0);
        }
    }
}
