//! Makes the pictures of the documents from the running product, and finds stale ones. No two machines draw alike to
//! the last dot, so pictures are not compared: beside them stand a number for all they were made from, and one for
//! each.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::e2e::Stage;
use crate::e2e::browser::Driver;
use crate::e2e::joins_and_walks::is_playing;
use crate::e2e::people;
use crate::e2e::screens::{COMPANY, DEATH, FIGHT};

/// Where they are, from the top of the repository.
const FOLDER: &str = "docs/pictures";
/// What they were made from.
const RECORD: &str = "made-from.txt";
/// Pictures that are taken together.
struct Group {
    name: &'static str,
    pictures: &'static [&'static str],
    /// What decides how they look: the page, the game, and how they are taken. Of the files there, only those of this
    /// part.
    sources: &'static [&'static str],
    part: Part,
}

/// What a file belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Theatre,
    Lab,
    Play,
}

impl Part {
    /// By its path.
    fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match path.contains("theatre") {
            true => Self::Theatre,
            false
                if ["lab", "live", "elements", "people"].iter().any(|of| name.starts_with(of)) =>
            {
                Self::Lab
            }
            false => Self::Play,
        }
    }
}

const GROUPS: [Group; 3] = [
    Group {
        name: "theatre",
        pictures: &["theatre"],
        sources: &["apps/web", "crates/sametick/src/theatre", "games/arena/src"],
        part: Part::Theatre,
    },
    Group {
        name: "lab",
        pictures: &["people-calibration", "people-ready", "people-live"],
        sources: &["apps/web", "xtask/src/e2e/people.rs"],
        part: Part::Lab,
    },
    Group {
        name: "play",
        pictures: &["first", "play", "graph", "death"],
        sources: &["apps/web", "games/arena/src", "games/arena/maps", "xtask/src/e2e/screens.rs"],
        part: Part::Play,
    },
];
const JOIN_TICKS_MAX: u64 = 3_600;
/// How long a moment worth a picture may take to come.
const MOMENT_TICKS_MAX: u64 = 60 * 240;
/// Two are close together before the first screen's camera.
const MEETING: &str = "s.enemies > 1 && s.nearest > 4.5 && s.nearest < 9 && s.spread > 12";

/// Options of `cargo xtask pictures`.
#[derive(Args)]
pub(crate) struct Pictures {
    /// Only those of `theatre`, `lab` or `play`
    group: Option<String>,
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
    let is_wanted = |group: &&Group| options.group.as_ref().is_none_or(|name| group.name == name);
    let wanted: Vec<&Group> = GROUPS.iter().filter(is_wanted).collect();
    ensure!(!wanted.is_empty(), "there are `theatre`, `lab` and `play`");
    fs::create_dir_all(&folder)?;
    let program = options.program.clone().map_or_else(|| build(root), Ok)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stage = Stage { driver: Driver::start()?, program, pictures: folder.clone() };
        for group in &wanted {
            let taken = match group.part {
                Part::Theatre => theatre(&stage).await,
                Part::Lab => people::pictures(&stage).await,
                Part::Play => play(&stage).await,
            };
            stage.driver.close().await;
            taken?;
            write(root, &folder, group)?;
            println!("pictures: {} in {}", group.pictures.join(", "), folder.display());
        }
        anyhow::Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = crate::cargo();
    cargo.current_dir(root).args(["build", "--locked", "--release", "--package", "sametick-app"]);
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("the program could not be built: see above");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/sametick"))
}

async fn theatre(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let page = stage.page(&server, "theatre.html").await?;
    page.resize((1280, 720)).await?;
    let is_there = |status: &serde_json::Value| status["scene"] == "cover";
    page.until(&server, JOIN_TICKS_MAX, "open", is_there).await?;
    page.ask("(window.sametick.moment(), true)").await?;
    // Its caption comes softly.
    server.pass(60)?;
    page.picture("theatre").await?;
    page.close().await
}

