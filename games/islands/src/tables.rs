//! What each kind of unit and building costs, does and withstands.

use crate::place::SUB;

/// The kinds of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitKind {
    /// Gathers and builds.
    #[default]
    Worker,
    /// Quick and tough, with a short arm.
    Raider,
    /// Shoots far, withstands little.
    Archer,
    /// Slow; breaks buildings and bridges from afar.
    Ballista,
    /// Flies over water.
    Kite,
}

/// The kinds of buildings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BuildingKind {
    /// One each: who loses it is out. Makes workers.
    #[default]
    Altar,
    /// Makes all other units.
    Workshop,
    /// Shoots.
    Tower,
    /// A straight run of up to four cells over water.
    Bridge,
}

/// What a unit of a kind is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTable {
    /// In words.
    pub name: &'static str,
    /// In crystals.
    pub cost: u32,
    /// Ticks until it is made.
    pub ticks: u32,
    /// What it withstands.
    pub health: u16,
    /// Taken from a unit each second.
    pub harm: u16,
    /// Taken from a building each second.
    pub siege: u16,
    /// How far it shoots, in spots.
    pub range: i32,
    /// How far it goes in a tick, in spots.
    pub pace: u8,
    /// Whether it goes over water.
    pub flies: bool,
}

/// What a building of a kind is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildingTable {
    /// In words.
    pub name: &'static str,
    /// In crystals; of a bridge, each cell.
    pub cost: u32,
    /// Ticks until it stands; of a bridge, each cell.
    pub ticks: u32,
    /// What it withstands.
    pub health: u16,
    /// Taken from a unit each second.
    pub harm: u16,
    /// How far it shoots, in spots.
    pub range: i32,
}

impl UnitKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Worker, Self::Raider, Self::Archer, Self::Ballista, Self::Kite];

    /// What it is like.
    pub fn table(self) -> &'static UnitTable {
        &UNITS[self as usize]
    }
}

impl BuildingKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Altar, Self::Workshop, Self::Tower, Self::Bridge];

    /// What it is like.
    pub fn table(self) -> &'static BuildingTable {
        &BUILDINGS[self as usize]
    }

    /// Whether it makes units of a kind.
    pub fn makes(self, unit: UnitKind) -> bool {
        match self {
            Self::Altar => unit == UnitKind::Worker,
            Self::Workshop => unit != UnitKind::Worker,
            Self::Tower | Self::Bridge => false,
        }
    }
}

const UNITS: [UnitTable; 5] = [
    UnitTable {
        name: "Worker",
        cost: 20,
        ticks: 120,
        health: 40,
        harm: 0,
        siege: 0,
        range: 0,
        pace: 3,
        flies: false,
    },
    UnitTable {
        name: "Raider",
        cost: 20,
        ticks: 72,
        health: 90,
        harm: 2,
        siege: 1,
        range: SUB * 5 / 2,
        pace: 4,
        flies: false,
    },
    UnitTable {
        name: "Archer",
        cost: 28,
        ticks: 80,
        health: 55,
        harm: 2,
        siege: 1,
        range: SUB * 5,
        pace: 3,
        flies: false,
    },
    UnitTable {
        name: "Ballista",
        cost: 50,
        ticks: 140,
        health: 70,
        harm: 2,
        siege: 5,
        range: SUB * 7,
        pace: 2,
        flies: false,
    },
    UnitTable {
        name: "Kite",
        cost: 40,
        ticks: 112,
        health: 65,
        harm: 2,
        siege: 1,
        range: SUB * 3,
        pace: 5,
        flies: true,
    },
];

const BUILDINGS: [BuildingTable; 4] = [
    BuildingTable { name: "Altar", cost: 0, ticks: 0, health: 2000, harm: 10, range: SUB * 6 },
    BuildingTable { name: "Workshop", cost: 80, ticks: 300, health: 600, harm: 0, range: 0 },
    BuildingTable { name: "Tower", cost: 60, ticks: 240, health: 500, harm: 6, range: SUB * 6 },
    BuildingTable { name: "Bridge", cost: 4, ticks: 30, health: 120, harm: 0, range: 0 },
];
