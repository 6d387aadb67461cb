//! Makes the pictures of the documents from the running product, and finds stale ones. No two machines draw alike to
//! the last dot, so pictures are not compared: beside them stand a number for all they were made from, and one for
//! each.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::e2e::Stage;
use crate::e2e::browser::Driver;
use crate::e2e::joins_and_walks::is_playing;
use crate::e2e::screens::{COMPANY, DEATH, FIGHT};

/// Where they are, from the top of the repository.
const FOLDER: &str = "docs/pictures";
/// What they were made from.
const RECORD: &str = "made-from.txt";
const NAMES: [&str; 4] = ["first", "play", "graph", "death"];
/// What decides how they look: the page, the game, and how they are taken.
const SOURCES: [&str; 5] = [
    "apps/web",
    "games/arena/src",
    "games/arena/maps",
    "xtask/src/pictures.rs",
    "xtask/src/e2e/screens.rs",
];
const JOIN_TICKS_MAX: u64 = 3_600;
/// How long a moment worth a picture may take to come.
const MOMENT_TICKS_MAX: u64 = 60 * 240;
/// Two are close together before the first screen's camera.
const MEETING: &str = "s.enemies > 1 && s.nearest > 4.5 && s.nearest < 9 && s.spread > 12";

/// Options of `cargo xtask pictures`.
#[derive(Args)]
pub(crate) struct Pictures {
    /// Only say which pictures are stale
    #[arg(long)]
    check: bool,
    /// The server's program; without it the one that cargo builds as released
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
}

pub(crate) fn run(options: &Pictures) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands nowhere")?;
    let folder = root.join(FOLDER);
    if options.check {
        let stale = stale(root, &folder)?;
        stale.iter().for_each(|what| println!("pictures: {what}; run `cargo xtask pictures`"));
        return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    fs::create_dir_all(&folder)?;
    let program = options.program.clone().map_or_else(|| build(root), Ok)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stage = Stage { driver: Driver::start()?, program, pictures: folder.clone() };
        let taken = take(&stage).await;
        stage.driver.close().await;
        taken
    })?;
    fs::write(folder.join(RECORD), record(root, &folder)?)?;
    println!("pictures: {} in {}", NAMES.len(), folder.display());
    Ok(ExitCode::SUCCESS)
}

fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--locked", "--release", "--package", "sametick-app"]);
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("the program could not be built: see above");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/sametick"))
}

async fn take(stage: &Stage) -> Result<()> {
    let server = stage.server(&["--map", "halls", "--bots", "7"])?;
    let page = stage.page(&server, "").await?;
    page.until(&server, JOIN_TICKS_MAX, "connected", is_playing).await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, MEETING).await?;
    page.picture("first").await?;
    page.close().await?;
    let page = stage.page(&server, "?name=Anna&shadows=plain&delay=40&loss=3").await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    // Pictures are drawn without a graphics card, slowly; that the page warns of it says nothing of the page.
    page.ask("(document.getElementById('warning').style.visibility = 'hidden', true)").await?;
    page.ask("(window.sametick.fly(4), true)").await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, FIGHT).await?;
    page.picture("play").await?;
    page.release().await?;
    page.hold_when(&server, MOMENT_TICKS_MAX, DEATH).await?;
    page.picture("death").await?;
    page.release().await?;
    page.ask("(window.sametick.set('graph', 'full'), true)").await?;
    page.key("keydown", "KeyC").await?;
    server.pass(60 * 8)?;
    page.hold_when(&server, MOMENT_TICKS_MAX, COMPANY).await?;
    page.picture("graph").await?;
    page.close().await
}

/// What is to be written beside the pictures.
fn record(root: &Path, folder: &Path) -> Result<String> {
    let mut text = format!("sources {:016x}\n", hash_of_sources(root)?);
    for name in NAMES {
        let path = folder.join(format!("{name}.png"));
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{name}.png {:016x}", hash(EMPTY, &bytes));
    }
    Ok(text)
}

/// What is not as it was made, or made from something else.
fn stale(root: &Path, folder: &Path) -> Result<Vec<String>> {
    let Ok(made) = fs::read_to_string(folder.join(RECORD)) else {
        return Ok(vec![format!("{FOLDER}/{RECORD} is missing")]);
    };
    let Ok(now) = record(root, folder) else {
        return Ok(vec![format!("a picture of {FOLDER} is missing")]);
    };
    let differ = now.lines().filter(|line| !made.lines().any(|known| known == *line));
    Ok(differ
        .map(|line| match line.split_once(' ') {
            Some(("sources", _)) => format!("{FOLDER} shows an older page or game"),
            Some((name, _)) => format!("{FOLDER}/{name} is not the one that was made"),
            None => format!("{FOLDER}/{RECORD} cannot be read"),
        })
        .collect())
}

/// A number for every file that decides how pictures look: their paths and their bytes, in order.
fn hash_of_sources(root: &Path) -> Result<u64> {
    let mut files = Vec::new();
    for source in SOURCES {
        list(&root.join(source), &mut files)?;
    }
    files.sort();
    files.iter().try_fold(EMPTY, |sum, file| {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        Ok(hash(hash(sum, name.as_bytes()), &fs::read(file)?))
    })
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            list(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_path_buf());
    }
    Ok(())
}

const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

fn hash(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_source_and_a_changed_picture_are_both_found() {
        let root = std::env::temp_dir().join(format!("sametick-pictures-{}", std::process::id()));
        let folder = root.join(FOLDER);
        for path in ["apps/web", "games/arena/src", "games/arena/maps", "xtask/src/e2e", FOLDER] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for file in ["apps/web/a.css", "xtask/src/pictures.rs", "xtask/src/e2e/screens.rs"] {
            fs::write(root.join(file), "one").unwrap();
        }
        for name in NAMES {
            fs::write(folder.join(format!("{name}.png")), name).unwrap();
        }
        assert_eq!(stale(&root, &folder).unwrap().len(), 1, "nothing is recorded");
        fs::write(folder.join(RECORD), record(&root, &folder).unwrap()).unwrap();
        assert!(stale(&root, &folder).unwrap().is_empty());
        fs::write(root.join("apps/web/a.css"), "two").unwrap();
        fs::write(folder.join("play.png"), "drawn by hand").unwrap();
        let found = stale(&root, &folder).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("older page") && found[1].contains("play.png"), "{found:?}");
    }
}
