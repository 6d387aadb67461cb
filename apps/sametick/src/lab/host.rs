//! `lab host`: people join by link, play at tables, and are watched; all that happens goes to the log first.

mod api;
mod calibration;
mod carrier;
mod desk;
mod ending;
mod live;
mod session;
mod state;
mod table;

use crate::page;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use calibration::Calibration;
use clap::Args;
use desk::{Desk, Waiting};
use ending::resume;
use live::Logins;
use sametick::Span;
use sametick::secure::{Random, SystemRandom, TokenKey};
use sametick_arena::map::MAPS;
use sametick_lab::people::{EventKind, People, Study};
use sametick_lab::{
    Assignment, Library, LogError, Person, Plan, SETTINGS, Trial, Value, live_ground,
};
use sametick_links::UdpLink;
use sametick_links::web::WebLink;
use serde_json::json;
use state::{Running, State, Trouble, unix_ms};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use table::{Order, Said, Table, lock};

/// How often it is looked whether somebody is ready, or gone.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// The most words of tables that wait to be heard.
const SAID_MAX: usize = 4_096;
/// How long tables are given to say goodbye.
const GOODBYE: Duration = Duration::from_secs(3);
/// How long it is still there when everyone is through and has been told so; and when somebody has not asked.
const LINGERS: Duration = Duration::from_millis(500);
const LINGERS_MAX: Duration = Duration::from_secs(15);
/// Letters and digits of a password that is drawn; none is taken for another.
const PASSWORD_LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PASSWORD_LENGTH: usize = 12;

/// How a study is hosted.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The experiment, with a table `people`
    pub(crate) file: PathBuf,
    /// The database; without it FILE.db beside the file. What is in it is gone on with
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: page::Options,
    /// The password of the experimenter's page; without it one is drawn
    #[arg(long, value_name = "TEXT", conflicts_with = "password_file")]
    pub(crate) password: Option<String>,
    /// A file with that password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// End when everyone is through
    #[arg(long)]
    pub(crate) once: bool,
    /// Say where everything is as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let stop = Stop::on_signals()?;
    if !options.json {
        eprintln!("opening {}: maps, doors and tables", options.file.display());
    }
    let host = Host::open(options)?;
    crate::print(&host.greeting(options.json))?;
    host.run(&stop, options.once)
}

/// A study that is open to people.
pub(crate) struct Host {
    desk: Waiting,
    said: Receiver<Said>,
    /// The main door: open as long as this is there.
    _door: WebLink,
    password: String,
    is_password_drawn: bool,
    library: Arc<Library>,
    recordings: PathBuf,
    database: PathBuf,
    /// How many are planned; a staircase may need fewer.
    trials: usize,
}

