//! What codecs are trained on and measured with: a recorded game as runs of tables, each with the
//! lineage that a client whose base is always so old would share with its server.

use super::recording;
use super::scene::{self, Scene};
use anyhow::{Context, bail};
use sametick::Wire;
use sametick::codec::compact::Lineage;
use sametick::coded::Named;
use sametick::replay::{Header, Replay, Stepped};
use sametick::{Effect, Layout, PlayerId, Table};
use sametick_arena::{Arena, Content};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// One recording: of a game of ours each player's view is a run, of any other there is one.
pub(crate) struct Footage {
    pub(crate) layouts: Vec<Layout>,
    pub(crate) snapshots_hz: u32,
    /// How many ticks of the game a snapshot is after the one before.
    ticks_per_snapshot: u32,
    /// What it is, in a word.
    pub(crate) format: &'static str,
    /// What a packet has besides what is coded, where that counts.
    pub(crate) header_bytes: usize,
    /// What its kinds are called, where they have names.
    pub(crate) kinds: Vec<String>,
    /// What players asked for and what happened, of a match of ours.
    pub(crate) streams: Option<Recorded>,
    runs: Vec<Run>,
    first: usize,
}

/// What goes one after another in a match: the newest commands of each message first, and events.
pub(crate) struct Recorded {
    pub(crate) wire: Wire,
    pub(crate) commands: Vec<Vec<Vec<u32>>>,
    pub(crate) events: Vec<(Named, Vec<u32>)>,
}

/// A client's message repeats so many commands, about what a line of 100 ms leaves unconfirmed, and every so many ticks
/// one is looked at.
const REPEATED_COMMANDS: usize = 6;
const COMMANDS_EVERY: usize = 5;
/// So many messages and events are enough.
const STREAM_MESSAGES_MAX: usize = 60_000;

impl Recorded {
    /// Looks at a step: the newest commands of each player, and what happened.
    fn add(&mut self, stepped: &Stepped<Arena>, newest: &mut BTreeMap<PlayerId, Vec<Vec<u32>>>) {
        for (player, command) in &stepped.commands {
            let commands = newest.entry(*player).or_default();
            commands.insert(0, self.wire.commands().record(command));
            commands.truncate(REPEATED_COMMANDS);
            let is_looked_at = (stepped.tick.0 as usize).is_multiple_of(COMMANDS_EVERY);
            if is_looked_at && self.commands.len() < STREAM_MESSAGES_MAX {
                self.commands.push(commands.clone());
            }
        }
        for effect in &stepped.events {
            if let Effect::Started { key, event, .. } = effect
                && self.events.len() < STREAM_MESSAGES_MAX
            {
                let (tick, entity, ordinal) = (key.tick, key.entity, key.ordinal);
                let named = Named { tick, entity, ordinal, is_saved: false };
                self.events.push((named, self.wire.events().record(event)));
            }
        }
    }
}

enum Run {
    Scene(Box<Scene>),
    View(Vec<Table>),
}

/// One snapshot of a run.
pub(crate) struct Shot<'a> {
    pub(crate) run: usize,
    pub(crate) lineage: Lineage<'a>,
    pub(crate) now: &'a Table,
}

/// The number of a part, its base, whether that is joined, its chunks, whether any are held back.
const HEADER_BYTES: usize = (16 + 6 + 1 + 8 + 8 + 1) / 8;
/// As many snapshots a second are taken of a replay.
const REPLAY_HZ: u32 = 20;
/// So many players' views of a match are enough, each at most this long.
const VIEWS_MAX: usize = 16;
const VIEW_SNAPSHOTS_MAX: usize = 20 * 600;

