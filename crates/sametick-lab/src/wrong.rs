//! What is wrong with a file and where; and the nearest right word for a wrong one.

use crate::checks::Mentions;
use std::fmt;
use std::ops::Range;

/// What is wrong with an experiment file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for Wrong {}

impl Wrong {
    /// What is wrong at the first byte of a range of a text.
    pub(crate) fn at(text: &str, at: &Range<usize>, what: impl Into<String>) -> Self {
        let mut end = at.start.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            what: what.into(),
        }
    }
}

/// The most mistakes of one file that are told at once.
pub const WRONGS_MAX: usize = 20;
/// The most that are kept until they are in order.
const KEPT_MAX: usize = 4_096;

/// All that is wrong with a file, in the order of its lines; [`WRONGS_MAX`] at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrongs {
    /// At least one.
    pub all: Vec<Wrong>,
    /// How many there are besides.
    pub more: usize,
}

impl Wrongs {
    pub(crate) fn new(mut all: Vec<Wrong>) -> Self {
        all.sort_by(|one, other| {
            let key = |wrong: &Wrong| (wrong.line, wrong.column);
            key(one).cmp(&key(other)).then_with(|| one.what.cmp(&other.what))
        });
        all.dedup();
        let more = all.len().saturating_sub(WRONGS_MAX);
        all.truncate(WRONGS_MAX);
        Self { all, more }
    }

    /// Each on a line of its own, with the file's name.
    pub fn told(&self, file: &str) -> String {
        let mut lines: Vec<String> =
            self.all.iter().map(|wrong| format!("{file}, {wrong}")).collect();
        if self.more > 0 {
            lines.push(format!("{file}: and {} more mistakes", self.more));
        }
        lines.join("\n")
    }

    /// The first.
    pub(crate) fn first(self) -> Wrong {
        let nothing = || Wrong { line: 1, column: 1, what: "nothing is wrong".to_owned() };
        self.all.into_iter().next().unwrap_or_else(nothing)
    }
}

/// What was found wrong while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) all: Vec<Wrong>,
    /// What expectations and figures speak of: looked for when all is read.
    pub(crate) mentions: Mentions,
    /// Whether something that decides what is played is not known: then what does not fit together is not looked for.
    pub(crate) is_spoiled: bool,
    /// Whether targets could not be read: then those that are named may well be meant.
    pub(crate) has_odd_targets: bool,
}

impl Found {
    pub(crate) fn note(&mut self, wrong: Wrong) {
        if self.all.len() < KEPT_MAX {
            self.all.push(wrong);
        }
    }
}

/// The words that are known, and the one that was probably meant.
pub(crate) fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = known.clone().map(|name| (distance(word, name), name)).min();
    match near {
        Some((steps, name)) if steps <= 1 + name.len() / 4 => format!("did you mean `{name}`?"),
        _ => {
            let all: Vec<&str> = known.collect();
            match all[..] {
                [] => "there is none".to_owned(),
                _ => format!("known are {}", all.join(", ")),
            }
        }
    }
}

/// `; did you mean ...?`, only where hardly anything else can have been meant.
pub(crate) fn near<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let slip = |name: &str| distance(&word.to_lowercase(), &name.to_lowercase());
    let nearest = known.map(|name| (slip(name), name)).min();
    match nearest {
        Some((steps, name)) if steps <= 2 && name.len() > 3 * steps => {
            format!("; did you mean `{name}`?")
        }
        _ => String::new(),
    }
}

/// How many letters must be added, left out or changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut above = row[0];
        row[0] = index + 1;
        for place in 0..other.len() {
            let change = above + usize::from(other[place] != letter);
            above = row[place + 1];
            row[place + 1] = change.min(above + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not_guessed() {
        let known = ["ping", "loss", "jitter"];
        assert_eq!(meant("pnig", known.into_iter()), "did you mean `ping`?");
        assert_eq!(meant("jiter", known.into_iter()), "did you mean `jitter`?");
        assert_eq!(meant("weather", known.into_iter()), "known are ping, loss, jitter");
        assert_eq!(meant("ping", [].into_iter()), "there is none");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        let wrong = Wrong::at("ä\nöx = 1", &(5..6), "so");
        assert_eq!((wrong.line, wrong.column), (2, 2));
        assert_eq!(Wrong::at("a", &(99..100), "so").column, 2);
    }
}
