//! Whatever is wrong with a file, a database or a disk is told in a sentence, with its place, and nothing is lost.

use crate::common::{Folder, SMALL, read, run_into};
use sametick::Dice;
use sametick_lab::{Experiment, Log, Plan, SCHEMA_VERSION, starting_file};
use std::path::Path;

/// What is wrong with a file's text.
fn wrong(text: &str) -> String {
    let read = Experiment::read(text, Path::new("."), false);
    let wrong = read.and_then(|experiment| Plan::new(&experiment).map(|_| ()));
    wrong.expect_err("something is wrong").to_string()
}

/// A text, and what is told of it.
const CASES: &[(&str, &str)] = &[
    ("title = \"x\"", "line 1, column 1: an experiment asks something: question = \"...\""),
    (
        "question = \"?\"\nsed = 3",
        "line 2, column 1: `sed` means nothing here; did you mean `seed`?",
    ),
    (
        "question = \"?\"\nping = 3",
        "line 2, column 1: `ping` means nothing here; it is a setting: put it under [settings]",
    ),
    (
        "question = \"?\"\n[settings]\npnig = \"3 ms\"",
        "line 3, column 1: there is no setting `pnig`; did you mean `ping`?",
    ),
    (
        "question = \"?\"\n[settings]\nping = 50",
        "line 3, column 8: `ping` needs its unit: \"50 ms\"",
    ),
    (
        "question = \"?\"\n[settings]\nping = \"50 Hz\"",
        "line 3, column 8: `ping` is not measured in `Hz`: it takes ms or s or min",
    ),
    (
        "question = \"?\"\n[settings]\nloss = \"120 %\"",
        "line 3, column 8: `loss` cannot be 120 %: it is a share from 0 to 100 %, such as \"2 %\"",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"half-life\"",
        "line 3, column 9: `model` cannot be `half-life`: did you mean `half_life`?",
    ),
    (
        "question = \"?\"\n[settings]\nplayer.2.model = \"quake\"",
        "line 3, column 10: `model` is the same for all players",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"rollback\"\nplayers = 9",
        "line 4, column 11: 9 players: in lockstep 2 to 8 can play",
    ),
    (
        "question = \"?\"\n[settings]\nsnapshot_rate = \"90 Hz\"",
        "line 3, column 17: `snapshot_rate` is at most one a tick",
    ),
    (
        "question = \"?\"\n[factors]\nping = \"5 ms\"",
        "line 3, column 8: `ping` is a list of its levels: [...]",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"5 ms\", \"5 ms\"]",
        "line 3, column 17: `ping` has this level twice",
    ),
    (
        "question = \"?\"\n[[expect]]\nmetric = \"accuracies\"\nat_least = 1",
        "line 3, column 10: there is no metric `accuracies`; did you mean `accuracy`?",
    ),
    (
        "question = \"?\"\n[[expect]]\nmetric = \"accuracy\"\nequals = \"1 +\"\nwithin = 1",
        "line 4, column 10: a number or a name is missing at the end",
    ),
    ("question = \"?\"\nseed = = 3", "line 2, column 8: extra `=`, expected nothing"),
    (
        "question = \"?\"\n[[settings.change]]\nping = \"5 ms\"",
        "line 2, column 1: a change says when: at = \"10 s\"",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"netstorm\"",
        "line 3, column 9: `netstorm` is played on Islands only: play = \"islands\"",
    ),
    (
        "question = \"?\"\n[settings]\nplay = \"islands\"\nmodel = \"doom3\"",
        "line 4, column 9: `doom3` is not played on Islands: netstorm, quake, frame_locked",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"rollback\"\nstages = \"exact\"",
        "line 4, column 10: `stages` weighs snapshots, which only servers send",
    ),
    (
        "question = \"?\"\n[programs]\ntrial_strat = [\"true\"]",
        "line 3, column 1: `trial_strat` means nothing here; did you mean `trial_start`?",
    ),
    (
        "question = \"?\"\n[programs]\ntrial_start = \"rm -r x\"",
        "line 3, column 15: `trial_start` is a program and its arguments: [\"notify\", \"started\"]",
    ),
    (
        "question = \"?\"\n[figure]\nmetric = \"kills\"\nover = \"ping\"\n[factors]\nloss = [\"0 %\"]",
        "line 4, column 9: `ping` is no factor here; known are loss",
    ),
    (
        "question = \"?\"\n[[expect]]\nmetric = \"kills\"\nequals = \"pin / 2\"\nwithin = 1",
        "line 4, column 11: `pin` is no setting; did you mean `ping`?",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"0 ms\", \"90 ms\"]\n[[expect]]\nmetric = \"kills\"\n\
         where = { ping = \"50 ms\" }\nat_least = 1",
        "line 6, column 18: `ping` has no level 50 ms; it has 0 ms, 90 ms",
    ),
    (
        "question = \"?\"\n[settings]\nduration = \"20 s\"\n[[settings.change]]\nat = \"20 s\"\nping = \"5 ms\"",
        "line 5, column 6: a trial is over by then: it lasts 20 s",
    ),
    (
        "question = \"?\"\n[settings]\nplay = \"fpsci\"\n[[settings.change]]\nat = \"2 s\"\nping = \"5 ms\"",
        "line 5, column 6: lines do not change during a trial of `fpsci`",
    ),
    (
        "question = \"?\"\n[settings]\nscene = \"tree\"",
        "line 3, column 9: `scene` means nothing here: it is of play = \"scene\"",
    ),
    (
        "question = \"?\"\n[settings]\nbudget = \"9 kbit/s\"",
        "line 3, column 10: `budget` means nothing here: it is of play = \"islands\" with model = \"netstorm\"",
    ),
    (
        "question = \"?\"\n[settings]\nplay = \"scene\"\nplayer.1.skill = \"expert\"",
        "line 4, column 18: `player.1.skill` means nothing here: it is of the bots of play = \"match\"",
    ),
    (
        "question = \"?\"\n[settings]\nplay = \"scene\"\nplayers = 4",
        "line 4, column 11: a scene has 2 players, not 4: leave it out",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"rollback\"\nrewind = \"9 ms\"",
        "line 4, column 10: `rewind` means nothing here: it is of matches and scenes with a server",
    ),
    (
        "question = \"?\"\n[settings]\nmode = \"duel\"\nplayers = 1",
        "line 4, column 11: a duel takes two players",
    ),
    (
        "question = \"?\"\n[[session]]\nname = \"a\"\n[[expect]]\nmetric = \"kills\"\n\
         where = { session = \"b\" }\nat_least = 1",
        "line 6, column 21: `session` has no level b; it has a",
    ),
    (
        "question = \"?\"\n[settings]\nplayer.5.ping = \"50 ms\"",
        "line 3, column 17: `player.5.ping` is of nobody: 2 play",
    ),
    (
        "question = \"?\"\n[[session]]\nname = \"a\"\n[[session]]\nname = \"a\"",
        "line 4, column 1: there are two sessions \"a\"",
    ),
    (
        "question = \"?\"\n[[trial]]\nname = \"a\"\n[[trial]]\nname = \"a\"",
        "line 4, column 1: there are two trials \"a\"",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"1 ms\"]\n[[trial]]\nping = \"2 ms\"",
        "line 5, column 8: `ping` is a factor, which holds in every trial",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"1 ms\", \"2 ms\"]\n[quick.factors]\nping = [\"3 ms\"]",
        "line 5, column 9: `ping` has no level 3 ms; it has 1 ms, 2 ms",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"1 ms\", \"2 ms\"]\n[quick.factors]\nloss = [\"3 %\"]",
        "line 5, column 9: `loss` is no factor here; known are ping",
    ),
    (
        "question = \"?\"\n[factors]\nping = [\"1 ms\", \"2 ms\"]\nloss = [\"0 %\"]\n[[expect]]\n\
         metric = \"kills\"\nrows = \"ping\"\nrow_levels = [1, 3]\ncolumns = \"loss\"\ncolumn_levels = [0]\n\
         table = [[1], [2]]\nwithin = \"1 %\"",
        "line 8, column 18: `ping` has no level 3; it has 1, 2",
    ),
    (
        "question = \"?\"\n[settings]\nmodel = \"rollback\"\nmode = \"targets\"",
        "line 4, column 8: shots at targets are judged by a server: choose a `model` that has one",
    ),
];

