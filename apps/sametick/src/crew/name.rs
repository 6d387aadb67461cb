//! Names of headless players, and how one is spelled: a letter with each command, until everyone knows it.

use sametick::{PlayerId, World};
use sametick_arena::{Command, Entity, Seat};

/// People without whom there would be no such game.
const NAMES: [&str; 16] = [
    "Ada", "Alan", "Barbara", "Claude", "Dennis", "Edsger", "Frances", "Grace", "Hedy", "Ivan",
    "John", "Karen", "Linus", "Margaret", "Niklaus", "Radia",
];

/// The name of the n-th player.
pub(crate) fn name(index: usize) -> String {
    let name = NAMES[index % NAMES.len()];
    match index / NAMES.len() {
        0 => name.to_owned(),
        again => format!("{name} {}", again + 1),
    }
}

/// A name on its way into the match.
#[derive(Debug)]
pub(crate) struct Spelling {
    name: String,
    /// The next letter; past the end it waits to see whether all of them came.
    next: usize,
}

/// For so many commands a name may be under way before it is spelled again.
const PATIENCE: usize = 300;

impl Spelling {
    pub(crate) fn new(name: String) -> Self {
        Self { name, next: 0 }
    }

    /// Adds the next letter to a command, as long as others know another name.
    pub(crate) fn spell(&mut self, world: &World<Entity>, me: PlayerId, command: &mut Command) {
        let seat = world.all::<Seat>().find(|(_, seat)| seat.player == me.0);
        self.add_letter(seat.map(|(_, seat)| &*seat.name), command);
    }

    fn add_letter(&mut self, known: Option<&str>, command: &mut Command) {
        if known.is_none_or(|known| known == self.name) {
            return;
        }
        if let Some(letter) = self.name.as_bytes().get(self.next) {
            (command.letter, command.letter_at) = (*letter, self.next as u8);
        }
        self.next += 1;
        if self.next > self.name.len() + PATIENCE {
            self.next = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick_arena::NAME_BYTES_MAX;

    #[test]
    fn names_differ_and_fit() {
        let names: std::collections::BTreeSet<String> = (0..500).map(name).collect();
        assert_eq!(names.len(), 500);
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_MAX));
    }

    #[test]
    fn a_name_is_spelled_once_and_again_only_if_it_was_lost() {
        let mut spelling = Spelling::new("Ada".into());
        let mut said = String::new();
        for _ in 0..200 {
            let mut command = Command::default();
            spelling.add_letter(Some("Player 3"), &mut command);
            said.extend((command.letter != 0).then(|| char::from(command.letter)));
        }
        assert_eq!(said, "Ada");
        for _ in 0..200 {
            let mut command = Command::default();
            spelling.add_letter(Some("Player 3"), &mut command);
            said.extend((command.letter != 0).then(|| char::from(command.letter)));
        }
        assert_eq!(said, "AdaAda");
        let mut command = Command::default();
        Spelling::new("Ada".into()).add_letter(Some("Ada"), &mut command);
        assert_eq!(command.letter, 0);
    }
}
