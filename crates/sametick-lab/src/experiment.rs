//! An experiment as its file has it: the question, sessions, trials, factors, and what is expected.

use crate::checks;
use crate::controls::Controls;
use crate::formula::Formula;
use crate::metrics::{self, Metric};
use crate::people::People;
use crate::plan::{self, Plan};
use crate::programs::Programs;
use crate::scan::{Scan, Source, rows_of_numbers};
use crate::settings::{Assignment, Change};
use crate::square::Order;
use crate::targets::{self, NamedTarget};
use crate::value::{Kind, Value, number};
use crate::wrong::{Found, Wrong, Wrongs, meant};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The most conditions of an experiment.
pub const CONDITIONS_MAX: usize = 10_000;
const REPETITIONS_MAX: u32 = 100_000;

/// An experiment, as its file has it.
///
/// ```
/// use sametick_lab::{Experiment, Plan};
///
/// let file = r#"
/// question = "Does a long line cost kills?"
/// repetitions = 4
/// [settings]
/// duration = "20 s"
/// [factors]
/// ping = ["0 ms", "100 ms", "200 ms"]
/// "#;
/// let experiment = Experiment::read(file, ".".as_ref(), false)?;
/// let plan = Plan::new(&experiment)?;
/// assert_eq!((plan.conditions.len(), plan.trials.len()), (3, 12));
///
/// let wrong = Experiment::read("question = \"?\"\nrepetition = 4", ".".as_ref(), false);
/// let wrong = wrong.unwrap_err().to_string();
/// assert_eq!(wrong, "line 2, column 1: `repetition` means nothing here; did you mean `repetitions`?");
/// # Ok::<(), sametick_lab::Wrong>(())
/// ```
#[derive(Clone, Debug)]
pub struct Experiment {
    /// In a few words.
    pub title: String,
    /// What it is to find out; heads the report.
    pub question: String,
    /// Decides every chance.
    pub seed: u64,
    /// How many pass through all conditions; with people, how many groups of them.
    pub participants: u32,
    /// How often each of them meets each condition, each time with another seed.
    pub repetitions: u32,
    /// How many trials come first that do not count.
    pub practice: u32,
    /// In which order conditions come.
    pub order: Order,
    /// At least one.
    pub sessions: Vec<Session>,
    /// What the papers or the author expect.
    pub expectations: Vec<Expectation>,
    /// The report's first figure.
    pub figure: Option<Figure>,
    /// The kinds of targets that trials name.
    pub targets: Vec<NamedTarget>,
    /// Whose hands play, and in which order they meet sessions.
    pub controls: Controls,
    /// What it says of people, if people play.
    pub people: Option<People>,
    /// Whether this is the small version, for tests.
    pub is_quick: bool,
    /// The whole file.
    pub text: String,
    /// Where paths in it begin.
    pub folder: PathBuf,
    /// What the file is called.
    pub file: String,
}

/// A part of an experiment.
#[derive(Clone, Debug)]
pub struct Session {
    /// What it is called.
    pub name: String,
    /// What holds in all of its trials, in the order in which it is said.
    pub assignments: Vec<Assignment>,
    /// What lines do during its trials.
    pub changes: Vec<Change>,
    /// How often each condition is met, if not as often as elsewhere.
    pub repetitions: Option<u32>,
    /// What differs from trial to trial; at least one, which may be empty.
    pub conditions: Vec<Vec<Assignment>>,
    /// At least one.
    pub trials: Vec<TrialKind>,
    /// What is run when it and its trials begin and end.
    pub programs: Programs,
}

/// A kind of trial that a session has besides its conditions.
#[derive(Clone, Debug)]
pub struct TrialKind {
    /// What it is called.
    pub name: String,
    /// How often it is met in each condition and repetition.
    pub count: u32,
    /// What holds in it.
    pub assignments: Vec<Assignment>,
}

/// The report's first figure: a metric over a factor, one line for each level of another.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is drawn.
    pub metric: &'static Metric,
    /// Over which factor.
    pub over: Option<String>,
    /// A line for each level of this one.
    pub series: Option<String>,
}

/// What is expected of a metric.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// In words.
    pub name: String,
    /// Of what.
    pub metric: &'static Metric,
    /// Only where factors have these values, by their names.
    pub only: Vec<(String, Value)>,
    /// Not of the metric itself, but of its slope over this factor.
    pub slope_over: Option<String>,
    /// Not of the metric itself, but of its ratio to where factors have these values instead.
    pub against: Vec<(String, Value)>,
    /// What must hold.
    pub rule: Rule,
    /// Why it does not hold here, if a paper has it and we do not: then it must not, so that this stays true.
    pub unmet: Option<String>,
}

