//! Makes an experiment of FPSci's files: what is the same here, what is near, and what has no place; nothing is left
//! out in silence.

mod others;
mod questions;
mod rest;
mod targets;

pub use others::{AnyKind, Listed, any_kind, startup};

use crate::any::{Any, AnyFile, AnyValue, Place, WrongAny};
use crate::settings;
use crate::targets::NamedTarget;
use crate::value::{Kind, Plain, Value};
use crate::wrong::{Wrong, near};
use others::Others;
pub(crate) use questions::CONSENT;
use std::fmt::Write as _;

/// What became of something that a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is the same here.
    Mapped,
    /// Something near stands in its place.
    Approximated,
    /// Nothing does.
    Impossible,
}

/// What became of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// File, line and column.
    pub place: String,
    /// The way to it, as `sessions[1].frameDelay`.
    pub key: String,
    /// What became of it.
    pub fate: Fate,
    /// In words.
    pub what: String,
}

/// An experiment file, and what became of every key that it was made of.
///
/// ```
/// use sametick_lab::{AnyFile, Experiment, Fate, import};
///
/// let text = r#"{ description = "Delay"; targets = ( { id = "a" } ); frameDelay = 4; moveRate = 7;
///     sessions = ( { id = "s"; frameRate = 120; trials = ( { targetIds = ( "a" ), count = 3 } ) } ) }"#;
/// let file = AnyFile::read("delay.Any".as_ref(), &mut |_| Ok(text.to_owned()))?;
/// let imported = import(&file)?;
/// let experiment = Experiment::read(&imported.file, ".".as_ref(), false)?;
/// assert_eq!((experiment.title.as_str(), experiment.sessions[0].trials[0].count), ("Delay", 3));
/// let moves = imported.mappings.iter().find(|mapping| mapping.key == "moveRate").unwrap();
/// assert_eq!(moves.fate, Fate::Impossible);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Imported {
    /// The experiment, as `sametick lab run` reads it.
    pub file: String,
    /// In the order of the file.
    pub mappings: Vec<Mapping>,
}

