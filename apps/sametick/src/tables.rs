//! The options that say how snapshots are coded, and the tables that go with them.

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use sametick::codec::Wire;
use sametick::codec::compact::{TABLES_BYTES_MAX, Tables};
use sametick_arena::Arena;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How snapshots are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codec {
    #[default]
    Plain,
    Compact,
}

/// What a server is told.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct Options {
    /// How snapshots are written; compact ones are for clients that have the same tables, others get plain ones
    #[arg(long, value_enum, default_value_t = Codec::Plain)]
    codec: Codec,
    /// With --codec compact: tables that `sametick codec train` wrote; without it those that are built in
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
}

impl Options {
    /// The tables, if snapshots are to be compact.
    pub(crate) fn load(&self) -> anyhow::Result<Option<Arc<Tables>>> {
        match (self.codec, &self.tables) {
            (Codec::Plain, None) => Ok(None),
            (Codec::Plain, Some(_)) => bail!("--tables is for --codec compact"),
            (Codec::Compact, None) => {
                Ok(Some(Arc::new(Tables::built_in(Wire::of::<Arena>().layouts()))))
            }
            (Codec::Compact, Some(path)) => read(path).map(Some),
        }
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
