//! What is measured: a run of tables, from the built-in work or from a recorded game.

use super::recording::{RecordedEntity, RecordedField, RecordedFieldKind, RecordedKind, Recording};
use super::workload::{self, TICKS_PER_SECOND, Workload};
use anyhow::ensure;
use sametick::codec::plain::KINDS_MAX;
use sametick::word::{Blend, Meaning, Word};
use sametick::{EntityId, Head, Layout, Precision, Table};

/// One run at one precision. Its tables come in order; [`rewind`](Scene::rewind) starts again.
pub(crate) struct Scene {
    /// `quantised` or `exact`.
    pub(crate) name: &'static str,
    pub(crate) layouts: Vec<Layout>,
    /// What both ends know before the first snapshot.
    pub(crate) baseline: Table,
    pub(crate) snapshots: usize,
    pub(crate) first_measured: usize,
    source: Source,
}

enum Source {
    Workload { seed: u64, ticks_per_snapshot: u32, now: Workload },
    Recorded { kinds: Vec<RecordedKind>, frames: Vec<Vec<RecordedEntity>>, next: usize },
}

/// The built-in work, quantised and exact.
pub(crate) fn built_in(seed: u64, seconds: u32, snapshots_per_second: u32) -> Vec<Scene> {
    let scene = |name, precision| Scene {
        name,
        layouts: workload::layouts(precision),
        baseline: Table::default(),
        snapshots: (seconds * snapshots_per_second) as usize,
        first_measured: 0,
        source: Source::Workload {
            seed,
            ticks_per_snapshot: TICKS_PER_SECOND / snapshots_per_second,
            now: Workload::new(seed),
        },
    };
    vec![scene("quantised", Precision::Shown), scene("exact", Precision::State)]
}

/// A recorded game: quantised as the recording is, and exact where it has that too.
pub(crate) fn recorded(recording: Recording) -> anyhow::Result<Vec<Scene>> {
    let Recording { kinds, baselines, frames, first_measured, exact, .. } = recording;
    let mut scenes = vec![Scene::recorded("quantised", kinds, &baselines, frames, first_measured)?];
    if let Some(exact) = exact {
        let (kinds, frames) = (exact.kinds, exact.frames);
        scenes.push(Scene::recorded("exact", kinds, &[], frames, first_measured)?);
    }
    Ok(scenes)
}

impl Scene {
    fn recorded(
        name: &'static str,
        kinds: Vec<RecordedKind>,
        baselines: &[RecordedEntity],
        frames: Vec<Vec<RecordedEntity>>,
        first_measured: usize,
    ) -> anyhow::Result<Self> {
        ensure!(kinds.len() <= KINDS_MAX, "the recording has more than {KINDS_MAX} kinds");
        let layouts: Vec<Layout> = kinds.iter().map(layout).collect();
        let mut baseline = Table::default();
        place(&kinds, &layouts, baselines, &mut baseline);
        baseline.visible.clear();
        let snapshots = frames.len();
        let source = Source::Recorded { kinds, frames, next: 0 };
        Ok(Self { name, layouts, baseline, snapshots, first_measured, source })
    }

    /// Goes back to before the first snapshot.
    pub(crate) fn rewind(&mut self) {
        match &mut self.source {
            Source::Workload { seed, now, .. } => *now = Workload::new(*seed),
            Source::Recorded { next, .. } => *next = 0,
        }
    }

    /// Fills `table` with the next snapshot's entities. What stood there before stays as base.
    pub(crate) fn next(&mut self, table: &mut Table) {
        match &mut self.source {
            Source::Workload { ticks_per_snapshot, now, .. } => {
                (0..*ticks_per_snapshot).for_each(|_| now.step());
                now.fill(&self.layouts, table);
            }
            Source::Recorded { kinds, frames, next } => {
                table.visible.clear();
                place(kinds, &self.layouts, &frames[*next], table);
                *next += 1;
            }
        }
    }
}

fn place(
    kinds: &[RecordedKind],
    layouts: &[Layout],
    entities: &[RecordedEntity],
    table: &mut Table,
) {
    for entity in entities {
        let kind = usize::from(entity.kind);
        let id = EntityId::new(usize::from(entity.slot), 1).expect("checked when it was read");
        let row = table.place(Head { id, kind: entity.kind }, &layouts[kind]);
        for ((word, raw), field) in row.iter_mut().zip(&*entity.values).zip(&kinds[kind].fields) {
            *word = (field.integer(*raw) - field.low) as u32;
        }
    }
}

fn layout(kind: &RecordedKind) -> Layout {
    let word = |field: &RecordedField| {
        let blend = match field.kind {
            RecordedFieldKind::Float => Blend::Slide,
            RecordedFieldKind::Unsigned(_) | RecordedFieldKind::Signed(_) => Blend::Snap,
        };
        let max = (field.high - field.low) as u32;
        let name = format!("{}.{}", kind.name, field.name);
        let meaning = match field.kind {
            RecordedFieldKind::Float => Meaning::Exact,
            _ => Meaning::Integer { low: field.low },
        };
        Word::new(&name, max, meaning, blend)
    };
    let zero = |field: &RecordedField| (0.clamp(field.low, field.high) - field.low) as u32;
    let initial = kind.fields.iter().map(zero).collect();
    let layout = Layout::new(Precision::Shown, kind.fields.iter().map(word).collect(), initial);
    layout.with_hints(kind.hints.clone())
}
