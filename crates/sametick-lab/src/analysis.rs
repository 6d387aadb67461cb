//! What a log says: each metric by condition, with intervals that resample participants or seeds and never shots.

use crate::log::{Log, LogError};
use crate::metrics::Metric;
use crate::people::excluded;
use crate::settings::{self, Otherwise};
use sametick::Dice;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// How often is resampled.
const RESAMPLES: usize = 2_000;
/// Student's t for 95 %, by the number of units from two on. With so few, resampled means are too close together: those
/// of two units lie between both, where the true mean is every second time only.
const FEW: [f64; 6] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469];

/// A log's trials by condition.
pub struct Analysis {
    /// In the order of the plan.
    pub conditions: Vec<Met>,
    /// What intervals resample: `participant`, `group` or `seed`.
    pub unit: String,
    /// How many of these there are.
    pub units: usize,
    /// The condition and the unit of each trial that counts.
    trials: BTreeMap<u32, (usize, u32)>,
}

/// A condition as the log has it.
#[derive(Clone, Debug)]
pub struct Met {
    /// Its levels in words.
    pub label: String,
    /// Its levels by factor.
    pub levels: BTreeMap<String, Json>,
    settings: BTreeMap<String, Json>,
}

/// A mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over units.
    pub mean: f64,
    /// Where the 95 % interval begins and ends; none with a single unit.
    pub interval: Option<(f64, f64)>,
    /// Of how many units.
    pub units: usize,
}

impl Met {
    /// A number that holds in it: a level or a setting, by name.
    pub fn number(&self, name: &str) -> Option<f64> {
        let said = self.levels.get(name).or_else(|| self.settings.get(name));
        match said {
            Some(said) => said.as_f64(),
            None => match settings::find(name.rsplit('.').next().unwrap_or(name))?.default {
                Otherwise::Number(number) => Some(number),
                _ => None,
            },
        }
    }
}

impl Analysis {
    /// Reads which trial belongs where.
    pub fn new(log: &Log) -> Result<Self, LogError> {
        let unit: String =
            log.connection.query_row("SELECT unit FROM experiment", [], |row| row.get(0))?;
        let mut conditions = Vec::new();
        let sql = "SELECT label, levels, settings FROM condition ORDER BY condition";
        let mut statement = log.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let map = |at: usize| -> rusqlite::Result<BTreeMap<String, Json>> {
                Ok(serde_json::from_str(&row.get::<_, String>(at)?).unwrap_or_default())
            };
            conditions.push(Met { label: row.get(0)?, levels: map(1)?, settings: map(2)? });
        }
        let sql = "SELECT trial, condition, seed, participant FROM trial WHERE NOT is_practice ORDER BY trial";
        let left_out = excluded(log)?;
        let mut seeds: BTreeMap<String, u32> = BTreeMap::new();
        let mut statement = log.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut trials: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let (trial, participant): (u32, u32) = (row.get(0)?, row.get(3)?);
            let condition = (row.get::<_, u32>(1)? as usize).saturating_sub(1);
            if !left_out.iter().any(|one| one.is_of(trial, participant)) {
                // A repetition has several seeds where a kind of trial has a count: each is a unit.
                let next = seeds.len() as u32 + 1;
                let unit = match unit.as_str() {
                    "seed" => *seeds.entry(row.get(2)?).or_insert(next),
                    _ => participant,
                };
                trials.insert(trial, (condition, unit));
            }
        }
        let units: BTreeSet<u32> = trials.values().map(|(_, unit)| *unit).collect();
        Ok(Self { conditions, unit, units: units.len(), trials })
    }

    /// How intervals are made, in a sentence.
    pub fn how(&self) -> String {
        format!(
            "Intervals of eight {0}s or more: {RESAMPLES} times as many {0}s as there are were drawn again from them, \
             with each {0}'s mean, never single shots; between the 2.5th and the 97.5th percentile of the means. Of \
             fewer: Student's t of the {0}s' means.",
            self.unit
        )
    }

    /// How many trials count.
    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    /// The condition, from 0, and the unit of a trial that counts.
    pub(crate) fn place_of(&self, trial: u32) -> Option<(usize, u32)> {
        self.trials.get(&trial).copied()
    }

    /// The names of all factors, in alphabetical order.
    pub fn factors(&self) -> Vec<String> {
        let names: BTreeSet<&String> =
            self.conditions.iter().flat_map(|condition| condition.levels.keys()).collect();
        names.into_iter().cloned().collect()
    }

    /// A metric of each condition, unit by unit: the mean of each unit's trials.
    pub fn by_unit(&self, log: &Log, metric: &Metric) -> Result<Vec<BTreeMap<u32, f64>>, LogError> {
        let mut sums: Vec<BTreeMap<u32, (f64, f64)>> = vec![BTreeMap::new(); self.conditions.len()];
        for (trial, number) in metric.of_trials(&log.connection)? {
            if let Some((condition, unit)) = self.trials.get(&trial)
                && let Some(sums) = sums.get_mut(*condition)
            {
                let sum = sums.entry(*unit).or_insert((0.0, 0.0));
                *sum = (sum.0 + number, sum.1 + 1.0);
            }
        }
        let means = |sums: BTreeMap<u32, (f64, f64)>| {
            sums.into_iter().map(|(unit, (sum, count))| (unit, sum / count)).collect()
        };
        Ok(sums.into_iter().map(means).collect())
    }

    /// The estimate of each condition; none where no trial has the metric.
    pub fn estimates(&self, log: &Log, metric: &Metric) -> Result<Vec<Option<Estimate>>, LogError> {
        let by_unit = self.by_unit(log, metric)?;
        Ok(by_unit
            .iter()
            .map(|units| metric.estimate(&units.values().copied().collect::<Vec<_>>()))
            .collect())
    }
}

