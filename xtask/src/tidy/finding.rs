//! One thing that is not in order: where it is, what is wrong and what to do.

use std::fmt;

/// Shown as `path:line: what is wrong; what to do`.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    /// From the top of the repository.
    pub(crate) path: String,
    /// The first line is 1.
    pub(crate) line: usize,
    pub(crate) wrong: String,
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        wrong: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { path: path.to_owned(), line, wrong: wrong.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { path, line, wrong, remedy } = self;
        write!(formatter, "{path}:{line}: {wrong}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_as_an_editor_expects_it() {
        let finding = Finding::new("src/lib.rs", 7, "too long", "split it");
        assert_eq!(finding.to_string(), "src/lib.rs:7: too long; split it");
    }
}
