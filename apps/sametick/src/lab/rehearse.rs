//! `lab rehearse`: a whole study unattended, with participants without screens, and its report: the dry run.

use super::attend::{Attending, Done, Grounds};
use super::host::{self, Host};
use crate::crew::skill;
use crate::page;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use sametick_arena::bot::Skill;
use sametick_lab::{Log, report_with};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is rehearsed.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The experiment, with a table `people`
    file: PathBuf,
    /// The database; without it FILE.rehearsal.db beside the file
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The report; without it beside the database
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// What participants do and answer by chance follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How well they play
    #[arg(long, value_parser = skill::skills(), default_value = skill::USUAL)]
    skill: Skill,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (stop, begun) = (Stop::on_signals()?, Instant::now());
    let database = options.db.clone();
    let database = database.unwrap_or_else(|| options.file.with_extension("rehearsal.db"));
    let host = Host::open(&host::Options {
        file: options.file.clone(),
        db: Some(database.clone()),
        page: page::Options::of_this_machine(),
        password: None,
        password_file: None,
        once: true,
        json: options.json,
    })?;
    let participants = host.codes().len();
    if !options.json {
        eprintln!("{participants} bots take part, as long as people would");
    }
    let done = attend_all(&host, options, &stop)?;
    if stop.is_asked() {
        bail!("stopped: run the same again to go on");
    }
    let orders = host.order_table();
    drop(host);
    let output = options.output.clone().unwrap_or_else(|| database.with_extension("html"));
    let log = Log::read(&database)?;
    let command = format!("sametick lab rehearse {}", options.file.display());
    let folder = options.file.parent().unwrap_or(Path::new("."));
    super::replays::write_kept_films(&log, &database, folder);
    let recordings = super::replays::kept_for(&database, &output);
    let page = report_with(&log, &command, recordings.as_deref())?;
    std::fs::write(&output, page).with_context(|| format!("cannot write {}", output.display()))?;
    let trials = log.done()?.len();
    let answers: u32 = done.iter().map(|one| one.answers).sum();
    let seconds = begun.elapsed().as_secs_f64();
    if options.json {
        let told = json!({
            "participants": participants,
            "trials": trials,
            "answers": answers,
            "orders": orders,
            "database": database.display().to_string(),
            "report": output.display().to_string(),
            "seconds": seconds,
        });
        return crate::print(&format!("{told}\n"));
    }
    crate::print(&format!(
        "{} participants, {trials} trials, {answers} answers in {seconds:.0} s\nwrote {} and {}\n",
        participants,
        database.display(),
        output.display()
    ))
}

/// Has every seat taken by a participant without a screen; the host runs here until all are through.
fn attend_all(host: &Host, options: &Options, stop: &Stop) -> anyhow::Result<Vec<Done>> {
    let (base, codes) = (host.address().to_owned(), host.codes());
    let grounds = Grounds::default();
    std::thread::scope(|scope| -> anyhow::Result<Vec<Done>> {
        let attend = |(index, code): (usize, &String)| {
            let seed = options.seed.wrapping_add(index as u64);
            let mut attending = Attending::new(&base, code, seed, options.skill, grounds.clone());
            scope.spawn(move || {
                let done = attending.attend(stop);
                if done.is_err() {
                    // Nobody else can come to an end then.
                    stop.ask();
                }
                done
            })
        };
        let all: Vec<_> = codes.iter().enumerate().map(attend).collect();
        let hosted = host.run(stop, true);
        if hosted.is_err() {
            stop.ask();
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<Done>>| {
            thread.join().map_err(|_| anyhow!("a participant panicked"))?
        };
        let done = all.into_iter().map(join).collect::<Vec<_>>();
        hosted?;
        done.into_iter().collect()
    })
}
