//! A client's half of the common base: the tables of the parts it has decoded, and what each part brought. How
//! they are written, and what a table is, stands in `snapshot.rs`.

use crate::codec::compact::Compact;
use crate::codec::compact::records::Past;
use crate::core::bits::{BitReader, Malformed};
use crate::core::entity::{EntityId, GENERATION_BITS};
use crate::core::sequence::nearest;
use crate::core::slots::{CHUNK_SLOTS, Slots, places, read_members};
use crate::core::tick::Tick;
use crate::replication::messages::coded::part::{Against, Heading, Incoming, Name, Said, Told};
use crate::replication::messages::decoded::Decoded;
use crate::replication::messages::merge::Merge;
use crate::replication::messages::{
    BACK_BITS, BACK_MAX, CHUNK_BITS, CHUNKS_MAX, NUMBER_BITS, TABLES_MAX,
};
use crate::replication::server::snapshot::chunk_of;
use crate::schema::delta;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};
use merged::Merged;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

mod merged;

/// More parts than this since the last message are many, and are told of in so many messages.
const BURST_PARTS: u64 = 8;
const BURST_TOLD: u32 = 30;

/// What a part brought.
pub(crate) struct ReceivedPart<'a> {
    pub(crate) number: u64,
    /// The table that it names.
    pub(crate) table: &'a Table,
    /// The slots that it is about.
    pub(crate) slots: Range<usize>,
    /// Those of them that changed and are not told of now: whatever was shown of them last stands.
    pub(crate) held: Slots,
    /// Those that it tells nothing of, not even whether they are in sight.
    pub(crate) untold: Slots,
}

/// What a client has: the tables of the parts it decoded.
#[derive(Debug, Default)]
pub(crate) struct ServerTables {
    /// What both ends have before anything is sent.
    loaded: Arc<Table>,
    tables: VecDeque<ReceivedTable>,
    /// A table that is not needed any more, for its memory.
    spare: Option<Arc<Table>>,
    newest: u64,
    /// The newest part that was named as a base.
    named: u64,
    /// The newest part when this was last said, and how many times more what is long past is said, too.
    told: u64,
    says_all: u32,
    /// Whether tables remember what they were built on, as the compact codec asks.
    keeps_past: bool,
    /// While snapshots take several parts.
    merged: Option<Box<Merged>>,
}

#[derive(Clone, Debug, Default)]
struct ReceivedTable {
    number: u64,
    /// The chunks that its part was about.
    chunks: Range<usize>,
    table: Arc<Table>,
    /// What that was built on, and what that was.
    past: [Option<Arc<Table>>; 2],
    told: Told,
}

impl ReceivedTable {
    /// The table of another part that is built on this.
    fn followed_by(
        &self,
        number: u64,
        chunks: Range<usize>,
        table: Arc<Table>,
        said: Said,
    ) -> Self {
        let is_loaded = self.number == 0;
        let before = (!is_loaded).then(|| Arc::clone(&self.table));
        let past = [before, self.past[0].clone()];
        let base = (!is_loaded).then_some((&self.told, number - self.number));
        Self { number, chunks, table, past, told: Told::on(base, said) }
    }

    fn lineage(&self, tick: u32) -> Past<&Table> {
        let [before, earlier] = self.past.each_ref().map(Option::as_deref);
        Past { base: &self.table, before, earlier, spans: self.told.spans_to(tick) }
    }
}

/// Steps a base from one tick to another by the rules, into a table that must have this check; false if that cannot be.
pub(crate) type ForeseeOn<'a> =
    &'a mut dyn FnMut(&Table, (Tick, Tick), u32, &mut Table) -> Result<bool, Malformed>;

impl ServerTables {
    /// A client that has the map and nothing else; its entities are out of sight.
    pub(crate) fn new(mut loaded: Table, keeps_past: bool) -> Self {
        loaded.visible.clear();
        Self { loaded: Arc::new(loaded), keeps_past, ..Self::default() }
    }

