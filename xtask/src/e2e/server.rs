//! A server's process: starts it, reads what it tells, asks for its figures, stops it. Knows no browser.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Stage;

/// A running server; it ends with this.
pub(crate) struct Server {
    process: Child,
    /// Where its page is.
    pub(crate) page: String,
    metrics: String,
    /// Kept, or the server would have nobody to tell.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Stage {
    /// Starts a server with a page at any free port.
    pub(crate) fn server(&self, options: &[&str]) -> Result<Server> {
        self.server_at("127.0.0.1:0", options)
    }

    /// Starts a server with a page at an address.
    pub(crate) fn server_at(&self, page: &str, options: &[&str]) -> Result<Server> {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--json", "--address", "127.0.0.1:0", "--page", page]);
        command.args(["--metrics", "127.0.0.1:0"]).args(options);
        if !options.contains(&"--map") {
            command.args(["--map", "corners"]);
        }
        self.started(command)
    }

    /// Plays Islands, with a page at any free port.
    pub(crate) fn islands(&self, options: &[&str]) -> Result<Server> {
        let mut command = Command::new(&self.program);
        command.args(["play", "--game", "islands", "--json", "--address", "127.0.0.1:0"]);
        command.args(["--page", "127.0.0.1:0"]).args(options);
        self.started(command)
    }

    fn started(&self, mut command: Command) -> Result<Server> {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let name = self.program.display();
        let mut process = spawned.with_context(|| format!("cannot start {name}"))?;
        let output = process.stdout.take().context("the server says nothing")?;
        let mut lines = BufReader::new(output).lines();
        let first = lines.next().context("the server ended at once")??;
        let told: Value = serde_json::from_str(&first).context("the server says no JSON")?;
        let text =
            |value: &Value| value.as_str().map(str::to_owned).context("the server says too little");
        let page = text(&told["pages"][0])?;
        // Not every game has figures.
        let metrics = told["metrics"].as_str().unwrap_or_default().to_owned();
        Ok(Server { process, page, metrics, _output: lines })
    }
}

impl Server {
    /// One of its figures, as it is now.
    pub(crate) fn figure(&self, name: &str) -> Result<f64> {
        let text = get(&self.metrics, "/metrics", &[])?;
        let find = |line: &str| {
            let rest = line.strip_prefix("sametick_")?.strip_prefix(name)?.strip_prefix(' ')?;
            rest.parse().ok()
        };
        text.lines().find_map(find).with_context(|| format!("the server has no figure {name}"))
    }

    /// The address of its page, without the scheme.
    pub(crate) fn page_address(&self) -> &str {
        self.page.trim_start_matches("http://").trim_end_matches('/')
    }

    /// What it answers, head and all.
    pub(crate) fn get(&self, path: &str, headers: &[&str]) -> Result<String> {
        get(self.page_address(), path, headers)
    }

    /// Waits for so many of its ticks.
    pub(crate) fn pass(&self, ticks: u64) -> Result<()> {
        let end = self.figure("ticks_total")? + ticks as f64;
        while self.figure("ticks_total")? < end {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits until so many people are there, for at most so many ticks.
    pub(crate) fn until_people(&self, people: f64, ticks_max: u64) -> Result<()> {
        let begin = self.figure("ticks_total")?;
        while self.figure("players")? != people {
            if self.figure("ticks_total")? > begin + ticks_max as f64 {
                let are = self.figure("players")?;
                bail!("after {ticks_max} ticks {are} people are there, not {people}");
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops it at once, as a crash would.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn get(address: &str, path: &str, headers: &[&str]) -> Result<String> {
    let mut stream = TcpStream::connect(address).context("the server does not answer")?;
    let mut request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    headers.iter().for_each(|header| request += &format!("{header}\r\n"));
    stream.write_all(format!("{request}\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
