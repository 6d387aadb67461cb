//! What is made of a run besides its log: files for other programs, recordings of trials, programs run around them,
//! and the parts of every frame.

use crate::common::{Folder, SMALL, read, run_into};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::types::Value as Cell;
use sametick::Tick;
use sametick::replay::{Header, Replay};
use sametick_arena::Arena;
use sametick_lab::{
    Format, Log, content_named, doubtful_shots, doubtful_trials, film, outcomes, play_again,
    report, report_with,
};
use std::collections::BTreeSet;
use std::fs::File;

/// A short scene in which a runner is shot around its corner.
const CORNER: &str = r#"
question = "Who is shot around the corner?"
[settings]
play = "scene"
scene = "corner"
duration = "8 s"
warm_up = "6 s"
snapshot_rate = "60 Hz"
rewind = "500 ms"
player.1.ping = "400 ms"
"#;

#[test]
fn parquet_files_hold_every_cell_of_every_table() {
    let folder = Folder::new("parquet");
    let (log, _) = run_into(&folder.file("small.db"), SMALL, 2, (0, 1)).expect("it runs");
    let files = log.export(&folder.file("tables"), Format::Parquet).expect("they are written");
    let (mut cells, mut kinds) = (0, BTreeSet::new());
    for path in files {
        let reader = SerializedFileReader::new(File::open(&path).expect("there")).expect("Parquet");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let columns = reader.metadata().file_metadata().schema_descr().num_columns();
        // Keys are the first columns.
        let key = if columns < 3 { "1" } else { "1, 2, 3" };
        let sql = format!("SELECT * FROM {name} ORDER BY {key}");
        let mut statement = log.connection.prepare(&sql).expect("a table of ours");
        let mut rows = statement.query([]).expect("it is read");
        for record in reader.get_row_iter(None).expect("rows") {
            let record = record.expect("a row");
            let row = rows.next().expect("it is read").expect("as many as there");
            for (at, (column, field)) in record.get_column_iter().enumerate() {
                let cell: Cell = row.get(at).expect("a cell");
                let is_same = match (field, &cell) {
                    (Field::Null, Cell::Null) => true,
                    (Field::Long(one), Cell::Integer(other)) => one == other,
                    (Field::Double(one), Cell::Real(other)) => one.to_bits() == other.to_bits(),
                    (Field::Str(one), Cell::Text(other)) => one == other,
                    _ => false,
                };
                assert!(is_same, "{name}.{column}: {field:?} and {cell:?}");
                kinds.insert(std::mem::discriminant(&cell) == std::mem::discriminant(&Cell::Null));
                cells += 1;
            }
        }
        assert!(
            rows.next().expect("it is read").is_none(),
            "{name} has rows that were not written"
        );
    }
    assert!(cells > 10_000 && kinds.len() == 2, "{cells} cells, some of them empty");
}

#[test]
fn a_trial_is_played_again_as_it_was_and_its_doubtful_shots_are_found_in_its_recording() {
    let folder = Folder::new("again");
    let path = folder.file("corner.db");
    let (log, _) = run_into(&path, CORNER, 1, (0, 1)).expect("it runs");
    assert_eq!(doubtful_trials(&log).expect("they are asked for"), [1]);
    let recording = play_again(&log, 1, ".".as_ref()).expect("it is played").recording;
    let header = Header::read(&recording).expect("a recording");
    let content = content_named(header.content_name, None).expect("a scene of the game");
    let mut replay = Replay::<Arena>::open(recording, content).expect("it opens");
    assert_eq!(replay.verify().expect("it plays").divergence, None);
    let sql = "SELECT tick, served_x FROM shot WHERE is_behind_cover AND served_x IS NOT NULL";
    let (tick, x): (u32, f64) = log
        .connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("somebody is shot around the corner");
    replay.seek(Tick(tick)).expect("it is in there");
    let mut fighters = replay.world().all::<sametick_arena::Fighter>();
    assert!(fighters.any(|(_, one)| f64::from(one.position[0]) == x), "where the log has it");

    check_film(&log, tick);
    let page = report(&log, "sametick lab run").expect("a report");
    let command = format!("sametick lab replay {} --trial 1 --tick {tick}", path.display());
    assert!(page.contains(&command), "{command}");
    let page = report_with(&log, "sametick lab run", Some("recordings")).expect("a report");
    assert!(page.contains("<a href=\"recordings/trial-1.sametick\">"), "a link");
    assert!(page.contains(&format!("sametick replay recordings/trial-1.sametick --seek {tick}")));

    let none = play_again(&log, 7, ".".as_ref()).expect_err("there is none").to_string();
    assert!(none.contains("has no trial 7"), "{none}");
    log.connection.execute("UPDATE trial SET world_hash = 'another'", []).expect("ours");
    let other = play_again(&log, 1, ".".as_ref()).expect_err("it is another").to_string();
    assert!(other.contains("ends otherwise"), "{other}");
}

