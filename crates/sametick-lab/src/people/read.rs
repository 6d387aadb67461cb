//! Reads the `[people]` table of a file, and changes that an experimenter makes.

use super::study::Study;
use super::table::{
    Comparison, Correct, Design, Exclusion, GROUP_MAX, Intervals, OPTIONS_MAX, People,
    QUESTIONS_MAX, Question, QuestionKind, Staircase, When,
};
use crate::experiment::Experiment;
use crate::metrics;
use crate::plan::impossible;
use crate::scan::Scan;
use crate::settings::{self, Assignment, Row, SETTINGS, Scope};
use crate::value::{Kind, Value};
use crate::wrong::{Wrong, meant};
use sametick::Model;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest text that participants are shown.
const TEXT_CHARACTERS_MAX: usize = 20_000;
/// The most rules of exclusion.
const EXCLUSIONS_MAX: usize = 100;
const TOLERANCE_MS: f64 = 10.0;
const TOLERANCE_LOSS: f64 = 2.0;
const FRAME_TOLERANCE_MS: f64 = 25.0;
const BREAK_MS: f64 = 30_000.0;
const THANKS: &str = "That was all, and everything was saved.";
const TIME: Kind = Kind::Time { at_most: 3_600_000.0 };
/// Figures of pages and lines that rules of exclusion may name, besides metrics.
pub(crate) const FIGURES: [(&str, &str); 9] = [
    ("frame_ms", "mean time of a frame"),
    ("frame_ms_95", "95th percentile of frame times, the mean over seconds"),
    ("frames", "frames a second"),
    ("hidden_ms", "how long the page was hidden"),
    ("unfocused", "seconds without the focus"),
    ("ping_ms", "achieved round trip"),
    ("loss_share", "achieved loss, in per cent"),
    ("inputs", "inputs a second"),
    ("flags", "how many flags the trial has"),
];

impl People {
    /// Reads the table into an experiment whose sessions are read already.
    pub(crate) fn read(scan: &Scan<'_>, experiment: &mut Experiment) -> Result<(), Wrong> {
        let group = scan.count("group", 1, GROUP_MAX)?.unwrap_or(1);
        if !experiment.participants.is_multiple_of(group) {
            let at = scan.get("group").map_or(scan.at.clone(), Spanned::span);
            let what =
                format!("{} participants do not make groups of {group}", experiment.participants);
            return Err(scan.source.wrong(&at, what));
        }
        let time = |name, otherwise: f64| -> Result<f64, Wrong> {
            let said = scan.value(name, TIME)?.and_then(|(value, _)| value.number());
            Ok(said.unwrap_or(otherwise))
        };
        let tolerance_loss = scan.value("tolerance_loss", Kind::Share)?;
        let consent = said_text(scan, "consent")?.ok_or_else(|| {
            let what = "people agree before they play: consent = \"\"\"...\"\"\"";
            scan.source.wrong(&scan.at, what)
        })?;
        let people = Self {
            group,
            roles: roles(scan, group)?,
            swap: flag(scan, "swap", false)?,
            design: match choice(scan, "design", &DESIGNS)? {
                Some(design) => design,
                None => Design::Within,
            },
            consent,
            thanks: said_text(scan, "thanks")?.unwrap_or_else(|| THANKS.to_owned()),
            tolerance_ms: time("tolerance", TOLERANCE_MS)?,
            tolerance_loss: tolerance_loss
                .and_then(|(value, _)| value.number())
                .unwrap_or(TOLERANCE_LOSS),
            frame_tolerance_ms: time("frame_tolerance", FRAME_TOLERANCE_MS)?,
            break_every: scan.count("break_every", 1, 100_000)?,
            break_ms: time("break_length", BREAK_MS)? as u64,
            foreperiod_ms: foreperiod(scan)?,
            questions: questions(scan)?,
            intervals: intervals(scan, experiment)?,
            staircase: None,
            exclusions: exclusions(scan)?,
        };
        let staircase = staircase(scan, experiment, &people)?;
        let people = Self { staircase, ..people };
        people.check(scan, experiment)?;
        scan.finish();
        experiment.participants /= group;
        experiment.people = Some(people);
        Ok(())
    }