/// What must hold of a number.
#[derive(Clone, Debug)]
pub enum Rule {
    /// It is what a formula says, within a tolerance.
    Equals(Formula, Tolerance),
    /// It lies between these.
    Between(Option<Formula>, Option<Formula>),
    /// It is what a table says: the factors of rows and columns, their levels, and the cells.
    Table(Box<Cells>, Tolerance),
}

/// How far off is still right.
#[derive(Clone, Debug)]
pub enum Tolerance {
    /// A share of what is expected, in per cent.
    Percent(f64),
    /// So much, in the metric's unit.
    Absolute(Formula),
}

/// Numbers by the levels of two factors.
#[derive(Clone, Debug)]
pub struct Cells {
    /// The factor whose levels are the rows, and those.
    pub rows: (String, Vec<f64>),
    /// The factor whose levels are the columns, and those.
    pub columns: (String, Vec<f64>),
    /// Row by row.
    pub cells: Vec<Vec<f64>>,
}

impl Experiment {
    /// Reads a file's text; paths in it begin in `folder`. With `is_quick` its `[quick]` part is heeded. Of several
    /// mistakes the first is told.
    pub fn read(text: &str, folder: &Path, is_quick: bool) -> Result<Self, Wrong> {
        Self::first(Self::scan(text, Some(folder), is_quick))
    }

    /// The same of a file that was looked at before, wherever the maps and traces that it names are now.
    pub(crate) fn read_again(text: &str, is_quick: bool) -> Result<Self, Wrong> {
        Self::first(Self::scan(text, None, is_quick))
    }

    fn first((experiment, found): (Self, Found)) -> Result<Self, Wrong> {
        match found.all.is_empty() {
            true => Ok(experiment),
            false => Err(Wrongs::new(found.all).first()),
        }
    }

    /// Reads a file's text and plans it, and tells all that is wrong.
    ///
    /// ```
    /// let file = "question = \"?\"\nsede = 3\n[settings]\nping = 50\nlos = \"2 %\"";
    /// let wrongs = sametick_lab::Experiment::check(file, ".".as_ref(), false).unwrap_err();
    /// let lines: Vec<usize> = wrongs.all.iter().map(|wrong| wrong.line).collect();
    /// assert_eq!(lines, [2, 4, 5]);
    /// ```
    pub fn check(text: &str, folder: &Path, is_quick: bool) -> Result<(Self, Plan), Wrongs> {
        let (experiment, mut found) = Self::scan(text, Some(folder), is_quick);
        if !found.is_spoiled {
            plan::check(&experiment, &mut found);
        }
        if !found.all.is_empty() {
            return Err(Wrongs::new(found.all));
        }
        match Plan::new(&experiment) {
            Ok(plan) => Ok((experiment, plan)),
            Err(wrong) => Err(Wrongs::new(vec![wrong])),
        }
    }

    fn scan(text: &str, folder: Option<&Path>, is_quick: bool) -> (Self, Found) {
        let found = RefCell::new(Found::default());
        let looks_at_files = folder.is_some();
        let folder = folder.unwrap_or(Path::new("."));
        let source = Source { text, folder, looks_at_files, found: &found };
        let mut experiment = Self {
            title: "Experiment".to_owned(),
            question: String::new(),
            seed: 1,
            participants: 1,
            repetitions: 1,
            practice: 0,
            order: Order::AsWritten,
            sessions: Vec::new(),
            expectations: Vec::new(),
            figure: None,
            people: None,
            targets: Vec::new(),
            controls: Controls::default(),
            is_quick,
            text: text.to_owned(),
            folder: folder.to_owned(),
            file: "experiment.toml".to_owned(),
        };
        let (table, damages) = DeTable::parse_recoverable(text);
        for damage in &damages {
            let at = damage.span().unwrap_or(0..0);
            source.note(&at, damage.message().replace('\n', ", "));
        }
        // What else a damaged file says may not be what was meant.
        if damages.is_empty() {
            experiment.fill(&Scan::new(source, table.get_ref(), 0..0));
            checks::all(&experiment, source);
            if !source.found.borrow().has_odd_targets {
                source.heed(targets::check(&experiment, source));
            }
            source.heed(experiment.controls.check(&experiment.sessions, source));
        }
        (experiment, found.into_inner())
    }

