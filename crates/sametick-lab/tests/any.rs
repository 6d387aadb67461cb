//! FPSci's files: what its grammar allows is read, what it does not is named with its place, and nothing panics.

use sametick::Dice;
use sametick_lab::{
    ANY_DEPTH_MAX, ANY_NAMES_MAX, Any, AnyFile, AnyValue, Experiment, Fate, Plan, import,
};
use std::path::Path;

const STUDY: &str = include_str!("any/study.Experiment.Any");
const RIFLE: &str = include_str!("any/rifle.Weapon.Any");

fn load(path: &Path) -> Result<String, String> {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("study.Experiment.Any") => Ok(STUDY.to_owned()),
        Some("rifle.Weapon.Any") => Ok(RIFLE.to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

fn read(text: &str) -> Result<AnyFile, String> {
    let read = AnyFile::read("x.Any".as_ref(), &mut |path: &Path| match path.to_str() {
        Some("x.Any") => Ok(text.to_owned()),
        _ => load(path),
    });
    read.map_err(|wrong| wrong.to_string())
}

fn numbers(any: Option<&Any>) -> Vec<f64> {
    any.and_then(Any::items).unwrap_or_default().iter().filter_map(Any::number).collect()
}

#[test]
fn everything_that_the_grammar_allows_is_read() {
    let file =
        AnyFile::read("files/study.Experiment.Any".as_ref(), &mut |path| load(path)).unwrap();
    let root = &file.root;
    let number = |key: &str| root.get(key).and_then(Any::number);
    assert_eq!(root.get("description").and_then(Any::text), Some("Delay and aim"));
    assert_eq!(root.get("closeOnComplete").and_then(Any::flag), Some(false));
    assert_eq!([number("frameRate"), number("frameDelay")], [Some(120.0), Some(3.0)]);
    assert_eq!([number("moveRate"), number("resetHeight")], [Some(7.5), Some(-1e6)]);
    assert_eq!(
        [number("jumpVelocity"), number("maxTrialDuration")],
        [Some(0.5), Some(f64::INFINITY)]
    );
    assert!(number("reticle").unwrap().is_nan());
    assert_eq!(root.get("quoted key").and_then(Any::number), Some(4.0));
    assert_eq!(
        root.get("trialSuccessFeedback").and_then(Any::text),
        Some("%trialTaskTimeMs ms!\n\"well\" done \\")
    );
    let flags = root.get("playerAxisLock").and_then(Any::items).unwrap();
    assert_eq!(flags.iter().filter_map(Any::flag).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(numbers(root.get("playerGravity")), [0.0, -10.0, 0.0]);

    let scene = root.get("scene").unwrap();
    assert_eq!(scene.get("playerCamera").and_then(Any::text), Some("camera"));
    let AnyValue::List(name, arguments) = &scene.get("spawn").unwrap().is else { panic!("a list") };
    assert_eq!((name.as_str(), arguments.len()), ("CFrame::fromXYZYPRDegrees", 6));
    let AnyValue::List(name, arguments) = &scene.get("model").unwrap().is else { panic!("a list") };
    assert_eq!((name.as_str(), arguments.len()), ("transformGeometry", 2));
    assert_eq!(scene.get("nothing").and_then(Any::items).map(<[Any]>::len), Some(0));
    assert_eq!(scene.get("unset").map(|unset| &unset.is), Some(&AnyValue::Nil));

    // The last of two counts, and it came from another file.
    let weapon = root.get("weapon").unwrap();
    assert_eq!(weapon.get("id").and_then(Any::text), Some("rifle"));
    assert_eq!(file.file(weapon.at), Path::new("files/rifle.Weapon.Any"));
    assert_eq!(file.shown(weapon.at), "files/rifle.Weapon.Any, line 2, column 1");
    let sessions = root.get("sessions").and_then(Any::items).unwrap();
    let trials = sessions[0].get("trials").and_then(Any::items).unwrap();
    assert_eq!(trials[1].get("count").and_then(Any::number), Some(5.0));

    let remarks: Vec<&str> = file.remarks.iter().map(|(_, remark)| remark.as_str()).collect();
    assert_eq!(
        remarks,
        [
            "`weapon` is said again here; the last counts",
            "what follows the file's value is passed over, as FPSci does"
        ]
    );
}

#[test]
fn json_is_read_too() {
    let file =
        read(r#"{"a": [1, 2.5, -3e-2], "b": {"c": null_word, "d": true}, "e": []}"#).unwrap();
    assert_eq!(numbers(file.root.get("a")), [1.0, 2.5, -0.03]);
    assert_eq!(file.root.get("b").and_then(|b| b.get("d")).and_then(Any::flag), Some(true));
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    let deep = "[".repeat(ANY_DEPTH_MAX + 2);
    let names: String = (0..=ANY_NAMES_MAX).map(|name| format!("a{name} = 1,")).collect();
    let wide = format!("{{{names}}}");
    for (text, said) in [
        ("", "line 1, column 1: the file ends where a value should stand"),
        ("{ a = 1", "line 1, column 1: the `{` that begins here has no `}`"),
        ("{ a = [1, 2 }", "line 1, column 13: `}` ends the `[` of line 1; it needs `]`"),
        ("{ a = 1,, b = 2 }", "line 1, column 9: a value is missing before this separator"),
        (
            "{ a = 1 b = 2 }",
            "line 1, column 9: a `,` or `;` is missing before this, or a `}` ends what began on line 1",
        ),
        (
            "{ a = 1, 2 }",
            "line 1, column 10: this has no name, but what stands before it has one: all or none",
        ),
        (
            "[ 1, a = 2 ]",
            "line 1, column 6: this has a name, but what stands before it has none: all or none",
        ),
        ("{\n a = \"open\n}", "line 2, column 6: the text that begins here has no \" on its line"),
        ("/* open", "line 1, column 1: the comment that begins here has no */"),
        (
            "{ a = \"\\q\" }",
            "line 1, column 8: `\\` stands before n, t, r, 0, a quote or another \\",
        ),
        ("{ a = 1.2.3 }", "line 1, column 7: `1.2.3` is no number"),
        ("{ a = 0xzz }", "line 1, column 7: `0xzz` is no number"),
        ("{ a = Color3:: }", "line 1, column 15: a name goes on behind `::`"),
        (
            "{ a = Color3::red }",
            "line 1, column 7: `Color3::red` is a name and needs its brackets: Color3::red(...)",
        ),
        ("{ a = @ }", "line 1, column 7: `@` begins no value"),
        ("{ a = #define X }", "line 1, column 14: `#` begins #include(\"path\") and nothing else"),
        (
            "{ a = #include(\"gone.Any\") }",
            "line 1, column 7: \"gone.Any\" cannot be brought in: there is no such file",
        ),
        (&deep, "line 1, column 66: values stand deeper than 64 in each other here"),
        (&wide, "a table has at most 4096 names"),
    ] {
        let wrong = read(text).expect_err(text);
        assert!(wrong.starts_with("x.Any, ") && wrong.ends_with(said), "{text:.40}: {wrong}");
    }
}

#[test]
fn a_file_that_brings_in_itself_is_refused() {
    let wrong = read("{ a = #include(\"x.Any\") }").unwrap_err();
    assert!(wrong.contains("brings in itself"), "{wrong}");
}

#[test]
fn a_hundred_thousand_damaged_files_are_read_or_refused_and_never_panic() {
    const PIECES: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        "=",
        ":",
        "\"",
        "#include(\"",
        "/*",
        "//",
        "\\",
        "::",
    ];
    let mut dice = Dice::new(13, 0);
    let mut refused = 0;
    for _ in 0..100_000 {
        let mut letters: Vec<char> = STUDY.chars().collect();
        for _ in 0..1 + dice.roll_u64() % 4 {
            if letters.is_empty() {
                break;
            }
            let at = (dice.roll_u64() % letters.len() as u64) as usize;
            let until = (at + (dice.roll_u64() % 8) as usize).min(letters.len());
            let piece = PIECES[(dice.roll_u64() % PIECES.len() as u64) as usize];
            match dice.roll_u64() % 4 {
                0 => drop(letters.splice(at..until, [])),
                1 => drop(letters.splice(at..at, piece.chars())),
                2 => letters.truncate(at.max(1)),
                _ => letters[at] = char::from((dice.roll_u64() % 128) as u8),
            }
        }
        refused += u32::from(read(&letters.into_iter().collect::<String>()).is_err());
    }
    // Both happen, or this shows nothing.
    assert!((10_000..99_000).contains(&refused), "{refused} were refused");
}

#[test]
fn an_imported_experiment_runs_and_every_key_is_accounted_for() {
    let text = STUDY.replace("closeOnComplete", "clientLatencyArray = [0, 25]; numPlayers = 2, timeWarpEnabled = true;
        feedbackDuration = 1, commandsOnTrialStart = ( { command = \"notify %dbFilename\" } ); closeOnComplete");
    let file = AnyFile::read("study.Any".as_ref(), &mut |path: &Path| match path.to_str() {
        Some("study.Any") => Ok(text.clone()),
        _ => load(path),
    });
    let file = file.unwrap();
    let imported = import(&file).unwrap();
    let experiment = Experiment::read(&imported.file, ".".as_ref(), false);
    let experiment = experiment.unwrap_or_else(|wrong| panic!("{wrong}\n{}", imported.file));
    assert_eq!(experiment.title, "Delay and aim");
    let names: Vec<&str> =
        experiment.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["short", "long"]);
    assert_eq!(experiment.sessions[0].conditions.len(), 4, "every latency with every other one");
    assert_eq!(experiment.sessions[0].trials.iter().map(|t| t.count).collect::<Vec<_>>(), [10, 5]);
    let plan = Plan::new(&experiment).unwrap();
    let of = |name: &str| plan.trials.iter().find(|trial| trial.session == name).unwrap();
    assert_eq!(of("short").settings.number_of(1, "frame_delay"), Some(0.0));
    assert_eq!(of("long").settings.number_of(1, "frame_delay"), Some(8.0));
    assert_eq!(of("long").settings.number_of(2, "frame_rate"), Some(120.0));
    assert!(
        imported.file.contains("player.1.ping = [\"0 ms\", \"50 ms\"]"),
        "one way is half of it"
    );

    let AnyValue::Table(_, pairs) = &file.root.is else { panic!("a table") };
    for (key, _) in pairs {
        let is_told = imported.mappings.iter().any(|mapping| mapping.key == *key);
        let is_read = ["description", "sessions"].contains(&key.as_str());
        assert!(is_told || is_read, "`{key}` was left out in silence");
    }
    let fate = |key: &str| imported.mappings.iter().find(|mapping| mapping.key == key).unwrap();
    assert_eq!(fate("frameRate").fate, Fate::Mapped);
    assert_eq!(fate("maxTrialDuration").fate, Fate::Approximated);
    assert_eq!(fate("weapon").fate, Fate::Approximated);
    assert_eq!(fate("feedbackDuration").what, "FPSci does not read this key either");
    assert_eq!(fate("weapon").place, "rifle.Weapon.Any, line 2, column 1");
}

#[test]
fn what_is_no_experiment_is_refused_by_name() {
    for (text, said) in [
        (
            "{ sessions = ( { id = a } ) }",
            "line 1, column 1: an experiment of FPSci has `targets` and `sessions`",
        ),
        ("{ targets = (), sessions = () }", "line 1, column 28: there is no session"),
        (
            "{ targets = (), sessions = ( { trials = () } ) }",
            "line 1, column 30: a session has an `id`, which is a text",
        ),
        (
            "{ targets = (), sessions = ( { id = a } ) }",
            "line 1, column 30: the session \"a\" has no `trials`",
        ),
        (
            "{ targets = (), sessions = ( { id = a, trials = ( { count = 0 } ) } ) }",
            "line 1, column 61: `count` is a whole number from 1 to 100000",
        ),
        (
            "{ targets = ( { id = near } ), sessions = ( { id = a, trials = ( { ids = ( near, nar ) } ) } ) }",
            "line 1, column 82: there is no target \"nar\" in `targets`; did you mean `near`?",
        ),
        (
            "{ targets = (), frameRate = fast, sessions = ( { id = a, trials = ( { } ) } ) }",
            "line 1, column 29: `frameRate` is a number",
        ),
    ] {
        let wrong = import(&read(text).unwrap()).expect_err(text).to_string();
        assert_eq!(wrong, format!("x.Any, {said}"));
    }
}