    /// Reads a part; none if it is known already, or its base is not there, as when somebody said that we had it.
    /// What was `said` before it is kept with it. The part ends the message.
    pub(crate) fn read(
        &mut self,
        mut bits: BitReader<'_>,
        layouts: &[Layout],
        said: Said,
    ) -> Result<Option<ReceivedPart<'_>>, Malformed> {
        let number = nearest(self.newest, bits.read(NUMBER_BITS) as u16);
        let back = bits.read(BACK_BITS);
        let is_joined = bits.read_bool();
        let mut merged = None;
        // Nothing else is joined to the map as loaded.
        if back == 0 && is_joined {
            let merge = Merge::default().code(&mut bits);
            merged = Some((merge, bits.read_bool()));
        }
        let back = merged.map_or(back, |(merge, _)| merge.back);
        let first = bits.read(CHUNK_BITS) as usize;
        let end = first + bits.read(CHUNK_BITS) as usize;
        if bits.failed() || end > CHUNKS_MAX || number == 0 || number < back {
            return Err(Malformed);
        }
        let name = Name { number, back, is_joined: is_joined && merged.is_none(), merged };
        if let Some((_, false)) = merged {
            return self.read_some(bits, layouts, (name, first..end), said);
        }
        let mut held = bits.read_bool().then(Slots::default);
        if bits.failed() {
            return Err(Malformed);
        }
        let Some(base) = self.base(name, layouts) else {
            return Ok(None);
        };
        let mut table = self.copy_of(&base.table);
        let now = Arc::get_mut(&mut table).ok_or(Malformed)?;
        read_chunks(&mut bits, layouts, &base.table, now, first..end, &mut held);
        bits.finish()?;
        let part = base.followed_by(number, first..end, table, said);
        drop(base);
        self.end_merging(name);
        Ok(self.keep(part, (back > 0).then_some(number - back), held.unwrap_or_default()))
    }

    /// The same for a compact part, which begins the message, with what it says and what `extra` makes of what else it
    /// brings.
    pub(crate) fn read_compact<T>(
        &mut self,
        message: &[u8],
        (compact, layouts): (&mut Compact, &[Layout]),
        newest_tick: u32,
        extra: impl FnOnce(Said, BitReader<'_>) -> Result<T, Malformed>,
        foresee: Option<ForeseeOn<'_>>,
    ) -> Result<Option<(Said, Option<T>, ReceivedPart<'_>)>, Malformed> {
        let mut incoming = Incoming::new(message, self.newest)?;
        let name = incoming.name;
        let Name { number, back, merged, .. } = name;
        if !self.keeps_past {
            return Ok(None);
        }
        if let Some((_, false)) = merged {
            return self.read_some_compact(incoming, (compact, layouts), newest_tick, extra);
        }
        let Some(base) = self.base(incoming.name, layouts) else {
            return Ok(None);
        };
        let told = (back > 0).then_some(&base.told);
        let foresee = foresee.filter(|_| merged.is_none());
        let foresees = foresee.is_some();
        let against = Against { told, end: base.chunks.end, newest_tick, foresees };
        let heading = incoming.heading(against)?;
        let brought = heading.extra.as_ref();
        let brought = brought.map(|(bytes, _)| extra(heading.said, BitReader::new(bytes)));
        let brought = brought.transpose()?;
        let (mut table, mut held) = (self.copy_of(&base.table), Slots::default());
        let now = Arc::get_mut(&mut table).ok_or(Malformed)?;
        let lineage = base.lineage(heading.said.tick);
        let mut foreseen = Table::default();
        if let Some((expected, foresee)) = heading.foreseen.zip(foresee) {
            let ticks = (Tick(base.told.said.tick), Tick(heading.said.tick));
            if !foresee(&base.table, ticks, expected, &mut foreseen)? {
                return Ok(None);
            }
        }
        let before = (lineage, &foreseen);
        incoming.entities(compact, layouts, &heading, before, None, (now, &mut held))?;
        let Heading { said, chunks, .. } = heading;
        let part = base.followed_by(number, chunks, table, said);
        drop(base);
        self.end_merging(name);
        let part = self.keep(part, (back > 0).then_some(number - back), held);
        Ok(part.map(|part| (said, brought, part)))
    }

    /// A copy of a table that nobody else has.
    fn copy_of(&mut self, base: &Table) -> Arc<Table> {
        let mut table = self.spare.take().unwrap_or_default();
        match Arc::get_mut(&mut table) {
            Some(copy) => copy.copy_from(base),
            None => table = Arc::new(base.clone()),
        }
        table
    }

    /// What a part is built on; none if that is not there, or the part is.
    fn base(&mut self, name: Name, layouts: &[Layout]) -> Option<ReceivedTable> {
        let Name { number, back, is_joined, merged } = name;
        if self.tables.iter().any(|table| table.number == number) {
            return None;
        }
        if merged.is_some() {
            return Some(self.merge(name, layouts)?.as_base());
        }
        if is_joined {
            return self.join(number - back, layouts);
        }
        if back == 0 {
            let table = Arc::clone(&self.loaded);
            return Some(ReceivedTable { table, ..ReceivedTable::default() });
        }
        find(&self.tables, number - back).cloned()
    }

    /// Keeps the table of a part that was read.
    fn keep(
        &mut self,
        mut part: ReceivedTable,
        named: Option<u64>,
        held: Slots,
    ) -> Option<ReceivedPart<'_>> {
        let (number, chunks) = (part.number, part.chunks.clone());
        if !self.keeps_past {
            part.past = [None, None];
        }
        self.newest = self.newest.max(number);
        self.named = self.named.max(named.unwrap_or(0));
        let place = self.tables.partition_point(|table| table.number < number);
        self.tables.insert(place, part);
        while let Some(oldest) = self.tables.pop_front_if(|oldest| {
            // The server keeps its last ones and the newest that it knows us to have, no older than the
            // one it named.
            let is_past = oldest.number + (TABLES_MAX as u64) < self.newest;
            is_past && (oldest.number < self.named || oldest.number + BACK_MAX < self.newest)
        }) {
            // Its memory, unless others remember it.
            let mut table = oldest.table;
            if Arc::get_mut(&mut table).is_some() {
                self.spare = Some(table);
            }
        }
        let place = self.tables.partition_point(|table| table.number < number);
        let kept = self.tables.get(place).filter(|kept| kept.number == number)?;
        let slots = chunks.start * CHUNK_SLOTS..chunks.end * CHUNK_SLOTS;
        Some(ReceivedPart { number, table: &kept.table, slots, held, untold: Slots::default() })
    }

    /// The table of a part, with what those before it in its snapshot were about; none if one is not there.
    fn join(&self, number: u64, layouts: &[Layout]) -> Option<ReceivedTable> {
        let mut part = find(&self.tables, number).filter(|part| part.chunks.start > 0)?;
        let mut joined = part.clone();
        let mut table = Table::clone(&part.table);
        while part.chunks.start > 0 {
            let before = find(&self.tables, part.number - 1)?;
            if before.chunks.end != part.chunks.start {
                return None;
            }
            let slots = before.chunks.start * CHUNK_SLOTS..before.chunks.end * CHUNK_SLOTS;
            table.copy_slots(&before.table, slots, layouts);
            part = before;
        }
        joined.table = Arc::new(table);
        // They may have been built on different ones.
        joined.past = [None, None];
        Some(joined)
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.tables.len()
    }

    /// The newest part.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Which parts were decoded. Of those more than 32 ago most was said before; not so when many came at once.
    pub(crate) fn acknowledgement(&mut self) -> Decoded {
        if self.newest - self.told > BURST_PARTS || self.merged.is_some() {
            self.says_all = BURST_TOLD;
        }
        self.told = self.newest;
        let reach = if self.says_all > 0 { 64 } else { 32 };
        self.says_all = self.says_all.saturating_sub(1);
        let bit = |number: u64| match self.newest - number {
            back if (1..=reach).contains(&back) => 1 << (back - 1),
            _ => 0,
        };
        let before = self.tables.iter().fold(0, |bits, table| bits | bit(table.number));
        let merged = self.merged.iter().flat_map(|merged| &merged.decoded);
        let before = merged.fold(before, |bits, number| bits | bit(*number));
        Decoded { newest: self.newest, before }
    }
}

