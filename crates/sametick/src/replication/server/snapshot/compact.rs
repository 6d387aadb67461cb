//! Writes a snapshot's parts with the compact codec. How much fits is known only once it is written: everything is
//! tried first, then what plain would take twice as much room for, then what it has room for.

use super::past::Remnant;
use super::{
    Back, CHUNK_SLOTS, Candidate, ClientBase, Frame, Own, SentTable, chunk_of, different, fits,
    places, places_of,
};
use crate::codec::compact::Compact;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::replication::foresight;
use crate::replication::messages::coded::part::{Against, Heading, Name, Outgoing, Said};
use crate::replication::versions::Remembered;
use crate::schema::table::Table;
use std::ops::Range;

/// A coder, and room that all clients' snapshots share.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) compact: Compact,
    /// What names its tables.
    pub(crate) tables_hash: u64,
    /// By chunk, who is carried.
    pub(super) members: Vec<u32>,
    /// What the client will have.
    pub(super) next: Remnant,
    pub(super) held: Slots,
    pub(super) foreseen: Table,
}

/// Steps what a client has, from the tick of that on, by the rules into a table; false if that cannot be.
pub(crate) type Foresee<'a> = &'a mut dyn FnMut(Remembered<'_>, Tick, &mut Table) -> bool;

/// What stands before the entities of a snapshot's parts: what it says, and what else its first part and the others
/// bring.
pub(crate) struct Preface {
    pub(crate) game_id: u8,
    pub(crate) said: Said,
    pub(crate) extra: [Option<(Vec<u8>, usize)>; 2],
}

/// What would take plain so many times the room is tried.
pub(super) const TIGHTER: usize = 2;

impl Teller {
    pub(crate) fn new(compact: Compact) -> Self {
        let (members, next, held, foreseen) = Default::default();
        Self { tables_hash: compact.tables().hash(), compact, members, next, held, foreseen }
    }

    /// Takes these for who is carried.
    fn carry(&mut self, candidates: &[Candidate], chunks: usize) {
        self.members.clear();
        self.members.resize(chunks, 0);
        for candidate in candidates {
            self.members[candidate.chunk] |= candidate.change.members;
        }
    }
}

/// What the rules foresee of a part: whether the welcome said that they may, and what it must come to if they do.
#[derive(Clone, Copy)]
struct Foreseen {
    is_allowed: bool,
    check: Option<u32>,
}

impl SentTable {
    /// Lets the rules foresee from it, if any `own` entities are left to tell of from a chunk on.
    fn foreseen(
        &self,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        (own, from): (Own<'_>, usize),
        foresee: Option<Foresee<'_>>,
        foreseen: &mut Table,
    ) -> Foreseen {
        let Some(foresee) = foresee else { return Foreseen { is_allowed: false, check: None } };
        let is_left = own.iter().any(|(_, slot)| *slot >= from * CHUNK_SLOTS);
        let told = self.past.as_ref().and_then(|past| past.told).filter(|_| is_left);
        let (ids, visible) = (&self.versions[..], &self.visible);
        let base = Remembered { versions: frame.versions, ids, visible };
        let is_foreseen = told.is_some_and(|told| foresee(base, Tick(told.said.tick), foreseen));
        let check = is_foreseen.then(|| foresight::check(foreseen, frame.layouts));
        Foreseen { is_allowed: true, check }
    }
}

/// Hands out a part, unless it is empty; gives its length.
fn send(number: u64, message: &[u8], part: &mut impl FnMut(u64, &[u8])) -> usize {
    if !message.is_empty() {
        part(number, message);
    }
    message.len()
}

impl ClientBase {
    /// As [`write`](ClientBase::write). A part that is too long with the coder goes as plain does, and then
    /// `plain_head` writes what precedes it; the part is told whether it is the first.
    pub(crate) fn write_compact(
        &mut self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (viewer, visible): (PlayerId, &Slots),
        (bytes_max, budget_bytes): (usize, usize),
        (teller, preface, mut foresee): (&mut Teller, &Preface, Option<Foresee<'_>>),
        (bits, plain_head): (&mut BitWriter, &mut impl FnMut(&mut BitWriter, bool)),
        part: &mut impl FnMut(u64, &[u8]),
    ) {
        self.snapshots += 1;
        self.said = Some(preface.said);
        let slots = frame.versions.slots_used();
        let own = frame.versions.owned(viewer);
        self.grow(slots);
        let chunks = slots.div_ceil(CHUNK_SLOTS);
        let (mut from, mut budget_bits, mut is_much) = (0, 8 * budget_bytes, false);
        loop {
            let is_first = from == 0;
            let (mut now, back) = self.next_table(from..chunks, slots);
            let foresee: Option<Foresee<'_>> = match &mut foresee {
                // A merged baseline is of several ticks.
                Some(foresee) if self.bulk.is_none() => Some(&mut **foresee),
                _ => None,
            };
            let foresight = now.foreseen(frame, (own, from), foresee, &mut teller.foreseen);
            let bytes = bytes_max.min(budget_bits / 8);
            let mut end = chunks;
            let mut is_written = false;
            if !is_much {
                self.choose_all(frame, own, visible, from..chunks, &now, &mut teller.members);
                let chosen = (from..end, bytes, is_first);
                let written = (&now, back, foresight);
                is_written = self.attempt(frame, own, visible, written, (teller, preface), chosen);
                is_much = !is_written;
            }
            for tighter in [TIGHTER, 1] {
                if is_written {
                    break;
                }
                bits.clear();
                plain_head(bits, is_first);
                let room = (8 * bytes_max).saturating_sub(bits.bits_written());
                let rooms = (tighter * room, tighter * budget_bits);
                let some = self.choose_some(frame, (own, visible), from..chunks, &now, rooms);
                let Some(some) = some else {
                    self.spare.push(now);
                    let limits = (bytes_max, budget_bytes);
                    let room = (room, (bits, plain_head));
                    let told = (teller, preface);
                    return self.write_bulk_compact(
                        frame,
                        (own, visible),
                        limits,
                        told,
                        room,
                        part,
                    );
                };
                end = some;
                teller.carry(frame.candidates, chunks);
                let bytes = if tighter > 1 { bytes } else { bytes_max };
                let chosen = (from..end, bytes, is_first);
                let written = (&now, back, foresight);
                is_written = self.attempt(frame, own, visible, written, (teller, preface), chosen);
            }
            let length = if is_written {
                self.commit(frame, (from..end, visible), (now, back), (teller, preface));
                send(self.last_number, teller.compact.written(), part)
            } else {
                now.remember(back.parts, preface.said);
                self.write_part(frame, own, visible, from..end, (now, back), bits);
                send(self.last_number, bits.finish().unwrap_or_default(), part)
            };
            budget_bits = budget_bits.saturating_sub(8 * length);
            from = end;
            if from >= chunks {
                self.last_turn = frame.turn;
                return;
            }
        }
    }

    /// Finds all that changed, but for who rests.
    fn choose_all(
        &self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        own: Own<'_>,
        visible: &Slots,
        chunks: Range<usize>,
        now: &SentTable,
        members: &mut Vec<u32>,
    ) {
        frame.resting.resize(chunks.end.max(frame.resting.len()), 0);
        frame.holds_back = false;
        members.clear();
        members.resize(chunks.end, 0);
        for chunk in chunks {
            let known = &now.versions.as_chunks().0[chunk];
            let in_reach = chunk_of(visible, chunk);
            let own_places = places_of(own, chunk);
            let news = in_reach & (different(known, frame.versions.chunk(chunk)) | own_places);
            let resting = self.resting(frame, chunk, news & !own_places, now);
            frame.holds_back |= resting != 0;
            frame.resting[chunk] = resting;
            let is_told = |place: &usize| {
                let newest = frame.versions.newest(chunk * CHUNK_SLOTS + place, own);
                known[*place] != newest && !newest.is_none()
            };
            let told = places(news & !resting).filter(is_told);
            members[chunk] = told.fold(0, |members, place| members | 1 << place);
        }
    }

    /// Finds what plain would have room for; gives the chunk where the next part starts, or none if the world is
    /// large.
    fn choose_some(
        &self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        chunks: Range<usize>,
        now: &SentTable,
        (bits_max, budget_bits): (usize, usize),
    ) -> Option<usize> {
        let from = chunks.start;
        let end = self.choose(frame, own, visible, chunks.clone(), now, (true, bits_max));
        let has_room = fits(frame.candidates, bits_max.min(budget_bits));
        if (end < chunks.end || !has_room) && self.is_much(end..chunks.end, frame, bits_max) {
            return None;
        }
        let bits_max = bits_max.min(budget_bits);
        if !has_room {
            self.choose(frame, own, visible, from..end, now, (false, usize::MAX));
            let count = frame.candidates.len();
            self.fit(frame.candidates, own, bits_max);
            frame.holds_back |= frame.candidates.len() < count;
        }
        Some(end)
    }

    /// Writes a part of who was chosen, into the coder's memory; says whether it is short enough.
    fn attempt(
        &self,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        own: Own<'_>,
        visible: &Slots,
        (now, back, foresight): (&SentTable, Back, Foreseen),
        (teller, preface): (&mut Teller, &Preface),
        (chunks, bytes_max, is_first): (Range<usize>, usize, bool),
    ) -> bool {
        let Teller { compact, members, next, held, foreseen, .. } = teller;
        next.versions.clone_from(&now.versions);
        next.visible.clone_from(&now.visible);
        held.clear();
        for chunk in chunks.clone() {
            let [in_reach, before] = [visible, &now.visible].map(|slots| chunk_of(slots, chunk));
            if in_reach | before == 0 {
                continue;
            }
            let carried = members[chunk];
            let own_places = places_of(own, chunk);
            let known = (frame, own, own_places);
            let (in_sight, changed) = self.in_sight(known, chunk, (in_reach, carried), now);
            next.visible.set_chunk(chunk, in_sight);
            for slot in places(carried).map(|place| chunk * CHUNK_SLOTS + place) {
                next.versions[slot] = frame.versions.newest(slot, own);
            }
            if frame.holds_back {
                // Of these the client has something newer than the base, or nothing better.
                let is_held =
                    |slot: &usize| frame.versions.newest(*slot, own) != now.versions[*slot];
                let told = places(in_sight & !carried & changed);
                let told = told.map(|place| chunk * CHUNK_SLOTS + place).filter(is_held);
                told.for_each(|slot| held.insert(slot));
            }
        }
        let told = now.past.as_ref().and_then(|past| past.told.as_ref());
        let tick = preface.said.tick;
        let merged = self.bulk.as_ref().and_then(|bulk| Some((bulk.name(now.number)?, true)));
        let outgoing = Outgoing {
            game_id: preface.game_id,
            name: Name { number: now.number, back: back.parts, is_joined: back.is_joined, merged },
            heading: Heading {
                said: preface.said,
                chunks,
                holds_back: frame.holds_back,
                foreseen: foresight.check,
                extra: preface.extra[usize::from(!is_first)].clone(),
            },
            against: Against {
                told,
                end: if merged.is_some() { 0 } else { now.chunks.end },
                newest_tick: tick,
                foresees: foresight.is_allowed,
            },
            lineage: now.lineage(frame.versions, tick),
            truth: Remembered {
                versions: frame.versions,
                ids: &next.versions,
                visible: &next.visible,
            },
            held,
            foreseen,
            told_of: None,
            bytes_max,
        };
        compact.write_part(frame.layouts, outgoing).is_some()
    }

    /// Notes what was written: the client will have it.
    fn commit(
        &mut self,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        (chunks, visible): (Range<usize>, &Slots),
        (mut now, back): (SentTable, Back),
        (teller, preface): (&mut Teller, &Preface),
    ) {
        self.last_number = now.number;
        for chunk in chunks.clone() {
            let [in_reach, before] = [visible, &now.visible].map(|slots| chunk_of(slots, chunk));
            let is_there = in_reach | before != 0;
            self.note_seen(chunk, if is_there { chunk_of(&teller.next.visible, chunk) } else { 0 });
            for place in places(teller.members[chunk]) {
                self.carried[chunk * CHUNK_SLOTS + place] = self.snapshots;
            }
        }
        std::mem::swap(&mut now.versions, &mut teller.next.versions);
        std::mem::swap(&mut now.visible, &mut teller.next.visible);
        if let Some(past) = &mut now.past {
            past.shift(&mut teller.next, back.parts, preface.said);
        }
        (now.chunks, now.snapshot, now.tick) = (chunks, self.snapshots, frame.versions.tick());
        self.keep(now);
    }
}
