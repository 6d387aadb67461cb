//! The `[people]` table: what is wrong is said with its place and what would be right.

use sametick_lab::{Experiment, Plan, starting_file_for_people};

/// What a file says under `[people]`, and the message.
const WRONG: &[(&str, &str)] = &[
    ("[people]", "line 4, column 1: people agree before they play: consent = \"\"\"...\"\"\""),
    ("[people]\nconsent = \"\"", "line 5, column 11: `consent` is empty"),
    (
        "[people]\nconsent = \"?\"\ngruop = 2",
        "line 6, column 1: `gruop` means nothing here; did you mean `group`?",
    ),
    (
        "[people]\nconsent = \"?\"\ngroup = 2",
        "line 6, column 9: 3 participants do not make groups of 2",
    ),
    (
        "[people]\nconsent = \"?\"\nroles = [\"a\", \"b\"]",
        "line 6, column 9: 2 roles for groups of 1: one for each",
    ),
    (
        "[people]\nconsent = \"?\"\nswap = true",
        "line 6, column 8: `swap` changes roles: roles = [\"peeker\", \"holder\"]",
    ),
    (
        "[people]\nconsent = \"?\"\ndesign = \"betwen\"",
        "line 6, column 10: `design` cannot be `betwen`: did you mean `between`?",
    ),
    (
        "[people]\nconsent = \"?\"\ntolerance = 10",
        "line 6, column 13: `tolerance` needs its unit: \"10 ms\"",
    ),
    (
        "[people]\nconsent = \"?\"\nforeperiod = [\"3 s\", \"1 s\"]",
        "line 6, column 14: `foreperiod` begins with the shorter time",
    ),
    (
        "[people]\nconsent = \"?\"\nbreak_length = \"3 s\"",
        "line 6, column 16: how often? break_every = 6",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.question]]\nask = \"?\"\nkind = \"ratings\"",
        "line 8, column 8: `kind` cannot be `ratings`: did you mean `rating`?",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.question]]\nask = \"?\"\nkind = \"choice\"",
        "line 6, column 1: what can be chosen? options = [\"yes\", \"no\"]",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.question]]\nask = \"?\"\nkind = \"rating\"",
        "line 6, column 1: a rating is numbers: options = [\"1\", \"2\", \"3\"]",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.exclude]]\nrule = \"rating < 3\"\nreason = \"?\"",
        "line 7, column 8: nobody is asked for `rating`: no question after trials is a rating",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"ping\"\nstart = \"50 ms\"\nstep = \"10 ms\"\n\
         least = \"0 ms\"\nmost = \"90 ms\"\ncorrect = \"hit\"\nreversals = 1",
        "line 13, column 13: `reversals` is 4 at least: the threshold leaves out the first two and wants two more",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"ping\"\nstart = \"50 ms\"\nstep = \"10 ms\"\n\
         least = \"0 ms\"\nmost = \"90 ms\"\ncorrect = \"hit\"\nreversals = 8",
        "line 13, column 13: 8 reversals take 13 trials at least, and there are 1: repetitions = 26",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"duration\"\nstart = \"1 s\"\nstep = \"10 ms\"\n\
         least = \"20 ms\"\nmost = \"2 s\"\ncorrect = \"hit\"",
        "line 6, column 1: it comes to 20 ms: `duration` is at least 100 ms",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.question]]\nask = \"?\"\nkind = \"rating\"\noptions = [\"low\", \"high\"]",
        "line 6, column 1: a rating is numbers: options = [\"1\", \"2\", \"3\"]",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.question]]\nask = \"?\"\nkind = \"choice\"\noptions = [\"a\", \"a\"]",
        "line 9, column 17: `options` has this twice",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.exclude]]\nrule = \"frame_ms_59 > 3\"\nreason = \"?\"",
        "line 7, column 8: there is no figure `frame_ms_59`; did you mean `frame_ms_95`?",
    ),
    (
        "[people]\nconsent = \"?\"\n[[people.exclude]]\nrule = \"accuracy\"\nreason = \"?\"",
        "line 7, column 8: a rule compares a figure with a number: \"frame_ms_95 > 25\"",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.intervals]\nsetting = \"ping\"\nstandard = \"0 ms\"\nask = \"?\"",
        "line 6, column 1: `ping` is the same in both rounds: make it a factor, or the setting of a staircase",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"pnig\"",
        "line 7, column 11: there is no setting `pnig`; did you mean `ping`?",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"ping\"\nstart = \"50 ms\"\nstep = \"10 ms\"\n\
         least = \"60 ms\"\nmost = \"90 ms\"\ncorrect = \"hit\"",
        "line 6, column 1: a staircase goes from `least` to `most`, begins between them and takes steps",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.staircase]\nsetting = \"ping\"\nstart = \"50 ms\"\nstep = \"10 ms\"\n\
         least = \"0 ms\"\nmost = \"90 ms\"\ncorrect = \"interval\"",
        "line 12, column 11: `interval` needs [people.intervals]",
    ),
    (
        "[people]\nconsent = \"?\"\n[people.intervals]\nsetting = \"ping\"\nstandard = \"0 ms\"\nask = \"?\"\n\
         [people.staircase]\nsetting = \"ping\"\nstart = \"50 ms\"\nstep = \"10 ms\"\n\
         least = \"0 ms\"\nmost = \"90 ms\"\ncorrect = \"hit\"",
        "line 10, column 1: of two rounds a metric says nothing: correct = \"interval\" or \"answer 1 = yes\"",
    ),
];

