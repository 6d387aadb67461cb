//! Rounds that are held, and what a file gives to hands and keys.

use super::{Folder, Lab, Running, check_rows};
use sametick::replay::{Header, Replay};
use sametick_arena::{Arena, Contest, Fighter, Phase};
use sametick_lab::content_recorded;
use serde_json::{Value, json};

/// One that is held: the drawn wait comes after the warm-up, and both are of the game's own ticks.
const HELD: &str = r#"
question = "Who waits?"
participants = 2
seed = 7
[settings]
map = "corners"
players = 3
duration = "1 s"
warm_up = "500 ms"
field_of_view = 103
[factors]
ping = ["40 ms", "150 ms"]
[people]
group = 2
consent = "Two short rounds."
tolerance = "10 s"
foreperiod = ["700 ms", "1500 ms"]
[keys]
jump = "KeyJ"
fire = "KeyF"
[[hand]]
id = "one"
sensitivity = 7.62
inverted = true
[[hand]]
id = "two"
"#;

#[test]
fn a_round_is_held_for_what_was_drawn_and_before_it_nobody_moves_or_fires() {
    let folder = Folder::new("held");
    folder.write("held.toml", HELD);
    let lab = Lab::open(&folder, "held.toml", 0);
    let both = [0, 1].map(|seat| lab.attend(&folder, seat, &[]));
    both.into_iter().for_each(Running::finish);
    lab.until(|state| state["is_over"] == true);
    drop(lab);
    let log = folder.log("held.db");
    check_rows(&log, 2);
    for trial in 1..=2 {
        let figure = |name: &str| -> f64 {
            let sql = "SELECT value FROM figure WHERE trial = ?1 AND name = ?2";
            let found = log.connection.query_row(sql, (trial, name), |row| row.get(0));
            found.unwrap_or_else(|error| panic!("{name} of trial {trial}: {error}"))
        };
        let (asked, waited) = (figure("asked_wait"), figure("wait"));
        assert!((700.0..=1_500.0).contains(&asked), "trial {trial}: {asked} ms are drawn");
        // A busy machine is late, never early.
        let late = waited - asked;
        assert!((-40.0..400.0).contains(&late), "trial {trial}: {asked} ms drawn, {waited} passed");
        // The recording begins when everyone is there, so all of the wait is in it.
        let path = folder.0.join(format!("held.db.recordings/trial-{trial}.sametick"));
        let bytes = std::fs::read(path).expect("a recording");
        let header = Header::read(&bytes).expect("a recording");
        let content = content_recorded(header.content_name, &header.configuration, None);
        let content = content.expect("the game that was played");
        let mut playback = Replay::<Arena>::open(bytes, content).expect("a recording");
        let (mut before, mut first, mut fired) = (0.0, None, false);
        for world in playback.worlds() {
            let world = world.expect("it plays as it was");
            let contest = world.all::<Contest>().next().expect("there is one").1;
            // Whoever was put on the map falls to its feet with its first command, whenever that comes.
            let stand =
                |(id, one): (_, &Fighter)| (id, [one.position[0], one.position[1]], one.loaded);
            let stands: Vec<_> = world.all::<Fighter>().map(stand).collect();
            if contest.phase == Phase::Playing {
                fired |= first.as_ref().is_some_and(|first| *first != stands);
                continue;
            }
            before += 1_000.0 / 60.0;
            if stands.len() < 3 {
                continue;
            }
            let first = first.get_or_insert_with(|| stands.clone());
            assert_eq!(*first, stands, "somebody moved or fired before the round");
        }
        assert!((before - 500.0 - asked).abs() < 120.0, "{before} ms of ticks, {asked} drawn");
        assert!(fired, "in the round they do");
    }
    // What the file gives hands and keys is what they have, and it is logged as it was.
    let hands = "SELECT detail FROM event WHERE kind = 'calibrated' ORDER BY seat";
    let mut hands = log.connection.prepare(hands).expect("events");
    let hands = hands.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let hands: Vec<Value> =
        hands.map(|row| serde_json::from_str(&row.expect("a row")).expect("an object")).collect();
    assert_eq!((&hands[0]["sensitivity"], &hands[0]["invert"]), (&json!(7.62), &json!(true)));
    assert_eq!((&hands[1]["sensitivity"], &hands[1]["invert"]), (&json!(1.0), &json!(false)));
    assert!(hands.iter().all(|hand| hand["keys"] == "jump=KeyJ&fire=KeyF"), "{hands:?}");
}

#[test]
fn hands_and_keys_of_the_file_are_in_what_a_page_plays_with() {
    let folder = Folder::new("hands");
    folder.write("held.toml", HELD);
    let lab = Lab::open(&folder, "held.toml", 0);
    let told = [(json!(7.62), json!(true)), (Value::Null, json!(false))];
    for (seat, (sensitivity, invert)) in told.into_iter().enumerate() {
        let (_, claimed) = lab.claim(lab.code(seat));
        let bearer = format!("Bearer {}", claimed["secret"].as_str().expect("a secret"));
        let own = [("authorization", bearer.as_str())];
        assert_eq!(lab.ask("/lab/seat", &own, Some(&json!({ "do": "consent" }))).0, 200);
        let hand = lab.ask("/lab/seat", &own, None).1["hand"].clone();
        let session = lab.ask("/lab/session.json", &own, None).1["lab"].clone();
        for shown in [hand, session] {
            assert_eq!(
                (&shown["sensitivity"], &shown["invert"]),
                (&sensitivity, &invert),
                "{shown}"
            );
            assert_eq!(shown["keys"], "jump=KeyJ&fire=KeyF");
        }
    }
}
