//! Real keys, pressed by the browser's driver: Enter plays, W walks for as long as it is held, and whoever looks
//! elsewhere with a key held stands still.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::Stage;
use super::browser::Page;
use super::joins_and_walks::is_playing;
use super::server::Server;

const JOIN_TICKS_MAX: u64 = 1_800;
/// Browsers without a screen have no mouse to give: the page is told that it has it.
const TAKE_MOUSE: &str = "(Object.defineProperty(document, 'pointerLockElement', \
    { get: () => document.getElementById('view') }), \
    document.dispatchEvent(new Event('pointerlockchange')), true)";
/// As drivers write it.
const ENTER: char = '\u{e007}';
const WALK_TICKS: u64 = 40;
/// How long one who lets go may slide on, and slow frames may not tell of it.
const STOP_TICKS: u64 = 180;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let page = stage.page(&server, "").await?;
    page.draw_coarsely().await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    page.hold_key(ENTER, true).await?;
    page.hold_key(ENTER, false).await?;
    // A round places everyone anew: it has begun before anyone is looked at.
    let is_in = |status: &Value| {
        status["screen"] == "play"
            && status["alive"] == true
            && status["round"].as_f64().is_some_and(|round| round > 0.0)
    };
    page.until(&server, JOIN_TICKS_MAX, "in a round", is_in).await?;
    page.ask(TAKE_MOUSE).await?;
    let has_mouse = |status: &Value| status["locked"] == true;
    page.until(&server, JOIN_TICKS_MAX, "with the mouse", has_mouse).await?;
    let stands = later(&page, &server, STOP_TICKS).await?;
    let still = later(&page, &server, WALK_TICKS).await?;
    ensure!(metres(&stands, &still) < 0.05, "it walks before any key is held: {stands}, then {still}");
    // A wall may be in front; not on all sides.
    let mut walked = 0.0;
    for key in ['w', 's', 'a', 'd'] {
        let before = page.status().await?;
        page.hold_key(key, true).await?;
        let after = later(&page, &server, WALK_TICKS).await?;
        walked = metres(&before, &after);
        if walked > 1.0 {
            break;
        }
        page.hold_key(key, false).await?;
    }
    if walked <= 1.0 {
        bail!("the player does not move: {walked} m");
    }
    page.ask("(window.dispatchEvent(new Event('blur')), true)").await?;
    let slid = later(&page, &server, STOP_TICKS).await?;
    let stood = later(&page, &server, WALK_TICKS).await?;
    ensure!(metres(&slid, &stood) < 0.05, "it walks on though nobody looks: {stood}");
    page.close().await
}

fn metres(from: &Value, to: &Value) -> f64 {
    let part = |axis: &str| (to[axis].as_f64().unwrap_or(0.0) - from[axis].as_f64().unwrap_or(0.0)).powi(2);
    (part("x") + part("y")).sqrt()
}

/// How it is after the page was told of so many more ticks.
async fn later(page: &Page<'_>, server: &Server, ticks: u64) -> Result<Value> {
    let tick = |status: &Value| status["tick"].as_f64().unwrap_or(0.0);
    let end = tick(&page.status().await?) + ticks as f64;
    page.until(server, 20 * ticks, "told of a later tick", |status| tick(status) >= end).await
}
