//! A door: opens while someone is near. Its state is the tick at which it last turned round, so where it is at any
//! later tick is known to those who heard of that, without hearing more.

use crate::arena::{Arena, Entity};
use crate::event::{Event, SEEN, What};
use crate::fighter::Fighter;
use crate::map::DoorPlan;
use sametick::{Fields, Networked, Tick, Turn, World};

/// A door of the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Door {
    /// Its number in the map.
    pub index: u8,
    /// When it last turned round.
    pub turned_at: u32,
    /// How far it was open then: 1 is all the way.
    pub turned_from: f32,
    /// Which way it went from there.
    pub is_opening: bool,
}

impl Networked for Door {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("index", &mut self.index, 8);
        f.bits("turned_at", &mut self.turned_at, 32);
        f.exact("turned_from", &mut self.turned_from);
        f.bool("is_opening", &mut self.is_opening);
    }
}

impl Door {
    /// How far it is open in a tick, if a tick takes `dt` seconds: 1 is all the way.
    pub fn openness(&self, plan: &DoorPlan, tick: Tick, dt: f32) -> f32 {
        let moved = tick.0.saturating_sub(self.turned_at) as f32 * dt / plan.seconds;
        let open = self.turned_from + if self.is_opening { moved } else { -moved };
        open.clamp(0.0, 1.0)
    }
}

/// Turns round every door that someone has come near or that all have left.
pub(crate) fn step(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    let doors: Vec<_> = world.all::<Door>().map(|(id, door)| (id, door.clone())).collect();
    for (id, mut door) in doors {
        let Some(plan) = turn.content().map.doors.get(usize::from(door.index)) else { continue };
        let is_near =
            |fighter: &Fighter| fighter.bounds().is_some_and(|bounds| plan.reach.touches(bounds));
        let wanted = world.all::<Fighter>().any(|(_, fighter)| is_near(fighter));
        if wanted != door.is_opening {
            door.turned_from = door.openness(plan, turn.tick(), turn.dt());
            (door.is_opening, door.turned_at) = (wanted, turn.tick().0);
            turn.emit(id, SEEN, Event { what: What::Door, amount: door.index, ..Event::default() });
            if let Some(changed) = world.get_mut::<Door>(id) {
                *changed = door;
            }
        }
    }
}
