//! FPSci's files become ours: targets, users, their states, keys and startup files, each key accounted for.

use sametick::Dice;
use sametick_arena::{Space, TargetKind};
use sametick_lab::{
    Any, AnyFile, AnyKind, AnyValue, Experiment, Fate, Imported, Mapping, Plan, SessionOrders,
    any_kind, import, import_all, startup,
};
use std::path::Path;

const FILES: [(&str, &str); 8] = [
    ("study.Experiment.Any", include_str!("any/study.Experiment.Any")),
    ("rifle.Weapon.Any", include_str!("any/rifle.Weapon.Any")),
    ("aim.Experiment.Any", include_str!("any/aim.Experiment.Any")),
    ("userconfig.Any", include_str!("any/userconfig.Any")),
    ("userstatus.Any", include_str!("any/userstatus.Any")),
    ("keymap.Any", include_str!("any/keymap.Any")),
    ("startupconfig.Any", include_str!("any/startupconfig.Any")),
    ("systemconfig.Any", include_str!("any/systemconfig.Any")),
];

fn text(name: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == name).expect("a file of ours").1
}

fn load(path: &Path) -> Result<String, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = FILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "there is no such file".to_owned())
}

fn file(name: &str) -> AnyFile {
    AnyFile::read(name.as_ref(), &mut load).expect(name)
}

fn of(text: &str) -> AnyFile {
    let read = |path: &Path| match path.to_str() {
        Some("x.Any") => Ok(text.to_owned()),
        _ => load(path),
    };
    AnyFile::read("x.Any".as_ref(), &mut { read }).expect("the grammar is right")
}

fn experiment(imported: &Imported) -> (Experiment, Plan) {
    let read = Experiment::read(&imported.file, ".".as_ref(), false);
    let read = read.unwrap_or_else(|wrong| panic!("{wrong}\n{}", imported.file));
    let plan = Plan::new(&read).unwrap_or_else(|wrong| panic!("{wrong}\n{}", imported.file));
    (read, plan)
}

fn fate<'a>(mappings: &'a [Mapping], key: &str) -> &'a Mapping {
    let found = mappings.iter().find(|mapping| mapping.key == key);
    found.unwrap_or_else(|| panic!("`{key}` was left out in silence"))
}

/// Every key of a table and of the tables in its lists, with the way to it.
fn keys(any: &Any, path: &str, depth: usize, all: &mut Vec<String>) {
    let AnyValue::Table(_, pairs) = &any.is else { return };
    for (key, value) in pairs {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        all.push(full.clone());
        if depth > 0 {
            keys(value, &full, depth - 1, all);
            for (index, item) in value.items().unwrap_or_default().iter().enumerate() {
                keys(item, &format!("{full}[{index}]"), depth - 1, all);
            }
        }
    }
}

