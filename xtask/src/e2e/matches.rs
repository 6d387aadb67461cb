//! Who finds several matches on the first screen goes to another one by choosing it, and is called the same there.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
const NAMES: &str = "[...document.querySelectorAll('#matches b')].map(b => b.textContent).join('; ')";

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--bots", "2", "--also", "halls"])?;
    let page = stage.page(&server, "?name=Anna").await?;
    page.draw_coarsely().await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    server.until_people(1.0, JOIN_TICKS_MAX)?;
    let names = page.ask(NAMES).await?;
    ensure!(names == "Corners, free for all; Halls, free for all", "it lists {names}");
    page.picture("matches").await?;
    page.ask("(document.querySelector('#matches a').click(), true)").await?;
    server.until_people(0.0, JOIN_TICKS_MAX)?;
    let is_named = |status: &Value| is_playing(status) && status["name"] == "Anna";
    page.until(&server, JOIN_TICKS_MAX, "playing in the other match", is_named).await?;
    let names = page.ask(NAMES).await?;
    ensure!(names == "Halls, free for all; Corners, free for all", "the other lists {names}");
    page.close().await
}
