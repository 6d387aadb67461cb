//! A staircase as it goes: n wrong ones up, m right ones down, and the threshold that its reversals tell.

use super::table::Staircase;

/// Reversals that say nothing yet: the staircase is still on its way.
const REVERSALS_LEFT_OUT: usize = 2;

/// One trial of a staircase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Which trial.
    pub trial: u32,
    /// The level that it had.
    pub level: f64,
    /// Whether it was right.
    pub is_right: bool,
}

/// A staircase as it goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stairs {
    /// What came of every trial so far.
    pub steps: Vec<Step>,
}

/// Where a staircase stands after all its steps.
struct Standing {
    level: f64,
    /// At which step it turned, from 0, and at which level.
    reversals: Vec<(usize, f64)>,
}

impl Stairs {
    fn standing(&self, staircase: &Staircase) -> Standing {
        let mut level = staircase.start();
        let (mut reversals, mut direction) = (Vec::new(), None);
        let (mut rights, mut wrongs) = (0, 0);
        for (index, step) in self.steps.iter().enumerate() {
            (rights, wrongs) = if step.is_right { (rights + 1, 0) } else { (0, wrongs + 1) };
            let gets_harder = rights >= staircase.down;
            if !gets_harder && wrongs < staircase.up {
                continue;
            }
            (rights, wrongs) = (0, 0);
            if direction.is_some_and(|before| before != gets_harder) {
                reversals.push((index, level));
            }
            direction = Some(gets_harder);
            let goes_up = gets_harder == staircase.harder_is_more;
            let next = if goes_up { level + staircase.step } else { level - staircase.step };
            level = next.clamp(staircase.least, staircase.most);
        }
        Standing { level, reversals }
    }

    /// The level of the next trial.
    pub fn level(&self, staircase: &Staircase) -> f64 {
        self.standing(staircase).level
    }

    /// The levels at which it turned.
    pub fn reversals(&self, staircase: &Staircase) -> Vec<f64> {
        self.standing(staircase).reversals.into_iter().map(|(_, level)| level).collect()
    }

    /// The steps at which it turned, from 0.
    pub fn turns(&self, staircase: &Staircase) -> Vec<usize> {
        self.standing(staircase).reversals.into_iter().map(|(step, _)| step).collect()
    }

    /// How many trials had the lowest or the highest level: of one that stayed there the threshold lies beyond.
    pub fn at_ends(&self, staircase: &Staircase) -> usize {
        let ends = [staircase.least, staircase.most];
        self.steps.iter().filter(|step| ends.contains(&step.level)).count()
    }

    /// Whether it turned often enough.
    pub fn is_over(&self, staircase: &Staircase) -> bool {
        self.standing(staircase).reversals.len() >= staircase.reversals as usize
    }

    /// The mean of the levels at which it turned, without the first two and of an even number; none before four.
    pub fn threshold(&self, staircase: &Staircase) -> Option<f64> {
        let reversals = self.reversals(staircase);
        let counted = reversals.get(REVERSALS_LEFT_OUT..)?;
        // As many turns up as down: otherwise the mean leans to one side.
        let counted = &counted[counted.len() % 2..];
        (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
    }
}
