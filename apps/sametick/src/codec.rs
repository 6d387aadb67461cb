//! `sametick codec`: trains the tables of the compact codec from recordings, and shows where the bits go.

use crate::bench::compact::read_tables;
use crate::bench::footage::Footage;
use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use sametick::codec::compact::{Compact, Cost, Costs, Tables, train};
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick codec train match.sametick other.sametick -o arena.tables
  sametick codec train cubes901_b.cub -o cubes.tables
  sametick codec train oa_dm8.q3s --first 0.5 --age 1 -o quake.tables
  sametick codec train match.sametick --price 4 -o quick.tables            for servers with little time
  sametick codec explain match.sametick --tables arena.tables --svg bits.svg";

#[derive(Subcommand)]
pub(crate) enum Codec {
    /// Make tables from recordings, for `--codec compact --tables`
    Train(Train),
    /// Show where the bits of a recording's snapshots go, by kind and field
    Explain(Explain),
}

#[derive(Args)]
pub(crate) struct Train {
    /// Recordings of one game: matches that --record wrote, or what `bench codec --data` reads
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
    /// Where the tables go
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How many snapshots old bases are, several with commas [default: what makes 100 ms]
    #[arg(long, value_name = "SNAPSHOTS", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    age: Vec<u32>,
    /// Learn only from this share of each recording, from its start
    #[arg(long, value_name = "FRACTION", default_value_t = 1.0)]
    first: f64,
    /// What a question costs, as a multiple: at 4 coding takes up to a quarter less time, messages are a tenth longer
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    price: f64,
}

/// What questions may cost: cheaper, they would be about chance; dearer, hardly any would be left.
const PRICES: std::ops::RangeInclusive<f64> = 0.25..=16.0;

#[derive(Args)]
pub(crate) struct Explain {
    /// The recording
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Tables; without, those that are built in
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// How many snapshots old bases are [default: what makes 100 ms]
    #[arg(long, value_name = "SNAPSHOTS", value_parser = clap::value_parser!(u32).range(1..=64))]
    age: Option<u32>,
    /// Pass over this share of the recording
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0)]
    skip_first: f64,
    /// Draw the same as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(codec: &Codec) -> anyhow::Result<()> {
    match codec {
        Codec::Train(options) => run_train(options),
        Codec::Explain(options) => run_explain(options),
    }
}

pub(crate) fn usual_age(footage: &Footage) -> u32 {
    (footage.snapshots_hz / 10).max(1)
}

fn run_train(options: &Train) -> anyhow::Result<()> {
    ensure!((0.0..=1.0).contains(&options.first), "--first is a share from 0 to 1");
    let (least, most) = (PRICES.start(), PRICES.end());
    ensure!(PRICES.contains(&options.price), "--price is from {least} to {most}");
    let all: anyhow::Result<Vec<Footage>> =
        options.recordings.iter().map(|path| Footage::open(path)).collect();
    let mut all = all?;
    let Some(first) = all.first() else { bail!("there is nothing to learn from") };
    let fingerprints = |footage: &Footage| -> Vec<u64> {
        footage.layouts.iter().map(sametick::Layout::fingerprint).collect()
    };
    let game = fingerprints(first);
    for (path, footage) in options.recordings.iter().zip(&all) {
        ensure!(
            fingerprints(footage) == game,
            "{} is of another game than {}: tables are of one",
            path.display(),
            options.recordings[0].display()
        );
    }
    let ages = if options.age.is_empty() { vec![usual_age(first)] } else { options.age.clone() };
    let tables = learn(&mut all, &ages, options.first, options.price);
    let names = options
        .recordings
        .iter()
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy());
    let mut trained_on = names.collect::<Vec<_>>().join(" ");
    if options.first < 1.0 {
        let _ = write!(trained_on, ", first {}", options.first);
    }
    if options.price != 1.0 {
        let _ = write!(trained_on, ", price {}", options.price);
    }
    let tables = tables.named(&trained_on);
    let bytes = tables.to_bytes();
    std::fs::write(&options.output, &bytes)
        .with_context(|| format!("cannot write {}", options.output.display()))?;
    let text = format!(
        "{}: tables {:016x}, {} bytes, trained on {trained_on}\n",
        options.output.display(),
        tables.hash(),
        bytes.len()
    );
    crate::print(&text)
}

