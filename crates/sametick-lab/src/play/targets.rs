//! What became of targets: every life of each, where they were, and how far beside them a shot went.

use super::books::Seconds;
use crate::rows::{TargetRow, TargetStateRow, TrialLog};
use crate::settings::Settings;
use sametick::{EntityId, Time, Verdict, World};
use sametick_arena::vector::{Vector, direction, dot, length, subtract, unit};
use sametick_arena::{Contest, Entity, Phase, Target};
use std::collections::BTreeMap;

/// What is known of a target from tick to tick.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    number: u32,
    health: u8,
    life: u32,
    place: Vector,
    /// The tick and the moment in which its life began. When logging begins may not be known by then.
    began: (u32, Time),
    row: Option<usize>,
    gone_at: u32,
}

/// So much later than they should targets may appear: rules go by ticks.
const WAIT_SLACK_MS: f64 = 1_000.0;

/// All targets, as they were and as they are.
#[derive(Default)]
pub(crate) struct Targets {
    known: BTreeMap<EntityId, Known>,
    names: Vec<String>,
    total: Option<f64>,
    destroyed: u32,
    began: Option<Time>,
    first: Option<Time>,
    /// How long they wait at most before they appear.
    wait_ms_max: f64,
}

impl Targets {
    pub(crate) fn new(settings: &Settings) -> Self {
        let lives = settings.target_set().kinds.into_iter().map(|kind| kind.respawns);
        let total = lives.map(|respawns| respawns.map(|times| f64::from(times) + 1.0));
        let total: Option<Vec<f64>> = total.collect();
        let total = total.filter(|all| !all.is_empty()).map(|all| all.iter().sum());
        let wait = settings.target_set().wait_seconds[1];
        let wait_ms_max = f64::from(wait) * 1000.0;
        Self { names: settings.target_names(), total, wait_ms_max, ..Self::default() }
    }

    /// The number of a target, from 1.
    pub(crate) fn number(&self, id: Option<EntityId>) -> Option<u32> {
        id.and_then(|id| self.known.get(&id)).map(|known| known.number)
    }

    /// Takes in the targets after a tick at a moment, in which there were these verdicts.
    pub(crate) fn after_tick(
        &mut self,
        world: &World<Entity>,
        (now, seconds, logs_states): (Time, &Seconds, bool),
        (verdicts, numbers): (&[Verdict], &BTreeMap<u16, u32>),
        log: &mut TrialLog,
    ) {
        let (tick, time_ms) = (world.tick().0, seconds.time_ms(now));
        let is_on = world.all::<Contest>().any(|(_, contest)| contest.phase == Phase::Playing);
        if is_on && !self.names.is_empty() {
            self.began.get_or_insert(now);
        }
        for (id, target) in world.all::<Target>() {
            let number = u32::from(target.index) + 1;
            let known = self.known.entry(id).or_default();
            let before = std::mem::replace(&mut known.health, target.health);
            known.number = number;
            if target.health > 0 {
                known.place = target.position;
            }
            if target.health > 0 && before == 0 {
                (known.life, known.row) = (known.life + 1, None);
                known.began = (tick, now);
            }
            if time_ms < 0.0 {
                continue;
            }
            if target.health > 0 && known.row.is_none() {
                known.row = Some(log.targets.len());
                let name = self.names.get(usize::from(target.index));
                let (tick, began) = known.began;
                let row = appeared(target, (tick, seconds.time_ms(began), known.life), name);
                TrialLog::keep(&mut log.targets, &mut log.dropped, row);
                self.first.get_or_insert(began);
            }
            let hit = target.health < before;
            self.destroyed += u32::from(hit && target.health == 0);
            if let Some(row) = known.row.and_then(|row| log.targets.get_mut(row)).filter(|_| hit) {
                row.hits += u32::from(before - target.health);
                if target.health == 0 {
                    let by = verdicts.iter().find(|verdict| verdict.hit == Some(id));
                    row.destroyed_by = by.and_then(|by| numbers.get(&by.player.0)).copied();
                    (row.destroyed_tick, row.destroyed_ms) = (Some(tick), Some(time_ms));
                    known.gone_at = tick;
                }
            }
            if logs_states && target.health > 0 {
                let (place, health, life) = (target.position, u32::from(target.health), known.life);
                let row = TargetStateRow { tick, time_ms, target: number, life, place, health };
                TrialLog::keep(&mut log.target_states, &mut log.dropped, row);
            }
        }
    }