/// What a key of FPSci's general configuration becomes.
#[derive(Clone, Copy)]
enum Becomes {
    /// A setting, times a number.
    Setting(&'static str, f64),
    /// A setting that is on or off.
    Flag(&'static str),
    /// Nothing, because it is so anyway.
    Anyway(&'static str),
    /// Nothing, and why.
    Not(&'static str),
    /// It is read by itself, where these levels stand.
    Apart(&'static [&'static str]),
}

const EXPERIMENT: &str = "an experiment";
const SESSION: &str = "a session";
const TRIAL: &str = "a trial";

use Becomes::{Anyway, Apart, Flag, Not, Setting};

/// Every key that FPSci or its networked fork reads at the levels of experiment, session and trial.
const KEYS: &[(Becomes, &[&str])] = &[
    (Apart(&[EXPERIMENT]), &["sessions", "targets", "clientLatencyArray"]),
    (Apart(&[EXPERIMENT, SESSION]), &["description", "defaultTrialCount"]),
    (
        Apart(&[SESSION]),
        &["trials", "tasks", "blockCount", "randomizeTaskOrder", "randomizeTrialOrder"],
    ),
    (Apart(&[SESSION, TRIAL]), &["id"]),
    (Apart(&[TRIAL]), &["count", "targetIds", "ids"]),
    (
        Apart(&[EXPERIMENT, SESSION, TRIAL]),
        &["pretrialDuration", "pretrialDurationRange", "weapon", "hitsToKill"],
    ),
    (Apart(&[EXPERIMENT, SESSION, TRIAL]), &["timeWarpEnabled", "pastFrame"]),
    (
        Apart(&[EXPERIMENT, SESSION]),
        &[
            "commandsOnSessionStart",
            "commandsOnSessionEnd",
            "commandsOnTrialStart",
            "commandsOnTrialEnd",
        ],
    ),
    (Setting("frame_rate", 1.0), &["frameRate"]),
    (Setting("frame_delay", 1.0), &["frameDelay"]),
    (Setting("field_of_view", 1.0), &["horizontalFieldOfView"]),
    (Setting("players", 1.0), &["numPlayers"]),
    // The fork delays what each end sends by so much.
    (Setting("ping", 2.0), &["networkLatency"]),
    // Here as there the wait before targets appear is no part of it.
    (Setting("duration", 1000.0), &["maxTrialDuration"]),
    (Flag("log_states"), &["logPlayerActions", "logTargetTrajectories"]),
    (Flag("log_frames"), &["logFrameInfo"]),
    (
        Anyway("it is always logged"),
        &[
            "logEnable",
            "logTrialResponse",
            "logUsers",
            "sessionParametersToLog",
            "trialParametersToLog",
        ],
    ),
    (Anyway("there is always one file"), &["logToSingleDb"]),
    (Anyway("the server always decides"), &["isAuthoritativeServer"]),
    (Anyway("everything is played over a network"), &["isNetworked"]),
    (
        Anyway("it is no experiment's matter"),
        &["settingsVersion", "closeOnComplete", "serverAddress", "serverPort"],
    ),
    (
        Anyway("there is one port, chosen by whoever hosts"),
        &["clientPort", "pingPort", "pingSMASize"],
    ),
    (Anyway("every match counts what is hit"), &["scoreModel", "scoreMultiplier"]),
    (Not("frames are evenly spaced"), &["frameTimeArray", "frameTimeRandomize", "frameTimeMode"]),
    (
        Not("the arena has its own maps and cameras: choose `map`"),
        &["scene", "playerCamera", "resetHeight", "spawnPosition", "spawnHeading"],
    ),
    (
        Not("the arena has its own way of walking"),
        &[
            "moveRate",
            "moveScale",
            "turnScale",
            "playerHeight",
            "crouchHeight",
            "jumpVelocity",
            "jumpInterval",
            "jumpTouch",
            "playerGravity",
            "playerAxisLock",
            "disablePlayerMotionBetweenTrials",
            "resetPlayerPositionBetweenTrials",
            "movementAcceleration",
            "movementDeceleration",
            "counterStrafing",
            "sprintMultiplier",
            "headBobEnabled",
            "respawnPos",
            "respawnHeading",
            "movementRestrictionX",
            "movementRestrictionZ",
            "restrictedMovementEnabled",
            "restrictionBoxAngle",
            "respawnPosArray",
            "respawnHeadingArray",
            "movementRestrictionXArray",
            "movementRestrictionZArray",
            "moveRateArray",
            "restrictedMovementEnabledArray",
            "restrictionBoxAngleArray",
            "clientCanShootArray",
            "cornerPositionArray",
            "defenderRandomDisplacementAngleArray",
            "collisionEnabled",
        ],
    ),
    (
        Not("the arena has its own weapons"),
        &["aimAssistFoV", "aimAssistStrength", "concealShotSound"],
    ),
    (Apart(&[EXPERIMENT, SESSION, TRIAL]), &["questions"]),
    (
        Not("what is shown before, between and after trials is the page's own"),
        &[
            "pretrialDurationLambda",
            "trialFeedbackDuration",
            "taskFeedbackDuration",
            "sessionFeedbackDuration",
            "clickToStart",
            "sessionFeedbackRequireClick",
            "maxPretrialAimDisplacement",
            "referenceTargetInitialFeedback",
            "noReferenceTargetInitialFeedback",
            "pretrialAimInvalidFeedback",
            "trialSuccessFeedback",
            "trialFailureFeedback",
            "taskSuccessFeedback",
            "taskFailureFeedback",
            "blockCompleteFeedback",
            "sessionCompleteFeedback",
            "allSessionsCompleteFeedback",
            "showReferenceTarget",
            "referenceTargetSize",
            "referenceTargetColor",
            "previewWithReference",
            "previewTargetColor",
            "targetHealthColors",
            "showHUD",
            "showBanner",
            "bannerTimerMode",
            "showAmmo",
            "cooldownMode",
            "showMenuOnStartup",
            "showMenuBetweenSessions",
            "allowUserAdd",
            "requireUserAdd",
            "allowSessionChange",
            "renderClickPhoton",
            "clickPhotonSide",
            "clickPhotonMode",
            "clickPhotonSize",
            "clickPhotonVertPos",
            "clickPhotonColors",
            "logOnChange",
            "logSessionDropDownUpdate",
            "pingThresholds",
            "placeboPingEnabled",
            "clientPlaceboPingTypeArray",
            "clientPlaceboPingModifierArray",
            "weightByCount",
            "resolution2D",
            "resolution3D",
            "resolutionComposite",
            "shader2D",
            "shader3D",
            "shaderComposite",
            "sampler2D",
            "sampler3D",
            "samplerComposite",
            "samplerPrecomposite",
            "playerHealthBar",
        ],
    ),
    (
        Not("roles are not exchanged between trials"),
        &["roleShuffleEnabled", "client1StartsAsRunner"],
    ),
    (
        Not("`model = \"quakeworld\"` extrapolates; choose it by hand"),
        &["extrapolationEnabled", "extrapolationType"],
    ),
];

/// FPSci's own count of a trial that says none.
const TRIAL_COUNT: f64 = 5.0;

/// Makes an experiment of one of FPSci's experiment files, or what belongs into one of another of its files.
pub fn import(file: &AnyFile) -> Result<Imported, WrongAny> {
    import_all(std::slice::from_ref(file))
}

/// Makes an experiment of FPSci's experiment file and of those that belong to it: users, their states, and keys.
pub fn import_all(files: &[AnyFile]) -> Result<Imported, WrongAny> {
    let mut others = Others::default();
    let mut experiment: Option<&AnyFile> = None;
    for file in files {
        match any_kind(file) {
            Some(AnyKind::Experiment) if experiment.is_none() => experiment = Some(file),
            Some(kind) => others.add(file, kind)?,
            None => {
                let what = "this is no file of FPSci's that can be imported: those are experiments, users, their \
                    states, keys, the system's and startup files";
                return Err(Import::new(file).wrong(file.root.at, what));
            }
        }
    }
    let Some(file) = experiment else { return Ok(others.alone()) };
    others.finish();
    let mut import = Import::new(file);
    let text = import.experiment(&file.root, &others)?;
    import.mappings.append(&mut others.mappings);
    Ok(Imported { file: text, mappings: import.mappings })
}

struct Import<'a> {
    file: &'a AnyFile,
    mappings: Vec<Mapping>,
    targets: Vec<NamedTarget>,
    /// Those that trials name, as they name them.
    used: Vec<NamedTarget>,
    /// Each as a table of the file.
    questions: Vec<String>,
    /// Keys that are read by themselves, until something is told of them.
    pending: Vec<(Place, String)>,
}

impl<'a> Import<'a> {
    fn new(file: &'a AnyFile) -> Self {
        let mut import = Self {
            file,
            mappings: Vec::new(),
            targets: Vec::new(),
            used: Vec::new(),
            questions: Vec::new(),
            pending: Vec::new(),
        };
        for (at, remark) in &file.remarks {
            // A remark on a key begins with it.
            let key = remark.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let key = key.map_or("the file".to_owned(), |(key, _)| format!("{key}, again"));
            import.note(*at, &key, Fate::Approximated, remark.clone());
        }
        import
    }

    fn note(&mut self, at: Place, key: &str, fate: Fate, what: impl Into<String>) {
        let (place, key, what) = (self.file.shown(at), key.to_owned(), what.into());
        self.mappings.push(Mapping { place, key, fate, what });
    }

    fn wrong(&self, at: Place, what: impl Into<String>) -> WrongAny {
        let (line, column) = (at.line as usize, at.column as usize);
        let wrong = Wrong { line, column, what: what.into() };
        WrongAny { file: self.file.file(at).to_owned(), wrong }
    }

    /// The whole file.
    fn experiment(&mut self, root: &Any, others: &Others) -> Result<String, WrongAny> {
        let (Some(sessions), Some(targets)) = (root.get("sessions"), root.get("targets")) else {
            let what = "an experiment of FPSci has `targets` and `sessions`";
            return Err(self.wrong(root.at, what));
        };
        let title = root.get("description").and_then(Any::text).unwrap_or("Experiment");
        let mut text = "# Made of FPSci's files by `sametick lab import`.\n".to_owned();
        line(&mut text, "title", &quoted(title));
        line(&mut text, "question", &quoted(&format!("{title}: say here what is to be found out")));
        text += &others.head();
        self.read_targets(targets)?;
        let all = sessions.items().unwrap_or_default();
        let shuffles = |session: &&Any| {
            let said = session.get("randomizeTaskOrder").or(session.get("randomizeTrialOrder"));
            said.and_then(Any::flag).unwrap_or(true)
        };
        if let Some(session) = all.iter().find(shuffles) {
            line(&mut text, "order", "\"shuffled\"");
            let what = "all conditions and trials are shuffled, by the experiment's seed";
            self.note(session.at, "sessions[].randomizeTaskOrder", Fate::Approximated, what);
        } else {
            // Unsaid is another order where people play.
            line(&mut text, "order", "\"as_written\"");
        }
        text += "\n[settings]\n";
        line(&mut text, "mode", "\"targets\"");
        line(&mut text, "map", "\"field\"");
        if root.get("numPlayers").is_none() {
            let players = if root.get("clientLatencyArray").is_some() { "2" } else { "1" };
            line(&mut text, "players", players);
        }
        self.level(&mut text, (EXPERIMENT, root), "", "")?;
        let count = self.targets.len();
        self.note(targets.at, "targets", Fate::Mapped, format!("{count} kinds of targets"));
        self.latencies(&mut text, root)?;
        self.programs(&mut text, root, "", "programs");
        if all.is_empty() {
            return Err(self.wrong(sessions.at, "there is no session"));
        }
        for (index, session) in all.iter().enumerate() {
            let id = session.get("id").and_then(Any::text);
            if id.is_some()
                && all[..index].iter().any(|one| one.get("id").and_then(Any::text) == id)
            {
                let what = format!("there are two sessions {:?}", id.unwrap_or_default());
                return Err(self.wrong(session.at, what));
            }
            self.session(&mut text, session, &format!("sessions[{index}]"), root)?;
        }
        let ids: Vec<&str> =
            all.iter().filter_map(|one| one.get("id").and_then(Any::text)).collect();
        if let Some(what) = others.unknown_session(&ids) {
            return Err(self.wrong(sessions.at, what));
        }
        text += &self.written_targets(targets);
        text += &self.written_questions();
        self.tell_rest();
        text += &others.tail();
        Ok(text)
    }

    fn session(
        &mut self,
        text: &mut String,
        session: &Any,
        path: &str,
        root: &Any,
    ) -> Result<(), WrongAny> {
        let Some(id) = session.get("id").and_then(Any::text) else {
            return Err(self.wrong(session.at, "a session has an `id`, which is a text"));
        };
        text.push_str("\n[[session]]\n");
        line(text, "name", &quoted(id));
        if let Some(described) = session.get("description") {
            let what = "a session is called by its `id`";
            self.note(described.at, &format!("{path}.description"), Fate::Approximated, what);
        }
        if let Some(blocks) = session.get("blockCount") {
            let blocks = self.count(blocks, "blockCount")?;
            line(text, "repetitions", &blocks.to_string());
            self.note(session.at, &format!("{path}.blockCount"), Fate::Mapped, "`repetitions`");
        }
        if let Some(tasks) = session.get("tasks") {
            let what = "trials come one by one, not in the orders of tasks";
            self.note(tasks.at, &format!("{path}.tasks"), Fate::Impossible, what);
        }
        self.level(text, (SESSION, session), path, "settings.")?;
        self.programs(text, session, path, "session.programs");
        let trials = session.get("trials").and_then(Any::items).unwrap_or_default();
        if trials.is_empty() {
            return Err(self.wrong(session.at, format!("the session {id:?} has no `trials`")));
        }
        let session_path = path;
        let mut names: Vec<String> = Vec::new();
        for (index, trial) in trials.iter().enumerate() {
            let path = format!("{path}.trials[{index}]");
            text.push_str("[[session.trial]]\n");
            let id = trial.get("id").and_then(Any::text).map_or(index.to_string(), str::to_owned);
            let others = (2..).map(|number| format!("{id} ({number})"));
            let mut free = std::iter::once(id.clone()).chain(others);
            let name = free.find(|name| !names.contains(name)).unwrap_or(id);
            names.push(name.clone());
            line(text, "name", &quoted(&name));
            let usual = session.get("defaultTrialCount").or(root.get("defaultTrialCount"));
            let count = match trial.get("count").or(usual) {
                Some(count) => self.count(count, "count")?,
                None => TRIAL_COUNT as u32,
            };
            line(text, "count", &count.to_string());
            self.note(trial.at, &path, Fate::Mapped, format!("a trial {name:?}, {count} times"));
            let key = if trial.get("targetIds").is_some() { "targetIds" } else { "ids" };
            match trial.get(key) {
                Some(ids) => {
                    let at = [(trial, path.as_str()), (session, session_path), (root, "")];
                    let hits = self.hits(&at)?;
                    let names = self.trial_targets(ids, &format!("{path}.{key}"), hits)?;
                    line(text, "targets", &names);
                    self.trial_foreperiod(text, [trial, session, root])?;
                }
                None => {
                    let what = "no `targetIds`: the map's own targets are there";
                    self.note(trial.at, &path, Fate::Approximated, what);
                }
            }
            self.level(text, (TRIAL, trial), &path, "")?;
        }
        Ok(())
    }

    fn count(&self, any: &Any, name: &str) -> Result<u32, WrongAny> {
        let number = any.number().filter(|number| *number >= 1.0 && *number <= 100_000.0);
        let whole = number.filter(|number| number.fract() == 0.0);
        let what = || format!("`{name}` is a whole number from 1 to 100000");
        whole.map(|number| number as u32).ok_or_else(|| self.wrong(any.at, what()))
    }

    /// The general configuration of one level, as settings.
    fn level(
        &mut self,
        text: &mut String,
        (kind, level): (&'static str, &Any),
        path: &str,
        prefix: &str,
    ) -> Result<(), WrongAny> {
        let pairs = match &level.is {
            AnyValue::Table(_, pairs) => pairs.as_slice(),
            AnyValue::List(_, items) if items.is_empty() => &[],
            _ => return Err(self.wrong(level.at, "names with values should stand here: { a = 1 }")),
        };
        let mut said: Vec<&str> = Vec::new();
        for (key, value) in pairs {
            let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let found = KEYS.iter().find(|(_, keys)| keys.contains(&key.as_str()));
            let Some((becomes, _)) = found else {
                let hint = near(key, Self::known_keys());
                let what = format!("FPSci does not read this key either{hint}");
                self.note(value.at, &full, Fate::Impossible, what);
                continue;
            };
            match *becomes {
                Apart(levels) if levels.contains(&kind) => self.remember(value.at, &full),
                Apart(levels) => {
                    let what = format!("it belongs to {}, not to {kind}", levels.join(" or "));
                    self.note(value.at, &full, Fate::Impossible, what);
                }
                Anyway(what) => self.note(value.at, &full, Fate::Mapped, what),
                Not(why) => {
                    let what = match &value.is {
                        AnyValue::Table(_, inner) => {
                            let names: Vec<&str> =
                                inner.iter().map(|(name, _)| name.as_str()).collect();
                            format!("{why} (left out: {})", names.join(", "))
                        }
                        _ => why.to_owned(),
                    };
                    self.note(value.at, &full, Fate::Impossible, what);
                }
                Flag(name) if said.contains(&name) => {
                    self.note(value.at, &full, Fate::Mapped, format!("`{name}`, said already"));
                }
                Flag(name) => {
                    said.push(name);
                    let Some(flag) = value.flag() else {
                        return Err(self.wrong(value.at, format!("`{key}` is true or false")));
                    };
                    line(text, &format!("{prefix}{name}"), &flag.to_string());
                    self.note(value.at, &full, Fate::Mapped, format!("`{name}`"));
                }
                Setting(name, times) => {
                    self.number(text, (&full, value), &format!("{prefix}{name}"), times)?;
                }
            }
        }
        self.time_warp(text, level, path, prefix);
        self.read_questions((kind, level), path);
        self.foreperiod(level, path)
    }

    /// A setting that is a number; what lies outside of its range is the nearest within.
    fn number(
        &mut self,
        text: &mut String,
        (key, value): (&str, &Any),
        setting: &str,
        times: f64,
    ) -> Result<(), WrongAny> {
        let Some(number) = value.number().filter(|number| !number.is_nan()) else {
            return Err(self.wrong(value.at, format!("`{key}` is a number")));
        };
        if number < 0.0 {
            return Err(
                self.wrong(value.at, format!("`{key}` is {}: it cannot be below 0", Plain(number)))
            );
        }
        let name = setting.rsplit('.').next().unwrap_or(setting);
        let Some(row) = settings::find(name) else { return Ok(()) };
        let wanted = number * times;
        let (least, most) = match row.kind {
            Kind::Rate { at_least, at_most } => (at_least, at_most),
            Kind::Time { at_most } => (0.0, at_most),
            Kind::Count { at_least, at_most } => (f64::from(at_least), f64::from(at_most)),
            _ => (f64::MIN, f64::MAX),
        };
        if key.ends_with("frameRate") && number == 0.0 {
            let what = "as many frames as the window has: `frame_rate` is not said";
            self.note(value.at, key, Fate::Approximated, what);
            return Ok(());
        }
        let within = wanted.clamp(least, most);
        let is_whole = matches!(row.kind, Kind::Count { .. });
        let within = if is_whole { within.round() } else { within };
        let shown = Value::Number(within).shown(row.kind);
        let written = if row.kind.unit().is_empty() { shown.clone() } else { quoted(&shown) };
        line(text, setting, &written);
        let fate = if within == wanted { Fate::Mapped } else { Fate::Approximated };
        let mut what = format!("`{name} = {shown}`");
        if within != wanted {
            let _ = write!(what, ", the nearest to {}", Plain(wanted));
        }
        self.note(value.at, key, fate, what);
        Ok(())
    }

    /// The fork's time warp is a rewind by so many frames at most.
    fn time_warp(&mut self, text: &mut String, level: &Any, path: &str, prefix: &str) {
        let Some(warps) = level.get("timeWarpEnabled") else { return };
        let number = |key: &str, usual: f64| level.get(key).and_then(Any::number).unwrap_or(usual);
        let (frames, rate) = (number("pastFrame", 500.0), number("frameRate", 60.0).max(1.0));
        let ms = match warps.flag() {
            Some(true) => (frames / rate * 1000.0).clamp(0.0, 5_000.0),
            _ => 0.0,
        };
        line(text, &format!("{prefix}rewind"), &quoted(&format!("{} ms", Plain(ms))));
        let full = if path.is_empty() { String::new() } else { format!("{path}.") };
        let what =
            format!("`rewind = {} ms`; by what the shooter saw, not by its frame alone", Plain(ms));
        self.note(warps.at, &format!("{full}timeWarpEnabled"), Fate::Approximated, what);
    }

    /// Every latency of the one player with every one of the other.
    fn latencies(&mut self, text: &mut String, root: &Any) -> Result<(), WrongAny> {
        let Some(array) = root.get("clientLatencyArray") else { return Ok(()) };
        let items = array.items().unwrap_or_default();
        let ways: Option<Vec<f64>> = items.iter().map(Any::number).collect();
        let odd = || self.wrong(array.at, "`clientLatencyArray` is a list of milliseconds");
        let ways = ways.filter(|ways| !ways.is_empty()).ok_or_else(odd)?;
        let pings: Vec<String> = ways
            .iter()
            .map(|way| quoted(&format!("{} ms", Plain((way * 2.0).clamp(0.0, 5_000.0)))))
            .collect();
        let pings = pings.join(", ");
        let _ = write!(text, "\n[factors]\nplayer.1.ping = [{pings}]\nplayer.2.ping = [{pings}]\n");
        let what = "factors `player.1.ping` and `player.2.ping`, there and back; roles stay";
        self.note(array.at, "clientLatencyArray", Fate::Approximated, what);
        Ok(())
    }

    /// Programs around sessions and trials; FPSci's are lines for a shell.
    fn programs(&mut self, text: &mut String, level: &Any, path: &str, table: &str) {
        const KEYS: [(&str, &str); 4] = [
            ("commandsOnSessionStart", "session_start"),
            ("commandsOnSessionEnd", "session_end"),
            ("commandsOnTrialStart", "trial_start"),
            ("commandsOnTrialEnd", "trial_end"),
        ];
        let mut has_head = false;
        for (key, name) in KEYS {
            let Some(commands) = level.get(key) else { continue };
            let full = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            for (index, command) in commands.items().unwrap_or_default().iter().enumerate() {
                let said = command.get("command").or(Some(command)).and_then(Any::text);
                let Some(said) = said.filter(|said| !said.trim().is_empty()) else { continue };
                if index > 0 {
                    let what = format!("one program each: {said:?} is left out");
                    self.note(command.at, &full, Fate::Impossible, what);
                    continue;
                }
                if !has_head {
                    has_head = true;
                    let _ = write!(text, "\n[{table}]\n");
                }
                let words: Vec<String> = said.split_whitespace().map(quoted).collect();
                line(text, name, &format!("[{}]", words.join(", ")));
                let what = format!("`programs.{name}`; it is run by no shell and waited for");
                self.note(command.at, &full, Fate::Approximated, what);
            }
        }
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name} = {value}");
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    // JSON's is the same, but for one letter.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
