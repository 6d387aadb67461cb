//! Saved contests of Islands: a line that says which map it is, and the world as bytes.

use anyhow::{Context, bail};
use sametick::eventlock::TICK_LAST;
use sametick::{Layouts, World};
use sametick_islands::{Content, Entity, Opening, SEATS_MAX, contest};
use serde_json::{Value, json};
use std::path::Path;

/// Raised when what follows the first line is another.
const VERSION: u32 = 2;
/// No contest is larger.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Writes a contest beside its place first, so that an earlier one is not lost halfway.
pub(super) fn write(
    path: &Path,
    content: &Content,
    seed: u64,
    world: &World<Entity>,
) -> anyhow::Result<()> {
    let head = json!({
        "sametick": "islands", "version": VERSION, "seed": seed.to_string(), "players": content.players(),
        "war": content.opening() == Opening::War, "content": format!("{:016x}", content.name()),
    });
    let mut bytes = format!("{head}\n").into_bytes();
    bytes.extend(world.save(&Layouts::of::<Entity>()));
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    written.with_context(|| format!("cannot save to {}", path.display()))
}

/// Map, seed and world of a saved contest that can go on.
pub(super) fn read(path: &Path) -> anyhow::Result<(Content, u64, World<Entity>)> {
    let name = path.display();
    let size = std::fs::metadata(path).with_context(|| format!("cannot load {name}"))?.len();
    if size > FILE_BYTES_MAX {
        bail!("{name} is no saved contest: it is too large");
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot load {name}"))?;
    parse(&bytes).with_context(|| format!("{name} cannot go on"))
}

fn parse(bytes: &[u8]) -> anyhow::Result<(Content, u64, World<Entity>)> {
    let cut = bytes.iter().position(|byte| *byte == b'\n').context("it is no saved contest")?;
    let head: Value = serde_json::from_slice(&bytes[..cut]).context("it is no saved contest")?;
    if head["sametick"] != "islands" || head["version"] != VERSION {
        bail!("it is no saved contest of this version");
    }
    let seed = head["seed"].as_str().and_then(|seed| seed.parse().ok());
    let players =
        head["players"].as_u64().filter(|players| (2..=SEATS_MAX as u64).contains(players));
    let (seed, players) = seed.zip(players).context("its first line is damaged")?;
    let opening = if head["war"] == true { Opening::War } else { Opening::Settlers };
    let content = Content::new(seed, players as u8, opening);
    if head["content"] != format!("{:016x}", content.name()) {
        bail!("its map is not the one this program makes");
    }
    let world = World::load(&bytes[cut + 1..], &Layouts::of::<Entity>());
    let world = world.ok().context("its world is damaged, or of another version")?;
    if world.tick() > TICK_LAST || contest(&world).is_over || contest(&world).began == 0 {
        bail!("it is over");
    }
    Ok((content, seed, world))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::{Alone, PlayerId};
    use sametick_islands::{Islands, TICK};

    #[test]
    fn what_is_damaged_is_refused_and_what_is_whole_goes_on() {
        let content = Content::new(7, 3, Opening::War);
        let mut game = Alone::<Islands>::new(content.clone(), 7, TICK);
        (0..3).for_each(|player| game.join(PlayerId(player)));
        game.step([]).unwrap();
        let path = std::env::temp_dir().join(format!("sametick-saved-{}", std::process::id()));
        write(&path, &content, 7, game.world()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (map, seed, world) = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((map, seed), (content, 7));
        let layouts = Layouts::of::<Entity>();
        assert_eq!(world.save(&layouts), game.world().save(&layouts));
        assert!(parse(&bytes[..bytes.len() - 9]).is_err(), "cut short");
        assert!(parse(&bytes[1..]).is_err());
        assert!(parse(b"").is_err());
        let other = String::from_utf8_lossy(&bytes[..40]).replace("\"content\"", "\"nothing\"");
        assert!(parse(other.as_bytes()).is_err());
    }
}
