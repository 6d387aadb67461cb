//! Drives real browsers against real servers: `cargo xtask e2e`. A test is a file in `e2e/` with a function `run`, and
//! its name in the list below. Time is the server's: tests wait for its ticks and never for a page's clock.

pub(crate) mod browser;
mod host;
mod picture;
mod relay;
mod server;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use browser::Driver;

/// Options of `cargo xtask e2e`.
#[derive(Args)]
pub(crate) struct EndToEnd {
    /// Only tests whose name has this in it
    filter: Option<String>,
    /// The server's program; without it the one that cargo builds, and the page with it
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
}

/// What every test is given.
pub(crate) struct Stage {
    pub(crate) driver: Driver,
    pub(crate) program: PathBuf,
    /// Where screenshots go.
    pub(crate) pictures: PathBuf,
}

impl Stage {
    /// Whether the program was built as released, with its page in it.
    fn is_released(&self) -> bool {
        self.program.components().any(|part| part.as_os_str() == "release")
    }
}

macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+
        const TESTS: &[&str] = &[$(stringify!($name)),+];
        async fn run_one(name: &str, stage: &Stage) -> Result<()> {
            match name {
                $(stringify!($name) => $name::run(stage).await,)+
                _ => bail!("there is no such test"),
            }
        }
    };
}

tests! {
    isolation, joins_and_walks, restart, closed_tab, first_screen, shoots, conditions, background, contrast, screens,
    theatre, outside, matches, hands, lockstep, islands, people,
    people_outside,
}

pub(crate) fn run(options: &EndToEnd) -> Result<ExitCode> {
    let target = target()?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build(&target)?,
    };
    // Tests start it from folders of their own, too.
    let program =
        fs::canonicalize(&program).with_context(|| format!("cannot find {}", program.display()))?;
    let pictures = target.join("e2e");
    fs::create_dir_all(&pictures).with_context(|| format!("cannot make {}", pictures.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let failed = runtime.block_on(async {
        let stage = Stage { driver: Driver::start()?, program, pictures };
        let wanted = |name: &&&str| options.filter.as_ref().is_none_or(|part| name.contains(part));
        let mut failed = 0;
        for name in TESTS.iter().filter(wanted) {
            let begun = Instant::now();
            let result = run_one(name, &stage).await;
            stage.driver.close().await;
            match result {
                Ok(()) => println!("e2e: {name}: ok ({} s)", begun.elapsed().as_secs()),
                Err(error) => {
                    failed += 1;
                    println!("e2e: {name}: FAILED: {error:#}");
                }
            }
        }
        anyhow::Ok(failed)
    })?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn target() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands nowhere")?;
    Ok(env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from))
}

/// Builds page and server, not as released.
fn build(target: &Path) -> Result<PathBuf> {
    for arguments in
        [&["xtask", "web"][..], &["build", "--quiet", "--locked", "--package", "sametick-app"]]
    {
        if !crate::cargo().args(arguments).status().context("cannot start cargo")?.success() {
            bail!("`cargo {}` failed", arguments.join(" "));
        }
    }
    Ok(target.join("debug/sametick"))
}