#[test]
fn targets_are_imported_and_trials_name_them() {
    let imported = import(&file("aim.Experiment.Any")).unwrap();
    let (experiment, plan) = experiment(&imported);
    let names: Vec<&str> = experiment.targets.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["sphere", "hopper", "box 3 hits", "path 3 hits"]);
    let kind = |name: &str| -> &TargetKind {
        &experiment.targets.iter().find(|one| one.name == name).unwrap().kind
    };
    let sphere = kind("sphere");
    assert_eq!(
        (sphere.space, sphere.size, sphere.distance),
        (Space::Player, [0.4, 0.8], [12.0, 18.0])
    );
    assert_eq!((sphere.beside, sphere.above), ([5.0, 15.0], [0.0, 4.0]));
    assert_eq!((sphere.is_symmetric, sphere.is_upper_only), ([true, false], true));
    assert_eq!((sphere.speed, sphere.turn_seconds), ([2.5, 12.0], [0.4, 0.9]));
    assert_eq!((sphere.respawns, sphere.hits, sphere.jumping), (Some(2), Some(1), None));
    let jumping = kind("hopper").jumping.expect("it jumps");
    assert_eq!((jumping.seconds, jumping.speed), ([1.0, 2.0], [10.0, 15.0]));
    assert_eq!((jumping.gravity, kind("hopper").respawns), ([8.0, 12.0], None));
    assert_eq!(kind("hopper").distance, [15.0; 2], "one number is both");
    // Up is y there and z here, ahead is -z there and x here.
    let bounds = kind("box 3 hits").spawn_bounds.expect("it has bounds");
    assert_eq!((bounds.low, bounds.high), ([8.0, 4.0, 1.0], [12.0, 6.0, 3.0]));
    assert_eq!(kind("box 3 hits").is_locked, [false, true, false]);
    assert_eq!(kind("box 3 hits").hits, Some(3), "the session's own hits to kill");
    assert_eq!(kind("path 3 hits").way, [(0.0, [0.0, 0.0, 1.0]), (1.5, [4.0, -2.0, 1.0])]);
    assert_eq!(kind("path 3 hits").size, [0.01, 8.0], "the nearest that there is");

    assert_eq!(plan.trials.len(), 3 + 2 + 2, "counts and blocks add up");
    let of = |session: &str, name: &str| {
        let is = |t: &&sametick_lab::Trial| t.session == session && t.name == name;
        plan.trials.iter().find(is).unwrap()
    };
    assert_eq!(of("first", "1").settings.text("targets"), "hopper, sphere, sphere");
    assert_eq!(of("first", "1").settings.target_set().kinds.len(), 3);
    let set = of("first", "one").settings.target_set();
    assert_eq!((set.wait_seconds, set.wait_mean_seconds), ([0.5, 1.5], 0.8));
    let second = of("second", "0").settings.target_set();
    assert_eq!(
        second.wait_seconds,
        [0.5, 1.5],
        "the experiment's range holds with the session's mean"
    );
    assert_eq!(second.wait_mean_seconds, 0.0, "a mean below the least is none");

    let fate = |key: &str| fate(&imported.mappings, key).fate;
    assert_eq!(fate("targets[0].eccH"), Fate::Mapped);
    assert_eq!(fate("targets[0].colors"), Fate::Impossible);
    assert_eq!(fate("targets[3].visualSize"), Fate::Approximated);
    assert_eq!(fate("sessions[0].trials[1].ids"), Fate::Mapped);
    assert_eq!(fate("sessions[1].hitsToKill"), Fate::Mapped);
    let unused = imported
        .mappings
        .iter()
        .any(|one| one.what.contains("no trial names the target \"unused\""));
    let typo = imported.mappings.iter().find(|one| one.key == "targets[4].visulaSize").unwrap();
    assert!(unused && typo.what.ends_with("did you mean `visualSize`?"), "{typo:?}");
}

#[test]
fn questions_waits_and_what_is_too_fast_become_what_can_be_asked_and_played() {
    let imported = import(&of(r#"{ targets = (
            { id = "a", destSpace = "player", distance = [10, 20], speed = [0, 500], moveBounds = AABox {
                Point3(0, 0, 0), Point3(1, 1, 1) } },
            { id = "b", destSpace = "world", speed = [1, 99], upperHemisphereOnly = true } );
        questions = ( { type = "Rating", prompt = "How was it?", options = ["1", "2", "3"], fontSize = 20 },
            { type = "Entry", prompt = "Why?" }, { type = "Rating", prompt = "How far?", options = ["near", "far"] } );
        sessions = ( { id = "s", questions = ( { type = "Entry", prompt = "Why?" } ), trials = (
            { id = "x", targetIds = ("a"), questions = (
                { type = "MultipleChoice", prompt = "Which?", options = ["this", "that"] },
                { type = "DropDown", prompt = "Whose?", options = ["mine"] } ) },
            { id = "x", targetIds = ("b"), pretrialDuration = 0.2 } ) } ) }"#))
    .unwrap();
    let (experiment, plan) = experiment(&imported);
    let people = experiment.people.as_ref().expect("somebody is asked");
    let asked: Vec<(&str, &str, usize, bool)> = people
        .questions
        .iter()
        .map(|one| (one.ask.as_str(), one.kind.name(), one.options.len(), one.randomised))
        .collect();
    let expected = [
        ("How was it?", "rating", 3, false),
        ("Why?", "text", 0, false),
        ("How far?", "choice", 2, false),
        ("Which?", "choice", 2, true),
    ];
    assert_eq!(asked, expected);
    let fate = |key: &str| fate(&imported.mappings, key).fate;
    assert_eq!(fate("sessions[0].trials[0].questions[1]"), Fate::Impossible);
    assert_eq!(fate("questions[0].fontSize"), Fate::Impossible);
    assert_eq!(fate("targets[0].speed"), Fate::Approximated);
    assert_eq!(fate("targets[0].moveBounds"), Fate::Impossible);
    assert_eq!(fate("targets[1].speed"), Fate::Approximated);
    assert_eq!(fate("targets[1].upperHemisphereOnly"), Fate::Impossible);
    assert_eq!(experiment.targets[1].kind.speed, [1.0, 31.0]);
    let wait = |name: &str| {
        let trial = plan.trials.iter().find(|trial| trial.name == name).unwrap();
        trial.settings.number("foreperiod")
    };
    assert_eq!(
        (wait("x"), wait("x (2)")),
        (Some(500.0), Some(200.0)),
        "FPSci's usual, and its own"
    );
}

