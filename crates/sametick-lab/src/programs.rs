//! Programs of the experimenter's own, run when sessions and trials begin and end.

use crate::plan::Trial;
use crate::scan::Scan;
use std::path::Path;
use std::process::{Command, Stdio};
use toml::de::DeValue;

/// Programs with their arguments, each run by the system itself and by no shell; empty where there is none.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// Before the first trial of a session.
    pub session_start: Vec<String>,
    /// After its last.
    pub session_end: Vec<String>,
    /// Before a trial.
    pub trial_start: Vec<String>,
    /// After it, before it is logged.
    pub trial_end: Vec<String>,
}

impl Programs {
    /// Takes over what a table says.
    pub(crate) fn read(&mut self, scan: &Scan<'_>) {
        let said = [
            ("session_start", &mut self.session_start),
            ("session_end", &mut self.session_end),
            ("trial_start", &mut self.trial_start),
            ("trial_end", &mut self.trial_end),
        ];
        for (name, program) in said {
            let Some(found) = scan.get(name) else { continue };
            let words: Option<Vec<String>> = match found.get_ref() {
                DeValue::Array(words) => {
                    let word = |word: &toml::Spanned<DeValue<'_>>| match word.get_ref() {
                        DeValue::String(text) => Some(text.to_string()),
                        _ => None,
                    };
                    words.iter().map(word).collect()
                }
                _ => None,
            };
            match words.filter(|words| !words.is_empty()) {
                Some(words) => *program = words,
                None => {
                    let what = format!(
                        "`{name}` is a program and its arguments: [\"notify\", \"started\"]"
                    );
                    scan.source.note(&found.span(), what);
                }
            }
        }
        scan.finish();
    }

    /// Those that there are.
    pub fn all(&self) -> impl Iterator<Item = &[String]> {
        let all = [&self.session_start, &self.session_end, &self.trial_start, &self.trial_end];
        all.into_iter().filter(|program| !program.is_empty()).map(Vec::as_slice)
    }
}

/// What programs are told of where the run is, as variables of their environment.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) database: &'a Path,
    pub(crate) condition: &'a str,
    pub(crate) trial: &'a Trial,
}

/// Runs a program, if there is one, and waits for it. What it prints goes to standard error.
pub(crate) fn run(program: &[String], when: &str, place: Place<'_>) -> Result<(), String> {
    let Some((name, arguments)) = program.split_first() else { return Ok(()) };
    let Place { folder, database, condition, trial } = place;
    let database = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
    let status = Command::new(name)
        .args(arguments)
        .current_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .env("SAMETICK_WHEN", when)
        .env("SAMETICK_DATABASE", database)
        .env("SAMETICK_SESSION", &trial.session)
        .env("SAMETICK_TRIAL", trial.number.to_string())
        .env("SAMETICK_PARTICIPANT", trial.participant.to_string())
        .env("SAMETICK_CONDITION", condition)
        .env("SAMETICK_SEED", trial.seed.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .map_err(|error| format!("the program {name:?} of `{when}` cannot be run: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the program {name:?} of `{when}` failed: {status}")),
    }
}