    fn fill(&mut self, scan: &Scan<'_>) {
        let source = scan.source;
        let before = source.count();
        let question = source.heed(scan.text("question")).unwrap_or_default();
        if question.trim().is_empty() && source.count() == before {
            source.note(&(0..0), "an experiment asks something: question = \"...\"");
        }
        self.question = question;
        self.title = source.heed(scan.text("title")).unwrap_or(std::mem::take(&mut self.title));
        let count = |name, least, most| source.heed(scan.count(name, least, most));
        self.seed = u64::from(count("seed", 0, u32::MAX).unwrap_or(1));
        self.participants = count("participants", 1, REPETITIONS_MAX).unwrap_or(1);
        self.repetitions = count("repetitions", 1, REPETITIONS_MAX).unwrap_or(1);
        self.practice = count("practice", 0, 1_000).unwrap_or(0);
        self.order = source.heed(order(scan).map(Some)).unwrap_or(Order::AsWritten);
        self.figure = figure(scan);
        let before_targets = source.count();
        self.targets = source.heed(targets::read(scan));
        let has_odd_targets = source.count() > before_targets;
        source.found.borrow_mut().has_odd_targets = has_odd_targets;
        self.controls = source.heed(Controls::read(scan));
        let quick = Quick::read(scan, self.is_quick);
        self.repetitions = quick.repetitions.unwrap_or(self.repetitions);
        self.sessions = sessions(scan, &quick);
        quick.check(source);
        let expectations = source.heed(scan.tables("expect"));
        self.expectations = expectations.iter().filter_map(Expectation::read).collect();
        if let Some(table) = source.heed(scan.table("people")) {
            People::read(&table, self);
            // Who meets conditions is to meet them in an order of its own; other orders are said.
            if scan.get("order").is_none() {
                self.order = Order::Williams;
            }
        }
        scan.finish();
    }

    /// A number for the file and how it is run: two that have the same run the same trials.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.text.as_bytes());
        hasher.update(&[u8::from(self.is_quick)]);
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The names of all factors.
    pub fn factors(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for assignment in self.sessions.iter().flat_map(|s| s.conditions.iter().flatten()) {
            if !names.contains(&assignment.name()) {
                names.push(assignment.name());
            }
        }
        names
    }

    /// Whether the file itself speaks of sessions or of kinds of trials as of a factor.
    pub(crate) fn speaks_of(&self, factor: &str) -> bool {
        let mut expected = self.expectations.iter();
        let is_expected = expected.any(|one| {
            let mut levels = one.only.iter().chain(&one.against);
            levels.any(|(name, _)| name == factor) || one.slope_over.as_deref() == Some(factor)
        });
        let mut drawn =
            self.figure.iter().flat_map(|figure| figure.over.iter().chain(&figure.series));
        is_expected || drawn.any(|name| name == factor)
    }

    /// Every program that the file has run.
    pub fn programs(&self) -> impl Iterator<Item = &[String]> {
        self.sessions.iter().flat_map(|session| session.programs.all())
    }
}

/// What the small version of an experiment has instead.
#[derive(Default)]
struct Quick {
    repetitions: Option<u32>,
    assignments: Vec<Assignment>,
    factors: Vec<Vec<Assignment>>,
    is_heeded: bool,
    /// All levels of the whole version.
    whole: RefCell<Vec<Assignment>>,
}

impl Quick {
    fn read(scan: &Scan<'_>, is_quick: bool) -> Self {
        let source = scan.source;
        let Some(scan) = source.heed(scan.table("quick")) else { return Self::default() };
        let settings = source.heed(scan.table("settings"));
        let factors = source.heed(scan.table("factors"));
        let quick = Self {
            repetitions: source.heed(scan.count("repetitions", 1, REPETITIONS_MAX)),
            assignments: settings.map(|one| one.assignments(&[], None)).unwrap_or_default(),
            factors: factors.map(|factors| factors.factors()).unwrap_or_default(),
            is_heeded: is_quick,
            whole: RefCell::default(),
        };
        scan.finish();
        let (repetitions, assignments) = (None, Vec::new());
        if is_quick { quick } else { Self { repetitions, assignments, ..quick } }
    }

