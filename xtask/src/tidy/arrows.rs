//! Checks which crate depends on which, by the folders they stand in. Reads the metadata that cargo
//! prints, and manifests only to tell the line.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Sources;
use super::finding::Finding;

/// All that the library may depend on outside its tests, each with its reason.
const LIBRARY_DEPENDENCIES: &[(&str, &str)] = &[
    ("libm", "a sine that is the same, bit for bit, natively and in the browser"),
    ("blake3", "feature secure: keyed hashes of cookies, reset tokens and the token log"),
    ("chacha20poly1305", "feature secure: tokens, whose long nonces many backends draw at random"),
    ("curve25519-dalek", "feature secure: key agreement with keys from the caller's randomness"),
    ("ring", "feature secure: sealed packets, at a tenth of the cost of portable code"),
    ("snow", "feature secure: the Noise handshake"),
    ("subtle", "feature secure: comparing secrets in constant time"),
    ("zeroize", "feature secure: keys do not stay in memory"),
];

/// The arrows that lead elsewhere than the design allows.
pub(crate) fn check(metadata: &Value, sources: &Sources) -> Result<Vec<Finding>> {
    let root = text_of(metadata, "workspace_root")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        let manifest = from_root(root, text_of(package, "manifest_path")?);
        let folder = manifest.strip_suffix("/Cargo.toml").unwrap_or("");
        let Some(place) = Place::of(folder) else {
            let wrong = format!("no rule says what a crate in `{folder}` may depend on");
            findings.push(Finding::new(&manifest, 1, wrong, "move it, or give it a rule in tidy"));
            continue;
        };
        let text = sources.get(&manifest).map_or("", String::as_str);
        let dependencies = package["dependencies"].as_array();
        for dependency in dependencies.context("cargo metadata lists no dependencies")? {
            if let Some((wrong, remedy)) = judge(root, folder, place, dependency)? {
                let name = dependency["rename"].as_str().unwrap_or(text_of(dependency, "name")?);
                findings.push(Finding::new(&manifest, line_of(name, text), wrong, remedy));
            }
        }
    }
    Ok(findings)
}

/// Where a crate stands, which decides what it may depend on.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Library,
    Links,
    Lab,
    Seeds,
    Game,
    App,
    Xtask,
}

impl Place {
    fn of(folder: &str) -> Option<Place> {
        match folder.split('/').collect::<Vec<_>>()[..] {
            ["crates", "sametick"] => Some(Place::Library),
            ["crates", "sametick-links"] => Some(Place::Links),
            ["crates", "sametick-lab"] => Some(Place::Lab),
            ["crates", "sametick-seeds"] => Some(Place::Seeds),
            ["games", _] => Some(Place::Game),
            ["apps", _] => Some(Place::App),
            ["xtask"] => Some(Place::Xtask),
            _ => None,
        }
    }

    fn may_depend_on(self, other: Place, for_tests: bool) -> bool {
        // What runs simulations is for tests alone, of what is simulated.
        if other == Place::Seeds {
            return for_tests && matches!(self, Place::Library | Place::Game);
        }
        match self {
            Place::Library | Place::Seeds | Place::Xtask => false,
            Place::Links | Place::Game => other == Place::Library,
            Place::Lab => matches!(other, Place::Library | Place::Game),
            Place::App => other != Place::Xtask,
        }
    }
}

