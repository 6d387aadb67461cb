//! `lab import`: an experiment file of FPSci's becomes one of ours, with a list of what became of every key.

use anyhow::{Context, anyhow};
use clap::Args;
use sametick_lab::{ANY_BYTES_MAX, AnyFile, Fate, Imported, import};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is imported.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// FPSci's experiment file, often experimentconfig.Any
    file: PathBuf,
    /// Where ours goes; without it FILE.toml beside the file
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    load(&options.file)
        .map_err(|what| anyhow!("{} cannot be read: {what}", options.file.display()))?;
    let file = AnyFile::read(&options.file, &mut load)?;
    let imported = import(&file)?;
    let output = options.output.clone().unwrap_or_else(|| options.file.with_extension("toml"));
    let mut made = std::fs::File::create_new(&output)
        .with_context(|| format!("cannot make {}: choose another with -o", output.display()))?;
    std::io::Write::write_all(&mut made, imported.file.as_bytes())
        .with_context(|| format!("cannot write {}", output.display()))?;
    let told = if options.json { object(&imported, &output) } else { words(&imported, &output) };
    crate::print(&told)
}

fn load(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > ANY_BYTES_MAX as u64 {
        return Err(format!("it is longer than {ANY_BYTES_MAX} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

const FATES: [(Fate, &str, &str); 3] = [
    (Fate::Mapped, "mapped", "The same here"),
    (Fate::Approximated, "approximated", "Near"),
    (Fate::Impossible, "impossible", "Without a place here"),
];

fn words(imported: &Imported, output: &Path) -> String {
    let mut text = String::new();
    for (fate, _, head) in FATES {
        let of = || imported.mappings.iter().filter(|mapping| mapping.fate == fate);
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{head}: {}", of().count());
        for mapping in of() {
            let _ = writeln!(text, "  {}: {} ({})", mapping.key, mapping.what, mapping.place);
        }
    }
    let _ = writeln!(text, "wrote {}: say in it what the question is", output.display());
    text
}

fn object(imported: &Imported, output: &Path) -> String {
    let mappings: Vec<_> = imported
        .mappings
        .iter()
        .map(|mapping| {
            let fate = FATES.iter().find(|(fate, ..)| *fate == mapping.fate).map(|(_, name, _)| name);
            json!({ "key": mapping.key, "place": mapping.place, "fate": fate, "what": mapping.what })
        })
        .collect();
    format!("{}\n", json!({ "file": output.display().to_string(), "mappings": mappings }))
}
