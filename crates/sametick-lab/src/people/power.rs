//! How many participants a study needs: studies of a pilot's participants, drawn again and again.

use crate::analysis::{Analysis, interval, interval_between};
use crate::log::{Log, LogError};
use crate::metrics;
use crate::report::{shown, unit_of};
use crate::wrong::meant;
use sametick::Dice;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// How many studies are simulated for each number of participants.
const STUDIES: usize = 400;
/// How often each of them is resampled for its interval: a fifth of what a report does.
const RESAMPLES: usize = 400;
/// The most participants that are simulated.
pub const PARTICIPANTS_MAX: usize = 1_000;
/// A pilot of fewer says nothing of how people differ.
const PILOT_MIN: usize = 3;

/// What a pilot says about a larger study.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// Which metric.
    pub metric: String,
    /// Over which factor.
    pub factor: String,
    /// The two levels that are compared: the lowest and the highest, or the first and the last.
    pub levels: [String; 2],
    /// The mean difference in the pilot, the second level less the first.
    pub difference: f64,
    /// The metric's unit.
    pub unit: &'static str,
    /// Of how many units the pilot is.
    pub pilot: usize,
    /// How many of them met each of the two levels.
    pub at_each: [usize; 2],
    /// What they are: participant, group or seed.
    pub of: String,
    /// Whether each unit met both levels.
    pub is_within: bool,
    /// Of so many participants, the share of simulated studies whose 95 % interval excludes zero.
    pub shares: Vec<(usize, f64)>,
}

/// What drawing participants of a pilot again says about studies of these sizes. The effect is taken to be as large as
/// in the pilot; a small pilot knows it badly.
pub fn power(log: &Log, metric: &str, by: &str, sizes: &[usize]) -> Result<Power, LogError> {
    let Some(metric) = metrics::find(metric) else {
        let meant = meant(metric, metrics::names());
        return Err(LogError(format!("there is no metric `{metric}`; {meant}")));
    };
    let analysis = Analysis::new(log)?;
    let factors = analysis.factors();
    if !factors.iter().any(|factor| factor == by) {
        let meant = meant(by, factors.iter().map(String::as_str));
        return Err(LogError(format!("`{by}` is no factor here; {meant}")));
    }
    if let Some(size) = sizes.iter().find(|size| !(2..=PARTICIPANTS_MAX).contains(*size)) {
        return Err(LogError(format!(
            "{size} participants cannot be tried: 2 to {PARTICIPANTS_MAX}"
        )));
    }
    let by_unit = analysis.by_unit(log, metric)?;
    let levels = levels(&analysis, by);
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else {
        return Err(LogError(format!("`{by}` has no levels in this log")));
    };
    let [before, after] = [first, last].map(|level| units(&analysis, &by_unit, by, level));
    let pairs: Vec<f64> =
        before.iter().filter_map(|(unit, before)| Some(after.get(unit)? - before)).collect();
    // In a design between subjects nobody meets both.
    let is_within = !pairs.is_empty();
    let fewest = if is_within { pairs.len() } else { before.len().min(after.len()) };
    let pilot = if is_within { fewest } else { before.len() + after.len() };
    let at_each = [before.len(), after.len()];
    if fewest < PILOT_MIN || levels.len() < 2 {
        return Err(LogError(format!(
            "a pilot needs {PILOT_MIN} {}s at each of two levels of `{by}` at least, not {fewest}",
            analysis.unit
        )));
    }
    let [before, after] = [before, after].map(|units| units.into_values().collect::<Vec<f64>>());
    let sample = match is_within {
        true => Sample::Within(pairs),
        false => Sample::Between(before, after),
    };
    let share = |size: &usize| (*size, sample.share(*size));
    Ok(Power {
        metric: metric.name.to_owned(),
        factor: by.to_owned(),
        levels: [first, last].map(|level| format!("{}{}", shown(level), unit_of(by))),
        at_each,
        difference: sample.difference(),
        unit: metric.unit,
        pilot,
        of: analysis.unit.clone(),
        is_within,
        shares: sizes.iter().map(share).collect(),
    })
}

