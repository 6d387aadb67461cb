//! The theatre as any host of static files serves it, in a browser: every scene, wide and narrow, the same as natively;
//! found again by time and by link; steered by hands and keys.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Stage;
use super::browser::Page;
use super::host::Host;

const WIDE: (u32, u32) = (1280, 720);
const NARROW: (u32, u32) = (390, 844);
/// All that is fetched, as it lies on the host: 2 MB, as folders are measured.
const FOLDER_BYTES_MAX: u64 = 2_000_000;
/// The first scene stops at its moment after so much of the time that it shows. Eight seconds are for all of it; how
/// long a machine takes to fetch the page, play the run and draw is told, and is no defect of the page.
const MOMENT_SECONDS_MAX: f64 = 6.0;
/// How often a page is asked how it is before it has failed; it takes its time to answer.
const ASKED_MAX: usize = 4_000;
/// A page that is asked all the time has none to draw.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// How often a slider is moved in order to measure it.
const SLIDES: u32 = 5;
const LOOKS: &str = include_str!("theatre/looks.js");

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let natively = traces(stage)?;
    let folder = Folder::written(stage)?;
    let host = Host::start(&folder.0)?;
    let page = stage.page_at(&host.page()).await?;
    page.resize(WIDE).await?;
    page.visit(&host.page()).await?;
    opens_by_itself(&page).await?;
    for (name, size) in [("wide", WIDE), ("narrow", NARROW)] {
        page.resize(size).await?;
        scenes(&page, name, &natively).await?;
    }
    page.resize(WIDE).await?;
    only_a_hears_nothing(&page).await?;
    one_bad_line(&page).await?;
    found_again(&page, &host).await?;
    slides(&page).await?;
    keys(&page, &host).await?;
    a_reader_is_a(&page).await?;
    embedded_and_still(&page, &host).await?;
    let complaints = page.complaints().await?;
    ensure!(complaints.is_empty(), "the console has {complaints:?}");
    ensure!(host.missed().is_empty(), "the folder lacks {:?}", host.missed());
    page.close().await
}

/// It plays, slows down and stops at its moment, with one measured sentence; all from its own folder.
async fn opens_by_itself(page: &Page<'_>) -> Result<()> {
    let status = until(page, "at its moment", |status| status["stopped"].is_number()).await?;
    ensure!(status["scene"] == "cover" && status["playing"] == false, "{status}");
    ensure!(said(&status).contains("behind the wall"), "{status}");
    let number = |name: &str| status[name].as_f64().unwrap_or(f64::MAX);
    println!("e2e: theatre: at its moment after {:.1} s", number("stopped") / 1000.0);
    let played = number("played");
    ensure!(played < MOMENT_SECONDS_MAX, "it has played for {played} s");
    let elsewhere = "performance.getEntriesByType('resource').map((entry) => entry.name)\
        .filter((name) => !name.startsWith(new URL('.', location.href).href))";
    ensure!(page.ask(elsewhere).await? == json!([]), "{}", page.ask(elsewhere).await?);
    page.picture("theatre-first").await?;
    Ok(())
}

/// Every scene at its moment: the run is the native one, its wire is what was counted, and it is well laid out.
async fn scenes(page: &Page<'_>, size: &str, natively: &BTreeMap<String, String>) -> Result<()> {
    for (key, trace) in natively {
        // Under event locking who has nothing to say is silent.
        let (game, packets_min) = match key.as_str() {
            "hello" => (", game: 'hello'", 100),
            "bridge" => (", game: 'islands'", 2),
            _ => ("", 100),
        };
        ask(page, &format!("window.sametick.open({{ scene: '{key}'{game} }})")).await?;
        ask(page, "window.sametick.moment()").await?;
        let status = page.status().await?;
        ensure!(status["trace"] == **trace, "{key}: {} here, {trace} natively", status["trace"]);
        ensure!(status["errors"] == json!([]), "{key}: {}", status["errors"]);
        ensure!(!said(&status).is_empty(), "{key}: nothing was measured");
        for ways in list(&page.ask("window.sametick.counted()").await?) {
            for way in list(&ways) {
                let alike = way[0] == way[1] && way[1] == way[2] && way[0][0].as_u64() > Some(packets_min);
                ensure!(alike, "{key}: drawn, on the line, by the channel: {way}");
            }
        }
        let wrong = page.ask(&format!("(\n{LOOKS}\n)")).await?;
        ensure!(wrong == json!([]), "{key}, {size}: {wrong:#}");
        page.picture(&format!("theatre-{key}-{size}")).await?;
    }
    Ok(())
}

