//! Which of a client's tables a part is built on, and which nobody needs any more.

use super::{
    BACK_MAX, CHUNK_SLOTS, ClientBase, Mutant, SPARE_TABLES, SentTable, TABLES_MAX, chunk_of,
    mutant,
};
use std::ops::Range;

impl ClientBase {
    /// Joins parts of one snapshot that follow each other, from its first on: each gets what those before it are about.
    pub(super) fn join_parts(&mut self) {
        // Most snapshots have one part.
        if self.tables.iter().all(|table| table.chunks.start == 0) {
            return;
        }
        let tables = self.tables.make_contiguous();
        for index in 1..tables.len() {
            let [before, rest] = &mut tables[index - 1..=index] else { continue };
            let is_mutant = mutant::is(Mutant::BaselineJoinedAPartEarly);
            let follows = (before.is_acknowledged || is_mutant)
                && rest.is_acknowledged
                && before.number + 1 == rest.number
                && before.chunks.start == 0
                && before.chunks.end == rest.chunks.start
                && rest.chunks.start > 0;
            if follows {
                let slots = before.chunks.end * CHUNK_SLOTS;
                let slots = slots.min(before.versions.len()).min(rest.versions.len());
                rest.versions[..slots].copy_from_slice(&before.versions[..slots]);
                for chunk in before.chunks.clone() {
                    rest.visible.set_chunk(chunk, chunk_of(&before.visible, chunk));
                }
                (rest.first, rest.chunks.start) = (before.first, 0);
            }
        }
    }

    /// Takes away tables whose range a newer acknowledged one has: nothing will be built on them any
    /// more, whether the client has them or not.
    pub(super) fn retire(&mut self) {
        // Behind the newest acknowledged one there is none that could.
        let Some(mut newest) = self.tables.iter().rposition(|table| table.is_acknowledged) else {
            return;
        };
        let mut index = 0;
        while index < newest {
            let old = &self.tables[index].chunks;
            let covers = |new: &SentTable| {
                new.is_acknowledged && new.chunks.start <= old.start && old.end <= new.chunks.end
            };
            if self.tables.range(index + 1..).any(covers) {
                self.spare.extend(self.tables.remove(index));
                newest -= 1;
            } else {
                index += 1;
            }
        }
        self.spare.truncate(SPARE_TABLES);
    }

    /// The newest table that the client has and that carried these chunks or, if there is none, the
    /// newest of all.
    pub(super) fn base_for(&self, chunks: &Range<usize>) -> Option<usize> {
        let number = self.last_number + 1;
        let usable = |index: &usize| {
            let table = &self.tables[*index];
            table.is_acknowledged && number - table.first <= BACK_MAX
        };
        let overlaps = |index: &usize| {
            let table = &self.tables[*index].chunks;
            table.start <= chunks.start && chunks.start < table.end.max(1)
        };
        let newest_first = || (0..self.tables.len()).rev().filter(usable);
        newest_first().find(overlaps).or_else(|| newest_first().next())
    }

    /// Keeps the table of a part that was sent.
    #[inline]
    pub(super) fn keep(&mut self, now: SentTable) {
        self.tables.push_back(now);
        if self.tables.len() > TABLES_MAX || self.bulk.is_some() {
            self.make_room();
        }
    }

    /// Gives up a table, or hands the newest to those of a large world.
    #[cold]
    fn make_room(&mut self) {
        match &mut self.bulk {
            None => self.forget_one(),
            Some(bulk) => self.tables.drain(..).for_each(|table| bulk.push_table(table)),
        }
    }

    /// Forgets the oldest table that is not the newest acknowledged one.
    fn forget_one(&mut self) {
        let newest = self.tables.iter().rposition(|table| table.is_acknowledged);
        let oldest = (0..self.tables.len()).find(|index| Some(*index) != newest);
        self.spare.extend(self.tables.remove(oldest.unwrap_or(0)));
    }
}
