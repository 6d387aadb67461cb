//! An experiment as its file has it: the question, sessions, trials, factors, and what is expected.

use crate::formula::Formula;
use crate::metrics::{self, METRICS, Metric};
use crate::people::People;
use crate::programs::Programs;
use crate::scan::{Scan, Source, rows_of_numbers};
use crate::settings::{self, Assignment, Change};
use crate::square::Order;
use crate::value::{Kind, Value, number};
use crate::wrong::{Wrong, meant};
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
    /// Reads a file's text; paths in it begin in `folder`. With `is_quick` its `[quick]` part is heeded.
    pub fn read(text: &str, folder: &Path, is_quick: bool) -> Result<Self, Wrong> {
        let source = Source { text, folder };
        let table = DeTable::parse(text).map_err(|error| {
            source.wrong(&error.span().unwrap_or(0..0), error.message().replace('\n', ", "))
        })?;
        let scan = Scan::new(source, table.get_ref(), 0..0);
        let question = scan.text("question")?.filter(|question| !question.trim().is_empty());
        let question = question.ok_or_else(|| {
            source.wrong(&(0..0), "an experiment asks something: question = \"...\"")
        })?;
        let title = scan.text("title")?.unwrap_or_else(|| "Experiment".to_owned());
        let seed = u64::from(scan.count("seed", 0, u32::MAX)?.unwrap_or(1));
        let mut experiment = Self {
            title,
            question,
            seed,
            participants: scan.count("participants", 1, REPETITIONS_MAX)?.unwrap_or(1),
            repetitions: scan.count("repetitions", 1, REPETITIONS_MAX)?.unwrap_or(1),
            practice: scan.count("practice", 0, 1_000)?.unwrap_or(0),
            order: order(&scan)?,
            sessions: Vec::new(),
            expectations: Vec::new(),
            figure: figure(&scan)?,
            people: None,
            is_quick,
            text: text.to_owned(),
            folder: folder.to_owned(),
            file: "experiment.toml".to_owned(),
        };
        let quick = Quick::read(&scan, is_quick)?;
        experiment.repetitions = quick.repetitions.unwrap_or(experiment.repetitions);
        experiment.sessions = sessions(&scan, &quick)?;
        for expectation in scan.tables("expect")? {
            experiment.expectations.push(Expectation::read(&expectation)?);
        }
        if let Some(table) = scan.table("people")? {
            People::read(&table, &mut experiment)?;
        }
        scan.finish()?;
        experiment.check_names(source)?;
        experiment.check_formulas(source)?;
        experiment.check_levels(source)?;
        experiment.check_players(source)?;
        Ok(experiment)
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

    /// Every program that the file has run.
    pub fn programs(&self) -> impl Iterator<Item = &[String]> {
        self.sessions.iter().flat_map(|session| session.programs.all())
    }

    /// What is expected or drawn speaks of factors that there are.
    fn check_names(&self, source: Source<'_>) -> Result<(), Wrong> {
        let factors = self.factors();
        let mut named: Vec<&String> = Vec::new();
        for expectation in &self.expectations {
            named.extend(expectation.only.iter().map(|(name, _)| name));
            named.extend(expectation.against.iter().map(|(name, _)| name));
            named.extend(&expectation.slope_over);
            if let Rule::Table(cells, _) = &expectation.rule {
                named.extend([&cells.rows.0, &cells.columns.0]);
            }
        }
        if let Some(figure) = &self.figure {
            named.extend(figure.over.iter().chain(&figure.series));
        }
        match named.into_iter().find(|name| !factors.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let at = source.text.rfind(name.as_str()).unwrap_or(0);
                let meant = meant(name, factors.iter().map(String::as_str));
                Err(source.wrong(&(at..at), format!("`{name}` is no factor here; {meant}")))
            }
        }
    }
}

