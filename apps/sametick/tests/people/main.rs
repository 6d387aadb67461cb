//! Studies with people, end to end over real sockets: the host is the program itself, participants are the program
//! without a screen, and the experimenter is this test.

mod held;
mod strain;

use sametick_lab::Log;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PASSWORD: &str = "not to be guessed";

/// Machines that run tests are busy: lines may be off by much. What is off by more than this is put there.
const PAIR: &str = r#"
question = "Who notices?"
participants = 2
seed = 5
[settings]
map = "corners"
players = 3
duration = "1 s"
warm_up = "200 ms"
[factors]
ping = ["60 ms", "120 ms"]
[people]
group = 2
roles = ["peeker", "holder"]
consent = "Two short rounds."
tolerance = "60 ms"
[[people.question]]
ask = "How fair was that?"
kind = "rating"
after = "trial"
options = ["1", "2", "3"]
"#;

/// One person, one long trial.
const ALONE: &str = r#"
question = "Is it seen?"
[settings]
map = "corners"
players = 2
duration = "SECONDS s"
warm_up = "200 ms"
ping = "60 ms"
[people]
consent = "One round."
tolerance = "10 ms"
"#;

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("sametick-people-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("it is written");
    }

    fn log(&self, name: &str) -> Log {
        Log::read(&self.0.join(name)).expect("a log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that is ended when the test is over.
struct Running(Child);

impl Running {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sametick"));
        command.current_dir(&folder.0).arg("lab").args(arguments).stdout(Stdio::piped());
        Self(command.spawn().expect("it starts"))
    }

    /// Waits for its end, which must be a good one.
    fn finish(mut self) {
        let status = self.0.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }

    fn kill(&mut self) {
        self.0.kill().expect("it is killed");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host, and what the experimenter knows.
struct Lab {
    running: Running,
    told: Value,
    agent: ureq::Agent,
    cookie: String,
}

impl Lab {
    fn open(folder: &Folder, file: &str, port: u16) -> Self {
        let page = format!("127.0.0.1:{port}");
        let arguments = [
            "host",
            file,
            "--page",
            &page,
            "--webtransport",
            "off",
            "--password",
            PASSWORD,
            "--json",
        ];
        let mut running = Running::start(folder, &arguments);
        let mut line = String::new();
        let out = running.0.stdout.take().expect("it says something");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let told = serde_json::from_str(&line).expect("one object");
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let mut lab = Self { running, told, agent: config.into(), cookie: String::new() };
        let (status, cookie) = lab.log_in(PASSWORD);
        assert_eq!(status, 200);
        lab.cookie = cookie;
        lab
    }

    fn base(&self) -> &str {
        self.told["address"].as_str().expect("an address").trim_end_matches('/')
    }

    fn code(&self, seat: usize) -> &str {
        self.told["codes"][seat].as_str().expect("a code")
    }

    fn log_in(&self, password: &str) -> (u16, String) {
        let url = format!("{}/live/login", self.base());
        let body = json!({ "password": password }).to_string();
        let answer = self.agent.post(&url).send(body).expect("an answer");
        let cookie = answer.headers().get("set-cookie").and_then(|cookie| cookie.to_str().ok());
        let cookie = cookie.and_then(|cookie| cookie.split(';').next()).unwrap_or_default();
        (answer.status().as_u16(), cookie.to_owned())
    }

    fn ask(&self, path: &str, head: &[(&str, &str)], body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.base());
        let answer = match body {
            None => {
                let request =
                    head.iter().fold(self.agent.get(&url), |it, (k, v)| it.header(*k, *v));
                request.call()
            }
            Some(body) => {
                let request =
                    head.iter().fold(self.agent.post(&url), |it, (k, v)| it.header(*k, *v));
                request.send(body.to_string())
            }
        };
        let mut answer = answer.expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a text");
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    fn claim(&self, code: &str) -> (u16, Value) {
        self.ask("/lab/claim", &[], Some(&json!({ "code": code })))
    }

    fn state(&self) -> Value {
        let (status, state) = self.ask("/live/state", &[("cookie", &self.cookie)], None);
        assert_eq!(status, 200, "{state}");
        state
    }

    fn act(&self, body: &Value) -> (u16, Value) {
        self.ask("/live/do", &[("cookie", &self.cookie)], Some(body))
    }

    fn must(&self, body: &Value) {
        let (status, answer) = self.act(body);
        assert_eq!(status, 200, "{body}: {answer}");
    }

    /// Looks until something is so.
    fn until(&self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let state = self.state();
            if is_so(&state) {
                return state;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn attend(&self, folder: &Folder, seat: usize, more: &[&str]) -> Running {
        let link = format!("{}/lab.html#{}", self.base(), self.code(seat));
        let seed = (seat + 1).to_string();
        let arguments = [&["attend", &link, "--seed", &seed], more].concat();
        Running::start(folder, &arguments)
    }
}

fn count(log: &Log, sql: &str) -> i64 {
    log.connection
        .query_row(sql, [], |row| row.get(0))
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs the program to its end, which must be a good one; what it said.
fn told(folder: &Folder, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sametick"));
    let output = command.current_dir(&folder.0).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Every row belongs to a trial that was played to its end, and every such trial has its rows.
fn check_rows(log: &Log, trials: i64) {
    assert_eq!(count(log, "SELECT COUNT(*) FROM trial"), trials);
    for table in ["player", "line", "second", "telemetry", "question"] {
        let orphans =
            format!("SELECT COUNT(*) FROM {table} WHERE trial NOT IN (SELECT trial FROM trial)");
        assert_eq!(count(log, &orphans), 0, "{table}");
    }
    for table in ["player", "line", "second"] {
        let missing =
            format!("SELECT COUNT(*) FROM trial WHERE trial NOT IN (SELECT trial FROM {table})");
        assert_eq!(count(log, &missing), 0, "{table}");
    }
    assert_eq!(count(log, "SELECT COUNT(*) FROM event WHERE kind = 'finished'"), trials);
}

#[test]
fn a_pair_plays_to_the_end_though_one_drops_out_in_the_middle() {
    let folder = Folder::new("pair");
    folder.write("pair.toml", &PAIR.replace("\"1 s\"", "\"3 s\""));
    let lab = Lab::open(&folder, "pair.toml", 0);
    let first = lab.attend(&folder, 0, &[]);
    let mut second = lab.attend(&folder, 1, &[]);
    let states = |state: &Value, what: &str| {
        let seats = state["seats"].as_array().expect("seats");
        seats.iter().all(|seat| seat["state"] == what)
    };
    // Both are at the table, not only on their way there.
    let is_there = |state: &Value, seat: usize| state["seats"][seat]["achieved_ms"].is_f64();
    let shown = lab
        .until(|state| states(state, "trial 2 of 2") && is_there(state, 0) && is_there(state, 1));
    assert!(shown.to_string().find("score").is_none(), "scores are hidden: {shown}");
    second.kill();
    let second = lab.attend(&folder, 1, &[]);
    first.finish();
    second.finish();
    let shown = lab.until(|state| state["is_over"] == true);
    assert!(states(&shown, "done"), "{shown}");
    drop(lab);
    let log = folder.log("pair.db");
    check_rows(&log, 2);
    assert!(count(&log, "SELECT COUNT(*) FROM event WHERE kind = 'broken'") >= 1);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM question WHERE answer <> ''"), 4);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM player WHERE role = 'person'"), 4);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM player WHERE role = 'bot' AND joined"), 2);
    // Nobody had less than was asked for; whoever had much more, because this machine is busy, is flagged.
    let sql = "SELECT l.trial, l.player, SUM(l.asked_delay_ms), SUM(l.delay_ms), MAX(l.packets), \
               (SELECT COUNT(*) FROM trial_flag f WHERE f.trial = l.trial AND f.flag = 'ping') \
               FROM line l WHERE l.player < 3 GROUP BY l.trial, l.player ORDER BY l.trial";
    let mut lines = log.connection.prepare(sql).expect("lines");
    let lines = lines
        .query_map([], |row| Ok([row.get::<_, f64>(2)?, row.get(3)?, row.get(4)?, row.get(5)?]));
    let lines: Vec<[f64; 4]> = lines.expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>(), [60.0, 60.0, 120.0, 120.0]);
    for [asked, achieved, packets, flags] in lines {
        assert!(achieved > asked - 15.0, "asked {asked}, achieved {achieved}");
        assert!(achieved < asked + 120.0 || flags > 0.0, "asked {asked}, achieved {achieved}");
        assert!(packets > 0.0);
    }
    let recordings = folder.0.join("pair.db.recordings");
    assert!(recordings.join("trial-1.sametick").is_file());
    let personal = "SELECT COUNT(*) FROM event WHERE detail LIKE '%127.0.0.1%'";
    assert_eq!(count(&log, personal), 0, "no addresses are kept");
}

#[test]
fn a_host_that_is_killed_goes_on_where_it_was() {
    let folder = Folder::new("killed");
    folder.write("pair.toml", PAIR);
    let port = free_port();
    let mut lab = Lab::open(&folder, "pair.toml", port);
    let both = [0, 1].map(|seat| lab.attend(&folder, seat, &[]));
    lab.until(|state| state["log"].to_string().contains("P01 and P02 began trial 2"));
    lab.running.kill();
    let again = Lab::open(&folder, "pair.toml", port);
    assert_eq!(again.told["codes"], lab.told["codes"], "codes stay good");
    both.into_iter().for_each(Running::finish);
    again.until(|state| state["is_over"] == true);
    drop(again);
    let log = folder.log("pair.db");
    check_rows(&log, 2);
    let stopped = "SELECT COUNT(*) FROM event WHERE detail LIKE '%the lab was stopped%'";
    assert_eq!(count(&log, stopped), 1);
    assert_eq!(
        count(&log, "SELECT COUNT(*) FROM event WHERE kind = 'claimed'"),
        2,
        "pages keep seats"
    );
}

#[test]
fn whoever_knows_nothing_gets_nothing() {
    let folder = Folder::new("strangers");
    folder.write("pair.toml", PAIR);
    let lab = Lab::open(&folder, "pair.toml", 0);
    // Wrong codes are all answered alike.
    let wrong = [lab.claim("0000000000"), lab.claim(""), lab.claim(&lab.code(0)[..9])];
    assert!(wrong.iter().all(|answer| answer == &wrong[0] && answer.0 == 404), "{wrong:?}");
    let (status, claimed) = lab.claim(&lab.code(0).to_lowercase());
    assert_eq!((status, &claimed["code"]), (200, &json!(lab.code(0))));
    let secret = claimed["secret"].as_str().expect("a secret");
    // A code is good for one page at a time; the page itself may come again.
    assert_eq!(lab.claim(lab.code(0)).0, 409);
    let again = json!({ "code": lab.code(0), "secret": secret });
    assert_eq!(lab.ask("/lab/claim", &[], Some(&again)).1, claimed);
    let stolen = json!({ "code": lab.code(1), "secret": secret });
    let (status, other) = lab.ask("/lab/claim", &[], Some(&stolen));
    assert!(status == 200 && other["secret"] != secret, "a secret is of one seat");
    // Without the secret there is no seat, with it no other.
    let bearer = format!("Bearer {secret}");
    let own = [("authorization", bearer.as_str())];
    for path in ["/lab/seat", "/lab/session.json"] {
        assert_eq!(lab.ask(path, &[], None).0, 401, "{path}");
        assert_eq!(lab.ask(path, &[("authorization", "Bearer 00")], None).0, 401, "{path}");
    }
    let (status, shown) = lab.ask("/lab/seat", &own, None);
    assert_eq!((status, &shown["stage"]), (200, &json!("consent")));
    assert!(!shown.to_string().contains(lab.code(1)) && !shown.to_string().contains("ping"));
    assert_eq!(lab.ask("/lab/session.json", &own, None).0, 404, "nothing to play before consent");
    // Nothing is skipped, and nothing is believed.
    let act = |body: Value| lab.ask("/lab/seat", &own, Some(&body)).0;
    assert_eq!(act(json!({ "do": "ready" })), 409);
    assert_eq!(act(json!({ "do": "pause", "why": "x" })), 400);
    assert_eq!(act(json!({ "do": "consent" })), 200);
    assert_eq!(act(json!({ "do": "calibrate", "floor_ms": 0.0 })), 409, "the server measures");
    assert_eq!(act(json!([])), 400);
    // A participant opens nothing of the experimenter's.
    let pause = json!({ "do": "pause", "why": "x" });
    let cookie = format!("sametick_live={secret}");
    for head in [&own[..], &[], &[("cookie", cookie.as_str())]] {
        assert_eq!(lab.ask("/live/state", head, None).0, 401);
        assert_eq!(lab.ask("/live/do", head, Some(&pause)).0, 401);
    }
    // Nor does a page from elsewhere, even with the cookie.
    let foreign = [("cookie", lab.cookie.as_str()), ("origin", "http://evil.example")];
    assert_eq!(lab.ask("/live/do", &foreign, Some(&pause)).0, 403);
    assert_eq!(lab.act(&json!({ "do": "pause" })).0, 409, "it must be said why");
    assert_eq!(lab.ask("/lab/claim", &[], Some(&json!({ "code": "x".repeat(20_000) }))).0, 413);
    assert_eq!(lab.ask("/lab/nothing", &own, None).0, 404);
    // Guessing is slow.
    let tries: Vec<u16> = (0..12).map(|_| lab.log_in("a guess").0).collect();
    assert!(tries.contains(&401) && tries.contains(&429), "{tries:?}");
    let tries: Vec<u16> = (0..90).map(|_| lab.claim("AAAAAAAAAA").0).collect();
    assert!(tries.iter().all(|status| [404, 429].contains(status)), "{tries:?}");
    assert!(tries.contains(&429), "{tries:?}");
}

#[test]
fn the_experimenter_pauses_changes_repeats_and_skips_and_it_is_logged_why() {
    let folder = Folder::new("experimenter");
    folder.write("pair.toml", &PAIR.replace("\"1 s\"", "\"12 s\""));
    let lab = Lab::open(&folder, "pair.toml", 0);
    lab.must(&json!({ "do": "pause", "why": "not everyone is here" }));
    let _both = [0, 1].map(|seat| lab.attend(&folder, seat, &[]));
    let all = |state: &Value, what: &str| {
        state["seats"]
            .as_array()
            .is_some_and(|seats| seats.iter().all(|seat| seat["state"] == what))
    };
    let paused = lab.until(|state| all(state, "paused"));
    assert!(
        paused["is_paused"] == true && paused["qr_svg"].as_str().expect("").starts_with("<svg")
    );
    lab.must(&json!({ "do": "resume", "why": "now they are" }));
    // A condition that is pushed is had at once, in the trial that is being played.
    let achieved = |state: &Value| state["seats"][0]["achieved_ms"].as_f64().unwrap_or(0.0);
    let playing = lab.until(|state| all(state, "trial 1 of 2") && achieved(state) > 0.0);
    assert!(playing["seats"][0]["condition"].is_null(), "blind");
    lab.must(&json!({ "do": "change", "group": 1, "setting": "ping", "value": "400 ms", "why": "to see" }));
    let changed = lab.until(|state| achieved(state) > 300.0 || !all(state, "trial 1 of 2"));
    assert!(achieved(&changed) > 300.0, "{changed}");
    assert_eq!(changed["seats"][0]["asked_ms"], 400.0);
    lab.must(&json!({ "do": "reveal", "group": 1, "why": "to know" }));
    assert!(lab.state()["seats"][0]["condition"].is_string());
    lab.must(&json!({ "do": "skip", "group": 1, "trial": 1, "why": "it was spoilt" }));
    lab.until(|state| all(state, "trial 2 of 2"));
    // What is being played is broken off and played again; what is over is played again later.
    lab.must(&json!({ "do": "repeat", "group": 1, "trial": 2, "why": "a phone rang" }));
    let broken = lab.until(|state| state["log"].to_string().contains("could not finish trial 2"));
    assert!(broken["log"].to_string().contains("played again: a phone rang"), "{broken}");
    lab.until(|state| all(state, "trial 2 of 2") && state["seats"][0]["attempt"] == 2);
    lab.must(&json!({ "do": "repeat", "group": 1, "trial": 1, "why": "once more" }));
    let twice = json!({ "do": "repeat", "group": 1, "trial": 1, "why": "and again" });
    assert_eq!(lab.act(&twice).0, 409, "what changes nothing is told so");
    let odd = json!({ "do": "change", "group": "one", "setting": "ping", "value": "", "why": "x" });
    assert_eq!(lab.act(&odd).0, 400, "no group is not everyone");
    lab.must(&json!({ "do": "note", "text": "somebody laughed" }));
    lab.must(&json!({ "do": "skip", "group": 1, "trial": 2, "why": "that one too" }));
    let again = lab.until(|state| state["log"].to_string().contains("began trial 1, attempt 2"));
    assert!(again["log"].to_string().contains("once more"), "{again}");
    drop(lab);
    let log = folder.log("pair.db");
    for (kind, why) in [
        ("paused", "not everyone is here"),
        ("resumed", "now they are"),
        ("changed", "to see"),
        ("revealed", "to know"),
        ("skipped", "it was spoilt"),
        ("repeated", "once more"),
    ] {
        let sql = format!("SELECT COUNT(*) FROM event WHERE kind = '{kind}' AND why = '{why}'");
        assert_eq!(count(&log, &sql), 1, "{kind}");
    }
}

/// Passes datagrams on to a server and back, each way later by this much.
fn relay(to: SocketAddr, later: Duration, stop: &Arc<AtomicBool>) -> SocketAddr {
    let front = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let back = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = front.local_addr().expect("an address");
    for socket in [&front, &back] {
        socket.set_nonblocking(true).expect("it can be");
    }
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let (mut held, mut client) = (VecDeque::new(), None);
        let mut buffer = [0; 2_048];
        while !stop.load(Ordering::Relaxed) {
            while let Ok((length, from)) = front.recv_from(&mut buffer) {
                client = Some(from);
                held.push_back((Instant::now(), true, buffer[..length].to_vec()));
            }
            while let Ok((length, _)) = back.recv_from(&mut buffer) {
                held.push_back((Instant::now(), false, buffer[..length].to_vec()));
            }
            while held.front().is_some_and(|(came, _, _)| came.elapsed() >= later) {
                let Some((_, is_up, datagram)) = held.pop_front() else { break };
                let _ = match (is_up, client) {
                    (true, _) => back.send_to(&datagram, to),
                    (false, Some(client)) => front.send_to(&datagram, client),
                    (false, None) => Ok(0),
                };
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    });
    at
}

#[test]
fn what_is_added_outside_is_seen_and_flagged() {
    let folder = Folder::new("outside");
    folder.write("alone.toml", &ALONE.replace("SECONDS", "3"));
    let lab = Lab::open(&folder, "alone.toml", 0);
    let port = lab.told["table_ports"][0][1].as_u64().expect("a port") as u16;
    let stop = Arc::new(AtomicBool::new(false));
    // Ten milliseconds each way that nobody was told of.
    let table = SocketAddr::from(([127, 0, 0, 1], port));
    let at = relay(table, Duration::from_millis(10), &stop).to_string();
    lab.attend(&folder, 0, &["--relay", &at]).finish();
    stop.store(true, Ordering::Relaxed);
    lab.until(|state| state["is_over"] == true);
    drop(lab);
    let log = folder.log("alone.db");
    check_rows(&log, 1);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM trial_flag WHERE flag = 'ping' AND seat = 1"), 1);
    let off = "SELECT SUM(delay_ms) - SUM(asked_delay_ms) FROM line WHERE player = 1";
    let off: f64 = log.connection.query_row(off, [], |row| row.get(0)).expect("a number");
    assert!(off > 15.0, "{off} ms");
}

#[test]
fn people_play_targets_of_their_own_and_maps_of_their_own() {
    let file = r#"
question = "How fast is a target seen?"
[settings]
map = "hall.map"
mode = "targets"
players = 1
duration = "1 s"
warm_up = "300 ms"
foreperiod = "200 ms"
[factors]
targets = ["near", "far"]
[[target]]
name = "near"
distance = "8 m"
[[target]]
name = "far"
distance = "20 m"
[people]
consent = "Two short rounds."
foreperiod = ["100 ms", "200 ms"]
"#;
    let folder = Folder::new("targets");
    folder.write("study.toml", file);
    folder.write(
        "hall.map",
        &include_str!("../../../../games/arena/maps/corners.map")
            .replace("\"Corners\"", "\"Hall\""),
    );
    told(&folder, &["lab", "rehearse", "study.toml", "--json"]);
    let log = folder.log("study.rehearsal.db");
    check_rows(&log, 2);
    assert_eq!(count(&log, "SELECT COUNT(DISTINCT kind) FROM target WHERE kind <> 'map'"), 2);
    assert_eq!(count(&log, "SELECT COUNT(*) FROM figure WHERE name = 'wait'"), 2);
    // Until everyone has heard the goodbye the match goes on, but not the trial.
    // The wait for targets comes on top of a trial's second.
    for table in ["shot", "target"] {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE time_ms > 1300");
        assert_eq!(count(&log, &sql), 0, "{table}");
    }
    let ticks = "SELECT COUNT(*) FROM trial WHERE ticks > 1.2 * (SELECT MIN(ticks) FROM trial)";
    assert_eq!(count(&log, ticks), 0);
}

#[test]
fn twenty_four_participants_twice_meet_every_condition_equally_often_in_every_place() {
    let file = r#"
question = "Does the whole road hold?"
participants = 24
seed = 11
order = "williams"
[settings]
map = "corners"
players = 2
duration = "1 s"
warm_up = "100 ms"
tick_rate = "30 Hz"
[factors]
ping = ["40 ms", "60 ms", "80 ms", "100 ms"]
[people]
consent = "Four rounds."
tolerance = "10 s"
[[people.question]]
ask = "Was it slow?"
kind = "choice"
after = "trial"
options = ["yes", "no"]
randomised = true
"#;
    let mut orders = Vec::new();
    for time in ["first", "second"] {
        let folder = Folder::new(time);
        folder.write("study.toml", file);
        let told = told(&folder, &["lab", "rehearse", "study.toml", "--json"]);
        let told: Value = serde_json::from_str(&told).expect("one object");
        assert_eq!((&told["participants"], &told["trials"]), (&json!(24), &json!(96)));
        let log = folder.log("study.rehearsal.db");
        check_rows(&log, 96);
        assert_eq!(count(&log, "SELECT COUNT(*) FROM question WHERE answer <> ''"), 96);
        assert_eq!(
            count(&log, "SELECT COUNT(DISTINCT seat) FROM event WHERE kind = 'calibrated'"),
            24
        );
        let mut met: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        let mut rows = log.connection.prepare("SELECT place, condition FROM trial").expect("rows");
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        rows.for_each(|row| *met.entry(row.expect("a row")).or_default() += 1);
        assert_eq!(met.len(), 16, "{met:?}");
        assert!(met.values().all(|times| *times == 6), "counterbalanced exactly: {met:?}");
        orders.push(told["orders"].clone());
        let page = folder.0.join("study.rehearsal.html");
        assert!(std::fs::read_to_string(page).expect("a report").contains("<svg"));
    }
    assert_eq!(orders[0], orders[1], "the same seed gives the same orders");
}

/// Two people and two bots who miss: nothing is rewound, and lines are long.
const DOUBTS: &str = r#"
question = "What did they see?"
participants = 2
[settings]
map = "corners"
players = 4
duration = "12 s"
warm_up = "200 ms"
model = "quake3"
ping = "150 ms"
weapon = "rifle"
[people]
group = 2
consent = "One round."
tolerance = "200 ms"
"#;

#[test]
fn what_people_saw_is_known_of_their_shots_and_a_doubtful_one_leads_to_its_recording() {
    let folder = Folder::new("doubts");
    folder.write("study.toml", DOUBTS);
    told(&folder, &["lab", "rehearse", "study.toml", "--skill", "expert"]);
    let log = folder.log("study.rehearsal.db");
    let people = "FROM shot s JOIN player p ON p.trial = s.trial AND p.player = s.player \
                  WHERE p.role = 'person'";
    let fired = count(&log, &format!("SELECT COUNT(*) {people}"));
    let aimed = count(&log, &format!("SELECT COUNT(*) {people} AND s.aimed IS NOT NULL"));
    assert!(fired >= 10 && aimed >= 3, "{aimed} of {fired} shots were aimed at somebody");
    let shown = count(&log, &format!("SELECT COUNT(*) {people} AND s.shown_x IS NOT NULL"));
    assert_eq!(shown, aimed, "each was shown somewhere");
    // Whoever was aimed at or hit has a place of its own, but for the last moments.
    for (who, what) in [("aimed", "own_x"), ("hit", "is_behind_cover")] {
        let unknown = format!(
            "SELECT COUNT(*) FROM shot s JOIN player p ON p.trial = s.trial AND p.player = s.{who} \
             WHERE p.role = 'person' AND s.time_ms < 11000 AND s.{what} IS NULL"
        );
        assert_eq!(count(&log, &unknown), 0, "{what}");
    }
    let page = std::fs::read_to_string(folder.0.join("study.rehearsal.html")).expect("a report");
    let (_, rest) = page.split_once("<code>sametick replay ").expect("a command");
    let command: Vec<&str> = rest.split("</code>").next().unwrap_or("").split(' ').collect();
    let [file, "--seek", tick] = command[..] else { panic!("{command:?}") };
    assert!(page.contains(&format!("<a href=\"{file}\">")), "{file}");
    let film = format!("{}-tick-{tick}.html", file.trim_end_matches(".sametick"));
    assert!(page.contains(&format!("<a href=\"{film}\">as both saw it</a>")), "{film}");
    let film = std::fs::read_to_string(folder.0.join(&film)).expect("the film");
    assert_eq!(film.matches("<svg ").count(), 3, "{film}");
    let world = told(&folder, &["replay", file, "--seek", tick]);
    assert!(world.starts_with(&format!("tick {tick},")), "{world}");
    for player in 1..=4 {
        assert!(world.contains(&format!(" of player {player}\n")), "player {player}: {world}");
    }
}