/// Tables from the first share of recordings of one game, with bases of these ages.
pub(crate) fn learn(all: &mut [Footage], ages: &[u32], first: f64, price: f64) -> Tables {
    let layouts = all.first().map_or(Vec::new(), |footage| footage.layouts.clone());
    let mut tables = train::train_at_price(price, &layouts, &mut |learn| {
        for age in ages {
            for footage in &mut *all {
                footage.play(*age as usize, 0.0..first, &mut |shot| learn(&shot.lineage, shot.now));
            }
        }
    });
    if let Some(wire) = all.iter().find_map(|footage| Some(footage.streams.as_ref()?.wire.clone()))
    {
        let recorded = || all.iter().filter_map(|footage| footage.streams.as_ref());
        let commands: Vec<_> = recorded()
            .flat_map(|recorded| first_share(&recorded.commands, first).to_vec())
            .collect();
        let events: Vec<_> = recorded()
            .flat_map(|recorded| first_share(&recorded.events, first))
            .map(|(_, event)| vec![event.clone()])
            .collect();
        let (commands, events) = ((wire.commands(), &commands[..]), (wire.events(), &events[..]));
        tables = train::train_streams(tables, commands, events);
    }
    tables
}

fn first_share<T>(all: &[T], share: f64) -> &[T] {
    &all[..((all.len() as f64 * share) as usize).min(all.len())]
}

fn run_explain(options: &Explain) -> anyhow::Result<()> {
    let mut footage = Footage::open(&options.recording)?;
    let tables = match &options.tables {
        Some(path) => read_tables(path, &footage)?,
        None => Tables::built_in(&footage.layouts),
    };
    let age = options.age.unwrap_or_else(|| usual_age(&footage)) as usize;
    let layouts = footage.layouts.clone();
    let mut compact = Compact::new(tables);
    let mut costs = Costs::default();
    let mut snapshots = 0u32;
    footage.play(age, options.skip_first..1.0, &mut |shot| {
        compact.explain(&layouts, &shot.lineage, shot.now, &mut costs);
        snapshots += 1;
    });
    ensure!(snapshots > 0, "there is no snapshot to explain");
    let mut rows = costs.rows(&layouts, &footage.kinds);
    rows.sort_by(|left, right| right.bits.total_cmp(&left.bits));
    let all = rows.len();
    rows.retain(|row| row.bits / 8.0 / f64::from(snapshots) >= SHOWN_BYTES_MIN);
    let left_out = all - rows.len();
    if let Some(path) = &options.svg {
        std::fs::write(path, picture(&rows, f64::from(snapshots)))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let tables = compact.tables();
    let named = match tables.trained_on() {
        "" => "built in".to_owned(),
        trained_on => format!("{:016x}, trained on {trained_on}", tables.hash()),
    };
    let mut text = format!(
        "{}: {snapshots} snapshots, base {age} old, tables {named}\n",
        options.recording.display()
    );
    text += &table(&rows, f64::from(snapshots))?;
    if left_out > 0 {
        writeln!(text, "{left_out} more cost less than {SHOWN_BYTES_MIN} bytes a snapshot each.")?;
    }
    crate::print(&text)
}

/// What costs less is counted, and not shown.
const SHOWN_BYTES_MIN: f64 = 0.001;

fn table(rows: &[Cost], snapshots: f64) -> anyhow::Result<String> {
    let total: f64 = rows.iter().map(|row| row.bits).sum();
    let mut text = format!(
        "{:<44} {:>12} {:>7} {:>10} {:>9}\n",
        "", "bytes/snap.", "share", "coded/snap.", "bits each"
    );
    for row in rows {
        let count = row.count as f64;
        writeln!(
            text,
            "{:<44} {:>12.3} {:>6.1}% {:>10.2} {:>9.2}",
            row.name,
            row.bits / 8.0 / snapshots,
            100.0 * row.bits / total.max(1e-9),
            count / snapshots,
            row.bits / count,
        )?;
    }
    writeln!(text, "{:<44} {:>12.3}", "all", total / 8.0 / snapshots)?;
    Ok(text)
}

/// So many rows are drawn; what is left is one more.
const BARS_MAX: usize = 40;
const BAR_WIDTH: f64 = 420.0;

fn picture(rows: &[Cost], snapshots: f64) -> String {
    let rest: f64 = rows.iter().skip(BARS_MAX).map(|row| row.bits).sum();
    let mut bars: Vec<(&str, f64)> =
        rows.iter().take(BARS_MAX).map(|row| (row.name.as_str(), row.bits)).collect();
    if rest > 0.0 {
        bars.push(("all others", rest));
    }
    let most = bars.iter().map(|(_, bits)| *bits).fold(1e-9, f64::max);
    let height = 24 * bars.len() + 16;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<title>Bytes a snapshot by kind and field</title>\n"
    );
    for (index, (name, bits)) in bars.iter().enumerate() {
        let top = 24 * index + 8;
        let name = name.replace('&', "&amp;").replace('<', "&lt;");
        let width = BAR_WIDTH * bits / most;
        let _ = writeln!(
            text,
            "<text x=\"300\" y=\"{}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"308\" y=\"{top}\" width=\"{width:.1}\" height=\"18\" fill=\"#37a\"/>\
             <text x=\"{:.1}\" y=\"{}\">{:.2}</text>",
            top + 14,
            314.0 + width,
            top + 14,
            bits / 8.0 / snapshots,
        );
    }
    text + "</svg>\n"
}
