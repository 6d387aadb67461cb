//! Writes the parts of a large world's snapshot with the compact codec. Like the others they are tried with twice what
//! plain would have room for, then with what it has room for.

use super::bulk::Bulk;
use super::compact::{Preface, TIGHTER, Teller};
use super::parts::{Chosen, in_reach, told_versions};
use super::survey::{Room, arrange};
use super::{CHUNK_SLOTS, ClientBase, Frame, Own, chunk_of};
use crate::codec::compact::records::Past;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::slots::Slots;
use crate::replication::messages::coded::part::{Against, Heading, Name, Outgoing};
use crate::replication::versions::Remembered;

/// Where plain parts are written, and what writes what precedes them.
type Plain<'a, H> = (&'a mut BitWriter, &'a mut H);

/// A part of a large world: its units, and whether it is the first of its snapshot.
type Part<'a> = (&'a Chosen<'a>, bool);

impl ClientBase {
    /// As [`write_bulk`](ClientBase::write_bulk), where a plain part has so much room.
    #[cold]
    pub(super) fn write_bulk_compact<H: FnMut(&mut BitWriter, bool)>(
        &mut self,
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (own, visible): (Own<'_>, &Slots),
        (bytes_max, budget_bytes): (usize, usize),
        (teller, preface): (&mut Teller, &Preface),
        (room_bits, (bits, plain_head)): (usize, Plain<'_, H>),
        part: &mut impl FnMut(u64, &[u8]),
    ) {
        let slots = frame.versions.slots_used();
        let chunks = slots.div_ceil(CHUNK_SLOTS);
        let mut bulk = self.begin_bulk(slots);
        let part_bits = room_bits.saturating_sub(bulk.head_bits(self.last_number + 1) + chunks);
        let units = self.survey(&mut bulk, frame, (own, visible), part_bits);
        let units = arrange(units, bulk.balance);
        let mut room = Room { part_bits, budget_bits: 8 * budget_bytes, parts: self.parts_max() };
        let mut from = 0;
        while from == 0 || from < units.len() && room.parts > 0 {
            let is_first = from == 0;
            for tighter in [TIGHTER, 1] {
                let (part_bits, budget_bits) = (tighter * part_bits, tighter * room.budget_bits);
                let mut trial = Room { part_bits, budget_bits, ..room };
                let accounts = (bulk.balance, bulk.saved);
                let count = bulk.pack(&units[from..], chunks, &mut trial);
                if count == 0 && !is_first {
                    room.parts = 0;
                    break;
                }
                let chosen = Chosen::of(&units[from..from + count]);
                let some = (&chosen, is_first);
                let mut is_written = self.attempt_some(
                    (&bulk, frame),
                    (own, visible),
                    some,
                    (teller, preface),
                    bytes_max,
                );
                let mut message = teller.compact.written();
                if is_written {
                    self.sent_some(&mut bulk, frame, (own, visible), &chosen);
                } else if tighter == 1 {
                    bits.clear();
                    plain_head(bits, is_first);
                    self.write_some(&mut bulk, frame, (own, visible), &chosen, bits);
                    message = bits.finish().unwrap_or_default();
                    is_written = true;
                }
                if is_written {
                    part(self.last_number, message);
                    room.budget_bits = room.budget_bits.saturating_sub(8 * message.len());
                    room.parts = trial.parts.saturating_sub(1);
                    from += count.max(1);
                    break;
                }
                (bulk.balance, bulk.saved) = accounts;
            }
        }
        self.bulk = Some(bulk);
        self.last_turn = frame.turn;
    }

    /// Writes a part that tells of some slots, into the coder's memory; says whether it is short enough.
    fn attempt_some(
        &self,
        (bulk, frame): (&Bulk, &Frame<'_, impl Fn(EntityId) -> u32>),
        (own, visible): (Own<'_>, &Slots),
        (chosen, is_first): Part<'_>,
        (teller, preface): (&mut Teller, &Preface),
        bytes_max: usize,
    ) -> bool {
        let Teller { compact, next, held, foreseen, .. } = teller;
        next.versions.clone_from(&bulk.known.versions);
        next.visible.clone_from(&bulk.known.visible);
        for chunk in chosen.chunks.clone() {
            let mask = chunk_of(&chosen.told, chunk);
            let in_sight = in_reach(frame, visible, chunk) & mask;
            let versions = told_versions(bulk, frame, own, (chunk, in_sight));
            next.versions[chunk * CHUNK_SLOTS..][..CHUNK_SLOTS].copy_from_slice(&versions);
            next.visible.set_chunk(chunk, chunk_of(&next.visible, chunk) & !mask | in_sight);
        }
        let (number, said) = (self.last_number + 1, preface.said);
        let merge = bulk.name(number).unwrap_or_default();
        let told = bulk.told();
        let known = Remembered {
            versions: frame.versions,
            ids: &bulk.known.versions,
            visible: &bulk.known.visible,
        };
        let outgoing = Outgoing {
            game_id: preface.game_id,
            name: Name { number, back: merge.back, is_joined: false, merged: Some((merge, false)) },
            heading: Heading {
                said,
                chunks: chosen.chunks.clone(),
                holds_back: false,
                foreseen: None,
                extra: preface.extra[usize::from(!is_first)].clone(),
            },
            against: Against {
                told: told.as_ref(),
                end: 0,
                newest_tick: said.tick,
                foresees: false,
            },
            lineage: Past {
                base: known,
                before: None,
                earlier: None,
                spans: told.unwrap_or_default().spans_to(said.tick),
            },
            truth: Remembered {
                versions: frame.versions,
                ids: &next.versions,
                visible: &next.visible,
            },
            held,
            foreseen,
            told_of: Some(&chosen.told),
            bytes_max,
        };
        compact.write_part(frame.layouts, outgoing).is_some()
    }
}
