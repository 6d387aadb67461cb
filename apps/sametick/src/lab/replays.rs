//! `lab replay`: a trial played again and recorded, so that a doubtful shot can be looked at.

use anyhow::{Context, bail};
use sametick_lab::{Log, doubtful_shots, doubtful_trials, film, play_again};
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
        let shown = show(&Log::read(&options.database)?, options, &path);
        return crate::print(&format!("{shown}now: sametick replay {}{seek}\n", path.display()));
    }
    let log = Log::read(&options.database)?;
    let again = play_again(&log, options.trial, &options.folder)?;
    if let Some(tick) = options.tick.filter(|tick| *tick > again.last_tick) {
        bail!(
            "there is no tick {tick} in trial {}: it ends with {}",
            options.trial,
            again.last_tick
        );
    }
    let beside = || options.database.with_file_name(name_of(options.trial));
    let path = options.output.clone().unwrap_or_else(beside);
    super::write_bytes(&path, &again.recording)?;
    let shown = show(&log, options, &path);
    crate::print(&format!("{shown}wrote {0}; now: sametick replay {0}{seek}\n", path.display()))
}

/// Writes the film of the tick that is of interest beside a recording, if somebody shot in it: what is to be told.
fn show(log: &Log, options: &Options, recording: &Path) -> String {
    let page = options.tick.and_then(|tick| {
        let bytes = std::fs::read(recording).ok()?;
        let page = film(log, bytes, (options.trial, tick), &options.folder).ok()?;
        let path = recording.with_file_name(film_of(options.trial, tick));
        super::write_bytes(&path, page.as_bytes()).ok().map(|()| path)
    });
    page.map_or_else(String::new, |path| format!("as both saw it: {}\n", path.display()))
}

fn film_of(trial: u32, tick: u32) -> String {
    format!("trial-{trial}-tick-{tick}.html")
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

/// Puts films of doubtful shots beside the recordings of a study with people. A report is written all the same if that
/// cannot be.
pub(super) fn write_kept_films(log: &Log, database: &Path, folder: &Path) {
    let written = kept(database).map(|recordings| write_films(log, &recordings, folder));
    if let Some(Err(error)) = written {
        eprintln!("doubtful shots are not shown: {error:#}");
    }
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

/// Puts films of all doubtful shots beside their recordings, where these are. What cannot be shown is said there.
pub(super) fn write_films(log: &Log, recordings: &Path, folder: &Path) -> anyhow::Result<()> {
    for (trial, tick) in doubtful_shots(log)? {
        let Ok(bytes) = std::fs::read(recordings.join(name_of(trial))) else { continue };
        let page = film(log, bytes, (trial, tick), folder);
        let page = page.unwrap_or_else(|error| format!("{error}\n"));
        let path = recordings.join(film_of(trial, tick));
        super::write_bytes(&path, page.as_bytes())?;
    }
    Ok(())
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
        let again = play_again(log, trial, folder)?;
        super::write_bytes(&recordings.join(name_of(trial)), &again.recording)?;
    }
    write_films(log, &recordings, folder)?;
    Ok(Some(name))
}
