//! What is left of a study in its log: rows of every trial, FPSci's views, exclusions, the report, and power.

use crate::common::people::{Driver, Seeded};
use crate::common::{Folder, read};
use sametick::Dice;
use sametick_lab::people::{Attempt, EventKind, Line, SeatId, Stage, Start, Telemetry};
use sametick_lab::people::{excluded, flags, power};
use sametick_lab::{
    Analysis, Experiment, Format, Library, Log, METRICS, Plan, Simulated, TrialLog, compare,
    figure, outcomes, play, report,
};
use std::path::Path;

const STUDY: &str = r#"
question = "Does ping cost <b>accuracy</b>?"
participants = 4
repetitions = 2
order = "williams"
[settings]
map = "corners"
players = 3
duration = "3 s"
warm_up = "1 s"
log_states = true
[factors]
ping = ["40 ms", "200 ms"]
[figure]
metric = "rating"
over = "ping"
[people]
consent = "Agree?"
foreperiod = ["1 s", "3 s"]
[[people.question]]
ask = "How fair & square?"
kind = "rating"
options = ["1", "2", "3", "4", "5"]
[[people.question]]
ask = "What was it?"
kind = "choice"
options = ["a", "b"]
randomised = true
[[people.question]]
ask = "Anything?"
kind = "text"
after = "study"
[[people.exclude]]
rule = "frame_ms_95 > 40"
reason = "slow computer"
[[people.exclude]]
rule = "hidden_ms > 5000"
of = "participant"
reason = "looked elsewhere"
"#;

/// A study played to its end: bots sit in for people, everything else goes the way that people's trials go.
struct Played {
    driver: Driver,
    log: Log,
    experiment: Experiment,
    plan: Plan,
    /// Kept: ways through a map take longer to find than to play.
    library: Library,
}

fn telemetry(start: &Start, seat: SeatId, second: u32) -> Telemetry {
    // Seat 2 is slow in its third trial; seat 4 is hidden all the time.
    let is_slow = seat == SeatId(2) && start.trial.place == 3;
    Telemetry {
        trial: start.trial.number,
        attempt: start.attempt,
        seat,
        second,
        frames: 60,
        frame_ms: 16.7,
        frame_ms_95: if is_slow { 55.0 } else { 17.5 },
        hidden_ms: if seat == SeatId(4) { 2_000.0 } else { 0.0 },
        is_focused: true,
        ping_ms: start.asked[0].ping_ms.map(|ms| ms + 1.5),
        loss: Some(0.0),
        inputs: 7,
    }
}

impl Played {
    fn begin(folder: &Folder, text: &str, name: &str) -> Self {
        let (experiment, plan) = read(text);
        let log = Log::write(&folder.file(name), &experiment, &plan).expect("a log");
        let mut driver = Driver::new(text, 5);
        driver.study =
            log.study(&experiment, &plan, &mut Seeded(Dice::new(5, 5))).expect("a study");
        let library = Library::new(Path::new("."));
        Self { driver, log, experiment, plan, library }
    }

    fn keep_events(&mut self) {
        for event in self.driver.events.split_off(0) {
            self.log.add_event(&self.driver.study, &event).expect("it is logged");
        }
    }

    fn play_one(&mut self, start: &Start) {
        let (group, trial, attempt) = (start.group, start.trial.number, start.attempt);
        self.driver.must(None, EventKind::Started { group, trial, attempt });
        let carrier = |hosts, seed| Ok(Box::new(Simulated::new(hosts, seed)) as _);
        let rows: TrialLog = play(&start.trial, &self.library, &carrier).expect("it is played");
        let began_us = self.driver.now_ms as i64 * 1_000;
        self.driver.now_ms += 4_000;
        let people = self.experiment.people.as_ref().expect("people");
        let (mut told, mut against) = (Vec::new(), Vec::new());
        for ((seat, _, _), asked) in start.seats.iter().zip(&start.asked) {
            let seconds: Vec<Telemetry> = (0..3).map(|n| telemetry(start, *seat, n)).collect();
            let found = flags(*asked, Line::achieved(&seconds), &seconds, people);
            against.extend(found.into_iter().map(|flag| (*seat, flag)));
            told.extend(seconds);
        }
        self.log.add_telemetry(&told).expect("it is logged, and twice is once");
        // Events are in the log in the order in which they happened.
        self.keep_events();
        let (rows, telemetry, flags) = (&rows, &told[..], &against[..]);
        let attempt = Attempt { start, rows, began_us, telemetry, flags };
        let (study, now_ms) = (&mut self.driver.study, self.driver.now_ms);
        self.log.add_finished(study, now_ms, &attempt).expect("it is logged");
    }