#[test]
fn what_is_wrong_with_people_is_said_with_its_place() {
    for (text, message) in WRONG {
        let file = format!("question = \"?\"\nparticipants = 3\n\n{text}");
        let wrong = Experiment::read(&file, ".".as_ref(), false).expect_err(text).to_string();
        assert_eq!(wrong, *message, "{text}");
    }
}

#[test]
fn people_play_only_what_has_a_server_and_room_for_them() {
    let plan = |text: &str| {
        let text = format!(
            "question = \"?\"\nparticipants = 4\n{text}\n[people]\nconsent = \"?\"\ngroup = 4"
        );
        let experiment = Experiment::read(&text, ".".as_ref(), false).expect("it is read");
        Plan::new(&experiment).expect_err("it cannot be played").to_string()
    };
    assert_eq!(
        plan("[settings]\nplayers = 3"),
        "line 4, column 11: 3 play, and 4 people are to be among them"
    );
    assert_eq!(
        plan("[settings]\nplayers = 4\nmodel = \"rollback\""),
        "line 5, column 9: `rollback` has no server, and people play with one"
    );
    assert_eq!(
        plan("[settings]\nplayers = 4\nplay = \"clock\""),
        "line 5, column 8: people cannot play `clock`: they play a match or a scene"
    );
}

#[test]
fn the_starting_file_is_explained() {
    let text = starting_file_for_people();
    let experiment = Experiment::read(&text, ".".as_ref(), false).expect("it is read");
    let plan = Plan::new(&experiment).expect("it can be played");
    let words = experiment.people.as_ref().expect("people").explain(&experiment, &plan);
    assert!(
        words.starts_with("people: 12, one at a table\n  each meets all conditions: 7 trials"),
        "{words}"
    );
    assert!(words.contains("left out: trials with frame_ms_95 > 40 (slow computer)"), "{words}");
    // What stands there as a comment is right too.
    let begin = text.find("# [people.staircase]").expect("a staircase");
    let end = text.find("\n# Every setting").expect("the settings");
    let shown: String = text[begin..end]
        .lines()
        .filter(|line| !line.contains("Each trial twice"))
        .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
        .collect();
    let text = text.replace("[factors]\nping = [\"50 ms\", \"100 ms\", \"200 ms\"]", "");
    let text = text.replace("over = \"ping\"", "").replace("repetitions = 2 ", "repetitions = 40 ");
    let text = format!("{}{shown}", &text[..text.find("# A staircase").expect("a staircase")]);
    let experiment = Experiment::read(&text, ".".as_ref(), false).expect("it is read");
    let words = experiment.people.as_ref().expect("people");
    let words = words.explain(&experiment, &Plan::new(&experiment).expect("it can be played"));
    assert!(words.contains("staircase on ping: from 200 ms in steps of 20 ms"), "{words}");
}