    /// What it names is there: else the small version would be the whole one.
    fn check(&self, source: Source<'_>) {
        let whole = self.whole.borrow();
        for one in self.factors.iter().flatten() {
            let name = one.name();
            let levels: Vec<&Assignment> = whole.iter().filter(|l| l.name() == name).collect();
            if levels.is_empty() {
                let mut names: Vec<String> = whole.iter().map(Assignment::name).collect();
                names.dedup();
                let meant = meant(&name, names.iter().map(String::as_str));
                source.note(&one.at, format!("`{name}` is no factor here; {meant}"));
            } else if !levels.iter().any(|level| level.value == one.value) {
                let mut known: Vec<String> = Vec::new();
                for shown in levels.iter().map(|level| level.value.shown(level.row.kind)) {
                    if !known.contains(&shown) {
                        known.push(shown);
                    }
                }
                let (shown, known) = (one.value.shown(one.row.kind), known.join(", "));
                source.note(&one.at, format!("`{name}` has no level {shown}; it has {known}"));
            }
        }
    }

    /// Of these levels those that the small version has too; all, if it says nothing of them.
    fn some_of(&self, levels: Vec<Assignment>) -> Vec<Assignment> {
        self.whole.borrow_mut().extend(levels.iter().cloned());
        if !self.is_heeded {
            return levels;
        }
        let named = self.factors.iter().find(|some| some[0].name() == levels[0].name());
        let is_wanted = |level: &&Assignment| {
            named.is_some_and(|some| some.iter().any(|one| one.value == level.value))
        };
        let some: Vec<Assignment> = levels.iter().filter(is_wanted).cloned().collect();
        if some.is_empty() { levels } else { some }
    }
}

fn order(scan: &Scan<'_>) -> Result<Order, Wrong> {
    let names = || Order::NAMES.iter().map(|(name, _)| *name).collect();
    let named = scan.value("order", Kind::Choice(names))?.map(|(value, _)| value.to_string());
    let found = Order::NAMES.iter().find(|(name, _)| Some(*name) == named.as_deref());
    Ok(found.map_or(Order::AsWritten, |(_, order)| *order))
}

