//! Snapshots in as few bytes as the game's own past allows: every number predicted from what both ends
//! hold, and only the surprise coded, with chances from tables frozen per game.
//!
//! No state is kept per connection: what a message means follows from the tables and from the lineage of
//! its base alone, so loss cannot put two ends apart.

mod costs;
pub(crate) mod feature;
mod file;
mod float;
mod known;
mod plan;
pub mod range;
pub(crate) mod records;
mod rotation;
mod space;
pub(crate) mod tables;
pub mod train;
pub(crate) mod tree;
mod turn;
pub(crate) mod walk;

pub use costs::{Cost, Costs};
pub use file::{TABLES_BYTES_MAX, TABLES_VERSION};
pub use records::Lineage;
pub use tables::{TRAINED_ON_BYTES_MAX, Tables, TablesError};

pub use crate::schema::hint::Hint;

use crate::core::bits::Malformed;
use crate::schema::record::Layout;
use crate::schema::table::Table;
use range::{Decoder, Encoder};
use std::sync::Arc;
use tree::{Decide, Features, FlagModel, NumberModel};
use walk::{Memory, Port, Subject, Walk};

/// Whether anything can be coded here: a page that never has tables is smaller without.
pub(crate) const HAS_CODER: bool = cfg!(feature = "compact");

/// Writes and reads snapshots with one game's tables. What it keeps is memory only.
#[derive(Debug)]
pub struct Compact {
    pub(crate) tables: Arc<Tables>,
    pub(crate) memory: Memory,
    pub(crate) bytes: Vec<u8>,
}

impl Compact {
    /// A codec with these tables.
    pub fn new(tables: impl Into<Arc<Tables>>) -> Self {
        Self { tables: tables.into(), memory: Memory::default(), bytes: Vec::new() }
    }

    /// What was written last.
    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Its tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Writes what a receiver who holds the lineage needs to see what is in sight in `now`.
    pub fn write(&mut self, layouts: &[Layout], lineage: &Lineage<'_>, now: &Table) -> &[u8] {
        let encoder = Encoder::reusing(std::mem::take(&mut self.bytes));
        let mut port = Writing { encoder, bytes_max: usize::MAX };
        Walk::new(layouts, &self.tables, lineage.into(), &mut self.memory, &mut port)
            .snapshot(Some(now), None);
        self.bytes = port.encoder.finish();
        &self.bytes
    }

    /// Reads into `now` what was written with the same lineage. On a message that nobody writes, `now` is
    /// of no use.
    pub fn read(
        &mut self,
        layouts: &[Layout],
        lineage: &Lineage<'_>,
        bytes: &[u8],
        now: &mut Table,
    ) -> Result<(), Malformed> {
        now.copy_from(lineage.base);
        let mut port = Reading { decoder: Decoder::new(bytes), failed: false };
        Walk::new(layouts, &self.tables, lineage.into(), &mut self.memory, &mut port)
            .snapshot(None, Some(now));
        if port.failed() { Err(Malformed) } else { port.decoder.finish() }
    }
}

pub(crate) struct Writing {
    pub(crate) encoder: Encoder,
    /// What is longer is of no use.
    pub(crate) bytes_max: usize,
}

impl Port for Writing {
    #[inline(always)]
    fn flag(&mut self, _: Subject, model: &FlagModel, known: &Features, value: bool) -> bool {
        self.encoder.decide(model.chance(known), value)
    }
    #[inline(always)]
    fn number(&mut self, _: Subject, model: &NumberModel, known: &Features, value: i32) -> i32 {
        model.code(&mut self.encoder, known, value)
    }
    #[inline(always)]
    fn raw(&mut self, _: Subject, bits: u32, value: u32) -> u32 {
        Decide::raw(&mut self.encoder, bits, value)
    }
    #[inline(always)]
    fn failed(&self) -> bool {
        self.encoder.bytes_written() > self.bytes_max
    }
}

pub(crate) struct Reading<'a> {
    pub(crate) decoder: Decoder<'a>,
    pub(crate) failed: bool,
}

impl Port for Reading<'_> {
    const READS: bool = true;
    #[inline(always)]
    fn flag(&mut self, _: Subject, model: &FlagModel, known: &Features, _: bool) -> bool {
        self.decoder.bit(model.chance(known))
    }
    #[inline(always)]
    fn number(&mut self, _: Subject, model: &NumberModel, known: &Features, _: i32) -> i32 {
        model.code(&mut self.decoder, known, 0)
    }
    #[inline(always)]
    fn raw(&mut self, _: Subject, bits: u32, _: u32) -> u32 {
        self.decoder.raw(bits)
    }
    fn fail(&mut self) {
        self.failed = true;
    }
    #[inline(always)]
    fn failed(&self) -> bool {
        self.failed || self.decoder.is_damaged()
    }
}

impl Compact {
    /// Adds to `costs` what a snapshot would cost, by kind and field.
    pub fn explain(
        &mut self,
        layouts: &[Layout],
        lineage: &Lineage<'_>,
        now: &Table,
        costs: &mut Costs,
    ) {
        Walk::new(layouts, &self.tables, lineage.into(), &mut self.memory, costs)
            .snapshot(Some(now), None);
    }
}
