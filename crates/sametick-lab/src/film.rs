//! The film of a shot, as a page: the moments around it as its shooter's screen showed them, as the server had them and
//! as its victim's screen showed them. Made of a trial's recording and of what the log says of the shot.

use crate::log::{Log, LogError};
use crate::play::content_recorded;
use crate::plot::escaped;
use rusqlite::OptionalExtension;
use sametick::Tick;
use sametick::replay::{Header, Replay};
use sametick_arena::vector::{Vector, add, length, scale, subtract};
use sametick_arena::{Arena, Content, Fighter, body};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// How much is shown before the shot, and after it.
const BEFORE_SECONDS: f64 = 1.5;
const AFTER_SECONDS: f64 = 0.75;
/// Pictures are not older than this.
const AGE_SECONDS_MAX: f64 = 1.0;
/// How finely the age of a picture is looked for, in ticks.
const AGE_STEP: f64 = 0.25;
/// Who is further away a tick later was put elsewhere.
const STEP_METRES_MAX: f32 = 2.0;
/// What is around both on the picture, and how little of the map is shown at least.
const MARGIN_METRES: f32 = 4.0;
const HALF_METRES_MIN: f32 = 6.0;
/// The width of a picture, in its own units.
const WIDTH: f32 = 400.0;
/// The most walls that are drawn.
const WALLS_MAX: usize = 2_000;

const SCRIPT: &str = include_str!("film.js");
const STYLE: &str = include_str!("film.css");

/// Where a player is and where it looks; dead or alive.
#[derive(Clone, Copy)]
struct Pose {
    place: Vector,
    yaw: f32,
    is_alive: bool,
}

/// Everyone at every tick around a shot, by player.
struct Track {
    first: u32,
    ticks: Vec<BTreeMap<u32, Pose>>,
}

impl Track {
    /// A player at a moment between two ticks.
    fn at(&self, player: u32, tick: f64) -> Option<Pose> {
        let from = (tick - f64::from(self.first)).max(0.0);
        let index = (from as usize).min(self.ticks.len().checked_sub(1)?);
        let before = *self.ticks[index].get(&player)?;
        let after = self.ticks.get(index + 1).and_then(|then| then.get(&player)).copied();
        let after = after.unwrap_or(before);
        let way = subtract(after.place, before.place);
        let part = if length(way) < STEP_METRES_MAX { from.fract() as f32 } else { 0.0 };
        Some(Pose { place: add(before.place, scale(way, part)), ..before })
    }

    /// The moment up to `to` and not before `from` at which a player was nearest to a place.
    fn nearest(&self, player: u32, place: Vector, (from, to): (f64, f64)) -> Option<f64> {
        let steps = ((to - from) / AGE_STEP) as u32;
        let moments = (0..=steps).map(|step| to - f64::from(step) * AGE_STEP);
        let off = |at: f64| Some((length(subtract(self.at(player, at)?.place, place)), at));
        let best = moments.filter_map(off).min_by(|one, other| one.0.total_cmp(&other.0));
        best.map(|(_, at)| at)
    }
}

/// What the log says of a shot.
struct Shot {
    shooter: u32,
    victim: u32,
    shown: Option<Vector>,
    own: Option<Vector>,
    rewound_ms: f64,
    is_hit: bool,
    is_behind_cover: bool,
}

/// The film of a shot of a trial, of whose recording these are the bytes. Paths of the experiment begin in `folder`.
pub fn film(
    log: &Log,
    recording: Vec<u8>,
    (trial, tick): (u32, u32),
    folder: &Path,
) -> Result<String, LogError> {
    let odd = |what: &str| LogError(format!("trial {trial}: {what}"));
    let shot = shot(log, trial, tick)?;
    let shot = shot.ok_or_else(|| odd(&format!("nobody was shot at in tick {tick}")))?;
    let header = Header::read(&recording).map_err(|error| odd(&error.to_string()))?;
    let said: Json = serde_json::from_str(&header.configuration).unwrap_or_default();
    let map = said["map"].as_str().and_then(|map| std::fs::read_to_string(folder.join(map)).ok());
    let content = content_recorded(header.content_name, &header.configuration, map.as_deref());
    let content = content.ok_or_else(|| odd("its map is not here"))?;
    let walls = content.clone();
    let mut replay =
        Replay::<Arena>::open(recording, content).map_err(|error| odd(&error.to_string()))?;
    let tick_seconds = header.rates.tick_length.as_seconds_f64();
    let track = track(&mut replay, &seats(&said), tick, tick_seconds)
        .map_err(|error| odd(&error.to_string()))?;
    let trip = |player| round_trip_ms(log, trial, player);
    let trips = [trip(shot.shooter)?, trip(shot.victim)?];
    let ages = ages(&shot, &track, tick, tick_seconds, trips);
    Ok(page(&shot, &track, &ages, (trial, tick, tick_seconds), &walls))
}

