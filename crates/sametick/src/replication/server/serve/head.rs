//! What precedes each part of a snapshot, plain or compact.

use crate::codec::compact::HAS_CODER;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::replication::births::Births;
use crate::replication::messages::coded::part::{self, Said};
use crate::replication::messages::{RECEIVED_BITS, REPEATED_BITS, SNAPSHOT, TICK_BITS, TICK_MASK};
use crate::replication::others;
use crate::replication::server::snapshot::{ClientBase, Foresee, Frame, Preface, Teller};

/// What precedes each part of a snapshot.
pub(super) struct SnapshotHead<'a> {
    pub(super) game_id: u8,
    pub(super) tick: Tick,
    pub(super) repeated: u32,
    pub(super) margin: i64,
    pub(super) received: u32,
    pub(super) births: &'a Births,
}

/// Who is told: the player, whom it may see, and what others ask for if it wants to know.
type Viewer<'a> = (PlayerId, &'a Slots, Option<&'a others::Commands>);

impl SnapshotHead<'_> {
    /// Writes all parts of a snapshot, each with this before it, and sends them: compact ones if there is a teller.
    /// False, and nothing is sent, if that is for [`tell_of_much`](SnapshotHead::tell_of_much) to do.
    pub(super) fn tell(
        &self,
        (base, teller, foresee): (&mut ClientBase, Option<&mut Teller>, Option<Foresee<'_>>),
        frame: &mut Frame<'_, impl Fn(EntityId) -> u32>,
        (to, visible, others): Viewer<'_>,
        limits: (usize, usize),
        bits: &mut BitWriter,
        send: &mut impl FnMut(u64, &[u8]),
    ) -> bool {
        if base.said.is_some() {
            base.said = Some(self.said());
        }
        let versions = frame.versions;
        let tell_others = |bits: &mut BitWriter, is_first: bool| match others {
            Some(others) if is_first => others.write(bits, versions, visible, to),
            _ => bits.write_bool(false),
        };
        let mut begin = |bits: &mut BitWriter, is_first: bool| {
            self.write(bits);
            tell_others(bits, is_first);
        };
        bits.clear();
        if let Some(teller) = teller.filter(|_| HAS_CODER) {
            let preface = self.preface(bits, tell_others);
            let told = (teller, &preface, foresee);
            base.write_compact(frame, (to, visible), limits, told, (bits, &mut begin), send);
            return true;
        }
        begin(bits, true);
        let mut finished = |number: u64, bits: &mut BitWriter, more: bool| {
            if let Ok(message) = bits.finish() {
                send(number, message);
            }
            if more {
                bits.clear();
                begin(bits, false);
            }
        };
        base.write(frame, to, visible, limits, &mut finished, bits)
    }

    /// The same of a large world. On its own, so that what is done for each client's every snapshot stays in one piece.
    pub(super) fn tell_of_much(
        &self,
        base: &mut ClientBase,
        frame: &mut Frame<'_, &dyn Fn(EntityId) -> u32>,
        (to, visible, others): Viewer<'_>,
        limits: (usize, usize),
        bits: &mut BitWriter,
        send: &mut dyn FnMut(u64, &[u8]),
    ) {
        let versions = frame.versions;
        let begin = |bits: &mut BitWriter, is_first: bool| {
            bits.clear();
            self.write(bits);
            match others.filter(|_| is_first) {
                Some(others) => others.write(bits, versions, visible, to),
                None => bits.write_bool(false),
            }
        };
        begin(bits, true);
        let mut finished = |number: u64, bits: &mut BitWriter, more: bool| {
            if let Ok(message) = bits.finish() {
                send(number, message);
            }
            if more {
                begin(bits, false);
            }
        };
        base.write_bulk(frame, (to, visible), limits, &mut finished, bits);
    }

    /// What it says in the compact codec, as it goes before each part.
    fn said(&self) -> Said {
        Said {
            tick: self.tick.0,
            repeated: self.repeated % part::REPEATED_COUNT,
            margin: self.margin as u32,
            received: self.received,
        }
    }

    /// The same with what else parts bring; `others` writes what others ask for, or that nothing is said of that.
    fn preface(&self, bits: &mut BitWriter, others: impl Fn(&mut BitWriter, bool)) -> Preface {
        let Self { tick, births, .. } = self;
        let mut extra = |is_first: bool| {
            bits.clear();
            bits.write_bool(!births.is_empty());
            if !births.is_empty() {
                births.write(bits, *tick);
            }
            others(bits, is_first);
            // Two bits are what is said when there is nothing.
            (bits.bits_written() > 2).then(|| part::extra_of(bits))
        };
        Preface { game_id: self.game_id, said: self.said(), extra: [extra(true), extra(false)] }
    }

    fn write(&self, bits: &mut BitWriter) {
        let Self { game_id, tick, repeated, margin, received, births } = self;
        let low = u64::from(tick.0) & TICK_MASK;
        let game = u64::from(SNAPSHOT) | u64::from(*game_id) << 8;
        let repeated = (u64::from(*repeated) % (1 << REPEATED_BITS)) << TICK_BITS;
        bits.write(game | (low | repeated) << 16, 16 + TICK_BITS + REPEATED_BITS);
        let has_births = u64::from(!births.is_empty()) << (15 + RECEIVED_BITS);
        let early = *margin as u64 | u64::from(*received) << 15;
        bits.write(early | has_births, 16 + RECEIVED_BITS);
        if !births.is_empty() {
            births.write(bits, *tick);
        }
    }
}
