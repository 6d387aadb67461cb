//! A player's place in the match: name, team and score. Everyone knows of it, and it belongs to nobody: what it counts
//! is for the server to say.

use crate::command::{Command, SAY_BYTES_MAX};
use sametick::{Fields, Networked, Text};

/// The longest name.
pub const NAME_BYTES_MAX: usize = 16;

type Words = Text<SAY_BYTES_MAX>;

/// One player's line in the score table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seat {
    /// Whose it is.
    pub player: u16,
    /// What the others call it.
    pub name: Text<NAME_BYTES_MAX>,
    /// 1 or 2; 0 where there are no teams.
    pub team: u8,
    /// Kills, or targets hit; kills of oneself count the other way.
    pub score: i16,
    /// How often it died.
    pub deaths: u16,
    /// Ready for the round.
    pub is_ready: bool,
    /// Would rather watch.
    pub is_watching: bool,
    /// Has to watch: two others have a duel.
    pub must_watch: bool,
    /// In which tick it last said something.
    pub said_at: u32,
}

impl Networked for Seat {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("player", &mut self.player, 16);
        f.text("name", &mut self.name);
        f.int("team", &mut self.team, 0..=2);
        f.int("score", &mut self.score, -999..=9999);
        f.int("deaths", &mut self.deaths, 0..=9999);
        f.bool("is_ready", &mut self.is_ready);
        f.bool("is_watching", &mut self.is_watching);
        f.bool("must_watch", &mut self.must_watch);
        f.bits("said_at", &mut self.said_at, 32);
    }
}

impl Seat {
    /// Whether its player takes part.
    pub fn plays(&self) -> bool {
        !self.is_watching && !self.must_watch
    }

    /// What a command says, if its player may speak: not more often than once in so many ticks.
    pub(crate) fn words(&mut self, command: &Command, tick: u32, pause: u32) -> Option<Words> {
        let may_speak = self.said_at == 0 || tick.saturating_sub(self.said_at) >= pause;
        let is_fit = |letter: char| !letter.is_control();
        let words: String = command.say.chars().filter(|letter| is_fit(*letter)).collect();
        if words.trim().is_empty() || !may_speak {
            return None;
        }
        self.said_at = tick;
        Some(Text::cut(words.trim()))
    }

    /// Takes from a command what concerns the match.
    pub(crate) fn heed(&mut self, command: &Command) {
        (self.is_ready, self.is_watching) = (command.ready, command.watch);
        let letter = char::from(command.letter);
        if letter.is_ascii_graphic() || letter == ' ' {
            let before = self.name.get(..usize::from(command.letter_at)).unwrap_or(&self.name);
            self.name = Text::cut(&format!("{before}{letter}"));
        }
    }
}