/// The shot of a tick that is most in doubt, if somebody was aimed at or hit.
fn shot(log: &Log, trial: u32, tick: u32) -> Result<Option<Shot>, LogError> {
    let sql = "SELECT player, COALESCE(hit, aimed), shown_x, shown_y, shown_z, own_x, own_y, own_z, rewound_ms, \
               hit IS NOT NULL, COALESCE(is_behind_cover, 0), COALESCE(hit = aimed, 1) FROM shot \
               WHERE trial = ?1 AND tick = ?2 AND COALESCE(hit, aimed) IS NOT NULL \
               ORDER BY COALESCE(is_behind_cover, 0) DESC, hit IS NULL DESC, ordinal LIMIT 1";
    let found = log.connection.query_row(sql, [trial, tick], |row| {
        let place = |at: usize| -> rusqlite::Result<Option<Vector>> {
            let (x, y, z): (Option<f32>, Option<f32>, Option<f32>) =
                (row.get(at)?, row.get(at + 1)?, row.get(at + 2)?);
            Ok(x.zip(y).zip(z).map(|((x, y), z)| [x, y, z]))
        };
        // What was shown is of whom was aimed at.
        let is_same: bool = row.get(11)?;
        Ok(Shot {
            shooter: row.get(0)?,
            victim: row.get(1)?,
            shown: place(2)?.filter(|_| is_same),
            own: place(5)?.filter(|_| is_same),
            rewound_ms: row.get(8)?,
            is_hit: row.get(9)?,
            is_behind_cover: row.get(10)?,
        })
    });
    Ok(found.optional()?)
}

/// The player of each number in the game.
fn seats(said: &Json) -> BTreeMap<u16, u32> {
    let number = |(seat, player): (&String, &Json)| {
        Some((seat.parse().ok()?, u32::try_from(player.as_u64()?).ok()?))
    };
    said["seats"].as_object().into_iter().flatten().filter_map(number).collect()
}

fn track(
    replay: &mut Replay<Arena>,
    seats: &BTreeMap<u16, u32>,
    tick: u32,
    tick_seconds: f64,
) -> Result<Track, sametick::replay::ReplayError> {
    let ticks = |seconds: f64| (seconds / tick_seconds).ceil() as u32;
    let all = replay.ticks();
    let first = tick.saturating_sub(ticks(BEFORE_SECONDS + AGE_SECONDS_MAX)).max(all.start().0);
    let last = (tick + ticks(AFTER_SECONDS + AGE_SECONDS_MAX)).min(all.end().0);
    replay.seek(Tick(first.min(last)))?;
    let mut track = Track { first, ticks: Vec::new() };
    loop {
        let fighters = replay.world().all::<Fighter>().map(|(_, fighter)| {
            let player = seats.get(&fighter.player).copied();
            let (place, yaw) = (fighter.position, fighter.yaw);
            let pose = Pose { place, yaw, is_alive: fighter.is_alive() };
            (player.unwrap_or(u32::from(fighter.player) + 1), pose)
        });
        track.ticks.push(fighters.collect());
        if replay.world().tick().0 >= last || replay.step()?.is_none() {
            return Ok(track);
        }
    }
}

/// A player's line there and back, as it was measured.
fn round_trip_ms(log: &Log, trial: u32, player: u32) -> Result<f64, LogError> {
    let sql = "SELECT COALESCE(SUM(delay_ms_50), 0) FROM line WHERE trial = ?1 AND player = ?2";
    Ok(log.connection.query_row(sql, [trial, player], |row| row.get(0))?)
}

