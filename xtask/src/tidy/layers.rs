//! Checks the imports of the library against the layers that ARCHITECTURE.md lists: a layer imports only layers above
//! it in the list, and the modules of a layer form no cycle of more than two.

use std::collections::{BTreeMap, BTreeSet};

use super::Sources;
use super::finding::Finding;

/// The sources whose imports are checked.
const FOLDER: &str = "crates/sametick/src/";
/// The document that lists the layers, and the fence of the list.
const DOCUMENT: &str = "ARCHITECTURE.md";
const FENCE: &str = "```layers";
/// The most modules that may import each other.
const CYCLE_MODULES_MAX: usize = 2;
/// Cycles that are still to be cut: the machines of the lockstep player and of the client share one struct each.
const CYCLES_LEFT: [&[&str]; 2] = [
    &[
        "lockstep::barrier",
        "lockstep::desync",
        "lockstep::election",
        "lockstep::player",
        "lockstep::playing",
        "lockstep::relay",
    ],
    &["replication::client::eye", "replication::client::follow", "replication::client::predict"],
];

/// Imports that point to a higher layer, and cycles within one.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let modules = modules(sources);
    if modules.is_empty() {
        return Vec::new();
    }
    let layers = layers(sources.get(DOCUMENT).map_or("", String::as_str));
    let exports = exports(sources.get(&format!("{FOLDER}lib.rs")).map_or("", String::as_str));
    let mut findings = Vec::new();
    let mut within: Graph = Graph::new();
    for (module, path) in &modules {
        let Some(own_rank) = rank(&layers, module) else {
            let wrong = format!("`{}` is no layer of {DOCUMENT}", layer_of(module));
            findings.push(Finding::new(path, 1, wrong, "move the file, or list the layer"));
            continue;
        };
        let code = code_of(sources.get(path).map_or("", String::as_str));
        for (line, import) in imports(&code, module) {
            let Some(target) = resolve(&modules, &exports, &import) else { continue };
            if rank(&layers, &target).is_some_and(|other| other > own_rank) {
                let wrong = format!("an import of `{target}`, which is of a higher layer");
                findings.push(Finding::new(path, line, wrong, "move what is shared down"));
            }
            let is_kin = target.starts_with(&format!("{module}::"))
                || module.starts_with(&format!("{target}::"));
            if layer_of(&target) == layer_of(module) && target != *module && !is_kin {
                within.entry(module.clone()).or_default().insert(target);
            }
        }
    }
    findings.extend(cycles(&within).into_iter().filter_map(|cycle| {
        let path = &modules[cycle.first()?];
        let names: Vec<&str> = cycle.iter().map(String::as_str).collect();
        let is_left = CYCLES_LEFT.contains(&&names[..]);
        let wrong = format!("a cycle of imports: {}", names.join(", "));
        let is_wrong = cycle.len() > CYCLE_MODULES_MAX && !is_left;
        is_wrong.then(|| Finding::new(path, 1, wrong, "move what is shared to a module below"))
    }));
    findings
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The names of the layers, lowest first: the first word of each line of the list.
fn layers(document: &str) -> Vec<&str> {
    let list = document.lines().skip_while(|line| *line != FENCE).skip(1);
    let list = list.take_while(|line| !line.starts_with("```"));
    list.filter_map(|line| line.split_whitespace().next()).collect()
}

fn layer_of(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn rank(layers: &[&str], module: &str) -> Option<usize> {
    layers.iter().position(|layer| *layer == layer_of(module))
}

/// Every module of the library but its root and its tests, with its file.
fn modules(sources: &Sources) -> BTreeMap<String, String> {
    let files = sources.keys().filter_map(|path| Some((path, path.strip_prefix(FOLDER)?)));
    let named = files.filter_map(|(path, rest)| {
        let name = rest.strip_suffix(".rs")?;
        let name = name.strip_suffix("/mod").unwrap_or(name).replace('/', "::");
        let is_test = name.split("::").any(|part| part.ends_with("tests"));
        (name != "lib" && !is_test).then(|| (name, path.clone()))
    });
    named.collect()
}

/// The names at the root of the library, and the modules that they are of.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let code = code_of(lib);
    let mut exports = BTreeMap::new();
    for statement in code.split(';').filter_map(|part| part.split("pub use crate::").nth(1)) {
        let (module, names) = match statement.split_once("::{") {
            Some((module, names)) => (module, names.trim_end_matches('}')),
            None => statement.rsplit_once("::").unwrap_or((statement, "")),
        };
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            exports.insert(name.to_owned(), format!("{module}::{name}"));
        }
    }
    exports
}

