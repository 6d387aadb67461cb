//! The report of a log: one page that needs no script and no network. The question, the answer, the figure, asked
//! against achieved; then everything else.

use crate::analysis::{Analysis, Estimate, estimate};
use crate::expectations::{Outcome, outcomes};
use crate::experiment::Experiment;
use crate::log::{Log, LogError};
use crate::metrics::{self, METRICS, Metric};
use crate::people;
use crate::plot::{Plot, Series, escaped, panels};
use crate::schema::TABLES;
use crate::settings;
use crate::value::Plain;
use crate::wrong::meant;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How far what a line did may be from what was asked of it: milliseconds, and a share of them.
const DELAY_TOLERANCE: (f64, f64) = (1.0, 0.05);
/// How many doubtful shots are listed.
const DOUBTFUL_MAX: usize = 20;

/// How many sentences answer the question.
const ANSWERS_MAX: usize = 12;

/// Longer tables are shut at first.
const OPEN_MAX: i64 = 30;

const STYLE: &str = include_str!("report.css");

/// What a report says of the experiment itself.
struct Head {
    title: String,
    question: String,
    hash: String,
    config: String,
    build: String,
    seed: i64,
    planned: i64,
    done: i64,
    dropped: i64,
    /// Trials over sockets.
    real: i64,
}

/// The report as a page. `command` repeats the run.
pub fn report(log: &Log, command: &str) -> Result<String, LogError> {
    report_with(log, command, None)
}

/// The same, where recordings of the trials with doubtful shots lie in a folder beside the page, as `trial-N.sametick`.
pub fn report_with(log: &Log, command: &str, recordings: Option<&str>) -> Result<String, LogError> {
    let head = head(log)?;
    let analysis = Analysis::new(log)?;
    // Paths in the file may lead nowhere from here: then what was expected is not compared.
    let quick: bool =
        log.connection.query_row("SELECT is_quick FROM experiment", [], |row| row.get(0))?;
    let experiment = Experiment::read(&head.config, ".".as_ref(), quick).ok();
    let mut page = String::new();
    let title = escaped(&head.title);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <p class=\"title\">{title}</p>\n<h1>{}</h1>\n",
        escaped(&head.question)
    );
    let figure = Figure::choose(log, &analysis, experiment.as_ref())?;
    let trials = analysis.trials();
    if head.done < head.planned {
        let (done, planned) = (head.done, head.planned);
        let _ = writeln!(
            page,
            "<p class=\"answer\">Incomplete: {done} of {planned} trials are here.</p>"
        );
    }
    if let Some(figure) = &figure {
        for answer in figure.answers(log, &analysis)? {
            let _ = writeln!(page, "<p class=\"answer\">{}</p>", escaped(&answer));
        }
        let plot = figure.plot(log, &analysis)?;
        if plot.series.iter().any(|series| !series.points.is_empty()) {
            let _ = writeln!(page, "<figure>{}</figure>", plot.svg());
        }
    }
    match &experiment {
        Some(experiment) if !log.codes()?.is_empty() => {
            page.push_str(&people::section(log, experiment)?)
        }
        _ => page.push_str(&asked(log)?),
    }
    if let Some(experiment) = &experiment {
        page.push_str(&expected(&outcomes(experiment, log)?));
    }
    let clock = if head.real > 0 { "over sockets, in real time" } else { "in virtual time" };
    let _ = writeln!(
        page,
        "<h2>This run</h2><p>{trials} trials that count of {}, {clock}, {} {}s, {} log rows dropped. Build: {}. \
         Seed {}. Configuration {}. Run it again: <code>{}</code></p>",
        head.planned,
        analysis.units,
        escaped(&analysis.unit),
        head.dropped,
        escaped(&head.build),
        head.seed,
        escaped(&head.hash),
        escaped(command)
    );
    page.push_str(&tables(log, &analysis)?);
    page.push_str(&doubtful(log, recordings)?);
    let _ = write!(
        page,
        "<h2>The whole file</h2><pre>{}</pre>\n{}</body></html>\n",
        escaped(&head.config),
        codebook()
    );
    Ok(page)
}

