//! What of a large world is to be sent next: a chunk's changes together if they are short, else one by one.

use super::bulk::{Bulk, IN_FLIGHT_MAX, PARTS_MAX};
use super::candidates::{choose_alone, choose_together};
use super::{ClientBase, Frame, Own, chunk_head_bits_max, chunk_of, different, places_of};
use crate::core::entity::EntityId;
use crate::core::slots::{CHUNK_SLOTS, Slots, places};
use crate::replication::server::changes::Known;
use crate::replication::versions::VersionId;
use std::ops::Range;

/// Besides what [`chunk_head_bits_max`] counts: whether a chunk is told of, whether all of it, and which.
const CHUNK_TOLD_BITS_MAX: usize = 2 + CHUNK_SLOTS;

/// What is told together or not at all.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) chunk: usize,
    /// Of which slots it tells.
    pub(super) told: u32,
    /// Where its changes stand among the candidates.
    pub(super) candidates: Range<usize>,
    /// What its changes take.
    bits: usize,
    is_own: bool,
    /// Whether all of it is new to the client.
    is_fresh: bool,
    /// The snapshot that carried the one of it that has waited longest.
    carried: u64,
}

/// What a part has room for besides what precedes its chunks, what a snapshot may take, and in how many parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) part_bits: usize,
    pub(super) budget_bits: usize,
    pub(super) parts: u64,
}

impl ClientBase {
    /// How many parts a snapshot may have now.
    pub(super) fn parts_max(&self) -> u64 {
        let in_flight = self.last_number.saturating_sub(self.told.newest);
        IN_FLIGHT_MAX.saturating_sub(in_flight).clamp(1, PARTS_MAX)
    }

    /// Finds all that the client does not have and that is not in flight, the most urgent first.
    pub(super) fn survey(
        &self,
        bulk: &mut Bulk,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        part_bits: usize,
    ) -> Vec<Unit> {
        let mut units = Vec::new();
        frame.candidates.clear();
        bulk.missing = 0;
        for chunk in 0..frame.versions.slots_used().div_ceil(CHUNK_SLOTS) {
            self.survey_chunk(bulk, frame, (own, visible), chunk, part_bits, &mut units);
        }
        let now = frame.versions.tick();
        bulk.missing_since = (bulk.missing > 0).then(|| bulk.missing_since.unwrap_or(now));
        units
    }

    fn survey_chunk(
        &self,
        bulk: &mut Bulk,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        chunk: usize,
        part_bits: usize,
        units: &mut Vec<Unit>,
    ) {
        let first = chunk * CHUNK_SLOTS;
        let (known, newest) = (bulk.known.chunk(chunk), frame.versions.chunk(chunk));
        let in_reach =
            chunk_of(visible, chunk) & different(newest, &[VersionId::NONE; CHUNK_SLOTS]);
        let own_places = places_of(own, chunk) & in_reach;
        let nobody = !different(known, &[VersionId::NONE; CHUNK_SLOTS]);
        let tenant = |version| frame.versions.get(version).map(|(head, _)| head.id);
        let is_missing = |place: &usize| tenant(known[*place]) != tenant(newest[*place]);
        let missing = places(in_reach & different(known, newest)).filter(is_missing).count();
        bulk.missing += missing;
        let (bulk, known) = (&*bulk, bulk.known.chunk(chunk));
        let sent_visible = chunk_of(&bulk.sent.visible, chunk);
        // The viewer's own are told of in each snapshot: it predicts them from there.
        let mut need = in_reach & different(bulk.sent.chunk(chunk), newest)
            | in_reach ^ sent_visible
            | own_places;
        if need == 0 {
            return;
        }
        let may_rest = need & in_reach & sent_visible & !own_places & !nobody;
        let resting = self.resting_of(bulk, frame, chunk, may_rest);
        need &= !resting;
        if need == 0 {
            return;
        }
        let before = frame.candidates.len();
        let wanted = in_reach & !resting;
        let known = Known { versions: known, wanted, own: own_places };
        if !choose_together(frame, own, chunk, known) {
            choose_alone(frame, own, chunk, known, wanted);
        }
        let head = CHUNK_TOLD_BITS_MAX + chunk_head_bits_max(u32::MAX, false, u32::MAX);
        let bits = self.bits_of(frame, before..frame.candidates.len());
        let mut push = |frame: &Frame<'_, _>, told: u32, candidates: Range<usize>| {
            let changes = frame.candidates[candidates.clone()].iter().map(|c| c.change);
            let [members, whole] =
                changes.fold([0, 0], |[m, w], change| [m | change.members, w | change.whole]);
            units.push(Unit {
                chunk,
                told,
                bits: self.bits_of(frame, candidates.clone()),
                candidates,
                is_own: told & own_places != 0,
                is_fresh: members != 0 && whole == members && members & need == need & told,
                carried: places(members).map(|p| self.carried[first + p]).min().unwrap_or(0),
            });
        };
        if head + bits <= part_bits / 2 {
            return push(frame, !resting, before..frame.candidates.len());
        }
        frame.candidates.truncate(before);
        let gone = need & !in_reach;
        if gone != 0 {
            push(frame, gone, before..before);
        }
        for place in places(need & in_reach) {
            let from = frame.candidates.len();
            choose_alone(frame, own, chunk, known, 1 << place);
            push(frame, 1 << place, from..frame.candidates.len());
        }
    }

    fn bits_of<F>(&self, frame: &Frame<'_, F>, candidates: Range<usize>) -> usize {
        frame.candidates[candidates].iter().map(|candidate| candidate.change.bits as usize).sum()
    }

    /// As [`resting`](ClientBase::resting), where each slot may be known from another part.
    fn resting_of(
        &self,
        bulk: &Bulk,
        frame: &Frame<'_, impl Fn(EntityId) -> u32>,
        chunk: usize,
        news: u32,
    ) -> u32 {
        let rests = |place: &usize| {
            let slot = chunk * CHUNK_SLOTS + place;
            let Some((entity, since)) = frame.versions.tenant(slot) else { return false };
            let every = u64::from((frame.update_every)(entity));
            let turns = |turn: u64| (turn + slot as u64) / every;
            let (snapshot, tick) = bulk.acknowledged_in[slot];
            every > 1
                && turns(frame.turn) == turns(self.last_turn)
                && since <= tick
                && self.seen.contains(slot)
                && self.since[slot] <= snapshot
        };
        places(news).filter(rests).fold(0, |resting, place| resting | 1 << place)
    }
}

