//! `lab attend`: a participant without a screen, on the road that pages take: it asks over HTTP, and plays as a bot
//! over UDP at the table that it is sent to. It answers questions by dice.

use crate::content::Shelf;
use crate::crew::player::{Player, Start};
use crate::crew::skill;
use crate::stop::Stop;
use anyhow::{Context, bail};
use clap::Args;
use sametick::secure::{ClientToken, SystemRandom};
use sametick::{Dice, Model, Span};
use sametick_arena::bot::Skill;
use sametick_lab::content_recorded;
use sametick_links::{Clock, Conditioned, UdpLink, peer_at};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it is asked what to do.
const ASKS_EVERY: Duration = Duration::from_millis(250);
/// Telemetry goes once a second.
const TELLS_EVERY: Duration = Duration::from_secs(1);
/// A player looks after its socket at least this often.
const LOOKS_EVERY: Span = Span::millis(5);
/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a host that does not answer is asked again.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// What a host says to who asks too often, and to who comes at a bad moment.
const TOO_MANY: u16 = 429;
const TAKEN: u16 = 409;
/// How long a seat is waited for that another page has.
const TAKEN_MAX: Duration = Duration::from_secs(15);

/// Who takes part, where.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The link that participants get, with its code or without
    pub(crate) url: String,
    /// The code, if the link has none
    #[arg(long)]
    pub(crate) code: Option<String>,
    /// What it does and answers by chance follows from it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How well it plays
    #[arg(long, value_parser = skill::skills(), default_value = skill::USUAL)]
    pub(crate) skill: Skill,
    /// Play trials by way of a relay at this address, which leads to the table: what that adds is to be seen
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::address::listening)]
    relay: Option<SocketAddr>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let stop = Stop::on_signals()?;
    let (base, code) = match options.url.split_once('#') {
        Some((base, code)) => (base, Some(code.to_owned())),
        None => (options.url.as_str(), None),
    };
    if base.starts_with("https://") {
        bail!("a participant without a screen goes over http:// only: open the link in a browser");
    }
    let code = options.code.clone().or(code);
    let code = code.context("a code is wanted: at the end of the link, or with --code")?;
    let base = base.rsplit_once('/').filter(|(front, _)| front.len() > "https://".len());
    let base = base.map_or(options.url.as_str(), |(front, _)| front);
    let mut attending =
        Attending::new(base, &code, options.seed, options.skill, Grounds::default());
    attending.relay = options.relay;
    let done = attending.attend(&stop)?;
    crate::print(&format!("played {} trials, answered {} questions\n", done.trials, done.answers))
}

/// What was played on before: finding out a map's ways takes a moment.
#[derive(Clone, Default)]
pub(crate) struct Grounds(Arc<Mutex<BTreeMap<u64, Arc<Shelf>>>>);

impl Grounds {
    /// The game that a session tells of.
    fn find(&self, played: &Value) -> anyhow::Result<Arc<Shelf>> {
        let name = played["content"].as_str().unwrap_or_default();
        let name = u64::from_str_radix(name, 16).context("it is not told what is played")?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = known.get(&name) {
            return Ok(Arc::clone(shelf));
        }
        let content = content_recorded(name, &played.to_string(), played["map_text"].as_str());
        let content = content.context("this map is not known here")?;
        // However long a round is held, its ways are the same.
        let plain = content.clone().held(0, 0.0);
        let surveyed = known.entry(plain.name()).or_insert_with(|| Arc::new(Shelf::of(plain)));
        let ways = Arc::clone(surveyed.first().ways());
        let shelf = Arc::new(Shelf::knowing(content, ways));
        known.insert(name, Arc::clone(&shelf));
        Ok(shelf)
    }
}

/// What a participant did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) trials: u32,
    pub(crate) answers: u32,
}

/// A participant.
pub(crate) struct Attending {
    base: String,
    code: String,
    seed: u64,
    skill: Skill,
    grounds: Grounds,
    relay: Option<SocketAddr>,
    agent: ureq::Agent,
    secret: String,
    dice: Dice,
    table: Option<Playing>,
    /// What was last said to be played, and when telemetry was last told.
    told_at: Instant,
    done: Done,
}

/// A match that is being played on a thread of its own.
struct Playing {
    /// The server's name, which is another for every trial.
    server: String,
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Attending {
    pub(crate) fn new(base: &str, code: &str, seed: u64, skill: Skill, grounds: Grounds) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Self {
            base: base.trim_end_matches('/').to_owned(),
            code: code.to_owned(),
            seed,
            skill,
            grounds,
            relay: None,
            agent: config.into(),
            secret: String::new(),
            dice: Dice::new(seed, 13),
            table: None,
            told_at: Instant::now(),
            done: Done::default(),
        }
    }

