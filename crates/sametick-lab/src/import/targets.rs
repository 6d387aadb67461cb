//! FPSci's targets as ours: key by key, nothing left out in silence.

use super::{Fate, Import, quoted};
use crate::any::{Any, AnyValue, WrongAny};
use crate::targets::{NamedTarget, written};
use crate::value::Plain;
use crate::wrong::near;
use sametick_arena::vector::{Bounds, Vector, greatest, least};
use sametick_arena::{
    Jumping, Space, TARGET_HITS_MAX, TARGET_SIZE_MAX, TargetKind, TargetSet, WAYPOINTS_MAX,
};

/// As it is written: a millimetre is no whole number of single precision.
const SIZE_LEAST: f64 = 0.01;
const LOOKS: &[&str] = &[
    "colors",
    "gloss",
    "emissive",
    "modelSpec",
    "hitSound",
    "hitSoundVol",
    "destroyedSound",
    "destroyedSoundVol",
    "destroyDecal",
    "destroyDecalScale",
    "destroyDecalDuration",
    "showHealthBars",
];
const KNOWN: &[&str] = &[
    "id",
    "destSpace",
    "visualSize",
    "distance",
    "speed",
    "motionChangePeriod",
    "eccH",
    "eccV",
    "symmetricEccH",
    "symmetricEccV",
    "upperHemisphereOnly",
    "jumpEnabled",
    "jumpPeriod",
    "jumpSpeed",
    "accelGravity",
    "respawnCount",
    "destinations",
    "spawnBounds",
    "moveBounds",
    "bounds",
    "axisLocked",
    "logTargetTrajectory",
    "settingsVersion",
];

/// A target that is being read.
struct Made {
    kind: TargetKind,
    jumping: Jumping,
    jumps: bool,
}

