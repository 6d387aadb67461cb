//! Checks the outward shape of one Rust file: its length, its width and its first line.

use super::finding::Finding;

/// What one can hold in the head.
const FILE_LINES_MAX: usize = 700;
/// The formatter aims at fewer, but leaves long strings and comments as they are.
const LINE_COLUMNS_MAX: usize = 120;

pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The fuzzer's own attributes come first in its targets, and each is named for its decoder.
    if !path.starts_with("fuzz/") && !text.starts_with("//!") {
        let remedy = "begin with a `//!` sentence that says what it does";
        findings.push(Finding::new(path, 1, "the file does not say what it does", remedy));
    }
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX {
        let wrong = format!("{lines} lines, {FILE_LINES_MAX} is the most");
        findings.push(Finding::new(path, lines, wrong, "split the file by noun"));
    }
    for (index, line) in text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            let wrong = format!("{columns} columns, {LINE_COLUMNS_MAX} is the most");
            findings.push(Finding::new(path, index + 1, wrong, "break the line"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests say on which lines something is found.
    fn expect(path: &str, text: &str, lines: &[usize]) {
        let found: Vec<usize> = check(path, text).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{path}: {text}");
    }

    #[test]
    fn a_file_says_what_it_does_first() {
        expect("src/lib.rs", "//! Packs bits.\n", &[]);
        expect("src/lib.rs", "use std::fmt;\n", &[1]);
        expect("src/lib.rs", "\n//! Packs bits.\n", &[1]);
        expect("src/lib.rs", "// Packs bits.\n", &[1]);
        expect("src/lib.rs", "", &[1]);
        expect("fuzz/fuzz_targets/bits.rs", "#![no_main]\n", &[]);
    }

    #[test]
    fn a_file_is_at_most_so_long() {
        expect("src/lib.rs", &"//!\n".repeat(FILE_LINES_MAX), &[]);
        expect("src/lib.rs", &"//!\n".repeat(FILE_LINES_MAX + 1), &[FILE_LINES_MAX + 1]);
        expect("fuzz/fuzz_targets/bits.rs", &"//\n".repeat(FILE_LINES_MAX + 1), &[701]);
    }

    #[test]
    fn a_line_is_at_most_so_wide() {
        let widest = "é".repeat(LINE_COLUMNS_MAX);
        expect("src/lib.rs", &format!("//!\n{widest}\n"), &[]);
        expect("src/lib.rs", &format!("//!\n\n{widest}é\n"), &[3]);
    }
}
