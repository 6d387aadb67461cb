//! Reads the `[people]` table of a file, and changes that an experimenter makes.

use super::study::Study;
use super::table::{
    Comparison, Correct, Design, Exclusion, GROUP_MAX, Intervals, OPTIONS_MAX, People,
    QUESTIONS_MAX, Question, QuestionKind, Staircase, When,
};
use crate::experiment::Experiment;
use crate::metrics;
use crate::plan::{self, impossible};
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
/// A threshold is the mean of two turns at least, behind the two that are left out.
const REVERSALS_MIN: u32 = 4;
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
    /// Reads the table into an experiment whose sessions are read already; takes down all that is wrong with it.
    pub(crate) fn read(scan: &Scan<'_>, experiment: &mut Experiment) {
        let (source, before) = (scan.source, scan.source.count());
        let group = source.heed(scan.count("group", 1, GROUP_MAX)).unwrap_or(1);
        if !experiment.participants.is_multiple_of(group) {
            let at = scan.get("group").map_or(scan.at.clone(), Spanned::span);
            let what =
                format!("{} participants do not make groups of {group}", experiment.participants);
            source.note(&at, what);
        }
        let time = |name, otherwise: f64| {
            let said = source.heed(scan.value(name, TIME)).and_then(|(value, _)| value.number());
            said.unwrap_or(otherwise)
        };
        let tolerance_loss = source.heed(scan.value("tolerance_loss", Kind::Share));
        let consent = "people agree before they play: consent = \"\"\"...\"\"\"";
        let mut people = Self {
            group,
            roles: source.heed(roles(scan, group)),
            swap: flag(scan, "swap", false),
            design: source.heed(choice(scan, "design", &DESIGNS)).unwrap_or(Design::Within),
            consent: needed(scan, said_text(scan, "consent"), consent).unwrap_or_default(),
            thanks: source.heed(said_text(scan, "thanks")).unwrap_or_else(|| THANKS.to_owned()),
            tolerance_ms: time("tolerance", TOLERANCE_MS),
            tolerance_loss: tolerance_loss
                .and_then(|(value, _)| value.number())
                .unwrap_or(TOLERANCE_LOSS),
            frame_tolerance_ms: time("frame_tolerance", FRAME_TOLERANCE_MS),
            break_every: source.heed(scan.count("break_every", 1, 100_000)),
            break_ms: time("break_length", BREAK_MS) as u64,
            foreperiod_ms: source.heed(foreperiod(scan)),
            questions: questions(scan),
            intervals: intervals(scan, experiment),
            staircase: None,
            exclusions: Vec::new(),
        };
        // What refers to something that could not be read may well be right.
        let is_whole = source.count() == before;
        people.exclusions = exclusions(scan, &people, is_whole);
        people.staircase = staircase(scan, experiment, &people, is_whole);
        people.check(scan, experiment);
        scan.finish();
        experiment.participants = (experiment.participants / group).max(1);
        experiment.people = Some(people);
    }

    /// What does not go together.
    fn check(&self, scan: &Scan<'_>, experiment: &Experiment) {
        let note = |name, what: &str| {
            let at = scan.get(name).map_or(scan.at.clone(), Spanned::span);
            scan.source.note(&at, what);
        };
        if self.swap && scan.get("roles").is_none() {
            note("swap", "`swap` changes roles: roles = [\"peeker\", \"holder\"]");
        }
        if scan.get("break_every").is_none() && scan.get("break_length").is_some() {
            note("break_length", "how often? break_every = 6");
        }
        if let Some(intervals) = &self.intervals {
            let name = intervals.standard.name();
            let is_stairs = match &self.staircase {
                Some(staircase) => staircase.setting.name() == name,
                // One that could not be read may be on it.
                None => scan.get("staircase").is_some(),
            };
            if !is_stairs && !experiment.factors().contains(&name) {
                let what = format!(
                    "`{name}` is the same in both rounds: make it a factor, or the setting of a staircase"
                );
                note("intervals", &what);
            }
        }
    }
}

