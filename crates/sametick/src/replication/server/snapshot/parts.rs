//! Writes the parts of a large world's snapshot.

use super::bulk::{Bulk, SentChunk, SentPart};
use super::survey::{Room, Unit, arrange};
use super::{
    Back, CHUNK_BITS, ClientBase, Frame, NUMBER_BITS, Own, SentTable, Tick, chunk_of, different,
    places_of, write_changed, write_visible,
};
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::slots::{CHUNK_SLOTS, Slots, places, write_members};
use crate::core::tick::PlayerId;
use crate::replication::messages::merge::Merge;
use crate::replication::versions::{Chunk, VersionId};
use std::ops::Range;

/// What precedes the chunks of a part, but for the name of its baseline: its number, that the baseline is merged, that
/// the part is not complete, and its chunks.
const PART_HEAD_BITS: usize = (NUMBER_BITS + super::BACK_BITS + 1 + 1 + 2 * CHUNK_BITS) as usize;

/// Whether a part told of everything, or of some.
pub(super) const COMPLETE: u64 = 1;

/// A part of some units: its chunks, and of which slots of each it tells.
pub(super) struct Chosen<'a> {
    pub(super) chunks: Range<usize>,
    pub(super) told: Slots,
    /// By chunk and slot.
    pub(super) units: Vec<&'a Unit>,
}

impl<'a> Chosen<'a> {
    pub(super) fn of(units: &'a [Unit]) -> Self {
        let mut units: Vec<&Unit> = units.iter().collect();
        units.sort_unstable_by_key(|unit| (unit.chunk, unit.told.trailing_zeros()));
        let mut told = Slots::default();
        for unit in &units {
            told.set_chunk(unit.chunk, chunk_of(&told, unit.chunk) | unit.told);
        }
        let first = units.first().map_or(0, |unit| unit.chunk);
        let chunks = first..units.last().map_or(0, |unit| unit.chunk + 1);
        Self { chunks, told, units }
    }
}

impl Bulk {
    /// What precedes the chunks of a part.
    pub(super) fn head_bits(&self, number: u64) -> usize {
        PART_HEAD_BITS + self.name(number).unwrap_or_default().bits()
    }
}

impl ClientBase {
    /// Begins to send a world that does not fit one datagram.
    pub(super) fn begin_bulk(&mut self, slots: usize) -> Box<Bulk> {
        let bulk = self.bulk.take();
        let mut bulk =
            bulk.unwrap_or_else(|| Box::new(Bulk::new(&self.loaded, self.tables.drain(..))));
        bulk.grow(slots);
        bulk
    }

    /// Goes back to parts that name one table, if the client has one.
    #[cold]
    pub(super) fn leave_bulk(&mut self) {
        if let Some(tables) = self.bulk.as_mut().and_then(|bulk| bulk.take_tables()) {
            self.tables.extend(tables);
            self.bulk = None;
        }
    }

    /// The merged baseline as a table, for a part that tells of everything, and how far back that is. If what the
    /// client has acknowledged is too long ago to be named, it is told anew of everything.
    #[cold]
    pub(super) fn next_merged(&mut self, slots: usize) -> (SentTable, Back) {
        let number = self.last_number + 1;
        let mut now = self.spare.pop().unwrap_or_default();
        let mut back = Back { parts: 0, is_joined: false };
        (now.number, now.first, now.is_acknowledged) = (number, number, false);
        let Some(bulk) = &mut self.bulk else { return (now, back) };
        if bulk.name(number).is_none() {
            **bulk = Bulk::new(&self.loaded, std::iter::empty());
        }
        bulk.grow(slots);
        now.versions.clone_from(&bulk.known.versions);
        now.visible.clone_from(&bulk.known.visible);
        (now.snapshot, now.tick) = bulk.oldest(&self.seen);
        now.chunks = 0..slots.div_ceil(CHUNK_SLOTS);
        now.past = self.said.map(|_| Box::new(bulk.past()));
        back.parts = if bulk.newest > 0 { number - bulk.newest } else { 0 };
        (now, back)
    }

    /// Writes the name of a part that tells of everything, and its chunks.
    #[cold]
    pub(super) fn write_complete(&self, number: u64, range: u64, bits: &mut BitWriter) {
        let name = self.bulk.as_ref().and_then(|bulk| bulk.name(number));
        write_merged(bits, number, name.unwrap_or_default(), true);
        bits.write(range, 2 * CHUNK_BITS + 1);
    }

    /// Writes the parts of a snapshot of a large world, and hands each out as [`write`](ClientBase::write) does, which
    /// found that it is large.
    #[cold]
    pub(crate) fn write_bulk(
        &mut self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (viewer, visible): (PlayerId, &Slots),
        (bytes_max, budget_bytes): (usize, usize),
        part: &mut dyn FnMut(u64, &mut BitWriter, bool),
        bits: &mut BitWriter,
    ) {
        let slots = frame.versions.slots_used();
        let (own, chunks) = (frame.versions.owned(viewer), slots.div_ceil(CHUNK_SLOTS));
        let mut bulk = self.begin_bulk(slots);
        let head_bits = bits.bits_written() + bulk.head_bits(self.last_number + 1) + chunks;
        let part_bits = (8 * bytes_max).saturating_sub(head_bits);
        let units = self.survey(&mut bulk, frame, (own, visible), part_bits);
        let units = arrange(units, bulk.balance);
        let parts = self.parts_max();
        let mut room = Room { part_bits, budget_bits: 8 * budget_bytes, parts };
        let mut packed = Vec::new();
        let mut from = 0;
        // One at least: a snapshot of which nothing has room says so.
        while packed.is_empty() || from < units.len() && room.parts > 0 {
            let count = bulk.pack(&units[from..], chunks, &mut room);
            if count > 0 || packed.is_empty() {
                packed.push(from..from + count);
            }
            from += count;
            room.parts = room.parts.saturating_sub(1);
        }
        for (index, range) in packed.iter().enumerate() {
            let chosen = Chosen::of(&units[range.clone()]);
            self.write_some(&mut bulk, frame, (own, visible), &chosen, bits);
            part(self.last_number, bits, index + 1 < packed.len());
        }
        self.bulk = Some(bulk);
        self.last_turn = frame.turn;
    }