    /// Whether none of the file's targets has appeared yet: what counts has not begun, unless this takes longer than
    /// they wait at most.
    pub(crate) fn are_awaited(&self, now: Time, seconds: &Seconds) -> bool {
        let began = self.began.map_or(0.0, |began| seconds.time_ms(began).max(0.0));
        !self.names.is_empty()
            && self.first.is_none()
            && seconds.time_ms(now) <= began + self.wait_ms_max + WAIT_SLACK_MS
    }

    /// Whether every target of the trial was destroyed as often as it comes: then it is over.
    pub(crate) fn are_gone(&self) -> bool {
        self.total.is_some_and(|total| f64::from(self.destroyed) >= total)
    }

    /// The target nearest to where somebody looks in a tick, and how far beside it that is, in degrees.
    pub(crate) fn aimed(
        &self,
        tick: u32,
        eye: Vector,
        [yaw, pitch]: [f32; 2],
    ) -> Option<(u32, f64)> {
        let there = self.known.values().filter(|known| known.health > 0 || known.gone_at == tick);
        nearest(there.map(|known| (known.number, known.place)), eye, [yaw, pitch])
    }

    /// Numbers of the whole trial: how many targets it has in all, and how long it was until the first appeared.
    pub(crate) fn figures(&self) -> Vec<(&'static str, f64)> {
        let wait = self.began.zip(self.first).map(|(began, first)| (first - began).as_millis_f64());
        let all = [("total_targets", self.total), ("foreperiod", wait)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

fn appeared(
    target: &Target,
    (tick, time_ms, life): (u32, f64, u32),
    name: Option<&String>,
) -> TargetRow {
    let off = subtract(target.position, target.eye);
    let [x, y, z] = off.map(f64::from);
    let [yaw, pitch] = target.view.map(f64::from);
    let beside = (y.atan2(x) - yaw).to_degrees();
    let beside = (beside + 180.0).rem_euclid(360.0) - 180.0;
    let above = (z.atan2(x.hypot(y)) - pitch).to_degrees();
    // A map's own have no view that they appear by.
    let seen = name.map(|_| [f64::from(length(off)), beside, above]);
    TargetRow {
        target: u32::from(target.index) + 1,
        kind: name.map_or("map", String::as_str).to_owned(),
        life,
        tick,
        time_ms,
        size_m: f64::from(target.half) * 2.0,
        seen,
        ..TargetRow::default()
    }
}

/// Of some places the nearest to where somebody looks, and how far beside it that is, in degrees.
pub(crate) fn nearest(
    places: impl Iterator<Item = (u32, Vector)>,
    eye: Vector,
    [yaw, pitch]: [f32; 2],
) -> Option<(u32, f64)> {
    let ahead = direction(yaw, pitch);
    let off = |place: Vector| {
        let way = unit(subtract(place, eye));
        let beside = length(subtract(way, ahead));
        // From the chord: near nothing the cosine says nothing.
        let angle = 2.0 * f64::from(beside / 2.0).clamp(0.0, 1.0).asin();
        if dot(way, ahead) < -0.999 { 180.0 } else { angle.to_degrees() }
    };
    let all = places.map(|(number, place)| (number, off(place)));
    all.min_by(|one, other| one.1.total_cmp(&other.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Plan};
    use sametick::Span;

    #[test]
    fn a_target_that_was_there_before_anyone_came_has_its_time_from_when_logging_began() {
        let text = "question = \"?\"\n[settings]\nwarm_up = \"2 s\"";
        let experiment = Experiment::read(text, ".".as_ref(), false).unwrap();
        let trial = &Plan::new(&experiment).unwrap().trials[0];
        let mut world = World::<Entity>::default();
        world.spawn(Target { health: 1, ..Target::default() });
        let (mut targets, mut log) = (Targets::new(&trial.settings), TrialLog::default());
        let opened = Time::ZERO + Span::seconds(1);
        let mut look = |now, seconds: &Seconds, log: &mut TrialLog| {
            targets.after_tick(&world, (now, seconds, false), (&[], &BTreeMap::new()), log);
        };
        // With people nobody knows yet when logging begins.
        look(opened, &Seconds::not_yet(), &mut log);
        let gathered = opened + Span::seconds(4);
        let seconds = Seconds::new(trial, gathered);
        look(seconds.begins, &seconds, &mut log);
        assert_eq!(log.targets.len(), 1);
        assert_eq!(log.targets[0].time_ms, -6_000.0);
    }
}
