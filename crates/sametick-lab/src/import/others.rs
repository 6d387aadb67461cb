//! FPSci's files besides experiments: users, their states, keys, the system, and the startup file that names them all.

use super::{Fate, Import, Imported, Mapping, line, quoted};
use crate::any::{Any, AnyFile, AnyValue, WrongAny};
use crate::controls::{Controls, Hand, SENSITIVITY, SessionOrders};
use crate::square::Order;
use crate::value::Plain;
use crate::wrong::near;

/// What kind of file of FPSci's a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyKind {
    /// Targets and sessions.
    Experiment,
    /// Users and their mice.
    Users,
    /// Which sessions users have before them.
    Status,
    /// Keys.
    Keys,
    /// Which files belong together.
    Startup,
    /// Hardware.
    System,
}

const STARTUP: &[&str] = &[
    "experimentList",
    "defaultExperiment",
    "developerMode",
    "waypointEditorMode",
    "fullscreen",
    "windowSize",
    "audioEnable",
];
/// The first is in files of users too.
const STATUS: &[&str] =
    &["currentUser", "allowRepeat", "sequence", "randomizeSessionOrder", "completedLogFilename"];
const SYSTEM: &[&str] =
    &["hasLatencyLogger", "loggerComPort", "hasLatencyLoggerSync", "loggerSyncComPort"];
/// FPSci's actions and the page's.
const ACTIONS: &[(&str, &str)] = &[
    ("moveForward", "forward"),
    ("moveBackward", "back"),
    ("strafeLeft", "left"),
    ("strafeRight", "right"),
    ("jump", "jump"),
    ("crouch", "crouch"),
    ("shoot", "fire"),
];
/// FPSci's actions that the page has none for.
const OTHER_ACTIONS: &[&str] = &[
    "openMenu",
    "scope",
    "dummyShoot",
    "quit",
    "dropWaypoint",
    "toggleRecording",
    "toggleRenderWindow",
    "togglePlayerWindow",
    "toggleWeaponWindow",
    "toggleWaypointWindow",
    "moveWaypointUp",
    "moveWaypointDown",
    "moveWaypointIn",
    "moveWaypointOut",
    "moveWaypointRight",
    "moveWaypointLeft",
];
/// Keys as FPSci and as browsers call them; letters and digits are apart.
const KEYS: &[(&str, &str)] = &[
    ("Spc", "Space"),
    ("Space", "Space"),
    ("L Shift", "ShiftLeft"),
    ("R Shift", "ShiftRight"),
    ("L Ctrl", "ControlLeft"),
    ("R Ctrl", "ControlRight"),
    ("L Alt", "AltLeft"),
    ("R Alt", "AltRight"),
    ("L Mouse", "Mouse0"),
    ("M Mouse", "Mouse1"),
    ("R Mouse", "Mouse2"),
    ("Pg Up", "PageUp"),
    ("Pg Dn", "PageDown"),
    ("Home", "Home"),
    ("End", "End"),
    ("Ins", "Insert"),
    ("Del", "Delete"),
    ("Esc", "Escape"),
    ("Tab", "Tab"),
    ("Enter", "Enter"),
    ("Return", "Enter"),
    ("Up", "ArrowUp"),
    ("Down", "ArrowDown"),
    ("Left", "ArrowLeft"),
    ("Right", "ArrowRight"),
    ("-", "Minus"),
    ("=", "Equal"),
    (",", "Comma"),
    (".", "Period"),
    ("/", "Slash"),
    (";", "Semicolon"),
    ("Keypad -", "NumpadSubtract"),
    ("Keypad +", "NumpadAdd"),
    ("Pause", "Pause"),
];
/// FPSci's usual mouse.
const DOTS_PER_INCH: f64 = 800.0;
const DEGREES_PER_MILLIMETRE: f64 = 2.824;