/// In ticks: how old what the shooter and the victim saw of others was, and how far ahead the victim had itself.
struct Ages {
    shooter: f64,
    victim: f64,
    ahead: f64,
}

/// Where the log says what was shown, the age is when the server had it there; else what the shot was judged by, or the
/// line. A victim's screen stands as far behind what comes to it as the shooter's.
fn ages(
    shot: &Shot,
    track: &Track,
    tick: u32,
    tick_seconds: f64,
    [shooter_trip, victim_trip]: [f64; 2],
) -> Ages {
    let ticks = |ms: f64| ms / 1000.0 / tick_seconds;
    let (now, most) = (f64::from(tick), AGE_SECONDS_MAX / tick_seconds);
    let nearest = |place: Option<Vector>, span| track.nearest(shot.victim, place?, span);
    let likely = ticks(if shot.rewound_ms > 0.0 { shot.rewound_ms } else { shooter_trip });
    let shooter = nearest(shot.shown, (now - most, now)).map_or(likely, |at| now - at);
    let victim = ticks(victim_trip) + (shooter - ticks(shooter_trip)).max(0.0);
    let half = ticks(victim_trip) / 2.0;
    let ahead = nearest(shot.own, (now, now + most)).map_or(half, |at| at - now);
    Ages { shooter, victim: victim.min(most), ahead: if shot.is_hit { half } else { ahead } }
}

/// What a victim had of itself: where it was going to be; of its death it had not heard.
fn own(shot: &Shot, track: &Track, ages: &Ages, (tick, at): (u32, f64)) -> Option<Pose> {
    let now = f64::from(tick);
    let (ahead, own) = (track.at(shot.victim, at + ages.ahead), shot.own);
    match own.filter(|_| at <= now && at + ages.ahead > now && ages.ahead > 0.0) {
        None => ahead,
        Some(own) => {
            let from = track.at(shot.victim, now - 1.0)?;
            let part = ((at + ages.ahead - now) / ages.ahead) as f32;
            let way = scale(subtract(own, from.place), part);
            Some(Pose { place: add(from.place, way), ..from })
        }
    }
}

/// Where a place lies on a picture.
struct Window {
    middle: [f32; 2],
    half: f32,
}

impl Window {
    fn at(&self, place: Vector) -> [f32; 2] {
        let x = (place[0] - self.middle[0]) / self.half + 1.0;
        let y = 1.0 - (place[1] - self.middle[1]) / self.half;
        [x * WIDTH / 2.0, y * WIDTH / 2.0]
    }

    fn scale(&self) -> f32 {
        WIDTH / 2.0 / self.half
    }
}

/// One of three pictures: what it is, and where everyone is on it at every tick.
struct Pane {
    title: String,
    frames: Vec<Vec<Json>>,
}

