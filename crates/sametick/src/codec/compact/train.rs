//! Makes tables from recordings: which inputs predict each field, what the surprise depends on, and how
//! likely each surprise is. Slow, offline, and free to use floats: what it makes is integers.

mod grow;
mod regress;

use super::plan::Mode;
use super::records::Lineage;
use super::tables::{Tables, WordTables};
use super::tree::{
    CLASSES, DETAIL_WORDS, FEATURES, Features, FlagModel, HALF, Inputs, LEAF_WORDS, NumberModel,
    UNSEEN, chance_of, class_of, detail_place,
};
use super::walk::{Memory, Part, Port, Subject, Walk};
use crate::core::entity::EntityId;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};
use crate::schema::word::Meaning;
use grow::{Observed, grow};
use regress::{Lessons, regress};
use std::collections::BTreeMap;

/// Hands each snapshot of the recordings, with its lineage, to whoever asks; the same every time.
pub type Replay<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&Lineage<'_>, &Table));

/// Of each subject at most so many samples are kept; then every second goes.
const SAMPLES_MAX: usize = 400_000;

/// Learns tables from all snapshots that `replay` hands out.
pub fn train(layouts: &[Layout], replay: Replay<'_>) -> Tables {
    train_at_price(1.0, layouts, replay)
}

/// The same where time is dearer than bytes, or cheaper: a question about what is known must save so many times the
/// bits that it usually must. At 4 a snapshot of 64 players takes a quarter less time and a tenth more bytes.
pub fn train_at_price(price: f64, layouts: &[Layout], replay: Replay<'_>) -> Tables {
    let mut tables = Tables::built_in(layouts);
    find_grids(layouts, &mut tables, replay);
    find_rare(layouts, &mut tables, replay);
    tables = tables.compile();
    for _ in 0..2 {
        let mut collector = Collector { learns: true, ..Collector::default() };
        collect(layouts, &tables, replay, &mut collector);
        for (subject, lessons) in &collector.lessons {
            let Some(kind) = subject.kind else { continue };
            let kind = &mut tables.kinds[usize::from(kind)];
            let Some(found) = regress(lessons) else { continue };
            match subject.part {
                Part::Word(word) => kind.words[usize::from(word)].regression = found,
                Part::Turn(axis) => kind.turns[usize::from(axis)] = found,
                _ => {}
            }
        }
    }
    let mut collector = Collector::default();
    collect(layouts, &tables, replay, &mut collector);
    for (subject, samples) in &collector.samples {
        tables.learn(*subject, samples, price);
    }
    tables.compile()
}

/// Records that came one after another, each coded against those before it in the same message.
pub type Messages = [Vec<Vec<u32>>];

/// Learns from what players asked for, the newest command of a message first, and from what happened, one event a
/// message; each with its layout. What nothing was seen of stays as it is built in.
pub fn train_streams(
    mut tables: Tables,
    commands: (&Layout, &Messages),
    events: (&Layout, &Messages),
) -> Tables {
    for (stream, (layout, messages)) in tables.streams.iter_mut().zip([commands, events]) {
        if !messages.is_empty() && !layout.is_empty() {
            *stream = learn_stream(layout, messages).map(Box::new);
        }
    }
    tables.compile()
}

/// A message is a run of snapshots of one entity.
fn learn_stream(layout: &Layout, messages: &Messages) -> Option<super::tables::KindTables> {
    let layouts = std::slice::from_ref(layout);
    let head = Head { id: EntityId::new(0, 1)?, kind: 0 };
    let table_of = |record: &[u32]| {
        let mut table = Table::default();
        table.place(head, layout).copy_from_slice(record);
        table
    };
    let mut tables = train(layouts, &mut |learn| {
        for message in messages {
            let mut past = [(); 3].map(|()| Table::default());
            for record in message {
                let now = table_of(record);
                let [base, before, earlier] = &past;
                let lineage =
                    Lineage { base, before: Some(before), earlier: Some(earlier), spans: [1; 3] };
                learn(&lineage, &now);
                past.rotate_right(1);
                past[0] = now;
            }
        }
    });
    tables.kinds.pop()
}

fn collect(layouts: &[Layout], tables: &Tables, replay: Replay<'_>, collector: &mut Collector) {
    let mut memory = Memory::default();
    replay(&mut |lineage, now| {
        Walk::new(layouts, tables, lineage.into(), &mut memory, collector)
            .snapshot(Some(now), None);
    });
}

/// What was seen of one subject.
#[derive(Default)]
struct Samples {
    known: Vec<i32>,
    values: Vec<i32>,
    seen: usize,
    stride: usize,
}

