//! A client's half of the common base: the tables of the parts it has decoded, and what each part brought. How
//! they are written, and what a table is, stands in `snapshot.rs`.

use crate::bits::BitReader;
use crate::delta;
use crate::entity::{EntityId, GENERATION_BITS};
use crate::record::Layout;
use crate::slots::{CHUNK_SLOTS, Slots, places, read_members};
use crate::snapshot::{
    BACK_BITS, BACK_MAX, CHUNK_BITS, CHUNKS_MAX, NUMBER_BITS, TABLES_MAX, chunk_of,
};
use crate::table::{Head, Table};
use std::collections::VecDeque;
use std::ops::Range;

/// What a part brought.
pub(crate) struct ReceivedPart<'a> {
    /// The table that it names.
    pub(crate) table: &'a Table,
    /// The slots that it is about.
    pub(crate) slots: Range<usize>,
    /// Those of them that changed and are not told of now: whatever was shown of them last stands.
    pub(crate) held: Slots,
}

/// What a client has: the tables of the parts it decoded.
#[derive(Debug, Default)]
pub(crate) struct ServerTables {
    /// What both ends have before anything is sent.
    loaded: Table,
    tables: VecDeque<ReceivedTable>,
    /// A table that is not needed any more, for its memory.
    spare: Table,
    newest: u64,
    /// The newest part that was named as a base.
    named: u64,
}

#[derive(Debug, Default)]
struct ReceivedTable {
    number: u64,
    table: Table,
}

impl ServerTables {
    /// A client that has the map and nothing else; its entities are out of sight.
    pub(crate) fn new(mut loaded: Table) -> Self {
        loaded.visible.clear();
        Self { loaded, ..Self::default() }
    }

    /// Reads a part; none if it is damaged, known already, or its base is gone.
    pub(crate) fn read(
        &mut self,
        bits: &mut BitReader<'_>,
        layouts: &[Layout],
    ) -> Option<ReceivedPart<'_>> {
        let number = nearest(self.newest, bits.read(NUMBER_BITS) as u16);
        let back = bits.read(BACK_BITS);
        let first = bits.read(CHUNK_BITS) as usize;
        let end = first + bits.read(CHUNK_BITS) as usize;
        let mut held = bits.read_bool().then(Slots::default);
        let known = self.tables.iter().any(|table| table.number == number);
        if bits.failed() || end > CHUNKS_MAX || known || number == 0 {
            return None;
        }
        let named = number.checked_sub(back)?;
        let base = if back == 0 {
            &self.loaded
        } else {
            &self.tables.iter().find(|table| table.number == named)?.table
        };
        let mut table = std::mem::take(&mut self.spare);
        table.copy_from(base);
        read_chunks(bits, layouts, base, &mut table, first..end, &mut held);
        if bits.failed() {
            return None;
        }
        self.newest = self.newest.max(number);
        if back > 0 {
            self.named = self.named.max(named);
        }
        let place = self.tables.partition_point(|table| table.number < number);
        self.tables.insert(place, ReceivedTable { number, table });
        while let Some(oldest) = self.tables.pop_front_if(|oldest| {
            // The server keeps its last ones and the newest that it knows us to have, no older than the
            // one it named.
            let is_past = oldest.number + (TABLES_MAX as u64) < self.newest;
            is_past && (oldest.number < self.named || oldest.number + BACK_MAX < self.newest)
        }) {
            self.spare = oldest.table;
        }
        let place = self.tables.partition_point(|table| table.number < number);
        let table = &self.tables.get(place).filter(|kept| kept.number == number)?.table;
        let slots = first * CHUNK_SLOTS..end * CHUNK_SLOTS;
        Some(ReceivedPart { table, slots, held: held.unwrap_or_default() })
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.tables.len()
    }

    /// The newest part and, a bit each, which of the 32 before it were decoded.
    pub(crate) fn acknowledgement(&self) -> (u64, u32) {
        let bit = |table: &ReceivedTable| match self.newest - table.number {
            back @ 1..=32 => 1 << (back - 1),
            _ => 0,
        };
        (self.newest, self.tables.iter().fold(0, |bits, table| bits | bit(table)))
    }
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

/// The number nearest to `around` with these low bits; before the first there is none.
pub(crate) fn nearest(around: u64, low: u16) -> u64 {
    let ahead = low.wrapping_sub(around as u16).cast_signed();
    around.checked_add_signed(i64::from(ahead)).unwrap_or(0)
}
