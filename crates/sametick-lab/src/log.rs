//! The log: one SQLite file. Trials are written whole, each in one transaction, by a thread of its own.

mod opening;
mod targets;

use crate::experiment::Experiment;
use crate::plan::{Plan, Trial};
use crate::rows::{ShotRow, TrialLog};
use crate::schema::{SCHEMA_VERSION, TABLES, Table, views};
use opening::{is_shut, lock, lock_path};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What marks a file as a log of ours: "same" as a number.
const APPLICATION: i64 = 0x7361_6d65;
/// 1 January 2000: virtual time begins there.
const VIRTUAL_EPOCH_US: i64 = 946_684_800_000_000;

/// Why a file cannot be used, in one sentence.
#[derive(Debug)]
pub struct LogError(pub String);

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LogError {}

impl From<rusqlite::Error> for LogError {
    fn from(error: rusqlite::Error) -> Self {
        let full = matches!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure)
        );
        match full {
            true => Self(format!(
                "the log cannot be written ({error}): make room; trials that are whole stay, run again to go on"
            )),
            false => Self(format!("the log: {error}")),
        }
    }
}

/// A log that is open.
pub struct Log {
    /// For questions of one's own.
    pub connection: Connection,
    path: PathBuf,
    /// Held as long as the log is written to: one lab a file.
    _lock: Option<File>,
}

impl Log {
    /// Opens a log to write an experiment's trials to; makes it if there is none. One that holds another experiment, or
    /// is written to by another lab, is refused.
    pub fn write(path: &Path, experiment: &Experiment, plan: &Plan) -> Result<Self, LogError> {
        let (lock_path, is_new) = (lock_path(path), !path.exists());
        let was_locked = lock_path.exists();
        let lock = lock(&lock_path, path)?;
        let opened = Self::open(path, lock, experiment, plan);
        if opened.is_err() && !was_locked {
            // Whoever is refused leaves nothing behind; what cannot be removed does no harm.
            let _ = std::fs::remove_file(lock_path);
            if is_new {
                let _ = std::fs::remove_file(path);
            }
        }
        opened
    }

    fn open(
        path: &Path,
        lock: File,
        experiment: &Experiment,
        plan: &Plan,
    ) -> Result<Self, LogError> {
        let connection = Connection::open(path)
            .map_err(|error| LogError(format!("{} cannot be opened: {error}", path.display())))?;
        let path = path.to_owned();
        let log = Self { connection, path, _lock: Some(lock) };
        // Asked of the database: who was killed while making it may have left a file, but nothing in it.
        let is_new =
            log.connection.query_row("SELECT COUNT(*) = 0 FROM sqlite_schema", [], |r| r.get(0));
        if is_new.unwrap_or(false) {
            log.create(experiment, plan)?;
        } else {
            log.check()?;
            let known: String =
                log.connection.query_row("SELECT hash FROM experiment", [], |row| row.get(0))?;
            if known != experiment.hash() {
                let path = log.path.display();
                let is_quick: bool =
                    log.connection
                        .query_row("SELECT is_quick FROM experiment", [], |row| row.get(0))?;
                let held = match (is_quick, experiment.is_quick) {
                    (true, false) => "the small version of an experiment (--quick)",
                    (false, true) => "an experiment of full size, run without --quick",
                    _ => "another experiment, or this one before it was changed",
                };
                // `lab run` takes studies with people too, for a pilot of bots.
                let option = match experiment.people {
                    Some(_) => "--db (of lab run, -o)",
                    None => "-o",
                };
                let what = format!("{path} holds {held}: choose another file with {option}");
                return Err(LogError(what));
            }
        }
        log.connection.pragma_update(None, "journal_mode", "WAL")?;
        log.connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(log)
    }

