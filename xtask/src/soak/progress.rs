//! How far a soak has come: kept in a file after each chunk, so that one that was interrupted goes on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::chunk::Report;
use super::simulations::{self, Simulation};

const FILE: &str = "progress.json";

/// What is run, and what has been.
#[derive(Debug, PartialEq)]
pub(crate) struct Progress {
    /// The commit that was run, and what was changed since.
    pub(crate) commit: String,
    pub(crate) parts: Vec<Part>,
}

/// One simulation's seeds.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) simulation: &'static Simulation,
    pub(crate) first_seed: u64,
    pub(crate) seeds: u64,
    /// Virtual seconds of each run; none is what the simulation says.
    pub(crate) seconds: Option<u64>,
    pub(crate) done: Done,
}

/// What came of the seeds that were run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Done {
    pub(crate) seeds: u64,
    pub(crate) virtual_seconds: f64,
    pub(crate) wall_seconds: f64,
    pub(crate) failed: Vec<u64>,
    /// The first seeds of chunks that did not say what became of them.
    pub(crate) broken: Vec<u64>,
}

impl Part {
    pub(crate) fn next_seed(&self) -> u64 {
        self.first_seed + self.done.seeds
    }

    /// How many seeds are run next; 0 if all were.
    pub(crate) fn chunk_seeds(&self) -> u64 {
        self.simulation.chunk_seeds.min(self.seeds - self.done.seeds)
    }

    pub(crate) fn has_failed(&self) -> bool {
        !self.done.failed.is_empty() || !self.done.broken.is_empty()
    }

    pub(crate) fn add(&mut self, seeds: u64, report: &Report) {
        if report.broken.is_some() {
            self.done.broken.push(self.next_seed());
        }
        self.done.seeds += seeds;
        self.done.virtual_seconds += report.virtual_seconds;
        self.done.wall_seconds += report.wall_seconds;
        self.done.failed.extend(&report.failed);
    }

    /// One line of the summary.
    pub(crate) fn line(&self) -> String {
        let Done { seeds, virtual_seconds, wall_seconds, failed, broken } = &self.done;
        let name = self.simulation.name;
        if *seeds == 0 {
            return format!("{name}: none of {} seeds was run", self.seeds);
        }
        let of = if *seeds < self.seeds { format!(" of {}", self.seeds) } else { String::new() };
        let (first, last) = (self.first_seed, self.next_seed() - 1);
        let hours = virtual_seconds / 3600.0;
        let mut line = format!(
            "{name}: {seeds}{of} seeds, {first} to {last}, {hours:.2} virtual hours in \
             {wall_seconds:.0} s, {} failed",
            failed.len()
        );
        if !broken.is_empty() {
            line += &format!(", {} chunks broke", broken.len());
        }
        line
    }

    pub(crate) fn to_json(&self) -> Value {
        let Done { seeds, virtual_seconds, wall_seconds, failed, broken } = &self.done;
        json!({
            "simulation": self.simulation.name,
            "first_seed": self.first_seed,
            "seeds": self.seeds,
            "seconds": self.seconds,
            "done": seeds,
            "virtual_seconds": virtual_seconds,
            "wall_seconds": wall_seconds,
            "failed": failed,
            "broken": broken,
        })
    }

    fn from_json(value: &Value) -> Result<Self> {
        let number = |key: &str| value[key].as_u64().with_context(|| format!("no number {key}"));
        let float = |key: &str| value[key].as_f64().with_context(|| format!("no number {key}"));
        let list = |key: &str| {
            let list = value[key].as_array().with_context(|| format!("no list {key}"))?;
            let number = |seed: &Value| seed.as_u64().with_context(|| format!("{key}: no seed"));
            list.iter().map(number).collect::<Result<Vec<u64>>>()
        };
        let name = value["simulation"].as_str().context("no simulation")?;
        let simulation = simulations::named(name).with_context(|| format!("no {name}"))?;
        let seeds = number("seeds")?;
        let done = Done {
            seeds: number("done")?.min(seeds),
            virtual_seconds: float("virtual_seconds")?,
            wall_seconds: float("wall_seconds")?,
            failed: list("failed")?,
            broken: list("broken")?,
        };
        let (first_seed, seconds) = (number("first_seed")?, value["seconds"].as_u64());
        Ok(Self { simulation, first_seed, seeds, seconds, done })
    }
}

