//! A study's process and its database: starts `sametick lab host`, waits for its end, reads the tables it wrote. Knows
//! no browser.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::e2e::Stage;
use crate::e2e::server::get;

pub(super) const PASSWORD: &str = "a long password";

/// A running study; it ends with this.
pub(super) struct Study {
    process: Child,
    program: PathBuf,
    folder: PathBuf,
    /// What it said at the start.
    pub(super) told: Value,
    _output: Lines<BufReader<ChildStdout>>,
}

impl Study {
    /// Hosts an experiment from its text, in a folder of its own.
    pub(super) fn host(stage: &Stage, name: &str, file: &str, options: &[&str]) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("sametick-{name}-{}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.toml"));
        fs::write(&path, file)?;
        let mut command = Command::new(&stage.program);
        command.args(["lab", "host"]).arg(&path).arg("--db").arg(folder.join("study.db"));
        command.args(["--json", "--password", PASSWORD]).args(options);
        if !options.contains(&"--page") {
            command.args(["--page", "127.0.0.1:0"]);
        }
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let program = stage.program.clone();
        let mut process = spawned.with_context(|| format!("cannot start {}", program.display()))?;
        let output = process.stdout.take().context("the lab says nothing")?;
        let mut lines = BufReader::new(output).lines();
        let first = lines.next().context("the lab ended at once")??;
        let told = serde_json::from_str(&first).context("the lab says no JSON")?;
        Ok(Self { process, program, folder, told, _output: lines })
    }

    /// A text of what it said.
    pub(super) fn text(&self, name: &str) -> Result<&str> {
        self.told[name].as_str().with_context(|| format!("the lab does not say {name}"))
    }

    /// The link of a seat, from 1; with plain shadows, which machines without a graphics card draw sooner.
    pub(super) fn link(&self, seat: usize) -> Result<String> {
        let link = self.told["links"][seat - 1].as_str();
        let link = link.with_context(|| format!("seat {seat} has no link"))?;
        Ok(link.replace("lab.html", "lab.html?shadows=plain"))
    }

    /// Where its main door is, without the scheme.
    pub(super) fn address(&self) -> Result<&str> {
        Ok(self.text("address")?.trim_start_matches("http://").trim_end_matches('/'))
    }

    /// What it answers, head and all.
    pub(super) fn get(&self, path: &str, headers: &[&str]) -> Result<String> {
        get(self.address()?, path, headers)
    }

    /// Asks it to end; what it wrote.
    pub(super) fn end(mut self) -> Result<Tables> {
        let number = self.process.id().to_string();
        ensure!(Command::new("kill").arg(number).status()?.success(), "the lab is gone");
        let status = self.process.wait()?;
        ensure!(status.success(), "the lab ended with {status}");
        let tables = self.folder.join("tables");
        self.run(&["lab", "export"], &[Path::new("study.db"), Path::new("-o"), &tables])?;
        Ok(Tables { folder: tables })
    }

    /// Writes the report of what was played, while it still runs or after; where it is.
    pub(super) fn report(&self) -> Result<PathBuf> {
        let page = self.folder.join("report.html");
        self.run(&["lab", "report"], &[Path::new("study.db"), Path::new("-o"), &page])?;
        Ok(page)
    }

    fn run(&self, words: &[&str], paths: &[&Path]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).args(words).args(paths).stdout(Stdio::null());
        if !command.status()?.success() {
            bail!("`sametick {}` failed", words.join(" "));
        }
        Ok(())
    }
}

impl Drop for Study {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let _ = self.folder.parent().map(fs::remove_dir_all);
    }
}

/// A row by the names of its columns.
pub(super) type Row = BTreeMap<String, String>;

/// All tables of a database, as `lab export` writes them.
pub(super) struct Tables {
    folder: PathBuf,
}

impl Tables {
    /// The rows of a table.
    pub(super) fn rows(&self, table: &str) -> Result<Vec<Row>> {
        let text = fs::read_to_string(self.folder.join(format!("{table}.csv")))
            .with_context(|| format!("there is no table {table}"))?;
        let mut records = records(&text).into_iter();
        let names = records.next().with_context(|| format!("{table} has no head"))?;
        Ok(records.map(|record| names.iter().cloned().zip(record).collect()).collect())
    }

    /// How many rows there are that belong to a trial, of all tables; every one of these trials must have been played.
    pub(super) fn check_trials(&self, played: &BTreeSet<String>) -> Result<usize> {
        let mut count = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            for row in self.rows(name)? {
                let Some(trial) = row.get("trial") else { break };
                ensure!(played.contains(trial), "{name} has a row of trial {trial}, which nobody played");
                count += 1;
            }
        }
        Ok(count)
    }
}

/// A text's records; a cell in quotes may have commas, line ends and doubled quotes in it.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut letters) = (false, text.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !is_quoted => {}
            letter => cell.push(letter),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_quotes_keep_their_commas_quotes_and_lines() {
        let read = records("a,b\n1,\"x, \"\"y\"\"\nz\"\n,\n");
        assert_eq!(read, [["a", "b"], ["1", "x, \"y\"\nz"], ["", ""]]);
    }
}