fn levels(analysis: &Analysis, factor: &str) -> Vec<Json> {
    let mut levels: Vec<Json> = Vec::new();
    for level in analysis.conditions.iter().filter_map(|met| met.levels.get(factor)) {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    if levels.iter().all(Json::is_number) {
        let number = |level: &Json| level.as_f64().unwrap_or(0.0);
        levels.sort_by(|one, other| number(one).total_cmp(&number(other)));
    }
    levels
}

/// Each unit's mean over all conditions with a level.
fn units(
    analysis: &Analysis,
    by_unit: &[BTreeMap<u32, f64>],
    factor: &str,
    level: &Json,
) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let own = analysis.conditions.iter().zip(by_unit);
    for (_, units) in own.filter(|(met, _)| met.levels.get(factor) == Some(level)) {
        for (unit, number) in units {
            let sum = sums.entry(*unit).or_insert((0.0, 0.0));
            *sum = (sum.0 + number, sum.1 + 1.0);
        }
    }
    sums.into_iter().map(|(unit, (sum, count))| (unit, sum / count)).collect()
}

/// A pilot's numbers: differences of those who met both levels, or each level's own.
enum Sample {
    Within(Vec<f64>),
    Between(Vec<f64>, Vec<f64>),
}

impl Sample {
    fn difference(&self) -> f64 {
        match self {
            Self::Within(pairs) => mean(pairs),
            Self::Between(before, after) => mean(after) - mean(before),
        }
    }

    /// As many as are asked for, drawn with replacement; between subjects half of them at each level.
    fn drawn(&self, size: usize, dice: &mut Dice) -> Self {
        match self {
            Self::Within(pairs) => Self::Within(draw(pairs, size, dice)),
            Self::Between(before, after) => {
                let half = (size / 2).max(1);
                let first = draw(before, half, dice);
                Self::Between(first, draw(after, (size - half).max(1), dice))
            }
        }
    }

    /// Whether the 95 % interval of the difference leaves zero out: the report's own.
    fn is_clear(&self) -> bool {
        let found = match self {
            Self::Within(pairs) => interval(pairs, RESAMPLES),
            Self::Between(before, after) => interval_between([before, after], RESAMPLES),
        };
        found.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    fn share(&self, size: usize) -> f64 {
        let mut dice = Dice::new(size as u64, 0x90e6);
        let clear = (0..STUDIES).filter(|_| self.drawn(size, &mut dice).is_clear());
        clear.count() as f64 / STUDIES as f64
    }
}

fn draw(from: &[f64], count: usize, dice: &mut Dice) -> Vec<f64> {
    (0..count).map(|_| from[dice.below(from.len() as u64) as usize]).collect()
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

impl Power {
    /// The smallest of the sizes from which on at least `share` of all studies find the difference.
    pub fn enough(&self, share: f64) -> Option<usize> {
        let short = self.shares.iter().rposition(|(_, found)| *found < share);
        let first = short.map_or(0, |index| index + 1);
        self.shares.get(first).map(|(size, _)| *size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_as_large_as_its_spread_is_found_as_often_as_tables_say() {
        // Differences with mean 0.5 and deviation 1: eight of ten studies of 34 find it.
        let mut dice = Dice::new(1, 1);
        let pairs: Vec<f64> = (0..4_000).map(|_| 0.5 + dice.normal()).collect();
        let sample = Sample::Within(pairs);
        let share = sample.share(34);
        assert!((0.74..0.90).contains(&share), "{share}");
        assert!(sample.share(8) < share && sample.share(80) > 0.97);
    }

    #[test]
    fn few_participants_find_no_more_than_tables_of_students_t_say() {
        // Differences with mean 1 and deviation 1: by the noncentral t, 29 % of studies of 4 find it, 51 % of 6 do.
        let mut dice = Dice::new(3, 1);
        let sample = Sample::Within((0..4_000).map(|_| 1.0 + dice.normal()).collect());
        let shares = [4, 6].map(|size| sample.share(size));
        assert!((0.2..0.4).contains(&shares[0]) && (0.4..0.6).contains(&shares[1]), "{shares:?}");
    }

    #[test]
    fn where_there_is_nothing_little_is_found_also_between_subjects() {
        let mut dice = Dice::new(2, 1);
        let mut numbers = || -> Vec<f64> {
            let all: Vec<f64> = (0..2_000).map(|_| dice.normal()).collect();
            let middle = mean(&all);
            all.into_iter().map(|number| number - middle).collect()
        };
        let (one, other) = (numbers(), numbers());
        let between = Sample::Between(one.clone(), other).share(40);
        let within = Sample::Within(one).share(40);
        assert!(between < 0.12 && within < 0.12, "{between} {within}");
    }
}