fn head(log: &Log) -> Result<Head, LogError> {
    let sql = "SELECT title, question, hash, config, build, seed, trials, \
               (SELECT COUNT(*) FROM trial), \
               (SELECT COALESCE(SUM(dropped), 0) FROM trial), \
               (SELECT COUNT(*) FROM trial WHERE NOT is_virtual) FROM experiment";
    Ok(log.connection.query_row(sql, [], |row| {
        Ok(Head {
            title: row.get(0)?,
            question: row.get(1)?,
            hash: row.get(2)?,
            config: row.get(3)?,
            build: row.get(4)?,
            seed: row.get(5)?,
            planned: row.get(6)?,
            done: row.get(7)?,
            dropped: row.get(8)?,
            real: row.get(9)?,
        })
    })?)
}

/// What the first figure shows.
struct Figure {
    metric: &'static Metric,
    over: String,
    series: Option<String>,
}

impl Figure {
    fn choose(
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
            Self { metric, over, series }
        }))
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

    /// Each unit's mean over all conditions with these levels.
    fn units(
        by_unit: &[BTreeMap<u32, f64>],
        analysis: &Analysis,
        levels: &[(&str, &Json)],
    ) -> BTreeMap<u32, f64> {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (met, units) in analysis.conditions.iter().zip(by_unit) {
            let fits = levels.iter().all(|(name, level)| met.levels.get(*name) == Some(*level));
            for (unit, number) in units.iter().filter(|_| fits) {
                let sum = sums.entry(*unit).or_insert((0.0, 0.0));
                *sum = (sum.0 + number, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(unit, (sum, count))| (unit, sum / count)).collect()
    }

    fn plot(&self, log: &Log, analysis: &Analysis) -> Result<Plot, LogError> {
        let by_unit = analysis.by_unit(log, self.metric)?;
        let places = Self::levels(analysis, &self.over);
        let are_numbers = places.iter().all(Json::is_number);
        let lines: Vec<Option<Json>> = match &self.series {
            Some(factor) => Self::levels(analysis, factor).into_iter().map(Some).collect(),
            None => vec![None],
        };
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
            let mut series =
                Series { name: line.as_ref().map(shown).unwrap_or_default(), ..Series::default() };
            let mut faint: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
            for (index, place) in places.iter().enumerate() {
                let mut levels = vec![(self.over.as_str(), place)];
                if let (Some(factor), Some(level)) = (&self.series, &line) {
                    levels.push((factor, level));
                }
                let units = Self::units(&by_unit, analysis, &levels);
                let numbers: Vec<f64> = units.values().copied().collect();
                let at = if are_numbers { place.as_f64().unwrap_or(0.0) } else { index as f64 };
                if let Some(Estimate { mean, interval, .. }) = estimate(&numbers) {
                    series.points.push((at, mean, interval));
                }
                for (unit, number) in units {
                    faint.entry(unit).or_default().push((at, number));
                }
            }
            if faint.len() > 1 && faint.len() <= 40 {
                series.faint = faint.into_values().collect();
            }
            plot.series.push(series);
        }
        Ok(plot)
    }

    /// What the figure says, in a sentence for each of its lines.
    fn answers(&self, log: &Log, analysis: &Analysis) -> Result<Vec<String>, LogError> {
        let by_unit = analysis.by_unit(log, self.metric)?;
        let lines: Vec<Option<Json>> = match &self.series {
            Some(factor) => Self::levels(analysis, factor).into_iter().map(Some).collect(),
            None => vec![None],
        };
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
            Self::units(by_unit, analysis, &levels)
        };
        let (unit, over) = (self.metric.unit, self.over.replace('_', " "));
        let head = match line {
            Some(line) => format!("{}: {}", shown(line), self.metric.name.replace('_', " ")),
            None => words(self.metric.name),
        };
        if !places.iter().all(Json::is_number) {
            let means = places.iter().filter_map(|place| {
                let numbers: Vec<f64> = of(place).into_values().collect();
                let mean = estimate(&numbers)?.mean;
                Some(format!("{} {unit} with {}", rounded(mean), shown(place)))
            });
            let means: Vec<String> = means.collect();
            return (!means.is_empty()).then(|| format!("{head}: {}.", means.join(", ")));
        }
        let (first, last) = (places.first()?, places.last()?);
        let (before, after) = (of(first), of(last));
        let pairs: Vec<f64> =
            before.iter().filter_map(|(unit, before)| Some(after.get(unit)? - before)).collect();
        let difference = estimate(&pairs)?;
        let mean =
            |units: &BTreeMap<u32, f64>| units.values().sum::<f64>() / units.len().max(1) as f64;
        let is_clear = difference.interval.is_none_or(|(low, high)| low > 0.0 || high < 0.0);
        let moved = match difference.mean {
            _ if !is_clear => "did not clearly change",
            off if off > 0.0 => "rose",
            off if off < 0.0 => "fell",
            _ => "stayed",
        };
        let level = |level: &Json| format!("{}{}", shown(level), unit_of(&self.over));
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
            let hint = meant(name, METRICS.iter().map(|metric| metric.name));
            return Err(LogError(format!("there is no metric {name:?}; {hint}")));
        };
        for factor in [Some(over), series].into_iter().flatten() {
            if !analysis.factors().iter().any(|known| known == factor) {
                let known = analysis.factors().join(", ");
                return Err(LogError(format!("{factor:?} is no factor here; there are {known}")));
            }
        }
        let figure = Figure { metric, over: over.to_owned(), series: series.map(str::to_owned) };
        let plot = figure.plot(log, &analysis)?;
        if plot.series.iter().all(|series| series.points.is_empty()) {
            return Err(LogError(format!("{name} was not measured in this log")));
        }
        plots.push(plot);
    }
    Ok(panels(&plots))
}

