//! The network models of the papers by name: what a server and its clients must choose to play as those
//! systems did. One implementation, five choices.

use crate::config::rates::{Base, Rates, Rewinding};
use crate::core::time::Span;
use crate::sim::authority::Trust;
use crate::sim::view::{Interpolation, Others, View};

/// A client-server model: what the server does, and how a client sees the world. Clients of different
/// models can play on the same server, whose own choices then hold for all.
///
/// ```
/// use sametick::{Model, Others};
///
/// let model = Model::named("doom3").unwrap();
/// assert_eq!(model.view.others, Others::Predicted);
/// assert_eq!(Model::ALL.len(), 6);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// What the server does.
    pub rates: Rates,
    /// How a client sees the world.
    pub view: View,
}

impl Model {
    /// All of them, by age.
    pub const ALL: [Self; 6] =
        [Self::QUAKE, Self::QUAKEWORLD, Self::QUAKE3, Self::HALF_LIFE, Self::DOOM3, Self::FPSCI];

    /// Quake (1996): clients are terminals. The server steps everyone; a client draws the newest state,
    /// its own player's too, a round trip after it asked.
    ///
    /// Ours: snapshots are deltas where Quake sent whole states, and commands are stamped and executed
    /// one a tick. It costs least of all on the client, and the player feels its ping in every step.
    pub const QUAKE: Self = Self {
        name: "quake",
        rates: Rates { rewinding: Rewinding::NONE, ..RATES },
        view: View { predicts: false, others: Others::Latest, smooths_over: Span::ZERO, ..VIEW },
    };

    /// QuakeWorld (1996): a client predicts its own movement and moves others straight on from the newest
    /// state, for at most 100 ms.
    ///
    /// Ours: others are moved on by the rules where the game says how, and errors are smoothed. Whoever
    /// turns is shown beyond where they turned, by speed times the time moved on.
    pub const QUAKEWORLD: Self = Self {
        name: "quakeworld",
        rates: Rates { rewinding: Rewinding::NONE, ..RATES },
        view: View { others: Others::Extrapolated { at_most: Span::millis(100) }, ..VIEW },
    };

    /// Quake III (1999): others are shown on their way to the newest snapshot; snapshots are deltas
    /// against the last one acknowledged, so that an entity that comes into sight is sent whole.
    ///
    /// Ours: the same. It shows nothing that was not so, a snapshot interval and half a round trip late,
    /// and a shot must lead its target by as much.
    pub const QUAKE3: Self = Self {
        name: "quake3",
        rates: Rates { rewinding: Rewinding::NONE, base: Base::LastAcknowledged, ..RATES },
        view: View { others: Others::Interpolated(Interpolation::NEWEST), ..VIEW },
    };

    /// Half-Life (1998): others are interpolated over a history of positions, and the server puts them
    /// back to where the shooter saw them when it judges a shot.
    ///
    /// Ours: rewound by at most 250 ms and within two ticks of what the line makes likely. Shots hit what
    /// they were aimed at; who is shot may have been behind cover for as long as that.
    pub const HALF_LIFE: Self = Self { name: "half_life", rates: RATES, view: VIEW };

    /// DOOM III (2004): a client predicts everyone, with the rules and the last commands known of them.
    /// Shots are judged by the present.
    ///
    /// Ours: the same, effects keyed so that none is played twice. Everyone is shown in the present, at
    /// the cost of stepping all in sight again for each snapshot; whoever does something new is
    /// corrected.
    pub const DOOM3: Self = Self {
        name: "doom3",
        rates: Rates { rewinding: Rewinding::NONE, ..RATES },
        view: View { others: Others::Predicted, ..VIEW },
    };

    /// First Person Science (2022): each client decides about its own player and its own hits; the server
    /// relays. States are sent whole, and shown as they come.
    ///
    /// Ours: what two players claim is decided by the server's order, and both claims are logged. Nothing
    /// is felt of the network in one's own play; whoever changes their client can claim anything.
    pub const FPSCI: Self = Self {
        name: "fpsci",
        rates: Rates { trust: Trust::Clients, base: Base::None, ..RATES },
        view: View { others: Others::Latest, smooths_over: Span::ZERO, ..VIEW },
    };

    /// The model of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name == name)
    }
}

const RATES: Rates = Rates::USUAL;
const VIEW: View = View::USUAL;
