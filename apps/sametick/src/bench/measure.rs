//! Sends a scene's snapshots through every stage to one receiver, and adds up what that took.

use super::scene::Scene;
use sametick::bits::{BitReader, BitWriter};
use sametick::codec::zero_runs::WORD_BITS;
use sametick::word::{Meaning, Word};
use sametick::{Layout, Table};
use sametick_lab::stages::{MESSAGE_BYTES_MAX, Stage, chosen_bytes, zero_run_bytes};
use std::time::{Duration, Instant};

/// Sums over all measured snapshots of a scene.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) snapshots: usize,
    pub(crate) entities: usize,
    pub(crate) entities_changed: usize,
    pub(crate) stage_bytes: [usize; 4],
    /// By word length from 2 to 8 bits, on every message.
    zero_run_bytes: [usize; 7],
    /// With the paper's word length, only where it made the message shorter.
    pub(crate) chosen_bytes: usize,
    pub(crate) encode_ns: u64,
    pub(crate) decode_ns: u64,
    /// The paper's 3-bit words of all messages, and how many of them are zero.
    pub(crate) runs_words: usize,
    pub(crate) runs_words_zero: usize,
    /// The words of all entities in sight, and the bits they need.
    pub(crate) words: usize,
    pub(crate) words_bits: usize,
    /// How often each word of each kind changed.
    changes: Vec<Vec<usize>>,
    pub(crate) verified: bool,
}

/// Sends the scene to one receiver whose base is always `age` snapshots old.
pub(crate) fn measure(scene: &mut Scene, age: usize) -> Measured {
    let changes = scene.layouts.iter().map(|layout| vec![0; layout.len()]).collect();
    let mut measured = Measured { verified: true, changes, ..Measured::default() };
    let mut sent = vec![scene.baseline.clone(); age];
    let mut received = sent.clone();
    scene.rewind();
    for snapshot in 0..scene.snapshots {
        // The common base: what is not in sight now stays as the base has it.
        let base = &sent[snapshot % age];
        let mut now = base.clone();
        scene.next(&mut now);
        let counted = snapshot >= scene.first_measured;
        let back = measured.add(&scene.layouts, base, &received[snapshot % age], &now, counted);
        received[snapshot % age] = back;
        sent[snapshot % age] = now;
    }
    measured
}

impl Measured {
    /// Measures one snapshot and gives back what the receiver then has.
    fn add(
        &mut self,
        layouts: &[Layout],
        base: &Table,
        received: &Table,
        now: &Table,
        counted: bool,
    ) -> Table {
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        let mut back = Table::default();
        let mut stage_bytes = [0; 4];
        for (bytes, stage) in stage_bytes.iter_mut().zip(Stage::ALL) {
            let encode_ns = shortest_ns(|| {
                bits.clear();
                stage.write(&mut bits, layouts, base, now);
            });
            // One bit more tells a message with zero runs from one without.
            *bytes = (bits.bits_written() + 1).div_ceil(8);
            let Ok(message) = bits.finish() else {
                self.verified = false;
                continue;
            };
            let mut is_whole = false;
            let decode_ns = shortest_ns(|| {
                let mut reader = BitReader::new(message);
                stage.read(&mut reader, layouts, received, &mut back);
                is_whole = reader.finish().is_ok();
            });
            self.verified &= is_whole && back.looks_like(now, layouts);
            if stage == Stage::LeftOut && counted {
                self.encode_ns += encode_ns;
                self.decode_ns += decode_ns;
                self.add_zero_runs(message);
            }
        }
        if counted {
            self.snapshots += 1;
            self.entities += now.visible.len();
            self.stage_bytes.iter_mut().zip(stage_bytes).for_each(|(sum, bytes)| *sum += bytes);
            self.count_changes(layouts, base, now);
        }
        back
    }

    fn add_zero_runs(&mut self, message: &[u8]) {
        for (sum, word_bits) in self.zero_run_bytes.iter_mut().zip(WORD_BITS) {
            let bytes = zero_run_bytes(message, word_bits);
            self.verified &= bytes.is_some();
            *sum += bytes.unwrap_or(0);
        }
        let chosen = chosen_bytes(message);
        self.verified &= chosen.is_some();
        self.chosen_bytes += chosen.unwrap_or(0);
        let words = message.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
        let words: Vec<u8> = words.collect();
        self.runs_words += words.len() / 3;
        self.runs_words_zero += words.chunks_exact(3).filter(|word| word == &[0; 3]).count();
    }

