//! Somebody who takes part, in a browser of its own: does what the page asks for, with a bot's hands in the match.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::e2e::Stage;
use crate::e2e::browser::Page;
use crate::e2e::contrast::ensure_readable;

/// How often one looks at most until something has come, and how long one waits between two looks: minutes on a machine
/// that draws without a graphics card.
const LOOKS_MAX: usize = 1_800;
const BETWEEN: Duration = Duration::from_millis(100);
/// A small page is drawn sooner.
const SIZE: (u32, u32) = (900, 600);

/// Browsers without a screen have no mouse to give: the frame is told that it has it, and what hands do with it.
pub(super) const HANDS: &str = "(() => { const w = document.getElementById('frame')?.contentWindow, d = w?.document; \
    if (!d) return true; \
    if (!d.pointerLockElement) Object.defineProperty(d, 'pointerLockElement', \
        { configurable: true, get: () => d.getElementById('view') }); \
    d.dispatchEvent(new w.Event('pointerlockchange')); \
    for (const kind of ['keydown', 'keyup']) \
        for (const code of ['KeyW', 'KeyE']) \
            w.dispatchEvent(new w.KeyboardEvent(kind, { code, bubbles: true })); \
    for (let i = 0; i < 8; i += 1) d.dispatchEvent(new w.MouseEvent('mousemove', { movementX: 90, bubbles: true })); \
    for (const kind of ['mousedown', 'mouseup']) \
        d.dispatchEvent(new w.MouseEvent(kind, { button: 0, bubbles: true })); \
    return true; })()";
/// Once a match: a bot takes over.
const FLY: &str = "(() => { const w = document.getElementById('frame')?.contentWindow, s = window.sametickLab.stage; \
    if (!w) return true; \
    const which = `${s.trial} ${s.attempt}`; \
    if (window.sametickLab.frame === 'playing' && w.flown !== which) { \
        w.sametick.fly(3); w.flown = which; } return true; })()";
/// The middle of each rating and choice, the last of each list, and some words.
const ANSWER: &str = "(() => { for (const field of document.querySelectorAll('#sheet fieldset')) { \
    const radios = field.querySelectorAll('input[type=radio]'); \
    if (radios.length) radios[radios.length >> 1].click(); \
    const select = field.querySelector('select'); \
    if (select) select.value = select.options[select.options.length - 1].value; \
    const area = field.querySelector('textarea'); \
    if (area) area.value = 'It said \"hit\", twice; and then?'; } \
    document.querySelector('#sheet form')?.requestSubmit(); return true; })()";
const PRESS: &str = "(document.querySelector('#sheet button.main:not(:disabled)')?.click(), true)";

pub(super) struct Participant<'a> {
    pub(super) page: Page<'a>,
    /// What its pictures are called.
    name: &'static str,
    /// The stages that were looked at.
    seen: Mutex<BTreeSet<String>>,
    /// Whether they are, and pictures taken of them.
    is_looked_at: bool,
}

impl<'a> Participant<'a> {
    pub(super) async fn open(stage: &'a Stage, name: &'static str, link: &str) -> Result<Self> {
        let page = stage.page_at(link).await?;
        page.resize(SIZE).await?;
        let own = Self { page, name, seen: Mutex::default(), is_looked_at: true };
        own.emulate_focus(true).await?;
        Ok(own)
    }

    /// Only one of several browsers has the keyboard; each is to believe that it has.
    pub(super) async fn emulate_focus(&self, is_focused: bool) -> Result<()> {
        self.page.command("Emulation.setFocusEmulationEnabled", json!({ "enabled": is_focused })).await
    }

    /// The same in a larger page that is not looked at.
    pub(super) async fn unseen(self, size: (u32, u32)) -> Result<Self> {
        self.page.resize(size).await?;
        Ok(Self { is_looked_at: false, ..self })
    }

    /// What the page shows; an empty object before it knows.
    pub(super) async fn stage(&self) -> Result<Value> {
        self.page.ask("window.sametickLab ? window.sametickLab.stage : {}").await
    }

    /// Whether its match is under way.
    pub(super) async fn is_in_match(&self) -> Result<bool> {
        Ok(self.page.ask("window.sametickLab.frame").await? == "playing")
    }

