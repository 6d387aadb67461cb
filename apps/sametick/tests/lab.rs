//! The lab from the command line: a file to begin with, what will run, the run, its report; and what is refused.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

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
        command.current_dir(&self.0).env("TMPDIR", &self.0).arg("lab").args(arguments);
        command.output().expect("it starts")
    }

    /// Starts the program in the folder, and leaves it to itself.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sametick"));
        command.current_dir(&self.0).arg("lab").args(arguments).stdout(Stdio::null());
        command.stderr(Stdio::null()).spawn().expect("it starts")
    }

    /// Runs what is missing of a file, and gives the object at the end.
    fn run(&self, file: &str, database: &str) -> Value {
        let ran = self.lab(&["run", file, "-o", database, "--json"]);
        serde_json::from_str(&out(&ran)).unwrap_or_else(|_| panic!("{}", error(&ran)))
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
    assert_eq!(answer["database"], Value::Null, "it is thrown away");
    let told = out(&folder.lab(&["verify", "frames.toml", "--threads", "1"]));
    assert!(told.contains("0 of 2 expectations hold (") && !told.contains(".db"), "{told}");
    folder.lab(&["verify", "frames.toml", "-o", "kept"]);
    assert!(folder.0.join("kept/frames.db").is_file());
}

#[test]
fn where_there_is_nothing_to_do_that_is_an_error() {
    let folder = Folder::new("nothing");
    std::fs::create_dir(folder.0.join("empty")).expect("a folder");
    folder.write("frames.toml", FRAMES);
    folder.write("silent.toml", FRAMES.split("[[expect]]").next().unwrap_or_default());
    assert!(folder.lab(&["run", "frames.toml", "-o", "virtual.db"]).status.success());
    for (arguments, told) in [
        (&["verify", "empty"][..], "empty has no experiment in it"),
        (&["verify", "silent.toml"][..], "silent.toml expects nothing"),
        (
            &["run", "frames.toml", "--real-time", "-o", "virtual.db"][..],
            "virtual.db was played in virtual time: choose another file with -o",
        ),
        (
            &["run", "frames.toml", "--quick", "-o", "virtual.db"][..],
            "virtual.db holds an experiment of full size, run without --quick",
        ),
        (
            &["figure", "virtual.db", "--metrics", "acuracy", "--over", "tick_rate"][..],
            "did you mean `accuracy`?",
        ),
        (
            &["figure", "virtual.db", "--metrics", "accuracy", "--over", "tick_rate"][..],
            "accuracy was not measured in this log",
        ),
    ] {
        let output = folder.lab(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(error(&output).contains(told), "{arguments:?}: {}", error(&output));
    }
    assert!(folder.lab(&["report", "virtual.db", "-o", "report.html"]).status.success());
    let page = std::fs::read_to_string(folder.0.join("report.html")).expect("the page");
    assert!(page.contains("sametick lab run frames.toml -o virtual.db"), "how to run it again");
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

#[test]
fn all_mistakes_of_a_file_are_told_line_by_line() {
    let folder = Folder::new("mistakes");
    folder.write(
        "odd.toml",
        "question = \"?\"\nsede = 1\n[settings]\npnig = \"5 ms\"\nloss = \"x\"\n",
    );
    let checked = folder.lab(&["check", "odd.toml"]);
    let told = error(&checked);
    assert_eq!((checked.status.code(), told.lines().count()), (Some(1), 3), "{told}");
    for line in [
        "odd.toml, line 2, column 1: ",
        "odd.toml, line 4, column 1: ",
        "odd.toml, line 5, column 8: ",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

#[test]
fn what_a_check_counts_adds_up() {
    let folder = Folder::new("sums");
    let file = "question = \"?\"\nparticipants = 2\npractice = 1\n[[session]]\nname = \"a\"\n[session.factors]\n\
                ping = [\"0 ms\", \"9 ms\"]\n[[session.trial]]\ncount = 3\n[[session.trial]]\nloss = \"9 %\"\n\
                [[session]]\nname = \"b\"\nrepetitions = 5\n";
    folder.write("sums.toml", file);
    let checked = out(&folder.lab(&["check", "sums.toml"]));
    for told in [
        "32 trials, ",
        "session a: 2 conditions x 2 participants x 1 repetition x 4 trials of 2 kinds, and 4 of practice: 20 trials",
        "session b: 1 condition x 2 participants x 5 repetitions, and 2 of practice: 12 trials",
    ] {
        assert!(checked.contains(told), "{told}: {checked}");
    }
}

#[test]
fn two_databases_are_compared_by_what_differs_most_and_by_the_metrics_that_are_named() {
    let folder = Folder::new("compare");
    folder.write("one.toml", FRAMES);
    folder.write("two.toml", &FRAMES.replace("play = ", "jitter = \"9 ms\"\nplay = "));
    folder.run("one.toml", "one.db");
    folder.run("two.toml", "two.db");
    let compared = out(&folder.lab(&["compare", "one.db", "two.db"]));
    let shares: Vec<f64> = compared
        .lines()
        .skip(1)
        .filter_map(|line| line.split(" %").next()?.rsplit(' ').next()?.parse().ok())
        .collect();
    assert!(shares.len() > 10 && shares.is_sorted_by(|one, other| one >= other), "{compared}");
    let first = compared.lines().skip(1).take(4);
    assert!(first.clone().any(|line| line.starts_with("line_delay")), "{compared}");
    let arguments = ["compare", "one.db", "two.db", "--metrics", "frames,frame_bytes"];
    let some = out(&folder.lab(&arguments));
    assert_eq!(some.lines().count(), 1 + 2 * 2, "{some}");
    let wrong = error(&folder.lab(&["compare", "one.db", "two.db", "--metrics", "frame_byte"]));
    assert!(wrong.contains("did you mean `frame_bytes`?"), "{wrong}");
}

/// Forty trials of some tens of milliseconds each.
const MANY: &str = r#"
question = "Does it go on?"
repetitions = 40
[settings]
play = "fpsci"
players = 16
duration = "20 s"
"#;

#[test]
fn a_run_that_is_killed_goes_on_where_it_was_and_ends_in_the_same_log() {
    let folder = Folder::new("killed");
    folder.write("many.toml", MANY);
    let whole = folder.run("many.toml", "whole.db");
    let mut kept = Vec::new();
    for millis in [40, 250, 500] {
        let mut child = folder.start(&["run", "many.toml", "-o", "killed.db", "--threads", "1"]);
        std::thread::sleep(Duration::from_millis(millis));
        // On Unix this is kill -9.
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        let checked = folder.lab(&["report", "killed.db", "-o", "killed.html"]);
        let is_made = folder.0.join("killed.db").is_file();
        kept.push(checked.status.success());
        assert!(checked.status.success() || !is_made || millis == 40, "{}", error(&checked));
    }
    let ended = folder.run("many.toml", "killed.db");
    assert_eq!(ended["trials"], 40, "{kept:?}");
    assert_eq!(ended["database_hash"], whole["database_hash"]);
}

#[test]
fn two_labs_do_not_write_one_file() {
    let folder = Folder::new("two");
    folder.write("many.toml", &MANY.replace("repetitions = 40", "repetitions = 4000"));
    let mut child = folder.start(&["run", "many.toml", "-o", "one.db", "--threads", "1"]);
    while !folder.0.join("one.db-wal").is_file() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = folder.lab(&["run", "many.toml", "-o", "one.db"]);
    let told = error(&second);
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert!(told.contains("another lab is writing one.db: wait for it, or stop it"), "{told}");
    assert!(!second.status.success() && told.lines().count() == 1, "{told}");
}

#[test]
fn a_database_of_another_version_is_refused_and_left_as_it_is() {
    let folder = Folder::new("version");
    folder.write("frames.toml", FRAMES);
    folder.run("frames.toml", "frames.db");
    let path = folder.0.join("frames.db");
    let mut bytes = std::fs::read(&path).expect("the file");
    // Where SQLite keeps the version that a program gives its tables.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&path, &bytes).expect("ours");
    for arguments in [&["report", "frames.db"][..], &["run", "frames.toml", "-o", "frames.db"][..]]
    {
        let told = error(&folder.lab(arguments));
        assert!(told.contains("frames.db is of version 99, this program reads"), "{told}");
    }
    assert_eq!(std::fs::read(&path).expect("the file"), bytes);
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_is_told_and_loses_no_trial_that_was_whole() {
    let folder = Folder::new("disk");
    let text = MANY.replace("repetitions = 40", "repetitions = 8");
    folder.write("many.toml", &text.replace("duration = \"20 s\"", "duration = \"60 s\""));
    let whole = folder.run("many.toml", "whole.db");
    // No file may grow beyond this many blocks, of 512 bytes or of 1024: as if the disk ended there.
    let limited =
        "trap '' XFSZ; ulimit -f 400; exec \"$0\" lab run many.toml -o full.db --threads 1";
    let mut command = Command::new("sh");
    command.current_dir(&folder.0).args(["-c", limited, env!("CARGO_BIN_EXE_sametick")]);
    let ran = command.output().expect("it starts");
    let told = error(&ran);
    assert!(!ran.status.success() && told.contains("make room"), "{told}");
    let ended = folder.run("many.toml", "full.db");
    assert_eq!(ended["database_hash"], whole["database_hash"]);
}

#[test]
fn a_folder_of_experiments_is_verified_at_its_reduced_size() {
    let folder = Folder::new("folder");
    std::fs::create_dir(folder.0.join("all")).expect("a folder");
    let quick = format!("{FRAMES}[quick]\nrepetitions = 1\nfactors.tick_rate = [\"60 Hz\"]\n");
    folder.write("all/one.toml", &quick);
    folder.write("all/two.toml", &quick.replace("What does", "And what does"));
    let verified = folder.lab(&["verify", "all", "--quick", "--json"]);
    let answer: Value = serde_json::from_str(&out(&verified)).expect("one object");
    assert_eq!((&answer["all_hold"], verified.status.success()), (&true.into(), true));
    let trials = |at: usize| answer["experiments"][at]["trials"].clone();
    assert_eq!((trials(0), trials(1)), (1.into(), 1.into()));
    for entry in std::fs::read_dir(folder.0.join("all")).expect("the folder") {
        let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
        assert!(name.ends_with(".toml"), "{name} was left behind");
    }
}

#[test]
fn programs_of_a_file_are_run_only_when_that_is_allowed() {
    let folder = Folder::new("allowed");
    folder.write(
        "odd.toml",
        &format!("{FRAMES}[programs]\ntrial_start = [\"no-such-program\", \"x\"]\n"),
    );
    let checked = out(&folder.lab(&["check", "odd.toml"]));
    assert!(checked.contains("runs no-such-program x, with --programs"), "{checked}");
    for arguments in [&["run", "odd.toml"][..], &["verify", "odd.toml"][..]] {
        let told = error(&folder.lab(arguments));
        assert!(told.contains("odd.toml runs programs (no-such-program x)"), "{told}");
    }
    for entry in std::fs::read_dir(&folder.0).expect("the folder") {
        let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
        assert_eq!(name, "odd.toml", "it was left behind");
    }
    let told = error(&folder.lab(&["run", "odd.toml", "--programs"]));
    assert!(
        told.contains("the program \"no-such-program\" of `trial_start` cannot be run"),
        "{told}"
    );
}

#[test]
fn a_doubtful_shot_of_a_report_is_found_in_the_recording_that_it_links_to() {
    let folder = Folder::new("doubtful");
    folder.write(
        "corner.toml",
        "question = \"?\"\n[settings]\nplay = \"scene\"\nscene = \"corner\"\nduration = \"8 s\"\nwarm_up = \
         \"6 s\"\nsnapshot_rate = \"60 Hz\"\nrewind = \"500 ms\"\nplayer.1.ping = \"400 ms\"\n",
    );
    folder.run("corner.toml", "corner.db");
    let told = out(&folder.lab(&["report", "corner.db", "-o", "corner.html", "--recordings"]));
    assert!(told.contains("wrote corner.html"), "{told}");
    let page = std::fs::read_to_string(folder.0.join("corner.html")).expect("the page");
    let (_, rest) = page.split_once("<code>sametick replay ").expect("a command");
    let command: Vec<&str> = rest.split("</code>").next().unwrap_or("").split(' ').collect();
    let [file, "--seek", tick] = command[..] else { panic!("{command:?}") };
    assert!(page.contains(&format!("<a href=\"{file}\">")), "{file}");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_sametick"));
    let replay = replay.current_dir(&folder.0).args(["replay", file, "--seek", tick]).output();
    let world = out(&replay.expect("it starts"));
    assert!(world.starts_with(&format!("tick {tick},")), "{world}");
    for (player, count) in [(0, 0), (1, 1), (2, 1)] {
        let named = world.matches(&format!(" of player {player}\n")).count();
        assert_eq!(named, count, "fighters of player {player}: {world}");
    }
    let again = out(&folder.lab(&["replay", "corner.db", "--trial", "1", "--tick", tick]));
    assert!(again.contains(&format!("sametick replay trial-1.sametick --seek {tick}")), "{again}");
    let beyond = folder.lab(&["replay", "corner.db", "--trial", "1", "--tick", "99999"]);
    let told = error(&beyond);
    assert!(
        !beyond.status.success() && told.contains("there is no tick 99999 in trial 1"),
        "{told}"
    );
    let one = std::fs::read(folder.0.join("trial-1.sametick")).expect("a recording");
    assert_eq!(one, std::fs::read(folder.0.join(file)).expect("a recording"));
}

const STUDY: &str = r#"
question = "Who notices?"
[settings]
map = "corners"
duration = "1 s"
[people]
consent = "One round."
"#;

#[test]
fn a_study_that_is_refused_leaves_nothing_behind() {
    let folder = Folder::new("refused");
    folder.write("study.toml", STUDY);
    let asks = STUDY.replace("One round.", "Say here what participants agree to.");
    folder.write("imported.toml", &asks);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let page = taken.local_addr().expect("an address").to_string();
    let refused: [(&[&str], &str); 6] = [
        (&["host", "study.toml", "--db", "nowhere/at/all.db"], "there is no folder nowhere/at"),
        (&["host", "study.toml", "--db", "imported.toml"], "is no log"),
        (&["host", "study.toml", "--page", &page], "--page"),
        (&["host", "imported.toml"], "`consent` is still the importer's"),
        (&["check", "imported.toml"], "`consent` is still the importer's"),
        (&["attend", "https://lab.example.org/lab.html#ABC"], "http:// only"),
    ];
    for (arguments, why) in refused {
        let output = folder.lab(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error(&output).contains(why), "{arguments:?}: {}", error(&output));
        let there = std::fs::read_dir(&folder.0).expect("a folder");
        let mut names: Vec<_> = there.map(|one| one.expect("a name").file_name()).collect();
        names.sort();
        assert_eq!(names, ["imported.toml", "study.toml"], "{arguments:?}");
    }
    let checked = out(&folder.lab(&["check", "study.toml"]));
    assert!(checked.contains("each meets all conditions: 1 trial, about 1 minute\n"), "{checked}");
}
