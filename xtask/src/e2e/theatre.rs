//! Every scene of the theatre in a browser, wide and narrow: without an error, the run the same as natively, and a
//! moment the same when it is left and found again, or opened by its link.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Stage;
use super::browser::Page;
use super::server::Server;

const WIDE: (u32, u32) = (1280, 859);
const NARROW: (u32, u32) = (390, 983);
/// How long a page may take to be there, in the server's ticks.
const OPEN_TICKS_MAX: u64 = 1_800;
/// The first scene has stopped at its moment within 8 s.
const MOMENT_TICKS_MAX: u64 = 480;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let natively = traces(stage)?;
    let server = stage.server(&[])?;
    let page = stage.page(&server, "theatre.html").await?;
    let stopped = |status: &Value| status["caption"].as_str().is_some_and(|words| !words.is_empty());
    let opened = page.until(&server, OPEN_TICKS_MAX, "open", |status| status["scene"] == "cover");
    opened.await?;
    let first = page.until(&server, MOMENT_TICKS_MAX, "at its moment", stopped).await?;
    ensure!(first["playing"] == false, "it has not stopped: {first}");
    page.picture("theatre-first").await?;
    for (name, size) in [("wide", WIDE), ("narrow", NARROW)] {
        page.resize(size).await?;
        for (key, trace) in &natively {
            page.ask(&format!("window.sametick.open({{ scene: '{key}' }})")).await?;
            let status = page.until(&server, 20 * OPEN_TICKS_MAX, "at its moment", stopped).await?;
            ensure!(status["trace"] == **trace, "{key}: {} here, {trace} natively", status["trace"]);
            ensure!(status["errors"] == serde_json::json!([]), "{key}: {}", status["errors"]);
            ensure!(status["sideways"] == false, "{key}: a {name} page scrolls sideways");
            page.picture(&format!("theatre-{key}-{name}")).await?;
        }
    }
    again(&page, &server).await?;
    page.close().await
}

/// To a moment, away and back, and by link, everyone has the same state.
async fn again(page: &Page<'_>, server: &Server) -> Result<()> {
    page.ask("window.sametick.change({ 'a.ping': 140 })").await?;
    let mut hashes = Vec::new();
    for moment in ["4.2", "1.1", "4.2"] {
        page.ask(&format!("window.sametick.seek({moment})")).await?;
        hashes.push(page.status().await?["hash"].clone());
    }
    ensure!(hashes[0] == hashes[2] && hashes[0] != hashes[1], "{hashes:?}");
    let link = page.status().await?["link"].as_str().context("there is no link")?.to_owned();
    page.visit(&format!("{}theatre.html?{link}&t=4.20", server.page)).await?;
    let is_there = |status: &Value| status["t"].as_f64().is_some_and(|t| (t - 4.2).abs() < 1e-6);
    let status = page.until(server, OPEN_TICKS_MAX, "at the linked moment", is_there).await?;
    ensure!(status["hash"] == hashes[0], "by link {}, before {}", status["hash"], hashes[0]);
    Ok(())
}

/// What each scene comes to natively.
fn traces(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let output = Command::new(&stage.program).args(["theatre", "--trace"]).output();
    let text = String::from_utf8(output.context("cannot start the program")?.stdout)?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let traces: BTreeMap<_, _> = pairs.map(|(key, trace)| (key.into(), trace.into())).collect();
    ensure!(traces.len() >= 7, "the program tells of {} scenes", traces.len());
    Ok(traces)
}
