//! A contest as bytes, for a file: a line of JSON that says which map it is, and the world.

use crate::census::contest;
use crate::content::{Content, Opening};
use crate::contest::SEATS_MAX;
use crate::islands::Entity;
use sametick::eventlock::TICK_LAST;
use sametick::{Layouts, World};

/// Raised when what follows the first line is another.
const VERSION: &str = "2";

/// No saved contest is larger.
pub const SAVED_BYTES_MAX: usize = 8 << 20;

/// Writes a contest, such that [`load_contest`] can go on with it.
///
/// ```
/// use sametick_islands::{Content, Islands, Opening, TICK, load_contest, save_contest};
/// use sametick::{Alone, PlayerId};
///
/// let content = Content::new(7, 2, Opening::War);
/// let mut game = Alone::<Islands>::new(content.clone(), 7, TICK);
/// (0..2).for_each(|player| game.join(PlayerId(player)));
/// game.step([])?;
/// let bytes = save_contest(&content, 7, game.world());
/// let (_, seed, world) = load_contest(&bytes)?;
/// assert_eq!((seed, world.tick()), (7, game.world().tick()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_contest(content: &Content, seed: u64, world: &World<Entity>) -> Vec<u8> {
    let (name, players) = (content.name(), content.players());
    let is_war = content.opening() == Opening::War;
    let head = format!(r#"{{"sametick":"islands","version":{VERSION},"seed":"{seed}""#);
    let map = format!(r#","players":{players},"war":{is_war},"content":"{name:016x}"}}"#);
    let mut bytes = format!("{head}{map}\n").into_bytes();
    bytes.extend(world.save(&Layouts::of::<Entity>()));
    bytes
}

/// Map, seed and world of a saved contest that can go on; or why it cannot.
pub fn load_contest(file: &[u8]) -> Result<(Content, u64, World<Entity>), &'static str> {
    const STRANGE: &str = "it is no saved contest";
    const DAMAGED: &str = "its first line is damaged";
    if file.len() > SAVED_BYTES_MAX {
        return Err("it is too large for a saved contest");
    }
    let cut = file.iter().position(|byte| *byte == b'\n').ok_or(STRANGE)?;
    let head = std::str::from_utf8(&file[..cut]).map_err(|_| STRANGE)?;
    let is_whole = head.starts_with('{') && head.ends_with('}');
    if !is_whole || word(head, "sametick") != Some("islands") {
        return Err(STRANGE);
    }
    if word(head, "version") != Some(VERSION) {
        return Err("it is a saved contest of another version");
    }
    let seed: Option<u64> = word(head, "seed").and_then(|seed| seed.parse().ok());
    let players: Option<u8> = word(head, "players").and_then(|players| players.parse().ok());
    let players = players.filter(|players| (2..=SEATS_MAX as u8).contains(players));
    let (seed, players) = seed.zip(players).ok_or(DAMAGED)?;
    let opening = match word(head, "war").ok_or(DAMAGED)? {
        "true" => Opening::War,
        _ => Opening::Settlers,
    };
    let content = Content::new(seed, players, opening);
    if word(head, "content") != Some(&format!("{:016x}", content.name())) {
        return Err("its map is not the one this program makes");
    }
    let world = World::load(&file[cut + 1..], &Layouts::of::<Entity>());
    let world = world.map_err(|_| "its world is damaged, or of another version")?;
    if world.tick() > TICK_LAST || contest(&world).is_over || contest(&world).began == 0 {
        return Err("it is over");
    }
    Ok((content, seed, world))
}

/// The value of a name in the first line: a number, a word or text without quotes in it.
fn word<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = head.split_once(&format!("\"{name}\":"))?;
    let rest = rest.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next().map(str::trim),
    }
}