impl Experiment {
    /// Formulas speak of settings that there are.
    fn check_formulas(&self, source: Source<'_>) -> Result<(), Wrong> {
        let formulas = self.expectations.iter().flat_map(|expectation| {
            let (rule, within) = match &expectation.rule {
                Rule::Equals(formula, within) => (vec![formula], Some(within)),
                Rule::Between(least, most) => (least.iter().chain(most).collect(), None),
                Rule::Table(_, within) => (Vec::new(), Some(within)),
            };
            let within = within.and_then(|within| match within {
                Tolerance::Absolute(formula) => Some(formula),
                Tolerance::Percent(_) => None,
            });
            rule.into_iter().chain(within)
        });
        let mut names = formulas.flat_map(Formula::names);
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        match names.find(|name| settings::find(&last(name)).is_none()) {
            None => Ok(()),
            Some(name) => {
                let at = source.text.rfind(name).unwrap_or(0);
                let meant = meant(&last(name), settings::SETTINGS.iter().map(|row| row.name));
                Err(source.wrong(&(at..at), format!("`{name}` is no setting; {meant}")))
            }
        }
    }

    /// What is expected speaks of levels that there are. The small version has fewer.
    fn check_levels(&self, source: Source<'_>) -> Result<(), Wrong> {
        let said = |expectation: &'_ Expectation| {
            expectation.only.iter().chain(&expectation.against).cloned().collect::<Vec<_>>()
        };
        let all = self.sessions.iter().flat_map(|session| session.conditions.iter().flatten());
        let levels: Vec<&Assignment> = all.collect();
        let is_there = |(name, value): &(String, Value)| {
            levels.iter().any(|level| level.name() == *name && level.value == *value)
        };
        let mut said = self.expectations.iter().flat_map(said);
        match said.find(|one| !self.is_quick && !is_there(one)) {
            None => Ok(()),
            Some((name, value)) => {
                let at = source.text.rfind("where").or(source.text.rfind("against")).unwrap_or(0);
                let mut known: Vec<String> = Vec::new();
                for level in levels.iter().filter(|level| level.name() == name) {
                    let shown = level.value.shown(level.row.kind);
                    if !known.contains(&shown) {
                        known.push(shown);
                    }
                }
                let what = format!("`{name}` has no level {value}; it has {}", known.join(", "));
                Err(source.wrong(&(at..at), what))
            }
        }
    }

    /// Nothing is said of a player beyond those who play.
    fn check_players(&self, source: Source<'_>) -> Result<(), Wrong> {
        for session in &self.sessions {
            let trials = session.trials.iter().flat_map(|trial| &trial.assignments);
            let levels = session.conditions.iter().flatten();
            let all: Vec<&Assignment> =
                session.assignments.iter().chain(levels).chain(trials).collect();
            let said = all.iter().filter(|one| one.row.name == "players");
            let players = said.filter_map(|one| one.value.number()).fold(0.0, f64::max);
            let players = if players > 0.0 { players as u32 } else { PLAYERS_USUAL };
            let beyond = all.iter().find(|one| one.player.is_some_and(|one| one > players));
            if let Some(one) = beyond {
                let what = format!("`{}` is of nobody: {players} play", one.name());
                return Err(source.wrong(&one.at, what));
            }
        }
        Ok(())
    }
}

/// How many play if nothing is said.
const PLAYERS_USUAL: u32 = 2;

/// What the small version of an experiment has instead.
#[derive(Default)]
struct Quick {
    repetitions: Option<u32>,
    assignments: Vec<Assignment>,
    factors: Vec<Vec<Assignment>>,
}

impl Quick {
    fn read(scan: &Scan<'_>, is_quick: bool) -> Result<Self, Wrong> {
        let Some(scan) = scan.table("quick")? else { return Ok(Self::default()) };
        let quick = Self {
            repetitions: scan.count("repetitions", 1, REPETITIONS_MAX)?,
            assignments: match scan.table("settings")? {
                Some(settings) => settings.assignments(&[], None)?,
                None => Vec::new(),
            },
            factors: match scan.table("factors")? {
                Some(factors) => factors.factors()?,
                None => Vec::new(),
            },
        };
        scan.finish()?;
        Ok(if is_quick { quick } else { Self::default() })
    }

