//! What one player is told of one tick, and the common base it is told against.
//!
//! Both ends keep tables of what the client has. The table named N is the one that the snapshot N was
//! built on, overwritten by what N carried: a function of N alone, whatever order acknowledgements come
//! in. Every snapshot names its base; the server builds on the newest table that the client has
//! acknowledged. Who leaves sight stays in the tables, so that one who returns costs only what changed.
//!
//! A snapshot that does not fit one datagram goes in parts, each about some slots: a lost part costs these and nothing
//! else. They are built on everything that the client has acknowledged; see `merge.rs` and `bulk.rs`. Where
//! the baseline is not the common one, a part is a range of slots with a name and a base of its own. Once all parts
//! up to one are acknowledged their ranges are joined, and a snapshot can be built on all of them.
//!
//! PROTOCOL.md has the layout of a part, under *Snapshot*.

use crate::config::rates::Base;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::mutant::{self, Mutant};
use crate::core::slots::{CHUNK_SLOTS, Slots, places, write_members};
use crate::core::tick::{PlayerId, Tick};
use crate::replication::messages::coded::part::Said;
use crate::replication::messages::decoded::Decoded;
use crate::replication::messages::{BACK_BITS, BACK_MAX, CHUNK_BITS, NUMBER_BITS, TABLES_MAX};
use crate::replication::server::changes::{Changes, Known};
use crate::replication::versions::{Chunk, VersionId, Versions};
use crate::schema::record::Layout;
use bulk::{Bulk, IN_FLIGHT_LIMIT};
pub(crate) use candidates::Candidate;
use candidates::{choose_alone, choose_together, fits};
pub(crate) use compact::{Foresee, Preface, Teller};
use past::SentPast;
use std::collections::VecDeque;
use std::ops::Range;

mod baselines;
mod bulk;
mod candidates;
mod compact;
mod compact_parts;
mod parts;
mod past;
mod survey;

/// So many tables that are not in use any more are kept for their memory: a snapshot of many parts, as when a client is
/// new, leaves more than are needed ever again.
const SPARE_TABLES: usize = 4;

/// When nothing can be built on, one snapshot in so many does not wait.
const WAITS_MAX: u32 = 8;

/// The most that a part takes besides its entities.
const HEAD_BITS_MAX: usize = 16 + 6 + 1 + 2 * 8 + 1;

/// The most that a chunk takes besides its changes: who is in sight, who is carried, who of them whole,
/// and who is held back. Of a chunk in which nothing changed that is next to nothing.
fn chunk_head_bits_max(in_sight: u32, is_same: bool, news: u32) -> usize {
    let many = in_sight.count_ones() as usize;
    let seen = if is_same { 1 } else { 1 + CHUNK_SLOTS };
    // Each of those in sight is carried, and then whole or not, or else held back or not.
    let told = if news == 0 { 3 } else { 4 + 2 * many };
    seen + told
}

/// A chunk in which the same are in sight, all of them changed and all are known.
const ALL_CHANGED: u64 = 0b0010;
const ALL_CHANGED_BITS: u32 = 4;

/// What the server knows of one client: which version of each entity it has, as far as it said so.
#[derive(Debug, Default)]
pub(crate) struct ClientBase {
    choice: Base,
    last_number: u64,
    /// What both ends have before anything is sent: the map's entities, out of sight.
    loaded: Vec<VersionId>,
    tables: VecDeque<SentTable>,
    /// Tables that nobody needs any more, for their memory.
    spare: Vec<SentTable>,
    /// How many snapshots were written, of however many parts.
    snapshots: u64,
    /// The turn of the last snapshot.
    last_turn: u64,
    /// By slot, the snapshot that last carried it.
    carried: Vec<u64>,
    /// Who was in sight in the last snapshot and, by slot, since which.
    seen: Slots,
    since: Vec<u64>,
    /// What the client last said it has.
    told: Decoded,
    /// How many snapshots have waited for it to say more.
    waited: u32,
    /// What the snapshot that is being written says before its entities, if tables remember their past.
    pub(crate) said: Option<Said>,
    /// While snapshots take several parts.
    bulk: Option<Box<Bulk>>,
}

