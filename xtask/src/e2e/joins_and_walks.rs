//! A page joins over each road and walks, by the server's own word.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Stage;
use super::browser::Page;
use super::server::Server;

/// How long joining may take.
const JOIN_TICKS_MAX: u64 = 1_800;
/// What a picture may ask of a graphics driver.
const DRAW_CALLS_MAX: f64 = 150.0;
/// How long one walks.
const WALK_TICKS: u64 = 60;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let without: &[&str] = &["--webtransport", "off"];
    let cases: [(&[&str], &str, &str); 3] = [
        (&[], "", "webtransport"),
        (&[], "?link=websocket", "websocket"),
        // Where there is no other way, it is found without being asked for.
        (without, "", "websocket"),
    ];
    for (options, query, road) in cases {
        let server = stage.server(options)?;
        let page = stage.page(&server, query).await?;
        page.draw_coarsely().await?;
        let joined = page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
        ensure!(joined["road"] == road, "it came over {}, not {road}", joined["road"]);
        server.until_people(1.0, JOIN_TICKS_MAX)?;
        walk(&page, &server).await.with_context(|| format!("over {road}"))?;
        page.picture(&format!("joined-{road}")).await?;
        let calls = page.status().await?["drawCalls"].as_f64().unwrap_or(f64::INFINITY);
        ensure!((1.0..=DRAW_CALLS_MAX).contains(&calls), "a picture takes {calls} draw calls");
        page.close().await?;
    }
    Ok(())
}

pub(crate) fn is_playing(status: &Value) -> bool {
    status["stage"] == "playing" && status["tick"].as_f64().is_some_and(|tick| tick > 0.0)
}

/// Walks in one direction after another until the server says that it led somewhere.
async fn walk(page: &Page<'_>, server: &Server) -> Result<()> {
    let at = |status: &Value| ["x", "y", "z"].map(|axis| status[axis].as_f64().unwrap_or(0.0));
    for quarter in 0..4 {
        let before = page.status().await?;
        let yaw = f64::from(quarter) * std::f64::consts::FRAC_PI_2;
        page.ask(&format!("window.sametick.walk(7, {yaw})")).await?;
        let later = before["tick"].as_f64().unwrap_or(0.0) + WALK_TICKS as f64;
        let has_passed = |status: &Value| status["tick"].as_f64().is_some_and(|tick| tick >= later);
        let after = page.until(server, 20 * WALK_TICKS, "told of a later tick", has_passed).await?;
        let (from, to) = (at(&before), at(&after));
        let metres = (0..2).map(|axis| (to[axis] - from[axis]).powi(2)).sum::<f64>().sqrt();
        // Where a round begins, everyone is placed anew: that is no walk.
        if metres > 1.0 && before["round"] == after["round"] {
            page.ask("window.sametick.walk(0, 0)").await?;
            return Ok(());
        }
    }
    bail!("the player does not move")
}