impl Samples {
    /// Whether the next sample is to be kept.
    fn wants(&mut self) -> bool {
        self.stride = self.stride.max(1);
        self.seen += 1;
        (self.seen - 1).is_multiple_of(self.stride)
    }

    fn push(&mut self, known: &Features, value: i32) {
        if !self.wants() {
            return;
        }
        self.known.extend_from_slice(known);
        self.values.push(value);
        if self.values.len() >= SAMPLES_MAX {
            self.stride *= 2;
            halve(&mut self.known, FEATURES);
            halve(&mut self.values, 1);
        }
    }
}

/// Keeps every second row.
fn halve(rows: &mut Vec<i32>, width: usize) {
    let half = rows.len() / width / 2;
    for row in 0..half {
        rows.copy_within(2 * row * width..(2 * row + 1) * width, row * width);
    }
    rows.truncate(half * width);
}

#[derive(Default)]
struct Collector {
    learns: bool,
    samples: BTreeMap<Subject, Samples>,
    lessons: BTreeMap<Subject, Lessons>,
}

impl Port for Collector {
    const LEARNS: bool = true;
    fn flag(&mut self, about: Subject, _: &FlagModel, known: &Features, value: bool) -> bool {
        if !self.learns {
            self.samples.entry(about).or_default().push(known, i32::from(value));
        }
        value
    }
    fn number(&mut self, about: Subject, _: &NumberModel, known: &Features, value: i32) -> i32 {
        if !self.learns {
            self.samples.entry(about).or_default().push(known, value);
        }
        value
    }
    fn raw(&mut self, _: Subject, _: u32, value: u32) -> u32 {
        value
    }
    fn learn(&mut self, about: Subject, known: &Features, inputs: &Inputs, came: i32) {
        if !self.learns {
            return;
        }
        let lessons = self.lessons.entry(about).or_default();
        if lessons.came.len() >= SAMPLES_MAX {
            return;
        }
        lessons.known.extend_from_slice(known);
        lessons.inputs.extend_from_slice(inputs);
        lessons.came.push(came);
    }
}

impl Tables {
    fn learn(&mut self, subject: Subject, samples: &Samples, price: f64) {
        let flags = || flag_model(samples, price);
        let numbers = || number_model(samples, price);
        let general = &mut self.general;
        let kind = subject.kind.map(|kind| &mut self.kinds[usize::from(kind)]);
        match (subject.part, kind) {
            (Part::MoreChunks, _) => general.more_chunks = flags(),
            (Part::SameSight, _) => general.same_sight = flags(),
            (Part::InSight, _) => general.in_sight = flags(),
            (Part::Strangers, _) => general.strangers = flags(),
            (Part::Stranger, _) => general.stranger = flags(),
            (Part::Generation, _) => general.generation = numbers(),
            (Part::Kind, _) => general.kind = numbers(),
            (Part::Changed, Some(kind)) => kind.changed = flags(),
            (Part::Rare, Some(kind)) => kind.rare = flags(),
            (Part::Word(word), Some(kind)) => word_of(kind, word).numbers = numbers(),
            (Part::OnGrid(word), Some(kind)) => word_of(kind, word).on_grid = flags(),
            _ => {}
        }
    }
}

fn word_of(kind: &mut super::tables::KindTables, word: u8) -> &mut WordTables {
    &mut kind.words[usize::from(word)]
}

const FLAG_LEAVES: usize = 256;
const NUMBER_LEAVES: usize = 256;

fn flag_model(samples: &Samples, price: f64) -> FlagModel {
    let symbols: Vec<u8> = samples.values.iter().map(|value| *value as u8).collect();
    let weight = samples.stride as f64;
    let observed =
        Observed { known: &samples.known, symbols: &symbols, alphabet: 2, weight, price };
    let (tree, assigned) = grow(&observed, FLAG_LEAVES);
    let leaves = assigned.iter().max().map_or(1, |last| usize::from(*last) + 1);
    let mut counts = vec![[0.0; 2]; leaves];
    for (leaf, symbol) in assigned.iter().zip(&symbols) {
        counts[usize::from(*leaf)][usize::from(*symbol)] += weight;
    }
    let chance = |[never, ever]: &[f64; 2]| chance_of((ever + 0.4) / (never + ever + 0.8));
    FlagModel { tree, chances: counts.iter().map(chance).collect() }
}

/// Larger classes are one symbol when trees are grown.
const CLASS_MAX: usize = 20;