/// What must be said; told if it is not there.
fn needed<T>(scan: &Scan<'_>, read: Result<Option<T>, Wrong>, what: &str) -> Option<T> {
    if matches!(read, Ok(None)) {
        scan.source.note(&scan.at, what);
    }
    scan.source.heed(read)
}

const DESIGNS: [(&str, Design); 2] = [("within", Design::Within), ("between", Design::Between)];

fn flag(scan: &Scan<'_>, name: &'static str, otherwise: bool) -> bool {
    let said = scan.source.heed(scan.value(name, Kind::Flag));
    said.map_or(otherwise, |(value, _)| value == Value::Flag(true))
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

fn questions(scan: &Scan<'_>) -> Vec<Question> {
    let tables = scan.source.heed(scan.tables("question"));
    if let Some(scan) = tables.get(QUESTIONS_MAX) {
        scan.source.note(&scan.at, format!("more than {QUESTIONS_MAX} questions"));
    }
    tables.iter().take(QUESTIONS_MAX).filter_map(question).collect()
}

fn question(scan: &Scan<'_>) -> Option<Question> {
    let (source, before) = (scan.source, scan.source.count());
    let wrong = |what: &str| source.note(&scan.at, what);
    let ask = "a question asks: ask = \"How fair was that?\"";
    let ask = needed(scan, said_text(scan, "ask"), ask);
    let kind = choice(scan, "kind", &QuestionKind::NAMES);
    let kind = needed(scan, kind, "which kind? kind = \"rating\"");
    let after = source.heed(choice(scan, "after", &When::NAMES)).unwrap_or(When::Trial);
    let (randomised, required) = (flag(scan, "randomised", false), flag(scan, "required", true));
    let at_options = source.count();
    let options = source.heed(texts(scan, "options")).map_or(Vec::new(), |(options, _)| options);
    let is_listed = source.count() == at_options;
    scan.finish();
    let kind = kind?;
    let is_number = |one: &String| one.trim().parse::<f64>().is_ok();
    match kind {
        _ if !is_listed => {}
        QuestionKind::Text if !options.is_empty() => wrong("a text has no options"),
        QuestionKind::Text => {}
        QuestionKind::Rating if options.len() < 2 || !options.iter().all(is_number) => {
            wrong("a rating is numbers: options = [\"1\", \"2\", \"3\"]");
        }
        _ if options.len() < 2 => wrong("what can be chosen? options = [\"yes\", \"no\"]"),
        _ => {}
    }
    if randomised && matches!(kind, QuestionKind::Rating | QuestionKind::Text) {
        wrong("only options to choose from are put in an order by chance");
    }
    let question = Question { ask: ask?, kind, after, options, randomised, required };
    (source.count() == before).then_some(question)
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

fn intervals(scan: &Scan<'_>, experiment: &Experiment) -> Option<Intervals> {
    let source = scan.source;
    let scan = source.heed(scan.table("intervals"))?;
    let standard = setting(&scan, "standard", experiment).and_then(|standard| {
        possible(&scan, experiment, &standard, standard.value.number())?;
        Ok(Some(standard))
    });
    let standard = source.heed(standard);
    let ask = "what is asked? ask = \"Which of the two felt slower?\"";
    let ask = needed(&scan, said_text(&scan, "ask"), ask);
    scan.get("standard");
    scan.finish();
    Some(Intervals { standard: standard?, ask: ask? })
}

/// A number of a setting that some trial could not be played with is told.
fn possible(
    scan: &Scan<'_>,
    experiment: &Experiment,
    setting: &Assignment,
    numbers: impl IntoIterator<Item = f64>,
) -> Result<(), Wrong> {
    for number in numbers {
        let with = Assignment { value: Value::Number(number), ..setting.clone() };
        for session in &experiment.sessions {
            for (levels, kind) in session
                .conditions
                .iter()
                .flat_map(|levels| session.trials.iter().map(move |k| (levels, k)))
            {
                let mut settings = plan::settings(session, kind, levels);
                let before = impossible(&settings);
                settings.assign(&with);
                let mut found = impossible(&settings).into_iter();
                if let Some((_, what)) = found.find(|one| !before.contains(one)) {
                    let shown = with.value.shown(with.row.kind);
                    return Err(scan
                        .source
                        .wrong(&scan.at, format!("it comes to {shown}: {what}")));
                }
            }
        }
    }
    Ok(())
}

fn staircase(
    scan: &Scan<'_>,
    experiment: &Experiment,
    people: &People,
    is_whole: bool,
) -> Option<Staircase> {
    let source = scan.source;
    let scan = source.heed(scan.table("staircase"))?;
    let before = source.count();
    let setting = source.heed(setting(&scan, "start", experiment).map(Some));
    let count = |name, otherwise| source.heed(scan.count(name, 1, 1_000)).unwrap_or(otherwise);
    let (up, down, reversals) = (count("up", 1), count("down", 2), count("reversals", 8));
    let is_more = choice(&scan, "harder", &[("more", true), ("less", false)]);
    let harder_is_more = source.heed(is_more).unwrap_or(false);
    let correct = match (setting.is_some() || scan.get("correct").is_some(), is_whole) {
        (true, true) => source.heed(correct(&scan, people).map(Some)),
        _ => None,
    };
    for name in ["start", "step", "least", "most", "correct"] {
        scan.get(name);
    }
    scan.finish();
    let setting = setting?;
    let wrong = |what: String| source.note(&scan.at, what);
    let kind = setting.row.kind;
    let Some(start) = setting.value.number() else {
        wrong(format!("`{}` is no number: it has no steps", setting.name()));
        return None;
    };
    if experiment.factors().contains(&setting.name()) {
        wrong(format!("`{}` is a factor: a staircase cannot rule it too", setting.name()));
    }
    let number = |name: &'static str| {
        let what = format!("`{name}` is missing: {}", kind.words());
        needed(&scan, scan.value(name, kind), &what)?.0.number()
    };
    let (step, least, most) = (number("step"), number("least"), number("most"));
    let (step, least, most) = (step?, least?, most?);
    if step <= 0.0 || least >= most || !(least..=most).contains(&start) {
        let what = "a staircase goes from `least` to `most`, begins between them and takes steps";
        wrong(what.to_owned());
    }
    source.heed(possible(&scan, experiment, &setting, [least, most]));
    let correct = correct?;
    if matches!(correct, Correct::Metric(..)) && people.intervals.is_some() {
        let what =
            "of two rounds a metric says nothing: correct = \"interval\" or \"answer 1 = yes\"";
        wrong(what.to_owned());
    }
    let is_asked_later = |name: &str| name.contains("rating") || name == "told_apart";
    if matches!(&correct, Correct::Metric(metric, ..) if is_asked_later(metric.name)) {
        let what =
            "a round is judged before its questions are answered: correct = \"answer 1 = yes\"";
        wrong(what.to_owned());
    }
    if !matches!(correct, Correct::Metric(..)) && people.group > 1 {
        wrong("a staircase by answers is for one person: group = 1".to_owned());
    }
    let staircase =
        Staircase { setting, step, least, most, up, down, harder_is_more, reversals, correct };
    if source.count() == before {
        ends(&scan, experiment, &staircase);
    }
    (source.count() == before).then_some(staircase)
}

/// A staircase that cannot come to its end, or to a threshold, is told.
fn ends(scan: &Scan<'_>, experiment: &Experiment, staircase: &Staircase) {
    let (at, reversals) =
        (|name| scan.get(name).map_or(scan.at.clone(), Spanned::span), staircase.reversals);
    if reversals < REVERSALS_MIN {
        let what = format!(
            "`reversals` is {REVERSALS_MIN} at least: the threshold leaves out the first two and wants two more"
        );
        scan.source.note(&at("reversals"), what);
        return;
    }
    // The small version is not for finding thresholds.
    if experiment.is_quick {
        return;
    }
    // One step more than there are turns, in turns harder and easier.
    let (fewer, more) = (staircase.up.min(staircase.down), staircase.up.max(staircase.down));
    let least = fewer * (reversals / 2 + 1) + more * reversals.div_ceil(2);
    for session in &experiment.sessions {
        let repetitions = session.repetitions.unwrap_or(experiment.repetitions);
        let each: u32 = session.trials.iter().map(|kind| kind.count).sum();
        let most = repetitions.saturating_mul(each);
        if most < least {
            let what = format!(
                "{reversals} reversals take {least} trials at least, and there are {most}: repetitions = {}",
                2 * least
            );
            scan.source.note(&at("reversals"), what);
            return;
        }
    }
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

fn exclusions(scan: &Scan<'_>, people: &People, is_whole: bool) -> Vec<Exclusion> {
    let tables = scan.source.heed(scan.tables("exclude"));
    if let Some(scan) = tables.get(EXCLUSIONS_MAX) {
        scan.source.note(&scan.at, format!("more than {EXCLUSIONS_MAX} rules"));
    }
    let read = |scan: &Scan<'_>| exclusion(scan, people, is_whole);
    tables.iter().take(EXCLUSIONS_MAX).filter_map(read).collect()
}

fn exclusion(scan: &Scan<'_>, people: &People, is_whole: bool) -> Option<Exclusion> {
    let source = scan.source;
    let rule =
        needed(scan, scan.value("rule", Kind::Text), "which rule? rule = \"frame_ms_95 > 25\"");
    let of = source.heed(choice(scan, "of", &[("trial", false), ("participant", true)]));
    let reason = "why? reason = \"slow computer\": the report says it";
    let reason = needed(scan, said_text(scan, "reason"), reason);
    scan.finish();
    let (value, at) = rule?;
    let rule = value.to_string();
    let Some((figure, comparison, bound)) = bounded(&rule) else {
        source.note(&at, "a rule compares a figure with a number: \"frame_ms_95 > 25\"");
        return None;
    };
    let known = FIGURES.iter().map(|(name, _)| *name);
    if !known.clone().any(|name| name == figure) && metrics::find(figure).is_none() {
        let known = known.chain(metrics::names());
        let what = format!("there is no figure `{figure}`; {}", meant(figure, known));
        source.note(&at, what);
        return None;
    }
    if is_whole && let Some(what) = unasked(figure, people) {
        source.note(&at, what);
    }
    let (figure, of_participant) = (figure.to_owned(), of.unwrap_or(false));
    Some(Exclusion { rule, figure, comparison, bound, of_participant, reason: reason? })
}

/// Why nobody will ever have a figure, if so.
fn unasked(figure: &str, people: &People) -> Option<String> {
    let kinds = [
        ("rating", When::Trial, "trials"),
        ("session_rating", When::Session, "sessions"),
        ("study_rating", When::Study, "the study"),
    ];
    let (more, after, what) = kinds
        .iter()
        .find_map(|(name, after, what)| Some((figure.strip_prefix(name)?, *after, *what)))?;
    let is_rating = |one: &&Question| one.kind == QuestionKind::Rating && one.after == after;
    let asked = people.questions.iter().filter(is_rating).count();
    let wanted = match more {
        "" => 1,
        more => more.strip_prefix('_')?.parse().ok()?,
    };
    (asked < wanted).then(|| match asked {
        0 => format!("nobody is asked for `{figure}`: no question after {what} is a rating"),
        asked => format!(
            "nobody is asked for `{figure}`: of the questions after {what} {asked} is a rating"
        ),
    })
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
