//! Islands in a browser: an opening played by mouse and keys against bots, a war that is watched, and pictures of both;
//! and the same page on a server of Islands, over both roads.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Stage;
use super::browser::{LOOKS_EVERY, Page};

const SIZE: (u32, u32) = (1280, 720);
/// How often a page is asked how it is before it has failed; it takes its time to answer.
const ASKED_MAX: usize = 2_000;
/// Ticks: an opening's buildings stand, and the bots have met.
const OPENING_TICKS: u32 = 900;
const WAR_TICKS: u32 = 2_400;
/// So often 75 seconds are more than a contest lasts.
const SKIPS: u32 = 12;
const RAIDER: u64 = 1;
const TOWER: u64 = 2;
const BRIDGE: u64 = 3;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let address = format!("{}islands.html?seed=3&players=4", server.page);
    let page = stage.page_at(&address).await?;
    page.resize(SIZE).await?;
    page.visit(&address).await?;
    let begun = until(&page, "begun", |status| status["frames"].as_u64() > Some(5)).await?;
    ensure!(list(&begun, "own").len() == 8 && list(&begun, "built").len() == 2, "{begun}");
    ask(&page, "window.sametick.edges(false)").await?;
    let is_waiting = page.ask("!document.getElementById('waiting').hidden").await?;
    ensure!(is_waiting == false, "nobody is waited for in a page of its own");
    page.picture("islands-opening").await?;
    opens(&page).await?;
    leads(&page).await?;
    groups(&page).await?;
    keeps(&page).await?;
    fights(&page, &address).await?;
    let status = page.status().await?;
    ensure!(status["errors"] == json!([]), "{}", status["errors"]);
    let complaints = page.complaints().await?;
    ensure!(complaints.is_empty(), "the console has {complaints:?}");
    page.close().await?;
    for road in ["webtransport", "websocket"] {
        served(stage, road).await?;
    }
    Ok(())
}

/// A page joins the server it is from, sends its raiders, and sees that become official; a page that comes after it
/// has gone has the same seat.
async fn served(stage: &Stage, road: &str) -> Result<()> {
    let server = stage.islands(&["--players", "3", "--seed", "3", "--war"])?;
    // The printed address names the page; the bare one leads to it as well.
    let address = format!("{}?link={road}", server.page.replace("islands.html", ""));
    let page = stage.page_at(&address).await?;
    page.resize(SIZE).await?;
    let is_in = |status: &Value| status["frames"].as_u64() > Some(5) && !list(status, "own").is_empty();
    let begun = until(&page, "joined", is_in).await?;
    let came_by = begun["road"].as_str().unwrap_or_default().to_lowercase();
    ensure!(came_by == road, "it came over {came_by:?}, not {road}");
    ask(&page, "window.sametick.edges(false)").await?;
    let seat = begun["seat"].as_u64().context("it has no seat")?;
    // As the menu does it.
    ask(&page, "document.getElementById('ping').value = '600'").await?;
    ask(&page, "document.getElementById('sheet').dispatchEvent(new Event('close'))").await?;
    let raiders: Vec<Value> =
        list(&begun, "own").into_iter().filter(|unit| unit["kind"] == RAIDER).collect();
    let centre = spot(raiders.first().context("no raider lives")?);
    drag(&page, (centre.0 - 2.5, centre.1 - 2.5), (centre.0 + 2.5, centre.1 + 2.0)).await?;
    ensure!(page.status().await?["selected"].as_u64() > Some(0), "nobody is selected");
    let altar = place(&page, "homes", seat as usize).await?;
    click(&page, (altar.0 + 2.5, altar.1 + 2.5), 2).await?;
    // The line is long: what is asked for is hoped for first.
    let hoped = page.status().await?;
    ensure!(hoped["hoped"].as_u64() > Some(0), "it is official at once: {}", hoped["toast"]);
    until(&page, "official", |status| status["hoped"] == 0).await?;
    let is_measured = |status: &Value| status["measured"].as_f64() > Some(100.0);
    let measured = until(&page, "measured", is_measured).await?;
    println!("e2e: islands: over {road}, ping {:.0} ms of 600", measured["measured"].as_f64().unwrap_or(-1.0));
    page.picture(&format!("islands-{road}")).await?;
    ensure!(measured["errors"] == json!([]), "{}", measured["errors"]);
    let complaints = page.complaints().await?;
    ensure!(complaints.is_empty(), "the console has {complaints:?}");
    page.visit(&address).await?;
    let again = until(&page, "back", is_in).await?;
    ensure!(again["seat"] == seat, "it was {seat}, and is {}", again["seat"]);
    page.close().await
}

