//! What a player can ask for, and why it may be refused.

use crate::building::{BATCH_MAX, SPAN_MAX};
use crate::place::{CELL_BITS, Cell, MARK_BITS, Mark};
use crate::tables::{BuildingKind, UnitKind};
use sametick::{Fields, List, Networked};
use std::fmt;

/// How many units, or whole squads, one request can name.
pub const GROUP_MAX: usize = 32;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Nothing.
    #[default]
    Nothing,
    /// The group goes to a place, whatever it meets.
    Go,
    /// The group goes to a place and stops to fight.
    Assault,
    /// The group goes for one enemy.
    Attack,
    /// The group stops.
    Stop,
    /// Workers gather at the spring of a place.
    Gather,
    /// A worker builds at a place.
    Build,
    /// A building makes units.
    Produce,
    /// A building makes no more units; one that is not built yet is given up.
    Cancel,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Go,
        Self::Assault,
        Self::Attack,
        Self::Stop,
        Self::Gather,
        Self::Build,
        Self::Produce,
        Self::Cancel,
    ];
}

/// What a player asks for in one tick: by default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What.
    pub verb: Verb,
    /// Where.
    pub place: Cell,
    /// Whom it concerns: an enemy, or an own building.
    pub target: Mark,
    /// Whether the group names squads, all members of each.
    pub whole: bool,
    /// Which unit to make.
    pub unit: UnitKind,
    /// How many.
    pub count: u8,
    /// What to build.
    pub building: BuildingKind,
    /// Where a bridge leads, as one of [`DIRECTIONS`](crate::DIRECTIONS).
    pub direction: u8,
    /// How many cells of a bridge.
    pub span: u8,
    /// Who: units, or squads.
    pub group: List<Mark, GROUP_MAX>,
}

impl Networked for Request {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.choice("verb", &mut self.verb, &Verb::ALL);
        f.bits("place", &mut self.place.0, CELL_BITS);
        f.bits("target", &mut self.target.0, MARK_BITS);
        f.bool("whole", &mut self.whole);
        f.choice("unit", &mut self.unit, &UnitKind::ALL);
        f.int("count", &mut self.count, 0..=BATCH_MAX);
        f.choice("building", &mut self.building, &BuildingKind::ALL);
        f.int("direction", &mut self.direction, 0..=3);
        f.int("span", &mut self.span, 0..=SPAN_MAX);
        f.list("group", &mut self.group, |f, mark| {
            f.bits("mark", &mut mark.0, MARK_BITS);
        });
    }
}

impl Request {
    /// Whether it asks for nothing.
    pub fn is_nothing(&self) -> bool {
        self.verb == Verb::Nothing
    }

    /// Whole squads go to a place, fighting or not.
    pub fn march(squads: impl IntoIterator<Item = Mark>, place: Cell, fights: bool) -> Self {
        let verb = if fights { Verb::Assault } else { Verb::Go };
        Self { verb, place, whole: true, group: squads.into_iter().collect(), ..Self::default() }
    }

    /// A building makes units.
    pub fn produce(building: Mark, unit: UnitKind, count: u8) -> Self {
        Self { verb: Verb::Produce, target: building, unit, count, ..Self::default() }
    }

    /// Workers gather at a spring.
    pub fn gather(workers: impl IntoIterator<Item = Mark>, spring: Cell) -> Self {
        Self {
            verb: Verb::Gather,
            place: spring,
            group: workers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A worker builds.
    pub fn build(worker: Mark, building: BuildingKind, place: Cell) -> Self {
        let group = [worker].into_iter().collect();
        Self { verb: Verb::Build, place, building, group, ..Self::default() }
    }

    /// A worker builds a straight run of a bridge, of which this is the first cell.
    pub fn bridge(worker: Mark, place: Cell, direction: u8, span: u8) -> Self {
        Self { direction, span, ..Self::build(worker, BuildingKind::Bridge, place) }
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Denial {
    /// The player has no seat, or is out.
    NotPlaying,
    /// The contest has ended.
    Over,
    /// Nobody is named.
    Nobody,
    /// Someone who is named is not there any more.
    Gone,
    /// What is named belongs to someone else.
    NotYours,
    /// There is no way.
    Unreachable,
    /// Too few crystals.
    TooPoor,
    /// Something stands there.
    Occupied,
    /// It cannot be built on water, or beyond the map.
    NotOnLand,
    /// A bridge needs water under it, and begins at land or at a bridge.
    NotABridge,
    /// Only workers do that.
    NoWorker,
    /// There would be too many.
    TooMany,
    /// The spring has all the workers it feeds.
    SpringIsFull,
    /// There is no spring.
    NoSpring,
    /// It cannot be attacked.
    NoEnemy,
    /// It does not make that.
    CannotMake,
    /// It makes something else at the moment, or is not built yet.
    Busy,
    /// None of them can fight.
    Unarmed,
}

impl Denial {
    /// All of them: a denial's code is its place here.
    pub const ALL: [Self; 18] = [
        Self::NotPlaying,
        Self::Over,
        Self::Nobody,
        Self::Gone,
        Self::NotYours,
        Self::Unreachable,
        Self::TooPoor,
        Self::Occupied,
        Self::NotOnLand,
        Self::NotABridge,
        Self::NoWorker,
        Self::TooMany,
        Self::SpringIsFull,
        Self::NoSpring,
        Self::NoEnemy,
        Self::CannotMake,
        Self::Busy,
        Self::Unarmed,
    ];

    /// A small number for it.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// In words that a player understands.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotPlaying => "You are not in this contest.",
            Self::Over => "The contest is over.",
            Self::Nobody => "Nobody is selected.",
            Self::Gone => "It is gone.",
            Self::NotYours => "That is not yours.",
            Self::Unreachable => "There is no way there: build a bridge.",
            Self::TooPoor => "Not enough crystals.",
            Self::Occupied => "Something stands in the way.",
            Self::NotOnLand => "That needs firm ground.",
            Self::NotABridge => "A bridge begins at a shore and crosses open water.",
            Self::NoWorker => "Only workers can do that.",
            Self::TooMany => "No room for more.",
            Self::SpringIsFull => "That spring feeds no more workers.",
            Self::NoSpring => "There is no spring.",
            Self::NoEnemy => "That cannot be attacked.",
            Self::CannotMake => "It does not make that.",
            Self::Busy => "It is busy.",
            Self::Unarmed => "They cannot fight.",
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl std::error::Error for Denial {}
