//! Reads the text of a Quake `.map` file, as TrenchBroom writes it: entities with keys, values and
//! brushes, faces in the standard or the Valve 220 form. Knows nothing of what they mean.
//!
//! There is a maintained parser, `quake-map`; its errors tell the line but not the column, and its
//! values are C strings. What a map needs is little enough to be read here.

use std::fmt;

/// The most entities, brushes and faces a file may have: more than any map, less than a mishap.
const ITEMS_MAX: usize = 1 << 16;

/// What stands in the braces of one entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    /// Where it begins.
    pub(super) line: usize,
    /// Its keys and values, in the order of the file.
    pub(super) pairs: Vec<(String, String)>,
    /// Its brushes.
    pub(super) brushes: Vec<BrushText>,
}

/// A brush as the file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BrushText {
    /// Where it begins.
    pub(super) line: usize,
    /// Its faces.
    pub(super) faces: Vec<FaceText>,
}

/// A face as the file has it: the solid lies behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FaceText {
    /// Three points of its plane, clockwise as seen from outside, in units of the file.
    pub(super) points: [[f64; 3]; 3],
    /// The name of its texture.
    pub(super) texture: String,
}

/// What is wrong with a map, and where. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    /// In which line.
    pub line: usize,
    /// At which character of it.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for MapError {}

