//! Chromium through its driver: starts it, opens pages, asks them how they are. Knows no test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::WindowHandle;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};

use super::Stage;
use super::picture::Picture;
use super::server::Server;

const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// WebTransport is QUIC, which must stay on. Pictures are drawn without a GPU, the same everywhere; those of flat
/// canvases without pretending to one, which takes a third of the time, and a fiftieth on busy machines.
const FLAGS: [&str; 14] = [
    "--headless=new",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-accelerated-2d-canvas",
    "--no-first-run",
    "--mute-audio",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--autoplay-policy=no-user-gesture-required",
    "--window-size=1280,859",
];
const MISSING: &str = "Chromium and its driver are needed: install them (Debian: \
    `apt-get install chromium chromium-driver`), or name them in CHROMIUM and CHROMEDRIVER";

/// What a page has unless told otherwise. How much of a window is left to it differs between browsers.
const PAGE_SIZE: (u32, u32) = (1280, 720);
/// A page that is narrower is a telephone's.
const MOBILE_BELOW: u32 = 700;
/// A page that is asked all the time has none to draw.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// How long a page may take to answer, in ms: on busy machines pages that draw have kept silent for half a minute.
const ANSWERS_WITHIN: u64 = 300_000;
/// How often a screenshot is asked for.
const SCREENSHOTS_MAX: usize = 3;
const STATUS: &str = "window.sametick ? window.sametick.status() : {}";

/// The driver, a process that ends with this.
pub(crate) struct Driver {
    process: Child,
    address: String,
    browser: PathBuf,
    profiles: PathBuf,
    /// All browsers that were ever started; those that are gone do not mind being closed.
    opened: Mutex<Vec<Client>>,
}

impl Driver {
    pub(crate) fn start() -> Result<Self> {
        let browser = found("CHROMIUM", &BROWSERS).context(MISSING)?;
        let driver = found("CHROMEDRIVER", &["chromedriver"]).context(MISSING)?;
        let mut process = Command::new(&driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn()
            .context(MISSING)?;
        let output = process.stdout.take().context("the driver says nothing")?;
        let mut lines = BufReader::new(output).lines();
        let port = loop {
            let Some(Ok(line)) = lines.next() else { bail!("the driver ended at once: {MISSING}") };
            let after = line.split_once("successfully on port ").map(|(_, port)| port);
            if let Some(port) = after {
                break port.trim_end_matches('.').to_owned();
            }
        };
        // Read on, lest it stop when nobody does.
        std::thread::spawn(move || lines.for_each(drop));
        let profiles = std::env::temp_dir().join(format!("sametick-e2e-{}", std::process::id()));
        let address = format!("http://127.0.0.1:{port}");
        Ok(Self { process, address, browser, profiles, opened: Mutex::default() })
    }

    /// A browser that nobody has used.
    async fn browser(&self) -> Result<Client> {
        let number = self.opened.lock().unwrap_or_else(PoisonError::into_inner).len();
        let profile = self.profiles.join(number.to_string());
        let mut arguments: Vec<String> = FLAGS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        let options = json!({ "binary": self.browser, "args": arguments });
        let mut capabilities = Map::new();
        capabilities.insert("goog:chromeOptions".into(), options);
        capabilities.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
        capabilities.insert("timeouts".into(), json!({ "script": ANSWERS_WITHIN }));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let opened = builder.capabilities(capabilities).connect(&self.address).await;
        let client = opened.context("the driver starts no browser")?;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(client.clone());
        Ok(client)
    }

    /// Closes all browsers, those of tests that failed among them.
    pub(crate) async fn close(&self) {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for client in opened {
            let _ = client.close().await;
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profiles);
    }
}

fn found(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| Path::is_file(place))
}

/// A page in a browser of its own. Pages offer `window.sametick`: `status()` gives an object, `walk(forward, yaw)` has
/// the player walk.
pub(crate) struct Page<'a> {
    client: Client,
    stage: &'a Stage,
}