/// A burst of silence to A alters what A's screen shows, and nothing else.
async fn only_a_hears_nothing(page: &Page<'_>) -> Result<()> {
    let mut hashes = Vec::new();
    for silent in [1, 0] {
        ask(page, &format!("window.sametick.open({{ scene: 'burst', silent: {silent} }})")).await?;
        let panes = page.ask("[0, 1, 2].map((pane) => window.sametick.hashes(pane))").await?;
        hashes.push(panes);
    }
    let differ = [0, 1, 2].map(|pane| hashes[0][pane] != hashes[1][pane]);
    ensure!(differ == [false, true, false], "server, A and B differ: {differ:?}");
    Ok(())
}

/// In lockstep all panes of a tick are the same world, the middle one says that there is no server and for whom all
/// wait; through a relay nobody does.
async fn one_bad_line(page: &Page<'_>) -> Result<()> {
    ask(page, "window.sametick.open({ scene: 'line' })").await?;
    ask(page, "window.sametick.moment()").await?;
    let status = page.status().await?;
    ensure!(status["model"] == "doom1993" && said(&status).contains("waited for B"), "{status}");
    let title = page.ask("document.querySelector('[data-pane=\"0\"] h2').textContent").await?;
    let title = title.as_str().unwrap_or_default();
    ensure!(title.starts_with("No server: last tick all share"), "the middle reads {title}");
    let compared = page
        .ask(
            "(() => { const known = new Map(); let [compared, differ] = [0, 0]; for (const pane of [0, 1, 2]) { \
             const [ticks, hashes] = [window.sametick.ticks(pane), window.sametick.hashes(pane)]; \
             ticks.forEach((tick, index) => { const hash = known.get(tick); if (hash) { compared++; \
             differ += hash === hashes[index] ? 0 : 1; } else known.set(tick, hashes[index]); }); } \
             return [compared, differ]; })()",
        )
        .await?;
    let enough = compared[0].as_u64().is_some_and(|compared| compared > 1_000);
    ensure!(enough && compared[1] == 0, "worlds compared, and different: {compared}");
    for (model, words) in [("packet_server", "relay"), ("rollback", "again"), ("age_of_empires", "")] {
        ask(page, &format!("window.sametick.change({{ model: '{model}' }})")).await?;
        ask(page, "window.sametick.moment()").await?;
        let status = page.status().await?;
        ensure!(status["model"] == *model && said(&status).contains(words), "{model}: {status}");
        ensure!(status["errors"] == json!([]), "{model}: {}", status["errors"]);
        let wrong = page.ask(&format!("(\n{LOOKS}\n)")).await?;
        ensure!(wrong == json!([]), "{model}: {wrong:#}");
        page.picture(&format!("theatre-line-{model}")).await?;
    }
    Ok(())
}

/// To a moment, away and back, and by link, everyone has the same state.
async fn found_again(page: &Page<'_>, host: &Host) -> Result<()> {
    ask(page, "window.sametick.open({ scene: 'cover', 'a.ping': 140 })").await?;
    let mut hashes = Vec::new();
    for moment in ["4.2", "1.1", "4.2"] {
        ask(page, &format!("window.sametick.seek({moment})")).await?;
        hashes.push(page.status().await?["hash"].clone());
    }
    ensure!(hashes[0] == hashes[2] && hashes[0] != hashes[1], "{hashes:?}");
    press(page, "l").await?;
    let link = page.ask("location.href").await?;
    let wanted = format!("{}?scene=cover&a.ping=140&t=4.20", host.page());
    ensure!(link == *wanted, "the link is {link}");
    page.visit(&wanted).await?;
    let status = until(page, "opened by its link", |status| status["t"].is_number()).await?;
    ensure!(status["playing"] == false, "{status}");
    ensure!(status["hash"] == hashes[0], "by link {}, before {}", status["hash"], hashes[0]);
    Ok(())
}

