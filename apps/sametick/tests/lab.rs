//! The lab from the command line: a file to begin with, what will run, the run, its report; and what is refused.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sametick-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Runs the program in the folder.
    fn lab(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sametick"));
        command.current_dir(&self.0).arg("lab").args(arguments).output().expect("it starts")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("it is written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const FRAMES: &str = r#"
question = "What does a client send?"
repetitions = 2
[settings]
play = "fpsci"
duration = "2 s"
warm_up = "1 s"
[factors]
tick_rate = ["30 Hz", "60 Hz"]
[[expect]]
metric = "frame_bytes"
equals = 63
within = "1 %"
"#;

#[test]
fn a_file_is_begun_checked_run_and_reported() {
    let folder = Folder::new("whole");
    assert!(folder.lab(&["new", "ping.toml"]).status.success());
    assert!(!folder.lab(&["new", "ping.toml"]).status.success(), "nothing is written over");
    let checked = out(&folder.lab(&["check", "ping.toml"]));
    assert!(checked.contains("6 conditions x 4 repetitions: 24 trials"), "{checked}");

    folder.write("frames.toml", FRAMES);
    let ran = folder.lab(&["run", "frames.toml", "--json"]);
    let answer: Value = serde_json::from_str(&out(&ran)).expect("one object");
    assert_eq!((&answer["trials"], &answer["all_hold"]), (&4.into(), &true.into()));
    let expectation = &answer["expectations"][0];
    assert_eq!((&expectation["measured"], &expectation["holds"]), (&63.0.into(), &true.into()));

    for part in ["0/2", "1/2"] {
        let name = format!("part-{}.db", &part[..1]);
        assert!(folder.lab(&["run", "frames.toml", "--shard", part, "-o", &name]).status.success());
    }
    let merged = out(&folder.lab(&["merge", "all.db", "part-0.db", "part-1.db"]));
    assert!(merged.contains("4 trials, 2 of them new"), "{merged}");
    assert!(folder.lab(&["report", "all.db", "-o", "report.html"]).status.success());
    let page = std::fs::read_to_string(folder.0.join("report.html")).expect("the page");
    assert!(page.contains("What does a client send?") && !page.contains("<script"));
    assert!(folder.lab(&["export", "all.db", "-o", "tables"]).status.success());
    assert!(folder.0.join("tables/second.csv").is_file());
}

#[test]
fn verifying_what_does_not_hold_fails_and_says_what() {
    let folder = Folder::new("fails");
    folder.write("frames.toml", &FRAMES.replace("equals = 63", "equals = 64"));
    let verified = folder.lab(&["verify", "frames.toml", "--json"]);
    assert_eq!(verified.status.code(), Some(1));
    let answer: Value = serde_json::from_str(&out(&verified)).expect("one object");
    assert_eq!(answer["all_hold"], false);
    assert!(error(&verified).contains("not everything is as expected"), "{}", error(&verified));
}

#[test]
fn what_is_wrong_is_told_in_one_sentence() {
    let folder = Folder::new("wrong");
    folder.write("odd.toml", "question = \"?\"\n[settings]\npnig = \"5 ms\"\n");
    for (arguments, told) in [
        (
            &["check", "odd.toml"][..],
            "odd.toml, line 3, column 1: there is no setting `pnig`; did you mean `ping`?",
        ),
        (&["run", "none.toml"][..], "none.toml cannot be read"),
        (&["report", "none.db"][..], "none.db cannot be opened: there is no such file"),
        (&["report", "odd.toml"][..], "odd.toml is no log"),
        (&["run", "odd.toml", "--shard", "4/4"][..], "0/4 to 3/4"),
    ] {
        let output = folder.lab(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let error = error(&output);
        assert!(error.contains(told) && error.lines().count() == 1, "{arguments:?}: {error}");
    }
}