impl Host {
    pub(crate) fn open(options: &Options) -> anyhow::Result<Self> {
        let (experiment, plan) = super::read(&options.file, false)?;
        if experiment.people.is_none() {
            let file = options.file.display();
            bail!("{file} has no table [people]: `sametick lab new --people` writes one");
        }
        if let Some(what) = experiment.people.as_ref().and_then(People::unwritten) {
            bail!("{}: {what}", options.file.display());
        }
        let library = Arc::new(Library::new(&experiment.folder));
        for trial in &plan.trials {
            live_ground(trial, &library, Span::ZERO)
                .map_err(|what| anyhow!("trial {}: {what}", trial.number))?;
        }
        let database = options.db.clone().unwrap_or_else(|| options.file.with_extension("db"));
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("there is no folder {}: make it, or choose another --db", folder.display());
        }
        let (password, is_password_drawn) = password(options)?;
        let desk: Waiting = Arc::new(OnceLock::new());
        let waiting = Arc::clone(&desk);
        let door = options.page.serve("lab.html", move |door| desk::router(waiting, door))?;
        let (tell, said) = sync_channel(SAID_MAX);
        let mut doors = Doors { options: &options.page, main: door.door().page(), opened: 0 };
        let seats = Study::seats_of(&experiment);
        let (udp, web) = doors.next()?;
        let calibration = calibration(&plan, &library, (udp, web), seats)?;
        let mut tables = Vec::new();
        for _ in 0..experiment.participants {
            let (udp, web) = doors.next()?;
            tables.push(Table::open(udp, web, Arc::clone(&library), tell.clone())?);
        }
        // Written to last: what is refused until here leaves nothing behind.
        let mut state = resume(&experiment, &plan, &database)?;
        state.tells = !options.json;
        let recordings = super::replays::recordings_of(&database);
        std::fs::create_dir_all(&recordings)
            .with_context(|| format!("cannot make {}", recordings.display()))?;
        let address = options.page.told(door.door());
        let opened = Desk {
            title: experiment.title.clone(),
            qr_svg: live::qr_svg(&format!("{address}lab.html")),
            address,
            state: state.into(),
            tables,
            calibration,
            logins: Logins::new(&password),
            controls: experiment.controls.clone(),
        };
        if desk.set(opened).is_err() {
            bail!("the desk is set up once");
        }
        Ok(Self {
            desk,
            said,
            _door: door,
            password,
            is_password_drawn,
            library,
            recordings,
            database,
            trials: plan.trials.len(),
        })
    }

    fn desk(&self) -> &Desk {
        self.desk.get().expect("it is set before anyone has a host")
    }

    /// Where participants claim seats.
    pub(crate) fn address(&self) -> &str {
        &self.desk().address
    }

    /// The code of every seat.
    pub(crate) fn codes(&self) -> Vec<String> {
        let state = lock(&self.desk().state);
        let seats = state.study.seats();
        seats.filter_map(|seat| state.study.code_of(seat).map(str::to_owned)).collect()
    }

    /// The order in which each group meets its conditions.
    pub(crate) fn order_table(&self) -> String {
        lock(&self.desk().state).study.order_table()
    }

    fn greeting(&self, is_json: bool) -> String {
        let (desk, codes) = (self.desk(), self.codes());
        let live = format!("{}live.html", desk.address);
        let links: Vec<String> =
            codes.iter().map(|code| format!("{}lab.html#{code}", desk.address)).collect();
        if is_json {
            let password = self.is_password_drawn.then_some(&self.password);
            let ports: Vec<[u16; 2]> = desk
                .tables
                .iter()
                .map(|table| [table.door.page().port(), table.udp.port()])
                .collect();
            return format!(
                "{}\n",
                json!({
                    "live": live,
                    "password": password,
                    "address": desk.address,
                    "codes": codes,
                    "links": links,
                    "table_ports": ports,
                    "calibration_ports":
                        [desk.calibration.door.page().port(), desk.calibration.udp.port()],
                    "database": self.database.display().to_string(),
                })
            );
        }
        let mut text = format!("{}\nexperimenter: {live}\n", desk.title);
        if self.is_password_drawn {
            text += &format!("password:     {}\n", self.password);
        }
        text += "participants, a link each:\n";
        for (number, link) in (1..).zip(&links) {
            text += &format!("  P{number:02} {link}\n");
        }
        text + &format!("log:          {}\n", self.database.display())
    }

    /// Hosts until it is asked to stop; with `once`, until everyone is through.
    pub(crate) fn run(&self, stop: &Stop, once: bool) -> anyhow::Result<()> {
        let (desk, mut missed_at, mut over_at) = (self.desk(), Instant::now(), None);
        loop {
            match self.said.recv_timeout(LOOKS_EVERY) {
                Ok(Said::Second { group, achieved }) => lock(&desk.state).second(group, &achieved),
                Ok(ended @ Said::Ended { .. }) => self.end(ended)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("all tables ended"),
            }
            let mut state = lock(&desk.state);
            if let Some(what) = state.failed.take() {
                bail!("{what}");
            }
            if missed_at.elapsed() >= Duration::from_millis(500) {
                missed_at = Instant::now();
                state.miss().map_err(fatal)?;
            }
            self.start_due(&mut state)?;
            let is_over = once && state.running.is_empty() && state.study.is_over();
            if !is_over {
                over_at = None;
            }
            // The last pages are to see that it is over; one that is gone is not waited for.
            let lingers = if state.is_everyone_thanked() { LINGERS } else { LINGERS_MAX };
            let is_told = is_over && over_at.get_or_insert_with(Instant::now).elapsed() > lingers;
            if stop.is_asked() || is_told {
                drop(state);
                return self.close();
            }
        }
    }

    /// Ends all tables, and leaves one file.
    fn close(&self) -> anyhow::Result<()> {
        let (desk, begun) = (self.desk(), Instant::now());
        desk.tables.iter().for_each(Table::stop);
        while !lock(&desk.state).running.is_empty() && begun.elapsed() < GOODBYE {
            if let Ok(said) = self.said.recv_timeout(LOOKS_EVERY) {
                self.end(said)?;
            }
        }
        let state = lock(&desk.state);
        state.log.keep_exclusions()?;
        state
            .log
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .map_err(LogError::from)?;
        Ok(())
    }

    /// Has everything played that a group is ready for.
    fn start_due(&self, state: &mut State) -> anyhow::Result<()> {
        for start in state.study.due(unix_ms()) {
            let (group, trial, attempt) = (start.group, start.trial.number, start.attempt);
            // The last one may still say goodbye.
            if state.running.contains_key(&group) {
                continue;
            }
            let Some(table) = self.desk().table(group) else { continue };
            let foreperiod = Span::millis(start.foreperiod_ms);
            let ground = live_ground(&start.trial, &self.library, foreperiod);
            let (content, _) = ground.map_err(|what| anyhow!(what))?;
            match state.happen(None, EventKind::Started { group, trial, attempt }, "") {
                Ok(()) => {}
                Err(Trouble::Refused(_)) => continue,
                Err(trouble) => return Err(fatal(trouble)),
            }
            let person = |(seat, player, _): &(sametick_lab::people::SeatId, u32, _)| Person {
                player: *player,
                client_id: seat.0.into(),
                floor_ms: state.study.calibration(*seat).map_or(0.0, |found| found.floor_ms),
            };
            let people = start.seats.iter().map(person).collect();
            let key = TokenKey::generate(&mut SystemRandom::new());
            let order = Order {
                group,
                attempt,
                trial: start.trial.clone(),
                people,
                key: key.clone(),
                foreperiod,
            };
            let start_map = map_of(&start.trial);
            let running = Running {
                changed: start.changed.clone(),
                start,
                key,
                content: content.name(),
                title: content.map.title.clone(),
                pause_seconds: f64::from(content.tuning.pause_seconds),
                held_for: content.held_for,
                map_text: map_text(&start_map, &self.library),
                achieved: BTreeMap::new(),
                told: BTreeMap::new(),
            };
            for (seat, _, _) in &running.start.seats {
                if let Some(life) = state.life(*seat) {
                    // What was seen before is of another trial.
                    (life.achieved, life.told) = (None, None);
                }
            }
            state.running.insert(group, running);
            if !table.play(order) {
                bail!("the table of group {group} does not answer");
            }
        }
        Ok(())
    }
}

