//! The report's part on people: who took part, what lines and pages did, what was left out, what was answered.

use super::event::{Event, EventKind};
use super::exclude::excluded;
use super::live::words;
use super::roles;
use super::stairs::Stairs;
use super::study::Study;
use super::table::{People, QuestionKind};
use super::track;
use crate::analysis::{Analysis, estimate};
use crate::experiment::Experiment;
use crate::log::{Log, LogError};
use crate::metrics;
use crate::plan::Plan;
use crate::plot::escaped;
use crate::report::titled;
use crate::value::Plain;
use rusqlite::Row;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many flags, answers in words and attempts are listed.
const LISTED_MAX: usize = 200;

/// How many staircases are drawn.
const TRACKS_MAX: usize = 60;

/// What a log says of people, for the report.
pub(crate) fn section(log: &Log, experiment: &Experiment) -> Result<String, LogError> {
    let Some(people) = &experiment.people else { return Ok(String::new()) };
    let mut page = String::new();
    page.push_str(&achieved(log, people)?);
    page.push_str(&left_out(log)?);
    page.push_str(&flagged(log)?);
    page.push_str(&taking_part(log, people)?);
    page.push_str(&acts(log, people)?);
    page.push_str(&told_apart(log, people)?);
    page.push_str(&climbs(log, experiment, people)?);
    page.push_str(&roles::section(log, people)?);
    page.push_str(&answers(log, people)?);
    Ok(page)
}

/// Rows of a question to the log, each as cells of a table.
fn rows(
    log: &Log,
    sql: &str,
    cells: &dyn Fn(&Row<'_>) -> rusqlite::Result<Vec<String>>,
) -> Result<Vec<Vec<String>>, LogError> {
    let mut statement = log.connection.prepare(sql)?;
    let rows = statement.query_map([], |row| cells(row))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("<table><tr><th>{}</tr>\n", heads.join("<th>"));
    for row in rows.iter().take(LISTED_MAX) {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "<tr><td>{}</tr>", cells.join("<td>"));
    }
    text.push_str("</table>\n");
    if rows.len() > LISTED_MAX {
        let _ = writeln!(text, "<p>And {} more.</p>", rows.len() - LISTED_MAX);
    }
    text
}

pub(super) fn number(number: Option<f64>) -> String {
    number.map_or_else(
        || "-".to_owned(),
        |number| Plain((number * 100.0).round() / 100.0).to_string(),
    )
}

fn seat(number: u32) -> String {
    format!("P{number:02}")
}

/// Asked against achieved, by condition: what pages had in all, as the server measured it.
fn achieved(log: &Log, people: &People) -> Result<String, LogError> {
    let each = "WITH e AS (SELECT t.condition, s.trial, s.seat, s.asked_ms, s.asked_loss, y.ping_ms, y.loss, \
                PERCENT_RANK() OVER (PARTITION BY t.condition, s.asked_ms, s.asked_loss ORDER BY y.ping_ms) AS rank \
                FROM sitting s JOIN trial t ON t.trial = s.trial \
                JOIN figure f ON f.trial = s.trial AND f.name = 'attempt' \
                JOIN telemetry y ON y.trial = s.trial AND y.seat = s.seat AND y.attempt = f.value \
                WHERE y.ping_ms IS NOT NULL) ";
    let sql = format!(
        "{each} SELECT c.label, e.asked_ms, MAX(CASE WHEN rank <= 0.5 THEN ping_ms END), \
         MAX(CASE WHEN rank <= 0.95 THEN ping_ms END), 100.0 * e.asked_loss, 100.0 * AVG(e.loss), \
         COUNT(DISTINCT e.trial * 100000 + e.seat) FROM e JOIN condition c ON c.condition = e.condition \
         GROUP BY e.condition, e.asked_ms, e.asked_loss ORDER BY e.condition, e.asked_ms, e.asked_loss"
    );
    let found = rows(log, &sql, &|row| {
        Ok(vec![
            row.get(0)?,
            number(row.get(1)?),
            number(row.get(2)?),
            number(row.get(3)?),
            number(row.get(4)?),
            number(row.get(5)?),
            row.get::<_, i64>(6)?.to_string(),
        ])
    })?;
    let sql = "SELECT COUNT(*), (SELECT COUNT(*) FROM sitting s WHERE EXISTS (SELECT 1 FROM trial_flag f \
               WHERE f.trial = s.trial AND f.seat = s.seat AND f.flag IN ('ping', 'loss'))) FROM sitting";
    let (all, off): (i64, i64) =
        log.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tolerance =
        format!("{} ms and {} %", Plain(people.tolerance_ms), Plain(people.tolerance_loss));
    let verdict = match off {
        0 if all == 0 => "Nobody has played yet.".to_owned(),
        0 => format!("Yes: every line was within {tolerance} of what was asked."),
        off => format!("{off} of {all} lines were not within {tolerance} of what was asked."),
    };
    let heads = [
        "condition",
        "asked ms",
        "achieved ms, median",
        "95th",
        "loss asked %",
        "achieved %",
        "lines",
    ];
    Ok(format!("<h2>Did we get what we asked?</h2><p>{verdict}</p>{}", table(&heads, &found)))
}

