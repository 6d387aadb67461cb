//! Reads FPSci's `.Any` files: what they say, key by key, and where each word stands. Knows nothing of experiments.

use crate::wrong::Wrong;
use std::fmt;
use std::path::{Path, PathBuf};

/// How deep values may stand in each other.
pub const ANY_DEPTH_MAX: usize = 64;
/// How many files one file may bring in, all together.
pub const ANY_FILES_MAX: usize = 256;
/// How many values all files may have together.
pub const ANY_VALUES_MAX: usize = 1_000_000;
/// How many names one table may have.
pub const ANY_NAMES_MAX: usize = 4_096;
/// The longest file.
pub const ANY_BYTES_MAX: usize = 16 << 20;

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    file: u16,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Any {
    /// Where it begins.
    pub at: Place,
    /// What it is.
    pub is: AnyValue,
}

/// What a value can be.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyValue {
    /// Nothing.
    Nil,
    /// Yes or no.
    Flag(bool),
    /// Any number; it may be infinite or none.
    Number(f64),
    /// A text, in quotes or a word without.
    Text(String),
    /// Values one after the other, as `[1, 2]` or `Vector3(1, 2, 3)`; also what is empty.
    List(String, Vec<Any>),
    /// Values by name, as `{ a = 1; b = 2 }`. Of two with one name the last counts, which is the one that is here.
    Table(String, Vec<(String, Any)>),
}

