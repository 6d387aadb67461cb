//! Every screen at 1280 by 720, as a picture to look at: target/e2e/*.png.

use anyhow::{Result, ensure};

use super::Stage;
use super::joins_and_walks::is_playing;

const JOIN_TICKS_MAX: u64 = 1_800;
/// How long a moment worth a picture may take to come.
const MOMENT_TICKS_MAX: u64 = 60 * 120;
/// Somebody is near and in the middle of the picture, and one has just hit them.
pub(crate) const FIGHT: &str = "s.alive && s.enemies > 0 && s.nearest < 14 && \
    !document.getElementById('death').classList.contains('shown') && \
    document.getElementById('mark').dataset.state === 'filled'";
/// One has just died, and the page shows both screens.
pub(crate) const DEATH: &str = "document.getElementById('death').classList.contains('shown') && \
    document.getElementById('death').dataset.alone === 'false'";
/// One plays, with somebody in the picture.
pub(crate) const COMPANY: &str = "s.alive && s.enemies > 0 && s.nearest < 20 && \
    !document.getElementById('death').classList.contains('shown')";

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--bots", "6"])?;
    let page = stage.page(&server, "?name=Anna").await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    page.ask("(window.sametick.fly(4), true)").await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, FIGHT).await?;
    let picture = page.picture("play").await?;
    ensure!((picture.width, picture.height) == (1280, 720), "pictures have another size");
    page.release().await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, DEATH).await?;
    page.picture("death").await?;
    page.release().await?;
    page.ask("(window.sametick.set('graph', 'full'), window.sametick.set('delay', '40'), \
        window.sametick.set('loss', '5'), true)").await?;
    server.pass(60 * 7)?;
    page.hold_when(&server, MOMENT_TICKS_MAX, COMPANY).await?;
    page.picture("graph").await?;
    page.release().await?;
    page.ask("(window.sametick.set('graph', 'off'), true)").await?;
    page.key("keydown", "Tab").await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, COMPANY).await?;
    page.picture("scores").await?;
    page.release().await?;
    page.key("keyup", "Tab").await?;
    page.key("keydown", "KeyC").await?;
    server.pass(60)?;
    page.picture("line").await?;
    page.key("keydown", "KeyC").await?;
    page.ask("(document.querySelector('[data-do=settings]').click(), true)").await?;
    server.pass(60)?;
    page.picture("settings").await?;
    page.close().await
}