/// What kind of file a file is, by its keys; none if it is none of these.
pub fn any_kind(file: &AnyFile) -> Option<AnyKind> {
    let root = &file.root;
    let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
    let lists_names = |key: &str| {
        let items = root.get(key).and_then(Any::items).unwrap_or_default();
        items.iter().any(|item| item.text().is_some())
    };
    let users = root.get("users").and_then(Any::items).unwrap_or_default();
    let have_sessions = users.iter().any(|user| user.get("sessions").is_some());
    // Files of users have a `currentUser` too: what tells them from states is what users have.
    let is_hands = |key: &str| !["id", "sessions"].contains(&key);
    let have_hands = users.iter().any(|user| pairs(user).iter().any(|(key, _)| is_hands(key)));
    let states = &STATUS[1..];
    let keys: Vec<&str> = ACTIONS.iter().map(|(key, _)| *key).collect();
    Some(match () {
        () if has(&["targets"]) => AnyKind::Experiment,
        () if has(&["experimentList", "defaultExperiment"]) => AnyKind::Startup,
        () if has(states) || have_sessions || lists_names("sessions") => AnyKind::Status,
        () if has(&["defaultUser"]) || have_hands => AnyKind::Users,
        () if has(STATUS) => AnyKind::Status,
        () if has(&["users"]) => AnyKind::Users,
        () if has(&keys) || has(OTHER_ACTIONS) => AnyKind::Keys,
        () if has(SYSTEM) => AnyKind::System,
        () if has(&["sessions"]) => AnyKind::Experiment,
        () if has(STARTUP) => AnyKind::Startup,
        () => return None,
    })
}

/// What users, states and keys say, for an experiment to take in.
#[derive(Default)]
pub(super) struct Others {
    controls: Controls,
    orders: Option<SessionOrders>,
    participants: usize,
    /// Sessions that are named, and by which place.
    named: Vec<(String, String)>,
    /// In which order users come.
    ids: Vec<String>,
    pub(super) mappings: Vec<Mapping>,
}

impl Others {
    /// Reads one of them.
    pub(super) fn add(&mut self, file: &AnyFile, kind: AnyKind) -> Result<(), WrongAny> {
        let mut import = Import::new(file);
        match kind {
            AnyKind::Users => self.users(&mut import)?,
            AnyKind::Status => self.status(&mut import)?,
            AnyKind::Keys => self.keys(&mut import)?,
            AnyKind::System => {
                for (key, value) in pairs(&file.root) {
                    let what =
                        "no latency logger is read: what a line does is measured at both ends";
                    import.note(value.at, key, Fate::Impossible, what);
                }
            }
            AnyKind::Experiment | AnyKind::Startup => {
                return Err(import.wrong(file.root.at, "one experiment at a time"));
            }
        }
        self.mappings.append(&mut import.mappings);
        Ok(())
    }

    fn users(&mut self, import: &mut Import<'_>) -> Result<(), WrongAny> {
        let root = &import.file.root;
        for (key, value) in pairs(root) {
            match key.as_str() {
                "users" => {}
                "requireUnique" => {
                    import.note(value.at, key, Fate::Mapped, "codes are never given twice");
                }
                "settingsVersion" => {
                    import.note(value.at, key, Fate::Mapped, "it is no experiment's matter");
                }
                "currentUser" => {
                    import.note(
                        value.at,
                        key,
                        Fate::Mapped,
                        "whoever has the link of a seat has it",
                    );
                }
                "defaultUser" => {
                    let mut told = Import::new(import.file);
                    hand(&mut told, value, "defaultUser")?;
                    let what = "who is not listed begins with the page's own, and calibrates";
                    let keys = told.mappings.into_iter().map(|one| Mapping {
                        fate: Fate::Impossible,
                        what: what.to_owned(),
                        ..one
                    });
                    import.mappings.extend(keys);
                    import.note(value.at, key, Fate::Impossible, what);
                }
                _ => unknown(import, value, key, &["users", "requireUnique", "defaultUser"]),
            }
        }
        let users = root.get("users").and_then(Any::items).unwrap_or_default();
        for (index, user) in users.iter().enumerate() {
            let hand = hand(import, user, &format!("users[{index}]"))?;
            self.controls.hands.push(hand);
        }
        Ok(())
    }