    /// What is rated is what the ping was: 5 at 40 ms, less at 200 ms.
    fn answer(&mut self, seat: SeatId) -> bool {
        let stage = self.driver.study.stage(seat, self.driver.now_ms);
        let Stage::Questions { trial, questions } = stage else { return false };
        let asked = questions[0].clone();
        let is_short = trial.is_some_and(|number| {
            self.plan.trials[number as usize - 1].settings.number("ping") == Some(40.0)
        });
        let answer = match asked.question {
            1 if is_short => ["5", "4"][seat.0 as usize % 2].to_owned(),
            1 => ["1", "2"][seat.0 as usize % 2].to_owned(),
            3 => "it's \"fine\"; DROP TABLE trial".to_owned(),
            6 if is_short => asked.options[1].clone(),
            _ => asked.options[0].clone(),
        };
        let (question, presented) = (asked.question, asked.options);
        self.driver.must(Some(seat), EventKind::Answered { trial, question, presented, answer });
        true
    }

    fn finish(&mut self) {
        loop {
            let mut moved = false;
            for seat in self.driver.study.seats() {
                moved |= self.answer(seat) || self.driver.act(seat, 10.0);
            }
            for start in self.driver.study.due(self.driver.now_ms) {
                self.play_one(&start);
                moved = true;
            }
            self.keep_events();
            if !moved {
                return;
            }
        }
    }
}

fn number(log: &Log, sql: &str) -> f64 {
    log.connection
        .query_row(sql, [], |row| row.get::<_, Option<f64>>(0))
        .expect(sql)
        .unwrap_or(f64::NAN)
}

#[test]
fn every_row_has_its_trial_and_fpscis_own_queries_run() {
    let folder = Folder::new("people-log");
    let mut played = Played::begin(&folder, STUDY, "study.db");
    played.finish();
    let log = &played.log;
    assert!(played.driver.study.is_over());
    assert_eq!(number(log, "SELECT COUNT(*) FROM trial"), 16.0);
    assert_eq!(number(log, "SELECT COUNT(*) FROM sitting"), 16.0);
    assert_eq!(number(log, "SELECT COUNT(*) FROM question WHERE ordinal < 3"), 32.0);
    assert_eq!(number(log, "SELECT COUNT(*) FROM telemetry"), 48.0);
    for table in ["player", "line", "second", "shot", "hit", "telemetry", "sitting", "question"] {
        let sql =
            format!("SELECT COUNT(*) FROM {table} WHERE trial NOT IN (SELECT trial FROM trial)");
        assert_eq!(number(log, &sql), 0.0, "{table}");
    }
    // Hit rate as FPSci's users ask for it, over time windows, against ours with the trial's key.
    let shots = number(log, "SELECT COUNT(*) FROM shot");
    assert!(shots > 20.0, "{shots} shots");
    let windows = "FROM Trials t JOIN Player_Action p ON p.time BETWEEN t.start_time AND t.end_time \
                   AND p.event IN ('hit', 'destroy', 'miss')";
    assert_eq!(
        number(log, &format!("SELECT COUNT(*) {windows}")),
        shots,
        "no row is in two windows"
    );
    let same = number(log, &format!("SELECT COUNT(*) {windows} WHERE p.trial = t.trial"));
    assert_eq!(same, shots, "and each is in its own");
    let rate = "SELECT 1.0 * SUM(event = 'destroy') / SUM(event IN ('destroy', 'miss')) FROM Player_Action";
    assert!((0.0..1.0).contains(&number(log, rate)));
    // Reaction time by julianday, and minutes of a session.
    let reaction = format!(
        "SELECT AVG(ms) FROM (SELECT (julianday(MIN(p.time)) - julianday(t.start_time)) * 86400000 AS ms {windows} \
         GROUP BY t.trial)"
    );
    let ours = "SELECT AVG(ms) FROM (SELECT MIN(time_ms) AS ms FROM shot GROUP BY trial)";
    assert!((number(log, &reaction) - number(log, ours)).abs() < 1.0);
    let minutes = "SELECT SUM((julianday(end_time) - julianday(start_time)) * 1440) FROM Sessions";
    assert!(number(log, minutes) > 0.8, "{}", number(log, minutes));
    let pretrial = number(log, "SELECT AVG(pretrial_duration) FROM Trials");
    assert!((1.0..3.0).contains(&pretrial), "{pretrial}");
    assert_eq!(number(log, "SELECT COUNT(DISTINCT subject_id) FROM Users"), 4.0);
    assert_eq!(number(log, "SELECT COUNT(*) FROM Users WHERE sensitivity_x IS NOT NULL"), 4.0);
    let rated = "SELECT COUNT(*) FROM Questions WHERE question LIKE 'How fair%' AND response IN ('1', '2', '4', '5') \
                 AND trial_id IS NOT NULL AND presented_responses <> ''";
    assert_eq!(number(log, rated), 16.0);
    let quoted =
        "SELECT COUNT(*) FROM Questions WHERE response LIKE 'it''s \"fine\"%' AND trial_id IS NULL";
    assert_eq!(number(log, quoted), 4.0, "a quote loses no row");
}

