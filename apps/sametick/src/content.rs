//! What is played, chosen by name: maps that come with the game or stand in a file, and modes.

use anyhow::{Context, bail};
use clap::ValueEnum;
use sametick_arena::bot::Ways;
use sametick_arena::map::MAPS;
use sametick_arena::{Content, Map, Mode, TargetSet, Tuning};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The modes by the names that players know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Everyone against everyone
    Ffa,
    /// Two teams
    Tdm,
    /// Two players, the others watch
    Duel,
    /// Targets instead of enemies
    Targets,
}

impl ModeName {
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Ffa => Mode::FreeForAll,
            Self::Tdm => Mode::Teams,
            Self::Duel => Mode::Duel,
            Self::Targets => Mode::Practice,
        }
    }
}

/// The map of this name, or in this file.
pub(crate) fn load(map: &str, mode: ModeName) -> anyhow::Result<Content> {
    let text = match MAPS.iter().find(|(name, _)| *name == map) {
        Some((_, text)) => (*text).to_owned(),
        None => read(map)?,
    };
    let content = Content::new(&text, mode.mode());
    content.with_context(|| format!("the map {map} is damaged"))
}

fn read(map: &str) -> anyhow::Result<String> {
    let names = MAPS.map(|(name, _)| name).join(", ");
    if !Path::new(map).exists() {
        bail!("there is no map {map:?}: choose {names}, or the path of a .map file");
    }
    let bytes = std::fs::read(map).with_context(|| format!("cannot read the map {map}"))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let (line, column) = position(error.as_bytes(), error.utf8_error().valid_up_to());
            bail!("the map {map} is damaged: line {line}, column {column}: this is no text")
        }
    }
}

/// The line and the column of a byte, from 1.
pub(crate) fn position(text: &[u8], at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    (line, 1 + String::from_utf8_lossy(&before[line_start..]).chars().count())
}

/// A game and the ways about its map, which bots share.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) content: Content,
    ways: OnceLock<Arc<Ways>>,
    is_surveyed: AtomicBool,
}

impl Ground {
    pub(crate) fn new(content: Content) -> Self {
        Self { content, ways: OnceLock::new(), is_surveyed: AtomicBool::new(false) }
    }

    /// Where bots can go; found out when first asked for, which takes a moment.
    pub(crate) fn ways(&self) -> &Arc<Ways> {
        self.ways.get_or_init(|| Arc::new(Ways::new(&self.content)))
    }

    /// The same, for those who cannot wait: none as long as they are being found out elsewhere.
    pub(crate) fn ways_if_known(self: &Arc<Self>) -> Option<&Arc<Ways>> {
        if !self.is_surveyed.swap(true, Ordering::Relaxed) && self.ways.get().is_none() {
            let ground = Arc::clone(self);
            std::thread::spawn(move || _ = ground.ways());
        }
        self.ways.get()
    }
}

/// All games that a player can join without being told which: the maps that come with the game, in every
/// mode, and one that was asked for.
#[derive(Debug)]
pub(crate) struct Shelf {
    grounds: Vec<(u64, Arc<Ground>)>,
}

impl Shelf {
    /// With a map from a file or by name in front, if one is given.
    pub(crate) fn new(map: Option<&str>) -> anyhow::Result<Self> {
        let mut texts = Vec::new();
        if let Some(map) = map {
            texts.push(load(map, ModeName::Ffa)?.map);
        }
        for (name, _) in MAPS {
            texts.push(load(name, ModeName::Ffa)?.map);
        }
        let in_modes = |map: Map| {
            ModeName::value_variants().iter().map(move |mode| {
                let (map, mode) = (map.clone(), mode.mode());
                let (tuning, targets) = (Tuning::default(), TargetSet::default());
                let content = Content { map, tuning, mode, targets, held_for: 0 };
                (content.name(), Arc::new(Ground::new(content)))
            })
        };
        Ok(Self { grounds: texts.into_iter().flat_map(in_modes).collect() })
    }

    /// Only this one.
    pub(crate) fn of(content: Content) -> Self {
        Self { grounds: vec![(content.name(), Arc::new(Ground::new(content)))] }
    }

    /// Only this one, whose ways are known.
    pub(crate) fn knowing(content: Content, ways: Arc<Ways>) -> Self {
        let shelf = Self::of(content);
        // Nobody has found them out meanwhile.
        let _ = shelf.first().ways.set(ways);
        shelf
    }

    /// What is tried first.
    pub(crate) fn first(&self) -> &Arc<Ground> {
        &self.grounds[0].1
    }

    /// The game whose content has this name.
    pub(crate) fn find(&self, name: u64) -> Option<&Arc<Ground>> {
        self.grounds.iter().find(|(known, _)| *known == name).map(|(_, ground)| ground)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        assert_eq!(position(b"", 0), (1, 1));
        assert_eq!(position(b"a\nbc", 3), (2, 2));
        assert_eq!(position("ä\nöx".as_bytes(), 5), (2, 2));
        assert_eq!(position(b"a", 99), (1, 2));
    }

    #[test]
    fn every_map_is_found_in_every_mode() {
        let shelf = Shelf::new(None).unwrap();
        for (map, _) in MAPS {
            for mode in ModeName::value_variants() {
                let content = load(map, *mode).unwrap();
                assert_eq!(shelf.find(content.name()).unwrap().content.mode, mode.mode(), "{map}");
            }
        }
    }
}