/// Makes workers and raiders by keys, a tower and a bridge by key and mouse; all of them are there later.
async fn opens(page: &Page<'_>) -> Result<()> {
    press(page, "q", false).await?;
    press(page, "e", false).await?;
    let altar = place(page, "homes", 0).await?;
    press(page, "t", false).await?;
    let ground = free_ground(page, altar).await?;
    click(page, ground, 0).await?;
    ensure!(page.status().await?["mode"] == "", "the tower is refused: {}", page.status().await?["toast"]);
    let shore = shore(page, altar).await?;
    press(page, "b", false).await?;
    click(page, shore, 0).await?;
    ensure!(page.status().await?["mode"] == "", "the bridge is refused: {}", page.status().await?["toast"]);
    // A tower costs more than five raiders leave: here or by the server, it is refused in words.
    press(page, "e", true).await?;
    let is_refused = |status: &Value| status["toast"] == "Not enough crystals.";
    until(page, "refused", is_refused).await?;
    ask(page, &format!("window.sametick.skip({OPENING_TICKS})")).await?;
    let status = later(page).await?;
    let built = |kind: u64| list(&status, "built").iter().any(|one| one["kind"] == kind && one["built"] == 1);
    ensure!(built(TOWER) && built(BRIDGE), "not all is built: {:?}", list(&status, "built"));
    let raiders = list(&status, "own").iter().filter(|unit| unit["kind"] == RAIDER).count();
    ensure!(raiders == 5 && list(&status, "own").len() == 10, "{raiders} raiders");
    page.picture("islands-built").await?;
    Ok(())
}

/// A box selects the raiders; a right click sends them, and they go.
async fn leads(page: &Page<'_>) -> Result<()> {
    let status = page.status().await?;
    let raiders: Vec<Value> =
        list(&status, "own").into_iter().filter(|unit| unit["kind"] == RAIDER).collect();
    let centre = spot(raiders.first().context("no raider lives")?);
    drag(page, (centre.0 - 2.5, centre.1 - 2.5), (centre.0 + 2.5, centre.1 + 2.0)).await?;
    let selected = page.status().await?["selected"].as_u64();
    ensure!(selected == Some(raiders.len() as u64), "a box around raiders selects {selected:?}");
    let altar = place(page, "homes", 0).await?;
    click(page, (altar.0 - 2.5, altar.1 + 2.5), 2).await?;
    let status = later(page).await?;
    let moving = list(&status, "own").iter().filter(|unit| unit["kind"] == RAIDER && unit["moving"] == true).count();
    ensure!(moving == raiders.len(), "{moving} of {} go: {}", raiders.len(), status["toast"]);
    page.picture("islands-sent").await?;
    Ok(())
}

/// Ctrl and a number keep a group, the number alone has it again.
async fn groups(page: &Page<'_>) -> Result<()> {
    ask(page, "dispatchEvent(new KeyboardEvent('keydown', { key: '1', code: 'Digit1', ctrlKey: true }))").await?;
    press(page, "Escape", false).await?;
    ensure!(page.status().await?["selected"] == 0, "something is still selected");
    ask(page, "dispatchEvent(new KeyboardEvent('keydown', { key: '1', code: 'Digit1' }))").await?;
    ensure!(page.status().await?["selected"].as_u64() > Some(3), "the group is lost");
    Ok(())
}

/// A saved contest goes on where it was; what is damaged is refused in words.
async fn keeps(page: &Page<'_>) -> Result<()> {
    let before = page.status().await?;
    ask(page, "window.kept = window.sametick.save()").await?;
    let refused = page.ask("window.sametick.load(window.kept.subarray(0, window.kept.length - 9))").await?;
    ensure!(refused == false, "a damaged file is loaded");
    ensure!(page.status().await?["toast"].as_str().is_some_and(|toast| toast.contains("damaged")), "nothing is said");
    ensure!(page.ask("window.sametick.load(window.kept)").await? == true, "what was saved is not loaded");
    let after = later(page).await?;
    let (was, is) = (list(&before, "own").len(), list(&after, "own").len());
    ensure!(after["tick"].as_f64() >= before["tick"].as_f64() && is >= was, "{is} units of {was}: {after}");
    Ok(())
}

/// A war of eight that a bot plays for us, near and from afar; it comes to its end.
async fn fights(page: &Page<'_>, address: &str) -> Result<()> {
    let address = address.replace("players=4", "players=8&war=1");
    page.visit(&address).await?;
    until(page, "begun", |status| status["frames"].as_u64() > Some(2)).await?;
    ask(page, "window.sametick.edges(false)").await?;
    ask(page, "window.sametick.watch(true)").await?;
    ask(page, &format!("window.sametick.skip({WAR_TICKS})")).await?;
    later(page).await?;
    page.picture("islands-war").await?;
    let status = page.status().await?;
    let side = status["side"].as_f64().unwrap_or(100.0);
    ask(page, &format!("window.sametick.look({0}, {0}, 11)", side / 2.0)).await?;
    later(page).await?;
    page.picture("islands-afar").await?;
    for _ in 0..SKIPS {
        ask(page, "window.sametick.skip(1500)").await?;
    }
    let status = until(page, "at its end", |status| status["over"] == true).await?;
    ensure!(status["winner"].as_i64() >= Some(-1), "{status}");
    let is_open = "document.getElementById('end').open";
    until_true(page, is_open).await?;
    page.picture("islands-end").await?;
    Ok(())
}

