//! A world that does not fit one datagram: what the client is known to have of it, what is in flight, and what is sent
//! next. See `merge.rs` for the baseline.
//!
//! What is in flight is not sent again, unless it changed or was lost. A part that is older than the newest
//! acknowledged one and is not acknowledged itself was lost. At most [`IN_FLIGHT_MAX`] parts are in flight; a snapshot
//! of which nothing has room is a part about the viewer's own entities.

use super::past::SentPast;
use super::{SentTable, chunk_of};
use crate::core::slots::{CHUNK_SLOTS, Slots, places};
use crate::core::tick::Tick;
use crate::replication::messages::coded::part::{Said, Told};
use crate::replication::messages::decoded::Decoded;
use crate::replication::messages::merge::Merge;
use crate::replication::versions::{Chunk, VersionId};
use std::collections::VecDeque;

/// So many parts in flight, and a snapshot has one part only.
pub(super) const IN_FLIGHT_MAX: u64 = 96;
/// So many, and snapshots wait.
pub(super) const IN_FLIGHT_LIMIT: u64 = 127;
/// More parts of one snapshot might not be acknowledged one by one: a client tells of the newest and the 64 before.
pub(super) const PARTS_MAX: u64 = 60;

/// Entities by slot.
#[derive(Debug, Default)]
pub(super) struct Had {
    pub(super) versions: Vec<VersionId>,
    pub(super) visible: Slots,
}

impl Had {
    pub(super) fn chunk(&self, chunk: usize) -> &Chunk {
        &self.versions.as_chunks().0[chunk]
    }

    fn take(&mut self, chunk: usize, told: u32, visible: u32, versions: &Chunk) {
        for place in places(told) {
            self.versions[chunk * CHUNK_SLOTS + place] = versions[place];
        }
        let kept = chunk_of(&self.visible, chunk) & !told;
        self.visible.set_chunk(chunk, kept | visible & told);
    }
}

/// What a part told of a chunk.
#[derive(Debug)]
pub(super) struct SentChunk {
    pub(super) chunk: usize,
    /// Of which slots it told, and which of them are in sight.
    pub(super) told: u32,
    pub(super) visible: u32,
    pub(super) versions: Chunk,
}

/// A part that is in flight, or merged and not surely so at the client.
#[derive(Debug)]
pub(super) struct SentPart {
    pub(super) number: u64,
    pub(super) snapshot: u64,
    pub(super) tick: Tick,
    /// The newest part that its baseline was merged of.
    pub(super) base: u64,
    pub(super) chunks: Vec<SentChunk>,
    /// If it told of everything: both ends then have the table.
    pub(super) table: Option<SentTable>,
    pub(super) is_acknowledged: bool,
    /// What it said besides, where the compact codec asks for that.
    pub(super) told: Option<Told>,
}

impl SentPart {
    fn of(table: SentTable, told: Option<Told>, base: u64) -> Self {
        Self {
            number: table.number,
            snapshot: table.snapshot,
            tick: table.tick,
            base,
            chunks: Vec::new(),
            is_acknowledged: table.is_acknowledged,
            table: Some(table),
            told,
        }
    }

    /// Hands out what it told, chunk by chunk.
    fn each(&self, mut each: impl FnMut(usize, u32, u32, &Chunk)) {
        if let Some(table) = &self.table {
            for (chunk, versions) in table.versions.as_chunks().0.iter().enumerate() {
                each(chunk, u32::MAX, chunk_of(&table.visible, chunk), versions);
            }
        }
        for SentChunk { chunk, told, visible, versions } in &self.chunks {
            each(*chunk, *told, *visible, versions);
        }
    }
}

