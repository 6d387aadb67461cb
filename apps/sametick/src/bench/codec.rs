//! `bench codec`: the paper's section 6 on our work: what each stage saves, and what it costs.

use super::footage::Footage;
use super::measure::{Measured, measure, measure_ordered};
use super::scene::{self, Scene};
use super::{Report, compact, print, recording};
use anyhow::{Context, ensure};
use sametick::codec::zero_runs::{PAPER_WORD_BITS, WORD_BITS};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench codec
  sametick bench codec --seconds 10 --seed 7 --json
  sametick bench codec --data arena64.bin
  sametick bench codec --data cubes901_a.cub --age 6 --json
  sametick bench codec --data cubes901_a.cub --codec compact --tables cubes.tables --json
  sametick bench codec --data third.sametick --codec compact --tables arena.tables --loss";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A recorded game (ARENA001, CUB1, Q3S1, or a match that --record wrote) instead of the built-in work
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// How many snapshots old the base is [default: what makes 100 ms]
    #[arg(long, value_name = "SNAPSHOTS", value_parser = clap::value_parser!(u32).range(1..=64))]
    age: Option<u32>,
    /// Which codec: the paper's, stage by stage, or the one with frozen tables, beside plain
    #[arg(long, value_enum, default_value_t = Choice::Plain)]
    codec: Choice,
    /// Tables for the compact codec, made by `sametick codec train`; without, those that are built in
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// Pass over this share of the recording, on which tables may have been trained
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0)]
    skip_first: f64,
    /// Also train tables on the recording itself, and say what the given ones lose against those
    #[arg(long, requires = "tables")]
    loss: bool,
    /// How long the built-in work runs
    #[arg(long, default_value_t = SECONDS, conflicts_with = "data")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// What the built-in work follows from
    #[arg(long, default_value_t = SEED, conflicts_with = "data")]
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
        Self {
            data: None,
            age: None,
            codec: Choice::Plain,
            tables: None,
            skip_first: 0.0,
            loss: false,
            seconds: SECONDS,
            seed: SEED,
            json: false,
        }
    }
}

