//! Runs all simulations over as many seeds as wanted, in chunks, and keeps how far it came. Knows the names of the
//! tests and their settings, nothing of what they check.

mod chunk;
mod progress;
mod simulations;

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use chunk::Chunk;
use progress::{Done, Part, Progress};
use simulations::Simulation;

/// How much to run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Soak {
    /// How many seeds of each simulation.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, conflicts_with = "commit")]
    first_seed: u64,
    /// Take the first seed from the hash of the commit that is checked out.
    #[arg(long)]
    commit: bool,
    /// What to run, and how many seeds of it if not as many as of the others.
    #[arg(long, value_name = "NAME[=SEEDS]", value_delimiter = ',', value_parser = parse_wanted)]
    what: Vec<Wanted>,
    /// How many virtual seconds each run has, where that can be chosen.
    #[arg(long, value_parser = clap::value_parser!(u64).range(12..))]
    virtual_seconds: Option<u64>,
    /// Begin no more chunks after so many seconds of real time.
    #[arg(long)]
    seconds_max: Option<u64>,
    /// How many threads; all cores unless told otherwise.
    #[arg(long)]
    threads: Option<usize>,
    /// Go on with what was interrupted; on another commit the same seeds are run from the first again.
    #[arg(long, conflicts_with_all = ["seeds", "first_seed", "commit", "what", "virtual_seconds"])]
    resume: bool,
    /// Go on even if the commit is another.
    #[arg(long, requires = "resume")]
    any_commit: bool,
    /// Print the summary as JSON, an object a line.
    #[arg(long)]
    json: bool,
    /// Where progress and failures are kept; `soak` in the target folder unless told otherwise.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// A simulation, and how many of its seeds.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    simulation: &'static Simulation,
    seeds: Option<u64>,
}

/// The first of the wide seeds, for which simulations draw from wider ranges: that of `sametick-seeds`.
const WIDE_FROM: u64 = 1 << 32;
/// Packages whose tests are also a program `all`, and have none of the simulations.
const WITHOUT_SIMULATIONS: [&str; 2] = ["sametick-lab", "sametick-links"];
/// The seeds of two commits lie at least so far apart.
const SEEDS_PER_COMMIT: u64 = 1 << 12;

pub(crate) const EXAMPLE: &str = "\
Examples:
  $ cargo xtask soak --seeds 500 --first-seed 40000
  $ cargo xtask soak --what lockstep=2000,connections=500 --first-seed 4294967296 --seconds-max 600
  $ cargo xtask soak --resume
  $ cargo xtask soak --commit --seeds 100
  ...
  soak: lockstep: 100 seeds, 9136918142976 to 9136918143075, 0.64 virtual hours in 14 s, 0 failed";

pub(crate) fn run(soak: &Soak) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands nowhere")?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    // Test programs run in folders of their own.
    let folder = std::path::absolute(soak.folder.clone().unwrap_or_else(|| target.join("soak")))?;
    let mut progress = begin(soak, &folder, &state_of(root)?)?;
    let programs = build(root)?;
    // What is resumed is this one, even if it is interrupted in its first chunk.
    progress.write(&folder)?;
    let began = Instant::now();
    let is_over = || soak.seconds_max.is_some_and(|max| began.elapsed().as_secs() >= max);
    while let Some(part) = progress.next().filter(|_| !is_over()) {
        run_chunk(part, root, &programs, soak.threads, &folder)?;
        progress.write(&folder)?;
    }
    for part in &progress.parts {
        match soak.json {
            true => println!("{}", part.to_json()),
            false => println!("soak: {}", part.line()),
        }
    }
    if progress.next().is_some() {
        eprintln!("soak: time is up; `cargo xtask soak --resume` goes on");
    }
    let has_failed = progress.parts.iter().any(Part::has_failed);
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is to be run, with what was run of it.
fn begin(soak: &Soak, folder: &Path, commit: &str) -> Result<Progress> {
    if soak.resume {
        let mut progress = Progress::read(folder)?;
        if progress.commit != commit && !soak.any_commit {
            eprintln!("soak: {} was run before, this is {commit}: from the first", progress.commit);
            progress.start_over(commit);
        }
        return Ok(progress);
    }
    let first_seed = if soak.commit { seed_of(commit)? } else { soak.first_seed };
    let all = simulations::ALL.iter().map(|simulation| Wanted { simulation, seeds: None });
    let wanted = if soak.what.is_empty() { all.collect() } else { soak.what.clone() };
    let mut parts: Vec<Part> = Vec::new();
    for Wanted { simulation, seeds } in wanted {
        ensure!(
            parts.iter().all(|part| part.simulation != simulation),
            "{} is named twice",
            simulation.name
        );
        let seconds = soak.virtual_seconds.filter(|_| simulation.has_seconds);
        let (seeds, done) = (seeds.unwrap_or(soak.seeds), Done::default());
        parts.push(Part { simulation, first_seed, seeds, seconds, done });
    }
    eprintln!("soak: from seed {first_seed}, on {commit}");
    Ok(Progress { commit: commit.to_owned(), parts })
}

