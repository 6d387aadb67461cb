//! What each role did in each condition, for the report: the same seats play both, so it is a role's, not a person's.

use super::report::{number, table};
use super::table::People;
use crate::analysis::{Analysis, estimate};
use crate::log::{Log, LogError};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is measured of a role: its name, its unit, and a query with the trial, the role and the number of each sitting.
const MEASURED: [(&str, &str, &str); 5] = [
    (
        "kills",
        "1/min",
        "SELECT s.trial, s.role, p.kills * 60000.0 / t.duration_ms FROM sitting s JOIN trial t USING (trial) \
         JOIN player p ON p.trial = s.trial AND p.player = s.player",
    ),
    (
        "deaths",
        "1/min",
        "SELECT s.trial, s.role, p.deaths * 60000.0 / t.duration_ms FROM sitting s JOIN trial t USING (trial) \
         JOIN player p ON p.trial = s.trial AND p.player = s.player",
    ),
    (
        "shots",
        "1/min",
        "SELECT s.trial, s.role, (SELECT COUNT(*) FROM shot h WHERE h.trial = s.trial AND h.player = s.player) \
         * 60000.0 / t.duration_ms FROM sitting s JOIN trial t USING (trial)",
    ),
    (
        "accuracy",
        "%",
        "SELECT s.trial, s.role, 100.0 * AVG(COALESCE(h.hit, h.target) IS NOT NULL) FROM sitting s JOIN shot h \
         ON h.trial = s.trial AND h.player = s.player GROUP BY s.trial, s.seat",
    ),
    (
        "rating",
        "points",
        "SELECT s.trial, s.role, CAST(q.answer AS REAL) FROM sitting s JOIN question q ON q.trial = s.trial \
         AND q.seat = s.seat WHERE q.answer <> '' AND q.after = 'trial' AND q.kind = 'rating' AND q.ordinal = \
         (SELECT MIN(ordinal) FROM question WHERE after = 'trial' AND kind = 'rating')",
    ),
];

/// A table for all that is measured of roles; nothing if there are none.
pub(super) fn section(log: &Log, people: &People) -> Result<String, LogError> {
    if people.roles.is_empty() {
        return Ok(String::new());
    }
    let analysis = Analysis::new(log)?;
    let mut text = String::from(
        "<h2>By role</h2><p>Mean and 95 % interval over groups, of the trials that count.</p>\n",
    );
    for (name, unit, sql) in MEASURED {
        let found = means(log, &analysis, sql)?;
        if found.is_empty() {
            continue;
        }
        let mut rows = Vec::new();
        for (condition, met) in analysis.conditions.iter().enumerate() {
            for role in &people.roles {
                let units = found.get(&(condition, role.clone()));
                let Some(estimate) = units.and_then(|units| estimate(units)) else { continue };
                let (low, high) = estimate.interval.unzip();
                rows.push(vec![
                    met.label.clone(),
                    role.clone(),
                    number(Some(estimate.mean)),
                    number(low),
                    number(high),
                    estimate.units.to_string(),
                ]);
            }
        }
        let heads = ["condition", "role", "mean", "from", "to", "groups"];
        let _ = writeln!(
            text,
            "<details open><summary>{name} ({unit})</summary>{}</details>",
            table(&heads, &rows)
        );
    }
    Ok(text)
}

/// By condition and role: each unit's mean.
fn means(
    log: &Log,
    analysis: &Analysis,
    sql: &str,
) -> Result<BTreeMap<(usize, String), Vec<f64>>, LogError> {
    let mut sums: BTreeMap<(usize, String), BTreeMap<u32, (f64, f64)>> = BTreeMap::new();
    let mut statement = log.connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let role: Option<String> = row.get(1)?;
        let said: Option<f64> = row.get(2)?;
        let (Some((condition, unit)), Some(role), Some(number)) =
            (analysis.place_of(row.get(0)?), role, said)
        else {
            continue;
        };
        let sum = sums.entry((condition, role)).or_default().entry(unit).or_insert((0.0, 0.0));
        *sum = (sum.0 + number, sum.1 + 1.0);
    }
    let mean = |units: BTreeMap<u32, (f64, f64)>| {
        units.into_values().map(|(sum, count)| sum / count).collect()
    };
    Ok(sums.into_iter().map(|(key, units)| (key, mean(units))).collect())
}
