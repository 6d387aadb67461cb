//! The config file: each of its keys is an option of the command line, with the same meaning, the same default and
//! the same checks. What is wrong with it is told with its line and column.

use crate::content::position;
use anyhow::{Context, anyhow};
use clap::{Arg, Command};
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Options that make no sense in a file.
const NOT_KEYS: [&str; 5] = ["config", "print-config", "json", "help", "version"];

/// The options of a file, as words of a command line.
pub(crate) fn arguments(path: &Path, command: &Command) -> anyhow::Result<Vec<OsString>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the config file {}", path.display()))?;
    read(&text, command).map_err(|(at, wrong)| {
        let (line, column) = position(text.as_bytes(), at.start);
        anyhow!("{}, line {line}, column {column}: {wrong}", path.display())
    })
}

/// What is wrong, and where.
type Wrong = (Range<usize>, String);

fn read(text: &str, command: &Command) -> Result<Vec<OsString>, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let wrong = error.message().replace('\n', ", ");
        (error.span().unwrap_or(0..0), wrong)
    })?;
    let mut arguments = Vec::new();
    for (key, value) in table.get_ref() {
        let name: &str = key.get_ref();
        if !keys(command).any(|(known, _)| known == name) {
            return Err((key.span(), unknown(name, command)));
        }
        let value_text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            DeValue::Float(number) => number.as_str().replace('_', ""),
            DeValue::Boolean(is_so) => is_so.to_string(),
            _ => {
                return Err((
                    value.span(),
                    format!("`{name}` is one number or one text in quotes"),
                ));
            }
        };
        let argument = OsString::from(format!("--{name}={value_text}"));
        // Checked on its own, so that it is known which one is wrong.
        if let Err(error) = command.clone().try_get_matches_from([&argument]) {
            return Err((value.span(), crate::one_line(&error)));
        }
        arguments.push(argument);
    }
    Ok(arguments)
}

/// The options that may stand in a file, by name.
fn keys(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let named = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(name, _)| !NOT_KEYS.contains(name))
}

fn unknown(name: &str, command: &Command) -> String {
    let nearest = keys(command).map(|(known, _)| (distance(name, known), known)).min();
    match nearest {
        // Further away it is no slip of the finger.
        Some((off, known)) if off <= 1 + known.len() / 3 => {
            format!("there is no option `{name}`: did you mean `{known}`?")
        }
        _ => {
            let all: Vec<&str> = keys(command).map(|(known, _)| known).collect();
            format!("there is no option `{name}`: there are {}", all.join(", "))
        }
    }
}

/// How many letters must be added, left out or changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, against) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

/// A file with every option, its meaning and its default.
pub(crate) fn template(command: &Command) -> String {
    let mut text = String::from(
        "# Options of `sametick serve`. Those with a default show it; the others are commented out.\n\
         # What is given on the command line goes before what stands here.\n",
    );
    for (name, arg) in keys(command) {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        text += &format!("\n# {help}.\n");
        let possible = arg.get_possible_values();
        if !possible.is_empty() {
            let names: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
            text += &format!("# One of {}.\n", names.join(", "));
        }
        let default = arg.get_default_values().first().map(|value| value.to_string_lossy());
        match default {
            Some(value) if value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() => {
                text += &format!("{name} = {value}\n");
            }
            Some(value) => text += &format!("{name} = \"{value}\"\n"),
            None => text += &format!("# {name} = {}\n", example(name)),
        }
    }
    text
}

/// What a value without a default may look like.
fn example(name: &str) -> &'static str {
    match name {
        "also" => "\"corners,field\"",
        "minutes" => "60",
        "metrics" => "\"127.0.0.1:9100\"",
        "record" => "\"match.sametick\"",
        "page" | "webtransport" => "\"0.0.0.0:4080\"",
        "cert" => "\"certificate.pem\"",
        "key" => "\"certificate.key\"",
        "origin" => "\"https://game.example.org\"",
        _ => "\"server.key\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Alone;
    use clap::CommandFactory;

    fn fails(text: &str) -> (String, String) {
        let (at, wrong) = read(text, &Alone::command()).unwrap_err();
        (text[at].to_owned(), wrong)
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest() {
        let (at, wrong) = fails("map = \"halls\"\ntickrate = 60\n");
        assert_eq!(at, "tickrate");
        assert_eq!(wrong, "there is no option `tickrate`: did you mean `tick-rate`?");
        let (_, wrong) = fails("snapshot_rate = 60\n");
        assert!(wrong.ends_with("did you mean `snapshot-rate`?"), "{wrong}");
        let (_, wrong) = fails("gravity-of-the-situation = 9.81\n");
        assert!(wrong.contains("there are address, map, mode"), "{wrong}");
        // Not from a file, though it is an option.
        assert!(fails("json = true\n").1.starts_with("there is no option `json`"));
    }

    #[test]
    fn values_are_checked_as_on_the_command_line() {
        for (text, at, words) in [
            ("tick-rate = 5", "5", "20..=1000"),
            ("mode = \"rugby\"", "\"rugby\"", "ffa, tdm, duel, targets"),
            ("address = \"everywhere\"", "\"everywhere\"", "ADDRESS:PORT"),
            ("bots = [1, 2]", "[1, 2]", "one number or one text"),
            ("bots = -1", "-1", "invalid"),
        ] {
            let (found, wrong) = fails(text);
            assert_eq!(found, at, "{text}");
            assert!(wrong.contains(words), "{text}: {wrong}");
            assert!(!wrong.contains('\n'), "{wrong}");
        }
    }

    #[test]
    fn the_printed_file_is_the_default() {
        let command = Alone::command();
        let text = template(&command);
        let arguments = read(&text, &command).unwrap();
        let with_defaults = keys(&command).filter(|(_, arg)| !arg.get_default_values().is_empty());
        assert_eq!(arguments.len(), with_defaults.count());
        // And so is each commented line, once it counts.
        let all: String = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(read(&all, &command).unwrap().len(), keys(&command).count(), "{all}");
    }

    #[test]
    fn distances_are_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("tickrate", "tick-rate"), 1);
        assert_eq!(distance("abc", "acb"), 2);
    }
}