fn left_out(log: &Log) -> Result<String, LogError> {
    let all = excluded(log)?;
    let found: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let what = if one.is_participant { "participant" } else { "trial" };
            vec![format!("{what} {}", one.number), one.rule.clone(), one.reason.clone()]
        })
        .collect();
    let said = match found.len() {
        0 => "Nothing was left out.".to_owned(),
        count => format!("{count} left out by rule."),
    };
    let table =
        if found.is_empty() { String::new() } else { table(&["what", "rule", "reason"], &found) };
    Ok(format!("<h2>Exclusions</h2><p>{said}</p>{table}"))
}

fn flagged(log: &Log) -> Result<String, LogError> {
    let sql = "SELECT f.trial, f.seat, f.flag, f.detail FROM trial_flag f ORDER BY f.trial, f.seat, f.flag";
    let found = rows(log, sql, &|row| {
        let who: u32 = row.get(1)?;
        let who = if who == 0 { "all".to_owned() } else { seat(who) };
        Ok(vec![row.get::<_, u32>(0)?.to_string(), who, row.get(2)?, row.get(3)?])
    })?;
    if found.is_empty() {
        return Ok("<h2>Flags</h2><p>No trial is flagged.</p>\n".to_owned());
    }
    let mut trials: Vec<&String> = found.iter().map(|row| &row[0]).collect();
    trials.dedup();
    let (count, table) = (trials.len(), table(&["trial", "seat", "flag", "in words"], &found));
    Ok(format!(
        "<h2>Flags</h2><p>{count} trials are flagged; a flag alone leaves nothing out.</p>\
         <details><summary>one by one</summary>{table}</details>\n"
    ))
}

