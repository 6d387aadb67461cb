//! What each stage of 001's codec leaves of a match's snapshots, and what a common base saves when entities leave
//! sight and enter it again.

use crate::stages::{MESSAGE_BYTES_MAX, Stage, zero_run_bytes};
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::plain;
use sametick::codec::zero_runs::PAPER_WORD_BITS;
use sametick::{Game, Layout, Layouts, PlayerId, Slots, Table, World};
use sametick_arena::{Arena, Content, Entity};
use std::collections::{BTreeMap, VecDeque};

/// How old what a receiver has acknowledged is.
const BASE_AGE_MS: f64 = 100.0;

/// Weighs every snapshot to every player.
pub(crate) struct Weighing {
    layouts: Vec<Layout>,
    age: usize,
    receivers: BTreeMap<u16, Receiver>,
    bits: BitWriter,
    sums: Sums,
}

#[derive(Default)]
struct Receiver {
    /// What was sent and is not acknowledged yet, oldest first: those in sight only.
    under_way: VecDeque<Table>,
    /// 001's: everyone as last acknowledged, in sight or not.
    common: Table,
}

/// Bytes of all snapshots that count.
#[derive(Default)]
struct Sums {
    snapshots: f64,
    stages: [f64; 4],
    zero_runs: f64,
    /// Against the last acknowledged snapshot alone, which is Quake III's base.
    quake3: f64,
    /// Of the snapshots in which somebody came into sight again: with the common base, and with Quake III's.
    again: [f64; 2],
    again_snapshots: f64,
}

impl Weighing {
    /// Of fields as others see them, or whole.
    pub(crate) fn new(is_exact: bool, snapshots_per_second: f64) -> Self {
        let layouts = Layouts::of::<Entity>();
        Self {
            layouts: if is_exact { layouts.state } else { layouts.shown }.to_vec(),
            age: (snapshots_per_second * BASE_AGE_MS / 1000.0).ceil().max(1.0) as usize,
            receivers: BTreeMap::new(),
            bits: BitWriter::growing(MESSAGE_BYTES_MAX),
            sums: Sums::default(),
        }
    }

    /// Weighs the snapshot of a world to each of these players. An error if one does not come back as it was.
    pub(crate) fn weigh(
        &mut self,
        world: &World<Entity>,
        content: &Content,
        players: impl Iterator<Item = u16>,
        counts: bool,
    ) -> Result<(), String> {
        let mut all = Table::default();
        world.fill(&self.layouts, &mut all);
        for player in players {
            let mut visible = Slots::default();
            Arena::relevant(world, content, PlayerId(player), &mut visible);
            let mut now = Table::default();
            for slot in visible.iter() {
                let Some(head) = all.head(slot) else { continue };
                let layout = &self.layouts[usize::from(head.kind)];
                now.place(head, layout).copy_from_slice(all.record(slot, layout));
            }
            self.weigh_one(player, now, counts)?;
        }
        Ok(())
    }

    fn weigh_one(&mut self, player: u16, now: Table, counts: bool) -> Result<(), String> {
        let receiver = self.receivers.entry(player).or_default();
        let layouts = &self.layouts;
        let mut quake3 = Table::default();
        if receiver.under_way.len() == self.age {
            quake3 = receiver.under_way.pop_front().unwrap_or_default();
            for slot in quake3.visible.iter() {
                let Some(head) = quake3.head(slot) else { continue };
                let layout = &layouts[usize::from(head.kind)];
                let record = quake3.record(slot, layout);
                receiver.common.place(head, layout).copy_from_slice(record);
            }
            receiver.common.visible.clone_from(&quake3.visible);
        }
        let common = &receiver.common;
        let mut bytes = [0.0; 4];
        for (bytes, stage) in bytes.iter_mut().zip(Stage::ALL) {
            self.bits.clear();
            stage.write(&mut self.bits, layouts, common, &now);
            *bytes = whole_bytes(&self.bits);
        }
        let damaged = || "a snapshot did not come back as it was written".to_owned();
        let message = self.bits.finish().map_err(|_| damaged())?;
        let runs = zero_run_bytes(message, PAPER_WORD_BITS).ok_or_else(damaged)? as f64;
        let (mut back, mut reader) = (Table::default(), BitReader::new(message));
        plain::read(&mut reader, layouts, common, &mut back);
        if reader.finish().is_err() || !back.looks_like(&now, layouts) {
            return Err(damaged());
        }
        self.bits.clear();
        plain::write(&mut self.bits, layouts, &quake3, &now);
        let of_quake3 = whole_bytes(&self.bits);
        if counts {
            let comes_again = now
                .visible
                .iter()
                .any(|slot| !quake3.visible.contains(slot) && common.head(slot) == now.head(slot));
            let sums = &mut self.sums;
            sums.snapshots += 1.0;
            sums.stages.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
            sums.zero_runs += runs;
            sums.quake3 += of_quake3;
            if comes_again {
                sums.again_snapshots += 1.0;
                sums.again = [sums.again[0] + bytes[3], sums.again[1] + of_quake3];
            }
        }
        receiver.under_way.push_back(now);
        Ok(())
    }

    /// What came of it, by name.
    pub(crate) fn figures(&self) -> Vec<(&'static str, f64)> {
        let Sums { snapshots, stages, zero_runs, quake3, again, again_snapshots } = self.sums;
        let [full, packed, delta, left_out] = stages;
        let saves = |bytes: f64, of: f64| 100.0 * (1.0 - bytes / of);
        let mut figures = vec![
            ("full_bytes", full / snapshots),
            ("packed_bytes", packed / snapshots),
            ("delta_bytes", delta / snapshots),
            ("left_out_bytes", left_out / snapshots),
            ("zero_runs_bytes", zero_runs / snapshots),
            ("quake3_base_bytes", quake3 / snapshots),
            ("packing_saves", saves(packed, full)),
            ("delta_saves", saves(delta, packed)),
            ("left_out_saves", saves(left_out, packed)),
            ("zero_runs_save", saves(zero_runs, left_out)),
            ("common_base_saves", saves(left_out, quake3)),
            ("seen_again", 100.0 * again_snapshots / snapshots),
            ("common_base_saves_again", saves(again[0], again[1])),
        ];
        figures.retain(|(_, value)| value.is_finite());
        figures
    }
}

/// One bit more tells a message with zero runs from one without.
fn whole_bytes(bits: &BitWriter) -> f64 {
    (bits.bits_written() + 1).div_ceil(8) as f64
}