/// The codecs that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    /// Changed words raw, and its stages
    Plain,
    /// Predicted, and coded with frozen tables
    Compact,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    ensure!((0.0..1.0).contains(&options.skip_first), "--skip-first is a share from 0 to 1");
    let is_match = options.data.as_deref().map(Footage::is_match).transpose()?.unwrap_or(false);
    if options.codec == Choice::Compact || is_match {
        let data = options.data.as_deref().context("--codec compact needs --data")?;
        let (age, skip_first, json) = (options.age, options.skip_first, options.json);
        let (tables, loss) = (options.tables.as_deref(), options.loss);
        let plain = options.codec == Choice::Plain;
        return compact::run(&compact::Asked { data, tables, age, skip_first, loss, plain, json });
    }
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
    let mut text = format!(
        "{work}\nEvery snapshot is written against the one {age} before it, read back and compared.\n"
    );
    for mut scene in scenes {
        let measured = measure(&mut scene, age);
        let ordered = measure_ordered(&mut scene, age, &measured);
        report.verified &= measured.verified && ordered.verified;
        add_figures(&mut report, scene.name, &measured, &ordered);
        describe(&mut text, scene.name, &measured, &ordered)?;
    }
    if options.json {
        report.print_json()?;
    } else {
        print(&text)?;
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

/// The paper's ranges, in per cent of what the stage starts from.
const PAPER_PACKING: [f64; 2] = [10.0, 15.0];
const PAPER_DELTA: [f64; 2] = [80.0, 90.0];
const PAPER_LEFT_OUT: [f64; 2] = [90.0, 100.0];
const PAPER_ZERO_RUNS: [f64; 2] = [15.0, 50.0];

/// One stage of the table: its name, its bytes, what it saves of which other, and the paper's range.
struct Row {
    key: &'static str,
    name: &'static str,
    bytes: f64,
    reduction: Option<(f64, [f64; 2])>,
    saved_of: &'static str,
}

fn rows(measured: &Measured) -> [Row; 6] {
    let [full, packed, delta, left_out] = measured.stage_bytes.map(|sum| measured.mean(sum));
    let runs = measured.zero_runs(PAPER_WORD_BITS);
    let plain = |key, name, bytes| Row { key, name, bytes, reduction: None, saved_of: "" };
    let saving = |key, name, bytes: f64, of: (&'static str, f64), paper| Row {
        reduction: Some((100.0 * (1.0 - bytes / of.1), paper)),
        saved_of: of.0,
        ..plain(key, name, bytes)
    };
    let of_packed = ("packed", packed);
    [
        plain("full", "full 32-bit fields", full),
        saving("packed", "bit packing", packed, ("full", full), PAPER_PACKING),
        saving("delta", "delta, all entities", delta, of_packed, PAPER_DELTA),
        saving("left_out", "delta, unchanged left out", left_out, of_packed, PAPER_LEFT_OUT),
        saving(
            "zero_runs",
            "zero runs on every message",
            runs,
            ("delta", left_out),
            PAPER_ZERO_RUNS,
        ),
        plain("chosen", "zero runs where they help", measured.mean(measured.chosen_bytes)),
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
        if let Some((reduction, [low, high])) = row.reduction {
            report.add(format!("{prefix}{}_reduction_percent", row.key), reduction);
            report.add(format!("{}_paper_low_percent", row.key), low);
            report.add(format!("{}_paper_high_percent", row.key), high);
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

fn describe(
    text: &mut String,
    scene: &str,
    measured: &Measured,
    ordered: &Measured,
) -> std::fmt::Result {
    let title = match scene {
        "quantised" => "Quantised, as others see it",
        _ => "Exact, positions and orientations whole",
    };
    writeln!(text, "\n{title:<40}  bytes/snapshot   saved               paper")?;
    for row in rows(measured) {
        let saved = row.reduction.map_or(String::new(), |(saved, [low, high])| {
            format!("{saved:>6.1} % of {:<8}  {low:.0} to {high:.0} %", row.saved_of)
        });
        writeln!(text, "  {:<38}  {:>14.1}  {saved}", row.name, row.bytes)?;
    }
    writeln!(
        text,
        "  {} snapshots; {:.1} of {:.1} entities change in each: {:.2} bytes for each of those.",
        measured.snapshots,
        measured.mean(measured.entities_changed),
        measured.mean(measured.entities),
        measured.stage_bytes[3] as f64 / measured.entities_changed.max(1) as f64,
    )?;
    let [encode, decode] = [measured.encode_ns, measured.decode_ns].map(|sum| sum as f64);
    let (entities, snapshots) = (measured.entities.max(1) as f64, measured.snapshots as f64);
    writeln!(
        text,
        "  encode {:.1} ns an entity ({:.1} µs a snapshot), decode {:.1} ns ({:.1} µs).",
        encode / entities,
        encode / snapshots / 1000.0,
        decode / entities,
        decode / snapshots / 1000.0,
    )?;
    let lengths = WORD_BITS.map(|bits| format!("{bits}: {:.1}", measured.zero_runs(bits)));
    let lengths = lengths.collect::<Vec<_>>().join(", ");
    writeln!(text, "  zero runs by word length in bits: {lengths}")?;
    writeln!(
        text,
        "  zero runs with fields ordered by how often they change: {:.1}, as declared: {:.1}",
        ordered.zero_runs(PAPER_WORD_BITS),
        measured.zero_runs(PAPER_WORD_BITS),
    )?;
    for sentence in differences(measured) {
        writeln!(text, "  {sentence}")?;
    }
    Ok(())
}

/// Where a stage saves more or less than in the paper, and why, as measured.
fn differences(measured: &Measured) -> Vec<String> {
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let bits = measured.words_bits as f64 / measured.words.max(1) as f64;
    let changed = percent(measured.words_changed(), measured.words);
    let entities = percent(measured.entities_changed, measured.entities);
    let zero = percent(measured.runs_words_zero, measured.runs_words);
    let sentence = |row: &Row| {
        let (saved, [low, high]) = row.reduction?;
        if (low..=high).contains(&saved) {
            return None;
        }
        let (direction, there) =
            if saved > high { ("more", "more there") } else { ("less", "fewer there") };
        let why = match row.key {
            "packed" => format!("a field needs {bits:.1} of 32 bits here, and 27 to 29 there"),
            "delta" => format!("{changed:.0} % of all fields change here, and {there}"),
            "left_out" => format!("{entities:.0} % of the entities change here, and {there}"),
            _ => format!(
                "masks in front and unchanged entities left out leave {zero:.0} % of the 3-bit words \
                 zero, and half of them is what pays"
            ),
        };
        Some(format!("{}: {direction} than the paper, because {why}.", row.name))
    };
    rows(measured).iter().filter_map(sentence).collect()
}