#[test]
fn what_is_wrong_with_a_file_is_told_with_line_column_and_a_suggestion() {
    for (text, told) in CASES {
        assert_eq!(wrong(text), *told, "{text}");
    }
    let map = wrong("question = \"?\"\n[settings]\nmap = \"attic\"");
    assert!(map.starts_with("line 3, column 7: there is no map \"attic\""), "{map}");
}

/// Fourteen mistakes of all kinds, in every part of a file.
const MANY: &str = r#"seed = -1
tittle = "x"
[settings]
pnig = "5 ms"
loss = "200 %"
map = "attic"
player.2.model = "quake"
player.x.ping = "5 ms"
[[settings.change]]
ping = "5 ms"
[factors]
jitter = ["5 ms", "5 Hz", "5 ms"]
[[session]]
nmae = "a"
[[expect]]
metric = "acuracy"
equals = "pin"
[[expect]]
metric = "kills"
where = { burst = 2 }
at_least = 1
"#;

#[test]
fn all_mistakes_of_a_file_are_told_in_the_order_of_its_lines() {
    let wrongs = Experiment::check(MANY, Path::new("."), false).expect_err("much is wrong");
    let places: Vec<(usize, usize)> =
        wrongs.all.iter().map(|wrong| (wrong.line, wrong.column)).collect();
    let lines: Vec<usize> = places.iter().map(|(line, _)| *line).collect();
    let told = wrongs.told("odd.toml");
    assert_eq!(lines, [1, 1, 2, 4, 5, 6, 7, 8, 9, 12, 12, 14, 15, 16, 17, 20], "{told}");
    assert!(told.lines().all(|line| line.starts_with("odd.toml, line ")), "{told}");
    assert_eq!(wrongs.more, 0);
    // What does not fit together is told beside what is misspelt elsewhere.
    let text =
        "question = \"?\"\nsede = 1\n[settings]\nsnapshot_rate = \"90 Hz\"\nduration = \"1 ms\"";
    let wrongs = Experiment::check(text, Path::new("."), false).expect_err("three are wrong");
    let lines: Vec<usize> = wrongs.all.iter().map(|wrong| wrong.line).collect();
    assert_eq!(lines, [2, 4, 5]);
    // But not where what is played is not known: it may be right.
    let text = "question = \"?\"\n[settings]\nplay = \"scen\"\nscene = \"tree\"";
    let wrongs = Experiment::check(text, Path::new("."), false).expect_err("one is wrong");
    assert_eq!(wrongs.all.len(), 1, "{wrongs:?}");
    let text = format!("question = \"?\"\n{}", "[[expect]]\n".repeat(100));
    let wrongs = Experiment::check(&text, Path::new("."), false).expect_err("all are wrong");
    assert_eq!(wrongs.all.len(), sametick_lab::WRONGS_MAX);
    assert_eq!(wrongs.all.len() + wrongs.more, 200, "no metric and no rule");
    let text = "question = \"?\"\nseed = = 3\n[settings\nx = 3\ny = = 4";
    let wrongs = Experiment::check(text, Path::new("."), false).expect_err("it is damaged");
    assert!(wrongs.all.len() > 1 && wrongs.all[0].line == 2, "{wrongs:?}");
}