    /// Opens a log to read it.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let odd = |error: &dyn std::fmt::Display| {
            LogError(format!("{} cannot be opened: {error}", path.display()))
        };
        if !path.is_file() {
            return Err(odd(&"there is no such file"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| odd(&error))?;
        let log = Self { connection, path: path.to_owned(), _lock: None };
        let log =
            match log.connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(())) {
                Err(error) if is_shut(&error) => {
                    Self::read_as_it_is(path).map_err(|error| odd(&error))?
                }
                _ => log,
            };
        log.check()?;
        Ok(log)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self) -> Result<(), LogError> {
        let path = self.path.display();
        let number = |name: &str| -> rusqlite::Result<i64> {
            self.connection.pragma_query_value(None, name, |row| row.get(0))
        };
        let application = number("application_id")
            .map_err(|_| LogError(format!("{path} is no log: it is no SQLite file")))?;
        if application != APPLICATION {
            return Err(LogError(format!("{path} is no log of this program")));
        }
        match number("user_version")? {
            SCHEMA_VERSION => Ok(()),
            version => Err(LogError(format!(
                "{path} is of version {version}, this program reads {SCHEMA_VERSION}: use the program that wrote it"
            ))),
        }
    }

    fn create(&self, experiment: &Experiment, plan: &Plan) -> Result<(), LogError> {
        let connection = &self.connection;
        connection.pragma_update(None, "page_size", 8192)?;
        connection.execute_batch("BEGIN")?;
        for table in TABLES {
            connection.execute_batch(&table.create())?;
        }
        connection.execute_batch(&views())?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        let created: String =
            connection
                .query_row("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')", [], |r| r.get(0))?;
        let unit = match &experiment.people {
            Some(people) if people.group > 1 => "group",
            Some(_) => "participant",
            None if experiment.participants > 1 => "participant",
            None => "seed",
        };
        self.insert(
            "experiment",
            vec![
                text(&experiment.title),
                text(&experiment.question),
                text(&experiment.hash()),
                text(&experiment.text),
                text(&build()),
                Cell::Integer(experiment.seed as i64),
                flag(experiment.is_quick),
                Cell::Integer(plan.trials.len() as i64),
                text(unit),
                text(&experiment.file),
                text(&created),
            ],
        )?;
        for (number, condition) in (1..).zip(&plan.conditions) {
            let said = condition.levels.iter().map(|level| (level.name(), level.value.json()));
            let apart = condition.apart.iter();
            let apart = apart.map(|(name, value)| ((*name).to_owned(), value.as_str().into()));
            let levels: serde_json::Map<String, serde_json::Value> = said.chain(apart).collect();
            self.insert(
                "condition",
                vec![
                    Cell::Integer(number),
                    text(&condition.letter),
                    text(&condition.label),
                    text(&serde_json::Value::from(levels).to_string()),
                    text(&condition.settings.json().to_string()),
                ],
            )?;
        }
        for (place, session) in (1..).zip(&experiment.sessions) {
            self.insert("session", vec![text(&session.name), Cell::Integer(place)])?;
        }
        self.insert_target_kinds(experiment)?;
        connection.execute_batch("COMMIT")?;
        Ok(())
    }

    pub(crate) fn insert(&self, table: &str, cells: Vec<Cell>) -> rusqlite::Result<()> {
        let table = table_named(table);
        debug_assert_eq!(table.columns.len(), cells.len(), "{}", table.name);
        let mut statement = self.connection.prepare_cached(&table.insert())?;
        statement.execute(params_from_iter(cells)).map(|_| ())
    }

    /// Refuses to mix trials of virtual time with those over sockets.
    pub(crate) fn check_clock(&self, is_real_time: bool) -> Result<(), LogError> {
        let people = "SELECT COUNT(*) FROM event";
        if self.connection.query_row(people, [], |row| row.get::<_, i64>(0))? > 0 {
            let path = self.path.display();
            return Err(LogError(format!(
                "people play in {path}: choose another file with -o or --db"
            )));
        }
        let sql = "SELECT COUNT(*) FROM trial WHERE is_virtual = ?1";
        let others: i64 = self.connection.query_row(sql, [is_real_time], |row| row.get(0))?;
        let (path, held) = (
            self.path.display(),
            if is_real_time { "in virtual time" } else { "over sockets, in real time" },
        );
        match others {
            0 => Ok(()),
            _ => Err(LogError(format!(
                "{path} was played {held}: choose another file with -o or --db"
            ))),
        }
    }

    /// The command that made it.
    pub fn command(&self) -> Result<String, LogError> {
        let sql = "SELECT file, is_quick, (SELECT COUNT(*) FROM trial WHERE NOT is_virtual) FROM experiment";
        let (file, is_quick, real): (String, bool, i64) =
            self.connection
                .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let quick = if is_quick { " --quick" } else { "" };
        let clock = if real > 0 { " --real-time" } else { "" };
        let path = self.path.file_name().unwrap_or_default().to_string_lossy();
        if !self.codes()?.is_empty() {
            // This one is finished, or is somebody's already: it is run again into another.
            return Ok(format!("sametick lab host {file} --db again.db"));
        }
        Ok(format!("sametick lab run {file}{quick}{clock} -o {path}"))
    }

    /// The trials that are whole.
    pub fn done(&self) -> Result<BTreeSet<u32>, LogError> {
        let mut statement = self.connection.prepare("SELECT trial FROM trial")?;
        let numbers = statement.query_map([], |row| row.get(0))?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    /// Writes a trial, whole or not at all. `began_us` is when it began in real time, if it did.
    pub fn add(
        &self,
        trial: &Trial,
        log: &TrialLog,
        began_us: Option<i64>,
    ) -> Result<(), LogError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done =
            self.insert_trial(trial, log, began_us).and_then(|()| self.insert_rows(trial, log));
        match done {
            Ok(()) => Ok(self.connection.execute_batch("COMMIT")?),
            Err(error) => {
                // What is half written must not stay; the first error is the one to tell.
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error.into())
            }
        }
    }

    pub(crate) fn insert_trial(
        &self,
        trial: &Trial,
        log: &TrialLog,
        began_us: Option<i64>,
    ) -> rusqlite::Result<()> {
        let virtual_us = VIRTUAL_EPOCH_US + (trial.begins_ms * 1000.0) as i64;
        self.insert(
            "trial",
            vec![
                integer(trial.number),
                text(&trial.session),
                text(&trial.name),
                Cell::Integer(trial.condition as i64 + 1),
                integer(trial.participant),
                integer(trial.repetition),
                integer(trial.place),
                flag(trial.is_practice),
                text(&trial.seed.to_string()),
                Cell::Integer(began_us.unwrap_or(virtual_us)),
                real(log.duration_ms.or(trial.settings.number("duration"))),
                integer(log.ticks),
                text(&format!("{:016x}", log.world_hash)),
                flag(began_us.is_none()),
                Cell::Integer(log.dropped as i64),
                Cell::Real(log.wall_ms),
            ],
        )
    }

    pub(crate) fn insert_rows(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        let number = || integer(trial.number);
        for row in &log.players {
            self.insert(
                "player",
                vec![
                    number(),
                    integer(row.player),
                    text(row.role),
                    text(&row.skill),
                    Cell::Real(row.frame_rate),
                    flag(row.joined),
                    Cell::Integer(row.kills),
                    Cell::Integer(row.deaths),
                ],
            )?;
        }
        for row in &log.lines {
            self.insert(
                "line",
                vec![
                    number(),
                    integer(row.player),
                    text(if row.is_up { "up" } else { "down" }),
                    Cell::Real(row.asked_delay_ms),
                    Cell::Real(row.asked_loss),
                    Cell::Real(row.delay_ms),
                    Cell::Real(row.delay_ms_50),
                    Cell::Real(row.delay_ms_95),
                    Cell::Integer(row.packets as i64),
                    Cell::Integer(row.lost as i64),
                    Cell::Integer(row.bytes as i64),
                ],
            )?;
        }
        self.insert_seconds(trial, log)?;
        self.insert_shots(trial, log)?;
        for row in &log.hits {
            self.insert(
                "hit",
                vec![
                    number(),
                    integer(row.tick),
                    integer(row.player),
                    Cell::Real(row.time_ms),
                    maybe(row.by),
                    integer(row.amount),
                    flag(row.is_kill),
                ],
            )?;
        }
        self.insert_ticks(trial, log)
    }

    fn insert_seconds(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        for row in &log.seconds {
            self.insert(
                "second",
                vec![
                    integer(trial.number),
                    integer(row.second),
                    integer(row.player),
                    integer(row.frames),
                    Cell::Integer(row.packets_out as i64),
                    Cell::Integer(row.bytes_out as i64),
                    Cell::Integer(row.packets_in as i64),
                    Cell::Integer(row.bytes_in as i64),
                    Cell::Real(row.own_delay_ms),
                    integer(row.own_delays),
                    Cell::Real(row.deviation_m),
                    Cell::Real(row.server_deviation_m),
                    Cell::Real(row.straight_m),
                    integer(row.straights),
                    Cell::Real(row.deviation_m_max),
                    integer(row.deviations),
                    integer(row.stale),
                    integer(row.corrections),
                    Cell::Real(row.corrected_m),
                    Cell::Integer(row.repredicted as i64),
                    Cell::Integer(row.repredicted_entities as i64),
                    Cell::Integer(row.late_commands as i64),
                    Cell::Real(row.stalled_ms),
                    Cell::Real(row.round_trip_ms),
                    integer(row.round_trips),
                ],
            )?;
        }
        Ok(())
    }

    fn insert_shots(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        // Who guesses ahead learns of shots late and out of order.
        let mut shots: Vec<&ShotRow> = log.shots.iter().collect();
        shots.sort_by_key(|shot| shot.tick);
        let mut last = (u32::MAX, 0);
        for row in shots {
            let ordinal = if last.0 == row.tick { last.1 + 1 } else { 0 };
            last = (row.tick, ordinal);
            let mut cells = vec![
                integer(trial.number),
                integer(row.tick),
                integer(ordinal),
                Cell::Real(row.time_ms),
                integer(row.player),
                integer(row.pellets),
                integer(row.pellets_hit),
                maybe(row.aimed),
                maybe(row.seen),
                maybe(row.present),
                maybe(row.hit),
                Cell::Real(row.rewound_ms),
            ];
            for place in [row.shown, row.own, row.served] {
                for axis in 0..3 {
                    cells.push(real(place.map(|place| f64::from(place[axis]))));
                }
            }
            cells.push(row.is_behind_cover.map_or(Cell::Null, flag));
            cells.push(real(row.lead_m));
            cells.push(real(row.lead_rewound_m));
            cells.extend([maybe(row.target), maybe(row.aimed_target), real(row.aim_error)]);
            self.insert("shot", cells)?;
        }
        Ok(())
    }

    fn insert_ticks(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        let float = |number: f32| Cell::Real(f64::from(number));
        for (ordinal, row) in (0..).zip(&log.sightings) {
            let time = Cell::Real(row.time_ms);
            let who = [integer(row.player), integer(row.of)];
            let cells = [integer(trial.number), integer(ordinal), time].into_iter().chain(who);
            self.insert("sighting", cells.collect())?;
        }
        for row in &log.states {
            let [x, y, z] = row.place.map(float);
            self.insert(
                "state",
                vec![
                    integer(trial.number),
                    integer(row.tick),
                    integer(row.player),
                    Cell::Real(row.time_ms),
                    x,
                    y,
                    z,
                    float(row.yaw),
                    float(row.pitch),
                    integer(row.health),
                ],
            )?;
        }
        for (ordinal, row) in (0..).zip(&log.views) {
            let [x, y, z] = row.place.map(float);
            self.insert(
                "picture",
                vec![
                    integer(trial.number),
                    integer(ordinal),
                    integer(row.tick),
                    Cell::Real(row.time_ms),
                    integer(row.player),
                    integer(row.of),
                    x,
                    y,
                    z,
                    float(row.off_m),
                ],
            )?;
        }
        for (ordinal, row) in (0..).zip(&log.commands) {
            self.insert(
                "command",
                vec![
                    integer(trial.number),
                    integer(ordinal),
                    integer(row.tick),
                    Cell::Real(row.time_ms),
                    integer(row.player),
                    float(row.yaw),
                    float(row.pitch),
                    Cell::Integer(row.steps[0].into()),
                    Cell::Integer(row.steps[1].into()),
                    flag(row.jump),
                    flag(row.fire),
                ],
            )?;
        }
        self.insert_targets(trial, log)?;
        self.insert_frames(trial, log)
    }

    fn insert_frames(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        for (ordinal, row) in (0..).zip(&log.frames) {
            let who =
                [integer(ordinal), integer(row.tick), Cell::Real(row.time_ms), integer(row.player)];
            let counts = row.counts.map(|count| Cell::Integer(count as i64));
            let cells = [integer(trial.number)].into_iter().chain(who).chain(counts);
            self.insert("frame", cells.chain(row.took_ms.map(Cell::Real)).collect())?;
        }
        for (name, value) in &log.figures {
            self.insert("figure", vec![integer(trial.number), text(name), Cell::Real(*value)])?;
        }
        Ok(())
    }

    /// A number for all that repeats: the same experiment gives the same one, on one core or many.
    pub fn hash(&self) -> Result<String, LogError> {
        let mut hasher = blake3::Hasher::new();
        for table in TABLES {
            let columns = table.repeatable().join(", ");
            let sql = format!("SELECT {columns} FROM {} ORDER BY {}", table.name, table.key);
            let mut statement = self.connection.prepare(&sql)?;
            let count = statement.column_count();
            let mut rows = statement.query([])?;
            hasher.update(table.name.as_bytes());
            while let Some(row) = rows.next()? {
                for column in 0..count {
                    hash_cell(&mut hasher, &row.get::<_, Cell>(column)?);
                }
            }
        }
        Ok(hasher.finalize().to_hex()[..16].to_owned())
    }

    /// Takes in the trials of another log of the same experiment; how many were new. A trial that both have must be the
    /// same in both.
    pub fn merge(&self, other: &Path) -> Result<u64, LogError> {
        let theirs = Self::read(other)?;
        let hash = |log: &Self| -> rusqlite::Result<(String, String)> {
            let sql = "SELECT hash, build FROM experiment";
            log.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        if hash(self)? != hash(&theirs)? {
            let other = other.display();
            return Err(LogError(format!("{other} is of another experiment or another program")));
        }
        let (mine, new) = (self.done()?, theirs.done()?);
        let sql = "SELECT world_hash FROM trial WHERE trial = ?1";
        for trial in mine.intersection(&new) {
            let end = |log: &Self| -> rusqlite::Result<String> {
                log.connection.query_row(sql, [trial], |row| row.get(0))
            };
            if end(self)? != end(&theirs)? {
                let other = other.display();
                return Err(LogError(format!(
                    "trial {trial} ended otherwise in {other}: one of the files is damaged"
                )));
            }
        }
        self.check_people(&theirs)?;
        drop(theirs);
        let path = other.to_string_lossy().into_owned();
        self.connection.execute("ATTACH DATABASE ?1 AS other", [path])?;
        let copied = self.copy_from_other();
        self.connection.execute_batch("DETACH DATABASE other")?;
        copied?;
        Ok(new.difference(&mine).count() as u64)
    }

    fn copy_from_other(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        // The table of trials last: it says which are there.
        let of_trials = |table: &&Table| table.columns[0].0 == "trial";
        let mut tables: Vec<&Table> = TABLES.iter().filter(of_trials).collect();
        tables.sort_by_key(|table| table.name == "trial");
        for table in tables {
            let name = table.name;
            // Of people's trials something is there before they are whole.
            let is_early = ["question", "telemetry", "trial_flag"].contains(&name);
            let insert = if is_early { "INSERT OR IGNORE" } else { "INSERT" };
            let sql = format!(
                "{insert} INTO main.{name} SELECT * FROM other.{name} WHERE trial NOT IN (SELECT trial FROM \
                    main.trial)"
            );
            if let Err(error) = self.connection.execute(&sql, []) {
                let _ = self.connection.execute_batch("ROLLBACK");
                return Err(error);
            }
        }
        for name in ["seat", "event"] {
            let sql = format!("INSERT OR IGNORE INTO main.{name} SELECT * FROM other.{name}");
            if let Err(error) = self.connection.execute(&sql, []) {
                let _ = self.connection.execute_batch("ROLLBACK");
                return Err(error);
            }
        }
        self.connection.execute_batch("COMMIT")
    }
}

