//! Figures of a log: a metric over a factor, a line for each level of another, and what they say in sentences.

use crate::analysis::{Analysis, Estimate, difference, estimate};
use crate::checks::PARTS;
use crate::experiment::Experiment;
use crate::log::{Log, LogError};
use crate::metrics::{self, Metric};
use crate::plot::{Plot, Series, panels};
use crate::report::{rounded, shown, signed, titled, unit_of, words};
use crate::wrong::meant;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many sentences answer the question.
const ANSWERS_MAX: usize = 12;
/// With more units, a line for each would be a cloud.
const FAINT_MAX: usize = 40;

/// What a figure shows.
pub(crate) struct Figure {
    metric: &'static Metric,
    over: String,
    series: Option<String>,
    /// Only of this level of another factor.
    only: Option<(String, Json)>,
}

impl Figure {
    pub(crate) fn choose(
        log: &Log,
        analysis: &Analysis,
        experiment: Option<&Experiment>,
    ) -> Result<Option<Self>, LogError> {
        let factors = analysis.factors();
        let said = experiment.and_then(|experiment| experiment.figure.as_ref());
        let metric = match said {
            Some(figure) => Some(figure.metric),
            None => {
                let usual = ["accuracy", "deviation", "server_out"];
                let mut found = None;
                for metric in usual.iter().filter_map(|name| metrics::find(name)) {
                    let has = analysis.estimates(log, metric)?.iter().any(Option::is_some);
                    found = found.or(has.then_some(metric));
                }
                found
            }
        };
        let is_number = |name: &&String| {
            analysis.conditions.iter().all(|met| met.levels.get(*name).is_some_and(Json::is_number))
        };
        let over = said.and_then(|figure| figure.over.clone());
        let over = over.or_else(|| factors.iter().find(is_number).or(factors.first()).cloned());
        let series = said.and_then(|figure| figure.series.clone());
        Ok(metric.zip(over).map(|(metric, over)| {
            let other = factors.iter().find(|name| **name != over).cloned();
            let series = series.or(if said.is_none() { other } else { None });
            Self { metric, over, series, only: None }
        }))
    }

    /// This figure; or, where sessions or kinds of trials differ and it does not tell them apart, one for each.
    pub(crate) fn apart(self, analysis: &Analysis) -> Vec<Self> {
        let is_shown = |name: &str| self.over == name || self.series.as_deref() == Some(name);
        let part = PARTS
            .into_iter()
            .find(|name| !is_shown(name) && analysis.factors().iter().any(|f| f == name));
        let Some(part) = part else { return vec![self] };
        let level = |level: Json| Self {
            metric: self.metric,
            over: self.over.clone(),
            series: self.series.clone(),
            only: Some((part.to_owned(), level)),
        };
        Self::levels(analysis, part).into_iter().map(level).collect()
    }

    /// Which part of the experiment it is of, as the beginning of a sentence.
    fn part(&self) -> String {
        let part =
            self.only.as_ref().map(|(name, level)| format!("{} {}: ", words(name), shown(level)));
        part.unwrap_or_default()
    }

    /// The levels of a factor, in their order: numbers by size, names as they come.
    fn levels(analysis: &Analysis, factor: &str) -> Vec<Json> {
        let mut levels: Vec<Json> = Vec::new();
        for met in &analysis.conditions {
            if let Some(level) = met.levels.get(factor)
                && !levels.contains(level)
            {
                levels.push(level.clone());
            }
        }
        if levels.iter().all(Json::is_number) {
            let number = |level: &Json| level.as_f64().unwrap_or(0.0);
            levels.sort_by(|one, other| number(one).total_cmp(&number(other)));
        }
        levels
    }

    /// A line for each level, and one for the conditions that have none, if there are any: its level is null.
    fn lines(&self, analysis: &Analysis) -> Vec<Option<Json>> {
        let Some(factor) = &self.series else { return vec![None] };
        let mut lines: Vec<Option<Json>> =
            Self::levels(analysis, factor).into_iter().map(Some).collect();
        if analysis.conditions.iter().any(|met| !met.levels.contains_key(factor)) {
            lines.push(Some(Json::Null));
        }
        lines
    }

    /// What a line is called: its level; or, without one, what its conditions have in common.
    fn name(&self, analysis: &Analysis, line: Option<&Json>) -> String {
        let (Some(factor), Some(level)) = (&self.series, line) else { return String::new() };
        if !level.is_null() {
            return shown(level);
        }
        let rest = || analysis.conditions.iter().filter(|met| !met.levels.contains_key(factor));
        let first = rest().next().map(|met| &met.levels);
        let common = first.into_iter().flatten().filter(|(name, level)| {
            **name != self.over && rest().all(|met| met.levels.get(*name) == Some(level))
        });
        let words: Vec<String> =
            common.map(|(name, level)| format!("{name} {}", shown(level))).collect();
        if words.is_empty() { format!("no {factor}") } else { words.join(", ") }
    }