    fn count_changes(&mut self, layouts: &[Layout], base: &Table, now: &Table) {
        for slot in now.visible.iter() {
            let Some(head) = now.head(slot) else { continue };
            let kind = usize::from(head.kind);
            let layout = &layouts[kind];
            let known = base.head(slot) == Some(head);
            let before = if known { base.record(slot, layout) } else { layout.initial() };
            let words = now.record(slot, layout);
            self.words += layout.len();
            self.words_bits += layout.words().iter().map(|word| word.bits as usize).sum::<usize>();
            self.entities_changed += usize::from(!known || before != words);
            for ((count, before), word) in self.changes[kind].iter_mut().zip(before).zip(words) {
                *count += usize::from(before != word);
            }
        }
    }

    pub(crate) fn zero_runs(&self, word_bits: u32) -> f64 {
        self.mean(self.zero_run_bytes[(word_bits - WORD_BITS.start()) as usize])
    }

    /// How many words changed, of all entities together.
    pub(crate) fn words_changed(&self) -> usize {
        self.changes.iter().flatten().sum()
    }

    pub(crate) fn mean(&self, sum: usize) -> f64 {
        sum as f64 / self.snapshots as f64
    }
}

/// The shortest of three times: the others were disturbed.
fn shortest_ns(mut work: impl FnMut()) -> u64 {
    let times = [(); 3].map(|()| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    times.into_iter().min().unwrap_or(Duration::ZERO).as_nanos() as u64
}

/// The same scene with every kind's words sorted by how often they change, rarest last.
pub(crate) fn measure_ordered(scene: &mut Scene, age: usize, measured: &Measured) -> Measured {
    let orders: Vec<Vec<usize>> =
        measured.changes.iter().map(|counts| by_frequency(counts)).collect();
    let pairs = scene.layouts.iter().zip(&orders);
    let layouts: Vec<Layout> = pairs.map(|(layout, order)| reordered(layout, order)).collect();
    let mut ordered = Measured {
        verified: true,
        changes: layouts.iter().map(|layout| vec![0; layout.len()]).collect(),
        ..Measured::default()
    };
    let baseline = permuted(&scene.baseline, &scene.layouts, &layouts, &orders);
    let mut sent = vec![(scene.baseline.clone(), baseline.clone()); age];
    let mut received = vec![baseline; age];
    scene.rewind();
    for snapshot in 0..scene.snapshots {
        let (declared, base) = &sent[snapshot % age];
        let mut now = declared.clone();
        scene.next(&mut now);
        let sorted = permuted(&now, &scene.layouts, &layouts, &orders);
        let counted = snapshot >= scene.first_measured;
        received[snapshot % age] =
            ordered.add(&layouts, base, &received[snapshot % age], &sorted, counted);
        sent[snapshot % age] = (now, sorted);
    }
    ordered
}

fn by_frequency(counts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(counts[*index]));
    order
}

fn reordered(layout: &Layout, order: &[usize]) -> Layout {
    // Out of their order, words no longer belong together: each is a number by itself.
    let word = |index: &usize| {
        let word = &layout.words()[*index];
        Word::new(&word.name, word.max, Meaning::Integer { low: 0 }, word.blend)
    };
    let words: Vec<Word> = order.iter().map(word).collect();
    let initial = order.iter().map(|index| layout.initial()[*index]).collect();
    Layout::new(layout.precision(), words, initial)
}

fn permuted(table: &Table, from: &[Layout], to: &[Layout], orders: &[Vec<usize>]) -> Table {
    let mut sorted = Table::default();
    for (slot, head) in table.heads() {
        let kind = usize::from(head.kind);
        let words = table.record(slot, &from[kind]);
        let row = sorted.place(head, &to[kind]);
        for (word, index) in row.iter_mut().zip(&orders[kind]) {
            *word = words[*index];
        }
    }
    sorted.visible.clone_from(&table.visible);
    sorted
}