#[test]
fn exclusions_flags_answers_and_what_was_achieved_are_in_the_report() {
    let folder = Folder::new("people-report");
    let mut played = Played::begin(&folder, STUDY, "study.db");
    played.finish();
    let log = &played.log;
    let left_out = excluded(log).expect("exclusions");
    let said: Vec<(bool, &str)> =
        left_out.iter().map(|one| (one.is_participant, one.reason.as_str())).collect();
    assert_eq!(said, [(false, "slow computer"), (true, "looked elsewhere")]);
    assert_eq!(Analysis::new(log).expect("an analysis").trials(), 16 - 1 - 4);
    let page = report(log, &log.command().expect("a command")).expect("a report");
    // What pages do not measure is not told as 0.
    for name in
        ["frames", "frame_bytes", "repredicted", "corrections", "stalled", "round_trip_extra"]
    {
        let metric = METRICS.iter().find(|metric| metric.name == name).expect(name);
        assert!(metric.of_trials(&log.connection).expect(name).is_empty(), "{name}");
    }
    for part in [
        "Yes: every line was within 10 ms and 2 % of what was asked.",
        "slow computer",
        "looked elsewhere",
        "the page was hidden for 6.0 s",
        "4 of 4 seats took part",
        "How fair &amp; square?",
        // Three participants are too few for that: Student's interval holds zero.
        "Rating did not clearly change from 4.",
        "3 participants",
        "sametick lab host experiment.toml --db again.db",
        "DROP TABLE trial",
    ] {
        let body = page.split("<body>").nth(1).unwrap_or_default();
        let head: String = body.chars().take(4_000).collect();
        assert!(page.contains(part), "{part} is missing in {head}");
    }
    assert!(!page.contains("<b>accuracy"), "texts are escaped");
    let written = log.export(&folder.file("csv"), Format::Csv).expect("files");
    assert!(written.iter().any(|path| path.ends_with("telemetry.csv")));
    assert_eq!(number(log, "SELECT COUNT(*) FROM exclusion"), 2.0);
    log.export(&folder.file("parquet"), Format::Parquet).expect("files");
}

