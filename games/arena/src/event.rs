//! What happens at one moment: for ears and eyes, and for the list of who hit whom. The rules never read it.

use crate::command::SAY_BYTES_MAX;
use crate::map::REACH_METRES;
use crate::vector::Vector;
use crate::weapon::Weapon;
use sametick::kinds::Rangeds;
use sametick::{Audience, Delivery, EntityId, Fields, Networked, Text};

/// The longest way back that is told.
pub(crate) const REWOUND_MS_MAX: u16 = 1023;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// Someone fired; `at` is where the first bullet ended, `direction` where it went.
    #[default]
    Shot,
    /// A rocket burst at `at`.
    Explosion,
    /// Someone was hurt by `amount`, from `direction`, by `by`.
    Hurt,
    /// Someone died, by the weapon and the hand of `by`. Everyone is told, and nobody where.
    Death,
    /// Someone took an item: `amount` is its number in the map.
    Pickup,
    /// Someone left the ground.
    Jump,
    /// Someone came down, with `amount` metres a second.
    Land,
    /// Someone was taken elsewhere; `at` is where from.
    Teleport,
    /// Someone begins again.
    Spawn,
    /// Someone fills a magazine.
    Reload,
    /// A door begins to move; `amount` is its number in the map.
    Door,
    /// A prop or a target broke.
    Break,
    /// A phase of the match begins.
    Phase,
    /// Someone says `words`.
    Say,
}

impl What {
    const ALL: [Self; 14] = [
        Self::Shot,
        Self::Explosion,
        Self::Hurt,
        Self::Death,
        Self::Pickup,
        Self::Jump,
        Self::Land,
        Self::Teleport,
        Self::Spawn,
        Self::Reload,
        Self::Door,
        Self::Break,
        Self::Phase,
        Self::Say,
    ];
}

/// One moment, about the entity it was told with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Event {
    /// What happened.
    pub what: What,
    /// With what.
    pub weapon: Weapon,
    /// By whom, if it was not the entity itself.
    pub by: Option<EntityId>,
    /// How much, or which.
    pub amount: u8,
    /// Where.
    pub at: Vector,
    /// Which way.
    pub direction: Vector,
    /// Whether the head was hit.
    pub is_head: bool,
    /// How far back the server looked to judge the shot, in milliseconds.
    pub rewound_ms: u16,
    /// What was said.
    pub words: Text<SAY_BYTES_MAX>,
}

impl Networked for Event {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.choice("what", &mut self.what, &What::ALL);
        f.choice("weapon", &mut self.weapon, &Weapon::ALL);
        f.entity("by", &mut self.by);
        f.int("amount", &mut self.amount, 0..=255);
        f.field("at", &mut self.at, Rangeds::new(-REACH_METRES..=REACH_METRES, 0.03125));
        f.direction("direction", &mut self.direction, 8);
        f.bool("is_head", &mut self.is_head);
        f.int("rewound_ms", &mut self.rewound_ms, 0..=REWOUND_MS_MAX);
        f.text("words", &mut self.words);
    }
}

/// To whoever sees it; lost now and then, like a sound.
pub(crate) const SEEN: Delivery =
    Delivery { to: Audience::Seeing, is_reliable: false, is_saved: false };
/// To whoever sees it, for certain: a hit that was not told would look like one that was refused.
pub(crate) const FELT: Delivery =
    Delivery { to: Audience::Seeing, is_reliable: true, is_saved: false };
/// To everyone, for certain.
pub(crate) const TOLD: Delivery =
    Delivery { to: Audience::All, is_reliable: true, is_saved: false };
