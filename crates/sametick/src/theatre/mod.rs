//! The theatre: plays a scene of a few players in virtual time and keeps what everyone saw of it. Knows no game and
//! no browser: a game hands it shapes and what its players ask for, and whoever draws looks things up.
//!
//! A scene follows from its content, its [`Setup`] and nothing else. So a change is a fresh run, and any moment of a
//! [`Recorded`] scene is found again by its number. `run` needs the feature `secure`, as servers and clients do.

mod hand;
#[cfg(feature = "secure")]
mod locked;
#[cfg(feature = "secure")]
mod party;
mod recorded;
#[cfg(feature = "secure")]
mod run;
mod scene;

pub use hand::{HAND_CHANGES_MAX, Hand, Keys};
#[cfg(feature = "secure")]
pub use locked::{Locked, run_locked};
#[cfg(feature = "secure")]
pub use party::Party;
pub use recorded::{
    Cargo, Frame, GOOD_PING, HEADERS_BYTES, Packet, Pane, Recorded, Setup, Shape, ShapeKind, Shot,
    Sum, Wire,
};
#[cfg(feature = "secure")]
pub use run::{Running, run};
pub use scene::{Moment, Poster, Scene};

use crate::core::tick::PlayerId;
use crate::sim::game::Game;
use crate::sim::world::World;

/// The most players of a scene; a page shows two of them and the server.
pub const PLAYERS_MAX: usize = 8;

/// A game's part in a scene: what is played, by whom, and how it looks.
pub trait Play {
    /// Whose rules.
    type Game: Game;

    /// Where it is played.
    fn content(&self) -> <Self::Game as Game>::Content;

    /// What a player asks for next, if this is what its screen shows and a tick takes `dt` seconds. It must follow
    /// from its arguments alone.
    fn command(
        &self,
        me: PlayerId,
        view: &World<<Self::Game as Game>::Entity>,
        dt: f32,
    ) -> <Self::Game as Game>::Command;

    /// The same for a player whose keys the reader has taken: what it would ask for by itself, and what is down
    /// instead. Games without it are not steered.
    fn steered(
        &self,
        by_itself: <Self::Game as Game>::Command,
        _keys: Keys,
    ) -> <Self::Game as Game>::Command {
        by_itself
    }

    /// All that is to be drawn of a world.
    fn shapes(&self, world: &World<<Self::Game as Game>::Entity>, into: &mut Vec<Shape>);

    /// Where a shot that a player has just fired began and ended, in the server's world.
    fn shot(
        &self,
        _world: &World<<Self::Game as Game>::Entity>,
        _by: PlayerId,
    ) -> Option<[[f32; 3]; 2]> {
        None
    }
}

impl<P: Play> Play for &P {
    type Game = P::Game;

    fn content(&self) -> <P::Game as Game>::Content {
        P::content(self)
    }

    fn command(
        &self,
        me: PlayerId,
        view: &World<<P::Game as Game>::Entity>,
        dt: f32,
    ) -> <P::Game as Game>::Command {
        P::command(self, me, view, dt)
    }

    fn steered(
        &self,
        by_itself: <P::Game as Game>::Command,
        keys: Keys,
    ) -> <P::Game as Game>::Command {
        P::steered(self, by_itself, keys)
    }

    fn shapes(&self, world: &World<<P::Game as Game>::Entity>, into: &mut Vec<Shape>) {
        P::shapes(self, world, into);
    }

    fn shot(
        &self,
        world: &World<<P::Game as Game>::Entity>,
        by: PlayerId,
    ) -> Option<[[f32; 3]; 2]> {
        P::shot(self, world, by)
    }
}