/// Who took part, on what, and how many attempts it took.
fn taking_part(log: &Log, people: &People) -> Result<String, LogError> {
    // A link that is opened once more somewhere else says nothing of where was played.
    let sql = "WITH p AS (SELECT json_extract(detail, '$.group') AS participant, MAX(number) AS last FROM event \
               WHERE kind = 'finished' GROUP BY 1), \
               c AS (SELECT e.seat, MAX(e.number) AS number FROM event e JOIN seat s ON s.seat = e.seat \
               LEFT JOIN p ON p.participant = s.participant \
               WHERE e.kind = 'calibrated' AND e.number < COALESCE(p.last, e.number + 1) GROUP BY e.seat) \
               SELECT s.seat, s.participant, json_extract(e.detail, '$.floor_ms'), \
               json_extract(e.detail, '$.refresh_hz'), json_extract(e.detail, '$.width'), \
               json_extract(e.detail, '$.height'), json_extract(e.detail, '$.road'), \
               (SELECT COUNT(*) FROM sitting i JOIN trial t ON t.trial = i.trial WHERE i.seat = s.seat), \
               EXISTS (SELECT 1 FROM event d WHERE d.seat = s.seat AND d.kind = 'declined' AND NOT EXISTS \
               (SELECT 1 FROM event f WHERE f.kind = 'freed' AND f.number > d.number \
               AND json_extract(f.detail, '$.seat') = d.seat)) \
               FROM seat s LEFT JOIN c ON c.seat = s.seat LEFT JOIN event e ON e.number = c.number ORDER BY s.seat";
    let found = rows(log, sql, &|row| {
        let size = match (row.get::<_, Option<i64>>(4)?, row.get::<_, Option<i64>>(5)?) {
            (Some(width), Some(height)) => format!("{width} x {height}"),
            _ => "-".to_owned(),
        };
        Ok(vec![
            seat(row.get(0)?),
            row.get::<_, i64>(1)?.to_string(),
            number(row.get(2)?),
            number(row.get(3)?),
            size,
            row.get::<_, Option<String>>(6)?.unwrap_or_default(),
            row.get::<_, i64>(7)?.to_string(),
            if row.get::<_, bool>(8)? { "withdrew" } else { "" }.to_owned(),
        ])
    })?;
    let played = found.iter().filter(|row| row[7].is_empty() && row[6] != "0").count();
    let broken: i64 =
        log.connection
            .query_row("SELECT COUNT(*) FROM event WHERE kind = 'broken'", [], |r| r.get(0))?;
    let unit =
        if people.group > 1 { "Intervals resample groups, who depend on each other. " } else { "" };
    let heads = ["seat", "group", "floor ms", "display Hz", "page", "road", "trials played", ""];
    Ok(format!(
        "<h2>Participants</h2><p>{played} of {} seats took part. {broken} attempts were broken off and played again. \
         {unit}</p><details><summary>one by one</summary>{}</details>\n",
        found.len(),
        table(&heads, &found)
    ))
}

/// What the experimenter did and why, and what was broken off: the history that numbers alone do not tell.
fn acts(log: &Log, people: &People) -> Result<String, LogError> {
    let is_told = |event: &Event| {
        event.kind.is_experimenters() || matches!(event.kind, EventKind::Broken { .. })
    };
    let events: Vec<Event> = log.events()?.into_iter().filter(is_told).collect();
    let Some(first) = events.first().map(|event| event.at_ms) else { return Ok(String::new()) };
    let cells = |event: &Event| {
        let minutes = event.at_ms.saturating_sub(first) as f64 / 60_000.0;
        vec![format!("{minutes:.1}"), words(event, people.group)]
    };
    let found: Vec<Vec<String>> = events.iter().map(cells).collect();
    Ok(format!(
        "<h2>Interventions</h2><p>What the experimenter did and why, and what was broken off.</p>\
         <details><summary>one by one</summary>{}</details>\n",
        table(&["minutes from the first", "what, and why"], &found)
    ))
}

/// Of two intervals, how often the one was named that was different.
fn told_apart(log: &Log, people: &People) -> Result<String, LogError> {
    let (Some(_), Some(metric)) = (&people.intervals, metrics::find("told_apart")) else {
        return Ok(String::new());
    };
    let analysis = Analysis::new(log)?;
    let estimates = analysis.estimates(log, metric)?;
    let found: Vec<Vec<String>> = analysis
        .conditions
        .iter()
        .zip(estimates)
        .filter_map(|(met, estimate)| {
            let estimate = estimate?;
            let (low, high) = estimate.interval.unzip();
            let units = estimate.units.to_string();
            Some(vec![
                met.label.clone(),
                number(Some(estimate.mean)),
                number(low),
                number(high),
                units,
            ])
        })
        .collect();
    let heads = ["condition", "told apart %", "from", "to", "participants"];
    Ok(format!(
        "<h2>Two intervals</h2><p>How often the round was named that did not have the standard setting; 50 % is \
         chance.</p>{}",
        table(&heads, &found)
    ))
}