#[test]
fn sessions_and_kinds_of_trials_are_told_apart_where_they_differ() {
    let labels = |text: &str| -> Vec<String> {
        let (_, plan) = read(text);
        plan.conditions.into_iter().map(|condition| condition.label).collect()
    };
    let same = "question = \"?\"\n[factors]\nping = [\"0 ms\", \"50 ms\"]\n[[session]]\nname = \"one\"\n\
                [[session]]\nname = \"two\"\n";
    assert_eq!(labels(same), ["ping 0 ms", "ping 50 ms"], "the same twice is the same");
    let apart = format!("{same}settings.loss = \"2 %\"\n");
    let expected = ["ping 0 ms, one", "ping 50 ms, one", "ping 0 ms, two", "ping 50 ms, two"];
    assert_eq!(labels(&apart), expected);
    let (_, plan) = read(&apart);
    assert_eq!(plan.conditions[0].apart, [("session", "one".to_owned())]);
    assert_eq!(plan.conditions[2].settings.number("loss"), Some(2.0));
    let by_hand =
        format!("{same}[figure]\nmetric = \"kills\"\nover = \"ping\"\nseries = \"session\"\n");
    assert_eq!(labels(&by_hand), expected, "where a file asks for it");
    let kinds = "question = \"?\"\n[[session]]\nname = \"one\"\n[[session.trial]]\nname = \"calm\"\n\
                 [[session.trial]]\nname = \"wild\"\njitter = \"9 ms\"\n";
    assert_eq!(labels(kinds), ["one, calm", "one, wild"]);
    let later = "question = \"?\"\n[[session]]\nname = \"first\"\n[[session.trial]]\nname = \"easy\"\n\
                 [[session]]\nname = \"main\"\n[[session.trial]]\nname = \"easy\"\n[[session.trial]]\n\
                 name = \"hard\"\njitter = \"9 ms\"\n";
    assert_eq!(labels(later), ["first, easy", "main, easy", "main, hard"], "met later");
    let all = later.replace("name = \"main\"", "name = \"main\"\nsettings.loss = \"1 %\"");
    let (_, plan) = read(&all);
    let apart = |name: &str, kind: &str| [("session", name.to_owned()), ("trial", kind.to_owned())];
    assert_eq!(plan.conditions[2].apart, apart("main", "hard"), "both are told");
    assert_eq!(plan.conditions.len(), 3);
}