impl Any {
    /// The value of a key; upper and lower case differ, as in FPSci.
    pub fn get(&self, key: &str) -> Option<&Any> {
        let pairs = match &self.is {
            AnyValue::Table(_, pairs) => pairs.as_slice(),
            _ => &[],
        };
        pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The values of a list, whatever it is called.
    pub fn items(&self) -> Option<&[Any]> {
        match &self.is {
            AnyValue::List(_, items) => Some(items),
            _ => None,
        }
    }

    /// The number that it is.
    pub fn number(&self) -> Option<f64> {
        match self.is {
            AnyValue::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The text that it is.
    pub fn text(&self) -> Option<&str> {
        match &self.is {
            AnyValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Yes or no, if it is that.
    pub fn flag(&self) -> Option<bool> {
        match self.is {
            AnyValue::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

/// What is wrong with a file, in which one and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAny {
    /// Which file.
    pub file: PathBuf,
    /// What, and where in it; line 0 is the whole file.
    pub wrong: Wrong,
}

impl fmt::Display for WrongAny {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wrong.line {
            0 => write!(f, "{} {}", self.file.display(), self.wrong.what),
            _ => write!(f, "{}, {}", self.file.display(), self.wrong),
        }
    }
}

impl std::error::Error for WrongAny {}

/// A file with all that it brings in.
///
/// ```
/// use sametick_lab::AnyFile;
///
/// let text = r#"
/// { description = "Two delays"; frameDelay: 3, // both separators do
///   spawn = Point3(0, 1.5f, -2); targets = ( { id = simple } ) }"#;
/// let file = AnyFile::read("x.Any".as_ref(), &mut |_| Ok(text.to_owned()))?;
/// assert_eq!(file.root.get("frameDelay").and_then(|delay| delay.number()), Some(3.0));
///
/// let wrong = AnyFile::read("x.Any".as_ref(), &mut |_| Ok("{ a = 1\n b = 2 }".to_owned()));
/// let said = wrong.unwrap_err().to_string();
/// assert!(said.starts_with("x.Any, line 2, column 2: a `,` or `;` is missing before this"));
/// # Ok::<(), sametick_lab::WrongAny>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AnyFile {
    /// The value that the file is.
    pub root: Any,
    /// What was passed over or counts otherwise than it looks, and where.
    pub remarks: Vec<(Place, String)>,
    files: Vec<PathBuf>,
}

impl AnyFile {
    /// Reads a file; `load` gives the text of a path. A path that is brought in is looked for beside the file that
    /// names it.
    pub fn read(
        path: &Path,
        load: &mut dyn FnMut(&Path) -> Result<String, String>,
    ) -> Result<Self, WrongAny> {
        let mut reading =
            Reading { load, files: Vec::new(), open: Vec::new(), remarks: Vec::new(), values: 0 };
        let text = (reading.load)(path).map_err(|what| WrongAny {
            file: path.to_owned(),
            wrong: Wrong { line: 0, column: 0, what: format!("cannot be read: {what}") },
        })?;
        let root = reading.file(path, &text, 0)?;
        Ok(Self { root, remarks: reading.remarks, files: reading.files })
    }

    /// Which file a place is in.
    pub fn file(&self, place: Place) -> &Path {
        &self.files[usize::from(place.file)]
    }

    /// A place in words.
    pub fn shown(&self, place: Place) -> String {
        format!("{}, line {}, column {}", self.file(place).display(), place.line, place.column)
    }
}

/// What the files of one reading share.
struct Reading<'a> {
    load: &'a mut dyn FnMut(&Path) -> Result<String, String>,
    files: Vec<PathBuf>,
    /// Those that are being read, each brought in by the one before.
    open: Vec<PathBuf>,
    remarks: Vec<(Place, String)>,
    values: usize,
}

impl Reading<'_> {
    fn file(&mut self, path: &Path, text: &str, depth: usize) -> Result<Any, WrongAny> {
        let file = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
        self.files.push(path.to_owned());
        self.open.push(path.to_owned());
        let mut words = Words { text, file, next: 0, at: Place { file, line: 1, column: 1 } };
        let wrong = |wrong| WrongAny { file: path.to_owned(), wrong };
        if text.len() > ANY_BYTES_MAX {
            return Err(wrong(words.wrong(format!("longer than {ANY_BYTES_MAX} bytes"))));
        }
        words.skip().map_err(wrong)?;
        let root = self.value(&mut words, path, depth)?;
        words.skip().map_err(wrong)?;
        if !words.rest().is_empty() {
            let what = "what follows the file's value is passed over, as FPSci does";
            self.remarks.push((words.at, what.to_owned()));
        }
        Ok(root)
    }

    fn value(&mut self, words: &mut Words<'_>, path: &Path, depth: usize) -> Result<Any, WrongAny> {
        let wrong = |wrong| WrongAny { file: path.to_owned(), wrong };
        let at = words.at;
        self.values += 1;
        if depth > ANY_DEPTH_MAX {
            let what = format!("values stand deeper than {ANY_DEPTH_MAX} in each other here");
            return Err(wrong(words.wrong(what)));
        }
        if self.values > ANY_VALUES_MAX {
            return Err(wrong(words.wrong(format!("there are more than {ANY_VALUES_MAX} values"))));
        }
        let is = match words.peek() {
            None => return Err(wrong(words.wrong("the file ends where a value should stand"))),
            Some('"') => AnyValue::Text(words.quoted().map_err(wrong)?),
            Some('#') => return self.include(words, path, depth),
            Some('(' | '[' | '{') => self.container(words, path, String::new(), depth)?,
            Some('0'..='9' | '.' | '+' | '-') => AnyValue::Number(words.number().map_err(wrong)?),
            Some(first) if begins_word(first) => {
                let name = words.name().map_err(wrong)?;
                let mut ahead = words.clone();
                ahead.skip().map_err(wrong)?;
                if matches!(ahead.peek(), Some('(' | '[' | '{')) {
                    *words = ahead;
                    self.container(words, path, name, depth)?
                } else {
                    plain_word(name).map_err(|what| wrong(words.wrong_at(at, what)))?
                }
            }
            Some(odd) => {
                let what = format!("`{}` begins no value", odd.escape_default());
                return Err(wrong(words.wrong(what)));
            }
        };
        Ok(Any { at, is })
    }

    /// What stands in brackets: a table if its first item is a pair, otherwise a list.
    fn container(
        &mut self,
        words: &mut Words<'_>,
        path: &Path,
        name: String,
        depth: usize,
    ) -> Result<AnyValue, WrongAny> {
        let wrong = |wrong| WrongAny { file: path.to_owned(), wrong };
        let (began, open) = (words.at, words.take().unwrap_or('{'));
        let close = match open {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        let (mut items, mut pairs): (Vec<Any>, Vec<(String, Any)>) = Default::default();
        loop {
            words.skip().map_err(wrong)?;
            match words.peek() {
                Some(found) if found == close => break,
                None => {
                    let what = format!("the `{open}` that begins here has no `{close}`");
                    return Err(wrong(words.wrong_at(began, what)));
                }
                Some(found @ (')' | ']' | '}')) => {
                    let line = began.line;
                    let what =
                        format!("`{found}` ends the `{open}` of line {line}; it needs `{close}`");
                    return Err(wrong(words.wrong(what)));
                }
                Some(',' | ';') => {
                    return Err(wrong(words.wrong("a value is missing before this separator")));
                }
                Some(_) => {}
            }
            let at = words.at;
            match words.key().map_err(wrong)? {
                Some(_) if !items.is_empty() => {
                    let what = "this has a name, but what stands before it has none: all or none";
                    return Err(wrong(words.wrong_at(at, what)));
                }
                Some(key) => {
                    let value = self.value(words, path, depth + 1)?;
                    self.add(&mut pairs, at, key, value).map_err(wrong)?;
                }
                None if !pairs.is_empty() => {
                    let what = "this has no name, but what stands before it has one: all or none";
                    return Err(wrong(words.wrong_at(at, what)));
                }
                None => items.push(self.value(words, path, depth + 1)?),
            }
            words.skip().map_err(wrong)?;
            match words.peek() {
                Some(',' | ';') => {
                    words.take();
                }
                Some(')' | ']' | '}') | None => {}
                Some(_) => {
                    let line = began.line;
                    let what = format!(
                        "a `,` or `;` is missing before this, or a `{close}` ends what began on line {line}"
                    );
                    return Err(wrong(words.wrong(what)));
                }
            }
        }
        words.take();
        Ok(if pairs.is_empty() {
            AnyValue::List(name, items)
        } else {
            AnyValue::Table(name, pairs)
        })
    }

    /// Adds a pair to a table; of two with one name the last counts.
    fn add(
        &mut self,
        pairs: &mut Vec<(String, Any)>,
        at: Place,
        key: String,
        value: Any,
    ) -> Result<(), Wrong> {
        if let Some(index) = pairs.iter().position(|(known, _)| *known == key) {
            self.remarks.push((at, format!("`{key}` is said again here; the last counts")));
            pairs.remove(index);
        }
        if pairs.len() == ANY_NAMES_MAX {
            let (line, column) = (at.line as usize, at.column as usize);
            let what = format!("a table has at most {ANY_NAMES_MAX} names");
            return Err(Wrong { line, column, what });
        }
        pairs.push((key, value));
        Ok(())
    }

    /// `#include("path")`: the one value of another file.
    fn include(
        &mut self,
        words: &mut Words<'_>,
        path: &Path,
        depth: usize,
    ) -> Result<Any, WrongAny> {
        let wrong = |wrong| WrongAny { file: path.to_owned(), wrong };
        let at = words.at;
        words.take();
        let odd = |words: &Words<'_>| {
            wrong(words.wrong("`#` begins #include(\"path\") and nothing else"))
        };
        words.skip().map_err(wrong)?;
        if !words.peek().is_some_and(begins_word) || words.name().map_err(wrong)? != "include" {
            return Err(odd(words));
        }
        words.skip().map_err(wrong)?;
        if words.take() != Some('(') {
            return Err(odd(words));
        }
        words.skip().map_err(wrong)?;
        if words.peek() != Some('"') {
            return Err(odd(words));
        }
        let name = words.quoted().map_err(wrong)?;
        words.skip().map_err(wrong)?;
        if words.take() != Some(')') {
            return Err(odd(words));
        }
        if self.files.len() >= ANY_FILES_MAX {
            let what = format!(
                "more than {ANY_FILES_MAX} files are brought in: does one bring in itself?"
            );
            return Err(wrong(words.wrong_at(at, what)));
        }
        let other = path.parent().unwrap_or_else(|| Path::new("")).join(&name);
        if self.open.contains(&other) {
            return Err(wrong(words.wrong_at(at, format!("{name:?} brings in itself"))));
        }
        let text = (self.load)(&other).map_err(|what| {
            wrong(words.wrong_at(at, format!("{name:?} cannot be brought in: {what}")))
        })?;
        let value = self.file(&other, &text, depth + 1)?;
        self.open.pop();
        Ok(value)
    }
}

/// A word without quotes that heads no container.
fn plain_word(word: String) -> Result<AnyValue, String> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    Ok(match () {
        () if is("true") => AnyValue::Flag(true),
        () if is("false") => AnyValue::Flag(false),
        () if is("nil") || is("none") => AnyValue::Nil,
        () if is("inf") => AnyValue::Number(f64::INFINITY),
        () if is("nan") => AnyValue::Number(f64::NAN),
        () if word.contains("::") || word.contains("->") => {
            return Err(format!("`{word}` is a name and needs its brackets: {word}(...)"));
        }
        () => AnyValue::Text(word),
    })
}

fn begins_word(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The words of one file, one after the other.
#[derive(Clone)]
struct Words<'a> {
    text: &'a str,
    file: u16,
    next: usize,
    at: Place,
}

impl Words<'_> {
    fn rest(&self) -> &str {
        &self.text[self.next..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.next += letter.len_utf8();
        let (line, column) = match letter {
            '\n' => (self.at.line + 1, 1),
            _ => (self.at.line, self.at.column + 1),
        };
        self.at = Place { file: self.file, line, column };
        Some(letter)
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(letter) = self.peek().filter(|letter| is_wanted(*letter)) {
            taken.push(letter);
            self.take();
        }
        taken
    }

    fn wrong(&self, what: impl Into<String>) -> Wrong {
        self.wrong_at(self.at, what)
    }

    fn wrong_at(&self, at: Place, what: impl Into<String>) -> Wrong {
        Wrong { line: at.line as usize, column: at.column as usize, what: what.into() }
    }

    /// Passes over spaces and comments.
    fn skip(&mut self) -> Result<(), Wrong> {
        loop {
            self.take_while(|letter| letter.is_whitespace() || letter == '\u{feff}');
            if self.rest().starts_with("//") {
                self.take_while(|letter| letter != '\n');
            } else if self.rest().starts_with("/*") {
                let began = self.at;
                let Some(length) = self.rest().find("*/") else {
                    return Err(self.wrong_at(began, "the comment that begins here has no */"));
                };
                let end = self.next + length + 2;
                while self.next < end {
                    self.take();
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The key and its `=` or `:`, if a pair stands here; otherwise nothing is taken.
    fn key(&mut self) -> Result<Option<String>, Wrong> {
        let mut ahead = self.clone();
        let key = match ahead.peek() {
            Some('"') => ahead.quoted()?,
            Some(first) if begins_word(first) => ahead.take_while(is_in_word),
            _ => return Ok(None),
        };
        ahead.skip()?;
        let is_pair = match ahead.peek() {
            Some('=') => true,
            Some(':') => !ahead.rest().starts_with("::"),
            _ => false,
        };
        if !is_pair {
            return Ok(None);
        }
        ahead.take();
        ahead.skip()?;
        *self = ahead;
        Ok(Some(key))
    }

    /// A word, with others behind it: `CFrame::fromXYZYPRDegrees`.
    fn name(&mut self) -> Result<String, Wrong> {
        let mut name = self.take_while(is_in_word);
        loop {
            let Some(joint) = ["::", "->", "."].into_iter().find(|j| self.rest().starts_with(j))
            else {
                return Ok(name);
            };
            for _ in joint.chars() {
                self.take();
            }
            if !self.peek().is_some_and(begins_word) {
                return Err(self.wrong(format!("a name goes on behind `{joint}`")));
            }
            name += joint;
            name += &self.take_while(is_in_word);
        }
    }

    fn quoted(&mut self) -> Result<String, Wrong> {
        let began = self.at;
        self.take();
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.take() {
                None | Some('\n') => {
                    return Err(
                        self.wrong_at(began, "the text that begins here has no \" on its line")
                    );
                }
                Some('"') => return Ok(text),
                Some('\\') => {
                    let escaped = self.take();
                    text.push(match escaped {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some('0') => '\0',
                        Some(same @ ('\\' | '"' | '\'' | '/')) => same,
                        _ => {
                            let what = "`\\` stands before n, t, r, 0, a quote or another \\";
                            return Err(self.wrong_at(at, what));
                        }
                    });
                }
                Some(letter) => text.push(letter),
            }
        }
    }

    /// A number as C has it.
    fn number(&mut self) -> Result<f64, Wrong> {
        let began = self.at;
        let sign = match self.peek() {
            Some('-') => {
                self.take();
                -1.0
            }
            Some('+') => {
                self.take();
                1.0
            }
            _ => 1.0,
        };
        let mut word = self.take_while(|letter| is_in_word(letter) || letter == '.');
        // The sign of an exponent.
        let is_hexadecimal = word.starts_with("0x") || word.starts_with("0X");
        if !is_hexadecimal && word.ends_with(['e', 'E']) && matches!(self.peek(), Some('+' | '-')) {
            word.extend(self.take());
            word += &self.take_while(is_in_word);
        }
        let number = if is_hexadecimal {
            u64::from_str_radix(&word[2..], 16).ok().map(|number| number as f64)
        } else if word.eq_ignore_ascii_case("inf") {
            Some(f64::INFINITY)
        } else if word.eq_ignore_ascii_case("nan") {
            Some(f64::NAN)
        } else if word.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            word.strip_suffix(['f', 'F']).unwrap_or(&word).parse().ok()
        } else {
            None
        };
        let what = || format!("`{word}` is no number");
        number.map(|number| sign * number).ok_or_else(|| self.wrong_at(began, what()))
    }
}
