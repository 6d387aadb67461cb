//! A page whose server is killed comes back when there is one again, by itself and over either road.

use anyhow::Result;
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;

/// How long coming back may take: the page must first notice.
const BACK_TICKS_MAX: u64 = 3_600;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    for (query, road) in [("", "webtransport"), ("?link=websocket", "websocket")] {
        let server = stage.server(&["--bots", "2"])?;
        let page = stage.page(&server, query).await?;
        page.draw_coarsely().await?;
        page.until(&server, BACK_TICKS_MAX, "playing", is_playing).await?;
        let address = server.page_address().to_owned();
        server.kill()?;
        let server = stage.server_at(&address, &["--bots", "2"])?;
        let is_back =
            |status: &Value| is_playing(status) && status["joins"].as_f64().is_some_and(|n| n > 1.0);
        page.until(&server, BACK_TICKS_MAX, "back", is_back).await?;
        server.until_people(1.0, BACK_TICKS_MAX)?;
        page.picture(&format!("back-{road}")).await?;
        page.close().await?;
    }
    Ok(())
}
