//! `bench codec --codec compact`: what snapshots cost with frozen tables, beside plain in the same run.

use super::footage::{Footage, Recorded, Shot};
use crate::codec::learn;
use anyhow::{Context, ensure};
use sametick::Table;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::compact::{Compact, Tables};
use sametick::codec::plain;
use sametick::coded::{EVENTS_TOGETHER_MAX, Streams};
use sametick::delta;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// What is asked of it.
pub(crate) struct Asked<'a> {
    pub(crate) data: &'a Path,
    pub(crate) tables: Option<&'a Path>,
    pub(crate) age: Option<u32>,
    pub(crate) skip_first: f64,
    /// Whether the tables are to be compared with those of the recording itself.
    pub(crate) loss: bool,
    /// Whether only plain is to be told of.
    pub(crate) plain: bool,
    pub(crate) json: bool,
}

const BASE_AGE_MS: u32 = 100;
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Sums over all measured snapshots.
#[derive(Default)]
struct Sums {
    snapshots: usize,
    entities: usize,
    updates: usize,
    bytes: usize,
    plain_bytes: usize,
    encode: Duration,
    decode: Duration,
    plain_encode: Duration,
    plain_decode: Duration,
    /// By run, compact and plain.
    runs: Vec<[usize; 3]>,
    verified: bool,
}

pub(crate) fn run(asked: &Asked<'_>) -> anyhow::Result<()> {
    let mut footage = Footage::open(asked.data)?;
    let tables = match asked.tables {
        Some(path) => read_tables(path, &footage)?,
        None => Tables::built_in(&footage.layouts),
    };
    let usual = (footage.snapshots_hz * BASE_AGE_MS).div_ceil(1000).max(1);
    let age = asked.age.unwrap_or(usual) as usize;
    let (hash, trained_on) = (tables.hash(), tables.trained_on().to_owned());
    let mut compact = Compact::new(tables);
    let layouts = footage.layouts.clone();
    let mut sums = Sums { verified: true, ..Sums::default() };
    footage.play(age, asked.skip_first..1.0, &mut |shot| sums.add(&mut compact, &layouts, shot));
    ensure!(sums.snapshots > 0, "there is no snapshot to measure");
    let mut figures = sums.figures(footage.header_bytes);
    if let Some(recorded) = &footage.streams {
        let (streams, verified) = stream_figures(recorded, &mut compact, asked.skip_first)?;
        figures.extend(streams);
        sums.verified &= verified;
    }
    if asked.loss {
        figures.extend(loss(&mut footage, age, asked.skip_first, &sums));
    }
    if asked.plain {
        figures = plain_only(&figures);
    }
    let named = Named { hash, trained_on: &trained_on, age, format: footage.format };
    if asked.json {
        super::print(&format!("{}\n", as_json(asked, &sums, &figures, &named)))?;
    } else {
        super::print(&if asked.plain {
            plain_text(asked, &figures)
        } else {
            as_text(asked, &figures, &named)
        })?;
    }
    ensure!(sums.verified, "a snapshot did not come back as it was written");
    Ok(())
}