/// A staircase that somebody was on.
struct Climbed {
    group: u32,
    condition: String,
    stairs: Stairs,
    is_left_out: bool,
}

/// All staircases of a log, by the study folded again.
fn climbed(log: &Log, experiment: &Experiment) -> Result<Vec<Climbed>, LogError> {
    let plan = Plan::new(experiment).map_err(|wrong| LogError(wrong.to_string()))?;
    let mut study = Study::new(experiment, &plan, log.codes()?).map_err(LogError)?;
    for event in log.events()? {
        study.apply(&event).map_err(|refusal| LogError(refusal.to_string()))?;
    }
    let left_out = excluded(log)?;
    let mut all = Vec::new();
    for group in 1..=experiment.participants {
        let is_left_out = left_out.iter().any(|one| one.is_participant && one.number == group);
        all.extend(study.stairs(group).into_iter().flatten().map(|(condition, stairs)| Climbed {
            group,
            condition: plan.conditions[*condition].label.clone(),
            stairs: stairs.clone(),
            is_left_out,
        }));
    }
    Ok(all)
}

/// The thresholds of an experiment with staircases, a sentence for each condition: its answer. Nothing without.
pub(crate) fn thresholds(log: &Log, experiment: &Experiment) -> Result<Vec<String>, LogError> {
    let staircase = experiment.people.as_ref().and_then(|people| people.staircase.as_ref());
    let Some(staircase) = staircase else { return Ok(Vec::new()) };
    let (mut by_condition, all) = (BTreeMap::<&str, Vec<f64>>::new(), climbed(log, experiment)?);
    for one in &all {
        let found = by_condition.entry(&one.condition).or_default();
        found.extend(one.stairs.threshold(staircase).filter(|_| !one.is_left_out));
    }
    let (name, unit) =
        (crate::report::words(&staircase.setting.name()), staircase.row().kind.unit());
    let several = by_condition.len() > 1;
    let sentence = |(condition, numbers): (&str, Vec<f64>)| {
        let head = match several {
            true => format!("{name}, {condition}"),
            false => name.clone(),
        };
        let Some(estimate) = estimate(&numbers) else {
            return format!("{head}: no threshold, no staircase turned often enough.");
        };
        let interval = match estimate.interval {
            Some((low, high)) => {
                format!(", 95 % interval {} to {}", number(Some(low)), number(Some(high)))
            }
            None => ", without an interval".to_owned(),
        };
        let (mean, units) = (number(Some(estimate.mean)), estimate.units);
        let people = if units == 1 { "participant" } else { "participants" };
        format!("{head}: threshold {mean}{unit}{interval}, {units} {people}.")
    };
    Ok(by_condition.into_iter().map(sentence).collect())
}

