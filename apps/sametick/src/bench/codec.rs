//! `bench codec`: the paper's section 6 on our work: what each stage saves, and what it costs.

use super::scene::{self, Scene};
use super::stages::{MESSAGE_BYTES_MAX, Stage, zero_run_bytes};
use super::{Report, recording};
use anyhow::{Context, ensure};
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::zero_runs::{PAPER_WORD_BITS, WORD_BITS};
use sametick::record::Word;
use sametick::{Layout, Table};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench codec
  sametick bench codec --seconds 10 --seed 7 --json
  sametick bench codec --data arena64.bin
  sametick bench codec --data cubes901_a.cub --age 6 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A recorded game (ARENA001, CUB1 or Q3S1) instead of the built-in work
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// How many snapshots old the base is [default: what makes 100 ms]
    #[arg(long, value_name = "SNAPSHOTS", value_parser = clap::value_parser!(u32).range(1..=64))]
    age: Option<u32>,
    /// How long the built-in work runs
    #[arg(long, default_value_t = SECONDS, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// What the built-in work follows from
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

const SECONDS: u32 = 60;
const SEED: u64 = 1;
const SNAPSHOTS_PER_SECOND: u32 = 20;
const BASE_AGE_MS: u32 = 100;

impl Default for Options {
    fn default() -> Self {
        Self { data: None, age: None, seconds: SECONDS, seed: SEED, json: false }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (scenes, snapshots_hz, work) = open(options)?;
    let age = options.age.unwrap_or((snapshots_hz * BASE_AGE_MS).div_ceil(1000).max(1)) as usize;
    let mut report = Report {
        name: "codec",
        options: json!({
            "data": options.data.as_ref().map(|path| path.display().to_string()),
            "age": age,
            "seconds": options.data.is_none().then_some(options.seconds),
        }),
        seed: options.seed,
        verified: true,
        figures: Vec::new(),
    };
    if !options.json {
        println!(
            "{work}\nEvery snapshot is written against the one {age} before it, read back and compared."
        );
    }
    for mut scene in scenes {
        let measured = measure(&mut scene, age);
        let ordered = measure_ordered(&mut scene, age, &measured);
        report.verified &= measured.verified && ordered.verified;
        if options.json {
            add_figures(&mut report, scene.name, &measured, &ordered);
        } else {
            print(scene.name, options.data.is_none(), &measured, &ordered);
        }
    }
    if options.json {
        report.print_json();
    }
    ensure!(report.verified, "a snapshot did not come back as it was written");
    Ok(())
}

/// The scenes, how many snapshots they have a second, and what they are in a sentence.
fn open(options: &Options) -> anyhow::Result<(Vec<Scene>, u32, String)> {
    let Some(path) = &options.data else {
        let scenes = scene::built_in(options.seed, options.seconds, SNAPSHOTS_PER_SECOND);
        let work = format!(
            "64 running players, 16 rockets, 200 props of which a few change: {} s at 60 ticks and \
             {SNAPSHOTS_PER_SECOND} snapshots a second, seed {}.",
            options.seconds, options.seed
        );
        return Ok((scenes, SNAPSHOTS_PER_SECOND, work));
    };
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let recording = recording::read(&bytes).with_context(|| path.display().to_string())?;
    let (format, hz) = (recording.format, recording.snapshots_hz);
    let work = format!("{}: a recording of {format}, {hz} snapshots a second.", path.display());
    Ok((scene::recorded(recording)?, hz, work))
}

/// Sums over all measured snapshots of a scene.
#[derive(Default)]
struct Measured {
    snapshots: usize,
    entities: usize,
    entities_changed: usize,
    stage_bytes: [usize; 4],
    /// By word length from 2 to 8 bits, on every message.
    zero_run_bytes: [usize; 7],
    /// With the paper's word length, only where it made the message shorter.
    chosen_bytes: usize,
    encode_ns: u64,
    decode_ns: u64,
    /// How often each word of each kind changed.
    changes: Vec<Vec<usize>>,
    verified: bool,
}

/// Sends the scene to one receiver whose base is always `age` snapshots old.
fn measure(scene: &mut Scene, age: usize) -> Measured {
    let changes = scene.layouts.iter().map(|layout| vec![0; layout.len()]).collect();
    let mut measured = Measured { verified: true, changes, ..Measured::default() };
    let mut sent = vec![scene.baseline.clone(); age];
    let mut received = sent.clone();
    scene.rewind();
    for snapshot in 0..scene.snapshots {
        // The common base: what is not in sight now stays as the base has it.
        let base = &sent[snapshot % age];
        let mut now = base.clone();
        scene.next(&mut now);
        let counted = snapshot >= scene.first_measured;
        let back = measured.add(&scene.layouts, base, &received[snapshot % age], &now, counted);
        received[snapshot % age] = back;
        sent[snapshot % age] = now;
    }
    measured
}

impl Measured {
    /// Measures one snapshot and gives back what the receiver then has.
    fn add(
        &mut self,
        layouts: &[Layout],
        base: &Table,
        received: &Table,
        now: &Table,
        counted: bool,
    ) -> Table {
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        let mut back = Table::default();
        let mut stage_bytes = [0; 4];
        for (bytes, stage) in stage_bytes.iter_mut().zip(Stage::ALL) {
            bits.clear();
            let encoding = Instant::now();
            stage.write(&mut bits, layouts, base, now);
            let encode_ns = encoding.elapsed().as_nanos() as u64;
            // One bit more tells a message with zero runs from one without.
            *bytes = (bits.bits_written() + 1).div_ceil(8);
            let Ok(message) = bits.finish() else {
                self.verified = false;
                continue;
            };
            let mut reader = BitReader::new(message);
            let decoding = Instant::now();
            stage.read(&mut reader, layouts, received, &mut back);
            let decode_ns = decoding.elapsed().as_nanos() as u64;
            self.verified &= reader.finish().is_ok() && same(layouts, &back, now);
            if stage == Stage::LeftOut && counted {
                self.encode_ns += encode_ns;
                self.decode_ns += decode_ns;
                self.add_zero_runs(message, *bytes);
            }
        }
        if counted {
            self.snapshots += 1;
            self.entities += now.visible.len();
            self.stage_bytes.iter_mut().zip(stage_bytes).for_each(|(sum, bytes)| *sum += bytes);
            self.count_changes(layouts, base, now);
        }
        back
    }

