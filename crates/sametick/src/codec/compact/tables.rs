//! Everything the codec knows of a game: plans, trees and chances, frozen. Made by training, or built in.

use super::feature as f;
use super::plan::{Mode, NONE, Plan};
use super::tree::{
    CLASSES, DIRECTION, FlagModel, HALF, INPUTS, Inputs, LEAF_WORDS, MOVEMENT, Node, NumberModel,
    RATE, RECENT, Regression, Tree, WEIGHT_BITS,
};
use crate::codec::compact::file::TABLES_VERSION;
use crate::schema::record::Layout;
use crate::schema::word::{Blend, Meaning, Word};
use std::fmt;

/// Frozen knowledge of a game's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub(crate) kinds: Vec<KindTables>,
    pub(crate) general: General,
    /// Of what players ask for, and of what happens, where that was learned.
    pub(crate) streams: [Option<Box<KindTables>>; 2],
    /// Whether any kind may be attached to somebody.
    pub(crate) has_anchors: bool,
    /// The recordings, as whoever trained named them.
    pub(crate) trained_on: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct General {
    pub(crate) more_chunks: FlagModel,
    pub(crate) same_sight: FlagModel,
    pub(crate) in_sight: FlagModel,
    pub(crate) strangers: FlagModel,
    pub(crate) stranger: FlagModel,
    pub(crate) generation: NumberModel,
    pub(crate) kind: NumberModel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KindTables {
    pub(crate) plan: Plan,
    pub(crate) changed: FlagModel,
    /// Whether any of the words that rarely change did.
    pub(crate) rare: FlagModel,
    pub(crate) words: Vec<WordTables>,
    pub(crate) turns: [Regression; 3],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordTables {
    pub(crate) regression: Regression,
    pub(crate) numbers: NumberModel,
    pub(crate) on_grid: FlagModel,
    pub(crate) code: WordCode,
}

/// What follows from the tables for one word, so that nothing is computed that nobody asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordCode {
    pub(crate) mode: Mode,
    /// The word that is its rate, if there is one.
    pub(crate) rate: Option<(u8, Mode)>,
    /// Which axis of a place it is, and which tag.
    pub(crate) axis: Option<u8>,
    pub(crate) tag: Option<u8>,
    /// Which inputs weigh anything, a bit each.
    pub(crate) inputs: u16,
    /// Whether it is coded with three others, as one rotation.
    pub(crate) is_rotation: bool,
    /// Whether its own movement is asked about, and its rate.
    pub(crate) asks_speed: bool,
    pub(crate) asks_rate: bool,
    /// Whether anyone looks at what the last of its kind did.
    pub(crate) asks_recent: bool,
}

pub(crate) const WHOLE: i32 = 1 << WEIGHT_BITS;

impl Tables {
    /// What is assumed of a game of which no recording was seen.
    pub fn built_in(layouts: &[Layout]) -> Self {
        let general = General {
            more_chunks: FlagModel::constant(2_000),
            same_sight: FlagModel::constant(60_000),
            in_sight: FlagModel::constant(32_000),
            strangers: FlagModel::constant(4_000),
            stranger: FlagModel::constant(6_000),
            generation: NumberModel::prior(0),
            kind: NumberModel::prior(1),
        };
        let kinds = layouts.iter().map(KindTables::built_in).collect();
        Self {
            kinds,
            general,
            streams: [None, None],
            has_anchors: false,
            trained_on: String::new(),
        }
        .compile()
    }

    /// Finds out what must be computed; after every change of trees or weights.
    pub(crate) fn compile(mut self) -> Self {
        self.kinds.iter_mut().for_each(KindTables::compile);
        self.has_anchors = self.kinds.iter().any(|kind| kind.plan.anchor != NONE);
        self.streams.iter_mut().flatten().for_each(|stream| stream.compile());
        self
    }

    /// What they were trained on; nothing, if they are built in.
    pub fn trained_on(&self) -> &str {
        &self.trained_on
    }

    /// The same tables, saying what they were trained on. What is too long is cut.
    pub fn named(mut self, trained_on: &str) -> Self {
        let fits = |end: &usize| *end <= TRAINED_ON_BYTES_MAX && trained_on.is_char_boundary(*end);
        let end = (0..=trained_on.len()).rev().find(fits).unwrap_or(0);
        self.trained_on = trained_on[..end].to_string();
        self
    }

    /// Whether they are for values with these layouts.
    pub fn check(&self, layouts: &[Layout]) -> Result<(), TablesError> {
        let suits = |(kind, layout): (&KindTables, &Layout)| kind.suits(layout);
        let fits = self.kinds.len() == layouts.len() && self.kinds.iter().zip(layouts).all(suits);
        if fits { Ok(()) } else { Err(TablesError::OtherGame) }
    }
}

impl KindTables {
    /// Whether they are for records of this layout.
    pub(crate) fn suits(&self, layout: &Layout) -> bool {
        let suits = |(mode, word): (&Mode, &Word)| match *mode {
            Mode::Float { .. } => word.meaning == Meaning::Exact,
            Mode::Wraps { bits } => {
                word.bits == u32::from(bits) && word.max == u32::MAX >> (32 - word.bits)
            }
            Mode::Integer { .. } => word.meaning != Meaning::Exact,
        };
        self.plan.fingerprint == layout.fingerprint()
            && self.words.len() == layout.len()
            && self.plan.modes.iter().zip(layout.words()).all(suits)
            && self.plan.has_rotation(layout)
    }

    /// What moved goes on, what rested rests, and a surprise is about as large as the last change of speed.
    fn built_in(layout: &Layout) -> Self {
        let plan = Plan::new(layout);
        let word = |index: usize| {
            let word = &layout.words()[index];
            let mut weights = [0; INPUTS];
            weights[0] = if word.blend == Blend::Slide { WHOLE } else { 0 };
            let is_place = plan.place != NONE && index.wrapping_sub(usize::from(plan.place)) < 3;
            if is_place && plan.anchor != NONE {
                // What is attached goes where its anchor goes.
                (weights[0], weights[4]) = (0, WHOLE);
            }
            WordTables {
                regression: Regression::constant(weights),
                numbers: built_in_numbers(
                    stranger_leaf(word, layout.initial()[index]),
                    is_place && plan.anchor != NONE,
                ),
                on_grid: FlagModel::constant(16_000),
                code: WordCode::default(),
            }
        };
        let turns = std::array::from_fn(|axis| {
            let mut weights: Inputs = [0; INPUTS];
            weights[axis] = WHOLE;
            Regression::constant(weights)
        });
        let words = (0..layout.len()).map(word).collect();
        let rare = FlagModel::constant(8_000);
        Self { plan, changed: built_in_change(), rare, words, turns }
    }

    fn compile(&mut self) {
        let plan = &self.plan;
        let last = plan.order[..usize::from(plan.lively)].last().map(|word| usize::from(*word));
        // A prediction looks at what was known when the word before it was coded.
        let recent = 1u32 << f::RECENT | 1 << f::RECENT_SIZE;
        let regressions_ask =
            self.words.iter().any(|word| word.regression.tree.asked() & recent != 0);
        for (index, word) in self.words.iter_mut().enumerate() {
            let asked = word.numbers.tree.asked() | word.on_grid.tree.asked();
            let asked = asked | word.regression.tree.asked();
            // The flag of those that rarely change looks at the word before it.
            let is_before = Some(index) == last || plan.rare().contains(&(index as u8));
            let asked = if is_before { asked | self.rare.tree.asked() } else { asked };
            let asks = |features: &[usize]| features.iter().any(|of| asked & 1 << of != 0);
            let weighed =
                |input: usize| word.regression.weights.iter().any(|weights| weights[input] != 0);
            let inputs = (0..INPUTS).filter(|input| weighed(*input));
            let inputs = inputs.fold(0, |inputs, input| inputs | 1 << input);
            let moves = inputs & (MOVEMENT | DIRECTION) != 0;
            let rate = plan.rates[index];
            let first = plan.place;
            let axis = (first != NONE).then(|| index.wrapping_sub(usize::from(first)));
            word.code = WordCode {
                mode: plan.modes[index],
                rate: (rate != NONE).then(|| (rate, plan.modes[usize::from(rate)])),
                axis: axis.filter(|axis| *axis < 3).map(|axis| axis as u8),
                tag: plan
                    .tags
                    .iter()
                    .position(|tag| usize::from(*tag) == index)
                    .map(|tag| tag as u8),
                inputs,
                is_rotation: plan.rotation != NONE
                    && (plan.rotation..plan.rotation + 4).contains(&(index as u8)),
                asks_speed: moves || asks(&[f::SPEED, f::ACCELERATION, f::SPREAD]),
                asks_rate: inputs & RATE != 0 || asks(&[f::RATE_CHANGE]),
                asks_recent: inputs & RECENT != 0 || asked & recent != 0 || regressions_ask,
            };
        }
    }
}

/// Whether an entity changes: as before, and if it was out of sight most likely.
fn built_in_change() -> FlagModel {
    let nodes = vec![
        Node { feature: f::ACQUAINTANCE as u8, threshold: 0, next: 1 },
        Node { feature: f::CHANGED_BEFORE as u8, threshold: 0, next: 3 },
        Node::leaf(2),
        Node::leaf(0),
        Node::leaf(1),
    ];
    FlagModel { tree: Tree::new(nodes), chances: vec![3_000, 61_500, 50_000] }
}

/// How many sizes of surprises are told apart.
const SURPRISES: usize = 8;

/// Of a word that nothing is known of but its range: as often as not what it is at first, else about anything.
fn stranger_leaf(word: &Word, initial: u32) -> [u16; LEAF_WORDS] {
    let mut leaf = NumberModel::prior(0).leaves[0];
    if word.meaning == Meaning::Exact {
        return leaf;
    }
    for (class, chance) in leaf[1..CLASSES].iter_mut().enumerate() {
        *chance = match class {
            0 => HALF,
            _ if class < word.bits as usize => 58_000,
            _ => 2_000,
        };
    }
    // Nothing is less than what is least.
    if initial == 0 && !matches!(word.meaning, Meaning::Angle { .. }) {
        leaf[CLASSES..].fill(1_000);
    }
    leaf
}

/// A number's surprise by who it is of, whether it moved, and how much its speed changed; but for what goes where
/// another goes, which surprises nobody.
fn built_in_numbers(stranger: [u16; LEAF_WORDS], is_led: bool) -> NumberModel {
    let NumberModel { details, detail_bits, .. } = NumberModel::prior(0);
    if is_led {
        let nodes = vec![
            Node { feature: f::ACQUAINTANCE as u8, threshold: 1, next: 1 },
            Node::leaf(1),
            Node::leaf(0),
        ];
        let leaves = vec![stranger, surprise(0, 5_500, 30_000)];
        return NumberModel { tree: Tree::new(nodes), leaves, details, detail_bits };
    }
    // Strangers first, then what rested, then by the change of speed, each four times the one before.
    let mut nodes = vec![
        Node { feature: f::ACQUAINTANCE as u8, threshold: 1, next: 1 },
        Node { feature: f::SPEED as u8, threshold: 0, next: 3 },
        Node::leaf(0),
        Node::leaf(1),
        Node::leaf(0),
    ];
    let mut leaves = vec![stranger, surprise(0, 5_500, 30_000)];
    let mut open = nodes.len() - 1;
    for size in 0..SURPRISES {
        leaves.push(surprise(size as u16, 27_000, 21_000));
        if size + 1 == SURPRISES {
            nodes[open] = Node::leaf((size + 2) as u16);
            break;
        }
        let (threshold, next) = (8 << (2 * size), nodes.len() as u16);
        nodes[open] = Node { feature: f::ACCELERATION as u8, threshold, next };
        nodes.extend([Node::leaf((size + 2) as u16), Node::leaf(0)]);
        open = nodes.len() - 1;
    }
    NumberModel { tree: Tree::new(nodes), leaves, details, detail_bits }
}

/// A surprise of about so many bits: the chance of more than that, and of more or less at each step from there.
fn surprise(centre: u16, more: u16, step: u16) -> [u16; LEAF_WORDS] {
    let mut leaf = [HALF; LEAF_WORDS];
    leaf[0] = centre;
    for (class, chance) in leaf[1..CLASSES].iter_mut().enumerate() {
        *chance = if class == usize::from(centre) { more } else { step };
    }
    leaf
}

/// What tables say they were trained on is at most so long.
pub const TRAINED_ON_BYTES_MAX: usize = 1024;

/// Why tables cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablesError {
    /// The file is none of ours.
    Foreign,
    /// It is of another version.
    Version(u16),
    /// It was damaged, or is longer than any that is written.
    Damaged,
    /// It was trained for a game with other fields.
    OtherGame,
    /// The library was built without the feature `compact`.
    NoCoder,
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "this is no file of codec tables"),
            Self::Version(version) => {
                write!(
                    f,
                    "the tables are of version {version}, but only {TABLES_VERSION} is read: train them again"
                )
            }
            Self::Damaged => write!(f, "the tables are damaged"),
            Self::OtherGame => {
                write!(f, "the tables were trained for other fields than this game has")
            }
            Self::NoCoder => write!(f, "this was built without the feature `compact`"),
        }
    }
}

impl std::error::Error for TablesError {}