impl Metric {
    /// The [estimate] of some units; that of a share ends where shares end.
    pub(crate) fn estimate(&self, units: &[f64]) -> Option<Estimate> {
        let found = estimate(units)?;
        let within = |(low, high): (f64, f64)| (low.max(0.0), high.min(100.0));
        let interval = found.interval.map(|ends| if self.is_share() { within(ends) } else { ends });
        Some(Estimate { interval, ..found })
    }
}

/// The mean of some units and its interval: percentiles of the means of resampled units, with fewer than eight units
/// Student's, with one none.
pub fn estimate(units: &[f64]) -> Option<Estimate> {
    Some(Estimate { mean: mean(units)?, interval: interval(units, RESAMPLES), units: units.len() })
}

/// By how much something differs between two levels, the second less the first: of those units that met both, each by
/// itself; if none did, as between subjects, of the two means. Made as [`estimate`] makes them.
pub(crate) fn difference(
    before: &BTreeMap<u32, f64>,
    after: &BTreeMap<u32, f64>,
) -> Option<Estimate> {
    let pairs: Vec<f64> =
        before.iter().filter_map(|(unit, before)| Some(after.get(unit)? - before)).collect();
    if !pairs.is_empty() {
        return estimate(&pairs);
    }
    let [before, after] = [before, after].map(|units| units.values().copied().collect::<Vec<_>>());
    Some(Estimate {
        mean: mean(&after)? - mean(&before)?,
        interval: interval_between([&before, &after], RESAMPLES),
        units: before.len() + after.len(),
    })
}

/// The 95 % interval of a mean, by so many resamples if there are units enough.
pub(crate) fn interval(units: &[f64], resamples: usize) -> Option<(f64, f64)> {
    let middle = mean(units).filter(|_| units.len() > 1)?;
    if let Some(times) = FEW.get(units.len() - 2) {
        let off = times * square_error(units).sqrt();
        return Some((middle - off, middle + off));
    }
    let mut dice = Dice::new(units.len() as u64, 0xb00);
    Some(percentiles((0..resamples).map(|_| resampled(units, &mut dice)).collect()))
}

/// The same of the difference of two means. Student's has as many degrees of freedom as the smaller of both alone: that
/// is never too narrow, whatever their spreads are.
pub(crate) fn interval_between(
    [before, after]: [&[f64]; 2],
    resamples: usize,
) -> Option<(f64, f64)> {
    let few = before.len().min(after.len());
    let middle = mean(after)? - mean(before)?;
    if let Some(times) = FEW.get(few.checked_sub(2)?) {
        let off = times * (square_error(before) + square_error(after)).sqrt();
        return Some((middle - off, middle + off));
    }
    let mut dice = Dice::new((before.len() + after.len()) as u64, 0xb01);
    let mut draw = |_| resampled(after, &mut dice) - resampled(before, &mut dice);
    Some(percentiles((0..resamples).map(&mut draw).collect()))
}

