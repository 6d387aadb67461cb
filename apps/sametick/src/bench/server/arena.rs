//! The game that is served: the built-in work's players, as one film for all. The rules only turn its
//! pages, so that what is measured is the library and not a game.

pub(super) use crate::bench::workload::Player;
use crate::bench::workload::{PLAYERS, Workload};
use sametick::{Dice, Fields, Game, Networked, NoEvent, Turn, World};
use std::sync::Arc;

sametick::entities! { pub(super) enum Entity { Player } }

/// Every player at every tick.
pub(super) struct Film {
    pages: Vec<Vec<Player>>,
}

impl Film {
    pub(super) fn new(seed: u64, players: usize, ticks: u32) -> Self {
        let crowds = (seed..).take(players.div_ceil(PLAYERS));
        let mut crowds: Vec<Workload> = crowds.map(Workload::new).collect();
        let page = |_| {
            crowds.iter_mut().for_each(Workload::step);
            crowds.iter().flat_map(Workload::players).take(players).cloned().collect()
        };
        Self { pages: (0..ticks).map(page).collect() }
    }

    /// The film stops at its last page.
    fn page(&self, tick: u32) -> &[Player] {
        let last = self.pages.len() - 1;
        &self.pages[last.min(tick as usize)]
    }
}

pub(super) struct Arena;

impl Game for Arena {
    type Entity = Entity;
    type Command = Input;
    type Event = NoEvent;
    type Content = Arc<Film>;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Player::default());
        }
        let page = turn.content().page(turn.tick().0);
        // Others may be taken in larger steps; whoever is not waited for turns a page of its own.
        if turn.dt_of(None).is_some() {
            for (id, player) in world.all_mut::<Player>() {
                player.clone_from(&page[id.slot()]);
            }
            return;
        }
        for (player, _) in turn.commands().filter(|(owner, _)| turn.dt_of(Some(*owner)).is_some()) {
            if let Some((id, player)) = world.owned_mut::<Player>(player) {
                player.clone_from(&page[id.slot()]);
            }
        }
    }
}

/// What hands on mouse and keys ask for; the film does not listen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Input {
    yaw: f32,
    pitch: f32,
    keys: u8,
}

impl Input {
    /// A mouse is never still, and a key is pressed now and then.
    pub(super) fn any(dice: &mut Dice) -> Self {
        let yaw = (dice.unit() as f32 - 0.5) * 6.0;
        Self { yaw, pitch: yaw / 4.0, keys: 1 << dice.below(4) }
    }
}

impl Networked for Input {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("yaw", &mut self.yaw, 16);
        f.angle("pitch", &mut self.pitch, 16);
        f.bits("keys", &mut self.keys, 8);
    }
}