/// What there is to say of plain alone, by the names that the other has.
fn plain_only(figures: &[(&'static str, f64)]) -> Vec<(&'static str, f64)> {
    let of_both = ["header_bytes", "snapshots_count"];
    let plain = |(name, value): &(&'static str, f64)| match name.strip_prefix("plain_") {
        Some(name) => Some((name, *value)),
        None => of_both.contains(name).then_some((*name, *value)),
    };
    figures.iter().filter_map(plain).collect()
}

fn plain_text(asked: &Asked<'_>, figures: &[(&str, f64)]) -> String {
    let rows = figures.iter().map(|(name, value)| format!("{name:<42} {value:>10.2}\n"));
    format!("{}, plain\n{}", asked.data.display(), rows.collect::<String>())
}

/// What the same snapshots take with tables of the recording itself, of which the whole is learned, and how much more
/// those of other recordings take.
fn loss(footage: &mut Footage, age: usize, skip: f64, others: &Sums) -> Vec<(&'static str, f64)> {
    let own = learn(std::slice::from_mut(footage), &[age as u32], 1.0, 1.0);
    let (layouts, mut compact) = (footage.layouts.clone(), Compact::new(own));
    let mut sums = Sums::default();
    footage.play(age, skip..1.0, &mut |shot| {
        let length = compact.write(&layouts, &shot.lineage, shot.now).len();
        sums.bytes += length;
        sums.snapshots += 1;
        sums.runs.resize(sums.runs.len().max(shot.run + 1), [0; 3]);
        let run = &mut sums.runs[shot.run];
        *run = [run[0] + length, 0, run[2] + 1];
    });
    let header = footage.header_bytes;
    let mean = |sums: &Sums| sums.bytes as f64 / sums.snapshots.max(1) as f64 + header as f64;
    let [of_own, of_others] = [&sums, others].map(mean);
    vec![
        ("own_tables_bytes_per_snapshot_mean", of_own),
        ("own_tables_client_bytes_per_snapshot_median", sums.medians(header)[0]),
        ("loss_percent", 100.0 * (of_others / of_own - 1.0)),
    ]
}

/// What was measured with.
struct Named<'a> {
    hash: u64,
    trained_on: &'a str,
    age: usize,
    format: &'static str,
}

fn as_json(asked: &Asked<'_>, sums: &Sums, figures: &[(&str, f64)], named: &Named<'_>) -> Value {
    let mut all: Map<String, Value> =
        figures.iter().map(|(name, value)| ((*name).to_owned(), json!(round(*value)))).collect();
    if !asked.plain {
        all.insert("tables_hash".into(), json!(format!("{:016x}", named.hash)));
        all.insert("trained_on".into(), json!(named.trained_on));
    }
    let options = json!({
        "data": asked.data.display().to_string(),
        "codec": if asked.plain { "plain" } else { "compact" },
        "age": named.age,
        "tables": asked.tables.map(|path| path.display().to_string()),
        "skip_first": asked.skip_first,
    });
    let verified = sums.verified;
    json!({"name": "codec", "options": options, "seed": 0, "verified": verified, "figures": all})
}

fn as_text(asked: &Asked<'_>, figures: &[(&str, f64)], named: &Named<'_>) -> String {
    let figure = |name: &str| {
        figures.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
    };
    let row = |name: &str, prefix: &str| {
        let of = |figure_name: &str| figure(&format!("{prefix}{figure_name}"));
        format!(
            "{name:<8} {:>9.2} bytes a snapshot, {:>6.3} an entity update, median client {:>8.1}; \
             encode {:.1} µs, decode {:.1} µs\n",
            of("bytes_per_snapshot_mean"),
            of("bytes_per_entity_update"),
            of("client_bytes_per_snapshot_median"),
            of("encode_us_per_snapshot"),
            of("decode_us_per_snapshot"),
        )
    };
    let trained_on =
        if named.trained_on.is_empty() { "nothing: built in" } else { named.trained_on };
    let loss = || {
        format!(
            "with tables of the recording itself {:.2} bytes a snapshot, median client {:.1}: these lose {:.1} %\n",
            figure("own_tables_bytes_per_snapshot_mean"),
            figure("own_tables_client_bytes_per_snapshot_median"),
            figure("loss_percent"),
        )
    };
    format!(
        "{}: {} snapshots of {}, base {} old, tables {:016x} trained on {trained_on}\n{}{}\
         {} bytes of header are counted in these.\n{}{}",
        asked.data.display(),
        figure("snapshots_count"),
        named.format,
        named.age,
        named.hash,
        row("compact", ""),
        row("plain", "plain_"),
        figure("header_bytes"),
        if asked.loss { loss() } else { String::new() },
        if figure("commands_bytes_per_message") > 0.0 {
            format!(
                "commands {:.2} bytes a message, plain {:.2}; events {:.2} bytes each, {:.2} together, plain {:.2}\n",
                figure("commands_bytes_per_message"),
                figure("plain_commands_bytes_per_message"),
                figure("event_bytes"),
                figure("event_bytes_together"),
                figure("plain_event_bytes"),
            )
        } else {
            String::new()
        },
    )
}

/// What a client's commands and an event take, compact and plain, and whether all came back.
fn stream_figures(
    recorded: &Recorded,
    compact: &mut Compact,
    skip_first: f64,
) -> anyhow::Result<(Vec<(&'static str, f64)>, bool)> {
    let (commands, events) = (recorded.wire.commands(), recorded.wire.events());
    let mut streams = Streams::new(compact.tables(), commands, events);
    let (mut sums, mut verified) = ([0usize; 5], true);
    let behind = |count: usize| (count as f64 * skip_first) as usize;
    let messages = &recorded.commands[behind(recorded.commands.len())..];
    for message in messages {
        let coded = streams.write_commands(message);
        verified &= streams.read_commands(&coded).is_ok_and(|records| records == message);
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        delta::write_sequence(&mut bits, commands, message.iter().map(Vec::as_slice));
        // The newest tick's bits are among these: a flag and 16, or 32.
        sums[0] += 17 + 8 * coded.len();
        sums[1] += 32 + bits.bits_written();
    }
    let happened = &recorded.events[behind(recorded.events.len())..];
    for (named, record) in happened {
        let coded = streams.write_event(*named, record);
        let read = streams.read_event(&coded, named.tick);
        verified &= read.is_ok_and(|read| read == (*named, &record[..]));
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        delta::write(&mut bits, events, events.initial(), record);
        // What names an event: its tick, its entity, its ordinal, and whether it is saved.
        sums[2] += 8 * coded.len();
        sums[3] += (32 + 32 + 8 + 1 + bits.bits_written()).next_multiple_of(8);
    }
    // Those of one snapshot go together, behind a byte of their kind and one of their game.
    for together in
        happened.chunk_by(|(first, _), (second, _)| first.tick.0 / 3 == second.tick.0 / 3)
    {
        for together in together.chunks(EVENTS_TOGETHER_MAX) {
            let events = together.iter().map(|(named, record)| (*named, &record[..]));
            let (coded, _) = streams.write_events(events, usize::MAX);
            let read = streams.read_events(&coded, together[0].0.tick);
            verified &= read.is_ok_and(|read| read == together);
            sums[4] += 8 * (2 + coded.len());
        }
    }
    let mean = |bits: usize, count: usize| bits as f64 / 8.0 / count.max(1) as f64;
    let figures = vec![
        ("commands_bytes_per_message", mean(sums[0], messages.len())),
        ("plain_commands_bytes_per_message", mean(sums[1], messages.len())),
        ("event_bytes", mean(sums[2], happened.len())),
        ("plain_event_bytes", mean(sums[3], happened.len())),
        ("event_bytes_together", mean(sums[4], happened.len())),
    ];
    Ok((figures, verified))
}

/// Reads tables and checks that they are for what was recorded.
pub(crate) fn read_tables(path: &Path, footage: &Footage) -> anyhow::Result<Tables> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let tables = Tables::from_bytes(&bytes).with_context(|| path.display().to_string())?;
    tables.check(&footage.layouts).with_context(|| path.display().to_string())?;
    Ok(tables)
}

/// Finer than any of them is measured, and short enough to read.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

impl Sums {
    fn figures(&self, header_bytes: usize) -> Vec<(&'static str, f64)> {
        let snapshots = self.snapshots as f64;
        let header = header_bytes as f64;
        let (bytes, plain) =
            (self.bytes as f64 / snapshots + header, self.plain_bytes as f64 / snapshots + header);
        let us = |time: Duration| time.as_secs_f64() * 1e6 / snapshots;
        let ns = |time: Duration| time.as_secs_f64() * 1e9 / self.entities.max(1) as f64;
        let updates = self.updates.max(1) as f64 / snapshots;
        let [median, plain_median] = self.medians(header_bytes);
        vec![
            ("bytes_per_snapshot_mean", bytes),
            ("bytes_per_entity_update", bytes / updates),
            ("encode_us_per_snapshot", us(self.encode)),
            ("decode_us_per_snapshot", us(self.decode)),
            ("encode_ns_per_entity", ns(self.encode)),
            ("decode_ns_per_entity", ns(self.decode)),
            ("client_bytes_per_snapshot_median", median),
            ("plain_bytes_per_snapshot_mean", plain),
            ("plain_bytes_per_entity_update", plain / updates),
            ("plain_encode_us_per_snapshot", us(self.plain_encode)),
            ("plain_decode_us_per_snapshot", us(self.plain_decode)),
            ("plain_client_bytes_per_snapshot_median", plain_median),
            ("median_of_plain", median / plain_median),
            ("header_bytes", header),
            ("snapshots_count", snapshots),
        ]
    }

    fn add(&mut self, compact: &mut Compact, layouts: &[sametick::Layout], shot: &Shot<'_>) {
        let (lineage, now) = (&shot.lineage, shot.now);
        let mut back = Table::default();
        let mut message = Vec::new();
        self.encode += shortest(|| {
            let written = compact.write(layouts, lineage, now);
            message.clear();
            message.extend_from_slice(written);
        });
        let mut is_whole = true;
        self.decode +=
            shortest(|| is_whole &= compact.read(layouts, lineage, &message, &mut back).is_ok());
        self.verified &= is_whole && back.looks_like(now, layouts);
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        self.plain_encode += shortest(|| {
            bits.clear();
            plain::write(&mut bits, layouts, lineage.base, now);
        });
        let plain_bytes = bits.bits_written().div_ceil(8);
        let Ok(written) = bits.finish() else {
            self.verified = false;
            return;
        };
        self.plain_decode += shortest(|| {
            let mut reader = BitReader::new(written);
            plain::read(&mut reader, layouts, lineage.base, &mut back);
        });
        self.verified &= back.looks_like(now, layouts);
        self.snapshots += 1;
        self.entities += now.visible.len();
        self.bytes += message.len();
        self.plain_bytes += plain_bytes;
        self.runs.resize(self.runs.len().max(shot.run + 1), [0; 3]);
        let run = &mut self.runs[shot.run];
        *run = [run[0] + message.len(), run[1] + plain_bytes, run[2] + 1];
        let is_update = |slot: &usize| {
            let Some(head) = now.head(*slot) else { return false };
            let layout = &layouts[usize::from(head.kind)];
            lineage.base.head(*slot) != Some(head)
                || lineage.base.record(*slot, layout) != now.record(*slot, layout)
        };
        self.updates += now.visible.iter().filter(is_update).count();
    }

    /// The median client's mean bytes a snapshot, compact and plain.
    fn medians(&self, header: usize) -> [f64; 2] {
        [0, 1].map(|which| {
            let runs = self.runs.iter().filter(|run| run[2] > 0);
            let mut means: Vec<f64> = runs.map(|run| run[which] as f64 / run[2] as f64).collect();
            means.sort_by(f64::total_cmp);
            means.get(means.len() / 2).copied().unwrap_or(0.0) + header as f64
        })
    }
}

/// The shortest of three times: the others were disturbed.
fn shortest(mut work: impl FnMut()) -> Duration {
    let times = [(); 3].map(|()| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    times.into_iter().min().unwrap_or_default()
}
