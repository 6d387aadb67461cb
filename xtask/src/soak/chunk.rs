//! Runs some seeds of one simulation in its test program, and reads what became of them.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

/// What precedes the line that the program says to us.
const MARK: &str = "soak: ";

/// So much is shown of a program that broke.
const TAIL_LINES: usize = 40;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) program: &'a Path,
    /// The folder of its package, where tests are run.
    pub(crate) package: &'a Path,
    pub(crate) test: &'a str,
    pub(crate) first_seed: u64,
    pub(crate) seeds: u64,
    pub(crate) seconds: Option<u64>,
    pub(crate) threads: Option<usize>,
    /// Where failures are written.
    pub(crate) folder: &'a Path,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) virtual_seconds: f64,
    pub(crate) wall_seconds: f64,
    pub(crate) failed: Vec<u64>,
    /// Why the program failed otherwise than by a seed.
    pub(crate) broken: Option<String>,
}

/// Runs a chunk. A program that crashes or is killed is a report too; only one that does not start is an error.
pub(crate) fn run(chunk: Chunk<'_>) -> Result<Report> {
    let mut command = Command::new(chunk.program);
    command.current_dir(chunk.package).args(["--exact", chunk.test, "--nocapture"]);
    command.env_remove("SAMETICK_SCRIPT").env_remove("SAMETICK_SECONDS");
    command.env("SAMETICK_FIRST_SEED", chunk.first_seed.to_string());
    command.env("SAMETICK_SEEDS", chunk.seeds.to_string());
    command.env("SAMETICK_SOAK_DIR", chunk.folder);
    if let Some(seconds) = chunk.seconds {
        command.env("SAMETICK_SECONDS", seconds.to_string());
    }
    if let Some(threads) = chunk.threads {
        command.env("SAMETICK_THREADS", threads.to_string());
    }
    let began = Instant::now();
    let output = command.output().with_context(|| format!("cannot start {:?}", chunk.program))?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let report = read(&said, chunk.seeds, output.status.success());
    let broken = report.broken.map(|why| {
        let lines: Vec<&str> = said.lines().chain(errors.lines()).collect();
        let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        format!("{why} ({}):\n{}", output.status, tail.join("\n"))
    });
    Ok(Report { wall_seconds, broken, ..report })
}

/// Finds what the program says to us among all that it says.
fn read(said: &str, seeds: u64, has_succeeded: bool) -> Report {
    let broken = |why: &str| Report { broken: Some(why.to_owned()), ..Report::default() };
    let line = said.lines().find_map(|line| line.split_once(MARK).map(|(_, rest)| rest));
    let Some(value) = line.and_then(|line| serde_json::from_str::<Value>(line).ok()) else {
        return broken("the test did not say what became of its seeds");
    };
    let failed = value["failed"].as_array().map(|list| list.iter().filter_map(Value::as_u64));
    let (Some(failed), Some(virtual_seconds)) = (failed, value["virtual_seconds"].as_f64()) else {
        return broken("the test says something that is not understood");
    };
    let failed: Vec<u64> = failed.collect();
    let run = value["seeds"].as_u64();
    let broken = match has_succeeded == failed.is_empty() {
        _ if run != Some(seeds) => Some(format!("{run:?} of {seeds} seeds were run")),
        true => None,
        false => Some("all seeds held and the test failed".to_owned()),
    };
    Report { virtual_seconds, failed, broken, ..Report::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not a test of its own: what the others run as a simulation, in this very program.
    #[test]
    fn a_simulation_that_is_soaked() {
        if std::env::var_os("SAMETICK_SOAK_DIR").is_none() {
            return;
        }
        let first: u64 = std::env::var("SAMETICK_FIRST_SEED").unwrap().parse().unwrap();
        let seeds: u64 = std::env::var("SAMETICK_SEEDS").unwrap().parse().unwrap();
        assert_ne!(first, 100, "broken before it says anything");
        let failed = if first == 50 { "[52,53]" } else { "[]" };
        println!(
            "soak: {{\"simulation\":\"x\",\"first_seed\":{first},\"seeds\":{seeds},\
             \"virtual_seconds\":60,\"failed\":{failed}}}"
        );
        assert_ne!(first, 50, "two seeds failed");
        assert_ne!(first, 150, "too little was checked");
    }

    fn soak(test: &str, first_seed: u64) -> Report {
        let program = std::env::current_exe().unwrap();
        let folder = std::env::temp_dir();
        run(Chunk {
            program: &program,
            package: Path::new("."),
            test: &format!("soak::chunk::tests::{test}"),
            first_seed,
            seeds: 10,
            seconds: Some(20),
            threads: Some(1),
            folder: &folder,
        })
        .unwrap()
    }

    #[test]
    fn what_became_of_a_chunk_is_read_from_its_program() {
        let held = soak("a_simulation_that_is_soaked", 0);
        assert_eq!((held.virtual_seconds, held.failed.len()), (60.0, 0));
        assert_eq!(held.broken, None);
        let failed = soak("a_simulation_that_is_soaked", 50);
        assert_eq!((failed.failed, failed.broken), (vec![52, 53], None));
    }

    #[test]
    fn a_program_that_breaks_or_has_no_such_test_is_told() {
        let why = |test, first| soak(test, first).broken.unwrap_or_default();
        let silent = why("a_simulation_that_is_soaked", 100);
        assert!(silent.starts_with("the test did not say"), "{silent}");
        assert!(silent.contains("broken before it says anything"), "{silent}");
        let judged = why("a_simulation_that_is_soaked", 150);
        assert!(judged.starts_with("all seeds held and the test failed"), "{judged}");
        assert!(why("a_test_that_is_gone", 0).contains("0 passed"));
    }
}