#[test]
fn a_repeated_trial_replaces_its_rows_and_answers_and_keeps_its_telemetry() {
    let folder = Folder::new("people-repeat");
    let mut played = Played::begin(&folder, STUDY, "study.db");
    played.finish();
    let shots = number(&played.log, "SELECT COUNT(*) FROM trial");
    let (group, trial) = (1, 4);
    let setting = "ping".to_owned();
    let value = "60 ms".to_owned();
    played.driver.must(None, EventKind::Changed { group: Some(1), setting, value });
    played.driver.must(None, EventKind::Repeated { group, trial });
    played.finish();
    let log = &played.log;
    assert!(played.driver.study.is_over());
    assert_eq!(number(log, "SELECT COUNT(*) FROM trial"), shots);
    assert_eq!(number(log, "SELECT value FROM figure WHERE trial = 4 AND name = 'attempt'"), 2.0);
    assert_eq!(number(log, "SELECT COUNT(DISTINCT attempt) FROM telemetry WHERE trial = 4"), 2.0);
    assert_eq!(
        number(log, "SELECT COUNT(*) FROM question WHERE trial = 4 AND after = 'trial'"),
        2.0
    );
    assert_eq!(
        number(log, "SELECT COUNT(*) FROM question WHERE after = 'study'"),
        4.0,
        "asked once"
    );
    assert_eq!(
        number(log, "SELECT COUNT(*) FROM trial_flag WHERE flag = 'changed' AND trial = 4"),
        1.0
    );
    assert_eq!(number(log, "SELECT asked_ms FROM sitting WHERE trial = 4"), 60.0);
    let page = report(log, "again").expect("a report");
    assert!(
        page.contains("P01 repeats trial 4: because"),
        "the report tells what was done and why"
    );
    // And the same study is in a copy of the log, of which nothing is new.
    let copy = folder.file("copy.db");
    log.connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).expect("a copy");
    assert_eq!(log.merge(&copy).expect("the same study"), 0);
}