#[expect(clippy::too_many_lines, reason = "most of it is the page's own text")]
fn page(
    shot: &Shot,
    track: &Track,
    ages: &Ages,
    (trial, tick, tick_seconds): (u32, u32, f64),
    content: &Content,
) -> String {
    let now = f64::from(tick);
    let place = |player| track.at(player, now).map_or([0.0; 3], |pose| pose.place);
    let [shooter, victim] = [shot.shooter, shot.victim].map(place);
    let apart = subtract(victim, shooter);
    let half = (length([apart[0], apart[1], 0.0]) / 2.0 + MARGIN_METRES).max(HALF_METRES_MIN);
    let middle = add(shooter, scale(apart, 0.5));
    let window = Window { middle: [middle[0], middle[1]], half };
    let (before, after) = (BEFORE_SECONDS / tick_seconds, AFTER_SECONDS / tick_seconds);
    let last = f64::from(track.first) + track.ticks.len() as f64 - 1.0;
    let first = (now - before).max(f64::from(track.first)).round();
    let count = ((now + after).min(last) - first).max(0.0).round() as u32 + 1;
    let players: Vec<u32> = track.ticks.iter().flat_map(|all| all.keys().copied()).collect();
    let players: std::collections::BTreeSet<u32> = players.into_iter().collect();
    let pane = |title: String, pose: &dyn Fn(u32, f64) -> Option<Pose>| {
        let frame = |step: u32| -> Vec<Json> {
            let at = first + f64::from(step);
            players
                .iter()
                .filter_map(|player| Some(shape(*player, pose(*player, at)?, &window)))
                .collect()
        };
        Pane { title, frames: (0..count).map(frame).collect() }
    };
    let ms = |ticks: f64| format!("{:.0} ms", ticks * tick_seconds * 1000.0);
    let panes = [
        pane(
            format!("Player {}, who fires: others are {} old", shot.shooter, ms(ages.shooter)),
            &|player, at| match player == shot.shooter {
                true => track.at(player, at),
                false => track.at(player, at - ages.shooter),
            },
        ),
        pane("The server".to_owned(), &|player, at| track.at(player, at)),
        pane(
            format!(
                "Player {}, who is shot at: itself {} ahead, others {} old",
                shot.victim,
                ms(ages.ahead),
                ms(ages.victim)
            ),
            &|player, at| match player == shot.victim {
                true => own(shot, track, ages, (tick, at)),
                false => track.at(player, at - ages.victim),
            },
        ),
    ];
    let walls = walls(content, &window, middle[2]);
    let what = match (shot.is_behind_cover, shot.is_hit) {
        (true, _) => "hit somebody who had reached cover on its own screen",
        (false, true) => "hit",
        (false, false) => "was refused, though the crosshair was on somebody",
    };
    let at = now - first;
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Trial {trial}, tick {tick}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <h1>Trial {trial}, tick {tick}: a shot of player {} at player {} {what}</h1>\n<div class=\"panes\">\n",
        shot.shooter, shot.victim
    );
    for pane in &panes {
        let _ = writeln!(
            text,
            "<figure><svg viewBox=\"0 0 {WIDTH} {WIDTH}\" role=\"img\" aria-label=\"{0}\">{walls}<g>{1}</g></svg>\
             <figcaption>{0}</figcaption></figure>",
            escaped(&pane.title),
            pane.frames.get(at as usize).map(|frame| still(frame)).unwrap_or_default()
        );
    }
    let data = json!({
        "frames": panes.each_ref().map(|pane| &pane.frames),
        "at": at,
        "tick_ms": tick_seconds * 1000.0,
        "radius": body::RADIUS_METRES * window.scale(),
        "shooter": shot.shooter,
        "victim": shot.victim,
    });
    // No text of anybody is in it, only numbers.
    let _ = write!(
        text,
        "</div>\n<p><button id=\"play\">Play</button> <input id=\"time\" type=\"range\" min=\"0\" max=\"{}\" \
         value=\"{at}\" aria-label=\"moment\"> <output id=\"moment\">the shot</output></p>\n\
         <p>From above; each pane at the same moment. The middle is what the recording has. Beside it are the screens, \
         the shooter's at its command of that tick, worked out as docs/people.md says, with the age that others had on \
         them at the shot.</p>\n\
         <script>const film = {data};\n{SCRIPT}</script></body></html>\n",
        count.saturating_sub(1)
    );
    text
}

/// Player, place on the picture, where it looks, and whether it is alive.
fn shape(player: u32, pose: Pose, window: &Window) -> Json {
    let [x, y] = window.at(pose.place).map(|at| f64::from((at * 10.0).round()) / 10.0);
    json!([player, x, y, f64::from((pose.yaw * 100.0).round()) / 100.0, u8::from(pose.is_alive)])
}

/// The moment of the shot, for whoever runs no script.
fn still(frame: &[Json]) -> String {
    let dot = |one: &Json| {
        format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"6\"><title>{}</title></circle>",
            one[1], one[2], one[0]
        )
    };
    frame.iter().map(dot).collect()
}

/// What stands in the way at the height of those who shoot.
fn walls(content: &Content, window: &Window, feet: f32) -> String {
    let mut text = String::new();
    let (low, high) = (feet + 0.6, feet + 1.4);
    let boxes = content.map.brushes().iter().map(sametick_arena::map::Brush::bounds);
    let stands = boxes.filter(|one| one.low[2] < low && one.high[2] > high);
    for one in stands.take(WALLS_MAX) {
        let ([left, bottom], [right, top]) = (window.at(one.low), window.at(one.high));
        let is_seen = right > 0.0 && left < WIDTH && bottom > 0.0 && top < WIDTH;
        if is_seen {
            let (width, height) = (right - left, bottom - top);
            let _ = write!(
                text,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
        }
    }
    text
}
