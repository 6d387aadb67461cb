//! `lab power`: how many participants a study needs, from a pilot.

use anyhow::anyhow;
use clap::Args;
use sametick_lab::Log;
use sametick_lab::people::{PARTICIPANTS_MAX, Power, power};
use serde_json::json;
use std::path::PathBuf;

/// What most studies are planned for.
const USUAL_SHARE: f64 = 0.8;
/// Of fewer it is said how little they tell.
const SMALL_PILOT: usize = 10;
/// How many numbers of participants are tried at most.
const SIZES_MAX: usize = 25;

/// Of which pilot, and for what.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The pilot: what `lab host` or `lab run` wrote
    database: PathBuf,
    /// Which metric is to differ
    #[arg(long)]
    metric: String,
    /// Between the ends of which factor
    #[arg(long)]
    by: String,
    /// How many participants, from and to
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "4..40")]
    participants: (usize, usize),
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

fn range(text: &str) -> Result<(usize, usize), String> {
    let ends = text.split_once("..").unwrap_or((text, text));
    match (ends.0.trim().parse::<usize>(), ends.1.trim().parse::<usize>()) {
        (Ok(from), Ok(to)) if (2..=to).contains(&from) && to <= PARTICIPANTS_MAX => Ok((from, to)),
        _ => Err(format!("from how many to how many, 2 to {PARTICIPANTS_MAX}: 4..40")),
    }
}

/// Evenly from one to the other, both among them.
fn sizes((from, to): (usize, usize)) -> Vec<usize> {
    let step = (to - from).div_ceil(SIZES_MAX - 1).max(1);
    let mut sizes: Vec<usize> = (from..to).step_by(step).collect();
    sizes.push(to);
    sizes
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let log = Log::read(&options.database)?;
    let found = power(&log, &options.metric, &options.by, &sizes(options.participants))
        .map_err(|error| anyhow!(error))?;
    crate::print(&if options.json { format!("{}\n", as_json(&found)) } else { words(&found) })
}

fn as_json(found: &Power) -> serde_json::Value {
    json!({
        "metric": found.metric,
        "by": found.factor,
        "levels": found.levels,
        "difference": found.difference,
        "unit": found.unit,
        "pilot": found.pilot,
        "at_each": found.at_each,
        "of": found.of,
        "is_within": found.is_within,
        "enough_for_80_percent": found.enough(USUAL_SHARE),
        "power": found.shares.iter().map(|(size, share)| json!({
            "participants": size, "share": share,
        })).collect::<Vec<_>>(),
    })
}

fn words(found: &Power) -> String {
    let [first, last] = &found.levels;
    let (factor, unit) = (&found.factor, found.unit);
    let [before, after] = found.at_each;
    let design = match found.is_within {
        true => "each meets both".to_owned(),
        false if before == after => format!("{before} at each"),
        false => format!("{before} and {after} at each"),
    };
    let mut text = format!(
        "{}: {:+.3} {unit} from {factor} {first} to {last} in a pilot of {} {}s, {design}\n\
         share of simulated studies whose 95 % interval excludes zero:\n",
        found.metric, found.difference, found.pilot, found.of
    );
    for (size, share) in &found.shares {
        let bar = "#".repeat((share * 40.0).round() as usize);
        text += &format!("{size:>6} {:>4.0} %  {bar}\n", share * 100.0);
    }
    text += &match found.enough(USUAL_SHARE) {
        Some(size) => format!("{size} participants find it in 80 % of studies"),
        None => "none of these finds it in 80 % of studies".to_owned(),
    };
    text += ", if it is as large as in the pilot\n";
    if found.pilot < SMALL_PILOT {
        text += &format!(
            "a pilot of {} knows the effect badly: read this as the best that can be hoped for\n",
            found.pilot
        );
    }
    text
}