/// Puts what is the viewer's own first; then what the client knows and what is new to it share what may be sent, in
/// each what was carried least recently first.
pub(super) fn arrange(units: Vec<Unit>, mut balance: i64) -> Vec<Unit> {
    let (mut arranged, mut rest): (Vec<Unit>, Vec<Unit>) =
        units.into_iter().partition(|unit| unit.is_own);
    rest.sort_by_key(|unit| unit.carried);
    let (fresh, known): (Vec<Unit>, Vec<Unit>) = rest.into_iter().partition(|unit| unit.is_fresh);
    let (mut fresh, mut known) = (fresh.into_iter().peekable(), known.into_iter().peekable());
    while fresh.peek().is_some() || known.peek().is_some() {
        let is_fresh = known.peek().is_none() || fresh.peek().is_some() && balance >= 0;
        let next = if is_fresh { fresh.next() } else { known.next() };
        balance += next.as_ref().map_or(0, Unit::weight);
        arranged.extend(next);
    }
    arranged
}

impl Unit {
    /// Of what is new to the client it counts against what it knows.
    fn weight(&self) -> i64 {
        let bits = (self.bits + CHUNK_TOLD_BITS_MAX) as i64;
        match (self.is_own, self.is_fresh) {
            (true, _) => 0,
            (_, true) => -bits,
            (_, false) => bits,
        }
    }
}

impl Bulk {
    /// Takes from the first of these what one part has room for and the budget allows; gives how many. What has waited
    /// for long goes though it is longer than the budget: it has saved up for that.
    pub(super) fn pack(&mut self, units: &[Unit], chunks: usize, room: &mut Room) -> usize {
        let head = CHUNK_TOLD_BITS_MAX + chunk_head_bits_max(u32::MAX, false, u32::MAX);
        let mut told = Slots::default();
        let (mut used, mut count) = (chunks, 0);
        for unit in units {
            let cost = unit.bits + if told.contains(unit.chunk) { 0 } else { head };
            if count > 0 && used + cost > room.part_bits {
                break;
            }
            let is_saved_for = cost <= room.budget_bits + self.saved;
            if !unit.is_own && cost > room.budget_bits && !is_saved_for {
                self.saved += room.budget_bits.max(MESSAGE_BITS_SAVED);
                room.parts = 0;
                break;
            }
            if !unit.is_own {
                let spent = cost.saturating_sub(room.budget_bits);
                self.saved = self.saved.saturating_sub(spent).min(room.part_bits);
                self.balance = (self.balance + unit.weight()).clamp(-BALANCE_MAX, BALANCE_MAX);
            }
            told.insert(unit.chunk);
            room.budget_bits = room.budget_bits.saturating_sub(cost);
            (used, count) = (used + cost, count + 1);
        }
        count
    }
}

/// What is too long for its budget saves up at least so much with each snapshot.
const MESSAGE_BITS_SAVED: usize = 8 * 32;
/// So many bits of the one are made up for with the other.
const BALANCE_MAX: i64 = 8 * 1200;