/// Staircases as they were climbed: pictures and a table.
fn climbs(log: &Log, experiment: &Experiment, people: &People) -> Result<String, LogError> {
    let Some(staircase) = &people.staircase else { return Ok(String::new()) };
    let (all, level) = (climbed(log, experiment)?, titled(&staircase.setting.name()));
    let is_one = all.iter().all(|one| one.condition == all[0].condition);
    let (mut tracks, mut found) = (Vec::new(), Vec::new());
    for Climbed { group, condition, stairs, is_left_out } in &all {
        if !stairs.steps.is_empty() {
            let out = if *is_left_out { ", left out" } else { "" };
            let of = if is_one { String::new() } else { format!(", {condition}") };
            let title = format!("Participant {group}{of}{out}");
            tracks.push(track::svg(stairs, staircase, &title, &level));
        }
        found.push(vec![
            group.to_string(),
            condition.clone(),
            number(stairs.threshold(staircase)),
            stairs.steps.len().to_string(),
            stairs.reversals(staircase).len().to_string(),
            stairs.at_ends(staircase).to_string(),
            if *is_left_out { "left out" } else { "" }.to_owned(),
        ]);
    }
    let mut text = format!("<h2>Thresholds of {}</h2>\n", escaped(&staircase.setting.name()));
    let more = match tracks.len().saturating_sub(TRACKS_MAX) {
        0 => String::new(),
        more => format!(" {more} more are not drawn."),
    };
    if !tracks.is_empty() {
        tracks.truncate(TRACKS_MAX);
        let _ = writeln!(
            text,
            "<figure><div class=\"tracks\">{}</div><figcaption>{}{more}</figcaption></figure>",
            tracks.concat(),
            track::CAPTION
        );
    }
    let ends = "trials at the least or the most";
    let heads = ["participant", "condition", "threshold", "trials", "reversals", ends, ""];
    Ok(format!("{text}<details><summary>one by one</summary>{}</details>\n", table(&heads, &found)))
}

/// What was answered: options by condition, words one by one.
fn answers(log: &Log, people: &People) -> Result<String, LogError> {
    let mut text = String::new();
    for (number, question) in (1..).zip(&people.questions) {
        let in_words = question.kind == QuestionKind::Text;
        let found =
            if in_words { said(log, number)? } else { chosen(log, number, &question.options)? };
        if found.is_empty() {
            continue;
        }
        let mut heads = vec!["condition"];
        match in_words {
            true => heads.extend(["seat", "answer"]),
            false => heads.extend(question.options.iter().map(String::as_str)),
        }
        let heads: Vec<String> = heads.into_iter().map(escaped).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let _ = writeln!(
            text,
            "<details><summary>{}</summary>{}</details>",
            escaped(&question.ask),
            table(&heads, &found)
        );
    }
    Ok(if text.is_empty() { text } else { format!("<h2>Answers</h2>\n{text}") })
}

const OF_TRIAL: &str = "FROM question q LEFT JOIN trial t ON t.trial = q.trial AND q.after = 'trial' \
                        LEFT JOIN condition c ON c.condition = t.condition \
                        WHERE COALESCE(t.is_practice, 0) = 0 AND q.answer <> ''";

fn said(log: &Log, number: u32) -> Result<Vec<Vec<String>>, LogError> {
    let sql = format!(
        "SELECT COALESCE(c.label, '-'), q.seat, q.answer {OF_TRIAL} AND q.ordinal = {number} ORDER BY q.trial, q.seat"
    );
    rows(log, &sql, &|row| Ok(vec![row.get(0)?, seat(row.get(1)?), row.get(2)?]))
}

/// How often each option was chosen.
fn chosen(log: &Log, number: u32, options: &[String]) -> Result<Vec<Vec<String>>, LogError> {
    let sql = format!(
        "SELECT COALESCE(c.label, '-'), q.answer, COUNT(*) {OF_TRIAL} AND q.ordinal = {number} \
         GROUP BY t.condition, q.answer ORDER BY t.condition"
    );
    let found = rows(log, &sql, &|row| {
        Ok(vec![row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.to_string()])
    })?;
    let mut by_condition: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for row in found {
        let [condition, answer, count] = [0, 1, 2].map(|at| row[at].clone());
        if by_condition.last().is_none_or(|(known, _)| *known != condition) {
            by_condition.push((condition, BTreeMap::new()));
        }
        if let Some((_, counts)) = by_condition.last_mut() {
            counts.insert(answer, count);
        }
    }
    let line = |(condition, counts): (String, BTreeMap<String, String>)| {
        let count = |option: &String| counts.get(option).cloned().unwrap_or_else(|| "0".to_owned());
        [condition].into_iter().chain(options.iter().map(count)).collect()
    };
    Ok(by_condition.into_iter().map(line).collect())
}