impl Progress {
    /// The part that has come least far.
    pub(crate) fn next(&mut self) -> Option<&mut Part> {
        let left = self.parts.iter_mut().filter(|part| part.chunk_seeds() > 0);
        let share = |part: &&mut Part| part.done.seeds as f64 / part.seeds as f64;
        left.min_by(|one, other| share(one).total_cmp(&share(other)))
    }

    /// Forgets what was run, for another commit.
    pub(crate) fn start_over(&mut self, commit: &str) {
        commit.clone_into(&mut self.commit);
        self.parts.iter_mut().for_each(|part| part.done = Done::default());
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let parts: Vec<Value> = self.parts.iter().map(Part::to_json).collect();
        let text = format!("{:#}\n", json!({ "commit": self.commit, "parts": parts }));
        fs::create_dir_all(folder)?;
        // Whoever is interrupted here still has the file of before.
        let (path, fresh) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).context("progress")
    }

    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("nothing to resume: {} cannot be read", path.display()))?;
        let value: Value = serde_json::from_str(&text).context("progress is no JSON")?;
        let commit = value["commit"].as_str().context("no commit")?.to_owned();
        let parts = value["parts"].as_array().context("no parts")?;
        Ok(Self { commit, parts: parts.iter().map(Part::from_json).collect::<Result<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, seeds: u64) -> Part {
        let simulation = simulations::named(name).unwrap();
        Part { simulation, first_seed: 7_000, seeds, seconds: None, done: Done::default() }
    }

    fn report(failed: &[u64], broken: Option<&str>) -> Report {
        let broken = broken.map(str::to_owned);
        Report { virtual_seconds: 1800.0, wall_seconds: 30.0, failed: failed.to_vec(), broken }
    }

    #[test]
    fn the_part_that_has_come_least_far_is_next_until_all_are_done() {
        let parts = vec![part("connections", 250), part("arena", 20)];
        let mut progress = Progress { commit: String::new(), parts };
        let mut order = Vec::new();
        while let Some(part) = progress.next() {
            let seeds = part.chunk_seeds();
            part.add(seeds, &report(&[], None));
            order.push((part.simulation.name, seeds));
        }
        let expected =
            [("connections", 100), ("arena", 20), ("connections", 100), ("connections", 50)];
        assert_eq!(order, expected);
    }

    #[test]
    fn progress_is_read_as_it_was_written_and_another_commit_starts_over() {
        let folder = std::env::temp_dir().join(format!("sametick-soak-{}", std::process::id()));
        let mut lockstep = Part { seconds: Some(20), ..part("lockstep", 250) };
        lockstep.add(100, &report(&[7_003, 7_009], None));
        lockstep.add(100, &report(&[], Some("it was killed")));
        assert_eq!(lockstep.done.broken, [7_100]);
        let mut progress =
            Progress { commit: "abc".to_owned(), parts: vec![lockstep, part("arena", 9)] };
        progress.write(&folder).unwrap();
        assert_eq!(Progress::read(&folder).unwrap(), progress);
        progress.start_over("def");
        assert_eq!(progress.parts[0].done, Done::default());
        assert_eq!((progress.commit.as_str(), progress.parts[0].seeds), ("def", 250));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Progress::read(&folder).is_err());
    }

    #[test]
    fn a_line_says_what_was_run_and_what_failed() {
        let mut lockstep = part("lockstep", 150);
        assert_eq!(lockstep.line(), "lockstep: none of 150 seeds was run");
        lockstep.add(100, &report(&[7_003], None));
        assert_eq!(
            lockstep.line(),
            "lockstep: 100 of 150 seeds, 7000 to 7099, 0.50 virtual hours in 30 s, 1 failed"
        );
        lockstep.add(50, &report(&[], Some("it was killed")));
        assert_eq!(
            lockstep.line(),
            "lockstep: 150 seeds, 7000 to 7149, 1.00 virtual hours in 60 s, 1 failed, 1 chunks broke"
        );
        assert!(lockstep.has_failed());
    }
}
