//! `lab replay`: a trial played again and recorded, so that a doubtful shot can be looked at.

use anyhow::{Context, bail};
use sametick_lab::{Log, doubtful_trials, play_again};
use std::path::{Path, PathBuf};

/// Which trial, and where its recording goes.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Options {
    /// What `lab run` wrote
    database: PathBuf,
    /// The trial's number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    trial: u32,
    /// The tick that is of interest
    #[arg(long)]
    tick: Option<u32>,
    /// The recording; without it trial-N.sametick beside the database
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Where paths of the experiment begin
    #[arg(long, default_value = ".")]
    folder: PathBuf,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let seek = options.tick.map_or(String::new(), |tick| format!(" --seek {tick}"));
    if let Some(folder) = kept(&options.database) {
        let path = folder.join(name_of(options.trial));
        if !path.is_file() {
            bail!("trial {} was not played to its end", options.trial);
        }
        return crate::print(&format!("now: sametick replay {}{seek}\n", path.display()));
    }
    let log = Log::read(&options.database)?;
    let recording = play_again(&log, options.trial, &options.folder)?;
    let beside = || options.database.with_file_name(name_of(options.trial));
    let path = options.output.clone().unwrap_or_else(beside);
    super::write_bytes(&path, &recording)?;
    crate::print(&format!("wrote {0}; now: sametick replay {0}{seek}\n", path.display()))
}

/// The folder beside a database in which a study with people keeps its recordings, if it is there: what people played
/// cannot be played again.
pub(super) fn kept(database: &Path) -> Option<PathBuf> {
    let folder = recordings_of(database);
    folder.is_dir().then_some(folder)
}

/// Where it is.
pub(super) fn recordings_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".recordings");
    name.into()
}

/// The same as a page says it that is written to `page`.
pub(super) fn kept_for(database: &Path, page: &Path) -> Option<String> {
    let folder = kept(database)?;
    let beside = page.parent() == database.parent();
    let name = folder.file_name().filter(|_| beside).map(PathBuf::from);
    let path = name.or_else(|| std::path::absolute(&folder).ok())?;
    Some(path.display().to_string())
}

pub(super) fn name_of(trial: u32) -> String {
    format!("trial-{trial}.sametick")
}

/// Puts recordings of all trials with doubtful shots into a folder beside a page; what it is called, if there are any.
pub(super) fn beside(log: &Log, page: &Path, folder: &Path) -> anyhow::Result<Option<String>> {
    let trials = doubtful_trials(log)?;
    if trials.is_empty() {
        return Ok(None);
    }
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-recordings");
    let recordings = page.with_file_name(&name);
    std::fs::create_dir_all(&recordings)
        .with_context(|| format!("cannot make {}", recordings.display()))?;
    for trial in trials {
        let recording = play_again(log, trial, folder)?;
        super::write_bytes(&recordings.join(name_of(trial)), &recording)?;
    }
    Ok(Some(name))
}