    fn add_zero_runs(&mut self, message: &[u8], plain_bytes: usize) {
        for (sum, word_bits) in self.zero_run_bytes.iter_mut().zip(WORD_BITS) {
            let bytes = zero_run_bytes(message, word_bits);
            self.verified &= bytes.is_some();
            *sum += bytes.unwrap_or(0);
            if word_bits == PAPER_WORD_BITS {
                self.chosen_bytes += bytes.unwrap_or(0).min(plain_bytes);
            }
        }
    }

    fn count_changes(&mut self, layouts: &[Layout], base: &Table, now: &Table) {
        for slot in now.visible.iter() {
            let Some(head) = now.head(slot) else { continue };
            let kind = usize::from(head.kind);
            let layout = &layouts[kind];
            let known = base.head(slot) == Some(head);
            let before = if known { base.record(slot, layout) } else { layout.initial() };
            let words = now.record(slot, layout);
            self.entities_changed += usize::from(!known || before != words);
            for ((count, before), word) in self.changes[kind].iter_mut().zip(before).zip(words) {
                *count += usize::from(before != word);
            }
        }
    }

    fn zero_runs(&self, word_bits: u32) -> f64 {
        self.mean(self.zero_run_bytes[(word_bits - WORD_BITS.start()) as usize])
    }

