//! A client's half of the merged baseline: what the server knows it to have of a world that does not fit one datagram,
//! and the parts that it may come to know of. How they are merged, and why both ends have the same, stands in
//! `snapshot/merge.rs`.

use super::{ReceivedPart, ReceivedTable, ServerTables, read_changed, read_entity, read_visible};
use crate::codec::compact::Compact;
use crate::codec::compact::records::Past;
use crate::core::bits::{BitReader, Malformed};
use crate::core::slots::{CHUNK_SLOTS, Slots, places, read_members};
use crate::replication::messages::coded::part::{Against, Incoming, Name, Said, Told};
use crate::replication::messages::merge::MERGE_BACK_MAX;
use crate::replication::server::snapshot::chunk_of;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Parts so far behind the newest are never named any more: the newest that is named is at most
/// [`MERGE_BACK_MAX`] back, and the oldest as far back from there.
const PATCHES_BACK_MAX: u64 = 2 * MERGE_BACK_MAX;
/// An acknowledgement tells of the newest and so many before it.
const DECODED_BACK_MAX: u64 = 64;

/// The merged baseline, and the parts that may be merged into it.
#[derive(Debug, Default)]
pub(super) struct Merged {
    table: Table,
    /// The newest part in it; zero if it is the map as loaded.
    newest: u64,
    told: Told,
    /// By number, newer than that.
    patches: VecDeque<Patch>,
    /// The numbers of the parts that came and told of some slots.
    pub(super) decoded: VecDeque<u64>,
    /// What the last part told.
    last: Table,
}

/// What a part told of some slots.
#[derive(Debug)]
pub(super) struct Patch {
    number: u64,
    slots: Slots,
    visible: Slots,
    /// Who stands where, and where in `words` the record begins.
    heads: Vec<(Head, usize)>,
    words: Vec<u32>,
    told: Told,
}

impl Patch {
    fn of(number: u64, slots: Slots, table: &Table, layouts: &[Layout], told: Told) -> Self {
        let (mut heads, mut words) = (Vec::new(), Vec::new());
        for (slot, head) in slots.iter().filter_map(|slot| Some((slot, table.head(slot)?))) {
            heads.push((head, words.len()));
            words.extend_from_slice(table.record(slot, &layouts[usize::from(head.kind)]));
        }
        Self { number, slots, visible: table.visible.clone(), heads, words, told }
    }

    fn apply(&self, table: &mut Table, layouts: &[Layout]) {
        // Where the part's own baseline had nobody, nobody is: also if a part before it told of somebody there.
        self.slots.iter().for_each(|slot| table.vacate(slot));
        for (head, start) in &self.heads {
            let layout = &layouts[usize::from(head.kind)];
            let record = &self.words[*start..][..layout.len()];
            table.place(*head, layout).copy_from_slice(record);
        }
        for (chunk, told) in self.slots.chunks().iter().enumerate() {
            let kept = chunk_of(&table.visible, chunk) & !told;
            table.visible.set_chunk(chunk, kept | chunk_of(&self.visible, chunk) & told);
        }
    }
}

impl Merged {
    /// What a complete part is built on.
    pub(super) fn as_base(&self) -> ReceivedTable {
        let (number, table) = (self.newest, Arc::new(self.table.clone()));
        let (chunks, past, told) = (0..0, [None, None], self.told);
        ReceivedTable { number, chunks, table, past, told }
    }

    fn told_next(&self, number: u64, said: Said) -> Told {
        let base = (self.newest > 0).then_some((&self.told, number - self.newest));
        Told::on(base, said)
    }
}

impl ServerTables {
    /// Merges what a part names; none if something of that is not there, or the part is late.
    pub(super) fn merge(&mut self, name: Name, layouts: &[Layout]) -> Option<&mut Merged> {
        let Self { merged, tables, loaded, newest, .. } = self;
        let (merge, _) = name.merged?;
        if name.number <= *newest {
            return None;
        }
        let merged = merged.get_or_insert_with(|| {
            Box::new(Merged { table: Table::clone(loaded), ..Merged::default() })
        });
        if merge.back == 0 {
            if merged.newest > 0 {
                merged.table.copy_from(loaded);
                (merged.newest, merged.told) = (0, Told::default());
            }
            return Some(merged);
        }
        let news = || merge.parts(name.number).filter(|part| *part > merged.newest);
        let patch = |number: u64| merged.patches.iter().position(|patch| patch.number == number);
        let table = |number: u64| tables.iter().find(|table| table.number == number);
        let is_there = |number: u64| patch(number).is_some() || table(number).is_some();
        if name.number - merge.back < merged.newest || !news().all(is_there) {
            return None;
        }
        for number in news().collect::<Vec<_>>() {
            if let Some(table) = tables.iter().find(|table| table.number == number) {
                merged.table.copy_from(&table.table);
                merged.told = table.told;
            }
            if let Some(patch) = merged.patches.iter().find(|patch| patch.number == number) {
                patch.apply(&mut merged.table, layouts);
                merged.told = patch.told;
            }
            merged.newest = number;
        }
        let merged_up_to = merged.newest;
        while merged.patches.pop_front_if(|patch| patch.number <= merged_up_to).is_some() {}
        Some(merged)
    }

    /// Forgets the merged baseline once parts name single tables again.
    pub(super) fn end_merging(&mut self, name: Name) {
        if name.merged.is_none() && name.number > self.newest {
            self.merged = None;
        }
    }