fn find(tables: &VecDeque<ReceivedTable>, number: u64) -> Option<&ReceivedTable> {
    tables.iter().find(|table| table.number == number)
}

fn read_chunks(
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
    base: &Table,
    now: &mut Table,
    chunks: Range<usize>,
    held: &mut Option<Slots>,
) {
    let mut visible = base.visible.clone();
    for chunk in chunks {
        let in_sight = read_visible(bits, chunk_of(&base.visible, chunk));
        visible.set_chunk(chunk, in_sight);
        let members = read_changed(bits, in_sight);
        let whole = read_members(bits, members);
        if let Some(held) = held {
            held.set_chunk(chunk, read_members(bits, in_sight & !members));
        }
        for place in places(members) {
            let is_whole = whole & 1 << place != 0;
            read_entity(bits, layouts, base, now, (chunk * CHUNK_SLOTS + place, is_whole));
            if bits.failed() {
                return;
            }
        }
        // In sight without a state: nobody sends that.
        if places(in_sight).any(|place| now.head(chunk * CHUNK_SLOTS + place).is_none()) {
            return bits.fail();
        }
    }
    now.visible = visible;
}

fn read_entity(
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
    base: &Table,
    now: &mut Table,
    (slot, is_whole): (usize, bool),
) {
    let head = if is_whole {
        EntityId::new(slot, bits.read(GENERATION_BITS) as u32)
            .map(|id| Head { id, kind: bits.read(8) as u8 })
    } else {
        base.head(slot)
    };
    let Some(head) = head.filter(|head| usize::from(head.kind) < layouts.len()) else {
        return bits.fail();
    };
    let layout = &layouts[usize::from(head.kind)];
    let words = now.place(head, layout);
    let against = if is_whole { layout.initial() } else { base.record(slot, layout) };
    delta::read(bits, layout, against, words);
}

fn read_visible(bits: &mut BitReader<'_>, base: u32) -> u32 {
    if !bits.read_bool() {
        return base;
    }
    let now = bits.read(CHUNK_SLOTS as u32) as u32;
    if now == base {
        bits.fail();
    }
    now
}

fn read_changed(bits: &mut BitReader<'_>, in_sight: u32) -> u32 {
    if in_sight == 0 || !bits.read_bool() {
        return 0;
    }
    let members = in_sight & !read_members(bits, in_sight);
    if members == 0 {
        bits.fail();
    }
    members
}
