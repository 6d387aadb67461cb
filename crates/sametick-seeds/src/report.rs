//! What is said of a seed that failed: its options, the faults that are left of it, and the command that repeats it.

use crate::script::Fault;
use crate::settings::write_script;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// So many faults of a kind are told one by one.
const LISTED_MAX: usize = 40;

/// A seed that failed, as far as is known.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) simulation: &'static str,
    pub(crate) seed: u64,
    pub(crate) options: String,
    /// What the whole run failed with.
    pub(crate) why: String,
    /// How many faults it inflicted until then.
    pub(crate) faults: usize,
    pub(crate) shortest: Option<Shortest>,
    pub(crate) command: Command,
}

/// The shortest script that was found to fail.
#[derive(Clone, Debug)]
pub(crate) struct Shortest {
    pub(crate) faults: Vec<Fault>,
    pub(crate) why: String,
    pub(crate) runs: u32,
}

/// All that the command needs besides the script.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) program: &'static str,
    pub(crate) test: &'static str,
    pub(crate) seconds: Option<u64>,
    pub(crate) script: Option<BTreeSet<u32>>,
}

impl Command {
    fn write(&self, seed: u64, script: Option<&BTreeSet<u32>>) -> String {
        let mut command = format!("SAMETICK_FIRST_SEED={seed} SAMETICK_SEEDS=1 ");
        if let Some(seconds) = self.seconds {
            command += &format!("SAMETICK_SECONDS={seconds} ");
        }
        if let Some(script) = script {
            command += &format!("SAMETICK_SCRIPT={} ", write_script(script));
        }
        command + &format!("cargo test {} {}", self.program, self.test)
    }
}

impl Failure {
    /// All of it, in lines.
    pub(crate) fn text(&self) -> String {
        let Self { simulation, seed, options, why, faults, .. } = self;
        let mut text = format!("{simulation}, seed {seed}: {options}\nfailed: {why}\n");
        let whole = self.command.write(*seed, self.command.script.as_ref());
        if let Some(Shortest { faults: left, why: last, runs }) = &self.shortest {
            let _ = writeln!(text, "{} of {faults} faults are left after {runs} runs:", left.len());
            list(left, &mut text);
            match kind_of(last) == kind_of(why) {
                true => text += "with them it failed so",
                false => text += "with them it failed otherwise",
            }
            let kept = left.iter().map(|fault| fault.number).collect();
            let short = self.command.write(*seed, Some(&kept));
            let _ = write!(text, ": {last}\nto repeat with them: {short}\n");
        }
        text + "to repeat: " + &whole
    }
}

/// Writes the faults in their order; of a kind that has too many only how many there are.
fn list(faults: &[Fault], text: &mut String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    faults.iter().for_each(|fault| *counts.entry(fault.kind).or_default() += 1);
    for fault in faults.iter().filter(|fault| counts[fault.kind] <= LISTED_MAX) {
        let _ = writeln!(text, "  {:>5}  {}, {}", fault.number, fault.kind, fault.what);
    }
    for (kind, count) in counts.iter().filter(|(_, count)| **count > LISTED_MAX) {
        let _ = writeln!(text, "  {count} of the kind {kind}");
    }
}

/// The words of a failure without its numbers, up to where its details begin: runs that differ fail alike if these are
/// the same.
fn kind_of(why: &str) -> (String, &str) {
    let place = why.rsplit_once("(at ").map_or("", |(_, place)| place);
    let head = why.split(['[', '{', '\n']).next().unwrap_or("");
    (head.chars().filter(|letter| letter.is_alphabetic()).collect(), place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        Failure {
            simulation: "lockstep",
            seed: 7,
            options: "Options { .. }".to_owned(),
            why: "tick 12: [1, 2] (at party.rs:9:5)".to_owned(),
            faults: 40,
            shortest: None,
            command: Command {
                program: "-p sametick --test all",
                test: "lockstep::faults",
                seconds: Some(20),
                script: None,
            },
        }
    }

    #[test]
    fn a_failure_tells_the_command_that_repeats_it() {
        assert_eq!(
            failure().text(),
            "lockstep, seed 7: Options { .. }\n\
             failed: tick 12: [1, 2] (at party.rs:9:5)\n\
             to repeat: SAMETICK_FIRST_SEED=7 SAMETICK_SEEDS=1 SAMETICK_SECONDS=20 \
             cargo test -p sametick --test all lockstep::faults"
        );
    }

    #[test]
    fn a_failure_that_was_shrunk_tells_its_faults_and_both_commands() {
        let fault = |number| Fault { number, kind: "cut", what: format!("1.5 s: line {number}") };
        let shortest = |why: &str| {
            Some(Shortest { faults: vec![fault(3), fault(4)], why: why.to_owned(), runs: 17 })
        };
        let alike = Failure { shortest: shortest("tick 9: [4] (at party.rs:9:5)"), ..failure() };
        let text = alike.text();
        assert!(text.contains("2 of 40 faults are left after 17 runs:\n"), "{text}");
        assert!(text.contains("      3  cut, 1.5 s: line 3\n"), "{text}");
        assert!(text.contains("with them it failed so: tick 9"), "{text}");
        assert!(text.contains("SAMETICK_SECONDS=20 SAMETICK_SCRIPT=3-4 cargo test"), "{text}");
        assert!(
            text.ends_with(
                "SAMETICK_SECONDS=20 cargo test -p sametick --test all lockstep::faults"
            )
        );
        let other = Failure { shortest: shortest("no host (at party.rs:9:5)"), ..failure() };
        assert!(other.text().contains("with them it failed otherwise: no host"));
    }

    #[test]
    fn faults_of_a_kind_that_has_many_are_counted() {
        let fault = |kind| move |number| Fault { number, kind, what: format!("{number} s") };
        let many = LISTED_MAX as u32 + 1;
        let faults: Vec<Fault> =
            (0..many).map(fault("forgery")).chain((many..many + 2).map(fault("cut"))).collect();
        let mut text = String::new();
        list(&faults, &mut text);
        assert_eq!(text, "     41  cut, 41 s\n     42  cut, 42 s\n  41 of the kind forgery\n");
    }
}