    fn ask(&self, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Value)> {
        let url = format!("{}{path}", self.base);
        let bearer = format!("Bearer {}", self.secret);
        let answered = match body {
            None => self.agent.get(&url).header("authorization", &bearer).call(),
            Some(body) => {
                let request = self.agent.post(&url).header("authorization", &bearer);
                request.header("content-type", "application/json").send(body.to_string())
            }
        };
        let mut answered = answered.with_context(|| format!("{url} does not answer"))?;
        let text = answered.body_mut().read_to_string()?;
        let value = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok((answered.status().as_u16(), value))
    }

    /// Takes part from the first to the last.
    pub(crate) fn attend(&mut self, stop: &Stop) -> anyhow::Result<Done> {
        let claim = json!({ "code": self.code });
        let begun = Instant::now();
        let claimed = loop {
            let answer = match self.ask("/lab/claim", Some(&claim)) {
                Err(_) if stop.is_asked() => return Ok(self.done),
                answer => answer?,
            };
            match answer {
                (TOO_MANY, _) if !stop.is_asked() => std::thread::sleep(ASKS_EVERY),
                // Whoever had the seat may be gone, which shows after some seconds.
                (TAKEN, _) if !stop.is_asked() && begun.elapsed() < TAKEN_MAX => {
                    std::thread::sleep(ASKS_EVERY);
                }
                // What was asked for last is told by who asked for the end.
                _ if stop.is_asked() => return Ok(self.done),
                answer => break success(answer)?,
            }
        };
        self.secret = claimed["secret"].as_str().unwrap_or_default().to_owned();
        let mut heard_at = Instant::now();
        while !stop.is_asked() {
            // A host that is started again is waited for.
            match self.ask("/lab/seat", None) {
                Ok((status, _)) if status == TOO_MANY || is_not_yet(status) => {
                    if heard_at.elapsed() > AWAY_MAX {
                        bail!("the host answers with {status} only");
                    }
                }
                Ok(answer) => {
                    heard_at = Instant::now();
                    match success(answer).and_then(|shown| self.step(&shown)) {
                        Ok(false) => {}
                        Ok(true) => break,
                        // A host that was stopped with it answers no more.
                        Err(_) if stop.is_asked() => break,
                        Err(error) => return Err(error),
                    }
                }
                Err(error) if heard_at.elapsed() > AWAY_MAX => return Err(error),
                Err(_) => {}
            }
            std::thread::sleep(ASKS_EVERY);
        }
        self.leave();
        Ok(self.done)
    }

    /// Does what the page would: true when it is over.
    fn step(&mut self, shown: &Value) -> anyhow::Result<bool> {
        match shown["stage"].as_str().unwrap_or_default() {
            "consent" => self.act(json!({ "do": "consent" })),
            "calibration" => self.calibrate(shown),
            "ready" => {
                self.leave();
                self.act(json!({ "do": "ready" }))
            }
            "play" => self.play(shown),
            "questions" => self.answer(shown),
            "refused" => bail!("refused: {}", shown["why"].as_str().unwrap_or_default()),
            "thanks" => return Ok(true),
            _ => {
                self.leave();
                Ok(())
            }
        }?;
        Ok(false)
    }

    /// What is refused now may be taken a moment later.
    fn act(&self, body: Value) -> anyhow::Result<()> {
        match self.ask("/lab/seat", Some(&body))? {
            (200 | TAKEN | TOO_MANY, _) => Ok(()),
            (status, value) => bail!("{body}: {} ({status})", value["error"]),
        }
    }

    fn calibrate(&mut self, shown: &Value) -> anyhow::Result<()> {
        self.join()?;
        let hand = &shown["hand"];
        let (sensitivity, invert) = (hand["sensitivity"].as_f64(), hand["invert"].as_bool());
        self.act(json!({
            "do": "calibrate", "refresh_hz": 60.0, "frame_ms_95": 16.7,
            "sensitivity": sensitivity.unwrap_or(1.0), "invert": invert.unwrap_or(false),
            "keys": hand["keys"].as_str().unwrap_or_default(), "width": 1, "height": 1,
            "pixel_ratio": 1.0, "road": "UDP", "input": "script",
        }))
    }

    fn play(&mut self, shown: &Value) -> anyhow::Result<()> {
        self.join()?;
        if self.told_at.elapsed() >= TELLS_EVERY {
            self.told_at = Instant::now();
            let second = json!({
                "trial": shown["trial"], "attempt": shown["attempt"], "frames": 60,
                "frame_ms": 16.7, "frame_ms_95": 16.9, "hidden_ms": 0.0, "is_focused": true,
                "inputs": 60,
            });
            self.ask("/lab/telemetry", Some(&second))?;
        }
        Ok(())
    }