fn metric(scan: &Scan<'_>) -> Result<&'static Metric, Wrong> {
    let (name, at) = match scan.value("metric", Kind::Text)? {
        Some((value, at)) => (value.to_string(), at),
        None => return Err(scan.source.wrong(&scan.at, "which metric? metric = \"accuracy\"")),
    };
    metrics::find(&name).ok_or_else(|| {
        let meant = meant(&name, metrics::names());
        scan.source.wrong(&at, format!("there is no metric `{name}`; {meant}"))
    })
}

fn figure(scan: &Scan<'_>) -> Option<Figure> {
    let source = scan.source;
    let scan = source.heed(scan.table("figure"))?;
    let metric = source.heed(metric(&scan).map(Some));
    let [over, series] = ["over", "series"].map(|name| mentioned(&scan, name));
    scan.finish();
    Some(Figure { metric: metric?, over, series })
}

/// A factor by name.
fn mentioned(scan: &Scan<'_>, name: &'static str) -> Option<String> {
    let (value, at) = scan.source.heed(scan.value(name, Kind::Text))?;
    scan.source.found.borrow_mut().mentions.factors.push((value.to_string(), within_quotes(&at)));
    Some(value.to_string())
}

/// Where a text begins, behind its quote.
fn within_quotes(at: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    at.start + 1..at.end
}

fn sessions(scan: &Scan<'_>, quick: &Quick) -> Vec<Session> {
    let source = scan.source;
    let mut base = Layer::default();
    base.add(scan, quick);
    let mut sessions = Vec::new();
    for (index, session) in source.heed(scan.tables("session")).into_iter().enumerate() {
        let name = source.heed(session.text("name"));
        let name = name.unwrap_or_else(|| format!("session {}", index + 1));
        let mut layer = base.clone();
        layer.add(&session, quick);
        let repetitions = source.heed(session.count("repetitions", 1, REPETITIONS_MAX));
        let found = layer.session(name, trial_kinds(&session), &session);
        if sessions.iter().any(|known: &Session| known.name == found.name) {
            source.note(&session.at, format!("there are two sessions {:?}", found.name));
        }
        sessions.push(Session { repetitions, ..found });
        session.finish();
    }
    if sessions.is_empty() {
        sessions.push(base.session("main".to_owned(), trial_kinds(scan), scan));
    }
    sessions
}

fn trial_kinds(scan: &Scan<'_>) -> Vec<TrialKind> {
    let source = scan.source;
    let mut kinds = Vec::new();
    for (index, trial) in source.heed(scan.tables("trial")).into_iter().enumerate() {
        let name = source.heed(trial.text("name"));
        let name = name.unwrap_or_else(|| format!("trial {}", index + 1));
        let count = source.heed(trial.count("count", 1, REPETITIONS_MAX)).unwrap_or(1);
        let assignments = trial.assignments(&["name", "count"], None);
        if kinds.iter().any(|known: &TrialKind| known.name == name) {
            source.note(&trial.at, format!("there are two trials {name:?}"));
        }
        kinds.push(TrialKind { name, count, assignments });
    }
    if kinds.is_empty() {
        kinds.push(TrialKind { name: "trial".to_owned(), count: 1, assignments: Vec::new() });
    }
    kinds
}

/// What experiment and session say of settings and conditions.
#[derive(Clone, Default)]
struct Layer {
    assignments: Vec<Assignment>,
    changes: Vec<Change>,
    factors: Vec<Vec<Assignment>>,
    list: Vec<Vec<Assignment>>,
    programs: Programs,
}

impl Layer {
    fn add(&mut self, scan: &Scan<'_>, quick: &Quick) {
        let source = scan.source;
        if let Some(programs) = source.heed(scan.table("programs")) {
            self.programs.read(&programs);
        }
        if let Some(settings) = source.heed(scan.table("settings")) {
            self.assignments.extend(settings.assignments(&["change"], None));
            self.changes.extend(settings.changes());
            self.changes.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
        }
        self.assignments.extend(quick.assignments.iter().cloned());
        if let Some(factors) = source.heed(scan.table("factors")) {
            for levels in factors.factors() {
                self.factors.retain(|known| known[0].name() != levels[0].name());
                self.factors.push(quick.some_of(levels));
            }
        }
        for condition in source.heed(scan.tables("condition")) {
            self.list.push(condition.assignments(&[], None));
        }
    }

    /// Every level of each factor with every level of the others, in each condition of the list.
    fn session(&self, name: String, trials: Vec<TrialKind>, scan: &Scan<'_>) -> Session {
        for said in trials.iter().flat_map(|kind| &kind.assignments) {
            let mut levels = self.factors.iter().chain(&self.list).flatten();
            if levels.any(|level| level.name() == said.name()) {
                let what = format!("`{}` is a factor, which holds in every trial", said.name());
                scan.source.note(&said.at, what);
            }
        }
        let mut conditions =
            if self.list.is_empty() { vec![Vec::new()] } else { self.list.clone() };
        for levels in &self.factors {
            let count = conditions.len().saturating_mul(levels.len());
            if count > CONDITIONS_MAX {
                let what = format!("more than {CONDITIONS_MAX} conditions: leave out some levels");
                scan.source.note(&levels[0].at, what);
                break;
            }
            let with = |condition: &Vec<Assignment>, level: &Assignment| {
                let mut condition = condition.clone();
                condition.push(level.clone());
                condition
            };
            conditions = conditions
                .iter()
                .flat_map(|condition| levels.iter().map(move |level| with(condition, level)))
                .collect();
        }
        let (assignments, changes) = (self.assignments.clone(), self.changes.clone());
        let (repetitions, programs) = (None, self.programs.clone());
        Session { name, assignments, changes, repetitions, conditions, trials, programs }
    }
}

impl Expectation {
    /// None if it cannot be: then what is wrong is taken down.
    fn read(scan: &Scan<'_>) -> Option<Self> {
        let source = scan.source;
        let metric = source.heed(metric(scan).map(Some));
        let only = levels(scan, "where");
        let against = levels(scan, "against");
        let slope_over = mentioned(scan, "slope_over");
        let rule = rule(scan);
        let name = source.heed(scan.text("name"));
        let unmet = source.heed(scan.text("unmet"));
        scan.finish();
        let (metric, rule) = (metric?, rule?);
        let name = name.unwrap_or_else(|| metric.name.to_owned());
        Some(Self { name, metric, only, slope_over, against, rule, unmet })
    }
}

/// Levels of factors by their names; sessions and kinds of trials are such factors too.
fn levels(scan: &Scan<'_>, name: &'static str) -> Vec<(String, Value)> {
    let Some(table) = scan.source.heed(scan.table(name)) else { return Vec::new() };
    let mut found = Vec::new();
    for factor in checks::PARTS {
        if let Some((value, at)) = scan.source.heed(table.value(factor, Kind::Text)) {
            scan.source.found.borrow_mut().mentions.factors.push((factor.to_owned(), at.clone()));
            scan.source.found.borrow_mut().mentions.levels.push((
                factor.to_owned(),
                value.clone(),
                value.to_string(),
                at,
            ));
            found.push((factor.to_owned(), value));
        }
    }
    for one in table.assignments(&checks::PARTS, None) {
        scan.source.found.borrow_mut().mentions.factors.push((one.name(), one.at.clone()));
        let shown = one.value.shown(one.row.kind);
        scan.source.found.borrow_mut().mentions.levels.push((
            one.name(),
            one.value.clone(),
            shown,
            one.at.clone(),
        ));
        found.push((one.name(), one.value));
    }
    found
}

fn rule(scan: &Scan<'_>) -> Option<Rule> {
    let source = scan.source;
    let before = source.count();
    let [equals, least, most] = ["equals", "at_least", "at_most"].map(|name| formula(scan, name));
    let within = tolerance(scan);
    let cells = source.heed(cells(scan));
    match (equals, cells, least, most, within) {
        (Some(formula), None, None, None, Some(within)) => Some(Rule::Equals(formula, within)),
        (None, Some(cells), None, None, Some(within)) => Some(Rule::Table(Box::new(cells), within)),
        (None, None, least, most, None) if least.is_some() || most.is_some() => {
            Some(Rule::Between(least, most))
        }
        _ if source.count() > before => None,
        _ => {
            let what = "an expectation says `equals` or `table` with `within`, or `at_least` and `at_most`";
            source.note(&scan.at, what);
            None
        }
    }
}

fn formula(scan: &Scan<'_>, name: &'static str) -> Option<Formula> {
    let found = scan.get(name)?;
    let formula = match (found.get_ref(), number(found.get_ref())) {
        (_, Some(number)) => Ok(Formula::from(number)),
        (DeValue::String(text), _) => Formula::read(text),
        _ => Err(format!("`{name}` is a number or a formula in quotes")),
    };
    let formula = formula.map_err(|what| scan.source.wrong(&found.span(), what));
    let formula = scan.source.heed(formula.map(Some))?;
    let at = within_quotes(&found.span());
    let text = scan.source.text.get(at.clone()).unwrap_or_default();
    for name in formula.names() {
        let start = at.start + text.find(name).unwrap_or(0);
        scan.source.found.borrow_mut().mentions.settings.push((name.to_owned(), start..at.end));
    }
    Some(formula)
}

fn tolerance(scan: &Scan<'_>) -> Option<Tolerance> {
    let is_share = match scan.get("within").map(|found| found.get_ref()) {
        Some(DeValue::String(text)) => text.trim_end().ends_with('%'),
        _ => false,
    };
    if is_share {
        let share = scan.source.heed(scan.value("within", Kind::Share));
        return share.and_then(|(value, _)| value.number()).map(Tolerance::Percent);
    }
    formula(scan, "within").map(Tolerance::Absolute)
}

fn cells(scan: &Scan<'_>) -> Result<Option<Cells>, Wrong> {
    let Some(table) = scan.get("table") else { return Ok(None) };
    let cells = rows_of_numbers(scan.source, table)?;
    let axis = |name: &'static str, levels: &'static str| {
        let odd = || {
            let what = format!("a table names its `{name}` and their levels, `{levels}`");
            scan.source.wrong(&table.span(), what)
        };
        let factor = mentioned(scan, name).ok_or_else(odd)?;
        let list = scan.get(levels).ok_or_else(odd)?;
        let DeValue::Array(list) = list.get_ref() else { return Err(odd()) };
        let mut levels = Vec::new();
        for one in list {
            let level = number(one.get_ref()).ok_or_else(odd)?;
            let mention = (factor.clone(), level, one.span());
            scan.source.found.borrow_mut().mentions.cells.push(mention);
            levels.push(level);
        }
        Ok((factor, levels))
    };
    let (rows, columns) = (axis("rows", "row_levels")?, axis("columns", "column_levels")?);
    let fits = cells.len() == rows.1.len() && cells.iter().all(|c| c.len() == columns.1.len());
    if !fits {
        let what = "the table has another size than its levels";
        return Err(scan.source.wrong(&table.span(), what));
    }
    Ok(Some(Cells { rows, columns, cells }))
}