/// What the server knows of a client whose snapshots take several parts.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    /// What the client is known to have: the merged baseline. What it will have if all that is in flight arrives.
    pub(super) known: Had,
    pub(super) sent: Had,
    /// By slot, the newest part in flight that told of it; zero if none.
    sent_in: Vec<u64>,
    /// By slot, the snapshot and the tick of the newest acknowledged part that told of it.
    pub(super) acknowledged_in: Vec<(u64, Tick)>,
    /// By number.
    pub(super) parts: VecDeque<SentPart>,
    /// The newest acknowledged part; zero if there is none, and the baseline is the map as loaded.
    pub(super) newest: u64,
    /// By how many bits more was sent of what the client knew than of what is new to it.
    pub(super) balance: i64,
    /// Bits that what is longer than a budget has saved up.
    pub(super) saved: usize,
    /// How many entities in reach the client is not known to have, and since which tick there are any.
    pub(super) missing: usize,
    pub(super) missing_since: Option<Tick>,
}

impl Bulk {
    /// Begins with what the client has acknowledged, or the map as loaded, and what is in flight.
    pub(super) fn new(loaded: &[VersionId], tables: impl Iterator<Item = SentTable>) -> Self {
        let mut bulk = Self::default();
        bulk.known.versions = loaded.to_vec();
        bulk.sent.versions = loaded.to_vec();
        let tables: Vec<SentTable> = tables.collect();
        let newest = tables.iter().rposition(|table| table.is_acknowledged);
        for table in tables.into_iter().skip(newest.unwrap_or(0)) {
            let told = table.past.as_ref().and_then(|past| past.told);
            bulk.grow(table.versions.len());
            bulk.push(SentPart::of(table, told, 0));
        }
        bulk
    }

    pub(super) fn grow(&mut self, slots: usize) {
        let slots = slots.max(self.sent_in.len());
        self.known.versions.resize(slots, VersionId::NONE);
        self.sent.versions.resize(slots, VersionId::NONE);
        self.sent_in.resize(slots, 0);
        self.acknowledged_in.resize(slots, (0, Tick(0)));
    }

    /// Takes in a part that was sent.
    pub(super) fn push(&mut self, part: SentPart) {
        let Self { sent, sent_in, .. } = self;
        part.each(|chunk, told, visible, versions| {
            sent.take(chunk, told, visible, versions);
            places(told).for_each(|place| sent_in[chunk * CHUNK_SLOTS + place] = part.number);
        });
        let is_acknowledged = part.is_acknowledged;
        self.parts.push_back(part);
        if is_acknowledged {
            self.merge(self.parts.len() - 1);
        }
    }

    /// The complete part of a table.
    pub(super) fn push_table(&mut self, table: SentTable) {
        let told = table.past.as_ref().and_then(|past| past.told);
        let base = self.newest;
        (self.missing, self.missing_since) = (0, None);
        self.grow(table.versions.len());
        self.push(SentPart::of(table, told, base));
    }

    /// Takes in which parts arrived.
    #[cold]
    pub(super) fn acknowledge(&mut self, decoded: Decoded) {
        let mut index = 0;
        while let Some(part) = self.parts.get_mut(index).filter(|p| p.number <= decoded.newest) {
            if part.is_acknowledged {
                index += 1;
            } else if decoded.covers(part.number) {
                part.is_acknowledged = true;
                self.merge(index);
                index += 1;
            } else {
                self.lose(index);
            }
        }
        // Who has decoded the newest has merged what that was built on.
        let newest = self.parts.iter().rfind(|part| part.is_acknowledged);
        let Some(newest) = newest else { return };
        let keep_from = if newest.table.is_some() { newest.number } else { newest.base + 1 };
        while self.parts.pop_front_if(|part| part.number < keep_from).is_some() {}
    }

    fn merge(&mut self, index: usize) {
        let Self { parts, known, sent_in, acknowledged_in, newest, .. } = self;
        let part = &parts[index];
        part.each(|chunk, told, visible, versions| {
            known.take(chunk, told, visible, versions);
            for slot in places(told).map(|place| chunk * CHUNK_SLOTS + place) {
                acknowledged_in[slot] = (part.snapshot, part.tick);
                if sent_in[slot] == part.number {
                    sent_in[slot] = 0;
                }
            }
        });
        *newest = part.number;
    }

