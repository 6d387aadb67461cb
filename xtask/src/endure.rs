//! A match over real sockets and bad lines, for as long as wanted: nobody is lost or stuck, the server's memory stays
//! flat, and the recording plays again as it was. Knows the program by its answers alone.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// How long, and with how many.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Endure {
    /// How many seconds of real time.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(20..))]
    seconds: u64,
    /// How many headless players.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=256))]
    players: u64,
    /// Their line.
    #[arg(long, default_value = "bad")]
    profile: String,
    /// What chance follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program, if it is built already.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// So many snapshots a second of 20 everyone gets at least, or is stuck: bad lines lose some.
const SNAPSHOTS_PER_SECOND_MIN: f64 = 10.0;

/// The server's memory may grow by so much between the second quarter of the time and the last: a queue here and
/// there finds its size late.
const GROWTH_MAX: f64 = 0.1;
const GROWTH_KB_MIN: f64 = 4096.0;

pub(crate) fn run(endure: &Endure) -> Result<ExitCode> {
    let program = endure.program.clone().map_or_else(build, Ok)?;
    let folder = program.parent().context("a program has a folder")?;
    let recording = folder.join("endure.sametick");
    let text = recording.to_str().context("the target folder has a name that is no text")?;
    let seed = endure.seed.to_string();
    let serve = ["serve", "--address", "127.0.0.1:0", "--record", text, "--seed", &seed, "--json"];
    let mut server = Running::start(&program, &serve)?;
    let address = server.next("listening")?["address"].as_str().context("no address")?.to_owned();
    let Endure { seconds, players, ref profile, .. } = *endure;
    println!("endure: {players} players on {profile} lines for {seconds} s");
    let bots = Command::new(&program)
        .args(["bots", "--connect", &address, "--profile", profile, "--seed", &seed, "--json"])
        .args(["--count", &players.to_string(), "--seconds", &seconds.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .context("the players do not start")?;
    let sizes = watch(&server, seconds);
    let bots = bots.wait_with_output().context("the players do not end")?;
    ensure!(bots.status.success(), "the players failed");
    let report: Value = serde_json::from_slice(&bots.stdout).context("the players' report")?;
    println!("endure: {report}");
    server.stop()?;
    judge_players(&report, players)?;
    judge_sizes(&sizes)?;
    judge_recording(&program, &recording)?;
    println!("endure: all held");
    Ok(ExitCode::SUCCESS)
}

fn judge_players(report: &Value, players: u64) -> Result<()> {
    ensure!(report["joined"] == players, "not all joined");
    ensure!(report["reasons"].as_object().is_some_and(serde_json::Map::is_empty), "some were lost");
    ensure!(report["malformed"] == 0, "messages were malformed");
    let least = report["snapshots_per_second"]["min"].as_f64().unwrap_or(0.0);
    ensure!(least >= SNAPSHOTS_PER_SECOND_MIN, "someone is stuck: {least} snapshots a second");
    Ok(())
}

/// Flat is: the last quarter is about what the second was.
fn judge_sizes(sizes: &[f64]) -> Result<()> {
    let quarter = sizes.len() / 4;
    if quarter == 0 {
        println!("endure: the server's memory is not known here");
        return Ok(());
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let early = mean(&sizes[quarter..2 * quarter]);
    let late = mean(&sizes[sizes.len() - quarter..]);
    println!(
        "endure: the server has {early:.0} kB in the second quarter, {late:.0} kB in the last"
    );
    ensure!(
        late - early <= (early * GROWTH_MAX).max(GROWTH_KB_MIN),
        "the server's memory grows from {early:.0} to {late:.0} kB"
    );
    Ok(())
}

fn judge_recording(program: &Path, recording: &Path) -> Result<()> {
    let replay = Command::new(program).arg("replay").arg(recording).arg("--json").output()?;
    let report: Value = serde_json::from_slice(&replay.stdout).context("the replay's report")?;
    println!("endure: {} ticks played again, {} bytes", report["ticks_played"], report["bytes"]);
    ensure!(replay.status.success() && report["divergence"].is_null(), "it is another match");
    std::fs::remove_file(recording)?;
    Ok(())
}

/// The server's memory each second, in kilobytes; nothing where the system does not tell.
fn watch(server: &Running, seconds: u64) -> Vec<f64> {
    let status = format!("/proc/{}/status", server.child.id());
    let mut sizes = Vec::new();
    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        sizes.extend(line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()));
    }
    sizes
}

/// The program as released.
fn build() -> Result<PathBuf> {
    let built = crate::cargo()
        .args(["build", "--release", "--locked", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(built.status.success(), "the program does not build");
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let mut programs = messages.lines().rev().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    programs.next().context("cargo names no program")
}

/// A server that tells one object a line.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("it has no output")?);
        Ok(Self { child, lines })
    }

    /// The next line about this kind of event; those before it are passed over.
    fn next(&mut self, event: &str) -> Result<Value> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                bail!("the server ended and never told of {event}");
            }
            let object: Value = serde_json::from_str(&line)?;
            if object["event"] == event {
                return Ok(object);
            }
        }
    }

    /// Asks it to stop, as the system does, and waits for it.
    fn stop(&mut self) -> Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        ensure!(asked.success(), "the server cannot be asked to stop");
        println!("endure: {}", self.next("stopped")?);
        ensure!(self.child.wait()?.success(), "the server failed");
        Ok(())
    }
}

/// Whatever fails leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_found_and_noise_is_not() {
        let flat: Vec<f64> = (0..60).map(|second| 50_000.0 + f64::from(second % 7)).collect();
        assert!(judge_sizes(&flat).is_ok());
        let leak: Vec<f64> = (0..60).map(|second| 50_000.0 + 400.0 * f64::from(second)).collect();
        assert!(judge_sizes(&leak).is_err());
    }
}