/// About as many mistakes as keys.
const MANY: &str = r#"question = "x"
participants = 3
[people]
group = 2
role = ["a"]
roles = ["a"]
design = "mixed"
tolerance = "10"
break_every = 0
foreperiod = ["3 s", "1 s"]
[[people.question]]
ask = ""
kind = "likert"
after = "round"
[[people.question]]
kind = "rating"
options = ["bad", "good"]
[[people.question]]
ask = "x"
kind = "choice"
options = ["a", "a"]
[[people.question]]
ask = "x"
kind = "text"
options = ["a"]
[[people.exclude]]
rule = "framems > 3"
[people.staircase]
setting = "pong"
up = 0
"#;

#[test]
fn all_mistakes_of_people_are_told_at_once() {
    let wrongs = Experiment::check(MANY, ".".as_ref(), false).expect_err("it is wrong");
    let lines: Vec<usize> = wrongs.all.iter().map(|wrong| wrong.line).collect();
    let expected = [3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 15, 21, 22, 26, 27, 29, 30];
    assert_eq!(lines, expected, "{}", wrongs.told("many.toml"));
}

#[test]
fn an_order_that_nobody_said_is_a_square_and_what_is_not_balanced_is_said() {
    let file = |order: &str| {
        format!(
            "question = \"?\"\nparticipants = 4\n{order}\n[factors]\nping = [\"40 ms\", \"80 ms\"]\n\
             [people]\nconsent = \"?\""
        )
    };
    let met = |order: &str| {
        let experiment = Experiment::read(&file(order), ".".as_ref(), false).expect("it is read");
        let plan = Plan::new(&experiment).expect("it can be played");
        let words = experiment.people.as_ref().expect("people").explain(&experiment, &plan);
        let all: Vec<usize> = plan.trials.iter().map(|trial| trial.condition).collect();
        (all, words)
    };
    let (all, words) = met("");
    assert_eq!(all, [0, 1, 1, 0, 0, 1, 1, 0]);
    assert!(words.contains("order: williams"), "{words}");
    let (all, words) = met("order = \"as_written\"");
    assert_eq!(all, [0, 1, 0, 1, 0, 1, 0, 1]);
    assert!(words.contains("order: as_written, the same for all: not balanced"), "{words}");
}

#[test]
fn a_key_that_no_browser_knows_or_that_does_two_things_is_told_with_its_line() {
    let told = |keys: &str| {
        let file = format!("question = \"?\"\n[keys]\n{keys}\n");
        let wrong =
            Experiment::read(&file, ".".as_ref(), false).map(drop).expect_err("it is wrong");
        (wrong.line, wrong.to_string())
    };
    let (line, what) = told("jump = \"Space\"\nforward = \"keyw\"");
    assert!(line == 4 && what.contains("did you mean `KeyW`?"), "{line}: {what}");
    let (line, what) = told("fire = \"Mouse9\"");
    assert!(line == 3 && what.contains("not \"Mouse9\""), "{line}: {what}");
    let (line, what) = told("forward = \"KeyE\"\nback = \"KeyE\"");
    assert!(line == 4 && what.contains("`back` and `forward` both have KeyE"), "{line}: {what}");
    // Two that change places share none.
    let file = "question = \"?\"\n[keys]\nforward = \"KeyS\"\nback = \"KeyW\"\ncrouch = \"F12\"";
    let read = Experiment::read(file, ".".as_ref(), false).expect("it is read");
    assert_eq!(read.controls.key_list(), "forward=KeyS&back=KeyW&crouch=F12");
}