#[derive(Debug, Default)]
struct SentTable {
    number: u64,
    /// The snapshot that it is a part of, and its tick.
    snapshot: u64,
    tick: Tick,
    /// The first of the parts that are joined in it; most often it is alone.
    first: u64,
    chunks: Range<usize>,
    /// By slot.
    versions: Vec<VersionId>,
    visible: Slots,
    is_acknowledged: bool,
    /// What it was built on, where the compact codec asks for that.
    past: Option<Box<SentPast>>,
}

impl SentTable {
    fn memory_bytes(&self) -> usize {
        let past = self.past.as_ref().map_or(0, |past| past.memory_bytes());
        self.versions.capacity() * size_of::<VersionId>() + 16 + past
    }
}

/// Which table a part is built on: how many parts ago, and whether with those joined to it.
#[derive(Clone, Copy)]
struct Back {
    parts: u64,
    is_joined: bool,
}

/// Everything that all clients' snapshots of one tick share.
pub(crate) struct Frame<'a, F> {
    pub(crate) layouts: &'a [Layout],
    pub(crate) versions: &'a Versions,
    pub(crate) changes: &'a mut Changes,
    /// Room for the changes of one part, and whether there are more that are not told now.
    pub(crate) candidates: &'a mut Vec<Candidate>,
    pub(crate) holds_back: bool,
    /// By chunk, who of it rests.
    pub(crate) resting: &'a mut Vec<u32>,
    /// Which turn it is for those who are told of only now and then. It is the same for all whose snapshots are of this
    /// tick: they come to know the same of them, and share what was encoded.
    pub(crate) turn: u64,
    /// In every which snapshot the viewer is told of an entity.
    pub(crate) update_every: F,
}

impl ClientBase {
    /// A client that has the map and nothing else.
    pub(crate) fn new(choice: Base, loaded: Vec<VersionId>) -> Self {
        Self { choice, loaded, ..Self::default() }
    }

    /// The same with tables that remember what they were built on.
    pub(crate) fn with_past(self) -> Self {
        Self { said: Some(Said::default()), ..self }
    }

    /// Takes in which parts the client has decoded.
    #[inline]
    pub(crate) fn acknowledge(&mut self, told: Decoded) {
        // Said again until there is news: most often nothing new is in it.
        if self.told == told {
            return;
        }
        self.told = told;
        if let Some(bulk) = &mut self.bulk {
            bulk.acknowledge(told);
            return self.leave_bulk();
        }
        let mut has_news = false;
        for table in self.tables.iter_mut().filter(|table| !table.is_acknowledged) {
            table.is_acknowledged = told.covers(table.number);
            has_news |= table.is_acknowledged;
        }
        if has_news {
            self.join_parts();
            self.retire();
        }
    }

    /// Whether the next snapshot should rather wait. When so much is under way that nothing acknowledged can be
    /// named any more, all that is sent is sent whole, which is more still: a moment later there is news. Should
    /// there be none, every eighth goes out all the same.
    pub(crate) fn waits(&mut self) -> bool {
        let is_full = self.choice != Base::None && self.tables.len() >= TABLES_MAX;
        let waits = match self.bulk {
            None => is_full && self.base_for(&(0..1)).is_none(),
            Some(_) => self.last_number.saturating_sub(self.told.newest) >= IN_FLIGHT_LIMIT,
        };
        self.waited = if waits { (self.waited + 1) % WAITS_MAX } else { 0 };
        self.waited > 0
    }

