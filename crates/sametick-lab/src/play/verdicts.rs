//! Bullets and wounds: what was aimed at, what was hit in the past and in the present, and who was behind cover.

use super::elsewhere::Pictured;
use super::screen::{Look, Own, Screen, lead};
use super::targets::Targets;
use crate::rows::{HitRow, ShotRow, TrialLog};
use sametick::{EntityId, Verdict};
use sametick_arena::scenes::RUN_SPEED;
use sametick_arena::vector::Vector;
use sametick_arena::{Fighter, Map, body};
use std::collections::BTreeMap;

/// What is known of a fighter from tick to tick.
#[derive(Clone, Copy, Debug)]
struct Known {
    player: u32,
    health: u8,
    teleports: u8,
    yaw: f32,
    pitch: f32,
    eye: Vector,
}

/// All fighters, as they were and as they are.
#[derive(Default)]
pub(crate) struct Shots {
    known: BTreeMap<EntityId, Known>,
    wounds: Vec<(EntityId, u32, u8, bool)>,
}

/// The tick in which bullets were judged.
pub(crate) struct Judged<'a> {
    pub(crate) tick: u32,
    pub(crate) time_ms: f64,
    pub(crate) map: &'a Map,
    pub(crate) screens: &'a [&'a Screen],
    /// What shooters saw whose screens are elsewhere.
    pub(crate) pictured: &'a BTreeMap<u32, Pictured>,
    pub(crate) served: &'a [Option<Own>],
    pub(crate) targets: &'a Targets,
}

impl Shots {
    /// Takes in a fighter as it is after a tick.
    pub(crate) fn know(&mut self, id: EntityId, player: u32, fighter: &Fighter) {
        let known = Known {
            player,
            health: fighter.health,
            teleports: fighter.teleports,
            yaw: fighter.yaw,
            pitch: fighter.pitch,
            eye: fighter.eye(),
        };
        let before = self.known.insert(id, known);
        if let Some(before) = before
            && before.teleports == known.teleports
            && known.health < before.health
        {
            let amount = before.health - known.health;
            self.wounds.push((id, player, amount, known.health == 0));
        }
    }

    /// Leaves out what happened before it counts.
    pub(crate) fn forget(&mut self) {
        self.wounds.clear();
    }

    /// Writes down every bullet and every wound of a tick.
    pub(crate) fn judge(
        &mut self,
        judged: &Judged<'_>,
        verdicts: &[Verdict],
        numbers: &BTreeMap<u16, u32>,
        log: &mut TrialLog,
    ) {
        let player =
            |id: Option<EntityId>| id.and_then(|id| self.known.get(&id)).map(|known| known.player);
        let (tick, time_ms) = (judged.tick, judged.time_ms);
        let mut shots: Vec<ShotRow> = Vec::new();
        for verdict in verdicts {
            let Some(shooter) = numbers.get(&verdict.player.0).copied() else { continue };
            let (seen, present) = (player(verdict.seen), player(verdict.present));
            let (hit, target) = (player(verdict.hit), judged.targets.number(verdict.hit));
            let pellets_hit = u32::from(hit.is_some() || target.is_some());
            // All that left a barrel in one tick is one shot.
            let ordinal = shots.len() as u32;
            let rewound_ms = verdict.rewound.as_millis_f64();
            match shots.iter_mut().find(|shot| shot.player == shooter) {
                Some(shot) => {
                    shot.pellets += 1;
                    shot.pellets_hit += pellets_hit;
                    shot.seen = shot.seen.or(seen);
                    shot.present = shot.present.or(present);
                    shot.hit = shot.hit.or(hit);
                    shot.target = shot.target.or(target);
                }
                None => shots.push(ShotRow {
                    tick,
                    time_ms,
                    ordinal,
                    player: shooter,
                    pellets: 1,
                    pellets_hit,
                    seen,
                    present,
                    hit,
                    target,
                    rewound_ms,
                    ..ShotRow::default()
                }),
            }
        }
        for mut shot in shots {
            self.compare(&mut shot, judged);
            TrialLog::keep(&mut log.shots, &mut log.dropped, shot);
        }
        for (id, player, amount, is_kill) in std::mem::take(&mut self.wounds) {
            let by = verdicts.iter().find(|verdict| verdict.hit == Some(id));
            let by = by.and_then(|verdict| numbers.get(&verdict.player.0)).copied();
            let row = HitRow { tick, time_ms, player, by, amount: u32::from(amount), is_kill };
            TrialLog::keep(&mut log.hits, &mut log.dropped, row);
        }
    }

    /// Writes down wounds of which nobody knows whose bullets made them.
    pub(crate) fn wounds(&mut self, tick: u32, time_ms: f64, log: &mut TrialLog) {
        for (_, player, amount, is_kill) in std::mem::take(&mut self.wounds) {
            let (by, amount) = (None, u32::from(amount));
            let row = HitRow { tick, time_ms, player, by, amount, is_kill };
            TrialLog::keep(&mut log.hits, &mut log.dropped, row);
        }
    }

    /// Says of a shot what its shooter aimed at, and whether its victim was behind cover.
    pub(crate) fn compare(&self, row: &mut ShotRow, judged: &Judged<'_>) {
        let Some(shooter) = self.known.values().find(|known| known.player == row.player) else {
            return;
        };
        let screen = judged.screens[row.player as usize - 1];
        let pictured = judged.pictured.get(&row.player);
        let beside = screen.beside(shooter.yaw).or_else(|| pictured?.beside);
        let looks = [shooter.yaw, shooter.pitch];
        let beside = beside.or_else(|| judged.targets.aimed(row.tick, shooter.eye, looks));
        (row.aimed_target, row.aim_error) = beside.unzip();
        if let Some(aim) = screen.aim(shooter.yaw).or_else(|| pictured?.aim) {
            let target = aim.target as usize - 1;
            row.aimed = Some(aim.target);
            row.shown = Some(aim.shown);
            row.own = judged.screens[target].own.map(|own| own.place);
            row.served = judged.served[target].map(|served| served.place);
            row.lead_m = judged.served[target].and_then(|truth| lead(&aim, truth, RUN_SPEED));
            let rewound = f64::from(RUN_SPEED) * row.rewound_ms / 1000.0;
            row.lead_rewound_m = row.lead_m.map(|_| rewound);
        }
        let victim = row.hit.and_then(|hit| judged.screens[hit as usize - 1].own);
        row.is_behind_cover = victim.map(|own| is_covered(judged.map, shooter.eye, own.place));
    }

    /// Where a player looks from, and which way.
    pub(crate) fn look(&self, player: u32) -> Option<Look> {
        let known = self.known.values().find(|known| known.player == player)?;
        Some(Look { eye: known.eye, ways: [known.yaw, known.pitch] })
    }
}

/// Whether nothing of somebody who stands at a place can be seen.
pub(crate) fn is_covered(map: &Map, eye: Vector, place: Vector) -> bool {
    let body = body::bounds(place, false);
    (0..8).all(|corner| {
        let place = [0, 1, 2].map(|axis| [body.low, body.high][corner >> axis & 1][axis]);
        !map.visible(eye, place)
    })
}