async fn play(stage: &Stage) -> Result<()> {
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

/// Writes beside the pictures what those of a group were made from, and leaves what is known of the others.
fn write(root: &Path, folder: &Path, group: &Group) -> Result<()> {
    let place = folder.join(RECORD);
    let known = fs::read_to_string(&place).unwrap_or_default();
    let is_other = |line: &&str| !line.starts_with(&format!("{} ", group.name));
    let others =
        known.lines().filter(is_other).fold(String::new(), |text, line| text + line + "\n");
    fs::write(place, others + &record(root, folder, group)?)?;
    Ok(())
}

/// What is to be written of a group: its name, and a number for all its sources or for one of its pictures.
fn record(root: &Path, folder: &Path, group: &Group) -> Result<String> {
    let mut text = format!("{} sources {:016x}\n", group.name, hash_of_sources(root, group)?);
    for name in group.pictures {
        let path = folder.join(format!("{name}.png"));
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{} {name}.png {:016x}", group.name, hash(EMPTY, &bytes));
    }
    Ok(text)
}

/// What is not as it was made, or made from something else.
fn stale(root: &Path, folder: &Path) -> Result<Vec<String>> {
    let Ok(made) = fs::read_to_string(folder.join(RECORD)) else {
        return Ok(vec![format!("{FOLDER}/{RECORD} is missing")]);
    };
    let mut found = Vec::new();
    for group in &GROUPS {
        let Ok(now) = record(root, folder, group) else {
            found.push(format!("a picture of {} is missing", group.name));
            continue;
        };
        let differ = now.lines().filter(|line| !made.lines().any(|known| known == *line));
        found.extend(differ.map(|line| match line.split(' ').nth(1) {
            Some("sources") => format!("the pictures of {} show an older one", group.name),
            Some(name) => format!("{FOLDER}/{name} is not the one that was made"),
            None => format!("{FOLDER}/{RECORD} cannot be read"),
        }));
    }
    Ok(found)
}

/// A number for every file that decides how pictures look: their paths and their bytes, in order.
fn hash_of_sources(root: &Path, group: &Group) -> Result<u64> {
    let mut files = Vec::new();
    for source in group.sources {
        list(&root.join(source), &mut files)?;
    }
    let name =
        |file: &Path| file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
    files.retain(|file| Part::of(&name(file)) == group.part);
    files.sort();
    files
        .iter()
        .try_fold(EMPTY, |sum, file| Ok(hash(hash(sum, name(file).as_bytes()), &fs::read(file)?)))
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
        let folders =
            ["apps/web", "crates/sametick/src/theatre", "games/arena/src", "games/arena/maps"];
        for path in folders.iter().chain(&["xtask/src/e2e", FOLDER]) {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for file in [
            "apps/web/a.css",
            "apps/web/theatre.css",
            "apps/web/lab.css",
            "xtask/src/e2e/people.rs",
            "xtask/src/e2e/screens.rs",
        ] {
            fs::write(root.join(file), "one").unwrap();
        }
        for name in GROUPS.iter().flat_map(|group| group.pictures) {
            fs::write(folder.join(format!("{name}.png")), name).unwrap();
        }
        assert_eq!(stale(&root, &folder).unwrap().len(), 1, "nothing is recorded");
        GROUPS.iter().for_each(|group| write(&root, &folder, group).unwrap());
        assert!(stale(&root, &folder).unwrap().is_empty());
        // The theatre's file alters the theatre's pictures, and no others.
        fs::write(root.join("apps/web/theatre.css"), "two").unwrap();
        let found = stale(&root, &folder).unwrap();
        assert!(found.len() == 1 && found[0].contains("of theatre"), "{found:?}");
        write(&root, &folder, &GROUPS[0]).unwrap();
        fs::write(root.join("apps/web/lab.css"), "two").unwrap();
        let found = stale(&root, &folder).unwrap();
        assert!(found.len() == 1 && found[0].contains("of lab"), "{found:?}");
        write(&root, &folder, &GROUPS[1]).unwrap();
        fs::write(root.join("apps/web/a.css"), "two").unwrap();
        fs::write(folder.join("play.png"), "drawn by hand").unwrap();
        let found = stale(&root, &folder).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("of play") && found[1].contains("play.png"), "{found:?}");
    }
}
