//! A page that nobody looks at for a minute stays in its match as one player, and has nothing piled up when one looks
//! again.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
const AWAY_TICKS: u64 = 60 * 60;
/// How far behind the server a page may be that has caught up, and for how long it may catch up.
const BEHIND_TICKS_MAX: f64 = 60.0;
const CATCH_UP_TICKS_MAX: u64 = 60 * 5;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let mut away = Vec::new();
    for link in ["webtransport", "websocket"] {
        let server = stage.server(&["--bots", "2"])?;
        let page = stage.page(&server, &format!("?link={link}")).await?;
        page.draw_coarsely().await?;
        let before = page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
        let tab = page.look_away().await?;
        away.push((link, server, page, before, tab));
    }
    if let Some((_, server, ..)) = away.last() {
        server.pass(AWAY_TICKS)?;
    }
    for (link, server, page, before, tab) in away {
        page.look_back(tab).await?;
        ensure!(server.figure("players")? <= 1.0, "a ghost is left behind");
        let is_near = |status: &Value| {
            let (tick, now) = (status["tick"].as_f64(), server.figure("ticks_total"));
            let behind = tick.zip(now.ok()).map(|(tick, now)| now - tick);
            is_playing(status) && behind.is_some_and(|behind| behind < BEHIND_TICKS_MAX)
        };
        let after = page.until(&server, CATCH_UP_TICKS_MAX, "in the present", is_near).await?;
        ensure!(server.figure("players")? == 1.0, "one player, and no ghost");
        println!(
            "e2e: background: over {link}, a minute away: joins {} (before {}), frames {}, dropped {}",
            after["joins"],
            before["joins"],
            after["frames"].as_f64().unwrap_or(0.0) - before["frames"].as_f64().unwrap_or(0.0),
            after["dropped"],
        );
        page.close().await?;
    }
    Ok(())
}
