//! A contest in a file, as `sametick play --save` has it: a line that says which map it is, and the world as bytes.

use sametick::{Layouts, World};
use sametick_islands::{Content, Entity, Opening, SEATS_MAX, contest};

/// That of the program's files.
const VERSION: &str = "2";
/// No contest is larger.
const FILE_BYTES_MAX: usize = 8 << 20;

pub(super) fn write(content: &Content, seed: u64, world: &World<Entity>) -> Vec<u8> {
    let (name, players) = (content.name(), content.players());
    let is_war = content.opening() == Opening::War;
    let head = format!(r#"{{"sametick":"islands","version":{VERSION},"seed":"{seed}""#);
    let map = format!(r#","players":{players},"war":{is_war},"content":"{name:016x}"}}"#);
    let mut bytes = format!("{head}{map}\n").into_bytes();
    bytes.extend(world.save(&Layouts::of::<Entity>()));
    bytes
}

/// Map, seed and world of a contest that can go on.
pub(super) fn read(file: &[u8]) -> Option<(Content, u64, World<Entity>)> {
    let cut = file.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&file[..cut]).ok()?;
    let is_whole = head.starts_with('{') && head.ends_with('}');
    let is_ours = word(head, "sametick")? == "islands" && word(head, "version")? == VERSION;
    if !is_whole || !is_ours || file.len() > FILE_BYTES_MAX {
        return None;
    }
    let seed: u64 = word(head, "seed")?.parse().ok()?;
    let players: u8 = word(head, "players")?.parse().ok()?;
    let opening = if word(head, "war")? == "true" { Opening::War } else { Opening::Settlers };
    if !(2..=SEATS_MAX as u8).contains(&players) {
        return None;
    }
    let content = Content::new(seed, players, opening);
    if word(head, "content")? != format!("{:016x}", content.name()) {
        return None;
    }
    let world = World::load(&file[cut + 1..], &Layouts::of::<Entity>()).ok()?;
    (!contest(&world).is_over && contest(&world).began > 0).then_some((content, seed, world))
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