    /// What does not go together.
    fn check(&self, scan: &Scan<'_>, experiment: &Experiment) -> Result<(), Wrong> {
        let at = |name| scan.get(name).map_or(scan.at.clone(), Spanned::span);
        if self.swap && self.roles.is_empty() {
            let what = "`swap` changes roles: roles = [\"peeker\", \"holder\"]";
            return Err(scan.source.wrong(&at("swap"), what));
        }
        if self.break_every.is_none() && scan.get("break_length").is_some() {
            let what = "how often? break_every = 6";
            return Err(scan.source.wrong(&at("break_length"), what));
        }
        if let Some(intervals) = &self.intervals {
            let name = intervals.standard.name();
            let is_stairs = self.staircase.as_ref().is_some_and(|one| one.setting.name() == name);
            if !is_stairs && !experiment.factors().contains(&name) {
                let what = format!(
                    "`{name}` is the same in both rounds: make it a factor, or the setting of a staircase"
                );
                return Err(scan.source.wrong(&at("intervals"), what));
            }
        }
        Ok(())
    }
}

const DESIGNS: [(&str, Design); 2] = [("within", Design::Within), ("between", Design::Between)];

fn flag(scan: &Scan<'_>, name: &'static str, otherwise: bool) -> Result<bool, Wrong> {
    let said = scan.value(name, Kind::Flag)?;
    Ok(said.map_or(otherwise, |(value, _)| value == Value::Flag(true)))
}