/// A source without comments and without what follows its first test.
fn code_of(text: &str) -> String {
    let end = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|mark| text.find(mark)).min();
    let code = &text[..end.unwrap_or(text.len())];
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path from the root of the library that a module names, with its line.
fn imports(code: &str, module: &str) -> Vec<(usize, Vec<String>)> {
    let own: Vec<&str> = module.split("::").collect();
    let mut found = Vec::new();
    for (at, word) in starts(code) {
        let line = 1 + code[..at].matches('\n').count();
        let mut rest = &code[at + word.len()..];
        let mut base = if word == "crate" { Vec::new() } else { own.clone() };
        if word == "super" {
            base.pop();
            while let Some(after) = rest.strip_prefix("::super") {
                base.pop();
                rest = after;
            }
        }
        let mut path: Vec<String> = base.iter().map(|part| (*part).to_owned()).collect();
        while let Some(after) = rest.strip_prefix("::") {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &after[..end.unwrap_or(after.len())];
            rest = &after[name.len()..];
            if name.is_empty() {
                break;
            }
            path.push(name.to_owned());
        }
        match rest.strip_prefix('{').and_then(|list| list.split_once('}')) {
            Some((list, _)) => {
                for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                    let names = name.split(" as ").next().unwrap_or(name).split("::");
                    let whole = path.iter().cloned().chain(names.map(str::to_owned));
                    found.push((line, whole.collect()));
                }
            }
            None => found.push((line, path)),
        }
    }
    found
}

/// Where paths begin that can lead out of a module.
fn starts(code: &str) -> Vec<(usize, &'static str)> {
    let mut starts = Vec::new();
    for word in ["crate", "super"] {
        for (at, _) in code.match_indices(&format!("{word}::")) {
            let before = code[..at].chars().next_back();
            let is_inside = before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c));
            if !is_inside {
                starts.push((at, word));
            }
        }
    }
    starts
}

/// The module that a path leads to; none if it leads nowhere in the library.
fn resolve(
    modules: &BTreeMap<String, String>,
    exports: &BTreeMap<String, String>,
    import: &[String],
) -> Option<String> {
    let mut path = import.to_vec();
    if let Some(real) = path.first().and_then(|first| exports.get(first)) {
        path.splice(..1, real.split("::").map(str::to_owned));
    }
    while !path.is_empty() {
        let name = path.join("::");
        if modules.contains_key(&name) {
            return Some(name);
        }
        path.pop();
    }
    None
}

/// Groups of modules that reach each other, each sorted.
fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|from| (from.as_str(), reach(graph, from))).collect();
    let mut cycles = BTreeSet::new();
    for (from, to) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|to| to.contains(from));
        let cycle: Vec<String> = to.iter().filter(back).map(|name| (*name).to_owned()).collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

/// Every module that can be reached by one import or more.
fn reach<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Map\n```layers\ncore   bits\nsim    rules\ntop    all\n```\n";

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut sources = Sources::from([(DOCUMENT.to_owned(), LIST.to_owned())]);
        for (path, text) in files {
            sources.insert(format!("{FOLDER}{path}"), (*text).to_owned());
        }
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_import_of_a_higher_layer_is_found_however_it_is_written() {
        let higher = ("sim/world.rs", "pub struct World;");
        let exports = ("lib.rs", "pub use crate::sim::world::{Tick, World};");
        for import in [
            "use crate::sim::world::World;",
            "use crate::sim::{world, other};",
            "fn f() -> crate::sim::world::World { }",
            "use super::super::sim::world::World;",
            "use crate::World;",
            "use crate::{Tick, World};",
        ] {
            let found = findings(&[("core/bits.rs", import), higher, exports]);
            assert!(found.iter().any(|f| f.contains("core/bits.rs:1: an import of `sim::world`")));
        }
    }

    #[test]
    fn an_import_of_a_lower_layer_and_one_in_a_comment_or_a_test_are_fine() {
        let lower = ("core/bits.rs", "// crate::sim::world\n#[cfg(test)]\nuse crate::sim::world;");
        assert_eq!(findings(&[("sim/world.rs", "use crate::core::bits;"), lower]), [""; 0]);
    }

    #[test]
    fn a_folder_that_is_no_layer_is_found() {
        assert_eq!(findings(&[("odd/thing.rs", ""), ("odd/thing_tests.rs", "")]).len(), 1);
    }

    #[test]
    fn three_modules_that_import_each_other_are_found_and_two_are_not() {
        let to = |other: &str| format!("use super::{other}::X;");
        let two = [("sim/a.rs", &*to("b")), ("sim/b.rs", &*to("a"))];
        assert_eq!(findings(&two), [""; 0]);
        let three = [("sim/a.rs", &*to("b")), ("sim/b.rs", &*to("c")), ("sim/c.rs", &*to("a"))];
        let found = findings(&three);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a cycle of imports: sim::a, sim::b, sim::c"), "{found:?}");
    }

    #[test]
    fn a_module_and_its_parent_may_import_each_other() {
        let parent = ("sim/a.rs", "use crate::sim::a::child::X; use crate::sim::b::Y;");
        let child = ("sim/a/child.rs", "use super::Z; use crate::sim::b::Y;");
        assert_eq!(findings(&[parent, child, ("sim/b.rs", "")]), [""; 0]);
    }
}