impl Import<'_> {
    /// All targets of an experiment.
    pub(super) fn read_targets(&mut self, list: &Any) -> Result<(), WrongAny> {
        let Some(items) = list.items() else {
            return Err(self.wrong(list.at, "`targets` is a list: ( { id = \"a\" } )"));
        };
        for (index, item) in items.iter().enumerate() {
            let target = self.target(item, &format!("targets[{index}]"))?;
            if self.targets.iter().any(|known| known.name == target.name) {
                let what = format!("there are two targets {:?}", target.name);
                return Err(self.wrong(item.at, what));
            }
            self.targets.push(target);
        }
        Ok(())
    }

    fn target(&mut self, item: &Any, path: &str) -> Result<NamedTarget, WrongAny> {
        let AnyValue::Table(_, pairs) = &item.is else {
            return Err(self.wrong(item.at, "a target is names with values: { id = \"a\" }"));
        };
        let Some(id) = item.get("id").and_then(Any::text).filter(|id| !id.trim().is_empty()) else {
            return Err(self.wrong(item.at, "a target has an `id`, which is a text"));
        };
        let name = id.replace(',', " ").trim().to_owned();
        self.note(item.at, &format!("{path}.id"), Fate::Mapped, format!("a target {name:?}"));
        let is_player = item.get("destSpace").and_then(Any::text) == Some("player");
        let space = if is_player { Space::Player } else { Space::World };
        let speed = if is_player { 5.0 } else { 4.0 };
        let mut made = Made {
            kind: TargetKind { space, ..TargetKind::default() },
            jumping: Jumping { seconds: [2.0; 2], speed: [speed; 2], gravity: [9.8; 2] },
            jumps: false,
        };
        for (key, value) in pairs {
            self.target_key(&mut made, key, (&format!("{path}.{key}"), value))?;
        }
        let mut kind = made.kind;
        kind.jumping = made.jumps.then_some(made.jumping);
        self.within_play(&mut kind, path);
        let alone = TargetSet { kinds: vec![kind.clone()], ..TargetSet::default() };
        alone
            .check()
            .map_err(|what| self.wrong(item.at, format!("the target {name:?}: {what}")))?;
        Ok(NamedTarget { name, kind })
    }

    /// What is faster than can be played becomes as fast as can be, and what means nothing in a space is left out.
    fn within_play(&mut self, kind: &mut TargetKind, path: &str) {
        let most = kind.speed_most();
        let mut again = |key: &str, fate: Fate, what: String| {
            let key = format!("{path}.{key}");
            let told = self.mappings.iter_mut().find(|known| known.key == key);
            told.into_iter().for_each(|told| (told.fate, told.what) = (fate, what.clone()));
        };
        let jumping = kind.jumping.as_mut().map(|jumping| ("jumpSpeed", &mut jumping.speed));
        for (key, speed) in [("speed", &mut kind.speed)].into_iter().chain(jumping) {
            if speed[1] > most {
                let what = format!("the nearest to {} to {}: {most} at most", speed[0], speed[1]);
                *speed = speed.map(|end| end.min(most));
                again(key, Fate::Approximated, what);
            }
        }
        let nothing = "it says nothing in this `destSpace`".to_owned();
        match kind.space {
            Space::Player => {
                if kind.move_bounds.take().is_some() {
                    again("moveBounds", Fate::Impossible, nothing.clone());
                    let what = "`spawn_bounds`; in the player's space it moves round the eye";
                    again("bounds", Fate::Approximated, what.to_owned());
                }
                if std::mem::take(&mut kind.is_locked) != [false; 3] {
                    again("axisLocked", Fate::Impossible, nothing);
                }
            }
            Space::World => {
                if std::mem::take(&mut kind.is_upper_only) {
                    again("upperHemisphereOnly", Fate::Impossible, nothing);
                }
            }
        }
    }

    /// What a key says of a target.
    fn target_key(
        &mut self,
        made: &mut Made,
        key: &str,
        (full, value): (&str, &Any),
    ) -> Result<(), WrongAny> {
        let range =
            |import: &mut Self, ours: &str, ends: [f64; 2]| import.range((full, value), ours, ends);
        match key {
            "id" => {}
            "destSpace" => match value.text() {
                Some("world" | "player") => {
                    self.note(value.at, full, Fate::Mapped, "`space`");
                }
                _ => return Err(self.wrong(value.at, "`destSpace` is world or player")),
            },
            "visualSize" => {
                made.kind.size = range(self, "size", [SIZE_LEAST, f64::from(TARGET_SIZE_MAX)])?;
            }
            "distance" => made.kind.distance = range(self, "distance", [0.5, 200.0])?,
            "speed" => made.kind.speed = range(self, "speed", [0.0, 10_000.0])?,
            "motionChangePeriod" => {
                made.kind.turn_seconds = range(self, "motion_change_period", [0.0, 86_400.0])?;
            }
            "eccH" => made.kind.beside = range(self, "ecc_h", [-180.0, 180.0])?,
            "eccV" => made.kind.above = range(self, "ecc_v", [-90.0, 90.0])?,
            "jumpPeriod" => made.jumping.seconds = range(self, "jump_period", [0.0, 86_400.0])?,
            "jumpSpeed" => made.jumping.speed = range(self, "jump_speed", [0.0, 10_000.0])?,
            "accelGravity" => made.jumping.gravity = range(self, "gravity", [-1_000.0, 1_000.0])?,
            "symmetricEccH" => {
                made.kind.is_symmetric[0] = self.yes((full, value), "symmetric_h")?
            }
            "symmetricEccV" => {
                made.kind.is_symmetric[1] = self.yes((full, value), "symmetric_v")?
            }
            "upperHemisphereOnly" => {
                made.kind.is_upper_only = self.yes((full, value), "upper_hemisphere_only")?;
            }
            "jumpEnabled" => made.jumps = self.yes((full, value), "jumps")?,
            "respawnCount" => made.kind.respawns = self.respawns(full, value)?,
            "destinations" => made.kind.way = self.way(full, value)?,
            "spawnBounds" => made.kind.spawn_bounds = Some(self.bounds(full, value)?),
            "moveBounds" => made.kind.move_bounds = Some(self.bounds(full, value)?),
            "bounds" => {
                let bounds = self.bounds(full, value)?;
                (made.kind.spawn_bounds, made.kind.move_bounds) = (Some(bounds), Some(bounds));
            }
            "axisLocked" => made.kind.is_locked = self.locked(full, value)?,
            _ => self.other_key(key, (full, value)),
        }
        Ok(())
    }

    /// What says nothing of where it is.
    fn other_key(&mut self, key: &str, (full, value): (&str, &Any)) {
        match key {
            "logTargetTrajectory" => {
                let what = "all targets are logged alike: `log_states`";
                self.note(value.at, full, Fate::Approximated, what);
            }
            "settingsVersion" => {
                self.note(value.at, full, Fate::Mapped, "it is no experiment's matter");
            }
            looks if LOOKS.contains(&looks) => {
                let what = "targets look and sound as the arena has them";
                self.note(value.at, full, Fate::Impossible, what);
            }
            other => {
                let hint = near(other, KNOWN.iter().chain(LOOKS).copied());
                let what = format!("FPSci does not read this key of a target either{hint}");
                self.note(value.at, full, Fate::Impossible, what);
            }
        }
    }

    /// One number or two, each within its ends.
    fn range(
        &mut self,
        (key, value): (&str, &Any),
        ours: &str,
        [low, high]: [f64; 2],
    ) -> Result<[f32; 2], WrongAny> {
        let said: Vec<f64> = match value.items() {
            Some(items) => items.iter().filter_map(Any::number).collect(),
            None => value.number().into_iter().collect(),
        };
        let both = match said[..] {
            [one] if value.items().is_none_or(|items| items.len() == 1) => [one; 2],
            [least, most] if value.items().is_some_and(|items| items.len() == 2) => [least, most],
            _ => return Err(self.wrong(value.at, format!("`{key}` is two numbers: [1, 2]"))),
        };
        if both.iter().any(|end| end.is_nan()) {
            return Err(self.wrong(value.at, format!("`{key}` is two numbers: [1, 2]")));
        }
        let mut within = both.map(|end| end.clamp(low, high));
        within.sort_by(f64::total_cmp);
        let shown = format!("`{ours}` {} to {}", Plain(within[0]), Plain(within[1]));
        match within == both {
            true => self.note(value.at, key, Fate::Mapped, shown),
            false => {
                let what = format!("{shown}, the nearest to {} to {}", both[0], both[1]);
                self.note(value.at, key, Fate::Approximated, what);
            }
        }
        Ok(within.map(|end| end as f32))
    }

    fn yes(&mut self, (key, value): (&str, &Any), ours: &str) -> Result<bool, WrongAny> {
        let odd = || self.wrong(value.at, format!("`{key}` is true or false"));
        let flag = value.flag().ok_or_else(odd)?;
        self.note(value.at, key, Fate::Mapped, format!("`{ours}`"));
        Ok(flag)
    }

    fn respawns(&mut self, key: &str, value: &Any) -> Result<Option<u16>, WrongAny> {
        let count = value.number().filter(|count| count.fract() == 0.0 && *count >= -1.0);
        let Some(count) = count.filter(|count| *count < 65_535.0) else {
            return Err(
                self.wrong(value.at, format!("`{key}` is -1, 0 or how often it comes back"))
            );
        };
        self.note(value.at, key, Fate::Mapped, "`respawns`");
        Ok((count >= 0.0).then_some(count as u16))
    }

    fn way(&mut self, key: &str, value: &Any) -> Result<Vec<(f32, Vector)>, WrongAny> {
        let items = value.items().unwrap_or_default();
        let mut way: Vec<(f32, Vector)> = Vec::new();
        for item in items.iter().take(WAYPOINTS_MAX + 1) {
            let at = item.get("t").and_then(Any::number).filter(|at| at.is_finite());
            let place = item.get("xyz").and_then(vector);
            let (Some(at), Some(place)) = (at, place) else {
                let what = "a destination is { t = 0.5, xyz = Vector3(1, 2, 3) }";
                return Err(self.wrong(item.at, what));
            };
            way.push((at as f32, turned(place)));
        }
        if way.len() < 2 {
            let what = "fewer than two destinations are none: it moves as the rest says";
            self.note(value.at, key, Fate::Approximated, what);
            return Ok(Vec::new());
        }
        let what =
            "`destinations`, forward, left and up from y up; the map is another than the scene";
        self.note(value.at, key, Fate::Approximated, what);
        Ok(way)
    }

    fn bounds(&mut self, key: &str, value: &Any) -> Result<Bounds, WrongAny> {
        let corners: Vec<Vector> =
            value.items().unwrap_or_default().iter().filter_map(vector).map(turned).collect();
        let [one, other] = corners[..] else {
            let what =
                format!("`{key}` must look like AABox {{ Point3(0, 0, 0), Point3(1, 1, 1) }}");
            return Err(self.wrong(value.at, what));
        };
        let what =
            "the same box, forward, left and up from y up; the map is another than the scene";
        self.note(value.at, key, Fate::Approximated, what);
        Ok(Bounds { low: least(one, other), high: greatest(one, other) })
    }

    fn locked(&mut self, key: &str, value: &Any) -> Result<[bool; 3], WrongAny> {
        let axes: Vec<bool> =
            value.items().unwrap_or_default().iter().filter_map(Any::flag).collect();
        let [x, y, z] = axes[..] else {
            return Err(
                self.wrong(value.at, format!("`{key}` is three flags: [false, true, false]"))
            );
        };
        self.note(value.at, key, Fate::Mapped, "`locked`, by the arena's axes");
        Ok([z, x, y])
    }

    /// How many hits a target takes at the innermost level that says so: of the fork, or by the weapon's damage.
    pub(super) fn hits(&mut self, levels: &[(&Any, &str)]) -> Result<u8, WrongAny> {
        for (level, path) in levels {
            let full =
                |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            let most = f64::from(TARGET_HITS_MAX);
            if let Some(said) = level.get("hitsToKill") {
                let hits = said.number().filter(|hits| *hits >= 1.0);
                let what = "`hitsToKill` is a number from 1";
                let hits = hits.ok_or_else(|| self.wrong(said.at, what))?.min(most).ceil();
                self.tell_once(said, &full("hitsToKill"), Fate::Mapped, format!("`hits = {hits}`"));
                return Ok(hits as u8);
            }
            let Some(weapon) = level.get("weapon") else { continue };
            let number = |key: &str, usual: f64| {
                weapon.get(key).and_then(Any::number).filter(|said| *said >= 0.0).unwrap_or(usual)
            };
            let damage = number("damagePerSecond", 2.0) * number("firePeriod", 0.5);
            let hits = (0.999 / damage.max(1e-6)).ceil().clamp(1.0, most);
            let left_out = match &weapon.is {
                AnyValue::Table(_, pairs) => {
                    let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                    names.join(", ")
                }
                _ => String::new(),
            };
            let what = format!(
                "its damage is `hits = {hits}` of targets; else the arena has its own weapons (left out: {left_out})"
            );
            self.tell_once(weapon, &full("weapon"), Fate::Approximated, what);
            return Ok(hits as u8);
        }
        Ok(1)
    }

    fn tell_once(&mut self, at: &Any, key: &str, fate: Fate, what: String) {
        if !self.mappings.iter().any(|known| known.key == key && known.fate == fate) {
            self.note(at.at, key, fate, what);
        }
    }

    /// The targets of a trial, as its line has them.
    pub(super) fn trial_targets(
        &mut self,
        ids: &Any,
        key: &str,
        hits: u8,
    ) -> Result<String, WrongAny> {
        let one = std::slice::from_ref(ids);
        let items = ids.items().unwrap_or(one);
        if items.is_empty() {
            return Err(self.wrong(ids.at, format!("`{key}` names no target")));
        }
        let mut names: Vec<String> = Vec::new();
        for item in items {
            let Some(id) = item.text() else {
                return Err(self.wrong(item.at, format!("`{key}` is a list of targets' ids")));
            };
            let id = id.replace(',', " ").trim().to_owned();
            let Some(found) = self.targets.iter().find(|known| known.name == id) else {
                let hint = near(&id, self.targets.iter().map(|known| known.name.as_str()));
                let what = format!("there is no target {id:?} in `targets`{hint}");
                return Err(self.wrong(item.at, what));
            };
            let mut target = found.clone();
            target.kind.hits = Some(hits);
            if hits > 1 {
                target.name = format!("{id} {hits} hits");
            }
            if !self.used.contains(&target) {
                self.used.push(target.clone());
            }
            names.push(quoted(&target.name));
        }
        let list = names.join(", ");
        self.note(ids.at, key, Fate::Mapped, format!("`targets = [{list}]`"));
        Ok(format!("[{list}]"))
    }

    /// The tables of all targets that trials name; the others are told.
    pub(super) fn written_targets(&mut self, list: &Any) -> String {
        for target in self.targets.clone() {
            let is_used = |used: &NamedTarget| {
                used.name == target.name || used.name.starts_with(&format!("{} ", target.name))
            };
            if !self.used.iter().any(is_used) {
                let what = format!("no trial names the target {:?}: it is left out", target.name);
                self.note(list.at, "targets", Fate::Approximated, what);
            }
        }
        self.used.iter().map(|target| format!("\n{}", written(target))).collect()
    }
}

fn vector(any: &Any) -> Option<Vector> {
    let parts: Option<Vec<f32>> =
        any.items()?.iter().map(|part| part.number().map(|part| part as f32)).collect();
    <[f32; 3]>::try_from(parts?).ok().filter(|place| place.iter().all(|part| part.is_finite()))
}

/// From y up and -z ahead to z up and x ahead.
fn turned([x, y, z]: Vector) -> Vector {
    [0.0 - z, 0.0 - x, y]
}