impl Stage {
    /// Opens a page of a server.
    pub(crate) async fn page(&self, server: &Server, query: &str) -> Result<Page<'_>> {
        self.page_at(&format!("{}{query}", server.page)).await
    }

    /// Opens a page, wherever it is.
    pub(crate) async fn page_at(&self, address: &str) -> Result<Page<'_>> {
        let page = Page { client: self.driver.browser().await?, stage: self };
        page.lay_out(PAGE_SIZE, 1.0).await?;
        page.visit(address).await?;
        Ok(page)
    }
}

impl Page<'_> {
    /// What an expression of the page's comes to.
    pub(crate) async fn ask(&self, expression: &str) -> Result<Value> {
        let answer = self.client.execute(&format!("return {expression}"), Vec::new()).await;
        answer.with_context(|| format!("the page cannot say {expression}"))
    }

    /// How the page is: an empty object before it knows.
    pub(crate) async fn status(&self) -> Result<Value> {
        self.ask(STATUS).await
    }

    /// Waits until the page is as wanted, for at most so many of the server's ticks.
    pub(crate) async fn until(
        &self,
        server: &Server,
        ticks_max: u64,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        self.until_told(server, ticks_max, STATUS, what, is_so).await
    }

    /// Waits until an expression of the page's is as wanted, for at most so many of the server's ticks.
    pub(crate) async fn until_told(
        &self,
        server: &Server,
        ticks_max: u64,
        expression: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let begin = server.figure("ticks_total")?;
        loop {
            let told = self.ask(expression).await?;
            if is_so(&told) {
                return Ok(told);
            }
            if server.figure("ticks_total")? > begin + ticks_max as f64 {
                self.picture("failed").await?;
                bail!("after {ticks_max} ticks still not {what}: {told}");
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    /// Goes to another address.
    pub(crate) async fn visit(&self, address: &str) -> Result<()> {
        self.client.goto(address).await.context("the page does not open")
    }

    /// Gives the page so much room, whatever the window has; narrow ones are touched by a finger.
    pub(crate) async fn resize(&self, (width, height): (u32, u32)) -> Result<()> {
        let is_mobile = width < MOBILE_BELOW;
        self.lay_out((width, height), 1.0).await?;
        self.command("Emulation.setTouchEmulationEnabled", json!({ "enabled": is_mobile })).await
    }

    /// Has the page drawn in half as many rows and columns, where nobody measures its pictures: what draws without a
    /// GPU takes a core from whoever else is at work.
    pub(crate) async fn draw_coarsely(&self) -> Result<()> {
        self.lay_out(PAGE_SIZE, 0.5).await
    }

    /// Gives the page so much room, and each of its pixels so many of the picture's in a row.
    async fn lay_out(&self, (width, height): (u32, u32), scale: f64) -> Result<()> {
        let is_mobile = width < MOBILE_BELOW;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_mobile });
        self.command("Emulation.setDeviceMetricsOverride", size).await
    }

    /// Tells the browser what its developers' tools would.
    pub(crate) async fn command(&self, name: &str, parameters: Value) -> Result<()> {
        let body = json!({ "cmd": name, "params": parameters });
        self.driver("goog/cdp/execute", &body).await.with_context(|| format!("no {name}"))?;
        Ok(())
    }

    /// What the browser has written into its console since it was asked last, but for what is of no concern.
    pub(crate) async fn complaints(&self) -> Result<Vec<String>> {
        let lines = self.driver("se/log", &json!({ "type": "browser" })).await?;
        let lines = lines.as_array().cloned().unwrap_or_default();
        let serious = lines.into_iter().filter(|line| line["level"] == "SEVERE");
        Ok(serious.map(|line| line["message"].to_string()).collect())
    }

    /// Asks the driver for what only this browser's has.
    async fn driver(&self, path: &str, body: &Value) -> Result<Value> {
        let session = self.client.session_id().await?.context("the browser is gone")?;
        let address = self.stage.driver.address.trim_start_matches("http://");
        let body = body.to_string();
        let head = format!(
            "POST /session/{session}/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(address).context("the driver does not answer")?;
        stream.write_all(format!("{head}{body}").as_bytes())?;
        // The driver does not hang up by itself.
        let mut answer = BufReader::new(stream);
        let (mut line, mut is_fine, mut length) = (String::new(), false, 0);
        while answer.read_line(&mut line)? > 0 && line != "\r\n" {
            let lower = line.to_lowercase();
            is_fine |= lower.starts_with("http/1.1 200");
            let told = lower.strip_prefix("content-length:").map(str::trim);
            length = told.map_or(Ok(length), str::parse)?;
            line.clear();
        }
        let mut body = String::new();
        answer.take(length).read_to_string(&mut body)?;
        ensure!(is_fine, "the driver says {body}");
        Ok(serde_json::from_str::<Value>(&body)?["value"].clone())
    }

    /// Takes a screenshot. The driver waits ten seconds for it, which a busy machine may need for one alone.
    pub(crate) async fn picture(&self, name: &str) -> Result<Picture> {
        let mut taken = self.client.screenshot().await;
        for _ in 1..SCREENSHOTS_MAX {
            if taken.is_ok() {
                break;
            }
            taken = self.client.screenshot().await;
        }
        let picture = taken.context("no screenshot")?;
        std::fs::write(self.stage.pictures.join(format!("{name}.png")), &picture)?;
        Picture::read(&picture)
    }

    /// Waits for a moment that the page itself recognises: an expression of `s`, its status, that is looked at after
    /// each frame. The picture then stays as it is until `release`.
    pub(crate) async fn hold_when(
        &self,
        server: &Server,
        ticks_max: u64,
        moment: &str,
    ) -> Result<Value> {
        let look = format!(
            "(() => {{ const look = () => {{ const s = window.sametick; \
             if (s.is_released) return; if ({moment}) s.hold(true); else requestAnimationFrame(look); }}; \
             window.sametick.is_released = false; window.sametick.held = false; \
             requestAnimationFrame(() => requestAnimationFrame(look)); return true; }})()"
        );
        self.ask(&look).await?;
        self.until(server, ticks_max, moment, |status| status["held"] == true).await
    }

    /// The picture goes on.
    pub(crate) async fn release(&self) -> Result<()> {
        let state = "{ is_released: true, held: false }";
        self.ask(&format!("(sametick.hold(false), Object.assign(sametick, {state}), true)"))
            .await?;
        Ok(())
    }

    /// Does as a hand at a slider or a check box would.
    pub(crate) async fn slide(&self, id: &str, value: &str) -> Result<()> {
        let slide = format!(
            "(() => {{ const e = document.getElementById('{id}'); e.value = '{value}'; \
             e.dispatchEvent(new Event('input', {{ bubbles: true }})); return true; }})()"
        );
        self.ask(&slide).await?;
        Ok(())
    }

    /// Presses a key, or lets it go: `keydown`, `keyup`.
    pub(crate) async fn key(&self, kind: &str, code: &str) -> Result<()> {
        let press = format!(
            "(window.dispatchEvent(new KeyboardEvent('{kind}', {{ code: '{code}', bubbles: true }})), true)"
        );
        self.ask(&press).await?;
        Ok(())
    }

    /// Presses a key of the keyboard and holds it, or lets it go.
    pub(crate) async fn hold_key(&self, key: char, is_down: bool) -> Result<()> {
        let act =
            if is_down { KeyAction::Down { value: key } } else { KeyAction::Up { value: key } };
        let acts = KeyActions::new("keyboard".into()).then(act);
        self.client.perform_actions(acts).await.context("the keyboard does not work")
    }

    /// Puts the page into the background, behind another tab; what is given leads back.
    pub(crate) async fn look_away(&self) -> Result<WindowHandle> {
        let own = self.client.window().await?;
        let other = self.client.new_window(true).await.context("no other tab opens")?;
        self.client.switch_to_window(other.handle).await?;
        Ok(own)
    }

    /// Takes the page to the front again.
    pub(crate) async fn look_back(&self, own: WindowHandle) -> Result<()> {
        self.client.close_window().await?;
        self.client.switch_to_window(own).await.context("the tab does not come back")
    }

    /// Closes the tab, and the browser with it.
    pub(crate) async fn close(self) -> Result<()> {
        self.client.close_window().await.context("the tab does not close")?;
        // With its last tab the browser is gone, too.
        let _ = self.client.close().await;
        Ok(())
    }
}
