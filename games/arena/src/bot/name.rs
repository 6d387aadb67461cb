//! What a bot is called: spelled one letter a tick, as the rules have it, until the score table shows it.

use crate::arena::Entity;
use crate::command::Command;
use crate::seat::{NAME_BYTES_MAX, Seat};
use sametick::{PlayerId, World};

/// A name, and whether everyone knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    wanted: String,
    is_known: bool,
}

impl Name {
    /// The printable letters of a text, as many as a name can have.
    pub(super) fn new(text: &str) -> Self {
        let letters = text.chars().filter(|letter| letter.is_ascii_graphic() || *letter == ' ');
        Self { wanted: letters.take(NAME_BYTES_MAX).collect(), is_known: false }
    }

    /// Adds the first letter that is wrong in the score table. A letter that was lost on its way is told again.
    pub(super) fn spell(&mut self, world: &World<Entity>, me: PlayerId, command: &mut Command) {
        if self.is_known || self.wanted.is_empty() {
            return;
        }
        let seat = world.all::<Seat>().find(|(_, seat)| seat.player == me.0);
        let Some(shown) = seat.map(|(_, seat)| &seat.name) else { return };
        let wanted = self.wanted.as_bytes();
        let right = wanted.iter().zip(shown.bytes()).take_while(|(a, b)| **a == *b).count();
        self.is_known = right == wanted.len() && shown.len() == right;
        // One that is too long is cut by telling its last letter.
        let at = right.min(wanted.len() - 1);
        if !self.is_known {
            (command.letter, command.letter_at) = (wanted[at], at as u8);
        }
    }
}