fn fatal(trouble: Trouble) -> anyhow::Error {
    match trouble {
        Trouble::Refused(refusal) => anyhow!("{refusal}"),
        Trouble::Log(error) => anyhow!("{error}"),
    }
}

fn password(options: &Options) -> anyhow::Result<(String, bool)> {
    let given = match (&options.password, &options.password_file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the password {}", path.display()))?;
            Some(text.trim_end_matches(['\r', '\n']).to_owned())
        }
        (None, None) => None,
    };
    match given {
        Some(text) if text.is_empty() => bail!("an empty password keeps nobody out: write another"),
        Some(text) => Ok((text, false)),
        None => {
            let mut bytes = [0; PASSWORD_LENGTH];
            SystemRandom::new().fill(&mut bytes);
            // 256 is a multiple of 32: each is as likely.
            let letter = |byte: u8| char::from(PASSWORD_LETTERS[usize::from(byte) % 32]);
            Ok((bytes.into_iter().map(letter).collect(), true))
        }
    }
}

/// The doors of tables: at the ports that follow the main one, if they are free, else at any.
struct Doors<'a> {
    options: &'a page::Options,
    main: SocketAddr,
    opened: u16,
}

impl Doors<'_> {
    /// A door for browsers, and beside it one for programs.
    fn next(&mut self) -> anyhow::Result<(UdpLink, WebLink)> {
        let at = |ahead: u16| {
            let port = self.main.port().checked_add(2 * self.opened + ahead);
            SocketAddr::new(self.main.ip(), port.unwrap_or(0))
        };
        let any = SocketAddr::new(self.main.ip(), 0);
        let web = |at| self.options.side_door(at, self.main.port());
        let web = web(at(1)).or_else(|_| web(any)).context("a table gets no port")?;
        let udp = UdpLink::bind(at(2)).or_else(|_| UdpLink::bind(any));
        let udp = udp.context("a table gets no port")?;
        self.opened += 1;
        Ok((udp, web))
    }
}

/// What a trial is played on, if that is a map.
fn map_of(trial: &Trial) -> String {
    match trial.settings.text("play") {
        "scene" => String::new(),
        _ => trial.settings.text("map").to_owned(),
    }
}

/// The text of a map that stands in a file: pages do not have it.
fn map_text(map: &str, library: &Library) -> Option<String> {
    let is_common = map.is_empty() || MAPS.iter().any(|(name, _)| *name == map);
    (!is_common).then(|| std::fs::read_to_string(library.folder.join(map)).ok())?
}

/// The table at which lines are measured: the first trial's rules, against the targets that every map has.
fn calibration(
    plan: &Plan,
    library: &Library,
    (udp, web): (UdpLink, WebLink),
    seats: usize,
) -> anyhow::Result<Calibration> {
    let mut trial: Trial = plan.trials.first().context("nothing is played")?.clone();
    let is_scene = trial.settings.text("play") == "scene";
    let common = [("play", "match"), ("mode", "targets"), ("targets", ""), ("map", "corners")];
    for (name, value) in common {
        if name == "map" && !is_scene {
            continue;
        }
        if let Some(row) = SETTINGS.iter().find(|row| row.name == name) {
            let value =
                if value.is_empty() { Value::Unsaid } else { Value::Text(value.to_owned()) };
            trial.settings.assign(&Assignment { row, player: None, value, at: 0..0 });
        }
    }
    let ground = live_ground(&trial, library, Span::ZERO).map_err(|what| anyhow!(what))?;
    let names = ["map", "model"].map(|name| trial.settings.text(name).to_owned());
    let text = map_text(&names[0], library);
    Ok(Calibration::open(udp, web, ground, names, text, seats)?)
}
