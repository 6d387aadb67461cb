//! Some bots and a game to play: a match in virtual time, and what they did in it.

use sametick::{Alone, PlayerId, Span, World};
use sametick_arena::bot::{Act, Bot, Skill, Tally, Ways};
use sametick_arena::map::Spawn;
use sametick_arena::vector::Vector;
use sametick_arena::{Arena, Content, Entity, Fighter, Map, Mode, TargetSet, Tuning, map};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

/// The maps of the game with their ways, surveyed once.
pub(crate) static MAPS: LazyLock<Vec<(&str, Content, Arc<Ways>)>> = LazyLock::new(|| {
    let surveyed = |(name, text): (&'static str, &str)| {
        let content = Content::new(text, Mode::FreeForAll).expect("the map is sound");
        let ways = Arc::new(Ways::new(&content));
        (name, content, ways)
    };
    map::MAPS.into_iter().map(surveyed).collect()
});

/// Bots, then actors, in one game.
pub(crate) struct Party {
    pub(crate) game: Alone<Arena>,
    pub(crate) content: Content,
    pub(crate) bots: Vec<Bot>,
    pub(crate) acts: Vec<Act>,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) dt: f32,
}

impl Party {
    /// A match without an end, at 60 ticks a second.
    pub(crate) fn new(content: &Content, ways: &Arc<Ways>, levels: &[u8], seed: u64) -> Self {
        Self::at(60, content, ways, levels, seed, Vec::new())
    }

    pub(crate) fn at(
        rate: u64,
        content: &Content,
        ways: &Arc<Ways>,
        levels: &[u8],
        seed: u64,
        acts: Vec<Act>,
    ) -> Self {
        let mut content = content.clone();
        (content.tuning.score_limit, content.tuning.round_seconds) = (0, 0.0);
        content.tuning.pause_seconds = 0.1;
        let tick = Span::micros(1_000_000 / rate);
        let mut game = Alone::new(content.clone(), seed, tick);
        let numbered = levels.iter().zip(seed * 100..);
        let bots: Vec<Bot> = numbered
            .map(|(level, seed)| Bot::new(Skill::level(*level), seed, ways.clone()))
            .collect();
        (0..(bots.len() + acts.len()) as u16).for_each(|player| game.join(PlayerId(player)));
        let tallies = vec![Tally::default(); bots.len()];
        let dt = tick.as_seconds_f64() as f32;
        Self { game, content, bots, acts, tallies, dt }
    }

    pub(crate) fn world(&self) -> &World<Entity> {
        self.game.world()
    }

    pub(crate) fn fighter(&self, player: usize) -> &Fighter {
        self.world().owned(PlayerId(player as u16)).expect("it has joined").1
    }

    pub(crate) fn step(&mut self) {
        let (content, dt, world) = (&self.content, self.dt, self.game.world());
        let mut commands = Vec::new();
        for (bot, player) in self.bots.iter_mut().zip(0..) {
            commands.push((PlayerId(player), bot.think(world, PlayerId(player), content, dt)));
        }
        for (act, player) in self.acts.iter().zip(self.bots.len() as u16..) {
            commands.push((PlayerId(player), act.think(world, PlayerId(player), content, dt)));
        }
        self.game.step(commands).expect("all is finite");
        let effects = self.game.take_effects();
        let bots = (0..).map(PlayerId).zip(&self.bots);
        Tally::count(&mut self.tallies, bots, self.game.world(), &effects, dt);
    }

    pub(crate) fn run(&mut self, seconds: f32) {
        (0..(seconds / self.dt) as usize).for_each(|_| self.step());
    }

    pub(crate) fn until(&mut self, seconds: f32, is_done: impl Fn(&Self) -> bool) -> bool {
        (0..(seconds / self.dt) as usize).any(|_| {
            self.step();
            is_done(self)
        })
    }
}

/// Where the only spawns are: the first is the first team's, the second the second's.
pub(crate) fn place_spawns(content: &mut Content, places: &[(Vector, f32)]) {
    let spawns = places.iter().zip([1, 2].into_iter().cycle());
    content.map.spawns = spawns.map(|(&(place, yaw), team)| Spawn { place, yaw, team }).collect();
}

/// An empty hall of 64 by 64 metres with brushes in it, given by their corners in metres.
pub(crate) fn hall(brushes: &[[[i32; 3]; 2]]) -> Content {
    let shell = [
        [[-33, -33, -1], [33, 33, 0]],
        [[-33, -33, 8], [33, 33, 9]],
        [[-33, -33, 0], [-32, 33, 8]],
        [[32, -33, 0], [33, 33, 8]],
        [[-32, -33, 0], [32, -32, 8]],
        [[-32, 32, 0], [32, 33, 8]],
    ];
    let mut text = String::from("{\n\"classname\" \"worldspawn\"\n");
    shell.iter().chain(brushes).for_each(|corners| block(&mut text, *corners));
    text.push_str("}\n{\n\"classname\" \"info_player_deathmatch\"\n\"origin\" \"0 0 25\"\n}\n");
    let map = Map::read(&text).expect("the map is sound");
    Content {
        map,
        tuning: Tuning::default(),
        mode: Mode::Teams,
        targets: TargetSet::default(),
        held_for: 0,
    }
}

fn block(text: &mut String, corners: [[i32; 3]; 2]) {
    let [[a, b, c], [x, y, z]] = corners.map(|corner| corner.map(|metres| metres * 32));
    text.push_str("{\n");
    for [p, q, r] in [
        [[a, b, c], [a, b + 1, c], [a, b, c + 1]],
        [[x, y, z], [x, y, z + 1], [x, y + 1, z]],
        [[a, b, c], [a, b, c + 1], [a + 1, b, c]],
        [[x, y, z], [x + 1, y, z], [x, y, z + 1]],
        [[a, b, c], [a + 1, b, c], [a, b + 1, c]],
        [[x, y, z], [x, y + 1, z], [x + 1, y, z]],
    ] {
        for [x, y, z] in [p, q, r] {
            _ = write!(text, "( {x} {y} {z} ) ");
        }
        text.push_str("wall 0 0 0 1 1\n");
    }
    text.push_str("}\n");
}
