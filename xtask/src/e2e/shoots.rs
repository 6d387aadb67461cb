//! A page shoots at targets that hang still and scores, by the server's word: the mark is filled. A shot
//! that the server never hears of is struck through, and scores nothing.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
const HUNT_TICKS_MAX: u64 = 60 * 60;
/// The server guesses for a moment that one goes on as before, and slow pages tell late; after so many ticks neither.
const GUESSED_TICKS: u64 = 120;
/// So long a page that is not heard stays in the match, less the above.
const DEAF_TICKS_MAX: u64 = 60 * 6;
const ATTEMPTS: usize = 5;
const WATCH_MARKS: &str = "(() => { window.marks = []; const m = document.getElementById('mark'); \
    new MutationObserver(() => window.marks.push(m.dataset.state)).observe(m, { attributes: true }); \
    return true; })()";

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--mode", "targets"])?;
    let page = stage.page(&server, "").await?;
    page.draw_coarsely().await?;
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
    // Hollow it was for less than a frame here; that comes first is tested without a browser.
    ensure!(marks.contains("filled"), "no mark was filled: {marks}");
    ensure!(number(&scored, "score") <= number(&scored, "confirmed"), "more points than hits: {scored}");
    let mut refused = None;
    for _ in 0..ATTEMPTS {
        // From now on the server hears nothing, and the page hears everything.
        page.ask("(window.sametick.set('loss.up', '100'), window.marks.length = 0, true)").await?;
        server.pass(GUESSED_TICKS)?;
        let deaf = page.status().await?;
        let is_refused = |status: &Value| number(status, "refused") > number(&deaf, "refused");
        let found = page.until(&server, DEAF_TICKS_MAX, "refused", is_refused).await.ok();
        let marks = page.ask("window.marks.join(' ')").await?;
        page.ask("(window.sametick.set('loss.up', '0'), true)").await?;
        if let Some(status) = found {
            let marks = marks.as_str().unwrap_or_default();
            ensure!(marks.contains("struck"), "no mark was struck through: {marks}");
            for name in ["score", "confirmed"] {
                ensure!(status[name] == deaf[name], "{name} changed though the server heard nothing");
            }
            refused = Some(status);
            break;
        }
        // It had nothing to shoot at; longer without a word, and the server would take it for gone.
        server.pass(GUESSED_TICKS)?;
    }
    let refused = refused.context("no shot was refused")?;
    let scores_again = |status: &Value| number(status, "score") > number(&refused, "score");
    page.until(&server, HUNT_TICKS_MAX, "scoring again", scores_again).await?;
    page.close().await
}
