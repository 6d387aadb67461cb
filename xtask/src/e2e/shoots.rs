//! A page shoots at targets that hang still and scores, by the server's word: the mark is hollow, then filled. A shot
//! that the server never hears of is struck through, and scores nothing.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
const HUNT_TICKS_MAX: u64 = 60 * 60;
/// The server guesses for a moment that one goes on as before; after so many ticks it does not.
const GUESSED_TICKS: u64 = 60;
const WATCH_MARKS: &str = "(() => { window.marks = []; const m = document.getElementById('mark'); \
    new MutationObserver(() => window.marks.push(m.dataset.state)).observe(m, { attributes: true }); \
    return true; })()";

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--mode", "targets"])?;
    let page = stage.page(&server, "?delay=60").await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    page.ask(WATCH_MARKS).await?;
    page.ask("(window.sametick.fly(5), true)").await?;
    let number = |status: &Value, name: &str| status[name].as_f64().unwrap_or(0.0);
    let has_scored =
        |status: &Value| number(status, "score") > 0.0 && number(status, "confirmed") > 0.0;
    let scored = page.until(&server, HUNT_TICKS_MAX, "scoring", has_scored).await?;
    page.picture("shot").await?;
    let marks = page.ask("window.marks.join(' ')").await?;
    let marks = marks.as_str().unwrap_or_default().to_owned();
    for state in ["hollow", "filled"] {
        ensure!(marks.contains(state), "no mark was {state}: {marks}");
    }
    ensure!(number(&scored, "score") <= number(&scored, "confirmed"), "more points than hits: {scored}");
    // From now on the server hears nothing, and the page hears everything.
    page.slide("loss", "0").await?;
    page.ask("(window.sametick.set('loss.up', '100'), true)").await?;
    page.ask("(window.marks.length = 0, true)").await?;
    server.pass(GUESSED_TICKS)?;
    let deaf = page.status().await?;
    let is_refused = |status: &Value| number(status, "refused") > number(&deaf, "refused");
    let refused = page.until(&server, 60 * 8, "refused", is_refused).await?;
    let marks = page.ask("window.marks.join(' ')").await?;
    let marks = marks.as_str().unwrap_or_default();
    ensure!(marks.contains("struck"), "no mark was struck through: {marks}");
    for name in ["score", "confirmed"] {
        ensure!(refused[name] == deaf[name], "{name} changed though the server heard nothing");
    }
    page.ask("(window.sametick.set('loss.up', '0'), true)").await?;
    let scores_again = |status: &Value| number(status, "score") > number(&refused, "score");
    page.until(&server, HUNT_TICKS_MAX, "scoring again", scores_again).await?;
    page.close().await
}
