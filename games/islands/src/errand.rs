//! A squad's errand: what it is about, whom that concerns and where it wants to be. Nobody but its owner is told.

use crate::place::{CELL_BITS, Cell, LINK_BITS, Link};
use sametick::{Fields, Networked};

/// What a squad is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Job {
    /// Stands, and fights what comes near.
    #[default]
    Stand,
    /// Goes, whatever it meets.
    Go,
    /// Goes, and stops to fight.
    Assault,
    /// Goes for one enemy.
    Attack,
    /// Gathers at a spring.
    Gather,
    /// Builds, or has built.
    Build,
}

impl Job {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Stand, Self::Go, Self::Assault, Self::Attack, Self::Gather, Self::Build];
}

/// Why a squad is where it is. Every squad has one, which comes and goes with it: whoever sees the squad sees its way,
/// not what it is up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errand {
    /// What the squad is about.
    pub job: Job,
    /// Whom that concerns: an enemy, or what is built.
    pub aim: Link,
    /// Where it wants to be in the end.
    pub goal: Cell,
    /// Whose errand it is.
    pub squad: Link,
}

impl Networked for Errand {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.choice("job", &mut self.job, &Job::ALL);
        f.bits("aim", &mut self.aim.0, LINK_BITS);
        f.bits("goal", &mut self.goal.0, CELL_BITS);
        f.bits("squad", &mut self.squad.0, LINK_BITS);
    }
}
