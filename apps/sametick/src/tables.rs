//! The options that say how snapshots are coded, and the tables that go with them.

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use sametick::Wire;
use sametick::codec::compact::{TABLES_BYTES_MAX, Tables};
use sametick_arena::Arena;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How snapshots come, as a client asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codec {
    Plain,
    Compact,
}

/// How a server writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    /// The fast one
    #[default]
    Plain,
    /// The one with fewer bytes
    Compact,
    /// Compact, and plain while ticks take more than 60 % of their time
    Auto,
}

/// What a server is told.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct Options {
    /// How snapshots are written; compact ones are for clients that have the same tables, others get plain ones
    #[arg(long, value_enum, default_value_t = Choice::Plain)]
    codec: Choice,
    /// With --codec compact or auto: tables that `sametick codec train` wrote; without it those that are built in
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// With --codec compact or auto: foresees players' own entities by the rules, which saves bytes and takes time
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    foresee: bool,
}

impl Options {
    /// The tables, if snapshots are to be compact.
    pub(crate) fn load(&self) -> anyhow::Result<Option<Arc<Tables>>> {
        match (self.codec, &self.tables) {
            (Choice::Plain, None) if self.foresee => {
                bail!("--foresee is for --codec compact or auto")
            }
            (Choice::Plain, None) => Ok(None),
            (Choice::Plain, Some(_)) => bail!("--tables is for --codec compact or auto"),
            (Choice::Compact | Choice::Auto, None) => {
                Ok(Some(Arc::new(Tables::built_in(Wire::of::<Arena>().layouts()))))
            }
            (Choice::Compact | Choice::Auto, Some(path)) => read(path).map(Some),
        }
    }

    /// Whether the rules foresee.
    pub(crate) fn foresees(&self) -> bool {
        self.foresee
    }

    /// Whether the server chooses by its load.
    pub(crate) fn is_by_load(&self) -> bool {
        self.codec == Choice::Auto
    }
}

/// Reads tables, and checks that they are the arena's.
pub(crate) fn read(path: &Path) -> anyhow::Result<Arc<Tables>> {
    let at = || path.display().to_string();
    let length = std::fs::metadata(path).with_context(|| format!("cannot read {}", at()))?.len();
    if length > TABLES_BYTES_MAX as u64 {
        bail!("{}: {length} bytes are more than tables may have", at());
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", at()))?;
    let tables = Tables::from_bytes(&bytes).with_context(at)?;
    tables.check(Wire::of::<Arena>().layouts()).with_context(at)?;
    Ok(Arc::new(tables))
}
