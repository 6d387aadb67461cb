//! FPSci's questions as those to people: its four types, after each session or after each trial.

use super::{Fate, Import, TRIAL, line, quoted};
use crate::any::{Any, AnyValue};
use crate::people::{OPTIONS_MAX, QUESTIONS_MAX};

/// What participants agree to is nothing that FPSci's files say.
pub(crate) const CONSENT: &str = "Say here what participants agree to.";
const KNOWN: [&str; 4] = ["type", "prompt", "options", "randomOrder"];

impl Import<'_> {
    /// Takes down the questions of a level as tables; one that was taken down already is the same.
    pub(super) fn read_questions(&mut self, (kind, level): (&'static str, &Any), path: &str) {
        let Some(list) = level.get("questions") else { return };
        let full =
            if path.is_empty() { "questions".to_owned() } else { format!("{path}.questions") };
        let after = if kind == TRIAL { "trial" } else { "session" };
        let Some(items) = list.items() else {
            self.note(
                list.at,
                &full,
                Fate::Impossible,
                "questions are a list: ( { type = Entry } )",
            );
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let path = format!("{full}[{index}]");
            match question(item, after) {
                Err(why) => self.note(item.at, &path, Fate::Impossible, why),
                Ok(_) if self.questions.len() == QUESTIONS_MAX => {
                    let what = format!("{QUESTIONS_MAX} questions are the most");
                    self.note(item.at, &path, Fate::Impossible, what);
                }
                Ok((table, kind)) => {
                    let what = format!("[[people.question]] of kind {kind}, after each {after}");
                    self.note(item.at, &path, Fate::Mapped, what);
                    if !self.questions.contains(&table) {
                        self.questions.push(table);
                    }
                }
            }
            let pairs = match &item.is {
                AnyValue::Table(_, pairs) => pairs.as_slice(),
                _ => &[],
            };
            for (key, value) in pairs {
                let (fate, what) = match KNOWN.contains(&key.as_str()) {
                    true => (Fate::Mapped, "of the question"),
                    false => (Fate::Impossible, "how a question looks is the page's own"),
                };
                self.note(value.at, &format!("{path}.{key}"), fate, what);
            }
        }
        let what =
            "[[people.question]], of all sessions and trials alike; `consent` is for you to write";
        self.note(list.at, &full, Fate::Approximated, what);
    }

    /// The table of people, if there is something to ask them.
    pub(super) fn written_questions(&self) -> String {
        if self.questions.is_empty() {
            return String::new();
        }
        let mut text = "\n[people]\n".to_owned();
        line(&mut text, "consent", &quoted(CONSENT));
        text + &self.questions.concat()
    }
}

/// A question as a table, and its kind; or why there is none.
fn question(item: &Any, after: &str) -> Result<(String, &'static str), &'static str> {
    let prompt = item.get("prompt").and_then(Any::text).map(str::trim).unwrap_or_default();
    if prompt.is_empty() {
        return Err("a question has a `prompt`, which is a text");
    }
    let shown = |option: &Any| match option.number() {
        Some(number) => Some(crate::value::Plain(number).to_string()),
        None => option.text().map(|text| text.trim().to_owned()),
    };
    let options = item.get("options").and_then(Any::items).unwrap_or_default();
    let mut options: Vec<String> = options.iter().filter_map(shown).collect();
    let mut known: Vec<String> = Vec::new();
    options.retain(|option| {
        let is_new = !option.is_empty() && !known.contains(option);
        known.push(option.clone());
        is_new
    });
    if options.len() > OPTIONS_MAX {
        return Err("it has too many `options`");
    }
    let are_numbers = options.iter().all(|option| option.parse::<f64>().is_ok());
    let kind = match item.get("type").and_then(Any::text) {
        Some("Entry") => "text",
        Some("DropDown") => "drop_down",
        Some("Rating") if are_numbers => "rating",
        // A scale of words is chosen from.
        Some("Rating" | "MultipleChoice") => "choice",
        _ => return Err("a question's `type` is MultipleChoice, Rating, DropDown or Entry"),
    };
    let is_choice = item.get("type").and_then(Any::text) == Some("MultipleChoice");
    let mut text = "\n[[people.question]]\n".to_owned();
    line(&mut text, "ask", &quoted(prompt));
    line(&mut text, "kind", &quoted(kind));
    line(&mut text, "after", &quoted(after));
    if kind != "text" {
        if options.len() < 2 {
            return Err("there are at least two `options` to choose from");
        }
        let list: Vec<String> = options.iter().map(|option| quoted(option)).collect();
        line(&mut text, "options", &format!("[{}]", list.join(", ")));
        let is_random = item.get("randomOrder").and_then(Any::flag).unwrap_or(is_choice);
        if is_random && kind != "rating" {
            line(&mut text, "randomised", "true");
        }
    }
    Ok((text, kind))
}
