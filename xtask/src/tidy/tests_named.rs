//! Checks that every test of a crate whose tests are one program is a part of it: a file that nobody names compiles
//! nowhere, and its tests never fail.

use super::Sources;
use super::finding::Finding;

/// The program that has them all, in the folder of the tests.
const ALL: &str = "/tests/all.rs";

/// Tests that are neither in the program nor one of their own.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (all, named) in sources.iter().filter(|(path, _)| path.ends_with(ALL)) {
        let folder = all.trim_end_matches("all.rs");
        let manifest = all.replace(ALL, "/Cargo.toml");
        let apart = sources.get(&manifest).map_or("", String::as_str);
        let tests = sources.keys().filter(|path| *path != all);
        for path in tests.filter_map(|path| path.strip_prefix(folder)) {
            let is_test = !path.contains('/') || path.ends_with("/main.rs");
            let is_named = named.contains(&format!("#[path = \"{path}\"]\n"))
                || apart.contains(&format!("path = \"tests/{path}\""));
            if is_test && path.ends_with(".rs") && !is_named {
                let remedy = "name it in all.rs, or in Cargo.toml if it needs a program of its own";
                let wrong = "this test is part of no program".to_owned();
                findings.push(Finding::new(&format!("{folder}{path}"), 1, wrong, remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_nobody_names_is_found() {
        let sources = [
            ("a/Cargo.toml", "[[test]]\npath = \"tests/alone.rs\""),
            ("a/tests/all.rs", "#[path = \"known.rs\"]\nmod known;\n"),
            ("a/tests/known.rs", ""),
            ("a/tests/alone.rs", ""),
            ("a/tests/common/mod.rs", ""),
            ("a/tests/forgotten.rs", ""),
            ("a/tests/folder/main.rs", ""),
            ("b/tests/free.rs", ""),
        ];
        let sources = sources.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let found: Vec<String> =
            check(&Sources::from(sources)).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("folder/main.rs") && found[1].contains("forgotten.rs"));
    }
}
