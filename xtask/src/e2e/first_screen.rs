//! The first screen shows a match that goes on, with somebody in it, and says what is played and with whom.

use anyhow::{Context, Result, ensure};

use super::Stage;
use super::joins_and_walks::is_playing;
use super::picture::is_person;

const JOIN_TICKS_MAX: u64 = 1_800;
/// A second of the server's.
const APART_TICKS: u64 = 60;
/// How often one looks: whoever is watched may just have fallen.
const LOOKS: usize = 6;
const COMPANY: &str = "Corners, free for all6 bots, nobody else";
/// The left third is paper.
const RIGHT_OF: usize = 440;
/// A figure in the middle of things has more dots than this.
const PERSON_DOTS: usize = 150;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--bots", "6"])?;
    let page = stage.page(&server, "").await?;
    page.until(&server, JOIN_TICKS_MAX, "connected", is_playing).await?;
    let is_drawn = |status: &serde_json::Value| status["firstFrame"].as_f64().is_some();
    let status = page.until(&server, JOIN_TICKS_MAX, "drawn", is_drawn).await?;
    let first = status["firstFrame"].as_f64().context("no first frame")?;
    println!("e2e: first_screen: first picture of a match {first:.0} ms after opening");
    server.pass(2 * APART_TICKS)?;
    let mut before = page.picture("first").await?;
    let mut somebody = 0;
    for _ in 0..LOOKS {
        server.pass(APART_TICKS)?;
        let now = page.picture("first").await?;
        let changed = now.differences(&before);
        ensure!(changed > 1000, "a second later only {changed} dots differ");
        somebody += usize::from(now.count(RIGHT_OF, is_person) > PERSON_DOTS);
        before = now;
    }
    ensure!(somebody > LOOKS / 2, "somebody was in view in only {somebody} of {LOOKS} pictures");
    let company = "document.getElementById('matches').textContent";
    let mut text = page.ask(company).await?;
    // It is told anew every few seconds.
    for _ in 0..LOOKS {
        if text == COMPANY {
            break;
        }
        server.pass(2 * APART_TICKS)?;
        text = page.ask(company).await?;
    }
    ensure!(text == COMPANY, "it says {text}");
    let own = page.status().await?["name"].clone();
    ensure!(own == "Player 7", "we are called {own}");
    page.close().await
}
