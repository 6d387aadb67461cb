//! Writes what is logged of targets: their kinds, their lives, and where they were.

use super::{Cell, Log, flag, integer, maybe, real, text};
use crate::experiment::Experiment;
use crate::plan::Trial;
use crate::rows::TrialLog;
use sametick_arena::Space;

impl Log {
    pub(super) fn insert_target_kinds(&self, experiment: &Experiment) -> rusqlite::Result<()> {
        for (place, target) in (1..).zip(&experiment.targets) {
            let kind = &target.kind;
            let motion = match (kind.way.is_empty(), kind.jumping) {
                (false, _) => "destinations",
                (true, Some(_)) => "jumping",
                (true, None) => "gliding",
            };
            let space = if kind.space == Space::World { "world" } else { "player" };
            let both = |range: [f32; 2]| range.map(|end| Cell::Real(f64::from(end)));
            let mut cells = vec![text(&target.name), integer(place), text(space), text(motion)];
            cells.extend(both(kind.size));
            cells.extend(kind.is_symmetric.map(flag));
            for range in [kind.beside, kind.above, kind.speed, kind.turn_seconds] {
                cells.extend(both(range));
            }
            cells.push(Cell::Integer(kind.respawns.map_or(-1, i64::from)));
            cells.push(integer(kind.hits.unwrap_or(0).into()));
            self.insert("target_kind", cells)?;
        }
        Ok(())
    }

    pub(super) fn insert_targets(&self, trial: &Trial, log: &TrialLog) -> rusqlite::Result<()> {
        for row in &log.targets {
            let mut cells = vec![
                integer(trial.number),
                integer(row.target),
                integer(row.life),
                text(&row.kind),
                integer(row.tick),
                Cell::Real(row.time_ms),
                Cell::Real(row.size_m),
            ];
            cells.extend([0, 1, 2].map(|part| real(row.seen.map(|seen| seen[part]))));
            cells.push(integer(row.hits));
            cells.extend([maybe(row.destroyed_tick), real(row.destroyed_ms)]);
            cells.push(maybe(row.destroyed_by));
            self.insert("target", cells)?;
        }
        for row in &log.target_states {
            let mut cells = vec![
                integer(trial.number),
                integer(row.tick),
                integer(row.target),
                Cell::Real(row.time_ms),
                integer(row.life),
            ];
            cells.extend(row.place.map(|part| Cell::Real(f64::from(part))));
            cells.push(integer(row.health));
            self.insert("target_state", cells)?;
        }
        Ok(())
    }
}