/// Land near an altar on which nothing stands.
async fn free_ground(page: &Page<'_>, altar: (f64, f64)) -> Result<(f64, f64)> {
    let find = format!(
        "(() => {{ const status = window.sametick.status(); \
         const taken = [...status.springs, ...status.built.map((one) => [one.cellX, one.cellY])]; \
         for (let y = {1} - 4; y < {1} + 4; y++) for (let x = {0} - 5; x < {0} + 5; x++) {{ \
         const near = taken.some(([tx, ty]) => Math.max(Math.abs(tx - x), Math.abs(ty - y)) <= 1); \
         if (window.sametick.isOpen(x, y) && !near) return [x + 0.5, y + 0.5]; }} return null; }})()",
        altar.0, altar.1
    );
    let found = page.ask(&find).await?;
    found[0].as_f64().zip(found[1].as_f64()).context("there is no free ground")
}

/// Water next to an altar's island, to one of the four sides.
async fn shore(page: &Page<'_>, altar: (f64, f64)) -> Result<(f64, f64)> {
    let find = format!(
        "(() => {{ const [x, y] = [{}, {}]; for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {{ \
         let far = 0; while (window.sametick.isOpen(x + dx * far, y + dy * far)) far++; \
         const [px, py] = window.sametick.toScreen(x + dx * (far + 1) + 0.5, y + dy * (far + 1) + 0.5); \
         if (px > 240 && px < 840 && py > 60 && py < 470) return [x + dx * (far + 1) + 0.5, y + dy * (far + 1) + 0.5]; \
         }} return null; }})()",
        altar.0, altar.1
    );
    let found = page.ask(&find).await?;
    let (x, y) = (found[0].as_f64(), found[1].as_f64());
    x.zip(y).context("no shore is in view")
}

async fn place(page: &Page<'_>, name: &str, index: usize) -> Result<(f64, f64)> {
    let place = page.status().await?[name][index].clone();
    place[0].as_f64().zip(place[1].as_f64()).with_context(|| format!("no {name}"))
}

fn spot(unit: &Value) -> (f64, f64) {
    (unit["x"].as_f64().unwrap_or(0.0), unit["y"].as_f64().unwrap_or(0.0))
}

fn list(status: &Value, name: &str) -> Vec<Value> {
    status[name].as_array().cloned().unwrap_or_default()
}

/// Does something of the page's, whatever it gives.
async fn ask(page: &Page<'_>, expression: &str) -> Result<()> {
    page.ask(&format!("({expression}, true)")).await?;
    Ok(())
}

async fn press(page: &Page<'_>, key: &str, with_shift: bool) -> Result<()> {
    let event = format!("{{ key: {}, code: '', shiftKey: {with_shift} }}", json!(key));
    ask(page, &format!("dispatchEvent(new KeyboardEvent('keydown', {event}))")).await?;
    ask(page, &format!("dispatchEvent(new KeyboardEvent('keyup', {event}))")).await
}

/// A click at a place of the map: 0 is the left button, 2 the right one.
async fn click(page: &Page<'_>, (x, y): (f64, f64), button: u8) -> Result<()> {
    let kinds = if button == 2 { "['contextmenu']" } else { "['mousemove', 'mousedown', 'mouseup']" };
    let click = format!(
        "(() => {{ const [x, y] = window.sametick.toScreen({x}, {y}); for (const kind of {kinds}) \
         document.getElementById('view').dispatchEvent(new MouseEvent(kind, \
         {{ clientX: x, clientY: y, button: {button}, detail: 1, bubbles: true, cancelable: true }})); \
         return true; }})()"
    );
    ask(page, &click).await
}

async fn drag(page: &Page<'_>, from: (f64, f64), to: (f64, f64)) -> Result<()> {
    let drag = format!(
        "(() => {{ const view = document.getElementById('view'); const at = (kind, x, y) => {{ \
         const [px, py] = window.sametick.toScreen(x, y); view.dispatchEvent(new MouseEvent(kind, \
         {{ clientX: px, clientY: py, button: 0, bubbles: true }})); }}; at('mousedown', {}, {}); \
         at('mousemove', {}, {}); at('mouseup', {2}, {3}); return true; }})()",
        from.0, from.1, to.0, to.1
    );
    ask(page, &drag).await
}

/// After some more frames.
async fn later(page: &Page<'_>) -> Result<Value> {
    let frames = page.status().await?["frames"].as_u64().unwrap_or(0);
    until(page, "drawn again", |status| status["frames"].as_u64() > Some(frames + 3)).await
}

async fn until(page: &Page<'_>, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
    for _ in 0..ASKED_MAX {
        let status = page.status().await?;
        if is_so(&status) {
            return Ok(status);
        }
        std::thread::sleep(LOOKS_EVERY);
    }
    page.picture("failed").await?;
    bail!("still not {what}: {}", page.status().await?)
}

async fn until_true(page: &Page<'_>, expression: &str) -> Result<()> {
    for _ in 0..ASKED_MAX {
        if page.ask(expression).await? == true {
            return Ok(());
        }
        std::thread::sleep(LOOKS_EVERY);
    }
    bail!("{expression} is never true")
}