    /// Of these levels those that the small version has too; all, if it says nothing of them.
    fn some_of(&self, levels: Vec<Assignment>) -> Vec<Assignment> {
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
        let meant = meant(&name, METRICS.iter().map(|metric| metric.name));
        scan.source.wrong(&at, format!("there is no metric `{name}`; {meant}"))
    })
}

fn figure(scan: &Scan<'_>) -> Result<Option<Figure>, Wrong> {
    let Some(scan) = scan.table("figure")? else { return Ok(None) };
    let figure =
        Figure { metric: metric(&scan)?, over: scan.text("over")?, series: scan.text("series")? };
    scan.finish()?;
    Ok(Some(figure))
}

fn sessions(scan: &Scan<'_>, quick: &Quick) -> Result<Vec<Session>, Wrong> {
    let mut base = Layer::default();
    base.add(scan, quick)?;
    let mut sessions = Vec::new();
    for (index, session) in scan.tables("session")?.into_iter().enumerate() {
        let name = session.text("name")?.unwrap_or_else(|| format!("session {}", index + 1));
        let mut layer = base.clone();
        layer.add(&session, quick)?;
        let repetitions = session.count("repetitions", 1, REPETITIONS_MAX)?;
        let found = layer.session(name, trial_kinds(&session)?, &session)?;
        sessions.push(Session { repetitions, ..found });
        session.finish()?;
    }
    if sessions.is_empty() {
        sessions.push(base.session("main".to_owned(), trial_kinds(scan)?, scan)?);
    }
    Ok(sessions)
}