    /// Reads the chunks of a part that tells of some slots.
    pub(super) fn read_some(
        &mut self,
        mut bits: BitReader<'_>,
        layouts: &[Layout],
        (name, chunks): (Name, Range<usize>),
        said: Said,
    ) -> Result<Option<ReceivedPart<'_>>, Malformed> {
        let Some(merged) = self.merge(name, layouts) else { return Ok(None) };
        let mut told = Slots::default();
        let mut now = Table::default();
        read_told(&mut bits, layouts, &merged.table, &mut now, chunks.clone(), &mut told);
        bits.finish()?;
        Ok(Some(self.keep_some((name.number, chunks), (told, now), layouts, said)))
    }

    /// The same for a compact part.
    pub(super) fn read_some_compact<T>(
        &mut self,
        mut incoming: Incoming<'_>,
        (compact, layouts): (&mut Compact, &[Layout]),
        newest_tick: u32,
        extra: impl FnOnce(Said, BitReader<'_>) -> Result<T, Malformed>,
    ) -> Result<Option<(Said, Option<T>, ReceivedPart<'_>)>, Malformed> {
        let name = incoming.name;
        let Some(merged) = self.merge(name, layouts) else { return Ok(None) };
        let told = (name.back > 0).then_some(&merged.told);
        let heading = incoming.heading(Against { told, end: 0, newest_tick, foresees: false })?;
        let told_of = incoming.told_of(heading.chunks.clone())?;
        if heading.holds_back {
            return Err(Malformed);
        }
        let brought = heading.extra.as_ref();
        let brought = brought.map(|(bytes, _)| extra(heading.said, BitReader::new(bytes)));
        let brought = brought.transpose()?;
        let spans = merged.told.spans_to(heading.said.tick);
        let lineage = Past { base: &merged.table, before: None, earlier: None, spans };
        let (mut now, mut held, foreseen) = (Table::default(), Slots::default(), Table::default());
        let known = (lineage, &foreseen);
        let into = (&mut now, &mut held);
        incoming.entities(compact, layouts, &heading, known, Some(&told_of), into)?;
        let (said, chunks) = (heading.said, heading.chunks);
        let part = self.keep_some((name.number, chunks), (told_of, now), layouts, said);
        Ok(Some((said, brought, part)))
    }

    /// Keeps what a part told of some slots; `now` has what changed of them, and who is in sight.
    fn keep_some(
        &mut self,
        (number, chunks): (u64, Range<usize>),
        (told, mut now): (Slots, Table),
        layouts: &[Layout],
        said: Said,
    ) -> ReceivedPart<'_> {
        self.newest = self.newest.max(number);
        let newest = self.newest;
        let merged = self.merged.get_or_insert_default();
        let told_chunks = told.chunks().iter().zip(now.visible.chunks());
        let visible: Vec<u32> = told_chunks.map(|(told, visible)| told & visible).collect();
        // What did not change is as it was.
        for slot in told.iter().filter(|slot| now.head(*slot).is_none()).collect::<Vec<_>>() {
            let Some(head) = merged.table.head(slot) else { continue };
            let layout = &layouts[usize::from(head.kind)];
            now.place(head, layout).copy_from_slice(merged.table.record(slot, layout));
        }
        now.visible.clear();
        now.visible.insert_chunks(visible.into_iter());
        let patch = Patch::of(number, told, &now, layouts, merged.told_next(number, said));
        let slots = chunks.start * CHUNK_SLOTS..chunks.end * CHUNK_SLOTS;
        let untold = slots.clone().filter(|slot| !patch.slots.contains(*slot)).collect();
        merged.patches.push_back(patch);
        let is_past = |patch: &mut Patch| patch.number + PATCHES_BACK_MAX < newest;
        while merged.patches.pop_front_if(is_past).is_some() {}
        merged.decoded.push_back(number);
        while merged.decoded.pop_front_if(|old| *old + DECODED_BACK_MAX < newest).is_some() {}
        merged.last = now;
        ReceivedPart { number, table: &merged.last, slots, held: Slots::default(), untold }
    }
}

/// Reads chunks of which some slots are told of: who of them changed into `now`, and who is in sight.
pub(super) fn read_told(
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
    base: &Table,
    now: &mut Table,
    chunks: Range<usize>,
    told: &mut Slots,
) {
    let mut visible = Slots::default();
    for chunk in chunks {
        if !bits.read_bool() {
            continue;
        }
        let mut mask = u32::MAX;
        if !bits.read_bool() {
            mask = bits.read(CHUNK_SLOTS as u32) as u32;
            if mask == 0 || mask == u32::MAX {
                return bits.fail();
            }
        }
        told.set_chunk(chunk, mask);
        let in_sight = read_visible(bits, chunk_of(&base.visible, chunk) & mask);
        if in_sight & !mask != 0 {
            return bits.fail();
        }
        visible.set_chunk(chunk, in_sight);
        let members = read_changed(bits, in_sight);
        let whole = read_members(bits, members);
        for place in places(members) {
            let is_whole = whole & 1 << place != 0;
            read_entity(bits, layouts, base, now, (chunk * CHUNK_SLOTS + place, is_whole));
            if bits.failed() {
                return;
            }
        }
        let has_state = |slot: usize| now.head(slot).or(base.head(slot)).is_some();
        if places(in_sight).any(|place| !has_state(chunk * CHUNK_SLOTS + place)) {
            return bits.fail();
        }
    }
    now.visible = visible;
}
