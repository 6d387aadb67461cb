//! `lab`: experiments from a file to a figure.

mod attend;
mod host;
mod imports;
mod power;
mod rehearse;
mod replays;
mod sockets;

use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum, value_parser};
use sametick_lab::people::{Design, People};
use sametick_lab::{
    Experiment, Format, How, Log, NewCarrier, Outcome, Plan, Progress, Session, Simulated, compare,
    figure, metrics_table, outcomes, read_plan, report_with, run, settings_table, starting_file,
    starting_file_for_people,
};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub(crate) const EXAMPLES: &str = "Examples:
  sametick lab new ping.toml                         a file to begin with
  sametick lab check ping.toml                       what will run, and for how long
  sametick lab run ping.toml                         runs it in virtual time, into ping.db
  sametick lab report ping.db -o ping.html           question, answer, figure
  sametick lab new --people fair.toml                a file for a study with people
  sametick lab power pilot.db --metric accuracy --by ping    how many participants it takes
  sametick lab rehearse pairs.toml                   a study of people, with bots in their places
  sametick lab host pairs.toml --page 0.0.0.0:4080   the study: links for participants, a page for the experimenter
  sametick lab import experimentconfig.Any           FPSci's experiment, as a file of ours
  sametick lab verify experiments --quick --json     the papers' evaluations, at a reduced size";

/// What the lab is asked for.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Lab {
    /// Write a commented file to begin with
    New {
        /// Where
        file: PathBuf,
        /// For a study with people
        #[arg(long)]
        people: bool,
    },
    /// Say what a file will run, or what is wrong with it
    Check {
        /// The experiment
        file: PathBuf,
    },
    /// Make a file of FPSci's experiment, and say what became of every key
    Import(imports::Options),
    /// Run what is missing of an experiment
    Run(Running),
    /// Host a study with people: they join by link, an experimenter watches
    Host(host::Options),
    /// Take part in a hosted study without a screen, as a bot
    Attend(attend::Options),
    /// Host a study, attend it with as many bots, and report: the dry run
    Rehearse(rehearse::Options),
    /// Run files that carry expectations, and compare
    Verify(Verifying),
    /// Write the report of a database: one page
    Report {
        /// What `lab run` wrote
        database: PathBuf,
        /// Where the page goes
        #[arg(short, long, default_value = "report.html")]
        output: PathBuf,
        /// Also play trials with doubtful shots again, and put their recordings beside the page
        #[arg(long)]
        recordings: bool,
        /// Where paths of the experiment begin, for recordings
        #[arg(long, default_value = ".")]
        folder: PathBuf,
    },
    /// Play a trial again, and record it
    Replay(replays::Options),
    /// Draw metrics over a factor, for a document
    Figure {
        /// What `lab run` wrote
        database: PathBuf,
        /// Which metrics, one picture each
        #[arg(long, value_delimiter = ',', required = true)]
        metrics: Vec<String>,
        /// Over which factor
        #[arg(long)]
        over: String,
        /// A line for each level of this factor
        #[arg(long)]
        series: Option<String>,
        /// Where the picture goes
        #[arg(short, long, default_value = "figure.svg")]
        output: PathBuf,
    },
    /// Write every table of a database as CSV or Parquet
    Export {
        /// What `lab run` wrote
        database: PathBuf,
        /// What the files are
        #[arg(long, value_enum, default_value_t = Files::Csv)]
        format: Files,
        /// The folder for the files
        #[arg(short, long, default_value = "export")]
        output: PathBuf,
    },
    /// Join databases of parts of the same experiment
    Merge {
        /// The database that takes in the others; made if it is not there
        into: PathBuf,
        /// The others
        #[arg(required = true)]
        from: Vec<PathBuf>,
    },
    /// Compare two databases, metric by metric, what differs most first
    Compare {
        /// One
        one: PathBuf,
        /// The other
        other: PathBuf,
        /// Only these metrics
        #[arg(long, value_delimiter = ',')]
        metrics: Vec<String>,
    },
    /// Say how many participants a study needs, from a pilot
    Power(power::Options),
    /// List every setting of a file, and every metric
    List,
}

/// What tables are written as.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Files {
    /// Text, for spreadsheets
    Csv,
    /// Columns with their types, for data frames
    Parquet,
}

/// How an experiment is run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Running {
    /// The experiment
    file: PathBuf,
    /// The database; without it FILE.db beside the file, with --quick FILE.quick.db
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Threads; without it one for each core
    #[arg(long, value_parser = value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Only a part of the trials: 0/4 is the first of four
    #[arg(long, value_name = "PART/PARTS", value_parser = shard, default_value = "0/1")]
    shard: (u32, u32),
    /// Run the file's own programs when sessions and trials begin and end
    #[arg(long)]
    programs: bool,
    /// Over real sockets on this machine, as long as it takes people
    #[arg(long)]
    real_time: bool,
    /// The small version, for tests
    #[arg(long)]
    quick: bool,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

