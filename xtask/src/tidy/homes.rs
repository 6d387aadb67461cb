//! Finds absolute paths that exist on one machine only, in any text file.

use super::finding::Finding;

/// Top folders whose contents differ from machine to machine. Their slashes are added when they are
/// looked for, so that this file does not find itself.
const HOMES: [&str; 3] = ["work", "root", "home"];

pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for home in HOMES.map(|home| format!("/{home}/")) {
            if line.match_indices(&home).any(|(at, _)| starts_a_path(&line[..at])) {
                let wrong = format!("a path that belongs to one machine (`{home}`)");
                let remedy = "name it from the top of the repository";
                findings.push(Finding::new(path, index + 1, wrong, remedy));
            }
        }
    }
    findings
}

/// What stands before the slash tells the head of an absolute path from the middle of any path.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|last: char| last.is_alphanumeric() || "._-~*}])>".contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_of_one_machine_are_found() {
        for home in HOMES {
            for before in ["", "see ", "\"", "`", "(", "target-dir=", "file://"] {
                let text = format!("fine\n{before}/{home}/me/notes");
                let findings = check("README.md", &text);
                assert_eq!(findings.len(), 1, "{text}");
                assert_eq!(findings[0].line, 2);
            }
        }
    }

    #[test]
    fn other_paths_are_left_alone() {
        for home in HOMES {
            for before in ["src", "https://example.org", "..", "$HOME/x", "${TOP}", "*", "/usr"] {
                let text = format!("{before}/{home}/notes");
                assert_eq!(check("README.md", &text), [], "{text}");
            }
            let word = format!("at /{home}s/ and {home}/");
            assert_eq!(check("README.md", &word), [], "{word}");
        }
    }
}
