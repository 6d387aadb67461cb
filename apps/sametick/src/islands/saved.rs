//! Saved contests of Islands as files.

use anyhow::{Context, anyhow, bail};
use sametick::World;
use sametick_islands::{Content, Entity, SAVED_BYTES_MAX, load_contest, save_contest};
use std::path::{Path, PathBuf};

/// Whether a contest can be written there at the end; that of another is not written over.
pub(super) fn check(path: &Path, loaded: Option<&Path>) -> anyhow::Result<()> {
    let name = path.display();
    if path.exists() && Some(path) != loaded {
        bail!("{name} is there already: choose another name, or go on with it with --load {name}");
    }
    let beside = beside(path);
    let written = std::fs::write(&beside, []).and_then(|()| std::fs::remove_file(&beside));
    written.with_context(|| format!("cannot save to {name}"))
}

/// Where a file stands until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    beside.into()
}

/// Writes a contest beside its place first, so that an earlier one is not lost halfway.
pub(super) fn write(
    path: &Path,
    content: &Content,
    seed: u64,
    world: &World<Entity>,
) -> anyhow::Result<()> {
    let beside = beside(path);
    let written = std::fs::write(&beside, save_contest(content, seed, world))
        .and_then(|()| std::fs::rename(&beside, path));
    written.with_context(|| format!("cannot save to {}", path.display()))
}

/// Map, seed and world of a saved contest that can go on.
pub(super) fn read(path: &Path) -> anyhow::Result<(Content, u64, World<Entity>)> {
    let name = path.display();
    let size = std::fs::metadata(path).with_context(|| format!("cannot load {name}"))?.len();
    if size > SAVED_BYTES_MAX as u64 {
        bail!("{name} is no saved contest: it is too large");
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot load {name}"))?;
    load_contest(&bytes).map_err(|why| anyhow!("{name} cannot go on: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::{Alone, Layouts, PlayerId};
    use sametick_islands::{Islands, Opening, TICK};

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
        assert!(load_contest(&bytes[..bytes.len() - 9]).is_err(), "cut short");
        assert!(load_contest(&bytes[1..]).is_err());
        assert!(load_contest(b"").is_err());
        let other = String::from_utf8_lossy(&bytes[..40]).replace("\"content\"", "\"nothing\"");
        assert!(load_contest(other.as_bytes()).is_err());
    }
}