/// A slider plays the scene again and leaves the moment; the curve from before stays.
async fn slides(page: &Page<'_>) -> Result<()> {
    let mut took = Vec::new();
    for turn in 1..=SLIDES {
        let before = page.status().await?;
        let slide = format!(
            "(() => {{ const slider = document.querySelector('[data-set=\"a.ping\"]'); slider.value = {}; \
             slider.dispatchEvent(new Event('input', {{ bubbles: true }})); return true; }})()",
            100 + 20 * turn
        );
        page.ask(&slide).await?;
        let is_new = |status: &Value| status["trace"] != before["trace"];
        let status = until(page, "played again", is_new).await?;
        ensure!(status["t"] == before["t"], "the moment has not stayed: {status}");
        took.push(status["took"].as_f64().unwrap_or(f64::MAX));
    }
    took.sort_by(f64::total_cmp);
    let (middle, best) = (took[took.len() / 2], took[0]);
    println!("e2e: theatre: 12 s are played again in {middle:.0} ms, at best {best:.0} ms");
    let before = page.status().await?["previous"].clone();
    ensure!(before.as_str().is_some_and(|name| name.contains("A's ping")), "before: {before}");
    Ok(())
}

/// What each key does, and what the question of fairness leads to.
async fn keys(page: &Page<'_>, host: &Host) -> Result<()> {
    page.visit(&format!("{}?t=3", host.page())).await?;
    until(page, "there", |status| status["t"] == 3.0).await?;
    for (key, value, wanted) in [
        ("ArrowRight", "frame", json!(180)),
        ("ArrowLeft", "frame", json!(179)),
        (",", "speed", json!("¼×")),
        (",", "speed", json!("¹⁄₁₆×")),
        (".", "speed", json!("¼×")),
        ("g", "outline", json!("own")),
        ("g", "outline", json!("none")),
        ("g", "outline", json!("server")),
        ("e", "eyes", json!(true)),
        ("e", "eyes", json!(false)),
        ("m", "model", json!("doom3")),
        (" ", "playing", json!(true)),
        (" ", "playing", json!(false)),
        ("2", "scene", json!("step")),
        ("1", "scene", json!("cover")),
    ] {
        press(page, key).await?;
        let status = page.status().await?;
        ensure!(status[value] == wanted, "after {key:?} {value} is {}", status[value]);
        if key == "e" && wanted == true {
            ask(page, "window.sametick.seek(3.45)").await?;
            page.picture("theatre-eyes").await?;
        }
    }
    ask(page, "window.sametick.seek(0)").await?;
    press(page, "n").await?;
    let first = page.status().await?["t"].as_f64();
    press(page, "n").await?;
    ensure!(first > Some(0.0) && page.status().await?["t"].as_f64() > first, "no flags are found");
    press(page, "p").await?;
    ensure!(page.status().await?["t"].as_f64() == first, "no flag is found again");
    press(page, "?").await?;
    ensure!(page.ask("document.getElementById('keys').open").await? == true, "no keys are told");
    ask(page, "document.getElementById('keys').close()").await?;
    ask(page, "window.sametick.moment()").await?;
    ask(page, "document.getElementById('fairly').click()").await?;
    let status = page.status().await?;
    ensure!(said(&status).contains("refused"), "fair is {status}");
    page.picture("theatre-fair").await?;
    let hover = "(() => { const wire = document.getElementById('wire'), box = wire.getBoundingClientRect(); \
        for (let x = 600; x < 660; x++) { wire.dispatchEvent(new PointerEvent('pointermove', \
        { clientX: box.left + x, clientY: box.top + 60, bubbles: true })); \
        const text = document.getElementById('tip').textContent; if (text.startsWith('snapshot')) return text; } \
        return ''; })()";
    let words = page.ask(hover).await?;
    let is_whole = |words: &str| words.contains(", tick ") && words.contains(" bytes, ");
    ensure!(words.as_str().is_some_and(is_whole), "a packet is said to be {words}");
    Ok(())
}