#[test]
fn every_key_of_every_file_is_accounted_for() {
    for (name, depth) in [
        ("userconfig.Any", 1),
        ("userstatus.Any", 1),
        ("keymap.Any", 0),
        ("systemconfig.Any", 0),
        ("startupconfig.Any", 1),
    ] {
        let file = file(name);
        let mappings = match any_kind(&file) {
            Some(AnyKind::Startup) => startup(&file).unwrap().1,
            _ => import(&file).unwrap().mappings,
        };
        let mut all = Vec::new();
        keys(&file.root, "", depth, &mut all);
        for key in all {
            let holds = ["users", "experimentList", "defaultExperiment"].contains(&key.as_str());
            let is_told = mappings.iter().any(|mapping| mapping.key == key);
            assert!(is_told || holds, "{name}: `{key}` was left out in silence");
        }
    }
    for name in ["aim.Experiment.Any", "study.Experiment.Any"] {
        let file = file(name);
        let imported = import(&file).unwrap();
        let mut all = Vec::new();
        keys(&file.root, "", 3, &mut all);
        for key in all {
            // What a table holds that goes as a whole is told with it.
            let whole = ["weapon.", "scene.", "modelSpec.", "destinations["];
            let is_inner = whole.iter().any(|whole| key.contains(whole));
            let is_told = imported.mappings.iter().any(|mapping| mapping.key == key);
            assert!(is_told || is_inner, "{name}: `{key}` was left out in silence");
        }
    }
}

#[test]
fn users_states_and_keys_become_hands_orders_and_keys() {
    let names = ["aim.Experiment.Any", "keymap.Any", "userconfig.Any", "userstatus.Any"];
    let files: Vec<AnyFile> = names.into_iter().map(file).collect();
    let imported = import_all(&files).unwrap();
    let (experiment, plan) = experiment(&imported);
    assert_eq!(experiment.participants, 3);
    let ids: Vec<&str> = experiment.controls.hands.iter().map(|hand| hand.id.as_str()).collect();
    assert_eq!(ids, ["S3", "S1", "S2"], "in the order of the states");
    // 1.2 degrees a millimetre, 0.03175 mm a dot, a hundred dots.
    let sensitivity = |index: usize| experiment.controls.hands[index].sensitivity.unwrap();
    assert!((sensitivity(0) - 1.2 * 25.4 / 800.0 * 100.0).abs() < 1e-3);
    assert!((sensitivity(1) - 2.0 * 25.4 / 800.0 * 100.0).abs() < 1e-3);
    // 30 cm a turn, twice that, of a mouse with 1600 dots; turned over by its scale.
    assert!((sensitivity(2) - 2.0 * 1.2 * 25.4 / 1600.0 * 100.0).abs() < 1e-3);
    let inverted: Vec<bool> =
        experiment.controls.hands.iter().map(|hand| hand.is_inverted).collect();
    assert_eq!(inverted, [true, false, true]);
    let page = experiment.controls.page(2);
    assert_eq!(
        page,
        "sensitivity=6.35&key.forward=KeyW&key.back=KeyS&key.left=KeyA&key.right=KeyD&key.jump=Space\
         &key.crouch=ControlLeft&key.fire=Mouse0"
    );
    let SessionOrders::Lists(lists) = &experiment.controls.orders else { panic!("lists") };
    assert_eq!(lists, &[vec!["second", "first"], vec!["first", "second"], vec!["first", "second"]]);
    let first = |participant: u32| {
        plan.trials.iter().find(|trial| trial.participant == participant).unwrap().session.as_str()
    };
    assert_eq!([first(1), first(2), first(3)], ["second", "first", "first"]);
    assert_eq!(plan.trials.len(), 3 * 7);
    let fate = |key: &str| fate(&imported.mappings, key);
    assert_eq!(fate("moveForward").fate, Fate::Approximated, "an action has one key here");
    assert_eq!(fate("quit").fate, Fate::Impossible);
    assert!(fate("junp").what.ends_with("did you mean `jump`?"));
    assert_eq!(fate("users[0].reticleIndex").fate, Fate::Impossible);
    assert_eq!(fate("users[1].turnScale").fate, Fate::Approximated);
}