impl Footage {
    /// Whether it is a match of ours.
    pub(crate) fn is_match(path: &Path) -> anyhow::Result<bool> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Header::read(&bytes).is_ok())
    }

    /// Opens a recorded game of the formats that `bench codec` reads, or a match that `--record` wrote.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        if Header::read(&bytes).is_ok() {
            return Self::of_replay(bytes)
                .with_context(|| format!("cannot play {}", path.display()));
        }
        let recording = recording::read(&bytes).with_context(|| path.display().to_string())?;
        let (format, snapshots_hz) = (recording.format, recording.snapshots_hz);
        let first = recording.first_measured;
        let scene = scene::recorded(recording)?.swap_remove(0);
        let header_bytes = if format == "cubes" { 0 } else { HEADER_BYTES };
        let layouts = scene.layouts.clone();
        Ok(Self {
            layouts,
            snapshots_hz,
            ticks_per_snapshot: 1,
            format,
            header_bytes,
            kinds: Vec::new(),
            streams: None,
            runs: vec![Run::Scene(Box::new(scene))],
            first,
        })
    }

    fn of_replay(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let header = Header::read(&bytes)?;
        let content = crate::replay::content(&header, None)?;
        let mut replay = Replay::<Arena>::open(bytes, content)?;
        let wire = Wire::of::<Arena>();
        let tick_us = replay.header().rates.tick_length.as_micros().max(1);
        let interval_us = 1_000_000 / u64::from(REPLAY_HZ);
        let every = ((interval_us + tick_us / 2) / tick_us).max(1);
        let mut views: Vec<(PlayerId, Vec<Table>)> = Vec::new();
        let mut count = 0;
        let mut recorded = Recorded { wire, commands: Vec::new(), events: Vec::new() };
        let mut newest = BTreeMap::new();
        while let Some(stepped) = replay.step()? {
            recorded.add(&stepped, &mut newest);
            for player in stepped.joined {
                if views.len() < VIEWS_MAX {
                    views.push((player, Vec::new()));
                }
            }
            count += 1;
            if count % every == 0 {
                add_views(&replay, &recorded.wire, &mut views);
            }
        }
        let runs: Vec<Run> = views
            .into_iter()
            .map(|(_, tables)| tables)
            .filter(|tables| !tables.is_empty())
            .map(Run::View)
            .collect();
        if runs.is_empty() {
            bail!("nobody plays in it");
        }
        let layouts = recorded.wire.layouts().to_vec();
        Ok(Self {
            layouts,
            snapshots_hz: REPLAY_HZ,
            ticks_per_snapshot: every as u32,
            format: "replay",
            header_bytes: HEADER_BYTES,
            kinds: recorded.wire.kind_names::<Arena>(),
            streams: Some(recorded),
            runs,
            first: 0,
        })
    }

    /// Hands out the snapshots between two shares of each run, with bases `age` snapshots old.
    pub(crate) fn play(&mut self, age: usize, share: Range<f64>, each: &mut dyn FnMut(&Shot<'_>)) {
        let (layouts, first) = (&self.layouts, self.first);
        let span = age as u32 * self.ticks_per_snapshot;
        for (run, source) in self.runs.iter_mut().enumerate() {
            let (baseline, count) = match source {
                Run::Scene(scene) => {
                    scene.rewind();
                    (scene.baseline.clone(), scene.snapshots)
                }
                Run::View(tables) => (Table::default(), tables.len()),
            };
            let wanted = (share.start * count as f64) as usize..(share.end * count as f64) as usize;
            let mut past = vec![[(); 3].map(|()| baseline.clone()); age];
            for index in 0..wanted.end {
                let past = &mut past[index % age];
                let mut now = past[0].clone();
                match source {
                    Run::Scene(scene) => scene.next(&mut now),
                    Run::View(tables) => show(&tables[index], layouts, &mut now),
                }
                if index >= wanted.start.max(first) {
                    let [base, before, earlier] = &*past;
                    let spans = [span; 3];
                    let lineage =
                        Lineage { base, before: Some(before), earlier: Some(earlier), spans };
                    each(&Shot { run, lineage, now: &now });
                }
                past.rotate_right(1);
                past[0] = now;
            }
        }
    }
}

fn add_views(replay: &Replay<Arena>, wire: &Wire, views: &mut [(PlayerId, Vec<Table>)]) {
    let content: &Content = replay.content();
    for (player, tables) in views.iter_mut().filter(|(_, tables)| tables.len() < VIEW_SNAPSHOTS_MAX)
    {
        let mut table = Table::default();
        wire.view::<Arena>(replay.world(), content, *player, &mut table);
        if !table.visible.is_empty() {
            tables.push(table);
        }
    }
}

/// Makes `now` show what `seen` does; who is out of sight stays as it was.
fn show(seen: &Table, layouts: &[Layout], now: &mut Table) {
    now.visible.clear();
    for slot in seen.visible.iter() {
        let Some(head) = seen.head(slot) else { continue };
        let layout = &layouts[usize::from(head.kind)];
        now.place(head, layout).copy_from_slice(seen.record(slot, layout));
    }
}