    fn status(&mut self, import: &mut Import<'_>) -> Result<(), WrongAny> {
        let root = &import.file.root;
        let shuffles = root.get("randomizeSessionOrder").and_then(Any::flag).unwrap_or(false);
        for (key, value) in pairs(root) {
            let (fate, what) = match key.as_str() {
                "users" | "sessions" => continue,
                "currentUser" => (Fate::Mapped, "whoever has the link of a seat has it"),
                "settingsVersion" => (Fate::Mapped, "it is no experiment's matter"),
                "completedLogFilename" => {
                    (Fate::Mapped, "what is finished is in the database, and is not played again")
                }
                "allowRepeat" | "sequence" => (
                    Fate::Approximated,
                    "a list may name a session twice; what is done is not done again",
                ),
                "randomizeSessionOrder" => {
                    (Fate::Approximated, "`session_orders`, by the experiment's seed")
                }
                _ => {
                    unknown(import, value, key, &[STATUS, &["users", "sessions"]].concat());
                    continue;
                }
            };
            import.note(value.at, key, fate, what);
        }
        let usual = self.sessions(import, root, "sessions")?;
        let users = root.get("users").and_then(Any::items).unwrap_or_default();
        let mut lists: Vec<Vec<String>> = Vec::new();
        let mut has_own = false;
        for (index, user) in users.iter().enumerate() {
            let path = format!("users[{index}]");
            let Some(id) = user.get("id").and_then(Any::text) else {
                return Err(import.wrong(user.at, "a user has an `id`, which is a text"));
            };
            self.ids.push(id.to_owned());
            import.note(user.at, &format!("{path}.id"), Fate::Mapped, "a participant");
            let own = self.sessions(import, user, &format!("{path}.sessions"))?;
            has_own |= !own.is_empty();
            lists.push(if own.is_empty() { usual.clone() } else { own });
            for (key, value) in pairs(user) {
                if !["id", "sessions"].contains(&key.as_str()) {
                    unknown(import, value, &format!("{path}.{key}"), &["id", "sessions"]);
                }
            }
        }
        self.participants = users.len();
        lists.retain(|list| !list.is_empty());
        self.orders = match (lists.is_empty(), has_own, shuffles) {
            (_, false, true) => Some(SessionOrders::Rule(Order::Shuffled)),
            (false, true, _) if lists.len() == users.len() => Some(SessionOrders::Lists(lists)),
            _ if !usual.is_empty() => Some(SessionOrders::Lists(vec![usual])),
            (false, ..) => Some(SessionOrders::Lists(lists)),
            _ => None,
        };
        Ok(())
    }

    fn sessions(
        &mut self,
        import: &mut Import<'_>,
        of: &Any,
        key: &str,
    ) -> Result<Vec<String>, WrongAny> {
        let Some(list) = of.get("sessions") else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for item in list.items().unwrap_or_default() {
            let Some(name) = item.text() else {
                return Err(import.wrong(item.at, "`sessions` is a list of sessions' ids"));
            };
            names.push(name.to_owned());
            self.named.push((name.to_owned(), import.file.shown(item.at)));
        }
        let what = format!("`session_orders`: {}", names.join(", "));
        import.note(list.at, key, Fate::Mapped, what);
        Ok(names)
    }

    fn keys(&mut self, import: &mut Import<'_>) -> Result<(), WrongAny> {
        for (key, value) in pairs(&import.file.root) {
            let one = std::slice::from_ref(value);
            let said = value.items().unwrap_or(one).iter().map(key_word);
            let Some(said) = said.collect::<Option<Vec<String>>>() else {
                return Err(import.wrong(value.at, format!("`{key}` is a list of keys: [\"W\"]")));
            };
            let Some((_, action)) = ACTIONS.iter().find(|(known, _)| known == key) else {
                match OTHER_ACTIONS.contains(&key.as_str()) {
                    true => {
                        let what = "the page has nothing of that kind";
                        import.note(value.at, key, Fate::Impossible, what);
                    }
                    false => {
                        let all = ACTIONS.iter().map(|(known, _)| *known);
                        let all: Vec<&str> = all.chain(OTHER_ACTIONS.iter().copied()).collect();
                        unknown(import, value, key, &all);
                    }
                }
                continue;
            };
            let ours: Vec<Option<String>> = said.iter().map(|name| browser_key(name)).collect();
            // Of two files with keys the last counts.
            self.controls.keys.retain(|(other, _)| other != action);
            let is_free =
                |ours: &&String| !self.controls.keys.iter().any(|(_, taken)| taken == *ours);
            let Some(first) = ours.iter().flatten().find(is_free).cloned() else {
                let why = match ours.iter().flatten().next() {
                    Some(_) => "does something else already: here a key does one thing",
                    None => "is no key that the page knows",
                };
                import.note(value.at, key, Fate::Impossible, format!("{} {why}", said.join(", ")));
                continue;
            };
            let fate = if said.len() == 1 { Fate::Mapped } else { Fate::Approximated };
            let more = if said.len() == 1 { "" } else { "; an action has one key here" };
            import.note(value.at, key, fate, format!("`keys.{action} = {first}`{more}"));
            self.controls.keys.push(((*action).to_owned(), first));
        }
        Ok(())
    }