    /// Presses the button of a round that waits as a hand does; the page must then ask for the mouse. Whether a browser
    /// without a screen gives it is another matter.
    pub(super) async fn press_ready(&self) -> Result<()> {
        const WATCH: &str = "(() => { const w = document.getElementById('frame').contentWindow; \
            const asks = w.Element.prototype.requestPointerLock; \
            delete w.document.pointerLockElement; \
            w.Element.prototype.requestPointerLock = function (...how) { \
                w.asked = this.id; return asks.apply(this, how); }; \
            const { x, y, width, height } = document.querySelector('#sheet button.main').getBoundingClientRect(); \
            return [x + width / 2, y + height / 2]; })()";
        const ASKED: &str = "(() => { const w = document.getElementById('frame').contentWindow; \
            return [w.asked ?? null, w.document.pointerLockElement?.id ?? null]; })()";
        let place = self.page.ask(WATCH).await?;
        for kind in ["mousePressed", "mouseReleased"] {
            let how = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.page.command("Input.dispatchMouseEvent", how).await?;
        }
        until("asked for the mouse", async || Ok((self.page.ask(ASKED).await?[0] == "view").then_some(()))).await?;
        println!("e2e: people: the mouse is asked for by {}", self.page.ask(ASKED).await?);
        Ok(())
    }

    /// Does what is asked for, once.
    pub(super) async fn act(&self) -> Result<Value> {
        let stage = self.stage().await?;
        self.act_on(&stage).await?;
        Ok(stage)
    }

    /// Does what a stage asks for: one that was looked at before, so that nothing is done that nobody saw.
    async fn act_on(&self, stage: &Value) -> Result<()> {
        let name = stage["stage"].as_str().unwrap_or_default();
        self.look(name).await?;
        match name {
            "consent" | "ready" => self.page.ask(PRESS).await?,
            "calibration" if self.is_in_match().await? => {
                self.page.ask(HANDS).await?;
                self.page.ask(PRESS).await?
            }
            "play" => self.page.ask(FLY).await?,
            "questions" => self.page.ask(ANSWER).await?,
            "refused" => bail!("{} is refused: {stage}", self.name),
            _ => Value::Null,
        };
        Ok(())
    }

    /// The first time of each stage: whether it can be read, and a picture.
    async fn look(&self, name: &str) -> Result<()> {
        let is_new = |set: &mut BTreeSet<String>| set.insert(name.to_owned());
        let is_new = self.seen.lock().is_ok_and(|mut seen| is_new(&mut seen));
        if is_new && self.is_looked_at && !matches!(name, "" | "loading" | "play" | "calibration") {
            let readable = ensure_readable(&self.page, &format!("{}'s {name}", self.name)).await;
            // A stage may be over before it was looked at: then another time.
            if readable.is_err() && self.stage().await?["stage"] != name {
                let _ = self.seen.lock().map(|mut seen| seen.remove(name));
                return Ok(());
            }
            readable?;
            self.page.picture(&format!("people-{}-{name}", self.name)).await?;
        }
        Ok(())
    }
}

/// Waits for something that is looked at again and again.
pub(super) async fn until<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    for _ in 0..LOOKS_MAX {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        tokio::time::sleep(BETWEEN).await;
    }
    bail!("still not {what}")
}

/// Everybody does what is asked for, until all stages are as wanted; what they then are.
pub(super) async fn together(
    all: &[&Participant<'_>],
    what: &str,
    is_so: impl Fn(&[Value]) -> bool,
) -> Result<Vec<Value>> {
    let mut last = Vec::new();
    let found = until(what, async || {
        let mut stages = Vec::new();
        for one in all {
            stages.push(one.stage().await?);
        }
        last.clone_from(&stages);
        if is_so(&stages) {
            return Ok(Some(stages));
        }
        for (one, stage) in all.iter().zip(&stages) {
            one.act_on(stage).await?;
        }
        Ok(None)
    });
    match found.await {
        Ok(found) => Ok(found),
        Err(error) => {
            for one in all {
                one.page.picture(&format!("people-{}-failed", one.name)).await?;
            }
            Err(error.context(format!("{last:?}")))
        }
    }
}