    fn mean(&self, sum: usize) -> f64 {
        sum as f64 / self.snapshots as f64
    }
}

fn same(layouts: &[Layout], back: &Table, now: &Table) -> bool {
    let equal = |slot: usize| {
        let Some(head) = now.head(slot) else { return false };
        let layout = &layouts[usize::from(head.kind)];
        back.head(slot) == Some(head) && back.record(slot, layout) == now.record(slot, layout)
    };
    back.visible == now.visible && now.visible.iter().all(equal)
}

/// The same scene with every kind's words sorted by how often they change, rarest last.
fn measure_ordered(scene: &mut Scene, age: usize, measured: &Measured) -> Measured {
    let orders: Vec<Vec<usize>> =
        measured.changes.iter().map(|counts| by_frequency(counts)).collect();
    let pairs = scene.layouts.iter().zip(&orders);
    let layouts: Vec<Layout> = pairs.map(|(layout, order)| reordered(layout, order)).collect();
    let mut ordered = Measured {
        verified: true,
        changes: layouts.iter().map(|layout| vec![0; layout.len()]).collect(),
        ..Measured::default()
    };
    let baseline = permuted(&scene.baseline, &scene.layouts, &layouts, &orders);
    let mut sent = vec![(scene.baseline.clone(), baseline.clone()); age];
    let mut received = vec![baseline; age];
    scene.rewind();
    for snapshot in 0..scene.snapshots {
        let (declared, base) = &sent[snapshot % age];
        let mut now = declared.clone();
        scene.next(&mut now);
        let sorted = permuted(&now, &scene.layouts, &layouts, &orders);
        let counted = snapshot >= scene.first_measured;
        received[snapshot % age] =
            ordered.add(&layouts, base, &received[snapshot % age], &sorted, counted);
        sent[snapshot % age] = (now, sorted);
    }
    ordered
}

fn by_frequency(counts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(counts[*index]));
    order
}

fn reordered(layout: &Layout, order: &[usize]) -> Layout {
    let words: Vec<Word> = order.iter().map(|index| layout.words()[*index].clone()).collect();
    let initial = order.iter().map(|index| layout.initial()[*index]).collect();
    Layout::new(layout.precision(), words, initial)
}

fn permuted(table: &Table, from: &[Layout], to: &[Layout], orders: &[Vec<usize>]) -> Table {
    let mut sorted = Table::default();
    for (slot, head) in table.heads() {
        let kind = usize::from(head.kind);
        let words = table.record(slot, &from[kind]);
        let row = sorted.place(head, &to[kind]);
        for (word, index) in row.iter_mut().zip(&orders[kind]) {
            *word = words[*index];
        }
    }
    sorted.visible.clone_from(&table.visible);
    sorted
}

/// The paper's ranges, in per cent of what the stage starts from.
const PAPER_PACKING: [f64; 2] = [10.0, 15.0];
const PAPER_DELTA: [f64; 2] = [80.0, 90.0];
const PAPER_LEFT_OUT: [f64; 2] = [90.0, 100.0];
const PAPER_ZERO_RUNS: [f64; 2] = [15.0, 50.0];

/// One stage of the table: its name, its bytes, what it saves of what, and the paper's range.
struct Row {
    key: &'static str,
    name: &'static str,
    bytes: f64,
    reduction: Option<(f64, [f64; 2])>,
}

fn rows(measured: &Measured) -> [Row; 6] {
    let [full, packed, delta, left_out] = measured.stage_bytes.map(|sum| measured.mean(sum));
    let zero_runs = measured.zero_runs(PAPER_WORD_BITS);
    let saved = |from: f64, to: f64| 100.0 * (1.0 - to / from);
    let row = |key, name, bytes, reduction| Row { key, name, bytes, reduction };
    [
        row("full", "full 32-bit fields", full, None),
        row("packed", "bit packing", packed, Some((saved(full, packed), PAPER_PACKING))),
        row("delta", "delta, all entities", delta, Some((saved(packed, delta), PAPER_DELTA))),
        row(
            "left_out",
            "delta, unchanged left out",
            left_out,
            Some((saved(packed, left_out), PAPER_LEFT_OUT)),
        ),
        row(
            "zero_runs",
            "zero runs on every message",
            zero_runs,
            Some((saved(left_out, zero_runs), PAPER_ZERO_RUNS)),
        ),
        row("chosen", "zero runs where they help", measured.mean(measured.chosen_bytes), None),
    ]
}

