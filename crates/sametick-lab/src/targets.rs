//! Targets of an experiment: `[[target]]` in its file, as FPSci defines them, and what `targets` names for a trial.

use crate::experiment::Experiment;
use crate::scan::{Scan, Source};
use crate::settings::{Assignment, Settings};
use crate::value::{Plain, number};
use crate::wrong::{Wrong, meant};
use sametick_arena::vector::{Bounds, Vector};
use sametick_arena::{
    Content, Jumping, RESPAWNS_MAX, Space, TARGET_HITS_MAX, TARGETS_MAX, TargetKind, TargetSet,
    WAYPOINTS_MAX,
};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// The most kinds of targets of an experiment.
pub const TARGET_KINDS_MAX: usize = 1_000;
/// A round does not begin the moment that somebody joins.
const PAUSE_LEAST_SECONDS: f32 = 0.1;

/// A kind of target by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTarget {
    /// As `targets` calls it.
    pub name: String,
    /// What it is and does.
    pub kind: TargetKind,
}

/// What a number is measured in, and how many of the kept unit that is.
type Units = &'static [(&'static str, f64)];
const METRES: Units = &[("m", 1.0), ("cm", 0.01)];
const DEGREES: Units = &[("deg", 1.0), ("°", 1.0)];
const SECONDS: Units = &[("s", 1.0), ("ms", 0.001), ("min", 60.0)];
const SPEED: Units = &[("m/s", 1.0)];
const TURNING: Units = &[("deg/s", 1.0), ("°/s", 1.0)];
const GRAVITY: Units = &[("m/s2", 1.0), ("m/s²", 1.0)];

