//! A page and a native process play one match in lockstep, over each road: the worlds of every tick that both looked at
//! are the same.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Stage;
use super::browser::Page;
use super::joins_and_walks::is_playing;

/// The native machine plays for so long once the page has come.
const SECONDS: &str = "8";
/// How often a page is looked at until it must have come.
const LOOKS_MAX: u32 = 3_000;
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// At least so many worlds are compared: of every eighth tick.
const COMPARED_MIN: usize = 20;

/// Ends with the test, whatever comes of it.
struct Native(Child);

impl Drop for Native {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) async fn run(stage: &Stage) -> Result<()> {
    for (model, query, road) in [
        ("doom1993", "", "webtransport"),
        ("packet_server", "?link=websocket", "websocket"),
        ("rollback", "", "webtransport"),
    ] {
        let compared = play(stage, model, query, road).await;
        let compared = compared.with_context(|| format!("{model} over {road}"))?;
        println!("e2e: lockstep: {model} over {road}: {compared} worlds the same");
    }
    Ok(())
}

async fn play(stage: &Stage, model: &str, query: &str, road: &str) -> Result<usize> {
    let mut command = Command::new(&stage.program);
    command.args(["play", "--json", "--map", "corners", "--model", model, "--players", "2"]);
    command.args(["--seconds", SECONDS, "--address", "127.0.0.1:0", "--page", "127.0.0.1:0"]);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut native = Native(spawned.context("cannot start the program")?);
    let mut output = BufReader::new(native.0.stdout.take().context("it says nothing")?);
    let mut first = String::new();
    output.read_line(&mut first)?;
    let told: Value = serde_json::from_str(&first).context("it does not say where its page is")?;
    let address = told["pages"][0].as_str().context("there is no page")?;
    let page = stage.page_at(&format!("{address}{query}")).await?;
    page.draw_coarsely().await?;
    let joined = until_playing(&page).await?;
    ensure!(joined["road"] == road, "it came over {}", joined["road"]);
    page.ask("window.sametick.fly(3)").await?;
    // It ends by itself; the page plays meanwhile.
    let rest = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        output.read_to_string(&mut rest).map(|_| rest)
    });
    let report: Value = serde_json::from_str(&rest.await??).context("no report")?;
    let status = page.status().await?;
    page.picture(&format!("lockstep-{model}")).await?;
    page.close().await?;
    compare(&report, &status)
}

async fn until_playing(page: &Page<'_>) -> Result<Value> {
    for _ in 0..LOOKS_MAX {
        let status = page.status().await?;
        if is_playing(&status) {
            return Ok(status);
        }
        std::thread::sleep(LOOKS_EVERY);
    }
    page.picture("failed").await?;
    bail!("the page has not come: {}", page.status().await?)
}

/// How many worlds are the same on both sides; none may differ.
fn compare(report: &Value, status: &Value) -> Result<usize> {
    let natively = report["hashes"].as_object().context("the report has no hashes")?;
    let here = status["hashes"].as_str().context("the page has no hashes")?;
    let here: BTreeMap<&str, &str> = here.split(' ').filter_map(|pair| pair.split_once(':')).collect();
    let mut compared = 0;
    for (tick, hash) in &here {
        let Some(native) = natively.get(*tick).and_then(Value::as_u64) else { continue };
        ensure!(native.to_string() == *hash, "tick {tick}: {hash} here, {native} natively");
        compared += 1;
    }
    ensure!(compared >= COMPARED_MIN, "only {compared} worlds could be compared: {status}");
    Ok(compared)
}