fn add_figures(report: &mut Report, scene: &str, measured: &Measured, ordered: &Measured) {
    let prefix = if scene == "quantised" { "" } else { "exact_" };
    let left_out = measured.stage_bytes[3];
    report.add(format!("{prefix}bytes_per_snapshot_mean"), measured.mean(left_out));
    let per_update = left_out as f64 / measured.entities_changed.max(1) as f64;
    report.add(format!("{prefix}bytes_per_entity_update"), per_update);
    for (name, sum) in [("encode", measured.encode_ns), ("decode", measured.decode_ns)] {
        let per_snapshot = sum as f64 / measured.snapshots as f64 / 1000.0;
        report.add(format!("{prefix}{name}_us_per_snapshot"), per_snapshot);
        let per_entity = sum as f64 / measured.entities.max(1) as f64;
        report.add(format!("{prefix}{name}_ns_per_entity"), per_entity);
    }
    for row in rows(measured) {
        report.add(format!("{prefix}{}_bytes", row.key), row.bytes);
        if let Some((reduction, _)) = row.reduction {
            report.add(format!("{prefix}{}_reduction_percent", row.key), reduction);
        }
    }
    for word_bits in WORD_BITS {
        report.add(
            format!("{prefix}zero_runs_{word_bits}_bit_words_bytes"),
            measured.zero_runs(word_bits),
        );
    }
    let ordered_bytes = ordered.zero_runs(PAPER_WORD_BITS);
    report.add(format!("{prefix}zero_runs_ordered_bytes"), ordered_bytes);
    report.add(format!("{prefix}snapshots_count"), measured.snapshots as f64);
}

fn print(scene: &str, built_in: bool, measured: &Measured, ordered: &Measured) {
    let title = match scene {
        "quantised" => "Quantised, as others see it",
        _ => "Exact, positions and orientations whole",
    };
    println!("\n{title:<42}  bytes/snapshot  saved   paper");
    for row in rows(measured) {
        let saved = row.reduction.map_or(String::new(), |(saved, [low, high])| {
            format!("{saved:>6.1} %   {low:.0} to {high:.0} %")
        });
        println!("  {:<40}  {:>14.1}  {saved}", row.name, row.bytes);
    }
    let entities = measured.mean(measured.entities);
    let changed = measured.mean(measured.entities_changed);
    println!(
        "  {changed:.1} of {entities:.1} entities change in a snapshot: {:.2} bytes for each.",
        measured.stage_bytes[3] as f64 / measured.entities_changed.max(1) as f64
    );
    let nanoseconds = |sum: u64| sum as f64 / measured.entities.max(1) as f64;
    println!(
        "  encode {:.1} ns an entity ({:.1} µs a snapshot), decode {:.1} ns ({:.1} µs).",
        nanoseconds(measured.encode_ns),
        measured.encode_ns as f64 / measured.snapshots as f64 / 1000.0,
        nanoseconds(measured.decode_ns),
        measured.decode_ns as f64 / measured.snapshots as f64 / 1000.0,
    );
    let lengths = WORD_BITS.map(|bits| format!("{bits}: {:.1}", measured.zero_runs(bits)));
    println!("  zero runs by word length in bits: {}", lengths.collect::<Vec<_>>().join(", "));
    println!(
        "  zero runs with fields ordered by how often they change: {:.1}, as declared: {:.1}",
        ordered.zero_runs(PAPER_WORD_BITS),
        measured.zero_runs(PAPER_WORD_BITS),
    );
    if built_in {
        differences(scene, &rows(measured)).iter().for_each(|sentence| println!("  {sentence}"));
    }
}

/// Where a stage saves more or less on the built-in work than in the paper, and why.
fn differences(scene: &str, rows: &[Row]) -> Vec<String> {
    let sentence = |row: &Row| {
        let (saved, [low, high]) = row.reduction?;
        if (low..=high).contains(&saved) {
            return None;
        }
        let direction = if saved > high { "more" } else { "less" };
        let why = match (row.key, scene) {
            ("packed", "quantised") => {
                "here positions, speeds and angles lose the bits nobody sees, which the paper keeps"
            }
            ("packed", _) => "a player's health, weapon, ammunition and flags are 5 of 13 fields",
            ("delta" | "left_out", _) => {
                "64 of 280 entities run and aim without rest, where the paper's world mostly rests"
            }
            _ => {
                "unchanged entities are not there at all and an entity's unchanged fields are \
                 single bits side by side, so few zeros are left to shorten"
            }
        };
        Some(format!("{}: {direction} than the paper, because {why}.", row.name))
    };
    rows.iter().filter_map(sentence).collect()
}