    /// Hands in the order of the states of users, if both are there.
    pub(super) fn finish(&mut self) {
        let place = |hand: &Hand| self.ids.iter().position(|id| *id == hand.id);
        self.controls.hands.sort_by_key(|hand| place(hand).unwrap_or(usize::MAX));
    }

    /// What stands before the first table of a file.
    pub(super) fn head(&self) -> String {
        let mut text = String::new();
        let people =
            if self.participants > 0 { self.participants } else { self.controls.hands.len() };
        if people > 1 {
            line(&mut text, "participants", &people.to_string());
        }
        match &self.orders {
            Some(SessionOrders::Rule(_)) => line(&mut text, "session_orders", "\"shuffled\""),
            Some(SessionOrders::Lists(lists)) => {
                let list = |names: &Vec<String>| {
                    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                    format!("[{}]", names.join(", "))
                };
                let lists: Vec<String> = lists.iter().map(list).collect();
                line(&mut text, "session_orders", &format!("[{}]", lists.join(", ")));
            }
            None => {}
        }
        text
    }

    /// What stands behind all other tables.
    pub(super) fn tail(&self) -> String {
        self.controls.written(quoted)
    }

    /// A session that is named and is not there.
    pub(super) fn unknown_session(&self, sessions: &[&str]) -> Option<String> {
        let named = self.named.iter().find(|(name, _)| !sessions.contains(&name.as_str()));
        named.map(|(name, place)| {
            let hint = near(name, sessions.iter().copied());
            format!("{place} names the session {name:?}, which the experiment has not{hint}")
        })
    }

    /// A file without an experiment: what to put into one.
    pub(super) fn alone(mut self) -> Imported {
        self.finish();
        let head = "# Made of FPSci's files by `sametick lab import`: put this into an experiment's file.\n";
        let file = [head, &self.head(), &self.tail()].concat();
        Imported { file, mappings: self.mappings }
    }
}

fn pairs(any: &Any) -> &[(String, Any)] {
    match &any.is {
        AnyValue::Table(_, pairs) => pairs,
        _ => &[],
    }
}

fn unknown(import: &mut Import<'_>, value: &Any, key: &str, known: &[&str]) {
    let last = key.rsplit('.').next().unwrap_or(key);
    let hint = near(last, known.iter().copied());
    let what = format!("FPSci does not read this key either{hint}");
    import.note(value.at, key, Fate::Impossible, what);
}

/// A key's name, which may be a digit without quotes.
fn key_word(any: &Any) -> Option<String> {
    any.text().map(str::to_owned).or_else(|| any.number().map(|number| number.to_string()))
}

fn browser_key(name: &str) -> Option<String> {
    if let Some((_, key)) = KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Some((*key).to_owned());
    }
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => {
            Some(format!("Key{}", letter.to_ascii_uppercase()))
        }
        (Some(digit), None) if digit.is_ascii_digit() => Some(format!("Digit{digit}")),
        _ => None,
    }
}

