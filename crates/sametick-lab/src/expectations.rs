//! Compares what an experiment expects with what its log says.

use crate::analysis::{Analysis, Estimate, straight};
use crate::experiment::{Expectation, Experiment, Rule, Tolerance};
use crate::formula::Formula;
use crate::log::{Log, LogError};
use crate::value::{Plain, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// How close levels must be to be the same.
pub(crate) const SAME: f64 = 1e-6;

/// What was expected of one condition, and what was measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The expectation's name, and of which condition.
    pub name: String,
    /// In words.
    pub expected: String,
    /// What the log says; none if it says nothing.
    pub measured: Option<f64>,
    /// The metric's unit.
    pub unit: String,
    /// Whether it is as expected.
    pub holds: bool,
}

impl Outcome {
    /// For a program to read.
    pub fn json(&self) -> Json {
        let Self { name, expected, measured, unit, holds } = self;
        json!({ "name": name, "expected": expected, "measured": measured, "unit": unit, "holds": holds })
    }
}

/// All that an experiment expects, one by one.
pub fn outcomes(experiment: &Experiment, log: &Log) -> Result<Vec<Outcome>, LogError> {
    let analysis = Analysis::new(log)?;
    let mut outcomes = Vec::new();
    for expectation in &experiment.expectations {
        let estimates = analysis.estimates(log, expectation.metric)?;
        let judge = Judge { expectation, analysis: &analysis, estimates: &estimates };
        judge.all(&mut outcomes);
    }
    Ok(outcomes)
}

struct Judge<'a> {
    expectation: &'a Expectation,
    analysis: &'a Analysis,
    estimates: &'a [Option<Estimate>],
}

impl Judge<'_> {
    fn all(&self, outcomes: &mut Vec<Outcome>) {
        let conditions: Vec<usize> = (0..self.analysis.conditions.len())
            .filter(|index| self.fits(*index, &self.expectation.only))
            .collect();
        if let Some(factor) = &self.expectation.slope_over {
            outcomes.push(self.slope(factor, &conditions));
            return;
        }
        let nothing =
            || self.outcome(String::new(), "a condition to look at".to_owned(), None, false);
        if let Rule::Table(cells, within) = &self.expectation.rule {
            let before = outcomes.len();
            for (row, level) in cells.rows.1.iter().enumerate() {
                for (column, other) in cells.columns.1.iter().enumerate() {
                    let levels = [(&cells.rows.0, *level), (&cells.columns.0, *other)];
                    let is_there = |index: &&usize| {
                        let met = &self.analysis.conditions[**index];
                        levels.iter().all(|(name, level)| {
                            met.number(name).is_some_and(|number| (number - level).abs() < SAME)
                        })
                    };
                    let found = conditions.iter().find(is_there);
                    // The small version of an experiment has some of the cells only.
                    if let Some(index) = found {
                        let formula = Formula::from(cells.cells[row][column]);
                        let rule = Rule::Equals(formula, within.clone());
                        outcomes.push(self.one(*index, &rule));
                    }
                }
            }
            if outcomes.len() == before {
                outcomes.push(nothing());
            }
            return;
        }
        outcomes.extend(conditions.iter().map(|index| self.one(*index, &self.expectation.rule)));
        if conditions.is_empty() {
            outcomes.push(nothing());
        }
    }

    fn fits(&self, index: usize, levels: &[(String, Value)]) -> bool {
        let met = &self.analysis.conditions[index];
        levels.iter().all(|(name, value)| met.levels.get(name) == Some(&value.json()))
    }

    fn outcome(
        &self,
        label: String,
        expected: String,
        measured: Option<f64>,
        holds: bool,
    ) -> Outcome {
        let name = match label.as_str() {
            "" => self.expectation.name.clone(),
            label => format!("{} ({label})", self.expectation.name),
        };
        let unit = match self.expectation.against.is_empty() {
            true => self.expectation.metric.unit.to_owned(),
            false => "times".to_owned(),
        };
        Outcome { name, expected, measured, unit, holds }
    }

    /// The metric of a condition, or how many times that of the condition it is compared with.
    fn measured(&self, index: usize) -> Option<f64> {
        let mean = self.estimates[index]?.mean;
        if self.expectation.against.is_empty() {
            return Some(mean);
        }
        let mut wanted: BTreeMap<String, Json> = self.analysis.conditions[index].levels.clone();
        for (name, value) in &self.expectation.against {
            wanted.insert(name.clone(), value.json());
        }
        let other = self.analysis.conditions.iter().position(|met| met.levels == wanted)?;
        Some(mean / self.estimates[other]?.mean)
    }

    fn one(&self, index: usize, rule: &Rule) -> Outcome {
        let label = self.analysis.conditions[index].label.clone();
        let measured = self.measured(index);
        let (expected, holds) = self.judge(index, rule, measured);
        self.outcome(label, expected, measured, holds)
    }

    fn slope(&self, factor: &str, conditions: &[usize]) -> Outcome {
        let points: Vec<(f64, f64)> = conditions
            .iter()
            .filter_map(|index| {
                Some((self.analysis.conditions[*index].number(factor)?, self.measured(*index)?))
            })
            .collect();
        let slope = straight(&points).map(|(_, slope)| slope);
        let first = conditions.first().copied().unwrap_or(0);
        let (expected, holds) = self.judge(first, &self.expectation.rule, slope);
        let outcome = self.outcome(String::new(), expected, slope, holds);
        Outcome { unit: format!("{} for each of {factor}", outcome.unit), ..outcome }
    }

    /// What is expected in words, and whether a number is so.
    fn judge(&self, index: usize, rule: &Rule, measured: Option<f64>) -> (String, bool) {
        let met = &self.analysis.conditions[index];
        let work_out = |formula: &Formula| formula.work_out(&|name| met.number(name));
        let told = || -> Result<(String, bool), String> {
            let (low, high, words) = match rule {
                Rule::Equals(formula, within) => {
                    let number = work_out(formula)?;
                    let (off, words) = match within {
                        Tolerance::Percent(share) => {
                            (number.abs() * share / 100.0, format!("{} %", Plain(*share)))
                        }
                        Tolerance::Absolute(formula) => {
                            let off = work_out(formula)?;
                            (off, Plain(off).to_string())
                        }
                    };
                    (number - off, number + off, format!("{} ± {words}", Plain(number)))
                }
                Rule::Between(least, most) => {
                    let number =
                        |formula: &Option<Formula>| formula.as_ref().map(work_out).transpose();
                    let (least, most) = (number(least)?, number(most)?);
                    let words = match (least, most) {
                        (Some(least), Some(most)) => format!("{} to {}", Plain(least), Plain(most)),
                        (Some(least), None) => format!("at least {}", Plain(least)),
                        (_, most) => format!("at most {}", Plain(most.unwrap_or(f64::INFINITY))),
                    };
                    (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY), words)
                }
                Rule::Table(..) => return Err("a table is judged cell by cell".to_owned()),
            };
            // Of numbers alone: a side without a bound must not loosen the other.
            let size = [low, high].into_iter().filter(|bound| bound.is_finite());
            let slack = 1e-9 * size.fold(0.0, |most: f64, bound| most.max(bound.abs()));
            let holds =
                measured.is_some_and(|number| number >= low - slack && number <= high + slack);
            Ok((words, holds))
        };
        let (words, holds) = told().unwrap_or_else(|what| (what, false));
        match &self.expectation.unmet {
            None => (words, holds),
            // What a paper has and we have not, stated as it is: a number that is not in its range.
            Some(why) => (format!("not {words}: {why}"), measured.is_some() && !holds),
        }
    }
}