/// A reader who takes A's keys plays a run that its link plays again.
async fn a_reader_is_a(page: &Page<'_>) -> Result<()> {
    ask(page, "window.sametick.open({ scene: 'step' })").await?;
    ask(page, "window.sametick.seek(2)").await?;
    let by_itself = page.status().await?;
    press(page, "t").await?;
    ensure!(page.status().await?["live"] == true, "the keys are not taken");
    hold(page, "keydown", "d").await?;
    let has_passed = |seconds: f64| move |status: &Value| status["t"].as_f64() > Some(seconds);
    until(page, "a little later", has_passed(2.3)).await?;
    hold(page, "keydown", "w").await?;
    let live = until(page, "later still", has_passed(2.6)).await?;
    page.picture("theatre-taken").await?;
    press(page, "t").await?;
    let again = page.status().await?;
    ensure!(again["live"] == false && again["trace"] != by_itself["trace"], "{again}");
    let link = again["link"].as_str().unwrap_or_default();
    ensure!(link.contains("&hand=") && link.contains("-6") && link.contains("-9"), "{link}");
    let frame = live["frame"].as_u64().unwrap_or_default();
    let hash = page.ask(&format!("window.sametick.hash({frame})")).await?;
    ensure!(hash == live["hash"], "live {}, played again {hash}", live["hash"]);
    Ok(())
}

/// `embed=1` drops the bars, and who wants no motion gets none.
async fn embedded_and_still(page: &Page<'_>, host: &Host) -> Result<()> {
    let still = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
    page.command("Emulation.setEmulatedMedia", still).await?;
    page.visit(&format!("{}?embed=1", host.page())).await?;
    let status = until(page, "there", |status| status["t"].is_number()).await?;
    ensure!(status["playing"] == false && !said(&status).is_empty(), "{status}");
    let bars = "['header', 'footer'].map((name) => document.querySelector(name).offsetHeight)";
    ensure!(page.ask(bars).await? == json!([0, 0]), "the bars are there");
    page.picture("theatre-embedded").await?;
    Ok(())
}

/// Does something of the page's, whatever it gives.
async fn ask(page: &Page<'_>, expression: &str) -> Result<()> {
    page.ask(&format!("({expression}, true)")).await?;
    Ok(())
}

/// A key, down and up.
async fn press(page: &Page<'_>, key: &str) -> Result<()> {
    hold(page, "keydown", key).await?;
    hold(page, "keyup", key).await
}

async fn hold(page: &Page<'_>, kind: &str, key: &str) -> Result<()> {
    let event = format!("new KeyboardEvent('{kind}', {{ key: {}, bubbles: true }})", json!(key));
    ask(page, &format!("document.body.dispatchEvent({event})")).await
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

fn said(status: &Value) -> &str {
    status["caption"].as_str().unwrap_or_default()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// What each scene comes to natively.
fn traces(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let output = Command::new(&stage.program).args(["theatre", "--trace"]).output();
    let text = String::from_utf8(output.context("cannot start the program")?.stdout)?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let traces: BTreeMap<_, _> = pairs.map(|(key, trace)| (key.into(), trace.into())).collect();
    ensure!(traces.len() >= 10, "the program tells of {} scenes", traces.len());
    Ok(traces)
}

/// What the program writes for a host, until it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn written(stage: &Stage) -> Result<Self> {
        let place = std::env::temp_dir().join(format!("sametick-theatre-{}", std::process::id()));
        let folder = Self(place);
        let mut program = Command::new(&stage.program);
        let status = program.args(["theatre", "--write"]).arg(&folder.0).status();
        ensure!(status.context("cannot start the program")?.success(), "nothing was written");
        let bytes = bytes_in(&folder.0)?;
        println!("e2e: theatre: the folder has {} kB", bytes / 1000);
        // Programs that are not released write a page that was quickly built.
        let is_small = bytes < FOLDER_BYTES_MAX || !stage.is_released();
        ensure!(is_small, "{bytes} bytes are more than {FOLDER_BYTES_MAX}");
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bytes_in(folder: &std::path::Path) -> Result<u64> {
    std::fs::read_dir(folder)?.try_fold(0, |sum, entry| {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        Ok(sum + if is_folder { bytes_in(&entry.path())? } else { entry.metadata()?.len() })
    })
}
