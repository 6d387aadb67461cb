//! The simulations that can be soaked: where their tests are, and how many seeds make a chunk.

/// One simulation, which a test sweeps over seeds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Simulation {
    pub(crate) name: &'static str,
    /// The folder of the package whose tests have it, in the program `all`.
    pub(crate) package: &'static str,
    /// The file that declares it, in the package's folder of tests.
    pub(crate) file: &'static str,
    /// The test that sweeps it, with its modules.
    pub(crate) test: &'static str,
    /// Whether it can be told how many virtual seconds a run has.
    pub(crate) has_seconds: bool,
    /// So many seeds are run before progress is kept: less than a minute on two cores.
    pub(crate) chunk_seeds: u64,
}

const LIBRARY: &str = "crates/sametick";

pub(crate) const ALL: &[Simulation] = &[
    Simulation {
        name: "connections",
        package: LIBRARY,
        file: "simulation/main.rs",
        test: "simulation::every_invariant_holds_for_every_seed",
        has_seconds: true,
        chunk_seeds: 100,
    },
    Simulation {
        name: "games",
        package: LIBRARY,
        file: "game/seeds.rs",
        test: "game::seeds::every_invariant_of_a_game_holds_for_every_seed",
        has_seconds: true,
        chunk_seeds: 100,
    },
    Simulation {
        name: "worlds",
        package: LIBRARY,
        file: "large/seeds.rs",
        test: "large::seeds::every_world_arrives_and_little_more_than_it_is_sent",
        has_seconds: false,
        chunk_seeds: 20,
    },
    Simulation {
        name: "lockstep",
        package: LIBRARY,
        file: "lockstep/faults.rs",
        test: "lockstep::faults::everyone_steps_the_same_worlds_through_all_faults_and_goes_on_after_them",
        has_seconds: false,
        chunk_seeds: 100,
    },
    Simulation {
        name: "migration",
        package: LIBRARY,
        file: "succession/main.rs",
        test: "succession::when_the_host_dies_one_successor_goes_on_within_three_seconds",
        has_seconds: false,
        chunk_seeds: 100,
    },
    Simulation {
        name: "partitions",
        package: LIBRARY,
        file: "succession/partitions.rs",
        test: "succession::partitions::whatever_happens_to_lines_and_machines_there_are_never_two_hosts",
        has_seconds: false,
        chunk_seeds: 50,
    },
    Simulation {
        name: "eventlock",
        package: LIBRARY,
        file: "eventlock/agreement.rs",
        test: "eventlock::agreement::official_worlds_agree_at_every_second_of_200_matches_with_faults",
        has_seconds: false,
        chunk_seeds: 200,
    },
    Simulation {
        name: "arena",
        package: "games/arena",
        file: "simulation.rs",
        test: "simulation::every_seed_of_a_match_holds",
        has_seconds: false,
        chunk_seeds: 20,
    },
    Simulation {
        name: "islands",
        package: "games/islands",
        file: "all/seeds.rs",
        test: "seeds::every_seed_of_a_contest_holds",
        has_seconds: false,
        chunk_seeds: 20,
    },
];

/// The simulation of a name.
pub(crate) fn named(name: &str) -> Option<&'static Simulation> {
    ALL.iter().find(|simulation| simulation.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// Every file of tests that declares a simulation, from the top of the repository, and its text.
    fn declarations(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                declarations(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                if text.contains("= Simulation {\n") {
                    let path = path.strip_prefix(root()).unwrap();
                    found.push((path.to_str().unwrap().replace('\\', "/"), text));
                }
            }
        }
    }

    /// The text of a field in a declaration.
    fn field<'a>(text: &'a str, name: &str) -> &'a str {
        let declared = text.split("= Simulation {\n").nth(1).unwrap();
        let at = declared
            .find(&format!("\n    {name}: "))
            .or_else(|| declared.starts_with(&format!("    {name}: ")).then_some(0));
        let value =
            declared[at.unwrap_or_else(|| panic!("no {name} in {declared}"))..].trim_start();
        value[name.len() + 1..].trim_start().split(",\n").next().unwrap().trim_matches('"')
    }

    #[test]
    fn every_simulation_that_a_test_declares_is_soaked_and_no_other() {
        let mut found = Vec::new();
        for top in ["crates", "games"] {
            for package in fs::read_dir(root().join(top)).unwrap() {
                let tests = package.unwrap().path().join("tests");
                if tests.is_dir() {
                    declarations(&tests, &mut found);
                }
            }
        }
        let mut declared: Vec<&str> = found.iter().map(|(_, text)| field(text, "name")).collect();
        let mut known: Vec<&str> = ALL.iter().map(|simulation| simulation.name).collect();
        declared.sort_unstable();
        known.sort_unstable();
        assert_eq!(declared, known);
        for (path, text) in &found {
            let simulation = named(field(text, "name")).unwrap();
            assert_eq!(*path, format!("{}/tests/{}", simulation.package, simulation.file));
            assert_eq!(field(text, "test"), simulation.test, "{path}");
            assert_eq!(field(text, "seconds") != "None", simulation.has_seconds, "{path}");
            let function = simulation.test.rsplit("::").next().unwrap();
            assert!(
                text.contains(&format!("#[test]\nfn {function}() {{")),
                "no {function} in {path}"
            );
        }
    }

    #[test]
    fn the_programs_of_all_simulations_are_there() {
        for Simulation { name, package, .. } in ALL {
            let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
            let is_named = manifest.contains("[[test]]\nname = \"all\"\n");
            let is_found = root().join(package).join("tests/all/main.rs").is_file();
            assert!(is_named || is_found, "{name}: {package} has no program `all`");
            assert!(manifest.contains("sametick-seeds.workspace = true"), "{package}");
        }
    }
}