    /// Writes a part that tells of some slots.
    pub(super) fn write_some(
        &mut self,
        bulk: &mut Bulk,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        chosen: &Chosen<'_>,
        bits: &mut BitWriter,
    ) {
        let number = self.last_number + 1;
        write_merged(bits, number, bulk.name(number).unwrap_or_default(), false);
        let Chosen { chunks, told, units } = chosen;
        bits.write(chunks.start as u64 | (chunks.len() as u64) << CHUNK_BITS, 2 * CHUNK_BITS);
        let mut rest = &units[..];
        for chunk in chunks.clone() {
            let told = chunk_of(told, chunk);
            bits.write_bool(told != 0);
            if told == 0 {
                continue;
            }
            bits.write_bool(told == u32::MAX);
            if told != u32::MAX {
                bits.write(u64::from(told), CHUNK_SLOTS as u32);
            }
            let count = rest.iter().take_while(|unit| unit.chunk == chunk).count();
            let (here, behind) = rest.split_at(count);
            rest = behind;
            let candidates =
                || here.iter().flat_map(|unit| &frame.candidates[unit.candidates.clone()]);
            let [members, whole] = candidates().fold([0, 0], |[members, whole], candidate| {
                [members | candidate.change.members, whole | candidate.change.whole]
            });
            let in_sight = in_reach(frame, visible, chunk) & told;
            write_visible(bits, in_sight, chunk_of(&bulk.known.visible, chunk) & told);
            write_changed(bits, members, in_sight);
            write_members(bits, whole, members);
            candidates().for_each(|candidate| frame.changes.write_apart(candidate.change, bits));
        }
        self.sent_some(bulk, frame, (own, visible), chosen);
    }

    /// Notes that a part was sent that tells of some slots.
    pub(super) fn sent_some(
        &mut self,
        bulk: &mut Bulk,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        chosen: &Chosen<'_>,
    ) {
        self.last_number += 1;
        let mut sent = Vec::new();
        for chunk in chosen.chunks.clone() {
            let told = chunk_of(&chosen.told, chunk);
            if told == 0 {
                continue;
            }
            let in_sight = in_reach(frame, visible, chunk) & told;
            let versions = told_versions(bulk, frame, own, (chunk, in_sight));
            let members = different(&versions, bulk.known.chunk(chunk));
            for place in places(members) {
                self.carried[chunk * CHUNK_SLOTS + place] = self.snapshots;
            }
            self.note_seen(chunk, chunk_of(&self.seen, chunk) & !told | in_sight);
            sent.push(SentChunk { chunk, told, visible: in_sight, versions });
        }
        let part = SentPart {
            number: self.last_number,
            snapshot: self.snapshots,
            tick: frame.versions.tick(),
            base: bulk.newest,
            chunks: sent,
            table: None,
            is_acknowledged: false,
            told: bulk.told_next(self.last_number, self.said),
        };
        bulk.push(part);
    }

    /// Entities in reach that the client is not known to have, and since which tick there are any.
    pub(crate) fn missing(&self) -> Option<(usize, Tick)> {
        let bulk = self.bulk.as_ref()?;
        Some((bulk.missing, bulk.missing_since?))
    }
}

/// Who of a chunk the client is to see.
pub(super) fn in_reach<F>(frame: &Frame<'_, F>, visible: &Slots, chunk: usize) -> u32 {
    let is_there = different(frame.versions.chunk(chunk), &[VersionId::NONE; CHUNK_SLOTS]);
    chunk_of(visible, chunk) & is_there
}

/// What the client will have of a chunk, those being in sight that a part tells of.
pub(super) fn told_versions<F>(
    bulk: &Bulk,
    frame: &Frame<'_, F>,
    own: Own<'_>,
    (chunk, in_sight): (usize, u32),
) -> Chunk {
    let mut versions = *bulk.known.chunk(chunk);
    let newest = frame.versions.chunk(chunk);
    places(in_sight).for_each(|place| versions[place] = newest[place]);
    for place in places(in_sight & places_of(own, chunk)) {
        versions[place] = frame.versions.newest(chunk * CHUNK_SLOTS + place, own);
    }
    versions
}

/// Writes a part's number and that its baseline is merged, of what, and whether the part tells of everything.
pub(super) fn write_merged(bits: &mut BitWriter, number: u64, merge: Merge, is_complete: bool) {
    // No other part is joined to the map as loaded.
    let escape = 1 << (NUMBER_BITS + super::BACK_BITS);
    bits.write(number & 0xffff | escape, NUMBER_BITS + super::BACK_BITS + 1);
    merge.code(bits);
    bits.write(u64::from(is_complete) * COMPLETE, 1);
}