#[test]
fn shuffled_trials_are_mixed_over_kinds_and_repetitions() {
    let text = "question = \"?\"\nrepetitions = 2\norder = \"shuffled\"\n[factors]\nping = [\"0 ms\", \"9 ms\"]\n\
                [[trial]]\nname = \"a\"\ncount = 6\n[[trial]]\nname = \"b\"\ncount = 6\nloss = \"1 %\"\n";
    let (_, plan) = read(text);
    let names: Vec<(usize, &str)> =
        plan.trials.iter().map(|trial| (trial.condition, trial.name.as_str())).collect();
    let (first, second) = names.split_at(24);
    assert_ne!(first, second, "another order in each repetition");
    let changes = first.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert!(changes > 5, "kinds alternate: {first:?}");
    let sorted = |names: &[(usize, &str)]| {
        let mut names: Vec<(usize, String)> =
            names.iter().map(|(condition, name)| (*condition, (*name).to_owned())).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(first), sorted(second), "each as often as before");
    let (_, again) = read(text);
    let seeds = |plan: &Plan| plan.trials.iter().map(|trial| trial.seed).collect::<Vec<_>>();
    assert_eq!(seeds(&plan), seeds(&again));
}

#[test]
fn changes_of_all_layers_come_by_time() {
    let (_, plan) = read(
        "question = \"?\"\n[settings]\nduration = \"9 s\"\n[[settings.change]]\nat = \"5 s\"\nping = \"9 ms\"\n\
         [[session]]\nname = \"one\"\n[[session.settings.change]]\nat = \"2 s\"\nping = \"50 ms\"\n",
    );
    let times: Vec<f64> = plan.trials[0].settings.changes.iter().map(|one| one.at_ms).collect();
    assert_eq!(times, [2_000.0, 5_000.0]);
}

#[test]
fn sessions_trials_and_levels_override_each_other_from_the_outside_in() {
    let (_, plan) = read(
        r#"
        question = "?"
        order = "latin"
        participants = 2
        practice = 1
        [settings]
        ping = "10 ms"
        loss = "1 %"
        jitter = "1 ms"
        [[session]]
        name = "one"
        settings.loss = "2 %"
        [[session.trial]]
        name = "calm"
        count = 2
        [[session.trial]]
        name = "wild"
        jitter = "9 ms"
        [session.factors]
        ping = ["20 ms", "30 ms"]
        [[session]]
        name = "two"
        "#,
    );
    let of = |trial: &sametick_lab::Trial| {
        ["ping", "loss", "jitter"].map(|name| trial.settings.number(name).unwrap_or(-1.0))
    };
    let counted: Vec<_> = plan.trials.iter().filter(|trial| !trial.is_practice).collect();
    // Two participants: two conditions of three trials, and one session of a single one.
    assert_eq!(counted.len(), 2 * (2 * 3 + 1));
    assert_eq!(of(counted[0]), [20.0, 2.0, 1.0]);
    assert_eq!((counted[2].name.as_str(), of(counted[2])), ("wild", [20.0, 2.0, 9.0]));
    assert_eq!(of(counted[3]), [30.0, 2.0, 1.0]);
    assert_eq!((counted[6].session.as_str(), of(counted[6])), ("two", [10.0, 1.0, 1.0]));
    assert_eq!(of(counted[7]), [30.0, 2.0, 1.0], "the second participant begins elsewhere");
    assert_eq!(counted[0].seed, counted[3].seed, "every condition meets the same seeds");
    assert_ne!(counted[0].seed, counted[1].seed);
}