fn run_chunk(
    part: &mut Part,
    root: &Path,
    programs: &BTreeMap<&'static str, PathBuf>,
    threads: Option<usize>,
    folder: &Path,
) -> Result<()> {
    let (simulation, seeds) = (part.simulation, part.chunk_seeds());
    let program = programs.get(simulation.package);
    let report = chunk::run(Chunk {
        program: program.with_context(|| format!("no program of {}", simulation.package))?,
        package: &root.join(simulation.package),
        test: simulation.test,
        first_seed: part.next_seed(),
        seeds,
        seconds: part.seconds,
        threads,
        folder,
    })?;
    for seed in &report.failed {
        let path = folder.join(format!("{}-{seed}.txt", simulation.name));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
        eprintln!("soak: {}\n{text}", path.display());
    }
    if let Some(broken) = &report.broken {
        eprintln!("soak: {}, {seeds} seeds from {}: {broken}", simulation.name, part.next_seed());
    }
    part.add(seeds, &report);
    eprintln!("soak: {}", part.line());
    Ok(())
}

/// Builds the test programs as `cargo test --workspace` does, so that nothing is built twice; by the folders of their
/// packages.
fn build(root: &Path) -> Result<BTreeMap<&'static str, PathBuf>> {
    let mut cargo = crate::cargo();
    cargo.current_dir(root).args(["test", "--workspace", "--locked", "--no-run", "--test", "all"]);
    // Their tests have a program of this name too, and much to build for it.
    cargo.args(WITHOUT_SIMULATIONS.iter().flat_map(|package| ["--exclude", package]));
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = cargo.output().context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests do not build ({})", output.status);
    let messages = String::from_utf8(output.stdout).context("broken UTF-8")?;
    Ok(messages.lines().filter_map(program_of).collect())
}

/// The package with simulations and the program of its tests that a message of cargo's tells of, if it does.
fn program_of(message: &str) -> Option<(&'static str, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["target"]["kind"][0] != "test" || message["target"]["name"] != "all" {
        return None;
    }
    let manifest = message["manifest_path"].as_str()?.replace('\\', "/");
    let is_of = |simulation: &&Simulation| {
        manifest.ends_with(&format!("/{}/Cargo.toml", simulation.package))
    };
    let simulation = simulations::ALL.iter().find(is_of)?;
    Some((simulation.package, message["executable"].as_str()?.into()))
}

/// The commit that is checked out, and a hash of what was changed since.
fn state_of(root: &Path) -> Result<String> {
    let git = |arguments: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new("git").current_dir(root).args(arguments).output();
        let output = output.context("cannot start git")?;
        ensure!(output.status.success(), "git {arguments:?} failed");
        Ok(output.stdout)
    };
    let commit = String::from_utf8(git(&["rev-parse", "HEAD"])?)?.trim().to_owned();
    let changes = git(&["diff", "HEAD"])?;
    if changes.is_empty() {
        return Ok(commit);
    }
    let mut hasher = DefaultHasher::new();
    changes.hash(&mut hasher);
    Ok(format!("{commit}+{:08x}", hasher.finish() as u32))
}

/// The first of a commit's own seeds.
fn seed_of(commit: &str) -> Result<u64> {
    let head = commit.get(..8).and_then(|head| u32::from_str_radix(head, 16).ok());
    let head = head.with_context(|| format!("{commit} is no hash"))?;
    Ok(WIDE_FROM + u64::from(head) * SEEDS_PER_COMMIT)
}