fn asked(log: &Log) -> Result<String, LogError> {
    let sql = "SELECT c.label, l.way, AVG(l.asked_delay_ms), AVG(l.delay_ms), AVG(l.delay_ms_50), AVG(l.delay_ms_95), \
               100.0 * AVG(l.asked_loss), 100.0 * SUM(l.lost) / SUM(l.packets), \
               SUM(ABS(l.delay_ms - l.asked_delay_ms) > ?1 + ?2 * l.asked_delay_ms), COUNT(*) \
               FROM line l JOIN trial t ON t.trial = l.trial JOIN condition c ON c.condition = t.condition \
               GROUP BY t.condition, l.way ORDER BY t.condition, l.way DESC";
    let mut text = String::from(
        "<table><tr><th>condition<th>way<th>asked ms<th>achieved ms<th>median\
         <th>95th<th>loss asked %<th>achieved %<th>lines outside tolerance</tr>\n",
    );
    let (mut off, mut all) = (0_i64, 0_i64);
    let mut statement = log.connection.prepare(sql)?;
    let mut rows = statement.query([DELAY_TOLERANCE.0, DELAY_TOLERANCE.1])?;
    while let Some(row) = rows.next()? {
        let cell = |at: usize| -> rusqlite::Result<String> {
            Ok(row.get::<_, Option<f64>>(at)?.map_or_else(|| "-".to_owned(), rounded))
        };
        let (outside, lines): (i64, i64) = (row.get(8)?, row.get(9)?);
        (off, all) = (off + outside, all + lines);
        let _ = writeln!(
            text,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{outside} of {lines}</tr>",
            escaped(&row.get::<_, String>(0)?),
            escaped(&row.get::<_, String>(1)?),
            cell(2)?,
            cell(3)?,
            cell(4)?,
            cell(5)?,
            cell(6)?,
            cell(7)?
        );
    }
    let verdict = match off {
        0 if all == 0 => "These trials have no lines of their own that are measured.".to_owned(),
        0 => "Yes: every line was within 1 ms and 5 % of what was asked.".to_owned(),
        off => format!(
            "{off} of {all} lines were not within 1 ms and 5 % of what was asked at the start of their trial."
        ),
    };
    let is_open = if all > OPEN_MAX { "" } else { " open" };
    Ok(format!(
        "<h2>Did we get what we asked?</h2><p>{verdict}</p><details{is_open}><summary>by condition</summary>\
         {text}</table></details>\n"
    ))
}