#[test]
fn no_trial_is_logged_that_the_study_does_not_count() {
    let folder = Folder::new("people-count");
    let mut played = Played::begin(&folder, STUDY, "study.db");
    played.finish();
    let (group, trial) = (1, 4);
    played.driver.must(None, EventKind::Repeated { group, trial });
    played.keep_events();
    let of = |played: &Played, table: &str| {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE trial = 4");
        number(&played.log, &sql)
    };
    let tables = ["trial", "shot", "figure", "sitting", "trial_flag", "question"];
    assert_eq!(tables.map(|table| of(&played, table)), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(of(&played, "telemetry"), 3.0, "that of every attempt stays");
    played.driver.must(None, EventKind::Skipped { group, trial });
    played.keep_events();
    assert_eq!(number(&played.log, "SELECT COUNT(*) FROM trial"), 15.0);
    // An attempt that nobody plays leaves nothing: neither rows nor an event.
    let events = number(&played.log, "SELECT COUNT(*) FROM event");
    let trial = played.plan.trials[3].clone();
    let (asked, seats, changed) = (Vec::new(), Vec::new(), Vec::new());
    let start = Start { group, attempt: 1, trial, asked, seats, foreperiod_ms: 0, changed };
    let rows = TrialLog::default();
    let attempt = Attempt { start: &start, rows: &rows, began_us: 0, telemetry: &[], flags: &[] };
    let refused = played.log.add_finished(&mut played.driver.study, 9_000_000, &attempt);
    assert_eq!(refused.expect_err("nobody plays it").0, "this attempt is not being played");
    assert_eq!(number(&played.log, "SELECT COUNT(*) FROM trial"), 15.0);
    assert_eq!(number(&played.log, "SELECT COUNT(*) FROM event"), events);
}

#[test]
fn targets_have_a_foreperiod_of_their_own_besides_that_of_people() {
    let folder = Folder::new("people-targets");
    let text = r#"
question = "How fast is a target seen?"
[settings]
map = "corners"
mode = "targets"
players = 1
duration = "2 s"
warm_up = "1 s"
targets = ["near"]
foreperiod = "500 ms"
[[target]]
name = "near"
distance = "8 m"
[people]
consent = "Agree?"
foreperiod = ["1 s", "3 s"]
"#;
    let mut played = Played::begin(&folder, text, "study.db");
    played.finish();
    let of = |name: &str| {
        number(&played.log, &format!("SELECT value FROM figure WHERE name = '{name}'"))
    };
    assert!((1_000.0..3_000.0).contains(&of("wait")), "{}", of("wait"));
    assert!((400.0..700.0).contains(&of("foreperiod")), "{}", of("foreperiod"));
    let pretrial = number(&played.log, "SELECT pretrial_duration FROM Trials");
    assert_eq!(pretrial, of("foreperiod") / 1_000.0, "what FPSci means is the wait for targets");
    // It ends when the target is gone, or two seconds after it appeared: its wait is no part of that.
    let length = number(&played.log, "SELECT duration_ms FROM trial");
    let gone = number(&played.log, "SELECT destroyed_ms FROM target");
    let whole = of("foreperiod") + 2_000.0;
    assert!(length == gone || (length - whole).abs() < 20.0, "{length} of {whole}, gone {gone}");
}

#[test]
fn rules_of_exclusion_hold_wherever_traces_are_and_a_damaged_file_is_told() {
    let folder = Folder::new("people-elsewhere");
    let mut played = Played::begin(&folder, STUDY, "study.db");
    played.finish();
    let set = "UPDATE experiment SET config = ?1";
    let text = STUDY.replace("[settings]", "[settings]\ntrace = 'gone.txt'");
    played.log.connection.execute(set, [text]).expect("another file");
    assert_eq!(excluded(&played.log).expect("exclusions").len(), 2);
    played.log.connection.execute(set, ["nonsense ["]).expect("another file");
    assert!(excluded(&played.log).is_err(), "rules do not vanish");
}

#[test]
fn power_rises_with_participants_and_bad_names_are_told() {
    let folder = Folder::new("people-power");
    let text = STUDY.replace("rule = \"hidden_ms > 5000\"", "rule = \"hidden_ms > 50000\"");
    let mut played = Played::begin(&folder, &text, "study.db");
    played.finish();
    let log = &played.log;
    let found = power(log, "rating", "ping", &[2, 12]).expect("a power");
    assert_eq!((found.pilot, found.is_within), (4, true));
    assert!(found.difference < -2.0, "{found:?}");
    assert_eq!(found.levels, ["40 ms", "200 ms"]);
    assert!(found.shares[1].1 > 0.99, "a large effect is found: {found:?}");
    // Two who answer alike find it, two who do not are Student's: that is every second study.
    assert!((0.4..0.6).contains(&found.shares[0].1), "{found:?}");
    assert_eq!(found.enough(0.8), Some(12));
    let wrong = power(log, "ratings", "ping", &[4]).expect_err("no such metric").to_string();
    assert_eq!(wrong, "there is no metric `ratings`; did you mean `rating`?");
    let wrong = power(log, "rating", "pong", &[4]).expect_err("no such factor").to_string();
    assert_eq!(wrong, "`pong` is no factor here; did you mean `ping`?");
    let rating = METRICS.iter().find(|metric| metric.name == "page_ping").expect("a metric");
    let estimates =
        Analysis::new(log).expect("an analysis").estimates(log, rating).expect("numbers");
    let mean = estimates[1].as_ref().expect("a number").mean;
    assert!((mean - 201.5).abs() < 1e-9, "{mean}");
}

#[test]
fn thresholds_and_intervals_are_in_the_report_and_withdrawn_people_are_not() {
    let folder = Folder::new("people-stairs");
    let text = r#"
question = "Which delay is noticed?"
participants = 2
repetitions = 12
[settings]
map = "corners"
duration = "500 ms"
warm_up = "200 ms"
[people]
consent = "Agree?"
[people.intervals]
setting = "ping"
standard = "20 ms"
ask = "Which was slower?"
[people.staircase]
setting = "ping"
start = "100 ms"
step = "20 ms"
least = "20 ms"
most = "200 ms"
reversals = 4
correct = "interval"
"#;
    let mut played = Played::begin(&folder, text, "stairs.db");
    played.driver.is_right = |level, _| level >= 60.0;
    loop {
        let mut moved = false;
        for seat in played.driver.study.seats() {
            moved |= played.driver.act(seat, 0.0);
        }
        for start in played.driver.study.due(played.driver.now_ms) {
            played.play_one(&start);
            moved = true;
        }
        played.keep_events();
        if !moved {
            break;
        }
    }
    let page = report(&played.log, "again").expect("a report");
    assert!(page.contains("Thresholds of ping") && page.contains("Two intervals"), "{page}");
    assert!(
        page.contains("<p class=\"answer\">Ping: threshold "),
        "the first sentence is what was asked for"
    );
    assert!(page.contains("2 participants."), "{page}");
    check_tracks(&page, &played);
    // What the comparison was asked for is what the staircase said.
    let sql = "SELECT COUNT(DISTINCT s.asked_ms) FROM sitting s JOIN trial t USING (trial) WHERE t.name = 'comparison'";
    assert!(number(&played.log, sql) > 2.0, "levels differ");
}

#[test]
fn what_was_changed_late_is_a_row_of_its_own_and_so_are_roles_and_the_machine_that_was_played_on() {
    let folder = Folder::new("people-late");
    let text = STUDY.replace("participants = 4", "participants = 2").replace(
        "consent = \"Agree?\"",
        "consent = \"Agree?\"\ngroup = 2\nroles = [\"peeker\", \"holder\"]\nswap = true",
    );
    let mut played = Played::begin(&folder, &text, "late.db");
    while played.driver.finished.is_empty()
        && number(&played.log, "SELECT COUNT(*) FROM trial") < 2.0
    {
        for seat in played.driver.study.seats() {
            let _ = played.answer(seat) || played.driver.act(seat, 10.0);
        }
        for start in played.driver.study.due(played.driver.now_ms) {
            played.play_one(&start);
        }
        played.keep_events();
    }
    let (setting, value) = ("loss".to_owned(), "5 %".to_owned());
    played.driver.must(None, EventKind::Changed { group: None, setting, value });
    played.finish();
    // Somebody opens the link once more, on another machine; and once more before it is over, as old logs have it.
    let sql = "INSERT INTO event SELECT MAX(number) + 1, MAX(at_us) + 1, 1, 'calibrated', \
               '{\"floor_ms\": 0.25, \"width\": 1, \"height\": 1}', '' FROM event";
    played.log.connection.execute(sql, []).expect("it is written");
    let page = report(&played.log, "again").expect("a report");
    let rows = |asked: &str| page.matches(asked).count();
    assert_eq!(rows("<td>5<td>0<td>2</tr>"), 2, "two lines of each condition: {page}");
    assert_eq!(rows("<td>-<td>0<td>2</tr>"), 2, "and two that were asked for nothing");
    assert!(!page.contains("<td>0.25<td>"), "the floor is that of the machine that was played on");
    assert!(page.contains("<h2>By role</h2>") && page.contains("<td>peeker<td>"), "{page}");
}

/// Each participant's staircase is drawn as it went: a mark for each of its trials, a ring for each reversal, a line.
fn check_tracks(page: &str, played: &Played) {
    let people = played.experiment.people.as_ref().expect("people");
    let staircase = people.staircase.as_ref().expect("a staircase");
    let tracks: Vec<&str> = page.split("aria-label=\"Participant ").skip(1).collect();
    assert_eq!(tracks.len(), 2);
    for (group, track) in (1..).zip(tracks) {
        let track = track.split("</svg>").next().expect("its end");
        let stairs = played.driver.study.stairs(group).expect("a group").values().next();
        let stairs = stairs.expect("a staircase");
        let count = |what: &str| track.matches(what).count();
        let right = stairs.steps.iter().filter(|step| step.is_right).count();
        assert_eq!(count("class=\"right\""), right);
        assert_eq!(count("class=\"wrong\""), stairs.steps.len() - right);
        assert_eq!(count("class=\"turn\""), 4, "{track}");
        assert_eq!(count("class=\"threshold\""), 1);
        assert!(stairs.turns(staircase).windows(2).all(|pair| pair[0] < pair[1]));
        // All marks lie on the picture.
        for part in track.split("cy=\"").skip(1) {
            let y: f64 = part.split('"').next().and_then(|y| y.parse().ok()).expect("a number");
            assert!((24.0..=180.0).contains(&y), "{y}");
        }
    }
}

/// Beside the first, three more ratings after trials, one after the session and one after the study.
const RATINGS: &str = r#"
[[people.question]]
ask = "How fast?"
kind = "rating"
options = ["1", "2"]
[[people.question]]
ask = "How loud?"
kind = "rating"
options = ["1", "2"]
[[people.question]]
ask = "How <well> did it aim?"
kind = "rating"
options = ["10", "30"]
[[people.question]]
ask = "How was the session?"
kind = "rating"
after = "session"
options = ["7", "8"]
[[people.question]]
ask = "How was it all?"
kind = "rating"
after = "study"
options = ["9", "8"]
[[people.exclude]]
rule = "rating_4 > 100"
reason = "cannot be"
[[expect]]
name = "a short line aims well"
metric = "rating_4"
where = { ping = "40 ms" }
equals = 30
within = 0.1
"#;

#[test]
fn every_rating_of_a_file_is_a_metric() {
    let folder = Folder::new("people-ratings");
    let text = STUDY.replace("rule = \"hidden_ms > 5000\"", "rule = \"hidden_ms > 50000\"");
    let mut played = Played::begin(&folder, &format!("{text}{RATINGS}"), "study.db");
    played.finish();
    let log = &played.log;
    let page = report(log, "again").expect("a report");
    let rows = [
        ("Rating (points)", "How fair &amp; square?"),
        ("Rating 4 (points)", "How &lt;well&gt; did it aim?"),
        ("Session rating (points)", "How was the session?"),
        ("Study rating (points)", "How was it all?"),
    ];
    for (name, asked) in rows {
        let at = page.find(&format!("<summary>{name}</summary>"));
        let row = at.and_then(|at| page.get(at..at + 200)).unwrap_or_default();
        assert!(row.contains(asked), "{name}: {row}");
    }
    assert!(!page.contains("Rating 5 (points)") && !page.contains("Study rating 2 (points)"));
    let found = power(log, "rating_4", "ping", &[8]).expect("a power");
    assert!((found.difference + 20.0).abs() < 1e-9, "{found:?}");
    let outcomes = outcomes(&played.experiment, log).expect("outcomes");
    assert!(outcomes[0].holds && outcomes[0].measured == Some(30.0), "{outcomes:?}");
    let names = ["rating_4", "session_rating", "study_rating"].map(str::to_owned);
    let compared = compare(log, log, &names).expect("a comparison");
    for said in ["30.0", "10.0", "7.000", "9.000"] {
        assert!(compared.contains(said), "{said} is missing in {compared}");
    }
    assert!(compare(log, log, &[]).expect("all").contains("rating_4"));
    let drawn = figure(log, &["rating_3".to_owned()], "ping", None).expect("a figure");
    assert!(drawn.contains("Rating 3, points"));
}

#[test]
fn a_report_between_subjects_says_what_its_figure_shows() {
    let folder = Folder::new("people-between");
    let text = STUDY
        .replace("rule = \"hidden_ms > 5000\"", "rule = \"hidden_ms > 50000\"")
        .replace("consent =", "design = \"between\"\nconsent =");
    let mut played = Played::begin(&folder, &text, "study.db");
    played.finish();
    let page = report(&played.log, "again").expect("a report");
    let said = page.split("<p class=\"answer\">").nth(1).expect("an answer");
    assert!(page.contains("<figure>") && said.starts_with("Rating "), "{said}");
    assert!(said.contains("at ping 40 ms to") && said.contains("4 participants."), "{said}");
    // If one end was not played, what there is is said.
    let none = "DELETE FROM question WHERE trial IN (SELECT trial FROM trial WHERE condition = 2)";
    played.log.connection.execute(none, []).expect("they are gone");
    let page = report(&played.log, "again").expect("a report");
    let said = page.split("<p class=\"answer\">").nth(1).expect("an answer");
    assert!(page.contains("<figure>") && said.contains("with 40 ms"), "{said}");
}
