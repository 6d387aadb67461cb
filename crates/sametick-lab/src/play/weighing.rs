//! What each stage of 001's codec leaves of a match's snapshots, and what a common base saves when entities leave
//! sight and enter it again.

use crate::stages::paper::{self, Numbers};
use crate::stages::{MESSAGE_BYTES_MAX, Stage, zero_run_bytes};
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::plain;
use sametick::codec::zero_runs::PAPER_WORD_BITS;
use sametick::{Game, Layout, Layouts, PlayerId, Slots, Table, World};
use sametick_arena::{Arena, Content, Entity};
use std::collections::{BTreeMap, VecDeque};

/// A game's clock when logging begins: warm-up and countdown have passed.
const TIME_BEGINS_MS: f64 = 6_000.0;
/// How old what a receiver has acknowledged is.
const BASE_AGE_MS: f64 = 100.0;

/// Weighs every snapshot to every player.
pub(crate) struct Weighing {
    is_paper: bool,
    snapshots: u32,
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
    /// In sight.
    entities: f64,
    stages: [f64; 4],
    zero_runs: f64,
    /// Against the last acknowledged snapshot alone, which is Quake III's base.
    quake3: f64,
    /// Of the snapshots in which somebody came into sight again: with the common base, and with Quake III's.
    again: [f64; 2],
    again_snapshots: f64,
}

impl Weighing {
    /// As we write them, of fields as others see them; or as the paper does, with floats whole.
    pub(crate) fn new(is_paper: bool, snapshots_per_second: f64) -> Self {
        let layouts = Layouts::of::<Entity>();
        Self {
            is_paper,
            snapshots: 0,
            layouts: if is_paper { layouts.state } else { layouts.shown }.to_vec(),
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
        time_ms: f64,
    ) -> Result<(), String> {
        let mut all = Table::default();
        world.fill(&self.layouts, &mut all);
        self.snapshots += 1;
        let numbers = [self.snapshots, world.tick().0, (time_ms + TIME_BEGINS_MS) as u32];
        for player in players {
            let mut visible = Slots::default();
            Arena::relevant(world, content, PlayerId(player), &mut visible);
            let mut now = Table::default();
            for slot in visible.iter() {
                let Some(head) = all.head(slot) else { continue };
                let layout = &self.layouts[usize::from(head.kind)];
                now.place(head, layout).copy_from_slice(all.record(slot, layout));
            }
            self.weigh_one(player, now, time_ms >= 0.0, numbers)?;
        }
        Ok(())
    }

    fn weigh_one(
        &mut self,
        player: u16,
        now: Table,
        counts: bool,
        numbers: Numbers,
    ) -> Result<(), String> {
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
        let coder = Coder { layouts, numbers: self.is_paper.then_some(numbers) };
        let mut bytes = [0.0; 4];
        for (bytes, stage) in bytes.iter_mut().zip(Stage::ALL) {
            *bytes = coder.write(stage, &mut self.bits, common, &now)?;
        }
        let damaged = || "a snapshot did not come back as it was written".to_owned();
        let message = self.bits.finish().map_err(|_| damaged())?;
        let runs = zero_run_bytes(message, PAPER_WORD_BITS).ok_or_else(damaged)? as f64;
        if !coder.reads_back(message, common, &now) {
            return Err(damaged());
        }
        let of_quake3 = coder.write(Stage::LeftOut, &mut self.bits, &quake3, &now)?;
        if counts {
            let comes_again = now
                .visible
                .iter()
                .any(|slot| !quake3.visible.contains(slot) && common.head(slot) == now.head(slot));
            let sums = &mut self.sums;
            sums.snapshots += 1.0;
            sums.entities += now.visible.len() as f64;
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
        let Sums { snapshots, entities, stages, zero_runs, quake3, again, again_snapshots } =
            self.sums;
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
            ("entities_seen", entities / snapshots),
            ("seen_again", 100.0 * again_snapshots / snapshots),
            ("common_base_saves_again", saves(again[0], again[1])),
        ];
        figures.retain(|(_, value)| value.is_finite());
        figures
    }
}

/// Writes snapshots as the paper does, or as we do.
struct Coder<'a> {
    layouts: &'a [Layout],
    /// The paper's messages begin with them.
    numbers: Option<Numbers>,
}

impl Coder<'_> {
    /// How many bytes a snapshot takes; it stands in `bits` then.
    fn write(
        &self,
        stage: Stage,
        bits: &mut BitWriter,
        base: &Table,
        now: &Table,
    ) -> Result<f64, String> {
        bits.clear();
        let fits = match self.numbers {
            Some(numbers) => paper::write(stage, bits, self.layouts, (base, now), numbers),
            None => {
                stage.write(bits, self.layouts, base, now);
                true
            }
        };
        let too_many = || "there are more entities than 001 has numbers for".to_owned();
        fits.then(|| whole_bytes(bits)).ok_or_else(too_many)
    }

    fn reads_back(&self, message: &[u8], base: &Table, now: &Table) -> bool {
        let (mut back, mut reader) = (Table::default(), BitReader::new(message));
        match self.numbers {
            Some(_) => paper::read(Stage::LeftOut, &mut reader, self.layouts, base, &mut back),
            None => plain::read(&mut reader, self.layouts, base, &mut back),
        }
        reader.finish().is_ok() && back.looks_like(now, self.layouts)
    }
}

/// One bit more tells a message with zero runs from one without.
fn whole_bytes(bits: &BitWriter) -> f64 {
    (bits.bits_written() + 1).div_ceil(8) as f64
}
