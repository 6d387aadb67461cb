//! Islands under event locking: requests are judged by the game's own rule, and squads are compared by where they are.

use crate::census::clock_at;
use crate::content::Content;
use crate::islands::{Entity, Islands};
use crate::request::Request;
use crate::{SUB, foresee, judge};
use sametick::eventlock::{Denial, Requests};
use sametick::{PlayerId, Tick, World};

impl Requests for Islands {
    /// The code is that of a [`Denial`](crate::Denial), which has the words.
    fn judge(
        world: &World<Entity>,
        content: &Content,
        player: PlayerId,
        request: &Request,
    ) -> Result<(), Denial> {
        judge(world, content, player, request).map_err(|denial| Denial(denial.code()))
    }

    fn foresee(
        world: &World<Entity>,
        content: &Content,
        player: PlayerId,
        request: &Request,
    ) -> Result<(), Denial> {
        foresee(world, content, player, request).map_err(|denial| Denial(denial.code()))
    }

    /// In cells.
    fn apart(unofficial: &Entity, official: &Entity, world: &World<Entity>, tick: Tick) -> f32 {
        let clock = clock_at(world, tick);
        match (unofficial, official) {
            (Entity::Squad(here), Entity::Squad(there)) => {
                here.spot(clock).distance(there.spot(clock)) as f32 / SUB as f32
            }
            _ => 0.0,
        }
    }
}

impl From<Denial> for crate::Denial {
    /// What the library denies by itself is taken for being out of the game.
    fn from(denial: Denial) -> Self {
        Self::ALL.get(usize::from(denial.0)).copied().unwrap_or(Self::NotPlaying)
    }
}