/// On the three panes of a shot's film its victim is where the log has it: shown, served and own.
fn check_film(log: &Log, tick: u32) {
    assert!(doubtful_shots(log).expect("they are asked for").contains(&(1, tick)));
    let recording = play_again(log, 1, ".".as_ref()).expect("it is played").recording;
    let page = film(log, recording.clone(), (1, tick), ".".as_ref()).expect("a film");
    assert!(
        page.contains("hit somebody who had reached cover") && page.contains("<rect "),
        "{page}"
    );
    let (_, rest) = page.split_once("const film = ").expect("numbers");
    let told = rest.split(";\n").next().expect("their end");
    let told: serde_json::Value = serde_json::from_str(told).expect("they are read");
    let place = |pane: usize| {
        let at = told["at"].as_f64().expect("a moment") as usize;
        let all = told["frames"][pane][at].as_array().expect("players");
        let victim = all.iter().find(|one| one[0] == told["victim"]).expect("the victim");
        [1, 2].map(|axis| victim[axis].as_f64().expect("a place"))
    };
    let pixels = told["radius"].as_f64().expect("a size") / 0.4;
    let off = |one: usize, other: usize| {
        let [one, other] = [place(one), place(other)];
        (one[0] - other[0]).hypot(one[1] - other[1]) / pixels
    };
    let sql = "SELECT shown_x - served_x, shown_y - served_y, own_x - served_x, own_y - served_y FROM shot \
               WHERE is_behind_cover AND tick = ?1";
    let logged: [f64; 4] = log
        .connection
        .query_row(sql, [tick], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
        .expect("the shot");
    let (shown, own) = (logged[0].hypot(logged[1]), logged[2].hypot(logged[3]));
    assert!(shown > 1.0 && (off(0, 1) - shown).abs() < 0.15, "{} m, logged {shown}", off(0, 1));
    assert!((off(2, 1) - own).abs() < 0.15, "{} m, logged {own}", off(2, 1));
    let none = film(log, recording, (1, 3), ".".as_ref()).expect_err("no shot").to_string();
    assert!(none.contains("nobody was shot at in tick 3"), "{none}");
}

#[test]
fn frames_and_ticks_say_what_took_how_long_and_all_that_came_and_went() {
    let folder = Folder::new("frames");
    let (log, _) = run_into(&folder.file("small.db"), SMALL, 2, (0, 1)).expect("it runs");
    let count = |sql: &str| -> f64 {
        log.connection.query_row(sql, [], |row| row.get(0)).expect("it is read")
    };
    let of = |player: &str| {
        format!("FROM frame f JOIN trial t USING (trial) WHERE t.trial = 1 AND f.player {player}")
    };
    let ticks = count(&format!("SELECT COUNT(*) {}", of("= 0")));
    assert!((179.0..=181.0).contains(&ticks), "a row for each of 60 ticks a second: {ticks}");
    for part in ["network_ms", "rules_ms", "encoding_ms"] {
        assert!(count(&format!("SELECT SUM({part}) {}", of("= 0"))) > 0.0, "{part}");
    }
    assert!(count(&format!("SELECT SUM(drawing_ms) {}", of("> 0"))) > 0.0);
    // What is counted by frames is what is counted by seconds, but for what is under way at the ends.
    for column in ["packets_out", "bytes_in"] {
        let frames = count(&format!("SELECT SUM({column}) {}", of("> 0")));
        let sql = format!("SELECT SUM({column}) FROM second WHERE trial = 1 AND player > 0");
        let seconds = count(&sql);
        assert!((frames / seconds - 1.0).abs() < 0.05, "{column}: {frames} and {seconds}");
    }
}

#[cfg(unix)]
#[test]
fn programs_run_when_sessions_and_trials_begin_and_end() {
    let folder = Folder::new("programs");
    let notes = folder.file("notes.txt");
    let note =
        format!("echo $SAMETICK_WHEN $SAMETICK_SESSION $SAMETICK_TRIAL >> {}", notes.display());
    let text = format!(
        "question = \"?\"\nrepetitions = 2\n[settings]\nplay = \"fpsci\"\nduration = \"1 s\"\nwarm_up = \"0 s\"\n\
         [programs]\nsession_start = [\"sh\", \"-c\", \"{note}\"]\nsession_end = [\"sh\", \"-c\", \"{note}\"]\n\
         trial_start = [\"sh\", \"-c\", \"{note}\"]\ntrial_end = [\"sh\", \"-c\", \"{note}\"]\n\
         [[session]]\nname = \"a\"\n[[session]]\nname = \"b\"\nprograms.trial_end = [\"true\"]\n"
    );
    let (log, ran) = run_into(&folder.file("noted.db"), &text, 1, (0, 1)).expect("it runs");
    assert_eq!(ran.trials, 4);
    let noted = std::fs::read_to_string(&notes).expect("notes");
    let expected = [
        "session_start a 1",
        "trial_start a 1",
        "trial_end a 1",
        "trial_start a 2",
        "trial_end a 2",
        "session_end a 2",
        "session_start b 3",
        "trial_start b 3",
        "trial_start b 4",
        "session_end b 4",
    ];
    assert_eq!(noted.lines().collect::<Vec<_>>(), expected);
    drop(log);

    let failing =
        text.replace("programs.trial_end = [\"true\"]", "programs.trial_end = [\"false\"]");
    let refused =
        run_into(&folder.file("failing.db"), &failing, 1, (0, 1)).err().expect("it fails");
    assert!(
        refused.to_string().contains("the program \"false\" of `trial_end` failed"),
        "{refused}"
    );
    let done = Log::read(&folder.file("failing.db")).expect("it opens").done().expect("it is read");
    assert_eq!(done.into_iter().collect::<Vec<_>>(), [1, 2], "what was whole before stays");
}

#[test]
fn what_a_paper_has_and_we_have_not_is_stated_as_it_is_and_noticed_when_it_changes() {
    let folder = Folder::new("unmet");
    let file = |least: u32, most: u32| {
        format!(
            "question = \"?\"\n[settings]\nplay = \"fpsci\"\nduration = \"2 s\"\n[[expect]]\nmetric = \
             \"frame_bytes\"\nat_least = {least}\nat_most = {most}\nunmet = \"ours has 63\"\n"
        )
    };
    for (name, least, most, holds) in [("a.db", 10, 20, true), ("b.db", 60, 66, false)] {
        let text = file(least, most);
        let (log, _) = run_into(&folder.file(name), &text, 1, (0, 1)).expect("it runs");
        let (experiment, _) = read(&text);
        let outcome = &outcomes(&experiment, &log).expect("compared")[0];
        assert_eq!(outcome.expected, format!("not {least} to {most}: ours has 63"));
        assert_eq!(outcome.holds, holds);
    }
}

#[test]
fn bots_use_the_weapon_that_they_are_told() {
    let folder = Folder::new("weapon");
    let text = "question = \"?\"\n[settings]\nmap = \"corners\"\nduration = \"15 s\"\nplayer.1.weapon = \
                \"shotgun\"\nplayer.2.weapon = \"rifle\"\n";
    let (log, _) = run_into(&folder.file("weapon.db"), text, 1, (0, 1)).expect("it runs");
    let pellets = |player: u32| -> (f64, f64) {
        let sql = "SELECT MIN(pellets), MAX(pellets) FROM shot WHERE player = ?1";
        log.connection
            .query_row(sql, [player], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("shots")
    };
    let (least, most) = pellets(1);
    assert!(least > 1.0 && most > 1.0, "a shotgun has many pellets: {least} to {most}");
    assert_eq!(pellets(2), (1.0, 1.0), "a rifle has one");
}