fn mean(units: &[f64]) -> Option<f64> {
    (!units.is_empty()).then(|| units.iter().sum::<f64>() / units.len() as f64)
}

/// The square of a mean's standard error.
fn square_error(units: &[f64]) -> f64 {
    let (count, middle) = (units.len() as f64, mean(units).unwrap_or(0.0));
    let squares: f64 = units.iter().map(|unit| (unit - middle) * (unit - middle)).sum();
    squares / (count - 1.0) / count
}

/// The mean of as many units as there are, drawn from them.
fn resampled(units: &[f64], dice: &mut Dice) -> f64 {
    let draw = |_| units[dice.below(units.len() as u64) as usize];
    (0..units.len()).map(draw).sum::<f64>() / units.len() as f64
}

fn percentiles(mut means: Vec<f64>) -> (f64, f64) {
    means.sort_by(f64::total_cmp);
    (means[means.len() * 25 / 1000], means[means.len() * 975 / 1000 - 1])
}

/// The straight line nearest to some points: where it begins and how steep it is.
pub fn straight(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let spread = mean(&|point| (point.0 - x) * (point.0 - x));
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    let slope = mean(&|point| (point.0 - x) * (point.1 - y)) / spread;
    Some((y - slope * x, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_narrows_with_units_and_not_with_what_each_of_them_has() {
        let few = estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let many: Vec<f64> = (0..400).map(|n| f64::from(n % 4) + 1.0).collect();
        let many = estimate(&many).unwrap();
        let width = |estimate: &Estimate| estimate.interval.map(|(low, high)| high - low).unwrap();
        assert!((few.mean - 2.5).abs() < 1e-9 && width(&few) > 5.0 * width(&many));
        let expected = 2.0 * 1.96 * 1.118 / 20.0;
        assert!((width(&many) - expected).abs() < 0.15 * expected, "{many:?}");
        assert_eq!(estimate(&[3.0]).unwrap().interval, None);
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn intervals_of_few_units_hold_the_mean_as_often_as_they_say() {
        for count in 2..=9 {
            let mut dice = Dice::new(7, count as u64);
            let tries = 2_000;
            let holds = |_: &u32| {
                let units: Vec<f64> = (0..count).map(|_| dice.normal()).collect();
                let (low, high) = estimate(&units).unwrap().interval.unwrap();
                (low..=high).contains(&0.0)
            };
            let share = (0..tries).filter(holds).count() as f64 / f64::from(tries);
            assert!((0.87..0.97).contains(&share), "{share} of {count} units, seed 7");
        }
    }

    #[test]
    fn intervals_between_few_units_hold_the_difference_at_least_as_often_as_they_say() {
        for (one, other) in [(2, 2), (3, 6), (5, 20), (12, 9)] {
            let mut dice = Dice::new(8, one as u64);
            let tries = 2_000;
            let holds = |_: &u32| {
                let before: Vec<f64> = (0..one).map(|_| dice.normal()).collect();
                let after: Vec<f64> = (0..other).map(|_| 3.0 + 2.0 * dice.normal()).collect();
                let (low, high) = interval_between([&before, &after], RESAMPLES / 4).unwrap();
                (low..=high).contains(&3.0)
            };
            let share = (0..tries).filter(holds).count() as f64 / f64::from(tries);
            assert!((0.9..1.0).contains(&share), "{share} of {one} and {other} units, seed 8");
        }
        assert_eq!(interval_between([&[1.0], &[2.0, 3.0]], RESAMPLES), None);
    }

    #[test]
    fn a_straight_line_is_found() {
        let (begin, slope) = straight(&[(0.0, 1.0), (10.0, 3.0), (20.0, 5.0)]).unwrap();
        assert!((begin - 1.0).abs() < 1e-9 && (slope - 0.2).abs() < 1e-9);
        assert_eq!(straight(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