    /// All versions that the tables name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &[VersionId]> {
        let tables = self.tables.iter();
        let past = tables.clone().filter_map(|table| table.past.as_deref());
        let tables = tables.map(|table| &table.versions[..]).chain([&self.loaded[..]]);
        let bulk = self.bulk.iter().flat_map(|bulk| bulk.named());
        tables.chain(past.flat_map(SentPast::named)).chain(bulk)
    }

    /// The number that the next part will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number + 1
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.tables.iter().chain(&self.spare).map(SentTable::memory_bytes);
        let by_slot = self.carried.capacity() + self.since.capacity();
        let bulk = self.bulk.as_ref().map_or(0, |bulk| bulk.memory_bytes());
        tables.sum::<usize>() + by_slot * size_of::<u64>() + bulk
    }

    /// Writes the parts of a snapshot of those in sight, each of at most `bytes_max`, and hands each out, with whether
    /// more follow. At most `budget_bytes` are written: the viewer's own come first, then those who were carried least
    /// recently, so that everyone's turn comes. False, and nothing is written, if the world is large: then
    /// [`write_bulk`](ClientBase::write_bulk) is to be called.
    pub(crate) fn write(
        &mut self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        viewer: PlayerId,
        visible: &Slots,
        (bytes_max, budget_bytes): (usize, usize),
        part: &mut impl FnMut(u64, &mut BitWriter, bool),
        bits: &mut BitWriter,
    ) -> bool {
        self.snapshots += 1;
        let slots = frame.versions.slots_used();
        let own = frame.versions.owned(viewer);
        self.grow(slots);
        let chunks = slots.div_ceil(CHUNK_SLOTS);
        let mut from = 0;
        let mut budget_bits = 8 * budget_bytes;
        loop {
            let before = bits.bits_written();
            let (mut now, back) = self.next_table(from..chunks, slots);
            let bits_max = (8 * bytes_max).saturating_sub(before);
            let end = self.choose(frame, own, visible, from..chunks, &now, (true, bits_max));
            let has_room = fits(frame.candidates, bits_max.min(budget_bits));
            if (end < chunks || !has_room) && self.is_much(end..chunks, frame, bits_max) {
                self.spare.push(now);
                return false;
            }
            if !has_room {
                self.choose(frame, own, visible, from..end, &now, (false, usize::MAX));
                let count = frame.candidates.len();
                self.fit(frame.candidates, own, bits_max.min(budget_bits));
                frame.holds_back |= frame.candidates.len() < count;
            }
            if let Some(said) = self.said {
                now.remember(back.parts, said);
            }
            self.write_part(frame, own, visible, from..end, (now, back), bits);
            budget_bits = budget_bits.saturating_sub(bits.bits_written() - before);
            from = end;
            part(self.last_number, bits, from < chunks);
            if from >= chunks {
                self.last_turn = frame.turn;
                return true;
            }
        }
    }

    #[inline]
    fn grow(&mut self, slots: usize) {
        self.carried.resize(slots.max(self.carried.len()), 0);
        self.since.resize(slots.max(self.since.len()), 0);
    }

    /// Whether a snapshot is more than one part, of which chunks are left, can ever be.
    #[cold]
    fn is_much<F>(&self, left: Range<usize>, frame: &Frame<'_, F>, bits_max: usize) -> bool {
        let is_long = !left.is_empty() || !fits(frame.candidates, bits_max);
        self.choice == Base::Common && (is_long || self.bulk.is_some())
    }

    /// A copy of the table to build on, and how far back that is. Until it is written it is of the same chunks.
    #[inline]
    fn next_table(&mut self, chunks: Range<usize>, slots: usize) -> (SentTable, Back) {
        if self.bulk.is_some() {
            return self.next_merged(slots);
        }
        let mut now = self.spare.pop().unwrap_or_default();
        let number = self.last_number + 1;
        let mut back = Back { parts: 0, is_joined: false };
        if let Some(base) = self.base_for(&chunks).map(|index| &self.tables[index]) {
            back = Back { parts: number - base.number, is_joined: base.first < base.number };
            now.versions.clone_from(&base.versions);
            now.visible.clone_from(&base.visible);
            (now.chunks, now.snapshot, now.tick) = (base.chunks.clone(), base.snapshot, base.tick);
            now.past.clone_from(&base.past);
            if let Some(past) = now.past.as_mut().filter(|_| back.is_joined) {
                past.forget();
            }
        } else {
            now.versions.clone_from(&self.loaded);
            now.visible.clear();
            (now.chunks, now.snapshot, now.tick) = (0..0, 0, Tick(0));
            now.past = self.said.map(|_| Box::default());
        }
        // What is not built on is taken for unknown, and sent whole.
        match self.choice {
            Base::Common => {}
            Base::LastAcknowledged => {
                for (slot, version) in now.versions.iter_mut().enumerate() {
                    if !now.visible.contains(slot) {
                        *version = VersionId::NONE;
                    }
                }
            }
            Base::None => now.versions.fill(VersionId::NONE),
        }
        now.versions.resize(slots.max(now.versions.len()), VersionId::NONE);
        (now.number, now.first, now.is_acknowledged) = (number, number, false);
        (now, back)
    }

    /// Finds what changed, chunk by chunk until a part is full; gives the chunk where the next starts.
    /// Neighbours come together if they may, but for the viewer's own.
    fn choose(
        &self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        own: Own<'_>,
        visible: &Slots,
        chunks: Range<usize>,
        now: &SentTable,
        (together, bits_max): (bool, usize),
    ) -> usize {
        frame.candidates.clear();
        frame.resting.resize(chunks.end.max(frame.resting.len()), 0);
        frame.holds_back = false;
        let mut bits_used = HEAD_BITS_MAX;
        for chunk in chunks.clone() {
            let before = frame.candidates.len();
            let versions = &now.versions.as_chunks().0[chunk];
            let in_sight = chunk_of(visible, chunk);
            let own_places = places_of(own, chunk);
            let news = in_sight & (different(versions, frame.versions.chunk(chunk)) | own_places);
            let mut resting = 0;
            if news != 0 {
                // What a player predicts must never wait: it would be predicted from the past.
                resting = self.resting(frame, chunk, news & !own_places, now);
                let wanted = in_sight & !resting;
                frame.holds_back |= resting != 0;
                let known = Known { versions, wanted, own: own_places };
                if !(together && choose_together(frame, own, chunk, known)) {
                    choose_alone(frame, own, chunk, known, wanted & news);
                }
            }
            frame.resting[chunk] = resting;
            let (mut chunk_bits, mut members, mut whole) = (0, 0, 0);
            for candidate in &frame.candidates[before..] {
                chunk_bits += candidate.change.bits as usize;
                members |= candidate.change.members;
                whole |= candidate.change.whole;
            }
            // One who is new in its place, and of whom there is not room to tell, is not in sight.
            let all_known = whole == 0 && news & !(members | resting | own_places) == 0;
            let is_same = all_known && in_sight == chunk_of(&now.visible, chunk);
            let chunk_bits = chunk_bits + chunk_head_bits_max(in_sight, is_same, news);
            if bits_used + chunk_bits > bits_max && chunk > chunks.start {
                frame.candidates.truncate(before);
                return chunk;
            }
            bits_used += chunk_bits;
        }
        chunks.end
    }

    /// Who of a chunk changed, but is told of only now and then, and not now.
    #[inline]
    fn resting(
        &self,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        chunk: usize,
        news: u32,
        now: &SentTable,
    ) -> u32 {
        let known: &Chunk = &now.versions.as_chunks().0[chunk];
        let mut resting = 0;
        let mut rest = news;
        // So that the compiler sees that it ends: a game that never has anyone rest pays nothing for the loop.
        for _ in 0..news.count_ones() {
            let place = rest.trailing_zeros() as usize % CHUNK_SLOTS;
            rest &= rest.wrapping_sub(1);
            if known[place].is_none() {
                continue;
            }
            let slot = chunk * CHUNK_SLOTS + place;
            let Some((entity, since)) = frame.versions.tenant(slot) else { continue };
            let every = u64::from((frame.update_every)(entity));
            // Whoever comes into sight, also in the place of another, is told of at once.
            let is_seen = || since <= now.tick && self.is_on_screen(slot, now);
            // Its turn comes in one snapshot or another: a thousand that change at once are not told of at once.
            let turns = |turn: u64| (turn + slot as u64) / every;
            let waits = || turns(frame.turn) == turns(self.last_turn);
            resting |= u32::from(every > 1 && waits() && is_seen()) << place;
        }
        resting
    }

    /// Whether the client has someone on its screen, whichever snapshots since the base came. What the base has may be
    /// of long ago: who is told of in each second snapshot can be in those that every second one is built on, and
    /// not in the others.
    fn is_on_screen(&self, slot: usize, base: &SentTable) -> bool {
        base.chunks.contains(&(slot / CHUNK_SLOTS))
            && self.seen.contains(slot)
            && self.since[slot]
                <= base.snapshot + u64::from(mutant::is(Mutant::OnScreenASnapshotEarly))
    }

    /// Notes who of a chunk is in sight now.
    #[inline]
    fn note_seen(&mut self, chunk: usize, in_sight: u32) {
        for place in places(in_sight & !chunk_of(&self.seen, chunk)) {
            self.since[chunk * CHUNK_SLOTS + place] = self.snapshots;
        }
        self.seen.set_chunk(chunk, in_sight);
    }

    /// Writes one part: the changes that were chosen, on the table `now`, which is then the part's.
    fn write_part(
        &mut self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        own: Own<'_>,
        visible: &Slots,
        chunks: Range<usize>,
        (mut now, back): (SentTable, Back),
        bits: &mut BitWriter,
    ) {
        self.last_number = now.number;
        let range = chunks.start as u64 | (chunks.len() as u64) << CHUNK_BITS;
        let range = range | u64::from(frame.holds_back) << (2 * CHUNK_BITS);
        if self.bulk.is_some() {
            self.write_complete(now.number, range, bits);
        } else {
            let back = back.parts | u64::from(back.is_joined) << BACK_BITS;
            let name = now.number & 0xffff | back << NUMBER_BITS;
            let name_bits = NUMBER_BITS + BACK_BITS + 1;
            bits.write(name | range << name_bits, name_bits + 2 * CHUNK_BITS + 1);
        }
        let mut rest = &frame.candidates[..];
        for chunk in chunks.clone() {
            let [in_reach, before] = [visible, &now.visible].map(|slots| chunk_of(slots, chunk));
            if in_reach | before == 0 {
                bits.write_bool(false);
                self.note_seen(chunk, 0);
                continue;
            }
            let count = rest.iter().position(|c| c.chunk > chunk).unwrap_or(rest.len());
            let (carried, behind) = rest.split_at(count);
            rest = behind;
            let [members, whole] = carried.iter().fold([0, 0], |[members, whole], candidate| {
                [members | candidate.change.members, whole | candidate.change.whole]
            });
            let own_places = places_of(own, chunk);
            let (in_sight, changed) =
                self.in_sight((frame, own, own_places), chunk, (in_reach, members), &now);
            self.note_seen(chunk, in_sight);
            let runs = in_sight == before && members == in_sight && members != 0 && whole == 0;
            if runs && !frame.holds_back {
                // As below: a world that runs is told of in this way, chunk after chunk.
                bits.write(ALL_CHANGED, ALL_CHANGED_BITS);
            } else {
                write_visible(bits, in_sight, before);
                now.visible.set_chunk(chunk, in_sight);
                write_changed(bits, members, in_sight);
                write_members(bits, whole, members);
            }
            if frame.holds_back {
                // Of these the client has something newer than the base, or nothing better.
                let is_held = |place: &usize| {
                    let slot = chunk * CHUNK_SLOTS + place;
                    frame.versions.newest(slot, own) != now.versions[slot]
                };
                let told = in_sight & !members;
                let own_held = places(told & own_places).filter(is_held);
                let others_held = told & changed & !own_places;
                let held = own_held.fold(others_held, |held, place| held | 1 << place);
                write_members(bits, held, told);
            }
            for candidate in carried {
                frame.changes.write(candidate.change, bits);
            }
            self.carry(frame.versions, own, (chunk, members), &mut now);
        }
        (now.chunks, now.snapshot, now.tick) = (chunks, self.snapshots, frame.versions.tick());
        self.keep(now);
    }

    /// Who of those in reach is in sight of a chunk, given who is carried, and who may have changed. Whom the client
    /// does not know yet, or not as it is now, and is not told of, it cannot see.
    #[inline(always)]
    fn in_sight<F>(
        &self,
        (frame, own, own_places): (&Frame<'_, F>, Own<'_>, u32),
        chunk: usize,
        (in_reach, members): (u32, u32),
        now: &SentTable,
    ) -> (u32, u32) {
        let is_known = |slot: usize| {
            let head = |version| frame.versions.get(version).map(|(head, _)| head);
            let newest = frame.versions.newest(slot, own);
            let is_same = !newest.is_none() && now.versions[slot] == newest;
            let is_it = head(newest).is_some() && head(now.versions[slot]) == head(newest);
            is_same || is_it && self.is_on_screen(slot, now)
        };
        let newest = frame.versions.chunk(chunk);
        let known = &now.versions.as_chunks().0[chunk];
        let changed = different(known, newest) | own_places;
        // What is as before is known, unless it is nothing.
        let in_doubt = changed | !different(newest, &[VersionId::NONE; CHUNK_SLOTS]);
        let resting = frame.resting[chunk];
        let unknown = places(in_reach & !members & !resting & in_doubt)
            .filter(|place| !is_known(chunk * CHUNK_SLOTS + place))
            .fold(0, |unknown, place| unknown | 1 << place);
        (in_reach & !unknown, changed)
    }

    /// Notes that the client will have what was carried of a chunk.
    #[inline]
    fn carry(
        &mut self,
        versions: &Versions,
        own: Own<'_>,
        (chunk, members): (usize, u32),
        now: &mut SentTable,
    ) {
        let first = chunk * CHUNK_SLOTS;
        let mut one_by_one = members;
        if members == u32::MAX {
            now.versions[first..][..CHUNK_SLOTS].copy_from_slice(versions.chunk(chunk));
            self.carried[first..][..CHUNK_SLOTS].fill(self.snapshots);
            one_by_one = places_of(own, chunk);
        }
        for slot in places(one_by_one).map(|place| first + place) {
            now.versions[slot] = versions.newest(slot, own);
            self.carried[slot] = self.snapshots;
        }
    }

    /// Drops those whose turn is not now, each standing alone.
    fn fit(&self, candidates: &mut Vec<Candidate>, own: Own<'_>, bits_max: usize) {
        // What a player predicts must never wait: it would be predicted from the past.
        let is_own = |slot| own.iter().any(|(_, own)| *own == slot);
        candidates.sort_by_key(|c| (!is_own(c.slot()), self.carried[c.slot()]));
        let head_bits = HEAD_BITS_MAX + chunk_head_bits_max(u32::MAX, false, u32::MAX);
        let mut left = bits_max.saturating_sub(head_bits);
        let fits = |candidate: &Candidate| {
            let fits = candidate.change.bits as usize <= left;
            left = left.saturating_sub(candidate.change.bits as usize);
            fits
        };
        let count = candidates.iter().map(fits).take_while(|fits| *fits).count();
        // One at least: whatever is too long for its share goes when it is alone.
        candidates.truncate(count.max(1));
        candidates.sort_by_key(Candidate::slot);
    }
}