fn hand(import: &mut Import<'_>, user: &Any, path: &str) -> Result<Hand, WrongAny> {
    if !matches!(user.is, AnyValue::Table(..)) {
        return Err(import.wrong(user.at, "a user is names with values: { id = \"anon\" }"));
    }
    let number = |import: &Import<'_>, key: &str| -> Result<Option<f64>, WrongAny> {
        let Some(value) = user.get(key) else { return Ok(None) };
        let said = value.number().filter(|said| *said > 0.0 && said.is_finite());
        let what = format!("`{key}` is a number above 0");
        said.map(Some).ok_or_else(|| import.wrong(value.at, what))
    };
    let dots = number(import, "mouseDPI")?.unwrap_or(DOTS_PER_INCH);
    let (by_mm, by_turn) = (number(import, "mouseDegPerMillimeter")?, number(import, "cmp360")?);
    let degrees = by_mm.or(by_turn.map(|cm| 36.0 / cm)).unwrap_or(DEGREES_PER_MILLIMETRE);
    let scales: Vec<f64> = match user.get("turnScale") {
        Some(scale) => scale.items().unwrap_or_default().iter().filter_map(Any::number).collect(),
        None => vec![1.0, 1.0],
    };
    let [across, up] = scales[..] else {
        let at = user.get("turnScale").map_or(user.at, |scale| scale.at);
        return Err(import.wrong(at, "`turnScale` is two numbers: Vector2(1, 1)"));
    };
    // A hundred dots of this mouse are so many millimetres.
    let wanted = degrees * 25.4 / dots * 100.0 * across.abs();
    let within = wanted.clamp(*SENSITIVITY.start(), *SENSITIVITY.end());
    let within = if within.is_finite() { within } else { *SENSITIVITY.start() };
    let is_exact = within == wanted;
    let mut inverted = user.get("invertY").and_then(Any::flag).unwrap_or(false);
    inverted ^= up < 0.0;
    for (key, value) in pairs(user) {
        let full = format!("{path}.{key}");
        let sensitivity = format!("`sensitivity = {}` degrees for a hundred dots", Plain(within));
        let near_by = if is_exact { Fate::Mapped } else { Fate::Approximated };
        let (fate, what) = match key.as_str() {
            "id" => (Fate::Mapped, "`id` of a hand".to_owned()),
            "mouseDPI" => (Fate::Mapped, "`dpi`, by which `sensitivity` is reckoned".to_owned()),
            "mouseDegPerMillimeter" => (near_by, sensitivity),
            "cmp360" if by_mm.is_some() => (
                Fate::Mapped,
                "`mouseDegPerMillimeter` is said, and counts, as FPSci has it".to_owned(),
            ),
            "cmp360" => (near_by, sensitivity),
            "turnScale" if across == up => (near_by, sensitivity),
            "turnScale" => {
                (Fate::Approximated, format!("{sensitivity}, the same both ways on the page"))
            }
            "invertY" => (Fate::Mapped, "`inverted`".to_owned()),
            "reticleIndex" | "reticleScale" | "reticleColor" | "reticleChangeTime"
            | "reticleChangeTimeS" | "reticleShrinkTime" => {
                (Fate::Impossible, "the page has its own crosshairs".to_owned())
            }
            "scopeTurnScale" => (Fate::Impossible, "nobody has a scope".to_owned()),
            "currentSession" => {
                (Fate::Mapped, "the next session is the first that is not finished".to_owned())
            }
            "settingsVersion" => (Fate::Mapped, "it is no experiment's matter".to_owned()),
            _ => {
                const ALL: [&str; 6] =
                    ["id", "mouseDPI", "mouseDegPerMillimeter", "cmp360", "turnScale", "invertY"];
                unknown(import, value, &full, &ALL);
                continue;
            }
        };
        import.note(value.at, &full, fate, what);
    }
    let id = user.get("id").and_then(Any::text).unwrap_or("anon").to_owned();
    let (sensitivity, dots_per_inch) = (Some(within), Some(dots.clamp(0.1, 100_000.0)));
    Ok(Hand { id, sensitivity, dots_per_inch, is_inverted: inverted })
}

/// An experiment that a startup file names, with its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// The paths of its experiment, users, states and keys; as the file has them.
    pub files: Vec<String>,
}

