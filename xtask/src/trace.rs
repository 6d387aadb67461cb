//! Runs the same games natively, as released, and in wasm, and compares what they came to. Knows the
//! examples' names and what they print, nothing of the games.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Package and example.
const EXAMPLES: &[(&str, &str)] = &[
    ("sametick", "trace"),
    ("sametick", "compact_trace"),
    ("sametick", "sealed_trace"),
    ("sametick-arena", "arena_trace"),
    ("sametick-arena", "theatre_trace"),
    ("sametick-islands", "islands_trace"),
    ("sametick-islands", "bridge_trace"),
];
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
    let mut agree = true;
    for example in EXAMPLES {
        agree &= compare(*example)?;
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare(example: (&str, &str)) -> Result<bool> {
    let name = example.1;
    // As tests are built: without optimisation a scene takes a minute.
    let debug = native(example, &["--profile", "test"])?;
    println!("{name}: {debug} natively, with assertions");
    let release = native(example, &["--release"])?;
    println!("{name}: {release} natively, as released");
    let wasm = in_wasm(example)?;
    match &wasm {
        Some(wasm) => println!("{name}: {wasm} in wasm"),
        None => println!("{name}: not run in wasm: there is no node"),
    }
    let agree = debug == release && wasm.is_none_or(|wasm| wasm == debug);
    if !agree {
        eprintln!("{name}: the machines do not agree");
    }
    Ok(agree)
}

fn native(example: (&str, &str), options: &[&str]) -> Result<String> {
    let mut command = cargo("run", example);
    result_of(&output_of(command.args(options))?)
}

/// None where there is no node.
fn in_wasm(example: (&str, &str)) -> Result<Option<String>> {
    if Command::new("node").arg("--version").output().is_err() {
        return Ok(None);
    }
    let mut build = cargo("build", example);
    build.args(["--release", "--target", WASM, "--message-format", "json"]);
    let messages = output_of(&mut build)?;
    let program = messages.lines().filter_map(program_of).next_back();
    let program = program.context("cargo names no wasm program")?;
    result_of(&output_of(Command::new("node").args(["-e", RUNNER, &program]))?).map(Some)
}

/// The program that a message of cargo's tells of, if it does.
fn program_of(message: &str) -> Option<String> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let files = message["filenames"].as_array()?.iter();
    let mut names = files.filter_map(|file| file.as_str());
    names.find(|name| name.ends_with("trace.wasm")).map(str::to_owned)
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

/// Cargo tells its children which cargo runs them, which need not be the first on the path.
fn cargo(verb: &str, (package, example): (&str, &str)) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([verb, "--quiet", "--locked", "--package", package, "--example", example]);
    if ["compact_trace", "sealed_trace", "theatre_trace", "bridge_trace"].contains(&example) {
        command.args(["--features", "secure"]);
    }
    command
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
    fn the_program_is_found_among_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","filenames":["/t/examples/trace.wasm"]}"#;
        assert_eq!(program_of(message).as_deref(), Some("/t/examples/trace.wasm"));
        assert_eq!(program_of(r#"{"reason":"build-finished"}"#), None);
    }
}