#[test]
fn damaged_files_are_refused_and_never_break_the_reader() {
    let whole = starting_file() + SMALL;
    let letters: Vec<char> = "\"'[]{}=#.,\n \u{0}é%0aZ-".chars().collect();
    let mut dice = Dice::new(7, 1);
    for seed in 0..4_000 {
        let mut text: Vec<char> = whole.chars().collect();
        for _ in 0..=dice.below(6) {
            let at = dice.below(text.len() as u64) as usize;
            let letter = letters[dice.below(letters.len() as u64) as usize];
            match dice.below(3) {
                0 => text[at] = letter,
                1 => text.insert(at, letter),
                _ => drop(text.drain(at..(at + dice.below(40) as usize).min(text.len()))),
            }
        }
        let text: String = text.into_iter().collect();
        let read =
            std::panic::catch_unwind(|| Experiment::read(&text, Path::new("."), false).map(|_| ()));
        assert!(read.is_ok(), "seed {seed}: {text}");
    }
}

#[test]
fn databases_that_are_not_ours_or_in_use_are_refused_in_a_sentence() {
    let folder = Folder::new("refused");
    let path = folder.file("log.db");
    let (experiment, plan) = read(SMALL);
    let refused = |path: &Path| match Log::write(path, &experiment, &plan) {
        Ok(_) => panic!("{} was taken", path.display()),
        Err(error) => error.to_string(),
    };
    let log = Log::write(&path, &experiment, &plan).expect("a log");
    assert!(refused(&path).contains("another lab is writing"), "{}", refused(&path));
    drop(log);

    let (other, its_plan) = read(&SMALL.replace("repetitions = 2", "repetitions = 3"));
    let error = Log::write(&path, &other, &its_plan).err().expect("another experiment").to_string();
    assert!(error.contains("holds another experiment"), "{error}");

    let log = Log::read(&path).expect("it opens");
    log.connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).expect("ours");
    drop(log);
    let version = format!("is of version {}", SCHEMA_VERSION + 1);
    assert!(refused(&path).contains(&version), "{}", refused(&path));

    let text = folder.file("text.db");
    std::fs::write(&text, "This is no database, though it is long enough to be one. ".repeat(99))
        .expect("ours");
    assert!(refused(&text).contains("is no log"), "{}", refused(&text));
    let nowhere = folder.file("nowhere/log.db");
    assert!(refused(&nowhere).contains("cannot be written"), "{}", refused(&nowhere));
    assert!(
        Log::read(&folder.file("none.db"))
            .err()
            .expect("none")
            .to_string()
            .contains("no such file")
    );
}

#[test]
fn shots_that_are_told_late_and_out_of_order_are_all_kept() {
    let folder = Folder::new("late");
    let (experiment, plan) = read(SMALL);
    let log = Log::write(&folder.file("late.db"), &experiment, &plan).expect("a log");
    let shot = |tick, player| sametick_lab::ShotRow { tick, player, ..Default::default() };
    let shots = vec![shot(7, 1), shot(9, 2), shot(7, 2), shot(8, 1), shot(7, 1)];
    let rows = sametick_lab::TrialLog { shots, ..Default::default() };
    log.add(&plan.trials[0], &rows, None).expect("they are written");
    let sql = "SELECT group_concat(tick || '.' || ordinal || '.' || player, ' ') FROM shot";
    let told: String = log.connection.query_row(sql, [], |row| row.get(0)).expect("they are read");
    assert_eq!(told, "7.0.1 7.1.2 7.2.1 8.0.1 9.0.2");
}

#[test]
fn a_full_disk_loses_no_trial_that_was_whole() {
    let folder = Folder::new("full");
    let path = folder.file("full.db");
    let (experiment, plan) = read(SMALL);
    let log = Log::write(&path, &experiment, &plan).expect("a log");
    let library = sametick_lab::Library::new(Path::new("."));
    let rows =
        sametick_lab::play(&plan.trials[0], &library, &crate::common::simulated).expect("it plays");
    log.add(&plan.trials[0], &rows, None).expect("there is room");
    let pages: i64 =
        log.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("a number");
    log.connection.pragma_update(None, "max_page_count", pages + 1).expect("ours");
    let error = log.add(&plan.trials[3], &rows, None).expect_err("there is no room").to_string();
    assert!(error.contains("make room"), "{error}");
    assert_eq!(log.done().expect("it is read").into_iter().collect::<Vec<_>>(), [1]);
    log.connection.pragma_update(None, "max_page_count", 1_000_000).expect("ours");
    drop(log);
    let (_, ran) = run_into(&path, SMALL, 2, (0, 1)).expect("it goes on");
    assert_eq!((ran.kept, ran.trials), (1, 5));
}