fn number_model(samples: &Samples, price: f64) -> NumberModel {
    let symbol = |value: &i32| {
        let class = class_of(*value).min(CLASS_MAX);
        if *value < 0 { (CLASS_MAX + class) as u8 } else { class as u8 }
    };
    let symbols: Vec<u8> = samples.values.iter().map(symbol).collect();
    let weight = samples.stride as f64;
    let observed = Observed {
        known: &samples.known,
        symbols: &symbols,
        alphabet: 2 * CLASS_MAX + 1,
        weight,
        price,
    };
    let (tree, assigned) = grow(&observed, NUMBER_LEAVES);
    let leaves = assigned.iter().max().map_or(1, |last| usize::from(*last) + 1);
    let mut all = Counts::default();
    let mut counts = vec![Counts::default(); leaves];
    for (leaf, value) in assigned.iter().zip(&samples.values) {
        counts[usize::from(*leaf)].add(*value);
        all.add(*value);
    }
    let leaves: Vec<_> = counts.iter().map(|counts| counts.leaf(&all)).collect();
    let mut details = vec![[0.0; 2]; DETAIL_WORDS];
    for (leaf, value) in assigned.iter().zip(&samples.values) {
        let (class, size) = (class_of(*value), value.unsigned_abs());
        if class < 2 {
            continue;
        }
        let place = detail_place(class, usize::from(leaves[usize::from(*leaf)][0]));
        let bit = |below: usize| (size >> (class - 1 - below) & 1) as usize;
        details[place][bit(1)] += 1.0;
        if class > 2 {
            details[place + 1 + bit(1)][bit(2)] += 1.0;
        }
    }
    let mut chances = [HALF; DETAIL_WORDS];
    // How many bits the first and the second are worth.
    let mut gains = [0.0; 2];
    for (index, (chance, [zero, one])) in chances.iter_mut().zip(&details).enumerate() {
        *chance = chance_of((one + 4.0) / (zero + one + 8.0));
        let share = f64::from(*chance) / 65536.0;
        let cost = -(one * libm::log2(share) + zero * libm::log2(1.0 - share));
        gains[usize::from(index % 3 != 0)] += zero + one - cost;
    }
    let is_worth = |gain: f64| gain > DETAIL_GAIN_MIN * samples.values.len() as f64;
    let detail_bits = if is_worth(gains[1]) { 2 } else { u8::from(is_worth(gains[0])) };
    NumberModel { tree, leaves, details: chances, detail_bits }
}

/// A sign is worth a question if it is so much more often one than the other.
const SIGN_SHARE_MIN: f64 = 0.12;
/// So many bits a number must be won by the chances of its higher bits, or they are handed on as they are.
const DETAIL_GAIN_MIN: f64 = 0.06;

/// How often each class and sign came.
#[derive(Clone, Default)]
struct Counts {
    classes: Vec<[f64; 2]>,
    total: f64,
}

impl Counts {
    fn add(&mut self, value: i32) {
        self.classes.resize(CLASSES, [0.0; 2]);
        self.classes[class_of(value)][usize::from(value < 0)] += 1.0;
        self.total += 1.0;
    }

    fn class(&self, class: usize) -> f64 {
        self.classes.get(class).map_or(0.0, |[plus, minus]| plus + minus)
    }

    /// A leaf's chances, a little of what holds everywhere among them.
    fn leaf(&self, all: &Counts) -> [u16; LEAF_WORDS] {
        let backing = 2.0 / all.total.max(1.0);
        let count = |class: usize| self.class(class) + all.class(class) * backing + 0.02;
        let half = (0..CLASSES).map(count).sum::<f64>() / 2.0;
        let mut below = 0.0;
        let centre = (0..CLASSES).find(|class| {
            below += count(*class);
            below >= half
        });
        let centre = centre.unwrap_or(0).min(CLASSES - 2);
        let sum = |classes: std::ops::Range<usize>| classes.map(count).sum::<f64>();
        let mut leaf = [HALF; LEAF_WORDS];
        leaf[0] = centre as u16;
        let seen = (0..CLASSES).rposition(|class| all.class(class) > 0.0).unwrap_or(0);
        for at in 0..CLASSES - 1 {
            if at > seen {
                leaf[1 + at] = UNSEEN;
                continue;
            }
            let share = if at == centre {
                sum(at + 1..CLASSES) / sum(0..CLASSES)
            } else if at > centre {
                sum(at + 1..CLASSES) / sum(at..CLASSES)
            } else {
                sum(0..at + 1) / sum(0..at + 2)
            };
            leaf[1 + at] = chance_of(share);
        }
        for (place, classes) in [(CLASSES, 1..2), (CLASSES + 1, 2..CLASSES)] {
            let side = |side: usize| {
                classes
                    .clone()
                    .map(|class| self.classes.get(class).map_or(0.0, |both| both[side]))
                    .sum::<f64>()
            };
            let share = (side(1) + 1.0) / (side(0) + side(1) + 2.0);
            let is_even = (share - 0.5).abs() < SIGN_SHARE_MIN;
            leaf[place] = if is_even { HALF } else { chance_of(share) };
        }
        leaf
    }
}