/// The version of the program and of the game's rules.
pub fn build() -> String {
    format!("sametick {}, rules {}", env!("CARGO_PKG_VERSION"), sametick_arena::RULES)
}

fn table_named(name: &str) -> &'static Table {
    TABLES.iter().find(|table| table.name == name).unwrap_or(&TABLES[0])
}

pub(crate) fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

pub(crate) fn integer(number: u32) -> Cell {
    Cell::Integer(number.into())
}

pub(crate) fn flag(flag: bool) -> Cell {
    Cell::Integer(flag.into())
}

pub(crate) fn maybe(number: Option<u32>) -> Cell {
    number.map_or(Cell::Null, integer)
}

pub(crate) fn real(number: Option<f64>) -> Cell {
    number.map_or(Cell::Null, Cell::Real)
}

fn hash_cell(hasher: &mut blake3::Hasher, cell: &Cell) {
    match cell {
        Cell::Null => hasher.update(b"n"),
        Cell::Integer(number) => hasher.update(b"i").update(&number.to_le_bytes()),
        Cell::Real(number) => hasher.update(b"r").update(&number.to_bits().to_le_bytes()),
        Cell::Text(text) => hasher.update(b"t").update(text.as_bytes()),
        Cell::Blob(bytes) => hasher.update(b"b").update(bytes),
    };
}
