//! Runs every check over the workspace and prints what they found. The checks themselves are pure.

mod arrows;
mod finding;
mod homes;
mod layers;
mod purity;
mod shape;
mod tests_named;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use finding::Finding;

/// The text of every file that is read, by its path from the top of the repository.
type Sources = BTreeMap<String, String>;

/// Prints every finding; the exit code is 1 if there are any.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = workspace_metadata()?;
    let root = metadata["workspace_root"].as_str().context("cargo metadata names no root")?;
    let sources = read_sources(Path::new(root))?;
    let findings = all_findings(&metadata, &sources)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files read, all in order", sources.len());
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("tidy: {} files read, {} findings", sources.len(), findings.len());
    Ok(ExitCode::FAILURE)
}

fn workspace_metadata() -> Result<Value> {
    let mut command = crate::cargo();
    let text = output_of(command.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).context("cargo metadata printed something other than JSON")
}

fn read_sources(root: &Path) -> Result<Sources> {
    let mut git = Command::new("git");
    // New files are read before they are added, so that a finding comes before its commit.
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut sources = Sources::new();
    for path in output_of(&mut git)?.split_terminator('\0').filter(|path| is_text(path)) {
        let file = root.join(path);
        // A file that was deleted but not yet committed is still listed.
        if file.is_file() {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {path}"))?;
            sources.insert(path.to_owned(), text);
        }
    }
    Ok(sources)
}

fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed broken UTF-8"))
}

fn is_text(path: &str) -> bool {
    path == ".ci/run" || [".rs", ".md", ".toml", ".sh"].iter().any(|ending| path.ends_with(ending))
}

fn all_findings(metadata: &Value, sources: &Sources) -> Result<Vec<Finding>> {
    let mut findings = arrows::check(metadata, sources)?;
    findings.extend(layers::check(sources));
    findings.extend(tests_named::check(sources));
    for (path, text) in sources {
        findings.extend(homes::check(path, text));
        if path.ends_with(".rs") {
            findings.extend(shape::check(path, text));
            findings.extend(purity::check(path, text));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_text_is_read() {
        for path in ["xtask/src/main.rs", "README.md", "Cargo.toml", "tools/all.sh", ".ci/run"] {
            assert!(is_text(path), "{path}");
        }
        for path in ["data/arena64.bin", "Cargo.lock", "run"] {
            assert!(!is_text(path), "{path}");
        }
    }

    #[test]
    fn every_check_is_asked() {
        let overgrown = format!("use std::collections::HashMap; // /{}/me\n", "home").repeat(701);
        let sources = Sources::from([("games/arena/src/lib.rs".to_owned(), overgrown)]);
        let metadata = json!({
            "workspace_root": "/top",
            "packages": [{ "name": "odd", "manifest_path": "/top/odd/Cargo.toml", "dependencies": [] }],
        });
        let findings = all_findings(&metadata, &sources).unwrap();
        // One for the crate in an odd place, one for the length and one for the first line, and
        // on each line one for the map and one for the path.
        assert_eq!(findings.len(), 3 + 2 * 701);
    }

    #[test]
    fn lines_of_rust_are_measured_but_not_lines_of_prose() {
        let long = "word ".repeat(100);
        let metadata = json!({ "workspace_root": "/top", "packages": [] });
        let prose = Sources::from([("README.md".to_owned(), long.clone())]);
        assert_eq!(all_findings(&metadata, &prose).unwrap().len(), 0);
        let code = Sources::from([("src/lib.rs".to_owned(), format!("//! {long}"))]);
        assert_eq!(all_findings(&metadata, &code).unwrap().len(), 1);
    }
}