/// What a startup file names, and what became of its keys.
///
/// ```
/// use sametick_lab::{AnyFile, startup};
///
/// let text = r#"{ defaultExperiment = { name = "d"; userConfigFilename = "u.Any" };
///     experimentList = [ { name = "one"; experimentConfigFilename = "one.Any" } ] }"#;
/// let file = AnyFile::read("startupconfig.Any".as_ref(), &mut |_| Ok(text.to_owned()))?;
/// let (listed, _) = startup(&file)?;
/// assert_eq!(listed[0].files, ["one.Any", "u.Any", "userstatus.Any", "keymap.Any"]);
/// # Ok::<(), sametick_lab::WrongAny>(())
/// ```
pub fn startup(file: &AnyFile) -> Result<(Vec<Listed>, Vec<Mapping>), WrongAny> {
    const FILES: [(&str, &str); 4] = [
        ("experimentConfigFilename", "experimentconfig.Any"),
        ("userConfigFilename", "userconfig.Any"),
        ("userStatusFilename", "userstatus.Any"),
        ("keymapConfigFilename", "keymap.Any"),
    ];
    let mut import = Import::new(file);
    let root = &file.root;
    for (key, value) in pairs(root) {
        let what = match key.as_str() {
            "defaultExperiment" | "experimentList" => continue,
            "developerMode" | "waypointEditorMode" => "there is no such mode",
            "fullscreen" | "windowSize" => {
                "a page is as large as its window; the log says how large"
            }
            "audioEnable" => "whoever plays chooses how loud it is",
            "jsonAnyOutput" | "settingsVersion" => "it is no experiment's matter",
            _ => {
                unknown(&mut import, value, key, STARTUP);
                continue;
            }
        };
        import.note(value.at, key, Fate::Impossible, what);
    }
    let usual = root.get("defaultExperiment");
    let list = root.get("experimentList").and_then(Any::items).unwrap_or_default();
    let mut entries: Vec<(&Any, String)> = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        entries.push((entry, format!("experimentList[{index}]")));
    }
    let has_list = !entries.is_empty();
    entries.extend(usual.map(|usual| (usual, "defaultExperiment".to_owned())));
    let mut listed: Vec<Listed> = Vec::new();
    for (entry, path) in &entries {
        for (key, value) in pairs(entry) {
            let full = format!("{path}.{key}");
            let is_file = FILES.iter().any(|(known, _)| known == key);
            let (fate, what) = match key.as_str() {
                "name" => (Fate::Mapped, "the name of the file that is written"),
                _ if is_file && value.text().is_none() => {
                    return Err(import.wrong(value.at, format!("`{key}` is a path in quotes")));
                }
                _ if is_file => (Fate::Mapped, "it is imported too"),
                "systemConfigFilename" => (Fate::Impossible, "no latency logger is read"),
                "resultsDirPath" => (Fate::Impossible, "`lab run -o` says where results go"),
                _ => {
                    let known: Vec<&str> = FILES.iter().map(|(known, _)| *known).collect();
                    unknown(&mut import, value, &full, &known);
                    continue;
                }
            };
            import.note(value.at, &full, fate, what);
        }
        if has_list && path == "defaultExperiment" {
            continue;
        }
        let said = |key: &str| entry.get(key).or(usual.and_then(|usual| usual.get(key)));
        let text = |key: &str, otherwise: &str| {
            said(key).and_then(Any::text).unwrap_or(otherwise).to_owned()
        };
        let Some(name) = entry.get("name").and_then(Any::text) else {
            return Err(import.wrong(entry.at, "an experiment of the list has a `name`"));
        };
        let files = FILES.iter().map(|(key, otherwise)| text(key, otherwise)).collect();
        listed.push(Listed { name: name.to_owned(), files });
    }
    if listed.is_empty() {
        return Err(import.wrong(root.at, "it names no experiment"));
    }
    Ok((listed, import.mappings))
}

#[cfg(test)]
mod tests {
    use super::{KEYS, browser_key};
    use crate::keys::browser_keys;

    #[test]
    fn every_key_that_is_written_is_one_that_a_file_may_have() {
        let known = browser_keys();
        for name in KEYS.iter().map(|(name, _)| *name).chain(["w", "7"]) {
            let key = browser_key(name).expect("it has a name");
            assert!(known.contains(&key), "{name} becomes {key}");
        }
    }
}
