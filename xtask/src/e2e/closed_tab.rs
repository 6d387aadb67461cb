//! A tab that is closed, with a goodbye or without one, leaves no ghost behind; nor does a reload.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
/// A connection of which nothing is heard is over after ten seconds; a server has sixty ticks in each.
const TIME_OUT_TICKS: u64 = 60 * (10 + 2);
/// Who says goodbye is gone soon.
const GOODBYE_TICKS: u64 = 60 * 3;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    for (says_goodbye, ticks) in [(true, GOODBYE_TICKS), (false, TIME_OUT_TICKS)] {
        let page = stage.page(&server, "").await?;
        page.draw_coarsely().await?;
        page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
        server.until_people(1.0, JOIN_TICKS_MAX)?;
        if !says_goodbye {
            page.ask("(window.sametick.leave = () => {}, true)").await?;
        }
        page.close().await?;
        server.until_people(0.0, ticks)?;
    }
    let page = stage.page(&server, "").await?;
    page.draw_coarsely().await?;
    let before = page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    page.ask("(window.sametick.leave = () => {}, location.reload(), true)").await?;
    let is_again = |status: &Value| is_playing(status) && status["tick"] != before["tick"];
    let after = page.until(&server, JOIN_TICKS_MAX, "playing again", is_again).await?;
    ensure!(after["player"] == before["player"], "a reload takes the same place");
    server.pass(60)?;
    ensure!(server.figure("players")? == 1.0, "a reload leaves no ghost");
    page.close().await
}
