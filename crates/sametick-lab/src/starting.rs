//! The file that `lab new` writes, and the tables of settings and metrics as text.

use crate::metrics;
use crate::settings::{Otherwise, SETTINGS, Scope};
use std::fmt::Write;

const BEGINNING: &str = include_str!("starting.toml");
const PEOPLE: &str = include_str!("starting_people.toml");

/// A file to begin with: it runs as it is, and names every setting.
///
/// ```
/// use sametick_lab::{Experiment, starting_file};
/// assert!(Experiment::read(&starting_file(), ".".as_ref(), false).is_ok());
/// ```
pub fn starting_file() -> String {
    with_settings(BEGINNING)
}

/// The same for a study with people.
///
/// ```
/// use sametick_lab::{Experiment, Plan, starting_file_for_people};
/// let experiment = Experiment::read(&starting_file_for_people(), ".".as_ref(), false)?;
/// assert!(experiment.people.is_some() && Plan::new(&experiment).is_ok());
/// # Ok::<(), sametick_lab::Wrong>(())
/// ```
pub fn starting_file_for_people() -> String {
    with_settings(PEOPLE)
}

fn with_settings(beginning: &str) -> String {
    let mut text = beginning.to_owned();
    text.push_str("\n# Every setting, with its default; they stand under [settings], [factors], [[condition]],\n");
    text.push_str(
        "# [[session]] and [[session.trial]]. Those marked * may differ by player: player.1.ping = \
        \"50 ms\".\n",
    );
    for row in SETTINGS {
        let mark = if row.scope == Scope::Trial { "" } else { " *" };
        let _ = writeln!(
            text,
            "#   {:<14} {:<14} {}{mark}",
            row.name,
            default_of(row.default, row.kind.unit()),
            row.help
        );
    }
    text
}

fn default_of(default: Otherwise, unit: &str) -> String {
    match default {
        Otherwise::Unsaid => "-".to_owned(),
        Otherwise::Number(number) if unit.is_empty() => format!("{}", crate::value::Plain(number)),
        Otherwise::Number(number) => format!("\"{}{unit}\"", crate::value::Plain(number)),
        Otherwise::Text(text) => format!("\"{text}\""),
        Otherwise::Flag(flag) => flag.to_string(),
    }
}

/// All settings as a table for a document.
pub fn settings_table() -> String {
    let mut text = String::from(
        "| setting | default | whose | what it may be | meaning |\n|---|---|---|---|---|\n",
    );
    for row in SETTINGS {
        let whose = match row.scope {
            Scope::Trial => "trial",
            Scope::Player => "player",
            Scope::Line => "player's line",
        };
        let (name, default) = (row.name, default_of(row.default, row.kind.unit()));
        let _ = writeln!(
            text,
            "| `{name}` | {default} | {whose} | {} | {} |",
            row.kind.words(),
            row.help
        );
    }
    text
}

/// All metrics as a table for a document.
pub fn metrics_table() -> String {
    let mut text = String::from("| metric | unit | meaning |\n|---|---|---|\n");
    for metric in metrics::documented() {
        let _ = writeln!(text, "| `{}` | {} | {} |", metric.name, metric.unit, metric.help);
    }
    text
}
