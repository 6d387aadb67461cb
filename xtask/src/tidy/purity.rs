//! Keeps the library and the games pure: no clock, no chance, no undefined order, no outside world,
//! and no arithmetic that differs between machines. Reads one file as text, not as Rust.

use super::finding::Finding;

pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_pure(path) {
        return findings;
    }
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for ban in BANS.iter().filter(|ban| !ban.may_stand_in.contains(&path)) {
            if let Some(name) = ban.names.iter().find(|name| mentions(line, name)) {
                let wrong = format!("{} inside the rules (`{name}`)", ban.wrong);
                findings.push(Finding::new(path, index + 1, wrong, ban.remedy));
            }
        }
        if let Some(name) = FLOAT_METHODS.iter().find(|name| calls(line, name)) {
            let wrong = format!("`{name}` of std, which differs between machines");
            findings.push(Finding::new(path, index + 1, wrong, "use its namesake in `libm`"));
        }
    }
    findings
}

fn is_pure(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    matches!(folders[..], ["crates", "sametick", "src", ..] | ["games", _, "src", ..])
}

/// Names that mean the same trouble; a line is found once, however many of them it has.
struct Ban {
    names: &'static [&'static str],
    wrong: &'static str,
    remedy: &'static str,
    /// The files that exist to hold this trouble.
    may_stand_in: &'static [&'static str],
}

const BANS: &[Ban] = &[
    Ban {
        names: &["Instant::now", "SystemTime"],
        wrong: "a clock",
        remedy: "take the time as an argument, `now: Time`",
        may_stand_in: &[],
    },
    Ban {
        names: &["thread_rng", "rand::", "getrandom", "RandomState"],
        wrong: "chance",
        remedy: "roll the dice that are keyed by seed, tick, entity and purpose",
        // Keys must not be rolled: here the system's randomness enters, behind a trait.
        may_stand_in: &["crates/sametick/src/transport/secure/random.rs"],
    },
    Ban {
        names: &["HashMap", "HashSet"],
        wrong: "a container without order",
        remedy: "use `BTreeMap`, `BTreeSet` or a sorted vector",
        may_stand_in: &[],
    },
    // The short forms catch what was imported in braces.
    Ban {
        names: &["std::thread", "thread::"],
        wrong: "a thread",
        remedy: "let the caller decide what runs where",
        may_stand_in: &[],
    },
    Ban {
        names: &["std::net", "net::"],
        wrong: "a socket",
        remedy: "take and return datagrams; sockets live in sametick-links",
        may_stand_in: &[],
    },
];

/// Everything whose last bit std leaves to the platform. The square root is not among them: it is
/// exact everywhere.
const FLOAT_METHODS: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp",
    "exp2", "exp_m1", "gamma", "hypot", "ln", "ln_1p", "ln_gamma", "log", "log10", "log2", "powf",
    "powi", "sin", "sin_cos", "sinh", "tan", "tanh",
];

/// Whether the name stands in the line on its own, not as a part of a longer word.
fn mentions(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        let ends_open = name.ends_with(':');
        !before.is_some_and(is_word) && (ends_open || !after.is_some_and(is_word))
    })
}

/// Whether the line calls the method, as `x.sin()` or as `f32::sin`.
fn calls(line: &str, method: &str) -> bool {
    line.contains(&format!(".{method}("))
        || ["f32", "f64"].iter().any(|float| mentions(line, &format!("{float}::{method}")))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "games/arena/src/rules.rs";

    #[test]
    fn the_systems_randomness_enters_by_one_file_and_nothing_else_does() {
        let door = "crates/sametick/src/transport/secure/random.rs";
        let line = "use ring::rand::SystemRandom;";
        assert_eq!(check(door, line), []);
        assert_eq!(check("crates/sametick/src/transport/secure/gate.rs", line).len(), 1);
        assert_eq!(check(door, "let now = Instant::now();").len(), 1);
    }

    #[test]
    fn what_is_impure_is_found_once_a_line() {
        for line in [
            "let now = Instant::now();",
            "let now = std::time::SystemTime::now();",
            "let roll = thread_rng().gen();",
            "let roll: u8 = rand::random();",
            "use std::collections::HashMap;",
            "let seen: HashSet<u32> = HashSet::new();",
            "std::thread::spawn(step);",
            "thread::sleep(second);",
            "use std::net::UdpSocket;",
            "let socket = net::UdpSocket::bind(address)?;",
        ] {
            let findings = check(RULES, &format!("//! Rules.\n{line}\n"));
            assert_eq!(findings.len(), 1, "{line}");
            assert_eq!(findings[0].line, 2, "{line}");
        }
    }

    #[test]
    fn what_differs_between_machines_is_found() {
        for method in FLOAT_METHODS {
            for line in [format!("x.{method}(y)"), format!("xs.map(f32::{method})")] {
                assert_eq!(check(RULES, &line).len(), 1, "{line}");
            }
        }
    }

    #[test]
    fn what_is_pure_is_left_alone() {
        for line in [
            "let y = libm::sinf(x);",
            "let y = x.sqrt();",
            "let (sin, cos) = turn.heading(); sin.abs()",
            "self.spin(); self.explode(); bits.ilog2()",
            "use std::collections::BTreeMap;",
            "let kind = Operand::Add; operand::add(); subnet::all()",
            "let rehashed = MyHashMapLike::new(); network::step()",
            "// A HashMap would lose the order.",
            "    /// Unlike `Instant::now`, this is handed in.",
        ] {
            assert_eq!(check(RULES, line), [], "{line}");
        }
    }

    #[test]
    fn only_the_library_and_the_games_must_be_pure() {
        let text = "let now = Instant::now();";
        for path in
            ["crates/sametick/src/core/time.rs", "crates/sametick/src/codec/plain.rs", RULES]
        {
            assert_eq!(check(path, text).len(), 1, "{path}");
        }
        for path in [
            "crates/sametick/tests/soak.rs",
            "crates/sametick-links/src/udp.rs",
            "apps/sametick/src/main.rs",
            "xtask/src/main.rs",
        ] {
            assert_eq!(check(path, text), [], "{path}");
        }
    }
}