/// What is wrong with one dependency and what to do, if anything is.
fn judge(
    root: &str,
    folder: &str,
    place: Place,
    dependency: &Value,
) -> Result<Option<(String, &'static str)>> {
    let name = text_of(dependency, "name")?;
    let for_tests = dependency["kind"].as_str() == Some("dev");
    let Some(path) = dependency["path"].as_str() else {
        let listed = LIBRARY_DEPENDENCIES.iter().any(|(allowed, _reason)| *allowed == name);
        if place != Place::Library || for_tests || listed {
            return Ok(None);
        }
        let wrong = format!("the library depends on `{name}`");
        return Ok(Some((wrong, "do without, or list it in tidy's arrows with its reason")));
    };
    let target = from_root(root, path);
    // A crate that is its own dev-dependency turns on features for its tests.
    if for_tests && target == folder {
        return Ok(None);
    }
    match Place::of(&target) {
        Some(other) if place.may_depend_on(other, for_tests) => Ok(None),
        Some(_) => {
            let wrong = format!("an arrow from `{folder}` to `{target}`");
            Ok(Some((wrong, "move what is shared to a crate that both may depend on")))
        }
        None => {
            let wrong = format!("an arrow from `{folder}` out of the workspace, to `{target}`");
            Ok(Some((wrong, "depend on a published crate or on a member")))
        }
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata has no text under `{key}`"))
}

/// A path from the top of the workspace, with forward slashes on every system.
fn from_root(root: &str, path: &str) -> String {
    let path = Path::new(path);
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The line of the manifest that names the dependency, or the first.
fn line_of(name: &str, manifest: &str) -> usize {
    let names_it = |line: &str| {
        // `name = ..`, `name.workspace = ..` or `[dependencies.name]`
        let line = line.trim();
        let key = line.split(['.', '=', ' ']).next().unwrap_or("").trim_matches('"');
        key == name || (line.starts_with('[') && line.ends_with(&format!("dependencies.{name}]")))
    };
    manifest.lines().position(names_it).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FOLDERS: [&str; 8] = [
        "crates/sametick",
        "crates/sametick-links",
        "crates/sametick-lab",
        "crates/sametick-seeds",
        "games/arena",
        "games/islands",
        "apps/sametick",
        "xtask",
    ];

    /// The findings of a workspace in which `from` has one dependency.
    fn findings(from: &str, dependency: &Value) -> Vec<Finding> {
        let metadata = json!({
            "workspace_root": "/top",
            "packages": [{
                "manifest_path": format!("/top/{from}/Cargo.toml"),
                "dependencies": [dependency],
            }],
        });
        check(&metadata, &Sources::new()).unwrap()
    }

    fn on_folder(to: &str, kind: Option<&str>) -> Value {
        json!({ "name": "other", "kind": kind, "path": format!("/top/{to}") })
    }

    #[test]
    fn arrows_are_those_of_the_design_and_no_others() {
        let allowed = |from: &str, to: &str, kind: Option<&str>| match from {
            "crates/sametick" => to == "crates/sametick-seeds" && kind == Some("dev"),
            "games/arena" | "games/islands" if to == "crates/sametick-seeds" => kind == Some("dev"),
            _ if to == "crates/sametick-seeds" => false,
            "crates/sametick-links" | "games/arena" | "games/islands" => to == "crates/sametick",
            "crates/sametick-lab" => to == "crates/sametick" || to.starts_with("games/"),
            "apps/sametick" => to != "xtask",
            _ => false,
        };
        for from in FOLDERS {
            for to in FOLDERS {
                for kind in [None, Some("build"), Some("dev")] {
                    let itself = from == to && kind == Some("dev");
                    let found = !findings(from, &on_folder(to, kind)).is_empty();
                    assert_eq!(
                        !found,
                        allowed(from, to, kind) || itself,
                        "{from} to {to}, {kind:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_library_depends_on_next_to_nothing() {
        let crate_named = |name: &str, kind: Option<&str>| json!({ "name": name, "kind": kind });
        assert_eq!(findings("crates/sametick", &crate_named("libm", None)), []);
        assert_eq!(findings("crates/sametick", &crate_named("proptest", Some("dev"))), []);
        assert_eq!(findings("games/arena", &crate_named("serde", None)), []);
        assert_eq!(findings("crates/sametick", &crate_named("serde", None)).len(), 1);
        assert_eq!(findings("crates/sametick", &crate_named("cc", Some("build"))).len(), 1);
    }

    #[test]
    fn arrows_stay_inside_the_workspace_and_folders_have_rules() {
        let outside = json!({ "name": "other", "kind": null, "path": "/elsewhere/other" });
        assert_eq!(findings("apps/sametick", &outside).len(), 1);
        let libm = json!({ "name": "libm", "kind": null });
        assert_eq!(findings("crates/odd", &libm).len(), 1);
        assert_eq!(findings("games/arena", &libm).len(), 0);
    }

    #[test]
    fn a_finding_tells_the_line_of_the_manifest() {
        let manifest = "[dependencies]\nserde_json = \"1\"\nserde.workspace = true\n";
        assert_eq!(line_of("serde", manifest), 3);
        assert_eq!(line_of("libm", "[package]\n\n[dev-dependencies.libm]\n"), 3);
        assert_eq!(line_of("absent", manifest), 1);

        let metadata = json!({
            "workspace_root": "/top",
            "packages": [{
                "manifest_path": "/top/crates/sametick/Cargo.toml",
                "dependencies": [{ "name": "serde", "kind": null }],
            }],
        });
        let path = "crates/sametick/Cargo.toml".to_owned();
        let found = check(&metadata, &Sources::from([(path, manifest.to_owned())])).unwrap();
        assert_eq!(found[0].line, 3);
    }

    #[test]
    fn broken_metadata_is_an_error_and_not_a_pass() {
        assert!(check(&json!({}), &Sources::new()).is_err());
        assert!(check(&json!({ "workspace_root": "/top" }), &Sources::new()).is_err());
        assert!(
            check(&json!({ "workspace_root": "/top", "packages": [] }), &Sources::new()).is_ok()
        );
    }
}
