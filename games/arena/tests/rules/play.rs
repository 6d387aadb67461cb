//! A game to test with: maps written in a few words, and players who hold their keys.

use sametick::{Alone, PlayerId, Span, World};
use sametick_arena::{Arena, Command, Content, Entity, Fighter, Map, Mode, TargetSet, Tuning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A brush from corner to corner, in units of the file.
pub(crate) fn block(low: [i32; 3], high: [i32; 3]) -> String {
    let ([a, b, c], [x, y, z]) = (low, high);
    let mut text = String::from("{\n");
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
    text + "}\n"
}

/// A ramp up towards +x.
pub(crate) fn ramp([a, b, c]: [i32; 3], [x, y, z]: [i32; 3]) -> String {
    let solid = block([a, b, c], [x, y, z]);
    let mut lines: Vec<&str> = solid.lines().collect();
    let slope = format!("( {a} {b} {c} ) ( {a} {y} {c} ) ( {x} {b} {z} ) wall 0 0 0 1 1");
    lines[6] = &slope;
    lines.remove(1);
    lines.join("\n") + "\n"
}

/// An entity with an origin.
pub(crate) fn thing(class: &str, [x, y, z]: [i32; 3], more: &str) -> String {
    format!("{{\n\"classname\" \"{class}\"\n\"origin\" \"{x} {y} {z}\"\n{more}}}\n")
}

/// An entity with a brush.
pub(crate) fn solid_thing(class: &str, keys: &str, brush: &str) -> String {
    format!("{{\n\"classname\" \"{class}\"\n{keys}\n{brush}}}\n")
}

/// A hall of 64 by 64 by 16 metres around the origin with more brushes in it, and things. The first player
/// begins at (-10, 0), the second at (10, 0), facing each other.
pub(crate) fn hall(brushes: &str, things: &str) -> String {
    let shell = [
        block([-1040, -1040, -16], [1040, 1040, 0]),
        block([-1040, -1040, 512], [1040, 1040, 528]),
        block([-1040, -1040, 0], [-1024, 1040, 512]),
        block([1024, -1040, 0], [1040, 1040, 512]),
        block([-1024, -1040, 0], [1024, -1024, 512]),
        block([-1024, 1024, 0], [1024, 1040, 512]),
    ];
    let world = format!("{{\n\"classname\" \"worldspawn\"\n{}{brushes}}}\n", shell.concat());
    let first = thing("info_player_deathmatch", [-320, 0, 25], "\"team\" \"1\"\n\"angle\" \"0\"\n");
    let second =
        thing("info_player_deathmatch", [320, 0, 25], "\"team\" \"2\"\n\"angle\" \"180\"\n");
    world + &first + &second + things
}

pub(crate) const SEED: u64 = 7;
pub(crate) const FIRST: PlayerId = PlayerId(0);
pub(crate) const SECOND: PlayerId = PlayerId(1);

pub(crate) struct Play {
    pub(crate) game: Alone<Arena>,
    pub(crate) held: BTreeMap<PlayerId, Command>,
    pub(crate) rate: u32,
}

impl Play {
    pub(crate) fn new(map: &str, rate: u32, players: u16) -> Self {
        let tuning = Tuning { pause_seconds: 0.1, ..Tuning::default() };
        Self::with(map, rate, players, Mode::Teams, tuning)
    }

    pub(crate) fn with(map: &str, rate: u32, players: u16, mode: Mode, tuning: Tuning) -> Self {
        let map = Map::read(map).expect("the map is sound");
        let targets = TargetSet::default();
        Self::on(Content { map, tuning, mode, targets, held_for: 0 }, rate, players)
    }

    pub(crate) fn on(content: Content, rate: u32, players: u16) -> Self {
        let length = Span::micros(u64::from(1_000_000 / rate));
        let mut play =
            Self { game: Alone::new(content, SEED, length), held: BTreeMap::new(), rate };
        (0..players).map(PlayerId).for_each(|player| play.join(player));
        // The countdown passes and everyone stands.
        play.run(1.0);
        play
    }

    pub(crate) fn join(&mut self, player: PlayerId) {
        self.game.join(player);
        let yaw = if player.0 == 1 { std::f32::consts::PI } else { 0.0 };
        self.held.insert(player, Command { yaw, ..Command::default() });
    }

    pub(crate) fn world(&self) -> &World<Entity> {
        self.game.world()
    }

    pub(crate) fn fighter(&self, player: PlayerId) -> &Fighter {
        self.world().owned::<Fighter>(player).expect("it has joined").1
    }

    pub(crate) fn hold(&mut self, player: PlayerId, change: impl FnOnce(&mut Command)) {
        change(self.held.entry(player).or_default());
    }

    pub(crate) fn tick(&mut self) {
        let commands: Vec<_> =
            self.held.iter().map(|(player, command)| (*player, *command)).collect();
        self.game.step(commands).expect("all numbers are finite");
    }

    pub(crate) fn run(&mut self, seconds: f32) {
        for _ in 0..(seconds * self.rate as f32).round() as u32 {
            self.tick();
        }
    }

    /// Runs until something is so, or for ten seconds.
    pub(crate) fn until(&mut self, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        for _ in 0..10 * self.rate {
            if is_so(self) {
                return true;
            }
            self.tick();
        }
        false
    }
}
