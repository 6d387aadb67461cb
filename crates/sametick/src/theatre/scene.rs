//! A scene as it is announced: what it is called, what it claims, what stands on its floor, and the moment at which it
//! shows what it claims.

use super::{Hand, Play, Recorded, Setup, Wire};
use crate::config::model::Model;
use crate::core::tick::PlayerId;
use crate::core::time::Span;
use crate::lockstep;

/// What is said of a scene before it is played.
#[derive(Clone, Debug)]
pub struct Poster {
    /// What a link calls it.
    pub key: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it claims.
    pub sentences: [&'static str; 2],
    /// The model it is played under unless another is wanted.
    pub model: Model,
    /// There and back in milliseconds, of A and of B.
    pub pings: [u64; 2],
    /// When nothing reaches A, in milliseconds of the scene.
    pub silent: Option<[u64; 2]>,
    /// For how long it is played before it begins: players join, and their clocks find the server's.
    pub begins: Span,
    /// For how many seconds it is played then.
    pub seconds: u64,
    /// What stands on the floor: the lowest and the highest corner of each block.
    pub blocks: Vec<[[f32; 3]; 2]>,
    /// Where to look, and how many metres are to be seen from left to right.
    pub focus: [f32; 3],
    /// Whether a clear line in the present would make its shots fairer.
    pub has_fairness: bool,
    /// The lockstep model it is played under instead, without a server, by its name.
    pub lockstep: Option<&'static str>,
    /// How many play besides A and B, on lines like A's.
    pub others: usize,
    /// When B's line is as bad as it is said to be, in milliseconds of the scene; else all the time.
    pub bad: Option<[u64; 2]>,
}

impl Poster {
    /// How it is staged unless something else is wanted.
    pub fn setup(&self) -> Setup {
        let mut wires: Vec<Wire> =
            self.pings.iter().map(|ping| Wire::of(Span::millis(*ping))).collect();
        let spans = |[from, to]: [u64; 2]| (Span::millis(from), Span::millis(to));
        wires.extend(std::iter::repeat_n(wires[0], self.others));
        (wires[0].silent, wires[1].bad) = (self.silent.map(spans), self.bad.map(spans));
        Setup {
            seed: 7,
            rates: self.model.rates,
            view: self.model.view,
            wires,
            begins: self.begins,
            length: Span::seconds(self.seconds),
            hand: Hand::default(),
            lockstep: self.lockstep.and_then(lockstep::Setup::named),
        }
    }
}

/// The moment of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The frame on screen.
    pub frame: usize,
    /// What is to be read; what was measured stands between double asterisks.
    pub caption: String,
    /// The quantities of the caption, in seconds and metres.
    pub seconds: f64,
    /// How far.
    pub metres: f32,
}

/// A game's part in a scene that a page can show: what is played, and what is said of it.
pub trait Scene: Play {
    /// What is said of it.
    fn poster(&self) -> Poster;

    /// When it shows what it claims, and what was measured then.
    fn moment(&self, recorded: &Recorded) -> Option<Moment>;

    /// Whether one player can see another in a pane of a frame.
    fn sees(&self, _: &Recorded, _frame: usize, _pane: usize, _who: [PlayerId; 2]) -> bool {
        true
    }
}
