//! What one asks of one's own line happens to it, and the page measures it: the sliders are moved, the figures follow.

use anyhow::Result;
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
/// How long figures may take to follow.
const FOLLOW_TICKS_MAX: u64 = 60 * 30;
const DELAY_MS: f64 = 60.0;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--bots", "2"])?;
    let page = stage.page(&server, "?graph=full").await?;
    page.draw_coarsely().await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    page.ask("(window.sametick.fly(2), true)").await?;
    page.key("keydown", "KeyC").await?;
    let number = |status: &Value, name: &str| status[name].as_f64().unwrap_or(-1.0);
    // Its first frames hold a page up.
    let is_near = |status: &Value| (0.0..DELAY_MS).contains(&number(status, "ping"));
    let before = page.until(&server, FOLLOW_TICKS_MAX, "near", is_near).await?;
    page.slide("delay", &DELAY_MS.to_string()).await?;
    let is_slow = |status: &Value| number(status, "ping") >= 2.0 * DELAY_MS;
    let slow = page.until(&server, FOLLOW_TICKS_MAX, "delayed", is_slow).await?;
    // Words follow figures by some frames, which take their time on a busy machine.
    let words = "document.getElementById('achieved').textContent";
    let is_told = |line: &Value| line.as_str().is_some_and(|line| line.contains("Added 120 ms of ping"));
    page.until_told(&server, FOLLOW_TICKS_MAX, words, "in words", is_told).await?;
    println!(
        "e2e: conditions: ping {:.0} ms, and {:.0} ms with 2 x {DELAY_MS} ms added",
        number(&before, "ping"),
        number(&slow, "ping")
    );
    page.slide("delay", "0").await?;
    let is_quick = |status: &Value| number(status, "ping") < 2.0 * DELAY_MS;
    page.until(&server, FOLLOW_TICKS_MAX, "quick again", is_quick).await?;
    page.slide("loss", "20").await?;
    let is_lossy = |status: &Value| {
        ["lossDown", "lossUp"].iter().all(|way| (8.0..40.0).contains(&number(status, way)))
    };
    page.until(&server, FOLLOW_TICKS_MAX, "losing both ways", is_lossy).await?;
    page.picture("conditions").await?;
    page.slide("loss", "0").await?;
    let is_whole =
        |status: &Value| number(status, "lossDown") < 1.0 && number(status, "lossUp") < 1.0;
    page.until(&server, FOLLOW_TICKS_MAX, "whole again", is_whole).await?;
    page.ask("(window.sametick.set('loss.down', '30'), true)").await?;
    let is_lossy_down =
        |status: &Value| number(status, "lossDown") > 15.0 && number(status, "lossUp") < 2.0;
    page.until(&server, FOLLOW_TICKS_MAX, "losing downwards alone", is_lossy_down).await?;
    page.close().await
}
