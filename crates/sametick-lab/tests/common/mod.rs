//! What the tests of runs share: a folder of their own, and a small experiment in it.

pub(crate) mod people;

use sametick_lab::{Carrier, Experiment, How, Log, LogError, Plan, Ran, Simulated, run};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A folder that is gone when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sametick-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Six trials of two bots, two machines in lockstep and FPSci's format.
pub(crate) const SMALL: &str = r#"
question = "Does it <b>repeat</b>?"
repetitions = 2
[settings]
map = "corners"
mode = "ffa"
players = 2
duration = "3 s"
warm_up = "2 s"
ping = "60 ms"
jitter = "10 ms"
loss = "2 %"
log_states = true
log_views = true
log_commands = true
log_frames = true
[[condition]]
model = "half_life"
[[condition]]
model = "rollback"
[[condition]]
play = "fpsci"
"#;

pub(crate) fn read(text: &str) -> (Experiment, Plan) {
    let experiment = Experiment::read(text, ".".as_ref(), false).expect("it is read");
    let plan = Plan::new(&experiment).expect("it can be played");
    (experiment, plan)
}

pub(crate) fn simulated(hosts: usize, seed: u64) -> Result<Box<dyn Carrier>, String> {
    Ok(Box::new(Simulated::new(hosts, seed)))
}

/// Runs what is missing of an experiment, its own programs included.
pub(crate) fn run_into(
    path: &Path,
    text: &str,
    threads: usize,
    shard: (u32, u32),
) -> Result<(Log, Ran), LogError> {
    let (experiment, plan) = read(text);
    let log = Log::write(path, &experiment, &plan)?;
    let how = How { threads, shard, is_real_time: false, runs_programs: true };
    let ran = run(&experiment, &plan, &log, how, &simulated, &AtomicBool::new(false), |_| {})?;
    Ok((log, ran))
}