#[test]
fn a_key_of_two_actions_goes_to_the_first_and_to_the_other_its_next() {
    let keys = "{ jump = [\"Spc\"]; crouch = [\"Spc\", \"C\"]; shoot = [\"Spc\"]; }";
    let imported = import_all(&[of(keys)]).unwrap();
    let file = format!("question = \"?\"\n{}", imported.file);
    let experiment = Experiment::read(&file, ".".as_ref(), false).unwrap();
    assert_eq!(experiment.controls.key_list(), "jump=Space&crouch=KeyC");
    let told = fate(&imported.mappings, "shoot");
    assert_eq!(told.fate, Fate::Impossible);
    assert!(told.what.contains("does something else already"), "{}", told.what);
}

#[test]
fn a_file_of_users_that_says_who_is_there_is_one_of_users_still() {
    let users = "{ users = ({ id = \"anon\"; mouseDPI = 800; cmp360 = 30; turnScale = Vector2(1, -1); }); \
                 currentUser = \"anon\"; frameRate = 1; frameRate = 2 }";
    let imported = import_all(&[of(users)]).unwrap();
    assert!(imported.file.contains("[[hand]]"), "{}", imported.file);
    for key in ["users[0].mouseDPI", "users[0].cmp360", "currentUser"] {
        assert_eq!(fate(&imported.mappings, key).fate, Fate::Mapped, "{key}");
    }
    assert!(
        imported.mappings.iter().all(|one| !one.key.is_empty()),
        "what is said again has its name"
    );
    let states = "{ currentUser = \"anon\"; users = ({ id = \"anon\" }) }";
    assert_eq!(any_kind(&of(states)), Some(AnyKind::Status));
}

#[test]
fn a_shuffled_order_of_sessions_is_another_for_each_participant() {
    let status = "{ randomizeSessionOrder = true, sessions = (first, second), users = ( { id = a }, { id = b } ) }";
    let imported = import_all(&[file("aim.Experiment.Any"), of(status)]).unwrap();
    assert!(imported.file.contains("session_orders = \"shuffled\""));
    assert_eq!(experiment(&imported).0.participants, 2);
}

#[test]
fn a_startup_file_names_each_experiment_with_its_files() {
    let (listed, mappings) = startup(&file("startupconfig.Any")).unwrap();
    assert_eq!(listed.len(), 2);
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["delay", "aim study"]);
    assert_eq!(
        listed[0].files,
        ["study.Experiment.Any", "userconfig.Any", "gone.Any", "keymap.Any"]
    );
    assert_eq!(
        listed[1].files,
        ["aim.Experiment.Any", "userconfig.Any", "userstatus.Any", "keymap.Any"]
    );
    assert_eq!(fate(&mappings, "defaultExperiment.resultsDirPath").fate, Fate::Impossible);
}