/// Reads all `[[target]]` of a file.
pub(crate) fn read(scan: &Scan<'_>) -> Result<Vec<NamedTarget>, Wrong> {
    let mut targets: Vec<NamedTarget> = Vec::new();
    for table in scan.tables("target")? {
        let target = one(&table)?;
        if targets.iter().any(|known| known.name == target.name) {
            let what = format!("there are two targets {:?}", target.name);
            return Err(scan.source.wrong(&table.at, what));
        }
        if targets.len() == TARGET_KINDS_MAX {
            let what = format!("more than {TARGET_KINDS_MAX} kinds of targets");
            return Err(scan.source.wrong(&table.at, what));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn one(scan: &Scan<'_>) -> Result<NamedTarget, Wrong> {
    let usual = TargetKind::default();
    let wrong = |what: String| scan.source.wrong(&scan.at, what);
    let name = scan.text("name")?.ok_or_else(|| wrong("a target has a `name`".to_owned()))?;
    if name.trim() != name || name.is_empty() || name.contains(',') {
        return Err(wrong(format!("{name:?} is no name: it has letters, and no comma")));
    }
    let space = match scan.text("space")?.as_deref() {
        None | Some("player") => Space::Player,
        Some("world") => Space::World,
        Some(other) => return Err(wrong(format!("`space` is world or player, not {other:?}"))),
    };
    let moving = if space == Space::World { SPEED } else { TURNING };
    let of = |name, units, usual| Ok::<_, Wrong>(range(scan, name, units)?.unwrap_or(usual));
    let jumping = Jumping {
        seconds: of("jump_period", SECONDS, [2.0; 2])?,
        speed: of("jump_speed", moving, if space == Space::World { [4.0; 2] } else { [5.0; 2] })?,
        gravity: of("gravity", GRAVITY, [9.8; 2])?,
    };
    meaningless(scan, space)?;
    let kind = TargetKind {
        space,
        size: of("size", METRES, usual.size)?,
        distance: of("distance", METRES, usual.distance)?,
        beside: of("ecc_h", DEGREES, usual.beside)?,
        above: of("ecc_v", DEGREES, usual.above)?,
        is_symmetric: [
            flag(scan, "symmetric_h")?.unwrap_or(true),
            flag(scan, "symmetric_v")?.unwrap_or(true),
        ],
        is_upper_only: flag(scan, "upper_hemisphere_only")?.unwrap_or(false),
        speed: of("speed", moving, usual.speed)?,
        turn_seconds: of("motion_change_period", SECONDS, usual.turn_seconds)?,
        jumping: flag(scan, "jumps")?.unwrap_or(false).then_some(jumping),
        respawns: respawns(scan)?,
        away_seconds: away(scan)?,
        hits: Some(scan.count("hits", 1, u32::from(TARGET_HITS_MAX))?.unwrap_or(1) as u8),
        way: way(scan)?,
        spawn_bounds: bounds(scan, "spawn_bounds")?,
        move_bounds: bounds(scan, "move_bounds")?,
        is_locked: locked(scan)?,
    };
    scan.finish();
    let alone = TargetSet { kinds: vec![kind], ..TargetSet::default() };
    alone.check().map_err(|what| wrong(format!("the target {name:?}: {what}")))?;
    let kind = alone.kinds.into_iter().next().unwrap_or_default();
    Ok(NamedTarget { name, kind })
}

/// What says nothing of such a target is not passed over in silence.
fn meaningless(scan: &Scan<'_>, space: Space) -> Result<(), Wrong> {
    let jumps = flag(scan, "jumps")?.unwrap_or(false);
    let refused = match space {
        Space::Player => ["locked", "move_bounds"].as_slice(),
        Space::World => ["upper_hemisphere_only"].as_slice(),
    };
    let of_jumps = ["jump_period", "jump_speed", "gravity"].map(|name| (name, "of jumps = true"));
    let where_ = match space {
        Space::Player => "of space = \"world\"",
        Space::World => "of space = \"player\"",
    };
    let of_space = refused.iter().map(|name| (*name, where_));
    for (name, where_) in of_jumps.into_iter().filter(|_| !jumps).chain(of_space) {
        if let Some(found) = scan.get(name) {
            let what = format!("`{name}` means nothing here: it is {where_}");
            return Err(scan.source.wrong(&found.span(), what));
        }
    }
    Ok(())
}

fn away(scan: &Scan<'_>) -> Result<f32, Wrong> {
    let [least, most] = range(scan, "away", SECONDS)?.unwrap_or_default();
    match scan.get("away").filter(|_| least != most) {
        Some(found) => Err(scan.source.wrong(&found.span(), "`away` is one time: \"1 s\"")),
        None => Ok(least),
    }
}

fn flag(scan: &Scan<'_>, name: &'static str) -> Result<Option<bool>, Wrong> {
    let value = scan.value(name, crate::value::Kind::Flag)?;
    Ok(value.map(|(value, _)| value == crate::value::Value::Flag(true)))
}

/// One quantity, or the least and the most.
fn range(scan: &Scan<'_>, name: &'static str, units: Units) -> Result<Option<[f32; 2]>, Wrong> {
    let Some(found) = scan.get(name) else { return Ok(None) };
    let unit = units[0].0;
    let odd = |at: Range<usize>| {
        let what =
            format!("`{name}` is \"1 {unit}\", or from least to most [\"1 {unit}\", \"2 {unit}\"]");
        scan.source.wrong(&at, what)
    };
    let one = |value: &Spanned<DeValue<'_>>| -> Result<f32, Wrong> {
        let DeValue::String(text) = value.get_ref() else { return Err(odd(value.span())) };
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+".contains(c)));
        let (number, said) = text.split_at(end.unwrap_or(text.len()));
        let number: f64 = number.parse().map_err(|_| odd(value.span()))?;
        let times = units.iter().find(|(unit, _)| *unit == said.trim()).map(|(_, times)| times);
        Ok((number * times.ok_or_else(|| odd(value.span()))?) as f32)
    };
    match found.get_ref() {
        DeValue::Array(both) if both.len() == 2 => {
            let both: Vec<&Spanned<DeValue<'_>>> = both.iter().collect();
            Ok(Some([one(both[0])?, one(both[1])?]))
        }
        DeValue::Array(_) => Err(odd(found.span())),
        _ => one(found).map(|both| Some([both; 2])),
    }
}

fn respawns(scan: &Scan<'_>) -> Result<Option<u16>, Wrong> {
    let Some(found) = scan.get("respawns") else { return Ok(Some(0)) };
    if let DeValue::String(text) = found.get_ref()
        && text.as_ref() == "forever"
    {
        return Ok(None);
    }
    let times = number(found.get_ref()).filter(|times| times.fract() == 0.0);
    let times = times.filter(|times| (0.0..=f64::from(RESPAWNS_MAX)).contains(times));
    let what = "`respawns` is how often it comes back, or \"forever\"";
    times.map(|times| Some(times as u16)).ok_or_else(|| scan.source.wrong(&found.span(), what))
}

fn vector(value: &DeValue<'_>) -> Option<Vector> {
    let DeValue::Array(parts) = value else { return None };
    let parts: Option<Vec<f32>> =
        parts.iter().map(|part| number(part.get_ref()).map(|part| part as f32)).collect();
    <[f32; 3]>::try_from(parts?).ok()
}

fn bounds(scan: &Scan<'_>, name: &'static str) -> Result<Option<Bounds>, Wrong> {
    let Some(found) = scan.get(name) else { return Ok(None) };
    let corners: Option<Vec<Vector>> = match found.get_ref() {
        DeValue::Array(corners) => corners.iter().map(|one| vector(one.get_ref())).collect(),
        _ => None,
    };
    match corners.as_deref() {
        Some([low, high]) => Ok(Some(Bounds { low: *low, high: *high })),
        _ => {
            let what = format!("`{name}` is two corners in metres: [[0, 0, 1], [4, 2, 3]]");
            Err(scan.source.wrong(&found.span(), what))
        }
    }
}

/// Rows of seconds and a place.
fn way(scan: &Scan<'_>) -> Result<Vec<(f32, Vector)>, Wrong> {
    let Some(found) = scan.get("destinations") else { return Ok(Vec::new()) };
    let rows = crate::scan::rows_of_numbers(scan.source, found)?;
    let place = |row: &Vec<f64>| match row[..] {
        [at, x, y, z] => Some((at as f32, [x as f32, y as f32, z as f32])),
        _ => None,
    };
    let way: Option<Vec<(f32, Vector)>> = rows.iter().take(WAYPOINTS_MAX + 1).map(place).collect();
    way.ok_or_else(|| {
        let what = "`destinations` are rows of seconds, x, y and z: [[0, 1, 2, 3], [1.5, 4, 2, 3]]";
        scan.source.wrong(&found.span(), what)
    })
}

fn locked(scan: &Scan<'_>) -> Result<[bool; 3], Wrong> {
    let Some(found) = scan.get("locked") else { return Ok([false; 3]) };
    let odd = || scan.source.wrong(&found.span(), "`locked` are axes: [\"x\", \"z\"]");
    let DeValue::Array(axes) = found.get_ref() else { return Err(odd()) };
    let mut is_locked = [false; 3];
    for axis in axes {
        let DeValue::String(name) = axis.get_ref() else { return Err(odd()) };
        let place = ["x", "y", "z"].iter().position(|known| *known == name.as_ref());
        is_locked[place.ok_or_else(odd)?] = true;
    }
    Ok(is_locked)
}

/// Only targets that there are are named.
pub(crate) fn check(experiment: &Experiment, source: Source<'_>) -> Result<(), Wrong> {
    for session in &experiment.sessions {
        let trials = session.trials.iter().flat_map(|trial| &trial.assignments);
        let levels = session.conditions.iter().flatten();
        let mut all: Vec<&Assignment> =
            session.assignments.iter().chain(levels).chain(trials).collect();
        all.retain(|one| one.row.name == "targets");
        for one in all {
            let said = one.value.to_string();
            let names: Vec<&str> = said.split(", ").collect();
            if names.len() > TARGETS_MAX {
                let what = format!("{} targets at once: {TARGETS_MAX} are the most", names.len());
                return Err(source.wrong(&one.at, what));
            }
            let is_known =
                |name: &&&str| experiment.targets.iter().any(|known| known.name == **name);
            if let Some(name) = names.iter().find(|name| !is_known(name)) {
                let known = experiment.targets.iter().map(|known| known.name.as_str());
                let hint = match experiment.targets.is_empty() {
                    true => "the file has no [[target]]".to_owned(),
                    false => meant(name, known),
                };
                return Err(source.wrong(&one.at, format!("there is no target {name:?}; {hint}")));
            }
        }
    }
    Ok(())
}

/// What cannot be played of targets, by the setting that is to blame.
pub(crate) fn impossible(settings: &Settings) -> Option<(&'static str, String)> {
    let ms = |name| settings.number(name);
    if settings.text("targets").is_empty() {
        let waits = ["foreperiod", "foreperiod_most", "foreperiod_mean"];
        let said = waits.into_iter().find(|name| ms(name).is_some_and(|ms| ms > 0.0))?;
        let what = format!("`{said}` is of the wait before `targets` appear, and none are named");
        return Some((said, what));
    }
    if settings.text("mode") != "targets" || settings.text("play") != "match" {
        let what = "`targets` are shot at in matches with mode = \"targets\"";
        return Some(("targets", what.to_owned()));
    }
    if sametick::Model::named(settings.text("model")).is_none() {
        let what = "`targets` are logged by a server: choose a `model` that has one";
        return Some(("targets", what.to_owned()));
    }
    let least = ms("foreperiod").unwrap_or(0.0);
    if ms("foreperiod_most").is_some_and(|most| most < least) {
        let what = "`foreperiod_most` is no less than `foreperiod`, which is the least";
        return Some(("foreperiod_most", what.to_owned()));
    }
    let mean = ms("foreperiod_mean").filter(|mean| *mean > 0.0);
    if mean.is_some() && ms("foreperiod_most").is_none() {
        let what = "`foreperiod_mean` is of a wait by chance, up to `foreperiod_most`";
        return Some(("foreperiod_mean", what.to_owned()));
    }
    if mean.is_some_and(|mean| mean <= least) {
        let what = "`foreperiod_mean` is more than `foreperiod`, which is the least";
        return Some(("foreperiod_mean", what.to_owned()));
    }
    None
}

impl Settings {
    /// The targets of a trial, by their names; none are the map's own.
    pub fn target_set(&self) -> TargetSet {
        let names = self.text("targets");
        let find = |name: &str| self.kinds.iter().find(|known| known.name == name);
        let kinds = names.split(", ").filter_map(find).map(|one| one.kind.clone()).collect();
        let seconds = |name| (self.number(name).unwrap_or(0.0) / 1000.0) as f32;
        let least = seconds("foreperiod");
        let most = self.number("foreperiod_most").map_or(least, |ms| (ms / 1000.0) as f32);
        let wait_seconds = [least, most.max(least)];
        TargetSet { kinds, wait_seconds, wait_mean_seconds: seconds("foreperiod_mean") }
    }

    /// The names of these targets.
    pub fn target_names(&self) -> Vec<String> {
        let is_known = |name: &&str| self.kinds.iter().any(|known| known.name == *name);
        self.text("targets").split(", ").filter(is_known).map(str::to_owned).collect()
    }
}

/// A game with a set of targets: its round begins when the warm-up is over.
pub(crate) fn with_targets(content: Content, targets: TargetSet, warm_up_ms: f64) -> Content {
    let mut content = Content { targets, ..content };
    content.tuning.pause_seconds = ((warm_up_ms / 1000.0) as f32).max(PAUSE_LEAST_SECONDS);
    content
}

/// A kind of target as a file has it.
pub(crate) fn written(target: &NamedTarget) -> String {
    let kind = &target.kind;
    let mut lines = vec!["[[target]]".to_owned()];
    let quoted =
        |text: &str| serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    let mut line = |name: &str, value: String| lines.push(format!("{name} = {value}"));
    let both = |range: [f32; 2], unit: &str| {
        let [least, most] = range.map(|end| format!("\"{} {unit}\"", Plain(f64::from(end))));
        if least == most { least } else { format!("[{least}, {most}]") }
    };
    let place = |place: Vector| {
        let [x, y, z] = place.map(|part| Plain(f64::from(part)).to_string());
        format!("{x}, {y}, {z}")
    };
    let is_world = kind.space == Space::World;
    let moving = if is_world { "m/s" } else { "deg/s" };
    line("name", quoted(&target.name));
    line("space", if is_world { "\"world\"" } else { "\"player\"" }.to_owned());
    line("size", both(kind.size, "m"));
    line("distance", both(kind.distance, "m"));
    line("ecc_h", both(kind.beside, "deg"));
    line("ecc_v", both(kind.above, "deg"));
    line("symmetric_h", kind.is_symmetric[0].to_string());
    line("symmetric_v", kind.is_symmetric[1].to_string());
    if kind.is_upper_only {
        line("upper_hemisphere_only", "true".to_owned());
    }
    line("speed", both(kind.speed, moving));
    line("motion_change_period", both(kind.turn_seconds, "s"));
    if let Some(jumping) = kind.jumping {
        line("jumps", "true".to_owned());
        line("jump_period", both(jumping.seconds, "s"));
        line("jump_speed", both(jumping.speed, moving));
        line("gravity", both(jumping.gravity, "m/s2"));
    }
    line("respawns", kind.respawns.map_or("\"forever\"".to_owned(), |times| times.to_string()));
    line("hits", kind.hits.unwrap_or(1).to_string());
    let rows =
        |(at, there): &(f32, Vector)| format!("[{}, {}]", Plain(f64::from(*at)), place(*there));
    if !kind.way.is_empty() {
        let rows: Vec<String> = kind.way.iter().map(rows).collect();
        line("destinations", format!("[{}]", rows.join(", ")));
    }
    for (name, bounds) in [("spawn_bounds", kind.spawn_bounds), ("move_bounds", kind.move_bounds)] {
        if let Some(bounds) = bounds {
            line(name, format!("[[{}], [{}]]", place(bounds.low), place(bounds.high)));
        }
    }
    let axes = ["x", "y", "z"].iter().zip(kind.is_locked).filter(|(_, is_locked)| *is_locked);
    let axes: Vec<String> = axes.map(|(axis, _)| format!("\"{axis}\"")).collect();
    if !axes.is_empty() {
        line("locked", format!("[{}]", axes.join(", ")));
    }
    lines.join("\n") + "\n"
}