fn trial_kinds(scan: &Scan<'_>) -> Result<Vec<TrialKind>, Wrong> {
    let mut kinds = Vec::new();
    for (index, trial) in scan.tables("trial")?.into_iter().enumerate() {
        let name = trial.text("name")?.unwrap_or_else(|| format!("trial {}", index + 1));
        let count = trial.count("count", 1, REPETITIONS_MAX)?.unwrap_or(1);
        let assignments = trial.assignments(&["name", "count"], None)?;
        kinds.push(TrialKind { name, count, assignments });
    }
    if kinds.is_empty() {
        kinds.push(TrialKind { name: "trial".to_owned(), count: 1, assignments: Vec::new() });
    }
    Ok(kinds)
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
    fn add(&mut self, scan: &Scan<'_>, quick: &Quick) -> Result<(), Wrong> {
        if let Some(programs) = scan.table("programs")? {
            self.programs.read(&programs)?;
        }
        if let Some(settings) = scan.table("settings")? {
            self.assignments.extend(settings.assignments(&["change"], None)?);
            self.changes.extend(settings.changes()?);
        }
        self.assignments.extend(quick.assignments.iter().cloned());
        if let Some(factors) = scan.table("factors")? {
            for levels in factors.factors()? {
                self.factors.retain(|known| known[0].name() != levels[0].name());
                self.factors.push(quick.some_of(levels));
            }
        }
        for condition in scan.tables("condition")? {
            self.list.push(condition.assignments(&[], None)?);
        }
        Ok(())
    }

    /// Every level of each factor with every level of the others, in each condition of the list.
    fn session(
        &self,
        name: String,
        trials: Vec<TrialKind>,
        scan: &Scan<'_>,
    ) -> Result<Session, Wrong> {
        let mut conditions =
            if self.list.is_empty() { vec![Vec::new()] } else { self.list.clone() };
        for levels in &self.factors {
            let count = conditions.len().saturating_mul(levels.len());
            if count > CONDITIONS_MAX {
                let what = format!("more than {CONDITIONS_MAX} conditions: leave out some levels");
                return Err(scan.source.wrong(&levels[0].at, what));
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
        Ok(Session { name, assignments, changes, repetitions, conditions, trials, programs })
    }
}

impl Expectation {
    fn read(scan: &Scan<'_>) -> Result<Self, Wrong> {
        let metric = metric(scan)?;
        let named = |name| -> Result<Vec<(String, Value)>, Wrong> {
            let Some(table) = scan.table(name)? else { return Ok(Vec::new()) };
            let assignments = table.assignments(&[], None)?;
            Ok(assignments.into_iter().map(|one| (one.name(), one.value)).collect())
        };
        let expectation = Self {
            name: scan.text("name")?.unwrap_or_else(|| metric.name.to_owned()),
            metric,
            only: named("where")?,
            slope_over: scan.text("slope_over")?,
            against: named("against")?,
            rule: rule(scan)?,
            unmet: scan.text("unmet")?,
        };
        scan.finish()?;
        Ok(expectation)
    }
}

fn rule(scan: &Scan<'_>) -> Result<Rule, Wrong> {
    let (equals, least, most) =
        (formula(scan, "equals")?, formula(scan, "at_least")?, formula(scan, "at_most")?);
    let within = tolerance(scan)?;
    let cells = cells(scan)?;
    match (equals, cells, least, most, within) {
        (Some(formula), None, None, None, Some(within)) => Ok(Rule::Equals(formula, within)),
        (None, Some(cells), None, None, Some(within)) => Ok(Rule::Table(Box::new(cells), within)),
        (None, None, least, most, None) if least.is_some() || most.is_some() => {
            Ok(Rule::Between(least, most))
        }
        _ => {
            let what = "an expectation says `equals` or `table` with `within`, or `at_least` and `at_most`";
            Err(scan.source.wrong(&scan.at, what))
        }
    }
}

fn formula(scan: &Scan<'_>, name: &'static str) -> Result<Option<Formula>, Wrong> {
    let Some(found) = scan.get(name) else { return Ok(None) };
    let formula = match (found.get_ref(), number(found.get_ref())) {
        (_, Some(number)) => Ok(Formula::from(number)),
        (DeValue::String(text), _) => Formula::read(text),
        _ => Err(format!("`{name}` is a number or a formula in quotes")),
    };
    formula.map(Some).map_err(|what| scan.source.wrong(&found.span(), what))
}

fn tolerance(scan: &Scan<'_>) -> Result<Option<Tolerance>, Wrong> {
    let is_share = match scan.get("within").map(|found| found.get_ref()) {
        Some(DeValue::String(text)) => text.trim_end().ends_with('%'),
        _ => false,
    };
    if is_share {
        let share = scan.value("within", Kind::Share)?.and_then(|(value, _)| value.number());
        return Ok(share.map(Tolerance::Percent));
    }
    Ok(formula(scan, "within")?.map(Tolerance::Absolute))
}

fn cells(scan: &Scan<'_>) -> Result<Option<Cells>, Wrong> {
    let Some(table) = scan.get("table") else { return Ok(None) };
    let cells = rows_of_numbers(scan.source, table)?;
    let axis = |name: &'static str, levels: &'static str| {
        let odd = || {
            let what = format!("a table names its `{name}` and their levels, `{levels}`");
            scan.source.wrong(&table.span(), what)
        };
        let factor = scan.text(name)?.ok_or_else(odd)?;
        let list = scan.get(levels).ok_or_else(odd)?;
        let DeValue::Array(list) = list.get_ref() else { return Err(odd()) };
        let levels: Option<Vec<f64>> = list.iter().map(|one| number(one.get_ref())).collect();
        Ok((factor, levels.ok_or_else(odd)?))
    };
    let (rows, columns) = (axis("rows", "row_levels")?, axis("columns", "column_levels")?);
    let fits = cells.len() == rows.1.len() && cells.iter().all(|c| c.len() == columns.1.len());
    if !fits {
        let what = "the table has another size than its levels";
        return Err(scan.source.wrong(&table.span(), what));
    }
    Ok(Some(Cells { rows, columns, cells }))
}