#[test]
fn what_is_wrong_with_them_is_said_with_its_place_and_without_guessing() {
    let aim = |from: &str, to: &str| import(&of(&text("aim.Experiment.Any").replace(from, to)));
    for (from, to, said) in [
        (
            "targetIds = [\"sphere\"]",
            "targetIds = [\"spere\"]",
            "there is no target \"spere\" in `targets`; did you mean `sphere`?",
        ),
        (
            "targetIds = [\"sphere\"]",
            "targetIds = [\"zebra\"]",
            "there is no target \"zebra\" in `targets`",
        ),
        (
            "targetIds = [\"sphere\"]",
            "targetIds = []",
            "`sessions[0].trials[0].targetIds` names no target",
        ),
        ("id = \"hopper\"", "id = \"sphere\"", "there are two targets \"sphere\""),
        (
            "respawnCount = 2",
            "respawnCount = -2",
            "`targets[0].respawnCount` is -1, 0 or how often it comes back",
        ),
        (
            "visualSize = (0.5, 0.5)",
            "visualSize = (0.5, big)",
            "`targets[1].visualSize` is two numbers: [1, 2]",
        ),
        ("destSpace = \"player\"", "destSpace = \"mars\"", "`destSpace` is world or player"),
        (
            "t = 1.5; xyz = Point3(2, 1, -4)",
            "t = 1.5",
            "a destination is { t = 0.5, xyz = Vector3(1, 2, 3) }",
        ),
        ("[0.5, 1.5];", "[1.5, 0.5];", "`pretrialDurationRange` is from least to most"),
    ] {
        let wrong = aim(from, to).expect_err(to).to_string();
        assert!(wrong.starts_with("x.Any, line ") && wrong.ends_with(said), "{to}: {wrong}");
    }
    let status = of("{ sessions = (first, third), currentUser = a }");
    let wrong = import_all(&[file("aim.Experiment.Any"), status]).unwrap_err().to_string();
    let said = "x.Any, line 1, column 22 names the session \"third\", which the experiment has not";
    assert!(wrong.ends_with(said), "{wrong}");
    let wrong = import(&of("{ weather = 3 }")).unwrap_err().to_string();
    assert!(wrong.contains("this is no file of FPSci's that can be imported"), "{wrong}");
    let gone = AnyFile::read("gone.Any".as_ref(), &mut load).unwrap_err().to_string();
    assert_eq!(gone, "gone.Any cannot be read: there is no such file");
    // Far from every known key: nothing is guessed.
    let imported = aim("frameRate = 120", "feedbackDuration = 1").unwrap();
    let what = &fate(&imported.mappings, "feedbackDuration").what;
    assert_eq!(what, "FPSci does not read this key either");
}

#[test]
fn a_hundred_thousand_damaged_files_are_imported_or_refused_and_never_panic() {
    const PIECES: [&str; 18] = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        "=",
        "\"",
        "-1",
        "nan",
        "1e999",
        "true",
        "targets",
        "sessions",
        "users",
        "Vector3(1, 2, 3)",
    ];
    let mut dice = Dice::new(17, 0);
    let (mut refused, mut made) = (0, 0);
    for round in 0..100_000 {
        let (_, text) = FILES[2 + round % 6];
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(letters.len() as u64) as usize;
            let until = (at + dice.below(12) as usize).min(letters.len());
            let piece = PIECES[dice.below(PIECES.len() as u64) as usize];
            match dice.below(4) {
                0 => drop(letters.splice(at..until, [])),
                1 | 2 => drop(letters.splice(at..until, piece.chars())),
                _ => letters[at] = char::from(32 + dice.below(95) as u8),
            }
            if letters.is_empty() {
                letters.push('{');
            }
        }
        let text: String = letters.into_iter().collect();
        let read = |path: &Path| match path.to_str() {
            Some("x.Any") => Ok(text.clone()),
            _ => load(path),
        };
        let Ok(file) = AnyFile::read("x.Any".as_ref(), &mut { read }) else {
            refused += 1;
            continue;
        };
        if any_kind(&file) == Some(AnyKind::Startup) {
            let _ = startup(&file);
            continue;
        }
        let is_experiment = any_kind(&file) == Some(AnyKind::Experiment);
        match import(&file) {
            Err(_) => refused += 1,
            // What is made can be read. Maps are read for it, so not each time.
            Ok(imported) if is_experiment && made < 150 => {
                made += 1;
                let read = Experiment::read(&imported.file, ".".as_ref(), false);
                assert!(read.is_ok(), "round {round}: {read:?}\n{text}\n{}", imported.file);
            }
            Ok(_) => {}
        }
    }
    // Both happen, or this shows nothing.
    assert!((10_000..90_000).contains(&refused) && made == 150, "{refused} refused, {made} made");
}
