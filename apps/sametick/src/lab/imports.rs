//! `lab import`: FPSci's files become one of ours, with a list of what became of every key.

use anyhow::{Context, bail};
use clap::Args;
use sametick_lab::{
    ANY_BYTES_MAX, AnyFile, AnyKind, Fate, Imported, Mapping, any_kind, import_all, startup,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is imported.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// FPSci's experiment file, often experimentconfig.Any, with those of users, states and keys; or a startup
    /// file, which names them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where ours goes; without it FILE.toml beside the first file. Of a startup file, the folder
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let files = options.files.iter().map(|path| AnyFile::read(path, &mut load));
    let files = files.collect::<Result<Vec<AnyFile>, _>>()?;
    let is_startup = |file: &AnyFile| any_kind(file) == Some(AnyKind::Startup);
    let told = match &files[..] {
        [file] if is_startup(file) => all_of(file, options)?,
        files if files.iter().any(is_startup) => {
            bail!("a startup file names the files that belong to it: import it alone")
        }
        files => {
            let imported = import_all(files)?;
            let beside = options.files[0].with_extension("toml");
            let output = options.output.clone().unwrap_or(beside);
            write(&imported, &output)?;
            match options.json {
                true => format!("{}\n", object(&imported.mappings, Some(&output))),
                false => words(&imported.mappings) + &wrote(&imported, &output),
            }
        }
    };
    crate::print(&told)
}

/// Every experiment that a startup file names, with its files.
fn all_of(file: &AnyFile, options: &Options) -> anyhow::Result<String> {
    let beside = options.files[0].parent().unwrap_or(Path::new("."));
    let folder = options.output.as_deref().unwrap_or(beside);
    let (listed, mappings) = startup(file)?;
    let mut text = words(&mappings);
    let mut objects: Vec<Value> = Vec::new();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for one in listed {
        let mut files = Vec::new();
        let mut missing = Vec::new();
        for (index, name) in one.files.iter().enumerate() {
            let path = beside.join(name);
            // FPSci writes those anew that are not there, but for the experiment.
            match path.is_file() || index == 0 {
                true => files.push(AnyFile::read(&path, &mut load)?),
                false => missing.push(name),
            }
        }
        let mut imported =
            import_all(&files).with_context(|| format!("experiment {:?}", one.name))?;
        for name in missing {
            let what = "is not there: FPSci would write its usual one, and so it is as if unsaid"
                .to_owned();
            let (place, key) = (options.files[0].display().to_string(), name.clone());
            imported.mappings.push(Mapping { place, key, fate: Fate::Approximated, what });
        }
        let output = folder.join(format!("{}.toml", file_name(&one.name)));
        write(&imported, &output)?;
        text +=
            &format!("\n{}\n{}{}", one.name, words(&imported.mappings), wrote(&imported, &output));
        objects.push(object(&imported.mappings, Some(&output)));
    }
    let mut all = object(&mappings, None);
    all["experiments"] = objects.into();
    Ok(if options.json { format!("{all}\n") } else { text })
}

/// A name that is one on every system.
fn file_name(name: &str) -> String {
    let fits = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
    let name: String =
        name.chars().map(|one| if fits(one) { one } else { '_' }).take(100).collect();
    if name.is_empty() { "experiment".to_owned() } else { name }
}

fn write(imported: &Imported, output: &Path) -> anyhow::Result<()> {
    let mut made = std::fs::File::create_new(output)
        .with_context(|| format!("cannot make {}: choose another with -o", output.display()))?;
    std::io::Write::write_all(&mut made, imported.file.as_bytes())
        .with_context(|| format!("cannot write {}", output.display()))
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

fn words(mappings: &[Mapping]) -> String {
    let mut text = String::new();
    for (fate, _, head) in FATES {
        let of = || mappings.iter().filter(|mapping| mapping.fate == fate);
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{head}: {}", of().count());
        for mapping in of() {
            let _ = writeln!(text, "  {}: {} ({})", mapping.key, mapping.what, mapping.place);
        }
    }
    text
}

fn wrote(imported: &Imported, output: &Path) -> String {
    let next = match imported.file.contains("\n[[session]]") {
        true => "say in it what the question is",
        false => "put it into the file of an experiment",
    };
    format!("wrote {}: {next}\n", output.display())
}

fn object(mappings: &[Mapping], output: Option<&Path>) -> Value {
    let mappings: Vec<_> = mappings
        .iter()
        .map(|mapping| {
            let fate = FATES.iter().find(|(fate, ..)| *fate == mapping.fate).map(|(_, name, _)| name);
            json!({ "key": mapping.key, "place": mapping.place, "fate": fate, "what": mapping.what })
        })
        .collect();
    let file = output.map(|output| output.display().to_string());
    json!({ "file": file, "mappings": mappings })
}