fn expected(outcomes: &[Outcome]) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    let held = outcomes.iter().filter(|outcome| outcome.holds).count();
    let mut text = format!(
        "<h2>Expected and measured</h2><p>{held} of {} hold.</p><details{}><summary>one by one</summary>\
         <table><tr><th>what<th>expected<th>measured<th>unit<th>holds</tr>\n",
        outcomes.len(),
        if outcomes.len() as i64 <= OPEN_MAX { " open" } else { "" }
    );
    for outcome in outcomes {
        let measured = outcome.measured.map_or_else(|| "nothing".to_owned(), rounded);
        let _ = writeln!(
            text,
            "<tr{}><td>{}<td>{}<td>{measured}<td>{}<td>{}</tr>",
            if outcome.holds { "" } else { " class=\"fails\"" },
            escaped(&outcome.name),
            escaped(&outcome.expected),
            escaped(&outcome.unit),
            if outcome.holds { "yes" } else { "NO" }
        );
    }
    text + "</table></details>\n"
}

fn tables(log: &Log, analysis: &Analysis) -> Result<String, LogError> {
    let mut text =
        String::from("<h2>Every metric by condition</h2><p>Mean and 95 % interval.</p>\n");
    for metric in METRICS {
        let estimates = analysis.estimates(log, metric)?;
        if estimates.iter().all(Option::is_none) {
            continue;
        }
        let _ = writeln!(
            text,
            "<details><summary>{} ({})</summary><p>{}</p><table><tr><th>condition<th>mean<th>interval<th>{}s</tr>",
            words(metric.name),
            escaped(metric.unit),
            escaped(metric.help),
            escaped(&analysis.unit)
        );
        for (met, estimate) in analysis.conditions.iter().zip(&estimates) {
            let Some(Estimate { mean, interval, units }) = estimate else { continue };
            let interval = interval.map_or_else(
                || "-".to_owned(),
                |(low, high)| format!("{} to {}", rounded(low), rounded(high)),
            );
            let _ = writeln!(
                text,
                "<tr><td>{}<td>{}<td>{interval}<td>{units}</tr>",
                escaped(&met.label),
                rounded(*mean)
            );
        }
        text.push_str("</table></details>\n");
    }
    Ok(text)
}

/// Shots that were refused though the crosshair was on somebody, and hits on those behind cover.
const DOUBTFUL: &str = "FROM shot s JOIN trial t USING (trial) WHERE s.is_behind_cover OR (s.aimed IS NOT NULL AND \
                        s.hit IS NULL) ORDER BY s.trial, s.tick LIMIT ?1";

/// The trials whose doubtful shots a report lists, and that can be played again.
pub fn doubtful_trials(log: &Log) -> Result<Vec<u32>, LogError> {
    let sql = format!(
        "SELECT DISTINCT trial FROM (SELECT trial, t.is_virtual AS again {DOUBTFUL}) WHERE again"
    );
    let mut statement = log.connection.prepare(&sql)?;
    let trials = statement.query_map([DOUBTFUL_MAX as i64], |row| row.get(0))?;
    Ok(trials.collect::<rusqlite::Result<_>>()?)
}