/// One of some names, if the key is there.
fn choice<T: Copy>(
    scan: &Scan<'_>,
    name: &'static str,
    known: &[(&'static str, T)],
) -> Result<Option<T>, Wrong> {
    let Some((value, at)) = scan.value(name, Kind::Text)? else { return Ok(None) };
    let said = value.to_string();
    match known.iter().find(|(known, _)| *known == said) {
        Some((_, one)) => Ok(Some(*one)),
        None => {
            let meant = meant(&said, known.iter().map(|(name, _)| *name));
            Err(scan.source.wrong(&at, format!("`{name}` cannot be `{said}`: {meant}")))
        }
    }
}

/// A text that participants are shown: some, and not a book.
fn said_text(scan: &Scan<'_>, name: &'static str) -> Result<Option<String>, Wrong> {
    let Some((value, at)) = scan.value(name, Kind::Text)? else { return Ok(None) };
    let text = value.to_string().trim().to_owned();
    match text.chars().count() {
        0 => Err(scan.source.wrong(&at, format!("`{name}` is empty"))),
        1..=TEXT_CHARACTERS_MAX => Ok(Some(text)),
        _ => {
            let what = format!("`{name}` has more than {TEXT_CHARACTERS_MAX} characters");
            Err(scan.source.wrong(&at, what))
        }
    }
}

/// Some texts, and where they stand.
type Texts = (Vec<String>, Range<usize>);

/// A list of texts, no two the same.
fn texts(scan: &Scan<'_>, name: &'static str) -> Result<Option<Texts>, Wrong> {
    let Some(found) = scan.get(name) else { return Ok(None) };
    let odd = |at: &Range<usize>| {
        scan.source.wrong(at, format!("`{name}` is a list of texts: [\"one\", \"another\"]"))
    };
    let DeValue::Array(items) = found.get_ref() else { return Err(odd(&found.span())) };
    let mut texts: Vec<String> = Vec::new();
    for item in items {
        let text = match item.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => text.to_string(),
            _ => return Err(odd(&item.span())),
        };
        if texts.contains(&text) {
            return Err(scan.source.wrong(&item.span(), format!("`{name}` has this twice")));
        }
        texts.push(text);
    }
    if !(1..=OPTIONS_MAX).contains(&texts.len()) {
        let what = format!("`{name}` has 1 to {OPTIONS_MAX} texts");
        return Err(scan.source.wrong(&found.span(), what));
    }
    Ok(Some((texts, found.span())))
}

fn roles(scan: &Scan<'_>, group: u32) -> Result<Vec<String>, Wrong> {
    match texts(scan, "roles")? {
        None => Ok(Vec::new()),
        Some((roles, _)) if roles.len() == group as usize => Ok(roles),
        Some((roles, at)) => {
            let what = format!("{} roles for groups of {group}: one for each", roles.len());
            Err(scan.source.wrong(&at, what))
        }
    }
}

fn foreperiod(scan: &Scan<'_>) -> Result<Option<(f64, f64)>, Wrong> {
    let Some(found) = scan.get("foreperiod") else { return Ok(None) };
    let odd = |what: String| scan.source.wrong(&found.span(), what);
    let usual = || odd("`foreperiod` is two times: [\"1 s\", \"3 s\"]".to_owned());
    let DeValue::Array(items) = found.get_ref() else { return Err(usual()) };
    let mut times = Vec::new();
    for item in items {
        let read = TIME.read("foreperiod", item.get_ref());
        let read = read.map_err(|what| scan.source.wrong(&item.span(), what))?;
        times.extend(read.number());
    }
    match times[..] {
        [least, most] if least <= most => Ok(Some((least, most))),
        [_, _] => Err(odd("`foreperiod` begins with the shorter time".to_owned())),
        _ => Err(usual()),
    }
}

fn questions(scan: &Scan<'_>) -> Result<Vec<Question>, Wrong> {
    let mut questions = Vec::new();
    for scan in scan.tables("question")? {
        let wrong = |what: &str| scan.source.wrong(&scan.at, what);
        let ask = said_text(&scan, "ask")?;
        let ask = ask.ok_or_else(|| wrong("a question asks: ask = \"How fair was that?\""))?;
        let kind = choice(&scan, "kind", &QuestionKind::NAMES)?;
        let kind = kind.ok_or_else(|| wrong("which kind? kind = \"rating\""))?;
        let options = texts(&scan, "options")?.map_or(Vec::new(), |(options, _)| options);
        match kind {
            QuestionKind::Text if !options.is_empty() => {
                return Err(wrong("a text has no options"));
            }
            QuestionKind::Text => {}
            _ if options.len() < 2 => {
                return Err(wrong("what can be chosen? options = [\"yes\", \"no\"]"));
            }
            QuestionKind::Rating
                if options.iter().any(|one| one.trim().parse::<f64>().is_err()) =>
            {
                return Err(wrong("a rating is numbers: options = [\"1\", \"2\", \"3\"]"));
            }
            _ => {}
        }
        let question = Question {
            ask,
            kind,
            after: choice(&scan, "after", &When::NAMES)?.unwrap_or(When::Trial),
            options,
            randomised: flag(&scan, "randomised", false)?,
            required: flag(&scan, "required", true)?,
        };
        if question.randomised && matches!(kind, QuestionKind::Rating | QuestionKind::Text) {
            return Err(wrong("only options to choose from are put in an order by chance"));
        }
        scan.finish();
        if questions.len() == QUESTIONS_MAX {
            return Err(wrong(&format!("more than {QUESTIONS_MAX} questions")));
        }
        questions.push(question);
    }
    Ok(questions)
}

/// A setting's name: `ping`, or `player.2.ping`.
fn named(name: &str) -> Result<(&'static Row, Option<u32>), String> {
    let (player, plain) = match name.strip_prefix("player.").and_then(|rest| rest.split_once('.')) {
        Some((number, plain)) => {
            let number = number.parse().ok().filter(|number| *number > 0);
            (Some(number.ok_or_else(|| format!("`{name}` is of nobody"))?), plain)
        }
        None => (None, name),
    };
    match settings::find(plain) {
        Some(row) if player.is_some() && row.scope == Scope::Trial => {
            Err(format!("`{plain}` is of the whole trial, not of one player"))
        }
        Some(row) => Ok((row, player)),
        None => {
            let meant = meant(plain, SETTINGS.iter().map(|row| row.name));
            Err(format!("there is no setting `{plain}`; {meant}"))
        }
    }
}

/// The setting that a table names, with the value that one of its keys has.
fn setting(
    scan: &Scan<'_>,
    value: &'static str,
    experiment: &Experiment,
) -> Result<Assignment, Wrong> {
    let Some((name, at)) = scan.value("setting", Kind::Text)? else {
        return Err(scan.source.wrong(&scan.at, "which setting? setting = \"ping\""));
    };
    let (row, player) = named(&name.to_string()).map_err(|what| scan.source.wrong(&at, what))?;
    let Some((value, at)) = scan.value(value, row.kind)? else {
        let what = format!("`{value}` is missing: {}", row.kind.words());
        return Err(scan.source.wrong(&scan.at, what));
    };
    if ["play", "players", "map", "trace"].contains(&row.name) {
        let what = format!("`{}` is the same in all rounds", row.name);
        return Err(scan.source.wrong(&at, what));
    }
    let assignment = Assignment { row, player, value, at };
    let said = experiment.sessions.iter().flat_map(|session| &session.changes);
    if said.flat_map(|change| &change.assignments).any(|one| one.name() == assignment.name()) {
        let what = format!("`{}` changes during trials already", assignment.name());
        return Err(scan.source.wrong(&assignment.at, what));
    }
    Ok(assignment)
}

fn intervals(scan: &Scan<'_>, experiment: &Experiment) -> Result<Option<Intervals>, Wrong> {
    let Some(scan) = scan.table("intervals")? else { return Ok(None) };
    let standard = setting(&scan, "standard", experiment)?;
    let ask = said_text(&scan, "ask")?.ok_or_else(|| {
        scan.source.wrong(&scan.at, "what is asked? ask = \"Which of the two felt slower?\"")
    })?;
    scan.finish();
    Ok(Some(Intervals { standard, ask }))
}

fn staircase(
    scan: &Scan<'_>,
    experiment: &Experiment,
    people: &People,
) -> Result<Option<Staircase>, Wrong> {
    let Some(scan) = scan.table("staircase")? else { return Ok(None) };
    let setting = setting(&scan, "start", experiment)?;
    let wrong = |what: String| scan.source.wrong(&scan.at, what);
    let kind = setting.row.kind;
    let Some(start) = setting.value.number() else {
        return Err(wrong(format!("`{}` is no number: it has no steps", setting.name())));
    };
    if experiment.factors().contains(&setting.name()) {
        return Err(wrong(format!("`{}` is a factor: it cannot be both", setting.name())));
    }
    let number = |name: &'static str| -> Result<f64, Wrong> {
        let said = scan.value(name, kind)?.and_then(|(value, _)| value.number());
        said.ok_or_else(|| wrong(format!("`{name}` is missing: {}", kind.words())))
    };
    let (step, least, most) = (number("step")?, number("least")?, number("most")?);
    if step <= 0.0 || least >= most || !(least..=most).contains(&start) {
        let what = "a staircase goes from `least` to `most`, begins between them and takes steps";
        return Err(wrong(what.to_owned()));
    }
    let correct = correct(&scan, people)?;
    if matches!(correct, Correct::Metric(..)) && people.intervals.is_some() {
        let what =
            "of two rounds a metric says nothing: correct = \"interval\" or \"answer 1 = yes\"";
        return Err(wrong(what.to_owned()));
    }
    if !matches!(correct, Correct::Metric(..)) && people.group > 1 {
        return Err(wrong("a staircase by answers is for one person: group = 1".to_owned()));
    }
    let is_more = choice(&scan, "harder", &[("more", true), ("less", false)])?;
    let staircase = Staircase {
        setting,
        step,
        least,
        most,
        up: scan.count("up", 1, 100)?.unwrap_or(1),
        down: scan.count("down", 1, 100)?.unwrap_or(2),
        harder_is_more: is_more.unwrap_or(false),
        reversals: scan.count("reversals", 1, 1_000)?.unwrap_or(8),
        correct,
    };
    scan.finish();
    Ok(Some(staircase))
}