/// How floats may stand: in halves of halves, or in parts of a turn of 65536 in degrees.
const SHIFTS: [u8; 9] = [0, 1, 2, 3, 4, 6, 8, 10, 13];
const TIMES: [u8; 2] = [1, 45];
/// So large a share of a field's values on a grid makes it the field's.
const GRID_SHARE: f64 = 0.9;

/// Finds for each float in which steps it comes.
fn find_grids(layouts: &[Layout], tables: &mut Tables, replay: Replay<'_>) {
    const GRIDS: usize = SHIFTS.len() * TIMES.len();
    let mut hits: Vec<Vec<[f64; GRIDS + 1]>> =
        layouts.iter().map(|layout| vec![[0.0; GRIDS + 1]; layout.len()]).collect();
    let grids: Vec<(u8, u8)> =
        TIMES.iter().flat_map(|times| SHIFTS.map(|shift| (shift, *times))).collect();
    replay(&mut |lineage, now| {
        for slot in now.visible.iter() {
            let Some(head) = now.head(slot) else { continue };
            let kind = usize::from(head.kind);
            let words = now.record(slot, &layouts[kind]);
            let is_same = lineage.base.head(slot) == Some(head);
            for (index, word) in layouts[kind].words().iter().enumerate() {
                let is_old =
                    is_same && lineage.base.record(slot, &layouts[kind])[index] == words[index];
                if word.meaning != Meaning::Exact || is_old {
                    continue;
                }
                let hits = &mut hits[kind][index];
                hits[GRIDS] += 1.0;
                for ((shift, times), hit) in grids.iter().zip(hits.iter_mut()) {
                    let mode = Mode::Float { shift: *shift, times: *times };
                    *hit +=
                        f64::from(u8::from(mode.word(mode.number(words[index])) == words[index]));
                }
            }
        }
    });
    for (kind, hits) in tables.kinds.iter_mut().zip(&hits) {
        for (mode, hits) in kind.plan.modes.iter_mut().zip(hits) {
            if let Mode::Float { shift, times } = mode {
                let enough =
                    |(hit, _): &(&f64, _)| **hit > GRID_SHARE * hits[GRIDS] && hits[GRIDS] > 0.0;
                let steps = |(shift, times): (u8, u8)| f64::from(times) / f64::from(1u32 << shift);
                let found = hits
                    .iter()
                    .zip(&grids)
                    .filter(enough)
                    .max_by(|(_, a), (_, b)| steps(**a).total_cmp(&steps(**b)));
                if let Some((_, grid)) = found {
                    (*shift, *times) = *grid;
                }
            }
        }
    }
}

/// What changes in less than this share of the entities that change is rare.
const RARE_SHARE: f64 = 0.3;

/// Finds for each kind the words that rarely change.
fn find_rare(layouts: &[Layout], tables: &mut Tables, replay: Replay<'_>) {
    let mut counts: Vec<Vec<f64>> = layouts.iter().map(|layout| vec![0.0; layout.len()]).collect();
    let mut totals = vec![0.0; layouts.len()];
    replay(&mut |lineage, now| {
        for slot in now.visible.iter() {
            let Some(head) = now.head(slot) else { continue };
            let kind = usize::from(head.kind);
            let layout = &layouts[kind];
            let is_known = lineage.base.head(slot) == Some(head);
            let base = if is_known { lineage.base.record(slot, layout) } else { layout.initial() };
            let words = now.record(slot, layout);
            if words == base {
                continue;
            }
            totals[kind] += 1.0;
            for (count, (old, new)) in counts[kind].iter_mut().zip(base.iter().zip(words)) {
                *count += f64::from(u8::from(old != new));
            }
        }
    });
    for ((kind, counts), total) in tables.kinds.iter_mut().zip(&counts).zip(&totals) {
        let rank = |word: usize| u64::MAX - counts[word] as u64;
        kind.plan.set_rare(|word| (counts[word] < RARE_SHARE * total).then(|| rank(word)));
    }
}
