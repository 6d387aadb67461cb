//! Runs the same games natively, as released, and in wasm, and compares what they came to. Knows the
//! examples' names and what they print, nothing of the games.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// What is compared, and the packages that have it.
const EXAMPLES: &[&str] = &[
    "trace",
    "compact_trace",
    "sealed_trace",
    "arena_trace",
    "theatre_trace",
    "islands_trace",
    "bridge_trace",
];
const PACKAGES: &[&str] = &["sametick", "sametick-arena", "sametick-islands"];
/// What uses them with the same features, so that what tests and releases built is not built again.
const USER: &str = "sametick-app";
const WASM: &str = "wasm32-unknown-unknown";
const MARK: &str = "sametick trace ";

/// Runs the program and looks for its result in its memory: it has nothing to print with.
const RUNNER: &str = "
const program = require('fs').readFileSync(process.argv[1]);
WebAssembly.instantiate(program, {}).then(({ instance }) => {
    instance.exports.main(0, 0);
    const memory = Buffer.from(instance.exports.memory.buffer).toString('latin1');
    console.log(memory.match(/sametick trace [0-9a-f]{16}/)[0]);
});";

pub(crate) fn run() -> Result<ExitCode> {
    // As tests are built: without optimisation a scene takes a minute.
    let asserting = build(&["--workspace", "--profile", "test"])?;
    let released = build(&["--release", "--package", USER])?;
    let has_node = Command::new("node").arg("--version").output().is_ok();
    let in_wasm = if has_node { Some(build(&["--release", "--target", WASM])?) } else { None };
    let mut agree = true;
    for name in EXAMPLES {
        let first = result_of(&output_of(&mut Command::new(program(&asserting, name)?))?)?;
        println!("{name}: {first} natively, with assertions");
        let released = result_of(&output_of(&mut Command::new(program(&released, name)?))?)?;
        println!("{name}: {released} natively, as released");
        let mut agrees = first == released;
        if let Some(in_wasm) = &in_wasm {
            let program = program(in_wasm, name)?;
            let wasm = result_of(&output_of(Command::new("node").args(["-e", RUNNER, program]))?)?;
            println!("{name}: {wasm} in wasm");
            agrees &= first == wasm;
        } else {
            println!("{name}: not run in wasm: there is no node");
        }
        if !agrees {
            eprintln!("{name}: the machines do not agree");
        }
        agree &= agrees;
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds all of them at once, so that what they share is built once; where each is.
fn build(options: &[&str]) -> Result<BTreeMap<String, String>> {
    let mut cargo = crate::cargo();
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--features",
        "sametick/secure",
        "--message-format",
        "json",
    ]);
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    cargo.args(EXAMPLES.iter().flat_map(|example| ["--example", example]));
    let messages = output_of(cargo.args(options))?;
    Ok(messages.lines().filter_map(program_of).collect())
}

fn program<'a>(built: &'a BTreeMap<String, String>, name: &str) -> Result<&'a str> {
    built.get(name).map(String::as_str).with_context(|| format!("cargo names no program {name}"))
}

/// The name and the place of the example that a message of cargo's tells of, if it does.
fn program_of(message: &str) -> Option<(String, String)> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    if message["target"]["kind"][0] != "example" {
        return None;
    }
    let name = message["target"]["name"].as_str()?;
    // In wasm nothing counts as a program that a system could run.
    let files = message["filenames"].as_array()?.iter().filter_map(|file| file.as_str());
    let wasm = files.into_iter().find(|file| file.ends_with(".wasm"));
    let place = message["executable"].as_str().or(wasm)?;
    Some((name.to_owned(), place.to_owned()))
}

fn result_of(text: &str) -> Result<String> {
    let result = text.lines().find_map(|line| line.strip_prefix(MARK));
    result.map(str::to_owned).context("the example did not say what it came to")
}

fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start cargo or node")?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("broken UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_found_among_other_lines() {
        assert_eq!(result_of("warming up\nsametick trace 00ff\n").unwrap(), "00ff");
        assert!(result_of("sametick\n").is_err());
    }

    #[test]
    fn examples_are_found_among_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"trace"},
            "filenames":["/t/examples/trace.wasm"],"executable":null}"#;
        let found = ("trace".to_owned(), "/t/examples/trace.wasm".to_owned());
        assert_eq!(program_of(message), Some(found));
        assert_eq!(program_of(r#"{"reason":"build-finished"}"#), None);
    }
}