/// What is right: `hit`, `interval`, `accuracy > 50`, or `answer 1 = yes`.
fn correct(scan: &Scan<'_>, people: &People) -> Result<Correct, Wrong> {
    let usual =
        "what is right? correct = \"hit\", \"interval\", \"accuracy > 50\" or \"answer 1 = yes\"";
    let Some((value, at)) = scan.value("correct", Kind::Text)? else {
        return Err(scan.source.wrong(&scan.at, usual));
    };
    let (said, wrong) = (value.to_string(), |what: &str| scan.source.wrong(&at, what));
    if said == "interval" {
        return match people.intervals {
            Some(_) => Ok(Correct::Interval),
            None => Err(wrong("`interval` needs [people.intervals]")),
        };
    }
    if said == "hit" {
        let accuracy = metrics::find("accuracy").ok_or_else(|| wrong(usual))?;
        return Ok(Correct::Metric(accuracy, Comparison::More, 0.0));
    }
    if let Some((number, answer)) = said.strip_prefix("answer ").and_then(|s| s.split_once('=')) {
        let number: Option<u32> = number.trim().parse().ok();
        let index = number.and_then(|number| (number as usize).checked_sub(1));
        let question = index.and_then(|index| people.questions.get(index));
        let (Some(number), Some(question)) = (number, question) else {
            return Err(wrong("there is no such question: they count from 1"));
        };
        let answer = answer.trim().to_owned();
        if question.after != When::Trial || !question.required {
            return Err(wrong("this question is not asked and answered after each trial"));
        }
        if !question.options.contains(&answer) {
            return Err(wrong(&format!("it cannot be answered with `{answer}`")));
        }
        return Ok(Correct::Answer(number, answer));
    }
    let (name, comparison, bound) = bounded(&said).ok_or_else(|| wrong(usual))?;
    let metric = metrics::find(name).ok_or_else(|| {
        let meant = meant(name, metrics::names());
        wrong(&format!("there is no metric `{name}`; {meant}"))
    })?;
    Ok(Correct::Metric(metric, comparison, bound))
}