fn doubtful(log: &Log, recordings: Option<&str>) -> Result<String, LogError> {
    let sql = format!(
        "SELECT s.trial, s.tick, s.player, s.rewound_ms, COALESCE(s.is_behind_cover, 0), t.is_virtual {DOUBTFUL}"
    );
    let mut statement = log.connection.prepare(&sql)?;
    let mut rows = statement.query([DOUBTFUL_MAX as i64])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let (trial, tick, player): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (rewound, behind, is_virtual): (f64, bool, bool) =
            (row.get(3)?, row.get(4)?, row.get(5)?);
        let what = match behind {
            true => "hit somebody who had reached cover on its own screen",
            false => "was refused, though the crosshair was on somebody",
        };
        let again = match (recordings, is_virtual) {
            (_, false) => "played over real sockets".to_owned(),
            (None, true) => {
                let database = escaped(&log.path().display().to_string());
                format!("<code>sametick lab replay {database} --trial {trial} --tick {tick}</code>")
            }
            (Some(folder), true) => {
                let file = escaped(&format!("{folder}/trial-{trial}.sametick"));
                format!(
                    "<a href=\"{file}\">recording</a>: <code>sametick replay {file} --seek {tick}</code>"
                )
            }
        };
        let _ = writeln!(
            text,
            "<tr><td>{trial}<td>{tick}<td>{player}<td>{what}<td>{}<td>{again}</tr>",
            rounded(rewound)
        );
    }
    if text.is_empty() {
        return Ok(text);
    }
    Ok(format!(
        "<h2>Doubtful shots</h2><p>The first {DOUBTFUL_MAX} at most; all are in the table <code>shot</code>.</p>\
         <details><summary>one by one</summary><table><tr><th>trial<th>tick<th>shooter<th>what<th>rewound ms\
         <th>see it again</tr>\n{text}</table></details>\n"
    ))
}

fn codebook() -> String {
    let mut text =
        String::from("<h2>Codebook</h2><details><summary>every column of the log</summary>\n");
    for table in TABLES {
        let _ = writeln!(text, "<h3>{}</h3><p>{}</p><table>", table.name, escaped(table.help));
        for (name, kind, help) in table.columns {
            let kind = kind.trim_end_matches('!').to_lowercase();
            let _ =
                writeln!(text, "<tr><td><code>{name}</code><td>{kind}<td>{}</tr>", escaped(help));
        }
        text.push_str("</table>\n");
    }
    text + "</details>\n"
}

/// Two logs side by side: each metric where both have it, as text.
pub fn compare(one: &Log, other: &Log) -> Result<String, LogError> {
    let (first, second) = (Analysis::new(one)?, Analysis::new(other)?);
    let mut text = String::new();
    for metric in METRICS.iter().filter(|metric| metric.name != "core_time") {
        let (ours, theirs) = (first.estimates(one, metric)?, second.estimates(other, metric)?);
        for (met, ours) in first.conditions.iter().zip(&ours) {
            let place = second.conditions.iter().position(|known| known.label == met.label);
            let theirs = place.and_then(|place| theirs[place]);
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let _ = writeln!(
                text,
                "{:<21} {:<40} {:>12} {:>12} {:>12} {}",
                metric.name,
                met.label,
                rounded(ours.mean),
                rounded(theirs.mean),
                signed(theirs.mean - ours.mean),
                metric.unit
            );
        }
    }
    if text.is_empty() {
        let (one, other) = (one.path().display(), other.path().display());
        return Err(LogError(format!("{one} and {other} have no condition in common")));
    }
    let head = format!(
        "{:<21} {:<40} {:>12} {:>12} {:>12}\n",
        "metric", "condition", "first", "second", "difference"
    );
    Ok(head + &text)
}

fn words(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get(..1).map(str::to_uppercase) {
        words.replace_range(..1, &first);
    }
    words
}

/// A factor with its unit.
fn titled(factor: &str) -> String {
    match unit_of(factor).trim() {
        "" => factor.to_owned(),
        unit => format!("{factor}, {unit}"),
    }
}

/// The unit of a factor's levels.
fn unit_of(factor: &str) -> &'static str {
    let name = factor.rsplit('.').next().unwrap_or(factor);
    settings::find(name).map_or("", |row| row.kind.unit())
}

fn shown(level: &Json) -> String {
    match level {
        Json::String(text) => text.clone(),
        Json::Number(number) => Plain(number.as_f64().unwrap_or(0.0)).to_string(),
        other => other.to_string(),
    }
}

/// Three figures or so.
pub(crate) fn rounded(number: f64) -> String {
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 0.1 => format!("{number:.3}"),
        _ => Plain((number * 1e5).round() / 1e5).to_string(),
    }
}

fn signed(number: f64) -> String {
    let sign = if number > 0.0 { "+" } else { "" };
    format!("{sign}{}", rounded(number))
}
