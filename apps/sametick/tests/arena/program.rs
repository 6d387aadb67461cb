//! The program as its users start it: run to its end, or beside the test and asked to stop by a signal.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

pub(crate) fn sametick(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sametick");
    Command::new(program).args(arguments).output().expect("the program starts")
}

/// The one object that it answers with.
pub(crate) fn answer(arguments: &[&str]) -> Value {
    let output = sametick(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    serde_json::from_slice(&output.stdout).expect("one object and nothing else")
}

/// The one sentence with which it refuses.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let output = sametick(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let sentence = String::from_utf8(output.stderr).expect("text");
    let is_one_line = sentence.trim_end().lines().count() == 1;
    assert!(is_one_line && sentence.starts_with("error: "), "{arguments:?}: {sentence}");
    sentence
}

/// A file of this test alone.
pub(crate) fn scratch(name: &str, text: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the scratch folder can be written");
    path.to_str().expect("its path is text").to_owned()
}

/// A program that runs beside the test and tells one object a line.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// In surroundings of its own.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sametick"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("it has an output"));
        Self { child, lines }
    }

    /// A server of its own kind on a port of its own.
    pub(crate) fn serve(arguments: &[&str]) -> (Self, String) {
        let common = ["serve", "--address", "127.0.0.1:0", "--map", "corners", "--json"];
        let mut server = Self::start(&[&common, arguments].concat());
        let address = server.next("listening")["address"].as_str().expect("text").to_owned();
        (server, address)
    }

    /// The next line about this kind of event; those before it are passed over.
    pub(crate) fn next(&mut self, event: &str) -> Value {
        self.next_of(&[event])
    }

    /// The same for whichever of several comes first.
    pub(crate) fn next_of(&mut self, events: &[&str]) -> Value {
        loop {
            let mut line = String::new();
            let bytes = self.lines.read_line(&mut line).expect("it can be read");
            assert!(bytes > 0, "it ended and never told of {events:?}");
            let object: Value = serde_json::from_str(&line).expect("an object a line");
            if events.iter().any(|event| object["event"] == *event) {
                return object;
            }
        }
    }

    /// Asks it to stop, as the system does.
    pub(crate) fn ask_to_stop(&self) {
        let command = format!("kill -TERM {}", self.child.id());
        let done = Command::new("sh").args(["-c", &command]).status().expect("there is a shell");
        assert!(done.success());
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("it can be read");
        (self.child.wait().expect("it ends"), rest)
    }
}

/// A test that fails leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
