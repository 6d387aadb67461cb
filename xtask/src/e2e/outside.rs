//! What happens to the line outside of the page is measured by the page: a relay between it and its server holds
//! packets up, and loses some of those that come down.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Stage;
use super::joins_and_walks::is_playing;
use super::relay::Relay;

const JOIN_TICKS_MAX: u64 = 1_800;
/// How long figures may take to follow.
const FOLLOW_TICKS_MAX: u64 = 60 * 30;
const DELAY_MS: u64 = 40;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    for road in ["webtransport", "websocket"] {
        let relay = Relay::bind()?;
        let own = format!("http://{}", relay.address()?);
        let server = stage.server(&["--bots", "2", "--origin", &own])?;
        let session = server.get("/session.json", &[])?;
        let body = session.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let session: Value = serde_json::from_str(body.trim()).context("session.json")?;
        let port = session["webtransport"]["port"].as_u64().and_then(|port| port.try_into().ok());
        relay.start(server.page_address(), port.context("the server has no WebTransport")?)?;
        let page = stage.page_at(&format!("{own}/?link={road}")).await?;
        page.draw_coarsely().await?;
        let joined = page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
        ensure!(joined["road"] == road, "it came over {}, not {road}", joined["road"]);
        let number = |status: &Value, name: &str| status[name].as_f64().unwrap_or(-1.0);
        // Its first frames hold a page up.
        let is_near = |status: &Value| (0.0..DELAY_MS as f64).contains(&number(status, "ping"));
        let near = page.until(&server, FOLLOW_TICKS_MAX, "near", is_near).await?;
        relay.line.delay_ms.store(DELAY_MS, Ordering::Relaxed);
        let is_far = |status: &Value| number(status, "ping") >= 2.0 * DELAY_MS as f64;
        let far = page.until(&server, FOLLOW_TICKS_MAX, "far away", is_far).await?;
        println!(
            "e2e: outside: over {road}, ping {:.0} ms, and {:.0} ms behind 2 x {DELAY_MS} ms",
            number(&near, "ping"),
            number(&far, "ping")
        );
        if road == "webtransport" {
            relay.line.loses_one_in.store(5, Ordering::Relaxed);
            // A page that opens on a busy machine loses upwards, too: that leaves the figures after some seconds, and
            // what is lost downwards stays.
            let is_lossy_down = |status: &Value| {
                let [down, up] = ["lossDown", "lossUp"].map(|name| number(status, name));
                down > 8.0 && up < down / 3.0
            };
            page.until(&server, FOLLOW_TICKS_MAX, "losing downwards alone", is_lossy_down).await?;
        }
        page.close().await?;
    }
    Ok(())
}