    /// A part will never arrive: what it told of and no newer one did is as it was.
    fn lose(&mut self, index: usize) {
        let Some(part) = self.parts.remove(index) else { return };
        let Self { known, sent, sent_in, .. } = self;
        part.each(|chunk, told, _, _| {
            let first = chunk * CHUNK_SLOTS;
            let is_lost = |place: &usize| sent_in[first + place] == part.number;
            let lost = places(told).filter(is_lost).fold(0, |lost, place| lost | 1 << place);
            places(lost).for_each(|place| sent_in[first + place] = 0);
            sent.take(chunk, lost, chunk_of(&known.visible, chunk), known.chunk(chunk));
        });
    }

    /// How a part names the baseline; none if that is too far back to be named.
    pub(super) fn name(&self, number: u64) -> Option<Merge> {
        let merged = self.parts.iter().filter(|part| part.is_acknowledged);
        Merge::of(merged.map(|part| part.number), number)
    }

    /// What the newest of the baseline's parts said; none if it is the map as loaded.
    pub(super) fn told(&self) -> Option<Told> {
        self.parts.iter().rfind(|part| part.is_acknowledged)?.told
    }

    /// The past of a table that is built on the baseline.
    pub(super) fn past(&self) -> SentPast {
        SentPast::of(self.told())
    }

    /// What a part says that is built on the baseline.
    pub(super) fn told_next(&self, number: u64, said: Option<Said>) -> Option<Told> {
        let told = self.told();
        let base = told.as_ref().map(|told| (told, number - self.newest));
        said.map(|said| Told::on(base, said))
    }

    /// The oldest snapshot, and the oldest tick, of which anyone in sight is known.
    pub(super) fn oldest(&self, seen: &Slots) -> (u64, Tick) {
        let known = seen.iter().filter_map(|slot| self.acknowledged_in.get(slot));
        known.copied().min().unwrap_or((0, Tick(0)))
    }

    /// The tables of a client that has a complete part, and nothing else in flight; none if it is not so.
    pub(super) fn take_tables(&mut self) -> Option<Vec<SentTable>> {
        let newest = self.parts.iter().position(|part| part.is_acknowledged)?;
        let is_complete = self.parts.iter().skip(newest).all(|part| part.table.is_some());
        let parts = is_complete.then(|| std::mem::take(&mut self.parts))?;
        let tables = parts.into_iter().filter_map(|part| {
            let table = part.table?;
            Some(SentTable { is_acknowledged: part.is_acknowledged, ..table })
        });
        Some(tables.collect())
    }

    pub(super) fn named(&self) -> impl Iterator<Item = &[VersionId]> {
        let chunks = self.parts.iter().flat_map(|part| &part.chunks);
        let tables = self.parts.iter().filter_map(|part| part.table.as_ref());
        let past = tables.clone().filter_map(|table| table.past.as_deref());
        let had = [&self.known.versions[..], &self.sent.versions[..]].into_iter();
        had.chain(chunks.map(|chunk| &chunk.versions[..]))
            .chain(tables.map(|table| &table.versions[..]))
            .chain(past.flat_map(SentPast::named))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let by_slot = 2 * size_of::<VersionId>() + size_of::<u64>() + size_of::<(u64, Tick)>();
        let chunks: usize = self.parts.iter().map(|part| part.chunks.capacity()).sum();
        let tables = self.parts.iter().filter_map(|part| part.table.as_ref());
        let tables: usize = tables.map(SentTable::memory_bytes).sum();
        self.sent_in.capacity() * by_slot
            + chunks * size_of::<SentChunk>()
            + self.parts.capacity() * size_of::<SentPart>()
            + tables
    }
}