/// What belongs to the viewer, by slot.
type Own<'a> = &'a [(PlayerId, usize)];

/// In which places two chunks differ, a bit each. Without branches: the compiler compares several at once.
#[inline]
fn different(left: &Chunk, right: &Chunk) -> u32 {
    let pairs = left.iter().zip(right).enumerate();
    pairs.fold(0, |places, (place, (left, right))| places | u32::from(left != right) << place)
}

/// Which slots of a chunk belong to the viewer, a bit each.
#[inline]
fn places_of(own: Own<'_>, chunk: usize) -> u32 {
    let here = own.iter().filter(|(_, slot)| slot / CHUNK_SLOTS == chunk);
    here.fold(0, |places, (_, slot)| places | 1 << (slot % CHUNK_SLOTS))
}

#[inline]
fn write_visible(bits: &mut BitWriter, now: u32, base: u32) {
    bits.write_bool(now != base);
    if now != base {
        bits.write(u64::from(now), CHUNK_SLOTS as u32);
    }
}

/// Writes which of those in sight changed. Nobody is one bit, everybody two: as a rule a world rests or
/// runs.
#[inline]
fn write_changed(bits: &mut BitWriter, members: u32, in_sight: u32) {
    if in_sight != 0 {
        bits.write_bool(members != 0);
    }
    if members != 0 {
        write_members(bits, in_sight & !members, in_sight);
    }
}

pub(crate) fn chunk_of(slots: &Slots, chunk: usize) -> u32 {
    slots.chunks().get(chunk).copied().unwrap_or(0)
}