    /// Each unit's mean over all conditions with these levels.
    fn units(
        &self,
        by_unit: &[BTreeMap<u32, f64>],
        analysis: &Analysis,
        levels: &[(&str, &Json)],
    ) -> BTreeMap<u32, f64> {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (met, units) in analysis.conditions.iter().zip(by_unit) {
            let only = self.only.iter().map(|(name, level)| (name.as_str(), level));
            let fits = levels
                .iter()
                .copied()
                .chain(only)
                .all(|(name, level)| met.levels.get(name).unwrap_or(&Json::Null) == level);
            for (unit, number) in units.iter().filter(|_| fits) {
                let sum = sums.entry(*unit).or_insert((0.0, 0.0));
                *sum = (sum.0 + number, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(unit, (sum, count))| (unit, sum / count)).collect()
    }

    pub(crate) fn plot(&self, log: &Log, analysis: &Analysis) -> Result<Plot, LogError> {
        let by_unit = analysis.by_unit(log, self.metric)?;
        let places = Self::levels(analysis, &self.over);
        let are_numbers = places.iter().all(Json::is_number);
        let lines = self.lines(analysis);
        let mut plot = Plot {
            x_title: titled(&self.over),
            y_title: format!("{}, {}", words(self.metric.name), self.metric.unit),
            places: match are_numbers {
                true => Vec::new(),
                false => places.iter().map(shown).collect(),
            },
            series: Vec::new(),
        };
        for line in lines {
            let name = self.name(analysis, line.as_ref());
            let mut series = Series { name, ..Series::default() };
            let mut faint: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
            for (index, place) in places.iter().enumerate() {
                let mut levels = vec![(self.over.as_str(), place)];
                if let (Some(factor), Some(level)) = (&self.series, &line) {
                    levels.push((factor, level));
                }
                let units = self.units(&by_unit, analysis, &levels);
                let numbers: Vec<f64> = units.values().copied().collect();
                let at = if are_numbers { place.as_f64().unwrap_or(0.0) } else { index as f64 };
                if let Some(Estimate { mean, interval, units }) = self.metric.estimate(&numbers) {
                    series.points.push((at, mean, interval));
                    series.units.push(units);
                }
                for (unit, number) in units {
                    faint.entry(unit).or_default().push((at, number));
                }
            }
            if faint.len() > 1 && faint.len() <= FAINT_MAX {
                series.faint = faint.into_values().collect();
            }
            plot.series.push(series);
        }
        Ok(plot)
    }

    /// What dots, whiskers and faint lines are.
    pub(crate) fn caption(&self, plot: &Plot, analysis: &Analysis) -> String {
        let (over, unit) = (self.over.replace('_', " "), &analysis.unit);
        let mut text = format!("{}{} over {over}", self.part(), words(self.metric.name));
        if let Some(series) = &self.series {
            let _ = write!(text, ", by {}", series.replace('_', " "));
        }
        let _ = write!(text, ". {} Dots: means", self.metric.help);
        let counts = plot.series.iter().flat_map(|series| series.units.iter().copied());
        let (least, most) = counts.fold((usize::MAX, 0), |(l, m), n| (l.min(n), m.max(n)));
        let _ = match (least, most) {
            (1, 1) => write!(text, " of one {unit} each, so that there are no intervals."),
            (least, most) if least == most => write!(text, " over n = {most} {unit}s."),
            (least, most) => write!(text, " over n = {least} to {most} {unit}s."),
        };
        let has = |wanted: &dyn Fn(&Series) -> bool| plot.series.iter().any(wanted);
        if has(&|series| series.points.iter().any(|point| point.2.is_some())) {
            let _ = write!(text, " Whiskers: 95 % intervals. {}", analysis.how());
        }
        if has(&|series| !series.faint.is_empty()) {
            let _ = write!(text, " Faint lines: one for each {unit}.");
        }
        let others = analysis.factors().into_iter().filter(|name| {
            *name != self.over
                && self.series.as_ref() != Some(name)
                && self.only.as_ref().is_none_or(|(only, _)| only != name)
                && Self::levels(analysis, name).len() > 1
        });
        let others: Vec<String> = others.map(|name| name.replace('_', " ")).collect();
        if !others.is_empty() {
            let _ = write!(text, " Averaged over {}.", others.join(", "));
        }
        if plot.series.len() > 1 {
            text.push_str(" What stands side by side belongs to the same place of the axis.");
        }
        text
    }

    /// What the figure says, in a sentence for each of its lines.
    pub(crate) fn answers(&self, log: &Log, analysis: &Analysis) -> Result<Vec<String>, LogError> {
        let by_unit = analysis.by_unit(log, self.metric)?;
        let lines = self.lines(analysis);
        let said = lines.iter().filter_map(|line| self.answer(&by_unit, analysis, line.as_ref()));
        let said: Vec<String> = said.take(ANSWERS_MAX).collect();
        Ok(if said.is_empty() { vec!["Nothing was measured.".to_owned()] } else { said })
    }

    /// One line of it: numbers from end to end, names one by one; none if nothing was measured.
    fn answer(
        &self,
        by_unit: &[BTreeMap<u32, f64>],
        analysis: &Analysis,
        line: Option<&Json>,
    ) -> Option<String> {
        let places = Self::levels(analysis, &self.over);
        let of = |place: &Json| {
            let mut levels = vec![(self.over.as_str(), place)];
            if let (Some(factor), Some(line)) = (&self.series, line) {
                levels.push((factor, line));
            }
            self.units(by_unit, analysis, &levels)
        };
        let (unit, over) = (self.metric.unit, self.over.replace('_', " "));
        let head = match line {
            Some(_) => {
                format!("{}: {}", self.name(analysis, line), self.metric.name.replace('_', " "))
            }
            None => words(self.metric.name),
        };
        let head = self.part() + &head;
        let level = |level: &Json| format!("{}{}", shown(level), unit_of(&self.over));
        let ends = places.first().zip(places.last()).filter(|(first, last)| first != last);
        let ends = ends.filter(|_| places.iter().all(Json::is_number));
        let ends = ends.and_then(|(first, last)| {
            let (before, after) = (of(first), of(last));
            Some((first, last, difference(&before, &after)?, before, after))
        });
        // Where there are no ends, or nothing was measured at one of them, what there is is said.
        let Some((first, last, difference, before, after)) = ends else {
            let means = places.iter().filter_map(|place| {
                let numbers: Vec<f64> = of(place).into_values().collect();
                let mean = estimate(&numbers)?.mean;
                let place = if place.is_number() { level(place) } else { shown(place) };
                Some(format!("{} {unit} with {place}", rounded(mean)))
            });
            let means: Vec<String> = means.collect();
            return (!means.is_empty()).then(|| format!("{head}: {}.", means.join(", ")));
        };
        let mean =
            |units: &BTreeMap<u32, f64>| units.values().sum::<f64>() / units.len().max(1) as f64;
        let is_clear = difference.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let moved = match difference.mean {
            _ if difference.interval.is_none() => "went",
            _ if !is_clear => "did not clearly change",
            off if off > 0.0 => "rose",
            off if off < 0.0 => "fell",
            _ => "stayed",
        };
        // A difference of shares is in points of them.
        let points = if unit == "%" { "points" } else { unit };
        let interval = match difference.interval {
            Some((low, high)) => format!(", 95 % interval {} to {}", rounded(low), rounded(high)),
            None => ", without an interval".to_owned(),
        };
        Some(format!(
            "{head} {moved} from {} {unit} at {over} {} to {} {unit} at {}: {} {points}{interval}, {} {}{}.",
            rounded(mean(&before)),
            level(first),
            rounded(mean(&after)),
            level(last),
            signed(difference.mean),
            difference.units,
            analysis.unit,
            if difference.units == 1 { "" } else { "s" }
        ))
    }
}

/// Metrics over a factor, a picture each, two in a row: for a document.
pub fn figure(
    log: &Log,
    names: &[String],
    over: &str,
    series: Option<&str>,
) -> Result<String, LogError> {
    let analysis = Analysis::new(log)?;
    let mut plots = Vec::new();
    for name in names {
        let Some(metric) = metrics::find(name) else {
            let hint = meant(name, metrics::names());
            return Err(LogError(format!("there is no metric {name:?}; {hint}")));
        };
        for factor in [Some(over), series].into_iter().flatten() {
            if !analysis.factors().iter().any(|known| known == factor) {
                let known = analysis.factors().join(", ");
                return Err(LogError(format!("{factor:?} is no factor here; there are {known}")));
            }
        }
        let (over, series) = (over.to_owned(), series.map(str::to_owned));
        let figure = Figure { metric, over, series, only: None };
        let plot = figure.plot(log, &analysis)?;
        if plot.series.iter().all(|series| series.points.is_empty()) {
            return Err(LogError(format!("{name} was not measured in this log")));
        }
        plots.push(plot);
    }
    Ok(panels(&plots))
}