fn parse_wanted(text: &str) -> Result<Wanted, String> {
    let (name, seeds) = match text.split_once('=') {
        Some((name, seeds)) => (name, Some(seeds)),
        None => (text, None),
    };
    let names: Vec<&str> = simulations::ALL.iter().map(|simulation| simulation.name).collect();
    let simulation =
        simulations::named(name).ok_or_else(|| format!("there are {}", names.join(", ")))?;
    let parse = |seeds: &str| {
        let seeds: Option<u64> = seeds.parse().ok().filter(|seeds| *seeds > 0);
        seeds.ok_or_else(|| "seeds are a number above 0".to_owned())
    };
    Ok(Wanted { simulation, seeds: seeds.map(parse).transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        soak: Soak,
    }

    fn parse(arguments: &str) -> Result<Soak, clap::Error> {
        let words = std::iter::once("soak").chain(arguments.split_whitespace());
        Line::try_parse_from(words).map(|line| line.soak)
    }

    #[test]
    fn all_simulations_are_run_unless_some_are_named() {
        let commit = "0123456789abcdef";
        let plan = |arguments: &str| {
            let progress = begin(&parse(arguments).unwrap(), Path::new("nowhere"), commit).unwrap();
            let part =
                |part: Part| (part.simulation.name, part.first_seed, part.seeds, part.seconds);
            progress.parts.into_iter().map(part).collect::<Vec<_>>()
        };
        assert_eq!(plan("--seeds 9").len(), simulations::ALL.len());
        assert_eq!(
            plan("--seeds 9 --first-seed 7 --what lockstep=20,connections --virtual-seconds 30"),
            [("lockstep", 7, 20, None), ("connections", 7, 9, Some(30))]
        );
        let first = WIDE_FROM + 0x0123_4567 * 4096;
        assert_eq!(plan("--commit --what arena=1"), [("arena", first, 1, None)]);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for arguments in [
            "--seeds 0",
            "--what chess",
            "--what lockstep=0",
            "--what lockstep=many",
            "--virtual-seconds 3",
            "--commit --first-seed 3",
            "--resume --seeds 3",
            "--any-commit",
        ] {
            assert!(parse(arguments).is_err(), "{arguments}");
        }
        let twice = parse("--what arena,arena").unwrap();
        assert!(begin(&twice, Path::new("nowhere"), "0123456789").is_err());
        let resumed = parse("--resume").unwrap();
        assert!(begin(&resumed, Path::new("nowhere"), "0123456789").is_err());
    }

    #[test]
    fn a_soak_that_is_resumed_starts_over_on_another_commit_unless_told() {
        let folder = std::env::temp_dir().join(format!("sametick-resume-{}", std::process::id()));
        let mut progress = begin(&parse("--what arena=50").unwrap(), &folder, "01234567").unwrap();
        progress.parts[0].done.seeds = 20;
        progress.write(&folder).unwrap();
        let done = |arguments: &str, commit: &str| {
            begin(&parse(arguments).unwrap(), &folder, commit).unwrap().parts[0].done.seeds
        };
        assert_eq!(done("--resume", "01234567"), 20);
        assert_eq!(done("--resume", "89abcdef"), 0);
        assert_eq!(done("--resume --any-commit", "89abcdef"), 20);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn wide_seeds_begin_where_the_simulations_say() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/sametick-seeds/src/lib.rs");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("pub const WIDE_FROM: u64 = 1 << 32;"));
        assert_eq!(WIDE_FROM, 1 << 32);
        assert_eq!(seed_of("00000000ff").unwrap(), WIDE_FROM);
        assert!(seed_of("main").is_err());
    }

    #[test]
    fn programs_are_found_among_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"all"},
            "manifest_path":"/tree/games/arena/Cargo.toml","executable":"/t/deps/all-1"}"#;
        assert_eq!(program_of(message), Some(("games/arena", "/t/deps/all-1".into())));
        assert_eq!(program_of(&message.replace("arena", "chess")), None);
        assert_eq!(program_of(&message.replace("\"all\"", "\"lib\"")), None);
        assert_eq!(program_of(r#"{"reason":"build-finished"}"#), None);
    }
}
