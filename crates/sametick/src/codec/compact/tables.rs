//! Everything the codec knows of a game: plans, trees and chances, frozen. Made by training, or built in.

use super::plan::{NONE, Plan};
use super::tree::{CLASSES, FlagModel, INPUTS, Inputs, NumberModel, Regression, WEIGHT_BITS};
use crate::record::Layout;

/// Frozen knowledge of a game's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub(crate) kinds: Vec<KindTables>,
    pub(crate) general: General,
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
    pub(crate) words: Vec<WordTables>,
    pub(crate) turns: [Regression; 3],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordTables {
    pub(crate) regression: Regression,
    pub(crate) numbers: NumberModel,
    pub(crate) on_grid: FlagModel,
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
        Self { kinds: layouts.iter().map(KindTables::built_in).collect(), general }
    }
}

impl KindTables {
    fn built_in(layout: &Layout) -> Self {
        let plan = Plan::new(layout);
        let word = |index: usize| {
            let is_place = plan.place != NONE
                && (usize::from(plan.place)..usize::from(plan.place) + 3).contains(&index);
            let mut weights = [0; INPUTS];
            weights[0] = if is_place { WHOLE } else { 0 };
            WordTables {
                regression: Regression::constant(weights),
                numbers: NumberModel::prior(0),
                on_grid: FlagModel::constant(16_000),
            }
        };
        let turns = std::array::from_fn(|axis| {
            let mut weights: Inputs = [0; INPUTS];
            weights[axis] = WHOLE;
            Regression::constant(weights)
        });
        let words = (0..layout.len()).map(word).collect();
        Self { plan, changed: FlagModel::constant(30_000), words, turns }
    }
}

const _: () = assert!(CLASSES == 33);
