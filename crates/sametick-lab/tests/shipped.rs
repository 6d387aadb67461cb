//! The experiments that ship with the project: each is read, its small version is run, and what it expects holds.
//! `SAMETICK_EXPERIMENT` names one of them, `SAMETICK_FULL=1` runs it whole.

use sametick_lab::{How, Log, Plan, Simulated, outcomes, read_file, report, run};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("it is read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    if let Ok(name) = std::env::var("SAMETICK_EXPERIMENT") {
        files.retain(|path| path.to_string_lossy().contains(&name));
    }
    files
}

#[test]
fn what_every_shipped_experiment_expects_holds() {
    let is_quick = std::env::var_os("SAMETICK_FULL").is_none();
    let folder = std::env::temp_dir().join(format!("sametick-shipped-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for databases");
    let mut failures = Vec::new();
    for file in shipped() {
        let experiment = read_file(&file, is_quick).expect("it is read");
        let plan = Plan::new(&experiment).expect("it can be played");
        let name = file.with_extension("db");
        let path = folder.join(name.file_name().expect("a name"));
        let log = Log::write(&path, &experiment, &plan).expect("a log");
        let how = How { threads: 2, shard: (0, 1), is_real_time: false, runs_programs: false };
        let carrier = |hosts, seed| -> Result<Box<dyn sametick_lab::Carrier>, String> {
            Ok(Box::new(Simulated::new(hosts, seed)))
        };
        let ran = run(&experiment, &plan, &log, how, &carrier, &AtomicBool::new(false), |_| {});
        assert_eq!(ran.expect("it ran").trials, plan.trials.len());
        let outcomes = outcomes(&experiment, &log).expect("they are compared");
        assert!(!outcomes.is_empty(), "{} expects nothing", file.display());
        for outcome in outcomes {
            println!(
                "{} {} | {} | {:?} {}",
                outcome.holds, outcome.name, outcome.expected, outcome.measured, outcome.unit
            );
            if !outcome.holds {
                failures.push(format!("{}: {outcome:?}", file.display()));
            }
        }
        let page = report(&log, "sametick lab run").expect("a report");
        assert!(page.contains("<svg") && !page.contains("<script") && !page.contains("src="));
    }
    std::fs::remove_dir_all(&folder).expect("ours");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