/// What is verified.
#[derive(Args, Clone, Debug)]
pub(crate) struct Verifying {
    /// An experiment, or a folder of them
    file: PathBuf,
    /// The folder that databases stay in; without it they are thrown away
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Threads; without it one for each core
    #[arg(long, value_parser = value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The small version of each, for tests
    #[arg(long)]
    quick: bool,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

fn shard(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(part, parts)| {
        Some((part.trim().parse::<u32>().ok()?, parts.trim().parse::<u32>().ok()?))
    });
    match parts {
        Some((part, parts)) if part < parts => Ok((part, parts)),
        _ => Err("a part is its number from 0, and of how many: 0/4 to 3/4".to_owned()),
    }
}

pub(crate) fn run_lab(lab: &Lab) -> anyhow::Result<()> {
    match lab {
        Lab::New { file, people } => new(file, *people),
        Lab::Check { file } => check(file),
        Lab::Import(options) => imports::run(options),
        Lab::Run(running) => run_one(running),
        Lab::Host(options) => host::run(options),
        Lab::Attend(options) => attend::run(options),
        Lab::Rehearse(options) => rehearse::run(options),
        Lab::Verify(verifying) => verify(verifying),
        Lab::Report { database, output, recordings, folder } => {
            let log = Log::read(database)?;
            let command = log.command()?;
            let beside = match (replays::kept_for(database, output), recordings) {
                (Some(kept), _) => {
                    replays::write_kept_films(&log, database, folder);
                    Some(kept)
                }
                (None, true) => replays::beside(&log, output, folder)?,
                (None, false) => None,
            };
            write(output, &report_with(&log, &command, beside.as_deref())?)?;
            crate::print(&format!("wrote {}\n", output.display()))
        }
        Lab::Replay(options) => replays::run(options),
        Lab::Figure { database, metrics, over, series, output } => {
            let log = Log::read(database)?;
            write(output, &figure(&log, metrics, over, series.as_deref())?)?;
            crate::print(&format!("wrote {}\n", output.display()))
        }
        Lab::Export { database, format, output } => {
            let format = match format {
                Files::Csv => Format::Csv,
                Files::Parquet => Format::Parquet,
            };
            let written = Log::read(database)?.export(output, format)?;
            crate::print(&format!("wrote {} files to {}\n", written.len(), output.display()))
        }
        Lab::Merge { into, from } => merge(into, from),
        Lab::Compare { one, other, metrics } => {
            crate::print(&compare(&Log::read(one)?, &Log::read(other)?, metrics)?)
        }
        Lab::Power(options) => power::run(options),
        Lab::List => crate::print(&format!("{}\n{}", settings_table(), metrics_table())),
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_bytes(path, text.as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn new(file: &Path, has_people: bool) -> anyhow::Result<()> {
    if file.exists() {
        bail!("{} is there already: choose another name", file.display());
    }
    write(file, &if has_people { starting_file_for_people() } else { starting_file() })?;
    crate::print(&format!("wrote {0}; now: sametick lab check {0}\n", file.display()))
}

fn read(file: &Path, quick: bool) -> anyhow::Result<(Experiment, Plan)> {
    read_plan(file, quick).map_err(|what| anyhow!(what))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn check(file: &Path) -> anyhow::Result<()> {
    let (experiment, plan) = read(file, false)?;
    if let Some(what) = experiment.people.as_ref().and_then(People::unwritten) {
        bail!("{}: {what}", file.display());
    }
    let mut text = format!("{}\n", experiment.question);
    let sums: Vec<String> =
        experiment.sessions.iter().map(|session| sum(&experiment, session)).collect();
    let (trials, played) = (counted(plan.trials.len(), "trial"), length(plan.played_seconds()));
    let takes = length(plan.guessed_seconds(cores()));
    let takes = format!("{played} of play, about {takes} in virtual time on {} cores", cores());
    match &sums[..] {
        [sum] => text += &format!("{sum}: {trials}, {takes}\n"),
        sums => {
            text += &format!("{trials}, {takes}\n");
            for (session, sum) in experiment.sessions.iter().zip(sums) {
                let trials = plan.trials.iter().filter(|one| one.session == session.name).count();
                text += &format!("session {}: {sum}: {}\n", session.name, counted(trials, "trial"));
            }
        }
    }
    let most = experiment.sessions.iter().map(|session| session.conditions.len()).max();
    let rows = experiment.order.rows(most.unwrap_or(1));
    let people = experiment.people.as_ref();
    let is_met = people.is_none_or(|people| people.design == Design::Within);
    if is_met && rows > 1 && !(experiment.participants as usize).is_multiple_of(rows) {
        let is_grouped = people.is_some_and(|people| people.group > 1);
        let of = if is_grouped { "groups" } else { "participants" };
        text += &format!("not balanced: this order wants a multiple of {rows} {of}\n");
    }
    const SHOWN: usize = 24;
    for condition in plan.conditions.iter().take(SHOWN) {
        text += &format!("  {:<3} {}\n", condition.letter, condition.label);
    }
    if plan.conditions.len() > SHOWN {
        text += &format!("  and {} more\n", plan.conditions.len() - SHOWN);
    }
    if let Some(people) = &experiment.people {
        text += &people.explain(&experiment, &plan);
    }
    text += &format!("{} expectations\n", experiment.expectations.len());
    for program in experiment.programs() {
        let who = match experiment.people {
            Some(_) => "lab run --programs; where people play, programs are not run",
            None => "--programs",
        };
        text += &format!("runs {}, with {who}\n", program.join(" "));
    }
    crate::print(&text)
}

/// What the trials of a session are the product of.
fn sum(experiment: &Experiment, session: &Session) -> String {
    let mut factors = vec![counted(session.conditions.len(), "condition")];
    if experiment.participants > 1 {
        let is_grouped = experiment.people.as_ref().is_some_and(|people| people.group > 1);
        let of = if is_grouped { "group" } else { "participant" };
        factors.push(counted(experiment.participants as usize, of));
    }
    let repetitions = session.repetitions.unwrap_or(experiment.repetitions) as usize;
    factors.push(counted(repetitions, "repetition"));
    let each: usize = session.trials.iter().map(|kind| kind.count as usize).sum();
    if each > 1 {
        factors.push(format!("{each} trials of {}", counted(session.trials.len(), "kind")));
    }
    let mut sum = factors.join(" x ");
    let people = experiment.participants as usize;
    match experiment.practice as usize * session.trials.len() * people {
        0 => {}
        practice => sum += &format!(", and {practice} of practice"),
    }
    sum
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn length(seconds: f64) -> String {
    match seconds {
        short if short < 99.5 => format!("{} s", short.ceil()),
        long if long < 5_940.0 => format!("{:.0} minutes", long / 60.0),
        longer => format!("{:.1} hours", longer / 3_600.0),
    }
}

/// What a run and its log came to.
struct Finished {
    experiment: Experiment,
    trials: usize,
    outcomes: Vec<Outcome>,
    /// None once it is thrown away.
    database: Option<PathBuf>,
    hash: String,
    seconds: f64,
    is_stopped: bool,
}

impl Finished {
    fn all_hold(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.holds)
    }

    fn json(&self) -> Value {
        json!({
            "experiment": self.experiment.title,
            "question": self.experiment.question,
            "seed": self.experiment.seed,
            "trials": self.trials,
            "is_complete": !self.is_stopped,
            "database": self.database.as_ref().map(|path| path.display().to_string()),
            "database_hash": self.hash,
            "seconds": self.seconds,
            "expectations": self.outcomes.iter().map(Outcome::json).collect::<Vec<_>>(),
            "all_hold": self.all_hold(),
        })
    }

    fn text(&self, shows_all: bool) -> String {
        let mut text = String::new();
        for outcome in self.outcomes.iter().filter(|outcome| shows_all || !outcome.holds) {
            let measured =
                outcome.measured.map_or("nothing".to_owned(), |number| format!("{number:.4}"));
            let verdict = if outcome.holds { "holds " } else { "FAILS " };
            let (name, expected, unit) = (&outcome.name, &outcome.expected, &outcome.unit);
            text += &format!("{verdict} {name}: expected {expected}, measured {measured} {unit}\n");
        }
        let held = self.outcomes.iter().filter(|outcome| outcome.holds).count();
        let database = self.database.as_ref().map(|path| format!(", {}", path.display()));
        text += &format!(
            "{}: {} trials in {:.1} s, {held} of {} expectations hold{} ({})\n",
            self.experiment.title,
            self.trials,
            self.seconds,
            self.outcomes.len(),
            database.unwrap_or_default(),
            self.hash
        );
        text
    }
}

fn finish(file: &Path, database: &Path, running: &Running) -> anyhow::Result<Finished> {
    let begun = Instant::now();
    let (experiment, plan) = read(file, running.quick)?;
    if running.real_time {
        sockets::check(&plan)?;
    }
    if let (Some(program), false) = (experiment.programs().next(), running.programs) {
        let (file, program) = (file.display(), program.join(" "));
        bail!(
            "{file} runs programs ({program}): look at them, and allow it with lab run --programs"
        );
    }
    let stop = Stop::on_signals()?;
    let stops = AtomicBool::new(false);
    let log = Log::write(database, &experiment, &plan)?;
    let threads = running.threads.map_or_else(cores, usize::from);
    let threads = if running.real_time { 1 } else { threads };
    let how = How {
        threads,
        shard: running.shard,
        is_real_time: running.real_time,
        runs_programs: running.programs,
    };
    let simulated: &NewCarrier<'_> = &|hosts, seed| Ok(Box::new(Simulated::new(hosts, seed)));
    let real: &NewCarrier<'_> = &|hosts, seed| sockets::open(hosts, seed);
    let carrier = if running.real_time { real } else { simulated };
    let is_live = !running.json && std::io::stderr().is_terminal();
    let ran = run(&experiment, &plan, &log, how, carrier, &stops, |progress| {
        if stop.is_asked() {
            stops.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        if is_live {
            show(&progress);
        }
    })?;
    if is_live {
        eprintln!();
    }
    let outcomes = match ran.is_stopped {
        true => Vec::new(),
        false => outcomes(&experiment, &log)?,
    };
    Ok(Finished {
        trials: ran.trials + ran.kept,
        outcomes: if running.shard.1 > 1 { Vec::new() } else { outcomes },
        database: Some(database.to_owned()),
        hash: log.hash()?,
        seconds: begun.elapsed().as_secs_f64(),
        is_stopped: ran.is_stopped,
        experiment,
    })
}

/// A bar on one line, with the time that is left.
fn show(progress: &Progress) {
    const WIDTH: usize = 30;
    let full = WIDTH * progress.done / progress.all.max(1);
    let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
    let left = progress.left.unwrap_or(Duration::ZERO).as_secs_f64();
    let left = progress.left.map_or(String::new(), |_| format!(", {} left", length(left)));
    eprint!("\r[{bar}] {} of {} trials{left}   ", progress.done, progress.all);
    let _ = std::io::stderr().flush();
}

fn run_one(running: &Running) -> anyhow::Result<()> {
    let database = match &running.output {
        Some(output) => output.clone(),
        None if running.quick => running.file.with_extension("quick.db"),
        None => running.file.with_extension("db"),
    };
    let finished = finish(&running.file, &database, running)?;
    match running.json {
        true => crate::print(&format!("{}\n", finished.json()))?,
        false => crate::print(&finished.text(false))?,
    }
    if finished.is_stopped {
        bail!("stopped: run the same again to go on");
    }
    Ok(())
}

fn verify(verifying: &Verifying) -> anyhow::Result<()> {
    let mut files = vec![verifying.file.clone()];
    if verifying.file.is_dir() {
        let read = std::fs::read_dir(&verifying.file)
            .with_context(|| format!("cannot read {}", verifying.file.display()))?;
        files = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        if files.is_empty() {
            bail!("{} has no experiment in it: they end in .toml", verifying.file.display());
        }
    }
    let mut all = Vec::new();
    for file in &files {
        let scratch = match &verifying.output {
            Some(folder) => folder.clone(),
            None => std::env::temp_dir().join(format!("sametick-lab-{}", std::process::id())),
        };
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("cannot make {}", scratch.display()))?;
        let name = file.with_extension("db");
        let database = scratch.join(name.file_name().unwrap_or_default());
        let running = Running {
            file: file.clone(),
            output: Some(database.clone()),
            threads: verifying.threads,
            shard: (0, 1),
            programs: false,
            real_time: false,
            quick: verifying.quick,
            json: verifying.json,
        };
        let finished = finish(file, &database, &running);
        if verifying.output.is_none() {
            // Ours alone: the name holds this process's number.
            let _ = std::fs::remove_dir_all(&scratch);
        }
        let mut finished = finished?;
        finished.database = finished.database.filter(|_| verifying.output.is_some());
        if finished.experiment.expectations.is_empty() {
            bail!("{} expects nothing: there is no [[expect]] to verify", file.display());
        }
        if !verifying.json {
            crate::print(&finished.text(true))?;
        }
        all.push(finished);
    }
    let all_hold = all.iter().all(|one| one.all_hold() && !one.is_stopped);
    if verifying.json {
        let answer = match &all[..] {
            [one] if !verifying.file.is_dir() => one.json(),
            all => {
                let experiments: Vec<Value> = all.iter().map(Finished::json).collect();
                json!({ "experiments": experiments, "all_hold": all_hold })
            }
        };
        crate::print(&format!("{answer}\n"))?;
    }
    match all_hold {
        true => Ok(()),
        false => bail!("not everything is as expected"),
    }
}

fn merge(into: &Path, from: &[PathBuf]) -> anyhow::Result<()> {
    if !into.exists() {
        let first = &from[0];
        Log::read(first)?;
        std::fs::copy(first, into).with_context(|| format!("cannot write {}", into.display()))?;
    }
    let log = Log::read(into)?;
    let mut added = 0;
    for other in from {
        added += log.merge(other)?;
    }
    let trials = log.done()?.len();
    crate::print(&format!("{}: {trials} trials, {added} of them new\n", into.display()))
}