impl Block {
    /// The value of a key.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Every entity of a file.
pub(super) fn read(text: &str) -> Result<Vec<Block>, MapError> {
    let mut words = Words { text, at: 0, line: 1, column: 1, items: 0 };
    let mut blocks = Vec::new();
    while let Some(word) = words.next()? {
        word.expect("{", "an entity begins with {")?;
        blocks.push(block(&mut words, word.line)?);
    }
    Ok(blocks)
}

fn block(words: &mut Words<'_>, line: usize) -> Result<Block, MapError> {
    let mut block = Block { line, ..Block::default() };
    loop {
        words.count_item()?;
        let word = words.some("the entity is not closed with }")?;
        if word.is_quoted {
            let value = words.some("the key has no value")?;
            if !value.is_quoted {
                return Err(value.error("a value stands in quotation marks"));
            }
            block.pairs.push((word.text.to_owned(), value.text.to_owned()));
        } else if word.text == "{" {
            block.brushes.push(brush(words, word.line)?);
        } else {
            word.expect(
                "}",
                "an entity holds keys in quotation marks, { brushes } and ends with }",
            )?;
            return Ok(block);
        }
    }
}

fn brush(words: &mut Words<'_>, line: usize) -> Result<BrushText, MapError> {
    let mut faces = Vec::new();
    let mut word = words.some("the brush is not closed with }")?;
    while word.text != "}" || word.is_quoted {
        words.count_item()?;
        word.expect("(", "a face begins with ( and a brush ends with }")?;
        let points = [point(words, true)?, point(words, false)?, point(words, false)?];
        let texture = words.some("the face has no texture")?.text.to_owned();
        faces.push(FaceText { points, texture });
        word = words.some("the brush is not closed with }")?;
        // Where the texture lies does not matter here: numbers, or two lists in brackets and numbers.
        while !word.is_quoted && !matches!(word.text, "(" | "}") {
            if !matches!(word.text, "[" | "]") {
                word.number()?;
            }
            word = words.some("the brush is not closed with }")?;
        }
    }
    if faces.len() < 4 {
        return Err(word.error("a brush has four faces at least"));
    }
    Ok(BrushText { line, faces })
}

fn point(words: &mut Words<'_>, is_open: bool) -> Result<[f64; 3], MapError> {
    if !is_open {
        words
            .some("the face needs three points")?
            .expect("(", "a face has three points, each in ( )")?;
    }
    let mut point = [0.0; 3];
    for number in &mut point {
        *number = words.some("the point needs three numbers")?.number()?;
    }
    words
        .some("the point is not closed with )")?
        .expect(")", "a point has three numbers and ends with )")?;
    Ok(point)
}

/// The words of a text, one after the other; comments are left out.
struct Words<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
    items: usize,
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    is_quoted: bool,
    line: usize,
    column: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<Option<Word<'a>>, MapError> {
        self.skip_blanks();
        let (line, column, start) = (self.line, self.column, self.at);
        let word = |text, is_quoted| Word { text, is_quoted, line, column };
        match self.peek() {
            None => Ok(None),
            Some('"') => {
                self.advance();
                while self.peek().is_some_and(|letter| letter != '"' && letter != '\n') {
                    self.advance();
                }
                let text = &self.text[start + 1..self.at];
                if self.peek() != Some('"') {
                    return Err(
                        word(text, true).error("the quotation mark is not closed in this line")
                    );
                }
                self.advance();
                Ok(Some(word(text, true)))
            }
            Some(_) => {
                while self.peek().is_some_and(|letter| !letter.is_whitespace()) {
                    self.advance();
                }
                Ok(Some(word(&self.text[start..self.at], false)))
            }
        }
    }

    fn some(&mut self, missing: &str) -> Result<Word<'a>, MapError> {
        let (line, column) = (self.line, self.column);
        self.next()?.ok_or_else(|| MapError { line, column, message: missing.to_owned() })
    }

    fn count_item(&mut self) -> Result<(), MapError> {
        self.items += 1;
        if self.items <= ITEMS_MAX {
            return Ok(());
        }
        let message = format!("a map has at most {ITEMS_MAX} keys, brushes and faces");
        Err(MapError { line: self.line, column: self.column, message })
    }

    fn skip_blanks(&mut self) {
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.advance();
            }
            if !self.text[self.at..].starts_with("//") {
                return;
            }
            while self.peek().is_some_and(|letter| letter != '\n') {
                self.advance();
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn advance(&mut self) {
        if let Some(letter) = self.peek() {
            self.at += letter.len_utf8();
            (self.line, self.column) =
                if letter == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
    }
}

impl Word<'_> {
    fn expect(self, text: &str, rule: &str) -> Result<(), MapError> {
        if self.text == text && !self.is_quoted { Ok(()) } else { Err(self.error(rule)) }
    }

    fn number(self) -> Result<f64, MapError> {
        let number = self.text.parse().ok().filter(|number: &f64| number.abs() <= 1e9);
        number.ok_or_else(|| self.error("this should be a number"))
    }

    fn error(self, rule: &str) -> MapError {
        let message = format!("`{}`: {rule}", self.text);
        MapError { line: self.line, column: self.column, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (usize, usize, String) {
        let error = read(text).unwrap_err();
        (error.line, error.column, error.message)
    }

    #[test]
    fn both_forms_of_faces_are_read() {
        let standard = "( 0 0 0 ) ( 0 1 0 ) ( 0 0 1 ) wall 0 0 0 1 1\n";
        let valve = "( 0 0 0 ) ( 0 1 0 ) ( 0 0 1 ) wall [ 0 1 0 0 ] [ 0 0 -1 0 ] 0 1 1\n";
        let text = format!(
            "// a comment\n{{\n\"classname\" \"worldspawn\"\n{{\n{}{}}}\n}}\n",
            standard.repeat(2),
            valve.repeat(2)
        );
        let blocks = read(&text).unwrap();
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].value("classname"), Some("worldspawn"));
        let faces = &blocks[0].brushes[0].faces;
        assert_eq!(faces.len(), 4);
        assert!(faces.iter().all(|face| *face == faces[0] && face.texture == "wall"));
    }

    #[test]
    fn an_error_tells_line_and_column() {
        let (line, column, message) = error("{\n\"classname\" worldspawn\n}\n");
        assert_eq!((line, column), (2, 13));
        assert!(message.contains("quotation marks"), "{message}");
        assert_eq!(error("{\n\"open\n").0, 2);
        assert_eq!(error("{ \"a\" \"b\"\n").2, "the entity is not closed with }");
        let (line, column, message) = error("{\n{\n( 0 0 0 ) ( 0 l 0 ) ( 0 0 1 ) wall 0\n}\n}");
        assert_eq!((line, column, message.as_str()), (3, 15, "`l`: this should be a number"));
        let (line, column, _) = error("{ {\n ( 0 0 0 ) ( 0 1 0 ) ( 0 0 1 ) wall 0 0 0 1 1 } }");
        assert_eq!((line, column), (2, 47));
        assert_eq!(error("wall").1, 1);
    }
}
