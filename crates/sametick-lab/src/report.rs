//! The report of a log: one page that needs no script and no network. The question, the answer, the figure, asked
//! against achieved; then everything else.

use crate::analysis::{Analysis, Estimate};
use crate::expectations::{Outcome, outcomes};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::log::{Log, LogError};
use crate::metrics;
use crate::people;
use crate::plot::escaped;
use crate::schema::TABLES;
use crate::settings;
use crate::value::Plain;
use sametick::lockstep::Setup;
use serde_json::Value as Json;
use std::fmt::Write;

/// How far what a line did may be from what was asked of it: milliseconds, and a share of them.
const DELAY_TOLERANCE: (f64, f64) = (1.0, 0.05);
/// How many doubtful shots are listed.
const DOUBTFUL_MAX: usize = 20;

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

/// The same, where recordings of the trials with doubtful shots lie in a folder beside the page, as `trial-N.sametick`,
/// and films of these shots ([`film`](crate::film)) as `trial-N-tick-T.html`.
pub fn report_with(log: &Log, command: &str, recordings: Option<&str>) -> Result<String, LogError> {
    let head = head(log)?;
    let analysis = Analysis::new(log)?;
    let quick: bool =
        log.connection.query_row("SELECT is_quick FROM experiment", [], |row| row.get(0))?;
    let experiment = Experiment::read_again(&head.config, quick).ok();
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
    let figures = figure.map(|figure| figure.apart(&analysis)).unwrap_or_default();
    if head.done < head.planned {
        let (done, planned) = (head.done, head.planned);
        let _ = writeln!(
            page,
            "<p class=\"answer\">Incomplete: {done} of {planned} trials are here.</p>"
        );
    }
    // What a staircase was made for is its answer.
    let mut answers = match &experiment {
        Some(experiment) if !log.codes()?.is_empty() => people::thresholds(log, experiment)?,
        _ => Vec::new(),
    };
    if answers.is_empty() {
        for figure in &figures {
            answers.extend(figure.answers(log, &analysis)?);
        }
    }
    for answer in answers {
        let _ = writeln!(page, "<p class=\"answer\">{}</p>", escaped(&answer));
    }
    page.push_str("<div class=\"first\"><div>");
    for figure in &figures {
        let plot = figure.plot(log, &analysis)?;
        if plot.series.iter().any(|series| !series.points.is_empty()) {
            let (picture, caption) = (plot.svg(), figure.caption(&plot, &analysis));
            let caption = escaped(&caption);
            let _ = writeln!(page, "<figure>{picture}<figcaption>{caption}</figcaption></figure>");
        }
    }
    let (verdict, lines) = asked(log)?;
    match &experiment {
        Some(experiment) if !log.codes()?.is_empty() => {
            page.push_str("</div></div>\n");
            page.push_str(&people::section(log, experiment)?);
        }
        _ => {
            let _ = write!(
                page,
                "</div><aside><h2>Did we get what we asked?</h2><p>{verdict}</p></aside></div>\n{lines}"
            );
        }
    }
    if let Some(experiment) = &experiment {
        page.push_str(&expected(&outcomes(experiment, log)?));
    }
    page.push_str(&this_run(log, &head, &analysis, command)?);
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

fn this_run(
    log: &Log,
    head: &Head,
    analysis: &Analysis,
    command: &str,
) -> Result<String, LogError> {
    let clock = if head.real > 0 { "over sockets, in real time" } else { "in virtual time" };
    let sql = "SELECT COUNT(*) FROM trial WHERE is_practice";
    let practice: i64 = log.connection.query_row(sql, [], |row| row.get(0))?;
    let left_out = match practice {
        0 => String::new(),
        practice => format!("Left out: {practice} trials, as practice. "),
    };
    Ok(format!(
        "<h2>This run</h2><p>{} trials that count of {}, {clock}, {} {}s, {} log rows dropped. {left_out}Build: {}. \
         Seed {}. Configuration {}. Run it again: <code>{}</code></p>\n",
        analysis.trials(),
        head.planned,
        analysis.units,
        escaped(&analysis.unit),
        head.dropped,
        escaped(&head.build),
        head.seed,
        escaped(&head.hash),
        escaped(command)
    ))
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

/// Whether lines were as asked, and each condition's. In lockstep a word goes up one player's line and down another's,
/// and is timed from end to end: there the mean of the others' other way is added to what was asked.
fn asked(log: &Log) -> Result<(String, String), LogError> {
    let locked: Vec<String> = Setup::ALL.iter().map(|(name, _)| format!("'{name}'")).collect();
    let sql = format!(
        "WITH a AS (SELECT t.condition, c.label, l.way, l.delay_ms, l.delay_ms_50, l.delay_ms_95, l.lost, l.packets, \
         l.asked_delay_ms + CASE WHEN k.is_locked THEN o.ms ELSE 0 END AS ms, \
         1 - (1 - l.asked_loss) * (1 - CASE WHEN k.is_locked THEN o.loss ELSE 0 END) AS loss \
         FROM line l JOIN trial t ON t.trial = l.trial JOIN condition c ON c.condition = t.condition \
         JOIN (SELECT condition, COALESCE(json_extract(settings, '$.model') IN ({}), 0) \
         AND COALESCE(json_extract(settings, '$.play'), 'match') IN ('match', 'scene') AS is_locked FROM condition) k \
         ON k.condition = c.condition \
         LEFT JOIN (SELECT m.trial, m.player, m.way, AVG(n.asked_delay_ms) AS ms, AVG(n.asked_loss) AS loss \
         FROM line m JOIN line n ON n.trial = m.trial AND n.player <> m.player AND n.way <> m.way \
         GROUP BY m.trial, m.player, m.way) o ON o.trial = l.trial AND o.player = l.player AND o.way = l.way) \
         SELECT label, way, AVG(ms), AVG(delay_ms), AVG(delay_ms_50), AVG(delay_ms_95), 100.0 * AVG(loss), \
         100.0 * SUM(lost) / SUM(packets), SUM(ABS(delay_ms - ms) > ?1 + ?2 * ms), COUNT(*) \
         FROM a GROUP BY condition, way ORDER BY condition, way DESC",
        locked.join(", ")
    );
    let mut text = String::from(
        "<table><tr><th>condition<th>way<th>asked ms<th>achieved ms<th>median\
         <th>95th<th>loss asked %<th>achieved %<th>lines outside tolerance</tr>\n",
    );
    let (mut off, mut all) = (0_i64, 0_i64);
    let mut statement = log.connection.prepare(&sql)?;
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
        0 => format!("Yes: every line of {all} was within 1 ms and 5 % of what was asked."),
        off => format!("{off} of {all} lines were not within 1 ms and 5 % of what was asked."),
    };
    if all == 0 {
        return Ok((verdict, String::new()));
    }
    let is_open = if all > OPEN_MAX { "" } else { " open" };
    let lines = format!(
        "<details{is_open}><summary>asked and achieved, by condition</summary>{text}</table></details>\n"
    );
    Ok((verdict, lines))
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
    let mut text = format!(
        "<h2>Every metric by condition</h2><p>Mean and 95 % interval. {}</p>\n",
        analysis.how()
    );
    for metric in metrics::of(&log.connection)? {
        let estimates = analysis.estimates(log, metric)?;
        if estimates.iter().all(Option::is_none) {
            continue;
        }
        let _ = writeln!(
            text,
            "<details><summary>{} ({})</summary><p>{}</p><table><tr><th>condition<th>mean<th>interval<th>{}s</tr>",
            words(metric.name),
            escaped(metric.unit),
            escaped(&metric.meaning(&log.connection)?),
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
                        s.hit IS NULL AND s.target IS NULL) ORDER BY s.trial, s.tick LIMIT ?1";

/// The trials and ticks of all doubtful shots that a report lists.
pub fn doubtful_shots(log: &Log) -> Result<Vec<(u32, u32)>, LogError> {
    let sql = format!("SELECT DISTINCT trial, tick FROM (SELECT s.trial, s.tick {DOUBTFUL})");
    let mut statement = log.connection.prepare(&sql)?;
    let shots = statement.query_map([DOUBTFUL_MAX as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(shots.collect::<rusqlite::Result<_>>()?)
}

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
    let are_people = !log.codes()?.is_empty();
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let (trial, tick, player): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (rewound, behind, is_virtual): (f64, bool, bool) =
            (row.get(3)?, row.get(4)?, row.get(5)?);
        let what = match behind {
            true => "hit somebody who had reached cover on its own screen",
            false => "was refused, though the crosshair was on somebody",
        };
        // What people played is kept as it was; else only what ran in virtual time can be played again.
        let again = match (recordings, is_virtual || are_people) {
            (_, false) => "played over real sockets".to_owned(),
            (None, true) => {
                let database = escaped(&log.path().display().to_string());
                format!("<code>sametick lab replay {database} --trial {trial} --tick {tick}</code>")
            }
            (Some(folder), true) => {
                let (folder, name) = (escaped(folder), format!("trial-{trial}"));
                format!(
                    "<a href=\"{folder}/{name}-tick-{tick}.html\">as both saw it</a>, \
                     <a href=\"{folder}/{name}.sametick\">recording</a>: \
                     <code>sametick replay {folder}/{name}.sametick --seek {tick}</code>"
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

pub(crate) fn words(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get(..1).map(str::to_uppercase) {
        words.replace_range(..1, &first);
    }
    words
}

/// A factor with its unit.
pub(crate) fn titled(factor: &str) -> String {
    match unit_of(factor).trim() {
        "" => factor.to_owned(),
        unit => format!("{factor}, {unit}"),
    }
}

/// The unit of a factor's levels.
pub(crate) fn unit_of(factor: &str) -> &'static str {
    let name = factor.rsplit('.').next().unwrap_or(factor);
    settings::find(name).map_or("", |row| row.kind.unit())
}

pub(crate) fn shown(level: &Json) -> String {
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

pub(crate) fn signed(number: f64) -> String {
    let sign = if number > 0.0 { "+" } else { "" };
    format!("{sign}{}", rounded(number))
}