/// `name > number`.
fn bounded(text: &str) -> Option<(&str, Comparison, f64)> {
    let (sign, comparison) = Comparison::NAMES.iter().find(|(sign, _)| text.contains(sign))?;
    let (name, bound) = text.split_once(sign)?;
    let bound: f64 = bound.trim().parse().ok().filter(|bound: &f64| bound.is_finite())?;
    Some((name.trim(), *comparison, bound))
}

fn exclusions(scan: &Scan<'_>) -> Result<Vec<Exclusion>, Wrong> {
    let mut found = Vec::new();
    for scan in scan.tables("exclude")? {
        let Some((value, at)) = scan.value("rule", Kind::Text)? else {
            let what = "which rule? rule = \"frame_ms_95 > 25\"";
            return Err(scan.source.wrong(&scan.at, what));
        };
        let rule = value.to_string();
        let Some((figure, comparison, bound)) = bounded(&rule) else {
            let what = "a rule compares a figure with a number: \"frame_ms_95 > 25\"";
            return Err(scan.source.wrong(&at, what));
        };
        let known = FIGURES.iter().map(|(name, _)| *name);
        if !known.clone().any(|name| name == figure) && metrics::find(figure).is_none() {
            let known = known.chain(metrics::names());
            let what = format!("there is no figure `{figure}`; {}", meant(figure, known));
            return Err(scan.source.wrong(&at, what));
        }
        let of = choice(&scan, "of", &[("trial", false), ("participant", true)])?;
        let reason = said_text(&scan, "reason")?.ok_or_else(|| {
            scan.source.wrong(&scan.at, "why? reason = \"slow computer\": the report says it")
        })?;
        scan.finish();
        if found.len() == EXCLUSIONS_MAX {
            let what = format!("more than {EXCLUSIONS_MAX} rules");
            return Err(scan.source.wrong(&scan.at, what));
        }
        let (figure, of_participant) = (figure.to_owned(), of.unwrap_or(false));
        found.push(Exclusion { rule, figure, comparison, bound, of_participant, reason });
    }
    Ok(found)
}

/// A change that an experimenter makes, read as a file's settings are; none if it is taken back.
pub(crate) fn read_change(
    study: &Study,
    setting: &str,
    value: &str,
) -> Result<Option<Assignment>, String> {
    let (row, player) = named(setting.trim())?;
    if ["play", "players", "map", "trace", "duration", "warm_up"].contains(&row.name) {
        return Err(format!("`{}` cannot change during a study", row.name));
    }
    let (staircase, intervals) = (&study.people.staircase, &study.people.intervals);
    let ruled = staircase.iter().map(|one| &one.setting);
    let ruled = ruled.chain(intervals.iter().map(|one| &one.standard));
    if ruled.into_iter().any(|ruled| ruled.row.name == row.name) {
        return Err(format!("`{}` is ruled by the staircase or the intervals", row.name));
    }
    if value.trim().is_empty() {
        return Ok(None);
    }
    let value = read_value(row, value.trim())?;
    if row.name == "model" && Model::named(&value.to_string()).is_none() {
        return Err(format!("`{value}` has no server, and people play with one"));
    }
    let change = Assignment { row, player, value, at: 0..0 };
    for trial in &study.trials {
        if player.is_some_and(|player| player > trial.settings.players()) {
            return Err(format!("`{setting}` is of nobody"));
        }
        let mut settings = trial.settings.clone();
        settings.assign(&change);
        if let Some((_, what)) = impossible(&settings).into_iter().next() {
            return Err(what);
        }
    }
    Ok(Some(change))
}

fn read_value(row: &Row, value: &str) -> Result<Value, String> {
    let text = match row.kind {
        Kind::Flag | Kind::Count { .. } => format!("v = {value}"),
        _ => format!("v = {}", serde_json::Value::from(value)),
    };
    let odd = || format!("`{}` is {}", row.name, row.kind.words());
    let table = DeTable::parse(&text).map_err(|_| odd())?;
    let found = table.get_ref().get("v").filter(|_| table.get_ref().len() == 1);
    row.kind.read(row.name, found.ok_or_else(odd)?.get_ref())
}