    fn answer(&mut self, shown: &Value) -> anyhow::Result<()> {
        self.leave();
        for asked in shown["questions"].as_array().into_iter().flatten() {
            let options = asked["options"].as_array().cloned().unwrap_or_default();
            let answer = match options.len() as u64 {
                0 => "nothing to say".into(),
                count => options[self.dice.below(count) as usize].clone(),
            };
            self.act(json!({
                "do": "answer", "trial": shown["trial"], "question": asked["question"],
                "answer": answer,
            }))?;
            self.done.answers += 1;
        }
        Ok(())
    }

    /// Goes to the table that it is sent to, unless it is there.
    fn join(&mut self) -> anyhow::Result<()> {
        if self.table.as_ref().is_some_and(|one| !one.thread.is_finished()) {
            // Sent elsewhere only after this one is over.
            return Ok(());
        }
        let session = match self.ask("/lab/session.json", None)? {
            (200, session) => session,
            // What it was sent to is over meanwhile.
            _ => return Ok(()),
        };
        let server = session["server"].as_str().unwrap_or_default().to_owned();
        let before = self.table.take().map(|one| one.server);
        if before.as_ref() == Some(&server) && server != "calibration" {
            // It was played, or it is lost: either is told in a moment.
            std::thread::sleep(ASKS_EVERY);
        } else if server.starts_with("trial-") {
            self.done.trials += 1;
        }
        let player = self.player(&session)?;
        let stop = Stop::default();
        let told = stop.clone();
        let grounds = self.grounds.find(&session["matches"][0])?;
        let thread = std::thread::Builder::new()
            .name("player".into())
            .spawn(move || player.run(&grounds, &told))?;
        self.table = Some(Playing { server, stop, thread });
        Ok(())
    }

    fn player(&self, session: &Value) -> anyhow::Result<Knocking> {
        let port = session["udp"]["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let table = SocketAddr::new(host_of(&self.base)?, port.context("no port is told")?);
        let is_calibration = session["lab"]["is_calibration"] == true;
        let server = self.relay.filter(|_| !is_calibration).unwrap_or(table);
        let token = ClientToken::from_text(session["token"].as_str().unwrap_or_default());
        let token = token.context("no token is told")?;
        let model = session["lab"]["model"].as_str().unwrap_or_default();
        let model = Model::named(model).with_context(|| format!("no model {model:?}"))?;
        Ok(Knocking { server, token, model, seed: self.seed, skill: self.skill })
    }

    /// Leaves the match that it is in.
    fn leave(&mut self) {
        if let Some(playing) = self.table.take() {
            playing.stop.ask();
            let _ = playing.thread.join();
        }
    }
}

/// Whether a host is still being set up.
fn is_not_yet(status: u16) -> bool {
    status == 503
}

/// An answer that is no success is an error.
fn success((status, value): (u16, Value)) -> anyhow::Result<Value> {
    if status == 200 {
        return Ok(value);
    }
    let what = value["error"].as_str().unwrap_or("no reason was given");
    bail!("the host says: {what} ({status})")
}

/// The address of a page's host.
fn host_of(base: &str) -> anyhow::Result<IpAddr> {
    let host = base.strip_prefix("http://");
    let host = host.context("a participant without a screen goes over http:// only")?;
    let host = if host.contains("]:") || (host.contains(':') && !host.ends_with(']')) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let mut found = host.to_socket_addrs().with_context(|| format!("{host} is not found"))?;
    Ok(found.next().with_context(|| format!("{host} is not found"))?.ip())
}

/// A player who is about to knock.
struct Knocking {
    server: SocketAddr,
    token: ClientToken,
    model: Model,
    seed: u64,
    skill: Skill,
}

impl Knocking {
    /// Plays until the server ends it, or until it is asked to leave.
    fn run(self, shelf: &Shelf, stop: &Stop) {
        let here: IpAddr = match self.server {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0_u16; 8].into(),
        };
        let Ok(link) = UdpLink::bind(SocketAddr::new(here, 0)) else { return };
        let mut link = Conditioned::new(link, self.seed);
        link.set_spin(Span::ZERO);
        let (clock, random) = (Clock::start(), &mut SystemRandom::new());
        let start = Start {
            server: peer_at(self.server),
            token: self.token,
            ground: Arc::clone(shelf.first()),
            view: self.model.view,
            link,
            skill: self.skill,
            seed: self.seed,
            index: self.seed as usize % 1_000,
            tables: None,
            reads_compact: true,
        };
        let mut player = Player::new(start, clock.now(), random);
        while !player.is_over() && !stop.is_asked() {
            let now = clock.now();
            player.drive(now, shelf);
            player.wait(&clock, player.next_wake().min(now + LOOKS_EVERY));
        }
        let left_at = clock.now();
        player.leave(left_at);
        while !player.is_over() && clock.now() < left_at + Span::millis(400) {
            player.drive(clock.now(), shelf);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
